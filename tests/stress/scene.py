"""scene.py - the directory in which code_blocks.py runs a command of a document: programs with findings, files that
documents name, an installation in place of /opt/rtcheck.
"""
import os
import re
import shutil
import subprocess

from harness import BUILD, SOURCE, clean_environment

ACTS, MANY = SOURCE + '/tests/ci/project/acts.c', BUILD + '/tests/project/code_blocks'
ID = r'\b[a-z]{3}-[0-9a-f]{8}\b'

# A program whose findings are those of the rules that documents show.
RULED = r'''
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
#ifdef LIBRARY
void *volatile lost;
NOINLINE void take(void) { lost = calloc(1, 10); lost = malloc(10); lost = NULL; free(lost); }
NOINLINE void left(void) { take(); }
#else
extern void left(void);
char *volatile inside[2];
#line 1 "parser.c"
NOINLINE void parse_name(void) { inside[0] = (char *)malloc(30) + 3; }
NOINLINE void parse_list(void) { inside[1] = (char *)malloc(40) + 3; }
#line 118 "list.c"
NOINLINE void list_clear(char *volatile p) {
    free(p);
    free(p);
}
NOINLINE void wipe(void) { volatile char bytes[4096]; for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = 0; }
int main(void) { left(); parse_name(); parse_list(); list_clear(malloc(8)); wipe(); }
#endif
'''


def compiled(stage):
    """The programs that documents name, compiled once."""
    if not hasattr(stage, 'programs'):
        stage.programs = folder = stage.room()
        with open(folder + '/ruled.c', 'w') as f:
            f.write(RULED)
        for words in (['-DACTS="dl"', ACTS, '-o', 'prog'], ['-DACTS="w"', ACTS, '-o', 'program'],
                      ['-DLIBRARY', '-fPIC', '-shared', 'ruled.c', '-o', 'libfoo.so'],
                      ['ruled.c', '-o', 'ruled', '-L.', '-lfoo', '-Wl,-rpath,$ORIGIN']):
            subprocess.run(['cc', '-g', '-w', '-fno-builtin', *words], cwd=folder, check=True)
        shutil.copy(folder + '/prog', folder + '/tests')
        shutil.copy(MANY, folder + '/many')
    return stage.programs


class Scene:
    """A new directory with the files that commands name, and an installation."""

    def __init__(self, stage):
        self.stage, self.folder, self.prefix = stage, stage.room(), stage.installed()
        self.state = stage.room()
        for name in os.listdir(compiled(stage)):
            os.symlink(compiled(stage) + '/' + name, self.folder + '/' + name)
        os.mkdir(self.folder + '/tools')
        self.write('tools/run', '#!/bin/sh\n[ $# -gt 0 ] || set -- --all %s/tests/demo/demo\nexec rtcheck "$@"\n' % BUILD)
        os.chmod(self.folder + '/tools/run', 0o755)
        self.write('known.supp', 'leak:^never$\n')
        self.write('known.json', '{"schema":"rtcheck-baseline/1","findings":[]}')

    def write(self, name, text):
        with open(self.folder + '/' + name, 'w') as f:
            f.write(text)

    def kept_runs(self):
        """Keep two runs, which have their heaps; return the id of a finding."""
        for program in (BUILD + '/tests/demo/demo', './prog'):
            printed = self.run('rtcheck --heap=file ' + program)[1]
        return re.search(ID, printed)[0]

    def address_of(self, finding):
        """The address of the block of a finding of the newest run."""
        return re.search('^  block +(0x[0-9a-f]+), ', self.run('rtcheck show ' + finding)[1], re.M)[1]

    def environment(self):
        return {**clean_environment(), 'PATH': self.prefix + '/bin:' + os.environ['PATH'], 'TERM': 'dumb',
                'XDG_STATE_HOME': self.state, 'MANPATH': self.prefix + '/share/man'}

    def here(self, command):
        """The command with this scene's installation."""
        return re.sub(r'/opt/rtcheck\b|/usr(?=/lib/librtcheck)', self.prefix, command)

    def run(self, command, text=''):
        """Status and output."""
        done = subprocess.run(['bash', '-c', self.here(command)], cwd=self.folder, env=self.environment(), input=text,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace', timeout=1200)
        return done.returncode if done.returncode < 128 else 128 - done.returncode, done.stdout

    def run_beside(self, command):
        """The same with the id of a checked program for PID, which ends after the command's first line."""
        with subprocess.Popen(['rtcheck', '-q', '--witness', 'sh', '-c', 'echo $$; read line'], cwd=self.folder, env=self.environment(),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
            command = re.sub(r'\bPID\b', program.stdout.readline().strip(), command)
            with subprocess.Popen(['bash', '-c', self.here(command)], cwd=self.folder, env=self.environment(), text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as done:
                first = done.stdout.readline()
                program.stdin.close()
                rest = done.stdout.read()
        return done.returncode, first + rest

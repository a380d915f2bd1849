#!/usr/bin/env python3
# rtc-test: launcher/python_note ci 60
"""The note about python's own allocator: for programs with an interpreter's name, unless PYTHONMALLOC is malloc; by the
launcher and by hand, for the program and its children, and in a later report of the run file."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, clean_environment, main, must

NOTE = "python's own allocator hides blocks of up to 512 bytes; PYTHONMALLOC=malloc shows them"


def program(stage, name):
    """A program of this name, with a leak: its report is printed, and its file kept."""
    path = stage.room() + '/' + name
    if not hasattr(stage, 'leaky'):
        stage.leaky = stage.room() + '/leaky'
        with open(stage.leaky + '.c', 'w') as f:
            f.write('#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\n'
                    'int main(int argc, char **argv) { (void)argv; int is_parent = argc > 1 && fork() > 0;'
                    ' volatile void *p = malloc(99); p = 0; if (is_parent) wait(NULL); return 0; }\n')
        subprocess.run(['cc', '-w', '-fno-builtin', stage.leaky + '.c', '-o', stage.leaky], check=True)
    shutil.copy(stage.leaky, path)
    return path


def notes(run):
    run.wait()
    must(re.search('leaked (99|198) B', run.log), run.log, run.err)
    found = [line for line in run.log.splitlines() if line.startswith('note: ') and 'python' in line]
    must(len(found) <= 1, found)
    return found


def names(stage):
    for name in ('python', 'python3', 'python3.9', 'python3.11'):
        for how in ('launcher', 'hand'):
            found = notes(Run(stage, [program(stage, name)], how))
            must(len(found) == 1 and found[0].endswith(' (%s): %s' % (name, NOTE)), name, how, found)
    for name in ('python2', 'python3.', 'python3.x', 'python3.11-config', 'pythonw', 'ipython3', 'mypython', 'perl'):
        must(not notes(Run(stage, [program(stage, name)])), name)


def values(stage):
    python = program(stage, 'python3')
    for value, is_noted in (('malloc', 0), ('malloc_debug', 0), ('debug', 1), ('pymalloc', 1), ('', 1)):
        for how in ('launcher', 'hand'):
            for words in ([python], [python, 'and a forked child']):
                found = notes(Run(stage, words, how, env={'PYTHONMALLOC': value}))
                must(len(found) == is_noted, value, how, words, found)
    for words in (['env', 'PYTHONMALLOC=malloc', python], ['sh', '-c', 'PYTHONMALLOC=malloc %s; :' % python]):
        must(not notes(Run(stage, words)), words)


def others(stage):
    python = program(stage, 'python3')
    found = notes(Run(stage, ['sh', '-c', python + '; :'], options=['deterministic']))
    must(found == ['note: process python3: ' + NOTE], 'a child', found)
    fine = stage.room() + '/python3'
    shutil.copy('/bin/true', fine)
    must(Run(stage, [fine], options=['quiet']).wait().log == '', 'quiet, without problems')
    must(NOTE in Run(stage, [fine]).wait().log, 'without problems')


def later(stage):
    """The file has the variable of the program; that of the reporter does not count."""
    python = program(stage, 'python3')
    for given, others_value, is_noted in (({}, 'malloc', True), ({'PYTHONMALLOC': 'malloc'}, 'pymalloc', False)):
        run = Run(stage, [python], 'hand', ['keep'], env=given)
        must(len(notes(run)) == is_noted, run.log)
        kept = [run.pool_dir + '/' + f for f in os.listdir(run.pool_dir)]
        done = subprocess.run([stage.rtcheck, 'report', *kept], env={**clean_environment(), 'PYTHONMALLOC': others_value},
                              capture_output=True, text=True)
        must('leaked 99 B' in done.stdout and (NOTE in done.stdout) == is_noted, given, done)


if __name__ == '__main__':
    main([(f.__name__, f) for f in (names, values, others, later)])

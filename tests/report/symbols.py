#!/usr/bin/env python3
"""Names and lines of the functions on a stack, from what compilers leave in files.

The programs in programs/ are built here, by each compiler in each version of DWARF; the lines to find carry
the comment LINE and a name.
"""
# rtc-test: report/symbols ci 120
# rtc-test: report/symbols_full full 300 --full
import os
import pty
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import SOURCE, Run, clean_environment, main, must, wait_until

PROGRAMS = SOURCE + '/tests/report/programs/'


# ---- programs ------------------------------------------------------------------------------

def lines_of(source):
    """{name: number} of the lines with the comment LINE."""
    with open(PROGRAMS + source) as f:
        found = ((re.search(r'LINE (\w+)', line), n) for n, line in enumerate(f, 1))
        return {m[1]: n for m, n in found if m}


def build(stage, source, compiler, *flags):
    path = stage.room() + '/program'
    subprocess.run([compiler, '-O2', '-g', '-o', path, PROGRAMS + source, *flags], check=True)
    return path


def plain_name(name):
    """Without a compiler's suffix for its copies of a function."""
    return name and re.sub(r' \[clone .*', '', name)


def frames_of(report):
    """{bytes of a record: its stack, each frame as a list of (function, line), innermost first}"""
    data = report.data
    frames = {f['id']: [(plain_name(g.get('function')), g.get('line')) for g in
                        [f] + f.get('inlined_into', [])] for f in data['frames']}
    stacks = {s['id']: [frames[f] for f in s['frames']] for s in data['stacks']}
    return {r['bytes']: stacks[r['stack']] for r in data['records']}


def run(stage, path, **more):
    done = Run(stage, [path], **more).wait()
    must(done.status == 0, 'status', done.status, done.err)
    return frames_of(done.report)


def expect(found, wanted, *where):
    must(found == wanted, *where, 'is', found, 'instead of', wanted)


# ---- inlined functions ---------------------------------------------------------------------

COMPILERS = [(c, v) for c in ('gcc', 'clang') for v in (4, 5)]


def inlined(stage):
    line = lines_of('inlined.c')
    for compiler, version in COMPILERS:
        stacks = run(stage, build(stage, 'inlined.c', compiler, '-gdwarf-%d' % version))
        where = (compiler, version)
        expect(stacks[1001][0], [(f, line[f]) for f in ('innermost', 'middle', 'physical')], *where)
        expect(stacks[1002][0], [('innermost', line['innermost']), ('physical', line['block'])],
               *where)
        expect(stacks[2000][0], [('plain', line['plain'])], *where)
        expect(stacks[2000][1][0][0], 'main', *where)


def inlined_in_cpp(stage):
    line = lines_of('inlined.cc')
    for compiler, version in COMPILERS:
        stacks = run(stage, build(stage, 'inlined.cc', compiler + ('++' if compiler == 'clang' else ''),
                                  '-gdwarf-%d' % version, '-lstdc++'))
        expect(stacks[1000][0], [('int* store::shelf::put<int>(unsigned long)', line['put']),
                                 ('store::shelf::fill(unsigned long)', line['fill'])],
               compiler, version)
        (put, at), (function, called) = stacks[3000][0]
        must(put == 'short* store::shelf::put<short>(unsigned long)' and at == line['put'] and
             'call(unsigned long)::' in function and called == line['lambda'],
             compiler, version, stacks[3000][0])


# ---- sources named by a relative path ----------------------------------------------------------

def files_of(report, source):
    """The paths of all functions of a source."""
    lines = [line for f in report.data['frames'] for line in [f] + f.get('inlined_into', [])]
    return {f['file'] for f in lines if os.path.basename(f.get('file', '')) == source}


def relative_source(stage):
    """The compilation directory is put in front of a relative path; ids do not depend on it."""
    ids, line = set(), lines_of('twice.c')
    for compiler, version in COMPILERS:
        for path in ('sub/twice.c', './sub/twice.c', None):
            room = stage.room()
            os.mkdir(room + '/sub')
            shutil.copy(PROGRAMS + 'twice.c', room + '/sub')
            wanted, where = room + '/sub/twice.c', (compiler, version, path)
            subprocess.run([compiler, '-g', '-gdwarf-%d' % version, '-fno-builtin', '-o', 'program',
                            path or wanted], cwd=room, check=True)
            done = Run(stage, [room + '/program'], options=['source=1', 'hyperlinks=always',
                                                            'sarif=' + room + '/sarif',
                                                            'source-root=' + room]).wait()
            expect(files_of(done.report, 'twice.c'), {wanted}, *where)
            ids |= {e['id'] for e in done.report.data['errors']}
            must('%s#L%d\033' % (wanted, line['second']) in done.log, 'link', *where, done.log)
            must(re.search(r'%d \| .*free\(block\)' % line['release'], done.log), 'source line', *where,
                 done.log)
            with open(room + '/sarif') as f:
                expect(set(re.findall(r'[^"]*twice\.c', f.read())), {'sub/twice.c'}, *where)
    must(len(ids) == 1, 'one error, ids', ids)


# ---- debugging information in a separate file ------------------------------------------------

def split(path):
    """The program without it, and where it is now."""
    debug_file = path + '.debug'
    subprocess.run(['objcopy', '--only-keep-debug', path, debug_file], check=True)
    subprocess.run(['objcopy', '--strip-all', '--add-gnu-debuglink=' + debug_file, path], check=True)
    return debug_file


def is_whole(stacks):
    line = lines_of('inlined.c')
    return stacks[1001][0] == [(f, line[f]) for f in ('innermost', 'middle', 'physical')]


def by_link(stage):
    path = build(stage, 'inlined.c', 'gcc')
    debug_file = split(path)
    os.mkdir(os.path.dirname(path) + '/.debug')
    shutil.move(debug_file, os.path.dirname(path) + '/.debug')
    must(is_whole(run(stage, path)), run(stage, path))
    # A file of the same name from another build.
    other = build(stage, 'inlined.c', 'gcc', '-DOTHER', '-O1')
    shutil.copy(split(other), os.path.dirname(path) + '/.debug')
    must(not is_whole(run(stage, path)), 'the file of another build was believed')


def module_of(report, path):
    return [m for m in report.data['modules'] if m['path'] == path][0]


def another_build(stage):
    """The program is rebuilt between the run and the report."""
    path = build(stage, 'inlined.c', 'gcc')
    done = Run(stage, [path], how='hand', keep=True).wait()
    must(module_of(done.report, path)['symbols'] == 'lines', module_of(done.report, path))
    os.remove(path)
    shutil.move(build(stage, 'inlined.c', 'gcc', '-O1'), path)
    again = done.reread()
    must(module_of(again, path)['symbols'] == 'another build', module_of(again, path))
    must(frames_of(again)[1001][0] == [(None, None)], frames_of(again)[1001])
    os.remove(path)
    must(module_of(done.reread(), path)['symbols'] == 'no file')


# ---- libraries loaded by a relative path --------------------------------------------------------

def build_library(stage, folder):
    os.makedirs(folder, exist_ok=True)
    subprocess.run(['gcc', '-O2', '-g', '-shared', '-fPIC', '-o', folder + '/library.so',
                    PROGRAMS + 'library.c'], check=True)
    return folder


def is_named(stage, program, arguments, names, how, **more):
    """Are the library's function and its caller named, by any spelling of the library's path?"""
    done = Run(stage, [program, *arguments], how=how, **more).wait()
    must(done.status == 0, 'status', done.status, done.err)
    stack = frames_of(done.report)[1001]
    expect([frame[0] for frame in stack[:len(names)]], names, how, arguments)
    return done.report


def relative_library(stage):
    """The absolute path is recorded, for any working directory when the library first allocates."""
    library, program = lines_of('library.c'), lines_of('relative.c')
    names = [('from_library', library['from_library']), ('call', program['call'])]
    program = build(stage, 'relative.c', 'gcc')
    for folder in (stage.room(), stage.room() + '/' + 'x' * 120 + '/(deleted)'):
        build_library(stage, folder)
        for how in ('launcher', 'hand'):
            scene = {'how': how, 'cwd': folder}
            for arguments in (['./library.so'], ['./library.so', 'chdir', '/'],
                              ['../%s/library.so' % os.path.basename(folder), 'chdir', '/']):
                report = is_named(stage, program, arguments, names, **scene)
                must(module_of(report, folder + '/library.so')['symbols'] == 'lines', arguments)
            search = {'LD_LIBRARY_PATH': '.'}
            is_named(stage, program, ['library.so', 'chdir', '/'], names, env=search, **scene)


def unlinked_library(stage):
    """If the file was removed its own frames have no names; those of its callers keep theirs."""
    program = build(stage, 'relative.c', 'gcc')
    call = lines_of('relative.c')['call']
    for how in ('launcher', 'hand'):
        for prefix in ('./', ''):
            folder = build_library(stage, stage.room())
            path = (prefix or folder + '/') + 'library.so'
            report = is_named(stage, program, [path, 'unlink'], [(None, None), ('call', call)],
                              how=how, cwd=folder)
            must(module_of(report, folder + '/library.so')['symbols'] == 'no file', path)


# ---- debugging information that a server has ---------------------------------------------------

def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Server:
    """A local debuginfod that has indexed all files of a folder."""

    def __init__(self, stage, folder):
        self.url = 'http://127.0.0.1:%d' % free_port()
        env = {**clean_environment(), 'HOME': stage.room()}
        self.process = subprocess.Popen(['debuginfod', '-F', '-p', self.url.rsplit(':')[-1], '-t', '0',
                                         '-g', '0', '-d', ':memory:', folder], env=env,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: self.metric(r'thread_work_total{role="scan"}') > 0 and
                   self.metric(r'thread_work_pending{role="scan"}') == 0 and
                   self.metric(r'thread_busy{role="scan"}') == 0, 60, 'the scan')

    def metric(self, name):
        try:
            with urllib.request.urlopen(self.url + '/metrics', timeout=10) as f:
                text = f.read().decode()
        except OSError:
            return -1
        found = [line for line in text.splitlines() if line.startswith(name + ' ')]
        return int(found[0].split()[-1]) if found else -1

    def asked(self):
        return self.metric('http_requests_total{type="debuginfo"}')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def server(stage):
    path = build(stage, 'inlined.c', 'gcc')
    served = stage.room()
    os.chmod(shutil.copy(split(path), served), 0o755)
    os.remove(path + '.debug')
    with Server(stage, served) as debuginfod:
        home = {'HOME': stage.room(), 'XDG_CACHE_HOME': None}
        must(not is_whole(run(stage, path, env=home)), 'who told it?')
        must(debuginfod.asked() <= 0, 'the server was asked, and nobody had named it')
        must(is_whole(run(stage, path, env={**home, 'DEBUGINFOD_URLS': debuginfod.url})))
        must(debuginfod.asked() > 0)


def dead_server(stage):
    """A server that accepts and does not answer causes two time-outs, not one for each file."""
    if not stage.full:
        return
    with socket.socket() as silent:
        silent.bind(('127.0.0.1', 0))
        silent.listen(100)
        env = {'HOME': stage.room(), 'XDG_CACHE_HOME': None, 'DEBUGINFOD_TIMEOUT': '4',
               'DEBUGINFOD_URLS': 'http://127.0.0.1:%d' % silent.getsockname()[1]}
        start = time.monotonic()
        Run(stage, [sys.executable, '-c', 'import ssl, ctypes, lzma, sqlite3'], env=env).wait()
        took = time.monotonic() - start
    must(4 < took < 13, 'took %.1f s' % took)
    return '%.1f s' % took


# ---- progress on a terminal -------------------------------------------------------------------------

def on_terminal(argv, env):
    """The output if standard error is a terminal."""
    reader, terminal = pty.openpty()
    process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=terminal)
    os.close(terminal)
    printed = b''
    try:
        while True:
            printed += os.read(reader, 65536)
    except OSError:  # the other end is closed
        pass
    os.close(reader)
    must(process.wait() == 0, 'status', process.returncode, printed)
    return printed.decode()


def progress(stage):
    """A server that does not answer for two seconds causes a wait that is shown."""
    path = build(stage, 'inlined.c', 'gcc')
    os.remove(split(path))
    with socket.socket() as silent:
        silent.bind(('127.0.0.1', 0))
        silent.listen(100)
        env = {**clean_environment(), 'DEBUGINFOD_TIMEOUT': '2',
               'DEBUGINFOD_URLS': 'http://127.0.0.1:%d' % silent.getsockname()[1]}
        argv = [stage.rtcheck, '--json=' + stage.room() + '/json', path]
        printed = on_terminal(argv, {**env, 'HOME': stage.room()})
        piped = subprocess.run(argv, env={**env, 'HOME': stage.room()}, stderr=subprocess.PIPE,
                               text=True).stderr
    shown = re.findall(r'\rrtcheck: reading symbols +(\d+) %', printed)
    must(shown and sorted(shown, key=int) == shown, 'shown:', shown, repr(printed))
    must(re.search(r'%\r {30}\r', printed), 'it stays:', repr(printed))
    must('reading symbols' not in piped and piped, 'not on a terminal:', piped)
    quick = on_terminal([stage.rtcheck, 'true'], {**clean_environment(), 'HOME': stage.room()})
    must('reading symbols' not in quick, 'nobody has waited:', repr(quick))
    return ' '.join(shown)


# ---- variables -----------------------------------------------------------------------------------

def symbols_of(path):
    """{name: address} of all variables; those in functions have numbers behind their names."""
    out = subprocess.run(['nm', '-C', path], capture_output=True, text=True, check=True).stdout
    found = (line.split(None, 2) for line in out.splitlines() if not line.startswith(' '))
    return {re.sub(r'^counted\(int\)::|\.\d+$|\(anonymous namespace\)::', '', name): int(at, 16)
            for at, kind, name in found}


# Symbol, bytes behind its start, the expected name, its line and section.
VARIABLES = [
    ('config', 0, 'config.of_base+0', 'config', '.bss'),
    ('config', 8, 'config.number+0', 'config', '.bss'),
    ('config', 12 + 8 + 3, 'config.pair[1].second[1]+0', 'config', '.bss'),
    ('config', 12 + 16 + 1, 'config.pair[2].first+1', 'config', '.bss'),
    ('config', 12 + 24 + 2, 'config.either.as_int+2', 'config', '.bss'),
    ('table', 0, 'table[0][0]+0', 'table', '.rodata'),
    ('table', 27, 'table[1][2]+3', 'table', '.rodata'),
    ('text', 39, 'text[39]+0', 'text', '.bss'),
    ('pointer', 5, 'pointer+5', 'pointer', '.bss'),
    ('store::count', 1, 'store::count+1', 'count', '.data'),
    ('store::hidden', 0, 'store::(anonymous namespace)::hidden+0', 'hidden', '.data'),
    ('store::shelf::tags', 8, 'store::shelf::tags[1].first+0', 'tags', '.bss'),
    ('calls', 8, 'counted(int)::calls[2]+0', 'calls', '.bss'),
    ('deep', 2, 'counted(int)::deep+2', 'deep', '.data'),
]


def what_is(stage, path, offsets):
    return subprocess.run([stage.program('report/what_is'), path, *map(str, offsets)], check=True,
                          capture_output=True, text=True, timeout=60).stdout.splitlines()


def compare_variables(stage, path, where):
    line, symbols = lines_of('variables.cc'), symbols_of(path)
    printed = what_is(stage, path, [symbols[name] + more for name, more, *_ in VARIABLES])
    for (_, _, name, declared, section), found in zip(VARIABLES, printed):
        expect(found, '%s variables.cc:%d %s' % (name, line[declared], section), *where)


def variables(stage):
    for compiler, version in COMPILERS:
        for more in [()], [('-O0',)], [('-O2', '-fdebug-types-section')]:
            path = build(stage, 'variables.cc', compiler, '-gdwarf-%d' % version, *more[0])
            compare_variables(stage, path, (compiler, version, *more[0]))


def variables_in_debug_file(stage):
    """Variables missing in the program come from the separate debug file, or else from the symbols."""
    path = build(stage, 'variables.cc', 'gcc')
    at = symbols_of(path)['store::count']
    debug_file = os.path.dirname(path) + '/apart.dbg'
    subprocess.run(['objcopy', '--only-keep-debug', path, debug_file], check=True)
    subprocess.run(['objcopy', '--strip-debug', path], check=True)
    expect(what_is(stage, path, [at + 1, 1]), ['store::count+1 -:0 .data', '-'])
    subprocess.run(['objcopy', '--add-gnu-debuglink=' + debug_file, path], check=True)
    expect(what_is(stage, path, [at + 1]),
           ['store::count+1 variables.cc:%d .data' % lines_of('variables.cc')['count']])


def sections_of(path):
    """{name: (address, offset in the file)} of the sections."""
    out = subprocess.run(['readelf', '-SW', path], capture_output=True, text=True, check=True).stdout
    return {m[1]: (int(m[2], 16), int(m[3], 16))
            for m in re.finditer(r'\] (\S+) +\S+ +([0-9a-f]+) ([0-9a-f]+) ', out)}


def nameless(stage):
    """Without symbols an address is what its section holds; a short string is quoted."""
    path = build(stage, 'nameless.c', 'gcc', '-fno-builtin', '-w')
    at, start = symbols_of(path), sections_of(path)
    where = ['%s+0x%x' % (section, at[name] - start[section][0])
             for name, section in (('zeros', '.bss'), ('main', '.text'))]
    where.insert(0, '.data+0x%x' % (at['value'] + 8 - start['.data'][0]))
    subprocess.run(['strip', path], check=True)
    with open(path, 'rb') as f:
        file = f.read()
    texts = ['a constant', 'constant', 'a constant that is longer', 'two\nlines']
    offsets = [file.find(b'\0' + text.encode() + b'\0') + 1 for text in texts]
    offsets[1] = offsets[0] + 2
    where = ['.rodata+0x%x' % (o - start['.rodata'][1]) for o in offsets] + where
    done = Run(stage, [path])
    printed = re.findall(r'INVALID FREE of an address in (.*\)), main thread', done.wait().log)
    expect(printed, ['a constant of program: "a constant" (%s)' % where[0],
                     'a constant of program: "constant" (%s)' % where[1],
                     'a constant of program (%s)' % where[2], 'a constant of program (%s)' % where[3],
                     'static data of program (%s)' % where[4],
                     'static data of program (%s)' % where[5], 'code of program (%s)' % where[6]])


if __name__ == '__main__':
    main([('inlined', inlined), ('inlined_in_cpp', inlined_in_cpp),
          ('relative_source', relative_source), ('by_link', by_link),
          ('another_build', another_build), ('relative_library', relative_library),
          ('unlinked_library', unlinked_library), ('server', server),
          ('dead_server', dead_server), ('variables', variables),
          ('variables_in_debug_file', variables_in_debug_file), ('nameless', nameless),
          ('progress', progress)])

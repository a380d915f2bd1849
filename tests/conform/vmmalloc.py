#!/usr/bin/python3
"""rtcheck in place of libvmmalloc: what its programs expect of an allocator, and its 19 cases of start-up.

The rows of vmmalloc.c run in three ways: with libvmmalloc's variables, and by hand with a heap in the run file and with
a private heap.  The cases of start-up are those of the table in docs/libvmmalloc.md.
"""
# rtc-test: conform/vmmalloc ci 120
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from blocks import block
from harness import BUILD, SOURCE, Run, main, must, needs_scene, read_text, run_plain, same_as_plain

MINIMUM = 14680064
ERROR = 'Error (libvmmalloc): '
NAME = BUILD + '/lib/libvmmalloc.so.1'
PAGE = os.sysconf('SC_PAGE_SIZE')
UNWRITABLE = '/proc'  # also for root


def pool_run(stage, argv, library=NAME, folder=None, wrap=(), wait=True, **variables):
    """Run with libvmmalloc's variables; None removes one.  POOL_DIR=folder, and FORK=1 sets VMMALLOC_FORK."""
    pool = folder or stage.room()
    given = {'POOL_DIR': pool, 'POOL_SIZE': MINIMUM, **variables}
    env = {'VMMALLOC_' + k: v for k, v in given.items()}
    if library:
        env['LD_PRELOAD'] = library
    run = Run(stage, argv, how='plain', env=env, wrap=wrap)
    run.pool = pool
    return run.wait() if wait else run


def program(stage, *words):
    return [stage.program('conform/vmmalloc'), *words]


def is_empty(folder):
    must(not os.listdir(folder), 'left in the folder:', os.listdir(folder))


def refused(run, *words):
    """Ended by SIGABRT with one line on stderr, which has these words; nothing was run, nothing is left."""
    text = run.err.decode(errors='replace')
    must(run.status == -signal.SIGABRT, 'status', run.status, text)
    must(text.startswith(ERROR) and text.count('\n') == 1 and text.endswith('\n'), repr(text))
    must(all(w in text for w in words), 'not in the message:', words, repr(text))
    must(run.out == b'', 'output:', run.out)
    return text.strip()


# ---- rows of the seed's tests, in each way ---------------------------------------------------

def in_pool(stage, words):
    run = pool_run(stage, program(stage, *words))
    is_empty(run.pool)
    must(run.err == b'', run.err[-300:])
    return run


def by_hand(heap):
    def run(stage, words):
        # where a leak scan at the end of 31 processes would only take time
        return Run(stage, program(stage, *words), how='hand', options=['heap=' + heap, 'pool-size=14m', 'leaks=no']).wait()
    return run


WAYS = {'vmmalloc': in_pool, 'file': by_hand('file'), 'private': by_hand('private')}
ROWS = [('malloc',), ('calloc',), ('realloc',), ('aligned', 'memalign'), ('aligned', 'posix_memalign'),
        ('aligned', 'aligned_alloc'), ('pages',), ('usable',), ('overlap',), ('hooks',), ('fork',), ('fork', 'exec')]
FIXED = [('out_of_memory',)] # a private heap grows


def row(words, ways):
    def check(stage):
        for name in ways:
            run = WAYS[name](stage, words)
            must(run.status == 0, name, 'status', run.status, run.err[-300:].decode(errors='replace'))
            must(run.out == (b'done\n' * 16 if words == ('fork', 'exec') else b''), name, run.out)
        return ', '.join(ways)
    return check


def is_of_pool(line, pool):
    """A shared mapping of a file without a name, in the pool's folder."""
    return line.startswith('rw-s ' + pool + '/') and line.endswith(' (deleted)')


def place(stage):
    words = program(stage, 'place')
    for library in NAME, stage.library:
        run = pool_run(stage, words, library=library)
        must(is_of_pool(run.out.decode().strip(), run.pool), run.out, run.pool)
    run = Run(stage, words, how='hand', options=['heap=file']).wait()
    must(run.out.decode().startswith('rw-s ' + run.pool_dir), run.out)
    for options in [], ['heap=private', 'pool-size=64m'], ['pool-size=64m', 'heap=private']:
        run = Run(stage, words, how='hand', options=options).wait()
        must(run.out.decode().split() == ['rw-p'], options, run.out)


def killed(stage):
    """SIGKILL leaves nothing, and the space is free again."""
    run = pool_run(stage, program(stage, 'killed'))
    must(run.status == -signal.SIGKILL, run.status)
    is_empty(run.pool)


def signals(stage):
    plain = run_plain(stage, program(stage, 'signals'))
    same_as_plain(pool_run(stage, program(stage, 'signals')), plain)
    by_hand = Run(stage, program(stage, 'signals'), how='hand').wait()
    must(by_hand.out != plain.out, 'the comparison is blind: by hand there are handlers')


def descriptors(stage):
    """None is added, also while lines are logged."""
    argv = ['ls', '/proc/self/fd']
    plain = run_plain(stage, argv)
    same_as_plain(pool_run(stage, argv), plain)
    same_as_plain(pool_run(stage, argv, LOG_LEVEL=4, LOG_FILE=stage.room() + '/log'), plain)


def own_variables(stage):
    """A variable of rtcheck, or the launcher, selects an ordinary run: bad values of libvmmalloc's are ignored."""
    bad = {'VMMALLOC_POOL_DIR': '/nowhere', 'VMMALLOC_POOL_SIZE': '1'}
    for how in 'hand', 'launcher':
        run = Run(stage, program(stage, 'stderr'), how=how, env=bad).wait()
        must(run.status == 0 and run.report.in_control, how, run.status, run.err)
    for name in 'RTCHECK_OPTIONS', 'RTCHECK_POOL_DIR', 'RTCHECK_POOL_SIZE':
        run = Run(stage, program(stage, 'stderr'), how='plain',
                  env={**bad, 'LD_PRELOAD': stage.library, name: ''}).wait()
        must(run.status == 0 and ERROR.encode() not in run.err, name, run.status, run.err)


def constant(stage):
    """The header's minimum is that of the messages."""
    found = re.search(r'define RTC_POOL_BYTES_MIN \(\(size_t\)(\d+)\)', read_text(SOURCE + '/include/rtcheck/pool.h'))
    must(found and int(found[1]) == MINIMUM, found)


def linked(stage):
    """Linked and not preloaded: the library is the program's allocator."""
    room = stage.room()
    source = SOURCE + '/tests/conform/vmmalloc.c'
    subprocess.run(['cc', '-shared', '-xc', '/dev/null', '-Wl,-soname,libvmmalloc.so.1', '-o', room + '/stub.so'], check=True)
    programs = {}
    for name, words in {'rtcheck': ['-L' + BUILD + '/lib', '-lrtcheck'], 'vmmalloc': ['-L' + BUILD + '/lib', '-lvmmalloc'],
                        'needed': ['-Wl,--no-as-needed', room + '/stub.so']}.items():
        programs[name] = room + '/' + name
        subprocess.run(['cc', '-D_GNU_SOURCE', '-pthread', source, '-o', programs[name], *words, '-Wl,-rpath,' + BUILD + '/lib'],
                       check=True, capture_output=True)
        run = pool_run(stage, [programs[name], 'place'], library=None)
        must(is_of_pool(run.out.decode().strip(), run.pool), name, run.out, run.err)
    run = Run(stage, [programs['rtcheck'], 'stderr'], how='plain', env={'RTCHECK_POOL_DIR': stage.room()}).wait()
    must(run.status == 0 and b'rtcheck: no errors' in run.err, run.status, run.err)
    # a program of libvmmalloc, without its variables
    refused(Run(stage, [programs['needed'], 'stderr'], how='plain').wait(), 'VMMALLOC_POOL_DIR', 'not set')


# ---- cases of start-up -----------------------------------------------------------------------

def good_start(stage):
    for size in MINIMUM, MINIMUM + 1, ' %d bytes' % MINIMUM, 1 << 26:
        run = pool_run(stage, program(stage, 'stderr'), POOL_SIZE=size)
        must(run.status == 0 and run.out == b'done\n' and run.err == b'', size, run.status, run.err)
        is_empty(run.pool)
    run = pool_run(stage, program(stage, 'stderr'), POOL_SIZE=MINIMUM + 1, LOG_LEVEL=2)
    must('pool of bytes: %d\n' % (MINIMUM + PAGE) in run.err.decode(), 'not rounded up to a page:', run.err)


def bad_start(*words, **variables):
    def check(stage):
        run = pool_run(stage, program(stage, 'stderr'), **variables)
        is_empty(run.pool)
        return refused(run, *words)
    return check


def not_selected(stage):
    """Without both variables the library's name decides."""
    run = pool_run(stage, program(stage, 'stderr'), POOL_DIR=None, POOL_SIZE=None)
    refused(run, 'VMMALLOC_POOL_DIR', 'not set')
    run = pool_run(stage, program(stage, 'stderr'), library=stage.library, POOL_DIR=None, POOL_SIZE=None,
                   FORK=4)
    must(run.status == 0 and b'libvmmalloc' not in run.err, run.status, run.err)


def aborted_anyway(stage):
    """SIGABRT ends the process also if it is ignored and blocked."""
    script = 'import os, signal, sys; s = signal.SIGABRT; signal.signal(s, signal.SIG_IGN); ' \
             'signal.pthread_sigmask(signal.SIG_BLOCK, [s]); os.execvp(sys.argv[1], sys.argv[1:])'
    refused(pool_run(stage, program(stage, 'stderr'), wrap=(sys.executable, '-c', script), FORK=4), 'VMMALLOC_FORK')


def full_file_system(stage):
    needs_scene('unshare', '-Urm')
    pool = stage.room()
    scene = ['unshare', '-Urm', 'sh', '-c', 'set -e\nmount -t tmpfs -o size=%dk none %s\nexec "$@"' % (MINIMUM // 1024 + 4096, pool), 'sh']
    run = pool_run(stage, program(stage, 'stderr'), folder=pool, wrap=scene)
    must(run.status == 0 and run.err == b'', run.status, run.err)
    return refused(pool_run(stage, program(stage, 'stderr'), folder=pool, wrap=scene, POOL_SIZE=MINIMUM + (8 << 20)),
                   'No space left on device')


KINDS = {'error': 'error: ', 'pool': 'pool of bytes: ', 'fork': 'forked by process ', 'thread': 'thread begins: ',
         'statistics': 'statistics: allocations ', 'allocation': r'malloc\(4321\) = 0x'}
LEVELS = [(), ('error',), ('error', 'pool', 'fork'), ('error', 'pool', 'fork', 'thread', 'statistics'), tuple(KINDS)]


def lines_of(text):
    """(pid, text) of each line of the log."""
    found = [re.fullmatch(r'libvmmalloc (\d+): (.+)', line) for line in text.splitlines()]
    must(all(found), 'not a line of the log:', text[-500:])
    return [(int(m[1]), m[2]) for m in found]


def level(n):
    def check(stage):
        run = pool_run(stage, program(stage, 'errors'), LOG_LEVEL=n)
        lines = lines_of(run.err.decode())
        kinds = tuple(k for k, start in KINDS.items() if any(re.match(start, line) for _, line in lines))
        must(run.status == 0 and kinds == LEVELS[n], run.status, kinds, LEVELS[n], run.err[-500:])
        errors = [line for _, line in lines if line.startswith('error: ')]
        must(not n or (len(errors) == 2 and errors[0].startswith('error: double free, free of 0x') and
                       errors[1] == 'error: allocation failed, malloc, %d bytes' % (1000 << 20)), errors)
        return '%d lines' % len(lines)
    return check


def each_allocation(stage):
    """Level 4 has every call, also the first of a thread, in order."""
    log = stage.room() + '/log'
    run = pool_run(stage, program(stage, 'log'), LOG_LEVEL=4, LOG_FILE=log)
    wanted = run.out.decode().splitlines()
    logged = [line for _, line in lines_of(read_text(log))]
    must(run.status == 0 and run.err == b'' and len(wanted) == 9, run.status, run.err)
    must(all(line in logged for line in wanted), 'missing:', [w for w in wanted if w not in logged])
    must(all(logged.count(line) == 1 for line in wanted if ' = ' in line), 'logged twice')
    must(logged.index(wanted[0]) < logged.index(wanted[1]) < logged.index(wanted[3]), logged)


def statistics(stage):
    run = pool_run(stage, program(stage, 'malloc'), LOG_STATS=1)
    rows = dict(re.findall(r'statistics: (.*) (\d+)\n', run.err.decode()))
    must(len(rows) == run.err.count(b'\n') == 7 and int(rows['bytes of the pool']) == MINIMUM and
         int(rows['allocations']) >= 20 and int(rows['failed allocations']) == 0, run.err)
    for other in 0, 2:
        run = pool_run(stage, program(stage, 'malloc'), LOG_STATS=other)
        must(run.err == b'', run.err)


def log_file(stage):
    """One file for all processes, also if the working directory changes; lines are appended."""
    room = stage.room()
    log = room + '/log'
    with open(log, 'w') as f:
        f.write('libvmmalloc 0: first\n')
    scene = ('sh', '-c', 'cd "$0" && exec "$@"', room)
    run = pool_run(stage, program(stage, 'errors'), wrap=scene, LOG_LEVEL=4, LOG_FILE='log')
    parent, child = map(int, run.out.split())
    lines = lines_of(read_text(log))
    must(run.status == 0 and run.err == b'' and lines[0] == (0, 'first'), run.status, run.err, lines[:1])
    must({pid for pid, _ in lines} == {0, parent, child}, lines)
    must(os.listdir(room) == ['log'], os.listdir(room))


def log_file_of_each(stage):
    """With "-" at its end each process has its own, also a forked child."""
    room = stage.room()
    run = pool_run(stage, program(stage, 'errors'), LOG_LEVEL=4, LOG_FILE=room + '/log-')
    for pid in map(int, run.out.split()):
        lines = lines_of(read_text(room + '/log-%d' % pid))
        must(lines and {p for p, _ in lines} == {pid}, pid, lines)
    must(run.status == 0 and len(os.listdir(room)) == 2, run.status, os.listdir(room))
    refused(pool_run(stage, program(stage, 'stderr'), LOG_LEVEL=1, LOG_FILE='/nowhere/log'), 'VMMALLOC_LOG_FILE', '/nowhere/log')


def fork_policies(stage):
    """With 1 to 3 parent and child do not see what the other writes; with 0 they do, and can execute programs."""
    for n in 1, 2, 3:
        run = pool_run(stage, program(stage, 'fork'), FORK=n)
        must(run.status == 0 and run.err == b'', n, run.status, run.err)
    for n in range(4):
        run = pool_run(stage, program(stage, 'written_by_child'), FORK=n)
        must(run.status == 0 and run.out == (b'2\n' if n == 0 else b'1\n'), n, run.status, run.out)
    run = pool_run(stage, ['sh', '-c', '/bin/echo one; /bin/echo two'], FORK=0)
    must(run.status == 0 and run.out == b'one\ntwo\n' and run.err == b'', run.status, run.out, run.err)


def execs(stage):
    """Level 3 has a line for each exec; the next program makes a pool of its own."""
    argv = ['sh', '-c', 'exec sh -c "test -d /; exec true"']
    log = stage.room() + '/log'
    run = pool_run(stage, argv, LOG_LEVEL=3, LOG_FILE=log)
    texts = [line for _, line in lines_of(read_text(log))]
    must(run.status == 0 and texts.count('exec') == 2 and sum(t.startswith('pool of bytes') for t in texts) == 3, run.err, texts)


def libraries(stage):
    """Blocks of a library that was opened lazily, or with RTLD_DEEPBIND, are in the pool, and are logged."""
    for how in 'lazy', 'deepbind':
        log = stage.room() + '/log'
        run = pool_run(stage, program(stage, 'library', how), LOG_LEVEL=4, LOG_FILE=log)
        found = run.out.decode().splitlines()
        must(run.status == 0 and len(found) == 2 and all(is_of_pool(line, run.pool) for line in found), how, run.out, run.err)
        must('malloc(12345) = 0x' in read_text(log), how, 'the call is not in the log')
        hand = Run(stage, program(stage, 'library', how), how='hand', options=['heap=file']).wait()
        must(hand.out.decode().count('rw-s ' + hand.pool_dir) == 2, how, hand.out)


def silent(stage):
    """A real program prints what it prints natively, and leaves nothing."""
    argv = [sys.executable, '-c', 'import json; print(len(json.dumps(list(range(50000)))))']
    plain = run_plain(stage, argv)
    run = pool_run(stage, argv, POOL_SIZE=64 << 20)
    same_as_plain(run, plain)
    must(run.err == b'' == plain.err, run.err)
    is_empty(run.pool)
    must(set(os.listdir(run.room)) == {'pool'} and not os.listdir(run.pool_dir), os.listdir(run.room))


STARTS = [('good_start', good_start), ('no_size', bad_start('VMMALLOC_POOL_SIZE', 'not set', POOL_SIZE=None)),
          ('no_folder', bad_start('VMMALLOC_POOL_DIR', 'not set', POOL_DIR=None)),
          ('below_minimum', bad_start('(%d < %d)' % (MINIMUM - 1, MINIMUM), POOL_SIZE=MINIMUM - 1)),
          ('negative', bad_start('negative', '-1', POOL_SIZE=-1)),
          ('no_number', bad_start('(0 < %d)' % MINIMUM, POOL_SIZE='garbage')),
          ('missing_folder', bad_start('created', 'No such file or directory', POOL_DIR='/nowhere/pool')),
          ('unwritable_folder', bad_start('created', UNWRITABLE, POOL_DIR=UNWRITABLE)),
          ('bad_fork', bad_start('VMMALLOC_FORK', '(4)', FORK=4)), ('full_file_system', full_file_system),
          *(('log_level_%d' % n, level(n)) for n in range(5)), ('log_file', log_file),
          ('log_file_of_each', log_file_of_each), ('libraries', libraries), ('silent', silent)]


ENDS = (('freed', [], []), ('lost', ['definitely lost in loss record'], ['mel']), ('past', ['Invalid write of size 4', '0 bytes after a block of size 40'], ['wua']))
MEMCHECK = ['valgrind', '-q', '--leak-check=full', '--error-exitcode=9']


def memcheck(stage):
    """vmmalloc_valgrind: no leak, a leak and a write past the end.  Under memcheck its allocator serves the program, and it
    reports them as without the library; rtcheck itself reports them with the heap in a file."""
    for end, texts, codes in ENDS:
        argv = program(stage, 'ends', end)
        plain = run_plain(stage, [*MEMCHECK, *argv])
        run = pool_run(stage, [*MEMCHECK, *argv])
        is_empty(run.pool)
        for made in plain, run:
            err = made.err.decode()
            must(made.status == (9 if codes else 0) and made.out == b'done\n' and (err == '') == (not texts), end, made.status, err)
            must(all(text in err for text in texts), end, texts, err)
        run = Run(stage, argv, options=['heap=file', 'pool-size=14m']).wait()
        data = run.report.data
        found = sorted(one['rtc'] for one in data['errors'] + [one for one in data['leaks'] if one['rtc'] == 'mel'])
        must(run.status == 0 and found == codes, end, run.status, found)


def table(stage):
    """The page of the documentation has a row for each case."""
    page = read_text(SOURCE + '/docs/libvmmalloc.md')
    named = re.findall(r'^\| `([a-z]\w+)` \|', page, re.M)
    must(named == [name for name, _ in STARTS] and len(named) == 19, named)


def example(stage):
    """The command of the documentation."""
    pool = stage.room()
    words = {'/mnt/pmem': pool, '/opt/rtcheck/lib': BUILD + '/lib', './program': ' '.join(program(stage, 'place'))}
    script = block('docs/libvmmalloc.md', 'LD_PRELOAD=')
    for old, new in words.items():
        script = script.replace(old, new)
    script = script.replace('1073741824', str(MINIMUM))
    run = run_plain(stage, ['sh', '-c', script])
    must(run.status == 0 and is_of_pool(run.out.decode().strip(), pool), script, run.out, run.err)


if __name__ == '__main__':
    main([('row_' + '_'.join(words), row(words, WAYS)) for words in ROWS] +
         [('row_' + words[0], row(words, ('vmmalloc', 'file'))) for words in FIXED] + STARTS +
         [('place', place), ('killed', killed), ('signals', signals), ('descriptors', descriptors),
          ('huge_size', bad_start('File too large', POOL_SIZE=10 ** 30)), ('own_variables', own_variables), ('constant', constant), ('linked', linked), ('not_selected', not_selected),
          ('aborted_anyway', aborted_anyway), ('each_allocation', each_allocation), ('statistics', statistics), ('execs', execs), ('fork_policies', fork_policies),
          ('memcheck', memcheck), ('table', table), ('example', example)])

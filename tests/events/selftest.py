#!/usr/bin/python3
"""rtcheck selftest --events: the calls that are intercepted here, and those that cannot be, by name."""
# rtc-test: events/selftest ci 30
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import clean_environment, main, must

CALLS = ('mmap mmap64 __mmap mprotect __mprotect pkey_mprotect madvise __madvise posix_madvise process_madvise '
         'mlock mlock2 munlock mlockall munlockall msync remap_file_pages mremap munmap __munmap shmat shmdt').split() + \
    ['shmat with SHM_REMAP', 'sbrk', 'brk']
UNSEEN = ['statically linked copy', 'thread with raw syscalls', "libc's own: stacks", "loader's own: libraries", 'library in a namespace']
RING = ('madvise by io_uring', 'NOT covered; not found by comparing'), ('madvise by io_uring', 'not possible here')


def selftest(stage, *words, **env):
    done = subprocess.run([stage.rtcheck, 'selftest', *words], capture_output=True, text=True, timeout=60,
                          env={**clean_environment(), **env})
    return done, re.findall(r'^  (.*?) {2,}(.*)$', done.stdout, re.M)


def all_covered(stage):
    done, rows = selftest(stage, '--events')
    must((done.returncode, done.stderr) == (0, ''), done)
    must(rows == [(c, 'covered') for c in CALLS] and done.stdout.endswith('0 of 25 calls are not covered\n'), done.stdout)


def verbose(stage):
    done, rows = selftest(stage, '--events', '-v')
    must(done.returncode == 0, done)
    must(rows[len(CALLS):-1] == [(u, 'NOT covered; found by comparing') for u in UNSEEN], done.stdout)
    must(rows[-1] in RING, done.stdout)


def everything(stage):
    """events=all: covers all that is otherwise NOT covered, at a printed cost."""
    done, rows = selftest(stage, '--events=all')
    must((done.returncode, done.stderr) == (0, ''), done)
    must(rows[:-1] == [(c, 'covered') for c in CALLS + UNSEEN] and rows[-1] in RING, done.stdout)
    must(re.search(r'^events=all: \d+ calls dispatched, ~\d+ ns each \(measured at start, with \d+ calls\)$', done.stdout,
                   re.M), done.stdout)


def nothing_more(stage):
    """A kernel without."""
    done, rows = selftest(stage, '--events=all', RTCHECK_TEST_WITHOUT='user_dispatch')
    must(done.returncode == 0, done)
    must(rows[len(CALLS):-1] == [(u, 'NOT covered; found by comparing') for u in UNSEEN], done.stdout)
    must(rows[-1] in RING, done.stdout)
    must('\nevents=all: not available: no syscall user dispatch in this kernel (Linux 5.11)\n' in done.stdout, done.stdout)


def lacking(stage, preloaded, options='events=calls', **env):
    """The command's rows that are not covered with these libraries."""
    done = subprocess.run([stage.rtcheck, 'selftest', '--events', '--here'], capture_output=True, text=True, timeout=60,
                          env={**clean_environment(), 'RTCHECK_OPTIONS': 'leaks=no:quiet:' + options,
                               'LD_PRELOAD': ':'.join(preloaded), **env})
    rows = re.findall(r'^  (.*?) {2,}(.*)$', done.stdout, re.M)
    must([r[0] for r in rows] == CALLS, done)
    return done.returncode, [r for r in rows if r[1] != 'covered']


def printed(stage, preloaded, **env):
    """The result of the test of events in a program."""
    done = subprocess.run([stage.program('events/self')], capture_output=True, text=True, timeout=60,
                          env={**clean_environment(), 'RTCHECK_OPTIONS': 'leaks=no:quiet',
                               'LD_PRELOAD': ':'.join(preloaded), **env})
    must((done.returncode, done.stderr) == (0, ''), done)
    return done.stdout.split('\n')[:-1]


def overridden(stage):
    """A library whose munmap comes before the runtime's: the events that are not covered."""
    preloaded = [stage.program('events/munmaps.so'), stage.library]
    rows = lacking(stage, preloaded)
    must(rows == (1, [('munmap', 'NOT covered (no MUNMAP, VM_UNMAPPED)')]), rows)
    rows = lacking(stage, preloaded, 'events=all')
    must(rows == (0, []), rows)
    must(printed(stage, preloaded) == ['missing MUNMAP VM_UNMAPPED'], printed(stage, preloaded))


def overridden_after(stage):
    """A library after the runtime, which changes the program's GOT entries."""
    preloaded = [stage.library, stage.program('events/redirects.so')]
    rows = lacking(stage, preloaded)
    must(rows == (1, [('munmap', 'NOT covered (no MUNMAP, VM_UNMAPPED)')]), rows)
    must(printed(stage, preloaded) == ['missing MUNMAP VM_UNMAPPED'] * 2, printed(stage, preloaded))
    later = printed(stage, preloaded, REDIRECTED='later')
    must(later == ['covered', 'missing MUNMAP VM_UNMAPPED'], later)


BYPASSED = {
    '__mmap': 'MMAP VM_MAPPED VM_UNMAPPED', '__mprotect': 'MPROTECT', 'pkey_mprotect': 'MPROTECT',
    '__madvise': 'MADVISE VM_UNMAPPED', 'posix_madvise': 'MADVISE', 'process_madvise': 'MADVISE',
    'mlock2': 'MLOCK', 'mlockall': 'MLOCK',
    'munlockall': 'MLOCK', '__munmap': 'MUNMAP VM_UNMAPPED', 'shmat with SHM_REMAP': 'SHMAT VM_MAPPED VM_UNMAPPED',
}


def each_is_called(stage):
    """For each function alone, the test finds that it does not lead to the runtime."""
    preloaded = [stage.program('events/bypasses.so'), stage.library]
    must(lacking(stage, preloaded) == (0, []) and printed(stage, preloaded) == ['covered'], 'functions that go on')
    for name, events in BYPASSED.items():
        rows = lacking(stage, preloaded, BYPASSED=name)
        must(rows == (1, [(name, 'NOT covered (no %s)' % events.replace(' ', ', '))]), rows)
        must(printed(stage, preloaded, BYPASSED=name) == ['missing ' + events], name, printed(stage, preloaded, BYPASSED=name))


def not_there(stage):
    done, rows = selftest(stage, '--events', '--here')
    must(done.returncode == 120 and not rows, done)


def misused(stage):
    for words, why in ((['more'], 'usage: '), (['--what'], "unknown option '--what'"), (['--events', '-x'], "unknown option '-x'")):
        done, rows = selftest(stage, *words)
        must(done.returncode == 125 and done.stderr.startswith('rtcheck: ' + why) and not rows, done)


if __name__ == '__main__':
    main([('all_covered', all_covered), ('verbose', verbose), ('everything', everything),
          ('nothing_more', nothing_more), ('overridden', overridden),
          ('overridden_after', overridden_after), ('each_is_called', each_is_called), ('not_there', not_there),
          ('misused', misused)])

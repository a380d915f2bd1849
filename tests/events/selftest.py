#!/usr/bin/python3
"""rtcheck selftest --events: which calls are seen here, and what cannot be, by name."""
# rtc-test: events/selftest ci 30
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import clean_environment, main, must

CALLS = ('mmap mmap64 mprotect madvise posix_madvise mlock munlock msync remap_file_pages mremap munmap shmat shmdt '
         'sbrk brk').split()
UNSEEN = ['statically linked copy', 'thread with raw syscalls', "libc's own: stacks", "loader's own: libraries"]


def selftest(stage, *words, **env):
    done = subprocess.run([stage.rtcheck, 'selftest', *words], capture_output=True, text=True, timeout=60,
                          env={**clean_environment(), **env})
    return done, re.findall(r'^  (.*?) {2,}(.*)$', done.stdout, re.M)


def all_covered(stage):
    done, rows = selftest(stage, '--events')
    must((done.returncode, done.stderr) == (0, ''), done)
    must(rows == [(c, 'covered') for c in CALLS] and done.stdout.endswith('0 of 15 calls are not covered\n'), done.stdout)


def verbose(stage):
    done, rows = selftest(stage, '--events', '-v')
    must(done.returncode == 0, done)
    must(rows[len(CALLS):] == [(u, 'NOT covered; found by comparing') for u in UNSEEN], done.stdout)


def everything(stage):
    """events=all: all that is NOT covered without, and what it costs."""
    done, rows = selftest(stage, '--events=all')
    must((done.returncode, done.stderr) == (0, ''), done)
    must(rows == [(c, 'covered') for c in CALLS + UNSEEN], done.stdout)
    must(re.search(r'^events=all: \d+ calls dispatched, ~\d+ ns each \(measured at start, with \d+ calls\)$', done.stdout,
                   re.M), done.stdout)


def nothing_more(stage):
    """A kernel without."""
    done, rows = selftest(stage, '--events=all', RTCHECK_TEST_WITHOUT='user_dispatch')
    must(done.returncode == 0, done)
    must(rows[len(CALLS):] == [(u, 'NOT covered; found by comparing') for u in UNSEEN], done.stdout)
    must('\nevents=all: not available: no syscall user dispatch in this kernel (Linux 5.11)\n' in done.stdout, done.stdout)


def overriding(stage, options):
    """A library whose munmap comes before ours: what is not covered."""
    library = stage.program('events/munmaps.so')
    env = {'LD_PRELOAD': '%s:%s' % (library, stage.library)}
    done = subprocess.run([stage.rtcheck, 'selftest', '--events', '--here'], capture_output=True, text=True, timeout=60,
                          env={**clean_environment(), 'RTCHECK_OPTIONS': 'leaks=no:quiet:' + options, **env})
    rows = re.findall(r'^  (.*?) {2,}(.*)$', done.stdout, re.M)
    must(len(rows) == len(CALLS), done)
    return done.returncode, [r for r in rows if r[1] != 'covered']


def overridden(stage):
    lacking = overriding(stage, 'events=calls')
    must(lacking == (1, [('munmap', 'NOT covered (no MUNMAP, VM_UNMAPPED)')]), lacking)
    lacking = overriding(stage, 'events=all')
    must(lacking == (0, []), lacking)


def not_there(stage):
    done, rows = selftest(stage, '--events', '--here')
    must(done.returncode == 120 and not rows, done)


def misused(stage):
    for words in ([], ['--what'], ['--events', '-x']):
        done, rows = selftest(stage, *words)
        must(done.returncode == 125 and done.stderr.startswith('usage: ') and not rows, done)


if __name__ == '__main__':
    main([('all_covered', all_covered), ('verbose', verbose), ('everything', everything),
          ('nothing_more', nothing_more), ('overridden', overridden), ('not_there', not_there),
          ('misused', misused)])

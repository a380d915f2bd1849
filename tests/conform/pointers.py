#!/usr/bin/python3
"""Pointers that cannot be read, given to every function of libc that the runtime wraps: the same result, errno or
signal as without the runtime."""
# rtc-test: conform/pointers ci 120
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import SOURCE, Run, main, must, run_plain

# Functions without pointer arguments, or with one that the runtime interprets.
NO_POINTER = set('on_exit __cxa_atexit __cxa_at_quick_exit fork _Fork _exit _Exit abort sbrk __sbrk mlockall munlockall mallinfo mallinfo2 __libc_mallinfo malloc_stats '
                 'malloc_trim mallopt __register_atfork close close_range closefrom dup dup2 dup3 epoll_create epoll_create1 '
                 'eventfd fanotify_init inotify_init inotify_init1 posix_openpt socket timerfd_create tmpfile tmpfile64'.split())
ALLOCATOR = re.compile(r'(c|m|re|v|pv|aligned_)?alloc$|reallocarray|memalign|free|cfree|free_(aligned_)?sized|'
                       r'malloc_(usable_size|info)|__libc_\w+|_Z\w+')
OWN = re.compile(r'_?_?rtc_\w+|__[al]san_\w+')
SAME = {'mmap64': 'mmap', '__mmap': 'mmap', '__munmap': 'munmap', '__madvise': 'madvise', '__mprotect': 'mprotect',
        '__longjmp_chk': 'longjmp'}


def of_memory_and_strings():
    """crimes/accesses calls those."""
    with open(SOURCE + '/src/rtcheck.map') as f:
        return set(re.findall(r'\w+', re.search(r'\bmemcpy;.*?(?=rtc_event_)', f.read(), re.S).group()))


def exported():
    with open(SOURCE + '/tests/limits/symbols-defined.txt') as f:
        return {line.split()[0] for line in f if line.strip() and not line.startswith('#')}


def table_is_whole(stage):
    called = set(run_plain(stage, [stage.program('conform/pointers'), '--list']).out.decode().split())
    wanted = {SAME.get(n, n) for n in exported()
              if n not in NO_POINTER | of_memory_and_strings() and not ALLOCATOR.fullmatch(n) and not OWN.fullmatch(n)}
    must(not wanted - called, 'without a call:', sorted(wanted - called))
    return '%d functions' % len(called)


def same(how, *arguments, options=()):
    def check(stage):
        argv = [stage.program('conform/pointers'), *arguments]
        plain = run_plain(stage, argv)
        must(plain.status == 0 and plain.out.count(b'\n') > 500, plain.status, plain.err[-500:])
        run = Run(stage, argv, how=how, options=['leaks=no', *options]).wait()
        differ = [(a, b) for a, b in zip(plain.out.decode().split('\n'), run.out.decode().split('\n')) if a != b]
        must(run.status == 0 and not differ and run.out == plain.out, run.status, '%d differ:' % len(differ),
             '\n'.join('%s\n   ours: %s' % d for d in differ[:20]))
        return '%d calls' % plain.out.count(b'\n')
    return check


if __name__ == '__main__':
    main([('table_is_whole', table_is_whole), ('by_launcher', same('launcher')), ('by_hand', same('hand')),
          ('in_a_sandbox', same('launcher', '--sandbox')),
          ('all_events', same('launcher', options=['events=all'])),
          ('descriptors', same('launcher', options=['track-fds=all'])),
          ('descriptors_in_a_sandbox', same('launcher', '--sandbox', options=['track-fds=all']))])

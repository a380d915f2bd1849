#!/usr/bin/python3
"""Programs whose stacks are just large enough for glibc's malloc run with the runtime, too.

needs            no function of the allocator needs more than LIMIT bytes of the caller's stack, in any state that
                 stack_use can force; rare paths run on the runtime's own stack (os/helper_stack.c)
coroutines, handlers, interrupting, jumping, errors, stopped: the output of small_stack

LD_BIND_NOW is set: the loader's lazy binding needs more than any of these stacks has, with and without us.
"""
# rtc-test: limits_stack ci 120
# rtc-test: limits_stack_full full 600 --full
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, main, must, run_plain, same_as_plain

LIMIT = 1024
# For mmap, which natively is one system call.  Bounded to detect growth.
LIMIT_MAP = 1400
CASES = 120
NOW = {'LD_BIND_NOW': '1'}
SETTINGS = ((), ('heap=file',), ('frames=1',), ('frames=0',), ('leaks=no',), ('freelist-vol=0',))


def check_needs(stage, how, options):
    got = Run(stage, [stage.program('limits/stack_use')], how=how, options=options, env=NOW).wait()
    must(got.status == 0, how, options, 'status', got.status, got.err[-300:])
    need = {}
    for line in got.out.decode().splitlines():
        case, number = line.split()
        need[case] = int(number)
    must(len(need) >= CASES, 'only', len(need), 'cases')
    over = ['%s %d' % (case, n) for case, n in need.items()
            if n > (LIMIT_MAP if case.split('/')[0] in ('mmap', 'munmap') else LIMIT)]
    must(not over, how, options, 'bytes of stack:', ', '.join(over))
    must(got.report.bad_frees('duf') > 0, 'its errors were not found')
    return max(need.values())


def needs(stage):
    most = [check_needs(stage, how, options)
            for how, options in stage.sample((('launcher', ()), ('hand', ('heap=file',))),
                                             [(h, o) for h in ('launcher', 'hand') for o in SETTINGS])]
    return '%d bytes at most' % max(most)


def small(what, *words, plain=True):
    """The program's output is the same as natively, if it can run natively."""
    def check(stage):
        argv = [stage.program('limits/small_stack'), what, *words]
        native = run_plain(stage, argv, env=NOW) if plain else None
        must(not native or native.status == 0, 'natively: status', native and native.status)
        for options in stage.sample(SETTINGS[:2], SETTINGS):
            got = Run(stage, argv, options=options, env=NOW).wait()
            must(got.status == 0, options, 'status', got.status, got.err[-300:], got.log[-300:])
            if native:
                same_as_plain(got, native)
            must(got.report.in_control, options, got.log)
            must(what in ('errors', 'interrupting') or got.report.bad_frees() == 0, options, got.log)
            check_errors(got.report, what)
    return check


def check_errors(report, what):
    """Each mistake was found, with its place."""
    if what != 'errors':
        return
    codes = sorted(e['id'].split('-')[0] for e in report.data['errors'])
    must(codes == ['baf', 'duf', 'maf', 'mis', 'oom', 'wua'], 'errors:', codes)
    names = {name for frames in report.stacks.values() for f in frames for name in report.functions[f]}
    must({'free_twice', 'free_inside', 'free_local', 'free_new', 'write_past_end', 'mistakes'} <= names,
         'functions:', sorted(names))


main([('needs', needs),
      ('coroutines_3k', small('coroutines', '3072')), ('coroutines_4k', small('coroutines', '4096')),
      ('errors_3k', small('errors', '3072', plain=False)), ('errors_4k', small('errors', '4096', plain=False)),
      ('handlers', small('handlers')), ('interrupting', small('interrupting', plain=False)),
      ('jumping', small('jumping', plain=False)), ('stopped', small('stopped'))])

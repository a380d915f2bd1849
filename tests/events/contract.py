#!/usr/bin/python3
"""Memory events (rtcheck/event.h): every row of the contract, by hand and by the launcher."""
# rtc-test: events/contract ci 120
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import SOURCE, Run, main, must, run_plain
from contracts import absent, header, rows_hold

ROWS = re.findall(r'^ROW\((\w+)\)', open(SOURCE + '/tests/events/contract.def').read(), re.M)


def rows(how, without=None):
    def check(stage):
        env = {'RTCHECK_TEST_WITHOUT': without} if without else {}
        wanted = [r for r in ROWS if not without or 'fork' in r or 'wait' in r]
        # A raw clone is seen only by the page that the kernel wipes.
        wanted = [r for r in wanted if not without or r != 'fork_while_events_fire']
        return rows_hold(stage, 'events/contract', wanted, how, env=env)
    return check


def program(name, *args, expected):
    def check(stage):
        argv = [stage.program('events/' + name)] + [stage.program(a) for a in args if '/' in a] + \
            [a for a in args if '/' not in a]
        run = Run(stage, argv).wait()
        must((run.status, run.out) == (0, expected), run.status, run.out, run.err[-1000:])
    return check


def huge_segment(stage):
    env = {'LD_PRELOAD': stage.program('events/shmats.so')}
    run = Run(stage, [stage.program('events/huge_segment')], env=env).wait()
    must((run.status, run.out) == (0, b'there %d\n' % (2 << 20)), run.status, run.out, run.err[-1000:])


def by_another_name(stage):
    """A library between the runtime and libc that calls __sbrk reaches libc."""
    run = Run(stage, ['/bin/true'], how='hand', env={'LD_PRELOAD': stage.program('events/sbrks.so')}).wait()
    must((run.status, run.out) == (0, b'moved\n'), run.status, run.out, run.err[-1000:])


def fixed_place(stage):
    """A program that is not position-independent finds the runtime, and does without it."""
    room = stage.room()
    with open(room + '/fixed.c', 'w') as f:
        f.write('#include "rtcheck/event.h"\n'
                'int main(void) { return rtc_event_set_handler ? rtc_event_test(0, 0) : 5; }\n')
    subprocess.run(['gcc', '-fno-pie', '-no-pie', '-I', SOURCE + '/include', '-o', room + '/fixed',
                    room + '/fixed.c'], check=True)
    must(run_plain(stage, [room + '/fixed']).status == 5, 'there was no runtime')
    must(Run(stage, [room + '/fixed']).wait().status == 0, 'the runtime was not found')


if __name__ == '__main__':
    main([('rows_by_hand', rows('hand')), ('rows_by_launcher', rows('launcher')),
          ('rows_without_wipeonfork', rows('hand', 'wipeonfork')),
          ('absent', absent('events/contract')), ('header', header('event.h')), ('fixed_place', fixed_place),
          ('huge_segment', huge_segment), ('by_another_name', by_another_name),
          ('overridden_calls', program('overrides', expected=b'said\n')),
          ('external_events', program('overrides', 'report', expected=b'said\n')),
          ('libraries', program('libraries', 'events/do_load.so', expected=b'loaded\n'))])

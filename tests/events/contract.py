#!/usr/bin/python3
"""Memory events (rtcheck/event.h): every row of the contract, by hand and by the launcher."""
# rtc-test: events/contract ci 120
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import SOURCE, Run, main, must, run_plain

ROWS = re.findall(r'^ROW\((\w+)\)', open(SOURCE + '/tests/events/contract.def').read(), re.M)


def rows(how, without=None):
    def check(stage):
        env = {'RTCHECK_TEST_WITHOUT': without} if without else {}
        wanted = [r for r in ROWS if not without or 'fork' in r or 'wait' in r]
        # A raw clone is seen only by the page that the kernel wipes.
        wanted = [r for r in wanted if not without or r != 'fork_while_events_fire']
        run = Run(stage, [stage.program('events/contract')] + wanted, how=how, env=env).wait()
        said = run.out.decode().split('\n')[:-1]
        must(said == ['ok ' + r for r in wanted], 'rows:', sorted(set(said) ^ {'ok ' + r for r in wanted}),
             run.err.decode()[-1000:])
        return '%d rows' % len(said)
    return check


def absent(stage):
    """A program that uses the interface links and runs without the runtime."""
    run = run_plain(stage, [stage.program('events/contract')])
    must((run.status, run.out) == (0, b'absent\n'), run.status, run.out, run.err)


def program(name, *args, says):
    def check(stage):
        argv = [stage.program('events/' + name)] + [stage.program(a) for a in args if '/' in a] + \
            [a for a in args if '/' not in a]
        run = Run(stage, argv).wait()
        must((run.status, run.out) == (0, says), run.status, run.out, run.err[-1000:])
    return check


def header(stage):
    """As C and as C++, with nothing before it, and every warning."""
    for compiler, language in (('cc', 'c'), ('c++', 'c++')):
        done = subprocess.run([compiler, '-x', language, '-Wall', '-Wextra', '-Wpedantic', '-Werror',
                               '-fsyntax-only', SOURCE + '/include/rtcheck/event.h'],
                              capture_output=True, text=True)
        must(done.returncode == 0, done.stderr)


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
          ('absent', absent), ('header', header), ('fixed_place', fixed_place),
          ('overridden_calls', program('overrides', says=b'said\n')),
          ('external_events', program('overrides', 'tell', says=b'said\n')),
          ('libraries', program('libraries', 'events/do_load.so', says=b'loaded\n'))])

#!/usr/bin/python3
"""Variables of the heap (rtcheck/profile.h): every row of the contract, by hand and by the launcher."""
# rtc-test: counters/profile ci 120
# rtc-test: counters/profile-full full 3600 --full
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import SOURCE, Run, main, must, run_plain

ROWS = re.findall(r'{"(\w+)", row_', open(SOURCE + '/tests/counters/profile.c').read())


def rows(how):
    def check(stage):
        reads = str(stage.sample(1000, 200000))
        run = Run(stage, [stage.program('counters/profile'), '--reads', reads] + ROWS, how=how).wait(1500)
        said = run.out.decode().split('\n')[:-1]
        must(said == ['ok ' + r for r in ROWS], said, run.err.decode()[-1000:])
        return '%d rows, %s moments' % (len(said), reads)
    return check


def absent(stage):
    """A program that uses the interface links and runs without the runtime."""
    run = run_plain(stage, [stage.program('counters/profile')])
    must((run.status, run.out) == (0, b'absent\n'), run.status, run.out, run.err)


def header(stage):
    """As C and as C++, with nothing before it, and every warning."""
    for compiler in ('cc -std=c99 -x c', 'c++ -std=c++11 -x c++', 'clang -x c', 'clang++ -x c++'):
        done = subprocess.run(compiler.split() + ['-Wall', '-Wextra', '-Wpedantic', '-Werror', '-fsyntax-only',
                                                  SOURCE + '/include/rtcheck/profile.h'],
                              capture_output=True, text=True)
        must(done.returncode == 0, compiler, done.stderr)


if __name__ == '__main__':
    main([('rows_by_hand', rows('hand')), ('rows_by_launcher', rows('launcher')),
          ('absent', absent), ('header', header)])

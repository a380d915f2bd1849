#!/usr/bin/python3
"""Counters (rtcheck/cpc.h): every row of the contract, by hand and by the launcher."""
# rtc-test: counters/contract ci 120
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import SOURCE, Run, main, must, run_plain

ROWS = re.findall(r'^ROW\((\w+)\)', open(SOURCE + '/tests/counters/contract.def').read(), re.M)


def rows(how, without=None):
    def check(stage):
        env = {'RTCHECK_TEST_WITHOUT': without} if without else {}
        # A raw clone is seen only by the page that the kernel wipes.
        wanted = [r for r in ROWS if not without or 'fork' in r and r != 'forks_while_others_count']
        run = Run(stage, [stage.program('counters/contract')] + wanted, how=how, env=env).wait()
        said = run.out.decode().split('\n')[:-1]
        must(said == ['ok ' + r for r in wanted], 'rows:', sorted(set(said) ^ {'ok ' + r for r in wanted}),
             run.err.decode()[-1000:])
        return '%d rows' % len(said)
    return check


def absent(stage):
    """A program that uses the interface links and runs without the runtime."""
    run = run_plain(stage, [stage.program('counters/contract')])
    must((run.status, run.out) == (0, b'absent\n'), run.status, run.out, run.err)


def header(stage):
    """As C and as C++, with nothing before it, and every warning."""
    for compiler in ('cc -std=c99 -x c', 'cc -std=c17 -x c', 'c++ -std=c++11 -x c++', 'clang -x c', 'clang++ -x c++'):
        done = subprocess.run(compiler.split() + ['-Wall', '-Wextra', '-Wpedantic', '-Werror', '-fsyntax-only',
                                                  SOURCE + '/include/rtcheck/cpc.h'],
                              capture_output=True, text=True)
        must(done.returncode == 0, compiler, done.stderr)


if __name__ == '__main__':
    main([('rows_by_hand', rows('hand')), ('rows_by_launcher', rows('launcher')),
          ('rows_without_wipeonfork', rows('hand', 'wipeonfork')),
          ('absent', absent), ('header', header)])

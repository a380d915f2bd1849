#!/usr/bin/python3
"""Solaris' names for counters (rtcheck/libcpc.h): every row; programs in the way of its manual; the list of differences."""
# rtc-test: counters/libcpc ci 120
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import SOURCE, Run, main, must, read_text
from contracts import absent, header, rows_hold

ROWS = re.findall(r'^ROW\((\w+)\)', open(SOURCE + '/tests/counters/libcpc.def').read(), re.M)


def rows(how):
    def check(stage):
        return rows_hold(stage, 'counters/libcpc', ROWS, how)
    return check


def solaris(name, pattern):
    """A program that includes <libcpc.h>: only its include line is changed."""
    def check(stage):
        text = read_text(SOURCE + '/tests/counters/%s.txt' % name)
        must(text.count('#include <libcpc.h>\n') == 1, 'the include line')
        program = stage.room() + '/' + name
        with open(program + '.c', 'w') as f:
            f.write(text.replace('<libcpc.h>', '<rtcheck/libcpc.h>'))
        for compiler in 'gcc', 'clang':
            subprocess.run([compiler, '-Wall', '-Werror', '-D_GNU_SOURCE', '-I', SOURCE + '/include', '-o', program,
                            program + '.c'], check=True)
            run = Run(stage, [program], env={'EVENT0': 'page-faults', 'EVENT1': 'minor-faults'}).wait()
            must(run.status == 0 and re.fullmatch(pattern, run.out.decode()), compiler, run.status, run.out, run.err)
    return check


def differences(stage):
    """Each difference in docs/counters.md names a row of the tests or a document that has the rule."""
    text = read_text(SOURCE + '/docs/counters.md').partition('## Differences from libcpc')[2]
    table = re.findall(r'^\| (.*?) \| (.*?) \| (.*?) \| `(\w+)` \|$', text, re.M)
    places = ''.join(read_text(SOURCE + '/tests/counters/%s.def' % n) for n in ('contract', 'libcpc'))
    must(len(table) == 11, len(table), 'differences')
    for _, _, _, row in table:
        must('ROW(%s)' % row in places, 'no such row:', row)


if __name__ == '__main__':
    main([('rows_by_hand', rows('hand')), ('rows_by_launcher', rows('launcher')),
          ('before_and_after', solaris('solaris_measure', r'( *\d+: \d+ \d+\n){20}')),
          ('overflow', solaris('solaris_overflow', r'(lwp\d+: 0x[0-9a-f]+\n){3,}done\n')),
          ('differences', differences), ('absent', absent('counters/libcpc')), ('header', header('libcpc.h'))])

#!/usr/bin/python3
"""Variables of the heap (rtcheck/profile.h): every row of the contract, by hand and by the launcher."""
# rtc-test: counters/profile ci 120
# rtc-test: counters/profile-full full 3600 --full
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import SOURCE, main
from contracts import absent, header, rows_hold

ROWS = re.findall(r'^ROW\((\w+)\)', open(SOURCE + '/tests/counters/profile.def').read(), re.M)


def rows(how):
    def check(stage):
        moments = str(stage.sample(1000, 200000))
        return '%s, %s moments' % (rows_hold(stage, 'counters/profile', ROWS, how, ['--moments', moments], 1500), moments)
    return check


if __name__ == '__main__':
    main([('rows_by_hand', rows('hand')), ('rows_by_launcher', rows('launcher')),
          ('absent', absent('counters/profile')), ('header', header('profile.h'))])

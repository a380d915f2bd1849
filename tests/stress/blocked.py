#!/usr/bin/python3
"""A program whose threads wait in system calls ends as it does without a checker (blocked.c): the runtime
makes no call return, at the end, after an exec that fails, and in a check in mid-run."""
# rtc-test: stress_blocked ci 120
# rtc-test: stress_blocked_full full 3600 --full
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, main, must


def ends(how, ci, full, *words, options=()):
    def check(stage):
        count = stage.sample(ci, full)
        run = Run(stage, [stage.program('stress/blocked'), str(stage.seed), '0', str(count), *words],
                  how=how, options=options).wait(3000)
        out = run.out.decode(errors='replace')
        must(run.status == 0 and re.search(r'^%d ends, 0 different$' % count, out, re.M), out[-2000:])
        if how == 'plain':
            return '%d ends' % count
        if how == 'launcher': # by hand each program has a separate report
            must(run.report.image_count > count, run.report.image_count, 'processes')
        return '%d ends' % count
    return check


if __name__ == '__main__':
    main([('natively', ends('plain', 20, 2000)),
          ('launcher', ends('launcher', 60, 9000)),
          ('hand', ends('hand', 30, 500)),
          ('launcher_programs', ends('launcher', 20, 300, 'programs')),
          ('hand_programs', ends('hand', 10, 100, 'programs')),
          ('witness', ends('launcher', 10, 100, options=['witness']))])

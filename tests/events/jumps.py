#!/usr/bin/python3
"""Handlers of signals that leave the calls that they have interrupted by siglongjmp."""
# rtc-test: events/jumps ci 120
# rtc-test: events/jumps_full full 600 --full
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, main, must


def rows(*options):
    def check(stage):
        env = {'LD_PRELOAD': stage.program('events/between.so'), 'JUMPS_EVERY': stage.sample('61', '1')}
        run = Run(stage, [stage.program('events/jumps')], how='hand', env=env, options=options).wait(580)
        printed = run.out.decode().split('\n')[:-1]
        must(run.status == 0 and printed, [s for s in printed if s[:2] != 'ok'], run.err.decode()[-1500:])
        return '%d rows' % len(printed)
    return check


if __name__ == '__main__':
    main([('rows', rows('leaks=no'))])

#!/usr/bin/env python3
"""The reporter's own memory and time, for a run with very many blocks and stacks, all of them leaked."""
# rtc-test: report/memory ci 120
# rtc-test: report/memory_full full,serial 900 --full
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, clean_environment, main, must


def report_of(stage, path, *options):
    """Memory and CPU time of rtcheck and the processes that it started; for memory, of the largest one."""
    process = subprocess.Popen([stage.rtcheck, 'report', *options, path], env=clean_environment(),
                               stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    must(status == 0, 'rtcheck report: status', status)
    return used.ru_maxrss / 1024, used.ru_utime + used.ru_stime


def many(stage):
    blocks, stacks, most = stage.sample((1000000, 10000, 32), (10000000, 200000, 200))
    run = Run(stage, [stage.program('report/many_stacks'), str(blocks), str(stacks)], how='hand',
              keep=True, files=False).wait(800)
    must(run.status == 0, 'status', run.status, run.err)
    target = run.room + '/many.json'
    used = [report_of(stage, run.pool_file()), report_of(stage, run.pool_file(), '--json=' + target)]
    must(all(mib < most for mib, _ in used), 'more than', most, 'MiB:', used)
    with open(target) as f:
        records = json.load(f)['records']
    found = [r for r in records if (r['blocks'], r['bytes']) ==
            (blocks // stacks, 16 * (blocks // stacks))]
    must(len(found) == stacks, len(found), 'stacks instead of', stacks)
    return ', '.join('%.0f MiB %.1f s' % u for u in used)


if __name__ == '__main__':
    main([('many', many)])

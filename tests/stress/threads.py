#!/usr/bin/python3
"""Threads one after the other: their number leaves no trace in memory, and none is taken for another."""
# rtc-test: stress_threads ci 120
# rtc-test: stress_threads_full full 600 --full
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, main, must

MIB = 1 << 20


def one_by_one(how):
    def check(stage):
        threads = stage.sample(8000, 40000)
        run = Run(stage, [stage.program('stress/one_by_one'), str(threads)], how=how, options=['cost']).wait(500)
        must(run.status == 0, 'status', run.status, run.err[-500:])
        grew = int(re.search(rb'grew (-?\d+)', run.out).group(1))
        must(grew < 512, 'the process grew by', grew, 'KiB')
        data = run.report.data
        must(data['summary']['allocs'] >= threads, data['summary']['allocs'], 'allocations')
        left = data['summary']['allocs'] - data['summary']['frees']
        found = sum(data['summary']['blocks'].values())
        must(left == found, left, 'blocks by the counters,', found, 'found')
        records = re.search(r'allocs, \d+ frees, ([\d.]+) (KiB|MiB) of records', run.log)
        size = float(records.group(1)) * (1024 if records.group(2) == 'KiB' else MIB)
        must(size < 2.5 * MIB, size, 'bytes of records')
        errors = {e['rtc']: e for e in data['errors']}
        must(sorted(errors) == ['duf', 'wua'], 'errors are', sorted(errors))
        must(re.search(r'thread \d+ \(freer\)', run.log), 'who made an error is not named:', run.log)
        few = Run(stage, [stage.program('stress/one_by_one'), '100'], how=how).wait().log
        writer = re.search(r'(?:malloc\(\)|allocated) +by thread (\d+) \(writer\)', few)
        must(writer, 'a thread that ended a while ago is not named:', few)
        must(re.search(r'(?:malloc\(\)|allocated) +by thread %s\n' % writer.group(1), run.log), 'not by its number alone:', run.log)
        return '%d threads, %.2f MiB of records, grew by %d KiB' % (threads, size / MIB, grew)
    return check


def ends_in_signals(stage):
    """Handlers that allocate while their threads end: the first end of a process, without a quarantine, once waited for ever."""
    for _ in range(stage.sample(60, 400)):
        run = Run(stage, [stage.program('stress/thread_ends')], how='hand', options=['leaks=no', 'freelist_vol=0']).wait(60)
        must((run.status, run.out) == (0, b'done\n'), run.status, run.out, run.err[-500:])
    return 'no thread waits'


if __name__ == '__main__':
    main([('ends_in_signals', ends_in_signals), ('by_launcher', one_by_one('launcher')), ('by_hand', one_by_one('hand'))])

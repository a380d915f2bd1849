#!/usr/bin/python3
"""A map kept from events alone, compared with the kernel's: no difference after any operations."""
# rtc-test: events/differential ci 60
# rtc-test: events/differential_full full 1200 --full
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, main, must


def agrees(threads, ci, full, how='functions'):
    """With --full each run has a new seed; the message on a difference contains it.

    how='behind': every other call is made by a system call, and events=all sees it."""
    options, more = (['events=all'], ['behind']) if how == 'behind' else ([], [])

    def check(stage):
        seed = int.from_bytes(os.urandom(3), 'little') if stage.full else stage.seed
        count = stage.sample(ci, full)
        run = Run(stage, [stage.program('events/differential'), str(seed), str(count), str(threads),
                          str(stage.sample(500, 2000)), *more], how='hand', options=options).wait(600)
        printed = re.fullmatch(r'0 differences, (\d+) operations, (\d+) failed, \d+ ranges\n', run.out.decode())
        must(printed and run.status == 0, 'seed', seed, run.out, run.err.decode()[:1500])
        must(count * 0.2 < int(printed[2]) < count * 0.6, 'too many or too few failed:', run.out)
        return 'seed %d, %s operations' % (seed, printed[1])
    return check


RANGE = re.compile(r'^ *([0-9a-f]+)-([0-9a-f]+) ([r-][w-][x-][sp]) ', re.M)


def pages(text):
    """The rights of each page in the arenas."""
    return {page: rights for start, end, rights in RANGE.findall(text) if int(start, 16) >> 36 == 0x200
            for page in range(int(start, 16), int(end, 16), 4096)}


def calls_unseen(run):
    """If another thread holds the map without a processor for 100 ms, a call does not wait longer: it is not
    recorded, but counted.  Differences in the map then prove nothing."""
    return run.report.data['summary']['mappings']['unseen']


def own(way, threads, ci, full):
    """The runtime's map, without any handler, in the process and in the run file at its end."""
    def check(stage):
        seed = int.from_bytes(os.urandom(3), 'little') if stage.full else stage.seed
        count = stage.sample(ci, full)
        argv = [stage.program('events/differential'), str(seed), str(count), str(threads), str(stage.sample(250, 2000)), way]
        for _ in range(10):
            run = Run(stage, argv, how='hand', options=['leaks=no']).wait(600)
            if run.status == -9 or not calls_unseen(run):
                break
        printed, _, rest = run.out.decode().partition('\n')
        match = re.fullmatch(r'0 differences, (\d+) operations, (\d+) failed, 0 ranges', printed)
        must(match and run.status == -9, 'seed', seed, printed, run.status, run.err.decode()[:1500])
        must(count * 0.2 < int(match[2]) < count * 0.6, 'too many or too few failed:', printed)
        listed = subprocess.run([stage.rtcheck, 'events', run.pool_file()], capture_output=True, text=True, timeout=60)
        other, of_rtcheck = pages(rest), pages(listed.stdout)
        must(listed.returncode == 0 and len(other) > 10 and other == of_rtcheck, 'seed', seed,
             sorted(set(other.items()) ^ set(of_rtcheck.items()))[:9], listed.stderr)
        return 'seed %d, %s operations, %d pages' % (seed, match[1], len(other))
    return check


def unseen(stage):
    """Without events=all those calls are not seen."""
    run = Run(stage, [stage.program('events/differential'), '5', '2000', '1', '500', 'behind'], how='hand').wait(60)
    must(run.status != 0 and b'\n0 differences' not in b'\n' + run.out, run.out, run.err[:500])


if __name__ == '__main__':
    main([('one_thread', agrees(1, 20000, 1000000)), ('four_threads', agrees(4, 20000, 400000)),
          ('behind', agrees(1, 10000, 400000, 'behind')), ('four_behind', agrees(4, 10000, 200000, 'behind')),
          ('unheard', own('unheard', 1, 2000, 400000)), ('four_unheard', own('unheard', 4, 2000, 200000)),
          ('reconciled', own('reconciled', 1, 2000, 200000)), ('four_reconciled', own('reconciled', 4, 2000, 100000)),
          ('unseen', unseen)])

#!/usr/bin/python3
"""A map kept from events alone, beside what the kernel has: no difference after any operations."""
# rtc-test: events/differential ci 60
# rtc-test: events/differential_full full 1200 --full
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, main, must


def agrees(threads, ci, full, how='functions'):
    """With --full a seed of its own in every run; what is said on a difference has it.

    how='behind': every other call is made by a system call, and events=all sees it."""
    options, more = (['events=all'], ['behind']) if how == 'behind' else ([], [])

    def check(stage):
        seed = int.from_bytes(os.urandom(3), 'little') if stage.full else stage.seed
        count = stage.sample(ci, full)
        run = Run(stage, [stage.program('events/differential'), str(seed), str(count), str(threads),
                          str(stage.sample(500, 2000)), *more], how='hand', options=options).wait(600)
        said = re.fullmatch(r'0 differences, (\d+) operations, (\d+) failed, \d+ ranges\n', run.out.decode())
        must(said and run.status == 0, 'seed', seed, run.out, run.err.decode()[:1500])
        must(count * 0.2 < int(said[2]) < count * 0.6, 'too many or too few failed:', run.out)
        return 'seed %d, %s operations' % (seed, said[1])
    return check


def unseen(stage):
    """Without events=all those calls are not seen."""
    run = Run(stage, [stage.program('events/differential'), '5', '2000', '1', '500', 'behind'], how='hand').wait(60)
    must(run.status != 0 and b'\n0 differences' not in b'\n' + run.out, run.out, run.err[:500])


if __name__ == '__main__':
    main([('one_thread', agrees(1, 20000, 1000000)), ('four_threads', agrees(4, 20000, 400000)),
          ('behind', agrees(1, 10000, 400000, 'behind')), ('four_behind', agrees(4, 10000, 200000, 'behind')),
          ('unseen', unseen)])

#!/usr/bin/python3
"""Many threads free one pointer: one of them does, all others are counted as duplicates.  And a
program ends while its threads are at work."""
# rtc-test: stress_races ci 300
# rtc-test: stress_races_full full 900 --full
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, main, must

THREADS = 8


def race(how, size, ci, full):
    def check(stage):
        least = stage.sample(ci, full)
        run = Run(stage, [stage.program('stress/races'), str(least), str(THREADS), str(size)],
                  how=how).wait(600)
        must(run.status == 0, 'status', run.status, run.err[-300:])
        rounds, together = map(int, re.match(rb'rounds (\d+) together (\d+)', run.out).groups())
        must(together > 0, 'threads were together in none of', rounds, 'rounds')
        losers, all_bad = run.report.bad_frees('duf'), run.report.bad_frees()
        must(losers == rounds * (THREADS - 1), losers, 'losers of', rounds, 'rounds')
        must(all_bad == losers, all_bad - losers, 'other invalid frees')
        return '%d rounds, %d losers, together %d times' % (rounds, losers, together)
    return check


def reader(stage):
    """Outside readers accept no read that mixes two lives; a reader that does not read the word again must
    fail the same test, which proves that the test can fail."""
    reads = stage.sample(10000000, 1000000000)
    program = stage.program('stress/reader')
    run = subprocess.run([program, str(reads)], capture_output=True, text=True, timeout=1800)
    must(run.returncode == 0, run.stdout, run.stderr)
    must(int(re.search(r'(\d+) accepted', run.stdout).group(1)) >= reads, 'too slow:', run.stdout)
    must(int(re.search(r'(\d+) while', run.stdout).group(1)) >= 200, 'nothing moved:', run.stdout)
    naive = subprocess.run([program, '0', 'naive'], capture_output=True, text=True, timeout=600)
    must(naive.returncode == 1, 'a naive reader was not caught:', naive.stdout)
    return '%s; a naive one caught after %s' % (run.stdout.strip(), naive.stdout.split()[0])


def exits(stage):
    """The sweep over all blocks at exit, while other threads are inside operations."""
    runs = stage.sample(15, 2000)
    for _ in range(runs):
        run = Run(stage, [stage.program('stress/exits')]).wait(60)
        must(run.status == 0, 'status', run.status, run.err[-300:])
        must('rtcheck: no errors' in run.log, run.log)
    return '%d exits' % runs


def crowd(stage):
    """The look does not wait for each of hundreds of threads that are in the middle of a free."""
    run = Run(stage, [stage.program('stress/exits'), '200']).wait(60)
    must(run.status == 0, 'status', run.status, run.err[-300:])
    must('rtcheck: no errors' in run.log, run.log)


if __name__ == '__main__':
    main([('reader', reader),
          ('small', race('launcher', 40, 3000, 100000)),
          ('page', race('launcher', 5000, 1000, 50000)),
          ('large', race('launcher', 200000, 200, 5000)),
          ('huge', race('launcher', 3000000, 50, 1000)),
          ('by_hand', race('hand', 300, 1000, 20000)),
          ('exits', exits), ('crowd', crowd)])

#!/usr/bin/python3
"""What the report says of our own share of the costs, against samples of where the program was.

Like is compared with like.  What the report says is the time of the runtime's own code, of functions of
libc's that it calls (memset, memcpy), of its system calls, and of page faults in all of these, but for those
of huge pages, which take longer than anything else and come too rarely to be met: here there are none.  Of the
samples of a process these are those whose pc lies in librtcheck.so, in a function that was called from there, or
in the kernel, entered from either (samples.c).  What of it lies in librtcheck.so itself is printed beside it.
Where the kernel refuses such samples, a timer of the process's CPU clock takes them, a tenth as many.

The report is of runs of its own, between those that are sampled: a sample takes longer than many an
operation of the allocator's.
"""
# rtc-test: counters/share ci,root 120
# rtc-test: counters/share-full full,root 3600 --full
import ctypes
import json
import os
import pathlib
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + '/../stress', HERE + '/../bench']
import workloads
from harness import Lacking, Run, clean_environment, main, must

HERTZ = 10000
TIMER_HERTZ = 250  # the kernel's ticks, on most machines
BY_PERF = [str(HERTZ)]
BY_TIMER = ['--timer', str(TIMER_HERTZ)]
LEAST = 0.10  # a program whose share is smaller says little


def no_huge_pages():
    ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE


def own(stage, row):
    """Our time and the process's, in ns, as the report has them."""
    run = Run(stage, row.command, how='hand', env=dict(v.split('=') for v in row.variables),
              preexec_fn=no_huge_pages).wait(600)
    must(run.status == 0, row.name, run.status, run.err[-500:])
    with open(run.json_file) as f:
        cost = json.load(f)['cost']
    run.forget()
    must(cost['self']['share'], cost['self'])
    return cost['self']['share']['ns'], cost['counters']['task_clock_ns']['value']


def perf_is_refused(stage):
    return subprocess.run([stage.program('counters/samples'), str(HERTZ), '-', '/bin/true'],
                          capture_output=True).returncode == 3


def sampled(stage, row, how):
    """How many samples there were, ours, of them those whose pc is ours; the kernel's for us."""
    place = stage.room()
    env = {**clean_environment(), 'RTCHECK_OPTIONS': 'pool_dir=' + place, 'RTCHECK_REPORTER': '/bin/true'}
    done = subprocess.run([stage.program('counters/samples'), *how, 'librtcheck.so', 'env',
                           'LD_PRELOAD=' + stage.library, *row.variables, *row.command], env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
                          preexec_fn=no_huge_pages)
    if done.returncode == 3:
        raise Lacking('neither perf_event_open nor ptrace: ' + done.stderr.strip())
    must(done.returncode == 0, row.name, done.stderr[-500:])
    words = done.stdout.split('\n')[-2].split()
    got = dict(zip(words[::2], map(int, words[1::2])))
    must(got['status'] == 0 and got['lost'] == 0, row.name, got)
    return got['samples'], got['inside'] + got['called'] + got['kernel'], got['inside'], got['kernel']


def measure(stage, row, wanted, how):
    """Shares: what the report says, and what the samples say; what they say else."""
    told, seen = [0, 0], [0, 0, 0, 0]
    while seen[0] < wanted:
        told = [a + b for a, b in zip(told, own(stage, row))]
        seen = [a + b for a, b in zip(seen, sampled(stage, row, how))]
    more = '%.1f %% inside, %.1f %% in the kernel for us, %d samples' % (
        seen[2] * 100 / seen[0], seen[3] * 100 / seen[0], seen[0])
    return told[0] / told[1], seen[1] / seen[0], more


def compare(stage, row, wanted, how):
    """The share that was seen, by how much of it what is said is off, and words."""
    said, is_so, more = measure(stage, row, wanted, how)
    off = said / is_so - 1
    return is_so, abs(off), '%s: said %.1f %%, seen %.1f %%: %+.1f %% (%s)' % (
        row.name, said * 100, is_so * 100, off * 100, more)


def near(stage, how):
    scale = 1 if how == BY_TIMER else 8  # a second has few samples of a timer
    is_so, off, words = compare(stage, workloads.loads(scale)[1], 2000, how)
    must(off <= 0.30 and is_so >= LEAST, words)
    return words


def one(stage):
    return near(stage, BY_TIMER if perf_is_refused(stage) else BY_PERF)


def by_timer(stage):
    """Also where it is not the last resort: else nobody would notice that it is none."""
    return near(stage, BY_TIMER)


def many(stage):
    """
    All whose share is large enough are near; of them five at least very near.  A load that waits for memory all
    the time is not among them: what it waits for and what we wait for overlap, so both together take less.
    """
    rows = workloads.loads(4)[:2] + list(workloads.programs(pathlib.Path(stage.room()), 1))
    found = []
    how, wanted = (BY_TIMER, 2000) if perf_is_refused(stage) else (BY_PERF, 20000)
    for row in rows:
        found.append(compare(stage, row, wanted, how))
        print('     ', found[-1][2], flush=True)
    large = [f for f in found if f[0] >= LEAST]
    must(sum(off <= 0.15 for _, off, _ in large) >= 5, 'fewer than five programs within 15 %')
    must(all(off <= 0.30 for _, off, _ in large), 'not within 30 %')
    return '%d programs' % len(large)


main([('samples', many), ('timer_samples', by_timer)] if '--full' in sys.argv else [('samples', one)])

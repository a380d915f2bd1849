#!/usr/bin/python3
"""The runtime's share of the costs in the report, compared with samples of the program's position.

The report's share is the time of the runtime's own code, of functions of libc that it calls (memset, memcpy), of
its system calls, and of page faults in all of these.  Faults of huge pages are not included, as they take longer
than anything else and are too rare to be sampled; they are disabled here.  The comparable samples of a process
are those whose pc lies in librtcheck.so, in a function that was called from there, or in the kernel, entered
from either (samples.c).  The share inside librtcheck.so itself is printed beside it.  If the kernel refuses such
samples, a timer of the process's CPU clock takes them, a tenth as many.

The report is of separate runs, between the sampled ones: a sample takes longer than many an operation of the
allocator.
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
LEAST = 0.10  # a smaller share is too inaccurate


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
    """Numbers of samples: all, the runtime's, those with a pc in the runtime, those in the kernel on its
    behalf."""
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
    """(share in the report, share in the samples, a text with further figures)."""
    reported, seen = [0, 0], [0, 0, 0, 0]
    while seen[0] < wanted:
        reported = [a + b for a, b in zip(reported, own(stage, row))]
        seen = [a + b for a, b in zip(seen, sampled(stage, row, how))]
    more = '%.1f %% inside, %.1f %% in the kernel for us, %d samples' % (
        seen[2] * 100 / seen[0], seen[3] * 100 / seen[0], seen[0])
    return reported[0] / reported[1], seen[1] / seen[0], more


def compare(stage, row, wanted, how):
    """(share in the samples, relative error of the reported one, a text)."""
    printed, is_so, more = measure(stage, row, wanted, how)
    off = printed / is_so - 1
    return is_so, abs(off), '%s: said %.1f %%, seen %.1f %%: %+.1f %% (%s)' % (
        row.name, printed * 100, is_so * 100, off * 100, more)


def near(stage, how):
    """
    Less exact than --full, for busy machines: what shares a core makes the runtime slower than it is by the time of its
    operations.  There single runs were 5 to 32 % below the samples, and sums of many 27 %.
    """
    scale = 1 if how == BY_TIMER else 8  # a second has few samples of a timer
    for wanted in (2000, 8000, 32000):
        is_so, off, words = compare(stage, workloads.loads(scale)[1], wanted, how)
        if off <= 0.40:
            break
    must(off <= 0.40 and is_so >= LEAST, words)
    return words


def one(stage):
    return near(stage, BY_TIMER if perf_is_refused(stage) else BY_PERF)


def by_timer(stage):
    """The timer is tested even if perf is available; otherwise its errors would not be found there."""
    return near(stage, BY_TIMER)


def many(stage):
    """
    All programs whose share is large enough are near, five of them very near.  A load that always waits for
    memory is not among them: its own waits and the runtime's overlap, so both together take less.
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

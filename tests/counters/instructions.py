#!/usr/bin/python3
"""The runtime's recorded share of the costs, compared with callgrind's count of instructions.

A share of time is not a share of instructions, and time under valgrind is different again.  So the program runs
with a clock that advances by 1 with each instruction of a timed operation (steps.c).  The recorded cost is then
in instructions, by the same samples, calibration and sums as always; callgrind counts the instructions of all
the program's calls of malloc, free and similar functions.  Both are shares of all instructions that callgrind
counted.

Not included: costs that the runtime measures by the thread's clock, which are its start, its end, clearing or
copying large blocks, and the frame rules of huge functions.
"""
# rtc-test: counters/instructions ci 120
# rtc-test: counters/instructions-full full 3600 --full
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + '/../stress', HERE + '/../bench']
import workloads
from harness import Lacking, clean_environment, main, must

LEAST = 0.10  # a smaller share is too inaccurate
OPERATION = re.compile(r'(malloc|free|calloc|realloc|reallocarray|memalign|aligned_alloc|posix_memalign|_Zn[wa]|_Zd[la])')
BY_THREAD_CLOCK = ('clear_long', 'copy_long', 'long_row')
PLAIN = 'glibc.cpu.hwcaps=-AVX512VL,-AVX512F,-AVX2,-AVX,-ERMS,-FSRM,-RTM'  # the same memset in both

Call = collections.namedtuple('Call', 'object function to_object to_function count cost')


def environment(stage, row, place):
    return {**dict(v.split('=') for v in row.variables), 'LD_PRELOAD': stage.library,
            'RTCHECK_OPTIONS': 'leaks=no:pool_dir=' + place, 'RTCHECK_REPORTER': '/bin/true', 'GLIBC_TUNABLES': PLAIN}


def run(stage, row, place, command):
    """Its last line; the run file stays in `place`."""
    own = ['%s=%s' % v for v in environment(stage, row, place).items()]
    done = subprocess.run(command + ['env'] + own + row.command, env=clean_environment(), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=1200)
    if done.returncode == 3:
        raise Lacking('to trace a process, or keep it from the clock: ' + done.stderr.strip())
    must(done.returncode == 0, row.name, done.returncode, done.stderr[-500:])
    return done.stdout.rstrip('\n').split('\n')[-1]


# ---- the runtime's record --------------------------------------------------------------------

def printed(stage, row):
    """Instructions of all operations."""
    place = stage.room()
    last = dict(zip(*[iter(run(stage, row, place, [stage.program('counters/steps'), 'librtcheck.so']).split())] * 2))
    must(last['status'] == '0' and int(last['steps']) > 0, row.name, last)
    pool, = pathlib.Path(place).glob('*.pool')
    dump = subprocess.run([stage.rtcheck, 'dump', pool], capture_output=True, text=True).stdout
    subprocess.run([stage.rtcheck, 'report', '--json=' + place + '/json', pool], capture_output=True)
    with open(place + '/json') as f:
        work = json.load(f)['cost']['self']['share']['work']
    rate = int(re.search(r'costs every=.* rate=(\d+)', dump).group(1)) / (1 << 20)
    by_clock = sum(int(n) for n in re.findall(r'cost [a-z]+ timed=.* ns=(\d+)', dump))
    return (sum(w['ns'] or 0 for w in work.values()) - by_clock) * rate


# ---- callgrind's counts ----------------------------------------------------------------------

def calls_of(lines):
    """Calls in a file of callgrind's, and the functions' own costs, which have no callee."""
    names, now = {}, {}
    calls = None
    for line in lines:
        key, _, value = line.rstrip('\n').partition('=')
        if key in ('ob', 'fn', 'cob', 'cfn'):
            number, _, name = value.partition(' ')
            now[key] = names.setdefault((key[-2:], number), name)
        elif key == 'calls':
            calls = int(value.split()[0])
        elif line[:1] in '0123456789+-*' and line.strip():
            cost = int(line.split()[1])
            to = (now.pop('cob', now['ob']), now.pop('cfn')) if calls else ('', '')
            yield Call(now['ob'], now['fn'], *to, calls or 1, cost)
            calls = None


def counted(stage, row):
    """Instructions of all operations; of all."""
    place = stage.room()
    run(stage, row, place, ['valgrind', '-q', '--tool=callgrind', '--trace-children=yes',
                            '--trace-children-skip=*/true', '--callgrind-out-file=%s/out.%%p' % place])
    out = max(pathlib.Path(place).glob('out.*'), key=lambda p: p.stat().st_mtime)
    of_rtcheck = all = 0
    with open(out) as lines:
        for call in calls_of(lines):
            from_runtime, to_runtime = (o.endswith('/librtcheck.so') for o in (call.object, call.to_object))
            if not call.to_function:
                all += call.cost
            elif to_runtime and not from_runtime and OPERATION.match(call.to_function):
                of_rtcheck += call.cost
            elif from_runtime and call.to_function in BY_THREAD_CLOCK:
                of_rtcheck -= call.cost
    return of_rtcheck, all


# ---- both ------------------------------------------------------------------------------------

def compare(stage, row):
    """(the counted share, the relative error of the reported one, a text)."""
    got, (of_rtcheck, all) = printed(stage, row), counted(stage, row)
    off = got / of_rtcheck - 1
    return of_rtcheck / all, abs(off), '%s: said %.1f %%, counted %.1f %%: %+.1f %%' % (
        row.name, got * 100 / all, of_rtcheck * 100 / all, off * 100)


def one(stage):
    is_so, off, words = compare(stage, workloads.loads(8000)[0])
    must(off <= 0.30 and is_so >= LEAST, words)
    return words


def many(stage):
    rows = workloads.loads(800)[:2] + list(workloads.programs(pathlib.Path(stage.room()), 80))
    found = []
    for row in rows:
        found.append(compare(stage, row))
        print('     ', found[-1][2], flush=True)
    large = [f for f in found if f[0] >= LEAST]
    must(len(large) >= 5, 'fewer than five programs')
    must(all(off <= 0.15 for _, off, _ in large), 'not within 15 %')
    return '%d programs' % len(large)


main([('instructions', many)] if '--full' in sys.argv else [('instructions', one)])

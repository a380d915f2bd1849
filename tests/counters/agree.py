#!/usr/bin/python3
"""The percentage in the report's line of costs agrees with --measure, or is not printed.

The full form has a table of programs of about 1 s and of about 20 ms, and fails if a printed percentage is more than
5 points off all that --measure finds likely (its bounds).
"""
# rtc-test: counters/agree ci 120
# rtc-test: counters/agree-full full 1800 --full
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + '/../stress', HERE + '/../bench']
import workloads
from harness import clean_environment, main, must

PAIRS = 9
POINTS = 5
PRINTED = re.compile(r'; rtcheck (\d+) % of it\n')
LEFT_OUT = re.compile(r"; rtcheck's own cost n/a: (.*?)(; --measure measures it)?\n[^ ]")

# Python programs whose CPU time is known on every machine.
COMPUTE = 'import time\nwhile time.process_time() < 1: sum(range(1000))'
ALLOCATE = 'import time\nwhile time.process_time() < 0.5: [object() for n in range(1000)]'


def run(stage, command, options=(), variables=()):
    """(the percentage or None, why there is none, is --measure advised, costs in the JSON report)."""
    path = stage.room() + '/report.json'
    done = subprocess.run([stage.rtcheck, 'run', '--json=' + path, *options, '--', *command],
                          env={**clean_environment(), **dict(v.split('=') for v in variables), 'COLUMNS': '1000'},
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=600)
    log = done.stderr.decode(errors='replace')
    with open(path) as f:
        cost = json.load(f)['cost']
    printed, left_out = PRINTED.search(log), LEFT_OUT.search(log)
    must(bool(printed) != bool(left_out), command, log[-1000:])
    if printed:
        return int(printed[1]), None, False, cost
    return None, left_out[1], bool(left_out[2]), cost


def computation(stage):
    """Nearly all of the time is the program's: printed, and small."""
    percent, why, _, cost = run(stage, [sys.executable, '-c', COMPUTE])
    must(percent is not None and percent <= 2 * POINTS, percent, why, cost['self'])
    return '%d %%' % percent


def allocations(stage):
    """Much of the time is the runtime's, and replaces an unknown time of libc's malloc: not printed."""
    percent, why, advised, cost = run(stage, [sys.executable, '-c', ALLOCATE], variables=['PYTHONMALLOC=malloc'])
    must(why == "how much of it replaces libc's malloc is not known" and advised, percent, why, cost['self'])
    share = cost['self']['share']['ns'] / cost['counters']['task_clock_ns']['value']
    must(share > 3 * POINTS / 100, 'it is in the JSON report all the same', share)
    return '%.0f %% of the time' % (share * 100)


def short(stage):
    percent, why, advised, _ = run(stage, ['/bin/true'])
    must(why == 'the run was too short' and advised, percent, why)
    _, why, advised, cost = run(stage, ['/bin/true'], options=['--measure=1'])
    must(why == 'the run was too short' and not advised and cost['measured'], why, cost)


def rows(place, scale):
    """Programs whose CPU time is about 1 s, divided by `scale`."""
    place.mkdir()
    compute = 'sum(n * n % 7 for n in range({}))'.format(12_000_000 // scale)
    text = place / 'long'
    found = list(workloads.programs(place, scale))
    text.write_text((place / 'text').read_text() * 20)
    return [(row.name, row.command, row.variables) for row in found] + [
        ('computation', [sys.executable, '-S', '-c', compute], []),
        ('gzip', ['gzip', '-c', str(text)], []),
        ('bash', ['bash', '-c', 'for ((i = 0; i < %d; i++)); do x=a$i; done' % (200000 // scale)], [])]


def share(ratio):
    return 100 - 100 / ratio


def compare(stage, name, command, variables):
    """(is a percentage printed, is it too far off, a text)."""
    percent, why, _, cost = run(stage, command, ['--measure=%d' % PAIRS], variables)
    cpu, own = cost['measured']['cpu_ns'], cost['self']['share']['ns']
    low, middle, high = (share(cpu[key]) for key in ('low', 'ratio', 'high'))
    text = '%-12s clock %6.0f ms, own %5.1f %%, measured %5.1f %% [%.1f, %.1f], printed %s' % (
        name, cpu['with'] / 1e6, own * 100 / cost['counters']['task_clock_ns']['value'], middle, low, high,
        'n/a: ' + why if percent is None else '%d %%' % percent)
    print('     ', text, flush=True)
    is_off = percent is not None and not low - POINTS <= percent <= high + POINTS
    return percent is not None, is_off, text


def table(stage):
    place = pathlib.Path(stage.room())
    found = [compare(stage, *row) for scale in (1, 60) for row in rows(place / str(scale), scale)]
    must(not any(is_off for _, is_off, _ in found), [text for _, is_off, text in found if is_off])
    must(any(is_printed for is_printed, _, _ in found), 'nothing was printed')
    return '%d of %d printed' % (sum(is_printed for is_printed, _, _ in found), len(found))


main([('table', table)] if '--full' in sys.argv else
     [(f.__name__, f) for f in (computation, allocations, short)])

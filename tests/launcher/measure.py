#!/usr/bin/python3
"""--measure=N: the number of runs of the program, their input and output, and the report."""
# rtc-test: launcher/measure ci 120
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import clean_environment, main, must, read_text, wait_until

# Adds a line to a log: is the runtime present, and what was read? Then prints, and ends with its argument.
SCRIPT = r'''
read -r line; rest=$(wc -l)
echo "${LD_PRELOAD:+preloaded }$(grep -c librtcheck /proc/self/maps) $line $rest" >>"$0.log"
echo out; echo err >&2
[ "$(wc -l <"$0.log")" = "$2" ] && exit 9
exit "$1"
'''


def script(stage, lines=('first', 'second', 'third')):
    path = stage.room() + '/script'
    with open(path, 'w') as f:
        f.write('#!/bin/bash' + SCRIPT)
    os.chmod(path, 0o755)
    with open(path + '.in', 'w') as f:
        f.writelines(line + '\n' for line in lines)
    return path


def measure(stage, path, *args, pairs=2, options=(), **popen):
    reported = stage.room() + '/report.json'
    done = subprocess.run([stage.rtcheck, 'run', '--measure=%d' % pairs, '--json=' + reported, *options, path, *args],
                          capture_output=True, env=clean_environment(), text=True, timeout=100, **popen)
    cost = json.load(open(reported))['cost'] if os.path.exists(reported) else {}
    log = open(path + '.log').read().split('\n')[:-1] if os.path.exists(path + '.log') else []
    return done, cost.get('measured'), log


def from_file(stage):
    """Five runs: three with the runtime; all read the input of the first one, and only its output is passed on."""
    path = script(stage)
    with open(path + '.in') as f:
        f.readline()
        os.lseek(f.fileno(), len('first\n'), os.SEEK_SET)
        done, reported, log = measure(stage, path, '3', '0', stdin=f)
    must(done.returncode == 3 and done.stdout == 'out\n', done)
    must(done.stderr.startswith('err\n') and done.stderr.count('err\n') == 1, done.stderr)
    must(len(log) == 5 and all(line.endswith(' second 1') for line in log), log)
    checked = ['0 second' not in line for line in log]
    must(sum(checked) == 3 and checked[0], log)
    must(sorted(checked[1:3]) == sorted(checked[3:5]) == [False, True] and checked[1:3] != checked[3:5], log)
    must(reported['pairs'] == 2 and abs(reported['sure'] - 0.5) < 1e-9, reported)
    must(reported['ended_otherwise'] == reported['ended_otherwise_without'] == 0, reported)
    for name in ('wall_ns', 'cpu_ns', 'max_rss_bytes', 'faults'):
        v = reported[name] # of two ratios the median is between them
        must(abs(v['ratio'] - (v['low'] + v['high']) / 2) <= 1e-4 * v['high'], name, v)
    must('MEASURED ' in done.stderr and 'what came of' not in done.stderr, done.stderr)
    return 'x%.2f' % reported['wall_ns']['ratio']


def from_pipe(stage):
    path = script(stage)
    with subprocess.Popen(['cat', path + '.in'], stdout=subprocess.PIPE) as cat:
        done, reported, log = measure(stage, path, '0', '0', pairs=1, stdin=cat.stdout)
    must(done.returncode == 0 and reported['pairs'] == 1, done)
    must(len(log) == 3 and all(line.endswith(' first 2') for line in log), log)
    must('1 pair of runs with the runtime and without, of which nothing is sure\n' in done.stderr, done.stderr)
    must('[' not in done.stderr.split('MEASURED')[1], 'one ratio has no bounds', done.stderr)


def left_where_it_was(stage):
    """Input that the first run has not read stays for the next reader, however much the other runs read."""
    path = stage.room() + '/reads'
    with open(path, 'w') as f:
        f.write('#!/bin/sh\necho x >>"$0.log"\nhead -c $(wc -l <"$0.log") >/dev/null\n')
    os.chmod(path, 0o755)
    with open(path + '.in', 'w') as f:
        f.write('abcdefgh')
    with open(path + '.in') as f:
        done, reported, log = measure(stage, path, pairs=1, stdin=f)
        must(done.returncode == 0 and len(log) == 3 and os.lseek(f.fileno(), 0, os.SEEK_CUR) == 1, done, log)


def from_terminal(stage):
    path = script(stage)
    master, slave = os.openpty()
    done, reported, log = measure(stage, path, '0', '0', stdin=slave)
    os.close(master)
    os.close(slave)
    must(done.returncode == 125 and 'stdin is a terminal' in done.stderr and not log, done, log)


def otherwise(stage):
    """The third run, which is one of the first pair, ends with 9: counted, and it changes nothing."""
    path = script(stage)
    done, reported, log = measure(stage, path, '4', '3', pairs=3, stdin=subprocess.DEVNULL)
    must(done.returncode == 4 and len(log) == 7, done, log)
    must(reported['ended_otherwise'] + reported['ended_otherwise_without'] == 1, reported)
    must('ended otherwise' in done.stderr, done.stderr)


def bounds(stage):
    """By order statistics alone: of 6 pairs all of them are needed for 95 %, of 12 all but two at each end."""
    path = script(stage)
    done, reported, log = measure(stage, path, '0', '0', pairs=6, stdin=subprocess.DEVNULL)
    must(abs(reported['sure'] - (1 - 2 / 2 ** 6)) < 1e-6, reported)
    for name in ('wall_ns', 'cpu_ns', 'max_rss_bytes', 'faults'):
        v = reported[name]
        must(v['low'] <= v['ratio'] <= v['high'] and v['least_with'] <= v['with'] and v['least_without'] <= v['without'],
             name, v)
    done, reported, log = measure(stage, script(stage), '0', '0', pairs=12, stdin=subprocess.DEVNULL)
    must(abs(reported['sure'] - (1 - 2 * (1 + 12 + 66) / 2 ** 12)) < 1e-6, reported)
    must(reported['max_rss_bytes']['ratio'] > 1 and reported['max_rss_bytes']['low'] > 0.5, reported)


MANY = """
import os, resource, sys
for _ in range(80):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
with open(sys.argv[1] + '.log', 'a') as log:
    log.write('%d\\n' % resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw)
"""


def many_processes(stage):
    """Ended processes are also removed from the file of a measured run: none waits long for its removal."""
    path = stage.room() + '/many'
    done, reported, log = measure(stage, sys.executable, '-SEc', MANY, path, pairs=1, stdin=subprocess.DEVNULL)
    must(done.returncode == 0, done)
    waits = [int(line) for line in open(path + '.log')]
    must(len(waits) == 3, done, waits)
    must(max(waits) < 80 * 15, 'times that 80 children waited, in each of the runs:', waits)
    return waits


def stopped(stage, sig, is_for_group):
    """A signal that ends a run also ends the remaining ones; its pair is not reported, and the status is the first
    run's."""
    path = stage.room() + '/short'
    with open(path, 'w') as f:
        f.write('#!/bin/sh\necho x >>"$0.log"\nsleep 0.05\nexit 6\n')
    os.chmod(path, 0o755)
    p = subprocess.Popen([stage.rtcheck, 'run', '--measure=200', '--json=' + path + '.json', path], stdin=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, env=clean_environment(), text=True, process_group=0)
    wait_until(lambda: read_text(path + '.log').count('x') >= 6, 60, 'six runs')
    (os.killpg if is_for_group else os.kill)(p.pid, sig)
    err = p.communicate(timeout=60)[1]
    pairs, runs = json.load(open(path + '.json'))['cost']['measured']['pairs'], read_text(path + '.log').count('x')
    must(p.returncode == 6, p.returncode, err)
    must(pairs >= 2 and 2 * pairs + 1 <= runs <= 2 * pairs + 3 and runs < 100, pairs, 'pairs of', runs, 'runs')
    must('note: measured %d times only: %s\n' % (pairs, sig.name) in err, err)
    return '%d runs' % runs


def by_signal(stage):
    return ', '.join((stopped(stage, signal.SIGTERM, False), stopped(stage, signal.SIGINT, True)))


def asked_to_end(stage):
    """SIGTERM in the first run: further runs would never end, as nothing would send them a signal."""
    path = stage.room() + '/server'
    with open(path, 'w') as f:
        f.write('#!/bin/sh\ntrap "kill \\$!; exit 4" TERM\nsleep 100 &\necho x >>"$0.log"\nwait\nexit 5\n')
    os.chmod(path, 0o755)
    p = subprocess.Popen([stage.rtcheck, 'run', '--measure=2', path], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         env=clean_environment(), text=True)
    wait_until(lambda: read_text(path + '.log'), 60, 'the first run')
    p.terminate()
    err = p.communicate(timeout=60)[1]
    must(p.returncode == 4 and read_text(path + '.log') == 'x\n', p.returncode, err)
    must('note: not measured: it was asked to end\n' in err and 'MEASURED' not in err, err)


def kept(stage):
    """The program is in the file that is kept, although it ended long before the last run did."""
    path = script(stage)
    state = stage.room()
    subprocess.run([stage.rtcheck, 'run', '--measure=1', '--keep', path, '0', '0'], stdin=subprocess.DEVNULL,
                   capture_output=True, env={**clean_environment(), 'XDG_STATE_HOME': state}, timeout=100)
    reported = subprocess.run([stage.rtcheck, 'report', state + '/rtcheck/last'], env=clean_environment(),
                          capture_output=True, text=True, timeout=100)
    must(reported.returncode == 0 and '\nrtcheck: no errors' in reported.stdout, reported.stdout)


def asked_for(stage):
    """A quiet run without problems prints the results of --measure and --counters, and nothing else; deterministic,
    nothing."""
    path = script(stage)
    done, reported, log = measure(stage, path, '0', '0', options=['-q', '--counters=dummy'], stdin=subprocess.DEVNULL)
    lines = done.stderr.splitlines()
    must(lines[0] == 'err' and lines[1].startswith('MEASURED  ') and lines[6].startswith('COUNTERS  ') and len(lines) == 7, done.stderr)
    done = measure(stage, path, '0', '0', options=['-q', '--counters=dummy', '--deterministic'], stdin=subprocess.DEVNULL)[0]
    must(done.stderr == 'err\n', done.stderr)
    done = measure(stage, path, '0', '0', pairs=0, options=['-q'], stdin=subprocess.DEVNULL)[0]
    must(done.stderr == 'err\n', done.stderr)


def asked_wrongly(stage):
    """The error for an invalid number has the option's name and range."""
    for word in ('256', '-1', 'x', 'no', ''):
        done = subprocess.run([stage.rtcheck, 'run', '--measure=' + word, 'true'], stdin=subprocess.DEVNULL, capture_output=True,
                              env=clean_environment(), text=True, timeout=50)
        must(done.returncode == 125 and done.stderr == "rtcheck: option measure: '%s' is not a number from 0 to 255\n" % word, done)
    reported = subprocess.run([stage.rtcheck, '--help=all'], capture_output=True, env=clean_environment(), text=True, timeout=50).stdout
    must('  --measure=N  ' in reported and '  --counters=NAME,...' in reported, reported)


def unchecked(stage):
    """A program that cannot be checked is not measured, and a note is printed."""
    done = subprocess.run([stage.rtcheck, 'run', '--measure=2', '--allow-unchecked', stage.program('launcher/static')],
                          stdin=subprocess.DEVNULL, capture_output=True, env=clean_environment(), text=True, timeout=50)
    must('rtcheck: note: not measured: the program is not checked\n' in done.stderr, done.stderr)


def not_at_all(stage):
    """Without the option nothing runs twice; a program that is killed is not run again."""
    path = script(stage)
    done, reported, log = measure(stage, path, '0', '0', pairs=0, stdin=subprocess.DEVNULL)
    must(reported is None and len(log) == 1, reported, log)
    path = stage.room() + '/killed'
    with open(path, 'w') as f:
        f.write('#!/bin/sh\necho x >>"$0.log"\nkill -9 $$\n')
    os.chmod(path, 0o755)
    done, reported, log = measure(stage, path, stdin=subprocess.DEVNULL)
    must(done.returncode == -9 and reported is None and len(log) == 1, done, log)
    must('not measured: the program was killed' in done.stderr, done.stderr)
    done, reported, log = measure(stage, script(stage), '127', '0', stdin=subprocess.DEVNULL)
    must(done.returncode == 127 and reported is None and len(log) == 1, done, log)
    must('not measured: it ended with 127, as what does not start\n' in done.stderr, done.stderr)


main([(f.__name__, f) for f in (from_file, from_pipe, left_where_it_was, from_terminal, otherwise, bounds, many_processes, by_signal,
                                asked_to_end, kept, asked_for, asked_wrongly, unchecked, not_at_all)])

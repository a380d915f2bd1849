#!/usr/bin/python3
"""rtcheck --interval: a row for each thread and child when it begins, execs and ends, and between."""
# rtc-test: counters/track ci 60
import errno
import json
import os
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from contract import words_of
from launcher import ORDINARY
from harness import Run, Stepped, clean_environment, main, must, read_text, wait_until

EVENTS = 'page-faults:u,task-clock,instructions:u'


class Row:
    def __init__(self, line):
        words = line.split()
        self.time, self.pid, self.event = float(words[0]), int(words[1]), words[3]
        self.tid = 0 if words[2] == '-' else int(words[2])
        self.faults, self.clock, self.instructions = [None if w == 'n/a' else int(w.lstrip('~')) for w in words[4:]]
        self.estimate = words[4][0] == '~'
        self.line = line

    def lacks_a_count(self):
        return None in (self.faults, self.clock, self.instructions)


class Program(Stepped):
    """tests/counters/waits.c under --interval; its rows are read while it runs."""

    def __init__(self, stage, *options, events=EVENTS, wrap=(), env=None):
        self.process = subprocess.Popen(
            [*wrap, stage.rtcheck, '--counters=' + events, *options, stage.program('counters/waits')],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**clean_environment(), **(env or {})})
        self.rows, self.rest, self.all = [], b'', []
        self.done()

    def take(self, text):
        *lines, self.rest = (self.rest + text).split(b'\n')
        for line in lines:
            self.all.append(line.decode())
            if line[:1] == b' ' and len(line.split()) == 7 and line.split()[1].isdigit():
                self.rows.append(Row(line.decode()))

    def until(self, event, tid=None):
        """Reads on to the next row of this event that has not been waited for."""
        end = time.monotonic() + 20
        while True:
            for i, row in enumerate(self.rows):
                if row.event == event and tid in (None, row.tid):
                    del self.rows[:i + 1]
                    return row
            ready = select.select([self.process.stderr], [], [], max(0, end - time.monotonic()))[0]
            must(ready, 'no row', event, tid, 'in', self.all)
            self.take(os.read(self.process.stderr.fileno(), 65536))

    def end(self):
        out, err = self.process.communicate(timeout=50)
        self.take(err)
        must(self.process.returncode == 5, 'status', self.process.returncode, self.all)
        return self.rows


def check_units(row):
    must(row.instructions is None or os.path.exists('/sys/bus/event_source/devices/cpu'), 'no PMU', row.line)


def lives(stage):
    """The main thread, another thread, a child: each has its own rows with its own counts only."""
    p = Program(stage, '-T', '0')
    begin = p.until('exec')
    must(begin.pid == begin.tid and begin.faults < 500, begin.line)
    p.step('m')
    p.step('t')
    thread = p.until('init_lwp')
    must(thread.pid == begin.pid and thread.tid != begin.tid and thread.faults < 100, thread.line)
    p.step('g')
    ended = p.until('fini_lwp')
    must(ended.tid == thread.tid and 1000 <= ended.faults < 1500 and ended.clock > 0, ended.line)
    p.step('c')
    child = p.until('fork')
    must(child.pid == child.tid != begin.pid and child.faults < 500, child.line)
    p.step('g')
    gone = p.until('exit')
    must(gone.pid == child.pid and gone.tid == 0 and 1000 <= gone.faults < 2000, gone.line)
    last = p.end()
    must([(row.event, row.tid) for row in last] == [('fini_lwp', begin.tid), ('exit', 0)], [row.line for row in last])
    must(1000 <= last[0].faults < 2500, 'main alone', last[0].line)
    must(last[1].faults == last[0].faults + ended.faults, 'main and its thread', last[1].line)
    must(abs(last[1].faults + gone.faults - total_of(p)) < 50, 'all of them', total_of(p))
    for row in (begin, thread, ended, child, gone, *last):
        check_units(row)
    must(begin.time <= thread.time <= ended.time <= child.time <= gone.time <= last[1].time, 'times')


def ticks(stage):
    """Rows of all threads while nothing happens; new counts are in the next row; no ticks with 0."""
    p = Program(stage, '--interval=20')
    main_tid = p.until('exec').tid
    first = p.until('tick', main_tid)
    p.step('t')
    thread = p.until('init_lwp')
    p.until('tick', thread.tid)
    p.step('m')
    before = after = p.until('tick', main_tid)
    while after.faults < first.faults + 1000:  # on a busy machine older rows are read first
        after = p.until('tick', main_tid)
        must(after.time < before.time + 20, 'no tick with the faults', first.line, after.line)
    must(before.time <= after.time, first.line, after.line)
    must(p.until('tick', thread.tid).faults < 100, 'the other one did nothing')
    p.step('g')
    p.end()
    p = Program(stage, '-T', '0')
    p.step('m')
    must([row.event for row in p.end()] == ['exec', 'fini_lwp', 'exit'], p.all)


def execs(stage):
    p = Program(stage, '-T0')
    pid = p.until('exec').pid
    p.step('m')
    p.step('x')
    again = p.until('exec')
    must(again.pid == pid and again.faults >= 1000, 'counted on', again.line)
    p.end()


def execs_of_threads(stage):
    """Exec by a thread that is not the first one, which ends by the exec, or has ended: the thread has its id from then
    on."""
    for letter in 'yz':
        p = Program(stage, '-T0')
        pid = p.until('exec').pid
        p.step('m')
        p.step('m')
        p.step(letter)
        thread = p.until('init_lwp')
        first = p.until('fini_lwp', pid)
        again = p.until('exec')
        must(thread.tid != pid and first.faults >= 2000, letter, thread.line, first.line)
        must(again.pid == again.tid == pid and again.faults < 2000, 'it is the thread that goes on', letter, again.line)
        p.step('m')
        p.step('t')
        other = p.until('init_lwp')
        p.step('g')
        ended = p.until('fini_lwp', other.tid)
        last = p.end()
        must([(row.event, row.tid) for row in last] == [('fini_lwp', pid), ('exit', 0)], letter, [row.line for row in last])
        must(last[0].faults >= 2000, 'what it did before and after', last[0].line)
        must(last[1].faults == first.faults + ended.faults + last[0].faults, 'a sum is of all', letter, p.all)
        must(abs(last[1].faults - total_of(p)) < 50, 'nobody is missing', letter, total_of(p))


def total_of(p):
    """The total of all, which is counted separately from them: each exec may make the two differ by one."""
    return int([line for line in p.all if line.startswith('COUNTERS')][0].split()[2])


def short_lives(stage):
    """Each thread is counted at its end, however short its life; also those of a child."""
    p = Program(stage, '-T', '0')
    p.step('s')
    p.step('f')
    rows = p.end()
    begun = [row.tid for row in rows if row.event == 'init_lwp']
    ended = [row for row in rows if row.event == 'fini_lwp' and row.tid != row.pid]
    must(len(begun) == 40 and sorted(row.tid for row in ended) == sorted(begun), p.all)
    must(all(1000 <= row.faults < 1500 and row.clock > 0 for row in ended), p.all)
    must([row.event for row in rows].count('exit') == 2, p.all)
    for last in rows:
        found = sum(row.faults for row in rows if row.pid == last.pid and row.event == 'fini_lwp')
        must(last.event != 'exit' or last.faults == found >= 20000, 'a sum is of all', last.line, found)
    together = sum(row.faults for row in rows if row.event == 'exit')
    must(abs(together - total_of(p)) < 50, 'nobody is missing', together, total_of(p))


def locked(stage):
    """If a user may lock no more memory for rings, the note gives that reason."""
    limited = [*ORDINARY, 'bash', '-c', 'ulimit -l 0; exec "$@"', 'bash']
    programs = [Program(stage, '-T', '0', wrap=limited) for _ in range(10)]
    for p in programs:
        p.end()
    notes = [line for p in programs for line in p.all if 'note: --interval: no rows' in line]
    limit, paranoid = (int(read_text('/proc/sys/kernel/perf_event_' + name)) for name in ('mlock_kb', 'paranoid'))
    must(notes or limit > 516 or paranoid < 0, 'all have room')
    must(all(note.endswith('n/a: this user may lock no more memory (RLIMIT_MEMLOCK, perf_event_mlock_kb)') for note in notes), notes)
    must(len(notes) < 10, notes)
    return '%d of 10' % len(notes)


def left_running(stage):
    """A process that outlives the program has a last row, unless no ticks are requested."""
    for interval in '100000', '0':
        run = Run(stage, ['sh', '-c', 'sleep 0.5 >/dev/null 2>&1 & echo $!'], files=False,
                  options=['counters=page-faults:u,task-clock,instructions:u', 'interval=' + interval]).wait()
        rows = [Row(line) for line in run.err.decode().splitlines() if line[:1] == ' ' and len(line.split()) == 7 and line.split()[1].isdigit()]
        last = [(row.event, row.pid) for row in rows if row.event == 'tick']
        must(last == ([('tick', int(run.out))] if interval != '0' else []), interval, last, run.err)


def too_many(stage, goes_on=True):
    """Events during a stop of the launcher are buffered up to a limit: then the number of lost ones is reported."""
    one = str(min(os.sched_getaffinity(0)))  # each processor has its own buffer
    p = Program(stage, '-T', '0', wrap=['taskset', '-c', one])
    os.kill(p.process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, p.process.pid, os.WSTOPPED)
    p.step('v')
    if not goes_on: # no later event can report the loss
        program = int(subprocess.run(['pgrep', '-P', str(p.process.pid), '-x', 'waits'], capture_output=True).stdout)
        p.process.stdin.close()
        wait_until(lambda: ') Z ' in read_text('/proc/%d/stat' % program), what='its end')
        p.process.stdin = None
    os.kill(p.process.pid, signal.SIGCONT)
    rows = p.end()
    notes = [line for line in p.all if line.startswith('rtcheck: note: --interval: ') and
             line.endswith(' forks, execs and ends were not seen: too many at a time')]
    must(len(notes) == 1, p.all[-10:])
    lost, seen = int(notes[0].split()[3]), sum(row.event == 'fork' for row in rows)
    must(lost > 100 and 0 < seen < 2000, lost, seen)
    return '%d of 2000 seen' % seen


def too_many_at_the_end(stage):
    return too_many(stage, False)


def unheard(stage):
    """If threads do not report at their ends: counted from their first event; n/a, with a note, if that is too late."""
    p = Program(stage, '-T', '0', events='page-faults:u,task-clock,minor-faults:u',  # all available on every machine
                env={'RTCHECK_TEST_WITHOUT': 'inherit-stat'})
    p.step('s')
    rows = p.end()
    ended = [row for row in rows if row.event == 'fini_lwp' and row.tid != row.pid]
    missed = sum(row.lacks_a_count() for row in ended)  # a thread may end after some of its events were opened
    printed = [line for line in p.all if 'had ended before they could be counted' in line]
    must(len(ended) == 20 and bool(printed) == bool(missed) and (not printed or printed[0].split()[3] == str(missed)), missed, printed)
    must(rows[-1].event == 'exit' and rows[-1].lacks_a_count() == bool(missed), 'a sum is of all', rows[-1].line)
    return '%d of 20 were missed' % missed


def estimates(stage):
    """With a multiplexed counter: the values read are estimates, and so are sums of them; complete counts are not."""
    p = Program(stage, '-T', '0', env={'LD_PRELOAD': stage.program('counters/halved.so')})
    for letter in 'mtg':
        p.step(letter)
    rows = {row.tid: row for row in p.end()[-3:]}
    thread, first, last = rows.values()
    must((thread.estimate, first.estimate, last.estimate) == (False, True, True), p.all)
    must(1000 <= thread.faults < 1500 and 2000 <= first.faults and last.faults == thread.faults + first.faults, p.all)
    must([line for line in p.all if line.startswith('COUNTERS') and ', an estimate: counted for 50.0 % of the time' in line], p.all)
    p = Program(stage, '-T', '0')
    must(not any(row.estimate for row in p.end()) and not any('in all rows' in line for line in p.all), p.all)


def by_clocks(stage):
    """Clocks of the whole run are n/a for threads, and a note names them; the heading shows if only user mode is
    counted."""
    p = Program(stage, '-T', '0', events='page-faults:u,rusage:user-time,clock:monotonic')
    must(all(row.clock is None and row.instructions is None and row.faults is not None for row in p.end()), p.all)
    note = 'rtcheck: note: --interval: n/a in all rows: rusage:user-time,clock:monotonic: a clock measures the whole run only'
    must(note in p.all, p.all)
    p = Program(stage, '-T', '0', events='page-faults,cs,task-clock', wrap=ORDINARY)
    must(p.end() and all(row.faults is not None for row in p.rows), p.all)
    denied = ['getrusage' in line for line in p.all if line.split()[:1] == ['cs']] == [True]
    must(any('n/a in all rows: cs: ' in line for line in p.all) == denied == all(row.clock is None for row in p.rows), p.all)
    heading = [line.split() for line in p.all if line.split()[:1] == ['time']][0]
    alone = any('user mode alone' in line for line in p.all if line.startswith('COUNTERS'))
    must(heading[4] == ('page-faults:u' if alone else 'page-faults'), heading)


def refused(stage):
    """If perf events are refused there are no rows, with a reason; the program runs."""
    for name in ('EPERM', 'ENOSYS', 'EACCES'):
        p = Program(stage, '-T', '10', wrap=[stage.program('counters/refuse'), str(getattr(errno, name))])
        must(p.end() == [], p.all)
        must('rtcheck: note: --interval: no rows of threads: ' + words_of(name)[:110] in p.all, name, p.all)
    run = Run(stage, ['true'], options=['interval=5'], files=False).wait()
    must((run.status, run.err) == (125, b'rtcheck: option interval: of what? (--counters=LIST)\n'), run.status, run.err)


def unread(stage):
    """The reader of the rows ends, or there is no more space for them: all else is unchanged, also the program's
    signals."""
    report = stage.room() + '/report'
    p = Program(stage, '-T', '1', '--json=' + report)
    p.until('tick')
    p.process.stderr.close()
    for _ in range(3):
        p.step('m')
    p.process.stdin.close()
    must(p.process.wait(50) == 5, 'status', p.process.returncode)
    faults = json.load(open(report))['counters'][0]
    must(faults['value'] >= 3000, 'counted until the end', faults)
    log = stage.room() + '/log'
    for ignored in (False, True):
        run = subprocess.run(
            ['bash', '-c', 'ulimit -Sf 0; %s; exec "$@"' % (ignored and 'trap "" PIPE XFSZ' or ':'), 'bash', stage.rtcheck,
             '--counters=' + EVENTS, '-T', '1', '--log-file=' + log, 'grep', 'SigIgn', '/proc/self/status'],
            env=clean_environment(), restore_signals=True, capture_output=True, text=True, timeout=50)
        both = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
        must(run.returncode == 0 and int(run.stdout.split()[1], 16) & both == (both if ignored else 0), ignored, run)
        text = open(log).read()
        must('rtcheck: note: --interval: rows are missing: File too large\n' in text, text)


if __name__ == '__main__':
    main([('lives', lives), ('ticks', ticks), ('execs', execs), ('execs_of_threads', execs_of_threads),
          ('short_lives', short_lives), ('locked', locked), ('left_running', left_running), ('too_many', too_many), ('too_many_at_the_end', too_many_at_the_end), ('unheard', unheard), ('estimates', estimates), ('by_clocks', by_clocks),
          ('refused', refused), ('unread', unread)])

#!/usr/bin/python3
"""Variables of a program while it runs (rtcheck stat): each step must change exactly its own variables."""
# rtc-test: report/stat ci 60
import json
import os
import re
import resource
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, Stepped, clean_environment, main, must, read_text, wait_until

STATE = ('blocks_live', 'bytes_live', 'alloc_calls', 'free_calls', 'alloc_bytes', 'free_bytes', 'quarantine_blocks',
         'quarantine_bytes', 'threads_live', 'mapped_bytes', 'errors')


class Program(Stepped):
    """tests/report/steps.c, by the launcher or by hand."""

    def __init__(self, stage, how='launcher', options=(), folder=''):
        self.stage = stage
        self.room = stage.room() + '/' + folder
        os.makedirs(self.room, exist_ok=True)
        program = stage.program('report/steps')
        env = {**clean_environment(), 'XDG_STATE_HOME': self.room, 'RTCHECK_POOL_DIR': self.room}
        if how == 'hand':
            env['LD_PRELOAD'] = stage.library
        command = [program] if how == 'hand' else [stage.rtcheck, '--log-file=' + self.room + '/log', *options, program]
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.done()
        self.pid = self.process.pid if how == 'hand' else self.child()

    def child(self):
        """The launcher's child that is the program, not the keeper."""
        found = subprocess.run(['pgrep', '-P', str(self.process.pid), '-x', 'steps'], capture_output=True, text=True)
        must(len(found.stdout.split()) == 1, 'children', found.stdout)
        return int(found.stdout)

    def pool(self):
        """The run's file, which the launcher has open."""
        folder = '/proc/%d/fd/' % self.process.pid
        return next(folder + fd for fd in os.listdir(folder) if 'rtcheck' in os.readlink(folder + fd).rsplit('/', 1)[-1])

    def stat(self, *words):
        """All rows of one interval, for the running processes."""
        rows, status, err = stat(self.stage, '-n', '1', *words)
        must(status == 0, 'status', status, err)
        return rows

    def watched(self, *words):
        """A stat process that runs until the program ends."""
        return subprocess.Popen([self.stage.rtcheck, 'stat', *words, str(self.pid)], stdout=subprocess.PIPE, text=True)

    def look(self):
        rows = [row for row in self.stat(str(self.pid)) if row['pid'] == self.pid and row['event'] == 'tick']
        must(len(rows) == 1, 'rows', rows)
        must(rows[0]['one_moment'] and not rows[0]['damaged'], rows[0])
        return rows[0]

    def end(self):
        self.process.stdin.close()
        return self.process.wait(60)


def stat(stage, *words):
    run = subprocess.run([stage.rtcheck, 'stat', '--json', *words], env=clean_environment(), capture_output=True,
                         text=True, timeout=50)
    return [json.loads(line) for line in run.stdout.splitlines()], run.returncode, run.stderr


def changes(before, after):
    return {name: after[name] - before[name] for name in STATE if after[name] != before[name]}


def steps(how, options=()):
    def check(stage):
        p = Program(stage, how, options)
        now = p.look()
        must(now['program'] == 'steps' and now['bytes_peak'] >= now['bytes_live'], now)
        for letter, wanted in (
                ('', {}),
                ('a', {'blocks_live': 100, 'bytes_live': 100000, 'alloc_calls': 100, 'alloc_bytes': 100000}),
                ('f', {'blocks_live': -40, 'bytes_live': -40000, 'free_calls': 40, 'free_bytes': 40000,
                       'quarantine_blocks': 40, 'quarantine_bytes': 40960}),
                ('m', {'mapped_bytes': 1 << 20}),
                ('d', {'errors': 1})):
            before = now
            if letter:
                p.step(letter)
            now = p.look()
            must(changes(before, now) == wanted, letter, changes(before, now), 'instead of', wanted)
        p.step('t')
        p.step('e')
        must(p.look()['threads_live'] == now['threads_live'] + 2, 'two threads', p.look())
        must(p.end() == 3, 'status')
    return check


def as_the_program_has_it(how):
    """Variables that a program has of itself (rtcheck/profile.h) have the same names and values from outside."""
    def check(stage):
        p = Program(stage, how)
        for letter in 'afmmdto':
            p.step(letter)
        p.send('v')
        inside = dict(line.decode().split() for line in iter(p.process.stdout.readline, b'done\n'))
        now = p.look()
        same = [name for name in inside if name in now]
        alone = {'threads_seen', 'blocks_leaked', 'suppressed', 'perf_task_clock_ns', 'perf_faults', 'perf_ctx', 'top_sites'}
        must(not set(inside) - set(now) - alone, 'of the program alone', set(inside) - set(now))
        wrong = {name: (inside[name], now[name]) for name in same if int(inside[name]) != now[name]}
        must(not wrong, 'inside and outside', wrong)
        must('meta_overhead_pct' in same and now['err_duf'] == now['err_oom'] == now['realloc_calls'] == 1 and now['maps_live'] > 0, same, now)
        p.end()
        return '%d variables' % len(same)
    return check


def incomplete(stage):
    """If a process's file is full some records are missing, and its rows show that."""
    code = 'import sys; x = [bytes(513) for _ in range(%d)]; print("done", flush=True); sys.stdin.read()'
    for blocks in 1000, 300000:
        env = {**clean_environment(), 'LD_PRELOAD': stage.library, 'RTCHECK_POOL_DIR': stage.room(), 'RTCHECK_OPTIONS': 'quiet'}
        p = subprocess.Popen([sys.executable, '-SEc', code % blocks], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20)))
        must(p.stdout.readline() == b'done\n', 'it did not start')
        rows, status, err = stat(stage, '-n', '1', str(p.pid))
        table = subprocess.run([stage.rtcheck, 'stat', '-n', '1', str(p.pid)], env=clean_environment(), capture_output=True, text=True).stdout
        p.communicate()
        must(status == 0 and rows[0]['incomplete'] == (blocks > 1000) and rows[0]['blocks_live'] > blocks, rows, err)
        must((' (the run file is full: some of it is missing)\n' in table) == (blocks > 1000), table)


def child(stage):
    """A forked child has a separate row, which begins with the inherited values."""
    p = Program(stage)
    p.step('a')
    p.step('c')
    parent = p.look()
    rows = [row for row in p.stat(str(p.pid)) if row['pid'] != p.pid]
    must(len(rows) == 1, 'children', rows)
    must(parent['blocks_live'] - rows[0]['blocks_live'] == 10 and parent['bytes_live'] - rows[0]['bytes_live'] == 10000,
         parent, rows)
    must(rows[0]['free_calls'] == 10 and rows[0]['threads_live'] == 1, rows)
    must(rows[0]['quarantine_blocks'] >= 10, 'in quarantine', rows)
    alone = p.stat(str(rows[0]['pid']))
    must([row['pid'] for row in alone] == [rows[0]['pid']], 'the child alone', alone)
    os.kill(rows[0]['pid'], signal.SIGKILL)
    rows = stat(stage, '-I', '10', '-n', '6', str(p.pid))[0]
    events = [row['event'] for row in rows if row['pid'] != p.pid]
    must(events.count('killed') == 1 and events[-1] == 'killed', 'one last row', events)
    must([row['pid'] for row in rows].count(p.pid) == 6, 'the parent goes on', rows)
    p.end()


def by_exec(stage):
    """A process after exec has the same number, by any way of exec, also if it is queried first or those between have
    ended."""
    p = Program(stage)
    p.step('s')
    rows = p.stat(str(p.pid))
    found = {row['pid'] for row in rows if row['program'] == 'steps' and row['event'] == 'tick'}
    must(len(found) == 6, 'not five children', [(row['pid'], row['program'], row['event']) for row in rows])
    runs = {row['pid'] for row in p.stat(p.pool()) if row['event'] == 'tick'}
    must(runs == {row['pid'] for row in rows if row['event'] == 'tick'}, 'by FILE', runs, rows)
    alone = (found - {p.pid}).pop()
    must({row['pid'] for row in p.stat(str(alone))} == {alone}, 'a child alone')
    p.end()


def ends(stage):
    """Rows until the end, the last with the last values; a table has the same columns in each line."""
    p = Program(stage)
    p.step('a')
    p.step('b')
    watching = p.watched('--json', '-I', '20')
    rows = [json.loads(watching.stdout.readline()) for _ in range(3)]
    must([row['event'] for row in rows] == ['tick'] * 3, rows)
    must(rows[2]['time'] > rows[1]['time'] and not changes(rows[1], rows[2]), rows)
    p.step('b')
    freed = [json.loads(watching.stdout.readline()) for _ in range(3)]
    p.end()
    rest = [json.loads(line) for line in watching.communicate(timeout=50)[0].splitlines()]
    must(watching.returncode == 0 and [row['event'] for row in rest].index('exit') == len(rest) - 1, rest)
    must(rest[-1]['free_calls'] - rows[2]['free_calls'] >= 5, 'last values', rest[-1])
    peaks = [row['bytes_peak'] for row in rows + freed + rest]
    must(peaks == sorted(peaks) and peaks[0] >= 102000, 'a peak goes down', peaks)


def killed(stage):
    p = Program(stage, 'hand')
    watching = p.watched()
    heading, first = watching.stdout.readline().split(), watching.stdout.readline().split()
    os.kill(p.pid, signal.SIGKILL)
    p.process.wait(60)
    last = watching.communicate(timeout=50)[0].splitlines()[-1].split()
    must(heading[2] == 'event' and first[1:3] == [str(p.pid), 'tick'] and last[1:3] == [str(p.pid), 'killed'], first, last)
    left = [p.room + '/' + name for name in os.listdir(p.room) if name.endswith('.pool')]
    rows, status, err = stat(stage, *left)
    must(status == 0 and [(row['pid'], row['event']) for row in rows] == [(p.pid, 'killed')], rows, err)


def gone(stage):
    """A process whose image is removed from the file between two rows was running at the first: its end is unknown."""
    p = Program(stage)
    p.step('a')
    p.step('c')
    watching = p.watched('--json', '-I', '20')
    seen = [json.loads(watching.stdout.readline()) for _ in range(2)]
    child, = {row['pid'] for row in seen} - {p.pid}
    watching.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, watching.pid, os.WSTOPPED | os.WNOWAIT)
    os.kill(child, signal.SIGKILL)
    p.step('w')
    wait_until(lambda: child not in {row['pid'] for row in p.stat(p.pool())}, 30, 'the child to be taken out')
    watching.send_signal(signal.SIGCONT)
    p.end()
    rows = [json.loads(line) for line in watching.communicate(timeout=50)[0].splitlines()]
    events = [row['event'] for row in rows if row['pid'] == child]
    must(events[-1] == 'gone' and set(events[:-1]) <= {'tick'}, events)
    must([row['event'] for row in rows if row['pid'] == p.pid][-1] == 'exit', rows)


def execs(stage):
    p = Program(stage)
    p.step('a')
    p.step('x')
    rows = p.stat(str(p.pid))
    must([row['event'] for row in rows if row['pid'] == p.pid][-1] == 'tick' and rows[-1]['blocks_live'] < 100, rows)
    must([row['event'] for row in rows[:-1]] in ([], ['exec']), rows)
    p.end()


def execs_away(stage):
    """After exec of a program that is not checked, the image has ended by exec, even if that program runs on."""
    p = Program(stage)
    p.step('a')
    watching = p.watched('--json', '-I', '50')
    first = json.loads(watching.stdout.readline())
    p.step('y')
    events = [first['event']]
    while events[-1] == 'tick':
        events.append(json.loads(watching.stdout.readline())['event'])
    must(events[-1] == 'exec' and p.process.poll() is None, events)
    p.end()
    must(watching.communicate(timeout=50)[0] == '' and watching.returncode == 0, 'rows behind the last')


def taken(stage):
    """For a run that is over: ended images without a row are counted."""
    run = Run(stage, ['bash', '-c', 'for i in 1 2 3 4 5 6 7 8; do /bin/true; done'], keep=True).wait()
    rows, status, err = stat(stage, run.pool_file())
    processes = {row['pid'] for row in rows}
    found = re.fullmatch(r'rtcheck: note: (\d+) program images that have ended have no row: .*\n', err)
    must(status == 0 and (int(found[1]) if found else 0) >= 9 - len(processes) and bool(found) == bool(err), rows, err)
    return '%d of 9 have a row' % len(processes)


def words(stage):
    """A thread is its process; a file may be called anything, and lie anywhere."""
    p = Program(stage, 'hand', folder='a\nb')
    p.step('t')
    tid = max(int(name) for name in os.listdir('/proc/%d/task' % p.pid))
    must(tid != p.pid and [row['pid'] for row in p.stat(str(tid))] == [p.pid], 'by its thread', tid)
    pool = [name for name in os.listdir(p.room) if name.endswith('.pool')]
    os.symlink(pool[0], p.room + '/-n')
    run = subprocess.run([stage.rtcheck, 'stat', '--json', '-n1', '-I20', '--', '-n'], cwd=p.room, env=clean_environment(),
                         capture_output=True, text=True, timeout=50)
    must(run.returncode == 0 and json.loads(run.stdout)['pid'] == p.pid, run)
    for verb in ('stat', 'events', 'dump', 'selftest', 'suppress'):
        run = subprocess.run([stage.rtcheck, verb, '--help'], env=clean_environment(), capture_output=True, text=True, timeout=50)
        must(run.returncode == 0 and run.stdout.startswith('usage: rtcheck ' + verb + ' ') and not run.stderr, run)
    events = subprocess.run([stage.rtcheck, 'events', str(tid)], env=clean_environment(), capture_output=True, timeout=50)
    must(events.returncode == 0, events)
    p.end()


def headless(stage):
    """The kernel shows no maps of a process whose first thread has ended; it runs, and so it has a row."""
    p = Program(stage)
    p.step('z')
    wait_until(lambda: not read_text('/proc/%d/maps' % p.pid), 30, 'the end of the first thread')
    p.step('a')
    must(p.look()['blocks_live'] >= 100, 'a row')
    events = subprocess.run([stage.rtcheck, 'events', str(p.pid)], env=clean_environment(), capture_output=True, timeout=50)
    must(events.returncode == 0, events)
    must(p.end() == 3, 'status')


def moments(stage):
    """Values of one moment are consistent: two threads have a block each, or not; otherwise they are not below earlier
    ones."""
    p = Program(stage)
    p.step('p')
    rows = stat(stage, '-I', '1', '-n', '300', str(p.pid))[0]
    p.process.terminate()
    p.process.wait(60)
    moments = [row['blocks_live'] for row in rows if row['one_moment']]
    must(len(rows) == 300 and max(row['allocs_per_second'] for row in rows) > 0 and moments, 'rows', len(rows), len(moments))
    must(max(moments) - min(moments) <= 2, 'blocks', min(moments), max(moments))
    must(min(row['blocks_live'] for row in rows) >= max(moments) - 2, 'blocks of no moment', moments)
    return '%d of %d rows are of one moment' % (len(moments), len(rows))


def refusals(stage):
    def refused(*words):
        rows, status, err = stat(stage, *words)
        must(status == 125 and not rows and err.count('\n') == 1, words, status, rows, err)
        return err
    dead = subprocess.Popen(['true'])
    dead.wait()
    must(refused(str(dead.pid)) == 'rtcheck: there is no process %d\n' % dead.pid, 'a process that ended')
    must(refused('99999999999') == 'rtcheck: there is no process 99999999999\n', 'no number of a process')
    must('has no run file' in refused(str(os.getpid())), 'a process without us')
    some = stage.room() + '/some'
    with open(some, 'w') as f:
        f.write('of no meaning')
    must('is not a run file' in refused(some), 'some file')
    must('cannot be opened' in refused('/nowhere'), 'no file')
    for words, why in (((), 'usage: rtcheck stat'), (('-I',), 'option interval needs a value'), (('-I', '0', '1'), "option interval: '0'"),
                       (('-n', 'x', '1'), "option count: 'x'"), (('-q', '1'), "unknown option '-q'"), (('1', '2'), 'usage: rtcheck stat')):
        must(why in refused(*words), words)


if __name__ == '__main__':
    main([('steps_launcher', steps('launcher')), ('steps_by_hand', steps('hand')),
          ('steps_in_pool_dir', steps('launcher', ('--heap=file',))), ('inside_launcher', as_the_program_has_it('launcher')),
          ('inside_by_hand', as_the_program_has_it('hand')), ('incomplete', incomplete), ('child', child), ('by_exec', by_exec), ('ends', ends),
          ('killed', killed), ('gone', gone), ('execs', execs), ('execs_away', execs_away), ('taken', taken), ('words', words), ('headless', headless),
          ('moments', moments), ('refusals', refusals)])

#!/usr/bin/python3
"""Every signal arrives in the program once, for every sender and receiver; stopping, continuing and being
killed look to a shell as they do without the launcher."""
# rtc-test: launcher/signals ci 120
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Failure, clean_environment, main, must, needs_scene, read_text, wait_until

PASSED_ON = ('TERM', 'INT', 'HUP', 'QUIT', 'USR1', 'USR2')
SECONDS = 20
TIMEOUT = 'timeout'


def number(name):
    return getattr(signal, 'SIG' + name)


def state_of(pid):
    text = read_text('/proc/%d/stat' % pid)
    return text[text.rindex(')') + 2] if ')' in text else None


class Lines:
    """Reads a descriptor line by line, with a limit in time."""

    def __init__(self, fd):
        self.fd = fd
        self.rest = b''
        self.all = []

    def next(self):
        """The next line; None at the end."""
        end = time.monotonic() + SECONDS
        while b'\n' not in self.rest:
            left = end - time.monotonic()
            must(left > 0 and select.select([self.fd], [], [], left)[0], 'no line after', self.all)
            try:
                got = os.read(self.fd, 4096)
            except OSError:  # the other end of the terminal is closed
                got = b''
            if not got:
                return None
            self.rest += got
        line, self.rest = self.rest.split(b'\n', 1)
        self.all.append(line.decode().strip())
        return self.all[-1]

    def until(self, wanted):
        while True:
            line = self.next()
            must(line is not None, 'no', wanted, 'in', self.all)
            if line == wanted:
                return

    def to_end(self):
        while self.next() is not None:
            pass


class Counter:
    """counter.c under the launcher, `before` it a command that wraps both."""

    def __init__(self, stage, before=(), env=None, **popen):
        argv = [*before, stage.rtcheck, '--log-file=/dev/null', stage.program('launcher/counter')]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        start_new_session=True,
                                        env={**clean_environment(), **(env or {})}, **popen)
        self.lines = Lines(self.process.stdout.fileno())
        ready = self.lines.next()
        must(ready and ready.startswith('ready'), 'it says', ready)
        self.program, self.launcher = (int(w) for w in ready.split()[1:])

    def mark(self):
        """On return, the launcher has handled all signals sent to it before."""
        os.kill(self.launcher, signal.SIGWINCH)
        self.lines.until('WINCH')

    def end(self, status=0):
        self.process.stdin.close()
        self.lines.to_end()
        got = self.process.wait(SECONDS)
        must(got == status, 'status', got, 'instead of', status)
        self.process.stdout.close()

    def count(self, name):
        return self.lines.all.count(name)


def once(counter, name, status=0):
    """A signal that was sent arrives exactly once."""
    counter.lines.until(name)
    counter.mark()
    counter.end(status)
    must(counter.count(name) == 1, name, 'arrived', counter.count(name), 'times:', counter.lines.all)


# ---- senders and receivers -----------------------------------------------------------------

def to_launcher(stage):
    for name in PASSED_ON:
        c = Counter(stage)
        os.kill(c.launcher, number(name))
        once(c, name)


def to_program(stage):
    for name in PASSED_ON:
        c = Counter(stage)
        os.kill(c.program, number(name))
        once(c, name)


def to_group(stage):
    for name in PASSED_ON:
        c = Counter(stage)
        os.killpg(c.launcher, number(name))
        once(c, name)


def one_after_the_other(stage):
    """A signal to the group does not hide a later one to the launcher, and the other way round."""
    c = Counter(stage)
    for kill, pid in ((os.killpg, c.launcher), (os.kill, c.launcher)) * 3:
        kill(pid, signal.SIGUSR1)
        c.lines.until('USR1')
        c.mark()
        c.mark()
    c.end()
    must(c.count('USR1') == 6, 'six sent:', c.lines.all)


def many(stage):
    """Each of several, sent at once to the group."""
    c = Counter(stage)
    for name in PASSED_ON:
        os.killpg(c.launcher, number(name))
    for name in PASSED_ON:
        c.mark()
    c.end()
    must([c.count(n) for n in PASSED_ON] == [1] * len(PASSED_ON), c.lines.all)


def timed_counter(stage, *options):
    """Under timeout(1), whose clock runs while the program starts: on a busy machine it has more time."""
    for seconds in '0.2', '1':
        try:
            return Counter(stage, [TIMEOUT, *options, seconds])
        except Failure:
            pass
    return Counter(stage, [TIMEOUT, *options, '5'])


def by_timeout(stage):
    """timeout(1) sends to its child and then to the group: the program gets one signal."""
    for name in PASSED_ON:
        once(timed_counter(stage, '-s', name), name, 124)


def by_timeout_in_foreground(stage):
    once(timed_counter(stage, '--foreground', '-s', 'USR1'), 'USR1', 124)


def by_itself(stage):
    """kill(0) in the program is a signal to the group, too."""
    script = 'n=0; trap "n=\\$((n + 1))" USR1; kill -USR1 0; kill -WINCH $PPID; ' \
        'i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done; exit $n'
    run = subprocess.run([stage.rtcheck, '-q', 'sh', '-c', script], start_new_session=True,
                         env=clean_environment(), capture_output=True, timeout=SECONDS)
    must(run.returncode == 1, 'caught', run.returncode, 'times', run.stderr)


def with_value(stage):
    """sigqueue's value comes along."""
    script = 'import signal as s, os; s.pthread_sigmask(s.SIG_BLOCK, [s.SIGUSR1]); ' \
        'print("ready", flush=True); i = s.sigwaitinfo([s.SIGUSR1]); print(i.si_code)'
    process = subprocess.Popen([stage.rtcheck, '-q', '/usr/bin/python3', '-c', script],
                               stdout=subprocess.PIPE, env=clean_environment())
    must(process.stdout.readline() == b'ready\n', 'it did not start')
    sent = subprocess.run(['/usr/bin/kill', '-q', '7', '-USR1', str(process.pid)])
    must(sent.returncode == 0, 'kill -q')
    out, _ = process.communicate(timeout=SECONDS)
    must(out == b'-1\n', 'si_code', out, 'is not SI_QUEUE')


def to_parent(stage):
    """A program that signals its parent reaches the one it has without the launcher."""
    got = []
    was = signal.signal(signal.SIGUSR1, lambda *a: got.append(1))
    try:
        run = subprocess.run([stage.rtcheck, '-q', 'sh', '-c',
                              'trap "exit 3" USR1; kill -USR1 $PPID; read line; exit 0'],
                             env=clean_environment(), timeout=SECONDS, stdin=subprocess.DEVNULL)
        wait_until(lambda: got, SECONDS, 'the signal to the parent')
    finally:
        signal.signal(signal.SIGUSR1, was)
    must(run.returncode == 0, 'the program got its own signal back')


def before_exec(stage):
    """A signal that comes at any moment of the start ends the program, and us by the same."""
    for i in range(stage.sample(40, 300)):
        process = subprocess.Popen([stage.rtcheck, 'sleep', '1000'], stderr=subprocess.DEVNULL,
                                   start_new_session=True, env=clean_environment())
        time.sleep(stage.random.random() * 0.01)  # any moment
        process.terminate()
        try:
            status = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise Failure('trial', i, 'does not end')
        must(status == -signal.SIGTERM, 'trial', i, 'status', status)


def while_it_starts(stage):
    """One to the group that comes before the program is there is not taken for one that it has got."""
    library = stage.program('launcher/while_it_starts.so')
    for nth in '1', '2', '3':
        for name in 'TERM', 'INT', 'WINCH':
            env = {'LD_PRELOAD': library, 'AT_FORK': nth, 'SIGNAL': str(int(number(name)))}
            done = subprocess.run([stage.rtcheck, '-q', 'sleep', '0.2'], env={**clean_environment(), **env},
                                  start_new_session=True, timeout=60)
            wanted = 0 if nth == '3' or name == 'WINCH' else -number(name)  # there are two forks
            must(done.returncode == wanted, 'status', done.returncode, name, 'at', nth)


def name_of_keeper(stage):
    """The keeper has neither the launcher's name and options nor the program's, so that pkill -f does not match it."""
    c = Counter(stage)
    children = read_text('/proc/%d/task/%d/children' % (c.launcher, c.launcher)).split()
    keepers = [int(pid) for pid in children if int(pid) != c.program]
    must(len(keepers) == 1, 'children', children)
    wait_until(lambda: read_text('/proc/%d/comm' % keepers[0]) == 'rtc-keeper\n', SECONDS, 'its name')
    c.mark()  # the keeper has handled a request, so its name is complete
    shown = read_text('/proc/%d/cmdline' % keepers[0])
    must(shown.rstrip('\0') == 'rtc-keeper', repr(shown))
    c.end()


def without_keeper(stage):
    """Without a second process, signals are passed on as far as possible."""
    env = {'RTCHECK_TEST_WITHOUT': 'keeper'}
    c = Counter(stage, env=env)
    os.kill(c.launcher, signal.SIGUSR1)
    once(c, 'USR1')


# ---- a terminal, and a substitute for a shell ------------------------------------------------

class Job:
    """A session with a terminal, whose leader starts the launcher as a job and waits for it.

    leader=True: the launcher is itself the leader of the session, as in `xterm -e`.
    """

    def __init__(self, stage, leader=False, options=()):
        argv = [stage.rtcheck, '--log-file=/dev/null', stage.program('launcher/counter'), *options]
        self.commands, send = os.pipe()
        printed, output = os.pipe()
        command, self.command = os.pipe()
        self.shell, self.terminal = pty.fork()
        if self.shell == 0:
            try:
                settings = termios.tcgetattr(0)
                settings[3] &= ~termios.ECHO
                termios.tcsetattr(0, termios.TCSANOW, settings)
                os.dup2(output, 1)
                if leader:
                    os.execve(argv[0], argv, clean_environment())
                self.be_shell(argv, send, command)
            finally:
                os._exit(99)
        for fd in (send, output, command):
            os.close(fd)
        self.lines = Lines(printed)
        self.fates = Lines(self.commands)
        ready = self.lines.next()
        self.program, self.launcher = (int(w) for w in ready.split()[1:])

    @staticmethod
    def be_shell(argv, send, command):
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(0, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            os.execve(argv[0], argv, clean_environment())
        while True:
            _, status = os.waitpid(pid, os.WUNTRACED | os.WCONTINUED)
            if os.WIFSTOPPED(status):
                os.write(send, b'stopped %d\n' % os.WSTOPSIG(status))
                if os.read(command, 1) == b'f':
                    os.killpg(pid, signal.SIGCONT)
            elif os.WIFCONTINUED(status):
                os.write(send, b'continued\n')
            elif os.WIFSIGNALED(status):
                os.write(send, b'killed %d\n' % os.WTERMSIG(status))
                os._exit(0)
            else:
                os.write(send, b'exit %d\n' % os.WEXITSTATUS(status))
                os._exit(0)

    def type(self, text):
        os.write(self.terminal, text)

    def send_shell(self, what):
        os.write(self.command, what)

    def end(self):
        self.type(b'\x04')
        self.lines.to_end()
        self.close()

    def close(self):
        self.fates.to_end()
        os.waitpid(self.shell, 0)
        for fd in (self.terminal, self.commands, self.command, self.lines.fd):
            os.close(fd)


def keyboard(stage):
    """^C and ^\\ at a terminal, by a shell and as the leader of the session."""
    for leader in (False, True):
        for key, name in ((b'\x03', 'INT'), (b'\x1c', 'QUIT')):
            job = Job(stage, leader)
            job.type(key)
            job.lines.until(name)
            os.kill(job.launcher, signal.SIGWINCH)
            job.lines.until('WINCH')
            job.end()
            must(job.lines.all.count(name) == 1, name, 'arrived', job.lines.all.count(name), 'times')


def hang_up(stage):
    """A hang-up of the terminal sends SIGHUP to the leader of the session, and so to the program."""
    job = Job(stage, leader=True, options=['wait'])
    os.close(job.terminal)
    try:
        job.lines.until('HUP')
    except Failure:
        os.kill(job.program, signal.SIGKILL)
        raise
    finally:
        os.waitpid(job.shell, 0)


def stop_and_go_on(stage):
    """^Z stops both, fg continues both, and nothing comes twice."""
    job = Job(stage)
    for _ in range(3):
        job.type(b'\x1a')
        job.fates.until('stopped %d' % signal.SIGTSTP)
        must(state_of(job.program) == 'T', 'the program runs on, state', state_of(job.program))
        job.send_shell(b'f')
        job.lines.until('CONT')
        job.fates.until('continued')
        os.kill(job.launcher, signal.SIGWINCH)
        job.lines.until('WINCH')
    job.end()
    must(job.fates.all[-1] == 'exit 0', 'end:', job.fates.all)
    must(job.lines.all.count('CONT') == 3, job.lines.all)


def stop_program_alone(stage):
    """If the program is stopped, the launcher stops.  Continuing either of them is enough."""
    job = Job(stage)
    for whom in (job.program, job.launcher):
        os.kill(job.program, signal.SIGSTOP)
        job.fates.until('stopped %d' % signal.SIGSTOP)
        os.kill(whom, signal.SIGCONT)
        job.send_shell(b'-')
        job.fates.until('continued')
        job.lines.until('CONT')
    os.kill(job.launcher, signal.SIGWINCH)
    job.lines.until('WINCH')
    job.end()
    must(job.lines.all.count('CONT') == 2, job.lines.all)


def end_while_stopped(stage):
    """A stopped program that is killed ends the stopped launcher."""
    job = Job(stage)
    os.kill(job.program, signal.SIGSTOP)
    job.fates.until('stopped %d' % signal.SIGSTOP)
    os.kill(job.program, signal.SIGKILL)
    job.send_shell(b'-')
    job.fates.until('killed %d' % signal.SIGKILL)
    os.waitpid(job.shell, 0)


def orphans(stage):
    """As the init of a container the launcher also takes leave of processes that lost their parent."""
    scene = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--mount-proc']
    needs_scene(*scene)
    script = 'for i in 1 2 3 4 5; do (/bin/true & ) ; done; ' \
        'until ! grep -l "^State:.*Z" /proc/[0-9]*/status; do :; done 2>/dev/null; exit 3'
    run = subprocess.run([*scene, stage.rtcheck, '-q', 'sh', '-c', script], capture_output=True,
                         env=clean_environment(), timeout=60)
    must(run.returncode == 3, 'status', run.returncode, run.stderr)
    run = subprocess.run([*scene, stage.rtcheck, '-q', 'sh', '-c', 'kill -TERM $$'],
                         capture_output=True, env=clean_environment(), timeout=60)
    must(run.returncode == 128 + signal.SIGTERM, 'an init says', run.returncode, run.stderr)


def own_group(stage):
    """A job that moves to another process group still gets the shell's signals to the job."""
    argv = [stage.rtcheck, '-q', '/usr/bin/python3', '-c',
            'import os, signal, time\n'
            'signal.signal(signal.SIGUSR1, lambda *a: os._exit(5))\n'
            'os.setpgid(0, 0)\nprint("ready", flush=True)\ntime.sleep(60)']
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True,
                               env=clean_environment())
    must(process.stdout.readline() == b'ready\n', 'it did not start')
    os.killpg(process.pid, signal.SIGUSR1)
    must(process.wait(SECONDS) == 5, 'status', process.returncode)


# ---- the launcher itself -----------------------------------------------------------------------

def launcher_killed(stage):
    """The program continues, and its records are kept when it ends."""
    state = stage.room()
    c = Counter(stage, env={'XDG_STATE_HOME': state})
    os.kill(c.launcher, signal.SIGKILL)
    must(c.process.wait(SECONDS) == -signal.SIGKILL, 'the launcher lives')
    os.kill(c.program, signal.SIGUSR1)
    c.lines.until('USR1')
    pool = state + '/rtcheck/last'
    must(not os.path.exists(pool), 'kept while the program runs')
    c.process.stdin.close()
    c.lines.to_end()
    wait_until(lambda: os.path.exists(pool), SECONDS, pool)
    must(os.stat(pool).st_mode & 0o777 == 0o600, 'mode of', pool)
    must(os.stat(state + '/rtcheck').st_mode & 0o777 == 0o700, 'mode of its directory')
    run = subprocess.run([stage.rtcheck, 'report'], capture_output=True, timeout=SECONDS,
                         env={**clean_environment(), 'XDG_STATE_HOME': state})
    must(run.returncode == 0, 'rtcheck report:', run.returncode, run.stderr)


def idle(stage):
    """Waiting costs nothing: the launcher and the keeper hardly ever wake up."""
    c = Counter(stage)

    def switches():
        total = 0
        for pid in [c.launcher] + [int(p) for p in read_text(
                '/proc/%d/task/%d/children' % (c.launcher, c.launcher)).split()]:
            if pid == c.program:
                continue
            for task in os.listdir('/proc/%d/task' % pid):
                text = read_text('/proc/%d/task/%s/status' % (pid, task))
                total += sum(int(line.split()[1]) for line in text.splitlines()
                             if 'ctxt_switches' in line)
        return total

    c.mark()
    time.sleep(2)  # the first looks come soon after the start
    before = switches()
    time.sleep(3)  # the measured interval
    woken = switches() - before
    c.end()
    must(woken <= 12, 'woken', woken, 'times in 3 s')
    return 'woken %d times in 3 s' % woken


def stacks_of_go(stage):
    """Handlers that Go's runtime sets run on the stack that it has found; others on the thread's."""
    for name, wanted in (('go_handler', 'handled 2, strayed 0'),
                         ('go_handler_plain', 'handled 1, on the stack of the thread 1')):
        done = subprocess.run([stage.rtcheck, '--log-file=/dev/null', stage.program('launcher/' + name)],
                              capture_output=True, text=True, timeout=SECONDS)
        must(done.returncode == 0 and done.stdout.strip() == wanted, name, done.returncode, done.stdout)


if __name__ == '__main__':
    main([(f.__name__, f) for f in (
        to_launcher, to_program, to_group, one_after_the_other, many, by_timeout,
        by_timeout_in_foreground, by_itself, with_value, to_parent, before_exec, while_it_starts, name_of_keeper, without_keeper,
        keyboard, hang_up, stop_and_go_on, stop_program_alone, end_while_stopped, orphans, own_group,
        launcher_killed, stacks_of_go, idle)])

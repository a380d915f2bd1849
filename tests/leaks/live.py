#!/usr/bin/env python3
# rtc-test: leaks/live ci 120
# rtc-test: leaks/live-full full 1800 --full
"""Programs that are checked by `rtcheck check` while they wait or run (live.c): each check has the bytes of the
check at the end; no system call returns early; the program sees no signal, child or open pipe of a check.
--full: 100 checks of each program, 1,000 of the one that looks for traces of a check."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from judges import main

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/leaks/live"
RTCHECK = BUILD + "/bin/rtcheck"
WAITS = ("epoll_wait epoll_wait_limit poll select msgrcv semop nanosleep recv accept sigwait crowd").split()
LOST = [3001, 3002]
# How each program ends; None: it is not asked.
ENDINGS = dict({name: "returned 0\n" for name in WAITS}, alone="epoll_wait 1\n", sandbox="", busy="",
               group="wrong 0, children 0\n")
HEAD = re.compile(r"rtcheck: leak check (\d+) of live \(\d+\): (?:possibly )?leaked (\d+) B in (\d+) blocks?"
                  r"((?:; [^;\n]+)*); allocations paused \d+\.\d{3} ms\n")


class Program:
    """A program under the launcher, or by hand, which has printed that it is ready."""

    def __init__(self, folder, name, by_hand=False, options=("--witness",)):
        self.folder = folder
        self.json = os.path.join(folder, "report.json")
        env = dict(os.environ, XDG_STATE_HOME=folder)
        words = [RTCHECK, "-q", "--json=" + self.json, *options, PROGRAM, name]
        if by_hand:
            words = words[-2:]
            env.update(LD_PRELOAD=BUILD + "/lib/librtcheck.so", RTCHECK_POOL_DIR=folder,
                       RTCHECK_OPTIONS="quiet:witness:json='%s'" % self.json)
        self.process = subprocess.Popen(words, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.pid = self.process.stdout.readline().removeprefix("ready ").strip()

    def request(self, **how):
        return subprocess.Popen([RTCHECK, "check", self.pid], cwd=self.folder, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **how)

    def check(self):
        done = self.request()
        text, errors = done.communicate(timeout=60)
        return done.returncode, text, errors

    def end(self):
        """What it has printed, and the sizes of its lost blocks."""
        text, errors = self.process.communicate(timeout=120)
        if not os.path.exists(self.json):
            return text, errors, None
        with open(self.json) as f:
            report = json.load(f)
        self.report = report
        os.unlink(self.json)
        return text, errors, sorted(l["first"]["size"] for l in report["leaks"])


def wrong_check(done, number, more):
    """`more`: blocks that running threads may have in registers only."""
    status, text, errors = done
    head = HEAD.match(text)
    if status or errors or not head or int(head[1]) != number:
        return "check %d: status %d, %r %r" % (number, status, text, errors)
    blocks = int(head[3])
    if not len(LOST) <= blocks <= len(LOST) + more or (blocks == len(LOST) and int(head[2]) != sum(LOST)):
        return "check %d: %r" % (number, text)
    return None


def judge(folder, name, count, by_hand=False):
    program = Program(folder, name, by_hand)
    for number in range(1, count + 1):
        wrong = wrong_check(program.check(), number, 2 if name == "busy" else 0)
        if wrong:
            yield wrong
    text, errors, sizes = program.end()
    if text != ENDINGS[name] or sizes != LOST:
        yield "at the end: %r %s %r" % (text, sizes, errors)


def judge_killed(folder):
    """Requesters that die at any moment do not delay the next, or the program."""
    program = Program(folder, "alone")
    for _ in range(8):
        requester = program.request()
        requester.kill()
        requester.communicate()
    together = [program.request() for _ in range(3)]
    for requester in together:
        text, errors = requester.communicate(timeout=60)
        if requester.returncode or not HEAD.match(text) or errors:
            yield "after killed requesters: %r %r" % (text, errors)
    text, errors, sizes = program.end()
    if text != ENDINGS["alone"] or sizes != LOST:
        yield "at the end: %r %s %r" % (text, sizes, errors)


def scanner_of(pid):
    """The other process that runs the program's file."""
    for other in filter(str.isdigit, os.listdir("/proc")):
        try:
            if other != pid and os.readlink("/proc/%s/exe" % other) == os.readlink("/proc/%s/exe" % pid):
                return int(other)
        except OSError:
            pass
    raise RuntimeError("process %s has no scanner" % pid)


def judge_dead_scanner(folder, count):
    """A scanner that is killed at any moment of a check does not hold up the program."""
    chance = random.Random(27)
    for number in range(count):
        program = Program(folder, "busy")
        scanner = scanner_of(program.pid)
        requester = program.request()
        time.sleep(chance.uniform(0, 0.04))  # what is varied is the moment
        os.kill(scanner, signal.SIGKILL)
        requester.communicate(timeout=60)
        text, errors, sizes = program.end()
        if text or not sizes or sizes[:2] != LOST:
            yield "%d: %r %s %r" % (number, text, sizes, errors)


def judge_refused(folder):
    for options, why in (((), "has no witness: start its program with --witness"),
                         (("--witness", "--heap=file"), "has its heap in the file, of which no snapshot can be taken")):
        program = Program(folder, "alone", options=options)
        status, text, errors = program.check()
        if status == 0 or text or errors != "rtcheck: process %s %s\n" % (program.pid, why):
            yield "%s: %d %r %r" % (" ".join(options), status, text, errors)
        program.end()


def judge_redis(folder, count):
    """A server under load: each check is made, and all clients are served."""
    socket = os.path.join(folder, "s")
    env = dict(os.environ, XDG_STATE_HOME=folder)
    words = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]
    with subprocess.Popen([RTCHECK, "-q", "--witness", *words], cwd=folder, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as server:
        line = next(line for line in server.stdout if "ready to accept connections" in line)
        pid = line.split(":")[0]
        load = subprocess.Popen(["redis-benchmark", "-s", socket, "-t", "set,get,lpush,lpop", "-n", "100000000", "-q"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for number in range(1, count + 1):
            done = subprocess.run([RTCHECK, "check", pid], capture_output=True, text=True, timeout=60, check=False)
            if done.returncode or done.stderr or not re.match(r"rtcheck: leak check %d of redis-[a-z-]+ \(%s\): (?!leaks are)"
                                                              % (number, pid), done.stdout):
                yield "check %d: %s" % (number, done)
        if load.poll() is not None:
            yield "the load has ended: %s" % (load.communicate(),)
        load.kill()
        load.communicate()
        subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], capture_output=True, timeout=60, check=False)
        rest = server.communicate(timeout=120)[0]
        if server.returncode or "crashed" in rest:
            yield "the server: status %d, %s" % (server.returncode, rest)


def complaints(folder):
    full = sys.argv[1:2] == ["--full"]
    for name in ENDINGS:
        for what in judge(folder, name, (1000 if name == "group" else 100) if full else 20 if name == "group" else 2):
            yield "%s: %s" % (name, what)
    for what in judge(folder, "alone", 2, by_hand=True):
        yield "by hand: %s" % what
    for what in judge_redis(folder, 100 if full else 3) if shutil.which("redis-benchmark") else ():
        yield "redis: %s" % what
    if not shutil.which("redis-benchmark"):
        print("skip: live_redis: redis-server and redis-tools are not installed")
    yield from judge_killed(folder)
    for what in judge_dead_scanner(folder, 400 if full else 10):
        yield "killed scanner: %s" % what
    yield from judge_refused(folder)


if __name__ == "__main__":
    main("live", complaints)

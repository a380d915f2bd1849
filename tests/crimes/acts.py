#!/usr/bin/env python3
"""The actions on an error (--on-error), and the number of errors that are kept (--error-limit)."""
# rtc-test: crimes/acts ci 120
import ctypes
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/crimes/acts"
STATUS = 7
PTRACE_TRACEME, PTRACE_CONT = 0, 7
libc = ctypes.CDLL(None, use_errno=True)
failed = 0


def check(what, got, wanted):
    global failed
    print("%s: %s" % (what, got))
    if got != wanted:
        print("  wanted: %s" % (wanted,))
        failed = 1


def start(options, *args, traced=False):
    """The program's pid, under us by hand."""
    env = dict(os.environ, LD_PRELOAD=BUILD + "/lib/librtcheck.so", RTCHECK_REPORTER="none",
               RTCHECK_OPTIONS="keep:" + options, RTCHECK_POOL_DIR=tempfile.mkdtemp(dir=os.getcwd()))
    pid = os.fork()
    if pid == 0:
        if traced:
            libc.ptrace(PTRACE_TRACEME, 0, None, None)
        os.execve(PROGRAM, [PROGRAM, *args], env)
    return pid, env["RTCHECK_POOL_DIR"]


def follow(pid, traced=False):
    """The process's stops, each continued, and its end."""
    seen = []
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return seen + [os.waitstatus_to_exitcode(status)]
        seen.append(signal.Signals(os.WSTOPSIG(status)).name)
        if traced:
            libc.ptrace(PTRACE_CONT, pid, None, None)
        else:
            os.kill(pid, signal.SIGCONT)


def errors_of(folder):
    """(records, the sum of their counts, the number of records that were not kept)."""
    pool, = glob.glob(folder + "/*.pool")
    dump = subprocess.run([BUILD + "/bin/rtcheck", "dump", pool], capture_output=True, text=True, check=True).stdout
    counts = [int(n) for n in re.findall(r" error \d+ duf .*? count=(\d+)", dump)]
    return len(counts), sum(counts), int(re.search(r"errors_unrecorded=(\d+)", dump)[1])


def acts():
    for options, wanted in (("on_error=continue", [STATUS]),
                            ("on_error=stop", ["SIGSTOP", "SIGSTOP", STATUS]),
                            ("on_error=abort", [-signal.SIGABRT]),
                            ("on_error=debugger", ["SIGSTOP", "SIGSTOP", STATUS])):
        pid, folder = start(options, "2", "twice")
        check(options, follow(pid), wanted)
        if "abort" not in options:
            check("  records", errors_of(folder), (2, 4, 0))
    pid, folder = start("on_error=debugger", "2", "twice", traced=True)
    check("on_error=debugger, traced", follow(pid, traced=True), ["SIGTRAP"] * 3 + [STATUS])  # one is exec's
    for options, status in (("on_error=exit", 1), ("on_error=exit:error_exitcode=9", 9)):
        pid, folder = start(options, "2", "twice")
        check(options, follow(pid), [status])
        check("  records", errors_of(folder), (1, 1, 0))
    pid, _ = start("on_error=abort", "0")
    check("on_error=abort, a warning", follow(pid), [STATUS])
    pid, folder = start("on_error=abort", "1")
    follow(pid)
    check("records of one that was aborted", errors_of(folder), (1, 1, 0))


def limits():
    for options, places, wanted in (("", 1001, (1000, 1000, 1)), ("error_limit=1", 3, (1, 1, 2)),
                                    ("error_limit=10000", 10001, (10000, 10000, 1))):
        pid, folder = start(options, str(places))
        check("status", follow(pid), [STATUS])
        check("%d places, %s" % (places, options), errors_of(folder), wanted)
    pid, folder = start("error_limit=1", "3", "twice")
    follow(pid)
    check("those that are not kept are counted each time", errors_of(folder), (1, 2, 4))


acts()
limits()
sys.exit(failed)

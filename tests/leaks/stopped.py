#!/usr/bin/env python3
# rtc-test: leaks/stopped ci 120
# rtc-test: leaks/stopped-full full 900 --full
"""Programs whose threads are stopped inside an operation (stopped.c): output and status are those without a
checker, and the one leak is found, by the launcher and by hand."""
import json
import os
import sys

from judges import main, run

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/leaks/stopped"
FIRST = BUILD + "/tests/leaks/stopped_first.so"
TIMES = {"printing": 6, "busy": 1, "ends_together": 6}  # the moment differs
FULL = 50
CASES = ["stream_locked", "printing", "flush_waits_for_running", "flush_waits_for_sleeping", "handler_joins",
         "destructor_joins", "handler_before_runtime", "busy", "ends_together"]


def output(done):
    """The first lines; later ones may differ, as exit flushes a stream that a thread is writing to, also without
    a checker, and then lines are duplicated or torn."""
    return done.stdout.splitlines()[:400]


def judge(name, folder):
    beside = [FIRST] * (name == "handler_before_runtime")
    out = os.path.join(folder, "report.json")
    plain = run([PROGRAM, name], folder, LD_PRELOAD=":".join(beside))
    for way in "launcher", "hand":
        if way == "launcher":
            done = run([BUILD + "/bin/rtcheck", "-q", "--json", out, "--leak-check=full", PROGRAM, name], folder,
                       LD_PRELOAD=":".join(beside))
        else:
            done = run([PROGRAM, name], folder, LD_PRELOAD=":".join([BUILD + "/lib/librtcheck.so"] + beside),
                       RTCHECK_OPTIONS="quiet:json='%s'" % out)
        if (done.returncode, output(done)) != (plain.returncode, output(plain)):
            yield "%s: status %d, said %s; not %s\n%s" % (way, done.returncode, output(done), plain, done.stderr)
        with open(out) as f:
            report = json.load(f)
        lost = [(l["first"]["size"], l["class"]) for l in report["leaks"] if l["rtc"] != "biu"]
        if lost != [(4711, "definite")] and name != "ends_together":  # there another image may end the run
            yield "%s: leaks: %s" % (way, lost)


def complaints(folder):
    full = sys.argv[1:2] == ["--full"]
    for name in sys.argv[1 + full:] or CASES:
        for _ in range(FULL if full else TIMES.get(name, 1)):
            for what in judge(name, folder):
                yield "%s: %s" % (name, what)


if __name__ == "__main__":
    main("stopped", complaints)

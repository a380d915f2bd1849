#!/usr/bin/env python3
# rtc-test: leaks/ends ci 120
"""Programs that end in the midst of something (ends.c): output and status are those without a checker, it
takes no longer than a moment, and the leaks told of are exactly the ones made."""
import json
import os
import subprocess
import sys
import tempfile
import time

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/leaks/ends"
PATIENCE = 20 # seconds; a thread that cannot be stopped is given up after half of one at most

# What each of them loses: sizes of blocks, and threads that are not heard.
WHAT = {
    "dispositions": ([], 0),
    "deaths": ([], 0),
    "deaf": ([], 1),
    "allocating": ([], 0),
    "by_another": ([4711], 0),
    "main_first": ([4711], 0),
    "closed": ([], 0),
    "freed_late": ([], 0),
    "children": ([1001, 1002], 0),
    "quick": ([4711], 0),
    "hammer": ([4711], 0),
    "back_soon": ([], 0),
}
TIMES = {"hammer": 6} # the moment differs


def run(words, folder):
    done = subprocess.run(words, cwd=folder, capture_output=True, timeout=60, check=False,
                          env=dict(os.environ, XDG_STATE_HOME=folder))
    return done.returncode, done.stdout


def checked(name, folder):
    out = os.path.join(folder, "report.json")
    begin = time.monotonic()
    result = run([BUILD + "/bin/rtcheck", "-q", "--json", out, "--leak-check=full", PROGRAM, name], folder)
    took = time.monotonic() - begin
    with open(out) as f:
        return result, took, json.load(f)


def judge(name, folder):
    lost, unheard = WHAT[name]
    plain = run([PROGRAM, name], folder)
    result, took, report = checked(name, folder)
    if result != plain:
        yield "%s; without a checker: %s" % (result, plain)
    if took > PATIENCE:
        yield "took %.1f s" % took
    told = sorted(l["first"]["size"] for l in report["leaks"] if l["rtc"] == "mel" and name != "deaths")
    if told != sorted(lost):
        yield "lost: %s, told of: %s" % (lost, told)
    states = {p["leak_check"] for p in report["processes"]}
    if states != {"found"}:
        yield "leak checks: %s" % states
    heard = sum(p["threads_unheard"] for p in report["processes"])
    if heard != unheard:
        yield "%d threads unheard, not %d" % (heard, unheard)
    if name == "deaths" and sum(l["blocks"] for l in report["leaks"] if l["rtc"] == "mel") != 9:
        yield "not each child's leak: %s" % report["leaks"]


def main():
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="ends-") as folder:
        for name in sys.argv[1:] or WHAT:
            for _ in range(TIMES.get(name, 1)):
                for what in judge(name, folder):
                    wrong += 1
                    print("%s: %s" % (name, what))
    print("%d programs, %d wrong" % (len(WHAT), wrong))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

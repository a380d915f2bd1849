#!/usr/bin/env python3
# rtc-test: leaks/ends ci 120
"""Programs that end in the middle of an operation (ends.c): output and status are those without a checker,
the end takes no longer than PATIENCE, and exactly the planted leaks are reported."""
import json
import os
import subprocess
import sys
import tempfile
import time

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/leaks/ends"
PATIENCE = 20 # seconds; a thread that cannot be stopped is skipped after half of one at most

# Lost blocks of each program, by size (None: it has a twin that loses one), and the number of threads that cannot
# be stopped: they block all signals, or an exec does not signal them, as a signal would end their system call.
TWIN = None
WHAT = {
    "dispositions": ([], 0),
    "deaths": ([], 0),
    "deaf": (TWIN, 1),
    "allocating": (TWIN, 0),
    "creating": (TWIN, 0),
    "starved": (TWIN, 0),
    "back_soon": ([], 0),
    "coroutine": ([4711], 0),
    "sparse": ([4711], 0),
    "by_another": (TWIN, 0),
    "main_first": (TWIN, 0),
    "closed": ([], 0),
    "freed_late": ([], 0),
    "no_descriptors": ([], 0), # its leaks are not known: without --allow-unchecked the status is 120
    "children": ([1001, 1002], 0),
    "child_drops": (TWIN, 0), # docs/limits.md
    "quick": (TWIN, 0),
    "hammer": (TWIN, 0),
    "exec_list": (TWIN, 0),
    "exec_path": (TWIN, 0),
    "exec_given": (TWIN, 0),
    "exec_listed": ([], 0),
    "exec_thread": (TWIN, 1),
    "exec_waited_for": (TWIN, 1),
    "exec_fails": (TWIN, 0),
    "exec_left": (TWIN, 0),
    "exec_ended": (TWIN, 0),
    "exec_fails_beside": (TWIN, 0),
    "exec_beside_end": (TWIN, 0),
    "exec_killed": (TWIN, 0),
    "exec_child": (TWIN, 0),
    "exec_after_check": ([], 0),
}
TIMES = {"hammer": 3, "exec_waited_for": 4, "exec_ended": 4, "exec_beside_end": 2} # the moment differs
BESIDE = {"exec_killed": {"LD_PRELOAD": BUILD + "/tests/leaks/in_exec.so"}}
ALSO = {"sparse": ["--heap=file", "--pool-size=512m"]} # run again with these


def run(words, folder, beside):
    done = subprocess.run(words, cwd=folder, capture_output=True, timeout=60, check=False,
                          env=dict(os.environ, XDG_STATE_HOME=folder, **beside))
    return done.returncode, done.stdout


def checked(words, options, folder, beside):
    out = os.path.join(folder, "report.json")
    begin = time.monotonic()
    result = run([BUILD + "/bin/rtcheck", "-q", "--json", out, "--leak-check=full", "--allow-unchecked", *options,
                  PROGRAM, *words], folder, beside)
    took = time.monotonic() - begin
    with open(out) as f:
        return result, took, json.load(f)


def judge(name, twin, options, folder):
    lost, unheard = WHAT[name]
    if lost is TWIN:
        lost = [4711] if twin == "lost" else []
    beside = BESIDE.get(name, {})
    plain = run([PROGRAM, name, twin], folder, beside)
    result, took, report = checked([name, twin], options, folder, beside)
    if result != plain:
        yield "%s; without a checker: %s" % (result, plain)
    if took > PATIENCE:
        yield "took %.1f s" % took
    # A block that may be in a register of a thread that was not stopped is not certainly lost.
    kind = ("air", "unsure") if unheard else ("mel", "definite")
    reported = sorted(l["first"]["size"] for l in report["leaks"] if (l["rtc"], l["class"]) == kind and name != "deaths")
    if reported != sorted(lost):
        yield "lost: %s, told of: %s" % (lost, reported)
    states = {p["leak_check"] for p in report["processes"]}
    if states != {"no_proc" if name == "no_descriptors" else "found"}:
        yield "leak checks: %s" % states
    end = report["processes"][0]["exit"]["how"]
    if (result[0] < 0) != (end == "killed"):
        yield "%d, and the end is: %s" % (result[0], end)
    counted = sum(p["threads_unheard"] for p in report["processes"])
    why = "threads_deaf" if name == "deaf" else "threads_waiting"
    if counted != unheard or sum(p[why] for p in report["processes"]) != unheard:
        yield "%d threads unheard, not %d" % (counted, unheard)
    if name == "deaths" and sum(l["blocks"] for l in report["leaks"] if l["rtc"] == "mel") != 9:
        yield "not each child's leak: %s" % report["leaks"]


def cells(names):
    for name in names:
        for twin in ("held", "lost") if WHAT[name][0] is TWIN else ("held",):
            yield from [(name, twin, [])] * TIMES.get(name, 1)
            if name in ALSO:
                yield name, twin, ALSO[name]


def main():
    wrong = count = 0
    with tempfile.TemporaryDirectory(prefix="ends-") as folder:
        for name, twin, options in cells(sys.argv[1:] or WHAT):
            count += 1
            for what in judge(name, twin, options, folder):
                wrong += 1
                print("%s: %s" % (" ".join([name, twin, *options]), what))
    print("%d runs, %d wrong" % (count, wrong))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# rtc-test: leaks/threads ci 120
# rtc-test: leaks/threads-full full 1800 --full
"""usage: tests/leaks/threads.py [--full] [NAME...]

Runs the programs of threads.c under the launcher, clean and with their one leak, and checks the reported
leaks: none, or exactly that block with its bytes.

Without --full: of the three ways to end one for each program and twin in turn, once.  --full: all of
them ten times, three at a time for each processor.
"""
import concurrent.futures
import itertools
import json
import os
import subprocess
import sys
import tempfile

BUILD = os.environ.get("RTC_BUILD") or os.path.join(os.path.dirname(__file__), "../../build")
PROGRAM = os.path.join(BUILD, "tests/leaks/threads")
WAYS = ["return", "worker", "exit_now"]
TWINS = ["clean", "leak"]
PROGRAMS_MIN = 20
BYTES = 4713  # of the block that is lost: threads.h
ROUNDS = 10


def run(name, twin, way):
    """The blocks reported as lost, definitely or possibly, and the errors of the run itself."""
    with tempfile.TemporaryDirectory(prefix="threads-") as folder:
        out = os.path.join(folder, "report.json")
        done = subprocess.run([BUILD + "/bin/rtcheck", "-q", "--json", out, "--leak-check=full",
                               PROGRAM, name, twin, way], env=dict(os.environ, XDG_STATE_HOME=folder),
                              cwd=folder, capture_output=True, text=True, timeout=100, check=False)
        with open(out) as f:
            report = json.load(f)
    wrong = [f"{p['pid']}: leaks {p['leak_check']}, {p['threads_unheard']} threads unheard"
             for p in report["processes"] if p["leak_check"] != "found" or p["threads_unheard"]]
    if done.returncode:
        wrong.append(f"status {done.returncode}: {done.stderr[-300:]}")
    return [l for l in report["leaks"] if l["rtc"] != "biu"], wrong


def judge(name, twin, way):
    leaks, wrong = run(name, twin, way)
    reported = [(l["class"], l["blocks"], l["bytes"]) for l in leaks]
    if reported != ([("definite", 1, BYTES)] if twin == "leak" else []):
        wrong.append("; ".join(f"{l['class']} {l['blocks']} blocks, {l['bytes']} bytes: "
                               f"{l['witness']['where']}" for l in leaks) or "nothing is lost")
    return [f"{name}, {twin}, {way}: {w}" for w in wrong]


def cells(names, full):
    ways = itertools.cycle(WAYS)
    for name, twin in itertools.product(names, TWINS):
        for way in WAYS * ROUNDS if full else [next(ways)]:
            yield name, twin, way


def main():
    wanted = [a for a in sys.argv[1:] if a != "--full"]
    full = "--full" in sys.argv
    names = subprocess.check_output([PROGRAM, "--list"], text=True).split()
    if len(names) < PROGRAMS_MIN:
        sys.exit(f"{len(names)} programs, {PROGRAMS_MIN} are wanted")
    todo = list(cells([n for n in names if not wanted or n in wanted], full))
    at_once = 3 * os.cpu_count() if full else 1
    with concurrent.futures.ThreadPoolExecutor(at_once) as several:
        complaints = list(itertools.chain(*several.map(lambda cell: judge(*cell), todo)))
    print("\n".join(complaints + [f"{len(todo)} runs of {len(names)} programs, {len(complaints)} wrong"]))
    return bool(complaints) or not todo


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# rtc-test: leaks/midway ci 120
# rtc-test: leaks/midway-full full 600 --full
"""Programs that check for leaks while they run (midway.c): the result of each check; its report is written
before the next line of the program, under the launcher and by hand; threads continue, and blocks that they
hold are not reported as lost; and the new leaks in the report at the end."""
import collections
import json
import os
import re
import subprocess
import sys

from judges import main

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/leaks/midway"
NONE = "0/0 (0/0) 0/0 0/0"

# Lines of the program and of the reports, in order: the first line of a report, and of its tables the rows
# as ("mel", total size, blocks, new, innermost function).
Case = collections.namedtuple("Case", "lines ending plain")
CASES = {
    "counts": Case([
        "nothing 0: " + NONE,
        "one of each 2: 1/2001 (1/2001) 1/2002 1/2003",
        "quiet again 2: 1/2001 (1/2001) 1/2002 0/0",
        "no result 2",
        "mark 1",
        "since the mark 1: 2/4005 (1/2004) 1/2002 0/0",
        "check 6: leaked 6007 B in 3 blocks (1 new)",
        ("mel", "2001 B", 2, 0, "lose_chain"), ("mel", "2004 B", 1, 1, "lose"),
        "told 3: 2/4005 (1/2004) 1/2002 0/0",
        "check 7, what is new: leaked 2005 B in 1 block (1 new)",
        ("mel", "2005 B", 1, 1, "lose"),
        "since it was told 1: 3/6010 (1/2005) 1/2002 0/0",
        "nothing new 0: 3/6010 (0/0) 1/2002 0/0",
        "check 9: leaked 8012 B in 4 blocks (0 new)",
        ("mel", "2001 B", 2, 0, "lose_chain"), ("mel", "2005 B", 1, 0, "lose"), ("mel", "2004 B", 1, 0, "lose"),
        "other names 1"], {2001: 0, 2002: 0, 2004: 0, 2005: 0}, True),
    "own": Case(["registers 0: " + NONE], {}, True),
    "marks": Case(["marks 254", "the last stays 1: 1/2021 (1/2021) 0/0 0/0"], {2021: 1}, True),
    "silent": Case(["nothing 0: " + NONE, "other names 0"], {}, True),
    "threads": Case(["lost 0", "refused 0"], {}, False),
    "together": Case(["children 10"], {2101: 10}, False),
    "child": Case([
        "check 1: leaked 2112 B in 1 block", ("mel", "2112 B", 1, None, "lose"), "child 1: 1/2112 (1/2112) 0/0 0/0",
        "check 1: leaked 2111 B in 1 block", ("mel", "2111 B", 1, None, "lose"),
        "parent 1: 1/2111 (1/2111) 0/0 0/0"], {2111: 0, 2112: 0}, True),
    "waiting": Case([
        "check 1: possibly leaked 2121 B in 1 block; 1 thread was not stopped in a system call",
        ("air", "2121 B", 1, None, "lose"), "poll 0: 0/0 (0/0) 0/0 1/2121", "read 0: 0/0 (0/0) 0/0 1/2121",
        "sem_wait 1: 1/2121 (0/0) 0/0 0/0", "nobody waits 1: 1/2121 (0/0) 0/0 0/0",
        "poll went on 1", "read went on 1", "sem_wait went on 1"], {2121: 0}, False),
    "left": Case(["of another thread 0"], {}, False),
}
ROW = re.compile(r"^ +(?:\d+ B +)?(\d+ B) +(\d+) +(?:(\d+) +)?([a-z_]\w*) .* (mel|aib|air)-[0-9a-f.]+$")


def run(words, folder, **env):
    env = dict(os.environ, XDG_STATE_HOME=folder, **env)
    return subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, check=False, env=env)


def lines_of(text):
    """The lines before the report at the end, without values that change."""
    for line in text.splitlines():
        row = ROW.match(line)
        if re.match(r"rtcheck: \d+ problem|in use  ", line):
            return
        if row:
            yield (row[5], row[1], int(row[2]), None if row[3] is None else int(row[3]), row[4])
        elif line.startswith("rtcheck: leak "):
            yield re.sub(r"^rtcheck: leak (check \d+) of midway \(\d+\)", r"\1", line)
        elif line and not line.startswith(("LEAKS", "POSSIBLE LEAKS", "   ")):
            yield line


def ending(path):
    """Sizes of lost blocks, and how many of them the report at the end calls new."""
    with open(path) as f:
        report = json.load(f)
    counts = collections.Counter()
    for leak in report["leaks"]:
        if leak["rtc"] == "mel":
            counts[leak["first"]["size"]] += leak["new"]["blocks"]
    return dict(counts)


def judge(name, words, folder):
    case = CASES[name]
    out = os.path.join(folder, "report.json")
    if case.plain:
        plain = run(words, folder)
        if plain.returncode or [l for l in plain.stdout.splitlines() if not re.match(r".* (0|-1)(: %s)?$" % re.escape(NONE), l)]:
            yield "without a checker: %s" % plain
    ways = {"launcher": run([BUILD + "/bin/rtcheck", "-q", "--json", out + ".launcher", *words], folder),
            "by hand": run(words, folder, LD_PRELOAD=BUILD + "/lib/librtcheck.so",
                           RTCHECK_OPTIONS="quiet:json='%s.by hand'" % out)}
    for way, done in ways.items():
        printed = list(lines_of(done.stdout))
        if done.returncode or printed != case.lines:
            yield "%s: status %d, said\n%s\ninstead of\n%s\n%s" % (way, done.returncode, printed, case.lines, done.stdout)
        elif ending(out + "." + way) != case.ending:
            yield "%s: at the end %s, not %s" % (way, ending(out + "." + way), case.ending)


def judge_many(folder):
    """Checks that were reported leave no records in the file."""
    bytes_of = {}
    for count in "2", "40":
        out = os.path.join(folder, "many.json")
        done = run([BUILD + "/bin/rtcheck", "-q", "--json", out, PROGRAM, "many", count], folder)
        if done.stdout != "sum 0\n":
            yield "said %s" % done.stdout
        with open(out) as f:
            report = json.load(f)
        bytes_of[count] = report["cost"]["self"]["metadata_bytes"]
        if report["processes"][0]["leak_checks"] != int(count):
            yield "%d checks" % report["processes"][0]["leak_checks"]
    if bytes_of["2"] != bytes_of["40"]:
        yield "bytes of records by the number of checks: %s" % bytes_of


def complaints(folder):
    full = sys.argv[1:2] == ["--full"]
    for name in ["threads", "together"] * 3 if full else sys.argv[1:] or CASES:
        for what in judge(name, [PROGRAM, name] + ["100"] * full, folder):
            yield "%s: %s" % (name, what)
    if not sys.argv[1:]:
        for what in judge_many(folder):
            yield "many: %s" % what


if __name__ == "__main__":
    main("midway", complaints)

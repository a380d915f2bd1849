#!/usr/bin/env python3
# rtc-test: leaks/record ci 120
"""Client blocks of custom allocators (record.c, record_cxx.cc), in an arena of malloc's (large, or a slot of a
slab), of mapped memory, of a file, of static data: each call returns the expected result, with a checker and
without one; exactly the blocks that are lost, in use or wrongly freed are reported; also after SIGKILL."""
import collections
import glob
import json
import os

from judges import answers, main, run

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/leaks/record"
CXX = BUILD + "/tests/leaks/record_cxx"
ARENAS = {"heap": 1 << 20, "slab": 32700, "mmap": 0, "shared": 0, "data": 0}
HEAP = {"heap", "slab"}

Case = collections.namedtuple("Case", "arenas answers mel aib biu errors")
CASES = {
    "twins": Case(ARENAS, {"ignore": 1, "free": 1, "grow": 1, "begin": 1, "move": 1, "check": 11, "possible": 1},
                  [2002, 2004, 2005, 2006, 2007, 2012, 2013, 2014, 2102, 2106, 2107], [2003],
                  [0, 2001, 2008, 2009, 2016, 2101, 2109, 2110, 2115], []),
    "answers": Case(["slab", "mmap"], {"inside": 2, "start": 1, "bytes": 2201, "behind": 0, "heap": 1, "heap bytes": 2202,
                             "nothing": 0, "again": 0, "overlap": 0, "within": 0, "beside": 1, "null": 0, "out": 0,
                             "free": 1, "freed": 0, "free null": 0, "anew": 1, "reset": 2, "reset again": 0},
                    [], [], [], []),
    "wrong": Case(["heap", "mmap", "data"], {}, [], [], [2301, 2303],
                  ["baf rtc_record_free", "baf rtc_record_free", "duf rtc_record_free", "duf rtc_record_realloc",
                   "maf rtc_record_free", "maf rtc_record_free"]),
    "hidden": Case(["heap", "slab", "mmap"], {"hide": 1, "hide nothing": 0, "show another": 0}, [2401, 2501], [], [], []),
    "shown": Case(["heap", "data"], {"show": 1, "show again": 0}, [], [], [2402, 2502], []),
    "ended": Case(["heap", "slab", "mmap", "data"], {"reset": 6, "gone": 0, "late": 1, "later": 1}, [], [], [2502, 2602], []),
    "unmapped": Case(["mmap", "shared"], {"gone": 0}, [], [], [], []),
    "threads": Case(["mmap"], {"left": 160}, [2801], [], [], []),
    "alone": Case(["data"], {}, [2901], [], [], []),
    "child": Case(["slab", "mmap"], {"child free": 1, "child again": 0, "free": 1}, [2602, 2603, 2604], [], [],
                  ["duf rtc_record_free"]),
}
CXX_CASE = Case([], {"check": 2, "bytes": 2803, "realloc": 1, "free": 2, "reset": 1, "show": 2}, [2801], [], [2080], [])


def load(path):
    with open(path) as f:
        return json.load(f)


def is_of_arena(size):
    return size == 0 or 2000 <= size < 3000


def reported(report):
    leaks = {code: sorted(l["first"]["size"] for l in report["leaks"]
                          if l["rtc"] == code and is_of_arena(l["first"]["size"]))
             for code in ("mel", "aib", "biu")}
    return leaks["mel"], leaks["aib"], leaks["biu"], sorted(e["rtc"] + " " + e["entry"] for e in report["errors"])


def places(report):
    """The files of errors and leaks: never the header of the API."""
    return {f.get("file", "") for f in report["frames"]}


def judge(name, case, arena, words, folder):
    out = os.path.join(folder, "report.json")
    skip = [] if name != "ended" else ["reset"] if arena in HEAP else ["late", "later"]
    want = {k: v for k, v in case.answers.items() if k not in skip}
    plain = run(words, folder) if arena in ("mmap", "") else None
    if plain and (plain.returncode or set(answers(plain).values()) - {0, -1}):
        yield "without a checker: %s" % plain
    ways = {"launcher": run([BUILD + "/bin/rtcheck", "-q", "--show-leak-kinds=all", "--json", out, *words], folder)}
    report = {"launcher": load(out)}
    if arena == "slab":
        ways["hand"] = run(words, folder, LD_PRELOAD=BUILD + "/lib/librtcheck.so",
                           RTCHECK_OPTIONS="show-leak-kinds=all:json=%s" % out)
        report["hand"] = load(out)
    for way, done in ways.items():
        if done.returncode or answers(done) != want:
            yield "%s: answers %s, status %d: %s" % (way, answers(done), done.returncode, done.stderr)
        if reported(report[way]) != (case.mel, case.aib, case.biu, case.errors):
            yield "%s: told of %s" % (way, reported(report[way]))
        if any("check.h" in p for p in places(report[way])):
            yield "%s: something is in check.h" % way
        if name == "ended" and any(r["bytes"] and r["bytes"] % 2501 == 0 for r in report[way]["records"]):
            yield "%s: what ended is in use: %s" % (way, report[way]["records"])
        arenas = [l["bytes"] for l in report[way]["leaks"] if ARENAS.get(arena) and l["bytes"] == ARENAS[arena]]
        if len(arenas) != (arena in HEAP and name not in ("hidden", "unmapped")):
            yield "%s: arenas told of: %s" % (way, arenas)


def judge_killed(folder):
    """Blocks in use are known; with a witness also the lost ones."""
    for arena in "heap", "mmap":
        out, words = os.path.join(folder, "killed.json"), [PROGRAM, "killed", arena]
        run([BUILD + "/bin/rtcheck", "-q", "--json", out, *words], folder)
        yield arena, "launcher", load(out)["records"], [2702]
        run(words, folder, LD_PRELOAD=BUILD + "/lib/librtcheck.so", RTCHECK_POOL_DIR=folder)
        [pool] = glob.glob(folder + "/rtcheck.record.*.pool")
        run([BUILD + "/bin/rtcheck", "report", "--json=" + out, pool], folder)
        os.unlink(pool)
        yield arena, "hand", load(out)["records"], [2702]
        run([BUILD + "/bin/rtcheck", "-q", "--witness", "--json", out, *words], folder)
        yield arena, "witness", load(out)["leaks"], [2702]
    run([BUILD + "/bin/rtcheck", "-q", "--json", out, PROGRAM, "killed_both", "mmap"], folder)
    yield "mmap", "both", load(out)["records"], [2703, 2704]


def complaints(folder):
    todo = [(name, case, arena, [PROGRAM, name, arena]) for name, case in CASES.items() for arena in case.arenas]
    for name, case, arena, words in todo + [("cxx", CXX_CASE, "", [CXX])]:
        for what in judge(name, case, arena, words, folder):
            yield "%s %s: %s" % (name, arena, what)
    for arena, way, found, want in judge_killed(folder):
        if sorted(r["bytes"] for r in found if is_of_arena(r["bytes"])) != want:
            yield "killed %s, %s: %s" % (arena, way, found)


if __name__ == "__main__":
    main("record", complaints)

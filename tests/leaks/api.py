#!/usr/bin/env python3
# rtc-test: leaks/api ci 120
"""Programs that use the checker's interface (api.c, api_cxx.cc): each call returns the expected result, with
a checker and without one, and of the lost blocks those are reported that the program did not mark as ignored
- under the launcher and by hand."""
import collections
import json
import os
import sys

from judges import answers, main, run

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/leaks/api"
CXX = BUILD + "/tests/leaks/api_cxx"

# The sizes of blocks reported as lost, and the results; without a checker all of them are 0.
Case = collections.namedtuple("Case", "words lost answers")
CASES = {
    "disable": Case([PROGRAM, "disable"], [1003, 1011, 1011],
                    {"enable too many": 1, "disable": 1, "enable": 1}),
    "ignore": Case([PROGRAM, "ignore"], [1108],
                   {"ignore inside": 1, "ignore": 1, "ignore the end": 0, "ignore freed": 0, "ignore data": 0,
                    "ignore nothing": 0, "ignore large": 1}),
    "region": Case([PROGRAM, "region"], [1202, 1203],
                   {"add": 1, "add no bytes": 0, "add too many": 0, "remove another": 0, "remove": 1,
                    "remove again": 0}),
    "cut": Case([PROGRAM, "cut"], [], {"add": 1}),
    "child": Case([PROGRAM, "child"], [1224, 1226], {}),
    "lsan": Case([PROGRAM, "lsan"], [1303, 1305], {"names": 1}),
    "cxx": Case([CXX], [1403], {"disable": 1}),
}


def lost(path):
    with open(path) as f:
        report = json.load(f)
    bad = [p["leak_check"] for p in report["processes"] if p["leak_check"] != "found"]
    return sorted(l["first"]["size"] for l in report["leaks"] if l["rtc"] == "mel" for _ in range(l["blocks"])) + bad


def judge(name, folder):
    case = CASES[name]
    out = os.path.join(folder, "report.json")
    plain = run(case.words, folder)
    if plain.returncode or answers(plain) != {what: 0 for what in case.answers}:
        yield "without a checker: %s" % plain
    ways = {"launcher": run([BUILD + "/bin/rtcheck", "-q", "--json", out + ".launcher", *case.words], folder),
            "by-hand": run(case.words, folder, LD_PRELOAD=BUILD + "/lib/librtcheck.so",
                           RTCHECK_OPTIONS="json=%s.by-hand" % out)}
    for way, done in ways.items():
        if done.returncode or answers(done) != case.answers:
            yield "%s: answers %s, status %d: %s" % (way, answers(done), done.returncode, done.stderr)
        reported = lost(out + "." + way)
        if reported != sorted(case.lost):
            yield "%s: told of %s, not of %s" % (way, reported, sorted(case.lost))


def complaints(folder):
    for name in sys.argv[1:] or CASES:
        for what in judge(name, folder):
            yield "%s: %s" % (name, what)


if __name__ == "__main__":
    main("api", complaints)

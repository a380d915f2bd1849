#!/usr/bin/env python3
# rtc-test: leaks/lsan ci 60
"""Programs built for another checker (lsan.c): the check that they make is the one at the end, and ends them
as that checker would; what their own functions ask for is done, or said not to be known; and where a sanitizer's
runtime is there, too (sanitizer.c), it gets the calls."""
import collections
import json
import os
import subprocess
import sys
import tempfile

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/leaks/lsan"

Case = collections.namedtuple("Case", "what options env status said lost note")
AFTER = ["after", "again", "exit"]
CASES = [
    Case("leak", "", {}, 23, [], [3001], None),
    Case("leak", "error-exitcode=7", {}, 7, [], [3001], None),
    Case("leak", "", {"LSAN_TEST_OPTIONS": "verbosity=0:exitcode=9"}, 9, [], [3001],
         "__lsan_default_options: not known here: verbosity=0"),
    Case("leak", "", {"LSAN_TEST_OPTIONS": "exitcode=0"}, 3, AFTER, [3001], None),
    Case("leak", "", {"LSAN_TEST_OPTIONS": "detect_leaks=0"}, 3, AFTER, None, None),
    Case("leak", "", {"LSAN_TEST_OFF": "1"}, 3, AFTER, None, None),
    Case("clean", "", {}, 3, AFTER, [3003], None),
    Case("recoverable", "", {}, 23, ["1", "after"], [3001, 3002], None),
    Case("recoverable", "", {"LSAN_TEST_OPTIONS": "leak_check_at_exit=0"}, 23, ["1", "after"], [3001, 3002], None),
    Case("midway", "", {"LSAN_TEST_OPTIONS": "leak_check_at_exit=0"}, 0, ["1", "exit"], None, None),
    Case("recoverable", "", {"LSAN_TEST_OFF": "1"}, 3, ["0"] + AFTER, None, None),
    Case("leak", "", {"LSAN_TEST_OPTIONS": " a='b:c' exitcode=x , detect_leaks=1"}, 23, [], [3001],
         "__lsan_default_options: not known here: exitcode=x"),
]


def run(words, folder, **env):
    env = dict(os.environ, XDG_STATE_HOME=folder, **env)
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False, env=env)


def judge(case, folder):
    for way in "launcher", "hand":
        out = os.path.join(folder, way + ".json")
        if way == "launcher":
            options = ["--" + o for o in [case.options] if o]
            done = run([BUILD + "/bin/rtcheck", *options, "--json", out, PROGRAM, case.what], folder, **case.env)
        else:
            done = run([PROGRAM, case.what], folder, LD_PRELOAD=BUILD + "/lib/librtcheck.so",
                       RTCHECK_OPTIONS=":".join(["json='%s'" % out] + [case.options] * bool(case.options)), **case.env)
        said = done.stdout.splitlines()
        if done.returncode != case.status or said != case.said:
            yield "%s: status %d, not %d; said %s\n%s" % (way, done.returncode, case.status, said, done.stderr)
        with open(out) as f:
            report = json.load(f)
        lost = sorted(l["first"]["size"] for l in report["leaks"] if l["rtc"] == "mel")
        if lost != (case.lost or []):
            yield "%s: told of %s" % (way, lost)
        if case.lost is None and {p["leak_check"] for p in report["processes"]} != {"not_asked"}:
            yield "%s: looked for leaks" % way
        if case.note and case.note not in done.stderr:
            yield "%s: does not say %s: %s" % (way, case.note, done.stderr)
        if not case.note and "not known here" in done.stderr:
            yield "%s: says %s" % (way, done.stderr)


def judge_sanitizer(folder):
    both = "%s/lib/librtcheck.so:%s/tests/leaks/sanitizer.so" % (BUILD, BUILD)
    done = run([PROGRAM, "all"], folder, LD_PRELOAD=both)
    if done.stdout.splitlines() != ["its disable", "its check", "after", "its check", "again", "exit"]:
        yield "beside a sanitizer: %s" % done
    done = run([PROGRAM, "recoverable"], folder, LD_PRELOAD=both)
    if done.stdout.splitlines()[0] != "42":
        yield "beside a sanitizer: %s" % done


def main():
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="lsan-") as folder:
        for what in [w for case in CASES for w in judge(case, folder)] + list(judge_sanitizer(folder)):
            wrong += 1
            print(what)
    print("%d wrong" % wrong)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# rtc-test: leaks/choices ci 60
"""Options about leaks that act in the program: is there a leak check, and which pointers hold a block
(choices.c).  A kept file has all findings of its run, for any options of the text."""
import json
import os
import subprocess
import sys
import tempfile

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/leaks/choices"
ARRAY, LOST = ("aib", 308), ("mel", 77)

# The options, and the findings: None = no leak check.
WHAT = [
    ([], [LOST]),
    (["--strict-interior"], [ARRAY, LOST]),
    (["--leak-check=no"], None),
    (["--rtc-mel-at-exit=off", "--leak-check=full"], None),
    (["--rtc-mel-at-exit=off", "--rtc-mel-at-exit=verbose"], [LOST]),
    (["--leaks=no"], None),
    (["--leak-check=summary"], [LOST]),
]


def run(folder, words, env=()):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False,
                          env=dict(os.environ, XDG_STATE_HOME=folder, **dict(env)))
    return done.returncode, done.stdout + done.stderr


def found(folder):
    with open(os.path.join(folder, "report.json")) as f:
        report = json.load(f)
    if report["processes"][0]["leak_check"] == "not_asked":
        return None if not report["leaks"] and "leaks" not in report["cost"] else "leaks that nobody looked for"
    return sorted((l["rtc"], l["bytes"]) for l in report["leaks"])


def expect(what, got, want):
    if got == want:
        return 0
    print("%s: %s; not: %s" % (what, got, want))
    return 1


def by_launcher(folder):
    wrong = 0
    for words, want in WHAT:
        status, text = run(folder, [BUILD + "/bin/rtcheck", "--keep", "--json=report.json", *words, PROGRAM])
        wrong += expect(words, found(folder), want)
        wrong += expect(words, status, 0)
        wrong += expect(words, "leaked" in text, want is not None)
        _, again = run(folder, [BUILD + "/bin/rtcheck", "report"])
        wrong += expect(words + ["kept"], "leaked 77 B" in again, want is not None)
        _, again = run(folder, [BUILD + "/bin/rtcheck", "report", "--leak-check=no"])
        wrong += expect(words + ["kept, not told"], "leak" in again, False)
    return wrong


def by_hand(folder):
    wrong = 0
    for words, want in WHAT:
        options = ":".join(w[2:] for w in words)
        run(folder, [PROGRAM], {"LD_PRELOAD": BUILD + "/lib/librtcheck.so", "RTCHECK_POOL_DIR": folder,
                                "RTCHECK_OPTIONS": "json=report.json:" + options})
        wrong += expect(["by hand"] + words, found(folder), want)
    return wrong


def main():
    with tempfile.TemporaryDirectory(prefix="choices-") as folder:
        wrong = by_launcher(folder) + by_hand(folder)
    print("%d choices, %d wrong" % (len(WHAT), wrong))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

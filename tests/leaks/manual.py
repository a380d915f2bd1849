#!/usr/bin/env python3
# rtc-test: leaks/manual ci 60
"""The leaks in a debugger's manual (manual.c): a pointer moved on, one forgotten, one whose scope was left,
getcwd's block; and the number of records for three leaks if only the first frames of stacks are compared."""
import os
import re
import subprocess
import sys
import tempfile

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/leaks/manual"
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "manual.c")


def lines(folder, *words):
    """The rows of the tables of leaks: (code, bytes, blocks, stack)."""
    done = subprocess.run([BUILD + "/bin/rtcheck", *words], capture_output=True, text=True, cwd=folder,
                          env=dict(os.environ, XDG_STATE_HOME=folder, COLUMNS="1000"), timeout=60, check=True)
    rows = re.findall(r"^ +(\d+ B) +(\d+)  (\w.*?) +(mel|aib|air)-[0-9a-f.]+$", done.stderr, re.M)
    return [(code, size, count, stack) for size, count, stack, code in rows]


def short(rows):
    """With function names alone."""
    return sorted((code, size, count, [w.split()[0] for w in stack.split(" < ")]) for code, size, count, stack in rows)


def expect(what, got, want):
    if got == sorted(want):
        return 0
    print("%s: %s; not: %s" % (what, got, sorted(want)))
    return 1


def scopes(folder):
    """For each compiler and level: a block held by a register only; a freed one is not reported."""
    wrong = 0
    for compiler in ("gcc", "clang"):
        for level in ("-O0", "-O2"):
            program = os.path.join(folder, compiler + level)
            subprocess.check_call([compiler, level, "-g", "-fno-optimize-sibling-calls", SOURCE, "-o", program])
            what = "%s %s: scope left" % (compiler, level)
            wrong += expect(what, short(lines(folder, program, "scope")),
                            [("air", "9 B", "1", ["leave_scope", "main"])])
            wrong += expect(what + ", freed", short(lines(folder, program, "freed")), [])
    return wrong


def main():
    wrong = 0
    get_some = ["get", "get_some"]
    third = ("mel", "32 B", "1", ["get", "third", "main"])
    with tempfile.TemporaryDirectory(prefix="manual-") as folder:
        size = "%d B" % (len(os.path.realpath(folder)) + 1)
        rows = short(lines(folder, "--", PROGRAM))
        getcwd = [r for r in rows if "where" in r[3]]
        rows = [r for r in rows if "where" not in r[3]]
        wrong += expect("moved on and forgotten", rows, [("aib", "5 B", "1", ["advance", "main"]),
                                                        ("mel", "7 B", "1", ["forget", "main"])])
        if [(r[:3]) for r in getcwd] != [("mel", size, "1")]:
            print("getcwd: %s; not %s" % (getcwd, size))
            wrong += 1
        wrong += scopes(folder)
        wrong += expect("whole stacks", short(lines(folder, PROGRAM, "match")),
                        [("mel", "16 B", "1", get_some + ["first", "main"]),
                         ("mel", "16 B", "1", get_some + ["second", "main"]), third])
        merged = [(r[1:3], r[3][:2]) for r in short(lines(folder, "--match=2", PROGRAM, "match"))]
        wrong += expect("two frames", merged, [(("32 B", "2"), get_some), (third[1:3], third[3][:2])])
        wrong += expect("three frames", [r[1] for r in short(lines(folder, "--match=3", PROGRAM, "match"))],
                        ["16 B", "16 B", "32 B"])
        one = [r[1:3] for r in short(lines(folder, "--match=1", PROGRAM, "match"))]
        wrong += expect("one frame", one, [("64 B", "3")])
    print("%d wrong" % wrong)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

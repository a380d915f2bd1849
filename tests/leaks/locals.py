#!/usr/bin/env python3
# rtc-test: leaks/locals ci 60
# rtc-test: leaks/locals-full full 300 --full
"""usage: tests/leaks/locals.py [--full]

Builds locals.c and checks the reported holders of its blocks: local variables and parameters, members and
elements of them, in nested blocks and inlined functions, by their names and the lines of their declarations.

Without --full each compiler, level, version of debugging information and way to keep it occurs, with --full
all of them together.
"""
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("RTC_BUILD", os.path.join(HERE, "../../build"))
SOURCE = os.path.join(HERE, "locals.c")

# size: kind, name, function; None: no variable, only the function is expected.
WANTED = {
    101: ("local variable", "context.inner[1].next[3]", "member"),
    102: ("local variable", "after", "blocks"),
    103: ("parameter", "given", "parameter"),
    104: ("local variable", "of_inner", "inner"),
    105: ("local variable", "beside", "growing"),
    106: (None, None, "nameless"),
    107: ("local variable", "pair", "pointed_at"),
    108: ("parameter", "seventh", "many"),
    109: ("local variable", "far[9]", "aligned"),
    110: ("thread-local variable", "of_thread.inner[0].next[2]", None),
    111: ("thread-local variable", "last.inner[1].next[3]", None),
    112: ("thread-local variable", "of_thread.inner[1].next[0]", None),
    113: (None, None, None),
}

FEW = [("gcc", "O0", 5, "inside"), ("gcc", "O2", 4, "apart"), ("clang", "O0", 4, "inside"),
       ("clang", "O2", 5, "apart"), ("gcc", "O2", 5, "none")]
ALL = list(itertools.product(("gcc", "clang"), ("O0", "O1", "O2"), (4, 5), ("inside", "apart", "none")))


def declared(name):
    """The lines where a variable of this name may be declared."""
    word = re.escape(re.split(r"[.\[]", name)[0])
    with open(SOURCE) as f:
        return [n for n, line in enumerate(f, 1)
                if re.search(r"\b%s(\[[0-9]+\])?( = .*)?[;)]|\} %s;" % (word, word), line) and "put(" not in line]


def build(compiler, level, version, where, folder):
    program = os.path.join(folder, "locals-%s-%s-%d-%s" % (compiler, level, version, where))
    library = program + ".so"
    subprocess.check_call([compiler, "-" + level, "-shared", "-fPIC",
                           os.path.join(HERE, "locals_library.c"), "-o", library])
    subprocess.check_call([compiler, "-" + level, "-gdwarf-%d" % version, "-pthread", "-fno-optimize-sibling-calls",
                           SOURCE, library, "-o", program])
    if where == "apart":
        subprocess.check_call(["objcopy", "--only-keep-debug", program, program + ".debug"])
        subprocess.check_call(["objcopy", "--strip-debug", "--add-gnu-debuglink=" + program + ".debug", program])
    elif where == "none":
        subprocess.check_call(["objcopy", "--strip-debug", program])
    return program


def leaks_of(program, folder):
    out = os.path.join(folder, "report.json")
    subprocess.run([BUILD + "/bin/rtcheck", "-q", "--json", out, "--show-leak-kinds=all", program],
                   env=dict(os.environ, XDG_STATE_HOME=folder), cwd=folder, check=True, timeout=60,
                   stdout=subprocess.DEVNULL)
    with open(out) as f:
        return {leak["first"]["size"]: leak for leak in json.load(f)["leaks"]}


def expected_of_thread(size, where):
    name = WANTED[size][1]
    number = "main" if size in (110, 111) else "2"
    if not name:
        return r"^a pointer to its start in thread-local storage of thread 2$"
    if where == "none": # the variable is unknown, but the thread may be known
        return r"^a pointer to its start in (thread-local storage of thread 2|memory mapped by the program at \S+)$"
    return r"^a pointer to its start in thread-local variable `%s' \(locals\.c:(%s)\), %s$" % (
        re.escape(name), "|".join(map(str, declared(name))), "main thread" if number == "main" else "thread %s" % number)


def expected(size, level, where):
    kind, name, function = WANTED[size]
    if not function:
        return expected_of_thread(size, where)
    around = {104: "outer", 108: "(go_on|many)"}.get(size, function) # the seventh argument lies in the caller's frame
    place = r"on the stack of the main thread, in %s(\.constprop\.0)?" % around
    offset = r", \d+ bytes above its stack pointer"
    if where == "none":
        return r"^a pointer to its start %s$" % (place + offset)
    place += r" \(locals\.c:\d+\)" + offset
    lines = "|".join(map(str, declared(name))) if name else ""
    variable = r"in %s `%s' of %s \(locals\.c:(%s)\), main thread" % (kind, re.escape(name or ""), function, lines)
    if not kind:
        return r"^a pointer to its start %s$" % place
    if size == 108 or level == "O1":
        return r"^a pointer to its start (%s|%s)$" % (variable, place)
    return r"^a pointer to its start %s$" % variable


def main():
    wrong = asked = 0
    with tempfile.TemporaryDirectory(prefix="locals-") as folder:
        for row in ALL if "--full" in sys.argv else FEW:
            leaks = leaks_of(build(*row, folder), folder)
            for size in WANTED:
                got = leaks[size]["witness"]["where"] if size in leaks else "no finding"
                asked += 1
                want = expected(size, row[1], row[3])
                if not re.search(want, got):
                    wrong += 1
                    print("%s, block of %d bytes: %s; not: %s" % (" ".join(map(str, row)), size, got, want))
    print("%d asked, %d wrong" % (asked, wrong))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

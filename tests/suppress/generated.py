#!/usr/bin/env python3
# rtc-test: suppress/generated ci 180
"""Rules that rtcheck generates for its findings: each matches its own finding and no other, here and in
valgrind, which aborts at an invalid rule; for C, C++ with inlined functions, and stripped programs."""
import json
import os
import re
import shutil
import subprocess
import sys

from checks import must, write

BUILD = os.environ["RTC_BUILD"]
RTCHECK = BUILD + "/bin/rtcheck"
THREE = BUILD + "/tests/suppress/three"
PLUS = BUILD + "/tests/suppress/plus"
ACCESSES = BUILD + "/tests/suppress/accesses"
ALLOCATORS = BUILD + "/tests/suppress/allocators"
LOST = re.compile(r"(\d+) (?:\(\d+ direct, \d+ indirect\) )?bytes in \d+ blocks are (?:definitely|possibly) lost")


def rtcheck(program, *words):
    """(ids of the reported findings, the output)."""
    env = dict(os.environ, XDG_STATE_HOME=os.getcwd())
    done = subprocess.run([RTCHECK, "--json=out.json", "--show-leak-kinds=definite,indirect,possible",
                           "--default-suppressions=no", *words, program],
                          capture_output=True, text=True, env=env, timeout=60)
    with open("out.json") as f:
        report = json.load(f)
    return {x["id"] for x in report["errors"] + report["leaks"] if x["status"] == "new"}, done.stderr


def valgrind(program, *words):
    """The output of valgrind: empty if all is suppressed."""
    done = subprocess.run(["valgrind", "-q", "--leak-check=full", "--show-leak-kinds=definite,indirect,possible", *words,
                           program], capture_output=True, text=True, timeout=120)
    must("FATAL" not in done.stderr, done.stderr)
    return done.stderr


def entries(text):
    return {e.split()[1]: e for e in re.findall(r"^\{\n.*?^\}\n", text, re.M | re.S)}


def third_frame():
    """The rule of `left` does not match the leak of `right`, and vice versa."""
    ids, printed = rtcheck(THREE, "--gen-suppressions=all")
    rules = entries(printed)
    must(set(rules) == ids, "rules of", set(rules), "findings are", ids)
    for function, bytes_, other in (("left", 10, 40), ("right", 40, 10)):
        id_ = [i for i, e in rules.items() if "fun:%s\n" % function in e][0]
        write("one.supp", rules[id_])
        left = rtcheck(THREE, "--suppressions=one.supp")[0]
        must(left == ids - {id_}, function, left)
        lost = [int(n) for n in LOST.findall(valgrind(THREE, "--suppressions=one.supp"))]
        must(bytes_ not in lost and other in lost, function, "valgrind still has", lost)


def all_of(program):
    """With all rules all findings are suppressed."""
    ids, printed = rtcheck(program, "--gen-suppressions=yes")
    rules = entries(printed)
    bodies = {e.split("\n", 2)[2] for e in rules.values()}
    must(len(ids) >= 4 and set(rules) <= ids and len(bodies) == len(rules), program, "rules", rules, "findings are", ids)
    write("all.supp", "".join(rules.values()))
    must(rtcheck(program, "--suppressions=all.supp")[0] == set(), program)
    must(valgrind(program) != "", program, "valgrind finds nothing anyway")
    printed = valgrind(program, "--suppressions=all.supp")
    must(printed == "", program, printed)
    return rules


def inlined():
    rules = "".join(all_of(PLUS).values())
    must("fun:make_box\n" in rules and "fun:*shelf*\n" not in rules and "fun:_ZL8lose_boxv\n" in rules, rules)


def stripped():
    for program in THREE, PLUS:
        name = os.path.basename(program) + "-stripped"
        shutil.copy(program, name)
        subprocess.run(["strip", name], check=True)
        must("obj:*/" + name in "".join(all_of("./" + name).values()), "no object")


def in_valgrinds_words():
    """With --format=valgrind each rule follows its finding."""
    printed = rtcheck(THREE, "--format=valgrind", "--gen-suppressions=all")[1]
    must(re.search(r"definitely lost in loss record(?:.*\n){5,9}\{\n   mel-", printed), printed)


# Functions of allocators.cc: the innermost frames in --format=valgrind, and the first locations of the rule.
BY = {
    "by_malloc": (["malloc"], ["fun:malloc"]),
    "by_calloc": (["calloc"], ["fun:calloc"]),
    "by_realloc": (["realloc"], ["fun:*alloc"]),
    "by_realloc_of_null": (["realloc"], ["fun:*alloc"]),
    "by_reallocarray": (["reallocarray"], ["fun:*alloc*"]),
    "by_memalign": (["memalign"], ["fun:memalign"]),
    "by_aligned_alloc": (["aligned_alloc"], ["fun:*align*"]),
    "by_posix_memalign": (["posix_memalign"], ["fun:memalign", "fun:posix_memalign"]),
    "by_valloc": (["valloc"], ["obj:*/vgpreload_memcheck-*.so"]),
    "by_strdup": (["malloc", "strdup"], ["fun:malloc", "fun:*strdup"]),
    "by_strndup": (["malloc", "strndup"], ["fun:malloc", "fun:*strndup"]),
    "by_asprintf": (["malloc", None, "asprintf"], ["fun:malloc", "obj:*/libc.so.6", "fun:*asprintf"]),
    "by_new": (["operator new"], ["fun:_Znwm*"]),
    "by_new_array": (["operator new[]"], ["fun:_Znam*"]),
    "by_new_nothrow": (["operator new"], ["fun:_Znwm*"]),
    "by_new_aligned": (["operator new"], ["fun:_ZnwmSt11align_val_t*"]),
    "by_new_array_aligned": (["operator new[]"], ["fun:_ZnamSt11align_val_t*"]),
    "by_pointer": (["???"], ["obj:*/vgpreload_memcheck-*.so"]),
}
FRAME = re.compile(r"^==\d+==    (at|by) 0x[0-9A-F]+: (.*) \((.*)\)$")


def is_function(printed, expected):
    return expected is None or printed.strip("_") == expected.strip("_")


def allocating_functions():
    """The innermost frame and the first location of each finding are the function that allocated."""
    _, printed = rtcheck(ALLOCATORS, "--format=valgrind", "--gen-suppressions=all")
    seen = set()
    for finding in printed.split(" definitely lost in loss record ")[1:]:
        frames = [FRAME.match(line).groups() for line in finding.splitlines() if FRAME.match(line)]
        functions = [f.split("(")[0] for _, f, _ in frames]
        by = [f for f in functions if f in BY]
        if not by:
            continue # of the C++ library, at its start
        names, locations = BY[by[0]]
        must(len(names) == functions.index(by[0]) and all(map(is_function, functions, names)), by, functions)
        must([at for at, _, _ in frames] == ["at"] + ["by"] * (len(frames) - 1), by, frames)
        must("/librtcheck.so" in frames[0][2], by, frames)
        rule = re.search(r"^\{\n.*\n.*\n.*\n((?:   .*\n)*)\}", finding, re.M).group(1).split()
        must(rule[:len(locations)] == locations and by[0] in rule[len(locations)], by, rule)
        seen.add(by[0])
    must(seen == set(BY), "not reported", set(BY) - seen)


def as_valgrind():
    """Each rule of valgrind hides our finding, and each of ours that of valgrind."""
    ids, printed = rtcheck(ALLOCATORS, "--gen-suppressions=all")
    write("ours.supp", "".join(entries(printed).values()))
    must(valgrind(ALLOCATORS) != "", "valgrind finds nothing anyway")
    must(valgrind(ALLOCATORS, "--suppressions=ours.supp") == "", "left by our rules:",
         valgrind(ALLOCATORS, "--suppressions=ours.supp"))
    text = "".join(re.findall(r"^\{\n.*?^\}\n", valgrind(ALLOCATORS, "--gen-suppressions=all"), re.M | re.S))
    must(text.count("Memcheck:Leak") >= len(BY) and len(ids) >= len(BY), text, ids)
    write("of_valgrind.supp", text)
    left = rtcheck(ALLOCATORS, "--suppressions=of_valgrind.supp")
    must(left[0] == set(), "left by valgrind's rules:", left)


def accesses():
    """Bad reads and writes by calls, and overlaps: our rules hide all, valgrind's those that valgrind finds, dbx's one each."""
    ids, printed = rtcheck(ACCESSES, "--gen-suppressions=all")
    rules = entries(printed)
    must(set(rules) == ids and sorted(i[:3] for i in ids) == ["ovl", "rua", "rua", "rua", "wua"], rules, ids)
    for id_, rule in rules.items():
        write("one.supp", rule)
        must(rtcheck(ACCESSES, "--suppressions=one.supp")[0] == ids - {id_}, "by", rule)
    write("all.supp", "".join(rules.values()))
    valgrind(ACCESSES, "--suppressions=all.supp") # reads them
    of_valgrind = "".join(re.findall(r"^\{\n.*?^\}\n", valgrind(ACCESSES, "--gen-suppressions=all"), re.M | re.S))
    must(len(re.findall("Memcheck:Addr", of_valgrind)) >= 4, of_valgrind)
    write("of_valgrind.supp", of_valgrind)
    left = rtcheck(ACCESSES, "--suppressions=of_valgrind.supp")[0]
    must({i for i in left if not i.startswith("ovl-")} == set(), "left by valgrind's rules", left, of_valgrind)
    write("by_hand.supp", "{\n a\n Memcheck:Addr8\n fun:memcpy*\n fun:reads\n fun:main\n}\n"
                          "{\n b\n Memcheck:Overlap\n ...\n fun:main\n}\nsuppress wua in writes\nsuppress rua in searches\n")
    left = rtcheck(ACCESSES, "--suppressions=by_hand.supp")[0]
    must(len(left) == 1 and left < {i for i in ids if i.startswith("rua-")}, "left by rules of two grammars", left)


def suppress(*words):
    env = dict(os.environ, XDG_STATE_HOME=os.getcwd())
    return subprocess.run([RTCHECK, "suppress", *words], capture_output=True, text=True, env=env, timeout=60)


def add():
    ids, _ = rtcheck(THREE)
    one, two = sorted(i for i in ids if i.startswith("mel-"))[:2]
    if os.path.exists("rtcheck.supp"):
        os.unlink("rtcheck.supp")
    must(suppress("add", one).returncode == 0, "add")
    must(rtcheck(THREE, "--suppressions=rtcheck.supp")[0] == ids - {one}, "added")
    rtcheck(THREE)
    text = open("rtcheck.supp").read()
    done = suppress("add", one)
    must(done.stdout == "rtcheck.supp has a rule for %s\n" % one and open("rtcheck.supp").read() == text, done)
    write("mine.supp", "leak:nothing") # without a newline at its end
    done = suppress("add", two, "--file=mine.supp", "rtcheck/last")
    must(done.returncode == 0, done)
    must(rtcheck(THREE, "--suppressions=mine.supp")[0] == ids - {two}, "added to a file")
    rtcheck(THREE)
    done = suppress("add", "mel-00000000")
    must(done.returncode == 1 and "there is no mel-00000000" in done.stderr, done)
    write("mine.supp", "what is this")
    done = suppress("add", two, "--file=mine.supp")
    must(done.returncode == 125 and "mine.supp:1:1: " in done.stderr, done)
    must(open("mine.supp").read() == "what is this", "changed")
    for words in ((), ("add",), ("take", one), ("add", one, "--fill=x"), ("add", one, "a", "b")):
        done = suppress(*words)
        why = "unknown option '--fill=x'" if "--fill=x" in words else "usage: rtcheck suppress add"
        must(done.returncode == 125 and why in done.stderr, words, done)


def main():
    failed = 0
    for check in (third_frame, lambda: all_of(THREE), inlined, stripped, in_valgrinds_words, allocating_functions,
                  as_valgrind, accesses, add):
        try:
            check()
        except AssertionError as e:
            failed += 1
            print("FAIL %s: %s" % (check.__name__, e))
    print("%d failed" % failed)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# rtc-test: suppress/suppress ci 120
"""Suppressions from the file to the exit status: which findings of three.c are reported, and which are not."""
import json
import os
import subprocess
import sys
import traceback

from checks import must, write

sys.path.insert(0, os.path.join(os.environ["RTC_SOURCE"], "tests/report"))
import validate_json

BUILD = os.environ["RTC_BUILD"]
RTCHECK = BUILD + "/bin/rtcheck"
THREE = BUILD + "/tests/suppress/three"
ALL = {"left", "right", "copy", "advance", "free_twice"}
LEFT = """{
   the first of two
   Memcheck:Leak
   match-leak-kinds: definite
   fun:malloc
   fun:take
   fun:middle
   fun:left
}
"""
checks = []


def check(function):
    checks.append(function)
    return function


def rtcheck(*words, program=(THREE,), **env):
    env = dict(os.environ, XDG_STATE_HOME=os.getcwd(), **env)
    return subprocess.run([RTCHECK, *words, *program], capture_output=True, text=True, env=env, timeout=60)


def where(report, finding):
    """Which of the program's functions it is about."""
    stacks = {s["id"]: s["frames"] for s in report["stacks"]}
    frames = {f["id"]: f.get("function") for f in report["frames"]}
    names = {frames[f] for f in stacks[finding["stack"]]}
    return (names & ALL).pop() if names & ALL else None


def reported(*words, **more):
    """(names of the reported findings, the report, the process)."""
    done = rtcheck("--json=out.json", *words, **more)
    with open("out.json") as f:
        report = json.load(f)
    must(not validate_json.complaints(report), validate_json.complaints(report))
    reported = {where(report, x) for x in report["errors"] + report["leaks"] if x["status"] == "new"}
    return reported, report, done


def rules(text, *words, **more):
    return reported("--suppressions=" + write("x.supp", text), *words, **more)


@check
def without():
    must(reported()[0] == ALL, reported()[0])


@check
def third_frame():
    names, report, done = rules(LEFT)
    must(names == ALL - {"left"}, names)
    must("SUPPRESSED      1 leak of 10 B in 1 block, by 1 rule\n" in done.stderr, done.stderr)
    rule = report["suppressions"][-1]
    must((rule["file"], rule["line"], rule["hits"], rule["bytes"]) == ("x.supp", 1, 1, 10), rule)
    leak = [x for x in report["leaks"] if x["status"] == "suppressed"][0]
    must(report["suppressions"][leak["suppressed_by"]] == rule, leak)
    must(report["summary"]["bytes"]["mel"] == 46, report["summary"])


@check
def below_main():
    """valgrind's name for the caller of main, in the entries that it generates."""
    names, _, _ = rules(LEFT.replace("}", "   ...\n   fun:(below main)\n}"))
    must(names == ALL - {"left"}, names)


@check
def in_formats_of_others():
    """Requested lists, and rules that need review, are also printed in the formats of other programs."""
    write("x.supp", "# expires: 2020-01-01\n" + LEFT)
    for form, before in (("valgrind", "== "), ("lsan", "\n"), ("gcc", "\n")):
        printed = rtcheck("--format=" + form, "--suppressions=x.supp").stderr
        must(before + "                expired on 2020-01-01: x.supp:2 (the first of two)\n" in printed, form, printed)
        write("y.supp", LEFT)
        must("SUPPRESSED " not in rtcheck("--format=" + form, "--suppressions=y.supp").stderr, form)
        printed = rtcheck("--format=" + form, "--suppressions=y.supp", "--print-suppressions").stderr
        must(before + "                1 time, 10 B: y.supp:1 (the first of two)\n" in printed, form, printed)


@check
def addresses_that_are_too_large():
    done = rtcheck("--suppressions=" + write("z.supp", "suppress mel addr 99999999999999999999\n"))
    must(done.returncode == 125 and "z.supp:1:19: an address is expected behind addr" in done.stderr, done.stderr)


@check
def grammars_in_one_file():
    text = LEFT + "leak:copy\n" + "suppress aib in advance\n" + "{\n a\n Memcheck:Free\n fun:free\n fun:free_twice\n}\n"
    names, report, done = rules(text + "suppress mel in take\n", "--error-exitcode=9")
    must(names == set() and done.returncode == 7, names, done.returncode)
    must("4 leaks of 86 B in 5 blocks, 1 error, by 4 rules; 1 rule unused" in done.stderr, done.stderr)
    must([s["line"] for s in report["suppressions"] if s["unused"]] == [1], "the last rule decides")
    names, _, done = rules(text, "--error-exitcode=9")
    must(names == {"right"} and done.returncode == 9, names, done.returncode)


@check
def scopes_of_rtc():
    for text, names in (("suppress mel in take", {"copy", "advance", "free_twice"}),
                        ("suppress mel in middle", ALL),
                        ("suppress mel in libc.so.6", ALL - {"copy"}),
                        ("suppress all in three.c", {"copy"}),
                        ("suppress all in suppress/three.c\nunsuppress duf in free_twice", {"copy", "free_twice"}),
                        ("suppress all\nunsuppress aib in three", {"advance"}),
                        ("suppress mel aib at \"three.c\":%d" % line_of("lost = malloc"), {"copy", "advance", "free_twice"}),
                        ("suppress all at three.c:%d" % line_of("free(again)"), ALL - {"free_twice"})):
        found = rules(text + "\n")[0]
        must(found == names, text, found)


def line_of(text):
    with open(os.path.join(os.environ["RTC_SOURCE"], "tests/suppress/three.c")) as f:
        return [n for n, line in enumerate(f, 1) if text in line][0]


@check
def what_a_template_is_held_against():
    """Functions, source files and modules of any frame, but not the function that allocates."""
    for text, names in (("leak:middle", ALL - {"left", "right"}), ("leak:^three.c$", ALL), ("leak:/three.c$", {"free_twice"}),
                        ("leak:suppress/three$", {"free_twice"}), ("leak:libc.so", {"free_twice"}), ("leak:malloc", ALL)):
        found = rules(text + "\n")[0]
        must(found == names, text, found)


@check
def without_symbols():
    """A possible leak of a stripped program: suppressed and counted, unless the built-in rule is overridden."""
    subprocess.run(["strip", "-o", "bare", THREE], check=True)
    done = rtcheck("--json=out.json", program=("./bare",))
    must("SUPPRESSED      1 leak of 30 B in 1 block, by 1 rule\n" in done.stderr and " aib-" not in done.stderr, done.stderr)
    with open("out.json") as f:
        rule = json.load(f)["suppressions"][0]
    must((rule["grammar"], rule["findings"], rule["bytes"]) == ("built_in", 1, 30), rule)
    for words in ("--default-suppressions=no",), ("--suppressions=" + write("x.supp", "unsuppress aib in bare\n"),):
        done = rtcheck(*words, program=("./bare",))
        must("SUPPRESSED" not in done.stderr and " aib-" in done.stderr, words, done.stderr)
    must("SUPPRESSED" not in rtcheck().stderr, "the program has symbols")


@check
def nodes_of_tsearch():
    """Their colour is stored in the pointers to them.  Blocks with other interior pointers are reported."""
    program = (BUILD + "/tests/suppress/environment",)
    for words, status in ((), "suppressed"), (("--default-suppressions=no",), "new"):
        _, report, _ = reported("--errors-for-leak-kinds=all", *words, program=program)
        possible = [x for x in report["leaks"] if x["class"] == "interior" and x["first"]["size"] == 24]
        must(len(possible) == 1 and possible[0]["status"] == status, words, possible)
        other = [x["status"] for x in report["leaks"] if x["rtc"] == "aib" and x["first"]["size"] == 25]
        must(other == ["new"], words, other)


@check
def several_files():
    write("one.supp", LEFT)
    write("two.supp", "leak:right\n")
    names = reported("--suppressions=one.supp", "--suppressions=two.supp")[0]
    must(names == ALL - {"left", "right"}, names)
    names = reported("--suppressions=one.supp", RTCHECK_OPTIONS="suppressions=two.supp")[0]
    must(names == ALL - {"left", "right"}, names)


@check
def expired_and_max():
    names, report, done = rules("# expires: 2020-02-29\n# reason: fixed soon\nleak:left\n# max: 1\nleak:right\n")
    must(names == ALL, names)
    must("expired on 2020-02-29: x.supp:3 (leak:left): fixed soon\n" in done.stderr, done.stderr)
    must("more than max 1, by 1: x.supp:5 (leak:right)\n" in done.stderr, done.stderr)
    must(report["suppressions"][-1]["over"] == 2, report["suppressions"])
    names, _, done = rules("# max: 2\nleak:right\n# expires: 2120-02-28\nleak:left\n")
    must(names == ALL - {"right", "left"} and "more than" not in done.stderr, names, done.stderr)


@check
def used_and_stale():
    done = rules("leak:left\nleak:nowhere\nsuppress duf\n{\n a\n Memcheck:Jump\n fun:f\n}\n", "--print-suppressions",
                 "--stale-suppressions")[2].stderr
    for line in ("; 1 rule unused; 1 rule about findings that are not detected\n", " 1 time, 10 B: x.supp:1 (leak:left)\n",
                 " unused: x.supp:2 (leak:nowhere)\n", " 1 time: x.supp:3 (suppress duf)\n",
                 " broad, 1 finding: x.supp:3 (suppress duf)\n"):
        must(line in done, line, done)
    must("broad" not in rules("leak:left\n", "--stale-suppressions")[2].stderr, "left is not broad")


@check
def malformed():
    for text, expected in (
            ("{\n  x\n  Memcheck:Leek\n  fun:a\n}\n", "3:12: there is no kind of error 'Leek'\n    Memcheck:Leek\n             ^\n"),
            (LEFT + "\nleek:x\n", "11:1: leak: is the only kind of suppression of this form\n  leek:x\n  ^\n"),
            ("{\n x\n Memcheck:Leak\n ...\n}\n", "5:1: an entry needs one location at least that is not ...\n  }\n  ^\n"),
            ("{\n x\n Memcheck:Leak\n fun:a\n", "4:7: the file ends inside an entry: } is expected\n   fun:a\n        ^\n"),
            ("{\n x\n Memcheck:Leak\n fun:a", "4:7: the file ends inside an entry: } is expected\n   fun:a\n        ^\n"),
            ("{\n x\n Memcheck:Leak\n # a\n\n", "5:1: the file ends inside an entry: a location is expected\n  \n  ^\n"),
            ("{\n x\n Memcheck:Leak\n match-leak-kinds: definite,sure\n fun:a\n}\n",
             "4:29: definite, indirect, possible, reachable, all or none is expected\n"
             "   match-leak-kinds: definite,sure\n                              ^\n"),
            ("suppress mell\n", "1:10: 'mell' is no error code (baf, duf, .. mel, aib, air, biu, all)\n  suppress mell\n           ^\n"),
            ("suppress mel at 12\n", "1:17: \"FILE\":LINE is expected behind at\n  suppress mel at 12\n                  ^\n"),
            ("\t# max: many\nleak:x\n", "1:9: a number from 1 to 999999999 is expected\n   # max: many\n          ^\n"),
            ("leak:\x01x\0\n", "1:8: a zero byte: this is no text\n  leak:?x?\n         ^\n"),
            ("hello\n", "1:1: no rule begins like this: {, leak:, suppress or unsuppress is expected\n  hello\n  ^\n")):
        write("bad.supp", text)
        done = rtcheck("--suppressions=" + write("good.supp", "leak:x\n"), "--suppressions=bad.supp", program=(THREE, "started"))
        must(done.returncode == 125 and done.stderr == "rtcheck: bad.supp:" + expected, done.returncode, repr(done.stderr))
        must(not os.path.exists("started"), "the program was started")
    done = rtcheck("--suppressions=none.supp", program=(THREE, "started"))
    must(done.returncode == 125 and done.stderr == "rtcheck: suppressions none.supp: No such file or directory\n", done.stderr)


@check
def by_hand_and_later():
    write("x.supp", LEFT)
    env = dict(os.environ, LD_PRELOAD=BUILD + "/lib/librtcheck.so", RTCHECK_OPTIONS="suppressions=x.supp:keep")
    done = subprocess.run([THREE], capture_output=True, text=True, env=env, timeout=60)
    must("1 leak of 10 B in 1 block, by 1 rule" in done.stderr, done.stderr)
    pool = [f for f in os.listdir(os.environ["XDG_RUNTIME_DIR"]) if f.endswith(".pool")]
    must(len(pool) == 1, pool)
    pool = os.path.join(os.environ["XDG_RUNTIME_DIR"], pool[0])
    done = rtcheck("report", "--suppressions=" + write("y.supp", "leak:right\n"), program=(pool,))
    must("1 leak of 40 B in 2 blocks, by 1 rule" in done.stdout and done.returncode == 0, done.stdout)
    done = rtcheck("report", "--suppressions=" + write("bad.supp", "{ x\n"), program=(pool,))
    must(done.returncode == 125 and done.stdout == "" and "bad.supp:1:2: " in done.stderr, done.stderr)
    os.unlink(pool)
    env = dict(os.environ, LD_PRELOAD=BUILD + "/lib/librtcheck.so", LSAN_OPTIONS="suppressions=x.supp:use_tls=0")
    done = subprocess.run([THREE], capture_output=True, text=True, env=env, timeout=60)
    must("1 leak of 10 B in 1 block, by 1 rule" in done.stderr, done.stderr)
    must("note: LSAN_OPTIONS: use_tls=0 has no effect: " in done.stderr, done.stderr)


@check
def in_mid_run():
    """Checks that a program makes while it runs."""
    program = (BUILD + "/tests/leaks/midway", "counts")
    write("x.supp", "leak:^lose\n")
    by_hand = dict(os.environ, LD_PRELOAD=BUILD + "/lib/librtcheck.so", RTCHECK_OPTIONS="suppressions=x.supp")
    for printed in (rtcheck("--suppressions=x.supp", program=program).stderr,
                 subprocess.run(program, capture_output=True, text=True, env=by_hand, timeout=60).stderr):
        must("leak check 6 of " in printed and " mel-" not in printed and "SUPPRESSED" in printed, printed)
    must(rtcheck(program=program).stderr.count(" mel-") > 3, "without")


@check
def options_of_leaksanitizer():
    """If rtcheck's own options are not set each key has its effect, or a note that it has none."""
    write("x.supp", LEFT)
    names, _, done = reported(LSAN_OPTIONS="suppressions=x.supp:exitcode=23:print_suppressions=1")
    must(names == ALL - {"left"} and done.returncode == 23, names, done.returncode)
    must("1 time, 10 B: x.supp:1" in done.stderr, done.stderr)
    names, _, done = reported("--suppressions=" + write("y.supp", "leak:right\n"), "--error-exitcode=9",
                          LSAN_OPTIONS="suppressions='x.supp',exitcode=23")
    must(names == ALL - {"right"} and done.returncode == 9, "ours come first:", names, done.returncode)
    done = reported(LSAN_OPTIONS="report_objects=1:max_leaks=1")[2].stderr
    must("first block  no pointer to it" in done, done)
    must(", 3 places\n" in done and " 2 more: rtcheck report --all " in done, done)
    done = reported(LSAN_OPTIONS="max_leaks=1")[2].stderr
    must(" 2 more: " in done and done.count(" mel-") == 1, done)
    must(", 2 places\n" in reported(LSAN_OPTIONS="resolution=1")[2].stderr, "resolution")
    rtcheck(LSAN_OPTIONS="log_path=a%b")
    logs = [f for f in os.listdir(".") if f.startswith("a%b.")]
    must(len(logs) == 1 and "5 problems" in open(logs[0]).read(), logs)
    done = reported(LSAN_OPTIONS="use_globals=0 use_stacks=1 use_unaligned=1 color=never")[2].stderr
    must("note: LSAN_OPTIONS: use_globals=0 has no effect: " in done and "use_unaligned=1 has no effect: " in done, done)
    must("use_stacks" not in done and "color" not in done, done)
    done = rtcheck(LSAN_OPTIONS="exitcode=many")
    must(done.returncode == 125 and "LSAN_OPTIONS: option error-exitcode" in done.stderr, done.stderr)
    beside = os.path.join(os.getcwd(), "beside")
    os.mkdir(beside)
    os.symlink(THREE, beside + "/three")
    write("beside/b.supp", "leak:left\n")
    must(reported(program=(beside + "/three",), LSAN_OPTIONS="suppressions=b.supp")[0] == ALL - {"left"}, "beside the program")


def main():
    failed = 0
    for function in checks:
        try:
            function()
        except Exception as e:
            failed += 1
            print("FAIL %s: %s" % (function.__name__, e if isinstance(e, AssertionError) else traceback.format_exc()))
    print("%d checks, %d failed" % (len(checks), failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

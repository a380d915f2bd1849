#!/usr/bin/env python3
# rtc-test: leaks/lsan ci 120
"""Programs built for another checker (lsan.c): the check that they request is the one at the end, and its status is
that checker's; options set by their functions are applied, or reported as unknown; and a sanitizer's runtime, if
present (sanitizer.c), gets the calls.  A program's suppressions apply to that program only (lsan_cxx.cc, too), in
mid-run and at the end, unless they are invalid."""
import collections
import json
import os

from judges import main, run

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/leaks/lsan"
CXX = BUILD + "/tests/leaks/lsan_cxx"

Case = collections.namedtuple("Case", "what options env status printed lost note")
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
    Case("turn 0", "", {}, 0, [], None, None), # off from main on
    Case("turn 1", "", {}, 0, [], [3004], None),
    Case("turn 010", "", {}, 0, ["0", "1"], None, None),
    Case("turn 101", "", {}, 0, ["1", "0"], [3004], None),
    Case("recoverable", "", {}, 23, ["1", "after"], [3001, 3002], None),
    Case("recoverable", "", {"LSAN_TEST_OPTIONS": "leak_check_at_exit=0"}, 23, ["1", "after"], [3001, 3002], None),
    Case("midway", "", {"LSAN_TEST_OPTIONS": "leak_check_at_exit=0"}, 0, ["1", "exit"], None, None),
    Case("recoverable", "", {"LSAN_TEST_OFF": "1"}, 3, ["0"] + AFTER, None, None),
    Case("leak", "", {"LSAN_TEST_OPTIONS": " a='b:c' exitcode=x , detect_leaks=1"}, 23, [], [3001],
         "__lsan_default_options: not known here: exitcode=x"),
]


def judge(case, folder):
    for way in "launcher", "hand":
        out = os.path.join(folder, way + ".json")
        if way == "launcher":
            options = ["--" + o for o in [case.options] if o]
            done = run([BUILD + "/bin/rtcheck", *options, "--json", out, PROGRAM, *case.what.split()], folder, **case.env)
        else:
            done = run([PROGRAM, *case.what.split()], folder, LD_PRELOAD=BUILD + "/lib/librtcheck.so",
                       RTCHECK_OPTIONS=":".join(["json='%s'" % out] + [case.options] * bool(case.options)), **case.env)
        printed = done.stdout.splitlines()
        if done.returncode != case.status or printed != case.printed:
            yield "%s: status %d, not %d; said %s\n%s" % (way, done.returncode, case.status, printed, done.stderr)
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


def load(path):
    with open(path) as f:
        return json.load(f)


def reported(path):
    """Sizes of the leaks that are reported, and of the suppressed ones, with the rule."""
    report = load(path)
    rules = report["suppressions"]
    lost = [l for l in report["leaks"] if l["rtc"] == "mel"]
    hidden = {l["first"]["size"]: "%s:%d" % (rules[l["suppressed_by"]]["file"], rules[l["suppressed_by"]]["line"])
              for l in lost if l["status"] == "suppressed"}
    return sorted(l["first"]["size"] for l in lost if l["status"] == "new"), hidden


WHERE = "__lsan_default_suppressions of "
LONG = "# %s\n" % ("x" * 117) # exactly one piece
SUPPRESSIONS = [
    # the program's text, rules of a file, reported sizes, suppressed sizes by line, and the message
    ("leak:lose", None, [], {3001: WHERE + "lsan:1"}, None),
    ("leak:nobody\n\n leak:^lose$\n", None, [], {3001: WHERE + "lsan:3"}, None),
    ("", None, [3001], {}, None),
    (LONG * 3 + "leak:lose\n" + LONG * 40, None, [], {3001: WHERE + "lsan:4"}, None),
    (LONG[:119], None, [3001], {}, None),
    ("leak:lose\nlaek:lose\n", None, [3001], {}, WHERE + "lsan:2:1: "),
    ("leak:lose\nleak:", None, [3001], {}, WHERE + "lsan:2:6: "),
    ("endless", None, [3001], {}, "do not hold: not all of it could be kept"),
    ("leak:lose", "leak:lose\n", [], {3001: "x.supp:1"}, None), # a file has the last word
    ("leak:lose", "unsuppress mel in lose\n", [3001], {}, None),
]


def judge_suppressions(folder):
    for text, rules, want, hidden, printed in SUPPRESSIONS:
        options = []
        if rules:
            with open(os.path.join(folder, "x.supp"), "w") as f:
                f.write(rules)
            options = ["--suppressions=x.supp"]
        out = os.path.join(folder, "own.json")
        done = run([BUILD + "/bin/rtcheck", *options, "--json", out, PROGRAM, "leak"], folder,
                   LSAN_TEST_OPTIONS="exitcode=0", LSAN_TEST_SUPPRESSIONS=text)
        got = reported(out)
        if got != (want, hidden) or ("do not hold" in done.stderr) != (printed is not None) or (printed or "") not in done.stderr:
            yield "suppressions %.40r: told of %s, not of %s: %s" % (text, *got, done.stderr)


ENDS = [
    # the program's rules, those of a file, and the status
    ("leak:lose", None, 3),
    ("leak:nobody", None, 23),
    (None, "leak:lose\n", 3),
    ("leak:lose", "unsuppress mel in lose\n", 23),
    ("laek:lose", None, 23),
]


def judge_ends(folder):
    """Suppressed leaks do not change the status."""
    rules_file = os.path.join(folder, "y.supp")
    for text, rules, status in ENDS:
        own = {"LSAN_TEST_SUPPRESSIONS": text} if text else {}
        with open(rules_file, "w") as f:
            f.write(rules or "")
        for way in "launcher", "hand":
            if way == "launcher":
                done = run([BUILD + "/bin/rtcheck", "--suppressions=" + rules_file, PROGRAM, "leak"], folder, **own)
            else:
                done = run([PROGRAM, "leak"], folder, LD_PRELOAD=BUILD + "/lib/librtcheck.so",
                           RTCHECK_OPTIONS="suppressions='%s'" % rules_file, **own)
            printed = done.stdout.splitlines()
            if done.returncode != status or printed != (AFTER if status == 3 else []) or "leak check" in done.stderr:
                yield "suppressed by %s, %s, %s: %s" % (text, rules, way, done)


def judge_programs(folder):
    """Several programs in one run: a program's suppressions apply to its own processes only; in mid-run, too."""
    out = os.path.join(folder, "own.json")
    done = run([BUILD + "/bin/rtcheck", "--all", "--json", out, "sh", "-c", "%s; %s midway" %
                (CXX, PROGRAM)], folder)
    got = reported(out)
    if got[0] != [3001, 4002, 4004] or set(got[1]) != {4001, 4003} or set(got[1].values()) != {WHERE + "lsan_cxx:2"}:
        yield "several programs: told of %s, not of %s: %s" % (*got, done.stderr)
    check = done.stderr.split("rtcheck: leak check 1 of lsan_cxx")
    table = check[-1].split("rtcheck:")[0]
    if len(check) != 2 or "by_mistake" not in table or "on_purpose" in table:
        yield "in mid-run: %s" % done.stderr
    for program, want in ("", 0), (PROGRAM + " copy", 1): # a leak that several programs share is not suppressed
        done = run([BUILD + "/bin/rtcheck", "--frames=1", "--json", out, "sh", "-c", "%s copy; %s" % (CXX, program)], folder)
        found = [l for l in load(out)["leaks"] if l["rtc"] == "mel"]
        if [(l["status"], l["blocks"]) for l in found] != [("new" if want else "suppressed", 1 + want)]:
            yield "at one place: %s" % found
    done = run([BUILD + "/bin/rtcheck", CXX, "first"], folder)
    if "rtcheck: leak check 1 of lsan_cxx" not in done.stderr or "on_purpose" in done.stderr.split("rtcheck: ")[1]:
        yield "a child in mid-run: %s" % done.stderr
    done = run([CXX], folder, LD_PRELOAD=BUILD + "/lib/librtcheck.so", RTCHECK_OPTIONS="json='%s'" % out)
    got = reported(out)
    if got[0] != [4002, 4004] or set(got[1]) != {4001, 4003}:
        yield "by hand: told of %s, not of %s: %s" % (*got, done.stderr)


def complaints(folder):
    for case in CASES:
        yield from judge(case, folder)
    for others in (judge_sanitizer, judge_suppressions, judge_ends, judge_programs):
        yield from others(folder)


if __name__ == "__main__":
    main("lsan", complaints)

#!/usr/bin/python3
# rtc-test: crimes/catch ci 240 --sample
# rtc-test: crimes/catch-full full 900
"""--catch=ID and --rerun: a bad write that one run detects afterwards is found at its instruction by the next one; code that
touches exactly what it may is silent; a program reads its input again; mistakes have clear errors.

--sample: each third case.
"""
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True # the checkout may be another's
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../stress")
from checks import check, end

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/crimes/catch"
ENVIRONMENT = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": os.getcwd() + "/state"}


def run(*arguments, status=0, stdin=subprocess.DEVNULL, variables=()):
    return_code = subprocess.run([BUILD + "/bin/rtcheck", "--leaks=no", "--json=report.json", *arguments], stdin=stdin,
                                 capture_output=True, text=True, timeout=150, check=False,
                                 env={**ENVIRONMENT, **dict(variables)})
    check(f"status of {arguments}", return_code.returncode, status)
    return return_code


def errors():
    """(late?, function of the access, function of the allocation, id) of each"""
    with open("report.json") as file:
        report = json.load(file)
    frames = {f["id"]: f.get("function") for f in report["frames"]}
    stacks = {s["id"]: [frames[f] for f in s["frames"]] for s in report["stacks"]}
    found = []
    for e in report["errors"]:
        is_late = "damage" in e
        inner = "" if is_late else stacks.get(e.get("stack"), [""])[0]
        found.append((e["rtc"], is_late, inner, e["id"]))
    return found


def is_exact(found):
    return len(found) == 1 and found[0][:2] == ("wua", False) and found[0][2] in ("bad_byte", "bad_word", "bad_move")


cases = subprocess.run([PROGRAM, "list"], capture_output=True, text=True, check=True).stdout.split()
check("at least 20 cases", len(cases) >= 20, True)
exact, count, is_sample = 0, 0, "--sample" in sys.argv
for case in cases[::3] + ["before_16"] if is_sample else cases:
    # Bytes between two blocks: those of both are guarded. With the same stack the edge is a guess, and the next run is right.
    first = run(PROGRAM, case)
    late = errors()
    check(f"{case}: detected afterwards", [e[:2] for e in late], [("wua", True)])
    if not late:
        continue
    again = run("--catch=" + late[0][3][:10], PROGRAM, case)
    check(f"{case}: output of the next run", again.stdout, first.stdout)
    count += 1
    exact += is_exact(errors())
    if not is_exact(errors()):
        run("--catch=" + errors()[0][3], PROGRAM, case)
        check(f"{case}: found by the second --catch", is_exact(errors()), True)
    twin = run("--catch=" + late[0][3], PROGRAM, "twin", case)
    check(f"{case}: twin", (twin.stdout, errors(), "no block with" in twin.stderr), (first.stdout, [], False))
    rerun = run("--rerun", PROGRAM, case)
    check(f"{case}: found by --rerun", is_exact(errors()), True)
    check(f"{case}: runs by --rerun", rerun.stdout in (first.stdout * 2, first.stdout * 3), True)
print(f"{exact} of {count} late writes became exact in the second run")
check("all but one", exact >= count - 1 and count >= 9, True)

# ---- a leak, and a record of blocks in use: their blocks are guarded, too -----------------------------------
run("--leaks=yes", "--leak-check=full", PROGRAM, "of_leak")
with open("report.json") as file:
    leak = [l["id"] for l in json.load(file)["leaks"]]
check("of_leak has a leak", len(leak), 1)
run("--catch=" + leak[0], PROGRAM, "of_leak")
check("the blocks of a leak", is_exact(errors()), True)

# ---- input --------------------------------------------------------------------------------------------------
with open("input", "w") as file:
    file.write("skipped\nletters\n")
with open("input") as file:
    os.lseek(file.fileno(), 8, os.SEEK_SET)
    done = run("--rerun", PROGRAM, "input", stdin=file, status=3)
    check("input from a file is read again", (done.stdout, is_exact(errors())), ("letters\n" * 2, True))
reader, writer = os.pipe()
os.write(writer, b"letters\n")
os.close(writer)
done = run("--rerun", PROGRAM, "input", stdin=reader, status=3)
os.close(reader)
check("a pipe is not", (done.stdout, "rtcheck: note: not run again: standard input is a pipe\n" in done.stderr,
                        "running it again" in done.stderr), ("letters\n", True, False))

# ---- what the first run found is kept ------------------------------------------------------------------------
done = run("--rerun", "--quiet", "--error-exitcode=23", "--log-file=log", PROGRAM, "once", status=23)
with open("log") as file:
    check("the log has both runs", file.read().count("BAD WRITE"), 1)
check("files have the run with problems", [e[1] for e in errors()], [True])
done = run("--rerun", "--quiet", PROGRAM, "many")
check("more stacks than can be guarded", (done.returncode, [e[1] for e in errors()].count(False) >= 16), (0, True))
done = run("--rerun", "--quiet", PROGRAM, "stopped", status=-15)
check("no second run after SIGTERM", "running it again" in done.stderr, False)
done = run("--rerun", "--quiet", "--access=no", PROGRAM, "filled")
check("a system call reads as much", done.stdout, "25\n" * 2)
run("--rerun", "--quiet", PROGRAM, "in_handler")
check("in a handler", is_exact(errors()), True)

# ---- the words of the command line ---------------------------------------------------------------------------
done = run("--rerun", "--", PROGRAM, "end_of_9")
check("rtcheck --rerun -- PROGRAM", (done.stdout, is_exact(errors())), ("done\n" * 2, True))
done = run("--quiet", PROGRAM, "end_of_9", variables={"RTCHECK_OPTIONS": "rerun"})
check("RTCHECK_OPTIONS=rerun", (done.stdout, is_exact(errors())), ("done\n" * 2, True))
check("the line between both runs", re.findall(r"(?m)^rtcheck: running it again.*$", done.stderr),
      ["rtcheck: running it again, with the blocks of 1 late bad write guarded"])
done = run("--rerun", PROGRAM, "twin", "end_of_9")
check("without a bad write it runs once", (done.stdout, errors()), ("done\n", []))
run(PROGRAM, "end_of_9")
late = errors()[0][3]
done = run("--catch=" + late, PROGRAM, "end_of_24")
check("the same stack", is_exact(errors()), False)
done = run("--catch=" + late, PROGRAM, "of_calloc")
check("another program", ("rtcheck: note: no block with the allocation stack of the earlier run was guarded: docs/bad-writes.md\n"
                          in done.stderr, [e[1] for e in errors()]), (True, [True]))
for given, words in (("wua-00000000", "there is no wua-00000000 in "), ("nonsense", "there is no nonsense in "),
                     (",".join([late] * 17), "more than 16 ids")):
    done = run("--catch=" + given, PROGRAM, "end_of_9", status=125)
    check("--catch=" + given[:20], (done.stdout, done.stderr.startswith("rtcheck: option catch: "), words in done.stderr),
          ("", True, True))
done = run("--catch=" + late, "--guard=all", PROGRAM, "end_of_9", status=125)
check("--catch with --guard", done.stderr, "rtcheck: option catch: it guards blocks itself: leave out --guard\n")
for option, given in (("catch", "--catch=" + late), ("rerun", "--rerun")):
    done = run(given, "--frames=0", PROGRAM, "end_of_9", status=125)
    check(given + " without stacks", (done.stdout, done.stderr),
          ("", "rtcheck: option %s: it guards blocks by their allocation stacks: leave out --frames=0\n" % option))
done = run("--catch=" + late, PROGRAM, "end_of_9", status=125, variables={"XDG_STATE_HOME": os.getcwd() + "/none"})
check("no run is kept", done.stdout, "")
end()

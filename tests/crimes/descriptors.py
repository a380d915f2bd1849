#!/usr/bin/python3
# rtc-test: crimes/descriptors ci 60
"""--track-fds: descriptors left open and closed twice, by each function that opens one, and where nothing is wrong."""
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True # the checkout may be another's
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../stress")
from checks import check, end

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/crimes/descriptors"
CLOSERS = {"fopen": "fclose", "freopen": "fclose", "tmpfile": "fclose", "opendir": "closedir", "popen": "pclose"}
TABLE_LEAST = 30  # functions that work on every machine


def run(case, mode, *options, status=0):
    """(output, errors of descriptors in the JSON report, the report, its text)"""
    out = f"{case}.json"
    done = subprocess.run([BUILD + "/bin/rtcheck", *([f"--track-fds={mode}"] if mode else []), "--log-file=" + out + ".log",
                           "--json=" + out, *options, PROGRAM, case], capture_output=True, text=True, timeout=50, check=False,
                          env={"PATH": os.environ["PATH"], "XDG_STATE_HOME": os.getcwd()})
    check(f"{case}: status, output of rtcheck", (done.returncode, done.stderr), (status, ""))
    with open(out) as report, open(out + ".log") as text:
        report = json.load(report)
        errors = [e for e in report["errors"] if e["rtc"] in ("fdc", "fdl")]
        return done.stdout, errors, report, text.read()


def brief(errors):
    """Code, closing and opening functions, how often."""
    return sorted((e["rtc"], e.get("entry") if e["rtc"] == "fdc" else None, e["descriptor"].get("closer"),
                   e["descriptor"].get("opener"), e["count"]) for e in errors)


# ---- each function ---------------------------------------------------------------------------------------
output, errors, report, text = run("leak", "yes")
names = output.split()
check("functions in the table", len(names) >= TABLE_LEAST, True)
check("left open", brief(errors), sorted(("fdl", None, None, n, 1) for n in names))
for name in names:
    check(f"the stack that opened, of {name}", f"open_by_{name} " in text.replace("accept_it ", "open_by_accept ")
          .replace("accept4_it ", "open_by_accept4 ").replace("receive_descriptor ", "open_by_recvmsg ")
          .replace("terminal ", "open_by_openpty "), True)
check("frames of the runtime", "librtcheck" in text or "checked_" in text, False)
check("left open is an error", run("leak", "yes", "--error-exitcode=9", status=9)[1] != [], True)

output, errors, report, text = run("close", "yes")
check("closed", (output.split(), brief(errors)), (names, []))

output, errors, report, text = run("twice", "yes")
check("closed twice", brief(errors), sorted(("fdc", "close", CLOSERS.get(n, "close"), n, 1) for n in names))
for name in names:
    check(f"the stack that closed again, of {name}", f"close_again_{name} " in text, True)

# ---- cases: with "yes" and "all" -------------------------------------------------------------------------
LEFT, TWICE = ("fdl", None, None, "open", 1), ("fdc", "close", "close", "open", 1)
for case, wanted in (
        ("in_fork", []), ("child_errs", [TWICE, LEFT]), ("in_vfork", [LEFT]), ("in_threads", [TWICE]),
        ("loops", []), ("standard", []), ("reused", []), ("in_handler", [TWICE]), ("same_place", [(*LEFT[:4], 3)]),
        ("untracked", [("fdl", None, None, None, 1)])):
    check(f"{case}, yes", brief(run(case, "yes")[1]), sorted(wanted))
    check(f"{case}, bad", brief(run(case, "bad")[1]), [w for w in wanted if w[0] == "fdc"])
    check(f"{case}, no", run(case, "no")[1] + run(case, None)[1], [])
check("in_exec, yes", brief(run("in_exec", "yes")[1]), [])

# inherited ones: stdin, stdout, stderr, also those of a parent
for case, wanted in (("nothing", 3), ("in_exec", 4)):
    errors = run(case, "all")[1]
    check(f"{case}, all", (sum(e["count"] for e in errors), {e["rtc"] for e in errors}), (wanted, {"fdl"}))

# a killed program has not left anything open
check("crashes, yes", run("crashes", "yes", status=-signal.SIGABRT)[1], [])

# ---- the program behaves as without it -------------------------------------------------------------------
plain = subprocess.run([PROGRAM, "errors"], capture_output=True, text=True, check=True).stdout
for mode in ("no", "yes", "all"):
    check(f"errno, {mode}", run("errors", mode)[0], plain)

# ---- --on-error, suppressions ----------------------------------------------------------------------------
check("--on-error=exit", len(run("in_threads", "yes", "--on-error=exit", "--error-exitcode=5", status=5)[1]), 1)
with open("rules", "w") as rules:
    rules.write("{\n a\n core:FdBadClose\n ...\n fun:close_in_thread\n}\n{\n b\n core:FdNotClosed\n ...\n fun:same_place\n}\n"
                "{\n c\n rtcheck:fdl\n ...\n fun:child_errs\n}\n")
for case, left in (("in_threads", 0), ("same_place", 0), ("child_errs", 1)):
    errors = run(case, "yes", "--suppressions=rules")[1]
    check(f"{case}, suppressed", len([e for e in errors if e["status"] != "suppressed"]), left)
check("a generated rule", "core:FdBadClose" in run("in_threads", "yes", "--gen-suppressions=yes")[3], True)

# ---- other formats ---------------------------------------------------------------------------------------
xml = subprocess.run([BUILD + "/bin/rtcheck", "--track-fds=yes", "--log-file=log", "--xml-file=xml", PROGRAM, "in_threads"],
                     env={"PATH": os.environ["PATH"], "XDG_STATE_HOME": os.getcwd()}, check=False)
with open("xml") as file:
    xml = file.read()
    check("XML", [word in xml for word in ("<kind>FdBadClose</kind>", "<auxwhat>Previously closed</auxwhat>",
                                           "<auxwhat>Originally opened</auxwhat>", "<fn>in_threads</fn>")], [True] * 4)
end()

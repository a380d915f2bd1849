#!/usr/bin/python3
# rtc-test: crimes/guards ci 180
"""--guard: loads and stores by the program's own code beyond a block, before it and after its free are found at the instruction;
the program continues as without guards, and code that touches exactly what it may is silent."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True # the checkout may be another's
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../stress")
from checks import check, end

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/crimes/guards"
PLANTED, SAMPLES = 60, 20000


def run(case, guard, *options, status=0, variables=(), leaks="no", output="done\n"):
    """(errors as (code, sentence, functions of its three stacks, count), the report)"""
    environment = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": os.getcwd(), **dict(variables)}
    done = subprocess.run([BUILD + "/bin/rtcheck", f"--leaks={leaks}", "--json=report.json", "--log-file=log", f"--guard={guard}",
                           *options, PROGRAM, case], capture_output=True, text=True, timeout=150, check=False, env=environment)
    check(f"{case} --guard={guard} {options}", (done.returncode, done.stdout, done.stderr), (status, output, ""))
    with open("report.json") as file:
        report = json.load(file)
    frames = {f["id"]: f.get("function") for f in report["frames"]}
    stacks = {s["id"]: [frames[f] for f in s["frames"]] for s in report["stacks"]}

    def of(site, count):
        return tuple(stacks.get(site, [])[:count])
    return sorted((e["rtc"], e["text"], of(e.get("stack"), 1), of(e.get("alloc_stack"), 1), of(e.get("free_stack"), 1), e["count"])
                  for e in report["errors"]), report


def counts(errors):
    return [(e[0], e[2], e[5]) for e in errors]


PLACES = {"freed": "of 1 byte, at offset 0 of a freed 1-byte block", "before": "of 1 byte, 1 byte before a 1-byte block",
          "after": "of 1 byte, 15 bytes past the end of a 1-byte block"}
WAYS = {"advice": (), "mprotect": (("RTCHECK_TEST_WITHOUT", "guard_pages"),)}

# ---- every planted access is found, with its stacks -------------------------------------------------------
for way, variables in WAYS.items():
    for case, guard, code, function in (("loads_after", "end", "rua", "load"), ("loads_before", "start", "rua", "load"),
                                        ("loads_freed", "all", "rua", "load"), ("stores_after", "end", "wua", "store"),
                                        ("stores_before", "start", "wua", "store"), ("stores_freed", "all", "wua", "store")):
        errors, _ = run(case, guard, variables=variables)
        check(f"{case}, {way}", counts(errors), [(code, (function,), PLANTED)])
        place = PLACES[case.split("_")[1]]
        check(f"{case}: sentence", errors[0][1], ("read " if code == "rua" else "write ") + place)
        check(f"{case}: blocks", errors[0][3:5], (("make",), ("drop",) if "freed" in case else ()))

# ---- in checked copies of the code, without guards ----------------------------------------------------------
for case in ("loads_after", "loads_before", "loads_freed", "stores_after", "stores_before", "stores_freed"):
    errors, _ = run(case, "no", "--access=full", variables=(("XDG_CACHE_HOME", os.getcwd()),))
    wanted = ("rua", ("load",)) if case.startswith("loads") else ("wua", ("store",))
    check(f"{case}, --access=full", counts(errors), [(*wanted, PLANTED)])

for case, guard, wanted in (
        ("word", "end", ["read of 8 bytes, the last 4 past the end of a 64-byte block"]),
        ("large", "end", ["read of 1 byte, at offset 150000 of a freed 300000-byte block",
                          "read of 1 byte, just past the end of a 300000-byte block"]),
        ("fill", "all", ["read of 1 byte, at offset 47 of a freed 48-byte block"]),
        ("moved", "all", ["read of 1 byte, at offset 0 of a freed 100-byte block"]),
        ("handler", "end", ["read of 1 byte, at offset 0 of a freed 64-byte block", "read of 1 byte, just past the end of a 64-byte block"]),
        ("blocked", "all", ["read of 1 byte, at offset 0 of a freed 64-byte block"] * 2),
        ("ignored", "all", [])):
    check(case, [e[1] for e in run(case, guard)[0]], wanted)

# ---- threads, processes, a killed one ----------------------------------------------------------------------
for way, variables in WAYS.items():
    check(f"threads, {way}", counts(run("threads", "all", variables=variables)[0]), [("rua", ("load",), 4)])
    for heap in ("private", "file"):
        errors, _ = run("forked", "end", "--heap=" + heap, variables=variables)
        check(f"forked, {heap}, {way}", (sum(e[5] for e in errors), {e[0] for e in errors}), (5, {"rua"}))
for heap in ("private", "file"):
    errors, _ = run("killed", "end", "--heap=" + heap, status=-9)
    check(f"killed, {heap}", [e[1] for e in errors if e[0] == "rua"], ["read of 1 byte, just past the end of a 64-byte block"])

# ---- silent ------------------------------------------------------------------------------------------------
for way, variables in WAYS.items():
    for options in (("all",), ("end",), ("start",), ("10",), ("auto",), ("all", "--heap=file"), ("end", "--heap=file", "--pool-size=16m"),
                    ("end", "--redzone-size=64"), ("start", "--access=no", "--free-fill=no")):
        check(f"silent {options}, {way}", run("silent", *options, variables=variables)[0], [])

# ---- system calls: the results as natively, and the errors as without guards ----------------------------------
natively = subprocess.run([PROGRAM, "calls"], capture_output=True, text=True, timeout=60, check=True).stdout
check("calls succeed natively", "EFAULT" in natively, False)
without = run("calls", "no", output=natively)[0]
check("errors of calls", len(without), 25)
for way, variables in WAYS.items():
    for guard in ("all", "end", "start"):
        check(f"calls --guard={guard}, {way}", sorted(counts(run("calls", guard, variables=variables, output=natively)[0])),
              sorted(counts(without)))
        run("calls", guard, "--access=no", variables=variables, output=natively)

# ---- leaks -------------------------------------------------------------------------------------------------
_, report = run("leaks", "all", leaks="yes")
check("leaks", [(leak["rtc"], leak["blocks"], leak["bytes"]) for leak in report["leaks"]], [("mel", 1, 1000)])

# ---- samples: as many as the rate says, by a fixed seed, within three standard deviations ----------------------
for rate in (20, 100):
    (error,), _ = run("samples", rate, variables=(("RTCHECK_TEST_SEED", "17"),))
    mean = SAMPLES / rate
    check(f"one of {rate}: {error[5]} found", abs(error[5] - mean) <= 3 * mean ** 0.5, True)
check("no", run("samples", "no")[0], [])

# ---- options -----------------------------------------------------------------------------------------------
run("word", "end", "--on-error=exit", "--error-exitcode=5", status=5, output="")
run("word", "end", "--on-error=abort", status=-6, output="")
end()

#!/usr/bin/python3
"""With --malloc-fill=block, calls that read uninitialised memory are reported, with the block that it comes from; the same calls
of initialised memory, the cases that are no errors, and runs without the option or without access checks are silent. The status
stays the program's."""
# rtc-test: crimes/uninitialised ci 120
import concurrent.futures
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True # the checkout may be another's
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../stress")
from checks import check, end

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/crimes/uninitialised"
FILL = "--malloc-fill=block"


def errors_of(case, *options):
    path = f"{os.environ['TMPDIR']}/{'-'.join([*case, *options])}.json"
    done = subprocess.run([BUILD + "/bin/rtcheck", "--json=" + path, *options, PROGRAM, *case], capture_output=True, text=True,
                          check=False, timeout=60)
    errors = json.load(open(path, encoding="utf8"))["errors"]
    return errors if done.returncode == 7 else [f"status {done.returncode}: {done.stderr}"]


def sentence(function, length, count, offset, bytes_of):
    what = "an argument" if function in ("fprintf", "snprintf") and offset < 0 else f"{length} bytes"
    some = "" if count == length else f"{count} of "
    place = "copied from" if offset < 0 else f"at offset {offset} of" if count == length else f"the first at offset {offset} of"
    return f"uninitialised read of {some}{what} by {function}, {place} a {bytes_of} block"


def found(line):
    """The case, its errors in short, and those that are expected."""
    case, function, length, count, offset = line.split()
    length, count, offset = int(length), int(count), int(offset)
    got = [e if isinstance(e, str) else (e["rtc"], e["text"], e["entry"], e["bytes"], e["access"]["size"], "stack" in e,
                                         "alloc_stack" in e, "free_stack" in e) for e in errors_of([case], FILL)]
    if function == "-":
        return case, got, []
    return case, got, [("rui", sentence(function, length, count, offset, {"growth_of_pages": "130000-byte", "growth_in_slot": "108-byte"}.get(case, "48-byte")), function, count, length, True, True,
                        case in ("freed", "growth"))]


def silent(case, *options):
    return f"{case} {options}", errors_of(case, *options), []


lines = subprocess.run([PROGRAM, "list"], capture_output=True, text=True, check=True).stdout.splitlines()
names = [line.split()[0] for line in lines]
check("cases", len(lines) >= 30, True)
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    jobs = [pool.submit(found, line) for line in lines] + [pool.submit(silent, [name, "set"], FILL) for name in names]
    jobs += [pool.submit(silent, [name], *o) for name in names[::3] for o in ((), (FILL, "--access=no"), ("--malloc-fill=b1",))]
    for job in jobs:
        check(*job.result())
print(f"{len(jobs)} runs")
end()

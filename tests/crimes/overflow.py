#!/usr/bin/env python3
"""Stack overflows are found in threads without an alternate signal stack of the program, too; deep recursion that ends
is silent; the exit status is as without rtcheck."""
# rtc-test: crimes/overflow ci 120
import json
import os
import re
import resource
import subprocess
import sys

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/crimes/overflow"
JSON = os.environ["TMPDIR"] + "/overflow.json"
failed = 0


def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))


def run(*command, limit=limits):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, preexec_fn=limit)


def wrong(cell, *why):
    global failed
    failed = 1
    print("WRONG", *cell, *why)


def errors_of(*cell, options=(), limit=limits):
    """The run's errors; its status and output must be the native ones."""
    native, done = run(PROGRAM, *cell), run(BUILD + "/bin/rtcheck", "-q", "--json=" + JSON, *options, PROGRAM, *cell, limit=limit)
    if (done.returncode, done.stdout) != (native.returncode, native.stdout):
        wrong(cell, "status %d, natively %d" % (done.returncode, native.returncode), done.stderr)
    with open(JSON) as f:
        report = json.load(f)
    frames = {f["id"]: f.get("function", "") for f in report["frames"]}
    stacks = {s["id"]: [frames[f] for f in s["frames"][:4]] for s in report["stacks"]}
    return [(e["text"], stacks[e["stack"]], e.get("crash", {}).get("stack_overflow")) for e in report["errors"]], report


def overflows(where, frame, *own, options=()):
    cell = (where, frame, *own)
    errors, _ = errors_of(*cell, options=options)
    thread = "the main thread" if where != "thread" else r"thread \d+"
    text = r"SIGSEGV: (read|write)( of \d bytes?)? below the end of the stack of %s \(stack overflow\)" % thread
    if len(errors) != (2 if where == "forked" else 1):
        return wrong(cell, "%d errors" % len(errors))
    found = [e for e in errors if e[2]]
    if len(found) != 1 or not re.fullmatch(text, found[0][0]) or found[0][1][0] != frame + "_frame":
        return wrong(cell, str(errors)[:600])
    return print(*cell, *options, "ok")


def silent(where, *own):
    cell = (where, "legal", *own)
    errors, report = errors_of(*cell)
    if errors or report["leaks"]:
        return wrong(cell, str(errors))
    return print(*cell, "ok")


for where in ("main", "thread", "forked"):
    for frame in ("small", "large"):
        overflows(where, frame)
        overflows(where, frame, "set")
    silent(where)
    silent(where, "set")
overflows("main", "small", "unset")
overflows("thread", "large", "unset")
overflows("thread", "small", options=("--events=all",))
for where, frame in (("main", "small"), ("main", "large"), ("thread", "small")):
    overflows(where, frame, options=("--access=full",))


def with_little_address_space():
    limits()
    resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))


errors_of("thread", "legal", limit=with_little_address_space)
sys.exit(failed)

#!/usr/bin/env python3
# rtc-test: leaks/stale ci 60
"""Threads that wait in a system call, with stale copies of a block's address below their stack pointer, in the frame
of libc's wrapper and in registers that the call may change (stale.c): these hide no leak.  A copy that the thread
keeps does, and the report names the thread and its register or frame."""
import json
import os
import re

from judges import main, run

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/leaks/stale"
THREADS, BYTES = 16, 4720
CALLS = ["pause", "clock_nanosleep", "poll", "read"]
LOST = r"^no pointer to it$"
HELD = {
    "local": r"(`local' of body \(stale\.c:\d+\), thread \d+|on the stack of thread \d+, in body \(stale\.c:\d+\).*)$",
    "register": r"^a pointer to its start in register rbx of thread \d+$",
    "red_zone": r"^a pointer to its start on the stack of thread \d+, in wait_as_leaf \(stale\.c:\d+\), "
                r"64 bytes below its stack pointer$",
    "buffer": r"^a pointer to its start in register rsi of thread \d+$",
}
CASES = [(call, "nowhere") for call in CALLS]
CASES += [("pause", "local"), ("pause", "register"), ("poll", "register"), ("pause", "red_zone"), ("read", "buffer")]


def complaints(folder):
    out = os.path.join(folder, "report.json")
    for call, place in CASES:
        done = run([BUILD + "/bin/rtcheck", "-q", "--json", out, "--show-leak-kinds=all", PROGRAM, call, place], folder)
        with open(out) as f:
            leaks = [l for l in json.load(f)["leaks"] if l["first"]["size"] == BYTES]
        found = [(l["class"], l["blocks"]) for l in leaks]
        if done.returncode or found != [("definite" if place == "nowhere" else "reachable", THREADS)]:
            yield "%s, %s: status %d, found %s: %s" % (call, place, done.returncode, found,
                                                       [l["witness"]["where"] for l in leaks])
        for leak in leaks:
            if not re.search(HELD.get(place, LOST), leak["witness"]["where"]):
                yield "%s, %s: %s" % (call, place, leak["witness"]["where"])


if __name__ == "__main__":
    main("stale", complaints)

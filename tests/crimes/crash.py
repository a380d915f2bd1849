#!/usr/bin/env python3
"""Freed memory is suspected of a crash where the address came from its fill, and nowhere else."""
# rtc-test: crimes/crash ci 120
import os
import resource
import subprocess
import sys

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/crimes/crash"
WORDS = "the address was read from freed memory"
failed = 0


def ways(beginning):
    listed = subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout.split()
    return [way for way in listed if way.startswith(beginning)]


def check(way, suspected, *options):
    global failed
    done = subprocess.run([BUILD + "/bin/rtcheck", *options, PROGRAM, way], capture_output=True, text=True, check=False,
                          timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    said = WORDS in done.stderr
    if said != suspected or done.returncode >= 0 or "no problems" in done.stderr and "killed" not in done.stderr:
        failed = 1
    print("%s %s: status %d, %s%s" % (way, " ".join(options), done.returncode, "suspected" if said else "not suspected",
                                      "" if said == suspected else ": WRONG\n" + done.stderr))


for name in ways("by_"):
    check(name, False)
for name in ways("of_"):
    check(name, True)
for name in ("of_member", "of_call", "of_strlen"):
    for fill in ("0x01", "0x5a", "0x7f", "0x80", "0xfe"):
        check(name, True, "--free-fill=" + fill)
check("of_member", True, "--free-fill=0xff")
for fill in ("0xff", "0x01", "0x4d"):
    for name in ("by_null", "by_wild", "by_wild_far", "by_null_call"):
        check(name, False, "--free-fill=" + fill)
# Zero-filled memory reads as NULL; unfilled memory keeps its contents.
check("of_member", False, "--free-fill=0")
check("of_member", False, "--free-fill=no")
sys.exit(failed)

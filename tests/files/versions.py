#!/usr/bin/env python3
"""Run files of every past format version stay readable, or are refused with their version.

NAME.pool is a saved file, NAME.want the output of `rtcheck report --memuse` for it: the text (read) or the
one line and the status (refused).  Files are added when the format changes, never rewritten
(tests/report/make_run.c made these).  `versions.py --bless NAME` writes a new .want.
"""
# rtc-test: files/versions ci 60
import os
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["RTC_SOURCE"])
RTCHECK = os.environ["RTC_BUILD"] + "/bin/rtcheck"
FILES = SOURCE / "tests/files"

sys.path.insert(0, str(SOURCE / "tests/report"))
import validate_json


def printed_of(name):
    shutil.copyfile(FILES / name, name)  # a copy, as the checkout may be another user's
    done = subprocess.run([RTCHECK, "report", "--memuse", "--json=now.json", name],
                          capture_output=True, text=True, timeout=60)
    if done.returncode == 0:
        return done.stdout + done.stderr
    return done.stdout + done.stderr + f"status {done.returncode}\n"


def complaints(name):
    now = printed_of(name)
    want = (FILES / name).with_suffix(".want").read_text()
    if now != want:
        return [f"said\n{now}instead of\n{want}"]
    dump = subprocess.run([RTCHECK, "dump", name], capture_output=True, text=True, timeout=60)
    is_read = not want.endswith("status 125\n")
    if dump.returncode != (0 if is_read else 1):
        return [f"dump ends with {dump.returncode}"]
    return [f"{x}" for x in is_read and validate_json.main(["now.json"]) and ["its JSON is wrong"] or []]


def main():
    if sys.argv[1:2] == ["--bless"]:
        for name in sys.argv[2:]:
            (FILES / name).with_suffix(".want").write_text(printed_of(name + ".pool"))
        return 0
    names = sorted(p.name for p in FILES.glob("*.pool"))
    failed = 0
    for name in names:
        printed = complaints(name)
        failed += bool(printed)
        print(f"{'FAIL' if printed else 'ok  '} {name}", *printed)
    return 1 if failed or len(names) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Programs with their own operator new or delete: called as often as without rtcheck, no error reported."""
# rtc-test: conform/replaced ci 60
import os
import subprocess
import sys

BUILD = os.environ["RTC_BUILD"]

for name in "replaced", "replaced_new", "replaced_delete":
    program = BUILD + "/tests/conform/" + name
    plain = subprocess.run([program], capture_output=True, text=True, check=True)
    checked = subprocess.run([BUILD + "/bin/rtcheck", program], capture_output=True, text=True, check=True)
    if plain.stdout != checked.stdout:
        sys.exit(f"{name}: says {checked.stdout!r}, plain {plain.stdout!r}")
    if "rtcheck: no errors" not in checked.stderr:
        sys.exit(f"{name}: {checked.stderr}")
    print(name, plain.stdout, end="")

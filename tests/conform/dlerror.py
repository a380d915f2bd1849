#!/usr/bin/python3
# rtc-test: conform/dlerror ci 60
"""No interposed function changes the text of dlerror, at its first call or later, by the launcher and by LD_PRELOAD."""
import os
import subprocess
import sys

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/conform/dlerror"
ENVIRONMENT = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": os.getcwd(), "RTCHECK_POOL_DIR": os.getcwd()}
WAYS = (([], {}), ([], {"LD_PRELOAD": BUILD + "/lib/librtcheck.so"}),
        ([BUILD + "/bin/rtcheck", "--error-exitcode=9", "--track-fds=yes"], {}))
wrong, number = [], 0
while True:
    ends = [subprocess.run([*words, PROGRAM, str(number)], capture_output=True, text=True, timeout=30, check=False,
                           env={**ENVIRONMENT, **variables}) for words, variables in WAYS]
    if ends[0].returncode == 77:
        break
    wrong += [f"{e.args}: status {e.returncode}: {e.stdout}{e.stderr}" for e in ends
              if (e.returncode, e.stdout) != (0, ends[0].stdout)]
    number += 1
print("\n".join(wrong)[:3000] or f"{number} functions")
sys.exit(bool(wrong) or number < 20)

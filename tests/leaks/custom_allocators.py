#!/usr/bin/env python3
# rtc-test: leaks/custom_allocators ci 60
"""docs/allocators.md: its program is run, with a checker and without."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../stress")
from blocks import block

BUILD, SOURCE = os.environ["RTC_BUILD"], os.environ["RTC_SOURCE"]


def main():
    with open("prog.c", "w") as f:
        f.write(block("docs/allocators.md", "rtc_record_malloc(p, bytes)"))
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-I", SOURCE + "/include", "prog.c", "-o", "prog"], check=True)
    env = dict(os.environ, XDG_STATE_HOME=os.getcwd())
    done = [subprocess.run(words + ["./prog"], env=env, timeout=60).returncode
            for words in ([], [BUILD + "/bin/rtcheck", "--json=out.json"])]
    with open("out.json") as f:
        report = json.load(f)
    errors = [(e["rtc"], e["near"]["size"]) for e in report["errors"]]
    lost = [(l["rtc"], l["bytes"]) for l in report["leaks"]]
    print(done, errors, lost)
    return done != [0, 0] or errors != [("duf", 40)] or lost != [("mel", 300)]


if __name__ == "__main__":
    sys.exit(main())

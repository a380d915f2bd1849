#!/usr/bin/env python3
# rtc-test: suppress/real-files ci 60
"""Files of suppressions in Debian's packages: all of them are parsed, and each entry is counted: a rule for rtcheck, a
rule for an error that it does not detect, or one for another tool."""
import glob
import json
import os
import re
import subprocess
import sys

RTCHECK = os.environ["RTC_BUILD"] + "/bin/rtcheck"
PLACES = ["/usr/libexec/valgrind/default.supp", "/usr/lib/valgrind/*.supp", "/usr/share/openmpi/*.supp",
          "/usr/share/glib-2.0/valgrind/*.supp", "/usr/share/*/valgrind/*.supp"]
LEAST = 5


def entries(path):
    """The number of entries for memcheck or the core, and for others: by their form alone."""
    with open(path, errors="replace") as f:
        lines = [line.strip() for line in f if line.strip() and not line.strip().startswith("#")]
    tools = [lines[i + 2].split(":")[0].split(",") for i, line in enumerate(lines) if line == "{"]
    own = sum(bool({"Memcheck", "core"} & set(t)) for t in tools)
    return own, len(tools) - own


def main():
    files = sorted({f for place in PLACES for f in glob.glob(place)})
    wrong = total = 0
    for path in files:
        done = subprocess.run([RTCHECK, "--json=out.json", "--stale-suppressions", "--suppressions=" + path, "true"],
                              capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, XDG_STATE_HOME=os.getcwd()))
        if done.returncode != 0:
            print("%s: status %d: %s" % (path, done.returncode, done.stderr))
            wrong += 1
            continue
        with open("out.json") as f:
            rules = [r for r in json.load(f)["suppressions"] if r["grammar"] != "built_in"]
        own, others = entries(path)
        looked_for = sum(not r["not_ours"] for r in rules)
        passed = re.search(r"; (\d+) rules? about findings that are not detected", done.stderr)
        total += len(rules)
        print("%s: %d entries, %d for other tools, %d about freeing and leaks" % (path, own + others, others, looked_for))
        if len(rules) != own or int(passed[1] if passed else 0) != own + others - looked_for:
            print("  but %d rules were read, and of %s it was said that they are not looked for" % (len(rules), passed and passed[1]))
            wrong += 1
    if len(files) < LEAST or total == 0:
        print("only %d files with %d rules" % (len(files), total))
        wrong += 1
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# rtc-test: suppress/recipes ci 60
"""The commands of docs/suppressions.md for suppressions, filters and baselines: its file of rules is accepted, its commands have the
documented results."""
import os
import re
import subprocess
import sys

from checks import must, write

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../stress")
from blocks import block

BUILD = os.environ["RTC_BUILD"]
THREE = BUILD + "/tests/suppress/three"


def run(command):
    env = dict(os.environ, XDG_STATE_HOME=os.getcwd(), PATH=BUILD + "/bin:" + os.environ["PATH"])
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=env, timeout=60)
    print("%d: %s" % (done.returncode, command))
    return done


def main():
    rules = block("docs/suppressions.md", "Memcheck:Leak")
    making = block("docs/suppressions.md", "rtcheck suppress add")
    parts = block("docs/suppressions.md", "rtcheck --only-module")
    baseline = block("docs/suppressions.md", "rtcheck --baseline")
    os.symlink(THREE, "prog")
    write("readme.supp", rules)
    done = run("rtcheck --suppressions=readme.supp --print-suppressions --stale-suppressions ./prog")
    must(done.returncode == 7 and "1 time, 10 B: readme.supp:3 (a stack, " in done.stderr, done.stderr)
    must(done.stderr.count(" unused: readme.supp:") == 4, done.stderr)

    generate, add, use = [re.sub(r" +#.*", "", line) for line in making.splitlines()]
    ids = re.findall(r"^\{\n   (\S+)\n", run(generate).stderr, re.M)
    must(len(ids) == 5, ids)
    must(run(use).returncode == 125, "there is no file yet")
    for i in ids:
        run("rtcheck ./prog")
        must(run(add.replace("mel-15787c7f", i)).returncode == 0, i)
    must(run(use).returncode == 7, "all are suppressed")

    module, skip, thread = [run(re.sub(r" +#.*", "", line)) for line in parts.splitlines()]
    must("; 5 findings filtered; " in module.stderr, module.stderr)
    must(all(done.returncode == 7 and "filtered" not in done.stderr for done in (skip, thread)), skip.stderr, thread.stderr)

    update, compare = baseline.splitlines()
    must(run(update).returncode == 7 and run(compare).returncode == 7, "the baseline")
    write("leaks.json", '{"schema":"rtcheck-baseline/1","findings":[]}')
    must(run(compare).returncode == 23, "nothing is known")


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A program's handler of a fault observes the same as natively, and the program ends as natively: each kind of fault, each way to
handle it, without and with heap errors that have no effect natively, in each mode of rtcheck.

    faults.py [--sample N] [--only KIND WAY]; of two kinds a sample has each way
"""
# rtc-test: crimes/faults ci 120 --sample 190
# rtc-test: crimes/faults-full full 1800
import argparse
import itertools
import os
import random
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True # the checkout may be another's
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../stress")
from checks import check, end

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/crimes/faults"
RTCHECK = [BUILD + "/bin/rtcheck", "--leaks=no", "--log-file=/dev/null"]
# Killed programs leave their run files: here.
ENVIRONMENT = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": os.getcwd(), "RTCHECK_POOL_DIR": os.getcwd()}
SEED = 11

# name: (command before the program, environment)
MODES = {
    "preload": ([], {"LD_PRELOAD": BUILD + "/lib/librtcheck.so"}),
    "rtcheck": (RTCHECK, {}),
    "guard=all": (RTCHECK + ["--guard=all"], {}),
    "guard=end": (RTCHECK + ["--guard=end"], {}),
    "guard=all, mprotect": (RTCHECK + ["--guard=all"], {"RTCHECK_TEST_WITHOUT": "guard_pages"}),
    "heap=file": (RTCHECK + ["--heap=file"], {}),
}


def run(arguments, before=(), variables=()):
    """(status, output) of the program; what rtcheck writes goes to another place"""
    done = subprocess.run([*before, PROGRAM, *arguments], capture_output=True, text=True, check=False, timeout=60,
                          env={**ENVIRONMENT, **dict(variables)})
    return done.returncode, done.stdout


def compare(cell):
    """[(cell, in a mode, natively)]"""
    arguments, modes = cell
    natively = run(arguments)
    return [((*arguments, mode), run(arguments, *MODES[mode]), natively) for mode in modes]


def cells_of(options):
    kinds, ways = (line.split() for line in run([])[1].splitlines())
    all_arguments = [[kind, way, *more] for kind, way, more in itertools.product(kinds, ways, ([], ["touch"]))]
    if options.only:
        all_arguments = [a for a in all_arguments if all(only in ("all", name) for only, name in zip(options.only, a))]
    if not options.sample:
        return [(arguments, list(MODES)) for arguments in all_arguments]
    chosen = random.Random(SEED)
    always = [([kind, way], ["guard=all"]) for kind in ("null_read", "sent") for way in ways]
    return always + [(arguments, [chosen.choice(list(MODES))]) for arguments in chosen.sample(all_arguments, options.sample)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int)
    parser.add_argument("--only", nargs=2)
    cells = cells_of(parser.parse_args())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with ThreadPoolExecutor(2) as pool:
        for results in pool.map(compare, cells):
            for name, got, natively in results:
                check(" ".join(name), "status %d\n%s" % got, "status %d\n%s" % natively)
    print(sum(len(modes) for _, modes in cells), "runs in", len(cells), "cells")
    end()


main()

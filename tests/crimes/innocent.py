#!/usr/bin/env python3
"""A program without errors that uses all legal operations: nothing is reported."""
# rtc-test: crimes/innocent ci 300
# rtc-test: crimes/innocent-full full 1800 --full
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ["RTC_BUILD"]
STATUS = 7
SETTINGS = ["", "heap=file", "malloc_fill=0xa5", "free_fill=no", "freelist_vol=0", "freelist_vol=64",
            "freelist_vol=4m:malloc_fill=0xb5:free_fill=0xb5", "frames=0"]
full = "--full" in sys.argv
failed = 0


def programs():
    """Those of the tested build, and builds by other compilers."""
    yield BUILD + "/tests/crimes/innocent"
    for compiler, level in (("clang++", "-O2"), ("g++", "-O0")) if full else ():
        program = os.path.abspath("innocent-%s%s" % (compiler, level))
        subprocess.run([compiler, "-std=c++17", level, "-g", "-fno-builtin", "-fsized-deallocation", "-o", program,
                        HERE + "/innocent.cc", "-pthread"], check=True)
        yield program


def run(program, setting, seed):
    global failed
    folder = tempfile.mkdtemp(dir=os.getcwd())
    env = dict(os.environ, LD_PRELOAD=BUILD + "/lib/librtcheck.so", RTCHECK_REPORTER="none",
               RTCHECK_OPTIONS=":".join(["keep", setting] if setting else ["keep"]), RTCHECK_POOL_DIR=folder)
    # A child's copy of a heap in the file may be torn where threads write in it: see ARCHITECTURE.md.
    early_fork = ["apart"] if "heap=file" in setting else []
    done = subprocess.run([program, "60000" if full else "20000", str(seed), *early_fork], env=env, capture_output=True, text=True,
                          check=False, timeout=300)
    errors, images = [], 0
    for pool in os.listdir(folder):
        dump = subprocess.run([BUILD + "/bin/rtcheck", "dump", "%s/%s" % (folder, pool)], capture_output=True,
                              text=True, check=False).stdout
        errors += re.findall(r"^ *error \d.*", dump, re.M) + re.findall(r"errors_unrecorded=[1-9]\d*", dump)
        images += len(re.findall(r"^ *image \d+ parent", dump, re.M))
        if "verify: good" not in dump:
            errors.append("not a good run file: " + dump[-300:])
    print("%s, %s, seed %d: status %d, %d images, %d errors" % (
        os.path.basename(program), setting or "as it is", seed, done.returncode, images, len(errors)), flush=True)
    for error in errors[:5]:
        print("  " + error)
    if done.returncode != STATUS or errors or images != 5:
        failed = 1
    shutil.rmtree(folder)


for number, made in enumerate(programs()):
    for place, what in enumerate(SETTINGS):
        for repeat in range(6 if full else 1):
            run(made, what, 1 + repeat * 100 + number * 10 + place)
sys.exit(failed)

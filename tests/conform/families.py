#!/usr/bin/env python3
"""The record of each block names the function that allocated it."""
# rtc-test: conform/families ci 60
import os
import re
import subprocess
import sys

BUILD = os.environ["RTC_BUILD"]
WANTED = {701: "malloc", 702: "new", 703: "new[]", 704: "aligned", 705: "new aligned", 706: "new[] aligned",
          707: "malloc", 708: "malloc", 709: "malloc", 710: "new[]"}

os.mkdir("pool")
env = dict(os.environ, LD_PRELOAD=BUILD + "/lib/librtcheck.so", RTCHECK_OPTIONS="keep:pool_dir=" + os.path.abspath("pool"))
done = subprocess.run([BUILD + "/tests/conform/families"], env=env, capture_output=True, text=True, check=True)
if done.stdout != "thrown\nthrown\n":
    sys.exit(f"the program says {done.stdout!r}")
name, = os.listdir("pool")
dump = subprocess.run([BUILD + "/bin/rtcheck", "dump", "pool/" + name], capture_output=True, text=True, check=True).stdout
found = {int(size): family for family, size in re.findall(r" live (\S+(?: aligned)?) flags.* size=(7[01]\d) ", dump)}
if found != WANTED:
    sys.exit(f"recorded as {found}, wanted {WANTED}")
print(len(found), "blocks")

#!/usr/bin/env python3
"""Memory that the program has poisoned: each access is found with --access=full, with its place, and calls also in blocks;
the same accesses after unpoisoning, and those beside the poison, are silent; without --access=full nothing is poisoned."""
# rtc-test: crimes/poison ci 120
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True # the checkout may be another's
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../stress")
from checks import check, end

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/crimes/poison"
BLOCK = "a 64-byte block, poisoned by the program"
# Of each case: the function of the access, or the caller of libc's, and its sentence.
WANTED = {
    "in_block": [("load_1", f"read of 1 byte, at offset 16 of {BLOCK}"), ("store_8", f"write of 8 bytes, at offset 40 of {BLOCK}"),
                 ("call_memcpy", f"read of 16 bytes by memcpy, at offset 8 of {BLOCK}")],
    "in_part": [("load_1", f"read of 1 byte, at offset 3 of {BLOCK}")],
    "in_reused": [("load_1", f"read of 1 byte, at offset 0 of {BLOCK}")],
    "in_data": [("load_1", r"read of 1 byte in memory poisoned by the program, in .*poison.*")],
    "in_mapping": [("store_8", r"write of 8 bytes in memory poisoned by the program, in memory mapped .*")],
    "in_thread": [("store_8", f"write of 8 bytes, at offset 8 of {BLOCK}")],
}


def found(case, how, *options):
    """(function, sentence) of each error; output and status are those without rtcheck."""
    environment = {**os.environ, "XDG_CACHE_HOME": os.getcwd()}
    native = subprocess.run([PROGRAM, case, how], capture_output=True, text=True, check=False, timeout=60)
    done = subprocess.run([BUILD + "/bin/rtcheck", "-q", "--leaks=no", "--json=out.json", *options, PROGRAM, case, how],
                          capture_output=True, text=True, check=False, timeout=120, env=environment)
    if case != "answers":
        check(f"{case} {how} {options}: output", (done.stdout, done.returncode), (native.stdout, native.returncode))
    with open("out.json", encoding="utf8") as file:
        report = json.load(file)
    functions = {f["id"]: f.get("function") for f in report["frames"]}
    stacks = {s["id"]: [functions[f] for f in s["frames"]] for s in report["stacks"]}
    return done.stdout, [(stacks[e["stack"]][0], e["text"]) for e in report["errors"]]


for case, wanted in WANTED.items():
    errors = found(case, "bad", "--access=full")[1]
    check(f"{case}: functions", sorted(name for name, _ in errors), sorted(name for name, _ in wanted))
    for name, sentence in wanted:
        texts = [text for function, text in errors if function == name]
        check(f"{case}: {texts} is {sentence}", any(re.fullmatch(sentence, text) for text in texts), True)
    check(f"{case}: after unpoisoning", found(case, "good", "--access=full")[1], [])
    check(f"{case}: without --access=full", found(case, "bad")[1], [])
check("poisoned addresses", found("answers", "bad", "--access=full"), ("1 0 1 \n", []))
end()

#!/usr/bin/env python3
# rtc-test: crimes/heap_in_file ci 120
"""With heap=file, in memory and on a disk, programs with errors and leaks have the report that they have with heap=private.

By the launcher and by hand; compared are status, output, text and findings.  tools/test --heap=file runs all tests so.
"""
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile

BUILD = os.environ["RTC_BUILD"]
PROGRAMS = ("demo/demo", "crimes/classes", "crimes/regions", "crimes/overflow", "leaks/choices", "leaks/manual", "leaks/lsan",
            "leaks/ends coroutine", "leaks/ends children", "stacks/lost low", "stacks/smash 3", "crimes/catch end_of_9",
            "leaks/holders_mapped block_with_guard lost return", "leaks/holders_mapped small_block_with_guard held return")
VARIES = r"; run file: .*|(?<=mapped by the program )\(.*?\)"  # adjacent mappings are one
PLACES = ("/dev/shm", "/var/tmp")
LIMIT = r", in a heap of 256.0 GiB( in [^ \n]+)?"  # of the allocation that fails in demo


def report_of(words, how, options, folder):
    """Status, output, text and findings of a run, in `folder`."""
    log, json_file = folder + "/log", folder + "/json"
    options = ["--deterministic", "--log-file=" + log, "--json=" + json_file, "--allow-unchecked", *options]
    env = dict(os.environ, XDG_STATE_HOME=folder)
    if how == "launcher":
        words = [BUILD + "/bin/rtcheck", *options, *words]
    else:
        env["LD_PRELOAD"] = BUILD + "/lib/librtcheck.so"
        env["RTCHECK_OPTIONS"] = ":".join(o[2:] for o in options)
    done = subprocess.run(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    if how == "hand" and done.returncode < 0:  # a killed process writes no report
        return done.returncode, done.stdout, "", []
    with open(log, encoding="utf-8") as f:
        text = re.sub(VARIES, "", re.sub(r" +", " ", f.read()))
    with open(json_file, encoding="utf-8") as f:
        report = json.load(f)
    findings = sorted((f["id"], f["count"] if "count" in f else f["blocks"], f["bytes"]) for f in report["errors"] + report["leaks"])
    return done.returncode, done.stdout, text, findings


def run(program, how, heap, place):
    words = program.split()
    with tempfile.TemporaryDirectory(prefix="rtcheck.", dir=place) as pool, tempfile.TemporaryDirectory() as folder:
        return report_of([BUILD + "/tests/" + words[0], *words[1:]], how, [heap, "--pool-dir=" + pool], folder)


def differences(program, how):
    private = run(program, how, "--heap=private", None)
    if program == "demo/demo" and len(private[3]) != 10:
        yield program, how, "findings:", private[3]
    for place in PLACES:
        in_file = run(program, how, "--heap=file", place)
        text = re.sub(LIMIT, "", in_file[2])
        if program == "demo/demo" and text == in_file[2]:
            yield program, how, place, "the heap is not in the file"
        for got, wanted in zip((in_file[0], in_file[1], text, in_file[3]), private):
            if got != wanted:
                yield program, how, place, *difflib.ndiff(str(wanted).splitlines(), str(got).splitlines())


def main():
    wrong = [d for program in PROGRAMS for how in ("launcher", "hand") for d in differences(program, how)]
    for words in wrong:
        print(*words, sep="\n  ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

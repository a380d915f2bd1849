#!/usr/bin/env python3
"""The sentence of a crash, word for word, in every cell of a table: 14 kinds of crash, with and without symbols and debug
information, in the main thread and in another one, without and with a handler of the program, with and without -q.
The status is the native one.

    crash_matrix.py [--sample N]
"""
# rtc-test: crimes/crash-matrix ci 120 --sample 60
# rtc-test: crimes/crash-full full 900
import argparse
import itertools
import os
import random
import re
import resource
import shutil
import subprocess
import sys

import wording

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/crimes/crash"
STRIPPED = os.environ["TMPDIR"] + "/stripped/crash"
SEED = 7
failed = 0

# The sentence with symbols; a pair: with and without them.
SENTENCES = {
    "by_null": r"SIGSEGV: read of 8 bytes at NULL \+ 48",
    "by_null_call": r"SIGSEGV: execution at NULL \+ 0",
    "by_wild": r"SIGSEGV: read of 8 bytes at an address that is not mapped, 0x10000000000",
    "by_wild_far": r"SIGSEGV: read of 8 bytes at a non-canonical address, 0x4d3c2b1a00112233",
    "by_mapping": r"SIGSEGV: read of 1 byte in memory mapped by the program, 0x[0-9a-f]+064: not permitted",
    "by_unmapped": r"SIGSEGV: write of 1 byte at an address that was unmapped, 0x[0-9a-f]+388",
    "by_data_call": (r"SIGSEGV: execution in [.]data of crash: data .*: not permitted",
                     r"SIGSEGV: execution in static data of crash [(][.]data[+].*: not permitted"),
    "by_divide": r"SIGFPE: integer division by zero, or a quotient that is too large",
    "by_illegal": r"SIGILL: illegal instruction",
    "by_file_end": r"SIGBUS: access past the end of a mapped file",
    "by_abort": r"SIGABRT: abort\(\)",
    "by_smash": r"SIGABRT: abort\(\), by the stack protector: a buffer on the stack was overrun",
    "by_raise": r"SIGSEGV, sent by the program itself",
    "by_queued_signal": r"SIGBUS, sent by the program itself",
}
# Not faults: they do not happen again after a handler that returns; an abort inside libc does, but is not seen.
SENT = ("by_smash", "by_raise", "by_queued_signal")
# After a handler that returns, the program waits in pause; the handler may run in the main thread.
CELLS = [cell for cell in itertools.product(SENTENCES, ("symbols", "stripped"), ("main", "thread"),
                                            ("none", "return", "jump", "exit"), ((), ("-q",)))
         if cell[0] != "by_queued_signal" or cell[3] in ("none", "exit")]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))


def expected(way, form, where, handler):
    """The first line of the crash; None: the program survives, or libc ends it after a handler of abort."""
    if handler in ("jump", "exit") or handler == "return" and way in SENT:
        return None
    sentence = SENTENCES[way]
    if isinstance(sentence, tuple):
        sentence = sentence[form == "stripped"]
    if way == "by_queued_signal" and where == "thread":
        return " sig-[0-9a-f]{8}  " + sentence + r", (main thread|thread \d+)"  # the kernel chooses the thread
    return " sig-[0-9a-f]{8}  " + sentence + (", main thread" if where == "main" else r", thread \d+")


def check(way, form, where, handler, options):
    global failed
    program = PROGRAM if form == "symbols" else STRIPPED
    native, done = (run(*before, program, way, where, handler) for before in ((), (BUILD + "/bin/rtcheck", "--leaks=no", *options)))
    heads = [finding.splitlines()[0] for finding in wording.all_findings(done.stderr)]
    want = expected(way, form, where, handler)
    good = not heads if want is None else len(heads) == 1 and re.fullmatch(want, heads[0])
    if good and done.returncode == native.returncode:
        return
    failed += 1
    print("WRONG", way, form, where, handler, *options, "status %d, natively %d" % (done.returncode, native.returncode), want,
          done.stderr, sep="\n  ")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=len(CELLS))
    cells = random.Random(SEED).sample(CELLS, parser.parse_args().sample)
    os.mkdir(os.path.dirname(STRIPPED))
    shutil.copy(PROGRAM, STRIPPED)
    subprocess.run(["strip", "--strip-all", STRIPPED], check=True)
    for cell in cells:
        check(*cell)
    print(len(cells), "cells of", len(CELLS), "and", failed, "wrong")
    return failed != 0


sys.exit(main())

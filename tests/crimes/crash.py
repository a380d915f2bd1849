#!/usr/bin/env python3
"""A crash is an error of the report: its sentence, its stack, its JSON; and freed memory is named where the address
came from its fill, and nowhere else."""
# rtc-test: crimes/crash ci 120
import json
import os
import re
import resource
import subprocess
import sys

import wording

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/crimes/crash"
WORDS = "the address was read from freed memory"
failed = 0


def ways(beginning):
    listed = subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout.split()
    return [way for way in listed if way.startswith(beginning)]


def check(way, suspected, *options):
    global failed
    done = subprocess.run([BUILD + "/bin/rtcheck", *options, PROGRAM, way], capture_output=True, text=True, check=False,
                          timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    printed = WORDS in done.stderr
    if printed != suspected or done.returncode >= 0 or "no errors" in done.stderr and "killed" not in done.stderr:
        failed = 1
    print("%s %s: status %d, %s%s" % (way, " ".join(options), done.returncode, "suspected" if printed else "not suspected",
                                      "" if printed == suspected else ": WRONG\n" + done.stderr))


# The sentence of each crash, and the first functions of its stack, those of libc left out.
SENTENCES = {
    "by_null": ("SIGSEGV: read of 8 bytes at NULL \\+ 48", "by_null"),
    "by_null_call": ("SIGSEGV: execution at NULL \\+ 0", "by_null_call"),
    "by_wild": ("SIGSEGV: read of 8 bytes at an address that is not mapped, 0x10000000000", "by_wild"),
    "by_wild_far": ("SIGSEGV: access of 8 bytes at a non-canonical address, 0x4d3c2b1a00112233", "by_wild_far"),
    "by_read_only": ("SIGSEGV: write of 8 bytes in [.]rodata of crash: by_read_only::constant\\[2\\] .*: not permitted",
                     "by_read_only"),
    "by_mapping": ("SIGSEGV: read of 1 byte in memory mapped by the program, 0x[0-9a-f]+064: not permitted", "by_mapping"),
    "by_abort": ("SIGABRT: abort\\(\\)", "by_abort"),
    "by_assertion": ("SIGABRT: abort\\(\\), by a failed assertion", "by_assertion"),
    "by_smash": ("SIGABRT: abort\\(\\), by the stack protector: a buffer on the stack was overrun", "by_smash"),
    "by_raise": ("SIGSEGV, sent by the program itself", "by_raise"),
    "by_queued_signal": ("SIGBUS, sent by the program itself", "by_queued_signal"),
    "by_divide": ("SIGFPE: integer division by zero, or a quotient that is too large", "by_divide"),
    "by_illegal": ("SIGILL: illegal instruction", "by_illegal"),
    "by_file_end": ("SIGBUS: access past the end of a mapped file", "by_file_end"),
    "by_data_call": ("SIGSEGV: execution in [.]data of crash: data .*: not permitted", "by_data_call"),
    "by_deep_seen": ("SIGSEGV: write of 1 byte below the end of the stack \\(stack overflow\\)", "deeper"),
    "by_thread": ("SIGSEGV: read of 1 byte at NULL \\+ 8", "in_thread"),
    "of_call_by_register": ("SIGSEGV: execution at a non-canonical address, 0x(fd){8}; the address was read from freed "
                            "memory", "of_call_by_register"),
    "of_short": ("SIGSEGV: read of 1 byte at an address that is not mapped, 0xfdfdfdfd; the address was read from freed memory",
                 "of_short"),
}


def wrong(way, words):
    global failed
    failed = 1
    print("WRONG", way, words)


def sentence(way, *options):
    want, function = SENTENCES[way]
    path = os.environ["TMPDIR"] + "/crash.json"
    done = subprocess.run([BUILD + "/bin/rtcheck", "--json=" + path, *options, PROGRAM, way], capture_output=True, text=True,
                          check=False, timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    first = (wording.all_findings(done.stderr) or [""])[0].splitlines()
    if not first or not re.fullmatch(r" sig-[0-9a-f]{8}  " + want + r", (main thread|thread \d+)", first[0]):
        return wrong(way, "%s is not the first error:\n%s" % (want, done.stderr))
    rows = [line[18:].split()[0] for line in first[1:]]
    if function not in rows or not first[1].startswith("     crashed"):
        return wrong(way, "the stack begins with %s" % rows[:4])
    with open(path) as f:
        report = json.load(f)
    errors = [e for e in report["errors"] if e["rtc"] == "sig"]
    if len(errors) != 1 or errors[0]["crash"]["signal"] != want.split(":")[0].split(",")[0] or errors[0]["class"] != "error":
        return wrong(way, "JSON: %s" % errors)
    return print(way, " ".join(options), "ok")


# The lines of other tools' reports that programs look for.
FORMATS = {
    ("valgrind", "by_null"): ("Invalid read of size 8$", "Process terminating with default action of signal 11 [(]SIGSEGV[)]$"),
    ("valgrind", "by_read_only"): ("Invalid write of size 8$", "Process terminating"),
    ("valgrind", "by_null_call"): ("Jump to the invalid address stated on the next line$", "Process terminating"),
    ("valgrind", "by_abort"): ("Process terminating with default action of signal 6 [(]SIGABRT[)]$",),
    ("lsan", "by_null"): ("ERROR: AddressSanitizer: SEGV on unknown address 0x000000000030 ",
                          "The signal is caused by a READ memory access[.]$", "^SUMMARY: AddressSanitizer: SEGV .* in by_null$"),
    ("lsan", "by_divide"): ("ERROR: AddressSanitizer: FPE on unknown address ", "^SUMMARY: AddressSanitizer: FPE .* in by_divide$"),
}


def in_format(form, way, lines):
    done = subprocess.run([BUILD + "/bin/rtcheck", "--format=" + form, PROGRAM, way], capture_output=True, text=True, check=False,
                          timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    for line in lines:
        if len(re.findall(line, done.stderr, re.MULTILINE)) != 1:
            wrong(way, "--format=%s has not one line %s:\n%s" % (form, line, done.stderr))
    if "free()" in done.stderr or "attempting free" in done.stderr:
        wrong(way, "--format=%s has a free:\n%s" % (form, done.stderr))


for name in SENTENCES:
    sentence(name)
for _ in range(8):  # the frames lie differently in pages from run to run
    sentence("by_deep_seen")
for (form, name), lines in FORMATS.items():
    in_format(form, name, lines)
for name in ("by_null", "by_abort", "by_thread"):
    sentence(name, "-q")
    sentence(name, "--leaks=no")

for name in ways("by_"):
    check(name, False)
for name in ways("of_"):
    check(name, True)
for name in ("of_member", "of_call", "of_strlen"):
    for fill in ("0x01", "0x5a", "0x7f", "0x80", "0xfe"):
        check(name, True, "--free-fill=" + fill)
check("of_member", True, "--free-fill=0xff")
for fill in ("0xff", "0x01", "0x4d"):
    for name in ("by_null", "by_wild", "by_wild_far", "by_null_call"):
        check(name, False, "--free-fill=" + fill)
# Zero-filled memory reads as NULL; unfilled memory keeps its contents.
check("of_member", False, "--free-fill=0")
check("of_member", False, "--free-fill=no")
sys.exit(failed)

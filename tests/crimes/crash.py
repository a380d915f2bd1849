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


NON_CANONICAL = "SIG(?:SEGV|BUS): %s at a non-canonical address, 0xde([89a-f][0-9a-f]){3}[0-9a-f]{8}; the address was read from freed memory"
# Of the variable, or of the call before it: where the stack ends differs from run to run.
BELOW_STACK = r"SIGSEGV: write( of \d bytes?)? below the end of the stack of the main thread \(stack overflow\)"
BLOCK = ", from a block of 40 bytes"
LIKELY = ", perhaps from a block of 40 bytes"
NODE = ", from a block of 88 bytes"
POSSIBLY = "(, perhaps from a block of 88 bytes)?"  # the compiler decides whether a register still points to it

REUSED = ", whose block is no longer known, or from uninitialised memory of a block of %d bytes in its place"

# The sentence of each crash, and the first functions of its stack, those of libc left out.
SENTENCES = {
    "by_null": ("SIGSEGV: read of 8 bytes at NULL \\+ 48", "by_null"),
    "by_null_call": ("SIGSEGV: execution at NULL \\+ 0", "by_null_call"),
    "by_wild": ("SIGSEGV: read of 8 bytes at an address that is not mapped, 0x10000000000", "by_wild"),
    "by_wild_far": ("SIGSEGV: read of 8 bytes at a non-canonical address, 0x4d3c2b1a00112233", "by_wild_far"),
    "by_wild_far_write": ("SIGSEGV: write of 2 bytes at a non-canonical address, 0x4d3c2b1a00112233", "by_wild_far_write"),
    "by_wild_far_copy": ("SIGSEGV: write of 1 byte at a non-canonical address, 0x4d3c2b1a00112233", "by_wild_far_copy"),
    "by_wild_far_return": ("SIGSEGV: execution at a non-canonical address, 0x4d3c2b1a00112233", "by_wild_far_return"),
    "of_call": (NON_CANONICAL % "execution" + NODE, "of_call"),
    "by_read_only": ("SIGSEGV: write of 8 bytes in [.]rodata of crash: by_read_only::constant\\[2\\] .*: not permitted",
                     "by_read_only"),
    "by_mapping": ("SIGSEGV: read of 1 byte in memory mapped by the program, 0x[0-9a-f]+064: not permitted", "by_mapping"),
    "by_unmapped": ("SIGSEGV: write of 1 byte at an address that was unmapped, 0x[0-9a-f]+388", "by_unmapped"),
    "by_unmapped_long_ago": ("SIGSEGV: write of 1 byte at an address that is not mapped, 0x[0-9a-f]+388", "by_unmapped_long_ago"),
    "by_moved": ("SIGSEGV: read of 1 byte at an address that was unmapped, 0x[0-9a-f]+388", "by_moved"),
    "by_detached": ("SIGSEGV: read of 1 byte at an address that was unmapped, 0x[0-9a-f]+064", "by_detached"),
    "by_mapped_again": ("SIGSEGV: read of 1 byte in memory mapped by the program, 0x[0-9a-f]+064: not permitted", "by_mapped_again"),
    "by_registers": ("SIGSEGV: read of 8 bytes at NULL \\+ 64", "by_registers"),
    "by_abort": ("SIGABRT: abort\\(\\)", "by_abort"),
    "by_abort_handled": ("SIGABRT: abort\\(\\)", "by_abort_handled"),
    "by_abort_handled_once": ("SIGABRT: abort\\(\\)", "by_abort_handled_once"),
    "by_abort_ignored": ("SIGABRT: abort\\(\\)", "by_abort_ignored"),
    "by_assertion": ("SIGABRT: abort\\(\\), by a failed assertion", "by_assertion"),
    "by_smash": ("SIGABRT: abort\\(\\), by the stack protector: a buffer on the stack was overrun", "by_smash"),
    "by_raise": ("SIGSEGV, sent by the program itself", "by_raise"),
    "by_queued_signal": ("SIGBUS, sent by the program itself", "by_queued_signal"),
    "by_divide": ("SIGFPE: integer division by zero, or a quotient that is too large", "by_divide"),
    "by_illegal": ("SIGILL: illegal instruction", "by_illegal"),
    "by_file_end": ("SIGBUS: access past the end of a mapped file", "by_file_end"),
    "by_data_call": ("SIGSEGV: execution in [.]data of crash: data .*: not permitted", "by_data_call"),
    "by_deep": (BELOW_STACK, "deeper"),
    "by_deep_seen": (BELOW_STACK, "deeper"),
    "by_thread": ("SIGSEGV: read of 1 byte at NULL \\+ 8", "in_thread"),
    "of_call_by_register": (NON_CANONICAL % "execution" + NODE, "of_call_by_register"),
    "of_short": ("SIGSEGV: read of 1 byte at an address that is not mapped, 0xfdfdfdfd; the address was read from freed memory" +
                 POSSIBLY, "of_short"),
    "of_register": (NON_CANONICAL % "read of 8 bytes" + BLOCK, "of_register"),
    "of_two_registers": (NON_CANONICAL % "read of 8 bytes" + BLOCK, "of_two_registers"),
    "of_two_blocks": (NON_CANONICAL % "read of 8 bytes" + BLOCK, "of_two_blocks"),
    "of_frame": (NON_CANONICAL % "read of 8 bytes" + BLOCK, "of_frame"),
    "of_member": (NON_CANONICAL % "read of 8 bytes" + NODE + ", and 40 was added", "of_member"),
    "of_write": (NON_CANONICAL % "write of 8 bytes" + NODE + ", and 80 was added", "of_write"),
    "of_strlen": (NON_CANONICAL % r"(read of \d+ bytes?|access)" + NODE + "(, and [0-9]+ was subtracted)?", "of_strlen"),
    "of_string": (NON_CANONICAL % "read of 8 bytes" + NODE, "of_string"),
    "of_computed": (NON_CANONICAL % "read of 8 bytes" + BLOCK + ", and 56 was added", "of_computed"),
    "of_reused": (NON_CANONICAL % "read of 8 bytes" + REUSED % 88, "of_reused"),
    "of_uninitialised": (NON_CANONICAL % "read of 8 bytes" + REUSED % 80, "of_uninitialised"),
    "of_released": (NON_CANONICAL % "read of 8 bytes" + ", whose block is not known", "of_released"),
}

NEW = NON_CANONICAL.replace("0xde", "0xb1").replace("freed memory", "uninitialised memory") + " of a block of %d bytes"
NEW_SENTENCES = {
    "new_member": (NEW % ("read of 8 bytes", 80) + ", and 40 was added", "new_member"),
    "new_call": (NEW % ("execution", 80), "new_call"),
    "new_copied": (NEW % ("read of 8 bytes", 80) + " that was freed since, and 24 was added", "new_copied"),
    "new_added": (NEW % ("read of 8 bytes", 80), "new_added"),
    "zero_of_calloc": (r"SIGSEGV: read of 8 bytes at NULL \+ 40", "zero_of_calloc"),
    "zero_written": (r"SIGSEGV: read of 8 bytes at NULL \+ 40", "zero_written"),
}

# With a byte for all blocks.
BYTE = {
    "of_register": LIKELY,
    "of_two_registers": LIKELY,
    "of_two_blocks": "",
    "of_frame": LIKELY,
}


# Parts of the fill that names the block are addresses.
OPTIONS = {"of_short": ("--free-fill=0xfd",), "of_tagged": ("--free-fill=0xfd",),
           "of_reused": ("--freelist-vol=0",), "of_uninitialised": ("--freelist-vol=0",)}


# The row of the call that unmapped the address.
UNMAPPED = {"by_unmapped": r"^ +munmap\(\) +unmap .*\n +by_unmapped ", "by_moved": r"^ +mremap\(\) +by_moved ",
            "by_detached": r"^ +unmapped +by_detached "}


def wrong(way, words):
    global failed
    failed = 1
    print("WRONG", way, words)


def source_block(way, report, error, text, how):
    """Its free and its allocation are printed, and it has no offset: the address is not in it."""
    near = error.get("near", {})
    if near.get("size") != 40 or near.get("state") != "freed" or near.get(how) is not True or \
            len({"offset", "before", "likely", "named"} & set(near)) != 1:
        wrong(way, "JSON: %s" % near)
    functions = {f["id"]: [g.get("function") for g in [f, *f.get("inlined_into", [])]] for f in report["frames"]}
    stacks = {s["id"]: [name for frame in s["frames"] for name in functions[frame]] for s in report["stacks"]}
    if any(stacks[error[key]][:1] != ["freed_of"] for key in ("free_stack", "alloc_stack")):
        wrong(way, "the stacks of the block: %s" % [stacks[error[key]] for key in ("free_stack", "alloc_stack")])
    if not re.search(r"^ +free\(\) +freed_of ", text, re.MULTILINE) or not re.search(r"^ +malloc\(\) +freed_of ", text, re.MULTILINE):
        wrong(way, "the rows of the block are missing:\n" + text)


def sentence(way, *options, byte=None):
    want, function = SENTENCES[way]
    if byte is not None:
        want = NON_CANONICAL.replace("de([89a-f][0-9a-f]){3}[0-9a-f]{8}", "(fd){8}") % "read of 8 bytes" + byte
    path = os.environ["TMPDIR"] + "/crash.json"
    done = subprocess.run([BUILD + "/bin/rtcheck", "--json=" + path, *options, PROGRAM, way], capture_output=True, text=True,
                          check=False, timeout=60, env=dict(os.environ, COLUMNS="1000"),  # the whole sentence on one line
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    first = (wording.all_findings(done.stderr) or [""])[0].splitlines()
    if not first or not re.fullmatch(r" sig-[0-9a-f]{8}  " + want + r", (main thread|thread \d+)", first[0]):
        return wrong(way, "%s is not the first error:\n%s" % (want, done.stderr))
    rows = [line[18:].split()[0] for line in first[1:]]
    if function not in rows or not first[1].startswith("     crashed"):
        return wrong(way, "the stack begins with %s" % rows[:4])
    with open(path) as f:
        report = json.load(f)
    errors = [e for e in report["errors"] if e["rtc"] == "sig"]
    if len(errors) != 1 or not re.fullmatch(re.split("[:,] ", want)[0], errors[0]["crash"]["signal"]) or errors[0]["class"] != "error":
        return wrong(way, "JSON: %s" % errors)
    if want.endswith((BLOCK, LIKELY)):
        source_block(way, report, errors[0], done.stderr, "likely" if want.endswith(LIKELY) else "named")
    if way in UNMAPPED and not re.search(UNMAPPED[way], done.stderr, re.MULTILINE):
        return wrong(way, "the call that unmapped it is missing:\n" + done.stderr)
    if way not in UNMAPPED and (errors[0]["crash"]["was_unmapped"] or "was unmapped" in done.stderr):
        return wrong(way, "was unmapped:\n" + done.stderr)
    return print(way, " ".join(options), "ok")


def in_child(way, want):
    """Recorded in a child that is not yet an image of the run: it has called nothing since its fork."""
    done = subprocess.run([BUILD + "/bin/rtcheck", PROGRAM, way], capture_output=True, text=True, check=False, timeout=60,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    first = (wording.all_findings(done.stderr) or [""])[0].splitlines()
    if done.returncode or not first or not re.fullmatch(r" sig-[0-9a-f]{8}  " + want + r", main thread, in process \d+ [(]crash[)]", first[0]):
        wrong(way, "%s is not the first error, status %d:\n%s" % (want, done.returncode, done.stderr))


# The lines of other tools' reports that programs look for.
FORMATS = {
    ("valgrind", "by_null"): ("Invalid read of size 8$", "Process terminating with default action of signal 11 [(]SIGSEGV[)]$"),
    ("valgrind", "by_read_only"): ("Invalid write of size 8$", "Process terminating"),
    ("valgrind", "by_null_call"): ("Jump to the invalid address stated on the next line$", "Process terminating"),
    ("valgrind", "of_register"): ("The address was read from a block of size 40 free'd$",
                                  "Address 0xde([89a-f][0-9a-f]){3}[0-9a-f]{8} is not stack'd, malloc'd or [(]recently[)] free'd$",
                                  "Block was alloc'd at$"),
    ("lsan", "of_register"): ("ERROR: AddressSanitizer: SEGV on unknown address 0xde([89a-f][0-9a-f]){3}[0-9a-f]{8} ", "freed by thread T0 here:$",
                              "previously allocated here:$"),
    ("valgrind", "new_member"): ("The address was read from a block of size 80 alloc'd$",
                                 "Address 0xb1([89a-f][0-9a-f]){3}[0-9a-f]{8} is not stack'd, malloc'd or [(]recently[)] free'd$"),
    ("valgrind", "by_abort"): ("Process terminating with default action of signal 6 [(]SIGABRT[)]$",),
    ("lsan", "by_null"): ("ERROR: AddressSanitizer: SEGV on unknown address 0x000000000030 ",
                          "The signal is caused by a READ memory access[.]$", "^SUMMARY: AddressSanitizer: SEGV .* in by_null$"),
    ("lsan", "by_divide"): ("ERROR: AddressSanitizer: FPE on unknown address ", "^SUMMARY: AddressSanitizer: FPE .* in by_divide$"),
}


def in_format(form, way, lines):
    done = subprocess.run([BUILD + "/bin/rtcheck", "--format=" + form, *(["--malloc-fill=block"] if way.startswith("new_") else []), PROGRAM, way], capture_output=True, text=True, check=False,
                          timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    for line in lines:
        if len(re.findall(line, done.stderr, re.MULTILINE)) != 1:
            wrong(way, "--format=%s has not one line %s:\n%s" % (form, line, done.stderr))
    if "free()" in done.stderr or "attempting free" in done.stderr:
        wrong(way, "--format=%s has a free:\n%s" % (form, done.stderr))


# Of C++ programs: the type of the exception.  Functions of the stack are those of the test above.
UNCAUGHT = "SIGABRT: abort(), by std::terminate"
EXCEPTIONS = {
    "of_runtime_error": ": uncaught std::runtime_error",
    "of_int": ": uncaught int",
    "of_pointer": ": uncaught char const*",
    "of_template": ": uncaught holder<std::string >",
    "of_hidden": ": uncaught (anonymous namespace)::hidden",
    "of_rethrow": ": uncaught std::out_of_range",
    "of_noexcept": ": uncaught std::runtime_error",
    "of_thread": ": uncaught std::runtime_error",
    "of_pointer_to_exception": ": uncaught int",
    "of_long_name": "",
    "by_joinable": "",
    "by_call_in_handler": "",
    "by_empty_rethrow": "",
    "by_abort_in_handler": None,
}


def exception(way, rest):
    path = os.environ["TMPDIR"] + "/crash.json"
    subprocess.run([BUILD + "/bin/rtcheck", "-q", "--json=" + path, PROGRAM + "_cxx", way], capture_output=True, check=False,
                   timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    with open(path) as f:
        error = json.load(f)["errors"][0]
    want = "SIGABRT: abort()" if rest is None else UNCAUGHT + rest
    if error["text"] != want:
        return wrong(way, "%s, not %s" % (error["text"], want))
    if rest and error["crash"].get("exception") != rest.split("uncaught ")[1]:
        return wrong(way, "JSON: %s" % error["crash"])
    return print(way, "ok")


def registers():
    """In `rtcheck show` and in JSON; not in output that must be equal in all runs."""
    directory = os.environ["TMPDIR"]
    env = dict(os.environ, XDG_STATE_HOME=directory)
    subprocess.run([BUILD + "/bin/rtcheck", "--keep", "--json=" + directory + "/crash.json",
                    PROGRAM, "by_registers"], capture_output=True, check=False, timeout=60, env=env,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    with open(directory + "/crash.json") as f:
        error = json.load(f)["errors"][0]
    got = error["crash"]["registers"]
    known = {"rax": 0x40, "rbx": 0x1122334455667788, "r8": 0xfeed, "r15": 2 ** 64 - 2, "rip": int(error["crash"]["pc"], 16)}
    if len(got) != 18 or any(int(got[name], 16) != value for name, value in known.items()):
        wrong("by_registers", "JSON: %s" % got)
    show = [BUILD + "/bin/rtcheck", "show", error["id"], directory + "/rtcheck/last"]
    shown = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    lines = [line for line in shown.splitlines() if re.search(r" 0x[0-9a-f]{16}( |$)", line)]
    if [re.findall(r"(\w+) +0x[0-9a-f]{16}", line) for line in lines] != [
            ["rip", "rsp", "rbp", "eflags"], ["rax", "rdx", "rcx", "rbx"], ["rsi", "rdi", "r8", "r9"],
            ["r10", "r11", "r12", "r13"], ["r14", "r15"]] or "  rbx    0x1122334455667788\n" not in shown:
        wrong("by_registers", "show:\n" + shown)
    if " 0x" in subprocess.run(show[:2] + ["--deterministic"] + show[2:], capture_output=True, text=True, check=True).stdout:
        wrong("by_registers", "registers in deterministic output")


def end_is_kept(way):
    """The program's handler runs as often as without rtcheck, and the program ends in the same way."""
    plain, checked = (subprocess.run([*words, PROGRAM, way], capture_output=True, text=True, check=False, timeout=60,
                                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
                      for words in ([], [BUILD + "/bin/rtcheck", "-q"]))
    if (plain.stdout, plain.returncode) != (checked.stdout, checked.returncode):
        wrong(way, "ends with %s, not %s" % ((checked.stdout, checked.returncode), (plain.stdout, plain.returncode)))


for name in ("by_abort", "by_abort_handled", "by_abort_handled_once", "by_abort_ignored"):
    end_is_kept(name)
def unmapped_by_file():
    """The run file alone has the call that unmapped the address."""
    directory = os.environ["TMPDIR"]
    env = dict(os.environ, XDG_STATE_HOME=directory)
    for way, row in UNMAPPED.items():
        subprocess.run([BUILD + "/bin/rtcheck", "--keep", PROGRAM, way], capture_output=True, check=False, timeout=60, env=env,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        done = subprocess.run([BUILD + "/bin/rtcheck", "report", directory + "/rtcheck/last"], capture_output=True,
                              text=True, check=False, timeout=60)
        if not re.search(row, done.stdout + done.stderr, re.MULTILINE):
            wrong(way, "the report of the run file lacks the call:\n" + done.stdout + done.stderr)


def named_by_file():
    """The run file alone has the block that the fill names."""
    directory = os.environ["TMPDIR"]
    subprocess.run([BUILD + "/bin/rtcheck", "--keep", PROGRAM, "of_register"], capture_output=True, check=False, timeout=60,
                   env=dict(os.environ, XDG_STATE_HOME=directory),
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    done = subprocess.run([BUILD + "/bin/rtcheck", "report", directory + "/rtcheck/last"], capture_output=True, text=True,
                          check=False, timeout=60)
    text = done.stdout + done.stderr
    if not all(re.search(row, text, re.MULTILINE) for row in (BLOCK, r"^ +free\(\) +freed_of ", r"^ +malloc\(\) +freed_of ")):
        wrong("of_register", "the report of the run file lacks the block:\n" + text)


unmapped_by_file()
named_by_file()
registers()
for (name, rest) in EXCEPTIONS.items():
    exception(name, rest)
for name in SENTENCES:
    sentence(name, *OPTIONS.get(name, ()))
in_child("child_null", SENTENCES["by_null"][0])
in_child("child_deep", BELOW_STACK)
for _ in range(8):  # the frames lie differently in pages from run to run
    sentence("by_deep_seen")
for name, words in BYTE.items():
    sentence(name, "--free-fill=fd", byte=words)
for (form, name), lines in FORMATS.items():
    in_format(form, name, lines)
SENTENCES.update(NEW_SENTENCES)
for name in NEW_SENTENCES:
    sentence(name, "--malloc-fill=block")
for name in ("of_member", "of_frame"):
    sentence(name, "--malloc-fill=block")
for name in ("by_null", "by_abort", "by_thread"):
    sentence(name, "-q")
    sentence(name, "--leaks=no")

for name in ways("by_"):
    check(name, False)
for name in ways("of_"):
    check(name, True, *OPTIONS.get(name, ()))
for name in ("of_member", "of_call", "of_strlen"):
    for fill in ("0x01", "0x5a", "0x7f", "0x80", "0xfd", "0xfe"):
        check(name, True, "--free-fill=" + fill)
check("of_member", True, "--free-fill=0xff")
for fill in ("0xff", "0x01", "0x4d"):
    for name in ("by_null", "by_wild", "by_wild_far", "by_null_call"):
        check(name, False, "--free-fill=" + fill)
# Zero-filled memory reads as NULL; unfilled memory keeps its contents.
check("of_member", False, "--free-fill=0")
check("of_member", False, "--free-fill=no")
sys.exit(failed)

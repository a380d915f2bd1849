#!/usr/bin/python3
# rtc-test: crimes/accesses ci 180
"""--access: calls of libc's functions that read or write beyond a block, or copy between overlapping ranges: one finding each,
with its function, sentence and line; and calls that touch exactly what they may: none."""
import json
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True # the checkout may be another's
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../stress")
from checks import check, end

BUILD, SOURCE = os.environ["RTC_BUILD"], os.environ["RTC_SOURCE"]
FOLDER = BUILD + "/tests/crimes/"
ENVIRONMENT = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": os.getcwd()}
INCOMPLETE = 120
SIZES = {"slab": 40, "large": 100000}


def run(program, *arguments, options=(), status=(0,)):
    """(output, errors as (code, entry, sentence, functions from the call on, line, count), the report)"""
    done = subprocess.run([BUILD + "/bin/rtcheck", "--leaks=no", "--json=report.json", "--log-file=log", *options, os.path.join(FOLDER, program),
                           *arguments], capture_output=True, text=True, timeout=100, check=False, env=ENVIRONMENT)
    check(f"{program} {arguments}: status, output of rtcheck", (done.returncode in status, done.stderr), (True, ""))
    with open("report.json") as file:
        report = json.load(file)
    frames = {f["id"]: f for f in report["frames"]}
    stacks = {s["id"]: [frames[f] for f in s["frames"]] for s in report["stacks"]}
    errors = []
    for e in report["errors"]:
        stack = [f for f in stacks.get(e.get("stack"), []) if not str(f.get("function")).startswith("with_list_")]
        errors.append((e["rtc"], e.get("entry"), e["text"], tuple(f.get("function") for f in stack[:2]),
                       stack[0].get("line") if stack else None, e["count"]))
    return done.stdout, sorted(errors, key=repr), report


def plain(program, *arguments):
    return subprocess.run([FOLDER + program, *arguments], capture_output=True, text=True, check=True, timeout=100).stdout


# ---- the table -------------------------------------------------------------------------------------------
def checked_functions():
    """functions.def, and the other names that are exported in the same place."""
    with open(SOURCE + "/src/boundary/functions.def") as file:
        names = set(re.findall(r"^FUNCTION\((\w+)\)$", file.read(), re.M))
    with open(SOURCE + "/src/boundary/system_calls.def") as file:
        names |= set(re.findall(r"^(?:CALL|INTERCEPTED)\((\w+),", file.read(), re.M))
    with open(SOURCE + "/src/rtcheck.map") as file:
        names_of_map = file.read()
    exported = re.search(r"\bmemcpy;.*?(?=rtc_event_)", names_of_map, re.S).group()
    check("functions.def is exported", names - set(re.findall(r"\w+", names_of_map)), set())
    return names | set(re.findall(r"\w+", exported))


def entry_of(function):
    """The name in reports: of a form for 64 bits, for _FORTIFY_SOURCE, C99, or without a lock, that of the plain function."""
    name = re.sub(r"^__(isoc99_)?|_chk$|_2$|_unlocked(?=$|_chk)", "", function)
    name = re.sub(r"^(l|f|)xstat", r"\1stat", name)
    return name if name == "getdents64" else re.sub(r"64(v2)?$", lambda m: "2" if m.group(1) else "", name)


def a_block(size):
    return f"a{'n' * (size in (8, 11, 80))} {size}-byte block"


def wanted_of(function, role, kind, line, copied, distance, unit):
    """The errors of a row: those in blocks in each place."""
    entry, name = entry_of(function), f"{function}_{role}"
    if kind == "OVERLAP":
        text = f"overlap of source and destination in {entry} of {copied} bytes, which are {distance} bytes apart"
        return [("ovl", entry, text, ("overlap_" + name, where), line, 1) for where in ("overlap_outside", "overlap_in_block")]
    found = []
    if kind.startswith("FIXED"):
        code, verb = ("wua", "write") if kind == "FIXED_WRITE" else ("rua", "read")
        for place, text in (("end", f", the last 1 past the end of {a_block(copied - 1)}"), ("past", f", just past the end of {a_block(copied)}"),
                            ("before", f", 8 bytes before {a_block(copied)}"), ("freed", f", at offset 0 of a freed {copied}-byte block")):
            if place != "before" or copied >= 16:
                found.append((code, entry, f"{verb} of {copied} bytes by {entry}{text}", ("call_" + name, "fixed_" + place), line, 1))
        return found
    for size_name, size in SIZES.items():
        block = f"{size}-byte block"
        for place, n, text in (("end", size + unit, f", the last {unit} past the end of a {block}"),
                               ("past", 4, f", just past the end of a {block}"),
                               ("far", 4, f", 4 bytes past the end of a {block}"),
                               ("before", 16, f", 8 bytes before a {block}"),
                               ("freed", size, f", at offset 0 of a freed {block}"),
                               ("freed_inside", 4, f", at offset 8 of a freed {block}")):
            if kind == "PATH" and size > 4096 and place == "end":
                continue  # the kernel reads at most 4,096 bytes
            is_write = kind == "WRITE" or (kind == "APPEND" and place == "end")
            if kind in ("STRING", "DIGITS", "BLANKS", "APPEND", "PATH") and place != "end":
                n = unit  # how far it reaches is not said
            text = f"{'write' if is_write else 'read'} of {n} byte{'s'[:n > 1]} by {entry}{text}"
            found.append(("wua" if is_write else "rua", entry, text, ("call_" + name, f"{size_name}_{place}"), line, 1))
    return found


rows = [(f, role, kind, *map(int, numbers)) for f, role, kind, *numbers in map(str.split, plain("accesses", "list").splitlines())]
crimes = [r for r in rows if r[2] in ("READ", "WRITE", "STRING", "DIGITS", "BLANKS", "APPEND", "PATH", "FIXED_READ", "FIXED_WRITE",
                               "OVERLAP")]
check("functions without a row", checked_functions() - {r[0] for r in crimes}, set())
check("rows without a function", {r[0] for r in rows} - checked_functions(), set())

# By default freed blocks hold their address: strings in them have any bytes, such as delimiters and digits.
wanted = sorted([e for r in crimes for e in wanted_of(*r)], key=repr)
for guard in ("no", "end", "start"):
    output, errors, report = run("accesses", "bad", options=("--access-every=1", "--error-limit=no", "--free-fill=fd", "--guard=" + guard))
    check(f"{guard}: processes that ended otherwise", [line for line in output.splitlines() if line.split()[2] != "0"], [])
    # what libc's own stores damage after the call was made is found there, too, if the block is guarded
    errors = [e for e in errors if guard == "no" or e in wanted or (e[0], e[1]) != ("wua", None)]
    check(f"{guard}: missed", [e for e in wanted if e not in errors], [])
    check(f"{guard}: not wanted", [e for e in errors if e not in wanted], [])
    check(f"{guard}: number of errors", len(errors), len(wanted))

native = plain("accesses", "silent")
for options in ((), ("--access-every=1",), ("--access=no",), ("--redzone-size=64",), ("--heap=file",), ("--guard=end",), ("--guard=start",)):
    output, errors, report = run("accesses", "silent", options=options)
    check(f"results {options}", output, native)
    check(f"twins {options}", errors, [])
check("--access=no", [e for e in run("accesses", "bad", options=("--access=no",))[1] if e[0] != "wua" or e[1] in
                      {entry_of(r[0]) for r in crimes}], [])
check("addresses that cannot be read", run("accesses", "unreadable")[0], plain("accesses", "unreadable"))


# ---- how often, where ------------------------------------------------------------------------------------
def cases(case, *options, status=(0,)):
    """Codes and sentences."""
    output, errors, _ = run("accesses_more", case, options=options, status=status)
    if 0 in status:
        check(f"{case}: output", output.splitlines()[-1:], ["done"])
    return [(e[0], e[2], e[5]) for e in errors]


def write(n, past):
    return ("wua", f"write of {n} bytes by memcpy, the last {past} past the end of a 40-byte block", 1)


ONE = [write(41, 1)]
check("once", cases("once"), ONE)
check("call 255", cases("early"), ONE)
check("call 5000", cases("late", "--access-every=1"), ONE)
check("two threads", cases("threads"), [(*ONE[0][:2], 2)])
check("no", [e for e in cases("once", "--access=no") if "memcpy" in e[1]], [])
check("a child", cases("forked"), ONE * 2)
check("the parent frees", cases("parent_frees"), [])
check("its child's status", "status 0" in run("accesses_more", "parent_frees")[0], True)
handled = cases("handler", status=(0, INCOMPLETE))  # those that interrupted the runtime are only counted
check("in a handler", {e[0] for e in handled} <= {"wua", "ovl"} and len(handled) >= 1, True)

# ---- together with late checks ----------------------------------------------------------------------------
AFTER_END = "wua", write(44, 4)[1], 1
check("once", cases("damaged_once"), [AFTER_END])
check("once, of a block that is moved", cases("damaged_and_moved"), [AFTER_END])
check("many", cases("damages_many"), [write(200, 160)])
FREED = ("wua", "write of 20 bytes by memcpy, at offset 0 of a freed 40-byte block", 1)
check("once, freed", cases("damaged_freed"), [FREED])
for case, call in (("damaged_twice", write(42, 2)), ("damaged_both", write(42, 2)), ("damaged_later", FREED)):
    found = cases(case)
    check(f"{case}: the call", [e for e in found if "memcpy" in e[1]], [call])
    check(f"{case}: another one", [e[0] for e in found if "memcpy" not in e[1]], ["wua"])
check("late only", [(e[0], "memcpy" in e[1]) for e in cases("directly")], [("wua", False)])
check("appended to a freed block", [e[0] for e in cases("appended_freed", "--free-fill=fd")], ["rua", "wua"])

# ---- arguments beside the text or the array -----------------------------------------------------------------
def freed(kind, function):
    return ("wua" if kind == "write" else "rua", f"{kind} of 8 bytes by {function}, at offset 0 of a freed 40-byte block", 1)


check("end of a number", cases("end_freed"), [freed("write", "strtod"), freed("write", "strtol")])
check("rest of a text", [e for e in cases("rest_freed", status=(-signal.SIGSEGV,)) if e[0] == "wua"],
      [freed("write", "strsep"), freed("write", "strtok_r")])
check("number of elements", cases("count_freed"), [freed("read", "lfind"), freed("read", "lsearch")])
check("between two tokens", cases("text_freed"), [("rua", "read of 1 byte by strtok, at offset 2 of a freed 40-byte block", 1)])
check("a freed template", cases("template_freed", "--free-fill=no"),
      [("rua", "read of 1 byte by mkstemps, at offset 0 of a freed 40-byte block", 1),
       ("rua", "read of 1 byte by unlink, at offset 0 of a freed 40-byte block", 1),
       ("wua", "write of 6 bytes by mkstemps, at offset 9 of a freed 40-byte block", 1)])
check("its files", run("accesses_more", "template_freed", options=("--free-fill=no",))[0], "1 1\ndone\n")
BYTES = (1 << 64) - 1
check("a product that wraps", cases("product"),
      [("rua", f"read of {BYTES} bytes by {f}, the last {BYTES - 40} past the end of a 40-byte block", 1) for f in ("bsearch", "lfind")])
check("a comparison that does not return", cases("comparison_jumps"), [])

# ---- a library with names of libc's, for something else ------------------------------------------------------
LIBRARY = """#include <stdlib.h>
int printf(const char *format, ...);
int rename(char *name, int id, double scale) { return (int)(scale * 10) + id; }
double access(const char *name, float f) { return f; }
int chdir(char *where, double x, double y) { return (int)(x + y); }
void run(void)
{
    char *s = malloc(4);
    for (int i = 0; i < 4; i++)
        s[i] = 'a';
    printf("%d %.1f %d\\n", rename(s, 1, 7.5), access(s, 2.5f), chdir(s, 40, 2));
    free(s);
}"""
for name, text in (("own_names.c", LIBRARY), ("main.c", "void run(void); int main(void) { run(); return 0; }")):
    with open(name, "w") as file:
        file.write(text)
subprocess.run(["cc", "-fno-builtin", "-shared", "-fPIC", "-o", "libown_names.so", "own_names.c"], check=True)
subprocess.run(["cc", "-o", "own_names", "main.c", "-L.", "-lown_names", "-Wl,-rpath," + os.getcwd()], check=True)
output, errors, report = run(os.path.abspath("own_names"), options=("--access-every=1",))
check("a library's own rename, access, chdir", (output, errors), ("76 2.5 42\n", []))

# ---- options ---------------------------------------------------------------------------------------------
check("--on-error=abort", cases("once", "--on-error=abort", status=(-signal.SIGABRT,))[-1:], ONE)
check("--on-error=exit", cases("once", "--on-error=exit", "--error-exitcode=5", status=(5,)), ONE)
output, errors, report = run("accesses_cxx", options=("--access-every=1",))
check("C++", (output, errors), (plain("accesses_cxx"), []))
end()

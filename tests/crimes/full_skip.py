#!/usr/bin/python3
# rtc-test: crimes/access-full-skip ci 60
"""--access-skip: bad accesses in the functions that its patterns match are not reported, those in all others are."""
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True # the checkout may be another's
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + "/../stress", HERE + "/../report"]
from checks import check, end
from validate_json import complaints

BUILD = os.environ["RTC_BUILD"]
WORK = os.getcwd()
ENVIRONMENT = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": WORK + "/state", "XDG_CACHE_HOME": WORK + "/cache"}
PLANS = WORK + "/cache/rtcheck/plans"
# Each function reads one byte past the end of a block.
PROGRAM = """
#include <stdlib.h>
extern "C" char in_library(volatile char *);
#define READ { return p[16]; }
#define NOT_MERGED __attribute__((noinline, noclone, noipa))
extern "C" NOT_MERGED char first(volatile char *p) READ
extern "C" NOT_MERGED char second(volatile char *p) READ
NOT_MERGED static char hidden(volatile char *p) READ
namespace store {
NOT_MERGED char take(volatile char *p) READ
NOT_MERGED char take(volatile char *p, int) READ
template <class T> NOT_MERGED T get(volatile T *p) READ
struct shelf { NOT_MERGED char operator[](volatile char *p) READ };
}
int main()
{
    volatile char *p = static_cast<volatile char *>(malloc(16));
    store::shelf shelf;
    int sum = first(p) + second(p) + hidden(p) + store::take(p) + store::take(p, 1) + store::get<char>(p) + shelf[p] + in_library(p);
    free(const_cast<char *>(p));
    return sum == 1;
}
"""
LIBRARY = "char in_library(volatile char *p); char in_library(volatile char *p) { return p[16]; }\n"
ALL = {"first", "second", "hidden", "take(char volatile*)", "take(char volatile*, int)", "get<char>", "operator[]", "in_library"}


def compiled(compiler, name, text, *options):
    language = "c" if compiler == "gcc" else "c++"
    done = subprocess.run([compiler, "-O1", "-fno-exceptions", "-x", language, "-", "-x", "none", "-o", name, *options], input=text,
                          capture_output=True, text=True, check=False)
    check(name, (done.returncode, done.stderr), (0, ""))


def function(frame):
    """As in ALL"""
    name = re.sub(r"^(.* )?store::(shelf::)?", "", frame["function"])
    return name if name.startswith("take") else re.sub(r"\(.*", "", name)


def run(*options, program="./program"):
    """The functions with errors, the text, and the objects by name"""
    command = [BUILD + "/bin/rtcheck", "--access=full", "--leaks=no", "--json=report.json", "--log-file=log", *options, program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT)
    check(f"status with {options}", (done.returncode, done.stderr), (0, ""))
    with open("report.json", encoding="utf8") as file, open("log", encoding="utf8") as log:
        report = json.load(file)
        text = log.read()
    check(f"schema with {options}", complaints(report), [])
    first = [report["frames"][report["stacks"][e["stack"]]["frames"][0]] for e in report["errors"]]
    found = [function(frame) for frame in first]
    check(f"each once with {options}", len(found), len(set(found)))
    return set(found), text, {os.path.basename(o["path"]): o for o in report["objects"]}


def rtcheck(*words):
    done = subprocess.run([BUILD + "/bin/rtcheck", *words], capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT)
    return done.returncode, done.stdout, done.stderr


compiled("gcc", "libskip.so", LIBRARY, "-shared", "-fPIC")
compiled("g++", "program", PROGRAM, "-L.", "-Wl,-rpath," + WORK, "-lskip")
check("without the option", run()[0], ALL)
listed = rtcheck("plans", "--functions=program")[1]
check("nothing is skipped", "access-skip" in listed or "access-skip" in run()[1], False)

# ---- patterns ----------------------------------------------------------------------------------------------------
symbols = subprocess.run(["nm", "program"], capture_output=True, text=True, check=True).stdout
at = {name: int(address, 16) for address, name in re.findall(r"^(\w+) [tTW] (\S+)$", symbols, re.M)}
for patterns, skipped in (("first", {"first"}), ("second,hidden", {"second", "hidden"}), ("f?rs*", {"first"}),
                          ("_Z*take*", {"take(char volatile*)", "take(char volatile*, int)"}),
                          ("store::take", {"take(char volatile*)", "take(char volatile*, int)"}),
                          ("store::take(char volatile?)", {"take(char volatile*)"}), ("store::get<char>", {"get<char>"}),
                          ("store::shelf::operator[]", {"operator[]"}), ("in_*", {"in_library"}),
                          ("program:*i*,libskip.so:first", {"first", "hidden", "take(char volatile*)", "take(char volatile*, int)",
                                                            "get<char>", "operator[]"}),
                          (f"{WORK}/libskip.so:in_library", {"in_library"}),
                          (f"program:{at['first']:#x},libskip.so:{at['second']:#x}", {"first"}),
                          (f"program:{at['first'] + 1:#x}", {"first"})):
    for time in "cold", "warm":
        found, text, objects = run("--access-skip=" + patterns)
        check(f"{patterns}, {time}", found, ALL - skipped)
    whole = "in_library" in skipped # the library has no other function
    check(f"library with {patterns}", objects["libskip.so"].get("native"), "skipped" if whole else None)
    check(f"bytes of {patterns}", objects["program"]["native_functions"].get("skipped", 0) > 0, not whole)
    check(f"line of {patterns}", re.search(r"\(skipped by --access-skip\)$" if whole else r", \d+ B skipped by --access-skip$", text, re.M)
          is not None, True)
check("another list did no harm", run()[0], ALL)
check("with --access-objects", run("--access-skip=first", "--access-objects=program")[0], ALL - {"first", "in_library"})
for option in "--access-skip=none*", "--access-skip=first,no?e", "--access-skip=libskip.so:first":
    for time in "cold", "warm":
        text = run(option)[1]
        pattern = option.split("=")[1].split(",")[-1]
        check(f"note of {option}, {time}", re.findall("option access-skip: '(.*)' matches no function of a checked object", text), [pattern])
check("--cost", "skipped by --access-skip (" in run("--access-skip=first", "--cost")[1], True)
check("too many", rtcheck("--access=full", "--access-skip=" + ",".join("f" * 65), "./program"),
      (125, "", "rtcheck: option access-skip: more than 64 patterns\n"))

# A static function of a program without symbols, by its separate file of debugging information.
for command in (["objcopy", "--only-keep-debug", "program", "program.debug"], ["strip", "-o", "stripped", "program"],
                ["objcopy", "--add-gnu-debuglink=program.debug", "stripped"]):
    subprocess.run(command, check=True)
check("separate file", run("--access-skip=hidden", f"--plans={WORK}/others", program="./stripped")[0], ALL - {"hidden"})

# ---- the folder of plans, and lists of functions -----------------------------------------------------------------
own = [(folder, n) for folder, _, names in os.walk(PLANS) for n in names if "only-" in folder and n.endswith(".plan")]
listed = rtcheck("plans")[1]
check("each is listed", len(re.findall(r": \d+ bytes skipped by --access-skip$", listed, re.M)) > 8, True)
check("each is whole", rtcheck("plans", "--verify")[0], 0)
rtcheck("plans", "--clear")
check("--clear", [n for _, _, names in os.walk(PLANS) for n in names], [])
run("--access-skip=first,store::take,libskip.so:in_library")
status, listed, err = rtcheck("plans", "--functions=program")
check("functions", (status, err), (0, ""))
rows = {row[3]: row for row in re.findall(r"^ +0x(\w+) +(\d+)  (\S.*?)  +(\S.*)$", listed, re.M)}
check("skipped", {name for name, row in rows.items() if row[2] == "skipped by --access-skip"},
      {"first", "store::take(char volatile*)", "store::take(char volatile*, int)"})
check("address", int(rows["first"][0], 16), at["first"])
check("bytes", 0 < int(rows["first"][1]) < 64, True)
check("others", "second" in rows or "main" in rows, False)
check("linkage", "calls of other objects" in listed, True)
check("no such object", rtcheck("plans", "--functions=none"), (1, "", "rtcheck: no plan is named none (rtcheck plans lists them)\n"))
status, listed, err = rtcheck("translate", "--access-skip=program:hidden,no*ne", "program")
check("translate", (status, re.search(r"native, skipped by --access-skip +\d+$", listed, re.M) is not None, err), (0, True, ""))
end()

#!/usr/bin/python3
# rtc-test: crimes/access-full ci 180
# rtc-test: crimes/access-full-more full 900 --full
"""--access=full: loads and stores by the program's own code beyond a block, before it and after its free are found at their
line, with their size and count; twins that touch exactly what they may are silent; programs behave as without it; plans are made
once, and those that are damaged or that others may write are refused.

--full: by more compilers and options; a longer race of signals with checks; more damage.
"""
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True # the checkout may be another's
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../stress")
from checks import check, end

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/crimes/full"
BEHAVE = BUILD + "/tests/crimes/full_behave"
FULL = "--full" in sys.argv
ENVIRONMENT = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": os.getcwd() + "/state", "XDG_CACHE_HOME": os.getcwd() + "/cache",
               "FULL_LIBRARY": os.getcwd() + "/library.so", "FULL_SECONDS": "5" if FULL else "1",
               "FULL_ROUNDS": "8000" if FULL else "200"}
PLANS = os.getcwd() + "/cache/rtcheck/plans"
NATIVE = "its own loads and stores were not checked"
FLAGS = "-g -D_GNU_SOURCE -pthread -rdynamic -fno-optimize-sibling-calls -U_FORTIFY_SOURCE -w".split()
LIBRARY = "int call(int (*f)(int), const int *p);\nint call(int (*f)(int), const int *p) { return f(*p) + p[0]; }\n"
CXX = """
#include <cstdio>
#include <stdexcept>
#include <vector>
static int at(const std::vector<int> *v, int n) { if (n > 3) throw std::out_of_range("n"); return (*v)[n]; }
int main()
{
    auto *v = new std::vector<int>{1, 2, 3, 4};
    int total = 0;
    for (int n = 0; n < 6; n++)
        try { total += at(v, n); } catch (const std::exception &e) { total += 100; std::puts(e.what()); }
    std::printf("%d\\n", total);
    delete v;
}
"""
# No memory is between the segments of its two functions.
GAP = """#include <stdio.h>
#include <stdlib.h>
static int value;
__attribute__((noipa)) int near(const int *p) { return p[4]; }
__attribute__((noipa, section(".far"))) int far(const int *p) { return p[5]; }
int main(void)
{
    int *p = calloc(4, 4);
    value = near(p) * 0 + far(p) * 0 + 5;
    printf("%d\\n", value);
    free(p);
}
"""
# A library whose code finds the next function of a name, and its own libraries.
NEXT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int puts(const char *s)
{
    int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "puts");
    return next ? next(s) : fprintf(stdout, "none: %s, %d\\n", dlerror(), 1);
}
void test(void)
{
    puts("next");
    fprintf(stdout, "%s, %d\\n", dlopen("hidden.so", RTLD_NOW) ? "opened" : dlerror(), 2);
}
"""
# A library whose code runs in a thread, or in a signal handler, before the main program starts.
EARLY = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>
static volatile long n;
static volatile int stop;
static long *volatile data;
static pthread_t thread;
__attribute__((noinline)) static void step(long *p) { n += *p; }
static void *run(void *about) { while (!stop) step(data); return about; }
static void handle(int signal) { (void)signal; step(data); }
static void set_timer(int us) { struct itimerval every = {{0, us}, {0, us}}; setitimer(ITIMER_REAL, &every, NULL); }
__attribute__((constructor)) static void begin(void)
{
    data = malloc(sizeof *data);
    *data = 1;
    signal(SIGALRM, handle);
    if (getenv("FULL_TIMER")) set_timer(50); else pthread_create(&thread, NULL, run, NULL);
    while (!n) usleep(100);
}
void test(void)
{
    if (getenv("FULL_TIMER")) set_timer(0); else { stop = 1; pthread_join(thread, NULL); }
    printf("%d\\n", n > 0);
    free(data);
}
"""
# The elements are below the first one: the checks of an ascending instruction would be wrong.
DOWNWARDS = """
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    char *p = calloc(1, 6), from[] = "edcba", *to = p + 4, *at = from + 4;
    long n = 5;
    __asm__ volatile("std; rep movsb; cld" : "+D"(to), "+S"(at), "+c"(n) : : "memory", "cc");
    puts(p);
    free(p);
}
"""
SENTENCES = {
    "read_8": "read of 8 bytes, just past the end of a 64-byte block",
    "half_8": "write of 8 bytes, the last 5 past the end of a 64-byte block",
    "partial": "read of 1 byte, just past the end of a 21-byte block",
    "crossing": "read of 8 bytes, the last 2 past the end of a 21-byte block",
    "nothing": "read of 1 byte, just past the end of a 0-byte block",
    "tail_5000": "read of 4 bytes, 5000 bytes past the end of a 300000-byte block",
    "before_8": "write of 8 bytes, 8 bytes before a 64-byte block",
    "large_freed": "read of 8 bytes, at offset 150000 of a freed 300000-byte block",
    "later_freed": "read of 8 bytes, at offset 8 of a freed 48-byte block",
    "moved": "read of 1 byte, at offset 7 of a freed 100-byte block",
    "shrunk": "write of 1 byte, just past the end of a 90-byte block",
    "string_fill": "write of 48 bytes, the last 8 past the end of a 40-byte block",
    "string_copy": "read of 52 bytes, the last 4 past the end of a 48-byte block",
    "string_copy_to": "write of 30 bytes, 1 byte before a 30-byte block",
    "string_freed": "read of 32 bytes, at offset 0 of a freed 64-byte block",
    "array": "write of 4 bytes, just past the end of a 40-byte block",
}


def source_lines():
    """Case -> (function, line, code, size, count) of a crime; (function, line) of a crash."""
    found = {}
    lines = [(n, line) for name in ("full.c", "full_behave.c") for n, line in enumerate(open(f"{HERE}/{name}", encoding="utf8"), 1)]
    for number, line in lines:
        mark = re.search(r"/\* @(\w+)(?: (\w+) (\d+) (\d+))?(?: (\w+))? \*/", line)
        if mark:
            case, code, size, count, function = mark.groups()
            found[case] = (function or case, number) + ((code, int(size), int(count)) if code else ())
    return found


CASES = source_lines()


def compiled(name, *command, text=None):
    done = subprocess.run([*command, "-o", name], input=text, capture_output=True, text=True, check=False)
    check(f"{' '.join(command)}", (done.returncode, done.stderr), (0, ""))
    return os.getcwd() + "/" + name


def native(program, *arguments, variables=()):
    done = subprocess.run([program, *arguments], capture_output=True, encoding="utf8", errors="replace", timeout=100, check=False,
                          env={**ENVIRONMENT, **dict(variables)})
    return done.returncode, done.stdout, done.stderr


def run(program, *arguments, options=(), variables=(), access="full", name="report"):
    """(status, output, errors), the report"""
    path = f"{os.getcwd()}/{name}.json"
    environment = {k: v for k, v in {**ENVIRONMENT, **dict(variables)}.items() if v is not None}
    command = [BUILD + "/bin/rtcheck", "--leaks=no", "--json=" + path, "--log-file=" + path + ".log", "--access=" + access]
    try:
        done = subprocess.run([*command, *options, program, *arguments], capture_output=True, encoding="utf8", errors="replace",
                              timeout=60, check=False, env=environment)
    except subprocess.TimeoutExpired:
        return "it hangs", {"frames": [], "stacks": [], "errors": [], "log": ""}
    with open(path, encoding="utf8") as file, open(path + ".log", encoding="utf8") as log:
        return (done.returncode, done.stdout, done.stderr), {**json.load(file), "log": log.read()}


def errors_of(report):
    """(function, line, code, size, count) and the sentence of each"""
    frames = {f["id"]: f for f in report["frames"]}
    stacks = {s["id"]: [frames[f] for f in s["frames"]] for s in report["stacks"]}
    found = {}
    for e in report["errors"]:
        first = stacks.get(e.get("stack"), [{}])[0]
        found[first.get("function"), first.get("line"), e["rtc"], e.get("access", {}).get("size"), e["count"]] = e["text"]
    return found


def short_stacks(report):
    """First functions of stacks, of accesses and allocations, that do not lead to main; errors in other threads have others."""
    frames = {f["id"]: [g.get("function") for g in (f, *f.get("inlined_into", []))] for f in report["frames"]}
    stacks = {s["id"]: sum((frames[f] for f in s["frames"]), []) for s in report["stacks"]}
    found = [stacks.get(e.get(which), ["none"]) for e in report["errors"] for which in ("stack", "alloc_stack") if which in e]
    return sorted({str(s[0]) for s in found if "main" not in s} - {"thread_access"})


def is_native(report):
    return NATIVE in report["log"] and "echo)" not in report["log"]


# ---- crimes and twins, by each compiler -----------------------------------------------------------------------
def commit(program, *options):
    result, report = run(program, "crime", "all", options=options, name=os.path.basename(program))
    found, wanted = errors_of(report), {c[:5]: name for name, c in CASES.items() if len(c) == 5}
    what = f"{program} {options}"
    check(f"crimes of {what}", result, (0, "done\n", ""))
    check(f"missed in {what}", sorted(map(str, set(wanted) - set(found))), [])
    check(f"too many in {what}", sorted(f"{e}: {found[e]}" for e in set(found) - set(wanted)), [])
    check(f"stacks of {what}", short_stacks(report), [])
    for error in set(found) & set(wanted):
        check(f"sentence of {wanted[error]}, {what}", found[error], SENTENCES.get(wanted[error], found[error]))
    result, report = run(program, "twin", "all", options=options, name=os.path.basename(program) + "-twin")
    check(f"twins of {what}", (result, errors_of(report), is_native(report)), ((0, "done\n", ""), {}, False))


compilers = [c for c in ("gcc", "clang") if shutil.which(c)]
builds = [(c, o) for c in compilers for o in (("-O0",), ("-O1",), ("-O2",), ("-O3",), ("-O2", "-no-pie"),
                                              ("-O2", "-fcf-protection=full"), ("-O2", "-fno-plt", "-fomit-frame-pointer"))]
if not FULL:
    builds = [b for b in builds if b in (("gcc", ("-O0",)), ("gcc", ("-O3",)), ("clang", ("-O2",)), ("gcc", ("-O2", "-no-pie")))]
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    programs = [*pool.map(lambda b: compiled("full" + "".join((b[0], *b[1])), b[0], *b[1], *FLAGS, HERE + "/full.c", "-ldl"),
                          builds)]
    compiled("library.so", "gcc", "-O1", "-shared", "-fPIC", "-x", "c", "-", text=LIBRARY)
    list(pool.map(commit, [PROGRAM, *programs]))
check("crimes", len([c for c in CASES.values() if len(c) == 5]) >= 55, True)
for options in (("--heap=file",), ("--free-fill=no", "--redzone-size=64"), ("--malloc-fill=block",), ("--freelist-vol=4m",)):
    if FULL or options[0] == "--heap=file":
        commit(PROGRAM, *options)
text = subprocess.run([BUILD + "/bin/rtcheck", "translate", BEHAVE], capture_output=True, text=True, check=True).stdout
for what in ("with a spilled register", "with saved flags"):
    check(f"checks {what}", int(re.search(what + r"\s+(\d+)", text)[1]) > 12, True)
result, report = run(PROGRAM, "crime", "read_8", access="yes")
check("nothing without it", (result, errors_of(report)), ((0, "done\n", ""), {}))

# ---- behaviour ------------------------------------------------------------------------------------------------
behaviours = native(BEHAVE)[1].split()[:-1]
check("behaviours", len(behaviours) >= 15, True)
CRASHES = {"null": "SIGSEGV: read of 4 bytes at NULL + 0",
           "wild": "SIGSEGV: write of 4 bytes at a non-canonical address, 0x4142434445464748",
           "wild_group": "SIGSEGV: read of 8 bytes at a non-canonical address, 0x4142434445464740"}
programs = [compiled("full_behave" + "".join((b[0], *b[1])), b[0], *b[1], *FLAGS, HERE + "/full_behave.c", "-ldl")
            for b in (builds if FULL else builds[-1:])]
for program in [BEHAVE, *programs]:
    for case in behaviours:
        wanted = native(program, case)
        result, report = run(program, case)
        check(f"{case} of {program}", result, wanted)
        check(f"checked: {case} of {program}", is_native(report), False)
        crashes = {k[:2]: v for k, v in errors_of(report).items()}
        check(f"report of {case} of {program}", crashes, {CASES["crash_" + case][:2]: CRASHES[case]} if case in CRASHES else {})

program = compiled("cxx", "g++", "-O1", "-g", "-x", "c++", "-", text=CXX)
result, report = run(program)
check("C++", (result, errors_of(report)), (native(program), {}))
check("C++ is checked", is_native(report), False)

program = compiled("cxx-alone", "g++", "-O1", "-g", "-static-libgcc", "-static-libstdc++", "-x", "c++", "-", text=CXX)
result, report = run(program)
check("C++ with a statically linked unwinder", (result, errors_of(report)), (native(program), {}))

program = compiled("downwards", "gcc", "-O1", "-g", "-x", "c", "-", text=DOWNWARDS)
result, report = run(program)
check("string instructions that go downwards", (result, errors_of(report), is_native(report)), ((0, "edcba\n", ""), {}, False))
program = compiled("gap", "gcc", "-O1", "-g", "-no-pie", "-Wl,--section-start=.far=0x900000", "-x", "c", "-", text=GAP)
result, report = run(program)
check("executable segments far from each other", (result, {e[:5] for e in errors_of(report)}, is_native(report)),
      ((0, "5\n", ""), {("near", 4, "rua", 4, 1), ("far", 5, "rua", 4, 1)}, False))

os.makedirs("hidden", exist_ok=True)
compiled("hidden/hidden.so", "gcc", "-shared", "-fPIC", "-x", "c", "-", text=LIBRARY)
for name, text, times in (("next", NEXT, 1), ("early", EARLY, 10)):
    compiled(f"lib{name}.so", "gcc", "-O1", "-g", "-shared", "-fPIC", "-pthread", "-Wl,-rpath,$ORIGIN/hidden", "-x", "c", "-",
             "-ldl", text=text)
    program = compiled(name, "gcc", "-O1", "-x", "c", "-", "-L.", "-Wl,-rpath,$ORIGIN", "-l" + name,
                       text="void test(void);\nint main(void) { test(); }\n")
    for variables in ({}, {"FULL_TIMER": "1"}):
        runs = [run(program, variables=variables) for _ in range(times)]
        check(f"lib{name}.so {variables}", {(result, is_native(report)) for result, report in runs},
              {(native(program, variables=variables), False)})

program = compiled("tableless", "gcc", "-O1", "-fno-asynchronous-unwind-tables", *FLAGS, HERE + "/full.c", "-ldl")
result, report = run(program, "twin", "all")
check("without unwind tables", result, (0, "done\n", ""))

# ---- plans ------------------------------------------------------------------------------------------------------
def plans():
    return sorted((p.name, p.stat().st_ino, p.stat().st_mtime_ns, p.stat().st_size) for p in os.scandir(PLANS)
                  if p.name.endswith(".plan"))


WANTED = errors_of(run(PROGRAM, "crime", "write_4")[1])
check("found with a plan", [*WANTED], [CASES["write_4"]])
before = plans()
check("a second run", (errors_of(run(PROGRAM, "crime", "write_4")[1]), plans()), (WANTED, before))

shutil.rmtree("given", ignore_errors=True)
check("--plans", errors_of(run(PROGRAM, "crime", "write_4", options=("--plans=" + os.getcwd() + "/given",))[1]), WANTED)
(plan,) = [p.path for p in os.scandir("given") if p.name.endswith(".plan")]
check("mode of a plan", oct(os.stat(plan).st_mode), oct(0o100600))
whole = open(plan, "rb").read()


def by_hand():
    """Without a launcher nothing makes plans."""
    path = os.getcwd() + "/hand.json"
    variables = {**ENVIRONMENT, "LD_PRELOAD": BUILD + "/lib/librtcheck.so", "RTCHECK_POOL_DIR": os.getcwd(),
                 "RTCHECK_OPTIONS": f"access=full:plans='{os.getcwd()}/given':json='{path}'"}
    done = subprocess.run([PROGRAM, "crime", "write_4"], env=variables, capture_output=True, text=True, timeout=60, check=False)
    with open(path, encoding="utf8") as file:
        errors = json.load(file)["errors"]
    return done.returncode, done.stdout, [(e["rtc"], "damage" in e) for e in errors]


def refused(what, content, mode=0o600):
    """By hand the program runs its own code; it removes a damaged plan, and the launcher makes it again."""
    pathlib.Path(plan).unlink(missing_ok=True)
    with open(plan, "wb") as file:
        file.write(content)
    os.chmod(plan, mode)
    check(f"{what}: is refused", by_hand(), (0, "done\n", [("wua", True)])) # as damage, by free
    check(f"{what}: is removed", os.path.exists(plan), mode != 0o600 or not content)


check("by hand, with a plan", by_hand(), (0, "done\n", [("wua", False)]))
for mode in (0o666, 0o620, 0o602):
    refused(f"mode {mode:o}", whole, mode)
for size in (0, 1, 100, 4096, 5000, len(whole) // 2, len(whole) - 1):
    refused(f"{size} bytes", whole[:size])
chance = random.Random(20261128)
for _ in range(400 if FULL else 50):
    at = chance.randrange(len(whole))
    damaged = bytearray(whole)
    damaged[at] ^= 1 << chance.randrange(8)
    refused(f"byte {at} of {len(whole)}", damaged)
damaged = bytearray(whole)
damaged[len(whole) // 2] ^= 1
pathlib.Path(plan).write_bytes(damaged)
os.chmod(plan, 0o600)
for what, is_found in (("refuses it", False), ("makes it again", True)):
    found = errors_of(run(PROGRAM, "crime", "write_4", options=("--plans=" + os.getcwd() + "/given",))[1])
    check(f"a run with a damaged plan {what}", found == WANTED, is_found)
refused("a damaged plan before the last run", damaged)
check("a plan is made again", errors_of(run(PROGRAM, "crime", "write_4", options=("--plans=" + os.getcwd() + "/given",))[1]), WANTED)
os.unlink(plan)
os.symlink(before and f"{PLANS}/{os.path.basename(plan)}", plan)
result, report = run(PROGRAM, "crime", "write_4", options=("--plans=" + os.getcwd() + "/given",))
check("a link", (result, is_native(report)), ((0, "done\n", ""), True))

os.makedirs("closed", exist_ok=True)
os.chmod("closed", 0o555)
for folder in ("/proc", "/dev/null", *([os.getcwd() + "/closed"] if os.geteuid() else [])):
    result, report = run(PROGRAM, "crime", "write_4", variables={"XDG_CACHE_HOME": folder})
    check(f"cache in {folder}", (result, is_native(report)), ((0, "done\n", ""), True))
done = subprocess.run([BUILD + "/bin/rtcheck", "--access=full", PROGRAM, "twin", "read_1"], capture_output=True, text=True,
                      check=False, env={"PATH": os.environ["PATH"], "XDG_STATE_HOME": os.getcwd()})
check("no folder", (done.returncode != 0, done.stdout, "neither XDG_CACHE_HOME nor HOME is set" in done.stderr), (True, "", True))
variables = {"XDG_CACHE_HOME": None, "HOME": os.getcwd() + "/home"}
check("HOME", errors_of(run(PROGRAM, "crime", "write_4", variables=variables)[1]), WANTED)
check("its plans", sorted(n[-5:] for n in os.listdir("home/.cache/rtcheck/plans")), [".name", ".plan"])
end()

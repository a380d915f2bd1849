#!/usr/bin/python3
# rtc-test: crimes/access-full-cxx ci 180
# rtc-test: crimes/access-full-cxx-more full 900 --full
"""--access=full: exceptions, pthread_cancel, pthread_exit, backtrace and dladdr do as without it when they pass through copies of
code; errors in C++ code are found at their function and line; twins are silent.

--full: by more compilers and options.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True # the checkout may be another's
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../stress")
from checks import check, end

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/crimes/full_cxx"
ENVIRONMENT = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": os.getcwd() + "/state", "XDG_CACHE_HOME": os.getcwd() + "/cache",
               "FULL_FIRST": os.getcwd() + "/libfirst.so"}
NATIVE = "its own loads and stores were not checked"
FLAGS = "-g -pthread -rdynamic -fno-optimize-sibling-calls -U_FORTIFY_SOURCE -w".split()
# An exception passes from one library through the other; both are translated.
FIRST = """
extern "C" int call(int (*f)(int), int n);
extern "C" __attribute__((noinline)) int call(int (*f)(int), int n) { return f(n) + 1; }
"""
SECOND = """
#include <stdexcept>
extern "C" int throw_it(int n);
extern "C" __attribute__((noinline)) int throw_it(int n) { if (n > 3) throw std::out_of_range("thrown"); return n; }
"""
# An unwinder of the program, which finds descriptions by dl_iterate_phdr alone, and does not know of copies.
OWN_UNWINDER = """
#include <link.h>
#include <cstdio>
extern "C" __attribute__((visibility("hidden"))) int _dl_find_object(void *, struct dl_find_object *) noexcept { return -1; }
static int visit(struct dl_phdr_info *, size_t, void *) { return 0; }
__attribute__((noinline)) static int at(const int *p) { return *p; }
int main()
{
    int *p = new int(1);
    try { dl_iterate_phdr(visit, nullptr); std::printf("%d\\n", at(p)); } catch (...) { std::puts("no"); }
    delete p;
}
"""


def source_lines():
    """(function, line, code, size, count) of crimes"""
    found = set()
    for number, line in enumerate(open(HERE + "/full_cxx.cc", encoding="utf8"), 1):
        mark = re.search(r"/\* @([\w:]+) (\w+) (\d+) (\d+) \*/", line)
        if mark:
            found.add((mark[1], number, mark[2], int(mark[3]), int(mark[4])))
    return found


def compiled(name, *command, text=None):
    done = subprocess.run([*command, "-o", name], input=text, capture_output=True, text=True, check=False)
    check(f"{' '.join(command)}", (done.returncode, done.stderr), (0, ""))
    return os.getcwd() + "/" + name


def short(text):
    """The kernel's random addresses in what libc prints."""
    return re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", text)


def result_of(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT)
    except subprocess.TimeoutExpired:
        return "it hangs"
    return done.returncode, short(done.stdout), short(done.stderr)


def run(program, *arguments):
    """(status, output, errors), the report"""
    path = f"{os.getcwd()}/{os.path.basename(program)}-{'-'.join(arguments)}.json"
    result = result_of([BUILD + "/bin/rtcheck", "--leaks=no", "--json=" + path, "--log-file=" + path + ".log", "--access=full",
                        program, *arguments])
    with open(path, encoding="utf8") as file, open(path + ".log", encoding="utf8") as log:
        return result, {**json.load(file), "log": log.read()}


def errors_of(report):
    frames = {f["id"]: f for f in report["frames"]}
    stacks = {s["id"]: [frames[f] for f in s["frames"]] for s in report["stacks"]}
    found = set()
    for e in report["errors"]:
        first = stacks.get(e.get("stack"), [{}])[0]
        name = re.sub(r"\(.*", "", str(first.get("function")))
        found.add((name, first.get("line"), e["rtc"], e.get("access", {}).get("size"), e["count"]))
    return {e for e in found if e[2] != "crash"}


def verify(program):
    result, report = run(program, "crime")
    check(f"crimes of {program}", (result, errors_of(report)), ((0, "done\n", ""), CRIMES))
    result, report = run(program, "twin")
    check(f"twins of {program}", (result, errors_of(report), NATIVE in report["log"]), ((0, "done\n", ""), set(), False))
    for case in result_of([program, "list"])[1].split():
        wanted = result_of([program, "behave", case])
        result, report = run(program, "behave", case)
        check(f"{case} of {program}", result, wanted)
        codes = {e["rtc"] for e in report["errors"]} - ({"sig"} if wanted[0] < 0 else set()) # also with two unwinders in a process
        check(f"{case} of {program} is checked, silent", (codes, NATIVE in report["log"]), (set(), False))


CRIMES = source_lines()
check("crimes", len(CRIMES), 5)
compiled("libsecond.so", "g++", "-O2", "-g", "-shared", "-fPIC", "-x", "c++", "-", text=SECOND)
compiled("libfirst.so", "g++", "-O2", "-g", "-shared", "-fPIC", "-x", "c++", "-", "-x", "none", "-Wl,--no-as-needed", "-L.", "-lsecond",
         "-Wl,-rpath,$ORIGIN", text=FIRST)
builds = [(c, o) for c in ("g++", "clang++") if shutil.which(c)
          for o in (("-O0",), ("-O1",), ("-O2",), ("-O3",), ("-O2", "-no-pie"), ("-O2", "-static-libgcc", "-static-libstdc++"),
                    ("-O2", "-fcf-protection=full"), ("-O2", "-fno-omit-frame-pointer"))]
if "--full" not in sys.argv:
    builds = [b for b in builds if b in (("g++", ("-O0",)), ("g++", ("-O3",)), ("clang++", ("-O2",)), ("g++", ("-O2", "-no-pie")))]
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    programs = [*pool.map(lambda b: compiled("cxx" + "".join((b[0], *b[1])), b[0], *b[1], *FLAGS, HERE + "/full_cxx.cc", "-ldl"),
                          builds)]
    list(pool.map(verify, [PROGRAM, *programs]))
text = subprocess.run([BUILD + "/bin/rtcheck", "translate", PROGRAM], capture_output=True, text=True, check=True).stdout
check("all frame descriptions are moved", ("native, exceptions" in text, "native, frame description" in text), (True, False))
check("behaviours", len(result_of([PROGRAM, "list"])[1].split()) >= 16, True)

program = compiled("own", "g++", "-O1", "-static-libgcc", "-static-libstdc++", "-x", "c++", "-", text=OWN_UNWINDER)
result, report = run(program)
check("an unwinder of the program", (result, NATIVE in report["log"]), ((0, "1\n", ""), True))
end()

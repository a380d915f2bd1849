#!/usr/bin/env python3
# rtc-test: report/identity ci 120
"""An id is the same with every output option, in every format, by hand, by another path of a library, for a renamed or
stripped program, and at -O0 and -O2 where the frames are equal; and it may be shortened."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as tree

RTCHECK = os.environ["RTC_BUILD"] + "/bin/rtcheck"
RUNTIME = os.environ["RTC_BUILD"] + "/lib/librtcheck.so"
ID = r"\b(?:baf|duf|maf|mis|wua|mel|aib|air)-[0-9a-f]{8}(?:\.\d+)?\b"
LIBRARY = r"""
#include <stdlib.h>
#define APART __attribute__((noinline))
struct A { void *p; A(int n); void more(int n); };
void *volatile sink;
APART A::A(int n) { sink = p = malloc(n); sink = p = 0; }
APART void A::more(int n) { sink = p = malloc(n); sink = p = 0; }
extern "C" APART void zeta(int n) { sink = malloc(n); sink = 0; }
extern "C" void alpha(int n) __attribute__((alias("zeta")));
extern "C" void weakly(int n) __attribute__((weak, alias("zeta")));
extern "C" APART void twice(int n) { void *p = malloc(n); sink = p; free(p); free(sink); sink = 0; }
static APART void part(int n, int k) { sink = malloc(n + k); sink = 0; }
extern "C" APART void outer(int n) { A a(n + 9); a.more(n + 7); part(n, 3); alpha(n + 1); sink = 0; }
"""
MAIN = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline))
char *volatile sink;
APART void own(void) { sink = malloc(77); sink = 0; sink = malloc(5); sink[5] = 1; free(sink); sink = 0; }
APART void wrongly(char *p) { free(p + 4); sink = 0; }
int main(int argc, char **argv)
{
    void *h = dlopen(argv[1], RTLD_NOW);
    if (!h) { puts(dlerror()); return 1; }
    ((void (*)(int))dlsym(h, "outer"))(300);
    ((void (*)(int))dlsym(h, "twice"))(32);
    own();
    char *p = malloc(9);
    sink = p;
    wrongly(p);
    free(p);
    sink = 0;
    return 0;
}
"""


def must(holds, *what):
    if not holds:
        print("\n  ".join(str(w) for w in what))
        sys.exit(1)


def run(*words, **more):
    return subprocess.run([str(w) for w in words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **more)


def ids(*words, **more):
    done = run(*words, **more)
    return set(re.findall(ID, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)))


def built(folder, *options):
    """A program and its library, compiled into a folder of their own from the same sources."""
    os.mkdir(folder)
    for compiler, source, name, more in (("g++", "lib.cc", "lib.so", ["-fPIC", "-shared"]), ("gcc", "main.c", "program", ["-rdynamic"])):
        subprocess.run([compiler, "-g", "-w", *options, *more, source, "-o", folder + "/" + name], check=True)
    return folder


def stripped(folder, source, *options):
    os.mkdir(folder)
    for name in "lib.so", "program":
        subprocess.run(["strip", *options, source + "/" + name, "-o", folder + "/" + name], check=True)
    return folder


def every_output(all_ids):
    command = ["O0/program", "O0/lib.so"]
    for options in (["--num-callers=1"], ["--match=1"], ["--leak-check=full"], ["--verbose"], ["--color=always"], ["--format=valgrind"],
                    ["--format=lsan"], ["--format=gcc"], ["--format=github"], ["--deterministic"], ["--show-leak-kinds=all"],
                    ["--source=3"], ["--fullpath-after="], ["--redzone-size=64"], ["--heap=file"], ["--events=all"], ["--witness"],
                    ["--free-fill=41"], ["--freelist-vol=0"], ["--trace-children=no"], ["--keep"], ["--path-map=/=/x"]):
        must(ids(RTCHECK, *options, *command) == all_ids, options, ids(RTCHECK, *options, *command), all_ids)
    files = {name: pathlib.Path("out." + name) for name in ("json", "sarif", "junit", "gitlab", "xml-file", "log-file")}
    run(RTCHECK, *["--%s=%s" % item for item in files.items()], *command)
    report = json.loads(files["json"].read_text())
    found = {item["id"] for key in ("errors", "leaks") for item in report[key]}
    must({i for i in found if re.fullmatch(ID, i)} == all_ids, "json", found)
    tree.parse(files["xml-file"])
    for name, path in files.items():
        must(set(re.findall(ID, path.read_text())) == all_ids, name, path.read_text())
    env = {**os.environ, "LD_PRELOAD": RUNTIME, "RTCHECK_OPTIONS": "pool_dir=" + os.getcwd()}
    must(ids(*command, env=env) == all_ids, "by hand")


def every_file(all_ids):
    here = os.getcwd()
    for program, library in (("O0/program", here + "/O0/lib.so"), ("O0/program", "./O0/../O0/lib.so"),
                             (here + "/O0/program", "O0/lib.so")):
        must(ids(RTCHECK, program, library) == all_ids, program, library)
    for name in "renamed", "another name":
        shutil.copy("O0/program", "O0/" + name)
        must(ids(RTCHECK, "O0/" + name, "O0/lib.so") == all_ids, name, ids(RTCHECK, "O0/" + name, "O0/lib.so"), all_ids)
    stripped("no-debug", "O0", "-g")
    must(ids(RTCHECK, "no-debug/program", "no-debug/lib.so") == all_ids, "no-debug")
    # Without its symbol the local function `part` has no name: one leak has another id.
    for folder, options in (("no-locals", ["-g", "-x"]), ("no-symbols", [])):
        stripped(folder, "O0", *options)
        left = ids(RTCHECK, folder + "/program", folder + "/lib.so")
        must(len(left) == len(all_ids) and len(left & all_ids) == len(all_ids) - 1, folder, left, all_ids)
    built("O2", "-O2", "-fno-optimize-sibling-calls")
    names = run("nm", "O2/lib.so").stdout
    must("constprop" in names, "a copy of a function has a name of its own", names)
    must(ids(RTCHECK, "O2/program", "O2/lib.so") == all_ids, "-O2", ids(RTCHECK, "O2/program", "O2/lib.so"), all_ids)
    must(run(RTCHECK, "--baseline=known", "--update-baseline", "O0/program", "O0/lib.so").returncode == 0, "update-baseline")
    for program in "O0/renamed", "O2/program", "no-debug/program":
        done = run(RTCHECK, "--baseline=known", "--error-exitcode=9", program, program.split("/")[0] + "/lib.so")
        must(done.returncode == 0, "the baseline of O0/program", program, done)


def shortened(all_ids):
    run(RTCHECK, "O0/program", "O0/lib.so")
    for finding in sorted(all_ids)[:3]:
        whole = run(RTCHECK, "show", finding)
        must(whole.returncode == 0 and whole.stdout.startswith(finding), finding, whole)
        for length in range(1, len(finding)):
            given = finding[:length]
            meant = sorted(i for i in all_ids if i.startswith(given))
            if given in all_ids:
                continue
            done = run(RTCHECK, "show", given)
            if len(meant) == 1:
                must(done.returncode == 0 and done.stdout == whole.stdout, given, done)
            elif length > 3:
                must(done.returncode == 1 and done.stderr.startswith("rtcheck: %s is ambiguous: " % given), given, done)
                must(set(re.findall(ID, done.stderr)) <= set(meant), given, done)
    for given in "duf-x", "nothing", "", "d" * 50:
        done = run(RTCHECK, "show", given)
        must(done.returncode == 1 and "rtcheck: there is no" in done.stderr, given, done)
    finding, = (i for i in all_ids if i.startswith("duf-"))
    done = run(RTCHECK, "suppress", "add", "duf-")
    must(done.returncode == 0 and finding in pathlib.Path("rtcheck.supp").read_text(), done)
    must("has a rule for " + finding in run(RTCHECK, "suppress", "add", "du").stdout, "the same again")
    must(run(RTCHECK, "suppress", "add", "mel").returncode != 0, "ambiguous")


pathlib.Path("lib.cc").write_text(LIBRARY)
pathlib.Path("main.c").write_text(MAIN)
built("O0", "-O0")
FOUND = ids(RTCHECK, "O0/program", "O0/lib.so")
must(len(FOUND) == 8 and {i[:3] for i in FOUND} == {"duf", "maf", "wua", "mel"}, FOUND)
every_output(FOUND)
every_file(FOUND)
shortened(FOUND)

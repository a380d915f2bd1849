#!/usr/bin/env python3
# rtc-test: ci/lines ci 240
# rtc-test: ci/lines-full full 240 --full
"""Lines by which public projects run their tests under valgrind, by valgrind and with the word replaced by rtcheck-valgrind:
the same status, the same number of tests that ran, and a bug fails the line and is named.  lines_of_projects.py has the
projects themselves.  Without --full each line has one of the bugs in turn."""
import functools
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys

BIN = pathlib.Path(os.environ["RTC_BUILD"]) / "bin"
VALGRIND, OWN, LINK = "valgrind", "rtcheck-valgrind", "link"
PROGRAM = r"""
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
char *copy(const char *text, size_t less)
{
    char *to = malloc(strlen(text) + 1 - less);
    strcpy(to, text);
    return to;
}
int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    char *volatile text = copy("a text of sixteen", BUG == 'w');
    if (BUG != 'l') free(text);
    if (BUG == 'd') free(text);
    text = NULL;
    FILE *ran = fopen(getenv("RAN"), "a");
    fputs("ran\n", ran);
    fclose(ran);
    printf("%s done\n", argc > 1 ? argv[1] : "-");
    return argc > 1 && strcmp(argv[1], "wrong") == 0;
}
"""
BUGS = {"0": None, "l": r"copy \(program\.c:7\)", "d": r"main \(program\.c:16\)", "w": r"copy \(program\.c:7\)"}
TABLE = (  # name, file, text, line, tests that run
    # xxhash, lz4, zstd: a variable of the Makefile; a status of the program's own that must pass through
    ("make", "Makefile", "VALGRIND = valgrind --leak-check=yes --error-exitcode=1\n"
     "test-mem: RUN_ENV = $(VALGRIND)\ntest-mem:\n\t$(RUN_ENV) ./program > /dev/null\n"
     "\t$(RUN_ENV) ./program first | grep done\n"
     "\t$(RUN_ENV) ./program wrong ; test $$? -eq 1\n", "make test-mem", 3),
    # jansson: words of a variable, separated; also blocks that are reachable at the end
    ("ctest", "CMakeLists.txt", 'cmake_minimum_required(VERSION 3.10)\nproject(p NONE)\nenable_testing()\n'
     'set(CMAKE_MEMORYCHECK_COMMAND valgrind)\n'
     'set(CMAKE_MEMORYCHECK_COMMAND_OPTIONS "--error-exitcode=1 --leak-check=full --show-reachable=yes --track-origins=yes -q")\n'
     'set(MEMCHECK_COMMAND "${CMAKE_MEMORYCHECK_COMMAND} ${CMAKE_MEMORYCHECK_COMMAND_OPTIONS}")\n'
     'separate_arguments(MEMCHECK_COMMAND)\n'
     'foreach(name one two)\n add_test(memcheck__${name} ${MEMCHECK_COMMAND} ${CMAKE_BINARY_DIR}/program ${name})\nendforeach()\n',
     "cmake . && ctest --output-on-failure", 2),
    # cJSON: the command is looked for in PATH, and suppressions are given
    ("find_program", "CMakeLists.txt", 'cmake_minimum_required(VERSION 3.10)\nproject(p NONE)\nenable_testing()\n'
     'find_program(MEMORYCHECK_COMMAND valgrind)\n'
     'set(MEMORYCHECK_COMMAND_OPTIONS --trace-children=yes --leak-check=full --error-exitcode=1 --suppressions=${CMAKE_CURRENT_SOURCE_DIR}/none)\n'
     'add_test(NAME one COMMAND "${MEMORYCHECK_COMMAND}" ${MEMORYCHECK_COMMAND_OPTIONS} "${CMAKE_CURRENT_BINARY_DIR}/program")\n',
     "cmake . && ctest --output-on-failure", 1),
    # redis: no status, but a log without addresses
    ("log", "line", "valgrind --track-origins=yes --suppressions=./none --show-reachable=no --show-possibly-lost=no --leak-check=full "
     "--log-file=err.txt ./program test all\nif grep -q 0x err.txt; then cat err.txt; exit 1; fi\n", "bash -e line", 1),
    # jansson's autotools: with -q nothing is printed of a run without errors, also about reachable blocks
    ("quiet", "line", "valgrind --leak-check=full --show-reachable=yes --track-origins=yes -q ./program 2>log >/dev/null || exit\n"
     "if grep -E '^==[0-9]+== ' log; then exit 1; fi\n", "bash -e line", 1),
    # every block counts: those that libc and libstdc++ keep are freed at the end
    ("all kinds", "line", "valgrind --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all --error-exitcode=3 ./program > out 2> log\n"
     "cat log\ngrep 'All heap blocks were freed -- no leaks are possible' log\ngrep 'ERROR SUMMARY: 0 errors from 0 contexts' log\n",
     "bash -c '. ./line; s=$?; cat log; exit $s'", 1),
)


def must(holds, *what):
    if not holds:
        print("\n  ".join(str(w) for w in what))
        sys.exit(1)


def environment(tool):
    drop = ("VALGRIND_OPTS", "RTCHECK_OPTIONS", "CTEST_OUTPUT_ON_FAILURE", "MAKEFLAGS", "MAKELEVEL")
    kept = {name: value for name, value in os.environ.items() if name not in drop}
    first = pathlib.Path("linked").resolve() if tool == LINK else BIN
    return {**kept, "PATH": "%s:%s" % (first, os.environ["PATH"])}


@functools.lru_cache(None)
def built(bug, compiler):
    folder = pathlib.Path("%s-%s" % (compiler, bug)).resolve()
    folder.mkdir()
    (folder / "program.c").write_text(PROGRAM.lstrip("\n"))
    subprocess.run([compiler, "-g", "-O0", "-w", "-fno-builtin", "-fpermissive" if compiler == "g++" else "-w", "-DBUG='%s'" % bug,
                    "program.c", "-o", "program"], cwd=folder, check=True)
    return folder / "program"


@functools.lru_cache(None)
def run(row, tool, bug, compiler):
    """Status, output, and how many programs ran to their end."""
    name, file, text, line, _ = row
    folder = pathlib.Path("%s-%s-%s-%s" % (name.replace(" ", "-"), tool, bug, compiler)).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(built(bug, compiler), folder)
    (folder / "none").write_text("")
    must(len(re.findall(r"\bvalgrind\b", text)) == 1, "one word is replaced", text)
    (folder / file).write_text(re.sub(r"\bvalgrind\b", OWN, text) if tool == OWN else text)
    ran = folder / "ran"
    done = subprocess.run(line, shell=True, cwd=folder, env={**environment(tool), "RAN": str(ran)}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, len(ran.read_text().splitlines()) if ran.exists() else 0


def compare(row, bug, compiler, tool):
    memchecks, own = run(row, VALGRIND, bug, compiler), run(row, tool, bug, compiler)
    must(own[0] == memchecks[0] and own[2] == memchecks[2], row[0], "bug " + bug, compiler, tool, *own, "valgrind:", *memchecks)
    if bug == "0":
        must(own[0] == 0 and own[2] == row[4], row[0], "passes, and all tests ran", *own)
    else:
        must(own[0] != 0, row[0], bug, "does not fail", *own)
        for output in (own[1], memchecks[1]):
            must(re.search(BUGS[bug], output), row[0], bug, "does not name", BUGS[bug], output)


pathlib.Path("linked").mkdir()
pathlib.Path("linked/valgrind").symlink_to(BIN / "rtcheck-valgrind")
must(shutil.which("valgrind"), "valgrind is missing")
bugs = itertools.cycle("ldw")
for each in TABLE:
    if each[0] == "find_program":
        letters = "0l"
    else:
        letters = BUGS if "--full" in sys.argv else "0" + next(bugs)
    for letter in letters:
        compare(each, letter, "gcc", LINK if each[0] == "find_program" else OWN)
compare(TABLE[-1], "0", "g++", OWN)
compare(TABLE[0], "l", "gcc", LINK)

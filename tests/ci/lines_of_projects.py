#!/usr/bin/env python3
# rtc-test: ci/lines_of_projects full 6000
"""Public projects whose own CI runs their tests under valgrind: the same line with one word replaced by rtcheck-valgrind.

    tests/ci/lines_of_projects.py [--sources DIR] [--keep DIR] [--rounds N] [--slow] [PROJECT...]

The sources are those of Debian's packages without Debian's patches.  The line must end with the same status and run the same
number of tests by both tools.  With a bug planted, it must fail by both, and both must name the place.  --rounds measures
the line so many times by each tool, in turn, and prints the rows of docs/ci.md.  --slow: also by valgrind if that takes
more than five minutes.  --keep keeps the output.
"""
import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the checkout may be another's
SOURCE = pathlib.Path(os.environ.get("RTC_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ.get("RTC_BUILD") or SOURCE / "build")
sys.path.insert(0, str(SOURCE / "tests/panel"))
import sources

VALGRIND, OWN = "valgrind", "rtcheck-valgrind"
# The Makefiles do not count their tests: each program that ended without errors has this line.
SUMMARY = r"(?m)^==\d+== ERROR SUMMARY: 0 errors from 0 contexts"
CTEST = r"(?m)^ *\d+/\d+ Test +#\d+: .* Passed "


@dataclasses.dataclass(frozen=True)
class Bug:
    """A change of one place; `place` is the function of the frame that each tool must print first after the allocator's."""
    kind: str
    file: str
    old: str
    new: str
    place: str


@dataclasses.dataclass(frozen=True)
class Project:
    package: str
    cited: str     # file of the repository with the line; "": the package lacks it
    line: str      # the line of its CI
    built: str     # what is built before, so that the tests are measured
    file: str      # has the word valgrind, in this text; "": the word is in the line
    word: str
    tests: str     # matches once for each test that passed
    count: int     # of a run without errors
    is_slow: bool  # more than five minutes under valgrind
    bugs: tuple


MAKE = "VALGRIND = valgrind --leak-check=yes --error-exitcode=1"
XXHASH = "        fclose(inFile);\n        free(buffer);\n"
LZ4 = "    free(ress.srcBuffer);\n    free(ress.dstBuffer);\n\n    LZ4F_freeCDict"
JANSSON = "    jsonp_free(string->value);\n    jsonp_free(string);"
CJSON = "            global_hooks.deallocate(item->valuestring);\n"
REDIS = "24) == 0);\n        sdsfree(x);\n"
PROJECTS = (
    Project("xxhash", ".github/workflows/ci.yml", "make clean test-mem", "true", "Makefile", MAKE, SUMMARY, 10, False, (
        Bug("leak", "cli/xxhsum.c", XXHASH, XXHASH.replace("free(buffer);", ";"), "XSUM_hashFile"),
        Bug("double free", "cli/xxhsum.c", XXHASH, XXHASH.replace("free(buffer);", "free(buffer); free(buffer);"),
            "XSUM_hashFile"))),
    Project("lz4", ".github/workflows/ci.yml", "make V=1 -C tests test-mem",
            "make -C tests lz4 datagen fuzzer frametest fullbench", "tests/Makefile", MAKE, SUMMARY, 12, False, (
                Bug("leak", "programs/lz4io.c", LZ4, LZ4.replace("free(ress.dstBuffer);", ";"), "LZ4IO_createCResources"),
                Bug("double free", "programs/lz4io.c", LZ4, LZ4.replace("free(ress.dstBuffer);", "free(ress.srcBuffer);"),
                    "LZ4IO_freeCResources"))),
    Project("jansson", ".github/workflows/tests.yml", "cmake -DJANSSON_TEST_WITH_VALGRIND=ON .\ncmake --build .\nctest",
            "cmake -DJANSSON_TEST_WITH_VALGRIND=ON . && cmake --build .", "CMakeLists.txt",
            "set(CMAKE_MEMORYCHECK_COMMAND valgrind)", CTEST, 213, False, (
                Bug("leak", "src/value.c", JANSSON, JANSSON.replace("jsonp_free(string->value)", ""), "jsonp_malloc"),
                Bug("write past the end", "src/memory.c", "jsonp_malloc(len + 1);", "jsonp_malloc(len);", "jsonp_strndup"))),
    Project("cjson", "", "mkdir -p build\ncd build\ncmake .. -DENABLE_CJSON_UTILS=ON -DENABLE_VALGRIND=ON -DENABLE_SAFE_STACK=ON "
            "-DENABLE_SANITIZERS=OFF\ncmake --build .\nmake\nmake test",
            "mkdir -p build; cd build; cmake .. -DENABLE_CJSON_UTILS=ON -DENABLE_VALGRIND=ON -DENABLE_SAFE_STACK=ON "
            "-DENABLE_SANITIZERS=OFF && cmake --build .", "tests/CMakeLists.txt", "find_program(MEMORYCHECK_COMMAND valgrind)", CTEST,
            22, False, (
                Bug("leak", "cJSON.c", CJSON, CJSON.replace("global_hooks.deallocate(item->valuestring)", ""),
                    "parse_string"),
                Bug("double free", "cJSON.c", CJSON, CJSON.replace(");", "); global_hooks.deallocate(item->valuestring);"),
                    "cJSON_Delete"))),
    Project("redis", ".github/workflows/daily.yml",
            "valgrind --track-origins=yes --suppressions=./src/valgrind.sup --show-reachable=no --show-possibly-lost=no "
            "--leak-check=full --log-file=err.txt ./src/redis-server test all\nif grep -q 0x err.txt; then cat err.txt; exit 1; fi",
            "make valgrind REDIS_CFLAGS='-Werror -DREDIS_TEST'", "", "", r"(?m)^\[ok\] Test - ", 12, True, (
                Bug("leak", "src/sds.c", REDIS, REDIS.replace("sdsfree(x);", ""), "ztryrealloc_usable_internal"),
                Bug("double free", "src/sds.c", REDIS, REDIS.replace("sdsfree(x);", "sdsfree(x); sdsfree(x);"), "zfree"))),
)

HEADINGS = {"leak": "definitely lost in loss record", "double free": "Invalid free", "write past the end": "Invalid write"}


class Failure(Exception):
    """The line does not behave as expected."""


def must(holds, *what):
    if not holds:
        raise Failure("\n  ".join(str(w) for w in what))


def environment():
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("RTC", "LD_", "MAKE", "MFLAGS", "CTEST", "VALGRIND", "GITHUB"))}
    return {**kept, "PATH": f"{BUILD}/bin:{os.environ['PATH']}", "CTEST_PARALLEL_LEVEL": "1"}


def shell(text, folder):
    """Run lines as GitHub does: status, output, processor time of all its processes."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(["bash", "-e", "-c", text], cwd=folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                 env=environment())
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return child.returncode, out.read().decode(errors="replace"), usage.ru_utime + usage.ru_stime


def replace(path, old, new):
    text = path.read_text()
    must(text.count(old) == 1, f"{path}: not once there:", old)
    path.write_text(text.replace(old, new))


def pristine(package, folder):
    """The project's release: the package without Debian's patches."""
    description, = folder.glob(package + "_*.dsc")
    tree = folder / "pristine" / description.stem
    if not tree.exists():
        tree.parent.mkdir(exist_ok=True)
        subprocess.run(["dpkg-source", "--no-check", "--skip-patches", "-x", description, tree], check=True, capture_output=True)
    return tree


def is_cited(project, tree):
    """Is each line of the command in the project's own CI file?  A project without that file in its package is not compared."""
    text = (tree / project.cited).read_text() if project.cited else project.line
    return all(line.strip() in text for line in project.line.splitlines())


def prepare(project, tool, tree, work, bug=None):
    """A built copy whose line calls the tool; return its folder and the line."""
    folder = work / f"{project.package}.{tool}.{bug.kind.replace(' ', '-') if bug else 'plain'}"
    shutil.copytree(tree, folder, symlinks=True)
    if project.file:
        replace(folder / project.file, project.word, re.sub(r"\bvalgrind\b", tool, project.word))
    if bug:
        replace(folder / bug.file, bug.old, bug.new)
    status, output, _ = shell(project.built, folder)
    must(status == 0, f"{project.package} cannot be built:", output[-3000:])
    return folder, project.line if project.file else re.sub("^valgrind ", tool + " ", project.line)


def run(folder, line, keep):
    """The line's status, its output with what it wrote into logs, and its processor time."""
    status, output, cpu = shell(line, folder)
    logs = "".join(path.read_text(errors="replace") for path in folder.rglob("LastTest.log"))
    if keep:
        (keep / (folder.name + ".log")).write_text(output + logs)
    return status, output, output + logs, cpu


def tools_of(project, options):
    return (OWN,) if project.is_slow and not options.slow else (VALGRIND, OWN)


def times(values):
    return f"{min(values):.1f} s ({statistics.median(values):.1f})"


def compare_plain(project, tree, work, options):
    """Status and number of tests by both tools; return a cell for each."""
    tools = tools_of(project, options)
    ready = {tool: prepare(project, tool, tree, work) for tool in tools}
    cpu = {tool: [] for tool in tools}
    for _ in range(options.rounds):
        for tool in tools:
            status, output, text, seconds = run(*ready[tool], options.keep)
            passed = len(re.findall(project.tests, output))
            must(status == 0 and passed == project.count, f"{project.package} by {tool}: status {status}, {passed} tests of "
                 f"{project.count}", text[-3000:])
            cpu[tool].append(seconds)
    for folder, _ in ready.values():
        shutil.rmtree(folder)
    return {tool: f"0, {project.count}, {times(cpu[tool])}" for tool in tools}


def compare_bug(project, bug, tree, work, options):
    """Both tools fail the line, and print the place."""
    statuses = []
    for tool in tools_of(project, options):
        folder, line = prepare(project, tool, tree, work, bug)
        status, output, text, _ = run(folder, line, options.keep)
        passed = len(re.findall(project.tests, output))
        must(status != 0 and (passed < project.count or not project.file), f"{project.package}, {bug.kind}: not found by {tool}: status {status}",
             text[-3000:])
        must(re.search(HEADINGS[bug.kind] + r".*\n(.*\n){0,5}?.* " + bug.place, text),
             f"{project.package}, {bug.kind}: {tool} does not name {bug.place}", text[-6000:])
        statuses.append(status)
        shutil.rmtree(folder)
    must(len(set(statuses)) == 1, f"{project.package}, {bug.kind}: other statuses", statuses)
    return f"{bug.kind}: {statuses[0]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sources", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("projects", nargs="*", choices=[[], *(p.package for p in PROJECTS)], metavar="PROJECT")
    options = parser.parse_args()
    wanted = [p for p in PROJECTS if not options.projects or p.package in options.projects]
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="lines.") as work:
        work = pathlib.Path(work)
        folder = (options.sources or work / "sources").resolve()
        found = sources.fetch({p.package for p in wanted}, folder)
        missing = [p.package for p in wanted if p.package not in found]
        if missing:
            print("skip: ci/lines_of_projects: the archive did not deliver the source of", ", ".join(missing))
        wanted = [p for p in wanted if p.package in found]
        if not wanted:
            return 77
        failed = 0
        for project in wanted:
            tree = pristine(project.package, folder)
            try:
                must(is_cited(project, tree), f"{project.package}: {project.cited} has another line:", project.line)
                cells = compare_plain(project, tree, work, options)
                bugs = [compare_bug(project, bug, tree, work, options) for bug in project.bugs]
                print(f"| {tree.name} | {cells.get(VALGRIND, 'not run')} | {cells[OWN]} | {'; '.join(bugs)} |", flush=True)
            except Failure as failure:
                failed += 1
                print(failure, flush=True)
        return 1 if failed else 0


sys.exit(main())

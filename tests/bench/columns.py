"""columns.py - the compared columns: glibc, rtcheck, other allocators, other tools."""
import collections
import os
import pathlib
import shutil
import subprocess

SOURCE = pathlib.Path(os.environ.get("RTC_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ.get("RTC_BUILD") or SOURCE / "build")
RTCHECK = [str(BUILD / "bin/rtcheck"), "-q"]
INTERPOSER = str(BUILD / "tests/bench/backtrace.so")

# variables: environment that selects the tool; words: prefix of the command. sound: the run must succeed and
# print the program's output; a failure of a column that is not sound is shown in its cell. slow: run with
# programs only (these, if any are named), one round.  builds: {program: the same program built with the tool}, for
# a tool that has to be compiled in; a program without an entry is not run with the tool.
Front = collections.namedtuple("Front", "variables words sound slow names builds", defaults=(True, False, (), None))


def installed(library):
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    return next((line.split()[-1] for line in listed.splitlines() if library in line), None)


def preloaded(library, *variables, **more):
    return Front([f"LD_PRELOAD={library}", *variables], [], **more)


def lsan():
    """LSan walks frame pointers: fast, but the stack is wrong in code without frame pointers.  The interposer
    is preloaded behind LSan, so that a first allocation sets LSan up; otherwise LSan crashes programs that
    call signal()."""
    path = installed("liblsan.so.0")
    return {"LSan": preloaded(f"{path}:{INTERPOSER}", "LSAN_OPTIONS=exitcode=0:symbolize=0",
                              sound=False)} if path else {}


def unwinders():
    """The columns that take a stack for each allocation or free, complete or not."""
    found = {"rtcheck": Front([], RTCHECK + ["--"])}
    if installed("libunwind.so.8"):
        found["unw_backtrace"] = preloaded(INTERPOSER, "BENCH_BACKTRACE=yes")
    return {**found, **lsan()}


def asan(place):
    """AddressSanitizer: tests/bench/load.c built with it.  Without its runtime library there is no column."""
    built = place / "load-asan"
    done = subprocess.run(["cc", "-O2", "-g", "-pthread", "-fsanitize=address", SOURCE / "tests/bench/load.c", "-o", built],
                          capture_output=True, check=False)
    if done.returncode:
        return {}
    return {"ASan": Front(["ASAN_OPTIONS=exitcode=0"], [], False, builds={str(BUILD / "tests/bench/load"): str(built)})}


def columns(place, slow_names=()):
    """By name, glibc first.  A tool that is not installed has no column."""
    found = {"glibc": Front([], []), **unwinders(), **asan(place)}
    if shutil.which("heaptrack"):
        found["heaptrack -r"] = Front([], ["heaptrack", "-r", "-o", str(place / "heaptrack")], False)
    if shutil.which("valgrind"):
        found["memcheck"] = Front([], ["valgrind", "-q", "--log-file=/dev/null"], True, True, slow_names)
    for name, library in (("mimalloc", "libmimalloc.so.2"), ("jemalloc", "libjemalloc.so.2")):
        path = installed(library)
        if path:
            found[name] = preloaded(path)
    return found

#!/usr/bin/python3
# rtc-test: crimes/access-full-time ci 60
"""--access=full: the report has the shares of the time that ran in copies, in native code of checked objects, and elsewhere. The
program runs until it has used enough CPU time."""
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
# Equal work in two functions, of two processes; the status is the number of the program's descriptors.
PROGRAM = """
#include <dirent.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#define WORK { int sum = 0; for (int i = 0; i < 100000; i++) sum += p[i & 3]; return sum; }
__attribute__((noinline, noclone, noipa)) static int first(volatile int *p) WORK
__attribute__((noinline, noclone, noipa)) static int second(volatile int *p) WORK
static double used(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6;
}
static int descriptors(void)
{
    DIR *all = opendir("/proc/self/fd");
    int count = 0;
    while (all && readdir(all))
        count++;
    closedir(all);
    return count;
}
int main(void)
{
    volatile int *p = calloc(4, sizeof *p);
    int sum = 0, count = descriptors();
    pid_t child = fork();
    while (used() < 0.6)
        sum += first(p) + second(p);
    free((void *)p);
    if (child > 0)
        wait(NULL);
    return count + sum;
}
"""


def run(*options, **variables):
    command = [BUILD + "/bin/rtcheck", "--leaks=no", "--json=report.json", "--log-file=log", *options, "./program"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={**ENVIRONMENT, **variables})
    with open("report.json", encoding="utf8") as file, open("log", encoding="utf8") as log:
        report = json.load(file)
        text = log.read()
    check(f"schema with {options}", (complaints(report), done.stderr), ([], ""))
    return report.get("access_time"), text, done.returncode


done = subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", "program"], input=PROGRAM, capture_output=True, text=True, check=False)
check("program", (done.returncode, done.stderr), (0, ""))
_, text, descriptors = run("--access=yes")
check("only with --access=full", (run("--access=yes")[0], "the time" in text), (None, False))
time, text, status = run("--access=full", "--cost")
check("descriptors", status, descriptors)
if time is None: # the kernel permits no samples
    check("reason", re.search(r"^ +time: n/a: \S", text, re.M) is not None, True)
else:
    samples = time["copies"] + time["native"] + time["elsewhere"]
    check("both processes", 60 <= samples <= 400, True)
    check("copies", time["copies"] > 0.8 * samples, True)
    time, text, _ = run("--access=full", "--cost", "--access-skip=second")
    samples = time["copies"] + time["native"] + time["elsewhere"]
    check("half of it", (0.15 < time["copies"] / samples < 0.8, 0.15 < time["native"] / samples < 0.8), (True, True))
    check("hottest", (time["hottest"][0]["function"], time["hottest"][0]["object"]), ("second", WORK + "/program"))
    check("line", re.search(r", \d+ % of the time in objects with copies, ", text) is not None, True)
    check("section", re.search(r"most of it in\s+second\s+\(program\)\s+\d", text) is not None, True)
    time, text, _ = run("--access=full", "--access-objects=!program")
    check("no copies", (time["copies"], time["native"], time["elsewhere"] > 60), (0, 0, True))
    check("no share", "of the time in" in text, False)
time, text, status = run("--access=full", "--cost", RTCHECK_TEST_WITHOUT="perf-samples")
check("refused", (time, status, re.sub(r"\s+", " ", re.search(r"^ +(time: .*\n.*)", text, re.M)[1]).startswith(
    "time: n/a: perf events are not permitted (kernel.perf_event_paranoid)")), (None, descriptors, True))
text = run("--access=full", RTCHECK_TEST_WITHOUT="perf-samples")[1]
check("refused, in the line", ("n/a: perf" in text, "of the time" in text), (False, False))
time, text, _ = run("--access=full", "--cost", "--deterministic")
check("--deterministic", (time, "time:" in text), (None, False))
end()

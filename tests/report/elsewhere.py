#!/usr/bin/python3
# rtc-test: report/elsewhere ci 60
"""A run of another machine: its programs are in --sysroot, its debugging information in --debug-dir."""
import os
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True # the checkout may be another's
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../stress")
from checks import check, end

BUILD = pathlib.Path(os.environ["RTC_BUILD"])
RTCHECK = BUILD / "bin/rtcheck"
PLACE = pathlib.Path.cwd()
ENVIRONMENT = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": str(PLACE)}
PROGRAM = """
#include <stdlib.h>
static __attribute__((noinline)) void *lost_here(void) { return malloc(77); }
int main(void) { volatile char *lost = lost_here(); lost = 0; return 0; } /* %s */
"""


def compile_into(folder, comment="", flags=()):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "p.c").write_text(PROGRAM % comment)
    subprocess.run(["gcc", "-g", "-O1", "-Wl,--build-id=sha1", *flags, "p.c", "-o", "p"], cwd=folder, check=True)


def report(*options, verb=("report",)):
    done = subprocess.run([RTCHECK, *verb, *options, "run.pool"], env=ENVIRONMENT, capture_output=True, text=True, timeout=30,
                          check=False)
    return done.stdout + done.stderr


def names(text):
    """Is the function known, and its line?"""
    return "lost_here" in text, "p.c:3" in text


home, root, debug = PLACE / "home", PLACE / "root", PLACE / "debug"
compile_into(home)
subprocess.run([RTCHECK, "--keep", "--log-file=log", home / "p"], env=ENVIRONMENT, check=True)
subprocess.run(["cp", next((PLACE / "rtcheck").glob("p.*")), "run.pool"], check=True)  # sparse, with heap=file larger than the disk
check("here", names(report()), (True, True))

# The program's file is elsewhere: the same path below another folder.
below = root / home.relative_to("/")
below.mkdir(parents=True)
shutil.move(home / "p", below / "p")
check("without its file", names(report()), (False, False))
check("sysroot", names(report(f"--sysroot={root}")), (True, True))
check("sysroot, relative", names(report("--sysroot=root")), (True, True))
check("no such sysroot", names(report("--sysroot=/nowhere")), (False, False))
finding = next(word for word in report("--sysroot=root").split() if word.startswith("mel-"))
check("show", names(report("--sysroot=root", finding, verb=("show",))), (True, True))
check("show without", "lost_here" in report(finding[:4], verb=("show",)), False)

# Its debugging information is in another folder, by build-id.
build_id = subprocess.run(["readelf", "-n", below / "p"], capture_output=True, text=True, check=True).stdout.split("Build ID: ")[1].split()[0]
folder = debug / ".build-id" / build_id[:2]
folder.mkdir(parents=True)
subprocess.run(["objcopy", "--only-keep-debug", below / "p", folder / (build_id[2:] + ".debug")], check=True)
subprocess.run(["strip", below / "p"], check=True)
check("stripped", names(report("--sysroot=root")), (False, False))
check("debug-dir", names(report("--sysroot=root", "--debug-dir=/nowhere", f"--debug-dir={debug}")), (True, True))
check("in the sysroot", names(report("--sysroot=root")), (False, False))
(root / "usr/lib").mkdir(parents=True)
shutil.move(debug, root / "usr/lib/debug")
check("in the sysroot's folder", names(report("--sysroot=root")), (True, True))

# A file of another build is not used; one on this machine is, if the sysroot has none.
compile_into(below, flags=("-DX=1", "-O0"))
check("another build", names(report("--sysroot=root"))[1], False)
(below / "p").unlink()
compile_into(home)
check("neither moved", names(report("--sysroot=root")), (True, True))

# With the launcher, and by hand.
(PLACE / "other").mkdir()
done = subprocess.run([RTCHECK, "--sysroot=/nowhere", home / "p"], env=ENVIRONMENT, capture_output=True, text=True, check=False)
check("launcher", names(done.stderr), (True, True))
done = subprocess.run([RTCHECK, "--extra-debuginfo-path=/nowhere", home / "p"], env=ENVIRONMENT, capture_output=True, text=True,
                      check=False)
check("valgrind's option", (names(done.stderr), "extra-debuginfo-path" in done.stderr), ((True, True), False))
end()

#!/usr/bin/env python3
"""Writes outside of a block that has no neighbours: before the first of a slab, before and past large ones; and
how wide redzones are (--redzone-size)."""
# rtc-test: crimes/edges ci 120
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True # the checkout may be another's
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../stress")
from checks import check, end

BUILD = pathlib.Path(os.environ["RTC_BUILD"])
PROGRAM = BUILD / "tests/crimes/edges"
SMALL, LARGE = (20, 300, 700, 1500, 3000, 5000, 20000, 30000), (32768, 65536, 300000, 5000000)


def damage(options, *args):
    """(offset of the first byte that was found changed, bytes of its block) of each error record of a run"""
    pool = pathlib.Path("pool")
    for old in pool.glob("*"):
        old.unlink()
    pool.mkdir(exist_ok=True)
    env = dict(os.environ, LD_PRELOAD=str(BUILD / "lib/librtcheck.so"), RTCHECK_REPORTER="none",
               RTCHECK_OPTIONS=f"keep:leaks=no:pool_dir={pool.absolute()}:{options}")
    done = subprocess.run([PROGRAM, *map(str, args)], env=env, stderr=subprocess.DEVNULL, check=False)
    check(f"{options} {args}: status", done.returncode, 0)
    file, = pool.glob("*.pool")
    dump = subprocess.run([BUILD / "bin/rtcheck", "dump", file], capture_output=True, text=True, check=True).stdout
    return [(int(at, 16) - int(block, 16), int(bytes_)) for at, block, bytes_ in
            re.findall(r" error \d+ wua .* address=(\w+) .* block=(\w+)\+(\d+) ", dump)]


def written(options, how, bytes_, offset):
    """A written byte is found; without a write nothing is."""
    for end in ("free", "exit"):
        what = f"{options} {how}-{end} {bytes_} B, at {offset}"
        check(what, damage(options, f"{how}-{end}", bytes_, offset), [(offset, bytes_)])
    check(f"{options} {how} {bytes_} B, nothing written", damage(options, f"{how}-free", bytes_, 0, "none"), [])


def before_first():
    for bytes_ in SMALL:
        written("", "malloc", bytes_, -1)
    for offset in (-2, -8, -16):
        written("", "malloc", 3000, offset)


def around_large():
    for bytes_ in LARGE:
        written("", "malloc", bytes_, -1)
        written("", "malloc", bytes_, bytes_)
    written("", "malloc", 300000, -64)
    written("", "calloc", 300000, -1)
    written("", "aligned", 300000, -1)
    written("heap=file:pool_size=32m", "malloc", 300000, -1)


def width():
    for bytes_ in (16, 1000, 4096):
        for request in (1500, 6000, 300000): # the first of their classes, also with a redzone
            for offset in (-bytes_, request + bytes_ - 1):
                written(f"redzone_size={bytes_}", "malloc", request, offset)
    written("redzone_size=256", "aligned", 5000, -256)
    for given in ("4097", "-1", "all", ""):
        done = subprocess.run([BUILD / "bin/rtcheck", f"--redzone-size={given}", "--", "/bin/true"],
                              capture_output=True, text=True, check=False)
        check(f"--redzone-size={given}", (done.returncode, "up to 4096, or auto" in done.stderr), (125, True))


def never_taken():
    """Past the redzone, in slots that were never given out: as far as the page is resident."""
    for bytes_, offset in ((40, 48), (40, 48 + 31), (40, 500), (300, 320), (700, 768), (1500, 1536)):
        written("", "malloc", bytes_, offset)
    written("", "malloc", 3000, 3100) # class 3072: up to the end of the page
    written("heap=file:pool_size=32m", "malloc", 700, 768)


before_first()
around_large()
never_taken()
width()
end()

#!/usr/bin/python3
# rtc-test: bench/untouched ci 60 --check
# rtc-test: bench/untouched_all full 300 --check --all
"""The cost of blocks that are allocated and never written: resident memory, page faults and CPU time.

    untouched.py [--all] [--check]

Prints a table, 4 KiB to 1 GiB (--all: with the largest counts), glibc beside the runtime preloaded by hand.
--check compares the values that are reproducible, resident memory and page faults, with the bounds below.
CPU time is printed only.

Resident memory and page faults are read when all blocks are allocated, and again when the process has ended
(the maximum of resident memory): checks at the end (redzones, leaks) must not read pages that were never
written.  A read maps the zero page, which costs a page fault; in some virtual machines it makes a page
resident.  Both as growth from 1 block to COUNT.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("RTC_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ.get("RTC_BUILD") or SOURCE / "build")
PROGRAM = BUILD / "tests/bench/untouched"
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

# Bytes, count, count with --all.
ROWS = [(4 * KIB, 2000, 20000), (16 * KIB, 2000, 20000), (32 * KIB, 2000, 8000),
        (64 * KIB, 2000, 8000), (128 * KIB, 2000, 8000), (300 * 1000, 2000, 8000),
        (1 * MIB, 1000, 2000), (4 * MIB, 200, 1000), (6 * 1000 * 1000, 100, 1000),
        (64 * MIB, 20, 100), (1 * GIB, 4, 16)]
LARGE_FROM = 32 * KIB

# A block: two pages for its redzones, natively one for its header; and its record (64 bytes), its entries in
# the tables of units (16 + 40 bytes each for 64 KiB) and in those of the leak check (128 bytes for each block
# and 4 + 8 for each unit, of memory that is given back).
PAGE = 4 * KIB
RECORD, UNIT = 64, 56


def tables_bytes(bytes_, count, at_end):
    units = bytes_ // (64 * KIB) + 1
    return count * (RECORD + UNIT * units + (128 + 12 * units if at_end else 0))


def bound_kib(bytes_, count, at_end):
    # 256: memory that grows in steps: areas of the run file, page tables
    return (count * PAGE + tables_bytes(bytes_, count, at_end)) / KIB + 256


def run(bytes_, count, variables):
    """(growth KiB, faults, CPU us; most resident KiB, faults until the process has ended)"""
    with tempfile.NamedTemporaryFile("r") as result:
        command = [BUILD / "tests/bench/measure", result.name, "1", *(f"{k}={v}" for k, v in variables.items()),
                   PROGRAM, str(bytes_), str(count)]
        done = subprocess.run(command, env={"PATH": "/usr/bin:/bin"}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        most = result.read().split()
    if done.returncode or len(most) != 3:
        sys.exit(f"{count} x {bytes_}: the program ended with {done.returncode}: {done.stderr}")
    return [int(word) for word in done.stdout.split()] + [int(word) for word in most[1:]]


def measure(bytes_, count, variables):
    """(growth in KiB, growth in KiB including the process's end, faults, with its end, CPU us) of COUNT blocks."""
    one, many = run(bytes_, 1, variables), run(bytes_, count, variables)
    return many[0], many[3] - one[3], many[1], many[4] - one[4], many[2]


def check(bytes_, count, native, own):
    """Return an error text, or None."""
    if bytes_ < LARGE_FROM:
        return None # a slot of a slab shares its pages with others: not tested here
    for name, i, at_end in (("allocated", 0, False), ("at the end", 1, True)):
        most = native[i] + bound_kib(bytes_, count, at_end)
        if own[i] > most:
            return f"{name}: {own[i]} KiB resident, natively {native[i]}, {most:.0f} are allowed"
    for name, i, at_end in (("allocated", 2, False), ("at the end", 3, True)):
        most = 3 * native[2] + tables_bytes(bytes_, count, at_end) // PAGE + 250
        if own[i] > most:
            return f"{name}: {own[i]} page faults, natively {native[i]}, {most} are allowed"
    return None


def size_text(bytes_):
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if bytes_ % unit == 0:
            return f"{bytes_ // unit} {name}"
    return f"{bytes_ // 1000} kB"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="the larger counts")
    parser.add_argument("--check", action="store_true", help="fail where a bound is exceeded")
    arguments = parser.parse_args()
    wrong = []
    print("                       RSS, MiB        to the end, MiB   page faults      to the end      CPU, ms\n"
          "   block    count   glibc  rtcheck    glibc  rtcheck   glibc rtcheck   glibc rtcheck  glibc rtcheck")
    with tempfile.TemporaryDirectory() as place:
        hand = {"LD_PRELOAD": str(BUILD / "lib/librtcheck.so"),
                "RTCHECK_OPTIONS": f"pool_dir={place}:log_file={place}/report"}
        for bytes_, few, many in ROWS:
            count = many if arguments.all else few
            native, own = measure(bytes_, count, {}), measure(bytes_, count, hand)
            columns = [f"{x[i] / KIB:8.1f}" for i in (0, 1) for x in (native, own)]
            columns += [f"{x[i]:7d}" for i in (2, 3) for x in (native, own)] + [f"{x[4] / 1000:6.1f}" for x in (native, own)]
            print(f"{size_text(bytes_):>8} {count:8d}", *columns)
            printed = check(bytes_, count, native, own)
            if printed:
                wrong.append(f"{count} x {size_text(bytes_)}: {printed}")
    if arguments.check and wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()

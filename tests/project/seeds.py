#!/usr/bin/python3
# rtc-test: project/seeds ci 30
"""docs/seeds.md is the page of seeds.tsv: each row names a test that exists, and each function of ucm.h and libcpc.h has a row.
RTC_BLESS=1 writes the page."""
import collections
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(os.environ.get("RTC_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
PAGE, TABLE = SOURCE / "docs/seeds.md", SOURCE / "tests/project/seeds.tsv"
VERDICTS = ("same", "beyond", "different", "missing")
Row = collections.namedtuple("Row", "system point here verdict test reason")
INTRODUCTION = """# The systems that rtcheck follows

rtcheck's interfaces are those of UCX's ucm, of libfabric's fi_profile and of Solaris' libcpc, cputrack and memory control. Each row
is a rule of one of them, with the test that fails without it. The page is made from `tests/project/seeds.tsv`, and a test compares
both. *beyond* has more than the rule, *different* has a reason, *missing* does not exist yet.

Tests: `events/ucm:mapping` is the row `mapping` of `tests/events/ucm.def`; `events/ucm.py:environment` is that check of the script.
"""
TITLES = {"ucm": "ucm: memory events", "fi_profile": "fi_profile: variables and events", "libcpc": "libcpc: counters",
          "cputrack": "cputrack: counters of a running program", "memory control": "Memory control"}
wrong = []


def rows():
    for line in TABLE.read_text().splitlines():
        if not line.startswith("#"):
            yield Row(*line.split("\t"))


def test_exists(test):
    place, _, name = test.partition(":")
    if place.endswith(".py"):
        return re.search(r"\('%s', " % re.escape(name), (SOURCE / "tests" / place).read_text())
    return f"ROW({name})" in (SOURCE / "tests" / f"{place}.def").read_text()


def check(row):
    if row.verdict not in VERDICTS or row.system not in TITLES:
        wrong.append(f"{row.point}: {row.system}, {row.verdict}?")
    if (row.verdict == "same") == bool(row.reason):
        wrong.append(f"{row.point}: a reason for `{row.verdict}`: {row.reason!r}")
    if (row.verdict == "missing") != (not row.test) or (row.test and not test_exists(row.test)):
        wrong.append(f"{row.point}: no test {row.test!r}")


def functions(header, prefix):
    """The functions of this prefix that the header defines."""
    text = (SOURCE / "include/rtcheck" / header).read_text()
    starts = re.findall(r"^RTC_\w+_INLINE\s[^(]*?\b(\w+)\(", text, re.M)
    return {name for name in starts if name.startswith(prefix)}


def check_functions(table, header, prefix):
    """`ucm_orig_*` stands for all of this beginning, `_pic` for all of this end."""
    text = " ".join(row.point + " " + row.here for row in table)
    for function in sorted(functions(header, prefix)):
        named = re.search(rf"\b{function}\b", text) or \
            any(function.startswith(start) for start in re.findall(r"(\w+)\*", text)) or \
            any(function.endswith(end) for end in re.findall(r"`(_[a-z]+_?)`", text)) or \
            any(function.startswith(f"cpc_walk{part}") for part in re.findall(r"`(_generic_)`", text))
        if not named:
            wrong.append(f"{header}: no row has {function}")


def page(table):
    text = INTRODUCTION
    counts = collections.Counter(row.verdict for row in table)
    text += "\n" + ", ".join(f"{counts[v]} {v}" for v in VERDICTS) + ".\n"
    for system, title in TITLES.items():
        text += f"\n## {title}\n| rule | here | | test |\n|---|---|---|---|\n"
        for row in (r for r in table if r.system == system):
            verdict = row.verdict + (f": {row.reason}" if row.reason else "")
            text += f"| {row.point} | {row.here} | {verdict} | {f'`{row.test}`' if row.test else ''} |\n"
    return text


def main():
    table = list(rows())
    for row in table:
        check(row)
    check_functions(table, "ucm.h", "ucm_")
    check_functions(table, "libcpc.h", "cpc_")
    if os.environ.get("RTC_BLESS"):
        PAGE.write_text(page(table))
    elif PAGE.read_text() != page(table):
        wrong.append("docs/seeds.md is not that of seeds.tsv: RTC_BLESS=1 tests/project/seeds.py")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())

#!/usr/bin/python3
"""The matrix of what is found: each kind of access in each place, with each option that finds more.

    matrix.py [--full] [--bless]

Runs tests/crimes/matrix, and classifies each cell by the JSON report: by the stack of the access or of the block, the sentence
and the count. Good accesses by the same code must have no report, and crashes the native status. The tables must be those of
docs/access-matrix.md; --bless writes them. --full also runs each option with guards by mprotect, as on older kernels, and with
--heap=file: the results must be the same, but units of a heap in the file are used again earlier.
"""
# rtc-test: crimes/matrix ci 180
# rtc-test: crimes/matrix-full full 600 --full
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import subprocess
import sys

sys.dont_write_bytecode = True # the checkout may be another's
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../stress")
from checks import check, end

BUILD, SOURCE = os.environ["RTC_BUILD"], os.environ["RTC_SOURCE"]
PROGRAM = BUILD + "/tests/crimes/matrix"
PAGE = pathlib.Path(SOURCE) / "docs/access-matrix.md"
BEGIN = "## Tables\n"

# The options, the blocks of each cell, and a heading. Samples: a fixed seed; on average 20 of the blocks are guarded, and the
# freed blocks of all cells fit into the quarantine.
OPTIONS = {"no": (["--guard=no"], 4, "`--guard=no`, the default"),
           "full": (["--access=full"], 4, "`--access=full`"),
           "fill": (["--malloc-fill=block"], 4, "`--malloc-fill=block`"),
           "4": (["--guard=4"], 80, "`--guard=N`, and `--guard=auto` after its first 1000 blocks"),
           "all": (["--guard=all"], 4, "`--guard=all`"),
           "end": (["--guard=end"], 4, "`--guard=end`"),
           "start": (["--guard=start"], 4, "`--guard=start`")}
EVERY = {"no": ((), "`--access-every=16`, the default"), "every": (("--access-every=1",), "`--access-every=1`")}
FREQUENT_COUNT = 400
PLACES = {"before": "just before the block", "end": "just past its end", "slack": "in its slack", "far": "5,000 bytes past its end",
          "freed": "freed", "reused": "freed, 10,000 blocks ago", "uninitialised": "uninitialised", "constant": "constant",
          "null": "NULL", "wild": "not mapped", "stack": "below the stack"}
COLUMNS = {"load": "load", "store": "store", "call_read": "libc reads", "call_write": "libc writes", "system_read": "kernel reads",
           "system_write": "kernel writes"}
CALLS = {"copy_from": ("call_read", "memcpy"), "length": ("call_read", "strlen"), "copy_to": ("call_write", "memcpy"),
         "fill": ("call_write", "memset"), "send_out": ("system_read", "write"), "read_in": ("system_write", "read")}

PAST = r"just past the end of a 64-byte block"
SENTENCES = {"before": r"\d+ bytes? before a 64-byte block", "end": PAST, "frequent": PAST,
             "slack": r"(the last 1|just) past the end of a 40-byte block", "far": r"5000 bytes past the end of a 64-byte block",
             "freed": r"at offset 0 of a freed 64-byte block", "reused": r"at offset 0 of a freed 64-byte block"}
CRASHES = {"constant": r" in \.rodata of matrix: .*: not permitted", "null": r" at NULL \+ \d+",
           "wild": r" at an address that is not mapped, 0x\w+",
           "stack": r" below the end of the stack of the main thread \(stack overflow\)"}

Cell = collections.namedtuple("Cell", "place access bytes verb")
Result = collections.namedtuple("Result", "cells wrong statuses")


def limit():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))


def call(*command, **variables):
    environment = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": os.getcwd(), "XDG_CACHE_HOME": os.getcwd(),
                   "RTCHECK_TEST_SEED": "17", **variables}
    return subprocess.run(command, capture_output=True, text=True, timeout=150, check=False, env=environment, preexec_fn=limit)


def statuses(output):
    return dict(line.split() for line in output.splitlines())


CELLS = {f"{place}__{access}": Cell(place, access, int(number), verb)
         for place, access, number, verb in map(str.split, call(PROGRAM).stdout.splitlines())}
NATIVE = statuses(call(PROGRAM, "bad", "1", *CRASHES).stdout)


def wanted_sentence(cell):
    """The sentence of an exact report; of a string and of libc's own instructions the number of bytes may vary."""
    number = r"\d+ bytes?" if cell.access == "length" else f"{cell.bytes} byte{'s'[:cell.bytes > 1]}"
    function = f" by {CALLS[cell.access][1]}" if cell.access in CALLS else ""
    if cell.place in CRASHES:
        return f"SIGSEGV: {cell.verb}{r'( of .*)?' if function else ' of ' + number}{CRASHES[cell.place]}"
    if cell.place == "uninitialised":
        return rf"uninitialised read of \d+( of \d+)? bytes{function}, (the first )?at offset 0 of a 64-byte block"
    if cell.place == "before" and cell.bytes > 8 and not function: # nearer to the block before
        return f"{cell.verb} of {number}, ({SENTENCES['before']}|(just|the last 16) past the end of a 64-byte block)"
    return f"{cell.verb} of {number}{function}, {SENTENCES.get(cell.place, 'none')}"


def kind_of(error, cell, access_stack):
    """exact, crash or late; None: the report has a wrong sentence."""
    if error["rtc"] == "wua" and re.search(r", detected (at (free|exit)|when it left the quarantine)$", error["text"]):
        return "late"
    if cell.access not in access_stack or not re.fullmatch(wanted_sentence(cell), error["text"]):
        return None
    return "crash" if error["rtc"] == "sig" else "exact"


def classify(report):
    """{cell: Counter of the kinds of its reports}, and the reports that are wrong."""
    functions = {f["id"]: [g.get("function") for g in [f, *f.get("inlined_into", [])]] for f in report["frames"]}
    stacks = {s["id"]: [name for f in s["frames"] for name in functions[f]] for s in report["stacks"]}
    cells, wrong = collections.defaultdict(collections.Counter), []
    for error in report["errors"]:
        access_stack = stacks.get(error.get("stack"), [])
        names = [name for name in access_stack + stacks.get(error.get("alloc_stack"), []) if name in CELLS]
        kind = kind_of(error, CELLS[names[0]], access_stack) if names else None
        if kind is None or (kind == "late" and len(set(names)) != 1):
            wrong.append((names, error["text"]))
        else:
            cells[names[0]][kind] += error["count"]
    return cells, wrong


def run(label, mode, count, *places, options=(), variables=()):
    """Result of a run of the program; each has its own file."""
    file = f"{label}.{mode}.json"
    done = call(BUILD + "/bin/rtcheck", "--leaks=no", "--error-limit=no", "--json=" + file,
                f"--log-file={label}.{mode}.log", *options, PROGRAM, mode, str(count), *places, **dict(variables))
    if done.returncode or done.stderr:
        return Result({}, [done.stdout, done.stderr], {})
    with open(file) as opened:
        cells, wrong = classify(json.load(opened))
    return Result(cells, wrong, statuses(done.stdout))


def word(kinds, count):
    """The result of a cell."""
    if kinds["crash"]:
        return "crash"
    if kinds["exact"]:
        return "exact" if kinds["exact"] == count else "sampled"
    return "late" if kinds["late"] else "no"


def column_of(access):
    return CALLS[access][0] if access in CALLS else access.split("_")[0]


def text_of(words):
    """One word for all accesses of a table's cell, or the accesses with each of the words."""
    if len(set(words.values())) == 1:
        return next(iter(words.values()))
    groups = collections.defaultdict(list)
    for access, result in words.items():
        groups[result].append(access.rpartition("_")[2] if access not in CALLS else CALLS[access][1])
    return "; ".join(f"{', '.join(names)}: {result}" for result, names in groups.items())


def row(title, place, words):
    texts = [title]
    for column in COLUMNS:
        found = {cell.access: words[name] for name, cell in CELLS.items() if cell.place == place and column_of(cell.access) == column}
        texts.append(text_of(found) if found else "-")
    return "| " + " | ".join(texts) + " |"


def table(first, rows, columns):
    return "\n".join(["| " + " | ".join([first, *columns]) + " |", "|" + "---|" * (len(columns) + 1), *rows]) + "\n"


def document(words, frequent):
    """All tables of the page. words[option][cell]"""
    parts = [BEGIN]
    for option, (_, _, heading) in OPTIONS.items():
        parts.append(f"### {heading}\n\n" + table("place", [row(t, p, words[option]) for p, t in PLACES.items()], COLUMNS.values()))
    rows = ["| " + " | ".join([title, *(text_of({n: w for n, w in frequent[name].items() if column_of(CELLS[n].access) == column})
                                        for column in ("call_read", "call_write"))]) + " |" for name, (_, title) in EVERY.items()]
    parts.append("### Just past its end, by a call that was made 300 times before from the same place\n\n" +
                 table("option", rows, [COLUMNS["call_read"], COLUMNS["call_write"]]))
    return "\n".join(parts)


def check_counts(label, result, count, words, default):
    """Nothing is lost: what a sample misses has the result that it has by default."""
    for name, kinds in result.cells.items():
        if words[name] in ("exact", "crash") or default.get(name) != "late":
            continue
        check(f"{label}: {name}: exact and late", kinds["exact"] + kinds["late"] >= count, True)


def judge(label, bad, good, count):
    """The words of all cells; checks that nothing else was reported."""
    check(f"{label}: reports of no cell, or with another sentence", bad.wrong, [])
    check(f"{label}: reports of good accesses", (dict(good.cells), good.wrong), ({}, []))
    check(f"{label}: statuses", bad.statuses, {name: NATIVE.get(name, "0") for name in bad.statuses})
    check(f"{label}: statuses of good accesses", set(good.statuses.values()), {"0"})
    check(f"{label}: processes", bad.statuses.keys(), good.statuses.keys())
    return {name: word(bad.cells.get(name, collections.Counter()), 1 if cell.place in CRASHES else count)
            for name, cell in CELLS.items() if cell.place != "frequent"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--bless", action="store_true")
    parsed = parser.parse_args()
    check("places", {c.place for c in CELLS.values()}, {*PLACES, "frequent"})
    check("native crashes", set(NATIVE) >= {f"null__{c.access}" for c in CELLS.values() if c.place == "null"}, True)
    ways = {"": (list(PLACES), (), ())}
    if parsed.full:
        ways |= {"mprotect": (list(PLACES), (), (("RTCHECK_TEST_WITHOUT", "guard_pages"),)),
                 "heap=file": ([place for place in PLACES if place != "reused"], ("--heap=file",), ())}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {(way, option, mode): pool.submit(run, f"{way}{option}", mode, OPTIONS[option][1], *places,
                                                    options=[*options, *OPTIONS[option][0]], variables=v)
                for way, (places, options, v) in ways.items() for option in OPTIONS for mode in ("bad", "good")}
        rare = {(name, mode): pool.submit(run, "frequent." + name, mode, FREQUENT_COUNT, "frequent", options=options)
                for name, (options, _) in EVERY.items() for mode in ("bad", "good")}
    words = {}
    for way, (places, _, _) in ways.items():
        for option, (_, count, _) in OPTIONS.items():
            label, bad, good = f"{way} {option}", jobs[way, option, "bad"].result(), jobs[way, option, "good"].result()
            found = {name: result for name, result in judge(label, bad, good, count).items() if CELLS[name].place in places}
            words.setdefault(option, found)
            check(f"{label}: cells that differ from those without {way}",
                  [(name, result, words[option][name]) for name, result in found.items() if result != words[option][name]], [])
            check_counts(label, bad, count, found, words["no"])
    frequent = {}
    for name in EVERY:
        bad, good = rare[name, "bad"].result(), rare[name, "good"].result()
        judge("frequent, " + name, bad, good, FREQUENT_COUNT)
        frequent[name] = {n: word(bad.cells.get(n, collections.Counter()), FREQUENT_COUNT) for n, c in CELLS.items() if c.place == "frequent"}
    before, _, written = PAGE.read_text().partition(BEGIN)
    text = document(words, frequent)
    if parsed.bless:
        PAGE.write_text(before + text)
    else:
        check("docs/access-matrix.md (--bless writes it)", text, BEGIN + written)
    end()


main()

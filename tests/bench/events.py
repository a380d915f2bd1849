"""events.py - the cost of memory events for a call that changes the address space.

calls.c makes such calls in a loop: with an rtcheck handler, with a handler of UCX's libucm if that is
installed, and after the handler was removed, so that its hooks remain. libucm is notified in two ways: by
code that it patches into libc (bistro, its default), and by the relocation entries of the libraries (reloc).
The cost of an event is the difference from the same call without any hook.
"""
import collections
import itertools
import statistics
import subprocess

from columns import BUILD, RTCHECK, Front, installed

Row = collections.namedtuple("Row", "name kind")
ROWS = [Row("mmap and munmap of a page", "map"), Row("madvise of a page, DONTNEED", "discard"),
        Row("madvise of nothing", "nothing"), Row("sbrk(0)", "break")]
BARE = "no events"
HOW = ("none", "one") # handlers


def fronts():
    found = {BARE: Front([], [])}
    for how in HOW:
        found[f"rtcheck, {how}"] = Front([f"BENCH_EVENTS=rtcheck-{how}"], RTCHECK + ["--"])
    if installed("libucm.so.0"):
        for way, how in itertools.product(("bistro", "reloc"), HOW):
            found[f"ucm {way}, {how}"] = Front([f"BENCH_EVENTS=ucm-{how}", f"UCX_MEM_MMAP_HOOK_MODE={way}"], [])
    return found


# ---- measuring --------------------------------------------------------------------------------

def time_call(row, front, milliseconds):
    """ns of a round: the least and the median of the reps; None: the run failed."""
    command = [str(BUILD / "tests/bench/calls"), "time", row.kind, "4", "1", str(milliseconds)]
    done = subprocess.run(["env"] + front.variables + front.words + command, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()] if done.returncode == 0 else None


def measure(rows, rounds, milliseconds):
    """[(row, {column: [result of time_call in each round]})], interleaved."""
    table = [(row, {name: [] for name in fronts()}) for row in rows]
    for _, (row, columns) in itertools.product(range(rounds), table):
        for name, front in fronts().items():
            columns[name].append(time_call(row, front, milliseconds))
    return table


# ---- figures ----------------------------------------------------------------------------------

def summary(rounds):
    """Over all rounds: the least, and the median of their medians."""
    good = [r for r in rounds if r]
    return {"min": min(r[0] for r in good), "median": statistics.median(r[1] for r in good)} if good else None


def ratio(columns, how):
    """Ratio of the least of all rounds: rtcheck to the faster of the two ucm columns; None: one is
    missing."""
    of_rtcheck = columns[f"rtcheck, {how}"]
    of_ucm = [c["min"] for name, c in columns.items() if name.startswith("ucm") and name.endswith(how) and c]
    return of_rtcheck["min"] / min(of_ucm) if of_rtcheck and of_ucm else None


def figures(table):
    for row, rounds in table:
        columns = {name: summary(r) for name, r in rounds.items()}
        yield {"name": "events: " + row.name, "kind": row.kind, "ns": rounds, "columns": columns,
               "ratio": {how: ratio(columns, how) for how in HOW}}


def markdown(found):
    names = list(fronts())
    titles = ["of ours to the faster ucm, " + how for how in HOW]
    lines = ["**Calls of which events are made, with no handler any more and with one: ns a round, least (median)**",
             "", "| | " + " | ".join(names + titles) + " |", "|---" * (len(names + titles) + 1) + "|"]
    for f in found:
        cells = [f"{c['min']:,.1f} ({c['median']:,.1f})" if c else "failed" for c in f["columns"].values()]
        cells += [f"{f['ratio'][how]:.2f}" if f["ratio"][how] else "–" for how in HOW]
        lines.append("| " + " | ".join([f["name"]] + cells) + " |")
    return "\n".join(lines)


def check(found):
    return [f"{f['name']}: no figure of {name}" for f in found for name, c in f["columns"].items() if not c]

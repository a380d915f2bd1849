"""stacks.py - the cost of taking the stack of each malloc and free, at several depths.

calls.c makes pairs of malloc and free in a loop: always from the same place, or through four levels
of calls that are others each time; 1, 2 and 8 threads.  Added is (x - its base) / 2: what stacks
add to each of the two operations.  The base of rtcheck is rtcheck with frames=0, which takes none; of
the others, a pair that is passed through to glibc.  rtcheck keeps what it finds and gives it a number;
unw_backtrace only walks; LSan has its own allocator in its figure, and the wrong stack.
"""
import collections
import itertools
import statistics
import subprocess

from columns import BUILD, INTERPOSER, RTCHECK, Front, preloaded, unwinders
from tables import spread

Place = collections.namedtuple("Place", "threads depth kind")
PLACES = [Place(*p) for p in itertools.product((1, 2, 8), (4, 16, 64), ("pair", "levels"))]
PASSED = "interposed"
NO_STACKS = "rtcheck frames=0"
BASES = (PASSED, NO_STACKS)
WALK = "unw_backtrace"


def fronts():
    none = Front([], RTCHECK + ["--frames=0", "--"])
    return {PASSED: preloaded(INTERPOSER), NO_STACKS: none, **unwinders()}


def base_of(name):
    return NO_STACKS if name == "rtcheck" else PASSED


def words(place):
    path = {"pair": "same path", "levels": "4 changed"}[place.kind]
    threads = f"{place.threads} thread{'s' if place.threads > 1 else ''}"
    return f"depth {place.depth}, {path}, {threads}"


# ---- measuring --------------------------------------------------------------------------------

def time_pair(place, front, milliseconds):
    """ns of the least rep; None: the run failed."""
    command = [str(BUILD / "tests/bench/calls"), "time", place.kind, str(place.depth), str(place.threads),
               str(max(1, milliseconds // min(place.threads, 2)))]
    done = subprocess.run(["env"] + front.variables + front.words + command, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    return float(done.stdout.split()[0]) if done.returncode == 0 and done.stdout else None


def measure(places, rounds, milliseconds):
    """{place: {column: [ns a pair of each round]}}, interleaved."""
    table = {place: {name: [] for name in fronts()} for place in places}
    for _, place in itertools.product(range(rounds), places):
        for name, front in fronts().items():
            table[place][name].append(time_pair(place, front, milliseconds))
    return table


# ---- figures ----------------------------------------------------------------------------------

def added(matching, passed):
    """Added ns: of the least of all rounds, and of each round."""
    each = [(x - p) / 2 for x, p in zip(matching, passed) if x is not None and p is not None]
    if not each:
        return None
    least = (min(x for x in matching if x is not None) - min(p for p in passed if p is not None)) / 2
    return {"of_least": least, **spread(each), "rounds": each}


def ratio(over, under):
    """Ratio of two columns' added ns: the median over the rounds, as the machine's speed varies between
    rounds."""
    each = [a / max(b, 0.1) for a, b in zip(over["rounds"], under["rounds"])]
    return statistics.median(each) if each else None


def figures(table):
    for place, columns in table.items():
        figure = {**place._asdict(), "name": words(place), "pair_ns": columns,
                  "added_ns": {name: added(ns, columns[base_of(name)])
                               for name, ns in columns.items() if name not in BASES}}
        walk, own = figure["added_ns"].get(WALK), figure["added_ns"]["rtcheck"]
        figure["ratio"] = ratio(walk, own) if walk and own else None
        yield figure


def cell(one):
    return f"{one['of_least']:.1f} ({one['min']:.1f}–{one['median']:.1f}–{one['max']:.1f})" if one else "failed"


def markdown(found):
    names = [name for name in fronts() if name not in BASES]
    lines = ["**ns added to each malloc and free: of the least of all rounds (least, median, most of the rounds)**",
             "", "| | " + " | ".join(f"{b}, ns a pair" for b in BASES) + " | " + " | ".join(names)
             + f" | {WALK} / rtcheck |", "|---" * (len(names) + len(BASES) + 2) + "|"]
    for f in found:
        cells = [f["name"]] + [f"{min(n for n in f['pair_ns'][base] if n):.1f}" for base in BASES]
        cells += [cell(f["added_ns"][name]) for name in names]
        lines.append("| " + " | ".join(cells + [f"{f['ratio']:.1f}" if f["ratio"] else "–"]) + " |")
    return "\n".join(lines)

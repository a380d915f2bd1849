"""targets.py - targets for the figures.  Printed beside the measured values; no test depends on them.

The ratio of the least of all rounds is compared with the target: other load on the machine only adds time.
For programs the median of the rounds' ratios is printed beside it.
"""

import leaks

# For stacks.py: the least ratio of unw_backtrace to rtcheck, by depth and path.
FASTER = {(16, "pair"): 6, (64, "pair"): 10, (16, "levels"): 4, (64, "levels"): 4}
# For the programs: the largest CPU time as a ratio to glibc.
PROGRAMS = {"python3": 1.8, "cc1 -O1": 1.35, "sqlite3": 1.3}
PER_STACK, PER_PC = 64, 40 # bytes
LEAKS = {"tree": 8, "mixed": 4, "sparse": 4} # at least, LSan's check to ours
HELLO_MS = 5 # more at its end
EVENTS_SHARE = 1.05 # of ucm's time at most: equal, within the variation of the kernel's part
THREADS_SHARE = 0.9 # of one thread's ratio: equal, within the variation between rounds


def line(what, got, want, at_least, median=None):
    good = got is not None and (got >= want if at_least else got <= want)
    return {"what": what, "got": got, "median": median, "want": want, "at_least": at_least,
            "met": good if got is not None else None}


def of_stacks(found):
    ratio = {(f["threads"], f["depth"], f["kind"]): f["ratio"] for f in found}
    for (depth, kind), want in FASTER.items() if found else ():
        path = "same path" if kind == "pair" else "4 changed"
        alone = ratio.get((1, depth, kind))
        yield line(f"unw_backtrace / rtcheck, depth {depth}, {path}", alone, want, True)
        for threads in (2, 8):
            got = ratio.get((threads, depth, kind))
            share = got / alone if got and alone else None
            yield line(f"the same with {threads} threads, to one", share, THREADS_SHARE, True)


def of_programs(found):
    for f in found:
        if f["name"] in PROGRAMS:
            own = f["columns"].get("rtcheck", {})
            yield line(f"{f['name']}: CPU time to glibc's", own.get("cpu_ratio_of_minima"),
                       PROGRAMS[f["name"]], False, own.get("cpu_ratio"))


def of_leaks(found):
    for f in found:
        if f["kind"] in LEAKS:
            yield line(f"{f['name']}: LSan's check to ours", leaks.ratio(f, "LSan"), LEAKS[f["kind"]], True,
                       leaks.ratio(f, "LSan", "median"))
            continue
        for name in ("rtcheck", "launcher"):
            own = f["columns"][name]["check_ms"] or {"min": None, "median": None}
            yield line(f"{f['name']}: ms of CPU that our check takes, {name}", own["min"], HELLO_MS, False,
                       own["median"])


def of_events(found):
    for f in found:
        for how, got in f["ratio"].items():
            yield line(f"{f['name']}, handlers: {how}; ours to ucm's", got, EVENTS_SHARE, False)


def of_memory(memory):
    yield line("bytes of a distinct stack", memory["bytes_per_stack"], PER_STACK, False)
    yield line("bytes of a distinct pc", memory["bytes_per_pc"], PER_PC, False)


def markdown(lines, frames, of):
    note = "" if frames == of else f" - for full stacks; there were {frames} of {of} frames"
    text = [f"**Targets**{note}", "", "| | wanted | is | median | |", "|---|---|---|---|---|"]
    for one in lines:
        sign = "≥" if one["at_least"] else "≤"
        got, median = (none if one[key] is None else f"{one[key]:.2f}"
                       for key, none in (("got", "n/a"), ("median", "")))
        met = {None: "", True: "met", False: "missed"}[one["met"]]
        text.append(f"| {one['what']} | {sign} {one['want']} | {got} | {median} | {met} |")
    return "\n".join(text)

"""leaks.py - the cost of the leak check at exit, compared with LSan and memcheck.

heaps.c prints the time at the end of its main; the CPU time of the process and the wall-clock time after that
are its end.  The cost of the check is the difference from the same tool without leak check, each the least of
all rounds.  Without the launcher, the process that rtcheck starts for its report is not a child of the
measured one: only its wall-clock time counts.  For the launcher its own CPU time is included.
"""
import collections
import os
import shutil
import statistics
import subprocess
import time

from columns import BUILD, RTCHECK, Front, installed

Row = collections.namedtuple("Row", "name kind count times")
PATIENCE = 180 # seconds a run: memcheck may need more


def rows(scale):
    return [Row("tree, 10 M blocks of 64 B", "tree", 10_000_000 // scale, 1),
            Row("mixed, a GiB of 16 B to 4 KiB", "mixed", max(1, 1024 // scale), 1),
            Row("sparse, a GiB, few pages touched", "sparse", max(1, 1024 // scale), 1),
            Row("hello", "hello", 1, max(2, 20 // scale))]


def fronts(place):
    """{name: (column with leak check, column without)}"""
    hand = [f"LD_PRELOAD={BUILD}/lib/librtcheck.so"]
    reported = f"RTCHECK_OPTIONS=pool_dir={place}:log_file={place}/report"
    found = {"glibc": (Front([], []), None),
             "rtcheck": (Front(hand + [reported], []), Front(hand + [reported + ":leaks=no"], [])),
             "launcher": (Front([], RTCHECK + ["--"]), Front([], RTCHECK + ["--leaks=no", "--"]))}
    if installed("liblsan.so.0"):
        lsan = ["LD_PRELOAD=" + installed("liblsan.so.0")]
        found["LSan"] = tuple(Front(lsan + [f"LSAN_OPTIONS=exitcode=0:detect_leaks={n}"], [], False)
                              for n in (1, 0))
    if shutil.which("valgrind"):
        found["memcheck"] = tuple(Front([], ["valgrind", "-q", "--log-file=/dev/null", f"--leak-check={w}"],
                                        True, True) for w in ("full", "no"))
    return found


# ---- measuring --------------------------------------------------------------------------------

def end_of(row, front):
    """CPU and clock of one program's end, in ms; None: the run failed or timed out."""
    command = ["env", *front.variables, *front.words, str(BUILD / "tests/bench/heaps"), row.kind, str(row.count)]
    if front.slow:
        command = ["timeout", str(PATIENCE), *command]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as process:
        _, status, used = os.wait4(process.pid, 0)
        over = time.monotonic_ns()
        process.returncode = os.waitstatus_to_exitcode(status)
        printed = process.stdout.read().split()
    if process.returncode or len(printed) != 2:
        return None
    return ((used.ru_utime + used.ru_stime) * 1e3 - float(printed[0]) / 1e3, (over - int(printed[1])) / 1e6)


def measure(picked, rounds, place):
    """{row: {(column, looks): [ends]}}, interleaved; slow ones once."""
    table = {row: collections.defaultdict(list) for row in picked}
    for number in range(rounds):
        for row in picked:
            for name, pair in fronts(place).items():
                for looks, front in zip((True, False), pair):
                    if front and not (front.slow and number):
                        table[row][name, looks] += [end_of(row, front) for _ in range(row.times)]
    return table


# ---- figures ----------------------------------------------------------------------------------

def summary(ends, place):
    values = [e[place] for e in ends if e]
    return {"min": min(values), "median": statistics.median(values)} if values else None


def figures(table):
    for row, runs in table.items():
        figure = {"name": row.name, "kind": row.kind, "count": row.count, "columns": {}}
        for name in dict.fromkeys(name for name, _ in runs):
            cpu, clock = (summary(runs[name, True], i) for i in (0, 1))
            without = summary(runs[name, False], 0) if (name, False) in runs else None
            check = {k: cpu[k] - without[k] for k in cpu} if cpu and without else None
            figure["columns"][name] = {"cpu_ms": cpu, "clock_ms": clock, "check_ms": check}
        yield figure


def ratio(figure, name, key="min"):
    """Ratio of another tool's check to rtcheck's."""
    of_lsan, of_rtcheck = (figure["columns"].get(n, {}).get("check_ms") for n in (name, "rtcheck"))
    return of_lsan[key] / max(of_rtcheck[key], 0.01) if of_lsan and of_rtcheck else None


def cell(values):
    return f"{values['min']:,.1f} ({values['median']:,.1f})" if values else "–"


def markdown(found):
    lines = ["**The end of a program, ms: least (median) of the rounds**", "",
             "| heap | | CPU | on the clock | looking for leaks | to rtcheck's |", "|---" * 6 + "|"]
    for figure in found:
        for name, one in figure["columns"].items():
            times = ratio(figure, name)
            lines.append(f"| {figure['name']} | {name} | {cell(one['cpu_ms'])} | {cell(one['clock_ms'])} | "
                         f"{cell(one['check_ms'])} | {f'{times:.1f}x' if times else '–'} |")
    return "\n".join(lines)


def check(found, text):
    """Are all rows present, with figures in all sound columns?"""
    return [f"{f['name']}: no end of {name}" for f in found for name in ("glibc", "rtcheck", "launcher")
            if not f["columns"][name]["clock_ms"] or f"\n| {f['name']} | {name} | " not in text]

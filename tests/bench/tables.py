"""tables.py - the workloads measured, and their figures as tables."""
import hashlib
import math
import statistics
import subprocess
import sys

from columns import BUILD

MEASURE = BUILD / "tests/bench/measure"
PATIENCE = 600 # seconds a run


# ---- measuring --------------------------------------------------------------------------------

def run_once(row, front, place):
    """(CPU seconds, resident KiB, output); None: the run failed, which is printed."""
    result = place / "result"
    result.unlink(missing_ok=True)
    words = [str(MEASURE), str(result), str(row.times)] + row.variables + front.variables + front.words
    program, *arguments = row.command
    words += [(front.builds or {}).get(program, program), *arguments]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE)
        status, printed = done.returncode, done.stderr[-300:]
    except subprocess.TimeoutExpired:
        status, printed = "no end", ""
    if status != 0 or not result.exists():
        print(f"{row.name}: {front}: status {status}: {printed}", file=sys.stderr)
        return None
    microseconds, kib, _ = result.read_text().split()
    return float(microseconds) / 1e6, int(kib), hashlib.sha1(done.stdout.encode()).hexdigest()


def is_measured(row, front, number):
    """In round `number`?"""
    if front.builds and row.command[0] not in front.builds:
        return False
    return not front.slow or (row.real and number == 0 and row.name in (front.names or [row.name]))


def measure(rows, fronts, rounds, place):
    """[(row, {column: [result of run_once in each round]})], interleaved."""
    table = []
    for row in rows:
        runs = {name: [] for name in fronts}
        for number in range(rounds):
            for name, front in fronts.items():
                if is_measured(row, front, number):
                    runs[name].append(run_once(row, front, place))
        table.append((row, runs))
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return table


# ---- figures ----------------------------------------------------------------------------------

def ratios(runs, name, place):
    """Ratios of the rounds in which both ran; place: 0 CPU, 1 RSS."""
    return [matching[place] / base[place] for matching, base in zip(runs[name], runs["glibc"]) if matching and base]


def least(runs, name, place):
    return min((r[place] for r in runs[name] if r), default=math.nan)


def spread(values):
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def figures(table, fronts):
    """The contents of the JSON file, from which the markdown is made."""
    for row, runs in table:
        figure = {"name": row.name, "real": row.real, "count": row.count, "columns": {},
                  "not_run": [name for name in fronts if not runs[name]]}
        for name in fronts:
            cpu, rss = ratios(runs, name, 0), ratios(runs, name, 1)
            if cpu:
                figure["columns"][name] = {
                    "cpu_s": [r[0] for r in runs[name] if r], "rss_kib": [r[1] for r in runs[name] if r],
                    "cpu_ratio": statistics.median(cpu), "rss_ratio": statistics.median(rss),
                    "cpu_ratios": spread(cpu), "rss_ratios": spread(rss),
                    "cpu_ratio_of_minima": least(runs, name, 0) / least(runs, "glibc", 0)}
        yield figure


# ---- markdown ---------------------------------------------------------------------------------

def cell(figure, name, kind):
    if name in figure["not_run"]:
        return "–"
    if name not in figure["columns"]:
        return "failed"
    one = figure["columns"][name][kind + "_ratios"]
    if one["min"] == one["max"]:
        return f"{one['median']:.2f}"
    return f"{one['median']:.2f} ({one['min']:.2f}–{one['max']:.2f})"


def absolute(figure, kind):
    glibc = figure["columns"].get("glibc")
    if not glibc:
        return "failed"
    if kind == "rss":
        return f"{statistics.median(glibc['rss_kib']) / 1024:.1f} MiB"
    seconds = min(glibc["cpu_s"])
    each = f", {seconds / figure['count'] * 1e9:,.0f} ns each" if figure["count"] > 1 else ""
    return f"{seconds * 1e3:,.1f} ms{each}"


def mean(found, name, key):
    """Geometric mean over the programs; "–" if one of them failed, as the mean would not be comparable."""
    programs = [f for f in found if f["real"]]
    values = [f["columns"][name][key] for f in programs if name in f["columns"]]
    if not values or len(values) < len(programs):
        return "–"
    return f"{math.exp(statistics.fmean(map(math.log, values))):.2f}"


def markdown(found, fronts):
    others = [name for name in fronts if name != "glibc"]
    titles = {"cpu": "CPU time, ratio to glibc: median (least–most) of the rounds",
              "rss": "Largest resident set, ratio to glibc: median (least–most) of the rounds"}
    lines = []
    for kind, title in titles.items():
        lines += ["", f"**{title}**", "", "| workload | glibc | " + " | ".join(others) + " |",
                  "|---" * (len(others) + 2) + "|"]
        for f in found:
            cells = [f["name"], absolute(f, kind)] + [cell(f, name, kind) for name in others]
            lines.append("| " + " | ".join(cells) + " |")
        means = [mean(found, name, kind + "_ratio") for name in others]
        lines.append("| *programs, geometric mean* | | " + " | ".join(means) + " |")
    return "\n".join(lines[1:])


# ---- is it all there? -------------------------------------------------------------------------

def check(table, found, fronts, text):
    """Is every row there, in both tables, with figures, and did all print the same?"""
    wrong = []
    sound = [name for name in fronts if fronts[name].sound]
    for row, runs in table:
        if text.count(f"\n| {row.name} | ") != 2:
            wrong.append(f"{row.name}: not in both tables")
        answers = {r[2] if r else "failed" for name in sound for r in runs[name]}
        if len(answers) != 1 or "failed" in answers:
            wrong.append(f"{row.name}: not the same in every column")
    for f in found:
        for name, one in f["columns"].items():
            if not (one["cpu_ratio"] > 0 and one["rss_ratio"] > 0 and min(one["cpu_s"]) > 0):
                wrong.append(f"{f['name']}: no figure of {name}")
    return wrong

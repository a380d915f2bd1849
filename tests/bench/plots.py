#!/usr/bin/python3
# rtc-test: bench/plots ci 60 --check
"""Bar charts (SVG) of the first two tables that tests/bench/run prints, or a document has.

    plots.py FILE FOLDER    draw the tables of FILE (markdown) as FOLDER/benchmarks-{cpu,memory}.svg
    plots.py --bless        draw those of docs/benchmarks.md into docs/
    plots.py --check        is docs/ up to date, and does a changed figure change a plot?

The axis is logarithmic and begins at 1, the run with glibc's allocator.  Colours are those of the reader's light or
dark scheme.
"""
import html
import math
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(os.environ.get("RTC_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
DOCUMENT = SOURCE / "docs/benchmarks.md"
NAMES = ("cpu", "memory") # in the order of the tables
TITLES = {"cpu": "CPU time", "memory": "Largest resident set"}
TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
WIDTH, LEFT, RIGHT, ROW, TOP = 720, 150, 70, 20, 66 # LEFT: of the bars; RIGHT: room for a figure behind a bar
STYLE = """
text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #24292f }
.ground { fill: #ffffff } .grid { stroke: #d0d7de } .faint { fill: #57606a }
.bar { fill: #afb8c1 } .own { fill: #1a7f37 } .bold { font-weight: bold } .right { text-anchor: end } .middle { text-anchor: middle }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.ground { fill: #0d1117 } .grid { stroke: #30363d } .faint { fill: #9198a1 }
.bar { fill: #57606a } .own { fill: #3fb950 }
}
"""


# ---- reading ----------------------------------------------------------------------------------

def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(text):
    """[(columns behind glibc's, [(program, ratios, None where there is none)])], of tables whose second column is glibc."""
    found = []
    for part in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        head, _, *rows = map(cells, part.splitlines())
        if head[1:2] != ["glibc"]:
            continue
        found.append((head[2:], [(row[0], [ratio(cell) for cell in row[2:]]) for row in rows if row[1]]))
    return found


def ratio(cell):
    number = re.match(r"\d+(\.\d+)?", cell)
    return float(number[0]) if number else None


# ---- drawing ----------------------------------------------------------------------------------

def text(x, y, words, kind=""):
    return f'<text x="{x:.1f}" y="{y}" class="{kind}">{html.escape(words)}</text>'


def draw(title, columns, rows):
    most = max(value for _, values in rows for value in values if value)
    last = next(tick for tick in TICKS if tick >= most)
    height = TOP + sum(ROW * (1.6 + len(columns)) for _ in rows) + 10

    def place(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(max(value, 1)) / math.log(last)

    out = [text(14, 24, title + ", ratio to glibc's allocator (logarithmic, lower is better)", "bold")]
    for tick in TICKS[:TICKS.index(last) + 1]:
        out += [f'<line x1="{place(tick):.1f}" x2="{place(tick):.1f}" y1="{TOP - 14}" y2="{height - 8:.0f}" class="grid"/>',
                text(place(tick), TOP - 20, f"{tick}x", "faint middle")]
    y = TOP
    for program, values in rows:
        out.append(text(14, round(y + ROW * 0.6), program, "bold"))
        y += ROW * 1.2
        for column, value in zip(columns, values):
            own = column == "rtcheck"
            out.append(text(LEFT - 8, round(y + 11), column, "right" if own else "right faint"))
            if value:
                out += [f'<rect x="{LEFT}" y="{y:.0f}" width="{max(place(value) - LEFT, 2):.1f}" height="14" rx="2" '
                        f'class="bar{" own" if own else ""}"/>',
                        text(place(value) + 6, round(y + 11), f"{value:.3g}x", "bold" if own else "")]
            else:
                out.append(text(LEFT + 6, round(y + 11), "–", "faint"))
            y += ROW
        y += ROW * 0.4
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}">\n'
            f"<style>{STYLE}</style>\n" + '<rect width="100%" height="100%" rx="8" class="ground"/>\n' + "\n".join(out) + "\n</svg>\n")


def plots(document):
    """{file name: SVG}"""
    found = tables(document)
    if len(found) < len(NAMES):
        sys.exit(f"plots.py: {len(found)} tables with a column glibc, not {len(NAMES)}")
    return {f"benchmarks-{name}.svg": draw(TITLES[name], *table) for name, table in zip(NAMES, found)}


def write(document, folder):
    for name, svg in plots(document).items():
        (folder / name).write_text(svg)


# ---- the test ---------------------------------------------------------------------------------

def check():
    document, wrong = DOCUMENT.read_text(), []
    for name, svg in plots(document).items():
        if (SOURCE / "docs" / name).read_text() != svg:
            wrong.append(f"docs/{name} is not of docs/benchmarks.md: tests/bench/plots.py --bless")
        if f"]({name})" not in document:
            wrong.append(f"docs/benchmarks.md does not show {name}")
    for table, name in zip(tables(document), plots(document)):
        figures = sum(value is not None for _, values in table[1] for value in values)
        drawn = len(re.findall('class="bar', (SOURCE / "docs" / name).read_text()))
        if figures < 4 or drawn != figures:
            wrong.append(f"docs/{name}: {drawn} bars of {figures} figures")
    changed = plots(re.sub(r"\| (\d+\.\d+) \(", lambda m: f"| {float(m[1]) + 1:.2f} (", document, count=1))
    if changed["benchmarks-cpu.svg"] == plots(document)["benchmarks-cpu.svg"]:
        wrong.append("a changed figure does not change the plot")
    print("\n".join(wrong) or "ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(check())
    if sys.argv[1:] == ["--bless"]:
        write(DOCUMENT.read_text(), SOURCE / "docs")
    elif len(sys.argv) == 3:
        write(pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2]))
    else:
        sys.exit(__doc__)

#!/usr/bin/python3
# rtc-test: project/picture ci 60
"""Draw docs/picture.svg: the terminal of a run that checks examples/findings/{duf,sig,mel}.c.

    tests/project/picture.py [--bless]

Compiles the programs in the current directory, runs them under build/bin/rtcheck with colours on 80 columns, and
compares the picture with the file; --bless writes it.  The picture has no times, process ids or paths.
"""
import html
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("RTC_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ.get("RTC_BUILD") or SOURCE / "build")
KEPT = SOURCE / "docs/picture.svg"
PROGRAMS = ("duf", "sig", "mel")
COLUMNS, WIDTH, HEIGHT, MARGIN = 80, 8.4, 18, 14 # of a character, and around the text
# SGR parameters as styles: bold, faint, red, yellow, green, cyan on a dark ground.
STYLES = {"1": "font-weight:bold", "2": "opacity:.6", "31": "fill:#ff6b6b", "33": "fill:#ffd166", "32": "fill:#7bd88f",
          "36": "fill:#78dce8"}


def run(name):
    subprocess.run(["gcc", "-g", "-O0", "-w", SOURCE / f"examples/findings/{name}.c", "-o", name], check=True)
    done = subprocess.run([BUILD / "bin/rtcheck", "--deterministic", "--color=always", "--hyperlinks=never", "--source=1", "./" + name],
                          capture_output=True, text=True, timeout=60, check=False,
                          env={"PATH": os.environ["PATH"], "COLUMNS": str(COLUMNS), "XDG_STATE_HOME": os.getcwd()})
    report = re.split(r"\n\n(?=\x1b\[1min use)", done.stderr)[0]
    return [f"\x1b[32m$\x1b[0m rtcheck ./{name}", *report.splitlines(), ""]


def spans(line):
    """The parts of a line, each with its style."""
    styles = []
    for part in re.split(r"(\x1b\[[\d;]*m)", line):
        if part.startswith("\x1b"):
            numbers = part[2:-1].split(";")
            styles = [] if numbers in (["0"], [""]) else styles + [STYLES[n] for n in numbers]
        elif part:
            yield part, ";".join(styles)


def text_element(row, line):
    column, parts = 0, []
    for part, style in spans(line):
        x = MARGIN + column * WIDTH
        attribute = f' style="{style}"' if style else ""
        parts.append(f'<tspan x="{x:.1f}"{attribute}>{html.escape(part)}</tspan>')
        column += len(part)
    return f'<text y="{MARGIN + (row + 1) * HEIGHT - 5}">{"".join(parts)}</text>' if parts else ""


def picture(lines):
    width, height = 2 * MARGIN + COLUMNS * WIDTH, 2 * MARGIN + len(lines) * HEIGHT
    rows = filter(None, (text_element(i, line) for i, line in enumerate(lines)))
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
                      f'viewBox="0 0 {width:.0f} {height}">',
                      '<rect width="100%" height="100%" rx="8" fill="#22272e"/>',
                      '<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" fill="#e6edf3" '
                      'xml:space="preserve">', *rows, "</g>", "</svg>", ""])


def main():
    drawn = picture([line for name in PROGRAMS for line in run(name)])
    if sys.argv[1:] == ["--bless"]:
        KEPT.write_text(drawn)
    if not KEPT.exists() or drawn != KEPT.read_text():
        print("docs/picture.svg is another picture: tests/project/picture.py --bless draws it")
        return 1
    print(f"{len(drawn.splitlines())} lines")
    return 0


sys.exit(main())

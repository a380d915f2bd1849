#!/usr/bin/python3
# rtc-test: project/findings ci 60
"""examples/findings: a program of at most 40 lines for each class of errors and for leaks, and the report that it gives.
Options that a class needs are named in its program's comment.

With --bless the reports are written."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../stress")
from blocks import block

SOURCE, BUILD = pathlib.Path(os.environ["RTC_SOURCE"]), pathlib.Path(os.environ["RTC_BUILD"])
FOLDER = SOURCE / "examples/findings"
LEAKS = {"mel", "aib"}
wrong = []


def report_of(source, *more):
    compiler = "g++" if source.suffix == ".cc" else "gcc"
    subprocess.run([compiler, "-g", "-O0", "-w", source, "-o", source.stem], check=True)
    options = re.findall(r"--(?:track-fds|malloc-fill)=\w+", source.read_text())
    done = subprocess.run([BUILD / "bin/rtcheck", "--deterministic", *options, *more, "./" + source.stem], capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "COLUMNS": "80", "XDG_STATE_HOME": os.getcwd()}, timeout=60, check=False)
    return done.stderr.rpartition("late bad write guarded\n\n")[2].partition("\nin use ")[0]


table = (SOURCE / "include/format/findings.def").read_text()
wanted = set(re.findall(r'^ERROR\(\w+, \d+, (?:PROBLEM|WARNING), "(\w+)"', table, re.M)) | LEAKS
sources = sorted([*FOLDER.glob("*.c"), *FOLDER.glob("*.cc")])
if {s.stem for s in sources} != wanted or len(wanted) < 12:
    wrong.append(f"programs {[s.stem for s in sources]}, not {sorted(wanted)}")
for path in sources:
    text, kept = report_of(path), path.with_suffix(".txt")
    if sys.argv[1:] == ["--bless"]:
        kept.write_text(text)
    if text != kept.read_text():
        wrong.append(f"{path.name}: the report is\n{text}\nnot that of {kept.name}")
    if set(re.findall(r" ([a-z]{3})-[0-9a-f]{8}$", text, re.M)) - LEAKS - {path.stem} or f" {path.stem}-" not in text:
        wrong.append(f"{path.name}: the report has another class:\n{text}")
    if path.read_text().count("\n") > 40:
        wrong.append(f"{path.name} has more than 40 lines")
if block("docs/accesses.md", "`examples/findings/rua.c`").strip() != (FOLDER / "rua.txt").read_text().strip():
    wrong.append("docs/accesses.md has another report than rua.txt")
if block("docs/accesses.md", "`examples/findings/rui.c`").strip() != (FOLDER / "rui.txt").read_text().strip():
    wrong.append("docs/accesses.md has another report than rui.txt")
again = report_of(FOLDER / "wua.c", "--rerun").rpartition("\n2  ")[2]
if "2  " + again.strip() != block("docs/bad-writes.md", "examples/findings/wua.c").strip():
    wrong.append(f"docs/bad-writes.md has another report than wua.c with --rerun:\n2  {again}")
print("\n".join(wrong) or f"{len(sources)} programs")
sys.exit(bool(wrong))

"""The table of the panel, docs/panel.md."""
import re
from collections import namedtuple

from facts import COLUMNS, LINES, TOOLS

Bug = namedtuple("Bug", "name package program kind file function fix")

HEAD = f"""# The panel: twelve bugs of public projects

Does the first screen of a report name the line that must change? Each of these bugs was fixed in the project, and the
fix is in Debian's source package, as a patch of Debian's or as an entry in the project's list of changes. It is taken
out again (`tests/panel/patches`), and a program, the project's own or a small one that makes the call
(`tests/panel/programs`), runs into the bug on a terminal of {COLUMNS} columns and {LINES} lines:

- by `rtcheck PROGRAM`, built with `-g -O2`
- by `valgrind --leak-check=full PROGRAM`, the same file
- built by gcc with `-g -O2 -fno-omit-frame-pointer -fsanitize=address`

A cell has what the tool printed about the bug. *named at 6 of 21*: found; line 6 of the 21 that were printed is the
frame of the function that must change, at the line of the source that follows. The number in brackets is the distance
from there to the place of the fix. *found; 21*: the finding was printed, but nothing on the first screen names the function.
Lines wider than the terminal count as several.

rtcheck does not check reads. It finds a bad write when the block is freed or at the end: its report has the stacks of
that block, but not the stack of the write.

| bug | kind | must change | rtcheck | memcheck | ASan |
|---|---|---|---|---|---|
"""

TAIL = """
The fixes that are taken out:

| bug | fix |
|---|---|
{fixes}
To repeat it, with the Debian packages that `tools/packages --list run test real more` lists and a network that has
Debian's source packages:

```
cmake -B build && cmake --build build --target rtcheck librtcheck
tests/panel/run --sources /tmp/panel --keep /tmp/screens           # all; or names of bugs
tests/panel/run --sources /tmp/panel --bless                       # writes this table anew
```

`tools/test --full -R panel/run` compares rtcheck's column with what it sees; with the fix in place, rtcheck must
find nothing.
"""


def read_bugs(path):
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return [Bug(*line.split("\t")) for line in lines]


def cell(fact):
    if not fact.found:
        return "not found"
    if not fact.row:
        return f"found; {fact.total}"
    return f"named at {fact.row} of {fact.total}: {fact.place}"


def document(bugs, seen):
    text = HEAD
    for bug in bugs:
        cells = [cell(seen[bug.name][tool]) for tool in TOOLS]
        text += f"| {bug.name} | {bug.kind} | {bug.file} `{bug.function}` | " + " | ".join(cells) + " |\n"
    facts = [[seen[bug.name][tool] for bug in bugs] for tool in TOOLS]
    sums = [f"{sum(f.found for f in row)} found, {sum(f.row > 0 for f in row)} named, {sum(f.total for f in row)} lines"
            for row in facts]
    text += "| **sum** | | | " + " | ".join(sums) + " |\n"
    return text + TAIL.format(fixes="".join(f"| {bug.name} | {bug.package}, {bug.fix} |\n" for bug in bugs))


def verdict(text):
    return re.match(r"not found|found|named|nothing", text)[0]


def compare(document_text, bugs, seen):
    """Print each difference from the table, and return 1 if one is rtcheck's."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in document_text.splitlines() if line[:2] == "| "]
    written_of = {row[0]: row[3:] for row in rows if len(row) == 3 + len(TOOLS)}
    wrong = 0
    for bug in bugs:
        for tool, written in zip(TOOLS, written_of.get(bug.name, ["nothing"] * len(TOOLS))):
            now = cell(seen[bug.name][tool])
            if verdict(now) != verdict(written):
                print(f"{bug.name}: {tool}: {now}; docs/panel.md has: {written}")
                wrong |= tool == "rtcheck"
    return int(wrong)

"""What a tool shows of a bug on a terminal of 80 columns and 40 lines."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections import namedtuple

COLUMNS, LINES = 80, 40
TIMEOUT_S = 120
CONTROL = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")

# found: the finding is there; line: the row that names the line that must change, if that is in the first screen;
# place: as it was named, and how many lines that is from the fix; total: the rows of the whole output
Fact = namedtuple("Fact", "found row place total")

KINDS = {
    "double free": (r"DOUBLE FREE", r"Invalid free\(\)", r"attempting double-free"),
    # gcc 12's ASan crashes in free() if it cannot write in front of the address.
    "invalid free": (r"INVALID FREE", r"Invalid free\(\)", r"attempting free on address which was not malloc|SEGV"),
    "mismatched free": (r"MISMATCHED FREE", r"Mismatched free\(\)", r"alloc-dealloc-mismatch"),
    "write past the end": (r"BAD WRITE: .* past the end", r"Invalid write", r"heap-buffer-overflow"),
    "write after free": (r"BAD WRITE to a freed", r"Invalid write", r"heap-use-after-free"),
    "leak": (r"definitely lost [1-9]", r"definitely lost: [1-9]", r"LeakSanitizer: detected memory leaks"),
    "null pointer": (r"CRASH .*\bNULL\b", r"Invalid read", r"SEGV on unknown address 0x0{8,}"),
    "read past the end": (r"BAD READ", r"Invalid read", r"heap-buffer-overflow"),
    "read after free": (r"BAD READ", r"Invalid read", r"heap-use-after-free"),
}
TOOLS = ("rtcheck", "memcheck", "ASan")


def rows_of(text):
    """The rows on the terminal, as (row, whole line) pairs: a long line takes several."""
    row = 1
    for line in text.split("\n"):
        line = CONTROL.sub("", line.rstrip("\r")).rsplit("\r", 1)[-1]
        yield row, line
        row += max(1, -(-len(line) // COLUMNS))


def read_all(master):
    data = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # EIO: the last descriptor of the terminal was closed
            part = b""
        if not part:
            return data
        data += part


def screen(command, folder, source):
    """The lines that the command prints on the terminal.  The source's folder is /src there, whatever its length."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "xterm-256color", "LANG": "C.UTF-8",
                   "XDG_STATE_HOME": str(folder)}
    process = subprocess.Popen(["timeout", str(TIMEOUT_S), *command], cwd=folder, env=environment, stdin=slave, stdout=slave,
                               stderr=slave, start_new_session=True)
    os.close(slave)
    text = read_all(master).decode(errors="replace")
    os.close(master)
    process.wait()
    return CONTROL.sub("", text.replace(str(source), "/src")).rstrip("\r\n").split("\n")


def changed_lines(patch, tree):
    """The places that the patch changed, by file: line numbers of the tree without the fix."""
    places, file, number = {}, "", 0
    for line in patch.read_text().splitlines():
        if line.startswith("+++ "):
            file = os.path.basename(line[4:].split("\t")[0])
            assert list(tree.rglob(file)), file
        elif line.startswith("@@"):
            number = int(re.search(r"\+(\d+)", line)[1])
        elif line.startswith("-") and not line.startswith("---"):
            places.setdefault(file, set()).add(number)
        elif line[:1] in "+ ":
            if line[0] == "+":
                places.setdefault(file, set()).add(number)
            number += 1
    return places


def judge(tool, bug, must, lines):
    """Compare the output with the kind of the bug, and with the function and lines that must change."""
    rows = list(rows_of("\n".join(lines)))
    kind = KINDS[bug.kind][TOOLS.index(tool)]
    found = any(re.search(kind, line) for _, line in rows)
    frame = re.compile(r"\b" + re.escape(bug.function) + r"\b[^<]*?\b" + re.escape(bug.file) + r":(\d+)")
    # rtcheck breaks a frame whose function is long below its name.
    following = [line.strip() if re.match(r"\s+\S+:\d+$", line) else "" for _, line in rows[1:]] + [""]
    named = [(row, int(at)) for (row, line), more in zip(rows, following) if row <= LINES
             for at in frame.findall(line + " " + more)]
    total = rows[-1][0] + max(1, -(-len(rows[-1][1]) // COLUMNS)) - 1
    if not found or not named:
        return Fact(found, 0, "", total)
    distance = {at: min((at - line for line in must[bug.file]), key=abs) for _, at in named}
    row, at = min(named, key=lambda x: (abs(distance[x[1]]), x[0]))
    return Fact(True, row, f"{bug.file}:{at} ({distance[at]:+d})", total)

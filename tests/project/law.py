#!/usr/bin/env python3
# rtc-test: project/law ci 120
"""The rules of the architecture, tried with the compiler and the flags of each room.

A room can include its own headers and the interfaces of the rooms below it, and no other header of the
project; no include uses a path around its room; headers that the runtime must not use are not included, and
its variables are hidden; the door of each room describes it; the top of the tree has only the entries that the
architecture names.
"""
import json
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["RTC_SOURCE"])
BUILD = pathlib.Path(os.environ["RTC_BUILD"])

# The rooms that each room may include.  Repeated here on purpose: CMakeLists.txt is tested.  Rooms of one
# floor (HEAP, CORE) include each other.
# MACHINE and ARCH are the folders of the machine that the tree is built for; tests/project/seams examines what
# those of another must provide.
MACHINE = "shadow/arch/" + platform.machine()
ARCH = "src/arch/" + platform.machine()
LIBC = "src/libc/glibc"
SHADOW = ["shadow", "shadow/ranges", "shadow/leakscan"]
HEAP = ["src/heap", "src/runfile", "src/fork"]
CORE = ["src/track", "src/maps", "src/sync", "src/init"]
FLOORS = [ARCH, "src/base", LIBC, "src/os"] + HEAP + ["src/unwind"] + CORE
REPORT = {"report/base": ["shadow", "report"]}
REPORT["report/variables"] = REPORT["report/file"] = REPORT["report/base"] + ["report/base"]
REPORT["report/model"] = REPORT["report/file"] + ["report/file"]
REPORT["report/read"] = REPORT["report/model"] + ["report/model"]
REPORT["report/symbols"] = REPORT["report/read"] + ["report/variables"]
REPORT["report/findings"] = REPORT["report/symbols"] + ["report/symbols"]
REPORT["report/suppress"] = REPORT["report/findings"] + ["report/findings"]
REPORT["report/text"] = REPORT["report/suppress"] + ["report/suppress", "report/read"]
REPORT["report/formats"] = REPORT["report/text"] + ["report/text"]


def beside(room, floor):
    return [other for other in floor if other != room]


ABOVE_COPIES = ["src/translated", "shadow/plan"]
SEES = {
    "shadow": [],
    "shadow/ranges": [],
    "shadow/plan": [],
    "shadow/leakscan": ["shadow"],
    ARCH: [],
    "src/base": ["shadow"] + FLOORS[:1],
    LIBC: ["shadow"] + FLOORS[:2],
    "src/os": ["shadow"] + FLOORS[:3],
    **{room: ["shadow"] + FLOORS[:4] + beside(room, HEAP) for room in HEAP},
    "src/unwind": ["shadow"] + FLOORS[:4],
    "src/translated": ["shadow", "shadow/plan"] + FLOORS[:4],
    **{room: ["shadow", "shadow/ranges"] + ABOVE_COPIES + beside(room, FLOORS) for room in CORE},
    "src/boundary": ["shadow", "shadow/ranges", "src/intercept"] + FLOORS + ABOVE_COPIES,
    "src/intercept": ["shadow", "shadow/ranges"] + FLOORS + ABOVE_COPIES,
    "src/events": ["shadow", "shadow/ranges", "src/dispatch"] + FLOORS + ABOVE_COPIES,
    "src/dispatch": ["shadow", "shadow/ranges", "src/events"] + FLOORS + ABOVE_COPIES,
    "src/counters": ["shadow", "shadow/ranges"] + FLOORS + ABOVE_COPIES,
    "src/leakcheck": SHADOW + ["src/exit"] + FLOORS + ABOVE_COPIES,
    "src/exit": SHADOW + ["src/leakcheck"] + FLOORS + ABOVE_COPIES,
    "src": SHADOW + ["src/boundary", "src/intercept", "src/events", "src/dispatch", "src/counters", "src/leakcheck", "src/exit"] + FLOORS + ABOVE_COPIES,
    "report": [],  # report.h alone, for every room
    **REPORT,
    "tools/messages": [],
    "tools/options": ["shadow", "report", "tools/messages"],
    "tools/perfstat": ["shadow", "report", "tools/messages"],
    "tools/launcher": ["shadow", "report", "tools/messages", "tools/options"],
    "tools/selftest": ["shadow", "report", "tools/messages", "tools/options", "tools/launcher"],
    "tools/pack": ["shadow", "report", "tools/messages"],
    "tools/translate": ["report", "tools/messages"],
    "tools": ["shadow", "shadow/plan", "report"] + ["tools/" + room for room in "messages options perfstat launcher selftest pack translate".split()],
}
SEES = {MACHINE: [], **{room: [MACHINE] + sees for room, sees in SEES.items()}}  # as the headers of include
TOP = set("src include shadow report tests tools docs man examples CMakeLists.txt LICENSE README.md ARCHITECTURE.md "
          "CONTRIBUTING.md CHANGELOG.md SECURITY.md".split())
RUNTIME = [MACHINE, "shadow/plan"] + SHADOW + [room for room in SEES if room.startswith("src")]
# A variable declared for other files; with default visibility every access would be a lookup in the GOT.
SHOWN = re.compile(r"^extern (?!HIDDEN)[^(\n]*[;{]", re.MULTILINE)
SCRATCH = tempfile.TemporaryDirectory()
TRY = pathlib.Path(SCRATCH.name, "try.c")
DOOR_LINES = range(10, 31)  # of the comment that describes a room: its purpose, data and locks
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)

wrong = []


def headers(room):
    return sorted(p.name for p in (SOURCE / room).glob("*.h"))


def flags():
    """The command line of some file of each room, without the file and its output."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        room = os.path.relpath(os.path.dirname(entry["file"]), SOURCE)
        words = shlex.split(entry["command"])
        output = words.index("-o")
        found[room] = words[:output]
    return found


def on_path(command, names):
    """Which of these headers this command line finds; not libc's of the same name (<shadow.h>)."""
    text = "".join(f'#if __has_include("{n}")\nfinds {n}\n#endif\n' for n in names)
    TRY.write_text(text)
    done = subprocess.run(command + ["-nostdinc", "-E", "-P", str(TRY)], capture_output=True, text=True, check=True)
    return {line.split()[1] for line in done.stdout.splitlines() if line.startswith("finds ")}


def check_compiles(command, room, header, may):
    TRY.write_text(f'#include "{header}"\nextern int tried;\n')
    done = subprocess.run(command + ["-fsyntax-only", str(TRY)], capture_output=True, text=True)
    if (done.returncode == 0) != may:
        wrong.append(f"{room}: a file that includes {header} must {'' if may else 'not '}compile\n"
                     + done.stderr)


def check_sight(commands):
    everything = {room: headers(room) for room in SEES}
    for room, sees in SEES.items():
        if room not in commands:
            if any((SOURCE / room).glob("*.c")):
                wrong.append(f"{room}: no file of it is built")
            continue
        visible = {h for seen in [room] + sees for h in everything[seen]}
        found = on_path(commands[room], {h for names in everything.values() for h in names})
        for other, names in everything.items():
            wrong.extend(f"{room} finds {h} of {other}" for h in names if h in found - visible)
            wrong.extend(f"{room} does not find {h} of {other}" for h in names if h in visible - found)
        wrong.extend(f"{room} sees {seen}, and not all that this sees" for seen in sees if set(SEES[seen]) - set(sees) - {room})
        for header in everything[room]:  # a room that includes a header finds all headers that this one includes
            if not header.endswith("_priv.h"):
                check_compiles(commands[room], room, header, True)
        hidden = sorted({h for names in everything.values() for h in names} - visible)
        for header in hidden[:1]:  # on_path has reported that the others are not found
            check_compiles(commands[room], room, header, False)


def check_files():
    for room in SEES:
        own = set(headers(room))
        for path in sorted((SOURCE / room).glob("*.[ch]")):
            for kind, name in INCLUDE.findall(path.read_text()):
                where = f"{path.relative_to(SOURCE)} includes {name}"
                if kind == '"' and "/" in name and not re.fullmatch(r"(format|rtcheck)/[^/]+", name):
                    wrong.append(f"{where}: by a path around its room")
                if name.endswith("_priv.h") and name not in own:
                    wrong.append(f"{where}: another room's private header")
                if room in RUNTIME and name in ("stdio.h", "locale.h", "math.h"):
                    wrong.append(f"{where}: not in the runtime")
            if path.suffix == ".h" and room in RUNTIME:
                wrong.extend(f"{path.relative_to(SOURCE)}: {line}: not HIDDEN" for line in SHOWN.findall(path.read_text()))


def check_rooms():
    """A folder with sources that is missing in the table would not be checked."""
    for top in ("shadow", "src", "report", "tools"):
        for path in (SOURCE / top).rglob("*.[ch]"):
            room = str(path.parent.relative_to(SOURCE))
            if room not in SEES and not re.fullmatch(r"(shadow|src)/arch/\w+|src/libc/\w+", room):
                wrong.append(f"{path.relative_to(SOURCE)}: {room} is no room")


def described_lines(text):
    """The number of lines of the comment that a file begins with."""
    comment = re.match(r"/\*.*?\*/", text, re.DOTALL)
    return comment[0].count("\n") + 1 if comment else 0


def check_doors():
    """Each room has a door, the header in the second column of the table of rooms, which begins with its description."""
    doors = dict(re.findall(r"^\| (\w+[/\w]*) \| `(\w+\.h)`", (SOURCE / "ARCHITECTURE.md").read_text(), re.MULTILINE))
    for room in [*SEES, "include/format"]:
        door = SOURCE / room / doors.get(room.replace(platform.machine(), "x86_64"), "none")
        lines = described_lines(door.read_text()) if door.is_file() else 0
        if room != "src" and lines not in DOOR_LINES:  # src itself has only the composition root
            wrong.append(f"{door.relative_to(SOURCE)}: its first comment has {lines} lines, not "
                         f"{min(DOOR_LINES)} to {max(DOOR_LINES)}")


def check_top():
    """The top of the tree is its table of contents; git, if present, lists the tracked entries."""
    listed = subprocess.run(["git", "-c", f"safe.directory={SOURCE}", "-C", SOURCE, "ls-files"],
                            capture_output=True, text=True, check=False)
    for name in sorted({line.split("/")[0] for line in listed.stdout.splitlines()} - TOP):
        if not name.startswith("."):
            wrong.append(f"{name}: not in the top of the tree")


check_top()
check_rooms()
check_doors()
check_files()
check_sight(flags())
print("\n".join(sorted(set(wrong))))
sys.exit(bool(wrong))

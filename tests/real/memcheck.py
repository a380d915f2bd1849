"""
Leaks at the end of a program, by stack: from rtcheck, and from memcheck.

A stack is represented by its innermost frames below the allocator, each "module:function", "?" if the module
has no symbol there; equal ones in a row are counted, "libx.so.1:?*3".  Both tools find the same symbols, but
may use different names of one address: the alphabetically first is used.  Frames outside of main and of a
thread's first function, and versions of symbols, are left out.

Memcheck does not report forked children that continue without exec: it would repeat their parent's leaks.
Both tools count indirectly lost blocks.
"""
import functools
import glob
import json
import os
import re
import subprocess
import xml.etree.ElementTree
from collections import Counter

FRAMES = 6
OUTSIDE = {"__libc_start_call_main", "__libc_start_main", "call_init", "start_thread"}
OWN, OTHER = {"definite", "indirect"}, {"Leak_DefinitelyLost", "Leak_IndirectlyLost"}

# Memcheck checks at the same moment as rtcheck: libc's memory is not freed first, and nothing is suppressed.
OPTIONS = ["-q", "--leak-check=full", "--show-leak-kinds=all", "--leak-resolution=high",
           "--num-callers=64", "--error-limit=no", "--default-suppressions=no", "--read-inline-info=no",
           "--demangle=no", "--show-below-main=yes", "--keep-debuginfo=yes", "--run-libc-freeres=no",
           "--run-cxx-freeres=no", "--trace-children=yes", "--child-silent-after-fork=yes",
           "--vgdb=no", "--xml=yes"]


# ---- stacks ---------------------------------------------------------------------------------

@functools.lru_cache(None)
def names_of(module):
    """Each symbol's name -> the name that represents its address."""
    at = {}
    for table in ["-D"], []:
        listed = subprocess.run(["/usr/bin/nm", *table, "--defined-only", module],
                                capture_output=True, text=True, check=False).stdout
        for line in listed.splitlines():
            address, kind, name = (line.split() + ["", ""])[:3]
            if kind in "TtWwi":
                at.setdefault(address, set()).add(name.partition("@")[0])
    best = lambda names: min(names, key=lambda n: (n.lstrip("_"), n))
    return {name: best(names) for names in at.values() for name in names}


def frame_name(module, function):
    if not module:
        return "?"
    module = os.path.realpath(module)
    function = (function or "?").partition("@")[0]
    return os.path.basename(module) + ":" + names_of(module).get(function, function)


def is_allocator(frame):
    """An allocator of a tool, or an operator new of the program."""
    module, _, function = frame.partition(":")
    return module.startswith(("vgpreload_", "librtcheck")) or function.startswith(("_Znw", "_Zna"))


def stack_name(frames):
    frames = list(frames)
    while frames and is_allocator(frames[0]):
        del frames[0]
    ends = [i for i, f in enumerate(frames) if f.partition(":")[2] in OUTSIDE]
    printed = []
    for frame in frames[:min(ends + [FRAMES])]:
        if printed and printed[-1][0] == frame:
            printed[-1][1] += 1
        else:
            printed.append([frame, 1])
    return " ".join(f if n == 1 else f"{f}*{n}" for f, n in printed) or "?"


# ---- lost bytes by stack --------------------------------------------------------------------

def lost_by_us(report):
    """Leaks of all processes."""
    modules = {m["id"]: m["path"] for m in report["modules"]}
    frames = {f["id"]: frame_name(modules.get(f.get("module")), f.get("system_name"))
              for f in report["frames"]}
    stacks = {s["id"]: stack_name(frames[f] for f in s["frames"]) for s in report["stacks"]}
    lost = Counter()
    for leak in report["leaks"]:
        if leak["class"] in OWN:
            lost[stacks.get(leak.get("stack"), "?")] += leak["bytes"]
    return lost


def direct_bytes(what):
    """The bytes of the record itself; the leaked bytes include the indirectly lost ones."""
    direct = re.search(r"\(([\d,]+) direct,", what.findtext("text"))
    return int(direct[1].replace(",", "") if direct else what.findtext("leakedbytes"))


def lost_by_memcheck(folder):
    lost = Counter()
    for path in glob.glob(os.path.join(folder, "*.xml")):
        for error in xml.etree.ElementTree.parse(path).iter("error"):
            if error.findtext("kind") in OTHER:
                frames = ((f.findtext("obj"), f.findtext("fn")) for f in error.find("stack"))
                lost[stack_name(frame_name(*f) for f in frames)] += direct_bytes(error.find("xwhat"))
    return lost


def report_of(path):
    with open(path) as f:
        return json.load(f)

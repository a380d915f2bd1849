"""head.py - the active features of the measured build: read from the run file of one of its runs."""
import re
import subprocess

from columns import BUILD, RTCHECK

FRAMES = 16
HEAP_IN_FILE = 0x20


def one_run(place, options=""):
    """The dump of a run that keeps blocks at a depth of 16 frames, and frees others."""
    pool = place / "pool"
    pool.mkdir()
    words = {"LD_PRELOAD": str(BUILD / "lib/librtcheck.so"), "PATH": "/usr/bin:/bin",
             "RTCHECK_OPTIONS": f"keep:pool_dir={pool}:" + options}
    for kind in ("pair", "keep"):
        subprocess.run([str(BUILD / "tests/bench/calls"), "count", kind, str(FRAMES), "8"], env=words,
                       capture_output=True, check=True)
    return "\n".join(dump(path) for path in sorted(pool.iterdir()))


def dump(path):
    return subprocess.run(RTCHECK[:1] + ["dump", str(path)], capture_output=True, text=True,
                          errors="replace", check=True).stdout


def number(text, name):
    found = re.search(rf"^ image .*\b{name}=(-?(?:0x)?[0-9a-f]+)", text, re.MULTILINE)
    return int(found.group(1), 0) if found else None


def build_id(path):
    notes = subprocess.run(["readelf", "-n", str(path)], capture_output=True, text=True).stdout
    return re.search(r"Build ID: (\w+)", notes).group(1)


def frames_of(text):
    """The number of frames of the deepest stack."""
    parent = {m[0]: m[1] for m in re.findall(r"^   stack (\w+) .*parent=(\w+)", text, re.MULTILINE)}

    def depth(node):
        n = 0
        while node in parent:
            node, n = parent[node], n + 1
        return n
    return max(map(depth, parent), default=0)


def read_head(place, options=""):
    text = one_run(place, options)
    recorded = re.search(r"build_id=(\w+) .*/librtcheck\.so", text).group(1)
    stacks = re.findall(r" stacks=(\w+)/(\w+)$", text, re.MULTILINE)
    return {"version": re.search(r"[\d.]+", subprocess.run(
                RTCHECK[:1] + ["--version"], capture_output=True, text=True).stdout).group(),
            "build_id": recorded,
            "same_build": recorded == build_id(BUILD / "lib/librtcheck.so"),
            "stack_of_alloc": any(a != "0" for a, _ in stacks),
            "stack_of_free": any(f != "0" for _, f in stacks),
            "frames_of_16": frames_of(text),
            "quarantine_bytes": number(text, "quarantine_bytes"),
            "malloc_fill": number(text, "malloc_fill"),
            "free_fill": number(text, "free_fill"),
            "heap": "file" if number(text, "flags") & HEAP_IN_FILE else "private",
            "lost_features": number(text, "lost_features")}


def fill(byte):
    return "not filled" if byte < 0 else "filled with their addresses" if byte > 255 else f"filled with {byte:#04x}"


def print_head(head):
    taken = {"allocations": head["stack_of_alloc"], "frees": head["stack_of_free"]}
    where = [name for name in taken if taken[name]]
    return (f"rtcheck {head['version']}, build {head['build_id'][:8]}"
            f"{'' if head['same_build'] else ' (NOT THIS ONE)'}: stacks of {' and '.join(where) or 'nothing'}, "
            f"{head['frames_of_16']} of {FRAMES} frames; new blocks {fill(head['malloc_fill'])}, freed ones "
            f"{fill(head['free_fill'])}; quarantine {head['quarantine_bytes'] >> 10} KiB a thread; "
            f"heap {head['heap']}; lost features {head['lost_features']:#x}")


# ---- memory of stacks ---------------------------------------------------------------------------

def stack_memory(text):
    """Stack memory from one dump: its counters if the image has them, else counts of the dump's records."""
    nodes = re.findall(r"^   stack (\w+) pc=(\w+)", text, re.MULTILINE)
    used = {i for pair in re.findall(r" stacks=(\w+)/(\w+)$", text, re.MULTILINE) for i in pair} - {"0"}
    chunks = re.findall(r"^  segment \w+ depot .*? bytes=(\d+)", text, re.MULTILINE)
    taken = number(text, "depot_bytes") or sum(map(int, chunks))
    stacks = number(text, "depot_stacks") or len(used)
    pcs = number(text, "pc_count") or len({pc for _, pc in nodes})
    return {"stacks": stacks, "nodes": number(text, "depot_nodes") or len(nodes), "pcs": pcs,
            "bytes_per_stack": taken / stacks if stacks else None,
            "bytes_per_pc": number(text, "pc_bytes") / pcs if number(text, "pc_bytes") and pcs else None}


def measure_memory(command, place):
    """Stack memory of a run of the program."""
    pool = place / "memory"
    pool.mkdir()
    words = {"LD_PRELOAD": str(BUILD / "lib/librtcheck.so"), "PATH": "/usr/bin:/bin",
             "PYTHONMALLOC": "malloc", "RTCHECK_OPTIONS": f"keep:pool_dir={pool}"}
    subprocess.run(command, env=words, capture_output=True, check=True)
    return stack_memory(dump(next(pool.iterdir())))

#!/usr/bin/env python3
# rtc-test: launcher/runs ci 200
# rtc-test: launcher/runs-full full 400 --full
"""Kept runs: their names, the link to the last one, rtcheck list, how many are kept; and many runs in parallel, of
which each finds its own findings by show, suppress and report."""
import concurrent.futures
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import time

RTCHECK = os.environ["RTC_BUILD"] + "/bin/rtcheck"
STATE = pathlib.Path("state").absolute()
KEPT = STATE / "rtcheck"
PARALLEL = 200 if "--full" in sys.argv else 32


def must(holds, *what):
    if not holds:
        print("\n  ".join(str(w) for w in what))
        sys.exit(1)


def run(*words, state=STATE, left="none"):
    return subprocess.run([RTCHECK, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "XDG_STATE_HOME": str(state), "TMPDIR": "none", "XDG_RUNTIME_DIR": str(left)})


def listed():
    """The lines of rtcheck list, without runs by hand of others, which are in a folder that all share."""
    head, *rows = run("list").stdout.splitlines()
    return [head] + [line for at in range(0, len(rows), 2) for line in rows[at:at + 2] if "/dev/shm/" not in "".join(rows[at:at + 2])]


def kept():
    return sorted(name for name in os.listdir(KEPT) if name != "last")


def names(program):
    done = run("--deterministic", program, "3")
    name, = kept()
    must(re.fullmatch(r"program\.\d+\.\d{8}T\d{6}", name), name)
    must(os.readlink(KEPT / "last") == name and done.stderr.endswith("run file: %s\n" % (KEPT / name)), done.stderr)
    os.symlink(program, "a b;c'd")
    run("./a b;c'd", "4")
    other = os.readlink(KEPT / "last")
    must(re.fullmatch(r"a_b_c_d\.\d+\.\d{8}T\d{6}", other), other)
    must(sorted([name, other]) == kept(), kept())
    lines = listed()
    must(len(lines) == 5 and str(KEPT / other) in lines[2] and str(KEPT / name) in lines[4], lines)
    must(re.fullmatch(r"[\d-]+ [\d:]+ +%s +1  program" % name.split(".")[1], lines[3]), lines)
    must("found_4" in run("report").stdout and "found_4" in run("report", KEPT / "last").stdout, "the newest")
    run(program, "5000")
    must(len(kept()) == 2, "a run without findings is not kept", kept())


def finding(done):
    return re.search(r"\bmel-[0-9a-f]{8}\b", done.stderr)[0]


def limits(program):
    """The newest 20; those of the last ten minutes also beyond; other files are left alone."""
    past = time.time() - 3600
    for i in range(40):
        path = KEPT / ("old.%d.20200101T000000" % (i + 1))
        path.write_bytes(b"x")
        os.utime(path, (past - i, past - i))
    others = [KEPT / name for name in ("notes.txt", "a.b.c", "old.1.2020", "old.x.20200101T000000", "old.1.20200101T00000x")]
    for path in others:
        path.write_text("mine")
        os.utime(path, (past, past))
    (KEPT / "link.1.20200101T000000").symlink_to(others[0])
    last = finding(run(program, "6"))
    runs = [name for name in kept() if name.startswith(("program.", "a_b_c_d."))]
    old = [name for name in kept() if re.fullmatch(r"old\.\d+\.\d{8}T\d{6}", name)]
    must(len(runs) == 3 and len(old) == 17, runs, old)
    must(set(old) == {"old.%d.20200101T000000" % (i + 1) for i in range(17)}, "the newest of the old ones", old)
    must(all(path.read_text() == "mine" for path in others) and (KEPT / "link.1.20200101T000000").is_symlink(), "others' files")
    must(run("show", last).returncode == 0, "files that are no runs are passed over")
    for name in old:
        os.unlink(KEPT / name)
    for path in [*others, KEPT / "link.1.20200101T000000"]:
        path.unlink()


def temporary(program):
    """What killed launchers have left is removed when it is older than a day; nothing else is, however old."""
    old = ["program.1.20200101T000000.aB3xYz", "program.1.20200101T000000-2.ABCDEF", "a.b.c.1.20200101T000000.012345"]
    others = ["program.1.20200101T000000.aB3xY", "program.1.20200101T000000.aB3xY-", "program.x.20200101T000000.aB3xYz", "last.",
              "last.1x", "last.txt", "notes.aB3xYz", ".aB3xYz"]
    recent = ["program.2.20200101T000000.aB3xYz"]
    for seconds, all_names in ((86400 + 600, [*old, *others]), (86400 - 600, recent)):
        for path in [KEPT / name for name in all_names]:
            path.write_text("x")
            os.utime(path, (time.time() - seconds,) * 2)
    for name, seconds in (("last.123", 86400 + 600), ("last.124", 0)):
        os.symlink("program.1.20200101T000000", KEPT / name)
        os.utime(KEPT / name, (time.time() - seconds,) * 2, follow_symlinks=False)
    (KEPT / "program.3.20200101T000000.folder").mkdir()
    os.utime(KEPT / "program.3.20200101T000000.folder", (0, 0))
    run(program, "7")
    must(not set(kept()) & {*old, "last.123"}, "they stayed", kept())
    stay = [*others, *recent, "last.124", "program.3.20200101T000000.folder"]
    must(set(kept()) >= set(stay), "removed", set(stay) - set(kept()))
    (KEPT / stay.pop()).rmdir()
    for name in stay:
        os.unlink(KEPT / name)


def newest_that_has_it(program):
    """Of two runs with the same finding show has the newer one; a finding of an older one is found, too."""
    third = finding(run("--deterministic", program, "3"))
    run(program, "3", "700")
    run(program, "8")
    must("700-byte block" in run("show", third).stdout, run("show", third))
    done = run("show", "mel-00000000")
    must(done.returncode == 1 and done.stderr.endswith("there is no mel-00000000 in %s, nor in an older run\n" %
                                                       (KEPT / os.readlink(KEPT / "last"))), done)
    must(run("suppress", "add", third).returncode == 0 and "found_3" in pathlib.Path("rtcheck.supp").read_text(), "suppress")
    must(run("suppress", "add", "mel-00000000").returncode == 1, "suppress")


def blocks_in_use(program):
    """The ids that --memuse prints can be shown: of a run without problems, and of a child that ended during the run."""
    for words in ([program, "6000"], ["sh", "-c", program + " 6000; sleep 0.5"]):
        printed = run("--memuse", *words).stderr
        name = re.search(r" main program.c:.*(biu-[0-9a-f]{8})\n", printed)[1]
        done = run("show", name)
        must("no errors, no leaks" in printed and done.stdout.startswith(name + "  6000 B in use in 1 block"), printed, done)
    must("run file" not in run("--memuse", "--quiet", program, "6000").stderr, "nothing was printed")


def opened(folder, action):
    """(result of the action, files in the folder that it opened)"""
    libc = ctypes.CDLL(None)
    events = libc.inotify_init1(os.O_NONBLOCK)
    must(libc.inotify_add_watch(events, str(folder).encode(), 0x20) > 0, "IN_OPEN")  # from sys/inotify.h
    result = action()
    try:
        names = re.findall(rb"rtcheck[^\0]*", os.read(events, 65536))
    except BlockingIOError:
        names = []
    os.close(events)
    return result, {name.decode() for name in names}


def left_and_kept():
    """Of kept runs and those that killed programs have left, the newest that has an id; files of older ones are not opened."""
    left = pathlib.Path("left").absolute()
    left.mkdir()
    pathlib.Path("twice.c").write_text(
        "#include <signal.h>\n#include <stdlib.h>\nint main(int argc, char **argv) { char *volatile p = malloc(atoi(argv[1]));"
        " free(p); free(p); return argc > 2 ? raise(SIGKILL) : 0; }\n")
    subprocess.run(["gcc", "-g", "-O0", "-w", "twice.c", "-o", "twice"], check=True)
    env = {"PATH": os.environ["PATH"], "LD_PRELOAD": os.environ["RTC_BUILD"] + "/lib/librtcheck.so", "RTCHECK_POOL_DIR": str(left)}

    def leave(size):
        before = set(os.listdir(left))
        subprocess.run(["./twice", str(size), "killed"], env=env, check=False)
        return (set(os.listdir(left)) - before).pop()

    def shown():
        done, files = opened(left, lambda: run("show", name, left=left))
        return int(re.search(r"(\d+)-byte block", done.stdout)[1]), files

    first = leave(100)
    done = run("./twice", "200")
    name, path = re.search(r"duf-[0-9a-f]{8}", done.stderr)[0], re.search("run file: (.*)", done.stderr)[1]
    must(shown()[0] == 200, "the kept run is newer", shown())
    second = leave(300)
    must(shown()[0] == 300 and second in shown()[1], "a killed run is newer", shown())
    now = time.time() + 5
    os.utime(path, (now, now))
    must(shown() == (200, set()), "the kept run is newer by far", shown())
    done, files = opened(left, lambda: run("show", "duf-00000000", left=left))
    must(done.returncode == 1 and files == {first, second}, "an id that no run has", done, files)


def equal_pids(program):
    """Containers that share the directory have the same pids: a run whose name is there gets another, and both are found."""
    scene = ["unshare", "-Urpf", "--mount-proc"]
    possible = subprocess.run([*scene, "true"], capture_output=True, text=True)
    if possible.returncode != 0:
        print("skip: equal_pids:", possible.stderr.strip())
        return
    state = pathlib.Path("shared").absolute()

    def contained(i):
        done = subprocess.run([*scene, RTCHECK, "-q", program, str(i)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300, env={**os.environ, "XDG_STATE_HOME": str(state)})
        return finding(done), pathlib.Path(re.search("run file: (.*)", done.stderr)[1])

    first, path = contained(10)
    start = "%s." % path.name.rsplit(".", 1)[0]
    now = int(time.time())
    taken = [path.parent / (start + time.strftime("%Y%m%dT%H%M%S", time.gmtime(now + i))) for i in range(120)]
    taken = [other for other in taken if other != path]
    for other in taken:
        other.write_text("of another container")
    second, beside = contained(11)
    must(beside.name.startswith(start) and beside.name.endswith("-2"), beside)
    third, beside_both = contained(12)
    must(beside_both.name.endswith(("-2", "-3")) and beside_both != beside, beside_both)
    must(all(other.read_text() == "of another container" for other in taken), "replaced")
    must(os.readlink(path.parent / "last") == beside_both.name, "last")
    for other in taken:
        other.unlink()
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        parallel = list(pool.map(contained, range(20, 26)))
    files = sorted([path, beside, beside_both, *(one for _, one in parallel)])
    must(sorted(one for one in path.parent.iterdir() if one.name != "last") == files, files, os.listdir(path.parent))
    must(run("list", state=state).stdout.count("\n  %s/" % path.parent) == len(files), run("list", state=state).stdout)
    for name, _ in [(first, path), (second, beside), (third, beside_both), *parallel]:
        must(run("show", name, state=state).stdout.startswith(name), name)


def one_of_many(program, i):
    done = run("-q", program, i, 1000 + i)
    name = finding(done)
    shown = run("show", name)
    own = re.search("run file: (.*)", done.stderr)[1]
    return i, name, own, shown.stdout, os.path.exists(own)


def in_parallel(program):
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        all_runs = list(pool.map(lambda i: one_of_many(program, i), range(PARALLEL)))
    must(len({own for _, _, own, _, _ in all_runs}) == PARALLEL, "run files are different")
    must(len({name for _, name, _, _, _ in all_runs}) == PARALLEL, "ids are different")
    for i, name, own, shown, is_there in all_runs:
        must(is_there and shown.startswith(name) and "%d-byte block" % (1000 + i) in shown and "found_%d+" % i in shown.replace(" ", "+"),
             i, name, own, shown)
    must(len(kept()) >= PARALLEL and os.path.exists(KEPT / "last"), len(kept()))
    for i in (0, PARALLEL // 2, PARALLEL - 1):
        must("%d-byte block" % (1000 + i) in run("show", all_runs[i][1]).stdout, "later", i)


source = "#include <stdlib.h>\nvoid *volatile sink;\n"
source += "".join("__attribute__((noinline)) void found_%d(int n) { sink = malloc(n); sink = 0; }\n" % i for i in range(PARALLEL))
source += "void (*const all[])(int) = {%s};\n" % ", ".join("found_%d" % i for i in range(PARALLEL))
source += "int main(int argc, char **argv) { int i = atoi(argv[1]); if (i < %d) all[i](argc > 2 ? atoi(argv[2]) : 64);\n" % PARALLEL
source += "if (i == 6000) sink = malloc(i); return 0; }\n"
pathlib.Path("program.c").write_text(source)
subprocess.run(["gcc", "-g", "-O0", "program.c", "-o", "program"], check=True)
names("./program")
limits("./program")
temporary("./program")
newest_that_has_it("./program")
blocks_in_use("./program")
left_and_kept()
equal_pids("./program")
in_parallel("./program")

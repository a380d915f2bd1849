#!/usr/bin/python3
# rtc-test: report/pack ci 90
"""`rtcheck pack`: the archive that it makes is read where the programs, the debugging information and the sources are missing;
an archive that another person has made harms no reader."""
import functools
import io
import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import time

sys.dont_write_bytecode = True # the checkout may be another's
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../stress")
from checks import check, end

BUILD = pathlib.Path(os.environ["RTC_BUILD"])
RTCHECK = BUILD / "bin/rtcheck"
PLACE = pathlib.Path.cwd()
TEMPORARY, STATE, DEBUG = PLACE / "tmp", PLACE / "rtcheck", PLACE / "debug"
ENVIRONMENT = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": str(PLACE), "TMPDIR": str(TEMPORARY)}
LIBRARY = """
#include <stdlib.h>
static int *held;
void keep(void) { held = (int *)malloc(40) + 1; }
__attribute__((noinline)) void *library_lost(void) { return malloc(55); }
"""
PROGRAM = """
#include <sys/wait.h>
#include <unistd.h>
extern "C" { void keep(void); void *library_lost(void); }
namespace ns { template<class T> __attribute__((noinline)) T *lost_here(T n) { T *made = new T; *made = n; return made; } }
volatile void *lost;
int main() {
    keep();
    lost = ns::lost_here<long>(1);
    lost = library_lost();
    if (fork() == 0) { lost = ns::lost_here<char>(2); lost = 0; _exit(0); }
    wait(0);
    char *twice = new char;
    lost = twice;
    delete (char *)lost;
    delete (char *)lost;
    lost = 0;
    return 0;
}
"""


def must(what, holds, *printed):
    if not holds:
        check(what, " ".join(str(p) for p in printed), "")


def run(*words, **more):
    """Each call must remove its temporary files."""
    done = subprocess.run([str(w) for w in words], env=ENVIRONMENT, timeout=60, check=False, **{"capture_output": True, **more})
    check(f"temporary files after {words[1:]}", os.listdir(TEMPORARY), [])
    return done


def rtcheck(*words, **more):
    done = run(RTCHECK, *words, **more)
    return done.returncode, (done.stdout or b"").decode(), (done.stderr or b"").decode()


def good(*words):
    status, out, err = rtcheck(*words)
    check(f"{words}: status and stderr", (status, err), (0, ""))
    return out


def shell(*words, cwd=PLACE):
    return subprocess.run(words, cwd=cwd, check=True, capture_output=True, text=True).stdout


def build_id_of(path):
    return shell("readelf", "-n", path).split("Build ID: ")[1].split()[0]


def separate(path, to, link=None):
    """Move the debugging information of an object to another file."""
    to.parent.mkdir(parents=True, exist_ok=True)
    shell("objcopy", "--only-keep-debug", path, to)
    shell("strip", path)
    if link:
        shell("objcopy", f"--add-gnu-debuglink={to}", path)


def record(*words):
    """The new run file of a program."""
    before = set(STATE.glob("p*"))
    run(RTCHECK, "--keep", "--log-file=log", *words)
    new = [path for path in STATE.glob("p*") if path not in before]
    must("one run is kept", len(new) == 1, new)
    return new[0]


def reports(run_file, *options, is_brief=False):
    """What is printed of a run, apart from the name of its file and the cost of the reporter itself."""
    texts = [good("report", "--json=r.json", "--sarif=r.sarif", "--source=2", "--leak-check=full", "--all", "--show-leak-kinds=all", *options, run_file)]
    texts = [texts[0].replace(str(run_file), "FILE"), re.sub(r'"report_(ns|faults)":\d+', r'"report_\1":0', pathlib.Path("r.json").read_text()),
             pathlib.Path("r.sarif").read_text()]
    if not is_brief:
        texts += [good("report", "--format=valgrind", *options, run_file), good("events", run_file)]
        texts += [good("show", *options, row["id"], run_file) for row in json.loads(texts[1])["leaks"]]
    return texts


def members(pack):
    """Name -> size; tar reads the archive, too."""
    lines = [line.split() for line in shell("tar", "-tvf", pack).splitlines()]
    return {words[5]: int(words[2]) for words in lines}


def manifest_of(pack):
    return json.loads(shell("tar", "-xOf", pack, "manifest.json"))


# ---- what is packed, and read where its files are missing ---------------------------------------

home = PLACE / "home"
home.mkdir()
TEMPORARY.mkdir()
(home / "p.cc").write_text(PROGRAM)
(home / "q.c").write_text(LIBRARY)
shell("gcc", "-g", "-O1", "-shared", "-fPIC", "-Wl,--build-id=sha1", home / "q.c", "-o", home / "libq.so")
shell("g++", "-g", "-O1", "-Wl,--build-id=none", home / "p.cc", "-o", home / "p", "-L", home, "-lq", f"-Wl,-rpath,{home}")
library_id = build_id_of(home / "libq.so")
separate(home / "libq.so", DEBUG / ".build-id" / library_id[:2] / (library_id[2:] + ".debug"))
separate(home / "p", home / ".debug/p.dbg", link=True)
first = record(home / "p")
with_debug = f"--debug-dir={DEBUG}"
here = reports(first, with_debug)
must("names are known here", all(word in here[0] for word in ("lost_here<long>", "p.cc:5", "library_lost", "q.c:5", "    | ", "^")), here[0])

printed = good("pack", with_debug, first)
PACK = PLACE / (first.name + ".rtpack")
must("the summary", printed.startswith(f"{PACK.name}: "), printed)
mask = os.umask(0)
os.umask(mask)
check("its mode", PACK.stat().st_mode & 0o777, 0o666 & ~mask)
names = members(PACK)
must("the first member", next(iter(names)) == "manifest.json", names)
for path in (home / "p", home / "libq.so", pathlib.Path(f"/usr/lib/debug/.build-id/{library_id[:2]}/{library_id[2:]}.debug"),
             pathlib.Path(f"/usr/lib/debug{home}/p.dbg")):
    must(f"{path} is packed", f"root{path}" in names, list(names))
must("no sources", not any(name.endswith((".c", ".cc")) for name in names), list(names))
shell("tar", "-xf", PACK, "run")
unpacked = (PLACE / "run").stat()
must("holes of the run are not stored", unpacked.st_blocks * 512 < unpacked.st_size == names["run"], unpacked)
manifest = manifest_of(PACK)
check("the run's name", (manifest["schema"], manifest["run"]), ("rtcheck-pack/1", first.name))
sources = {row["path"]: row for row in manifest["sources"]}
check("a source", (sources[f"{home}/p.cc"]["bytes"], len(sources[f"{home}/p.cc"]["xxh128"]), sources[f"{home}/p.cc"]["packed"]),
      (len(PROGRAM), 32, False))
if shutil.which("xxh128sum"):
    check("its digest", shell("xxh128sum", home / "p.cc").split()[0], sources[f"{home}/p.cc"]["xxh128"])
objects = {row["path"]: row for row in manifest["objects"]}
check("an object", objects[f"{home}/libq.so"], {"path": f"{home}/libq.so", "build_id": library_id, "symbols": "lines", "packed": True,
                                              "bytes": (home / "libq.so").stat().st_size})

away = PLACE / "away"
away.mkdir()
shutil.move(home / "p", away / "p")
shutil.move(home / "libq.so", away / "libq.so")
shutil.move(home / ".debug", away / "debug-of-p")
shutil.move(DEBUG, away / "debug")
must("no names without the files", "lost_here" not in reports(first, is_brief=True)[0], "")
check("the pack, elsewhere", reports(PACK), here)
must("a sysroot that is given has precedence", "lost_here" not in good("report", "--sysroot=/nowhere", PACK), "")
check("dump", good("dump", PACK), good("dump", first))
duf = next(word for word in here[0].split() if word.startswith(("mel-", "duf-")))
good("suppress", "add", "--file=here.supp", duf, PACK)
must("a rule from a pack has names", "lost_here" in (PLACE / "here.supp").read_text() or "main" in (PLACE / "here.supp").read_text(),
     (PLACE / "here.supp").read_text())
good("pack", "--output=again", PACK)
check("a pack of a pack", reports(PLACE / "again", is_brief=True), here[:3])

# An object without a build-id cannot be compared: one of this machine is not used.
(home / "p").write_bytes((away / "p").read_bytes())
check("a file of another machine is not used instead", reports(PACK, is_brief=True), here[:3])
shell("g++", "-g", "-O0", "-DOTHER", "-Wl,--build-id=none", home / "p.cc", "-o", home / "p", "-L", away, "-lq")
check("nor another build", reports(PACK, is_brief=True), here[:3])

# ---- sources ------------------------------------------------------------------------------------

(home / "p.cc").write_text(PROGRAM.replace("namespace", "/**/\nnamespace"))
status, out, err = rtcheck("report", "--source=2", PACK)
check("a changed source", (status, err), (0, f"rtcheck: note: no lines of {home}/p.cc are printed: it is not the version of the run\n"))
must("its lines are not printed", " | " not in out and "p.cc:" in out, out)
check("nothing is noted if no lines are wanted", rtcheck("report", PACK)[2], "")
(home / "p.cc").write_text(PROGRAM)
for name in ("p", "libq.so"):
    shutil.copy(away / name, home / name)
shutil.copytree(away / "debug-of-p", home / ".debug")
shutil.copytree(away / "debug", DEBUG)
good("pack", with_debug, "--with-sources", "--output=sources.rtpack", first)
must("sources are packed", f"root{home}/p.cc" in members("sources.rtpack"), "")
shutil.rmtree(home)
check("sources are read from the pack", reports(PLACE / "sources.rtpack", is_brief=True), here[:3])
home.mkdir()

# ---- which run; what is missing -----------------------------------------------------------------

C_PROGRAM = "#include <stdlib.h>\nint main(void) { void *volatile lost = malloc(%s); lost = 0; return 0; }\n"
for name, size in (("p1", "11"), ("p2", "22")):
    (home / f"{name}.c").write_text(C_PROGRAM % size)
    shell("gcc", "-g", "-O1", "-Wl,--build-id=sha1", home / f"{name}.c", "-o", home / name)
older, newer = record(home / "p1"), record(home / "p2")
good("pack")
check("the newest run by default", manifest_of(PLACE / (newer.name + ".rtpack"))["run"], newer.name)
must("its report", "22 B" in good("report", PLACE / (newer.name + ".rtpack")), "")
good("pack", older, "--output", "o.rtpack")
must("another run", "11 B" in good("report", "o.rtpack"), "")
good("pack", newer, "--output=o.rtpack")
must("a file is replaced", "22 B" in good("report", "o.rtpack"), "")
good("pack", STATE / "last", "--output=l.rtpack")
check("the link names the run", manifest_of("l.rtpack")["run"], newer.name)
piped = run(RTCHECK, "pack", "-output=-", newer)
check("standard output", (piped.returncode, piped.stderr, piped.stdout), (0, b"", (PLACE / "o.rtpack").read_bytes()))

# A reader that waits for more than a second after the first byte: the archive is larger than a pipe.
terminal, other_end = pty.openpty()
with subprocess.Popen([RTCHECK, "pack", "-output=-", newer], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=other_end) as slow:
    os.close(other_end)
    received = slow.stdout.read(1)
    time.sleep(1.1)  # the line appears after one second
    received += slow.stdout.read()
check("progress on a terminal", (received == piped.stdout, bool(re.search(rb"\rrtcheck: packing files +\d+ %\r.* {30}\r$", os.read(terminal, 65536)))),
      (True, True))

(home / "p1.c").write_text(C_PROGRAM % "33")
shell("gcc", "-g", "-O1", "-Wl,--build-id=sha1", home / "p1.c", "-o", home / "p1")
status, out, err = rtcheck("pack", "--output=rebuilt.rtpack", older)
check("a program that was built again", (status, err), (0, f"rtcheck: note: not in the pack: {home}/p1 (another build)\n"))
must("it is not packed", f"root{home}/p1" not in members("rebuilt.rtpack"), members("rebuilt.rtpack"))
row = next(row for row in manifest_of("rebuilt.rtpack")["objects"] if row["path"] == f"{home}/p1")
check("it is named", (row["packed"], row["symbols"]), (False, "another build"))
# Names that a terminal would interpret, in both notes.
evil, shown = home / "p\x1b[31m\x9b", f"{home}/p\\x1b[31m\\xc2\\x9b"
pathlib.Path(f"{evil}.c").write_text(C_PROGRAM % "44")
shell("gcc", "-g", "-O1", "-Wl,--build-id=sha1", f"{evil}.c", "-o", evil)
named = record(evil)
good("pack", "--output=named.rtpack", named)
pathlib.Path(f"{evil}.c").write_text("\n" + C_PROGRAM % "44")
check("a changed source with such a name", rtcheck("report", "--source=2", "--leak-check=full", "named.rtpack")[2],
      f"rtcheck: note: no lines of {shown}.c are printed: it is not the version of the run\n")
evil.unlink()
check("a missing program with such a name", rtcheck("pack", "--output=named.rtpack", named)[2],
      f"rtcheck: note: not in the pack: {shown} (no file)\n")
(home / "p1").unlink()
check("a missing program", rtcheck("pack", "--output=rebuilt.rtpack", older)[2], f"rtcheck: note: not in the pack: {home}/p1 (no file)\n")

# ---- errors of the writer -----------------------------------------------------------------------

before = sorted(os.listdir(PLACE))


def refused(why, *words, **more):
    status, out, err = rtcheck(*words, **more)
    check(words, (status, out, err), (125, "", f"rtcheck: {why}\n"))
    check(f"files after {words}", sorted(os.listdir(PLACE)), before)


refused("none cannot be opened: No such file or directory", "pack", "none")
refused("log is not a run file", "pack", "log")
refused("nowhere/x cannot be written: No such file or directory", "pack", "--output=nowhere/x", newer)
refused("home cannot be written: Is a directory", "pack", "--output=home", newer)
refused("/dev/full cannot be written: Write error", "pack", "--output=/dev/full", newer)
with open("/dev/full", "wb") as full:
    status, out, err = rtcheck("pack", "--output=-", newer, capture_output=False, stdout=full, stderr=subprocess.PIPE)
check("a full disk behind standard output", (status, err), (125, "rtcheck: the pack cannot be written: Write error\n"))
(home / "empty").mkdir()
ENVIRONMENT["XDG_STATE_HOME"] = str(home / "empty")
status, out, err = rtcheck("pack")
must("no run", "no run to report" in err or status == 0, status, err)  # files of other runs by hand may be in /tmp
for path in set(os.listdir(PLACE)) - set(before):
    (PLACE / path).unlink()
ENVIRONMENT["XDG_STATE_HOME"] = str(PLACE)
ENVIRONMENT["RTCHECK_TEST_WITHOUT"] = "libarchive"
missing = "packs need libarchive, which is not installed (libarchive.so.13)"
refused(missing, "pack", newer)
refused(missing, "report", "o.rtpack")
check("a run file needs it not", rtcheck("report", newer)[0], 0)
del ENVIRONMENT["RTCHECK_TEST_WITHOUT"]


def limited(limit_bytes):
    """A short write, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))


status, out, err = rtcheck("report", "o.rtpack", preexec_fn=functools.partial(limited, 100 << 10))
must("no room to unpack", status == 125 and "o.rtpack cannot be unpacked into " in err and err.endswith(": File too large\n"), status, err)

# A run that has not ended.
(home / "w.c").write_text("#include <stdlib.h>\n#include <unistd.h>\nint main(void) { volatile char *p = malloc(3); p = 0; write(1, \"x\", 1); char c; read(0, &c, 1); return 0; }\n")
shell("gcc", "-g", home / "w.c", "-o", home / "w")
pool = PLACE / "pool"
pool.mkdir()
waiting = subprocess.Popen([home / "w"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           env={**ENVIRONMENT, "LD_PRELOAD": str(BUILD / "lib/librtcheck.so"), "RTCHECK_OPTIONS": f"pool_dir={pool}:keep=yes"})
waiting.stdout.read(1)
by_hand = next(pool.glob("*.pool"))
before = sorted(os.listdir(PLACE))
refused(f"{by_hand}: the run has not ended, 1 of its processes are running", "pack", by_hand)
waiting.communicate(b"x")
good("pack", by_hand)
check("a run by hand", manifest_of(PLACE / (by_hand.stem + ".rtpack"))["run"], by_hand.stem)

# ---- archives of others -------------------------------------------------------------------------

RUN = newer.read_bytes()
MANIFEST = json.dumps({"schema": "rtcheck-pack/1", "sources": []}).encode()
victim = PLACE / "victim"
victim.write_text("mine")


def member(name, data=b"", kind=tarfile.REGTYPE, link="", size=None):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(data) if size is None else size
    return info, data


def archive(*rows, path="made.rtpack", mode="w:gz"):
    with tarfile.open(path, mode, format=tarfile.PAX_FORMAT) as tar:
        for info, data in rows:
            tar.addfile(info, io.BytesIO(data))
    return path


def hostile(why, *rows):
    archive(*rows)
    refused_at(why)


def refused_at(why, path="made.rtpack"):
    for verb, wanted in (("report", 125), ("dump", 1)):
        status, out, err = rtcheck(verb, path)
        check((verb, why), (status, out, err), (wanted, "", f"rtcheck: {path} is not a valid pack: {why}\n"))


head, whole = member("manifest.json", MANIFEST), member("run", RUN)
archive(head, whole)
must("an archive by gzip is read", "22 B" in good("report", "made.rtpack"), "")
NAME, KIND = "it has a member with a name that is not allowed", "it has a member that is no regular file"
for name in ("/etc/x", f"{PLACE}/x", "../x", "root/../../x", "root/..", "root/.", "root/a/./b", "root//x", "root/", "root", "x", "./run",
             "root/" + "a/" * 3000 + "x", "runx"):
    hostile(KIND if name.endswith("/") else NAME, head, whole, member(name, b"data"))
for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
    hostile(KIND, head, whole, member("root/x", kind=kind, link=str(victim)), member("root/x", b"theirs"))
hostile(KIND, head, whole, member("root/x", kind=tarfile.SYMTYPE, link=str(PLACE)), member("root/x/victim", b"theirs"))
hostile("two members have the same name", head, whole, member("root/x", b"1"), member("root/x", b"2"))
hostile("two members have the same name", head, whole, member("root/x", b"1"), member("root/x/y", b"2"))
hostile("two members have the same name", head, head, whole)
hostile("its first member is not manifest.json", whole, head)
hostile("it has no run", head)
hostile("manifest.json:1: no JSON", member("manifest.json", b"{1"), whole)
hostile("manifest.json has another schema than rtcheck-pack/1", member("manifest.json", b'{"schema": "rtcheck-pack/2"}'), whole)
must("nothing was written through a link", victim.read_text() == "mine", victim.read_text())

# Many GiB in a few KiB: refused before it is written.
with tarfile.open("made.rtpack", "w:gz") as tar:
    for info, data in (head, whole):
        tar.addfile(info, io.BytesIO(data))
    info = tarfile.TarInfo("root/bomb")
    info.size = 1 << 42
    tar.fileobj.write(info.tobuf(tarfile.GNU_FORMAT))
    tar.fileobj.write(bytes(1 << 20))
refused_at("its files are much larger than the archive")
for name in ("big1", "big2"):
    (PLACE / name).touch()
    os.truncate(PLACE / name, 600 << 20)
(PLACE / "manifest.json").write_bytes(MANIFEST)
shell("tar", "--zstd", "-cf", "made.rtpack", "--transform=s,^big,root/big,", "manifest.json", "big1", "big2")
refused_at("its files are much larger than the archive")
for name in ("big1", "big2", "manifest.json"):
    (PLACE / name).unlink()
# A sparse run of 16 GiB that has little data takes no room.
sparse = PLACE / "sparse"
sparse.write_bytes(RUN)
os.truncate(sparse, 1 << 34)
shell("bash", "-c", "mkdir -p s && printf '%s' '{\"schema\": \"rtcheck-pack/1\"}' > s/manifest.json && mv sparse s/run && "
      "tar -C s --sparse -czf made.rtpack manifest.json run && rm -r s")
status, out, err = rtcheck("report", "made.rtpack")
must("a sparse run", status in (0, 125) and "Traceback" not in err, status, err)

# Cut and damaged at many places.
data = (PLACE / "o.rtpack").read_bytes()
for cut in [2, 3, 4, 5, 17, 100, 1000, 5000] + [len(data) * i // 12 for i in range(1, 12)] + [len(data) - 1, len(data) - 4]:
    (PLACE / "made.rtpack").write_bytes(data[:cut])
    status, out, err = rtcheck("report", "made.rtpack")
    must(f"cut at {cut}", status == 125 and out == "" and err.count("\n") == 1 and "made.rtpack" in err, status, out, err)
for at in [6, 40, 400] + [len(data) * i // 12 for i in range(1, 12)]:
    (PLACE / "made.rtpack").write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:])
    status, out, err = rtcheck("report", "made.rtpack")
    must(f"damaged at {at}", status in (0, 125) and "made.rtpack" in err + out + "made.rtpack" * (status == 0), status, out, err)
for garbage in (b"", b"\x1f\x8b" + bytes(100), b"\x1f\x8b", b"\x28\xb5\x2f\xfd" + os.urandom(5000), os.urandom(3000)):
    (PLACE / "made.rtpack").write_bytes(garbage)
    status, out, err = rtcheck("report", "made.rtpack")
    must(f"garbage {garbage[:8]}", status == 125 and out == "" and err.startswith("rtcheck: made.rtpack is not a "), status, out, err)
archive(head, member("run", b"no run" * 1000))
check("a run that is none", rtcheck("report", "made.rtpack"), (125, "", "rtcheck: made.rtpack: its run file is not a run file\n"))

# ---- signals, users -----------------------------------------------------------------------------

os.mkfifo("fifo")
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    reader = subprocess.Popen([RTCHECK, "report", "--json=fifo", "o.rtpack"], env=ENVIRONMENT, stdout=subprocess.PIPE)
    reader.stdout.readline()
    deadline = time.monotonic() + 20
    while not os.listdir(TEMPORARY) and time.monotonic() < deadline:
        time.sleep(0.01)
    modes = [path.stat().st_mode & 0o777 for path in TEMPORARY.iterdir()]
    reader.send_signal(number)
    reader.communicate()
    check("no other user enters the folder", modes, [0o700])
    check(f"signal {number}", (reader.returncode, os.listdir(TEMPORARY)), (-number, []))
    for path in TEMPORARY.iterdir():
        shutil.rmtree(path)

if os.geteuid() == 0:  # an ordinary user, who may not read root's run, and root with that user's pack
    ordinary = {"user": 65534, "group": 65534, "extra_groups": []}
    subprocess.run(["chmod", "-R", "a+rX", PLACE], check=True)
    TEMPORARY.chmod(0o1777)
    owned = PLACE / "owned"
    owned.mkdir()
    os.chown(owned, 65534, 65534)
    status, out, err = rtcheck("report", "o.rtpack", **ordinary)
    check("another user's pack", (status, err), (125, "rtcheck: o.rtpack belongs to user 0, not to you\n"))
    shutil.copy("o.rtpack", owned / "o.rtpack")
    os.chown(owned / "o.rtpack", 65534, 65534)
    status, out, err = rtcheck("report", owned / "o.rtpack", **ordinary)
    check("an ordinary user reads a copy", (status, err, "p2.c:2" in out), (0, "", True))
    shutil.copy(newer, owned / "p2")
    os.chown(owned / "p2", 65534, 65534)
    status, out, err = rtcheck("pack", "--output", owned / "n.rtpack", owned / "p2", **ordinary)
    check("and packs", (status, err, (owned / "n.rtpack").stat().st_uid), (0, "", 65534))
    (home / "p2").unlink()
    status, out, err = rtcheck("report", owned / "n.rtpack", **ordinary)
    check("and reads that", (status, err, "p2.c:2" in out), (0, "", True))
    status, out, err = rtcheck("report", owned / "n.rtpack")
    check("root parses no files of others", (status, err, "p2.c:2" in out, "22 B" in out), (0, "", False, True))
end()

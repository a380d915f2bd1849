#!/usr/bin/env python3
"""`rtcheck report` and `rtcheck dump`, on run files made for it."""
# rtc-test: report/verbs ci 120
import ctypes
import mmap
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from made_runs import HERE, RTCHECK, WHY_NO_SHARE, check, main, make, must, refused, report_of, rtcheck

REPORTED = 116  # offset of run_header.reported

SUM = ("rtcheck: 5 problems in prog1 (pid 2000000000): 1 invalid free, 1 double free, 1 free inside a block, "
       "1 mismatched free, 1 bad write; 1 warning; 3 processes\n")
VERDICT = "rtcheck: 5 problems; exit status 3"


# ---- report FILE ------------------------------------------------------------------------------

USE = "in use   97.8 KiB in 9 blocks at exit, peak 120.6 KiB in one process; 50 allocations, 39 frees\n"
LINE = ("cost     task clock 12.3 ms (of 1 of 3 processes), 413 faults, peak 8.0 MiB; rtcheck's own cost n/a: " +
        WHY_NO_SHARE + "\n")
COST = ("COST            task clock 12.346 ms (clock_gettime, of 1 of 3 processes)\n"
        "                page faults 412 + 1 major, context switches 3 + 2 forced, max rss 8.0 MiB"
        " (getrusage, of 1 of 3 processes)\n"
        "                checker: 50 allocs, 39 frees, 96.0 KiB of records\n"
        "                own cost: n/a: " + WHY_NO_SHARE + "; a block in use: 16 B of record, 42.3 B of redzone and rounding\n")


@check
def text_of_a_file():
    done = rtcheck("report", make("run.pool"))
    must(done.returncode == 0 and done.stderr == "", done.stderr)
    must(done.stdout.startswith(SUM + "\n1  DOUBLE FREE of a 40-byte block, thread 1, 2 times, in 2 processes "
                                "(first 2000000000, prog1)  duf-360faff4\n"
                                "   second free()  libé.so+0x2020\n"
                                "                  prog+0x1010\n"
                                "   first free     libé.so+0x2020\n"), done.stdout)
    must(re.search(r"\n6  ALLOCATION FAILED: calloc of 4.0 EiB failed \(warning\), .*  oom-635bf364\n", done.stdout), done.stdout)
    must(done.stdout.endswith(USE + LINE +
                              "note: freed 1 block of libc's own allocator: passed on to libc\n" +
                              'note: --rerun or --catch=ID finds the code of a bad write: docs/bad-writes.md\n' +
                              VERDICT + "\n"), done.stdout)
    must(COST in rtcheck("report", "--cost", "run.pool").stdout, "--cost")


@check
def text_of_a_clean_file():
    done = rtcheck("report", make("run.pool", "clean"))
    must(done.stdout == USE + LINE + "rtcheck: no errors; exit status 3\n", done.stdout)


@check
def how_much_is_reported():
    make("run.pool")
    must("in use" not in rtcheck("report", "--rtc-biu-at-exit=off", "run.pool").stdout)
    must("in 1 block, 97.7" not in rtcheck("report", "--rtc-biu-at-exit=on", "run.pool").stdout)
    reported = rtcheck("report", "--rtc-biu-at-exit=verbose", "run.pool").stdout
    must(re.search(r"\n   97.7 KiB   99.9 %        1    97.7 KiB  +biu-98998318\n     libé.so\+0x2020\n     prog\+0x1010\n", reported), reported)
    reported = rtcheck("report", "-frames", "1", "run.pool").stdout
    must("   second free()  libé.so+0x2020\n                  ... 1 frame ...\n   first free     libé.so+0x2020\n" in reported, reported)
    done = rtcheck("report", "-frames", "17", "run.pool")
    must(done.returncode == 0 and done.stderr == "rtcheck: -frames 17: 16 taken; --num-callers goes up to 64\n",
         done.stderr)
    many = rtcheck("report", make("many.pool", "limit=7")).stdout
    must("note: 7 more errors were not recorded: error limit 1000\n" in many, many)
    must(many.startswith("rtcheck: at least 5 problems in "), many)


@check
def same_every_time():
    """A deterministic text contains no value of a single run."""
    first = rtcheck("report", "--deterministic", make("one.pool")).stdout
    other = rtcheck("report", "--deterministic", make("two.pool", "pid=1999999999", "start=77")).stdout
    must(first == other, first, other)
    for word in ("20000", "0x7000", "cost ", "pid "):
        must(word not in first, word, first)
    must("  duf-360faff4\n" in first, first)
    must(rtcheck("report", "one.pool").stdout != rtcheck("report", "two.pool").stdout)


@check
def colors():
    make("run.pool")
    must("\033" not in rtcheck("report", "run.pool").stdout)
    must("\033[1;31mrtcheck: 5 problems" in rtcheck("report", "--color=always", "run.pool").stdout)
    for words, env, colored in (((), {}, True), (("--color=never",), {}, False),
                                ((), {"NO_COLOR": "1"}, False), ((), {"NO_COLOR": ""}, True),
                                (("--color=always",), {"NO_COLOR": "1"}, True),
                                ((), {"TERM": "dumb"}, False)):
        must(("\033[" in on_a_terminal(*words, env={"TERM": "xterm", **env})) == colored, words, env)


@check
def pager():
    """$PAGER gets the whole text on a terminal; none that does not exist, and one may end early."""
    make("run.pool")
    for name, wanted in (("sed s/^/P:/", "P:1  DOUBLE FREE"), ("cat", "\n1  DOUBLE FREE"), ("", "\n1  DOUBLE FREE"),
                         ("/no/such/pager", "\n1  DOUBLE FREE"), ("head -n 1", "rtcheck: 5 problems")):
        reported = on_a_terminal(env={"PAGER": name, "COLUMNS": "200", "NO_COLOR": "1"}).replace("\r", "")
        must(wanted in "\n" + reported and ("exit status 3" in reported) == (name != "head -n 1"), name, reported)
    must("P:duf-" in on_a_terminal("duf-360faff4", verb="show", env={"PAGER": "sed s/^/P:/", "NO_COLOR": "1"}))
    must(not rtcheck("report", "run.pool", env={"PAGER": "sed s/^/P:/"}).stdout.startswith("P:"), "in a pipe")


def on_a_terminal(*words, env, verb="report"):
    main, side = pty.openpty()
    process = subprocess.Popen([RTCHECK, verb, *words, "run.pool"], stdout=side, env={**os.environ, **env})
    os.close(side)
    text = b""
    try:
        while chunk := os.read(main, 4096):
            text += chunk
    except OSError:  # the other end is closed
        pass
    os.close(main)
    process.wait(timeout=60)
    return text.decode()


@check
def status_on_request():
    make("run.pool")
    make("clean.pool", "clean")
    must(rtcheck("report", "--error-exitcode=23", "run.pool").returncode == 23)
    must(rtcheck("report", "--error-exitcode=23", "clean.pool").returncode == 0)
    must(rtcheck("report", "run.pool").returncode == 0)
    must(rtcheck("report", "--error-exitcode=0", "run.pool").returncode == 0)
    must(rtcheck("report", "--error-exitcode=23", "-q", "clean.pool").stdout == "")
    must(rtcheck("report", "-q", "run.pool").stdout.startswith(SUM))


# ---- show -------------------------------------------------------------------------------------

@check
def show_all_ids():
    """Every id of the report can be shown."""
    make("run.pool")
    report = report_of(rtcheck("report", "--json=run.json", "run.pool"), "run.json")
    for thing in report["errors"] + report["records"]:
        done = rtcheck("show", thing["id"], "run.pool")
        must(done.returncode == 0 and done.stdout.startswith(thing["id"] + "  "), done.stdout, done.stderr)
        if "text" in thing:
            must(done.stdout.startswith(f"{thing['id']}  {thing['text']}\n"), done.stdout)


@check
def show_one():
    make("run.pool")
    done = rtcheck("show", "wua-36c05ea6", "run.pool")
    must(done.stdout == "wua-36c05ea6  bytes written past the end of a 16-byte block (offsets 16 to 18), detected at exit\n"
         "  address       0x700000010110\n"
         "  block         0x700000010100, 16 bytes, malloc, in use\n"
         "  found there   61 62 63 abc\n"
         "  detected by   thread 1, tid 101\n"
         "  times         1\n"
         "  first at      2023-11-14 22:13:20.000000005 UTC\n"
         "  process       2000000000 prog1\n"
         "  allocated\n"
         "     /opt/demo/libé.so+0x2020\n"
         "     /opt/demo/prog+0x1010\n", done.stdout)
    done = rtcheck("show", "--deterministic", "wua-36c05ea6", "run.pool")
    must("0x7000" not in done.stdout and "20000" not in done.stdout and "tid" not in done.stdout, done.stdout)
    must("  lies in " in rtcheck("show", "baf-07e1da9c", "run.pool").stdout)
    must("  lies in " not in rtcheck("show", "--deterministic", "baf-07e1da9c", "run.pool").stdout)
    done = rtcheck("show", "biu-98998318", "run.pool")
    must(done.stdout.startswith("biu-98998318  97.7 KiB in use in 1 block, 97.7 KiB each on average\n"
                                "  process       2000000000 prog1\n  allocated\n"), done.stdout)


@check
def show_of_the_newest():
    kept = make("state/rtcheck/p.1.20260101T000000", later(99))
    must(rtcheck("show", "duf-360faff4").stdout.startswith("duf-360faff4  double free"))
    kept.unlink()


@check
def show_refusals():
    make("run.pool")
    refused(rtcheck("show", "duf-00000000", "run.pool"), 1, "rtcheck: there is no duf-00000000 in run.pool\n")
    refused(rtcheck("show", "biu-00000000", "run.pool"), 1, "rtcheck: there is no biu-00000000 in run.pool\n")
    refused(rtcheck("show"), 125, "rtcheck: usage: rtcheck show [OPTION]... ID|ADDRESS [FILE]\n")
    refused(rtcheck("show", "a", "b", "c", "d"), 125, "rtcheck: usage: rtcheck show [OPTION]... ID|ADDRESS [FILE]\n")
    for words in ("a", "b", "1"), ("0x10", "b", "c"):
        refused(rtcheck("show", *words), 125, "rtcheck: a third operand is the id of a process, with --bytes\n")
    for words in ("a", "1"), ("--heap=c", "a", "b"):
        refused(rtcheck("dump", *words), 125, "rtcheck: a second operand is the id of a process, with --heap\n")
    refused(rtcheck("show", "a", "none"), 125, "rtcheck: none cannot be opened: No such file or directory\n")


@check
def without_effect():
    """An option that a verb does nothing about is refused there, though not in the environment, which is for all."""
    make("run.pool")
    for words in (("show", "--json=x"), ("show", "--suppressions=x"), ("show", "-q"), ("show", "-frames", "3"), ("report", "--bytes"), ("run", "--bytes"),
                  ("report", "--keep"), ("report", "--heap=file"), ("report", "--frames=3"), ("report", "--allow-unchecked")):
        name = {"-q": "quiet", "-frames": "num-callers"}.get(words[1], words[1].lstrip("-").split("=")[0])
        refused(rtcheck(*words, "duf-360faff4", "run.pool"), 125, f"rtcheck: option {name} has no effect on rtcheck {words[0]}\n")
    with_them = rtcheck("show", "duf-360faff4", "run.pool", env={"RTCHECK_OPTIONS": "json=x:quiet"})
    must(with_them.returncode == 0 and not os.path.exists("x"), with_them.stderr)
    must("\033[1m" in rtcheck("show", "--color=always", "duf-360faff4", "run.pool").stdout)
    helped = rtcheck("show", "--help").stdout
    must("--color=" in helped and "--json=" not in helped and rtcheck("show", "--version").stdout, helped)


@check
def version():
    done = rtcheck("report", "--version")
    must(done.returncode == 0 and done.stdout == rtcheck("--version").stdout, done.stdout, done.stderr)


@check
def whole_table():
    done = rtcheck("report", "--memuse", make("run.pool"))
    must(done.returncode == 0 and "PROCESSES\n" in done.stdout, done.stdout)
    must("  2000000002 fork prog3: 50 B in 1 block, 1 alloc, 0 frees, replaced by exec\n" in done.stdout,
         done.stdout)


@check
def log_file():
    path = HERE / "log.2000000000.prog1"
    path.unlink(missing_ok=True)
    done = rtcheck("report", "--log-file=log.%p.%e", make("run.pool"))
    must(done.returncode == 0 and done.stdout == "", done.stdout)
    must(path.read_text().startswith(SUM))


@check
def leaks_in_words():
    done = rtcheck("report", make("run.pool", "leaks", "clean"))
    must("LEAKS  definitely lost 68 B in 6 blocks, 2 places\n" in done.stdout, done.stdout)
    must("leak scan 3.100 ms (clock_gettime), 1.0 MiB of roots\n" in rtcheck("report", "--cost", "run.pool").stdout)
    must("leaked 68 B in 6 blocks, possibly 82 B in 6 blocks; " in done.stdout.splitlines()[-1], done.stdout)
    must("leaks are not known: a thread would not leave the allocator\n" in done.stdout, done.stdout)
    for option, status in (("--leak-check=yes", 9), ("--leaks=no", 0), ("--errors-for-leak-kinds=none", 0),
                           ("--errors-for-leak-kinds=air", 9), ("-rtc-mel-at-exit=off", 0)):
        done = rtcheck("report", "--error-exitcode=9", option, "run.pool")
        must(done.returncode == status, option, done.stdout)
        must(("leaked" in done.stdout) == (option not in ("--leaks=no", "-rtc-mel-at-exit=off")), option, done.stdout)


@check
def show_leaks():
    make("run.pool", "leaks", "clean")
    report = report_of(rtcheck("report", "--json=run.json", "run.pool"), "run.json")
    held = next(r["id"] for r in report["records"] if r["stack"] == report["leaks"][0]["stack"])
    for leak in report["leaks"] + [{"id": held}]:
        done = rtcheck("show", leak["id"], "run.pool")
        must(done.returncode == 0, leak, done.stderr)
        must(leak["id"] in done.stdout.splitlines()[0], done.stdout)
        must("\n  referrer      " in done.stdout, done.stdout)
    lost = rtcheck("show", report["leaks"][0]["id"], "run.pool").stdout
    must("memory leak: 20 B in 2 blocks\n" in lost, lost)
    must("\n  and           26 B in 2 blocks indirectly lost\n" in lost, lost)
    must("\n  first         0x700000010100, 10 bytes\n" in lost, lost)
    must("\n  allocated by  thread 1, tid 101\n" in lost, lost)
    must("\n  referrer      no pointer to it\n" in lost, lost)
    must("\n  process       2000000000 prog1\n" in lost, lost)
    must("\n  allocated\n     /opt/demo/prog+0x1010\n" in lost, lost)
    must(rtcheck("show", "mel-00000000", "run.pool").returncode == 1)


@check
def refusals():
    make("run.pool")
    refused(rtcheck("report", "none"), 125, "rtcheck: none cannot be opened: No such file or directory\n")
    refused(rtcheck("report", "run.pool", "run.pool"), 125, "rtcheck: usage: rtcheck report [OPTION]... [FILE|PID]\n")
    refused(rtcheck("report", make("new.pool", "version=99")), 125,
            f"rtcheck: {pathlib.Path('new.pool')} is a run file of version 99, this rtcheck reads version 1\n")
    done = rtcheck("report", "--no-such-option", "run.pool")
    must(done.returncode == 125 and "no-such-option" in done.stderr, done.stderr)


# ---- report: available files ------------------------------------------------------------------

def places(**more):
    empty = HERE / "nothing"
    empty.mkdir(exist_ok=True)
    return {"RTCHECK_POOL_DIR": str(empty), "XDG_RUNTIME_DIR": str(empty), "TMPDIR": str(empty), **more}


def reported(done):
    """The reported file, and those listed files that belong to this test: other files in /tmp do not."""
    must(done.returncode == 0, done.stderr)
    lines = done.stdout.splitlines()
    others = [line.split()[-1] for line in lines[1:] if "also there" in line]
    return lines[0].removeprefix("rtcheck: run file "), [o for o in others if o.startswith(str(HERE))]


def later(seconds):
    """Newer than any real run."""
    return f"start={2000000000 + seconds}"


@check
def newest_of_all():
    hand = HERE / "hand"
    shutil.rmtree(hand, ignore_errors=True)
    shutil.rmtree("state", ignore_errors=True)
    env = places(RTCHECK_POOL_DIR=str(hand), XDG_RUNTIME_DIR=str(hand))
    done = rtcheck("report", env=env)
    must(str(HERE) not in done.stdout, done.stdout)
    must(done.returncode == 0 or done.stderr.startswith("rtcheck: no run to report"), done.stderr)
    kept = str(HERE / make("state/rtcheck/p.1.20260101T000000", later(5)))
    must(reported(rtcheck("report", env=env)) == (kept, []))
    older = str(make(hand / "rtcheck.p.1.1.pool", "hand", "open", later(1)))
    make(hand / "rtcheck.p.2.1.pool", "hand", "open", later(9), f"pid={os.getpid()}")  # still runs
    make(hand / "rtcheck.p.3.1.pool", "hand", later(9), "version=2")
    make(hand / "other.pool", "hand", "open", later(9))
    must(reported(rtcheck("report", env=env)) == (kept, [older]))
    newer = make(hand / "rtcheck.p.4.1.pool", "hand", "open", later(7))
    must(reported(rtcheck("report", env=env)) == (str(newer), [kept, older]))
    (hand / "rtcheck.p.5.1.pool").symlink_to(newer)
    set_reported(newer, 1)
    must(reported(rtcheck("report", env=env)) == (kept, [older]))
    must(os.path.exists(older))


# ---- report --end -----------------------------------------------------------------------------

def get_reported(path):
    with open(path, "rb") as f:
        f.seek(REPORTED)
        return struct.unpack("<I", f.read(4))[0]


def set_reported(path, value):
    with open(path, "r+b") as f:
        f.seek(REPORTED)
        f.write(struct.pack("<I", value))


@check
def end_of_a_run():
    path = make("end.pool", "hand", "options=json=end.json")
    with open(path, "rb") as held:
        done = rtcheck("report", "--end", path)
        must(done.returncode == 0 and done.stdout == "", done.stdout, done.stderr)
        must(done.stderr.startswith(SUM) and done.stderr.endswith(VERDICT + "\n"),
             done.stderr)
        must(not path.exists(), "the file is still there")
        held.seek(REPORTED)
        must(held.read(4) == b"\1\0\0\0", "the process was not told")
    must(report_of(done, "end.json")["tool"]["mode"] == "by_hand")


@check
def end_wakes_the_process():
    """A thread sleeps on the word, as the runtime does."""
    path = make("end.pool", "hand", "options=keep=yes")
    libc = ctypes.CDLL(None, use_errno=True)
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 8192) as page:
        word = ctypes.c_uint32.from_buffer(page, REPORTED)
        woken = threading.Event()

        def sleep():
            while word.value == 0:
                libc.syscall(202, ctypes.byref(word), 0, 0, None, None, 0)  # FUTEX_WAIT
            woken.set()

        thread = threading.Thread(target=sleep)
        thread.start()
        rtcheck("report", "--end", path)
        must(woken.wait(30), "nobody woke the sleeper")
        thread.join()
        del word
    must(path.exists() and get_reported(path) == 1)


@check
def end_with_options():
    done = rtcheck("report", "--end", make("end.pool", "hand", "options=quiet=yes:log_file=end.%p.log"))
    must(done.returncode == 0 and done.stderr == "", done.stderr)
    must("1 double free" in (HERE / "end.2000000000.log").read_text())
    done = rtcheck("report", "--end", make("end.pool", "hand", "options=memuse=yes"))
    must(re.search(r"allocated at\n.*  biu-", done.stderr), done.stderr)


@check
def end_while_others_run():
    """The file stays, and is named; the last process's reporter removes it."""
    path = make("end.pool", "hand", f"child={os.getpid()}")
    done = rtcheck("report", "--end", path)
    must("still running" in done.stderr and done.stderr.endswith(f"; run file: {path}\n"), done.stderr)
    must(path.exists() and get_reported(path) == 1)
    done = rtcheck("report", "--end", path)
    must(done.stderr == "", "told twice:", done.stderr)


@check
def end_of_what_cannot_be_reported():
    """After any error the process is not kept waiting; files that are not run files stay unchanged."""
    path = make("end.pool", "hand", "options=log_file=/no/such/place")
    done = rtcheck("report", "--end", path)
    must(done.returncode == 125 and "/no/such/place" in done.stderr, done.stderr)
    must(path.exists() and get_reported(path) == 1)
    pathlib.Path("text").write_text("x" * 20000)
    must(rtcheck("report", "--end", "text").returncode == 125)
    must(pathlib.Path("text").read_text() == "x" * 20000)
    link = HERE / "link.pool"
    link.unlink(missing_ok=True)
    link.symlink_to(path)
    must(rtcheck("report", "--end", link).returncode == 125)
    others = rtcheck("report", "--end", "/proc/self/status" if os.geteuid() == 0 else "/etc/passwd")
    must(others.returncode == 125, others.stderr)


# ---- dump -------------------------------------------------------------------------------------

@check
def dump():
    done = rtcheck("dump", make("run.pool"))
    must(done.returncode == 0 and done.stdout.endswith("\nverify: good\n"), done.stdout[-300:])
    done = rtcheck("dump", make("bad.pool", "damaged"))
    must(done.returncode == 1, done.returncode)
    must("\nverify: segment reaches over the end at 0x" in done.stdout, done.stdout[-300:])
    refused(rtcheck("dump", make("new.pool", "version=99")), 1,
            "rtcheck: new.pool is a run file of version 99, this rtcheck reads version 1\n")
    refused(rtcheck("dump", "none"), 125, "rtcheck: none cannot be opened: No such file or directory\n")
    refused(rtcheck("dump"), 125, "rtcheck: usage: rtcheck dump [--heap=CORE] FILE\n")
    refused(rtcheck("dump", "--x"), 125, "rtcheck: unknown option '--x' (rtcheck dump --help=all lists them)\n")


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# rtc-test: leaks/post_mortem ci 120
"""Programs that are killed (post_mortem.c), with --witness: their lost blocks are reported with all bytes, as
possibly lost, by the launcher and by hand; they behave as without it; and no process is left."""
import glob
import json
import os
import subprocess
import time

from judges import main

BUILD = os.environ["RTC_BUILD"]
PROGRAM = BUILD + "/tests/leaks/post_mortem"
PATIENCE = 10 # seconds

# The programs with twins, and the blocks that are certainly lost.
TWINS = {"killed": [], "many": [], "own_call": [], "threads": [], "sandbox": [], "child": [1001],
         "stays": []}
AGAIN = 20


def run(words, folder, env=()):
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
                          env=dict(os.environ, XDG_STATE_HOME=folder, **dict(env)))
    return (done.returncode, done.stdout), done.stderr.decode(errors="replace")


def report_of(folder):
    path = os.path.join(folder, "report.json")
    with open(path) as f:
        report = json.load(f)
    os.unlink(path)
    return report


def checked(folder, *words, options=("--witness",)):
    result, text = run([BUILD + "/bin/rtcheck", "--json=report.json", *options, PROGRAM, *words], folder,
                       {"WITNESSED": "1"} if options else {})
    return result, text, report_of(folder)


def hand(folder):
    return {"LD_PRELOAD": BUILD + "/lib/librtcheck.so", "RTCHECK_POOL_DIR": folder,
            "RTCHECK_OPTIONS": "witness:json=report.json"}


def by_hand(folder, *words):
    result, text = run([PROGRAM, *words], folder, hand(folder))
    wait_for(lambda: os.path.exists(os.path.join(folder, "report.json")))
    return result, text, report_of(folder)


def sizes(report, kind):
    return sorted(l["first"]["size"] for l in report["leaks"] if (l["rtc"], l["class"]) == kind)


def wait_for(happens):
    end = time.monotonic() + PATIENCE
    while not happens() and time.monotonic() < end:
        time.sleep(0.01)
    return happens()


def left_over():
    """Our processes except zombies, which the reaping process has to wait for."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        try:
            with open(path + "/cmdline") as words, open(path + "/stat") as stat:
                if words.read().startswith(PROGRAM + "\0") and stat.read().rpartition(")")[2].split()[0] != "Z":
                    found.append(path)
        except OSError:
            pass # it has ended
    return found


# ---- checks -----------------------------------------------------------------------------------------------


def twins(folder, start):
    for name, certain in TWINS.items():
        for twin in ("held", "lost"):
            if start is by_hand and (name, twin) not in (("killed", "lost"), ("threads", "held")):
                continue
            result, text, report = start(folder, name, twin)
            plain, _ = run([PROGRAM, name, twin], folder)
            what = "%s, %s%s" % (name, twin, ", by hand" if start is by_hand else "")
            if result != plain:
                yield "%s: %s; without a checker: %s" % (what, result, plain)
            reported = sizes(report, ("air", "unsure")), sizes(report, ("mel", "definite"))
            if reported != ([4711] if twin == "lost" else [], certain):
                yield "%s: told of: %s" % (what, reported)
            if [p["leak_check"] for p in report["processes"]] != ["found"] * len(report["processes"]):
                yield "%s: %s" % (what, [p["leak_check"] for p in report["processes"]])
            if sum(p["witnessed"] for p in report["processes"]) != 1 or "post-mortem scanner" not in text:
                yield "%s: nobody says who told" % what


def without_stack(folder):
    """A fault with a stack pointer to nowhere: the handler runs on an alternate stack of the runtime's, so the
    process itself finds the leak."""
    for twin in ("held", "lost"):
        result, text, report = checked(folder, "no_stack", twin)
        if result != run([PROGRAM, "no_stack", twin], folder)[0]:
            yield "no_stack, %s: %s" % (twin, result)
        if sizes(report, ("mel", "definite")) != ([4711] if twin == "lost" else []):
            yield "no_stack, %s: %s" % (twin, report["leaks"])
        if any(p["witnessed"] for p in report["processes"]) or "post-mortem scanner" in text:
            yield "no_stack, %s: found by the scanner" % twin


def hammered(folder):
    """Killed inside malloc: a block just being allocated may be reported as possibly lost; there is no other
    difference."""
    for _ in range(3):
        result, _, report = checked(folder, "hammer", "lost")
        if result != (-9, b"") or 4711 not in sizes(report, ("air", "unsure")) or report["errors"]:
            yield "hammer: %s, %s, %s" % (result, sizes(report, ("air", "unsure")), report["errors"])


def seen(folder):
    for words in (["behaviour"], ["namespaces"], ["inherited"], ["subreaper"], ["replaced"], ["replaced_by_own_call"], ["execs"]):
        result, _, report = checked(folder, *words)
        want = run([PROGRAM, *words], folder)[0]
        if result != want:
            yield "%s: %s; without a checker: %s" % (words[0], result, want)
        if any(p["witnessed"] for p in report["processes"]):
            yield "%s: a scanner of nothing" % words[0]


def closed(folder):
    with subprocess.Popen([PROGRAM, "closes"], cwd=folder, env=dict(os.environ, **hand(folder)),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as p:
        os.set_blocking(p.stdout.fileno(), False)
        if not wait_for(lambda: p.stdout.read() == b"") or p.poll() is not None:
            yield "closes: its output did not end"
        p.stdin.close()


def printed(folder):
    for words, options, what in (
            (("killed", "lost"), (), "killed before the leak check; --witness finds them"),
            (("both", "lost"), ("--witness",), "killed, and its witness, too")):
        _, text, report = checked(folder, *words, options=options)
        if what not in text or report["leaks"]:
            yield "%s: %s" % (words[0], text)
    if " not known" in checked(folder, "killed", options=("--leaks=no",))[1]:
        yield "killed, and nobody had asked"


def buried(folder):
    for _ in range(AGAIN):
        checked(folder, "child", "lost")
    if not wait_for(lambda: not left_over()):
        yield "left over: %s" % left_over()


def complaints(folder):
    for part in (lambda f: twins(f, checked), lambda f: twins(f, by_hand), without_stack, hammered, seen, closed, printed, buried):
        yield from part(folder)


if __name__ == "__main__":
    main("post_mortem", complaints)

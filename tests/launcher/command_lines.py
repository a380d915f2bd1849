#!/usr/bin/env python3
# rtc-test: launcher/command_lines ci 120
"""The command line of every verb, compared with its --help: each option is accepted in each form, and all others are
refused by one line that names the option and the verb."""
import os
import re
import subprocess
import sys

RTCHECK = os.environ["RTC_BUILD"] + "/bin/rtcheck"
# The verb's words, its operands, and what it answers if they are accepted: there is no such file.
VERBS = {
    "run": (["run"], ["./none"], "rtcheck: ./none: No such file"),
    "report": (["report"], ["none"], "rtcheck: none cannot be opened"),
    "show": (["show"], ["mel-01234567", "none"], "rtcheck: none cannot be opened"),
    "suppress": (["suppress"], ["add", "mel-01234567", "none"], "rtcheck: none cannot be opened"),
    "list": (["list"], [], ""),
    "pack": (["pack"], ["none"], "rtcheck: none cannot be opened"),
    "events": (["events"], ["none"], "rtcheck: none cannot be opened"),
    "stat": (["stat"], ["none"], "rtcheck: none cannot be opened"),
    "check": (["check"], ["none"], "rtcheck: none: not the number of a process"),
    "dump": (["dump"], ["none"], "rtcheck: none cannot be opened"),
    "plans": (["plans"], [], ""),
    "selftest": (["selftest", "--events", "--here"], [], "rtcheck: the runtime is not there"),
}
# A value of each shape in --help; numbers that every range contains.
VALUES = {"N": "20", "BYTES": "32", "SIZE": "4m", "BYTE": "1", "HEX": "a5", "PATH": "x", "FILE": "/dev/null", "NAME,...": "page-faults",
          "FROM=TO": "/a=/b", "SET": "all"}
WORDS = {"gen-suppressions": "yes", "rtc-biu-at-exit": "on", "rtc-mel-at-exit": "on", "color": "never", "hyperlinks": "never", "leak-check": "full", "fork": "copy",
         "leak-resolution": "low", "format": "gcc", "tool": "memcheck", "annotate": "no", "on-error": "continue", "track-fds": "yes", "guard": "all",
         "guard-stacks": "0123456789abcdef.e1", "malloc-fill": "block", "free-fill": "block", "access": "no"}
# With a value or without one.
BARE = ("access",)
# Options that end the verb, or that need others.
OTHERS = ("help", "version", "interval", "baseline", "update-baseline", "pool-size", "log-file", "log-fd", "xml", "xml-fd", "allow-unchecked", "counters", "catch")


def must(holds, *what):
    if not holds:
        print("\n  ".join(str(w) for w in what))
        sys.exit(1)


def rtcheck(*words):
    env = {name: value for name, value in os.environ.items() if not name.startswith("RTCHECK_")}
    env["XDG_CACHE_HOME"] = os.getcwd() + "/cache"  # plans --clear removes what is there
    return subprocess.run([RTCHECK, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=env)


def refused(why, *words):
    done = rtcheck(*words)
    must(done.returncode == 125 and done.stdout == "" and done.stderr == "rtcheck: %s\n" % why, words, done, why)


def helped(verb):
    """The options in --help: their names, and the shapes of their values; "": a flag."""
    done = rtcheck(verb, "--help=all")
    must(done.returncode == 0 and done.stderr == "" and done.stdout.startswith("usage: rtcheck "), verb, done)
    must(re.match(r"usage: rtcheck \[?%s\b" % verb, done.stdout), verb, done.stdout)
    must(max(len(line) for line in done.stdout.splitlines()) <= 80, verb, "too wide", done.stdout)
    options = options_in(done.stdout)
    short = rtcheck(verb, "--help")
    must(rtcheck(verb, "-h").stdout == short.stdout and rtcheck(verb, "-help").stdout == short.stdout, verb, "-h")
    if len(options) > 16:
        must(8 <= len(options_in(short.stdout)) - 1 <= 10 and "  --help=all " in short.stdout, verb, "--help", short.stdout)
        must(set(options_in(short.stdout)) <= set(options), verb, short.stdout)
    else:
        must(short.stdout == done.stdout, verb, "--help of few options is complete")
    return options


def options_in(text):
    found = dict(re.findall(r"^  --([a-z-]+)(?:\[?=([^\s\]]+)\]?)?", text, re.M))
    return {name: "" if shape == "yes|no" else shape for name, shape in found.items()}  # a flag whose default is yes


def value_of(name, shape):
    return WORDS.get(name) or VALUES.get(shape) or shape.split("|")[0]


def each_form(verb, options):
    """Every option of --help with --name=value, --name value, -name value; flags with and without a value."""
    words, operands, answer = VERBS[verb]
    for name, shape in options.items():
        if name in OTHERS and (verb, name) != ("stat", "interval"):
            continue
        value = value_of(name, shape)
        forms = [["--%s=%s" % (name, value)], ["-%s=%s" % (name, value)], ["--" + name, value]]
        if not shape:
            forms = [["--" + name], ["-" + name], ["--%s=yes" % name], ["--%s=no" % name]]
        elif verb == "selftest" or name in BARE:
            forms = forms[:2] + [["--" + name]]
        for form in forms:
            done = rtcheck(*words, *form, *operands)
            must(done.stderr.startswith(answer), verb, form, done)


def each_mistake(verb, options):
    words, operands, answer = VERBS[verb]
    refused("unknown option '--nonsense' (rtcheck %s --help=all lists them)" % verb, *words, "--nonsense", *operands)
    refused("unknown option '--nonsense=1' (rtcheck %s --help=all lists them)" % verb, *words, "--nonsense=1", *operands)
    if operands and verb != "run":  # operands may come first
        refused("unknown option '-~' (rtcheck %s --help=all lists them)" % verb, *words, *operands, "-~")
    for name, shape in options.items():
        if not shape:
            refused("option %s: 'perhaps' is not %s" % (name, "no, yes, all, valgrind or sanitizers" if name == "help" else "yes or no"), *words, "--%s=perhaps" % name, *operands)
        elif verb != "selftest" and name not in BARE:
            done = rtcheck(*words, "--" + name)
            must(done.returncode == 125 and done.stderr.startswith("rtcheck: option %s needs a value: " % name), verb, name, done)
    for name, shape in ALL.items():  # options of other verbs
        if name not in options and not shape:
            done = rtcheck(*words, "--" + name, *operands)
            must(done.returncode == 125 and ("option %s has no effect on rtcheck %s\n" % (name, verb) in done.stderr or
                                             "unknown option '--%s' (rtcheck %s " % (name, verb) in done.stderr), verb, name, done)


def two_dashes(verb):
    """After --, a word that looks like an option is an operand."""
    words, operands, answer = VERBS[verb]
    done = rtcheck(*words, "--", *operands)
    must(done.stderr.startswith(answer), verb, done)
    if operands:
        done = rtcheck(*words, "--", *operands[:-1], "--help")
        must(done.returncode in (125, 127) and re.match("rtcheck: --help(:| cannot be opened)", done.stderr), verb, done)


def numbers_of_operands():
    for verb, (words, operands, answer) in VERBS.items():
        usage = rtcheck(verb, "--help").stdout.splitlines()[0]
        must(verb == "run" or usage in re.sub("^ {7}rtcheck", "usage: rtcheck", rtcheck("--help").stdout, flags=re.M), usage)
        if verb != "run":
            refused(usage, *words, *operands, "a", "b")
        if verb not in ("run", "report", "list", "pack", "selftest", "plans"):
            refused(usage, *words)
    refused(rtcheck("suppress", "--help").stdout.splitlines()[0], "suppress", "take", "mel-01234567")


def letters():
    for words in (["-I20", "-n1"], ["-I", "20", "-n", "1"], ["-T20", "-n", "1"]):
        must(rtcheck("stat", *words, "none").stderr.startswith(VERBS["stat"][2]), words)
        must(rtcheck("stat", "none", *words).stderr.startswith(VERBS["stat"][2]), words)
    for words in (["-I"], ["-I", "0", "none"], ["-n", "x", "none"], ["-n", "1000000000", "none"]):
        name = {"-I": "interval", "-n": "count"}[words[0]]
        done = rtcheck("stat", *words)
        must(done.returncode == 125 and done.stderr.startswith("rtcheck: option %s" % name), words, done)
    refused("unknown option '-x' (rtcheck selftest --help=all lists them)", "selftest", "--events", "-v", "-x", "-vx")
    refused("unknown option '-vxv' (rtcheck selftest --help=all lists them)", "selftest", "--events", "-vxv")
    refused("unknown option '-q' (rtcheck stat --help=all lists them)", "stat", "-q", "1")
    must(rtcheck("report", "none", "-frames", "99").stderr.startswith("rtcheck: -frames 99: 16 taken"), "-frames after an operand")
    must(rtcheck("report", "none", "-frames=99").stderr.startswith("rtcheck: -frames 99: 16 taken"), "-frames=")
    refused("option frames has no effect on rtcheck report", "report", "none", "--frames", "9")


ALL = {}
for v in VERBS:
    ALL.update(helped(v))
for v in VERBS:
    each_form(v, helped(v))
    each_mistake(v, helped(v))
    two_dashes(v)
numbers_of_operands()
letters()

#!/usr/bin/env python3
# rtc-test: suppress/baseline ci 60
"""A baseline from its first writing on: only new findings fail, also when lines move; a larger count is new; the
file is the same bytes for the same findings."""
import json
import os
import re
import shutil
import subprocess
import sys

from checks import must, write

sys.path.insert(0, os.path.join(os.environ["RTC_SOURCE"], "tests/report"))
import validate_json

BUILD = os.environ["RTC_BUILD"]
RTCHECK = BUILD + "/bin/rtcheck"
PROGRAM = """
#include <stdlib.h>
void *volatile lost;
%s
__attribute__((noipa)) static void lose(void) { lost = malloc(10); lost = NULL; }
__attribute__((noipa)) static void lose_more(void) { lost = malloc(20); lost = NULL; }
int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1;
    for (volatile int i = 0; i < times; i++)
        lose();
    if (argc > 2)
        lose_more();
    char *volatile p = malloc(3), *volatile again = p;
    free(p);
    free(again);
    return 7;
}
"""


def build(name, between):
    write(name + ".c", PROGRAM % between)
    subprocess.run(["gcc", "-g", "-O1", name + ".c", "-o", "prog"], check=True)


def rtcheck(*words, program=("./prog",)):
    env = dict(os.environ, XDG_STATE_HOME=os.getcwd())
    done = subprocess.run([RTCHECK, "--error-exitcode=9", "--json=out.json", *words, *program], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, env=env, timeout=60)
    if done.returncode != 125:
        with open("out.json") as f:
            report = json.load(f)
        must(not validate_json.complaints(report), validate_json.complaints(report))
        done.status = {x["id"]: x["status"] for x in report["errors"] + report["leaks"]}
    return done


def read(name):
    with open(name) as f:
        return f.read()


def refused(text, expected, *words):
    """The message has the place, the reason, the line, if any, and a caret; nothing is started, and the file stays."""
    write("bad.json", text)
    done = rtcheck("--baseline=bad.json", *words, program=("./prog", "1"))
    line, column = (int(n) for n in re.match(r"bad.json:(\d+):(\d+): ", expected).groups())
    place = (text.split("\n") + [""])[line - 1]
    expected = "rtcheck: %s\n" % expected + ("  %s\n  %s^\n" % (place, " " * (column - 1)) if text else "")
    must(done.returncode == 125 and done.stderr == expected, text, done.returncode, done.stderr)
    must(read("bad.json") == text, "it was changed")


def rewriting():
    """The mode of the file stays, and a link to it stays a link; a descriptor's name is written into, not replaced."""
    os.chmod("known.json", 0o640)
    os.symlink("known.json", "link.json")
    with open("known.json") as before:
        must(rtcheck("--baseline=link.json", "--update-baseline", program=("./prog", "2")).returncode == 7, "update")
        must(os.readlink("link.json") == "known.json", "no link any more")
        must(os.stat("known.json").st_mode & 0o777 == 0o640, oct(os.stat("known.json").st_mode))
        must(before.read() != read("known.json"), "the old one was written into")
    with open("stdout.json", "w+") as out:
        subprocess.run([RTCHECK, "--json=/dev/stdout", "./prog"], stdout=out, stderr=subprocess.DEVNULL, timeout=60)
        out.seek(0)
        must(json.load(out)["schema"] == "rtcheck-report/1", "not what stdout is")


GOING_ON = """
#include <rtcheck/check.h>
#include <stdlib.h>
#include <unistd.h>
void *volatile lost;
__attribute__((noipa)) static void lose(int bytes) { lost = malloc(bytes); lost = NULL; }
__attribute__((noipa)) static void free_twice(void)
{
    char *volatile p = malloc(3), *volatile again = p;
    free(p);
    free(again);
}
__attribute__((noipa)) static void known(void) { lose(10); free_twice(); }
__attribute__((noipa)) static void new(void) { lose(20); free_twice(); }
int main(int argc, char **argv)
{
    known();
    if (argc > 1)
        new();
    rtc_check_leaks(0, NULL);
    return (int)read(0, &argc, 1); /* until somebody hangs up */
}
"""


def reported_meanwhile(program):
    """The output while a program runs, up to the line about its last error; and the output at its end."""
    env = dict(os.environ, XDG_STATE_HOME=os.getcwd())
    words = [RTCHECK, "--baseline=going.json", *program]
    lines = []
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as p:
        for line in p.stderr:
            lines.append(line)
            if re.match(r"rtcheck: \d+: *duf-", line):
                break
        p.stdin.close()
        end = p.stderr.read()
    return "".join(lines), end


def in_mid_run():
    """Reports during the run use the baseline, too; and findings counted there are not counted again."""
    write("going.c", GOING_ON)
    subprocess.run(["gcc", "-g", "-O1", "-I", os.environ["RTC_SOURCE"] + "/include", "going.c", "-o", "going"], check=True)
    printed = rtcheck("--baseline=going.json", "--update-baseline", program=("./going",)).stderr
    must(printed.count(" mel-") == 2, "nothing is known yet:", printed)
    done = rtcheck("--baseline=going.json", program=("./going",))
    must(done.returncode == 0 and " mel-" not in done.stderr and "duf-" not in done.stderr, done.stderr)
    must("leak check 1 of " in done.stderr and "2 findings by going.json\n" in done.stderr, done.stderr)
    meanwhile, end = reported_meanwhile(("./going", "new"))
    must(meanwhile.count(" mel-") == 1 and meanwhile.count("duf-") == 1, "while it went on:", meanwhile)
    must(": 1 double free, 1 leak (" in end, "at its end:", end)
    env = dict(os.environ, LD_PRELOAD=BUILD + "/lib/librtcheck.so", RTCHECK_OPTIONS="baseline=going.json")
    printed = subprocess.run("./going", stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env, timeout=60).stderr
    must("leak check 1 of " in printed and " mel-" not in printed, "by hand:", printed)


def programs(name, text, *options):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    write(name + ".c", text)
    subprocess.run(["gcc", "-O1", *options, name + ".c", "-o", name], check=True)


def of_another_program():
    """A finding has the id of another program's, with functions of the same names: each program has its own rows. They
    are found again by the program's name, or by its source, or without debugging information by its build-id."""
    text = "#include <stdlib.h>\nvoid *volatile lost;\nint main(void) { lost = malloc(%d); lost = NULL; return 0; }\n"
    both = ("sh", "-c", "a/x1; b/x2")
    for options in ["-g"], ["-s", "-Wl,--build-id"]:
        programs("a/x1", text % 11, *options)
        programs("b/x2", text % 777, *options)
        programs("b/x1", text % 22, *options)
        shutil.copy("a/x1", "a/renamed")
        for i, (program, status) in enumerate((("a/x1", 0), ("b/x2", 9), ("a/renamed", 0), ("b/x1", 0))):
            if i == 0:
                must(rtcheck("--baseline=one.json", "--update-baseline", program=(program,)).returncode == 0, program)
            done = rtcheck("--baseline=one.json", program=(program,))
            must(done.returncode == status, options, program, read("one.json"), done.stderr)
            must(set(done.status.values()) == {"new" if status else "known"}, done.status)
        row, = json.loads(read("one.json"))["findings"]
        must(row["program"] == "x1" and (row["source"] == "a/x1.c" if "-g" in options else row["source"].startswith("build-id:")), row)
        done = rtcheck("--baseline=one.json", program=both)
        must(done.returncode == 9 and sorted(done.status.values()) == ["known", "new"], done.stderr)
        rtcheck("--baseline=two.json", "--update-baseline", program=both)
        must([row["program"] for row in json.loads(read("two.json"))["findings"]] == ["x1", "x2"], read("two.json"))
        for program in both, ("a/x1",), ("b/x2",), ("a/renamed",):
            must(rtcheck("--baseline=two.json", program=program).returncode == 0, program)
        del row["program"], row["source"]
        write("before.json", json.dumps({"schema": "rtcheck-baseline/1", "findings": [row]}))
        for program in "a/x1", "b/x2":
            must(rtcheck("--baseline=before.json", program=(program,)).returncode == 0, "a row of before:", program)
    must(rtcheck("--frames=0", "--baseline=one.json", "--update-baseline", program=("a/x1",)).returncode == 0, "no stacks")
    for program, status in (("a/x1", 0), ("b/x2", 9), ("a/renamed", 0)):
        must(rtcheck("--frames=0", "--baseline=one.json", program=(program,)).returncode == status, "no stacks:", program)


def main():
    build("first", "")
    done = rtcheck("--baseline=known.json")
    must(done.returncode == 125 and "baseline known.json: No such file" in done.stderr, done.stderr)
    done = rtcheck("--baseline=known.json", "--update-baseline")
    must(done.returncode == 7, "what is being written down is not new:", done.returncode, done.stderr)
    first = read("known.json")
    known = json.loads(first)
    must(known["schema"] == "rtcheck-baseline/1" and [f["count"] for f in known["findings"]] == [1, 1], first)
    must([f["id"] for f in known["findings"]] == sorted(done.status), first)
    must(first.count("\n") == 6 or len(first.splitlines()) == 5, "not one line for each:", first)
    rtcheck("--baseline=known.json", "--update-baseline")
    must(read("known.json") == first, "written anew it is another")

    done = rtcheck("--baseline=known.json")
    must(done.returncode == 7 and "rtcheck: no errors" in done.stderr and "2 findings by known.json\n" in done.stderr, done.stderr)
    must(set(done.status.values()) == {"known"}, done.status)
    build("second", "\n\n\n/* other lines */\nint other(void);\nint other(void) { return 1; }\n")
    must(rtcheck("--baseline=known.json").returncode == 7, "lines moved")
    done = rtcheck("--baseline=known.json", program=("./prog", "1", "more"))
    must(done.returncode == 9 and ": 1 leak (" in done.stderr and "lose_more" in done.stderr, done.stderr)
    done = rtcheck("--baseline=known.json", program=("./prog", "2"))
    must(done.returncode == 9 and ": 1 leak (" in done.stderr, "twice as many:", done.stderr)
    done = rtcheck("--baseline=known.json", program=("./prog", "0"))
    must(done.returncode == 7 and "1 finding by known.json; 1 of it not found any more" in done.stderr, done.stderr)

    mel = [f["id"] for f in known["findings"] if f["id"].startswith("mel")][0]
    capped = first.replace('"%s","count":1,' % mel, '"%s","count":1,"cap":3,"mine":[{"x":null},-1.5e3],' % mel)
    must(capped != first, "no cap set in", first)
    write("known.json", capped)
    must(rtcheck("--baseline=known.json", program=("./prog", "3")).returncode == 7, "the cap")
    must(rtcheck("--baseline=known.json", program=("./prog", "4")).returncode == 9, "beyond the cap")
    rtcheck("--baseline=known.json", "--update-baseline")
    expected = first.replace('"%s","count":1,' % mel, '"%s","count":1,"cap":3,' % mel).replace("/first.c", "/second.c")
    must(read("known.json") == expected, read("known.json"))

    rewriting()
    in_mid_run()
    of_another_program()
    refused("", "bad.json:1:1: an empty file is no baseline")
    refused("{\n}", 'bad.json:1:1: "schema": "rtcheck-baseline/1" is expected')
    refused('{"schema": "rtcheck-baseline/2"}', 'bad.json:1:12: "schema": "rtcheck-baseline/1" is expected')
    wrong = 'a finding needs an "id" and a "count", and may have a "cap", a "program" and a "source"'
    refused('{"schema": "rtcheck-baseline/1",\n"findings": [{"id": "mel-01234567"}]}', "bad.json:2:21: findings[0]: " + wrong)
    refused('{"schema": "rtcheck-baseline/1", "findings": [] x', "bad.json:1:49: '}' expected near 'x'")
    refused('{"schema": "rtcheck-baseline/1", "findings": [\n {"id": "mel-00000000", "count": 1}\n {"id": "x", "count": 1}]}',
            "bad.json:3:2: ']' expected near '{'")
    for id_ in "", "mel-0123456", "mel-0123456g", "mel-012345678", "lem-01234567", "mel-01234567.2", "all-01234567", \
            "biu-map-0123456", "biu-map-01234567.2", "mel-map-01234567", "-01234567", "01234567":
        refused('{"schema": "rtcheck-baseline/1", "findings": [\n {"count": 1,\n  "id":  "%s"}]}' % id_,
                "bad.json:3:10: findings[0]: this is no id: one is expected like mel-3f9c2a11")
    refused("what", "bad.json:1:4: '[' or '{' expected near 'what'", "--update-baseline")
    done = rtcheck("--update-baseline")
    must(done.returncode == 125 and "the file is missing: --baseline=FILE" in done.stderr, done.stderr)
    if os.geteuid() != 0:
        os.mkdir("shut", 0o500)
        done = rtcheck("--baseline=shut/x.json", "--update-baseline")
        must(done.returncode == 7 and re.search(r"note: baseline shut/x.json cannot be written", done.stderr), done.stderr)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# rtc-test: launcher/valgrind_options ci 300
"""Options of valgrind and of the sanitizers: each one that valgrind, gcc's and clang's sanitizers list is in our tables,
and does what its table says: acts, or is named in the one note at the start, or is refused."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

BIN = pathlib.Path(os.environ["RTC_BUILD"]) / "bin"
SOURCE = pathlib.Path(os.environ["RTC_SOURCE"])
HERE = pathlib.Path.cwd()
NOTE = "rtcheck: note: accepted without effect: "
TOGETHER = 20  # options without an effect: as many are named in the note
# Options of valgrind after 3.19, which its --help-debug has; newer ones that the table must have, too.
NEWER = {"scheduling-quantum", "realloc-zero-bytes-frees", "show-realloc-size-zero", "enable-debuginfod", "modify-fds"}


def must(holds, *what):
    if not holds:
        print("\n  ".join(str(w) for w in what))
        sys.exit(1)


def run(*words, command="rtcheck", **variables):
    drop = ("VALGRIND_OPTS", "ASAN_OPTIONS", "LSAN_OPTIONS", "MALLOC_PERTURB_", "MALLOC_CHECK_", "RTCHECK_OPTIONS")
    env = {name: value for name, value in os.environ.items() if name not in drop}
    done = subprocess.run([BIN / command, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          env={**env, **variables})
    must("Assertion" not in done.stderr and done.returncode >= 0, words, variables, done)
    return done


def build(name, text, *options):
    pathlib.Path(name + ".c").write_text(text)
    subprocess.run(["gcc", "-g", "-O0", "-w", "-fno-builtin", name + ".c", "-o", name, *options], check=True)
    return "./" + name


def valgrind_table():
    """The rows of the .def: name -> (values, otherwise, text)."""
    text = (SOURCE / "tools/options/valgrind_options.def").read_text()
    rows = re.findall(r'^VALGRIND\("([^"]+)", "([^"]*)", (\w+), "([^"]*)"\)', text, re.M)
    must(len(rows) == text.count("\nVALGRIND("), "rows of another form")
    return {name: rest for name, *rest in rows}


def sanitizer_table(letter):
    """The rows of a variable: key -> (values, text)."""
    text = (SOURCE / "tools/options/sanitizer_options.def").read_text()
    rows = re.findall(r'^SANITIZER\("([^"]+)", (\w), "([^"]*)", "([^"]*)"\)', text, re.M)
    must(len(rows) == text.count("\nSANITIZER("), "rows of another form")
    return {name: rest for name, variables, *rest in rows if variables in (letter, "B")}


def own_options():
    return set(re.findall(r'^OPTION\("([^"]+)"', (SOURCE / "include/format/options.def").read_text(), re.M))


def valgrinds_options():
    text = subprocess.run(["valgrind", "--help-debug"], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"(?<![\w-])--([a-z][a-z0-9-]*)", text)) - {"syms"}  # readelf --syms
    must(len(names) > 120, "valgrind --help-debug has too few options", names)
    return names | {"d"} | NEWER


# The value of each option of the table that acts by an option of the same name.
SAME = {"help": "no", "trace-children-skip": "/x,*/y", "log-fd": "2", "xml": "no", "xml-fd": "1", "version": "no", "tool": "memcheck", "log-file": "/dev/null", "num-callers": "500", "error-exitcode": "7",
        "suppressions": "/dev/null", "gen-suppressions": "all", "leak-check": "full", "leak-resolution": "med",
        "show-leak-kinds": "definite,reachable", "errors-for-leak-kinds": "all", "malloc-fill": "41", "free-fill": "0x42",
        "freelist-vol": "20000000", "redzone-size": "16", "error-limit": "no"}


def every_option_of_valgrind(program):
    rows, own = valgrind_table(), own_options()
    missing = valgrinds_options() - set(rows)
    must(not missing, "not in valgrind_options.def:", missing)
    manual = run("--help=valgrind").stdout
    accepted, noted = [], []  # options without an effect, of which one run has many
    for name, (values, otherwise, text) in rows.items():
        dashes = "--" if name[1:] else "-"
        must(re.search("^  %s%s " % (dashes, name), manual + " ", re.M) or "  %s%s\n" % (dashes, name) in manual, name, manual)
        must((values == "same") == (name in own), name, "is an option of rtcheck and not 'same', or the reverse")
        must(values == "same" or not name[1:] or not any(o.startswith(name) for o in own), name, "is an abbreviation of an option of rtcheck")
        for command in ("rtcheck", "rtcheck-valgrind") if otherwise == "REFUSED" else ("rtcheck",):
            if values == "same":
                done = run("--%s=%s" % (name, SAME.get(name, "yes")), program, command=command)
                must(done.returncode in (3, 7) and NOTE not in done.stderr, command, name, done)
                continue
            for word in filter(None, values.split(" ")):
                value, acts, _ = word.partition(">")
                option = "%s%s=%s" % (dashes, name, value.replace("*", "yes"))
                if not acts and otherwise != "REFUSED":
                    accepted.append(option)
                    continue
                done = run(option, program, command=command)
                must(done.returncode == (0 if "help=" in word else 3) and NOTE not in done.stderr, command, option, done)
            if "*" in values:
                continue
            word = dashes + name + ("=0x77-0x88" if name[1:] else "")
            if otherwise != "REFUSED":
                must(text, name, "has no reason")
                noted.append((word, dashes + name))
                continue
            done = run(word, program, command=command)
            must(done.returncode == (1 if "-" in command else 125), command, name, done)
            must(done.stderr == "rtcheck: option --%s=0x77-0x88 is refused: %s\n" % (name, text), name, done)
    must(len(accepted) > 35 and len(noted) > 75, accepted, noted)
    done = run(*accepted, program)
    must(done.returncode == 3 and NOTE not in done.stderr, accepted, done)
    for at in range(0, len(noted), TOGETHER):
        words, names = zip(*noted[at:at + TOGETHER])
        done = run(*words, program)
        must(done.returncode == 3 and done.stderr.startswith("%s%s\n" % (NOTE, ", ".join(names))), words, done)
        must(NOTE not in run("-q", *words, program).stderr, words, "-q")
    done = run("--vgdb-poll=0x77", "--vgdb=0x77", "--vgdb=0x77", program)  # one is the beginning of the other
    must(done.stderr.startswith(NOTE + "--vgdb-poll, --vgdb\n"), "each once", done)


def keys_of(compiler, sanitizer):
    name = "keys-%s-%s" % (compiler, sanitizer)
    subprocess.run([compiler, "-fsanitize=" + sanitizer, "-w", "program.c", "-o", name], check=True)
    variable = {"address": "ASAN_OPTIONS", "leak": "LSAN_OPTIONS"}[sanitizer]
    done = subprocess.run(["./" + name], capture_output=True, text=True, env={**os.environ, variable: "help=1:detect_leaks=0"})
    keys = set(re.findall(r"^\t([a-z_0-9]+)$", done.stdout + done.stderr, re.M))
    must(len(keys) > 90, compiler, sanitizer, "help=1 lists too few", keys)
    return keys


VALUES = {"suppressions": "/dev/null", "log_path": "stderr", "color": "never", "exitcode": "9", "redzone": "32"}


def every_key_of_sanitizers(program):
    manual = run("--help=sanitizers").stdout
    for letter, variable, sanitizer in (("A", "ASAN_OPTIONS", "address"), ("L", "LSAN_OPTIONS", "leak")):
        own = sanitizer_table(letter)
        listed = keys_of("gcc", sanitizer) | keys_of("clang", sanitizer)
        must(listed <= set(own), variable, "not in sanitizer_options.def:", listed - set(own))
        silent, noted = [], []
        for name, (values, text) in own.items():
            must(re.search(r"^  (both|ASAN|LSAN) %s\b" % name, manual, re.M), name)
            must(text or ">" in values or values == "same", name, "has no reason")
            word, acts, _ = values.split(" ")[0].partition(">")
            value = VALUES.get(name, "1") if values in ("same", "") or "*" in values else word
            if values == "":
                noted.append(("%s=%s" % (name, value), "%s (%s)" % (name, variable)))
            elif acts or values == "same" or "*" in values:
                done = run(program, **{variable: "%s=%s" % (name, value)})
                must(not done.stderr.startswith("%s%s (%s)\n" % (NOTE, name, variable)), variable, name, value, done)
            else:
                silent.append("%s=%s" % (name, value))
        done = run(program, **{variable: ":".join(silent)})
        must(NOTE not in done.stderr, variable, silent, done)
        for at in range(0, len(noted), TOGETHER):
            words, names = zip(*noted[at:at + TOGETHER])
            done = run(program, **{variable: ":".join(words)})
            must(done.stderr.startswith("%s%s\n" % (NOTE, ", ".join(names))), variable, words, done)
        done = run(program, **{variable: "no_such_key=1:other=2"})
        must(done.stderr.startswith("%sno_such_key (%s), other (%s)\n" % (NOTE, variable, variable)), variable, done)


def what_acts(program, leaky, mixed, double):
    """The options that set others have their effect."""
    must(run("--error-exitcode=9", mixed).returncode == 9, "a mismatched free is a problem")
    must(run("--error-exitcode=9", "--show-mismatched-frees=no", mixed).returncode == 0, "--show-mismatched-frees=no")
    must(run("--error-exitcode=9", mixed, ASAN_OPTIONS="alloc_dealloc_mismatch=0").returncode == 0, "alloc_dealloc_mismatch=0")
    must(run("--error-exitcode=9", leaky).returncode == 9, "a leak is a problem")
    for variable in ("ASAN_OPTIONS", "LSAN_OPTIONS"):
        must(run("--error-exitcode=9", leaky, **{variable: "detect_leaks=0"}).returncode == 0, variable, "detect_leaks=0")
        must(run("--leaks", "--error-exitcode=9", leaky, **{variable: "detect_leaks=0"}).returncode == 9, variable, "given")
        must(run(leaky, **{variable: "exitcode=9"}).returncode == 9, variable, "exitcode")
        must(run(leaky, **{variable: "log_path=log"}).stderr == "", variable, "log_path")
    must(len(list(HERE.glob("log.*"))) == 2, list(HERE.glob("log.*")))
    must(run("--error-exitcode=9", leaky, VALGRIND_OPTS="--leak-check=no").returncode == 0, "VALGRIND_OPTS")
    must(run("--error-exitcode=9", "--leak-check=full", leaky, VALGRIND_OPTS="--leak-check=no").returncode == 9, "given later")
    done = run(program, VALGRIND_OPTS="--tool=massif --massif:x=1 --memcheck:vgdb=full  --bogus=1 word")
    must(done.returncode == 3 and done.stderr.startswith(NOTE + "--tool (VALGRIND_OPTS), --vgdb, --bogus (VALGRIND_OPTS), "
                                                         "word (VALGRIND_OPTS)\n"), done)
    fill = build("fill", '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { unsigned char *p = malloc(9), *volatile q = p;'
                 'printf("%02x", p[3]); free(p); printf("%02x", q[3]); }')
    must(run(fill, MALLOC_PERTURB_="11").stdout == "f40b", "MALLOC_PERTURB_", run(fill, MALLOC_PERTURB_="11"))
    must(run("--malloc-fill=41", "--free-fill=42", fill, MALLOC_PERTURB_="11").stdout == "4142", "MALLOC_PERTURB_, given")
    for value, status in (("1", 0), ("2", -6), ("3", -6)):
        done = subprocess.run([BIN / "rtcheck", "-q", double], capture_output=True, env={**os.environ, "MALLOC_CHECK_": value})
        must(done.returncode == status, "MALLOC_CHECK_=" + value, done)


def output(program, double):
    """--error-markers, --fullpath-after, --log-fd, --exit-on-first-error, in both formats."""
    for form in ("text", "valgrind"):
        text = run("--format=" + form, "--error-markers=<<<,>>>", "--leak-check=full", double).stderr
        lines = [re.sub("^==[0-9]+== ", "", line) for line in text.splitlines()]
        must(lines.count("<<<") == lines.count(">>>") >= 2, form, text)
        begins = [i for i, line in enumerate(lines) if line == "<<<"]
        ends = [i for i, line in enumerate(lines) if line == ">>>"]
        must(all(a < b for a, b in zip(begins, ends)) and all(a > b for a, b in zip(begins[1:], ends)), form, text)
        must(all(any("double.c:" in line for line in lines[a:b]) for a, b in zip(begins, ends)), form, text)
        must(run("--format=" + form, "--error-markers=<<<", double).stderr.count("<<<") >= 2, form, "no end")
        for words, name in (((), "double.c"), (("--fullpath-after=",), "%s/double.c" % HERE),
                            (("--fullpath-after=/no/such/", "--fullpath-after=%s/" % HERE.parent), "%s/double.c" % HERE.name)):
            text = run("--format=" + form, "--leak-check=full", *words, double).stderr
            must(set(re.findall(r"[\w./-]*double\.c(?=:)", text)) == {name}, form, words, text)
        done = run("--format=" + form, "--exit-on-first-error=yes", "--error-exitcode=9", double)
        must(done.returncode == 9 and done.stdout == "" and len(re.findall("duf-[0-9a-f]+", done.stderr)) >= 1, form, done)
        must(run("--format=" + form, "--exit-on-first-error=no", double).stdout == "end\n", form)
        with open("descriptor", "w+") as log:
            os.dup2(log.fileno(), 9)
            done = subprocess.run([BIN / "rtcheck", "--format=" + form, "--log-fd=9", double], pass_fds=[9], capture_output=True, text=True)
            os.close(9)
            log.seek(0)
            text = log.read()
        must(done.stderr == "" and "duf-" in text and done.returncode == 0, form, "--log-fd", done, text)
    done = run("--log-fd=9", program)
    must(done.returncode == 125 and done.stderr == "rtcheck: option log-fd: descriptor 9 is not open\n", done)


def skipped(leaky):
    """--trace-children-skip: by the path; also what such a program starts, and by hand."""
    here = os.getcwd()
    script = "/usr/bin/env %s/leaky; /bin/true" % here
    for patterns, status in (("", 9), ("*/leaky", 0), ("/no,*/leaky", 0), ("*/LEAKY,leaky,*/leak,?leaky", 9), (here + "/l?aky", 0),
                             ("/usr/bin/env", 0), ("*e*y", 0), ("*", 0), (",,", 9)):
        done = run("--json=out.json", "--error-exitcode=9", "--trace-children-skip=" + patterns, "/bin/sh", "-c", script)
        must(done.returncode == status, patterns, done)
        unchecked = json.loads(pathlib.Path("out.json").read_text())["run"]["unchecked"]
        must(bool(unchecked) == (status == 0) and all(u["reason"] == "skipped" for u in unchecked), patterns, unchecked)
    shutil.copy(leaky, "x1")
    os.chmod("x1", 0o111)
    for command in ("./x1", "PATH=%s:/usr/bin /usr/bin/env x1" % here, "/usr/bin/env ./x1"):
        for patterns, status in (("*/x2", 9), ("*/x1", 0)):  # its file cannot be examined
            done = run("--json=out.json", "--error-exitcode=9", "--trace-children-skip=" + patterns, "/bin/sh", "-c", command + "; /bin/true")
            must(done.returncode == status, "not readable", command, patterns, done)
            unchecked = json.loads(pathlib.Path("out.json").read_text())["run"]["unchecked"]
            must([os.path.basename(u["path"]) for u in unchecked] == (["x1"] if status == 0 else []), command, unchecked)
    done = run("--trace-children-skip=" + "x" * 256, leaky)
    must(done.returncode == 125 and done.stderr == "rtcheck: option trace-children-skip: more than 255 bytes\n", done)
    for patterns, status in (("/none", 9), ("*/leaky", 0), ("*/leaky," + "x" * 247, 0), ("*/leaky," + "x" * 248, 125)):
        env = {**os.environ, "LD_PRELOAD": str(BIN.parent / "lib/librtcheck.so"),
               "RTCHECK_OPTIONS": "error_exitcode=9:pool_dir=%s:trace_children_skip=%s" % (here, patterns)}
        done = subprocess.run(["/usr/bin/env", "./leaky"], env=env, capture_output=True, text=True)
        must(done.returncode == status and ("option trace-children-skip: more than 255 bytes\n" in done.stderr) == (status == 125),
             "by hand", patterns, done)


def drop_in(program, leaky):
    """rtcheck-valgrind has valgrind's defaults and statuses."""
    def valgrind(*words, **variables):
        return run(*words, command="rtcheck-valgrind", **variables)

    def real(*words):
        return subprocess.run(["valgrind", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)

    for words in ([leaky], ["--error-exitcode=9", leaky], ["--error-exitcode=9", "--leak-check=full", leaky],
                  ["--error-exitcode=9", "--leak-check=yes", "--errors-for-leak-kinds=none", leaky], ["./none"], [],
                  ["--tool=nonsense", leaky], ["--nonsense", leaky], ["--leak-check=nonsense", leaky],
                  ["-q", program], ["--trace-children=no", "--error-exitcode=9", "--leak-check=full", "/bin/sh", "-c", leaky]):
        own, memchecks = valgrind(*words), real(*words)
        must(own.returncode == memchecks.returncode, words, own, memchecks)
        for pattern in ("definitely lost: (.*)", "definitely lost in loss record", "Command: (.*)", r"ERROR SUMMARY: (\d+ errors .*)"):
            a, b = re.findall(pattern, own.stderr), re.findall(pattern, memchecks.stderr)
            must(a == b, words, pattern, own.stderr, memchecks.stderr)
    for tool in ("massif", "helgrind", "none"):
        done = valgrind("--tool=" + tool, leaky)
        must(done.returncode == 1 and re.fullmatch("rtcheck: option tool: '%s' is not memcheck.*\n" % tool, done.stderr), done)
    done = valgrind("--nonsense", leaky)
    must(done.stderr == "rtcheck: unknown option '--nonsense' (rtcheck-valgrind --help=valgrind lists them)\n", done)
    done = valgrind(leaky, VALGRIND_OPTS="--tool=massif")
    must(done.returncode == 1 and done.stderr.startswith("rtcheck: VALGRIND_OPTS: option tool: 'massif'"), done)
    must(valgrind("--help").stdout.startswith("usage: rtcheck-valgrind [OPTION]... PROGRAM"), "--help")
    # In the order of valgrind: ~/.valgrindrc, VALGRIND_OPTS, ./.valgrindrc, the command line.
    home = HERE / "home"
    home.mkdir()
    (home / ".valgrindrc").write_text("--leak-check=full --error-exitcode=5\n")
    must(valgrind(leaky, HOME=str(home)).returncode == 5, "~/.valgrindrc")
    must(valgrind(leaky, HOME=str(home), VALGRIND_OPTS="--error-exitcode=6").returncode == 6, "VALGRIND_OPTS")
    (HERE / ".valgrindrc").write_text("--memcheck:error-exitcode=7\n")
    must(valgrind(leaky, HOME=str(home), VALGRIND_OPTS="--error-exitcode=6").returncode == 7, "./.valgrindrc")
    must(valgrind("--error-exitcode=8", leaky, HOME=str(home)).returncode == 8, "the command line")
    (HERE / ".valgrindrc").chmod(0o666)
    must(valgrind(leaky, HOME=str(home)).returncode == 5, "./.valgrindrc that others can write")
    must(run(leaky, HOME=str(home)).returncode == 0, "rtcheck reads no .valgrindrc")
    (HERE / ".valgrindrc").unlink()


PROGRAM = build("program", "int main(void) { return 3; }")
LEAKY = build("leaky", "#include <stdlib.h>\nint main(void) { volatile void *p = malloc(40); p = 0; return 0; }")
MIXED = build("mixed", "void *_Znam(unsigned long);\nvoid free(void *);\nint main(void) { free(_Znam(9)); return 0; }", "-lstdc++")
every_option_of_valgrind(PROGRAM)
every_key_of_sanitizers(PROGRAM)
DOUBLE = build("double", """#include <stdio.h>
#include <stdlib.h>
int main(void) { void *p = malloc(9); free(p); free(p);
    free(p); p = malloc(10); p = 0; puts("end"); return 0; }""")
what_acts(PROGRAM, LEAKY, MIXED, DOUBLE)
output(PROGRAM, DOUBLE)
skipped(LEAKY)
drop_in(PROGRAM, LEAKY)

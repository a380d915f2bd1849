#!/usr/bin/python3
# rtc-test: crimes/access-full-objects ci 60
"""--access=full: the report names the objects that were checked in copies of their code, how much of each, and the reason for
each other."""
import json
import os
import re
import resource
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True # the checkout may be another's
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + "/../stress", HERE + "/../report"]
from checks import check, end
from validate_json import complaints

BUILD = os.environ["RTC_BUILD"]
WORK = os.getcwd()
ENVIRONMENT = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": WORK + "/state", "XDG_CACHE_HOME": WORK + "/cache"}
PLANS = WORK + "/cache/rtcheck/plans"
# With an argument: a library is loaded later, which allocates; without one: another program by exec.
PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int sum(const int *);
int main(int argc, char **argv)
{
    int *n = malloc(sizeof *n);
    *n = 5;
    printf("%d\\n", sum(n));
    fflush(stdout);
    free(n);
    if (argc > 1) {
        void *library = dlopen(argv[1], RTLD_NOW);
        void *(*make)(void) = library ? (void *(*)(void))dlsym(library, "make") : NULL;
        free(make ? make() : NULL);
        return !make;
    }
    if (fork() == 0) {
        execl("./child", "child", (char *)NULL);
        _exit(9);
    }
    wait(NULL);
    return 0;
}
"""
SUM = "int sum(const int *p) { return p[0] + 1; }\n"
LATER = "#include <stdlib.h>\nvoid *make(void); void *make(void) { void *p = malloc(30); __asm__(\"\"); return p; }\n"
CHILD = "#include <stdlib.h>\nint main(void) { free(malloc(3)); return 0; }\n"
# The library maps memory 512 MiB above itself, where its copy would be, before the runtime maps plans.
TAKEN = """
#include <stdint.h>
#include <sys/mman.h>
int sum(const int *p) { return p[0] + 2; }
__attribute__((constructor)) static void take(void)
{
    uintptr_t at = ((uintptr_t)sum & ~(uintptr_t)4095) + (512ul << 20);
    mmap((void *)at, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}
"""


def compiled(name, text, *options):
    done = subprocess.run(["gcc", "-O1", "-g", "-x", "c", "-", "-o", name, *options], input=text, capture_output=True, text=True,
                          check=False)
    check(name, (done.returncode, done.stderr), (0, ""))


def run(program, *arguments, options=(), variables=(), limit=None, status=0):
    """The report, its text, and the objects by name"""
    command = [BUILD + "/bin/rtcheck", "--access=full", "--leaks=no", "--json=report.json", "--log-file=log", *options]
    done = subprocess.run([*command, program, *arguments], capture_output=True, text=True, timeout=60, check=False,
                          env={**ENVIRONMENT, **dict(variables)},
                          preexec_fn=limit and (lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))))
    if status is not None:
        check(f"status of {program} {arguments} {options}", (done.returncode, done.stderr), (status, ""))
    with open("report.json", encoding="utf8") as file, open("log", encoding="utf8") as log:
        report = json.load(file)
        text = log.read()
    check(f"schema, {program} {options}", complaints(report), [])
    return report, text, {os.path.basename(o["path"]): o for o in report.get("objects", [])}


def reasons(objects):
    return {name: o.get("native", "checked") for name, o in objects.items() if o.get("native") != "run_time_library"}


compiled("libsum.so", SUM, "-shared", "-fPIC")
compiled("liblater.so", LATER, "-shared", "-fPIC")
compiled("child", CHILD)
compiled("program", PROGRAM, "-L.", "-Wl,-rpath," + WORK, "-lsum")

report, text, objects = run("./program", WORK + "/liblater.so")
check("checked", reasons(objects), {"program": "checked", "libsum.so": "checked", "liblater.so": "loaded_later"})
check("run-time libraries", {"libc.so.6", "librtcheck.so"} <= {n for n in objects if n not in reasons(objects)}, True)
for name in ("program", "libsum.so"):
    o = objects[name]
    check(f"bytes of {name}", 0 < o["checked_bytes"] < o["bytes"], True)
    check(f"native bytes of {name}", sum(o["native_functions"].values()) <= o["bytes"] - o["checked_bytes"], True)
    check(f"linkage of {name}", o["native_functions"].get("linkage", 0) > 0, True)
check("caller of dlsym", objects["program"]["native_functions"].get("caller", 0) > 0, True)
check("line", re.search(r"^access .*$", text, re.M)[0].split("%")[0].rstrip("0123456789. "), "access   2 of 3 objects checked,")
check("later", "; native: liblater.so (loaded later, by dlopen)" in text, True)
check("no note", "not checked" in text, False)
check("no limit", [p["limits"] for p in report["processes"]], [[]])
check("section", "ACCESS" in run("./program", WORK + "/liblater.so", options=("--cost",))[1], True)

report, text, objects = run("./program")
check("exec", reasons(objects), {"program": "checked", "libsum.so": "checked", "child": "no_plan"})
check("by exec", [n for n, o in objects.items() if o.get("started_by_exec")], ["child"])
check("note of exec", re.search(r"note: process \d+ \(child\): its own loads and stores were not checked: (.*)", text)[1],
      "started by exec, and no plan")
check("limits of exec", [p["limits"] for p in report["processes"] if p["name"] == "child"], [["without_copies"]])
run("./child")
check("exec with a plan", reasons(run("./program")[2]), {"program": "checked", "libsum.so": "checked", "child": "checked"})

# A script of env: env runs another program, by the script's name.
for line in ("/usr/bin/env child", "/usr/bin/env -S child", "/usr/bin/env -S -u NONE X=1 child -x", f"/usr/bin/env {WORK}/child",
             "/usr/bin/env  child "):
    shutil.rmtree("scripts", ignore_errors=True)
    with open("script", "w", encoding="utf8") as file:
        file.write(f"#!{line}\n")
    os.chmod("script", 0o755)
    found = run("./script", options=(f"--plans={WORK}/scripts",), variables={"PATH": "/nowhere::" + os.environ["PATH"]})[2]
    check(f"script of {line}", reasons(found), {"env": "checked", "child": "checked"})

# Without randomized addresses there is little room above the libraries.
compiled("libsum.so", SUM, "-shared", "-fPIC")
done = subprocess.run(["/usr/bin/setarch", "-R", BUILD + "/bin/rtcheck", "--access=full", "--leaks=no", "--json=near.json",
                       "--log-file=near.log", f"--plans={WORK}/randomized", "./program", WORK + "/liblater.so"], env=ENVIRONMENT,
                      capture_output=True, text=True, timeout=60, check=False)
with open("near.json", encoding="utf8") as file:
    found = {os.path.basename(o["path"]): o for o in json.load(file)["objects"]}
check("setarch -R", (done.returncode, reasons(found).get("program"), reasons(found).get("libsum.so")), (0, "checked", "checked"))
check("its plans", os.listdir("randomized"), ["near"])

check("ulimit -v", reasons(run("./child", limit=3 << 30)[2]), {"child": "no_memory"})
check("not requested", run("./child", options=("--access=yes",))[2], {})

compiled("libsum.so", SUM, "-shared", "-fPIC", "-Wl,--build-id=none")
check("no build-id", reasons(run("./program", WORK + "/liblater.so")[2])["libsum.so"], "no_build_id")
compiled("libsum.so", TAKEN, "-shared", "-fPIC")
check("no room", reasons(run("./program", WORK + "/liblater.so")[2])["libsum.so"], "no_room")

os.makedirs("others", exist_ok=True)
_, text, objects = run("./child", options=(f"--plans={WORK}/others",))
(plan,) = (n for n in os.listdir("others") if n.endswith(".plan"))
check("its plan", plan, objects["child"]["build_id"] + ".plan")
with open("others/" + plan, "r+b") as file:
    file.truncate(5000)


def by_hand(folder):
    variables = {**ENVIRONMENT, "LD_PRELOAD": BUILD + "/lib/librtcheck.so", "RTCHECK_POOL_DIR": WORK,
                 "RTCHECK_OPTIONS": f"access=full:plans='{WORK}/{folder}':json='{WORK}/hand.json'"}
    subprocess.run(["./child"], env=variables, capture_output=True, timeout=60, check=False)
    with open("hand.json", encoding="utf8") as file:
        return reasons({os.path.basename(o["path"]): o for o in json.load(file)["objects"]})


def plans(*words, status=0, folder="others"):
    done = subprocess.run([BUILD + "/bin/rtcheck", "plans", f"--plans={WORK}/{folder}", *words], capture_output=True, text=True,
                          timeout=60, check=False, env=ENVIRONMENT)
    check(f"plans {words}", (done.returncode, done.stderr != ""), (status, "--remove=none" in words))
    check(f"width of plans {words}", [line for line in done.stdout.splitlines() if len(line.replace(WORK, "")) > 92], [])
    return done.stdout


check("damaged plan in the list", f"  {WORK}/child: not usable: the file is not whole\n" in plans(), True)
check("--verify of a damaged plan", plans("--verify", status=1),
      f"{plan[:-5]} {WORK}/child: the file is not whole\n1 plan, 1 not usable\n")
check("refused", by_hand("others"), {"child": "plan_refused"})
check("none", by_hand("nowhere"), {"child": "no_plan"})

# ---- --access-objects --------------------------------------------------------------------------------------------
compiled("libsum.so", SUM, "-shared", "-fPIC")
LATER = WORK + "/liblater.so"
for patterns, program, library in (("libsum*", "no_plan", "checked"), ("!libsum*", "checked", "no_plan"),
                                   ("*,!*/program", "no_plan", "checked"), (f"{WORK}/lib*,program", "checked", "checked"),
                                   ("!program,!libsum.so", "no_plan", "no_plan"), ("program", "checked", "no_plan")):
    for folder in ("chosen", "kept"):
        found = run("./program", LATER, options=(f"--plans={WORK}/{folder}", "--access-objects=" + patterns))[2]
        check(f"{patterns} in {folder}", reasons(found), {"program": program, "libsum.so": library, "liblater.so": "loaded_later"})
    run("./program", LATER, options=(f"--plans={WORK}/kept",))
log = run("./program", LATER, options=("--access-objects=program,none*,!other",))[1]
check("nothing matches", "option access-objects: 'none*' matches no object that is loaded at the start" in log, True)
check("all match", "access-objects" in run("./program", LATER, options=("--access-objects=program,!libsum.so",))[1], False)
# A plan whose code is damaged: the runtime removes it, or its link, and the next run makes it again.
for options in (), ("--access-objects=program",):
    run("./program", LATER, options=(f"--plans={WORK}/kept", *options))
    (damaged,) = [p.path[:-5] + ".plan" for p in os.scandir("kept") if p.name.endswith(".name") and open(p).read() == f"{WORK}/program\n"]
    with open(damaged, "r+b") as file:
        file.seek(os.path.getsize(damaged) - 9)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    found = [reasons(run("./program", LATER, options=(f"--plans={WORK}/kept", *options))[2])["program"] for _ in range(2)]
    check(f"damaged {options}", found, ["plan_refused", "checked"])
plans("--clear", folder="kept")
check("--clear of links", [n for _, _, files in os.walk("kept") for n in files], [])

# ---- the folder of plans: last uses, in seconds before now, by name ----------------------------------------------
def names():
    return sorted(re.findall(r"^  .*/(\S+)$", plans(), re.M))


def use(**seconds):
    for name, ago in seconds.items():
        (path,) = [p.path for p in os.scandir("others") if p.name.endswith(".name") and open(p).read() == f"{WORK}/{name}\n"]
        at = os.stat("report.json").st_mtime - ago
        os.utime(path, (at, at))


for n in "one", "two", "three", "four":
    compiled(n, CHILD + f"const char *name; const char *name = \"{n}\";\n")
OTHERS = (f"--plans={WORK}/others",)
for n in "child", "one", "two", "three":
    run("./" + n, options=OTHERS)
check("names", names(), ["child", "one", "three", "two"])
row = re.search(r"^(\S+ \S+) +(\d+) +(\d+) +(\d+\.\d) %  (\w+)\n  .*/one$", plans(), re.M)
check("a row", (int(row[2]) * 1024 >= os.path.getsize(f"others/{row[5]}.plan"), 0 < float(row[4]) < 100), (True, True))
check("--verify", plans("--verify"), "4 plans, 0 not usable\n")
use(child=900, one=700, two=800, three=20)
check("newest first", re.findall(r"^  .*/(\S+)$", plans(), re.M), ["three", "one", "two", "child"])
run("./child", options=OTHERS)
check("a use counts", re.findall(r"^  .*/(\S+)$", plans(), re.M), ["child", "three", "one", "two"])
use(child=900)
size = os.path.getsize(f"others/{row[5]}.plan")
run("./two", options=(*OTHERS, f"--plans-size={size}"))
check("nothing is removed if no plan was added", names(), ["child", "one", "three", "two"])
use(two=800)
run("./four", options=(*OTHERS, f"--plans-size={4 * size + size // 2}"))
check("the oldest is removed", names(), ["four", "one", "three", "two"])
run("./child", options=(*OTHERS, "--plans-size=1"))
check("plans of the last minute stay", names(), ["child", "four", "three"])
check("no names without plans", len(os.listdir("others")), 6)
check("--remove by name", (plans("--remove=three"), names()), ("1 plan removed\n", ["child", "four"]))
check("--remove of none", (plans("--remove=none", status=1), names()), ("0 plans removed\n", ["child", "four"]))
check("--remove by path", (plans(f"--remove={WORK}/four"), names()), ("1 plan removed\n", ["child"]))
run("./one", options=OTHERS)
check("--remove by build-id", (plans("--remove=" + row[5]), names()), ("1 plan removed\n", ["child"]))
os.unlink(f"others/{plan[:-5]}.name")
check("without a name", "\n  (unknown object)\n1 plan, " in plans(), True)
run("./child", options=OTHERS)
check("the name is written again", names(), ["child"])
check("--clear", (plans("--clear"), plans()), ("1 plan removed\n", f"0 plans, 0 KiB, in {WORK}/others\n"))
check("no folder", plans(folder="nowhere/else"), f"0 plans, 0 KiB, in {WORK}/nowhere/else\n")
end()

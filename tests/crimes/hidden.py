#!/usr/bin/env python3
"""Libraries with hidden operators new and delete that leave no frame: no report if they match, a report if
the program calls a function of another family."""
# rtc-test: crimes/hidden ci 300
# rtc-test: crimes/hidden-full full 600 --full
import os
import re
import subprocess
import sys

import wording

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ["RTC_BUILD"]
PARTS = ("hidden_delete", "hidden_new")
BUILDS = [("g++", "-O2", "-fno-plt", "-fcf-protection=full", "-Wl,-z,ibtplt"),
          ("g++", "-O2", "-Wl,-z,now", "-no-pie"),
          ("clang++", "-O2", "-fuse-ld=lld"),
          ("clang++", "-O2", "-fno-omit-frame-pointer")]
OTHERS = [("g++", "-O2"), ("g++", "-O2", "-fno-plt"), ("g++", "-O2", "-fcf-protection=full", "-Wl,-z,ibtplt"),
          ("g++", "-O3", "-fno-omit-frame-pointer"), ("g++", "-Os"), ("clang++", "-O2"), ("clang++", "-Os"),
          ("clang++", "-O3", "-fuse-ld=lld", "-fno-plt")]
failed = 0


def cases_of(part):
    with open("%s/%s.cc" % (HERE, part), encoding="utf-8") as source:
        return re.findall(r"^CASE\((\w+)\)", source.read(), re.M)


def built(number, command):
    """The program with its libraries."""
    folder = os.path.abspath("by-%s" % number)
    os.mkdir(folder)
    with open(folder + "/operators.map", "w", encoding="utf-8") as script:
        script.write("{ local: _Zn*; _Zd*; };\n")
    flags = [*command[1:], "-std=c++17", "-g", "-fno-builtin", "-fsized-deallocation", "-w"]
    for part in PARTS:
        pic = [f for f in flags if f != "-no-pie"]
        subprocess.run([command[0], *pic, "-fPIC", "-shared", "-Wl,--version-script=%s/operators.map" % folder, "-o", "%s/%s.so" % (folder, part),
                        "%s/%s.cc" % (HERE, part)], check=True)
    program = folder + "/hidden"
    subprocess.run([command[0], *flags, "-rdynamic", "-o", program, HERE + "/hidden.cc", "-Wl,--no-as-needed",
                    *("%s/%s.so" % (folder, part) for part in PARTS), "-ldl"], check=True)
    return program


def check(number, command, *options):
    global failed
    cases = sum(map(cases_of, ("hidden",) + PARTS), [])
    done = subprocess.run([BUILD + "/bin/rtcheck", "--leak-check=no", "--num-callers=16", *options,
                           built(number, command), *cases], capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, "XDG_CACHE_HOME": os.getcwd()})
    if done.returncode != 7:
        sys.exit("%s: status %d\n%s%s" % (command, done.returncode, done.stdout, done.stderr))
    errors = [e for e in wording.all_findings(done.stderr) if not re.match(r" \S+\.\d", e)]
    found = {case for case in cases for e in errors if e.startswith(" mis-") and re.search(r"\b%s\b" % case, e)}
    wrong = sorted(found ^ {case for case in cases if case.startswith("guilty")})
    failed |= bool(wrong) or len(errors) != len(found)
    print("%s: %d cases, %d errors, wrong: %s" % (" ".join(command + options), len(cases), len(errors), wrong or "none"), flush=True)


for i, how in enumerate(BUILDS + (OTHERS if "--full" in sys.argv else [])):
    check(i, how)
check("full", BUILDS[0], "--access=full")
sys.exit(failed)

"""mutant.py - builds runtimes that lack one check (src/base/mutant.h)."""
import json
import os
import re
import shlex
import subprocess

SOURCE = os.environ.get("RTC_SOURCE") or os.path.abspath(__file__ + "/../../..")
BUILD = os.environ.get("RTC_BUILD") or SOURCE + "/build"


def call(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        raise RuntimeError("%s: status %d\n%s%s" % (" ".join(command), done.returncode, done.stdout, done.stderr))


def build(scratch, mutant):
    """The tested runtime with the file of the mutant replaced."""
    with open(BUILD + "/compile_commands.json", encoding="utf-8") as text:
        commands = [c for c in json.load(text) if re.match(re.escape(SOURCE) + "/(src|shadow)/", c["file"])]
    objects = []
    for command in commands:
        words = shlex.split(command["command"])
        at = words.index("-o") + 1
        with open(command["file"], encoding="utf-8") as text:
            if "MUTANT(%s)" % mutant in text.read():
                words[at] = "%s/%s.o" % (scratch, mutant)
                call(words[:1] + ["-DRTC_MUTANT=" + mutant] + words[1:], cwd=command["directory"])
        objects.append(os.path.join(command["directory"], words[at]))
    if not os.path.exists("%s/%s.o" % (scratch, mutant)):
        raise RuntimeError("no file has the mutant " + mutant)
    library = "%s/%s.so" % (scratch, mutant)
    call(["cc", "-shared", "-nodefaultlibs", "-o", library, *objects, "-lc", "-lgcc",
          "-Wl,-z,now,-z,nodelete,-Bsymbolic-functions", "-Wl,--version-script=%s/src/rtcheck.map" % SOURCE])
    return library

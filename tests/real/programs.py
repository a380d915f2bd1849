"""
The programs of programs.tsv: where and how each is run, for the scripts beside this file.
"""
import os
import re
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT_S = 100
VARIED = ["GLIBC_TUNABLES", "LD_BIND_NOW"]

Row = namedtuple("Row", "name flags compare filter command client")
Outcome = namedtuple("Outcome", "status seconds texts")


# ---- the table ------------------------------------------------------------------------------

def read_rows(table="programs.tsv"):
    with open(os.path.join(HERE, table)) as f:
        lines = [line.rstrip("\n") for line in f if not line.startswith("#")]
    return [Row(name, set(flags.split()) - {"-"}, compare.split(), *rest)
            for name, flags, compare, *rest in (line.split("\t") for line in lines)]


def wanted_status(row):
    """The expected end of the plain run, as Popen.returncode."""
    for flag in row.flags:
        kind, _, number = flag.partition("=")
        if kind in ("status", "signal"):
            return int(number) if kind == "status" else -int(number)
    return 0


# ---- where the programs run -----------------------------------------------------------------

class Place:
    """
    A temporary folder: in/ the inputs, d/ the scratch folder of one run, log/ the files of rtcheck; and the
    command prefix of the pass.
    """

    def __init__(self, how, build, inputs, parent=None):
        self.how, self.build = how, build
        self.top = tempfile.mkdtemp(prefix="rtcheck-real.", dir=parent)
        self.inputs, self.scratch, self.log = (os.path.join(self.top, n) for n in ("in", "d", "log"))
        os.chmod(self.top, 0o755)
        shutil.copytree(inputs, self.inputs)

    def fresh(self):
        """The same folders, empty: both runs of a row see equal paths."""
        for folder in (self.scratch, self.log):
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder, 0o755)

    def expand(self, words):
        names = {"{D}": self.scratch, "{S}": self.inputs, "{L}": os.path.join(HERE, "load")}
        return [re.sub(r"\{[DSL]\}", lambda m: names[m[0]], w) for w in shlex.split(words)]

    def environment(self):
        varied = {name: os.environ[name] for name in VARIED if name in os.environ} # by tests/launch
        return {**varied, "PATH": "/usr/bin:/bin", "HOME": self.scratch, "LANG": "C.UTF-8", "TZ": "UTC",
                "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "XDG_STATE_HOME": self.log,
                "A_LONG_VARIABLE": "so that a listing of the environment has something to list"}

    def surroundings(self):
        """The words in front of everything, rtcheck included."""
        if self.how != "userns":
            return []
        return ["/usr/bin/unshare", "-Urm", os.path.join(HERE, "cell"), self.top]

    def sandboxed(self, command, calls):
        """
        env starts the program, so that rtcheck itself stays out of the sandbox.  The number of arenas
        is glibc's: beyond eight of them it reads the number of processors, which only some runs do.
        """
        library = os.path.join(self.build, "tests/real/sandbox.so")
        setting = [] if calls is None else ["RTC_TEST_SANDBOX=" + ",".join(map(str, calls))]
        return ["/usr/bin/env", "LD_PRELOAD=" + library, "MALLOC_ARENA_MAX=4", *setting, *command]

    def remove(self):
        shutil.rmtree(self.top, ignore_errors=True)


# ---- one run --------------------------------------------------------------------------------

def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Run:
    """One start of a row's command, in a new session so that all of it can be ended."""

    def __init__(self, place, words, timeout_s):
        place.fresh()
        self.place, self.timeout_s = place, timeout_s
        self.files = {name: open(os.path.join(place.log, name), "wb+")
                      for name in ("stdout", "stderr", "served")}
        self.start = time.monotonic()
        self.process = subprocess.Popen(
            words, cwd=place.scratch, env=place.environment(), stdin=subprocess.DEVNULL,
            stdout=self.files["stdout"], stderr=self.files["stderr"], start_new_session=True,
            preexec_fn=no_core)

    def wait(self):
        """The status and the time of the program's end, or of its time-out."""
        timer = threading.Timer(self.timeout_s, self.kill)
        timer.start()
        status = self.process.wait()
        seconds = time.monotonic() - self.start
        timer.cancel()
        return "a time-out" if seconds > self.timeout_s else status, seconds

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def serve(self, client):
        """Wait until the server accepts, run the client, terminate the server."""
        path = os.path.join(self.place.scratch, "s.sock")
        while self.process.poll() is None and time.monotonic() - self.start < self.timeout_s:
            if accepts(path):
                subprocess.run(client, cwd=self.place.scratch, env=self.place.environment(),
                               stdout=self.files["served"], stderr=subprocess.STDOUT,
                               timeout=self.timeout_s)
                self.process.terminate()
                return
            time.sleep(0.002)

    def texts(self, row):
        """The texts to compare, through the row's filter."""
        found = {}
        for what in row.compare:
            kind, _, name = what.partition(":")
            path = os.path.join(self.place.scratch, name) if name else self.files[kind].name
            with open(path, "rb") as f:
                found[what] = f.read()
            if row.filter != "-" and not name:
                found[what] = self.filtered(row.filter, found[what])
        return found

    def filtered(self, command, text):
        return subprocess.run(["/bin/sh", "-c", command], input=text, check=True, capture_output=True,
                              env=self.place.environment()).stdout

    def close(self):
        self.kill()
        self.process.wait()
        for f in self.files.values():
            f.close()


def accepts(path):
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(path) == 0


def run_once(place, row, words, timeout_s=TIMEOUT_S):
    run = Run(place, words, timeout_s)
    try:
        if row.client != "-":
            run.serve(place.expand(row.client))
        status, seconds = run.wait()
        return Outcome(status, seconds, run.texts(row))
    finally:
        run.close()

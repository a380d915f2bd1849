"""For tests of rtcheck's output on run files: files made by make_run, queries, and refusals."""
import json
import os
import pathlib
import signal
import subprocess

import validate_json

SOURCE = pathlib.Path(os.environ["RTC_SOURCE"])
BUILD = pathlib.Path(os.environ["RTC_BUILD"])
RTCHECK = str(BUILD / "bin/rtcheck")
MAKE_RUN = str(BUILD / "tests/report/make_run")
HERE = pathlib.Path.cwd()
WHY_NO_SHARE = "no process has recorded it"

checks = []


def check(function):
    checks.append(function)
    return function


def make(path, *words):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    subprocess.run([MAKE_RUN, path, *words], check=True)
    return path


def rtcheck(*words, env=None, **more):
    env = {**os.environ, "XDG_STATE_HOME": str(HERE / "state"), **(env or {})}
    return subprocess.run([RTCHECK, *map(str, words)], capture_output=True, text=True, env=env,
                          timeout=60, **more)


def must(condition, *printed):
    if not condition:
        raise AssertionError(" ".join(map(str, printed)))


def refused(done, status, expected):
    must(done.returncode == status, "status", done.returncode, "instead of", status, done.stderr)
    must(done.stderr == expected, "stderr:", repr(done.stderr), "instead of", repr(expected))
    must(done.stdout == "", "stdout:", done.stdout)


def report_of(done, path):
    must(done.returncode == 0, done.stderr)
    report = json.loads(pathlib.Path(path).read_text())
    printed = validate_json.complaints(report)
    must(not printed, *printed)
    return report


def main():
    """All that check has marked; the status to end with."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    failed = 0
    for function in checks:
        try:
            function()
        except (AssertionError, subprocess.SubprocessError, OSError, ValueError) as e:
            failed += 1
            print(f"FAIL {function.__name__}: {e}")
    print(f"{len(checks)} checks, {failed} failed")
    return 1 if failed else 0

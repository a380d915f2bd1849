"""judges.py - shared by the drivers of this folder: each runs its programs and prints the differences."""
import os
import subprocess
import sys
import tempfile


def run(words, folder, **env):
    env = dict(os.environ, XDG_STATE_HOME=folder, **env)
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False, env=env)


def answers(done):
    """A program's lines "NAME NUMBER"."""
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines()}


def main(name, complaints):
    """Ends with 1 if complaints(folder) has any."""
    wrong = 0
    with tempfile.TemporaryDirectory(prefix=name + "-") as folder:
        for what in complaints(folder):
            wrong += 1
            print(what)
    print("%d wrong" % wrong)
    sys.exit(wrong > 0)

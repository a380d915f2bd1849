#!/usr/bin/python3
"""Errors are reported while the program runs: it ends only when the test has read them."""
# rtc-test: launcher/live ci 60
import os
import select
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import clean_environment, main, must

PATIENCE = 20


class Run:
    """A run of live.c under rtcheck, whose stderr is read line by line."""

    def __init__(self, stage, mistakes, *options):
        self.process = subprocess.Popen(
            [stage.rtcheck, *options, stage.program('launcher/live'), str(mistakes)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=clean_environment())
        self.text = b''
        must(self.process.stdout.readline() == b'made\n', 'the program did not begin')

    def read_until(self, lines):
        """The output once it has so many lines, with the program still running."""
        end = time.monotonic() + PATIENCE
        while self.text.count(b'\n') < lines:
            ready = select.select([self.process.stderr], [], [], max(0, end - time.monotonic()))[0]
            must(ready, 'after', PATIENCE, 's only', self.text)
            self.text += os.read(self.process.stderr.fileno(), 65536)
        must(self.process.poll() is None, 'it had ended')
        return self.text.decode().splitlines()

    def end(self):
        """End the program; return all output from the beginning."""
        out, err = self.process.communicate(b'x', timeout=60)
        must(self.process.returncode == 7, 'status', self.process.returncode)
        return (self.text + err).decode().splitlines()


def reported_while_it_runs(stage):
    run = Run(stage, 2)
    lines = run.read_until(2)
    pid = lines[0].split()[1]
    for line in lines:
        must(line.startswith('rtcheck: %s duf-' % pid), 'line', line)
        must('double free of a 40-byte block; second free()' in line and 'live.c:13' in line, line)
    all_lines = run.end()
    must(any('2 double frees' in line for line in all_lines[2:]), 'not at the end:', all_lines)
    must(pid[:-1] in ' '.join(all_lines[2:]), 'another pid', all_lines)


def the_first_ten(stage):
    run = Run(stage, 12)
    lines = run.read_until(11)
    must(all(' duf-' in line for line in lines[:10]), lines)
    must(lines[10] == 'rtcheck: there are more: at the end', lines[10])
    must(any('12 double frees' in line for line in run.end()), 'not at the end')


def nothing_to_report(stage):
    """A program without errors; and one with errors that is deterministic or suppressed: nothing is printed early."""
    with open('live.supp', 'w') as f:
        f.write('suppress duf in live.c\n')
    silent, stable, loud = Run(stage, 0), Run(stage, 1, '--deterministic'), Run(stage, 1)
    hidden = Run(stage, 1, '--suppressions=live.supp')
    loud.read_until(1) # so much time has passed for the others, too
    loud.end()
    for run in silent, stable, hidden:
        lines = run.end()
        must(not any(' duf-' in line for line in lines[:1]), lines)
        must(lines[0].startswith('rtcheck: 1 problem' if run is stable else 'rtcheck: no errors' if run is silent else 'SUPPRESSED')
             or run is silent and lines[-1].startswith('rtcheck: no errors'), lines)


if __name__ == '__main__':
    main([(f.__name__, f) for f in (reported_while_it_runs, the_first_ten, nothing_to_report)])

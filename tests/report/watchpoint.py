#!/usr/bin/env python3
"""Bad writes for a debugger: without address randomisation a block has the same address in each run.

By the launcher, which prints the address, and by LD_PRELOAD, as gdb starts the program: docs/bad-writes.md.
"""
# rtc-test: report/watchpoint ci 60
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Lacking, Run, main, must

FIXED = ['setarch', '-R']


def same_address(stage):
    if subprocess.run(FIXED + ['true'], stderr=subprocess.DEVNULL).returncode != 0:
        raise Lacking('address randomisation cannot be switched off')
    program, addresses = stage.program('crimes/edges'), []
    for how in ('launcher', 'hand', 'launcher', 'hand'):
        report = Run(stage, [program, 'malloc-free', '24', '24', '1'], how=how, wrap=FIXED).wait().report
        addresses += [e['addr'] for e in report.data['errors'] if e['id'].startswith('wua-')]
    must(len(addresses) == 4 and len(set(addresses)) == 1, addresses)
    return addresses[0]


def noted(stage):
    """Only reports with bad writes have the note."""
    note = '\nnote: --rerun or --catch=ID finds the code of a bad write: docs/bad-writes.md\n'
    for value, wanted in (('1', True), ('none', False)):
        log = Run(stage, [stage.program('crimes/edges'), 'malloc-free', '24', '24', value]).wait().log
        must((note in log) == wanted, value, log)


if __name__ == '__main__':
    main([('same_address', same_address), ('noted', noted)])

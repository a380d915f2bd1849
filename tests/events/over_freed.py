#!/usr/bin/python3
"""Mappings over freed blocks succeed, and the pool and all checks leave them alone; over blocks in use they fail."""
# rtc-test: events/over_freed ci 120
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, main, must

# Each case with the codes of the reported findings.
CASES = {
    'large_whole': [], 'large_middle': [], 'large_filled': [], 'two_and_between': [], 'slab': [], 'twice': [],
    'beyond_the_end': [], 'none': [], 'no_replace': [], 'moved': [], 'attached': [], 'by_original': [],
    'with_handlers': [], 'free_late': ['baf'], 'free_late_of_slab': ['baf'], 'written_before': ['wua'],
    'holds_a_block': [], 'held_a_block': [], 'forked': [], 'forked_before': [], 'of_another_thread': [],
    'over_a_live_slot': ['bum'], 'over_a_live_neighbour': ['bum'],
}
LOST = {'held_a_block': 1}
IN_FILE = ('large_middle', 'slab', 'forked_before') # with heap=file, where a child copies the heap


def run_case(stage, name, how, options):
    run = Run(stage, [stage.program('events/over_freed'), name], how=how, options=options, keep=True).wait()
    must(run.status == 0, how, options, 'ended with', run.status, run.err, run.log)
    report = run.report
    must([e['rtc'] for e in report.data['errors']] == CASES[name], how, options, report.data['errors'])
    lost = [l for l in report.data['leaks'] if l['rtc'] == 'mel']
    must(len(lost) == LOST.get(name, 0) or name == 'beyond_the_end', how, options, lost)
    run.verify()
    run.forget()


def case(name):
    def check(stage):
        for how in ('launcher', 'hand'):
            run_case(stage, name, how, [])
            run_case(stage, name, how, ['events=all'])
    return check


def in_file(stage):
    for name in IN_FILE:
        run_case(stage, name, 'hand', ['heap=file'])


def beside_threads(stage):
    run = Run(stage, [stage.program('events/over_freed'), 'beside_threads']).wait()
    must(run.status == 0, 'ended with', run.status, run.err, run.log)
    must({e['rtc'] for e in run.report.data['errors']} <= {'bum'}, run.report.data['errors'])


if __name__ == '__main__':
    main([(n, case(n)) for n in CASES] + [('in_file', in_file), ('beside_threads', beside_threads)])

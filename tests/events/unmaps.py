#!/usr/bin/python3
"""bum, a warning: ranges that a program should not unmap, with the text for each; no warning for its twins."""
# rtc-test: events/unmaps ci 60
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, main, must

WRONG = {
    'twice': 'munmap of 16.0 KiB that is not mapped (warning)',
    'twice_on_a_small_stack': 'munmap of 16.0 KiB that is not mapped (warning)',
    'too_long': 'munmap of 24.0 KiB that is not mapped at offset 16384 (warning)',
    'over_a_block': 'munmap of 64.0 KiB over a 1048576-byte block: left as it is (warning)',
    'over_a_block_by_original': 'munmap of 64.0 KiB over a 1048576-byte block: left as it is (warning)',
    'stack_of_another': 'munmap of 8192 B on the stack of thread 2 (warning)',
    'map_over_own': "mmap of 1.0 MiB over memory of the checker's own: refused (warning)",
    'move_over_own': "mremap of 1.0 MiB over memory of the checker's own: refused (warning)",
    'attach_over_own': "shmat of 1.0 MiB over memory of the checker's own: refused (warning)",
    'map_over_the_heap': 'mmap of 1.2 MiB over a 1048576-byte block: left as it is (warning)',
    'given_stack': 'munmap of 4096 B on the stack of thread 2 (warning)',
    'stack_of_a_silent_one': 'munmap of 8192 B on the stack of a thread that is not known (warning)',
    'given_to_a_silent_one': 'munmap of 4096 B on the stack of a thread that is not known (warning)',
    'stack_of_main': 'munmap of 4096 B on the stack of the main thread (warning)',
}
RIGHT = ('pieces', 'mapped_unseen', 'several', 'stack_of_one_that_ended', 'beside_a_silent_one',
         'stack_of_main_that_ended', 'refused', 'around_a_hole', 'map_in_a_block', 'map_over_reserved')


def wrong(name, expected):
    def check(stage):
        run = Run(stage, [stage.program('events/unmaps'), name], options=['error-exitcode=5']).wait()
        report = run.report
        errors = report.data['errors']
        must(run.status == 0, 'a warning fails nothing:', run.status, run.err, run.log)
        must([(e['rtc'], e['class'], e['text']) for e in errors] == [('bum', 'warning', expected)], errors)
        must(errors[0]['id'].startswith('bum-') and errors[0]['entry'] == expected.split()[0], errors)
        must('\nrtcheck: 1 warning, no leaks; ' in run.log, run.log)
        shown = subprocess.run([stage.rtcheck, 'show', errors[0]['id'], run.pool_file()], capture_output=True, text=True, timeout=60)
        must(shown.returncode == 0 and shown.stdout.startswith('%s  %s of ' % (errors[0]['id'], errors[0]['entry'])), 'what it told of is not there:',
             shown.returncode, shown.stdout, shown.stderr)
    return check


def right(name):
    def check(stage):
        run = Run(stage, [stage.program('events/unmaps'), name]).wait()
        must(run.status == 0 and run.report.data['errors'] == [], run.status, run.report.data['errors'])
    return check


def refused(stage):
    second = {'LD_PRELOAD': stage.program('events/munmaps.so')}
    run = Run(stage, [stage.program('events/unmaps'), 'around_a_hole_refused'], env=second).wait()
    must(run.status == 0 and run.report.data['errors'] == [], run.status, run.report.data['errors'])


def suppressed(stage):
    rules = stage.room() + '/rules'
    with open(rules, 'w') as f:
        f.write('suppress bum in twice\n')
    run = Run(stage, [stage.program('events/unmaps'), 'twice'], options=['suppressions=' + rules]).wait()
    must([e['status'] for e in run.report.data['errors']] == ['suppressed'], run.report.data['errors'])
    must('warning' not in run.log, run.log)


if __name__ == '__main__':
    main([('wrong_' + n, wrong(n, s)) for n, s in WRONG.items()] + [('right_' + n, right(n)) for n in RIGHT] +
         [('around_a_hole_refused', refused), ('suppressed', suppressed)])

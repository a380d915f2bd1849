#!/usr/bin/python3
"""`suppress biu` is about the table of blocks in use; rules of other grammars are not."""
# rtc-test: suppress/uses ci 60
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, main, must


def run_with(stage, rule, *options):
    rules = stage.room() + '/rules'
    with open(rules, 'w') as f:
        f.write(rule)
    return Run(stage, [stage.program('suppress/uses')],
               options=['memuse', 'suppressions=' + rules, 'print-suppressions', *options]).wait()


def table(log):
    lines = log.split('\n')
    first = next(i for i, line in enumerate(lines) if line.startswith('in use  '))
    return lines[first], '\n'.join(line for line in lines[first:] if ' biu-' in line)


def status_of(run, function):
    report = run.report
    return [r['status'] for r in report.data['records']
            if any(function in name for f in report.stacks[r['stack']] for name in report.functions[f])]


def in_use(stage):
    for options in (), ('show-leak-kinds=all',):
        run = run_with(stage, 'suppress biu in uses_hidden\n', *options)
        heading, rows = table(run.log)
        must('; suppressed: 300 B in 3 blocks' in heading, heading)
        must('uses_shown' in rows and 'uses_hidden' not in rows, rows)
        must(set(status_of(run, 'uses_hidden')) == {'suppressed'} and set(status_of(run, 'uses_shown')) == {'new'},
             run.report.data['records'])
        must('unused' not in run.log, run.log)


def checks_in_mid_run(stage):
    """Each check decides again about the blocks in use."""
    rules = stage.room() + '/rules'
    with open(rules, 'w') as f:
        f.write('suppress biu in uses_hidden\n')
    for how in 'launcher', 'hand':
        run = Run(stage, [stage.program('suppress/uses'), 'checks'], how=how, options=['memuse', 'suppressions=' + rules]).wait()
        must(run.status == 0 and run.err == b'', how, 'status', run.status, run.err[-500:])
        must(len(run.report.images) == 2 and 'uses_hidden' not in table(run.log)[1], how, run.log)


def not_by_others(stage):
    for rule in ('suppress mel in uses_hidden\n', 'leak:uses_hidden\n',
                 '{\n x\n Memcheck:Leak\n match-leak-kinds: reachable\n fun:malloc\n fun:uses_hidden\n}\n', ''):
        heading, rows = table(run_with(stage, rule).log)
        must('suppressed' not in heading and 'uses_hidden' in rows, rule, heading, rows)


if __name__ == '__main__':
    main([('in_use', in_use), ('checks_in_mid_run', checks_in_mid_run), ('not_by_others', not_by_others)])

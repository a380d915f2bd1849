#!/usr/bin/python3
"""biu-map: what calls of the program have mapped and nobody has unmapped, by the place that did it."""
# rtc-test: events/mapped ci 60
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, main, must

ASKED = ['show-leak-kinds=mapped']


def maps(run):
    leaks = [m for m in run.report.data['leaks'] if m['rtc'] == 'biu-map']
    must(all(m['id'].startswith('biu-map-') and m['class'] == 'mapped' for m in leaks), leaks)
    return sorted((m['blocks'], m['bytes'] // 4096) for m in leaks)


def stays(how):
    def check(stage):
        run = Run(stage, [stage.program('events/mapped'), 'stays'], how=how, options=ASKED).wait()
        must(run.status == 0 and maps(run) == [(1, 1), (1, 2), (1, 2), (1, 3), (1, 6)], maps(run))
        must('STILL MAPPED (biu-map)  5 places: 56.0 KiB in 5 mappings' in run.log, run.log)
        must('no problems' in run.log, run.log)
    return check


def silent(name, *options):
    def check(stage):
        run = Run(stage, [stage.program('events/mapped'), name], options=options).wait()
        must(run.status == 0 and maps(run) == [] and 'MAPPED' not in run.log, maps(run), run.log)
    return check


def inherited(stage):
    run = Run(stage, [stage.program('events/mapped'), 'inherited'], options=ASKED).wait()
    must(run.status == 0 and maps(run) == [(1, 1)], maps(run))
    leak, = run.report.data['leaks']
    must(leak['process'] == [2], leak)


def problem(stage):
    run = Run(stage, [stage.program('events/mapped'), 'stays'],
              options=['errors-for-leak-kinds=biu-map', 'error-exitcode=5']).wait()
    must(run.status == 5 and '5 problems: 5 places that map' in run.log, run.status, run.log)


def suppressed(stage):
    rules = stage.room() + '/rules'
    with open(rules, 'w') as f:
        f.write('{\n   mine\n   rtcheck:biu-map\n   ...\n   fun:stays\n}\n{\n   no mapping\n   Memcheck:Leak\n   ...\n   fun:main\n}\n')
    run = Run(stage, [stage.program('events/mapped'), 'stays'], options=ASKED + ['suppressions=' + rules]).wait()
    must({m['status'] for m in run.report.data['leaks']} == {'suppressed'}, run.report.data['leaks'])
    must('MAPPED' not in run.log, run.log)
    with open(rules, 'w') as f:
        f.write('{\n   of blocks\n   Memcheck:Leak\n   ...\n   fun:main\n}\n')
    run = Run(stage, [stage.program('events/mapped'), 'stays'], options=ASKED + ['suppressions=' + rules]).wait()
    must({m['status'] for m in run.report.data['leaks']} == {'new'}, run.report.data['leaks'])


if __name__ == '__main__':
    main([('stays_by_hand', stays('hand')), ('stays_by_launcher', stays('launcher')),
          ('goes', silent('goes', *ASKED)), ('not_asked', silent('stays')), ('inherited', inherited),
          ('problem', problem), ('suppressed', suppressed)])

#!/usr/bin/python3
"""biu-map: ranges mapped by calls of the program and not unmapped, by the calling site."""
# rtc-test: events/mapped ci 120
import os
import re
import subprocess
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
        must('STILL MAPPED  56.0 KiB in 5 mappings, 5 places' in run.log, run.log)
        must('rtcheck: no errors' in run.log, run.log)
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
    run = Run(stage, [stage.program('events/mapped'), 'inherited'], how='hand', keep=True).wait()
    child = events(stage, run.pool_file()).split('process ')[2]
    must('1 call mapped, 1 unmapped; 4096 B by them, 32.0 KiB at most with inherited mappings' in child, child)


def children(stage):
    run = Run(stage, [stage.program('events/mapped'), 'children'], options=['mappings']).wait()
    must(run.status == 0 and '4 calls mapped, 3 unmapped; 28.0 KiB by them, 32.0 KiB at most in one process\n' in run.log, run.log)
    must(run.report.data['summary']['mappings']['bytes'] == 7 * 4096, run.report.data['summary'])
    run = Run(stage, [stage.program('events/mapped'), 'children'], how='hand', keep=True).wait()
    printed = events(stage, run.pool_file())
    must('1 call mapped, 0 unmapped; 28.0 KiB by them, 28.0 KiB at most\n' in printed, printed)
    must(printed.count('1 call mapped, 1 unmapped; 0 B by them, 32.0 KiB at most with inherited mappings\n') == 3, printed)


def left(stage):
    """Handlers that jump out of calls at any point: the map is rebuilt, and contains the previous ranges."""
    run = Run(stage, [stage.program('events/mapped'), 'left'], options=ASKED + ['mappings'], keep=True).wait()
    must(run.status == 0, run.status, run.err)
    rounds = int(run.out)
    kept = [m for m in maps(run) if m[0] < m[1]]  # others are pages of calls that were left
    must(kept == [(1, 2), (1, 3), (1, 4), (rounds, 5 * rounds)], kept, rounds)
    printed = run.report.data['summary']['mappings']
    must(printed['made_anew'] > 0 and 'read from the kernel %d times, because handlers' % printed['made_anew'] in run.log, printed, run.log)
    must(printed['mapped'] > 100, printed)
    must('in the midst of a change' not in events(stage, run.pool_file()), 'read in the midst of a change')


def first_left(stage):
    """A child's first call, left during the copy of its parent's map: no range of the copy or of the parent is lost."""
    run = Run(stage, [stage.program('events/mapped'), 'first_left'], options=ASKED).wait()
    must(run.status == 0, run.status, run.err)
    must('is damaged' not in run.log, run.log)


def problem(stage):
    run = Run(stage, [stage.program('events/mapped'), 'stays'],
              options=['errors-for-leak-kinds=biu-map', 'error-exitcode=5']).wait()
    must(run.status == 5 and ': 5 mappings left (56.0 KiB)' in run.log, run.status, run.log)


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


def no_equal_rules(stage):
    """Places in different lines of one function have one rule, and each that is made is used."""
    run = Run(stage, [stage.program('events/mapped'), 'stays'], options=ASKED + ['gen-suppressions=all']).wait()
    rules = stage.room() + '/rules'
    made = re.findall(r'^\{\n   biu-map-.*?^\}\n', run.log, re.M | re.S)
    must(1 < len(made) < 5, len(made), run.log)
    with open(rules, 'w') as f:
        f.writelines(made)
    run = Run(stage, [stage.program('events/mapped'), 'stays'], options=ASKED + ['suppressions=' + rules]).wait()
    report = run.report.data
    must({m['status'] for m in report['leaks']} == {'suppressed'}, report['leaks'])
    must(not any(s['unused'] for s in report['suppressions'] if 'file' in s), report['suppressions'])


def known(*options):
    """rtcheck can read a baseline that it has written; findings in it are neither reported nor problems."""
    def check(stage):
        program = [stage.program('events/mapped'), 'stays']
        file = stage.room() + '/known'
        options_ = ASKED + ['error-exitcode=5', 'baseline=' + file, *options]
        run = Run(stage, program, options=options_ + ['update-baseline']).wait()
        must(run.status == 0 and len(maps(run)) == 5, run.status, maps(run))
        run = Run(stage, program, options=options_).wait()
        must(run.status == 0 and 'MAPPED' not in run.log and 'findings by %s\n' % file in run.log, run.status, run.err, run.log)
        must({m['status'] for m in run.report.data['leaks']} == {'known'}, run.report.data['leaks'])
        run = Run(stage, [program[0], 'children'], options=options_).wait()
        must([m['status'] for m in run.report.data['leaks']] == ['new'] and 'STILL MAPPED' in run.log, run.log)
    return check


def shown(stage):
    run = Run(stage, [stage.program('events/mapped'), 'children'], options=ASKED, keep=True).wait()
    leak, = run.report.data['leaks']
    done = subprocess.run([stage.rtcheck, 'show', '--deterministic', leak['id'], run.pool_file()], capture_output=True,
                          text=True, timeout=60)
    must(done.returncode == 0 and done.stdout.startswith(leak['id'] + '  still mapped: 28.0 KiB\n'),
         done.returncode, done.stdout, done.stderr)
    must('\n  mapped by     main thread\n' in done.stdout and '\n  mapped\n' in done.stdout, done.stdout)
    must('referrer' not in done.stdout and ' children' in done.stdout, done.stdout)


def new_by_mark(how):
    """As for blocks: since the last mark; and the report does not claim that no pointer exists, as none was
    searched for."""
    def check(stage):
        run = Run(stage, [stage.program('events/mapped'), 'two_mark'], how=how, options=ASKED).wait()
        leaks = run.report.data['leaks']
        news = sorted((m['bytes'] // 4096, m['new']['bytes'] // 4096, m['new']['blocks']) for m in leaks)
        must(news == [(1, 0, 0), (2, 2, 1), (3, 3, 1), (5, 0, 0)], news)
        must({m['witness']['type'] for m in leaks} == {'unknown'}, leaks)
        must('nobody points' not in leaks[0]['witness']['where'], leaks)
        table = re.findall(r'^ +(\S+ \w+) +1 +(\d)  \w', run.log, re.M)
        must(sorted(table) == [('12.0 KiB', '1'), ('20.0 KiB', '0'), ('4096 B', '0'), ('8192 B', '1')], run.log)
    return check


def section(stage):
    run = Run(stage, [stage.program('events/mapped'), 'goes'], options=['mappings']).wait()
    lines = run.log.split('\n')
    at = [i for i, line in enumerate(lines) if line.startswith('MAPPINGS')][0]
    must(lines[at] == 'MAPPINGS        3 calls mapped, 2 unmapped; 0 B by them, 16.0 KiB at most', lines[at])
    must(re.fullmatch(r' +by other calls: [1-9]\d* librar\w+, \d+ stacks? and \d+ more mapped, 1 unmapped, 0 changed',
                      lines[at + 1]), lines[at + 1])
    summary = run.report.data['summary']['mappings']
    must(summary['mapped'] == 3 and summary['bytes'] == 0 and summary['behind']['gone'] == 1, summary)


def marks(how):
    def check(stage):
        run = Run(stage, [stage.program('events/mapped'), 'marks'], how=how, options=['mappings', 'deterministic']).wait()
        rows = re.findall(r'^  (\d) +\d+ +(\d+) +(\S+ \w+) +(\S+ \w+)$', run.log, re.M)
        must([r[0] for r in rows] == ['2', '3'] and [r[3] for r in rows] == ['16.0 KiB', '4096 B'], run.log)
        marks = run.report.data['processes'][0]['at_marks']
        first, second = marks
        must((second['blocks'], second['bytes']) == (first['blocks'] + 1, first['bytes'] + 24), marks)
        must((first['mapped_bytes'], second['mapped_bytes']) == (16384, 4096) and second['time'] >= first['time'], marks)
    return check


def marks_of_two(stage):
    """Each table names its process."""
    run = Run(stage, [stage.program('events/mapped'), 'two_mark'], options=['mappings']).wait()
    pids = {p['n']: p['pid'] for p in run.report.data['processes']}
    tables = re.findall(r'^  mapped, process (\d+):\n  Mark .*Mapped\n((?:  \d .*\n)+)', run.log, re.M)
    must([int(pid) for pid, _ in tables] == [pids[1], pids[2]], pids, run.log)
    must([rows.rstrip().endswith(end) for (_, rows), end in zip(tables, (' 20.0 KiB', ' 4096 B'))] == [True, True], tables)


def nothing_mapped(stage):
    run = Run(stage, ['/bin/true'], options=['mappings']).wait()
    must('MAPPINGS        no calls that map or unmap\n' in run.log, run.log)
    must('mappings' not in run.report.data['summary'], run.report.data['summary'])


# ---- rtcheck events ---------------------------------------------------------------------------------

CALLED = re.compile(r' rw-p +([0-9.]+ \w+)  anonymous, called by pages .*? < (\w+) ')


def events(stage, *words):
    done = subprocess.run([stage.rtcheck, 'events', *words], capture_output=True, text=True, timeout=60)
    must(done.returncode == 0, done.returncode, done.stderr)
    return done.stdout


def of_killed(stage):
    """SIGKILL leaves the map as it was then."""
    run = Run(stage, [stage.program('events/mapped'), 'killed'], how='hand', options=['leaks=no']).wait()
    printed = events(stage, run.pool_file())
    must(run.status == -9 and '(mapped), killed: 2 calls mapped, 1 unmapped; 12.0 KiB by them, 20.0 KiB at most'
         in printed, run.status, printed)
    must(CALLED.findall(printed) == [('12.0 KiB', 'killed')] and 'there at first' in printed, printed)
    must(re.search(r' r-xp .*  %s, there at first\n' % re.escape(stage.program('events/mapped')), printed), printed)


def of_running(how):
    def check(stage):
        run = Run(stage, [stage.program('events/mapped'), 'waits'], how=how, stdin=subprocess.PIPE)
        must(run.process.stdout.readline() == b'ready\n', 'it did not begin')
        pid = run.process.pid
        if how == 'launcher':
            with open('/proc/%d/task/%d/children' % (pid, pid)) as f:
                pid = [int(c) for c in f.read().split()
                       if b'events/mapped' in open('/proc/%s/cmdline' % c, 'rb').read().split(b'\0')[0]][0]
        printed = events(stage, str(pid))
        run.process.stdin.write(b'x')
        run.process.stdin.flush()
        run.wait()
        must(printed.startswith('process %d (mapped), running: 2 calls mapped, 0 unmapped' % pid), printed)
        must(CALLED.findall(printed) == [('12.0 KiB', 'waits')], printed)
        libc = [os.path.realpath(line.split()[-1]) for line in open('/proc/self/maps') if '/libc.so.6' in line][0]
        must(re.search(r' r-xp .*  %s, there at first\n' % re.escape(libc), printed), 'a library has no path', printed)
        must(re.search(r' rw-p +4096 B  %s, called by waits ' % re.escape(stage.program('events/mapped')), printed), printed)
    return check


def of_finished(stage):
    run = Run(stage, [stage.program('events/mapped'), 'goes'], keep=True).wait()
    printed = events(stage, run.pool_file())
    must(not CALLED.findall(printed), printed)
    must(re.search(r'by other calls: [1-9]\d* librar\w+, \d+ stacks? and \d+ more mapped, 1 unmapped, 0 changed', printed), printed)


def of_nothing(stage):
    for words in (['1'], [], ['/dev/null'], ['--helps']):
        done = subprocess.run([stage.rtcheck, 'events'] + words, capture_output=True, text=True, timeout=60)
        must(done.returncode == 125 and done.stderr and not done.stdout, words, done)


if __name__ == '__main__':
    main([('stays_by_hand', stays('hand')), ('stays_by_launcher', stays('launcher')),
          ('goes', silent('goes', *ASKED)), ('not_asked', silent('stays')), ('inherited', inherited), ('children', children),
          ('interrupted', silent('interrupted')), ('left', left), ('first_left', first_left),
          ('problem', problem), ('suppressed', suppressed), ('no_equal_rules', no_equal_rules),
          ('known_as_problem', known('errors-for-leak-kinds=mapped')), ('known_as_told', known()), ('shown', shown),
          ('new_by_mark_by_hand', new_by_mark('hand')), ('new_by_mark_by_launcher', new_by_mark('launcher')), ('section', section),
          ('marks_by_hand', marks('hand')), ('marks_by_launcher', marks('launcher')), ('marks_of_two', marks_of_two), ('nothing_mapped', nothing_mapped),
          ('events_of_killed', of_killed),
          ('events_of_running_by_hand', of_running('hand')),
          ('events_of_running_by_launcher', of_running('launcher')), ('events_of_finished', of_finished),
          ('events_of_nothing', of_nothing)])

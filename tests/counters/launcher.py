#!/usr/bin/python3
"""rtcheck --counters: counts of a program with its threads and children, from outside."""
# rtc-test: counters/launcher ci 60
import errno
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../report')
from contract import CLOCKS, MESSAGES, words_of
from harness import Run, clean_environment, main, must
from validate_json import schema_complaints


WAITED_FOR = 'getrusage, of what was waited for'


def counted(stage, names, program='counters/faults', status=5, **more):
    """The rows of the JSON report, by name; of a run that ends as it does alone."""
    run = Run(stage, [stage.program(program)], options=['counters=' + names], **more).wait()
    must(run.status == status, 'status', run.status, run.err)
    rows = run.report.data['counters']
    must(not schema_complaints(run.report.data), schema_complaints(run.report.data))
    must([row['name'] for row in rows] == names.split(','), 'names', rows)
    for row in rows:
        known = row['value'] is not None
        must(('source' in row) == known and ('why' in row) != known, 'a number and its source, or why not', row)
    return {row['name']: row for row in rows}, run


def everybody(stage):
    """Each of four processes touches 1000 pages; no other process touches many."""
    rows, run = counted(stage, 'page-faults:u,page-faults,task-clock,clock:monotonic,rusage:minor-faults,dummy')
    must(4000 <= rows['page-faults:u']['value'] <= 6500, rows)
    must(rows['page-faults:u']['value'] <= rows['page-faults']['value'] <= 9000, rows)
    must(4000 <= rows['rusage:minor-faults']['value'] and rows['rusage:minor-faults']['source'] == WAITED_FOR, rows)
    must(0 < rows['task-clock']['value'] and rows['task-clock']['source'] == 'perf: software', rows)
    must(rows['dummy']['value'] == 0 and rows['dummy']['enabled_ns'] > 0, 'a counter that counted nothing', rows)
    must(rows['clock:monotonic']['value'] > 1000000, rows)
    return '%d page faults' % rows['page-faults:u']['value']


def text(stage):
    """The same counters in the text, before the last line; not in a deterministic report."""
    run = Run(stage, [stage.program('counters/faults')], options=['counters=faults:u,rusage:user-time,clock:thread'], files=False).wait()
    lines = run.err.decode().splitlines()[-4:]
    for line, wanted in zip(lines, (r'COUNTERS        faults:u                 {10}\d{4}     perf: software',
                                    r'                rusage:user-time +\d+ ns  ' + WAITED_FOR,
                                    r'                clock:thread            n/a: this clock measures one thread only',
                                    r'rtcheck: no errors, .*')):
        must(re.fullmatch(wanted, line), repr(line), 'is not', wanted)
    for options in (['counters=faults', 'deterministic'], []):
        run = Run(stage, [stage.program('counters/faults')], options=options, files=False).wait()
        must(b'COUNTERS' not in run.err, run.err)


def kept(stage):
    """A kept file has the same counters, in the text and in JSON; one whose measurement failed contains a
    note."""
    names = 'page-faults:u,rusage:user-time,instructions,clock:thread'
    run = Run(stage, [stage.program('counters/faults')], options=['counters=' + names, 'measure=2'], keep=True).wait()
    first, again = run.report.data, run.reread().data
    must(len(first['counters']) == 4 and first['counters'] == again['counters'], first['counters'], again['counters'])
    must(first['cost']['measured']['pairs'] == 2 and first['cost']['measured'] == again['cost']['measured'], first, again)
    must(not schema_complaints(again), schema_complaints(again))
    reported = subprocess.run([stage.rtcheck, 'report', run.pool_file()], env=clean_environment(), capture_output=True, text=True, timeout=50)
    for title in ('MEASURED', 'COUNTERS'):
        must(title in run.log and run.log.split(title)[1].split('\nrtcheck: ')[0] in reported.stdout, title, run.log, reported.stdout)
    must('what came of' not in reported.stdout and b' told counter page-faults:u flags=' in run.verify(), reported.stdout)
    run = Run(stage, ['sh', '-c', 'kill -9 $$'], options=['measure=2'], keep=True).wait()
    reported = subprocess.run([stage.rtcheck, 'report', run.pool_file()], env=clean_environment(), capture_output=True, text=True, timeout=50)
    must('note: --measure: nothing was measured\n' in reported.stdout and 'MEASURED' not in reported.stdout, reported.stdout)


def reasons(stage):
    """Events that perf_event_open refuses have the same reason as in a program; a clock replaces them if it is
    equivalent, never 0."""
    for name in MESSAGES:
        scene = [stage.program('counters/refuse'), str(getattr(errno, name))]
        rows = counted(stage, 'instructions:u,minor-faults:u,page-faults,task-clock', wrap=scene)[0]
        why = words_of(name)
        software = why.replace('no PMU', 'the kernel has no such event')
        must(rows['instructions:u']['why'] == why and rows['minor-faults:u']['why'] == software, name, rows)
        for clock in ('page-faults', 'task-clock'):
            row = rows[clock]
            if name[1:] in CLOCKS:
                must(row['value'] > 0 and row['source'] == WAITED_FOR, name, row)
            else:
                must(row['why'] == software, name, row, software)
    return '%d errors' % len(MESSAGES)


def machine(stage):
    """Events that this machine lacks have a reason and no value."""
    names = 'instructions,r1c2,LLC-load-misses,nothing/event=1,umask=2/,clock:thread,schedstat:wait-time'
    run = Run(stage, [stage.program('counters/faults')], options=['counters=' + names]).wait()
    rows = {row['name']: row for row in run.report.data['counters']}
    must(rows['nothing/event=1,umask=2/']['why'] == 'n/a: there is no PMU of this name: nothing', rows)
    must(rows['clock:thread']['why'] == rows['schedstat:wait-time']['why'] == 'n/a: this clock measures one thread only', rows)
    if not os.path.exists('/sys/bus/event_source/devices/cpu'):
        must(all(rows[name]['why'] == 'n/a: no PMU' for name in ('instructions', 'r1c2', 'LLC-load-misses')), rows)


def by_libpfm(stage):
    """Names that only libpfm4 has: of the kernel, of a processor, of another one; the program's environment is
    unchanged."""
    rows = counted(stage, 'perf::PAGE-FAULTS,page-faults,perf::PAGE-FAULTS:u,page-faults:u')[0]
    must(4000 <= rows['perf::PAGE-FAULTS:u']['value'] <= rows['perf::PAGE-FAULTS']['value'] <= 9000, rows)
    for mode in ('', ':u'):
        other, own = rows['perf::PAGE-FAULTS' + mode], rows['page-faults' + mode]
        must(other['source'] == own['source'] == 'perf: software' and abs(other['value'] - own['value']) < 50, rows)
    intel, amd = 'skl::INST_RETIRED:ANY_P', 'amd64_fam15h_interlagos::CPU_CLK_UNHALTED'
    rows = counted(stage, intel + ',' + amd)[0]
    whys = [rows[name].get('why') for name in (intel, amd)]
    must('n/a: an event of another processor' in whys, 'no processor is both', whys)
    rows = counted(stage, intel, env={'LIBPFM_FORCE_PMU': 'skl'})[0]
    if not os.path.exists('/sys/bus/event_source/devices/cpu'):
        must(rows[intel]['why'] == 'n/a: no PMU', rows)
    for value in (None, '1', '0'):
        env = {'LIBPFM_ENCODE_INACTIVE': value} if value else {}
        run = Run(stage, ['env'], options=['counters=perf::PAGE-FAULTS', 'quiet'], files=False, env=env).wait()
        printed = [line for line in run.out.decode().splitlines() if 'LIBPFM' in line]
        must(printed == (['LIBPFM_ENCODE_INACTIVE=' + value] if value else []), printed)
    run = Run(stage, ['true'], options=['counters=skl::NOTHING'], files=False).wait()
    must(run.status == 125 and b'there is no event of this name: skl::NOTHING' in run.err, run.err)


def unchecked(stage):
    """A program that cannot be checked can be counted."""
    run = Run(stage, [stage.program('launcher/static')], options=['counters=faults', 'allow-unchecked'], files=False).wait()
    must(re.search(r'\nCOUNTERS +faults +\d+ +perf: software(, user mode alone)?\nrtcheck: program was not checked', '\n' + run.err.decode()), run.err)


ORDINARY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] if os.geteuid() == 0 else []


def guarded(stage):
    """The exec of a program that an ordinary user may not read closes the counters: then no value is 0."""
    for mode in (0o4711, 0o711, 0o755):
        program = stage.room() + '/faults'
        shutil.copy(stage.program('counters/faults'), program)
        os.chmod(program, mode if ORDINARY else mode & 0o4111)
        run = Run(stage, [program], options=['counters=page-faults,dummy', 'allow-unchecked'], files=False, wrap=ORDINARY).wait()
        faults = re.search(r'COUNTERS +page-faults +(\d+) +(\w+)', run.err.decode())
        must(run.status == 5 and faults and int(faults[1]) > 1000, mode, run.status, run.err)
        must(mode == 0o755 or not ORDINARY or faults[2] == 'getrusage', mode, run.err)
        must((b'n/a: the kernel takes counters away from' in run.err) == (faults[2] == 'getrusage'), mode, run.err)


def mistakes(stage):
    """An unknown name: the program is not started."""
    for names, printed in (('page-faults,nonsense', 'there is no event of this name: nonsense (--counters=help lists them)'),
                        ('cs:u', 'this happens in the kernel alone: cs:u'),
                        ('task-clock:k', 'its modes are not counted apart: task-clock:k'),
                        ('rusage:user-time:u', 'its modes are not counted apart: rusage:user-time:u'),
                        *((name, 'there is no event of this name: %s (--counters=help lists them)' % name)
                          for name in ('page-faults:x', 'r1c2:x', ':u', ':uk', 'sched:')),
                        ('', "option counters: no name of an event: ''"),
                        ('faults,,cs', "option counters: no name of an event: ''"),
                        ('msr/nothing/', 'the PMU msr has no event and no attribute of this name: nothing'),
                        ('msr/event=x/', 'this is no number: x'),
                        ('msr/event=08,event=0x/', 'this is no number: 0x'),
                        ('cpu/x', 'not of the form PMU/EVENT/: cpu/x'),
                        (','.join(['faults'] * 33), 'option counters: more than 32 events')):
        if 'msr' in names and not os.path.exists('/sys/bus/event_source/devices/msr'):
            continue
        run = Run(stage, ['echo', 'hello'], options=['counters=' + names], files=False).wait()
        must((run.status, run.out, run.err.decode()) == (125, b'', 'rtcheck: %s\n' % printed), names, run.status, run.err)
    run = Run(stage, ['echo', 'hello'], options=['counters=nonsense'], env={'RTCHECK_TEST_WITHOUT': 'libpfm'}, files=False).wait()
    must(run.err.endswith(b'; libpfm4, which has those of processors, is not installed\n'), run.err)


def names(stage):
    """All available names, each with its source or a reason; each can be counted."""
    done = subprocess.run([stage.rtcheck, '--counters=help'], env=clean_environment(), capture_output=True, text=True, timeout=50)
    rows = dict(line.split(None, 1) for line in done.stdout.splitlines())
    must(done.returncode == 0 and rows['task-clock'] == 'perf: software' and rows['clock:monotonic'].startswith('clock_gettime'), rows)
    must('L1-dcache-loads' in rows and all(re.match('perf: |n/a: |getrusage|clock_gettime', words) for words in rows.values()), rows)
    some = sorted(rows)[::len(rows) // 20 + 1]
    counted(stage, ','.join(some))
    denied = subprocess.run([stage.program('counters/refuse'), str(errno.EACCES), stage.rtcheck, '--counters=help'],
                            env=clean_environment(), capture_output=True, text=True, timeout=50)
    rows = dict(line.split(None, 1) for line in denied.stdout.splitlines())
    must(rows['cs'] == rows['page-faults'] == WAITED_FOR and rows['dummy'].startswith('n/a: not permitted'), rows)
    with open('/dev/full', 'w') as full:
        done = subprocess.run([stage.rtcheck, '--counters=help'], env=clean_environment(), stdout=full, timeout=50)
    must(done.returncode == 125, 'no room for the names', done.returncode)
    return '%d names' % len(rows)


if __name__ == '__main__':
    main([('everybody', everybody), ('text', text), ('kept', kept), ('reasons', reasons), ('machine', machine), ('by_libpfm', by_libpfm),
          ('unchecked', unchecked), ('guarded', guarded), ('mistakes', mistakes), ('names', names)])

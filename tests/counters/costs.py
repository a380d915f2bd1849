#!/usr/bin/python3
"""The runtime's share of the costs in the report: of threads, children and killed processes, and on machines that do
not provide it."""
# rtc-test: counters/costs ci 120
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../report')
from harness import Run, main, must
from validate_json import schema_complaints

PAIRS = 50000
OPERATIONS = ('allocate', 'free')


def run(stage, mode, options=(), how='launcher', status=0):
    """(cost.self, the log)."""
    done = Run(stage, [stage.program('counters/busy'), mode], how=how, options=['cost', *options]).wait()
    must(done.status == status, mode, done.status, done.err[-300:])
    return done.report.data['cost']['self'], done.log


def operations(self):
    return [self['share']['work'][name].get('operations', 0) for name in OPERATIONS]


def are_about(got, wanted, mode):
    for n in got:
        must(wanted * 0.75 < n < wanted * 1.25, mode, 'operations', got, 'instead of', wanted)


def counted(stage):
    """Over all threads and processes, by the launcher and by hand."""
    for mode, times in (('plain', 2), ('threads', 6), ('forks', 6)):
        self, log = run(stage, mode)
        are_about(operations(self), times * PAIRS, mode)
        must('own cost: ' in log and 'p99' in log, log)
    self, log = run(stage, 'plain', how='hand')
    are_about(operations(self), 2 * PAIRS, 'by hand')
    share = self['share']
    must(share['ns'] == sum(w['ns'] or 0 for w in share['work'].values()) or
         abs(share['ns'] - sum(w['ns'] or 0 for w in share['work'].values())) < 10, share)
    must(0 < share['alloc_ns']['p50'] <= share['alloc_ns']['p99'], share)
    # in the cache a free, and the same stack once more, may take less than the clock's resolution: n/a
    must(all(share['work'][name]['ns'] for name in ('allocate', 'quarantine', 'scan', 'start')), share)
    work = run(stage, 'deep')[0]['share']['work']
    must(all(work[name]['ns'] for name in ('allocate', 'unwind', 'quarantine', 'scan', 'start')), work)
    must(share['report_ns'] > 0 and share['report_faults'] > 50, share)
    scan, start = share['work']['scan']['faults'], share['work']['start']['faults']
    must(20 < start < 1000 and 0 < scan < 1000, 'pages of our own that were new', share)
    must('page faults of scan %d, of start %d (getrusage); cycles ' % (scan, start) in log, log)
    must(abs(sum(share['work'][name]['faults'] or 0 for name in (*OPERATIONS, 'resize')) - share['faults']) <= 2, share)


def maps(stage):
    """The cost per mapping call is less than 100 microseconds, and not 0."""
    self, log = run(stage, 'maps')
    work = self['share']['work']
    are_about([work['events']['operations']], 2 * PAIRS, 'maps')
    are_about(operations(self), 2 * PAIRS, 'maps')
    each = work['events']['ns'] / (2 * PAIRS)
    must(5 < each < 100000 and 'events ' in log, each, log)
    self, log = run(stage, 'notified')
    reported = self['share']['work']['events']
    are_about([reported['operations']], PAIRS, 'notified')
    must(each / 2 < reported['ns'] / PAIRS < 500, 'with the time of handlers, or without notifying them:', reported, each)
    return '%.0f ns each, %.0f where they are notified' % (each, reported['ns'] / PAIRS)


def cycles(stage):
    """At the rate of the run's own counter, or for the same reason none."""
    done = Run(stage, [stage.program('counters/busy'), 'plain'], options=['cost', 'counters=faults,cycles']).wait()
    share, row = done.report.data['cost']['self']['share'], done.report.data['counters'][1]
    must(not schema_complaints(done.report.data), schema_complaints(done.report.data))
    if row['value'] is None or row['user_alone']:
        why = row.get('why', 'n/a: they were counted in user mode alone')
        must(share['cycles'] is None and share['cycles_why'] == why and 'cycles ' + why in done.log, share, row, done.log)
        must(all(w['cycles'] is None for w in share['work'].values()), share)
        return why
    at = row['value'] / row['enabled_ns']
    must(abs(share['cycles'] - share['ns'] * at) <= 0.01 * share['ns'] * at and at > 0.1, share, row)
    must(abs(sum(w['cycles'] or 0 for w in share['work'].values()) - share['cycles']) < 10, share)
    return '%.2f per ns' % at


def killed(stage):
    """The work until the kill is counted."""
    self, log = run(stage, 'killed', status=-9)
    are_about(operations(self), PAIRS, 'killed')
    must(self['share']['work']['scan']['ns'] == 0 and self['share']['work']['scan']['faults'] is None, self)
    must(self['share']['work']['start']['faults'] > 20, self)


def forbidden(stage):
    """Reading the processor's clock may be forbidden: then nothing is timed, and the program is not
    killed."""
    self, log = run(stage, 'forbidden')
    are_about(operations(self), PAIRS, 'forbidden')
    must(self['share']['sandboxed'] and 'until' in log, self, log)


def between(stage):
    """Children may begin at any operation of a row, and their first operation may be one that is due to be
    timed."""
    run(stage, 'between', options=['cost-every=1'])


def too_few(stage):
    """Operations that were not timed have no cost, and not 0."""
    done = Run(stage, ['/bin/true'], options=['cost', 'cost-every=1000000']).wait()
    share = done.report.data['cost']['self']['share']
    must(share['alloc_ns'] is None and share['work']['allocate']['ns'] is None, share)
    must(share['faults'] is None and share['kernel_ns'] is None and 'in these' not in done.log, share, done.log)
    must('an allocation: n/a: none was timed; a free: n/a' in done.log and 'of about' not in done.log, done.log)


def switched_off(stage):
    self, log = run(stage, 'plain', options=['cost-every=0'])
    must(self['share'] is None and 'cost-every=0' in self['share_why'], self)
    must('own cost: n/a: nothing was timed: cost-every=0\n' in log, log)


main([(f.__name__, f) for f in (counted, maps, cycles, killed, forbidden, between, too_few, switched_off)])

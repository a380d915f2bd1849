#!/usr/bin/python3
"""Counters (rtcheck/cpc.h): every row of the contract, by hand and by the launcher."""
# rtc-test: counters/contract ci 120
import errno
import os
import re
import resource
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import SOURCE, Run, main, must
from contracts import absent, example, header, rows_hold

ROWS = re.findall(r'^ROW\((\w+)\)', open(SOURCE + '/tests/counters/contract.def').read(), re.M)


def rows(how, without=None):
    def check(stage):
        env = {'RTCHECK_TEST_WITHOUT': without} if without else {}
        # A raw clone is seen only by the page that the kernel wipes.
        wanted = [r for r in ROWS if not without or 'fork' in r and r != 'forks_while_others_count']
        return rows_hold(stage, 'counters/contract', wanted, how, env=env)
    return check


# The text for an event that perf_event_open refuses, and for the events that a clock can replace.
CLOCKS = ('ACCES', 'PERM', 'NOSYS')
MESSAGES = {
    'ENOENT': '1 %s: n/a: no PMU',
    'EACCES': '9 %s: n/a: not permitted (perf_event_paranoid is LEVEL)',
    'EPERM': "9 %s: n/a: forbidden by the system: a container's filter, or a security module",
    'ENOSYS': '10 %s: n/a: the kernel has no perf events',
    'EINVAL': '7 %s: n/a: the kernel cannot count it with these flags and attributes',
    'EMFILE': '5 %s: n/a: no descriptor left in this process (RLIMIT_NOFILE is FILES)',
    'EBUSY': '5 %s: n/a: somebody else has the counters to himself',
    'EOPNOTSUPP': '6 %s: n/a: the PMU cannot count it in this way',
}


def filled(printed):
    printed = printed.replace('LEVEL', open('/proc/sys/kernel/perf_event_paranoid').read().strip())
    return printed.replace('FILES', str(resource.getrlimit(resource.RLIMIT_NOFILE)[0]))


def words_of(name):
    """The reason alone."""
    return filled(MESSAGES[name]).split('%s: ')[1]


def expected(name):
    printed = 'rtc_cpc_bind_curlwp ' + filled(MESSAGES[name])
    software = printed.replace('no PMU', 'the kernel has no such event')
    in_kernel = software.replace('permitted', 'permitted in the kernel')
    if name[1:] in CLOCKS:
        others = ['page-faults getrusage', 'task-clock clock_gettime: CPU time of the thread']
    else:
        others = [in_kernel % 'page-faults', software % 'task-clock']
    return ['software only, 0 counters, capabilities 0', printed % 'instructions', software % 'minor-faults'] + others


def reasons(stage):
    """Each refusal of the kernel has its text; an event that was not opened is not counted."""
    for name in MESSAGES:
        scene = [stage.program('counters/refuse'), str(getattr(errno, name))]
        run = Run(stage, [stage.program('counters/reasons')], how='hand', wrap=scene).wait()
        must(run.status == 0, name, run.status, run.err)
        must(run.out.decode().splitlines() == expected(name), name, run.out.decode())
    return '%d errors' % len(MESSAGES)


if __name__ == '__main__':
    main([('rows_by_hand', rows('hand')), ('rows_by_launcher', rows('launcher')),
          ('rows_without_wipeonfork', rows('hand', 'wipeonfork')),
          ('reasons', reasons), ('absent', absent('counters/contract')), ('header', header('cpc.h')),
          ('example_counters', example('counters', r'19: page-faults \d+ task-clock \d+ clock:monotonic \d+')),
          ('example_overflow', example('overflow', r'\d+ times 1000 faults, 0 of something else'))])

#!/usr/bin/python3
"""events=all: programs behave as without it (dispatch.c), and its cost is reported."""
# rtc-test: events/dispatch ci 60
import errno
import json
import os
import re
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Lacking, Run, main, must, run_plain

ALL = ['events=all', 'leaks=no']
INT80 = 'of_another_system'  # raises SIGSEGV in kernels without 32-bit programs


def rows(stage, *names, **more):
    run = Run(stage, [stage.program('events/dispatch'), *names], options=ALL, **more).wait()
    return run, run.out.decode().split('\n')[:-1]


def same(how):
    def check(stage):
        plain = run_plain(stage, [stage.program('events/dispatch')])
        wrong = re.findall(rb'^wrong (.*)', plain.out, re.M)
        must(plain.out and wrong in ([], [INT80.encode()]) and plain.status == len(wrong), plain.out)
        run, printed = rows(stage, how=how)
        must((run.status, run.out) == (plain.status, plain.out), [s for s in printed if s[:2] != 'ok'],
             run.err.decode()[-1500:])
        return '%d rows' % len(printed)
    return check


def cost_is_reported(stage):
    run, _ = rows(stage, 'masked')
    text = re.search(r'EVENTS +all: (at least )?(\d+) calls dispatched, ~(\d+) ns each, [\d.]+ ms together '
                     r'\(measured at start, with (\d+) calls\)\n +(\d+) of them changed what is mapped', run.log)
    must(text, run.log)
    must(not text[1], text[0])
    reported = run.report.data['summary']['dispatched']
    must(reported['calls'] == int(text[2]) > 10 and reported['call_ns'] == int(text[3]) > 50, reported, text[0])
    must(reported['measured_calls'] == int(text[4]) and reported['unavailable'] == 0 and 'reason' not in reported, reported)
    return '~%s ns a call' % text[3]


def not_available(stage):
    run, printed = rows(stage, 'masked', env={'RTCHECK_TEST_WITHOUT': 'user_dispatch'})
    must(run.status == 0 and printed == ['ok masked'], run.status, printed)
    must(re.search(r'EVENTS +all: not available: no syscall user dispatch in this kernel \(Linux 5.11\)\n', run.log),
         run.log)
    reported = run.report.data['summary']['dispatched']
    must(reported['unavailable'] == reported['processes'] and reported['calls'] == 0 and 'call_ns' not in reported, reported)


def off_by_default(stage):
    run = Run(stage, [stage.program('events/dispatch'), 'masked']).wait()
    must(run.status == 0 and 'EVENTS' not in run.log and 'dispatched' not in json.dumps(run.report.data), run.log)


def one_uncovered(stage, row):
    run, printed = rows(stage, row)
    must(printed == ['ok ' + row] and run.report.data['summary']['dispatched']['threads_uncovered'] == 1,
         row, printed, run.report.data['summary'])
    must('1 thread was not watched any more' in run.log, run.log)


def uncovered_is_counted(stage):
    """A thread that enters a sandbox, and one that unmaps its stack."""
    for row in ('sandboxed', 'without_stack'):
        one_uncovered(stage, row)


def uncovered_by_int80(stage):
    """A thread that makes a call as 32-bit programs do."""
    if run_plain(stage, [stage.program('events/dispatch'), INT80]).status != 0:
        raise Lacking('the kernel has no int $0x80')
    one_uncovered(stage, INT80)


def inherited_mask(stage):
    """The parent process may have blocked SIGSYS."""
    run, printed = rows(stage, 'masked', 'forked', how='hand',
                     preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGSYS]))
    must(run.status == 0 and printed == ['ok masked', 'ok forked'], run.status, printed)


def memory_unread(stage):
    """If process_vm_readv is refused, a process cannot read its own memory by it either."""
    wanted = ['masked_while', 'mask_given_back', 'own_signal', 'forked', 'spawned', 'cloned']
    for error in (errno.EPERM, errno.ENOSYS):
        run, printed = rows(stage, *wanted, wrap=[stage.program('counters/refuse'), '%d:310' % error])
        must(run.status == 0 and printed == ['ok ' + r for r in wanted], run.status, printed, run.err.decode()[-1500:])
        must(run.report.data['summary']['dispatched']['calls'] > 100, run.report.data['summary'])


def notified(stage):
    """Each call is notified once, from every caller."""
    run = Run(stage, [stage.program('events/notified')], options=ALL).wait()
    must(run.status == 0 and run.out and b'wrong' not in run.out, run.out, run.err.decode()[-1500:])
    plain = Run(stage, [stage.program('events/notified'), 'once']).wait()
    must(plain.out == b'wrong once\n', plain.out)
    return '%d rows' % run.out.count(b'\n')


def threads_that_were_there(stage):
    """A library's thread, begun before the runtime's constructor ran."""
    env = {'LD_PRELOAD': stage.program('events/early_thread.so')}
    run = Run(stage, [stage.program('events/notified'), 'early'], how='hand', options=ALL, env=env).wait()
    must(run.status == 0, run.status, run.err.decode()[-1500:])


def interrupted_in_between(stage):
    """A handler calls before the call that is about to be made."""
    env = {'LD_PRELOAD': stage.program('events/between.so')}
    run = Run(stage, [stage.program('events/notified'), 'between'], how='hand', options=ALL, env=env).wait()
    must(run.status == 0, run.status, run.err.decode()[-1500:])


def stacks(stage):
    """The stacks of a dispatched call, and of a call by a handler that interrupted one."""
    run = Run(stage, [stage.program('events/notified'), 'keeps'],
              options=['events=all', 'show-leak-kinds=reachable,mapped']).wait()
    must(run.status == 0, run.status, run.err)
    found = {leak['bytes']: [f for frame in run.report.stacks[leak['stack']] for f in run.report.functions[frame]]
             for leak in run.report.data['leaks']}
    must(found.get(40960, [''])[0] == 'map_by_system_call' and 'main' in found[40960], found.keys(), found.get(40960))
    mapped = [leak['bytes'] for leak in run.report.data['leaks'] if leak['rtc'] == 'biu-map']
    must(mapped == [40960], 'libc and the loader map for themselves', mapped)
    must({'allocate_in_handler', 'wait_in_read', 'main'} <= set(found.get(4242, [])), found.keys(), found.get(4242))
    return ' <- '.join(found[4242])


if __name__ == '__main__':
    main([('same_by_launcher', same('launcher')), ('same_by_hand', same('hand')), ('cost_is_reported', cost_is_reported),
          ('not_available', not_available), ('off_by_default', off_by_default),
          ('uncovered_is_counted', uncovered_is_counted), ('uncovered_by_int80', uncovered_by_int80),
          ('inherited_mask', inherited_mask), ('memory_unread', memory_unread), ('notified', notified),
          ('threads_that_were_there', threads_that_were_there),
          ('interrupted_in_between', interrupted_in_between), ('stacks', stacks)])

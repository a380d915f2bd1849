#!/usr/bin/python3
"""Under valgrind the runtime works as usual, without any option.

A tool that leaves malloc alone (none, callgrind, cachegrind, lackey) runs the runtime as a part of the
program: everything is recorded.  A tool with its own malloc (memcheck, helgrind, drd, massif, dhat) looks
like a program with its own allocator, which is detected as always, by calling malloc: not in control, which
is reported and is status 120.  Neither the program nor the tool is harmed in either case, so no option is
needed.  --full: all tools, instead of two of each kind.
"""
# rtc-test: limits_valgrind ci 240
# rtc-test: limits_valgrind_full full 300 --full
import glob
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import NOT_IN_CONTROL, Run, main, must, read_text, run_plain, same_as_plain

LOADS = (('pair', '1000', '64'), ('replace', '2000', '500'), ('large', '50', '8'),
         ('threads', '8000', '800'), ('handover', '4000', '0'), ('forks', '3', '2'))
LEAVE_MALLOC = ('none', 'callgrind', 'cachegrind', 'lackey')
BRING_MALLOC = ('memcheck', 'massif', 'helgrind', 'drd', 'dhat')


def under(tool, log='/dev/null'):
    words = ['valgrind', '-q', '--log-file=' + log, '--tool=' + tool]
    if tool in ('callgrind', 'cachegrind', 'massif', 'dhat'):
        words.append('--%s-out-file=/dev/null' % tool)
    return words


def run(stage, tool, how, words, name='bench/load', **more):
    argv = [stage.program(name)] + list(words)
    log = stage.room() + '/valgrind.%p'
    got = Run(stage, under(tool, log) + argv, how=how, **more).wait()
    got.valgrind_log = '\n'.join(read_text(f)[-3000:] for f in sorted(glob.glob(log[:-2] + '*')))
    return got


def program(report, name='load'):
    """The processes that ran the workload, not valgrind's starter."""
    return [i for i in report.images if i['exe'].endswith('/' + name)]


VALGRINDS_OWN = 8 << 20  # bytes; its memory, mapped beside the program's, is more than 20 MiB


def root_bytes(report):
    return report.data['cost']['self']['leaks']['root_bytes']


def workloads(stage):
    """As many allocations, frees and blocks in use as without valgrind, and a good file.  The search for leaks does
    not read valgrind's own memory, of which valgrind unmaps some while it runs the search."""
    for load in LOADS:
        argv = [stage.program('bench/load')] + list(load)
        plain, native = run_plain(stage, argv), Run(stage, argv, how='hand').wait().report
        got = run(stage, 'none', 'hand', load, keep=True)
        must(got.status == plain.status, load, 'status', got.status, 'log:', got.log,
             'valgrind:', got.valgrind_log)
        same_as_plain(got, plain)
        for key in ('allocs', 'frees', 'blocks', 'bytes'):
            sums = [sum(i[key] for i in program(r)) for r in (got.report, native)]
            must(sums[0] == sums[1], load, key, sums[0], 'under valgrind,', sums[1], 'without')
        must(got.report.in_control and got.report.bad_frees() == 0, load, 'log:', got.log)
        must(len(program(got.report)) == len(program(native)), load, 'processes are missing')
        more = root_bytes(got.report) - root_bytes(native)
        must(more < VALGRINDS_OWN, load, more, 'bytes of roots more than without valgrind')


def signals(stage):
    """A signal whose default action is to terminate, or the one that stops threads, arrives while the main
    thread's stack is deeper than ever before: valgrind delivers it, the program ends as usual, and its leaks are
    found."""
    for how in ('11', '6', '15', 'exit'):
        argv = [stage.program('limits/deep'), how]
        plain = run_plain(stage, argv)
        for tool in stage.sample(LEAVE_MALLOC[:1], LEAVE_MALLOC):
            got = run(stage, tool, 'launcher', argv[1:], 'limits/deep')
            must(got.status == plain.status, tool, how, 'status', got.status, 'valgrind:', got.valgrind_log)
            leaks = [i['leak_check'] for i in program(got.report, 'deep')]
            must(leaks == ['found'], tool, how, 'leak check', leaks, got.log)


def launched(stage):
    plain = run_plain(stage, [stage.program('bench/load'), *LOADS[0]])
    for tool in stage.sample(LEAVE_MALLOC[:2], LEAVE_MALLOC):
        got = run(stage, tool, 'launcher', LOADS[0], keep=True)
        same_as_plain(got, plain)
        must([i['allocs'] for i in program(got.report)] == [1001], tool, 'allocs', got.log)
        must(all(i['checked'] for i in program(got.report)), tool, 'not in control', got.log)
        got.verify()


def without_features(stage):
    """Features of the kernel that an older valgrind does not pass on."""
    for feature in ('populate', 'wipeonfork', 'membarrier', 'find_object', 'dontdump', 'noreplace'):
        got = run(stage, 'none', 'hand', LOADS[-1], env={'RTCHECK_TEST_WITHOUT': feature})
        must(got.status == 0 and got.report.in_control, feature, 'status', got.status, got.log)


def replaced(stage):
    plain = run_plain(stage, [stage.program('bench/load'), *LOADS[0]])
    for tool in stage.sample(BRING_MALLOC[:2], BRING_MALLOC):
        got = run(stage, tool, 'launcher', LOADS[0])
        must(got.out == plain.out and got.status == NOT_IN_CONTROL, tool, 'status', got.status)
        must('program was not checked: the program brought a malloc of its own' in got.log, tool, got.log)
        must([i['checked'] for i in program(got.report)] == [False], tool, 'seen as checked')
        got = run(stage, tool, 'hand', LOADS[0])
        must(got.out == plain.out and got.status == 0, tool, 'by hand: status', got.status)
        must('not checked' in got.log, tool, 'by hand:', got.log)


main([(f.__name__, f) for f in (workloads, signals, launched, without_features, replaced)])

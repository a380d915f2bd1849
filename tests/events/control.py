#!/usr/bin/python3
"""Operations on memory that the runtime also uses (control.c): truncate the run file, allocate without
touching, protect pages of the heap, lock future mappings."""
# rtc-test: events/control ci 60
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, clean_environment, main, must, run_plain, same_as_plain

CUT = {'private': b'rtcheck: the run file was truncated; the program continues unchecked: ',
       'file': b'rtcheck: the run file was truncated, and the program cannot continue: '}


def truncated_run_file(stage):
    """One line reports it. The program continues; with heap=file SIGBUS ends it."""
    for heap in ('private', 'file'):
        folder = stage.room()
        run = Run(stage, [stage.program('events/control'), 'truncate', folder], how='hand',
                  options=['heap=' + heap], env={'RTCHECK_POOL_DIR': folder}).wait()
        ends = (0, b'it went on\n') if heap == 'private' else (-signal.SIGBUS, b'')
        must((run.status, run.out) == ends, heap, 'status', run.status, run.out)
        must(run.err.count(b'\n') == 1 and run.err.startswith(CUT[heap] + folder.encode()), heap, run.err)


def untouched_is_not_read(stage):
    """A page that the program never touched is not made real by looking for leaks."""
    process = subprocess.Popen([stage.rtcheck, '-q', '--', stage.program('events/control'), 'untouched'],
                               env={**clean_environment(), 'XDG_STATE_HOME': stage.room()}, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    must(status == 0 and used.ru_maxrss < 128 << 10, status, used.ru_maxrss, 'KiB')
    return '%d KiB of 512 MiB' % used.ru_maxrss


def same(word):
    def check(stage):
        argv = [stage.program('events/control'), word]
        plain = run_plain(stage, argv)
        must(plain.status == 0, plain.status, plain.err)
        for how in ('launcher', 'hand'):
            run = Run(stage, argv, how=how).wait()
            same_as_plain(run, plain)
            must(run.report.is_complete, how, 'not complete')
    return check


def locked(stage):
    """The heap's growth is not locked, so that no limit on locked memory stops it: it was reserved before."""
    for how in ('launcher', 'hand'):
        run = Run(stage, [stage.program('events/control'), 'locked'], how=how).wait()
        must(run.status == 0 and run.out in (b'locked, all\n', b'may not lock\n'), how, run.status, run.out, run.err)


if __name__ == '__main__':
    main([('truncated_run_file', truncated_run_file), ('untouched_is_not_read', untouched_is_not_read),
          ('protected_pages_are_skipped', same('protected')), ('locked_by_mlockall', locked)])

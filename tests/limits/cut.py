#!/usr/bin/python3
"""A run file that is truncated while the program runs ends the program's checks, but no process."""
# rtc-test: limits_cut ci 180
# rtc-test: limits_cut_full full 600 --full
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import NOT_IN_CONTROL, Run, clean_environment, main, must


def sealed(stage):
    """A memfd cannot be resized while it exists."""
    run = Run(stage, [stage.program('limits/cutter'), 'parent'], files=False).wait()
    must(run.out == b'seal EPERM, grow EPERM, shrink EPERM\n', run.out)
    must(run.status == 3 and b'no errors, no leaks; exit status 3' in run.err, run.status, run.err[-300:])


def launcher_survives(stage):
    """A file in a directory has no seals: the launcher continues, and reports that the records are lost."""
    for options, status in ((), NOT_IN_CONTROL), (('allow-unchecked',), 3):
        run = Run(stage, [stage.program('limits/cutter'), 'parent'], files=False, options=options,
                  env={'RTCHECK_TEST_WITHOUT': 'memfd'}).wait()
        must(b'grow done, shrink done' in run.out, run.out, run.err[-500:])
        must(run.status == status, 'status', run.status, run.err[-500:])
        must(b'program was not checked' in run.err and b'made shorter' in run.err, run.err[-500:])


def readers_survive(stage):
    """By hand, a process that watches the file detects the truncation, and later readers refuse the file."""
    run = Run(stage, ['cat'], how='hand', files=False, stdin=subprocess.PIPE)
    run.process.stdin.write(b'ready\n')
    run.process.stdin.flush()
    must(run.process.stdout.readline() == b'ready\n', 'no start')
    pool = run.pool_dir + '/' + sorted(os.listdir(run.pool_dir))[0]
    watch = subprocess.Popen([stage.rtcheck, 'stat', '-I', '20', pool], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=clean_environment())
    watch.stdout.readline()
    watch.stdout.readline()
    os.truncate(pool, 0)
    out, err = watch.communicate(timeout=30)
    must(watch.returncode == 125 and b'made shorter' in err, 'stat:', watch.returncode, err)
    report = subprocess.run([stage.rtcheck, 'report', pool], capture_output=True, env=clean_environment())
    must(report.returncode == 125 and b'is not a run file' in report.stderr, 'report:', report)
    run.process.kill()
    run.wait()


CUTS = (('0',), ('4096', '0'), ('4194304',), ('8388608', '0'), ('5000000', '4200000', '100000', '0'))


def program_survives(stage):
    """The program continues with its memory intact, and without a report, for which its data is lost."""
    program = stage.program('limits/cut_survivor')
    for sizes in CUTS:
        native = Run(stage, [program, *sizes], how='plain', files=False).wait()
        must(native.status == 3 and native.out.endswith(b'wrong 0\n'), sizes, native.status, native.out)
        for options, status in (((), 3), (('error-exitcode=9',), 9))[:1 + (sizes == ('0',))]:
            run = Run(stage, [program, *sizes], how='hand', files=False, options=options).wait()
            must(run.out == native.out and run.status == status, sizes, run.status, run.out, run.err[-300:])
            # the parent's message, and one of each child that did not inherit the replaced pages
            lines = run.err.splitlines()
            must(lines and all(b'the run file was truncated; the program continues unchecked' in line
                               for line in lines), sizes, run.err)


def torn_page(stage):
    """The kernel clears the rest of the file's last page: records there, of blocks in use, raise no signal."""
    program = stage.program('limits/cut_survivor')
    sizes = [16 * stage.random.randrange(5250000 // 16, 5700000 // 16) for _ in range(stage.sample(12, 200))]
    for size in sizes:
        run = Run(stage, [program, 'many', str(size)], how='hand', files=False).wait()
        must((run.status, run.out) == (3, b'wrong 0\n'), size, run.status, run.out, run.err[-300:])
    return sizes


def signals(stage):
    """A signal after the cut ends the program as without the runtime."""
    program = stage.program('limits/cut_survivor')
    for number in (signal.SIGTERM, signal.SIGABRT, signal.SIGUSR2, signal.SIGSEGV):
        run = Run(stage, [program, 'signal', str(int(number))], how='hand', files=False).wait()
        must(run.status == -number, number, run.status, run.err)


def own_handler(stage):
    """A program that has installed a SIGBUS handler receives the signal: a known limit (docs/limits.md)."""
    run = Run(stage, [stage.program('limits/cut_survivor'), 'handler'], how='hand', files=False).wait()
    must(run.status == 4 and run.out == b'SIGBUS handled\n', run.status, run.out, run.err)
    must(b'the run file was truncated' in run.err, run.err)


def kept_copy(stage):
    """A kept file ends behind its last data, so that a copy of it is as small, and as good."""
    run = Run(stage, [stage.program('limits/planted'), 'lost', '1000', '8'], keep=True).wait()
    pool, copy = run.pool_file(), run.room + '/copy.pool'
    size = os.stat(pool).st_size
    must(size < 64 << 20, 'apparent size of', pool, size)
    with open(pool, 'rb') as kept, open(copy, 'wb') as to:
        to.write(kept.read()) # without holes
    printed = [subprocess.run([stage.rtcheck, 'report', '--deterministic', path], capture_output=True,
                           env=clean_environment()).stdout for path in (pool, copy)]
    must(b'3 problems' in printed[0] and printed[0] == printed[1], printed)
    os.truncate(copy, size - 4096)
    cut = subprocess.run([stage.rtcheck, 'report', copy], capture_output=True, env=clean_environment())
    must(cut.returncode == 125 and b'is damaged: file is cut' in cut.stderr, cut)
    return '%d KiB' % (size >> 10)


if __name__ == '__main__':
    main([('sealed', sealed), ('launcher_survives', launcher_survives), ('readers_survive', readers_survive),
          ('program_survives', program_survives), ('torn_page', torn_page),
          ('signals', signals), ('own_handler', own_handler), ('kept_copy', kept_copy)])

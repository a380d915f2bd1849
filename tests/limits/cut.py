#!/usr/bin/python3
"""A run file that is made shorter while the program runs ends the program's checks, not the launcher."""
# rtc-test: limits_cut ci 60
import os
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
          ('kept_copy', kept_copy)])

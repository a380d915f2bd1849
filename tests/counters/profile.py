#!/usr/bin/python3
"""Variables of the heap (rtcheck/profile.h): every row of the contract, by hand and by the launcher."""
# rtc-test: counters/profile ci 240
# rtc-test: counters/profile-full full 3600 --full
import os
import re
import resource
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)) + folder for folder in ('/../stress', '/../crimes')]
import mutant
from harness import SOURCE, Run, main, must, needs_scene
from contracts import absent, example, header, rows_hold

ROWS = re.findall(r'^ROW\((\w+)\)', open(SOURCE + '/tests/counters/profile.def').read(), re.M)
ROWS = [r for r in ROWS if r not in ('pool_full', 'hidden_leaks', 'sites_without_end')]  # with their own setup


def rows(how, most):
    """Six variables are read for each moment: `most` makes ten million."""
    def check(stage):
        moments = str(stage.sample(1000, most))
        return '%s, %s moments' % (rows_hold(stage, 'counters/profile', ROWS, how, ['--moments', moments], 3500), moments)
    return check


def pool_full(stage):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20))

    rows_hold(stage, 'counters/profile', ['pool_full'], 'hand', preexec_fn=limit)


def pool_full_file(stage):
    """The same on a file system without room, as it happens to users."""
    pool = stage.room()
    needs_scene('unshare', '-Urm')
    scene = ['unshare', '-Urm', 'sh', '-c', 'mount -t tmpfs -o size=7m none %s && exec "$@"' % pool, 'sh']
    rows_hold(stage, 'counters/profile', ['pool_full'], 'hand', wrap=scene, env={'RTCHECK_POOL_DIR': pool})


def without_end(stage):
    """With millions of blocks; without a leak check, which would take too long."""
    rows_hold(stage, 'counters/profile', ['sites_without_end'], 'hand', options=['leaks=no'])


def hidden(stage):
    """A check on demand: the program that requested it can read the number of suppressed leaks."""
    rules = stage.room() + '/rules'
    with open(rules, 'w') as f:
        f.write('leak:lose_two\n')
    for how in 'hand', 'launcher':
        rows_hold(stage, 'counters/profile', ['hidden_leaks'], how, options=['suppressions=' + rules])


def without_wiping(stage):
    """If the kernel cannot wipe a page at a fork, the runtime does, in forks that it intercepts."""
    rows = [r for r in ROWS if 'fork' in r or 'callback' in r]
    return rows_hold(stage, 'counters/profile', rows, 'hand', env={'RTCHECK_TEST_WITHOUT': 'wipeonfork'})


def without(name, most):
    def check(stage):
        """A runtime without this part of a snapshot reads a torn moment.  It usually takes seconds, and longer
        when other programs use one of two processors."""
        room = stage.room()
        env = {'LD_PRELOAD': mutant.build(room, name), 'RTCHECK_POOL_DIR': room}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = Run(stage, [stage.program('counters/profile'), '--moments', str(1 << 40), 'one_moment'], how='plain',
                  env=env).wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / min(os.cpu_count(), 8)
        must(run.out == b'wrong one_moment\n' and b'is_torn' in run.err and seconds < most, run.out, run.err, seconds)
        return 'torn after %.1f s' % seconds
    return check


if __name__ == '__main__':
    main([('rows_by_hand', rows('hand', 1700000)), ('rows_by_launcher', rows('launcher', 1000)),
          ('pool_full', pool_full), ('pool_full_file', pool_full_file), ('without_end', without_end), ('hidden', hidden), ('without_wiping', without_wiping),
          ('without_recheck', without('NO_RECHECK', 60)), ('without_handshake', without('NO_HANDSHAKE', 60)),
          ('absent', absent('counters/profile')), ('header', header('profile.h')),
          ('example', example('profile', '100 blocks taken, 50 given back')),
          ('example_callbacks', example('callbacks', 'closed'))])

#!/usr/bin/python3
"""A cache of registered memory keyed by address (heap.c) never contains pages that the heap has released: with events
by the runtime, and by UCX's libucm, in either order of loading.  Memory of C++ is notified, too, also with other
parameters of malloc (heap_cxx.cc)."""
# rtc-test: events/heap ci 120
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, main, must, run_plain

BLOCKS = 1500


def counts(done):
    must(done.status == 0, done.status, done.out, done.err[-1000:])
    found = re.fullmatch(rb'(\d+) told, (\d+) forgotten, (\d+) hits, (\d+) stale\n', done.out)
    must(found, done.out)
    return [int(word) for word in found.groups()]


def deaf(stage):
    """The test can fail: without events the cache is stale."""
    reported, _, hits, stale = counts(Run(stage, [stage.program('events/heap'), 'deaf', str(BLOCKS), '1'], how='hand').wait())
    must(not reported and stale > hits / 20, reported, hits, stale)
    return '%d of %d hits stale' % (stale, hits)


def notified(how, threads, start='launcher', env=None):
    def check(stage):
        reported, forgotten, hits, stale = counts(
            Run(stage, [stage.program('events/heap'), how, str(BLOCKS), str(threads)], how=start, env=env or {}).wait())
        must(stale == 0, stale, 'of', hits, 'hits stale')
        must(reported > BLOCKS / 10 and forgotten > BLOCKS / 10 and hits > BLOCKS / 10, reported, forgotten, hits)
        return '%d hits, %d forgotten' % (hits, forgotten)
    return check


def ucm_first(stage):
    """Preloaded in front of us."""
    library = 'libucs.so.0:libucm.so.0:%s/lib/librtcheck.so' % os.environ['RTC_BUILD']
    done = run_plain(stage, [stage.program('events/heap'), 'ucm', str(BLOCKS), '2'], env={'LD_PRELOAD': library})
    reported, forgotten, hits, stale = counts(done)
    must(stale == 0 and forgotten > BLOCKS / 10 and hits > BLOCKS / 10, reported, forgotten, hits, stale)
    must(b'rtcheck: no errors' in done.err, done.err)
    return '%d hits, %d forgotten' % (hits, forgotten)


def reported(case):
    def check(stage):
        run = Run(stage, [stage.program('events/heap_cxx'), case]).wait()
        must((run.status, run.out) == (0, b'told\n'), run.status, run.out, run.err[-1000:])
    return check


if __name__ == '__main__':
    main([('objects', reported('objects')), ('parameters', reported('parameters')),
          ('deaf', deaf), ('rtcheck', notified('rtcheck', 1)), ('rtcheck_4_threads', notified('rtcheck', 4)),
          ('rtcheck_by_hand', notified('rtcheck', 2, 'hand')),
          ('ucm', notified('ucm', 1)), ('ucm_4_threads', notified('ucm', 4)), ('ucm_by_hand', notified('ucm', 2, 'hand')),
          ('ucm_first', ucm_first)])

#!/usr/bin/python3
"""The cost of timing the runtime's operations: at most 1 % of the instructions of a malloc loop, by callgrind.

With cost-every=0 the same code runs, and times nothing.  The full form has a runtime that was built without (RTC_UNTIMED),
and loops of several depths.
"""
# rtc-test: counters/accounting ci 120
# rtc-test: counters/accounting-full full 900 --full
import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + '/../stress']
from harness import BUILD, SOURCE, main, must

MOST = 0.01


def load_bench():
    loader = importlib.machinery.SourceFileLoader('instructions', HERE + '/../bench/instructions')
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('instructions', loader))
    loader.exec_module(module)
    return module


bench = load_bench()


def rows(names):
    return [r._replace(rounds=4 * r.rounds) for r in bench.ROWS if r.name in names]


def compare(counted, without):
    more = {name: counted[name] / without[name] - 1 for name in counted}
    must(max(more.values()) <= MOST, counted, without)
    return ', '.join('%s %.1f, %.1f without: %+.2f %%' % (name, counted[name], without[name], share * 100)
                     for name, share in more.items())


def switched_off(stage):
    place = pathlib.Path(stage.room())
    loop, library = rows(['malloc + free, depth 4']), pathlib.Path(stage.library)
    off = {'RTCHECK_OPTIONS': 'cost_every=0:pool_dir=%s' % place}
    counted, without = bench.count_all(loop, library, place), bench.count_all(loop, library, place, off)
    must(all(counted[name] > without[name] for name in counted), 'nothing is timed:', counted, without)
    return compare(counted, without)


def build_untimed(place):
    cache = bench.read_cache()
    same = ['-D%s=%s' % (name, cache[name]) for name in ('CMAKE_C_COMPILER', 'CMAKE_BUILD_TYPE', 'CMAKE_C_FLAGS')]
    for words in (['-S', SOURCE, '-B', place, '-DRTC_TESTS=OFF', '-DRTC_UNTIMED=ON'] + same,
                  ['--build', place, '--parallel', '2', '--target', 'librtcheck']):
        done = subprocess.run(['cmake'] + words, capture_output=True, text=True)
        must(done.returncode == 0, done.stdout[-2000:], done.stderr[-2000:])
    return pathlib.Path(place + '/lib/librtcheck.so')


def built_without(stage):
    place = pathlib.Path(stage.room())
    loops = rows(['malloc + free, depth %d' % depth for depth in (4, 16, 64)] + ['malloc + free, 1,000 at once'])
    untimed = build_untimed(stage.room())
    return compare(bench.count_all(loops, pathlib.Path(BUILD + '/lib/librtcheck.so'), place),
                   bench.count_all(loops, untimed, place))


main([('switched_off', switched_off)] + ([('built_without', built_without)] if '--full' in sys.argv else []))

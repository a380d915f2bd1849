#!/usr/bin/env python3
# rtc-test: ci/by-hand ci 60
"""Without the launcher, findings make the program end with error_exitcode, or LeakSanitizer's exitcode, at every
kind of exit, and its output is not lost; suppressions and baselines are applied, and invalid files are reported by
the status."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import clean_environment, main, must

ENDS = {'r': 'said at_exit', 'e': 'said at_exit', '_': 'said', 'q': 'said'}


def status(stage, words, options='', lsan='', expected='said at_exit', leaves=False, program='ci/ends'):
    room = stage.room()
    env = {**clean_environment(), 'LD_PRELOAD': stage.library, 'RTCHECK_OPTIONS': 'quiet:' + options,
           'RTCHECK_POOL_DIR': room, 'LSAN_OPTIONS': lsan}
    done = subprocess.run([stage.program(program), *words], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60)
    must(done.stdout == expected, words, 'said', repr(done.stdout), done.stderr)
    must((os.listdir(room) != []) == leaves, 'it left', os.listdir(room))
    return done.returncode


def every_end(stage):
    for how, expected in ENDS.items():
        for options, lsan, want in (('error_exitcode=9', '', 9), ('', 'exitcode=23', 23), ('error_exitcode=9', 'exitcode=23', 9),
                                    ('', '', 7), ('error_exitcode=0', 'exitcode=23', 7)):
            got = status(stage, [how, 'leak'], options, lsan, expected)
            must(got == want, how, options, lsan, 'ended with', got, 'instead of', want)
        must(status(stage, [how], 'error_exitcode=9', '', expected) == 7, how, 'without a leak')
    must(status(stage, ['a', 'leak'], 'error_exitcode=9', '', 'said', True) == -6, 'a signal stays')


def own_exit(stage):
    must(status(stage, [], expected='said', program='ci/own_exit') == 7, 'nothing is asked for')
    must(status(stage, [], 'error_exitcode=9', expected='said', program='ci/own_exit') == 9, 'not 9')


def what_counts(stage):
    """Suppressed and known findings do not change the status; an invalid rules or baseline file makes the run
    fail."""
    room = stage.room()
    for text, want in (('leak:lose', 7), ('leak:nothing', 9), ('leek:x', 125)):
        with open(room + '/rules', 'w') as f:
            f.write(text + '\n')
        got = status(stage, ['r', 'leak'], 'error_exitcode=9:suppressions=' + room + '/rules', leaves=want == 125)
        must(got == want, text, got)
    must(status(stage, ['r', 'leak'], 'suppressions=' + room + '/rules', leaves=True) == 7, 'no status was asked for')
    known = 'error_exitcode=9:baseline=' + room + '/known'
    for options, want in ((known, 125), (known + ':update_baseline', 7), (known, 7)):
        got = status(stage, ['r', 'leak'], options, leaves=want == 125)
        must(got == want, options, got)


def bad_options(stage):
    """A bad option is reported; if a status for findings is requested, before or after it, it is an error."""
    for bad in ('nonsense=1', 'nonsense', 'frames=many', 'nonsense="a b"'):
        for options, want in ((bad, 7), (bad + ':error_exitcode=9', 125), ('error_exitcode=9:' + bad, 125)):
            must(status(stage, ['r'], options, leaves=True) == want, options)


def variables_of_the_launcher(stage):
    """Those of other checkers that have no effect by hand are named, unless the run is quiet."""
    for variables, words in (({}, ''), ({'ASAN_OPTIONS': ''}, ''), ({'MALLOC_PERTURB_': '65'}, 'MALLOC_PERTURB_ (with LD_PRELOAD)'),
                             ({'MALLOC_CHECK_': '3', 'VALGRIND_OPTS': '-v', 'ASAN_OPTIONS': 'x=1'},
                              'VALGRIND_OPTS (with LD_PRELOAD), ASAN_OPTIONS (with LD_PRELOAD), MALLOC_CHECK_ (with LD_PRELOAD)')):
        for options in 'error_exitcode=9', 'quiet':
            env = {**clean_environment(), 'LD_PRELOAD': stage.library, 'RTCHECK_OPTIONS': options, 'RTCHECK_POOL_DIR': stage.room(), **variables}
            done = subprocess.run([stage.program('ci/ends'), 'r'], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            found = [line for line in done.stderr.splitlines() if 'accepted without effect' in line]
            want = ['rtcheck: note: accepted without effect: ' + words] if words and options != 'quiet' else []
            must(done.returncode == 7 and found == want, variables, options, done)


if __name__ == '__main__':
    main([(f.__name__, f) for f in (every_end, own_exit, what_counts, bad_options, variables_of_the_launcher)])

#!/usr/bin/python3
"""rtcheck selftest: finds an error of each class of findings.def; names what a machine or an option takes away."""
# rtc-test: launcher/selftest ci 60
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import NOT_IN_CONTROL, SOURCE, clean_environment, main, must, needs_scene

CODES = re.findall(r'^(?:ERROR|LEAK)\(\w+,.*?"([a-z-]+)"', open(SOURCE + '/include/format/findings.def').read(), re.M)


def selftest(stage, *words, wrap=(), folder='tmp', **env):
    """The command's exit status, {code: (by the launcher, by hand)}, and its output."""
    room = stage.room()
    tmp, state = room + '/' + folder, room + '/state'
    os.makedirs(tmp)
    done = subprocess.run([*wrap, stage.rtcheck, 'selftest', *words], capture_output=True, text=True, timeout=100,
                          env={**clean_environment(), 'TMPDIR': tmp, 'XDG_STATE_HOME': state, **env})
    must(done.stderr == '', done)
    must(os.listdir(tmp) == [] and not os.path.exists(state), 'left behind:', os.listdir(room))
    rows = {code: (first, second) for code, first, second in
            re.findall(r'^(\S+) .*?(found|NOT found) +(found|NOT found)$', done.stdout, re.M)}
    must(list(rows) == CODES, rows, CODES)
    must(max(map(len, done.stdout.splitlines())) <= 80 or words or env, done.stdout)
    return done.returncode, rows, done.stdout


def missing(rows):
    return [code for code, found in rows.items() if found != ('found', 'found')]


def everything(stage):
    status, rows, out = selftest(stage)
    must(status == 0 and not missing(rows), status, out)
    must(out.endswith('rtcheck: all %d classes of findings were found, both ways\n' % len(CODES)), out)


def verbose(stage):
    """The logs of all runs: each has the verdict of that run."""
    status, rows, out = selftest(stage, '-v')
    must(status == 0 and len(re.findall(r'^--- (?:launcher|LD_PRELOAD), (?:errors|crash)$', out, re.M)) == 4, out)
    must(len(re.findall(r'^rtcheck: \d+ problems?; ', out, re.M)) == 4, out)


def without_leaks(stage):
    """An option of the environment that disables a check."""
    status, rows, out = selftest(stage, RTCHECK_OPTIONS='leaks=no')
    must(status == NOT_IN_CONTROL and missing(rows) == ['mel', 'aib', 'air'], status, out)
    must('RTCHECK_OPTIONS is set: leaks=no\n' in out and '6 of %d planted' % (2 * len(CODES)) in out, out)


def without_redzones(stage):
    """A runtime that finds two of three bad writes has not found the class."""
    status, rows, out = selftest(stage, RTCHECK_OPTIONS='freelist-vol=0')
    must(status == NOT_IN_CONTROL and 'wua' in missing(rows), status, out)


def without_run_file(stage):
    status, rows, out = selftest(stage, RTCHECK_TEST_WITHOUT='run_file')
    must(status == NOT_IN_CONTROL and missing(rows) == CODES, status, out)
    must('launcher, errors: rtcheck: program was not checked' in out, out)
    must('LD_PRELOAD, errors: no report was written' in out, out)


def named_folders(stage):
    """Of TMPDIR, what separates options, and a quote; a directory for run files that the caller's options name."""
    for folder in 'a b:c', "it's a", 'a/' + 'long' * 60:
        status, rows, out = selftest(stage, folder=folder)
        must(status == 0 and not missing(rows), folder, status, out)
    other = stage.room()
    status, rows, out = selftest(stage, RTCHECK_OPTIONS='pool_dir=' + other, RTCHECK_POOL_DIR=other)
    must(status == 0 and not missing(rows) and os.listdir(other) == [], status, out, os.listdir(other))


def lacking(stage):
    """Features that have a replacement are named, and all is found."""
    status, rows, out = selftest(stage, RTCHECK_TEST_WITHOUT='memfd,populate,find_object')
    must(status == 0 and 'not available on this machine: populate, find_object\n' in out, status, out)


def little_memory(stage):
    status, rows, out = selftest(stage, wrap=('prlimit', '--as=400000000'))
    must(status == 0 and not missing(rows), status, out)


if __name__ == '__main__':
    main([('everything', everything), ('verbose', verbose), ('without_leaks', without_leaks),
          ('without_redzones', without_redzones), ('without_run_file', without_run_file), ('named_folders', named_folders),
          ('lacking', lacking), ('little_memory', little_memory)])

#!/usr/bin/env python3
# rtc-test: ci/ctest ci 60
# rtc-test: ci/ctest-full full 120 --full
"""`ctest -T memcheck` with rtcheck as its checker, in its Valgrind mode and in its LeakSanitizer mode: the
defects that CTest counts for each test are those that were planted, and a checker that did not run is
visible."""
import collections
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as tree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import SOURCE, clean_environment, main, must

PROJECT = SOURCE + '/tests/ci/project'
FREE, WRITE, LEAK, POSSIBLE = 'FIM', 'IPW', 'Memory Leak', 'Potential Memory Leak'

# The defects that CTest counts for each letter of acts.c: in Valgrind mode, which includes reachable blocks,
# and in LeakSanitizer mode, which counts leaks only.
PLANTED = {
    'n': ({}, {}),
    'l': ({LEAK: 1}, {'Direct leak': 1}),
    'h': ({LEAK: 1}, {'Direct leak': 1, 'Indirect leak': 1}),
    'p': ({POSSIBLE: 1}, {'Direct leak': 1}),
    'k': ({POSSIBLE: 1}, {}),
    'd': ({FREE: 1}, {}),
    'm': ({FREE: 1}, {}),
    'x': ({FREE: 1}, {}),
    'w': ({WRITE: 1}, {}),
    'f': ({LEAK: 1}, {'Direct leak': 1}),
}
TESTS = ['n', 'lhpk', 'dmxw', 'f']


def call(words, status=None, env=None, **more):
    done = subprocess.run(words, env={**clean_environment(), **(env or {})}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, **more)
    must(status is None or done.returncode == status, words, 'ended with', done.returncode, 'instead of',
         status, done.stdout[-2000:], done.stderr[-2000:])
    return done


def tests_of(stage):
    return stage.sample(TESTS, sorted(set(PLANTED) | set(TESTS)))


def build(stage, *settings):
    """The folder that the project was built in, once; with these settings from now on."""
    if not hasattr(stage, 'folder'):
        stage.folder = stage.room()
        call(['cmake', '-S', PROJECT, '-B', stage.folder, '-DACTS=' + ','.join(tests_of(stage))], 0)
        call(['cmake', '--build', stage.folder], 0)
    call(['cmake', '-DMEMORYCHECK_COMMAND_OPTIONS=', '-DMEMORYCHECK_SUPPRESSIONS_FILE=', *settings, stage.folder], 0)
    return stage.folder


def memcheck(folder, tests, **more):
    return call(['ctest', '-T', 'memcheck', '-R', '^(%s)$' % '|'.join(tests)], cwd=folder, **more)


def found(folder):
    """Defects recorded by CTest, by test name; CTest only lists tests without defects."""
    tag = open(folder + '/Testing/TAG').readline().strip()
    root = tree.parse('%s/Testing/%s/DynamicAnalysis.xml' % (folder, tag)).getroot()
    defects = {os.path.basename(t.text): {} for t in root.iter('Test') if t.text and t.text.strip()}
    for test in root.iter('Test'):
        if test.find('Name') is not None:
            defects[test.findtext('Name')] = {d.get('type'): int(d.text) for d in test.iter('Defect')}
    return defects


def planted(letters, mode):
    sums = collections.Counter()
    for letter in letters:
        sums.update(PLANTED[letter][mode])
    return dict(sums)


def compare(folder, tests, mode, ran):
    got = found(folder)
    for letters in tests:
        must(got.get(letters) == planted(letters, mode), letters, got.get(letters), 'instead of',
             planted(letters, mode), ran.stdout[-2000:], ran.stderr[-2000:])


# ---- Valgrind mode ----------------------------------------------------------------------------

def as_valgrind(stage, options=''):
    return build(stage, '-DMEMORYCHECK_TYPE=Valgrind', '-DMEMORYCHECK_COMMAND=' + stage.rtcheck,
                 '-DMEMORYCHECK_COMMAND_OPTIONS=' + options)


def valgrind(stage):
    """With CTest's default options."""
    folder = as_valgrind(stage)
    ran = memcheck(folder, tests_of(stage))
    must(ran.returncode == 0, ran.stdout)
    compare(folder, tests_of(stage), 0, ran)
    with open(folder + '/Testing/Temporary/MemoryChecker.%d.log' % (tests_of(stage).index('f') + 2)) as f:
        pids = set(re.match(r'==(\d+)== ', line).group(1) for line in f)
    must(len(pids) == 2, 'the child and its parent have one pid:', pids)


def valgrind_fails(stage):
    """With a status for problems the leak is a failed test; a program that cannot be checked is one, too."""
    folder = as_valgrind(stage, '-q --tool=memcheck --error-exitcode=23')
    ran = memcheck(folder, ['n', 'f', 'unchecked'])
    must(ran.returncode != 0 and '2 tests failed out of 3' in ran.stdout, ran.stdout)
    must('f (Failed)' in ran.stdout and 'unchecked (Failed)' in ran.stdout, ran.stdout)
    must(ran.stderr.count('Cannot find memory tester output file') == 1, ran.stderr)
    compare(folder, ['n', 'f'], 0, ran)


RULES = """{
   of acts.c
   Memcheck:Leak
   ...
   fun:leak
}
"""


def valgrind_suppressed(stage):
    """CTest passes its suppressions on: suppressed findings are not defects and fail no test."""
    rules = stage.room() + '/rules'
    with open(rules, 'w') as f:
        f.write(RULES)
    folder = as_valgrind(stage, '-q --tool=memcheck --error-exitcode=23')
    call(['cmake', '-DMEMORYCHECK_SUPPRESSIONS_FILE=' + rules, folder], 0)
    ran = memcheck(folder, ['n', 'f'])
    must(ran.returncode == 0 and found(folder) == {'n': {}, 'f': {}}, found(folder), ran.stdout)
    ran = memcheck(folder, ['lhpk'])
    must(found(folder) == {'lhpk': planted('hp', 0)}, found(folder), ran.stdout)


def valgrind_baseline(stage):
    """Known findings are not defects; new ones are."""
    known = stage.room() + '/known'
    folder = as_valgrind(stage, '-q --tool=memcheck --error-exitcode=23 --baseline=' + known)
    call([stage.rtcheck, '--baseline=' + known, '--update-baseline', folder + '/acts', 'f'], 0,
         {'XDG_STATE_HOME': stage.room()})
    ran = memcheck(folder, ['n', 'f'])
    must(ran.returncode == 0 and found(folder) == {'n': {}, 'f': {}}, found(folder), ran.stdout)
    ran = memcheck(folder, ['lhpk'])
    must(ran.returncode != 0 and LEAK in found(folder)['lhpk'], found(folder), ran.stdout)


# ---- LeakSanitizer mode: without launcher, CTest's cmake is also preloaded ----------------------

def sanitizer(stage):
    """cmake is checked, the static program is not: exactly one log is missing, the program's."""
    folder = build(stage, '-DMEMORYCHECK_TYPE=LeakSanitizer')
    ran = memcheck(folder, tests_of(stage) + ['unchecked'],
                   env={'LD_PRELOAD': stage.library, 'RTCHECK_OPTIONS': 'quiet', 'RTCHECK_POOL_DIR': stage.room()})
    compare(folder, tests_of(stage), 1, ran)
    must(ran.stderr.count('Cannot find memory tester output file') == 1, ran.stderr)


def sanitizer_suppressed(stage):
    """CTest hands its suppressions on in LSAN_OPTIONS."""
    rules = stage.room() + '/rules'
    with open(rules, 'w') as f:
        f.write('leak:leak\n')
    folder = build(stage, '-DMEMORYCHECK_TYPE=LeakSanitizer', '-DMEMORYCHECK_SUPPRESSIONS_FILE=' + rules)
    ran = memcheck(folder, ['f', 'lhpk'],
                   env={'LD_PRELOAD': stage.library, 'RTCHECK_OPTIONS': 'quiet', 'RTCHECK_POOL_DIR': stage.room()})
    must(found(folder) == {'f': {}, 'lhpk': planted('p', 1)}, found(folder), ran.stdout, ran.stderr)


if __name__ == '__main__':
    main([(f.__name__, f) for f in (valgrind, valgrind_fails, valgrind_suppressed, valgrind_baseline,
                                    sanitizer, sanitizer_suppressed)])

#!/usr/bin/env python3
# rtc-test: ci/recipes ci 120
"""The recipes of docs/ci.md for builds and build servers, in a project of three tests: one without errors, one
with a leak, one that cannot be checked.  Then the leak is suppressed, and then known."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from blocks import block
from harness import SOURCE, clean_environment, main, must, read_text

PROJECT = SOURCE + '/tests/ci/project'


def follow(stage, text, folder, options=''):
    """Status and output of a recipe, line by line as a build server runs it."""
    prefix = stage.installed()
    path = os.environ['PATH'] if '/opt/rtcheck' in text or 'ctest' in text else prefix + '/bin:' + os.environ['PATH']
    env = {**clean_environment(), 'PATH': path, 'RTCHECK_POOL_DIR': stage.room(),
           'XDG_STATE_HOME': stage.room(), 'TERM': 'dumb'}
    if options:
        env['RTCHECK_OPTIONS'] = options
    done = subprocess.run(['bash', '-ec', text.replace('/opt/rtcheck', prefix)], cwd=folder, env=env, timeout=100,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def project(stage):
    folder = stage.room() + '/project'
    shutil.copytree(PROJECT, folder)
    return folder


def rules(stage):
    path = stage.room() + '/rules'
    with open(path, 'w') as f:
        f.write('leak:^leak$\n')
    return 'suppressions=' + path


def baseline(stage, *program):
    """All findings of the program are in the baseline."""
    path = stage.room() + '/known'
    env = {**clean_environment(), 'XDG_STATE_HOME': stage.room()}
    done = subprocess.run([stage.installed() + '/bin/rtcheck', '-q', '--baseline=' + path, '--update-baseline', *program], env=env,
                          timeout=60, capture_output=True, text=True)
    must(done.returncode == 0 and read_text(path).count('"id"') == 1, done.stderr)
    return 'baseline=' + path


def outcomes(text, pattern):
    return {name: fate.strip(' .*') for name, fate in re.findall(pattern, text, re.M)}


def last_lines(text, n):
    """The recipe's own, from its n-th last line on."""
    return '\n'.join(text.rstrip().split('\n')[-n:])


def ctest(text, package):
    def check(stage):
        folder = project(stage)
        status, printed = follow(stage, text, folder)
        pattern = r'MemCheck +#\d+: (\w+) [ .]*(\**\w+)'
        want = {'fine': 'Passed', 'leaky': 'Failed', 'unchecked': 'Failed'}
        must(status != 0 and outcomes(printed, pattern) == want, status, printed)
        must(('rtcheck_DIR' in read_text(folder + '/build/CMakeCache.txt') and
              'rtcheck_DIR:PATH=rtcheck_DIR-NOTFOUND' not in read_text(folder + '/build/CMakeCache.txt')) == package,
             'found by find_package?', package)
        status, printed = follow(stage, last_lines(text, 2), folder, rules(stage))
        must(outcomes(printed, pattern) == {**want, 'leaky': 'Passed'}, status, printed)
        status, printed = follow(stage, last_lines(text, 2), folder, baseline(stage, folder + '/build/acts', 'l'))
        must(outcomes(printed, pattern) == {**want, 'leaky': 'Passed'}, status, printed)
    return check


def ctest_package_again(stage):
    """Variables set by find_package follow its options in an existing folder; a value set by the user
    stays."""
    folder = project(stage)
    configure = 'cmake -B build -DCMAKE_PREFIX_PATH=/opt/rtcheck '
    for words, want in (('-DRTCHECK_COMMAND_OPTIONS=--match=1', ' --match=1'), ('-DRTCHECK_COMMAND_OPTIONS=--match=2', ' --match=2'),
                        ('-DMEMORYCHECK_COMMAND_OPTIONS=-v', '=-v'), ('-DRTCHECK_COMMAND_OPTIONS=--match=1', '=-v')):
        status, printed = follow(stage, configure + words, folder)
        value = re.search(r'^MEMORYCHECK_COMMAND_OPTIONS:.*$', read_text(folder + '/build/CMakeCache.txt'), re.M).group()
        must(status == 0 and value.endswith(want), words, value, printed)


def package_version(stage):
    """find_package takes a version as others do: the same first number, as new or newer."""
    folder = stage.room()
    version = re.search(r'VERSION ([0-9.]+)', re.search(r'project[(]rtcheck .*', read_text(SOURCE + '/CMakeLists.txt')).group()).group(1)
    major, minor, patch = (int(n) for n in version.split('.'))
    asked = {'': True, version: True, version + ' EXACT': True, '%d.%d' % (major, minor): True,
             '%d.%d.%d' % (major, minor, patch + 1): False, '%d.%d' % (major, minor + 1): False, str(major + 1): False,
             '%d.0...%d' % (major, major + 1): True, '%d.0...<%s' % (major, version): False}
    text = 'cmake_minimum_required(VERSION 3.20)\nproject(x NONE)\n'
    for i, words in enumerate(asked):
        text += 'set(rtcheck_FOUND)\nunset(rtcheck_DIR CACHE)\nfind_package(rtcheck %s QUIET)\nmessage("%d ${rtcheck_FOUND}")\n' % (words, i)
    with open(folder + '/CMakeLists.txt', 'w') as f:
        f.write(text)
    status, printed = follow(stage, 'cmake -B build -DCMAKE_PREFIX_PATH=/opt/rtcheck', folder)
    found = [word == '1' for word in re.findall(r'^\d+ (\w*)$', printed, re.M)]
    must(status == 0 and found == list(asked.values()), list(zip(asked, found)), printed)


def ctest_sanitizer(stage):
    """Each of the two patterns in its last line is sufficient."""
    folder, text = project(stage), block('docs/ci.md', 'LeakSanitizer mode')
    status, printed = follow(stage, text, folder)
    must(status != 0 and 'Cannot find memory tester output file' in printed, status, printed)
    lines = text.rstrip().split('\n')
    for tests, want in (('fine', True), ('leaky', False), ('unchecked', False), ('fine|leaky', False)):
        again = [w.replace('ctest -T memcheck', "ctest -T memcheck -R '^(%s)$'" % tests) for w in lines[2:]]
        status, printed = follow(stage, 'rm -rf build/Testing\n' + '\n'.join(again), folder)
        must((status == 0) == want, tests, status, printed)


def meson(stage):
    folder, text = project(stage), block('docs/ci.md', 'Meson; 99')
    status, printed = follow(stage, text, folder)
    pattern = r'^\d/3 (\w+) +(\w+ )'
    want = {'fine': 'OK', 'leaky': 'ERROR', 'unchecked': 'FAIL'}
    must(status != 0 and outcomes(printed, pattern) == want and 'exit status 99' in printed and 'exit status 120' in printed, printed)
    for options in rules(stage), baseline(stage, folder + '/build/leaky'):
        status, printed = follow(stage, last_lines(text, 1), folder, options)
        must(outcomes(printed, pattern) == {**want, 'leaky': 'OK'}, options, printed)


def automake(stage):
    folder, text = project(stage), block('docs/ci.md', 'Automake:')
    status, printed = follow(stage, 'autoreconf -i', folder)
    must(status == 0, printed)
    status, printed = follow(stage, text, folder)
    pattern = r'^([A-Z]+): (\w+)$'
    want = {'PASS': 'fine', 'ERROR': 'leaky', 'FAIL': 'unchecked'}
    must(status != 0 and outcomes(printed, pattern) == want, printed)
    for options in rules(stage), baseline(stage, folder + '/leaky'):
        status, printed = follow(stage, last_lines(text, 1), folder, options)
        must(sorted(re.findall(pattern, printed, re.M)) == [('FAIL', 'unchecked'), ('PASS', 'fine'), ('PASS', 'leaky')], options, printed)


def program(stage):
    folder = stage.room()
    subprocess.run(['cc', '-g', '-w', '-fno-builtin', '-DACTS="l"', '-o', folder + '/program', PROJECT + '/acts.c'], check=True)
    return folder


def github(stage):
    folder, text = program(stage), block('docs/ci.md', 'GitHub: annotations')
    command = re.search(r'^- run: (.*)$', text, re.M).group(1)
    status, printed = follow(stage, 'export GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=page\n' + command, folder)
    must(status == 23 and re.search('^::error file=', printed, re.M), status, printed)
    with open(folder + '/' + re.search('sarif_file: (.*)', text).group(1)) as f:
        must(len(json.load(f)['runs'][0]['results']) == 1, 'results')
    must('memory leak' in read_text(folder + '/page'), read_text(folder + '/page'))
    status, printed = follow(stage, command, folder, rules(stage))
    must(status == 0 and '::error' not in printed, status, printed)


def gitlab(stage):
    folder, text = program(stage), block('docs/ci.md', 'GitLab: in')
    command = re.search(r'^    - (rtcheck.*)$', text, re.M).group(1)
    status, printed = follow(stage, command, folder)
    must(status == 23, status, printed)
    with open(folder + '/' + re.search('codequality: (.*)', text).group(1)) as f:
        must(len(json.load(f)) == 1, 'findings')
    must('checker active' in read_text(folder + '/' + re.search('junit: (.*)', text).group(1)), 'no junit')


def pack(stage):
    folder, text = program(stage), block('docs/ci.md', 'upload-artifact')
    run, packing = re.findall(r'run: (rtcheck .*)$', text, re.M)
    status, printed = follow(stage, 'export XDG_STATE_HOME=state\n%s || %s' % (run, packing), folder)
    must(status == 0, status, printed)
    os.rename(folder + '/program', folder + '/elsewhere')
    status, printed = follow(stage, 'rtcheck report ' + re.search('path: (.*)', text).group(1), folder)
    must(status == 0 and re.search(r'main +acts\.c:\d+', printed), status, printed)


if __name__ == '__main__':
    main([('ctest_package', ctest(block('docs/ci.md', 'by `find_package(rtcheck)`'), True)),
          ('ctest_command', ctest(block('docs/ci.md', 'in an unchanged project'), False))] +
         [(f.__name__, f) for f in (ctest_package_again, package_version, ctest_sanitizer, meson, automake, github, gitlab, pack)])

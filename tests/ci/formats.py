#!/usr/bin/env python3
# rtc-test: ci/formats ci 60
"""The files for build servers: each one is valid by its schema, has the findings of --json with their figures
and places, and reports a program that was not checked."""
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as tree

import jsonschema

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import SOURCE, clean_environment, main, must, read_text

HERE = SOURCE + '/tests/ci'
ACTS = 'tests/ci/project/acts.c'
EVERYTHING = 'lhpkdmxwf'


def call(words, status=0, env=None, **more):
    done = subprocess.run(words, env={**clean_environment(), **(env or {})}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, **more)
    must(done.returncode == status, words, 'ended with', done.returncode, done.stderr[-2000:])
    return done


def program(stage):
    """acts.c, and the same without a way to check it."""
    if not hasattr(stage, 'acts'):
        stage.acts = stage.room() + '/acts'
        for out, more in (stage.acts, []), (stage.acts + '-static', ['-static']):
            call(['cc', '-g', '-O1', '-w', '-fno-builtin', *more, '-o', out, SOURCE + '/' + ACTS])
    return stage.acts


def run(stage, acts, *options, status=0, env=None, suffix=''):
    """All files of one run."""
    room = stage.room()
    words = ['--%s=%s/%s' % (f, room, f) for f in ('json', 'sarif', 'junit', 'gitlab')]
    done = call([stage.rtcheck, *words, '--source-root=' + SOURCE, *options, program(stage) + suffix, acts], status,
                {'XDG_STATE_HOME': room, **(env or {})})
    return room, done


def load(path):
    with open(path) as f:
        return json.load(f)


def validated(path, schema):
    data, schema = load(path), load(HERE + '/' + schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    wrong = [e.message[:300] for e in jsonschema.Draft202012Validator(schema).iter_errors(data)]
    must(not wrong, path, wrong)
    return data


class Known:
    """The findings of --json: code, figures, and the line in acts.c where each happened."""

    def __init__(self, report):
        frames = {f['id']: f for f in report['frames']}
        stacks = {s['id']: [frames[f] for f in s['frames']] for s in report['stacks']}
        self.at, self.line, self.stack = {}, {}, {}
        for x in report['errors'] + report['leaks']:
            place = x['alloc_stack'] if x['rtc'] == 'wua' else x['stack']
            self.at[x['id']] = x
            self.stack[x['id']] = [(g.get('function'), g.get('line')) for f in stacks[place]
                                   for g in [f] + f.get('inlined_into', []) if g.get('file', '').endswith(ACTS)]
            self.line[x['id']] = self.stack[x['id']][0][1]
        self.problems = {i for i, x in self.at.items() if x.get('class') not in ('indirect', 'reachable')}


def sarif(stage):
    room, _ = run(stage, EVERYTHING, '--show-leak-kinds=all')
    known = Known(load(room + '/json'))
    got = validated(room + '/sarif', 'sarif.schema.json')['runs'][0]
    rules = [r['id'] for r in got['tool']['driver']['rules']]
    must(got['invocations'][0]['executionSuccessful'], 'not active')
    results = {r['partialFingerprints']['rtcheckId/v1']: r for r in got['results']}
    must(set(results) == set(known.at) and len(got['results']) == len(results), sorted(results), sorted(known.at))
    for name, result in results.items():
        reported, place = known.at[name], result['locations'][0]['physicalLocation']
        must(rules[result['ruleIndex']] == result['ruleId'] == reported['rtc'], name, result['ruleId'])
        must((result['level'] == 'error') == (name in known.problems), name, result['level'])
        must(place == {'artifactLocation': {'uri': ACTS}, 'region': {'startLine': known.line[name]}}, name, place)
        for figure in ('count', 'bytes', 'blocks', 'class'):
            must(result['properties'].get(figure) in (reported.get(figure), None), name, result['properties'], reported)
        must('count' in result['properties'] or 'bytes' in result['properties'], name, 'has no figures')
        flows = {f['message']['text']: [s['location'] for s in f['threadFlows'][0]['locations']]
                 for f in result['codeFlows']}
        steps = [(s['message']['text'], s['physicalLocation'].get('region', {}).get('startLine'))
                 for s in flows['allocated' if reported['rtc'] in ('mel', 'aib', 'biu', 'wua') else list(flows)[0]]]
        must(steps[::-1] == known.stack[name], name, steps[::-1], known.stack[name])
    twice = [r for r in results.values() if r['ruleId'] == 'duf'][0]
    must([p['message']['text'] for p in twice['relatedLocations']] == ['first freed', 'allocated'],
         twice['relatedLocations'])


def junit(stage):
    room, _ = run(stage, EVERYTHING, '--show-leak-kinds=all')
    known = Known(load(room + '/json'))
    call(['xmllint', '--noout', '--schema', HERE + '/junit.xsd', room + '/junit'])
    root = tree.parse(room + '/junit').getroot()
    suites = root.findall('testsuite')
    must(len(suites) == 2, 'suites', len(suites)) # the child has one of its own
    cases = {c.get('name').split()[0]: c for c in root.iter('testcase')}
    active = cases.pop('checker')
    must(active is suites[0].find('testcase') and len(active) == 0, 'the checker is not active')
    must(set(cases) == set(known.at), sorted(cases), sorted(known.at))
    for name, case in cases.items():
        failed = case.find('failure') is not None
        must(failed == (name in known.problems), name, 'failed' if failed else 'passed')
        must(case[0].text.startswith('%s:%d\n' % (ACTS, known.line[name])), name, case[0].text)
    for element in [root] + suites:
        sums = {k: len(list(element.iter(v))) for k, v in
                (('tests', 'testcase'), ('failures', 'failure'), ('skipped', 'skipped'))}
        must(sums == {k: int(element.get(k, sums[k])) for k in sums}, sums, element.attrib)


def gitlab(stage):
    room, _ = run(stage, EVERYTHING, '--show-leak-kinds=all')
    known = Known(load(room + '/json'))
    got = validated(room + '/gitlab', 'gitlab.schema.json')
    names = [re.search(r'\((\w{3}-[0-9a-f.]+)\)', g['description']).group(1) for g in got]
    must(sorted(names) == sorted(known.at), names, sorted(known.at))
    for name, g in zip(names, got):
        must(g['location'] == {'path': ACTS, 'lines': {'begin': known.line[name]}}, name, g)
        must((g['severity'] in ('critical', 'major', 'minor')) == (name in known.problems), name, g)
    prints = [g['fingerprint'] for g in got]
    must(len(set(prints)) == len(prints), 'fingerprints are not unique')
    # Lines that move leave them as they are.
    moved = stage.room()
    with open(moved + '/acts.c', 'w') as f:
        f.write('\n' * 7 + read_text(SOURCE + '/' + ACTS))
    call(['cc', '-g', '-O1', '-w', '-fno-builtin', '-o', moved + '/acts', moved + '/acts.c'])
    call([stage.rtcheck, '--gitlab=' + moved + '/gitlab', '--show-leak-kinds=all', moved + '/acts', EVERYTHING],
         env={'XDG_STATE_HOME': moved}, cwd=moved)
    again = load(moved + '/gitlab')
    must(sorted(prints) == sorted(g['fingerprint'] for g in again), 'fingerprints changed with lines')
    must({g['location']['path'] for g in again} == {'acts.c'}, again) # from where it was started


def github(stage):
    page = stage.room() + '/page'
    room, done = run(stage, EVERYTHING, '--annotate=auto', env={'GITHUB_ACTIONS': 'true', 'GITHUB_STEP_SUMMARY': page})
    known = Known(load(room + '/json'))
    reported = re.findall(r'^::(\w+) file=([^,]+),line=(\d+),title=[^:]*\((\S+)\)::(.+)$', done.stderr, re.M)
    must({t[3] for t in reported} == known.problems and {t[0] for t in reported} == {'error'}, done.stderr)
    must(all(t[1:3] == (ACTS, str(known.line[t[3]])) for t in reported), reported)
    text = read_text(page)
    must(set(re.findall(r'^\| (\S+) \|.* ' + ACTS + r':\d+ \|$', text, re.M)) == known.problems, text)
    for env, option, wanted in (({}, 'auto', False), ({}, 'yes', True), ({'GITHUB_ACTIONS': 'true'}, 'no', False)):
        _, done = run(stage, 'l', '--annotate=' + option, env=env)
        must(('::error ' in done.stderr) == wanted, option, env, done.stderr)
    _, done = run(stage, 'l', '--log-file=' + stage.room() + '/log', '--annotate=yes')
    must(done.stderr.startswith('::error ') and done.stderr.count('\n') == 1, done.stderr)


def editors(stage):
    room, done = run(stage, EVERYTHING, '--format=gcc')
    known = Known(load(room + '/json'))
    reported = re.findall(r'^(\S+):(\d+): (error|warning): (.*) \((\S+)\) \[(\w+)\]$', done.stderr, re.M)
    must({t[4] for t in reported} == known.problems and len(reported) == len(known.problems), done.stderr)
    for path, line, _, what, name, code in reported:
        must((path, int(line), code) == (ACTS, known.line[name], known.at[name]['rtc']), name, path, line)
        if 'blocks' in known.at[name]:
            must(what.startswith('%d bytes in %d block' % (known.at[name]['bytes'], known.at[name]['blocks'])), what)


def paths(stage):
    """--path-map, the first match, then --source-root."""
    folder, elsewhere = stage.room(), SOURCE + '-elsewhere' # the checkout may have any path
    for options, want in ((['--path-map=%s=%s' % (SOURCE, elsewhere)], elsewhere + '/' + ACTS),
                          (['--path-map=%s/=%s/x/' % (SOURCE, SOURCE)], 'x/' + ACTS),
                          (['--path-map=%s=/where' % elsewhere, '--path-map=%s=%s' % (SOURCE, elsewhere)],
                           elsewhere + '/' + ACTS),
                          (['--path-map=%s/test=%s' % (SOURCE, elsewhere)], ACTS), # the folder is tests
                          (['--source-root=' + SOURCE + '/tests/ci'], 'project/acts.c'),
                          (['--source-root=' + folder], SOURCE + '/' + ACTS)):
        room, _ = run(stage, 'l', *options)
        must(load(room + '/gitlab')[0]['location']['path'] == want, options, load(room + '/gitlab'))
    call([stage.rtcheck, '--path-map=nothing', 'true'], 125)


def suppressed(stage):
    """Suppressed findings are in none of the files."""
    rules = stage.room() + '/rules'
    with open(rules, 'w') as f:
        f.write('leak:leak\n{\n  twice\n  Memcheck:Free\n  fun:free\n  fun:free_twice\n}\n')
    room, done = run(stage, 'ldw', '--suppressions=' + rules, '--annotate=yes', '--format=gcc')
    results = load(room + '/sarif')['runs'][0]['results']
    must([r['ruleId'] for r in results] == ['wua'], results)
    must([g['check_name'] for g in load(room + '/gitlab')] == ['wua'], load(room + '/gitlab'))
    must(read_text(room + '/junit').count('<failure') == 1, read_text(room + '/junit'))
    must(done.stderr.count('\n::error ') == 1 and len(re.findall(r'\] *$|\[\w+\]$', done.stderr, re.M)) == 1, done.stderr)
    room, done = run(stage, 'ldw', '--suppressions=' + rules, '--format=valgrind')
    must('26 bytes in 1 blocks' in done.stderr.split('suppressed:')[1].splitlines()[0], done.stderr)
    must('from 1 contexts (suppressed: 2 from 2)' in done.stderr, done.stderr)


def unchecked(stage):
    """Each file reports a program with its own malloc; a run of a static program writes no files."""
    own = os.path.join(os.environ.get('RTC_BUILD', SOURCE + '/build'), 'tests/launcher/own_malloc')
    room = stage.room()
    words = ['--%s=%s/%s' % (f, room, f) for f in ('sarif', 'junit', 'gitlab')]
    done = call([stage.rtcheck, *words, '--format=github', own], 120, {'XDG_STATE_HOME': room})
    must('::error title=rtcheck::the program was not checked' in done.stderr or 'not checked' in done.stderr, done.stderr)
    must(not validated(room + '/sarif', 'sarif.schema.json')['runs'][0]['invocations'][0]['executionSuccessful'], 'active')
    call(['xmllint', '--noout', '--schema', HERE + '/junit.xsd', room + '/junit'])
    case = tree.parse(room + '/junit').getroot().find('testsuite/testcase')
    must(case.get('name') == 'checker active' and case.find('failure') is not None, read_text(room + '/junit'))
    done = call([stage.rtcheck, *words, program(stage) + '-static', 'l'], 120, {'XDG_STATE_HOME': room})
    must(not os.path.exists(room + '/junit') and not os.path.exists(room + '/sarif'), os.listdir(room))


if __name__ == '__main__':
    main([(f.__name__, f) for f in (sarif, junit, gitlab, github, editors, paths, suppressed, unchecked)])

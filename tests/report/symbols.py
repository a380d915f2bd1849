#!/usr/bin/env python3
"""Names and lines of the functions on a stack, from what compilers leave in files.

The programs in programs/ are built here, by each compiler in each version of DWARF; a line that is
asked for carries the comment LINE and a name.
"""
# rtc-test: report/symbols ci 120
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import SOURCE, Run, main, must

PROGRAMS = SOURCE + '/tests/report/programs/'


# ---- programs ------------------------------------------------------------------------------

def lines_of(source):
    """{name: number} of the lines that are asked for."""
    with open(PROGRAMS + source) as f:
        found = ((re.search(r'LINE (\w+)', line), n) for n, line in enumerate(f, 1))
        return {m[1]: n for m, n in found if m}


def build(stage, source, compiler, *flags):
    path = stage.room() + '/program'
    subprocess.run([compiler, '-O2', '-g', '-o', path, PROGRAMS + source, *flags], check=True)
    return path


def plain_name(name):
    """Without what a compiler says of its own copy of a function."""
    return name and re.sub(r' \[clone .*', '', name)


def frames_of(report):
    """{bytes of a record: its stack, each frame as a list of (function, line), innermost first}"""
    data = report.data
    frames = {f['id']: [(plain_name(g.get('function')), g.get('line')) for g in
                        [f] + f.get('inlined_into', [])] for f in data['frames']}
    stacks = {s['id']: [frames[f] for f in s['frames']] for s in data['stacks']}
    return {r['bytes']: stacks[r['stack']] for r in data['records']}


def run(stage, path, **more):
    done = Run(stage, [path], **more).wait()
    must(done.status == 0, 'status', done.status, done.err)
    return frames_of(done.report)


def expect(found, wanted, *where):
    must(found == wanted, *where, 'is', found, 'instead of', wanted)


# ---- inlined functions ---------------------------------------------------------------------

COMPILERS = [(c, v) for c in ('gcc', 'clang') for v in (4, 5)]


def inlined(stage):
    line = lines_of('inlined.c')
    for compiler, version in COMPILERS:
        stacks = run(stage, build(stage, 'inlined.c', compiler, '-gdwarf-%d' % version))
        where = (compiler, version)
        expect(stacks[1001][0], [(f, line[f]) for f in ('innermost', 'middle', 'physical')], *where)
        expect(stacks[1002][0], [('innermost', line['innermost']), ('physical', line['block'])],
               *where)
        expect(stacks[2000][0], [('plain', line['plain'])], *where)
        expect(stacks[2000][1][0][0], 'main', *where)


def inlined_in_cpp(stage):
    line = lines_of('inlined.cc')
    for compiler, version in COMPILERS:
        stacks = run(stage, build(stage, 'inlined.cc', compiler + ('++' if compiler == 'clang' else ''),
                                  '-gdwarf-%d' % version, '-lstdc++'))
        expect(stacks[1000][0], [('int* store::shelf::put<int>(unsigned long)', line['put']),
                                 ('store::shelf::fill(unsigned long)', line['fill'])],
               compiler, version)
        (put, at), (function, called) = stacks[3000][0]
        must(put == 'short* store::shelf::put<short>(unsigned long)' and at == line['put'] and
             'call(unsigned long)::' in function and called == line['lambda'],
             compiler, version, stacks[3000][0])


if __name__ == '__main__':
    main([('inlined', inlined), ('inlined_in_cpp', inlined_in_cpp)])

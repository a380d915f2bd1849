"""contracts.py - shared by tests of rtcheck/event.h, cpc.h and profile.h: rows, each in a separate process
(tests/events/alone.h), a program without the runtime, and the header itself.
"""
import re
import subprocess

from harness import SOURCE, Run, must, run_plain

COMPILERS = ('cc -std=c99 -x c', 'cc -std=c17 -x c', 'c++ -std=c++11 -x c++', 'clang -x c', 'clang++ -x c++')
STRICT = ['-Wall', '-Wextra', '-Wpedantic', '-Werror']


def rows_hold(stage, program, rows, how, args=(), seconds=120, **scene):
    run = Run(stage, [stage.program(program), *args] + rows, how=how, **scene).wait(seconds)
    printed = run.out.decode().split('\n')[:-1]
    must(printed == ['ok ' + r for r in rows], 'rows:', sorted(set(printed) ^ {'ok ' + r for r in rows}),
         run.err.decode()[-1000:])
    return '%d rows' % len(printed)


def absent(program):
    def check(stage):
        """A program that uses the interface links and runs without the runtime."""
        run = run_plain(stage, [stage.program(program)])
        must((run.status, run.out) == (0, b'absent\n'), run.status, run.out, run.err)
    return check


def header(name):
    def check(stage):
        """As C and as C++, with nothing before it, and every warning."""
        for compiler in COMPILERS:
            done = subprocess.run(compiler.split() + STRICT + ['-fsyntax-only', '%s/include/rtcheck/%s' % (SOURCE, name)],
                                  capture_output=True, text=True)
            must(done.returncode == 0, compiler, done.stderr)
    return check


def example(name, last):
    def check(stage):
        """A program of examples/, as C and as C++, with the runtime and without it; `last` is its last line."""
        program = stage.room() + '/' + name
        for compiler in ('gcc -std=gnu11 -x c', 'g++ -std=c++11 -x c++', 'clang -x c', 'clang++ -x c++'):
            subprocess.run(compiler.split() + STRICT + ['-pthread', '-I', SOURCE + '/include', '-o', program,
                                                        '%s/examples/%s.c' % (SOURCE, name)], check=True)
            plain = run_plain(stage, [program])
            must(plain.status == 0 and re.fullmatch(rb'no .* here: start this program with rtcheck\n', plain.out), plain.out)
            run = Run(stage, [program]).wait()
            printed = run.out.decode().splitlines()
            must(run.status == 0 and printed and re.fullmatch(last, printed[-1]), compiler, printed, run.err)
    return check

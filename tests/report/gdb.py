#!/usr/bin/env python3
"""gdb's commands for a checked program, docs/debuggers.md: the break at an error, backtraces without the runtime, reports."""
# rtc-test: report/gdb ci 120
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from blocks import block
from harness import SOURCE, Lacking, clean_environment, main, must

SCRIPT = SOURCE + '/tools/gdb/librtcheck.so-gdb.py'


def session(stage, words, commands, options=''):
    if not shutil.which('gdb'):
        raise Lacking('gdb')
    env = ['LD_PRELOAD=' + stage.library, 'RTCHECK_OPTIONS=' + options]
    argv = ['gdb', '-nx', '-batch', '-iex', 'source ' + SCRIPT, '-iex', 'set width 0',
            '-ex', 'set exec-wrapper env ' + ' '.join(env)]
    for command in commands:
        argv += ['-ex', command]
    folder = stage.room()
    done = subprocess.run(argv + ['--args', stage.program('report/debugged'), *words], cwd=folder, capture_output=True, text=True, timeout=100,
                          stdin=subprocess.DEVNULL, env=dict(clean_environment(), RTCHECK_POOL_DIR=folder))
    return done.stdout + done.stderr


def shown(text, *patterns):
    """Each pattern, in this order."""
    at = 0
    for pattern in patterns:
        found = re.compile(pattern, re.M).search(text, at)
        must(found, 'not found:', pattern, 'in', text[at:])
        at = found.end()


def stops_at_errors(stage):
    text = session(stage, ['free', 'thread'], ['rtc break', 'run', 'backtrace', 'continue', 'backtrace', 'continue'])
    for function in 'second_free', 'in_thread':
        must(re.search(r'^#\d+ .* %s \(' % function, text, re.M), function, text)
    shown(text, r'^rtcheck: double free, free\(0x[0-9a-f]+\), block 0x[0-9a-f]+ of 7 bytes\n#[1-9]\d* .* second_free \(',
          r'^#\d+ .* second_free \(.*\n#\d+ .* main \(', r'^rtcheck: invalid free, free\(0x[0-9a-f]+\)\n(?:\[.*\n)?#\d+ .* in_thread \(',
          r'exited normally')
    must('librtcheck.so' not in text.replace(SCRIPT, '').replace(stage.library, ''), 'frames of the library:', text)


def documented(stage):
    """The session of the page, with the paths of this build, stops as printed there."""
    text = block('docs/debuggers.md', 'The program is preloaded by gdb')
    commands = [line[6:] for line in text.split('\n') if line.startswith('(gdb) ')]
    must(commands[0].startswith('source ') and commands[1].startswith('set exec-wrapper env LD_PRELOAD=') and len(commands) == 4, commands)
    shown(session(stage, ['free'], commands[2:]), *(normal(line) for line in text.split('\n') if line and line[0] in 'r#'))


def normal(line):
    """A pattern for a line whose addresses, numbers and places differ."""
    return '^' + re.sub('0x[0-9a-f]+', '0x[0-9a-f]+', re.escape(re.sub(r'^#\d+ .*', '#', line)))


def frames_on_request(stage):
    text = session(stage, ['free'], ['rtc break', 'run', 'disable frame-filter global rtcheck', 'backtrace'])
    shown(text, r'^#0 .* rtc_error_break ', r'^#\d+ .* second_free \(')


def debugger_signal(stage):
    """--on-error=debugger: the program's frame is selected, without a breakpoint."""
    text = session(stage, ['free'], ['run', 'info frame', 'signal 0'], options='on-error=debugger')
    shown(text, r'SIGTRAP', r'^#\d+ .* second_free \(', r'Stack level \d+.*\n.* in second_free ', r'exited normally')


def silent_without_errors(stage):
    text = session(stage, ['leak'], ['rtc break', 'run'])
    must('double free' not in text and not re.search(r'^#\d', text, re.M), text)
    shown(text, r'exited normally')


def newest_error(stage):
    text = session(stage, ['free', 'thread'], ['rtc break', 'run', 'rtc error', 'continue', 'rtc error', 'rtc report'])
    shown(text, r'^duf-[0-9a-f]{8}  double free of a 7-byte block$', r'^  second free\(\)\n     second_free\+', r'^  first free\(\)\n     first_free\+',
          r'^baf-[0-9a-f]{8}  free of an address in ', r'2 problems [^:]*:\s+1 invalid free,\s+1 double free$', r'; still running$')


def leaks(stage):
    text = session(stage, ['leak'], ['break stop_here', 'run', 'rtc leaks', 'rtc leaks new', 'rtc leaks old'])
    shown(text, r'^rtcheck: 3 lost blocks$', r'^rtcheck: 0 lost blocks$', r'rtc leaks takes nothing, or new$')


def refused(stage):
    for commands, why in (['rtc error'], 'the program does not run'), (['rtc leaks'], 'runs without librtcheck.so'):
        must(why in session(stage, ['leak'], commands), commands, why)


if __name__ == '__main__':
    main([(f.__name__, f) for f in (stops_at_errors, documented, frames_on_request, debugger_signal, silent_without_errors, newest_error, leaks,
                                    refused)])

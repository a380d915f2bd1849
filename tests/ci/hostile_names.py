#!/usr/bin/python3
"""Names chosen by the program change a report only where they are printed.

A program whose file and arguments have control characters, line ends, separators, bidirectional marks, malformed
UTF-8 and each format's own special characters makes one mistake of each kind; then every format is read by a parser
of its own.
"""
# rtc-test: ci/hostile_names ci 60
import json
import os
import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, main, must

NAME = b'a"<&>\'%0A::error::\n\t\x1b[31m\x7f\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xae\xe2\x81\xa6\xff{|`*,\\n'
FORBIDDEN = [b'\x1b', b'\x7f', b'\xc2\x85', b'\xe2\x80\xa8', b'\xe2\x80\xa9', b'\xe2\x80\xae', b'\xe2\x81\xa6', b'\xff']
FILES = ('json', 'sarif', 'junit', 'gitlab')


def hostile(stage):
    """The program under such a name, with such an argument."""
    path = os.fsencode(stage.room()) + b'/' + NAME
    shutil.copy(stage.program('limits/planted'), path)
    return [path, b'lost', b'3', b'8', NAME]


def clean(what, text):
    for bad in FORBIDDEN:
        must(bad not in text, what, 'has', bad, text[:2000])


def run(stage, *options):
    """Bytes: the harness's own lists are text."""
    done = Run(stage, [os.fsdecode(word) for word in hostile(stage)], options=list(options), files=False).wait()
    must(done.out == b'all\n', done.out, done.err[-500:])
    return done.err


def texts(stage):
    for name in ('text', 'valgrind', 'lsan', 'gcc', 'github'):
        text = run(stage, 'format=' + name, 'all', 'leak-check=full')
        clean(name, text)
        must(text.count(b'\n::error::') == 0, name, 'a command of the program\'s own:', text)
        must(not re.search(rb'^\t', text, re.M), name, 'a line of the program\'s own:', text)


def files(stage):
    room = stage.room()
    where = {name: room + '/' + name for name in FILES}
    run(stage, *['%s=%s' % item for item in where.items()])
    for name, path in where.items():
        with open(path, 'rb') as f:
            clean(name, f.read())
    for name in ('json', 'sarif', 'gitlab'):
        with open(where[name], encoding='utf-8') as f:
            json.load(f)
    with open(where['json'], encoding='utf-8') as f:
        exe = json.load(f)['processes'][0]['exe']
    must(exe.endswith(NAME.replace(b'\xff', b'\xef\xbf\xbd').decode()), 'JSON: not the same name:', ascii(exe))
    with open(where['junit'], 'rb') as f:
        text = f.read()
    tree = ElementTree.fromstring(text)
    suites = tree.findall('testsuite')
    must(len(suites) == 1 and '\n\t' in suites[0].get('name'), 'JUnit: line ends of an attribute are lost:',
         [ascii(s.get('name')) for s in suites])


def log_names(stage):
    room = stage.room()
    run(stage, 'log-file=' + room + '/%e.log')
    found = os.listdir(os.fsencode(room))
    must(len(found) == 1, found)
    clean('the log file', found[0])
    must(b'\n' not in found[0] and b'\t' not in found[0] and found[0].startswith(b'a"<&>'), found)


def run_files(stage):
    done = Run(stage, [os.fsdecode(word) for word in hostile(stage)], how='hand', keep=True, files=False).wait()
    found = os.listdir(os.fsencode(done.pool_dir))
    must(len(found) == 1 and not any(c in found[0] for c in (b'\n', b'\t', b'\x1b', b'\xe2\x80')), found)
    clean('by hand', done.err)


if __name__ == '__main__':
    main([('texts', texts), ('files', files), ('log_names', log_names), ('run_files', run_files)])

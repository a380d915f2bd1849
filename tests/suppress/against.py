#!/usr/bin/env python3
# rtc-test: suppress/against ci 120
# rtc-test: suppress/against-full full 900 --full
"""The same rule for the same program leaves the same leaks as in valgrind and in LeakSanitizer: shop/shop.cc
has leaks that differ in everything that rules can name.  For valgrind's grammar with rules made at random from
those that valgrind itself generates (--seed), for LeakSanitizer's with a list.  The short form takes a
sample of each, by the seed."""
import functools
import json
import multiprocessing.pool
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import SOURCE, Lacking, clean_environment, main, must, read_text

FLAGS = ['-g', '-O1', '-fno-optimize-sibling-calls', '-fno-omit-frame-pointer', '-Wl,-rpath,$ORIGIN']


def call(words, folder, **env):
    return subprocess.run(words, cwd=folder, env={**clean_environment(), **env}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=100)


@functools.lru_cache(None)
def built(stage, *more):
    """The program by gcc, for any compiler of the build: both other tools read its output best."""
    folder = stage.room()
    for words in (['gcc', '-fPIC', '-shared', '-o', 'libshop.so', SOURCE + '/tests/suppress/shop/lib.c'],
                  ['g++', *more, '-o', 'shop', SOURCE + '/tests/suppress/shop/shop.cc', '-L.', '-lshop']):
        done = call(words[:1] + FLAGS + words[1:], folder)
        must(done.returncode == 0, words, done.stderr)
    return folder


def rules_file(stage, text):
    path = stage.room() + '/rules'
    with open(path, 'w') as f:
        f.write(text)
    return path


def left_by_us(stage, rules, *options):
    """Sizes of the reported leaks."""
    room = stage.room()
    done = call([stage.rtcheck, '--default-suppressions=no', '--json=' + room + '/json', '--suppressions=' + rules,
                 *options, './shop'], built(stage), XDG_STATE_HOME=room)
    must(done.returncode == 0, done.stderr)
    return {x['bytes'] for x in json.loads(read_text(room + '/json'))['leaks'] if x['status'] == 'new' and x['bytes'] < 1000}


# ---- valgrind --------------------------------------------------------------------------------

KINDS = ('definite', 'indirect', 'possible', 'reachable')


def valgrind(stage, *options):
    done = call(['valgrind', '-q', '--leak-check=full', '--show-leak-kinds=all', '--num-callers=64', *options, './shop'],
                built(stage))
    must('FATAL' not in done.stderr, options, done.stderr)
    return done.stderr


def left_by_valgrind(stage, rules):
    reported = valgrind(stage, '--suppressions=' + rules)
    return {int(own or all_) for all_, own in
            re.findall(r'(\d+) (?:\((\d+) direct, \d+ indirect\) )?bytes in \d+ blocks are', reported)}


class Maker:
    """Rules made from stacks: cut, with ellipses, globs, objects and names of other frames."""

    def __init__(self, random, reported):
        self.random = random
        entries = re.findall(r'^\{\n.*?\n   match-leak-kinds: .*?\n(.*?)^\}\n', reported, re.M | re.S)
        self.stacks = [re.findall(r'^   (\S.*)$', e, re.M) for e in entries]
        self.names = sorted({line[4:] for s in self.stacks for line in s if line.startswith('fun:')})
        printed = subprocess.run(['c++filt'], input='\n'.join(self.names), capture_output=True, text=True, check=True)
        self.demangled = dict(zip(self.names, printed.stdout.splitlines()))

    def glob(self, text):
        at = self.random.randrange(len(text))
        to = self.random.randint(at, len(text))
        return self.random.choice((text[:at] + '*' + text[to:], text[:at] + '?' + text[at + 1:], '*' + text[at:], text + '*',
                                   text + '?', text[:-1]))

    def other(self, line):
        if not line.startswith('fun:'):
            return line
        full = self.demangled[line[4:]]
        return self.random.choice(('obj:' + self.random.choice(('*libshop.so', '*/shop', 'shop', '*', '*libc.so*', '*vgpreload*')),
                                   'fun:' + full, 'fun:' + re.sub(r'\(.*', '', full).split('::')[-1], 'fun:' + self.glob(line[4:]),
                                   'fun:' + self.glob(line[4:]), 'fun:' + self.random.choice(self.names), 'fun:*'))

    def rule(self):
        lines = list(self.random.choice(self.stacks))
        lines = lines[:self.random.randint(1, len(lines))] if self.random.random() < .6 else lines
        lines = [self.other(line) if self.random.random() < .35 else line for line in lines]
        for _ in range(self.random.randint(0, 2)):
            at = self.random.randrange(len(lines) + 1)
            lines[at:self.random.randint(at, min(len(lines), at + 3))] = ['...']
        if all(line == '...' for line in lines):
            lines.append('fun:main')
        if self.random.random() < .4:
            lines.insert(0, 'match-leak-kinds: ' + ','.join(self.random.sample(KINDS, self.random.randint(1, 3))))
        return '{\n   r\n   Memcheck:Leak\n%s}\n' % ''.join('   %s\n' % line for line in lines)


# Rules that chance may miss: each of the possible names of the allocating function.
CHOSEN = [['fun:calloc', '...', 'fun:main'], ['fun:malloc', '...', 'fun:main'], ['fun:_Zna?', '...'], ['fun:memalign'],
          ['fun:operator new*'], ['fun:memalign', 'fun:posix_memalign', '...', 'fun:main'],
          ['fun:plain'], ['fun:malloc', 'fun:inlined', '...', 'fun:(below main)'], ['...', 'src:*lib.c'],
          ['match-leak-kinds: possible,reachable', '...', 'obj:*libshop*']]


# valgrind names aligned_alloc and posix_memalign memalign; rtcheck accepts that name and their own.
TWO_NAMES = {128, 116}


def same_as_valgrind(stage):
    maker = Maker(stage.random, valgrind(stage, '--gen-suppressions=all'))
    must(len(maker.stacks) == 31, 'leaks in valgrind', len(maker.stacks))
    rules = ['{\n   r\n   Memcheck:Leak\n%s}\n' % ''.join('   %s\n' % line for line in lines) for lines in CHOSEN]
    rules = stage.random.sample(rules, stage.sample(4, len(rules))) + [maker.rule() for _ in range(stage.sample(4, 500))]
    files = [rules_file(stage, rule) for rule in rules]
    with multiprocessing.pool.ThreadPool(2) as pool:
        others = pool.map(lambda file: left_by_valgrind(stage, file), files)
    options = ('--show-leak-kinds=all', '--errors-for-leak-kinds=all')
    differ = []
    for rule, file, left in zip(rules, files, others):
        of_rtcheck = left_by_us(stage, file, *options)
        if left - of_rtcheck - TWO_NAMES or of_rtcheck - left:
            differ.append('%s valgrind alone tells of %s, we alone of %s' % (rule, sorted(left - of_rtcheck), sorted(of_rtcheck - left)))
    must(not differ, len(differ), 'of', len(rules), 'differ:', *differ[:5])


# ---- LeakSanitizer ---------------------------------------------------------------------------

TEMPLATES = ['plain', '^plain$', '^plain', 'plain2$', '^lib_', 'lib_*deep', 'lib_*deep$', 'l*b_*p', 'libshop.so', '/shop$',
             '^shop::b', 'lib.c', 'lib.c$', '^lib.c', 'shop.cc$', '^anonymous', 'anonymous', 'box::make', 'box::make(int)',
             'make(*long)', 'shelf<char>', '^shop::shelf<*>::take', 'operator()', 'inlined', '^inlined$', 'uses_inlined$',
             'main', '_start', 'libc.so', 'strdup', '$', '^$', 'posix_aligned$x', '^*recurse', 'recurse^', 'shop::operator+',
             ' plain', 'PLAIN']


def left_by_sanitizer(stage, rules):
    done = call(['./shop'], built(stage, '-fsanitize=leak'), LSAN_OPTIONS='fast_unwind_on_malloc=0:report_objects=1:suppressions=' + rules)
    if 'has encountered a fatal error' in done.stderr:
        raise Lacking('the machine does not let a process look at its parent: ' + done.stderr)
    return set(map(int, re.findall(r'^0x[0-9a-f]+ \((\d+) bytes\)', done.stderr, re.M)))


def same_as_sanitizer(stage):
    """LeakSanitizer has no possible leaks, and neither tool reports blocks that a suppressed one holds."""
    options = ('--show-leak-kinds=definite', '--errors-for-leak-kinds=definite', '--strict-interior')
    left_by_sanitizer(stage, rules_file(stage, ''))
    indirect = 136
    differ = []
    for template in stage.random.sample(TEMPLATES, stage.sample(12, len(TEMPLATES))):
        file = rules_file(stage, 'leak:%s\n' % template)
        others, of_rtcheck = left_by_sanitizer(stage, file) - {indirect}, left_by_us(stage, file, *options) - {indirect}
        of_rtcheck -= {133, 134}
        if of_rtcheck != others:
            differ.append('leak:%s: LeakSanitizer alone tells of %s, we alone of %s;' %
                          (template, sorted(others - of_rtcheck), sorted(of_rtcheck - others)))
    must(not differ, len(differ), 'differ:', *differ)


if __name__ == '__main__':
    main([(f.__name__, f) for f in (same_as_valgrind, same_as_sanitizer)])

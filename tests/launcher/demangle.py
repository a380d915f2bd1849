#!/usr/bin/env python3
# rtc-test: launcher/demangle ci 60
"""--demangle=no: every format has the linker's names, of functions, operators, variables and exceptions, and no others;
ids, suppressions and wrappers are the same with it.  Its twin, without the option: the names of the source."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, clean_environment, main, must, read_text

PROGRAM = r'''
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
extern "C" int __lsan_do_recoverable_leak_check() __attribute__((weak));
namespace shop {
static void *table[4];
template <class T> struct box {
    __attribute__((noinline)) static T *made(int n) { return new T[n]; }
    __attribute__((noinline)) static void lost(int n) { made(n)[0] = 1; asm volatile("" ::: "memory"); }
};
__attribute__((noinline)) void twice(void *p) { free(p); free(p); }
__attribute__((noinline)) void nowhere(void **p) { free(p + 1); }
}
int main(int argc, char **argv)
{
    shop::box<int>::lost(7);
    shop::twice(malloc(20));
    shop::nowhere(shop::table);
    if (argc > 1 && *argv[1] == 'c' && __lsan_do_recoverable_leak_check)
        __lsan_do_recoverable_leak_check();
    if (argc > 1 && *argv[1] != 't')
        getchar();
    else if (argc > 1)
        throw std::logic_error("thrown");
}
'''
PLAIN = ('shop::twice', 'shop::box<int>::made', 'shop::nowhere')
LINKED = ('_ZN4shop5twiceEPv', '_ZN4shop3boxIiE4madeEi', '_ZN4shop7nowhereEPPv')
FILES = ('json', 'sarif', 'junit', 'gitlab', 'xml-file')
FORMATS = ('text', 'valgrind', 'lsan', 'gcc', 'github')


def program(stage, *words):
    path = stage.room() + '/shop'
    with open(path + '.cc', 'w') as f:
        f.write(PROGRAM)
    subprocess.run(['g++', '-O1', '-fno-builtin', '-w', *words, path + '.cc', '-o', path], check=True)
    return path


def call(stage, *words):
    return subprocess.run([stage.rtcheck, *words], env={**clean_environment(), 'XDG_STATE_HOME': stage.dir}, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def texts(stage, shop, *options):
    """The outputs of all formats, by name."""
    all_texts = {}
    for form in FORMATS:
        all_texts[form] = call(stage, '--format=' + form, '--leak-check=full', *options, shop).stderr
    room = stage.room()
    call(stage, *('--%s=%s/%s' % (f, room, f) for f in FILES), *options, shop)
    return {**all_texts, **{f: read_text(room + '/' + f) for f in FILES}}


def unescaped(text):
    for coded, plain in (('&lt;', '<'), ('&gt;', '>'), ('&#60;', '<'), ('&#62;', '>'), ('%3A', ':'), ('%2C', ',')):
        text = text.replace(coded, plain)
    return text


def has(text, name):
    return name in unescaped(text)


def all_formats(stage):
    shop = program(stage, '-g')
    for name, text in texts(stage, shop).items():
        must(all(has(text, plain) for plain in PLAIN), name, text)
        must('_ZN4shop' not in text or name == 'json', name, text)
    for name, text in texts(stage, shop, '--demangle=no').items():
        must(all(has(text, linked) for linked in LINKED), name, text)
        must(not any(has(text, plain) for plain in PLAIN), name, text)
        must('operator new' not in text or name not in ('valgrind', 'lsan', 'xml-file'), name, text)
        must('_Znam' in text or name not in ('valgrind', 'lsan', 'xml-file'), name, text)


def other_ways(stage):
    """With LD_PRELOAD, in a later report, and in `show`."""
    shop = program(stage, '-g')
    run = Run(stage, [shop], 'hand', ['demangle=no', 'keep']).wait()
    must(LINKED[0] in run.log and PLAIN[0] not in run.log, run.log)
    for how, settings in (('hand', {'LSAN_OPTIONS': 'demangle=0'}), ('launcher', {'ASAN_OPTIONS': 'demangle=0'}),
                          ('launcher', {'VALGRIND_OPTS': '--demangle=no'})):
        log = Run(stage, [shop], how, env=settings).wait().log
        must(LINKED[0] in log and PLAIN[0] not in log, how, settings, log)
    kept = [run.pool_dir + '/' + f for f in os.listdir(run.pool_dir)]
    must(len(kept) == 1, kept)
    for words in (('report',), ('show', re.search(r'duf-\w+', run.log)[0])):
        for option, name, other in (('yes', PLAIN[0], LINKED[0]), ('no', LINKED[0], PLAIN[0])):
            text = call(stage, words[0], '--demangle=' + option, *words[1:], kept[0]).stdout
            must(name in text and other not in text, words, option, text)


def while_it_runs(stage):
    """The line about an error, and a leak check that the program requests."""
    shop = program(stage, '-g')
    for word, first, i in (('wait', 'double free', 0), ('check', 'leak check 1 of shop', 1)):
        for option, names, others in (('yes', PLAIN, LINKED), ('no', LINKED, PLAIN)):
            with subprocess.Popen([stage.rtcheck, '--demangle=' + option, shop, word], stdin=subprocess.PIPE, text=True,
                                  env={**clean_environment(), 'XDG_STATE_HOME': stage.dir}, stderr=subprocess.PIPE) as run:
                text = ''
                for line in run.stderr:
                    text += line
                    if first in text and (names[i] in line or others[i] in line):
                        break
                must(run.poll() is None, word, option, 'it had ended', text)
                must(names[i] in text and not any(o in text for o in others), word, option, text)
                run.communicate('x')


def what_stays(stage):
    """Ids, and what suppressions and --wrappers match."""
    shop = program(stage, '-g')
    found = [Run(stage, [shop], options=['demangle=' + o]).wait() for o in ('yes', 'no')]
    ids = [sorted(re.findall(r'(?:duf|baf|mel)-[0-9a-f]+', run.log)) for run in found]
    must(ids[0] == ids[1] and len(set(ids[0])) == 3, ids)
    rules = stage.room() + '/rules'
    for rule in ('leak:shop::box', '{\n  x\n  Memcheck:Leak\n  ...\n  fun:_ZN4shop3boxIiE4madeEi\n}'):
        with open(rules, 'w') as f:
            f.write(rule + '\n')
        for option in ('yes', 'no'):
            run = Run(stage, [shop], options=['suppressions=' + rules, 'demangle=' + option]).wait()
            must([x['status'] for x in json.loads(read_text(run.json_file))['leaks']] == ['suppressed'], rule, option, run.log)
    for option, caller in (('yes', 'shop::box<int>::lost'), ('no', '_ZN4shop3boxIiE4lostEi')):
        run = Run(stage, [shop], options=['wrappers=shop::*made', 'demangle=' + option]).wait()
        row = [line for line in run.log.splitlines() if ' mel-' in line][0]
        must(caller in row and 'made' not in row, option, row)


def other_names(stage):
    """Exceptions; a variable that only the symbol table names."""
    shop = program(stage)
    for option, exception, variable in (('yes', 'std::logic_error', 'shop::table'), ('no', 'St11logic_error', '_ZN4shopL5tableE')):
        run = Run(stage, [shop, 'throw'], options=['demangle=' + option]).wait()
        must('uncaught ' + exception in run.log, option, run.log)
        must(re.search(r'shop: %s\b' % variable, run.log), option, run.log)
        must('"exception":"%s"' % exception in read_text(run.json_file), option, read_text(run.json_file))


if __name__ == '__main__':
    main([(f.__name__, f) for f in (all_formats, other_ways, while_it_runs, what_stays, other_names)])

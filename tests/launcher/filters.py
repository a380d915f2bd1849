#!/usr/bin/env python3
# rtc-test: launcher/filters ci 90
"""--only-module, --skip-module, --only-thread, --shell-leaks: which findings are left, in every format and way to make a report; the others
are counted, and are no problems."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, clean_environment, main, must, read_text

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../report')
import validate_json

SHOP = '#include <stdlib.h>\n#include <string.h>\n' \
       'void shop_lost(void) { strdup("thirty bytes, with the NUL it has") [0] = 1; }\n' \
       'void shop_twice(void *p) { free(p); free(p); }\n'
CART = '#include <string>\nextern "C" void cart_lost() { (new std::string("forty-one bytes: more than fit in it....."))->back() = 1; }\n'
TILL = r'''
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void shop_lost(void), shop_twice(void *), cart_lost(void);
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
static char *till_overrun(int n) { char *p = malloc(n); memset(p, 1, n + 1); return p; }
static void till_lost(int n) { memset(malloc(n), 1, n); }
static char *overrun;
static void *worker(void *unused)
{
    pthread_setname_np(pthread_self(), "worker");
    till_lost(50);
    shop_twice(malloc(21));
    overrun = till_overrun(11);
    return unused;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    pthread_join(thread, 0);
    free(overrun);
    shop_lost();
    cart_lost();
    till_lost(70);
    shop_twice(malloc(20));
    free(till_overrun(9));
    memset(alloca(4000), 0, 4000);
    if (argc > 1 && __lsan_do_recoverable_leak_check)
        __lsan_do_recoverable_leak_check();
    if (argc > 1)
        getchar();
}
'''
SHOPS, CARTS, TILLS = {'leak 34', 'duf 20', 'duf 21'}, {'leak 32'}, {'leak 50', 'leak 70', 'wua 9', 'wua 11'}
WORKERS = {'leak 50', 'duf 21', 'wua 11'}
ALL = SHOPS | CARTS | TILLS
FILES = ('json', 'sarif', 'junit', 'gitlab', 'xml-file')
FORMATS = ('text', 'valgrind', 'lsan', 'gcc', 'github')


def program(stage):
    if not hasattr(stage, 'till'):
        room = stage.room()
        for name, text in (('shop.c', SHOP), ('cart.cc', CART), ('till.c', TILL)):
            with open(room + '/' + name, 'w') as f:
                f.write(text)
        flags = ['-g', '-O0', '-w', '-fno-builtin', '-Wl,-rpath,' + room]
        for words in (['gcc', '-shared', '-fPIC', 'shop.c', '-o', 'libshop.so'], ['g++', '-shared', '-fPIC', 'cart.cc', '-o', 'libcart.so'],
                      ['gcc', 'till.c', '-o', 'till', '-L.', '-lshop', '-lcart', '-pthread']):
            subprocess.run(words[:1] + flags + words[1:], cwd=room, check=True)
        stage.till = room + '/till'
    return stage.till


def key(finding):
    leaked = finding['rtc'] == 'mel'
    return 'leak %d' % finding['bytes'] if leaked else '%s %d' % (finding['rtc'], finding['near']['size'])


def direct(report):
    """The findings that the text counts, by their status."""
    found = {}
    for x in report['errors'] + report['leaks']:
        if x['class'] in ('error', 'definite'):
            found.setdefault(x['status'], set()).add(key(x))
    return found


def checked(run, left):
    """What a run with filters has to show of ALL."""
    report = json.loads(read_text(run.json_file))
    must(not validate_json.complaints(report), validate_json.complaints(report))
    found = direct(report)
    must(found.get('new', set()) == left and found.get('filtered', set()) == ALL - left, left, found)
    must(run.status == (9 if left else 0), run.status, left)
    last = run.log.splitlines()[-1]
    away = len(ALL - left)
    words = '%d finding%s filtered; ' % (away, '' if away == 1 else 's')
    must((words in last) if away else ('filtered' not in run.log), words, last)
    must(('rtcheck: %d problem%s; ' % (len(left), '' if len(left) == 1 else 's') if left else 'rtcheck: no errors, no leaks; ') in last, last)
    must(len(re.findall('^note: left out by --', run.log, re.M)) == (away > 0), run.log)
    return run


def run(stage, left, *options, how='launcher'):
    return checked(Run(stage, [program(stage)], how, ['error-exitcode=9', *options]).wait(), left)


def modules(stage):
    folder = os.path.dirname(program(stage))
    for patterns in ('libshop.so', 'libshop*', 'lib????.so', '%s/libshop.so' % folder, '*/libshop.so', 'none,libshop.so', ',libshop.so,'):
        found = SHOPS | CARTS if '????' in patterns else SHOPS
        run(stage, found, 'only-module=' + patterns)
        run(stage, ALL - found, 'skip-module=' + patterns)
    for patterns, found in (('libcart.so', CARTS), ('till', TILLS), ('libshop.so,libcart.so', SHOPS | CARTS), ('*', ALL), ('', ALL)):
        run(stage, found, 'only-module=' + patterns)
    # Part of a name is no match; libc and libstdc++, which called malloc, are not asked.
    for patterns in ('shop', 'libshop', 'libc.so.6', 'libstdc++*', 'librtcheck.so', '???'):
        run(stage, set(), 'only-module=' + patterns)
        run(stage, ALL, 'skip-module=' + patterns)
    run(stage, CARTS, 'only-module=lib*', 'skip-module=*shop*')


def threads(stage):
    for patterns, found in (('worker', WORKERS), ('2', WORKERS), ('w?rk*', WORKERS), ('main', ALL - WORKERS), ('1', ALL - WORKERS),
                            ('till', ALL - WORKERS), ('main,worker', ALL), ('work', set()), ('3', set())):
        run(stage, found, 'only-thread=' + patterns)
    run(stage, {'duf 21'}, 'only-thread=worker', 'only-module=libshop.so')


def ways(stage):
    """By hand; in a later report; with suppressions and a baseline, which precede filters."""
    run(stage, CARTS, 'only_module=libcart.so', how='hand')
    whole = Run(stage, [program(stage)], 'hand', ['keep']).wait()
    kept = [whole.pool_dir + '/' + f for f in os.listdir(whole.pool_dir)]
    later = subprocess.run([stage.rtcheck, 'report', '--only-module=libcart.so', '--error-exitcode=9', *kept],
                           env=clean_environment(), capture_output=True, text=True)
    must(later.returncode == 9 and 'cart_lost' in later.stdout and 'shop_twice' not in later.stdout, later)
    must('1 problem;' in later.stdout and '7 findings filtered;' in later.stdout, later)
    room = stage.room()
    with open(room + '/rules', 'w') as f:
        f.write('leak:shop_lost\n')
    base = Run(stage, [program(stage)], options=['suppressions=%s/rules' % room, 'baseline=%s/base' % room, 'update-baseline']).wait()
    must(base.status == 0, base.log)
    for status, found in (('suppressed', {'leak 34'}), ('known', ALL - {'leak 34'})):
        options = ['suppressions=%s/rules' % room] + ['baseline=%s/base' % room] * (status == 'known')
        again = Run(stage, [program(stage)], options=['only-module=libcart.so', *options]).wait()
        must(direct(json.loads(read_text(again.json_file)))[status] == found, status, again.log)
        must('1 finding suppressed; ' in again.log.splitlines()[-1], again.log)
        must(('filtered' in again.log) == (status == 'suppressed'), again.log)
        must('not found any more' not in again.log, again.log)
    for option in ('only-module=x', 'skip-module=x', 'only-thread=x'):
        refused = Run(stage, [program(stage)], options=['baseline=%s/base' % room, 'update-baseline', option]).wait()
        must(refused.status == 125 and b'option update-baseline: not with --only-module' in refused.err, refused.err)


SHELL = r'''
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char *volatile p = malloc(60);
    if (argc > 1 && !(p = malloc(10), memset(p, 0, 11), free(p), p = 0) && argc > 2)
        execl(argv[1], argv[1], (char *)0); /* as the interpreter of a script: what its first line names */
    return p = 0, 0;
}
'''


def shells(stage):
    """What a shell in a folder bin leaks is left out, not its errors, nor the leaks of what it starts."""
    room = stage.room()
    with open(room + '/shell.c', 'w') as f:
        f.write(SHELL)
    subprocess.run(['gcc', '-g', '-O0', '-w', '-fno-builtin', 'shell.c', '-o', 'shell'], cwd=room, check=True)
    for folder in 'bin', 'sbin':
        os.mkdir(room + '/' + folder)
    for name, is_shell in (('bin/bash', 1), ('bin/env', 1), ('bin/ssh', 0), ('bin/bashful', 0), ('bash', 0), ('sbin/bash', 0)):
        os.link(room + '/shell', room + '/' + name)
        words = [room + '/' + name, 'x']
        shell_run(stage, words, {'wua 10'} if is_shell else {'leak 60', 'wua 10'}, is_shell)
    shell_run(stage, [room + '/bin/bash', 'x'], {'wua 10'}, 1, how='hand')
    shell_run(stage, [room + '/bin/bash', 'x'], {'leak 60', 'wua 10'}, 0, 'shell-leaks')
    os.link(room + '/shell', room + '/bin/program')
    script = room + '/python3'
    with open(script, 'w') as f:
        f.write('#!%s/bin/bash %s/bin/program\n' % (room, room))
    os.chmod(script, 0o755)
    log = shell_run(stage, [script], {'leak 60', 'wua 10'}, 1)
    must('note: left out by --shell-leaks=no: 1 leak of 60 B in 1 block\n' in log, log)
    log = shell_run(stage, [script], {'leak 60'}, 2, 'only-module=program')
    must('note: left out by --only-module=program --shell-leaks=no: 1 leak of 60 B in 1 block, 1 error\n' in log, log)
    base = Run(stage, [script], options=['baseline=%s/base' % room, 'update-baseline']).wait()
    must(base.status == 0, base.log, base.err)


def shell_run(stage, words, found, away, *options, how='launcher'):
    run = Run(stage, words, how, ['error-exitcode=9', *options]).wait()
    report = json.loads(read_text(run.json_file))
    must(not validate_json.complaints(report), validate_json.complaints(report))
    statuses = direct(report)
    must(statuses.get('new', set()) == found and run.status == 9, words, options, how, statuses, run.log)
    filtered = report['summary'].get('filtered', {})
    must(filtered.get('leaks', 0) + filtered.get('errors', 0) == away, words, options, how, filtered)
    must('rtcheck: %d problem' % len(found) in run.log, run.log)
    must('%d finding%s filtered; ' % (away, '' if away == 1 else 's') in run.log or not away, run.log)
    return run.log


def call(stage, *words):
    return subprocess.run([stage.rtcheck, *words], env={**clean_environment(), 'XDG_STATE_HOME': stage.dir}, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def formats(stage):
    options, till = ('--only-module=libshop.so', '--only-thread=worker'), program(stage)
    room = stage.room()
    call(stage, *('--%s=%s/%s' % (f, room, f) for f in FILES), *options, till)
    texts = {f: read_text(room + '/' + f) for f in FILES}
    for form in FORMATS:
        texts[form] = call(stage, '--format=' + form, '--leak-check=full', *options, till).stderr
    for name, text in texts.items():
        must('shop_twice' in text and (name == 'json' or 'cart_lost' not in text and 'till_lost' not in text), name, text)
        must(name not in FORMATS or name == 'github' or '7 findings filtered; ' in text, name, text)
        must(name not in ('sarif', 'text', 'valgrind', 'github') or 'left out by --only-module=libshop.so --only-thread=worker: ' in text, name, text)
    must('4 leaks of 186 B in 4 blocks, and 42 B in 1 block indirectly lost, 3 errors' in texts['text'].replace('\n     ', ''), texts['text'])
    must(not call(stage, '-q', '--only-module=none', till).stderr, '-q: no problems are left')


def while_it_runs(stage):
    """Lines about errors, and a leak check that the program requests."""
    for option, is_last, first, others in (
            ('--only-module=libcart.so', lambda line: 'cart_lost' in line, 'leaked 74 B in 2 blocks\n', ('till_lost', 'shop')),
            ('--only-thread=main', lambda line: 'a 9-byte block' in line, 'a 20-byte block', ('21-byte', '11-byte'))):
        with subprocess.Popen([stage.rtcheck, option, program(stage), 'check'], stdin=subprocess.PIPE, text=True,
                              env={**clean_environment(), 'XDG_STATE_HOME': stage.dir}, stderr=subprocess.PIPE) as process:
            text = ''
            for line in process.stderr:
                text += line
                if is_last(line):
                    break
            must(process.poll() is None, option, 'it had ended', text)
            must(first in text and not any(o in text for o in others), option, text)
            process.communicate('x')


if __name__ == '__main__':
    main([(f.__name__, f) for f in (modules, threads, ways, shells, formats, while_it_runs)])

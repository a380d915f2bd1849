#!/usr/bin/python3
"""Programs started by a checked program in which the runtime cannot run: they run as without it, print nothing more,
and the report names them with the reason."""
# rtc-test: launcher/children ci 120
# rtc-test: launcher/children-as-root root 60 --only chroot_as_root
import os
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import NOT_IN_CONTROL, Lacking, Run, main, must, needs_scene, run_plain, same_as_plain

HELLO = r'''#include <stdio.h>
#include <stdlib.h>
int main(void) { puts(getenv("RTCHECK_RUN_FILE") || (getenv("LD_PRELOAD") && *getenv("LD_PRELOAD")) ? "seen" : "hi"); return 7; }
'''
# write(1, "hi\n", 3); exit(7) of a 32-bit process
HELLO32 = r'''.globl _start
_start: mov $4, %eax; mov $1, %ebx; call 1f
1: pop %ecx; add $text - 1b, %ecx; mov $3, %edx; int $0x80
mov $1, %eax; mov $7, %ebx; int $0x80
text: .ascii "hi\n"
'''
LOADER32 = '/lib/ld-linux.so.2'


def made(stage, name, command, source, suffix='.c'):
    path = '%s/%s' % (stage.dir, name)
    if not os.path.exists(path):
        with open(path + suffix, 'w') as f:
            f.write(source)
        subprocess.run([*command, '-o', path, path + suffix], check=True, stderr=subprocess.PIPE)
    return path


def musl(stage):
    return made(stage, 'musl', ['musl-gcc'], HELLO)


def sanitized(stage):
    return made(stage, 'sanitized', ['gcc', '-fsanitize=address'], HELLO)


def hello_of_32_bits(stage, dynamic):
    path = '%s/hello32%s' % (stage.dir, dynamic)
    if not os.path.exists(path):
        made(stage, 'hello32.o', ['as', '--32'], HELLO32, '.s')
        more = ['-pie', '-dynamic-linker', LOADER32] if dynamic else []
        subprocess.run(['ld', '-m', 'elf_i386', *more, '-o', path, stage.dir + '/hello32.o'], check=True)
    return path


def script(stage, interpreter):
    path = '%s/script%d' % (stage.dir, len(os.listdir(stage.dir)))
    with open(path, 'w') as f:
        f.write('#!%s\n' % interpreter)
    os.chmod(path, 0o755)
    return path


def unchecked(run):
    return sorted((u['path'], u['reason'], u['interpreter'], u['count']) for u in run.report.data['run']['unchecked'])


WORDS = {'loader': "its loader is not glibc's", 'machine': 'it is not an x86-64 program', 'static': 'it is statically linked',
         'sanitizer': 'it was built with a sanitizer', 'no_library': 'librtcheck.so cannot be opened there'}


def behaves(stage, argv, expected, how='launcher', **more):
    """As without us, stderr and all; `expected`: path, reason, by an interpreter, times."""
    plain = run_plain(stage, argv, **more)
    run = Run(stage, argv, how=how, options=['leaks=no'], **more).wait()
    same_as_plain(run, plain)
    must(run.err == plain.err, argv, 'stderr:', run.err, 'instead of', plain.err)
    must(unchecked(run) == sorted(expected), argv, unchecked(run), 'instead of', sorted(expected))
    for path, reason, interpreter, count in expected:
        words = 'not checked: %s: %s%s' % (path, 'interpreter: ' if interpreter else '', WORDS[reason])
        must(words in run.log and ('(%d times)' % count in run.log) == (count > 1), words, 'is not in', run.log)
    return plain, run


def every_way(stage):
    """By any function; also by those that search PATH."""
    starts, hello = stage.program('launcher/starts'), musl(stage)
    ways = run_plain(stage, [starts, '--ways']).out.decode().split()
    for how in ('launcher', 'hand'):
        for way in ways:
            name = hello[1:] if way == 'execveat' else hello
            plain = run_plain(stage, [starts, way, hello])
            must(plain.out == b'hi\nexit 7\n', way, plain.out, plain.err)
            run = Run(stage, [starts, way, hello], how=how, options=['leaks=no']).wait()
            same_as_plain(run, plain)
            must(run.err == plain.err, way, run.err)
            if how == 'launcher' or way not in ('system', 'popen'):  # by hand the shell has a separate run
                must(unchecked(run) == [(name, 'loader', False, 1)], way, unchecked(run))
    return '%d ways' % len(ways)


def each_kind(stage, kinds):
    """Each in a shell that starts it twice, and one that can be checked."""
    for path, reason, interpreter in kinds:
        argv = ['sh', '-c', '"$0"; echo $?; "$0"; echo $?; exec sh -c "exit 4"', path]
        plain, run = behaves(stage, argv, [(path, reason, interpreter, 2)])
        must(plain.status == 4, path, plain.status)
        must(run.report.unchecked_children == 2, path, run.report.unchecked_children)
    return '%d kinds' % len(kinds)


def every_kind(stage):
    own, inner = os.path.abspath(stage.program('launcher/static')), script(stage, musl(stage))
    return each_kind(stage, [(musl(stage), 'loader', False), (own, 'static', False), (sanitized(stage), 'sanitizer', False),
                             (inner, 'loader', True), (script(stage, inner), 'loader', True)])


def of_32_bits(stage):
    try:
        plain = run_plain(stage, [hello_of_32_bits(stage, '')]).status
    except OSError as e:
        plain = e
    if plain != 7:
        raise Lacking('the kernel has no programs of 32 bits: %s' % plain)
    kinds = [''] + ['-dynamic'] * os.path.exists(LOADER32)
    return each_kind(stage, [(hello_of_32_bits(stage, kind), 'machine', False) for kind in kinds])


def silent_twins(stage):
    """A good program is not counted: by a script, by its loader, or where it does not exist."""
    good = shutil.which('true')
    argv = ['sh', '-c', '"$0"; "$1"; /lib64/ld-linux-x86-64.so.2 "$0"; exec /nonexistent/program', good, script(stage, good)]
    behaves(stage, argv, [])


def failed_exec(stage):
    """A program that exec refuses is not counted, as it has no loader."""
    odd = stage.dir + '/odd'
    with open('/bin/true', 'rb') as f:
        image = f.read()
    at = image.index(b'/lib64/ld-linux-x86-64.so.2\0')
    with open(odd, 'wb') as f:
        f.write(image[:at] + b'/lib/ld-nonexistent.so.1\0\0\0\0' + image[at + 28:])
    os.chmod(odd, 0o755)
    for way in ('execve', 'vfork', 'posix_spawn', 'execlp'):
        run = Run(stage, [stage.program('launcher/starts'), way, odd], options=['leaks=no']).wait()
        same_as_plain(run, run_plain(stage, [stage.program('launcher/starts'), way, odd]))
        must(unchecked(run) == [] and run.report.unchecked_children == 0, way, unchecked(run))


def of_a_static_one(stage):
    """Static programs ignore the library; the programs they start are checked again."""
    starter = made(stage, 'starter', ['gcc', '-static'],
                   '#include <unistd.h>\nint main(int c, char **v) { execv(v[1], v + 1); return c; }\n')
    run = Run(stage, ['sh', '-c', '"$0" /bin/sh -c "exit 3"; exit $?', starter]).wait()
    must(run.status == 3 and len(run.report.images) >= 2, run.status, run.report.images)
    must([u[:2] for u in unchecked(run)] == [(starter, 'static')], unchecked(run))


def last_one(stage):
    """By exec in place of the checked program itself: the program was not checked to its end."""
    for options, status in ((['allow-unchecked'], 7), ([], NOT_IN_CONTROL)):
        run = Run(stage, ['sh', '-c', 'exec "$0"', musl(stage)], options=options).wait()
        must((run.status, run.out, run.err) == (status, b'hi\n', b''), run.status, run.out, run.err)
        must(unchecked(run) == [(musl(stage), 'loader', False, 1)], unchecked(run))


# ---- other trees ---------------------------------------------------------------------------------

def tree(stage):
    """A file system with a shell, and without our library."""
    root = stage.dir + '/tree'
    if not os.path.exists(root):
        programs = [shutil.which(p) for p in ('sh', 'env')]
        listed = subprocess.run(['ldd', *programs], check=True, capture_output=True, text=True).stdout.split()
        for path in {*programs, *(w for w in listed if w.startswith('/') and not w.endswith(':'))}:
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copy(path, root + path)
        os.makedirs(root + '/proc', exist_ok=True)
    return root


IN_TREE = 'echo hi; env LEFT=1 sh -c \'echo "$LD_PRELOAD"; exit 5\''


def moved(stage, *starter):
    """`starter` starts a shell in the tree; by hand a program that execs away has no report."""
    sh = shutil.which('sh')
    argv = ['sh', '-c', '"$@"; exit $?', 'sh', *starter, sh, '-c', IN_TREE]
    plain, run = behaves(stage, argv, [(sh, 'no_library', False, 1)])
    must(plain.out == b'hi\n\n' and plain.status == 5, plain.status, plain.out, plain.err)
    run = Run(stage, argv, how='hand').wait()
    same_as_plain(run, plain)
    must(b'ld.so' not in run.err, run.err)


def chroot_as_user(stage):
    needs_scene('unshare', '-r')
    moved(stage, 'unshare', '-r', '--root=' + tree(stage))


def chroot_as_root(stage):
    moved(stage, 'chroot', tree(stage))


def bubblewrap(stage):
    """A sandbox of namespaces, and one with a filter of system calls, entered before the exec."""
    bwrap = ['bwrap', '--unshare-user', '--bind', tree(stage), '/']
    needs_scene('bwrap', '--unshare-user', '--bind', '/', '/')
    moved(stage, *bwrap)
    filters = stage.dir + '/filter'
    with open(filters, 'wb') as f:
        f.write(struct.pack('<HBBI', 0x06, 0, 0, 0x7fff0000))  # allow
    argv = ['sh', '-c', 'exec "$@" 9<"$0"', filters, *bwrap[:1], '--seccomp', '9', *bwrap[1:], shutil.which('sh'), '-c', IN_TREE]
    plain = run_plain(stage, argv)
    run = Run(stage, argv, options=['leaks=no']).wait()
    same_as_plain(run, plain)
    must(run.err == plain.err, run.err, 'instead of', plain.err)


CHECKS = [('every_way', every_way), ('every_kind', every_kind), ('of_32_bits', of_32_bits), ('silent_twins', silent_twins),
          ('failed_exec', failed_exec), ('of_a_static_one', of_a_static_one), ('last_one', last_one),
          ('chroot_as_user', chroot_as_user), ('bubblewrap', bubblewrap)]

if __name__ == '__main__':
    main(CHECKS + [('chroot_as_root', chroot_as_root)] * (os.geteuid() == 0))

#!/usr/bin/python3
"""Little space for records: a report that lacks findings must not look like one without errors.

A program with a planted double free, overflow and leak runs in small file systems and under resource limits.  Its
output and its own status must be those that it has natively; the report has all planted findings, or it is marked
as incomplete, and then the status is not the program's.
"""
# rtc-test: limits_room ci 120
# rtc-test: limits_room_full full 3600 --full
import os
import re
import resource
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from blocks import block
from harness import NOT_IN_CONTROL, Failure, Run, main, must, needs_scene, run_plain

KIB, MIB = 1 << 10, 1 << 20
SIZES = [64 * KIB << n for n in range(12)]
ERROR_STATUS = 9
LIMITS = {'file size': resource.RLIMIT_FSIZE, 'address space': resource.RLIMIT_AS, 'data': resource.RLIMIT_DATA}
UNNOTICED = {'GLIBC_TUNABLES': 'glibc.malloc.tcache_count=0'} # glibc aborts if it detects the double free
ADMITS = 'incomplete:|not checked|not recorded|cannot make a run file|cannot start|no reporter|out of memory'
# By hand and by the launcher, the loader prints that where the library's own data exceed the limit.
UNLOADABLE = 'cannot be preloaded|error while loading shared libraries'
RUNTIME_NEEDS = 16 * MIB # of private memory or address space; with less, the program may get less memory, too
SETUP = 125
ALL = ['double free', 'overflow', 'leak']
PLANTED = {'clean': [], 'forked': ALL[:2]}


def size_text(size):
    return '%d MiB' % (size // MIB) if size >= MIB else '%d KiB' % (size // KIB)


def small_tmpfs(pool, size):
    """A file system for run files in a new namespace; /dev/shm is the same one."""
    needs_scene('unshare', '-Urm')
    script = 'set -e\nmount -t tmpfs -o size=%d none "$0"\nmount --bind "$0" /dev/shm\nexec "$@"' % size
    return ['unshare', '-Urm', 'sh', '-c', script, pool]


def limited(which, size):
    def before():
        resource.setrlimit(which, (size, size))
    return before


def run_in(stage, what, size, how, argv):
    """The program natively and checked, within a file system or limit of that size."""
    pool, scene, before = stage.room(), [], None
    env = {'RTCHECK_POOL_DIR': pool, 'XDG_RUNTIME_DIR': None, **UNNOTICED}
    if what == 'tmpfs':
        scene = small_tmpfs(pool, size)
    else:
        before = limited(LIMITS[what], size)
    if what == 'tmpfs' and how == 'launcher':
        env['RTCHECK_TEST_WITHOUT'] = 'memfd'
    more = {'wrap': scene, 'preexec_fn': before, 'files': False}
    # The same in all modes; with the errors first glibc would abort early.
    native = [argv[0], 'lost'] + argv[2:] if argv[1] == 'first' else argv
    plain = run_plain(stage, native, env=UNNOTICED, **more)
    run = Run(stage, argv, how=how, options=['error-exitcode=%d' % ERROR_STATUS], env=env, **more).wait()
    return plain, run


def headline(text):
    """The first line of a report, behind notes about the start."""
    return next((line for line in text.split('\n') if re.match('rtcheck: (?!note:).*(problem|checked)', line)), '')


def findings(text):
    return [name for name, words in (('double free', 'double free|double free'), ('overflow', 'bad write'),
                                     ('leak', r'\d leaks?\b'))
            if re.search(words, headline(text))]


def judge(plain, run, planted, size, is_file):
    """A word for the result; a Failure if the report lacks a finding without being marked."""
    text = run.err.decode(errors='replace')
    found = findings(text)
    admits = re.search(ADMITS, text)
    if plain.status != 3:  # the limit is too low for the program itself
        must('rtcheck: no errors' not in text, 'an all-clear of a program that did not run:', text[-500:])
        return 'natively %s' % plain.status
    if re.search(UNLOADABLE, text):
        must(size < RUNTIME_NEEDS, 'the runtime cannot be loaded:', text[-500:])
        return 'too small for the runtime'
    enough = size >= RUNTIME_NEEDS or is_file
    must(run.out == plain.out or not enough, 'stdout', run.out, 'instead of', plain.out, text[-500:])
    if not planted:
        must(not found, 'found in a clean program:', found, text[-800:])
        must(run.status == 3 or not enough or (admits and run.status in (ERROR_STATUS, NOT_IN_CONTROL)),
             'status', run.status, text[-800:])
        return 'clean' if run.status == 3 else admits.group(0)
    if found == planted:
        must(run.status == ERROR_STATUS, 'status', run.status, 'with problems;', text[-800:])
        return 'all found'
    must(admits, 'found', found, 'and nothing said of what is missing:', text[-800:])
    must(run.status in (ERROR_STATUS, NOT_IN_CONTROL, SETUP), 'status', run.status, 'of an incomplete run:',
         text[-800:])
    return '%s (%s)' % (admits.group(0).rstrip(':'), len(found))


def blocks_for(what, size):
    """More records than fit; some, if the limit is not the file system's."""
    return max(size // 16, 20000) if what == 'tmpfs' else 2000


def cell(stage, what, size, how, mode):
    count = {'spread': 16384, 'forked': blocks_for(what, size)}.get(mode, blocks_for(what, size))
    argv = [stage.program('limits/planted'), mode, str(count), '8']
    try:
        return judge(*run_in(stage, what, size, how, argv), PLANTED.get(mode, ALL), size,
                     what in ('tmpfs', 'file size'))
    except Failure as e:
        raise Failure('%s of %s, %s, %s: %s' % (what, size_text(size), how, mode, e))


def sweep(what):
    def check(stage):
        modes = stage.sample(['lost'], ['lost', 'first', 'spread', 'forked', 'clean'])
        sizes = stage.sample([512 * KIB, 4 * MIB] if what == 'tmpfs' else [1 * MIB, 64 * MIB], SIZES)
        rows = ['']
        for size in sizes:
            for how in ('hand', 'launcher'):
                came = [cell(stage, what, size, how, mode) for mode in modes]
                rows.append('  %8s  %-8s  %s' % (size_text(size), how, ' | '.join(came)))
        return '\n'.join(rows) if stage.full else ''
    return check


# ---- single cases --------------------------------------------------------------------------

def full_from_docker(stage):
    """By hand, lost blocks fill the file system, and all of them are found."""
    came = cell(stage, 'tmpfs', stage.sample(2, 64) * MIB, 'hand', 'lost')
    must(came == 'all found', came)


def more_leaks_than_room(stage):
    """Leaks from more places than there is room for: the report is marked, and so is each of its formats."""
    argv = [stage.program('limits/planted'), 'spread', '16384', '8']
    plain, run = run_in(stage, 'tmpfs', 1 * MIB, 'hand', argv)
    text = run.err.decode(errors='replace')
    must(run.out == plain.out and run.status == ERROR_STATUS, run.status, run.out, text[-500:])
    must(re.search('rtcheck: at least .*: .*leak', text), 'headline:', text[:300])
    must(re.search('rtcheck: incomplete: 1 process with more leaks .run file full.; .*problems', text),
         'verdict:', text[-300:])


def child_without_room(stage):
    """A child that finds no room for its records is missing, and the verdict contains that."""
    for option, status in ((), NOT_IN_CONTROL), (('allow-unchecked',), 3), ((), ERROR_STATUS):
        how = 'hand' if status == ERROR_STATUS else 'launcher'
        pool = stage.room()
        env = {'RTCHECK_POOL_DIR': pool, 'XDG_RUNTIME_DIR': None, 'RTCHECK_TEST_WITHOUT': 'memfd'}
        run = Run(stage, [stage.program('limits/planted'), 'forked', '60000', '8'], how=how,
                  wrap=small_tmpfs(pool, 1 * MIB), options=list(option) + ['error-exitcode=9'], env=env, files=False)
        text = run.wait().err.decode(errors='replace')
        must(run.out == b'all\n' and run.status == status, how, option, 'status', run.status, run.out, text[-500:])
        must(block('docs/ci.md', 'Its last line has the reason').replace('status 0', 'status 3') in text, how, text[-300:])


def heap_without_room(stage):
    """heap=file, and no room for a block: the report has the failed allocations, and no malloc of the program's own."""
    for size in 768 * KIB, 1 * MIB:
        pool = stage.room()
        run = Run(stage, [stage.program('limits/planted'), 'first', '10', '8'], how='hand', wrap=small_tmpfs(pool, size),
                  options=['heap=file', 'pool-size=64m'], files=False,
                  env={'RTCHECK_POOL_DIR': pool, 'XDG_RUNTIME_DIR': None, **UNNOTICED}).wait()
        text = run.err.decode(errors='replace')
        must('ALLOCATION FAILED' in text and 'malloc of its own' not in text, size_text(size), run.out, text[-800:])


def leaks_not_known(stage):
    """If the leak check fails the status is not the program's, unless no leak check is requested."""
    argv = [stage.program('leaks/ends'), 'no_descriptors', 'lost']
    for how, options, status in (('launcher', (), NOT_IN_CONTROL), ('launcher', ('allow-unchecked',), 0),
                                 ('launcher', ('leaks=no',), 0), ('hand', (), 0)):
        run = Run(stage, argv, how=how, options=options, files=False).wait()
        text = run.err.decode(errors='replace')
        must(run.status == status, how, options, 'status', run.status, text[-500:])
        printed = 'rtcheck: incomplete: 1 process not checked for leaks; ' in text
        must(printed == (options != ('leaks=no',) and how == 'launcher'), how, options, text[-500:])
        must('no leaks' not in text, text[-500:])


if __name__ == '__main__':
    main([('full_from_docker', full_from_docker), ('more_leaks_than_room', more_leaks_than_room),
          ('child_without_room', child_without_room), ('heap_without_room', heap_without_room), ('leaks_not_known', leaks_not_known),
          ('tmpfs', sweep('tmpfs')),
          ('file_size', sweep('file size')), ('address_space', sweep('address space')), ('data', sweep('data'))])

#!/usr/bin/python3
"""On machines with limits or restrictions, the program runs as it does without the runtime.

Every check runs the program plainly first: its output and its status must be the same with the runtime.
Missing functions of the runtime are reported; they never stop the program.
"""
# rtc-test: limits ci 180
# rtc-test: limits_full full 1200 --full
# rtc-test: limits_root_full full,root 1200 --full
# rtc-test: limits_root ci,root 60 --only jail --only locked --only full_tmpfs --only read_only_root
import os
import re
import resource
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import (BUILD, NOT_IN_CONTROL, Failure, Lacking, Run, main, must, needs_scene, read_text, run_plain,
                     same_as_plain)

MIB = 1 << 20
PYTHON = '/usr/bin/python3'


def limited(which, soft):
    def before():
        resource.setrlimit(which, (soft, soft))
    return before


def shell(script):
    """Run the following command after `script`."""
    return ['sh', '-c', script + '\nexec "$@"', 'sh']


def namespace(script):
    """The same in a new user and mount namespace: needs no privileges."""
    needs_scene('unshare', '-Urm')
    return ['unshare', '-Urm', 'sh', '-c', 'set -e\n' + script + '\nexec "$@"', 'sh']


def checked(run, plain, allocs=1):
    """The program was unharmed, and seen."""
    same_as_plain(run, plain)
    report = run.report
    must(report.in_control, 'not in control:', run.log)
    must(report.allocs >= allocs, 'only', report.allocs, 'allocations seen')
    return report


def unharmed(run, plain, hint):
    """The program was unharmed; if it was not checked, that was reported."""
    must(run.out == plain.out, hint, 'stdout differs:', run.out[-200:], run.err[-300:])
    if run.status == NOT_IN_CONTROL and plain.status != NOT_IN_CONTROL:
        must(b'program was not checked' in run.err + run.log.encode(), hint, 'status 120 without a reason:',
             run.err[-300:])
        return False
    must(run.status == plain.status, hint, 'status', run.status, 'instead of', plain.status,
         run.err[-300:], run.log[-300:])
    return True


# ---- address space -------------------------------------------------------------------------

def need_at(stage, limit):
    """Half of the most that a plain program can have at this limit, in MiB."""
    for part in (0.9, 0.8, 0.7, 0.6, 0.5, 0.4):
        need = int(limit * part) // 2
        plain = run_plain(stage, [stage.program('limits/needs'), str(2 * need)],
                          preexec_fn=limited(resource.RLIMIT_AS, limit * MIB))
        if plain.status == 0:
            return need
    raise Failure('plain programs do not work at', limit, 'MiB')


# Without room for a leak search or a /proc the report is incomplete, which is status 120 otherwise.
UNCHECKED = ['allow-unchecked']


def address_space(stage):
    """ulimit -v: a program that runs plainly with twice the memory runs with the runtime."""
    printed = []
    for limit in stage.sample((64, 128, 512, 2048),
                              (64, 80, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192)):
        need = need_at(stage, limit)
        argv = [stage.program('limits/needs'), str(need)]
        plain = run_plain(stage, argv)
        inside = ['sh', '-c', 'ulimit -v %d; exec "$@"' % (limit * 1024), 'sh']
        before = limited(resource.RLIMIT_AS, limit * MIB)
        for where, run in (('around', Run(stage, argv, options=UNCHECKED, preexec_fn=before)),
                           ('inside', Run(stage, inside + argv, options=UNCHECKED)),
                           ('by hand', Run(stage, argv, how='hand', preexec_fn=before))):
            try:
                checked(run.wait(), plain, 1000)
            except Failure as e:
                raise Failure('%d MiB of %d, limit %s: %s' % (need, limit, where, e))
        printed.append('%d of %d' % (need, limit))
    return 'MiB: ' + ', '.join(printed)


def address_space_python(stage):
    script = 'x = [bytes(1000) for i in range(20000)]; print(len(x))'
    argv = [PYTHON, '-S', '-c', script]
    for limit in (200, 400):
        before = limited(resource.RLIMIT_AS, limit * MIB)
        plain = run_plain(stage, argv, preexec_fn=before)
        must(plain.status == 0, 'plain python at', limit, 'MiB')
        for how in ('launcher', 'hand'):
            checked(Run(stage, argv, how=how, preexec_fn=before).wait(), plain, 1000)


# ---- files ---------------------------------------------------------------------------------

def file_size(stage):
    """RLIMIT_FSIZE: no SIGXFSZ except the program's own, which is delivered as usual."""
    need = [stage.program('limits/needs'), '40']
    writes = ['sh', '-c', 'ulimit -f 0; echo a line > "$0"', stage.dir + '/too_large']
    own = run_plain(stage, writes)
    plain = run_plain(stage, need)
    must(own.status == -signal.SIGXFSZ, 'plain status', own.status)
    inside = Run(stage, ['sh', '-c', 'ulimit -f 0; exec "$@"', 'sh'] + need).wait()
    checked(inside, plain, 1000)
    for how in ('launcher', 'hand'):
        run = Run(stage, writes, how=how).wait()
        must(run.status == own.status, how, 'status', run.status, 'instead of SIGXFSZ')
        for size in (0, 4096, 100000, 10 * MIB):
            run = Run(stage, need, how=how, files=False,
                      preexec_fn=limited(resource.RLIMIT_FSIZE, size)).wait()
            unharmed(run, plain, '%s, %d bytes:' % (how, size))
            must(run.err.strip(), how, size, 'nothing was said')


def first_number(words):
    return int(re.search(rb'\d+', words).group())


def full_tmpfs(stage):
    """A full file system is an error of ours, never a signal of the program's."""
    pool = stage.room()
    scene = namespace('mount -t tmpfs -o size=4m none ' + pool)
    many = [stage.program('limits/many'), '400000', '24']
    plain = run_plain(stage, many)
    run = Run(stage, many, how='hand', wrap=scene, env={'RTCHECK_POOL_DIR': pool}).wait()
    same_as_plain(run, plain)
    must(run.report.in_control, 'not in control')
    must(re.search('not (all )?record|run file full', run.log), 'not said:', run.log)
    heap = Run(stage, [stage.program('limits/many'), '4000', '1000'], how='hand', wrap=scene,
               options=['heap=file', 'pool-size=64m'], env={'RTCHECK_POOL_DIR': pool}).wait()
    must(heap.status == 0 and heap.out == b'some\n', 'heap=file:', heap.status, heap.out,
         heap.err[-300:])
    must(first_number(heap.err) > 100, 'heap=file:', heap.err[-300:])
    return heap.err.decode().split('\n')[0]


def no_shared_memory_folder(stage):
    """Without /dev/shm and XDG_RUNTIME_DIR, run files by hand lie in TMPDIR."""
    argv = [stage.program('limits/needs'), '5']
    plain = run_plain(stage, argv)
    scene = namespace('mount -t tmpfs -o ro none /dev/shm')
    for how in ('launcher', 'hand'):
        run = Run(stage, argv, how=how, wrap=scene, keep=True,
                  env={'RTCHECK_POOL_DIR': None, 'XDG_RUNTIME_DIR': None, 'TMPDIR': stage.room()})
        checked(run.wait(), plain, 1000)
        if how == 'hand':
            kept = [f for f in os.listdir('%s/%d' % (stage.dir, stage.count - 1))
                    if f.endswith('.pool')]
            must(len(kept) == 1, 'run files in TMPDIR:', kept)


# The directory of the test's output stays writable, and a build below one of the places stays visible.
READ_ONLY = '''
out=%s
build=%s
mount --make-rprivate /
mount --bind $out $out
for place in /dev/shm /run /tmp /var/tmp; do
    case $out:$build in
        $place/*:*) ;;
        *:$place/*) mount --bind $place $place && mount -o remount,bind,ro $place;;
        *) mount -t tmpfs -o ro none $place;;
    esac
done
mount -o remount,bind,ro /
if touch /read_only_or_not 2>/dev/null; then echo the root is writable >&2; exit 77; fi
'''


def read_only_root(stage):
    """No writable directory: the launcher needs none, and by hand the program runs, too."""
    argv = [stage.program('limits/needs'), '5']
    plain = run_plain(stage, argv)
    scene = namespace(READ_ONLY % (stage.dir, BUILD))
    nowhere = {'RTCHECK_POOL_DIR': None, 'XDG_RUNTIME_DIR': None, 'TMPDIR': '/nonexistent',
               'XDG_STATE_HOME': None, 'HOME': '/nonexistent'}
    checked(Run(stage, argv, wrap=scene, env=nowhere).wait(), plain, 1000)
    run = Run(stage, argv, how='hand', wrap=scene, env=nowhere, files=False).wait()
    same_as_plain(run, plain)
    must(run.err.count(b'rtcheck') >= 1, 'the loss is not said:', run.err)


def no_proc(stage):
    """Without /proc the first program is checked; the programs that it starts are, or a message reports that
    they are not."""
    argv = [stage.program('limits/needs'), '5']
    plain = run_plain(stage, argv)
    scene = namespace('mount -t tmpfs none /proc')
    for how in ('launcher', 'hand'):
        checked(Run(stage, argv, how=how, wrap=scene, options=UNCHECKED).wait(), plain, 1000)
        children = ['sh', '-c', 'echo $(echo a child); "$@"', 'sh'] + argv
        run = Run(stage, children, how=how, wrap=scene, options=UNCHECKED).wait()
        unharmed(run, run_plain(stage, children), how)


# ---- descriptors ---------------------------------------------------------------------------

def closed_descriptors(stage):
    """Started without 0, 1, 2: the program gets these for its own files, and no other descriptor is open."""
    found = {}
    for how in ('plain', 'launcher', 'hand'):
        target = stage.room() + '/open'
        argv = [stage.program('limits/descriptors'), 'first', target]
        run = Run(stage, argv, how=how, wrap=['sh', '-c', 'exec "$@" <&- >&- 2>&-', 'sh']).wait()
        must(run.status == 0, how, 'status', run.status, run.log)
        found[how] = read_text(target)
        if how != 'plain':
            must(run.report.in_control, how, 'not in control')
    must(found['plain'] == found['launcher'] == found['hand'], 'open descriptors:', found)


def all_descriptors_closed(stage):
    """A program that closes all descriptors continues, and so do its children and the programs it execs."""
    program = stage.program('limits/descriptors')
    argv = [program, 'close', program]
    plain = run_plain(stage, argv)
    must(plain.status == 0, 'plain status', plain.status)
    # By hand an exec'd program has a separate file.
    for how, want in (('launcher', 5 + 11), ('hand', 5)):
        report = checked(Run(stage, argv, how=how).wait(), plain, 60000)
        blocks, _ = report.sites('descriptors_leave')
        must(blocks == want, how, blocks, 'blocks left instead of', want)


def pool_dir(stage):
    """A folder for run files that cannot be used is named, and another one taken."""
    argv = [stage.program('limits/needs'), '5']
    plain = run_plain(stage, argv)
    denied, good = stage.room(), stage.room()
    os.chmod(denied, 0o500)
    own = stage.room() + '/program'
    shutil.copy(stage.program('limits/needs'), own)  # ours to write and to execute
    cases = [('/nonexistent', 'No such file or directory'), ('relative', 'Invalid argument'), (own, 'Not a directory')]
    if os.geteuid() != 0:
        cases.append((denied, 'Permission denied'))
    for path, why in cases:
        for options, env in (['pool_dir=' + path], {}), ([], {'RTCHECK_POOL_DIR': path}):
            run = Run(stage, argv, how='hand', options=options, env={'XDG_RUNTIME_DIR': good, 'RTCHECK_POOL_DIR': None, **env}).wait()
            same_as_plain(run, plain)
            must('no run file could be made in pool_dir (%s)' % why in run.log, path, run.log)
        run = Run(stage, argv, options=['pool-dir=' + path]).wait()
        same_as_plain(run, plain)
        must(re.search('note: pool-dir %s: .*not used' % re.escape(path[:80]), run.log), path, run.log)
    for how in ('launcher', 'hand'):
        run = Run(stage, argv, how=how, options=['pool-dir=' + good]).wait()
        must('pool' not in run.log, run.log)


def pool_size(stage):
    """A heap in the file that cannot be is private, and the report has the reason; a full one is malloc's error."""
    argv = [stage.program('limits/needs'), '1']
    plain = run_plain(stage, argv)

    def heap_of(how, size, note, **scene):
        run = Run(stage, argv, how=how, options=['heap=file', 'pool-size=' + size], **scene).wait()
        report = checked(run, plain, 500)
        must((note or 'in private memory') in run.log if note else 'private memory' not in run.log, how, size, run.log)
        heap = report.data['processes'][0]['heap']
        must(heap == ('private' if note else 'file'), how, size, heap)

    for size in '4m', '2048g': # the smallest and the largest
        for how in 'launcher', 'hand':
            heap_of(how, size, None)
    too_small = 'pool_size is less than the minimum, 4.0 MiB: the heap is in private memory'
    for size, note in (('0', too_small), ('1', too_small), ('4194303', too_small),
                       ('2049g', '(File too large): it is in private memory'),
                       ('18446744073709551615', '(File too large): it is in private memory')):
        heap_of('hand', size, note)
    space = {'preexec_fn': limited(resource.RLIMIT_AS, 6000 * MIB)}
    for how in 'launcher', 'hand':
        heap_of(how, '100g', '(Cannot allocate memory): it is in private memory', **space)
    files = {'preexec_fn': lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60 * MIB, 60 * MIB))}
    heap_of('launcher', '100m', 'limits on file sizes: no room for pool-size, 104857600 bytes: the heap is in', **files)
    heap_of('hand', '100m', '(File too large): it is in private memory', **files)

    for how in 'launcher', 'hand': # large enough for the start, and then full
        run = Run(stage, [argv[0], '64'], how=how, options=['heap=file', 'pool-size=16m']).wait()
        must(run.out == b'out of memory\n' and run.status == 1, how, run.out, run.status)
        must(run.report.in_control, how, run.log)
        must(re.search(r'malloc of .* failed, in a heap of 16\.0 MiB%s \(warning\)' % (' in ' + run.pool_dir if how == 'hand' else ''),
                       run.log), how, run.log)


def few_descriptors(stage):
    """ulimit -n: if the program can be started at all it is checked; files that cannot be opened are only named."""
    argv = [stage.program('limits/few')]
    one_taken = ['sh', '-c', 'exec 3</dev/null; exec "$@"', 'sh']
    for count in range(3, 11):
        for wrap in ([], one_taken):
            scene = {'wrap': wrap, 'preexec_fn': limited(resource.RLIMIT_NOFILE, count)}
            plain = run_plain(stage, argv, **scene)
            must(plain.status == (3 if count > 3 + len(wrap) // 4 else 127), count, wrap, plain.status, plain.err)
            for how in ('launcher', 'hand'):
                run = Run(stage, argv, how=how, files=False, **scene).wait()
                same_as_plain(run, plain)
                words = run.err.decode()
                found = re.search(r'\nrtcheck: 2 problems in .*: 1 .*, 1 leak \(', '\n' + words) and '\nrtcheck: 2 problems; ' in words
                must(plain.status == 127 or found, count, wrap, how, words)


# ---- no system calls -----------------------------------------------------------------------

def strict(stage):
    """A stack that was seen before is taken without a system call: a million and more of them."""
    blocks = stage.sample(1000000, 4000000)
    argv = [stage.program('limits/strict'), str(blocks)]
    plain = run_plain(stage, argv)
    must(plain.status == 0, 'plain status', plain.status)
    for how in ('launcher', 'hand'):
        run = Run(stage, argv, how=how, keep=True).wait()
        same_as_plain(run, plain)
        # Under such a filter the runtime cannot mark the file as ended.
        report = run.report if how == 'launcher' else run.reread()
        must(report.in_control and report.allocs > blocks, how, 'only', report.allocs, 'seen')


def starved(stage):
    """The reserve for handlers that interrupt the allocator is used up: that is reported, also with -q."""
    argv = [stage.program('limits/starved')]
    for options in ([], ['quiet']):
        run = Run(stage, argv, options=options).wait()
        must(run.out == b'1 1\n' and run.status == 0, run.out, run.status)
        must('a signal handler that interrupted malloc or free got no memory' in run.log, run.log)
        must(run.report.images[0]['limits'] == ['handler_starved'], run.report.images[0]['limits'])


# ---- scenes that need root -----------------------------------------------------------------

def jail(stage):
    """chroot and setuid: the records are reached without a path or a permission."""
    argv = [stage.program('limits/jail'), stage.room()]
    plain = run_plain(stage, argv)
    must(plain.status == 0, 'plain status', plain.status)
    report = checked(Run(stage, argv, options=UNCHECKED).wait(), plain, 40000)
    must(report.sites('jail_leave')[0] == 10, report.sites('jail_leave'), 'left instead of 10')
    run = Run(stage, argv, how='hand').wait()
    same_as_plain(run, plain)
    must(b'no reporter' in run.err, 'a reporter in there?', run.err)
    left = run.reread().sites('jail_leave')
    must(left[0] == 10, 'by hand', left, 'left instead of 10')


def resident_kib(run):
    return int(re.search(rb'VmRSS (\d+)', run.err).group(1))


def locked(stage):
    """mlockall: only memory in use becomes resident."""
    argv = [stage.program('limits/locked')]
    plain = run_plain(stage, argv)
    must(plain.status == 0, 'plain status', plain.status, plain.out)
    for how in ('launcher', 'hand'):
        run = Run(stage, argv, how=how).wait()
        checked(run, plain, 60000)
        must(resident_kib(run) < resident_kib(plain) + 64 * 1024, how, 'resident:',
             resident_kib(run), 'KiB instead of', resident_kib(plain))
    return '%d KiB instead of %d' % (resident_kib(run), resident_kib(plain))


# ---- core dumps ----------------------------------------------------------------------------

def kernel_core(stage, how):
    """Path of the core file that the kernel writes when crash.c aborts."""
    pattern = read_text('/proc/sys/kernel/core_pattern').strip()
    if '/' in pattern or pattern.startswith('|'):
        raise Lacking('the kernel pipes core dumps to a program or writes them elsewhere')
    unlimited = limited(resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE)[1])
    room = stage.room()
    run = Run(stage, [stage.program('limits/crash')], how=how, cwd=room, preexec_fn=unlimited).wait()
    must(run.status == -signal.SIGABRT, how, 'status', run.status)
    cores = os.listdir(room)
    must(len(cores) == 1, how, 'cores:', cores)
    return room + '/' + cores[0]


def process_of(program, parent):
    """The process that runs the program: `parent` or a child of it."""
    with open('/proc/%d/task/%d/children' % (parent, parent)) as f:
        for pid in [parent] + [int(word) for word in f.read().split()]:
            if os.path.realpath('/proc/%d/exe' % pid) == os.path.realpath(program):
                return pid
    raise Failure('no process runs', program)


def debugger_core(stage, how):
    """Path of the core file that gdb writes of the running crash.c."""
    program = stage.program('limits/crash')
    run = Run(stage, [program, 'wait'], how=how)
    must(run.process.stdout.readline() == b'ready\n', how, 'did not start')
    pid = process_of(program, run.process.pid)
    core = run.room + '/core'
    gdb = subprocess.run(['gdb', '-batch', '-nx', '-p', str(pid), '-ex', 'gcore ' + core],
                         capture_output=True, text=True, timeout=300,
                         preexec_fn=limited(resource.RLIMIT_FSIZE, 1 << 30))
    os.kill(pid, signal.SIGKILL)
    run.wait()
    must(os.path.exists(core), how, 'gdb wrote no core', gdb.stdout[-300:], gdb.stderr[-300:])
    return core


def core_dump(core_of, most_blocks):
    """The program's heap is in its core dump, and our records are not.  most_blocks: the largest
    ratio of the disk blocks; a debugger also writes memory that was never touched."""
    def check(stage):
        sizes = {}
        for how in ('plain', 'launcher', 'hand'):
            core = core_of(stage, how)
            st = os.stat(core)
            sizes[how] = (st.st_size, st.st_blocks * 512)
            gdb = subprocess.run(['gdb', '-batch', '-nx', '-ex', 'print *known', '-ex',
                                  'print *known->next', stage.program('limits/crash'), core],
                                 capture_output=True, text=True, timeout=120,
                                 env={**os.environ, 'DEBUGINFOD_URLS': ''})
            for word in ('4711', 'first in the core', '4712', 'second in the core'):
                must(word in gdb.stdout, how, 'gdb does not find', word, gdb.stdout[-300:],
                     gdb.stderr[-300:])
            os.unlink(core)
        for how in ('launcher', 'hand'):
            for of_rtcheck, plain, most in zip(sizes[how], sizes['plain'], (1.5, most_blocks)):
                must(of_rtcheck <= plain * most, how, 'core of', sizes[how], 'instead of', sizes['plain'])
        return ', '.join('%s %.1f MiB' % (how, size[1] / MIB) for how, size in sizes.items())
    return check


# ---- system calls that fail ----------------------------------------------------------------

def failing_calls(how):
    """If any system call of the runtime fails, the program runs; the losses are reported."""
    def check(stage):
        programs = [[stage.program('limits/needs'), '1']]
        if stage.full:
            programs.append([stage.program('stress/fork_kinds'), 'nested'])
        return ', '.join(fail_each_call(stage, how, argv, stage.sample(60, 150))
                         for argv in programs)
    return check


def fail_each_call(stage, how, argv, at_least):
    plain = run_plain(stage, argv)
    good = shape_of(Run(stage, argv, how=how).wait())
    must(good and good[0], 'not in control without a failure')
    quiet = lost = 0
    every = stage.sample(3, 1)
    for n in range(1, 5000, every):
        run = Run(stage, argv, how=how, env={'RTCHECK_TEST_FAIL': str(n)}).wait()
        unharmed(run, plain, 'call %d:' % n)
        shape = shape_of(run)
        quiet = quiet + 1 if shape == good else 0
        lost += shape != good
        must(shape == good or printed_reason(run), 'call', n, 'failed, and nothing was said:', shape,
             'instead of', good, run.log, run.err)
        run.forget()
        if quiet * every >= 15 and n >= at_least:
            must(how == 'hand' or lost > 0, 'no call made a difference: none has failed')
            return '%d of %d calls made a difference' % (lost, n // every + 1 - quiet)
    raise Failure('no end of failing calls')


FEATURES = ('populate', 'wipeonfork', 'membarrier', 'find_object', 'noreplace', 'hugepage',
            'dontdump', 'run_file', 'memfd', 'proc')


def missing_features(stage):
    """Missing features of the machine are replaced, and reported."""
    argv = [stage.program('limits/needs'), '1']
    plain = run_plain(stage, argv)
    for feature in FEATURES:
        run = Run(stage, argv, env={'RTCHECK_TEST_WITHOUT': feature}).wait()
        is_checked = unharmed(run, plain, feature)
        must(is_checked == (feature != 'run_file'), feature, 'checked:', is_checked, run.log)
        must(printed_reason(run), feature, 'nothing was said:', run.log, run.err)


def late_losses(stage):
    """A feature found missing after the image header was written is reported, too."""
    names = set()
    for n in range(1, 120):
        run = Run(stage, [stage.program('limits/needs'), '1'], env={'RTCHECK_TEST_FAIL': str(n)}).wait()
        if os.path.exists(run.json_file):
            for process in run.report.images:
                names |= set(process['lost_feature_names'])
        run.forget()
    must('wipeonfork' in names, 'of all that can fail, said were only', sorted(names))
    return ', '.join(sorted(names))


def shape_of(run):
    """The values that all runs without losses have in common."""
    if not os.path.exists(run.json_file):
        return None
    report = run.report
    return report.in_control, report.image_count, report.allocs


def printed_reason(run):
    words = run.log + run.err.decode(errors='replace')
    return re.search('not checked|lost|without|missing|not recorded|cannot|did not|no reporter|'
                     'no memfd|no /proc', words)


if __name__ == '__main__':
    as_root = [('jail', jail), ('locked', locked)] if os.geteuid() == 0 else []
    main([('address_space', address_space), ('address_space_python', address_space_python),
          ('file_size', file_size), ('full_tmpfs', full_tmpfs),
          ('no_shared_memory_folder', no_shared_memory_folder),
          ('read_only_root', read_only_root), ('no_proc', no_proc),
          ('closed_descriptors', closed_descriptors), ('few_descriptors', few_descriptors), ('pool_dir', pool_dir),
          ('pool_size', pool_size),
          ('all_descriptors_closed', all_descriptors_closed),
          ('core_dump', core_dump(kernel_core, 1.1)), ('gcore', core_dump(debugger_core, 1.5)), ('strict', strict), ('starved', starved),
          ('missing_features', missing_features), ('late_losses', late_losses),
          ('failing_calls', failing_calls('launcher')),
          ('failing_calls_by_hand', failing_calls('hand'))] + as_root)

#!/usr/bin/python3
"""heap=file: where the heap is, what is refused at the start, a full or truncated pool, large heaps, children, and the
program's own calls on pages of its heap."""
# rtc-test: limits_pool ci 240
# rtc-test: limits_pool_full full 600 --full
# rtc-test: limits_pool_root ci,root 120 --only full_tmpfs --only cold --only start --only hugetlbfs
import ctypes
import mmap
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import (Lacking, Run, clean_environment, main, must, needs_scene, run_plain, same_as_plain, wait_until)

MIB = 1 << 20
HOWS = ('launcher', 'hand')
SETUP = 125
TEXT = b'what the heap holds'
CGROUP = '/sys/fs/cgroup'


def pool(stage, words, how='launcher', size='64m', options=(), **more):
    return Run(stage, [stage.program('limits/pool'), *map(str, words)], how=how,
               options=['heap=file', 'pool-size=' + size, *options], **more)


def waits(stage, words, how='launcher', files=False, **more):
    """A run that has printed its first line, and waits."""
    run = pool(stage, words, how, files=files, stdin=subprocess.PIPE, **more)
    run.first = run.process.stdout.readline().decode()
    must(run.first, words, 'no start:', run.process.stderr.read() if run.process.poll() is not None else '')
    return run


def rtcheck(stage, *words):
    done = subprocess.run([stage.rtcheck, *words], env=clean_environment(), capture_output=True, text=True, timeout=60)
    must(done.returncode == 0, words, done)
    return done.stdout


def private_folder(stage):
    folder = stage.room()
    os.chmod(folder, 0o700)
    return folder


def one_file(folder):
    found = os.listdir(folder)
    must(len(found) == 1, 'one file expected:', found)
    return folder + '/' + found[0]


# ---- start ---------------------------------------------------------------------------------

SMALL = 'pool_size is less than the minimum, 4.0 MiB: the heap is in private memory'
LARGE = r'could not be put into the run file \(File too large\): it is in private memory'
# A size: the launcher's refusal, and the note by hand; None: it is accepted.
SIZES = (
    ('4m', None, None),
    ('4096K', None, None),
    ('4194304', None, None),
    ('1g', None, None),
    ('4095k', '4193280 bytes is less than the minimum, 4m', SMALL),
    ('0', '0 bytes is less than the minimum, 4m', SMALL),
    ('2049g', 'bytes is more than the maximum, 2048g', LARGE),
    ('-1', "'-1' is not a size", SMALL),
    ('64q', "'64q' is not a size", SMALL),
    ('garbage', "'garbage' is not a size", SMALL),
)


def refused(run, why):
    """Before the program starts, by one line."""
    run.wait()
    must(run.status == SETUP and run.out == b'' and re.fullmatch(rb'rtcheck: [^\n]*\n', run.err) and why.encode() in run.err,
         run.status, run.out, run.err, 'instead of', why)


def runs(run, plain, note, folder_note=None):
    """The program is unharmed; the report has the reason if its heap is private."""
    same_as_plain(run.wait(), plain)
    must(run.report.in_control, run.log)
    must(re.search(note or 'private memory', run.log) if note else 'private memory' not in run.log, note, run.log)
    must((folder_note or 'in pool_dir') in run.log if folder_note else 'pool_dir' not in run.log, folder_note, run.log)
    heap = run.report.data['processes'][0]['heap']
    must(heap == ('private' if note else 'file'), note, heap)


def ignored(run, plain, why):
    """By hand: the program runs; in place of the report is one line about the bad option."""
    same_as_plain(run.wait(), plain)
    must(re.fullmatch(rb'rtcheck: [^\n]*\n', run.err) and why.encode() in run.err, run.err, 'instead of', why)
    for name in os.listdir(run.folder):  # it is kept
        os.unlink(run.folder + '/' + name)


def start(stage):
    argv = [stage.program('limits/needs'), '1']
    plain = run_plain(stage, argv)
    good = private_folder(stage)

    def run(how, options=(), env=None, folder=None, **more):
        made = Run(stage, argv, how=how, options=options, env={'RTCHECK_POOL_DIR': folder or good, **(env or {})}, **more)
        made.folder = good
        return made

    for size, refusal, note in SIZES:
        for way in {'options': ['heap=file', 'pool-size=' + size]}, {'env': {'RTCHECK_POOL_SIZE': size}}:
            if refusal:
                refused(run('launcher', **way), refusal)
            else:
                runs(run('launcher', **way), plain, None)
            if refusal and refusal.startswith("'") and 'options' in way:
                ignored(run('hand', **way), plain, 'option pool-size: ' + refusal)
            else:
                runs(run('hand', **way), plain, note)
    for how in HOWS:
        runs(run(how, ['heap=file']), plain, None)  # no size
        runs(run(how, ['heap=file'], {'RTCHECK_POOL_DIR': None, 'XDG_RUNTIME_DIR': good}), plain, None)  # no folder
    a_file = good + '/file'
    open(a_file, 'w').close()
    closed = stage.room()
    os.chmod(closed, 0o500)
    cases = [('relative', 'not an absolute path', 'Invalid argument'), ('/nonexistent', 'No such file or directory', 'No such file or directory'),
             (a_file, 'Not a directory', 'Not a directory')]
    if os.geteuid() != 0:
        cases.append((closed, 'Permission denied', 'Permission denied'))
    for path, refusal, reason in cases:
        for way in {'options': ['heap=file', 'pool-dir=' + path]}, {'options': ['heap=file'], 'folder': path}:
            refused(run('launcher', **way), 'pool-dir %s: %s' % (path, refusal))
            runs(run('hand', env={'XDG_RUNTIME_DIR': good}, **way), plain, None, 'no run file could be made in pool_dir (%s)' % reason)
    os.unlink(a_file)
    for which, bytes_, launched, by_hand in (
            (resource.RLIMIT_FSIZE, 60 * MIB, 'limits on file sizes: no room for pool-size', LARGE),
            (resource.RLIMIT_AS, 6000 * MIB, r'\(Cannot allocate memory\): it is in private', r'\(Cannot allocate memory\): it is in private')):
        limit = {'preexec_fn': lambda: resource.setrlimit(which, (bytes_, bytes_)), 'options': ['heap=file', 'pool-size=100g']}
        runs(run('launcher', **limit), plain, launched)
        runs(run('hand', **limit), plain, by_hand)
    must(os.listdir(good) == [], 'left:', os.listdir(good))
    return '%d sizes, %d folders' % (len(SIZES), len(cases))


# ---- where the heap is ---------------------------------------------------------------------

def is_empty(folder):
    return os.listdir(folder) == []


def space_of(pid, folder):
    """What the files in the folder take that this process or its launcher has mapped: names are not needed."""
    with open('/proc/%d/maps' % pid) as maps:
        return [line for line in maps if folder + '/' in line or folder in line]


def program_of(run):
    """The process of the program, which the launcher has started."""
    return [int(pid) for pid in subprocess.run(['pgrep', '-P', str(run.process.pid), '-x', 'pool'], capture_output=True, text=True).stdout.split()][0]


def in_folder(stage):
    """The launcher's file has no name.  By hand it has one until it is reported, and after SIGKILL."""
    for end in 'exit', 'kill', 'kill launcher':
        folder = private_folder(stage)
        run = waits(stage, ['hold'], options=['pool-dir=' + folder])
        must(is_empty(folder), end, os.listdir(folder))
        program = program_of(run)
        must(space_of(program, folder), end, 'the heap is not in', folder)
        if end == 'exit':
            run.process.stdin.close()
        else:
            os.kill(program if end == 'kill' else run.process.pid, signal.SIGKILL)
        if end == 'kill launcher':
            run.process.stdin.close()  # the program ends
        run.process.wait(60)
        must(is_empty(folder), end, os.listdir(folder))
    for end in 'exit', 'kill':
        folder = private_folder(stage)
        run = waits(stage, ['hold'], how='hand', options=['pool-dir=' + folder])
        must(os.path.basename(one_file(folder)).startswith('rtcheck.pool.'), os.listdir(folder))
        if end == 'exit':
            run.process.stdin.close()
        else:
            run.process.kill()
        run.process.wait(60)
        must(is_empty(folder) == (end == 'exit'), end, os.listdir(folder))
        if end == 'kill':
            text = rtcheck(stage, 'show', run.first.split()[1], one_file(folder))
            must('what the heap ho' in text, text)


def keep_pool(stage):
    """The whole file, also where more than 256 MiB are in the heap; it can be read as the run file."""
    for how in HOWS:
        kept = stage.room() + '/kept'
        for words, size in (('hold',), 64), (('cold', 300), 512):
            run = pool(stage, words, how, size='%dm' % size, options=['keep-pool=' + kept]).wait()
            must(run.status == 0, how, words, run.status, run.err, run.log)
            st = os.stat(kept)
            must(st.st_mode & 0o7777 == 0o600 and st.st_blocks * 512 < st.st_size, how, oct(st.st_mode), st.st_blocks, st.st_size)
            must(st.st_size < (size + 64) * MIB, how, 'the heaps are not behind the used areas:', st.st_size)
            if words[0] == 'hold':
                dense = os.path.dirname(kept) + '/dense'
                subprocess.run(['cp', '--sparse=never', kept, dense], check=True)
                os.rename(dense, kept)
                held = run.out.split()[1].decode()
                text = rtcheck(stage, 'show', '--bytes', held, kept)
                must('hat the heap holds of held' in ''.join(re.findall(r'\|(.{16})\|', text)), text)
                core = os.path.dirname(kept) + '/core'
                rtcheck(stage, 'dump', '--heap=' + core, kept)
                with open(core, 'rb') as f:
                    must(TEXT[1:] in f.read(), how, 'the text is not in the core file')
            else:
                must(st.st_blocks * 512 > 250 * MIB, how, 'the large heap is not there:', st.st_blocks)
        run = pool(stage, ['hold'], 'hand' if how == 'hand' else how, options=['keep-pool=/nonexistent/kept']).wait()
        must('/nonexistent/kept cannot be written: No such file or directory' in run.err.decode() + run.log, how, run.err, run.log)
        must(how == 'hand' or run.status == SETUP, run.status)
    for path, why in ('/dev/null', 'Invalid argument'), (stage.dir, 'Is a directory'):
        refused(pool(stage, ['hold'], options=['keep-pool=' + path], files=False), '%s cannot be written: %s' % (path, why))


# ---- no room -------------------------------------------------------------------------------

def namespace(folder, mib):
    needs_scene('unshare', '-Urm')
    return ['unshare', '-Urm', 'sh', '-c', 'mount -t tmpfs -o size=%dm none %s && exec "$@"' % (mib, folder), 'sh']


def hugetlbfs(stage):
    """Its pages are too large for the heap: the launcher refuses it, and by hand another folder is used."""
    folder = stage.room()
    scene = ['unshare', '-m', 'sh', '-c', 'mount -t hugetlbfs none %s && chmod 777 %s && exec "$@"' % (folder, folder), 'sh']
    if subprocess.run(scene + ['true'], stderr=subprocess.DEVNULL).returncode != 0:
        raise Lacking('hugetlbfs cannot be mounted')
    argv, options = [stage.program('limits/needs'), '1'], ['heap=file', 'pool-dir=' + folder]
    refused(Run(stage, argv, options=options, wrap=scene), 'hugetlbfs has no small pages')
    run = Run(stage, argv, how='hand', options=options, wrap=scene).wait()
    must(run.status == 0 and 'no run file could be made in pool_dir' in run.log, run.status, run.err, run.log)
    drop_in = {'LD_PRELOAD': stage.library, 'VMMALLOC_POOL_DIR': folder, 'VMMALLOC_POOL_SIZE': str(20 * MIB + 4096)}
    run = Run(stage, argv, how='plain', env=drop_in, wrap=scene).wait()
    wanted = ('Error (libvmmalloc): the pool could not be created in %s: Invalid argument\n' % folder).encode()
    must(run.status == -signal.SIGABRT and run.err == wanted, 'libvmmalloc', run.status, run.err)


def full_tmpfs(stage):
    """A full file system: malloc fails, the program continues, and the report has the folder, also after SIGKILL."""
    for how in HOWS:
        folder = stage.room()
        scene = namespace(folder, 16)
        run = pool(stage, ['fill'], how, options=['pool-dir=' + folder], wrap=scene).wait()
        must(run.status == 0 and run.out == b'full, and continues\n', how, run.status, run.out, run.err, run.log)
        got = int(re.search(rb'got (\d+) KiB', run.err)[1])
        must(6000 < got < 16384, how, got)
        wanted = r'malloc of 3000 B failed, in a heap of 64\.0 MiB in %s \(warning\)' % folder
        must(re.search(wanted, re.sub(r'\s+', ' ', run.log)), how, run.log)
    folder, kept = stage.room(), stage.room()
    scene = namespace(folder, 16)
    scene[-2] = scene[-2].replace('exec "$@"', '{ "$@"; cp --sparse=always %s/* %s/; }' % (folder, kept))
    run = pool(stage, ['fill', 'kill'], 'hand', options=['pool-dir=' + folder], wrap=scene, files=False).wait()
    must(run.out == b'full, and continues\n', run.status, run.out, run.err)
    text = rtcheck(stage, 'report', one_file(kept))
    must(re.search(r'in a heap of 64\.0 MiB in %s \(warning\)' % folder, re.sub(r'\s+', ' ', text)), text)
    return '%d KiB of 16 MiB' % got


def truncated(stage):
    """Another process cuts the file, all of it or the heap alone: one line reports it, and SIGBUS ends the program.  If its
    heap is private memory the program continues."""
    lost = b'rtcheck: the run file was truncated, and the program cannot continue: %s\n'
    for size in 0, 4 * MIB, 4 << 30:
        run = waits(stage, ['hold'], how='hand')
        file = one_file(run.pool_dir)
        must(size < os.stat(file).st_size, size)
        os.truncate(file, size)
        err = run.process.communicate(timeout=60)[1]
        must(run.process.returncode == -signal.SIGBUS and err == lost % file.encode(), size, run.process.returncode, err)
    run = waits(stage, ['hold'], how='hand', options=["heap=private"])
    os.truncate(one_file(run.pool_dir), 0)
    err = run.process.communicate(timeout=60)[1]
    must(run.process.returncode == 0 and b'the program continues unchecked' in err, run.process.returncode, err)


# ---- large heaps ---------------------------------------------------------------------------

def scattered(stage):
    """64 GiB of addresses, of which little is written: the file takes little, and it takes little time."""
    begin = time.monotonic()
    run = waits(stage, ['scattered', 120], how='hand', size='64g')
    must(run.first == 'touched 59 GiB\n', run.first)
    blocks = os.stat(one_file(run.pool_dir)).st_blocks
    run.process.stdin.close()
    must(run.process.wait(60) == 0, run.process.returncode, run.process.stderr.read())
    took = time.monotonic() - begin
    must(blocks * 512 < 64 * MIB, blocks * 512, 'bytes')
    return '%.1f MiB, %.1f s' % (blocks * 512 / MIB, took)


def cold(stage):
    """A heap larger than the memory that the program may use, in a folder on a disk."""
    group = '%s/rtcheck-test-%d' % (CGROUP, os.getpid())
    try:
        os.mkdir(group)
    except OSError as e:
        raise Lacking('no control group: %s' % e.strerror)
    try:
        if not os.path.exists(group + '/memory.max'):
            raise Lacking('no control group with a limit of memory')
        with open(group + '/memory.max', 'w') as f:
            f.write(str(64 * MIB))
        folder = private_folder(stage)
        if subprocess.run(['stat', '-f', '-c', '%T', folder], capture_output=True).stdout.strip() in (b'tmpfs', b'ramfs'):
            raise Lacking('the folder is not on a disk')
        wrap = ['sh', '-c', 'echo $$ >%s/cgroup.procs; exec "$@"' % group, 'sh']
        run = pool(stage, ['cold', 256], size='512m', options=['pool-dir=' + folder], wrap=wrap).wait(110)
        must(run.status == 0 and run.out == b'had all of it\n' and run.report.in_control, run.status, run.out, run.err, run.log)
    finally:
        os.rmdir(group)


def collapsible(mib):
    """The MiB of a new file in memory for which MADV_COLLAPSE of this process succeeds."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    file = os.memfd_create('probe')
    os.ftruncate(file, mib * MIB)
    space = libc.mmap(None, (mib + 2) * MIB, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    at = (space + 2 * MIB - 1) // (2 * MIB) * (2 * MIB)
    libc.mmap(at, mib * MIB, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | 0x10, file, 0)  # MAP_FIXED
    done = 0
    for page in range(at, at + mib * MIB, 2 * MIB):
        ctypes.memset(page, 1, 1)
        done += 2 * (libc.madvise(page, 2 * MIB, 25) == 0)  # MADV_COLLAPSE
    libc.munmap(ctypes.c_void_p(space), ctypes.c_size_t((mib + 2) * MIB))
    os.close(file)
    return done


def huge_pages(stage):
    """A heap in a file in memory is on huge pages, if the kernel has them."""
    if collapsible(96) < 96:
        raise Lacking('the kernel has no huge pages for a file in memory')
    printed = []
    with tempfile.TemporaryDirectory(dir='/dev/shm') as in_memory:
        for how, options in ('launcher', ()), ('launcher', ['pool-dir=' + in_memory]), ('hand', ['pool-dir=' + in_memory]):
            run = pool(stage, ['huge', 96], how, size='256m', options=options).wait()
            must(run.status == 0 and run.report.in_control and int(run.out) >= 64, how, options, run.status, run.out, run.err)
            printed.append('%s %s MiB' % (how, run.out.decode().strip()))
    drop_in = {'LD_PRELOAD': stage.library, 'VMMALLOC_POOL_DIR': '/dev/shm', 'VMMALLOC_POOL_SIZE': str(200 * MIB)}
    run = Run(stage, [stage.program('limits/pool'), 'huge', '96'], how='plain', env=drop_in).wait()
    must(run.status == 0 and int(run.out) >= 64, 'libvmmalloc', run.status, run.out, run.err)
    return ', '.join(printed)


# ---- processes -----------------------------------------------------------------------------

def children(stage):
    """200 children that end need no more room than the heaps that the file has, and the parent's heap stays."""
    printed = []
    for how in HOWS:
        for policy, count in ('private', 200), ('copy', 200), ('shared', 20):
            folder = private_folder(stage)
            run = waits(stage, ['children', count], how, options=['fork=' + policy, 'pool-dir=' + folder])
            must(run.first == 'all ended\n', how, policy, run.first)
            used = (file_of(run.process.pid, folder) if how == 'launcher' else os.stat(one_file(folder))).st_blocks * 512
            run.process.stdin.close()
            must(run.process.wait(60) == 0, how, policy, run.process.returncode)
            printed.append('%s %s %.1f MiB' % (how, policy, used / MIB))
            must(used < 64 * 5.5 * MIB, printed)  # 200 have 1000 MiB
    return ', '.join(printed)


def file_of(launcher, folder):
    """The file has no name there: by the launcher's descriptor."""
    for name in os.listdir('/proc/%d/fd' % launcher):
        path = '/proc/%d/fd/%s' % (launcher, name)
        if os.readlink(path).startswith(folder + '/'):
            return os.stat(path)
    raise AssertionError('no descriptor of a file in ' + folder)


def family_killed(stage, policy):
    """The addresses of blocks; the run files; the process ids of the parent and of its forked child."""
    run = waits(stage, ['family'], how='hand', options=['fork=' + policy], start_new_session=True)
    at = dict([run.first.split()] + [run.process.stdout.readline().decode().split() for _ in range(3)])
    must(set(at) == {'inherited', 'forked', 'executed', 'parent'}, at)
    parent = run.process.pid
    with open('/proc/%d/task/%d/children' % (parent, parent)) as f:
        child = f.read().split()[0]
    os.killpg(parent, signal.SIGKILL)
    run.process.wait(60)
    files = [run.pool_dir + '/' + name for name in os.listdir(run.pool_dir)]
    must(len(files) == 2, files)  # by hand an exec'd program has one of its own
    return at, sorted(files, key=lambda name: '.%d.' % parent not in name), str(parent), child


LEFT = '\n  contents      those before a fork, which has made the heap private memory\n'


def inherited(stage):
    """A block from before a fork: the child's record is its parent's, the bytes are the child's if its heap is in the file."""
    for policy, of_parent, of_child in (('copy', 'before the fork', 'after the fork'), ('private', 'before the fork', 'before the fork'),
                                        ('shared', 'after the fork', 'after the fork')):
        at, files, parent, child = family_killed(stage, policy)

        def show(name, *words, status=0):
            done = subprocess.run([stage.rtcheck, 'show', at[name], files[0], *words], capture_output=True, text=True, env=clean_environment(), timeout=60)
            must(done.returncode == status, policy, name, words, done)
            return done.stderr or done.stdout

        for words, process, other, holds, state in (((), parent, child, of_parent, ''), ((parent,), parent, child, of_parent, ''),
                                                    ((child,), child, parent, of_child, ' at a fork, perhaps freed since')):
            text = show('inherited', *words)
            must(re.match(r'block of 16 bytes at 0x[0-9a-f]+, in use%s\n  process       %s pool\n  also in       process %s\n' % (state, process, other), text)
                 and '|%s.' % holds in text and (LEFT in text) == (policy == 'private') and '     family ' in text, policy, words, text)
            must(max(len(line) for line in text.splitlines()) <= 80, text)
            core = stage.room() + '/core'
            rtcheck(stage, 'dump', '--heap=' + core, files[0], process)
            with open(core, 'rb') as f:
                must(holds.encode() in f.read(), policy, words)
        if policy == 'private':
            text = show('forked', child, status=SETUP)
            must(re.search('process %s has allocated or freed the block after a fork' % child, text), text)
        elif policy == 'copy':
            must('also in' not in show('forked'), policy)
        must(show('inherited', '1', status=SETUP).endswith(': the run has no process 1\n'), policy)


def family(stage):
    """After the death of all: each process had a heap of its own, and what it wrote is there."""
    at, files, _, _ = family_killed(stage, 'copy')
    for name in 'forked', 'executed', 'parent':
        texts = [done.stdout for done in (subprocess.run([stage.rtcheck, 'show', '--bytes', at[name], file], capture_output=True, text=True,
                                                         env=clean_environment(), timeout=60) for file in files) if done.returncode == 0]
        found = [''.join(re.findall(r'\|(.{16})\|', text)) for text in texts]
        must(any('what the heap holds of ' + name in text for text in found), name, texts)


# ---- the program's calls -------------------------------------------------------------------

def calls(stage):
    """mlock, msync, mincore, mprotect and madvise have the results that they have natively, also across forks."""
    argv = [stage.program('limits/pool'), 'calls']
    plain = run_plain(stage, argv)
    must(plain.status == 0, plain.status, plain.err)
    for how in HOWS:
        for policy in 'private', 'copy':
            for disk in (), ('pool-dir=' + private_folder(stage),):
                run = pool(stage, ['calls'], how, options=['fork=' + policy, *disk]).wait()
                same_as_plain(run, plain)
                must(run.report.in_control and not run.report.bad_frees(), how, policy, run.log)
    for more in ('events=all',), ('guard=all',):
        same_as_plain(pool(stage, ['calls'], options=more).wait(), plain)
    drop_in = {'LD_PRELOAD': stage.library, 'VMMALLOC_POOL_DIR': stage.room(), 'VMMALLOC_POOL_SIZE': '32000000'}
    same_as_plain(Run(stage, argv, how='plain', env=drop_in).wait(), plain)
    return '%d rows' % plain.out.count(b'\n')


if __name__ == '__main__':
    main([(check.__name__, check) for check in (start, in_folder, keep_pool, full_tmpfs, truncated, scattered, cold, huge_pages, hugetlbfs, children, family, inherited, calls)])

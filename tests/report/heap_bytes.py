#!/usr/bin/env python3
"""The heap of a process in the run file (--heap=file): `rtcheck show --bytes` and `rtcheck dump --heap`.

tests/report/bytes.c prints the addresses of blocks whose contents are known here.  It is killed, ends, or still runs.
"""
# rtc-test: report/heap_bytes ci 120
import os
import re
import resource
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Lacking, Run, clean_environment, main, must

OPTIONS = ['heap=file', 'pool-size=64m']
TEXT = b'the node %s'
LONG, LARGE = 1000, 100000
NO_HEAP = 'the heap is not in the run file: it needs --heap=file'


def numbers(count):
    return bytes(i % 251 for i in range(count))


def node(next_address, name):
    return next_address.to_bytes(8, 'little') + (TEXT % name).ljust(40, b'\0')


def start(stage, how, end, options=OPTIONS, **more):
    return Run(stage, [stage.program('report/bytes'), end], how=how, options=options, files=False, **more)


def blocks_of(out):
    return {name: int(address, 16) for name, address in re.findall(r'^(\w+) (0x[0-9a-f]+)$', out.decode(), re.M)}


def rtcheck(run, *words, status=0, **more):
    env = {**clean_environment(), 'XDG_STATE_HOME': run.room + '/state', 'RTCHECK_POOL_DIR': run.pool_dir}
    done = subprocess.run([run.stage.rtcheck, *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **more)
    must(done.returncode == status, words, done)
    return done.stderr if status else done.stdout


def rows_of(text):
    """The bytes of the rows, by offset; and the offsets that carets mark."""
    found, marked, last = {}, set(), None
    for line in text.splitlines():
        row = re.match(r'([- ][0-9a-f]{7})  ((?:[0-9a-f ]{2}[ ]{1,2}){16})\|', line)
        if row:
            last = int(row[1], 16)
            for i in range(16):
                byte = row[2][3 * i + (i >= 8):][:2]
                if byte.strip():
                    found[last + i] = int(byte, 16)
        elif re.match(r'[ ^]+$', line) and '^' in line:
            marked |= {last + i for i in range(16) if line[10 + 3 * i + (i >= 8):][:1] == '^'}
    return found, marked


def shown(run, address, *words):
    """What is printed of a block: the text, its bytes, and what is marked."""
    text = rtcheck(run, 'show', '--bytes', *words, address if isinstance(address, str) else hex(address), run.pool_file())
    must(max(len(line) for line in text.splitlines()) <= 80, text)
    return text, *rows_of(text)


def same(found, wanted, what):
    got = bytes(found.get(i, 0) for i in range(len(wanted)))
    must(set(range(len(wanted))) <= set(found) and got == wanted, what, got, wanted)


def check_blocks(run, at):
    text, found, marked = shown(run, at['first'])
    same(found, node(at['second'], b'first'), text)
    must(not marked and re.search(r'^  redzones +intact$', text, re.M) and text.startswith('block of 48 bytes at 0x%x, in use\n' % at['first']), text)
    must('\n  allocated\n     node_make  bytes.c:' in text and '\n  pointers to it in blocks in use: 0\n' in text, text)
    text, found, marked = shown(run, at['second'])
    same(found, node(0, b'second'), text)
    must('\n  pointers to it in blocks in use: 1\n   at offset 0 of a 48-byte block 0x%x\n      node_make bytes.c:' % at['first'] in text, text)
    must('\n   stacks, registers and global data are not in the run file\n' in text, text)
    text, found, marked = shown(run, at['second'] + 9)
    must('\n  address       offset 9\n' in text, text)


def check_long(run, at):
    text, found, marked = shown(run, at['long'], '--all')
    same(found, numbers(LONG), text)
    text, found, marked = shown(run, at['long'])
    must(' 672 bytes, shown by --all ' in text and set(found) & set(range(LONG)) == set(range(256)) | set(range(928, LONG)), text)
    must(all(byte == i % 251 for i, byte in found.items() if 0 <= i < LONG), text)
    text, found, marked = shown(run, at['large'], '--all')
    same(found, numbers(LARGE), 'large')
    must('\n  redzones      intact\n' in text and not marked, 'large')


def check_damage(run, at, end):
    text, found, marked = shown(run, at['after'])
    same(found, b'a' * 21 + b'XXX', text)
    must(marked == {21, 22, 23} and '\n  after it      3 bytes changed, at offsets 21 to 23\n' in text, marked, text)
    text, found, marked = shown(run, at['before'], '--all')
    same(found, b'b' * 500, text)
    if end == 'kill': # at exit the runtime reports such a byte and repairs it
        must(marked == {-1} and found[-1] == ord('Y') and '\n  before it     1 byte changed, at offset -1\n' in text, marked, text)
    text, found, marked = shown(run, at['freed'])
    must(marked == {8} and found[8] == ord('Z') and '\n  fill          1 byte changed, at offset 8\n' in text, marked, text)
    must(', freed, in quarantine\n' in text and '\n  allocated\n' in text and '\n  freed\n' in text, text)


def dead(stage):
    """Killed, by the launcher and by hand; and at its end, if the run is kept."""
    for how, end in (('launcher', 'kill'), ('hand', 'kill'), ('launcher', 'exit'), ('hand', 'exit')):
        run = start(stage, how, end, keep=end == 'exit').wait()
        must(run.status in ((-signal.SIGKILL, 128 + signal.SIGKILL) if end == 'kill' else (0,)), how, end, run.status, run.err)
        at = blocks_of(run.out)
        check_blocks(run, at)
        check_long(run, at)
        check_damage(run, at, end)
        if how == 'launcher' or end == 'kill': # a run by hand that was reported is not searched
            must(rtcheck(run, 'show', hex(at['first'])).startswith('block of 48 bytes'), 'the newest run')
        none = rtcheck(run, 'show', '--bytes', '0x10', run.pool_file(), status=1)
        must(none.endswith(': there is no block at 0x10\n'), none)


def by_id(stage):
    """The block of a finding; --deterministic has no address."""
    run = start(stage, 'launcher', 'exit').wait()
    at = blocks_of(run.out)
    text, found, marked = shown(run, 'wua-' + re.search(rb'\(offsets 21 to 23\).* wua-(\S+)', run.err)[1].decode())
    same(found, b'a' * 21, text)
    must(re.match(r'wua-\S+  block of 21 bytes at 0x%x, in use\n' % at['after'], text) and marked == {21, 22, 23}, text)
    text = shown(run, hex(at['second']), '--deterministic')[0]
    must('0x' not in text and text.startswith('block of 48 bytes, in use\n'), text)
    again = rtcheck(run, 'show', '--bytes', 'nonsense', run.pool_file(), status=1)
    must(again.startswith('rtcheck: there is no nonsense in '), again)


def settings(stage):
    """Redzones and fills as other options make them; no mark is printed of what the program did not change."""
    for more in (['redzone-size=64'], ['free-fill=no'], ['free-fill=a7'], ['guard=all'], ['guard=end'], ['frames=0']):
        run = start(stage, 'launcher', 'kill', OPTIONS + more).wait()
        at = blocks_of(run.out)
        for name in ('first', 'second', 'long', 'large'):
            if name not in at: # a guard ends the program at its first bad write
                continue
            text, found, marked = shown(run, at[name])
            must(not marked and '\n  redzones      intact\n' in text, more, name, text)
        if more[0].startswith('guard'):
            continue
        must(shown(run, at['after'])[2] == {21, 22, 23}, more, 'after')
        must(shown(run, at['freed'])[2] == (set() if more == ['free-fill=no'] else {8}), more, 'freed')


def running(stage):
    """A process that has not ended, by its id."""
    run = start(stage, 'launcher', 'wait', stdin=subprocess.PIPE)
    out = b''
    while b'\nfreed ' not in out or not out.endswith(b'\n'):
        piece = os.read(run.process.stdout.fileno(), 4096)
        must(piece, 'the program ended', out)
        out += piece
    at = blocks_of(out)
    with open('/proc/%d/task/%d/children' % (run.process.pid, run.process.pid)) as f:
        child = [pid for pid in f.read().split() if os.readlink('/proc/%s/exe' % pid).endswith('/bytes')]
    must(len(child) == 1, child)
    text = rtcheck(run, 'show', hex(at['first']), child[0])
    same(rows_of(text)[0], node(at['second'], b'first'), text)
    rtcheck(run, 'dump', '--heap=' + run.room + '/core', child[0])
    must(os.path.getsize(run.room + '/core') > LARGE, 'a core of a running process')
    run.wait()


def without(stage):
    """One line says why there is no heap."""
    run = start(stage, 'launcher', 'exit', []).wait()
    kept, at = run.pool_file(), blocks_of(run.out)
    for words in (('show', '--bytes', hex(at['first'])), ('dump', '--heap=' + run.room + '/core')):
        err = rtcheck(run, *words, kept, status=125)
        must(err == 'rtcheck: %s: %s\n' % (kept, NO_HEAP) and not os.path.exists(run.room + '/core'), err)
    run = start(stage, 'launcher', 'exit', keep=True).wait()
    at, packed = blocks_of(run.out), run.room + '/run.rtpack'
    rtcheck(run, 'pack', '-o', packed, run.pool_file())
    err = rtcheck(run, 'show', hex(at['first']), packed, status=125)
    must('left out of packs' in err and err.count('\n') == 1, err)


def core(stage):
    """The core file: sparse, private, replaced as a whole; and refused if it cannot be written."""
    run = start(stage, 'hand', 'kill').wait()
    path = run.room + '/heap.core'
    rtcheck(run, 'dump', '--heap=' + path, run.pool_file())
    st = os.stat(path)
    must(st.st_mode & 0o777 == 0o600 and st.st_size < 32 << 20, oct(st.st_mode), st.st_size)
    head = subprocess.run(['readelf', '-hlnW', path], capture_output=True, text=True)
    must(head.stderr == '' and 'CORE (Core file)' in head.stdout and 'NT_PRSTATUS' in head.stdout and 'NT_PRPSINFO' in head.stdout, head)
    loads = [[int(w, 16) for w in m] for m in re.findall(r'^  LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)', head.stdout, re.M)]
    for name, wanted in (('long', numbers(LONG)), ('large', numbers(LARGE))):
        at = blocks_of(run.out)[name]
        inside = [(offset, start) for offset, start, size in loads if start <= at < start + size]
        must(len(inside) == 1, name, loads)
        with open(path, 'rb') as f:
            f.seek(inside[0][0] + at - inside[0][1])
            must(f.read(len(wanted)) == wanted, name)
    with open(path, 'rb') as f:
        before = f.read()
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
    err = rtcheck(run, 'dump', '--heap=' + path, run.pool_file(), status=125, preexec_fn=limit)
    must(err == 'rtcheck: %s cannot be written: File too large\n' % path, err)
    with open(path, 'rb') as f:
        must(f.read() == before and not [n for n in os.listdir(run.room) if n.startswith('heap.core.')], 'the old file stays')
    err = rtcheck(run, 'dump', '--heap=/dev/full', run.pool_file(), status=125)
    must(err == 'rtcheck: /dev/full cannot be written: Illegal seek\n', err)


def core_in_gdb(stage):
    if not shutil.which('gdb'):
        raise Lacking('gdb')
    run = start(stage, 'launcher', 'kill').wait()
    at, path = blocks_of(run.out), run.room + '/heap.core'
    rtcheck(run, 'dump', '--heap=' + path, run.pool_file())
    done = subprocess.run(['gdb', '-nx', '-batch', '-ex', 'x/gx %d' % at['first'], '-ex', 'x/s %d' % (at['first'] + 8),
                           stage.program('report/bytes'), path], capture_output=True, text=True, timeout=60)
    must('0x%x:\t0x%016x\n' % (at['first'], at['second']) in done.stdout and '"the node first"' in done.stdout, done)


if __name__ == '__main__':
    main([(f.__name__, f) for f in (dead, by_id, settings, running, without, core, core_in_gdb)])

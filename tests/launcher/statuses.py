#!/usr/bin/python3
"""How a run ends: statuses in the order in which they apply, programs that are refused before they run and
the reasons, and where the messages are printed."""
# rtc-test: launcher/statuses ci 120
# rtc-test: launcher/statuses-as-root root 60 --only as_root --only others_files
import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import clean_environment, main, must, read_text

USAGE, REFUSED, NOT_RUNNABLE, NOT_FOUND = 125, 120, 126, 127
NOBODY = 65534


def run(stage, *args, env=None, **popen):
    """rtcheck with these arguments: (status, stdout, stderr)."""
    popen.setdefault('stdin', subprocess.DEVNULL)
    popen.setdefault('timeout', 60)
    done = subprocess.run([stage.rtcheck, *args], capture_output=True,
                          env={**clean_environment(), **(env or {})}, **popen)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def expect(got, status, words, where=''):
    """This status, and a last line that has these words."""
    must(got[0] == status, where, 'status', got[0], 'instead of', status, got[2])
    last = got[2].splitlines()[-1] if got[2] else ''
    must(last.startswith('rtcheck: ') and words in last, where, 'says', repr(got[2]),
         'instead of', words)


def make_file(stage, data, mode=0o755, name='file'):
    path = stage.room() + '/' + name
    with open(path, 'wb') as f:
        f.write(data)
    os.chmod(path, mode)
    return path


# ---- the program's own fate -------------------------------------------------------------------

def own_status(stage):
    for status in (0, 1, 42, 120, 125, 126, 255):
        got = run(stage, 'sh', '-c', 'echo out; echo err >&2; exit %d' % status)
        must(got[0] == status and got[1] == 'out\n', 'status', got, 'instead of', status)
        must(got[2].startswith('err\n'), 'stderr', got[2])
        expect(got, status, 'rtcheck: no errors')


def own_signal(stage):
    """Died by a signal: so do we, without a core dump of ours."""
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    for name in ('KILL', 'TERM', 'SEGV', 'ABRT', 'INT', 'PIPE', 'ALRM', 'XFSZ', 'RTMIN'):
        room = stage.room()
        number = getattr(signal, 'SIG' + name)
        got = run(stage, 'sh', '-c', 'ulimit -c 0; kill -%d $$' % number, cwd=room,
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, unlimited))
        expect(got, -number, 'problem' if name in ('SEGV', 'ABRT') else 'rtcheck: no errors', name)
        must(os.listdir(room) == [], 'left behind:', os.listdir(room))


KILLS_ITSELF = """import os, resource
held = bytearray(50 << 20)
held[::4096] = bytes(len(held) // 4096)
for _ in range(1000000): pass
u = resource.getrusage(resource.RUSAGE_SELF)
print(int((u.ru_utime + u.ru_stime) * 1e9), u.ru_minflt, u.ru_maxrss << 10, flush=True)
os.kill(os.getpid(), 9)
"""


def cost_of_killed(stage):
    """A killed program reports no costs; the parent's rusage has them.  Not if that may count twice."""
    path = stage.room() + '/report.json'
    got = run(stage, '--cost', '--json', path, '/usr/bin/python3', '-c', KILLS_ITSELF)
    expect(got, -signal.SIGKILL, 'rtcheck: no errors; leaks of 1 killed process not known; killed by ')
    with open(path) as f:
        reported = json.load(f)['cost']['counters']
    for name, printed in zip(('task_clock_ns', 'minor_faults', 'max_rss_bytes'), map(int, got[1].split())):
        value = reported[name]['value']
        must(reported[name]['source'] == 'rusage at death' and printed <= value < printed * 1.3 + 50e6 * (name == 'task_clock_ns'),
             name, reported[name], 'program said', printed)
    must(re.search(r'^COST +task clock [\d.]+ ms \(rusage at death\)\n +page faults \d+ .*, max rss [\d.]+ MiB '
                   r'\(rusage at death\)$', got[2], re.M), got[2])
    got = run(stage, '--json', path, 'sh', '-c', '/bin/true; kill -9 $$')
    with open(path) as f:
        cost = json.load(f)['cost']
    clock = cost['counters']['task_clock_ns']
    must(cost['processes'] == 2 and clock['processes'] == 1 and clock['source'] == 'clock_gettime', cost)


# ---- usage ------------------------------------------------------------------------------------

def usage(stage):
    for args, words in (
            ([], 'no program'),
            (['--'], 'no program'),
            (['--nonsense', 'true'], "unknown option '--nonsense'"),
            (['-qx', 'true'], "unknown option '-qx'"),
            (['--he', 'true'], "'--he' is ambiguous: help, heap"),
            (['--pool-size=lots', 'true'], "pool-size: 'lots' is not a size"),
            (['--heap=file', '--pool-size=4194303', 'true'], 'option pool-size: 4194303 bytes is less than the minimum, 4m'),
            (['--heap=file', '--pool-size=0', 'true'], 'option pool-size: 0 bytes is less than the minimum, 4m'),
            (['--heap=file', '--pool-size=-1', 'true'], "pool-size: '-1' is not a size"),
            (['--heap=file', '--pool-size=1e30', 'true'], "pool-size: '1e30' is not a size"),
            (['--heap=file', '--pool-size=2049g', 'true'], 'option pool-size: 2200096997376 bytes is more than the maximum, 2048g'),
            (['--keep=perhaps', 'true'], "keep: 'perhaps' is not yes or no"),
            (['--json'], 'json needs a value'),
            (['--log-file=/nonexistent/log', 'true'], '/nonexistent/log'),
            (['--log-file=%x', 'true'], '%x'),
            (['--log-file=%q{RTCHECK_TEST_UNSET}', 'true'], 'RTCHECK_TEST_UNSET'),
            (['--pool-dir=' + '"\'', 'true'], 'pool-dir')):
        got = run(stage, *args)
        expect(got, USAGE, words, args)
        must(len(got[2].splitlines()) == 1, 'more than one line:', got[2])
    expect(run(stage, 'true', env={'RTCHECK_OPTIONS': 'quiet:bogus=1'}), USAGE, "option 'bogus'")
    full = run(stage, '--help=all')
    must(full[0] == 0 and '--allow-unchecked' in full[1], 'help:', full)
    help_text = run(stage, '--help')
    must(help_text[0] == 0 and '--error-exitcode' in help_text[1] and len(help_text[1]) < len(full[1]) / 2, 'help:', help_text)
    must(max(len(line) for line in help_text[1].splitlines()) <= 80, 'help is too wide')
    must(run(stage, '-h') == help_text, '-h is not --help')
    version = run(stage, '--version')
    must(version[0] == 0 and re.match(r'rtcheck \d+\.\d+', version[1]), 'version:', version)
    plain, verbose = (run(stage, *words, 'sh', '-c', 'exit 3') for words in ((), ('-v',)))
    must(plain[0] == verbose[0] == 3 and 'COST ' not in plain[2], '-v runs the program', plain, verbose)
    must('\nCOST ' in verbose[2] and re.search(r'^ +bytes +of all', verbose[2], re.M), '-v has details:', verbose)


def not_runnable(stage):
    plain = make_file(stage, b'text\n', 0o644)
    bad_script = make_file(stage, b'#!/nonexistent/interpreter\n')
    room = stage.room()
    for name, status, words in (
            ('rtcheck-test-no-such-program', NOT_FOUND, 'command not found'),
            ('', NOT_FOUND, 'command not found'),
            ('./no_such_file', NOT_FOUND, './no_such_file: No such file or directory'),
            ('/etc/passwd/x', NOT_RUNNABLE, '/etc/passwd/x: Not a directory'),
            (room, NOT_RUNNABLE, 'Is a directory'),
            ('/dev/null', NOT_RUNNABLE, '/dev/null: Permission denied'),
            (bad_script, NOT_FOUND, bad_script + ': No such file or directory')):
        expect(run(stage, '--', name), status, words, name)
    if os.geteuid() != 0:
        expect(run(stage, plain), NOT_RUNNABLE, 'Permission denied', plain)


def found_by_path(stage):
    """PATH is searched as a shell does, and the program gets the name that was typed."""
    room, denied = stage.room(), stage.room()
    shutil.copy('/bin/sh', room + '/rtcheck-test-sh')
    open(denied + '/rtcheck-test-sh', 'w').close()
    with open(room + '/rtcheck-test-script', 'w') as f:
        f.write('echo $0 $1\n')
    os.chmod(room + '/rtcheck-test-script', 0o755)
    for path in (room, '/nonexistent:%s' % room, '%s:%s' % (denied, room), ':/nonexistent',
                 '/nonexistent:', '/nonexistent::/x'):
        got = run(stage, 'rtcheck-test-sh', '-c', 'echo $0', env={'PATH': path}, cwd=room)
        must(got[:2] == (0, 'rtcheck-test-sh\n'), 'PATH', path, got)
    expect(run(stage, 'rtcheck-test-sh', env={'PATH': denied}), NOT_RUNNABLE, 'Permission denied')
    os.chmod(denied, 0)
    if os.geteuid() != 0:
        expect(run(stage, 'rtcheck-test-sh', env={'PATH': denied}), NOT_FOUND, 'command not found')
    os.chmod(denied, 0o755)
    got = run(stage, 'rtcheck-test-script', 'x', env={'PATH': room})
    must(got[1] == room + '/rtcheck-test-script x\n', 'a script without #!:', got)


# ---- not in control -----------------------------------------------------------------------------

def refused(stage, path, words):
    got = run(stage, path)
    expect(got, REFUSED, words, path)
    must('program was not checked: ' in got[2] and path in got[2] and got[1] == '', 'refused with', got)


def statically_linked(stage):
    for name in ('static', 'static_pie'):
        path = stage.program('launcher/' + name)
        refused(stage, path, 'statically linked')
        got = run(stage, '--allow-unchecked', path, 'x')
        expect(got, 9, 'program was not checked: ')
    nameless = run(stage, '--allow-unchecked', stage.program('launcher/static'), 'x', 'y')
    must('killed by signal 35 (SIG?)' in nameless[2], nameless)
    must(run(stage, '--allow-unchecked', stage.program('launcher/static'), 'x')[1] == 'static x\n',
         'it did not run')


def by_script(stage):
    """The interpreter of a script counts, through several scripts."""
    folder = stage.room() + '/' + 'long' * 30
    os.mkdir(folder)
    static = shutil.copy(stage.program('launcher/static'), folder)
    inner = make_file(stage, b'#! %s  one\n' % static.encode())
    outer = make_file(stage, b'#!%s\n' % inner.encode())
    refused(stage, inner, 'interpreter %s: it is statically linked' % static[:100])  # as much as the message contains
    refused(stage, outer, 'interpreter %s: it is statically linked' % static[:100])
    good = make_file(stage, b'#!/bin/sh\nexit 3\n')
    expect(run(stage, good), 3, 'rtcheck: no errors')
    for text in (b'', b'exit 0', b'#', b'#!', b'#!   \n', b'\x7fEL'):
        path = make_file(stage, text)
        plain = subprocess.run(['env', path], stdin=subprocess.DEVNULL, capture_output=True)
        must(run(stage, path)[0] == plain.returncode, text, 'plain', plain)


def other_machines(stage):
    """Other classes, machines and libcs, and broken files, which exec refuses as usual."""
    sh = open('/bin/sh', 'rb').read()
    at = sh.index(b'/lib64/ld-linux-x86-64.so.2\0')
    musl = sh[:at] + b'/lib/ld-musl-x86_64.so.1\0\0\0\0' + sh[at + 28:]
    must(len(musl) == len(sh), 'lengths')
    refused(stage, make_file(stage, sh[:4] + b'\x01' + sh[5:]), 'not an x86-64 program')
    refused(stage, make_file(stage, sh[:18] + b'\xb7\0' + sh[20:]), 'not an x86-64 program')
    refused(stage, make_file(stage, musl), "loader is not glibc's: /lib/ld-musl-x86_64.so.1")
    for cut in (8, 60, 70, 200):
        got = run(stage, make_file(stage, sh[:cut]))
        must(got[0] in (REFUSED, NOT_RUNNABLE, NOT_FOUND, 2), 'cut at', cut, got)
    wild = sh[:32] + struct.pack('<Q', 2 ** 64 - 8) + sh[40:]
    must(run(stage, make_file(stage, wild))[0] in (NOT_RUNNABLE, REFUSED, 2), 'e_phoff')


def by_the_loader(stage):
    got = run(stage, '/lib64/ld-linux-x86-64.so.2', shutil.which('true'))
    expect(got, 0, 'rtcheck: no errors')


def with_privileges(stage):
    """set-user-ID programs of others are refused, unless exec gives them nothing."""
    su = shutil.which('su')
    st = os.stat(su)
    works = st.st_mode & 0o4000 and st.st_uid != os.getuid() and \
        not os.statvfs(su).f_flag & os.ST_NOSUID
    if works:
        refused(stage, su, 'set-user-ID')
    else:
        must(run(stage, su, '--version')[0] == 0, 'su --version')
    got = subprocess.run(['setpriv', '--no-new-privs', stage.rtcheck, su, '--version'],
                         capture_output=True, env=clean_environment())
    must(got.returncode == 0, 'no_new_privs:', got)
    own = stage.room() + '/own'
    shutil.copy(shutil.which('true'), own)
    os.chmod(own, 0o6755)
    expect(run(stage, own), 0, 'rtcheck: no errors')


def own_malloc(stage):
    program = stage.program('launcher/own_malloc')
    got = run(stage, program)
    must(got[1] == 'my own\n', 'it did not run:', got)
    expect(got, REFUSED, 'program was not checked: ')
    expect(run(stage, '--allow-unchecked', program), 6, 'program was not checked: ')


def with_a_sanitizer(stage):
    """A sanitizer's runtime is the program's allocator, and ends programs that load another first, or shadows all memory."""
    for library in 'libasan.so.99', 'libtsan.so.2', 'libclang_rt.tsan-x86_64.so':
        is_refused_with(stage, library)


def is_refused_with(stage, library):
    runtime, program = stage.dir + '/' + library, stage.dir + '/sanitized'
    for name, made in (('library', ['-shared', '-o', runtime, '-Wl,-soname,' + library]),
                       ('program', ['-o', program, '-Wl,--no-as-needed', runtime])):
        source = stage.dir + '/%s.c' % name
        with open(source, 'w') as f:
            f.write('int main(void) { return 7; }\n' if name == 'program' else 'int there;\n')
        subprocess.run(['cc', '-fPIC', source] + made, check=True)
    refused(stage, program, library)
    expect(run(stage, '--allow-unchecked', program, env={'LD_LIBRARY_PATH': stage.dir}), 7,
           'program was not checked: ')


SPOILS_ITS_IMAGE = """import ctypes, os, signal, struct, sys
lines = [line.split() for line in open('/proc/self/maps')]
ranges = [[int(at, 16) for at in line[0].split('-')] for line in lines if line[1] == 'rw-s' and 'rtcheck' in line[5]]
magic = struct.pack('<Q', int(sys.argv[1], 16))
found = [at for begin, end in ranges for at in range(begin, end, 4096) if ctypes.string_at(at, 8) == magic]
for at in found:
    ctypes.memset(at + len(magic), 0xff, 4)  # the number of the image
print(len(found), flush=True)
os.kill(os.getpid(), signal.SIGKILL) if sys.argv[2] == 'kill' else sys.exit(int(sys.argv[2]))
"""


def damaged(stage):
    """The program's record is damaged: its findings are unknown, and "no leaks" must not be printed."""
    with open(os.path.dirname(os.path.abspath(__file__)) + '/../../include/format/format.h') as f:
        magic = re.search(r'RTC_IMAGE_MAGIC (0x[0-9a-f]+)', f.read()).group(1)
    spoil = ['/usr/bin/python3', '-c', SPOILS_ITS_IMAGE, magic]
    for how in '5', 'kill':
        got = run(stage, *spoil, how)
        must(got[1] == '1\n', 'images', got)
        expect(got, REFUSED, 'program was not checked: what was recorded of the program is damaged; ')
        must('area 1 of the run file is damaged, the rest was used: header of another image' in got[2], got[2])
        must('leak' not in got[2] and 'no errors' not in got[2], got[2])
    expect(run(stage, '--allow-unchecked', *spoil, '5'), 5, 'program was not checked: ')


def missing_library(stage):
    """ld.so ends a program that lacks a library before ours runs: its status, and a message."""
    sh = open('/bin/sh', 'rb').read()
    path = make_file(stage, sh.replace(b'libc.so.6\0', b'libq.so.6\0'))
    got = run(stage, path)
    expect(got, NOT_FOUND, 'program was not checked: ')
    must('libq.so.6' in got[2], 'ld.so did not say it:', got[2])


def as_root(stage):
    """File capabilities and set-user-ID, tested as an ordinary user."""
    if os.geteuid() != 0:
        return
    room = stage.room()
    os.chmod(room, 0o755)
    capable, uid, gid = (room + '/' + n for n in ('capable', 'uid', 'gid'))
    for path in (capable, uid, gid):
        shutil.copy(shutil.which('true'), path)
    os.setxattr(capable, 'security.capability', struct.pack('<5I', 0x02000001, 1 << 10, 0, 0, 0))
    os.chmod(uid, 0o4755)
    os.chmod(gid, 0o2755)
    nosuid = os.statvfs(room).f_flag & os.ST_NOSUID
    for path, words in ((capable, 'file capabilities'), (uid, 'set-user-ID'), (gid, 'set-group-ID')):
        got = subprocess.run(['setpriv', '--reuid=%d' % NOBODY, '--regid=%d' % NOBODY,
                              '--clear-groups', stage.rtcheck, path], capture_output=True,
                             env={**clean_environment(), 'HOME': '/'})
        expect((got.returncode, '', got.stderr.decode()), 0 if nosuid else REFUSED,
               'rtcheck: no errors' if nosuid else words)
        expect(run(stage, path), 0, 'rtcheck: no errors', 'root: ' + path)


def others_files(stage):
    """In a sticky directory (/tmp) a file of another user cannot be replaced, even if everybody may write it."""
    if os.geteuid() != 0:
        return
    room = stage.room()
    os.chmod(room, 0o1777)
    with open(room + '/file', 'w'):
        os.chmod(room + '/file', 0o666)
    for name, status, words in ('file', 125, 'file cannot be written: Operation not permitted\n'), ('new', 0, ''):
        got = subprocess.run(['setpriv', '--reuid=%d' % NOBODY, '--regid=%d' % NOBODY, '--clear-groups', stage.rtcheck,
                              '-q', '--json=%s/%s' % (room, name), 'true'], capture_output=True, text=True,
                             env={**clean_environment(), 'HOME': '/'})
        must(got.returncode == status and got.stderr.endswith(words) and bool(got.stderr) == bool(words), got)


# ---- where the words go ---------------------------------------------------------------------------

def log_file(stage):
    room = stage.room()
    pattern = room + '/%e.%p.%n.%h.%q{RTCHECK_TEST_WORD}.100%%'
    got = run(stage, '--log-file=' + pattern, 'sh', '-c', 'echo $$; kill -USR1 $$',
              env={'RTCHECK_TEST_WORD': 'word'})
    must(got[0] == -signal.SIGUSR1 and got[2] == '', 'stderr', got)
    name = '%s/sh.%s.1.%s.word.100%%' % (room, got[1].strip(), socket.gethostname())
    must(os.listdir(room) == [os.path.basename(name)], os.listdir(room))
    must(read_text(name).splitlines()[-1].startswith('rtcheck: no errors'), read_text(name))


def quiet(stage):
    must(run(stage, '-q', 'true')[2] == '', 'something was said')
    must(run(stage, 'true', env={'RTCHECK_OPTIONS': 'quiet'})[2] == '', 'something was said')
    must(run(stage, '-quiet=no', 'true', env={'RTCHECK_OPTIONS': 'quiet'})[2] != '', 'nothing said')
    expect(run(stage, '-q', stage.program('launcher/own_malloc')), REFUSED, 'program was not checked: ')
    for option in ('--json', '--sarif', '--junit', '--gitlab', '--xml-file'):
        got = run(stage, '-q', option + '=/proc/none/x', 'echo', 'started')
        must(got == (125, '', 'rtcheck: /proc/none/x cannot be written: No such file or directory\n'), option, got)
    got = run(stage, '--json=/', 'echo', 'started')
    must(got == (125, '', 'rtcheck: / cannot be written: Is a directory\n'), got)
    got = run(stage, '--json=/dev/full', '--log-file=/dev/full', 'true')
    must(got[0] == 0 and got[2] == 'rtcheck: log file /dev/full: No space left on device\n', 'a full disk', got)
    got = run(stage, '-q', '--json=/dev/full', 'true')
    expect(got, 0, '/dev/full cannot be written: No space left on device')


def files_to_replace(stage):
    """Report files are replaced by rename: their directory counts, not their mode; a device is written itself."""
    if os.geteuid() == 0:
        return  # root may write anywhere
    room, locked = stage.room(), stage.room()
    for name in (room + '/file', locked + '/file'):
        with open(name, 'w') as f:
            f.write('old')
    os.chmod(room + '/file', 0o444)
    os.chmod(locked + '/file', 0o666)
    os.symlink(room + '/file', locked + '/out')
    os.symlink(locked + '/file', room + '/in')
    os.symlink(locked + '/none', room + '/lost')
    os.symlink('none', room + '/link')  # its target is created
    os.chmod(locked, 0o555)
    for path in room + '/file', locked + '/out', room + '/link', room + '/new':
        got = run(stage, '-q', '--json=' + path, 'true')
        must(got == (0, '', '') and json.load(open(path)), path, got)
    must(os.stat(room + '/file').st_mode & 0o777 == 0o444 and os.path.islink(locked + '/out') and os.path.islink(room + '/link') and
         os.path.isfile(room + '/none'), 'mode, link')
    for path, why in ((locked + '/file', 'Permission denied'), (room + '/in', 'Permission denied'), (locked + '/new', 'Permission denied'), (room + '/lost', 'Permission denied'),
                      (room + '/file/', 'Not a directory')):
        got = run(stage, '-q', '--json=' + path, 'echo', 'started')
        must(got == (125, '', 'rtcheck: %s cannot be written: %s\n' % (path, why)), got)
    must(read_text(locked + '/file') == 'old', 'written')
    os.chmod(locked, 0o755)


def kept(stage):
    room = stage.room()
    env = {'XDG_STATE_HOME': room + '/a/state'}
    must(run(stage, '-q', 'true', env=env)[0] == 0 and os.listdir(room) == [], os.listdir(room))
    got = run(stage, '--keep', 'sh', '-c', 'exit 4', env=env)
    pool = room + '/a/state/rtcheck/last'
    expect(got, 4, 'run file: ' + os.path.realpath(pool))
    must(re.fullmatch(r'sh\.\d+\.\d{8}T\d{6}', os.readlink(pool)), os.readlink(pool))
    must(os.stat(pool).st_mode & 0o777 == 0o600, 'mode')
    for path in (room + '/a', os.path.dirname(pool)):
        must(os.stat(path).st_mode & 0o777 == 0o700, 'mode of', path)
    bad = run(stage, '--keep', 'sh', '-c', 'exit 4', env={'XDG_STATE_HOME': '/proc/none'})
    must(bad[0] == 4 and 'not kept' in bad[2], 'where it cannot be:', bad)
    home = {'XDG_STATE_HOME': '', 'HOME': room}
    expect(run(stage, '--keep', 'true', env=home), 0, room + '/.local/state/rtcheck/true.')


def findings(stage):
    """Findings change the status on request only, never that of a signal; the run is kept for inspection."""
    faulty = stage.program('launcher/faulty')
    room = stage.room()
    env = {'XDG_STATE_HOME': room}
    pool = room + '/rtcheck/faulty.'
    got = run(stage, faulty, '5', env=env)
    expect(got, 5, 'rtcheck: 1 problem; no leaks; exit status 5; run file: ' + pool)
    must(re.match(r'rtcheck: 1 problem in .* \(pid \d+\): 1 double free\n', got[2]), got[2])
    name = re.search(r'^1  DOUBLE FREE of a 40-byte block, main thread +(duf-[0-9a-f]{8})$', got[2], re.M)
    must(name, got[2])
    shown = run(stage, 'show', name[1], env=env)
    must(shown[0] == 0 and shown[1].startswith(name[1] + '  double free of a 40-byte block\n') and 'free_twice+0x' in shown[1], shown)
    again = run(stage, '--error-exitcode=23', faulty, '5', env=env)
    expect(again, 23, 'exit status 5')
    must(name[0] in again[2], 'another name in another run:', again[2])
    expect(run(stage, '--error-exitcode=0', faulty, '5', env=env), 5, 'exit status 5')
    expect(run(stage, '--error-exitcode=23', faulty, '0', 'kill', env=env), -signal.SIGKILL, '1 problem')
    expect(run(stage, '-q', faulty, '5', env=env), 5, '1 problem')
    shutil.rmtree(room + '/rtcheck')
    expect(run(stage, '--error-exitcode=23', faulty, '5', 'nothing', env=env), 5, 'rtcheck: no errors, no leaks; exit status 5')
    must(not os.path.exists(room + '/rtcheck'), 'kept for nothing')


def findings_of_children(stage):
    """Errors of ended children are one error, and are still present in a kept run."""
    faulty = stage.program('launcher/faulty')
    env = {'XDG_STATE_HOME': stage.room()}
    got = run(stage, '--error-exitcode=23', faulty, '0', *['fork'] * 40, env=env)
    expect(got, 23, '1 problem')
    must(', 40 times, in 40 processes (first ' in got[2], got[2])
    later = run(stage, 'report', env=env)
    must('DOUBLE FREE of a 40-byte block, ' in later[1], later)


def long_commands(stage):
    """The run file holds the first 2047 bytes of a command line; a program with a longer one is checked, too."""
    room = stage.room()
    os.symlink(stage.program('launcher/faulty'), room + '/faulty') # the line is as long at any path
    before = len('\0'.join(('./faulty', '0', 'kill', '', '')))
    for bytes_ in 2046, 2047, 2048, 100000:
        got = run(stage, './faulty', '0', 'kill', 'x' * (bytes_ - before), cwd=room)
        expect(got, -signal.SIGKILL, '1 problem')
        must('damaged' not in got[2] and ' 0 kill xxxx' in got[2], got[2])


def json_file(stage):
    path = stage.room() + '/report.json'
    must(run(stage, '-q', '--json', path, 'sh', '-c', 'exit 5')[0] == 5 and os.path.exists(path),
         'no report')
    inside = stage.room() + '/inside'
    os.mkdir(inside)  # removed by the program: not known before it starts
    got = run(stage, '--json=%s/report.json' % inside, 'sh', '-c', 'rmdir %s; exit 5' % inside)
    must(got[0] == 5 and inside + '/report.json' in got[2], 'where it cannot be:', got)


def small_files(stage):
    """A soft limit on file sizes is the program's, not the report's."""
    room = stage.room()
    files = {'log-file': room + '/log', 'json': room + '/json'}
    got = run(stage, '--keep', *['--%s=%s' % f for f in files.items()], 'true',
              env={'XDG_STATE_HOME': room}, preexec_fn=lambda: resource.setrlimit(
                  resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY)))
    must(got[0] == 0 and got[2] == '', 'status', got)
    for path in [*files.values(), room + '/rtcheck/last']:
        must(os.path.getsize(path) > 0, path, 'is empty')


def full_pipe(stage):
    """A program that leaves stderr non-blocking and full does not cost us our words."""
    reader, writer = os.pipe()
    script = 'import os\nos.set_blocking(2, False)\ntry:\n while True: os.write(2, b"x" * 512)\n' \
        'except BlockingIOError: pass\n'
    process = subprocess.Popen([stage.rtcheck, '/usr/bin/python3', '-c', script], stderr=writer,
                               env=clean_environment())
    os.close(writer)
    text = b''
    while True:
        got = os.read(reader, 100)
        if not got:
            break
        text += got
    os.close(reader)
    must(process.wait() == 0, 'status', process.returncode)
    must(re.fullmatch(b'x+in use  (.*\n)*rtcheck: no errors, .*\n|x+rtcheck: no errors, .*\n', text),
         'last line', text[-300:])


def no_reader(stage):
    """A closed pipe behind stderr changes nothing."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([stage.rtcheck, 'sh', '-c', 'exit 8'], stderr=writer,
                          env=clean_environment(), stdin=subprocess.DEVNULL)
    os.close(writer)
    must(done.returncode == 8, 'status', done.returncode)


def by_verb(stage):
    must(run(stage, 'run', 'sh', '-c', 'exit 2')[0] == 2, 'rtcheck run')
    expect(run(stage, '--', 'report'), NOT_FOUND, 'report: command not found')
    expect(run(stage, 'run', 'run'), NOT_FOUND, 'run: command not found')


if __name__ == '__main__':
    main([(f.__name__, f) for f in (
        own_status, own_signal, cost_of_killed, usage, not_runnable, found_by_path, statically_linked, by_script,
        other_machines, by_the_loader, with_privileges, own_malloc, with_a_sanitizer, damaged, missing_library,
        as_root, others_files,
        log_file, quiet, files_to_replace, kept, findings, findings_of_children, long_commands, json_file, small_files, full_pipe, no_reader, by_verb)])

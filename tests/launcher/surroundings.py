#!/usr/bin/python3
"""A program's environment is the same as without the launcher, however the launcher was started; and the
launcher works with little."""
# rtc-test: launcher/surroundings ci 120
import itertools
import os
import resource
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import NOT_IN_CONTROL, clean_environment, main, must, read_text

LIBRARY = '/lib/x86_64-linux-gnu/libm.so.6'


def look(stage, before, prepare=None, env=None, wrap=()):
    """The output of surroundings.c, sorted lines without its own arguments."""
    target = stage.room() + '/seen'
    argv = [*wrap, *before, stage.program('launcher/surroundings'), target, 'an argument', '']
    run = subprocess.run(argv, env={**clean_environment(), **(env or {})}, preexec_fn=prepare,
                         restore_signals=False, timeout=60)
    must(run.returncode == 0, 'status', run.returncode)
    return [line.replace(target, 'TARGET') for line in read_text(target).splitlines()]


def same(stage, what='', options=(), **how):
    plain = look(stage, [], **how)
    own = look(stage, [stage.rtcheck, '-q', *options], **how)
    must(len(plain) > 80, 'too little was seen:', plain)
    must(sorted(own) == sorted(plain), what, 'only with us:', sorted(set(own) - set(plain)),
         'only without:', sorted(set(plain) - set(own)))


def as_usual(stage):
    same(stage)
    same(stage, env={'LD_PRELOAD': LIBRARY})
    same(stage, 'empty LD_PRELOAD', env={'LD_PRELOAD': ''})
    same(stage, env={'RTCHECK_OPTIONS': 'free-fill=0xfd'})
    same(stage, env={'LANG': '', 'EMPTY': '', 'odd name': '=a=b\n'})
    same(stage, wrap=['env', '-i'])


def signals(stage):
    def ignored():
        for sig in (signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(sig, signal.SIG_IGN)

    def blocked():
        signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())

    def both():
        ignored()
        blocked()
    for prepare in (ignored, blocked, both):
        same(stage, prepare.__name__, prepare=prepare)


def descriptors(stage):
    """Any of 0-2 closed, others open."""
    for closed in itertools.chain.from_iterable(itertools.combinations(range(3), n)
                                                for n in range(4)):
        def prepare():
            for fd in closed:
                os.close(fd)
            os.dup2(os.open('/dev/null', os.O_RDWR), 17, inheritable=True)
        same(stage, closed, prepare=prepare)
        same(stage, closed, prepare=prepare, env={'RTCHECK_TEST_WITHOUT': 'memfd'})
    same(stage, 'every low one taken', prepare=lambda: [
        os.set_inheritable(os.open('/dev/null', os.O_RDWR), True) for _ in range(230)])


def limits(stage):
    def limit(which, soft, hard=None):
        def prepare():
            resource.setrlimit(which, (soft, soft if hard is None else hard))
        return prepare
    many = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    same(stage, '5 descriptors', prepare=limit(resource.RLIMIT_NOFILE, 5, many))
    same(stage, '24 descriptors', prepare=limit(resource.RLIMIT_NOFILE, 24))
    same(stage, 'no file', prepare=limit(resource.RLIMIT_FSIZE, 1 << 16, 1 << 40))
    same(stage, 'core', prepare=limit(resource.RLIMIT_CORE, 1 << 20, 1 << 30))


def is_checked(stage, script, env=None, hint='', **popen):
    """Run `script` to status 7; return the printed lines, the last one is the verdict."""
    run = subprocess.run([stage.rtcheck, 'sh', '-c', script + 'exit 7'], capture_output=True,
                         env={**clean_environment(), **(env or {})}, timeout=60, **popen)
    printed = run.stderr.decode()
    must(run.returncode == 7, hint, 'status', run.returncode, printed)
    must(printed.splitlines()[-1].startswith('rtcheck: no errors'), hint, 'says', printed)
    return printed


def without(stage):
    """Missing features of the machine are replaced, and reported."""
    room = stage.room()
    place = {'XDG_RUNTIME_DIR': room}
    printed = is_checked(stage, '', {**place, 'RTCHECK_TEST_WITHOUT': 'memfd'}, 'memfd')
    must('no memfd' in printed, printed)
    # Without /proc, so that the file has a name by which later programs find it.
    printed = is_checked(stage, '/bin/true; ls ' + room + ' >&2; ',
                      {**place, 'RTCHECK_TEST_WITHOUT': 'proc'}, 'proc')
    must('no /proc' in printed and 'rtcheck.launcher.' in printed, printed)
    must(os.listdir(room) == [], 'left behind:', os.listdir(room))
    printed = is_checked(stage, '', {'RTCHECK_TEST_WITHOUT': 'keeper'}, 'keeper')
    must('no second process' in printed, printed)
    printed = is_checked(stage, '', {'XDG_RUNTIME_DIR': '/nonexistent', 'TMPDIR': room,
                                  'RTCHECK_POOL_DIR': 'relative',
                                  'RTCHECK_TEST_WITHOUT': 'memfd'}, 'directories')
    nothing = {'XDG_RUNTIME_DIR': '', 'TMPDIR': '', 'HOME': '', 'XDG_STATE_HOME': '', 'PATH': '/bin'}
    is_checked(stage, '', nothing, 'environment')


def moved(stage):
    """The launcher finds its library beside itself, in any directory; unusable paths are refused."""
    room = stage.room()
    for name, status in (('plain', 7), ('a b', 125), ('a:b', 125), ('$ORIGIN', 125)):
        for part in ('bin', 'lib'):
            os.makedirs('%s/%s/%s' % (room, name, part))
        shutil.copy(stage.rtcheck, '%s/%s/bin' % (room, name))
        shutil.copy(stage.library, '%s/%s/lib' % (room, name))
        run = subprocess.run(['%s/%s/bin/rtcheck' % (room, name), 'sh', '-c', 'exit 7'],
                             capture_output=True, env=clean_environment())
        must(run.returncode == status, name, 'status', run.returncode, run.stderr)
    os.symlink(room + '/plain/bin/rtcheck', room + '/link')
    for argv, cwd in ((['./link'], room), (['bin/rtcheck'], room + '/plain')):
        run = subprocess.run([*argv, 'sh', '-c', 'exit 7'], cwd=cwd, capture_output=True,
                             env={**clean_environment(), 'RTCHECK_TEST_WITHOUT': 'proc'})
        must(run.returncode == 7, argv, 'status', run.returncode, run.stderr)
    os.unlink(room + '/plain/lib/librtcheck.so')
    run = subprocess.run([room + '/plain/bin/rtcheck', 'true'], capture_output=True,
                         env=clean_environment())
    must(run.returncode == 125 and b'librtcheck.so' in run.stderr, 'no library:', run)


def early(stage):
    """Library constructors that run before ours may already become another program."""
    library = stage.program('launcher/early.so')
    for way in ('execlp', 'execve', 'fexecve', 'malloc, execlp', 'malloc, _exit'):
        argv = ['env', 'EARLY=' + way, 'LD_PRELOAD=' + library, 'true']
        ended = way.endswith('_exit')  # before the runtime could find out which malloc it has
        for before in ([], [stage.rtcheck]):
            run = subprocess.run([*before, *argv], capture_output=True, env=clean_environment(),
                                 timeout=60)
            must(run.stdout == b'early\n', way, before, run)
            must(run.returncode == (NOT_IN_CONTROL if ended and before else 5), way, before, run)
        must(ended or b'rtcheck: no errors' in run.stderr, way, run.stderr)


def many_at_once(stage):
    """Launchers do not get into each other's way."""
    room = stage.room()
    processes = [subprocess.Popen([stage.rtcheck, '--keep', 'sh', '-c', 'exit %d' % i],
                                  stderr=subprocess.DEVNULL,
                                  env={**clean_environment(), 'XDG_STATE_HOME': room})
                 for i in range(8)]
    must([p.wait(60) for p in processes] == list(range(8)), 'statuses')
    names = sorted(os.listdir(room + '/rtcheck'))
    must(len(names) == 9 and names[0] == 'last' and all(n.startswith('sh.') for n in names[1:]), names)


if __name__ == '__main__':
    main([(f.__name__, f) for f in (as_usual, signals, descriptors, limits, without, moved,
                                    early, many_at_once)])

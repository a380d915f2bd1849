"""harness.py - shared by the drivers under tests/stress and tests/limits.

A driver is a list of checks, functions that raise if a property does not hold.  It runs all of them, prints
which failed, and ends with 1 if any did.

    DRIVER [--full] [--seed N] [--only NAME]...

The environment has the paths: RTC_SOURCE (the tree) and RTC_BUILD (the build).
"""
import argparse
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

SOURCE = os.environ.get('RTC_SOURCE') or os.path.abspath(__file__ + '/../../..')
BUILD = os.environ.get('RTC_BUILD') or SOURCE + '/build'
NOT_IN_CONTROL = 120
INSTALLED = ((BUILD + '/bin/rtcheck*', 'bin'), (BUILD + '/lib/librtcheck.so', 'lib'),
             (SOURCE + '/include/rtcheck/*.h', 'include/rtcheck'), (BUILD + '/rtcheck.pc', 'lib/pkgconfig'),
             (SOURCE + '/tools/cmake/rtcheckConfig.cmake', 'share/cmake/rtcheck'),
             (BUILD + '/rtcheckConfigVersion.cmake', 'share/cmake/rtcheck'),
             (BUILD + '/share/man/man1/*', 'share/man/man1'), (BUILD + '/share/man/man3/*', 'share/man/man3'),
             (SOURCE + '/man/*.5', 'share/man/man5'))


class Failure(Exception):
    """A property does not hold."""


class Lacking(Exception):
    """This machine cannot run the check: a skip, which tests/SKIPS has to allow."""


def must(good, *words):
    if not good:
        raise Failure(' '.join(str(w) for w in words))


# ---- where things are ----------------------------------------------------------------------

class Stage:
    """A working directory of one driver, and the paths of its programs."""

    def __init__(self, full, seed):
        self.full = full
        self.seed = seed
        self.random = random.Random(seed)
        self.dir = tempfile.mkdtemp(prefix='rtcheck-test-')
        os.chmod(self.dir, 0o755)
        self.rtcheck = BUILD + '/bin/rtcheck'
        self.library = BUILD + '/lib/librtcheck.so'
        self.count = 0
        self.prefix = None

    def sample(self, ci, full):
        return full if self.full else ci

    def program(self, name):
        path = '%s/tests/%s' % (BUILD, name)
        must(os.path.exists(path), 'not built:', path)
        return path

    def room(self):
        """A new empty directory."""
        self.count += 1
        path = '%s/%d' % (self.dir, self.count)
        os.mkdir(path)
        return path

    def installed(self):
        """An installation like that of cmake --install (project/install), which an ordinary user may not run: it writes
        into the build."""
        if not self.prefix:
            self.prefix = self.room()
            for source, to in INSTALLED:
                os.makedirs(self.prefix + '/' + to, exist_ok=True)
                for path in glob.glob(source):
                    shutil.copy(path, self.prefix + '/' + to, follow_symlinks=False)
        return self.prefix

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)


def clean_environment():
    """The driver's environment, without variables that change the runtime."""
    return {k: v for k, v in os.environ.items()
            if not k.startswith(('RTCHECK', 'VMMALLOC_', 'LD_', 'LSAN_', 'MALLOC_'))}


# ---- one run of a program ------------------------------------------------------------------

class Run:
    """A program started plainly, by the launcher, or by hand (plain LD_PRELOAD).

    wrap: a command that prepares the environment and then runs its arguments, runtime included. files=False:
    no report is requested, all output goes to stderr.
    """

    def __init__(self, stage, argv, how='launcher', options=(), env=None, keep=False, wrap=(),
                 files=True, **popen):
        self.room = stage.room()
        self.stage = stage
        self.how = how
        self.json_file = self.room + '/report.json'
        self.log_file = self.room + '/log'
        self.pool_dir = self.room + '/pool'
        os.mkdir(self.pool_dir)
        options = list(options) + (['keep'] if keep else [])
        if files:
            options += ['json=' + self.json_file, 'log-file=' + self.log_file]
        env = {'XDG_STATE_HOME': self.room + '/state', **(env or {})}
        if how == 'launcher':
            argv = [stage.rtcheck] + ['--' + o for o in options] + ['--'] + list(argv)
        elif how == 'hand':
            env = self.by_hand(env, options)
        settings = ['%s=%s' % (k, v) for k, v in env.items() if v is not None]
        unset = [w for k, v in env.items() if v is None for w in ('-u', k)]
        popen.setdefault('stdin', subprocess.DEVNULL)
        popen.setdefault('stdout', subprocess.PIPE)
        popen.setdefault('stderr', subprocess.PIPE)
        # env and not Popen's argument: the scene is set without the runtime.
        self.process = subprocess.Popen(list(wrap) + ['env'] + unset + settings + list(argv),
                                        env=clean_environment(), **popen)
        self.out = self.err = b''
        self.status = None

    def by_hand(self, env, options):
        own = env.get('LD_PRELOAD')
        spelled = [o.split('=', 1) for o in options]
        spelled = ['='.join([o[0].replace('-', '_')] + o[1:]) for o in spelled]
        return {'RTCHECK_POOL_DIR': self.pool_dir, 'RTCHECK_OPTIONS': ':'.join(spelled), **env,
                'LD_PRELOAD': self.stage.library + (':' + own if own else '')}

    def wait(self, seconds=120):
        try:
            self.out, self.err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failure('no end after %d s' % seconds)
        self.status = self.process.returncode
        return self

    @property
    def log(self):
        return read_text(self.log_file)

    @property
    def report(self):
        must(os.path.exists(self.json_file), 'no report was written; log:', self.log,
             'stderr:', self.err)
        with open(self.json_file) as f:
            return Report(json.load(f))

    def pool_file(self):
        """The run file that was kept or left behind."""
        found = [self.room + '/state/rtcheck/last'] if self.how == 'launcher' else \
            [self.pool_dir + '/' + n for n in sorted(os.listdir(self.pool_dir))]
        found = [f for f in found if os.path.exists(f)]
        must(len(found) == 1, 'one run file expected:', found)
        return found[0]

    def reread(self):
        """The JSON report by `rtcheck report` of the kept file."""
        target = self.room + '/again.json'
        run = subprocess.run([self.stage.rtcheck, 'report', '--json=' + target, self.pool_file()],
                             env=clean_environment(), capture_output=True, timeout=60)
        must(run.returncode == 0, 'rtcheck report:', run.returncode, run.stderr)
        with open(target) as f:
            return Report(json.load(f))

    def verify(self):
        """The dump; `rtcheck dump` refuses files that verify.c refuses."""
        run = subprocess.run([self.stage.rtcheck, 'dump', self.pool_file()],
                             env=clean_environment(), capture_output=True, timeout=60)
        must(run.returncode == 0, 'the file does not verify:', run.stderr)
        return run.stdout

    def forget(self):
        shutil.rmtree(self.room, ignore_errors=True)


class Stepped:
    """A program, self.process, that does a step for each letter it reads, and prints "done": at its start, and then
    after each."""

    def done(self):
        must(self.process.stdout.readline() == b'done\n', 'a step was not done')

    def send(self, letter):
        self.process.stdin.write(letter.encode())
        self.process.stdin.flush()

    def step(self, letter):
        self.send(letter)
        self.done()


def needs_scene(*scene):
    """Can the machine run this command? A container may forbid user namespaces."""
    run = subprocess.run([*scene, 'true'], capture_output=True)
    if run.returncode != 0:
        raise Lacking(run.stderr.decode(errors='replace').strip())


def run_plain(stage, argv, **more):
    return Run(stage, argv, how='plain', **more).wait()


def read_text(path):
    try:
        with open(path, errors='replace') as f:
            return f.read()
    except OSError:
        return ''


def same_as_plain(run, plain):
    must(run.status == plain.status, 'status', run.status, 'instead of', plain.status,
         run.err.decode(errors='replace')[-600:], run.log[-600:])
    must(run.out == plain.out, 'stdout differs:', run.out[-300:], 'instead of', plain.out[-300:])


def wait_until(condition, seconds=20, what='condition'):
    end = time.monotonic() + seconds
    while not condition():
        must(time.monotonic() < end, what, 'did not come true in', seconds, 's')
        time.sleep(0.0005)


# ---- the report ----------------------------------------------------------------------------

class Report:
    """rtcheck-report/1, as far as the drivers need it."""

    def __init__(self, data):
        self.data = data
        self.images = data['processes']
        self.taken_back = data['run']['taken_back']['images']
        self.image_count = len(self.images) + self.taken_back
        self.is_complete = data['run']['complete']
        self.allocs = data['summary']['allocs']
        self.in_control = bool(self.images) and all(i['checked'] for i in self.images)
        self.unchecked_children = self.total('unchecked_children')
        self.functions = {f['id']: [g.get('function', '') for g in [f] + f.get('inlined_into', [])]
                          for f in data['frames']}
        self.stacks = {s['id']: s['frames'] for s in data['stacks']}

    def total(self, key):
        return sum(i[key] for i in self.images)

    def bad_frees(self, code=None):
        """All refused frees, or those of one code."""
        wrong = sum(n for i in self.images for c, n in i['errors'].items() if code in (None, c))
        return wrong + (self.total('foreign_frees') if code is None else 0)

    def sites(self, prefix):
        """(blocks, bytes) in use that functions of this name allocated."""
        matching = [r for r in self.data['records'] if
                any(name.startswith(prefix) for f in self.stacks[r['stack']]
                    for name in self.functions[f])]
        return sum(r['blocks'] for r in matching), sum(r['bytes'] for r in matching)


# ---- the main program of a driver ----------------------------------------------------------

def run_checks(stage, checks):
    failed = 0
    for name, check in checks:
        start = time.monotonic()
        try:
            printed = check(stage) or ''
            print('ok    %-28s %5.1f s  %s' % (name, time.monotonic() - start, printed), flush=True)
        except Lacking as e:
            print('skip: %s: %s' % (name, e), flush=True)
        except Failure as e:
            failed += 1
            print('FAIL  %-28s %s' % (name, e), flush=True)
        except Exception:
            failed += 1
            print('FAIL  %-28s\n%s' % (name, traceback.format_exc()), flush=True)
    return failed


def main(checks):
    """`checks`: (name, function of a Stage) in the order of running."""
    parse = argparse.ArgumentParser()
    parse.add_argument('--full', action='store_true')
    parse.add_argument('--seed', type=int, default=1)
    parse.add_argument('--only', action='append', default=[])
    args = parse.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    stage = Stage(args.full, args.seed)
    try:
        failed = run_checks(stage, [c for c in checks if not args.only or c[0] in args.only])
    finally:
        stage.close()
    sys.exit(1 if failed else 0)

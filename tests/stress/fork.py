#!/usr/bin/python3
"""Processes made from processes: no torn snapshots, no lost records, no unbounded growth."""
# rtc-test: stress_fork ci 400
# rtc-test: stress_fork_full full 5400 --full
# rtc-test: stress_fork_root ci,root 200 --only torn_fork --only kinds_by_launcher
import copy
import os
import re
import subprocess
import sys
import time

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)) + folder for folder in ('/../stress', '/../crimes')]
import mutant
from harness import NOT_IN_CONTROL, Failure, Run, main, must, needs_scene, run_plain, same_as_plain, wait_until

MIB = 1 << 20


def numbers(out):
    return {k: int(v) for k, v in re.findall(r'(\w+) (\d+)', out.decode())}


# ---- children with threads -----------------------------------------------------------------

def load(how):
    def check(stage):
        argv = [stage.program('stress/fork_load'), '50', '8', str(stage.sample(100, 1000))]
        run = Run(stage, argv, how=how).wait(300)
        must(run.status == 0, 'status', run.status, run.out, run.err[-500:])
        printed, report = numbers(run.out), run.report
        must(report.bad_frees() == 0, report.bad_frees(), 'bad frees')
        blocks, size = report.sites('load_leave')
        # By hand the records of ended children are not read in time: they are only added up.
        most = blocks + (report.data['run']['taken_back']['blocks'] if how == 'hand' else 0)
        must(blocks <= printed['left'] <= most, blocks, 'blocks left instead of', printed['left'])
        must(size == 123 * blocks, size, 'bytes in', blocks, 'blocks')
        must(report.image_count == printed['children'] + 1, report.image_count, 'images')
        return '%d children, %d blocks left' % (printed['children'], blocks)
    return check


# ---- areas of the dead, taken back by many at once ------------------------------------------

def reclaim(how):
    """The living keep their records, and everything that was is counted once."""
    def check(stage):
        workers, children = 8, stage.sample(50, 2000)
        run = Run(stage, [stage.program('stress/reclaim'), str(workers), str(children)],
                  how=how).wait(300)
        must(run.status == 0, 'status', run.status, run.out, run.err[-500:])
        report, want = run.report, 1 + workers + workers * children
        must(report.image_count == want, report.image_count, 'images instead of', want)
        gone = report.data['run']['taken_back']['blocks']
        blocks, _ = report.sites('hold')
        must(blocks + gone == 200 * (want - 1), blocks, 'and', gone, 'blocks')
        must(how != 'hand' or report.taken_back > 0, 'nothing was taken back')
        return '%d images, of which %d were taken back' % (want, report.taken_back)
    return check


def crowd(kind):
    """Images that stay in the file do not make others wait for space, which would take 50 ms."""
    def check(stage):
        run = Run(stage, [stage.program('stress/crowd'), kind]).wait(60)
        must(run.status == 0, 'status', run.status, run.out, run.err[-500:])
        fastest = numbers(run.out)['fastest']
        must(fastest < 40000, 'the fastest child took', fastest, 'us')
        return 'the fastest child took %d us' % fastest
    return check


# ---- the child's records are those of the snapshot -----------------------------------------

def torn_run(stage, trials, kind, twice=False, without=None):
    argv = [stage.program('stress/torn'), str(trials), kind] + (['twice'] if twice else [])
    env = {'RTCHECK_TEST_WITHOUT': without} if without else {}
    run = Run(stage, argv, env=env).wait(900)
    incomplete = (NOT_IN_CONTROL,) if without else () # a torn child may end without its records
    must(run.status in (0, 1) + incomplete, 'status', run.status, run.err[-500:])
    children = [tuple(map(int, c)) for c in
                re.findall(rb'child (\d+) twice (\d+) inherited (\d+)', run.out)]
    must(len(children) == trials, len(children), 'children')
    return run, numbers(run.out), children


def wrong_children(report, children):
    """(children whose counted errors differ from their own count, children marked as unsure).

    If a child's parent could not be quiesced in time, the first free of an inherited block is accepted: the
    child may miss a duplicate free, but must not report a false one.
    """
    wrong = unsure = 0
    for pid, twice, _ in children:
        images = [i for i in report.images if i['pid'] == pid]
        bad = sum(sum(i['errors'].values()) + i['foreign_frees'] for i in images)
        if any('inherited_unsure' in i['limits'] for i in images):
            unsure += 1
            wrong += bad > twice
        else:
            wrong += bad != twice or len(images) != 1
    return wrong, unsure


def torn(kind, twice=False, sure=True):
    def check(stage):
        run, printed, children = torn_run(stage, stage.sample(35, 1000), kind, twice)
        must(printed['bad'] == 0, printed['bad'], 'children failed:', run.err[-500:])
        report = run.report
        must(not report.taken_back, report.taken_back, 'children are not in the report')
        wrong, unsure = wrong_children(report, children)
        must(wrong == 0, wrong, 'of', len(children), 'children counted wrongly')
        must(not sure or unsure < len(children), 'no child was sure')
        blocks, _ = report.sites('torn_leave')
        must(blocks == printed['left'], blocks, 'blocks left instead of', printed['left'])
        again, inherited = (sum(c[i] for c in children) for i in (1, 2))
        must(inherited > 10 * len(children), 'hardly anything inherited')
        must(not twice or again > 10 * len(children), 'hardly anything freed twice')
        return '%d trials, %d unsure, %d freed, %d twice' % (len(children), unsure, inherited,
                                                             again)
    return check


def torn_is_found(stage):
    """Without quiescing, the same test must find torn children."""
    trials = 0
    for _ in range(150):
        run, printed, children = torn_run(stage, 60, 'fork', without='quiesce')
        trials += len(children)
        wrong = printed['bad'] + wrong_children(run.report, children)[0]
        if wrong:
            return '%d torn in %d trials' % (wrong, trials)
    raise Failure('nothing torn in', trials, 'trials: the test proves nothing')


# ---- forks while threads that have just been started allocate ------------------------------

def fresh_run(stage, rounds, **how):
    """The errors of a program that makes none, and how many of its processes were not sure."""
    run = Run(stage, [stage.program('stress/fork_fresh'), str(rounds), '4', str(stage.seed)],
              **how).wait(5000)
    must(run.status == 0, 'status', run.status, run.err[-500:])
    report = run.report
    must(report.image_count > 4 * rounds, report.image_count, 'images')
    unsure = sum('inherited_unsure' in i['limits'] for i in report.images)
    return sum(e['count'] for e in report.data['errors']), unsure


def fresh(stage):
    rounds = stage.sample(4, 500)
    errors, unsure = fresh_run(stage, rounds)
    must(errors == 0, errors, 'false errors in', 4 * rounds, 'forks')
    must(unsure, 'every fork found all threads outside: the test proves nothing')
    return '%d forks, %d processes were not sure' % (4 * rounds, unsure)


def fresh_is_found(stage):
    """A runtime whose processes accept inherited blocks that their parent was unsure of fails the same test."""
    if not stage.full:
        return 'with --full'
    library = mutant.build(stage.room(), 'NO_UNTRUSTED')
    trusting = copy.copy(stage) # from here on with separate folders, which it counts
    trusting.library = library
    for i in range(1, 21):
        errors, _ = fresh_run(trusting, 25, how='hand', env={'RTCHECK_REPORTER': stage.rtcheck})
        if errors:
            return '%d false errors in %d forks' % (errors, i * 100)
    raise Failure('no false error in 2000 forks: the test proves nothing')


# ---- many forks ----------------------------------------------------------------------------

def memfd_of(pid):
    """The launcher's descriptor of the run file."""
    folder = '/proc/%d/fd' % pid
    try:
        for fd in os.listdir(folder):
            if re.match('/memfd:|.*/rtcheck[.]launcher[.]', os.readlink('%s/%s' % (folder, fd))):
                return '%s/%s' % (folder, fd)
    except OSError:
        pass
    return None


def peak_bytes(stage, argv):
    """The maximum of bytes in the run file, sampled repeatedly."""
    run = Run(stage, argv, stdout=subprocess.DEVNULL)
    pid, peak, looks = run.process.pid, 0, 0
    wait_until(lambda: memfd_of(pid) or run.process.poll() is not None, what='run file')
    path = memfd_of(pid)
    must(path, 'the launcher has no run file:', run.log)
    while run.process.poll() is None:
        try:
            peak = max(peak, os.stat(path).st_blocks * 512)
            looks += 1
        except OSError:
            break
        time.sleep(0.001)
    run.wait(600)
    must(run.status == 0, 'status', run.status, run.err[-300:], run.log[-300:])
    return peak, looks, run


FORK_LOOP = 'i=0; while [ $i -lt %d ]; do ( : $((i*2)) ); i=$((i+1)); done'
PIPE_LOOP = 'i=0; while [ $i -lt %d ]; do x=$(echo $i | { read y; echo $y; }); i=$((i+1)); done'
BACK_LOOP = 'i=0; while [ $i -lt %d ]; do (:)& (:)& (:)& wait; i=$((i+1)); done'


def bash_loop(loop, each, ci, full):
    def check(stage):
        forks = stage.sample(ci, full) // each * each
        base, _, _ = peak_bytes(stage, ['/bin/bash', '-c', loop % 0])
        peak, looks, run = peak_bytes(stage, ['/bin/bash', '-c', loop % (forks // each)])
        must(looks > 50, 'only', looks, 'looks at the run file')
        must(peak <= base + 16 * MIB, 'the run file grew to', peak, 'from', base)
        report = run.report
        must(report.image_count >= forks, report.image_count, 'images of', forks)
        must(not report.taken_back, report.taken_back, 'of them not in the report')
        must(report.bad_frees() == 0, report.bad_frees(), 'bad frees')
        return '%d forks, %.1f MiB above %.1f at most' % (forks, (peak - base) / MIB, base / MIB)
    return check


# ---- every kind of child -------------------------------------------------------------------

KINDS = ['vfork_exit', 'vfork_exec', 'spawn', 'shell', 'daemon', 'orphan', 'threads', 'handler',
         'atfork', 'nested', 'late_exec', 'sandbox', 'unseen_large',
         'vfork_allocates']
IMAGES = {'vfork_exit': 1, 'threads': 33, 'atfork': 27, 'nested': 7, 'late_exec': 2,
          'sandbox': 2}
EXECED = {'vfork_exec': 16, 'spawn': 3} # by hand these have separate files


def kind_run(stage, how, kind, more=()):
    argv = [stage.program('stress/fork_kinds'), kind] + list(more)
    env = {'LD_PRELOAD': stage.program('stress/atfork_allocates.so')} if kind == 'atfork' else {}
    return Run(stage, argv, how=how, env=env).wait(60)


def kinds(how):
    def check(stage):
        bad = []
        for kind in KINDS:
            try:
                run = kind_run(stage, how, kind)
                same_as_plain(run, kind_run(stage, 'plain', kind))
                report = run.report
                must(report.bad_frees() == 0, report.bad_frees(), 'bad frees')
                must(report.images[0]['exit'] == {'how': 'exit', 'status': 0}, 'the end was',
                     report.images[0]['exit'])
                must(how == 'hand' or not report.taken_back, report.taken_back, 'taken back')
                ends = [i['exit']['how'] for i in report.images]
                must(kind != 'late_exec' or 'killed' not in ends, 'ends are', ends)
                limits = [i['limits'] for i in report.images]
                must(kind != 'sandbox' or limits == [[], ['sandboxed']], 'limits are', limits)
                images = {**IMAGES, **EXECED} if how == 'launcher' else IMAGES
                want = images.get(kind, report.image_count)
                must(report.image_count == want, report.image_count, 'images instead of', want)
            except Failure as e:
                bad.append('%s: %s' % (kind, e))
        must(not bad, '; '.join(bad))
        return '%d kinds' % len(KINDS)
    return check


def unseen_heap_in_file(stage):
    """A process forked without interception does not continue in its parent's heap."""
    for how in ('launcher', 'hand'):
        run = Run(stage, [stage.program('stress/fork_kinds'), 'unseen_begins'], how=how,
                  options=['heap=file', 'pool-size=64m']).wait(60)
        must(run.status == 0, how, 'status', run.status, run.err[-300:])


def handler_allocates(stage):
    """Not compared with a plain run: glibc's own allocator deadlocks here."""
    for how in ('launcher', 'hand'):
        run = kind_run(stage, how, 'handler', ['allocate'])
        must(run.status == 0, how, 'status', run.status, run.err[-300:])
        must(run.report.bad_frees() == 0, run.report.bad_frees(), 'bad frees')


def killed_while_copying(stage):
    """heap=file: a child that dies over its copy of the heap must not hold up its parent."""
    printed = []
    for sandbox, most in ([], 1000), (['sandbox'], 6000):
        run = Run(stage, [stage.program('stress/copy_killed'), '300'] + sandbox,
                  options=['heap=file', 'pool-size=512m', 'fork=copy', 'allow-unchecked']).wait(60)
        must(run.status == 0, 'status', run.status, run.err[-300:])
        numbers_printed = numbers(run.out)
        must(numbers_printed['killed'] == 1, 'the child lived')
        took = numbers_printed['in']
        must(took < most, 'the parent waited', took, 'ms')
        must(run.report.bad_frees() == 0, run.report.bad_frees(), 'bad frees')
        printed.append('%d ms' % took)
    return ', '.join(printed)


def static_child(stage):
    """A static program cannot be checked: it runs, and the report counts it."""
    program = stage.program('stress/static_program')
    run = kind_run(stage, 'launcher', 'program', [program])
    same_as_plain(run, kind_run(stage, 'plain', 'program', [program]))
    unchecked = run.report.unchecked_children
    must(unchecked == 1, unchecked, 'unchecked children')


INNER_SCRIPT = """
/bin/true; /bin/true; sh -c 'exec /bin/true'; for i in 1 2 3 4; do /bin/true; done; true
"""


def equal_pids(stage):
    """Processes of a pid namespace are not confused with those outside that have the same pids."""
    argv = ['sh', '-c', 'unshare -pf sh -c "$0"; exit 7', INNER_SCRIPT]
    scene = ['unshare', '-Urpf', '--mount-proc']
    needs_scene(*scene)
    run = Run(stage, argv, wrap=scene).wait()
    must(run.status == 7, 'status', run.status, run.out, run.err[-500:])
    root, others = run.report.images[0], run.report.images[1:]
    inner = [i for i in others if i['pid'] == root['pid']]
    must(inner, 'no process has the number of the first', [i['pid'] for i in others])
    must(root['exit']['how'] != 'exec' and root['exit']['status'] == 7, 'the first ended by',
         root['exit'])
    for image in inner:
        must('parent' not in image, 'a parent in another namespace', image)
        must(image['exit'].get('status') == 0, 'ended by', image['exit'])
    must('no errors, no leaks; exit status 7' in run.log, run.log)
    return '%d of %d with equal numbers' % (len(inner), len(others))


if __name__ == '__main__':
    main([('load_by_launcher', load('launcher')), ('load_by_hand', load('hand')),
          ('reclaim_by_launcher', reclaim('launcher')), ('reclaim_by_hand', reclaim('hand')),
          ('crowd_losing', crowd('losing')), ('crowd_read', crowd('read')),
          ('torn_fork', torn('fork')), ('torn_fork_twice', torn('fork', True)),
          ('torn__Fork', torn('_Fork', True)), ('torn_clone', torn('clone', True)),
          ('torn_unseen', torn('unseen', sure=False)),
          ('torn_is_found', torn_is_found),
          ('fresh', fresh), ('fresh_is_found', fresh_is_found),
          ('kinds_by_launcher', kinds('launcher')), ('kinds_by_hand', kinds('hand')),
          ('unseen_heap_in_file', unseen_heap_in_file), ('equal_pids', equal_pids),
          ('handler_allocates', handler_allocates), ('static_child', static_child),
          ('killed_while_copying', killed_while_copying),
          ('bash_subshells', bash_loop(FORK_LOOP, 1, 1000, 20000)),
          ('bash_pipelines', bash_loop(PIPE_LOOP, 3, 250, 20000)),
          ('bash_background', bash_loop(BACK_LOOP, 3, 250, 20000))])

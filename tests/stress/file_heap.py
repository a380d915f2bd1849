#!/usr/bin/python3
"""heap=file and forks: the heap of a child is that of one instant, with each policy, and it shares no memory."""
# rtc-test: stress_file_heap ci 200
# rtc-test: stress_file_heap_full full 3000 --full
import copy
import os
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)) + folder for folder in ('/../stress', '/../crimes')]
import mutant
from harness import Failure, Run, main, must

POLICIES = ('private', 'copy', 'auto')
SIZE = 'pool-size=64m'


def file_heap(stage, words, how='launcher', **more):
    options = ['heap=file', SIZE] + more.pop('options', [])
    return Run(stage, [stage.program('stress/file_heap'), *map(str, words)], how=how, options=options, **more).wait(300)


def on_disk(stage):
    folder = stage.room()
    os.chmod(folder, 0o700)
    return 'pool-dir=' + folder


def writers(policy, how, disk):
    def check(stage):
        forks = stage.sample(40, 1000)
        options = ['fork=' + policy] + ([on_disk(stage)] if disk else [])
        run = file_heap(stage, ['writers', forks], how=how, options=options)
        must(run.status == 0 and run.out == b'torn 0 of %d forks\n' % forks, run.status, run.out, run.err[-500:])
        must(run.report.bad_frees() == 0, run.report.bad_frees(), 'bad frees')
        return '%d forks' % forks
    return check


def drop_in(stage):
    """In place of libvmmalloc the pool has neither a name nor a descriptor."""
    forks = stage.sample(40, 1000)
    for words, out in (['writers', forks], b'torn 0 of %d forks\n' % forks), (['tree', 4], b'tree 0\n'):
        for policy in '1', '2', '3':
            env = {'LD_PRELOAD': stage.library, 'VMMALLOC_POOL_DIR': stage.room(), 'VMMALLOC_POOL_SIZE': '32000000', 'VMMALLOC_FORK': policy}
            run = Run(stage, [stage.program('stress/file_heap'), *map(str, words)], how='plain', env=env).wait(300)
            must(run.status == 0 and run.out == out and run.err == b'', words, policy, run.status, run.out, run.err)
    return '%d forks' % forks


def shared_is_found(stage):
    """Without the private mapping a child copies while others write: the same test fails."""
    torn = copy.copy(stage)
    torn.dir = stage.room()
    torn.library = mutant.build(torn.room(), 'NO_PRIVATE')
    for count in range(1, 11):
        run = file_heap(torn, ['writers', 10], how='hand', env={'RTCHECK_REPORTER': stage.rtcheck})
        if b'torn 0 of' not in run.out:
            return '%s of %d' % (run.out.decode().strip(), count * 10)
    raise Failure('no torn heap in 100 forks: the test proves nothing')


def tree(policy):
    def check(stage):
        depth = stage.sample(3, 4)
        for how, guard in ('launcher', 'no'), ('hand', 'no'), ('launcher', 'all'), ('launcher', '10'):
            run = file_heap(stage, ['tree', depth], how=how, options=['fork=' + policy, 'guard=' + guard])
            must(run.status == 0 and run.out == b'tree 0\n', how, run.status, run.out, run.err[-500:])
            must(run.report.bad_frees() == 0, run.report.bad_frees(), 'bad frees')
            must(run.report.image_count == 2 ** (depth + 1) - 1, run.report.image_count, 'images')
        return '%d processes' % (2 ** (depth + 1) - 1)
    return check


if __name__ == '__main__':
    main([('writers_%s_%s%s' % (p, how, '_disk' * disk), writers(p, how, disk))
          for p, how, disk in (('private', 'launcher', False), ('private', 'hand', True), ('copy', 'launcher', False),
                               ('copy', 'hand', False), ('copy', 'launcher', True))] +
         [('drop_in', drop_in), ('shared_is_found', shared_is_found)] + [('tree_' + p, tree(p)) for p in POLICIES])

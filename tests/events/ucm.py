#!/usr/bin/python3
"""UCX's names for memory events (rtcheck/ucm.h): every row, by hand and by the launcher; its environment; its messages."""
# rtc-test: events/ucm ci 120
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import SOURCE, clean_environment, main, must
from contracts import absent, header, rows_hold

ROWS = re.findall(r'^ROW\((\w+)\)', open(SOURCE + '/tests/events/ucm.def').read(), re.M)
UNSUPPORTED = -22


def rows(how):
    def check(stage):
        return rows_hold(stage, 'events/ucm', ROWS, how)
    return check


def printed(stage, word, preloaded=None, **env):
    libraries = preloaded or [stage.library]
    done = subprocess.run([stage.program('events/ucm'), word], capture_output=True, text=True, timeout=60,
                          env={**clean_environment(), 'RTCHECK_OPTIONS': 'leaks=no:quiet', 'LD_PRELOAD': ':'.join(libraries), **env})
    must(done.returncode == 0, done)
    return done.stdout.strip(), done.stderr


def environment(stage):
    """UCX_MEM_*: those with an effect, and one line about the others."""
    both = '0 0, 1'
    must(printed(stage, 'set') == (both, ''), printed(stage, 'set'))
    for no in 'n', 'no', 'N', '0', 'off':
        must(printed(stage, 'set', UCX_MEM_EVENTS=no) == ('%d %d, 0' % (UNSUPPORTED, UNSUPPORTED), ''), no)
    for mode, expected in ('none', '0 0, 0'), ('reloc', both), ('bistro', both), ('NONE', '0 0, 0'):
        must(printed(stage, 'set', UCX_MEM_MMAP_HOOK_MODE=mode) == (expected, ''), mode)
    for level, number in ('fatal', 0), ('error', 1), ('WARN', 2), ('info', 4), ('debug', 5), ('trace', 6):
        must(printed(stage, 'level', UCX_MEM_LOG_LEVEL=level) == (str(number), ''), level)
    others = {'UCX_MEM_ALLOC_ALIGN': '64', 'UCX_MEM_CUDA_HOOK_MODE': 'bistro'}
    line = 'rtcheck: ucm: no effect, because no code is patched and malloc is rtcheck\'s: UCX_MEM_ALLOC_ALIGN, UCX_MEM_CUDA_HOOK_MODE\n'
    must(printed(stage, 'set', **others) == (both, line), printed(stage, 'set', **others))
    must(printed(stage, 'set', UCX_MEM_LOG_LEVEL='error', **others) == (both, ''), 'not at this level')


def overridden(stage):
    """A library whose munmap comes first: each registration fails, and a warning has the reason."""
    library = stage.program('events/munmaps.so')
    out, err = printed(stage, 'set', [library, stage.library])
    must(out == '%d %d, 0' % (UNSUPPORTED, UNSUPPORTED), out)
    line = 'rtcheck: ucm: events are missing: VM_UNMAPPED, munmap is that of %s\n' % library
    must(err == 2 * line, err, line)
    out, err = printed(stage, 'set', [library, stage.library], UCX_MEM_LOG_LEVEL='error')
    must(err == '', err)


if __name__ == '__main__':
    main([('rows_by_hand', rows('hand')), ('rows_by_launcher', rows('launcher')), ('environment', environment),
          ('overridden', overridden), ('absent', absent('events/ucm')), ('header', header('ucm.h'))])

#!/usr/bin/python3
"""The runtime's dynamic linking: nothing except libc, and every name on a list.

The lists are reviewed, not generated: symbols-defined.txt (names that the runtime defines) and
symbols-undefined.txt (names that it needs from libc).  A name that is missing in the library is an error just
like one that is missing in the list.
"""
# rtc-test: limits_symbols ci 30
import glob
import os
import platform
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import BUILD, main, must

NEEDED = {'libc.so.6'}
NEEDED_OR_NOT = {'ld-linux-x86-64.so.2'}
GLIBC_MAX = (2, 34)
HERE = os.path.dirname(os.path.abspath(__file__))
NEVER = re.compile(r'^(.*(alloc|memalign)|c?free|.*printf|.*puts?c?|fopen.*|fread|fwrite|fflush|'
                   r'std(in|out|err)|setlocale|.*locale.*|strto.*|ato[ilf].*|qsort.*|strerror.*|'
                   r'perror|getpw.*|dlopen|backtrace.*|_Unwind.*|__tls_get_addr)$')


def readelf(stage, *options):
    return subprocess.run(['readelf', '-W', *options, stage.library], check=True, text=True,
                          capture_output=True).stdout


def allowed(name):
    with open('%s/%s.txt' % (HERE, name)) as f:
        return {line.split()[0] for line in f if line.strip() and not line.startswith('#')}


def dynamic_symbols(stage):
    """(defined, undefined, {name: version}) of the dynamic symbol table."""
    defined, undefined, versions = set(), set(), {}
    for line in readelf(stage, '--dyn-syms').splitlines():
        word = line.split()
        if len(word) < 8 or not word[0].endswith(':') or word[0] == 'Num:':
            continue
        name, _, version = word[7].partition('@')
        (undefined if word[6] == 'UND' else defined).add(name)
        if version:
            versions[name] = version.lstrip('@').split(' ')[0]
    return defined, undefined, versions


def compare(found, name):
    wanted = allowed(name)
    must(found == wanted, name + ':', 'not on the list:', sorted(found - wanted),
         'not in the library:', sorted(wanted - found))
    return '%d names' % len(found)


def needed(stage):
    names = set(re.findall(r'\(NEEDED\).*\[(.*)\]', readelf(stage, '-d')))
    must(NEEDED <= names <= NEEDED | NEEDED_OR_NOT, 'needs', sorted(names))
    return ' '.join(sorted(names))


def defined(stage):
    found, _, _ = dynamic_symbols(stage)
    return compare(found, 'symbols-defined')


def undefined(stage):
    _, found, _ = dynamic_symbols(stage)
    never = sorted(n for n in found if NEVER.match(n))
    must(not never, 'the runtime asks libc for', never)
    return compare(found, 'symbols-undefined')


BYTES = {'memcmp', 'memcpy', 'memset', '_GLOBAL_OFFSET_TABLE_'}
# Further symbols that single files need: to grow, to begin, in a signal handler; and the helper stack, for
# stacks that are walked or need a new rule.
MORE = {'rules': {'lock_take', 'lock_drop', 'lock_reset', 'os_allow', 'os_failed', 'os_limit', 'os_reserve',
                  'index_make', 'index_retire', 'index_bytes', 'helper_call'},
        'stack': {'getauxval', 'os_limit'},
        'walk': {'os_is_readable', 'helper_call', 'self'}, 'registers': {'os_is_readable', 'helper_call'},  # behind a signal
        'callee': {'os_is_readable'},  # before a mismatch is reported
        'maps': {'memmove'}, 'verify': {'memchr'}, 'verify_items': {'memchr'}}


def symbols_of(path):
    """(defined, undefined) of an object file."""
    lines = subprocess.run(['nm', path], check=True, text=True, capture_output=True).stdout
    words = [line.split()[-2:] for line in lines.splitlines()]
    return ({name for kind, name in words if kind not in 'Uw'},
            {name for kind, name in words if kind in 'Uw'})


def path_of_a_stack(stage):
    """The code that takes a stack is self-contained: no allocation, no lock, no system call."""
    found = 0
    shadow = {'shadow': 'shadow', 'ranges': 'shadow/ranges', 'leakscan': 'shadow/leakscan'}
    unwind = {'unwind': 'src/unwind', 'machine': 'shadow/arch/' + platform.machine()}
    for rooms in (unwind, shadow):
        objects = [path for room, folder in rooms.items()
                   for path in glob.glob('%s/CMakeFiles/%s.dir/%s/*.o' % (BUILD, room, folder))]
        symbols = {os.path.basename(o).split('.')[0]: symbols_of(o) for o in objects}
        own = set().union(*(defined for defined, _ in symbols.values()))
        for name, (_, undefined) in symbols.items():
            foreign = undefined - own - BYTES - MORE.get(name, set())
            must(not foreign, '%s of %s asks for' % (name, list(rooms)), sorted(foreign))
        found += len(objects)
    must(found >= 10, 'only', found, 'objects in', BUILD)
    return '%d objects' % found


def versions(stage):
    """No libc newer than 2.34 is needed, and the runtime defines no symbol versions: a named one would hide
    its names from references with libc's versions."""
    text = readelf(stage, '-V')
    must('.gnu.version_d' not in text, 'the library defines versions')
    highest = max((tuple(int(x) for x in v.split('.')) for v in
                   re.findall(r'GLIBC_([0-9.]+)', text)), default=(0,))
    must(highest <= GLIBC_MAX, 'needs GLIBC_%s' % '.'.join(map(str, highest)))
    must('GLIBC_PRIVATE' not in text, 'needs GLIBC_PRIVATE')
    return 'GLIBC_%s' % '.'.join(map(str, highest))


def flags(stage):
    """Bound at once, never unloaded; no relocated or writable code, no resolver of ours."""
    text = readelf(stage, '-d')
    must('NODELETE' in text, 'not NODELETE')
    must('BIND_NOW' in text or re.search(r'FLAGS_1.*\bNOW\b', text), 'not bound at once')
    must('TEXTREL' not in text, 'relocations in the text')
    must('INITFIRST' not in text, 'INITFIRST')
    relocations = readelf(stage, '-r')
    must('IRELATIV' not in relocations, 'an IFUNC')
    must(' IFUNC ' not in readelf(stage, '--dyn-syms'), 'an IFUNC')
    programs = readelf(stage, '-l')
    must('GNU_RELRO' in programs, 'no RELRO')
    must(not re.search(r'(LOAD|GNU_STACK) .* RWE ', programs), 'writable and executable memory')


def thread_storage(stage):
    """Initial-exec only: anything else may allocate on first use.  A few words only."""
    relocations = readelf(stage, '-r')
    for kind in ('R_X86_64_DTPMOD64', 'R_X86_64_DTPOFF64', 'R_X86_64_TLSDESC'):
        must(kind not in relocations, kind)
    sizes = re.findall(r'^\s*TLS\s+(?:0x[0-9a-f]+\s+){3}0x[0-9a-f]+ (0x[0-9a-f]+)',
                       readelf(stage, '-l'), re.M)
    size = sum(int(s, 16) for s in sizes)
    must(size <= 64, size, 'bytes of thread-local storage')
    return '%d bytes' % size


if __name__ == '__main__':
    main([('needed', needed), ('defined', defined), ('undefined', undefined),
          ('path_of_a_stack', path_of_a_stack),
          ('versions', versions), ('flags', flags), ('thread_storage', thread_storage)])

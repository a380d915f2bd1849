#!/usr/bin/env python3
"""The stack of each block: module, build-id and offset of every frame, named by elfutils.

The programs in this folder allocate a block of a different size at each site.  The stacks in `rtcheck dump`
are translated to names by eu-addr2line - from the file with the recorded build-id, at the offset - and must
be the calls in the source, from the allocation to the start of the program.
"""
# rtc-test: stacks ci 60
# rtc-test: stacks_full full 600 --full
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import BUILD, Run, main, must, run_plain, same_as_plain

HERE = BUILD + '/tests/stacks/'
CHUNK_SHIFT = 10

LIBC = r'(libc\.so\.6:\S+ )+'
TEMPLATES = r'(sites:\S*(std|__gnu_cxx)::\S+ )*'  # as far as they are not inlined
CPP = r'(libstdc\+\+\.so\.6:\S+ )+'
START = 'sites:main ' + LIBC + 'sites:_start $'
LIBRARY = 'sites:call_keeper sites:in_libraries ' + START

# By size: the stacks of the allocations and, if freed, of the frees.
SITES = {
    1001: ['sites:compare_of_qsort ' + LIBC + 'sites:in_qsort ' + START],
    1002: ['sites:compare_of_search ' + LIBC + 'sites:in_search ' + START],
    1003: ['sites:in_getline ' + START],
    1440: [TEMPLATES + 'sites:in_map ' + START],  # a node's head, the key, and the value
    1005: ['sites:less_of_sort ' + TEMPLATES + 'sites:in_sort ' + START],
    1006: [CPP + 'sites:in_string ' + START],
    120: [LIBC + 'sites:in_getline ' + START, 'sites:in_getline ' + START],
    3001: ['sites:makes sites:in_drop ' + START, 'sites:drops sites:in_drop ' + START],
    2001: ['closed_one.so:one_keeps ' + LIBRARY],
    3002: ['closed_one.so:one_keeps closed_one.so:one_drops sites:call_dropper sites:in_libraries '
           + START,
           'closed_one.so:one_frees closed_one.so:one_drops sites:call_dropper sites:in_libraries '
           + START],
    2002: ['closed_two.so:two_keeps ' + LIBRARY],
    2003: ['closed_one.so:one_keeps ' + LIBRARY],
    2004: ['closed_one.so:one_keeps sites:call_keeper sites:in_child sites:in_libraries ' + START],
    2005: ['closed_two.so:two_keeps sites:call_keeper sites:in_child '
           'sites:in_libraries ' + START],
}


# ---- the dump ------------------------------------------------------------------------------

class Image:
    """One process image: its own stacks, modules and blocks, then its parent's."""

    def __init__(self, parent):
        self.parent = parent
        self.first_chunk = 0
        self.nodes, self.modules, self.blocks = {}, {}, {}

    def node(self, stack):
        inherited = stack >> CHUNK_SHIFT < self.first_chunk
        return self.parent.node(stack) if inherited else self.nodes[stack]

    def module(self, number):
        return self.modules[number] if number in self.modules else self.parent.module(number)


WORDS = {
    'image': re.compile(r' image (\d+) parent=(\d+) '),
    'chunk': re.compile(r' image .* first_depot_chunk=(\d+) '),
    'block': re.compile(r'   (?:slot|large) .*?(live|freed) .* size=(\d+) align=\d+ stacks=(\w+)/(\w+)$'),
    'module': re.compile(r'   module (\d+) (\w+)-(\w+) bias=(\w+) loaded=(\d+) unloaded=(\d+) '
                         r'build_id=(\w*) (.*)$'),
    'stack': re.compile(r'   stack (\w+) pc=(\w+)( exact)? module=(\d+) parent=(\w+)( \(.*\))?$'),
}


class Module:
    def __init__(self, m):
        self.number = int(m[1])
        self.start, self.end, self.bias = (int(m[i], 16) for i in (2, 3, 4))
        self.loaded, self.unloaded = int(m[5]), int(m[6])
        self.build_id, self.path = m[7], m[8]
        self.name = os.path.basename(self.path)


def read_dump(text):
    """{number: Image}.  Areas of one image follow each other anyhow, and name it."""
    images = {}
    image = None
    for line in text.splitlines():
        m = {word: r.match(line) for word, r in WORDS.items()}
        if m['image']:
            image = images[int(m['image'][1])] = Image(images.get(int(m['image'][2])))
        elif line.startswith(' head image='):
            image = images.get(int(line.split('=')[1].split()[0]), image)
        elif m['chunk']:
            image.first_chunk = int(m['chunk'][1])
        elif m['block']:
            state, size, *stacks = m['block'].groups()
            image.blocks.setdefault(int(size), []).append((state, [int(s, 16) for s in stacks]))
        elif m['module']:
            module = Module(m['module'])
            image.modules[module.number] = module  # of two with one number the later counts
        elif m['stack']:
            stack, pc, exact, number, parent, end = m['stack'].groups()
            image.nodes[int(stack, 16)] = (int(pc, 16), int(number), int(parent, 16), end)
    return images


def frames_of(image, stack):
    """[(module, offset of the call)], innermost first."""
    frames = []
    while stack:
        pc, number, stack, end = image.node(stack)
        must(not end, 'a stack ends with', end)
        must(number, 'a frame without module: 0x%x' % pc)
        module = image.module(number)
        must(module.start <= pc < module.end, '0x%x is not in' % pc, module.path)
        frames.append((module, pc - 1 - module.bias))
    return frames


# ---- names ---------------------------------------------------------------------------------

def build_id_of(path):
    notes = subprocess.run(['readelf', '-n', path], capture_output=True, text=True).stdout
    return re.search(r'Build ID: (\w+)', notes)[1]


class Names:
    """The names of eu-addr2line for frames, looked up once for each file."""

    def __init__(self):
        self.known = {}

    def learn(self, frames):
        wanted = {}
        for module, offset in frames:
            wanted.setdefault((module.path, module.build_id), set()).add(offset)
        for (path, build_id), offsets in wanted.items():
            must(build_id == build_id_of(path), path, 'is of another build than', build_id)
            # Status 1: no inlined functions are known there.
            out = subprocess.run(['eu-addr2line', '-a', '-f', '-i', '-C', '-e', path] +
                                 ['0x%x' % o for o in sorted(offsets)],
                                 capture_output=True, text=True).stdout
            for part in re.split(r'^(?=0x)', out, flags=re.MULTILINE)[1:]:
                address, *lines = part.splitlines()
                # Function and place by turns; inlined functions come first.
                self.known[path, int(address, 16)] = lines[::2][-1]

    def words(self, frames):
        named = [(m.name, re.sub(r'\s|\(.*', '', self.known[m.path, o])) for m, o in frames]
        return ''.join('%s:%s ' % n for n in named)


# ---- the checks ----------------------------------------------------------------------------

def dump_of(stage, argv):
    # By hand: the launcher would free the area of an ended child.
    run = Run(stage, argv, how='hand', keep=True).wait()
    must(run.status == 0, 'status', run.status, run.out, run.err)
    return read_dump(run.verify().decode())


def sites_of(stage):
    if not hasattr(stage, 'sites'):
        stage.sites = dump_of(stage, [stage.program('stacks/sites'), HERE + 'closed_one.so',
                                       HERE + 'closed_two.so'])
    return stage.sites


def compare(images, sites):
    names = Names()
    found = {}
    for image in images.values():
        for size, blocks in image.blocks.items():
            for state, stacks in blocks if size in sites else []:
                frames = [frames_of(image, s) for s in stacks if s]
                must(len(frames) == 1 + (state == 'freed'), size, state, stacks)
                found.setdefault(size, []).append(frames)
                for f in frames:
                    names.learn(f)
    for size, wanted in sites.items():
        must(size in found, 'no block of', size, 'bytes')
        for stacks in found[size]:
            printed = [names.words(f) for f in stacks]
            must(len(printed) == len(wanted) and all(re.match(w, s) for w, s in zip(wanted, printed)),
                 size, 'bytes:', *('\n    ' + s for s in printed), '\n  instead of',
                 *('\n    ' + w for w in wanted))
    return '%d sites' % len(found)


def sites(stage):
    return compare(sites_of(stage), SITES)


def far_segments(stage):
    """A program with gaps between its segments is one module."""
    images = dump_of(stage, [stage.program('stacks/far_segments')])
    numbers = [m.number for m in images[1].modules.values() if m.name == 'far_segments']
    must(len(numbers) == 1, 'its modules:', numbers)
    return compare(images, {4001: ['far_segments:far_segments_keeps far_segments:main ' + LIBC + 'far_segments:_start $']})


def unseen(stage):
    """A child by a raw clone starts with empty stack caches."""
    images = dump_of(stage, [stage.program('stacks/unseen')])
    return compare(images, {size: ['unseen:keeps unseen:main ' + LIBC + 'unseen:_start $']
                            for size in (4101, 4102, 4103)})


def loads(stage):
    """Times of loading and unloading: one, two in its place, one again; then a child."""
    images = sites_of(stage)
    modules = [{m.name: m for m in images[i].modules.values()} for i in (1, 2)]
    one, two = (modules[0]['closed_%s.so' % n] for n in ('one', 'two'))
    must(len(modules[0]) == len(images[1].modules), 'a library came back under another number:',
         sorted((m.number, m.name) for m in images[1].modules.values()))
    calls = [frames_of(images[1], images[1].blocks[size][0][1][0])[0][1] for size in (2001, 2002)]
    must((one.start, one.bias) == (two.start, two.bias) and calls[0] == calls[1],
         'not in the same place')
    must(0 < two.loaded < two.unloaded < one.loaded and one.unloaded == 0, 'order:',
         one.loaded, one.unloaded, two.loaded, two.unloaded)
    one_there, two_there = (modules[1]['closed_%s.so' % n] for n in ('one', 'two'))
    must(one_there.number == one.number and two_there.number == two.number, 'numbers of the child')
    must(one.loaded == one_there.loaded < one_there.unloaded < two_there.loaded and
         two_there.unloaded == 0, 'order in the child:', one_there.loaded, one_there.unloaded,
         two_there.loaded, two_there.unloaded)
    return 'numbers %d and %d' % (one.number, two.number)


def reload(stage):
    """The records of a closed library are reused when it is loaded again."""
    kept = []
    for times in (20, 220):
        run = Run(stage, [stage.program('stacks/reload'), str(times), HERE + 'closed_one.so',
                          HERE + 'closed_two.so'], keep=True).wait()
        must(run.status == 0, 'status', run.status, run.err)
        printed = re.search(r'image depot_nodes=(\d+) depot_stacks=(\d+) depot_bytes=\d+ pc_count=(\d+) ',
                         run.verify().decode())
        kept.append([int(n) for n in printed.groups()])
    must(all(after < before + 20 for before, after in zip(*kept)),
         'nodes, stacks and return addresses:', *kept)
    return '%d return addresses' % kept[1][2]


def smash(stage):
    """The reported stack may be wrong after an overwrite, but no unmapped memory is read."""
    argv = [stage.program('stacks/smash'), str(stage.sample(10000, 1000000))]
    plain = run_plain(stage, argv)
    must(plain.status == 0, 'plain status', plain.status)
    same_as_plain(Run(stage, argv).wait(), plain)


def lost(stage):
    """A handler that allocates where the program has no stack any more."""
    for how in ('low', 'high', 'overflow'):
        argv = [stage.program('stacks/lost'), how]
        plain = run_plain(stage, argv)
        must(plain.status == 3, how, 'plain status', plain.status)
        same_as_plain(Run(stage, argv).wait(), plain)


def none(stage):
    """frames=0: no operation has a stack, also none of those that are timed for the cost."""
    program = [stage.program('limits/planted'), 'clean', '200000', '40']
    run = Run(stage, program, options=('frames=0',), keep=True).wait()
    image = read_dump(run.verify().decode())[1]
    stacks = [s for blocks in image.blocks.values() for _, block in blocks for s in block]
    must(len(stacks) > 2000 and not any(stacks) and not image.nodes, len(stacks), len(image.nodes))


def report(stage):
    """The report names the closed libraries, too."""
    run = Run(stage, [stage.program('stacks/sites'), HERE + 'closed_one.so',
                      HERE + 'closed_two.so']).wait()
    data = run.report.data
    path = {m['id']: os.path.basename(m['path']) for m in data['modules']}
    frame = {f['id']: (path.get(f.get('module')), (f.get('inlined_into') or [f])[-1].get('function'))
             for f in data['frames']}
    stack = {s['id']: [frame[f] for f in s['frames']] for s in data['stacks']}
    printed = {r['bytes']: stack[r['stack']][0] for r in data['records']}
    for bytes_, place in ((2001, ('closed_one.so', 'one_keeps')),
                          (2002, ('closed_two.so', 'two_keeps')),
                          (2003, ('closed_one.so', 'one_keeps')),
                          (2004, ('closed_one.so', 'one_keeps')),
                          (2005, ('closed_two.so', 'two_keeps'))):
        must(printed.get(bytes_) == place, bytes_, 'bytes of', printed.get(bytes_), 'instead of', place)


if __name__ == '__main__':
    main([('sites', sites), ('far_segments', far_segments), ('unseen', unseen), ('loads', loads),
          ('reload', reload), ('smash', smash), ('lost', lost), ('report', report),
          ('none', none)])

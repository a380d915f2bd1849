#!/usr/bin/env python3
# rtc-test: project/code_blocks ci 120
# rtc-test: project/code_blocks_full full 1800 --full
"""Every command and code block of README.md, docs/ and the man pages is run, by this test or by another.

A block is one of these, or the test fails:
- taken by another test, which calls block() of blocks.py for it;
- a session: commands after `$ `, with the output that follows;
- output or a sample in OUTPUTS or RULES: the output of a command, or rules of suppression;
- declarations of an installed header (section 3);
- commands: those of rtcheck, and those in OTHERS.

Each block runs in a new directory that has the programs and files that documents name, with an installation in place of
/opt/rtcheck.  Each form of a synopsis runs: with and without its optional words, and with each alternative.

Of code within sentences, commands of rtcheck, tools/ and tests/ with an argument, of man, and environment variables run.
Not run are, because they are no complete commands: names of programs, verbs, options (project/documents checks that these
exist), functions and files; commands of other programs (kill, nginx, valgrind); texts that a program prints.

Some commands run in another form.  tools/run is a stand-in, because project/run runs the real one; tests/bench/run has
--smoke (without arguments it is the test `bench`); tests/panel/run names a bug that does not exist, because panel/run needs a
network; of tools/test only the test that -R names is looked up; man prints where the page is.

--full: also commands that build the project, and those that need lists of packages.
"""
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.dom.minidom

sys.dont_write_bytecode = True # the checkout may be another's
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
import blocks
from harness import BUILD, SOURCE, Failure, Lacking, main, must, read_text
from scene import Scene

DOCUMENTS = ['README.md'] + sorted(str(p.relative_to(SOURCE)) for p in pathlib.Path(SOURCE, 'docs').glob('*.md'))
PAGES = sorted(str(p) for p in [*pathlib.Path(SOURCE, 'man').glob('*'), *pathlib.Path(BUILD, 'share/man').glob('man3/*')])
NUMBER = '3'

# (document, words of the block): the codes of findings that these rules leave, of mel, aib twice and duf.
RULES = {('docs/suppressions.md', 'match-leak-kinds'): ['aib'],
         ('man/rtcheck-suppressions.5', 'match-leak-kinds'): ['aib', 'aib', 'duf', 'mel'],
         ('man/rtcheck-suppressions.5', 'leak:'): ['aib', 'aib', 'duf'],
         ('man/rtcheck-suppressions.5', 'unsuppress'): ['aib', 'mel', 'mel'],
         ('man/rtcheck-suppressions.5', 'expires'): ['aib', 'aib', 'duf', 'mel', 'mel']}

# (document, words of the block): the command that prints it.
OUTPUTS = {('docs/report.md', 'DOUBLE FREE of'): 'tools/run',
           ('docs/costs.md', 'own cost: '): 'rtcheck --cost ./many many',
           ('docs/costs.md', 'MEASURED '): 'rtcheck --measure=7 ./many many',
           ('docs/counters.md', 'COUNTERS '): 'rtcheck --counters=page-faults,task-clock,instructions:u ./prog',
           ('docs/counters.md', 'init_lwp'): 'rtcheck -q --counters=page-faults,task-clock -T 500 ./many thread'}

# Verbs of rtcheck: a line of their output.
VERBS = {'run': r'rtcheck: \d+ problems? in ', 'report': r'rtcheck: (\d+ problems? in |no errors; still)', 'show': '  times +1$',
         'suppress add': '', 'pack': r'\S+\.rtpack: \d+ bytes; ', 'list': 'started +pid', 'events': r'process \d+ \(\w+\)', 'stat': ' +seconds +pid',
         'check': r'rtcheck: leak check \d+ of ',
         'dump': 'run version=', 'selftest': r'(rtcheck: all \d+ classes|0 of \d+ calls are not)',
         'translate': 'bytes of code:$', 'plans': r'(last used +KiB|\d+ plans)', 'help': '  (--|both |ASAN |LSAN )[a-z-]+'}
NEED_ARGUMENT = ('show', 'suppress add', 'events', 'stat', 'check', 'dump', 'run', 'translate')
WORDS = {'options': '--verbose', 'OPTION': '--verbose', 'OPTION OF VALGRIND': '--leak-check=full',
         "VALGRIND'S OPTIONS": '--leak-check=full',
         'PROGRAM': './prog', 'ARG': 'dl "b c"', 'ARGS': 'dl "b c"', 'ARGUMENT': 'dl "b c"', 'MS': '100', 'OBJECT': './prog', 'PLAN': 'prog.plan', 'DIR': '/', 'N': NUMBER}
OPTION_OF = {'show': '--deterministic', 'suppress add': '--file=own.supp', 'pack': '--with-sources', 'stat': '-n 1', 'check': '--limit=60000'}

# Variables: how they are used, and the status and a line that this gives.
VARIABLES = [(r'RTCHECK_OPTIONS="name=value:name=value"', 'RTCHECK_OPTIONS=error_exitcode=3:num_callers=1 rtcheck ./prog', 3,
              'rtcheck: '),
             (r'RTCHECK_OPTIONS=error_exitcode=N', '{} LD_PRELOAD=/opt/rtcheck/lib/librtcheck.so ./prog', 3, 'rtcheck: 2 problems'),
             (r'PYTHONMALLOC=malloc', '{} rtcheck python3 -c "print(1)" 2>&1 | grep -c PYTHONMALLOC', 1, '0$'),
             (r'MALLOC_PERTURB_=N', '{} rtcheck --json=/dev/stdout ./prog', 0, '.*malloc_fill=0xfc:free_fill=0x03'),
             (r'MALLOC_CHECK_=2', '{} rtcheck ./prog', -6, 'rtcheck: .*SIGABRT')]


# Documents with a mistake.
MISTAKES = ['```\nrtcheck --jsn=x ./prog\n```\n',
            '```\n$ rtcheck ./program\n...\nrtcheck: 2 problems; no leaks; exit status 0\n```\n',
            '```json\n{}\n```\n', '```\nrtcheck: no errors\n```\n', '```c\nint main(void) { return 0; }\n```\n',
            '```\nmake -C examples PKG_CONFIG=absent\n```\n', '`rtcheck ./absent`\n', '`RTCHECK_OPTION=x`\n',
            '```\nrtcheck list\n', 'Text\n\n    rtcheck --jsn ./prog\n\nText\n', '`man rtcheck-absent`\n',
            '```\nrtcheck -q --baseline=absent.json ./prog\n```\n', '`tools/test -R project/absent`\n']


# ---- commands ------------------------------------------------------------------------------

def forms(usage):
    """A synopsis without its optional words, and with them; with each alternative; and values for its names."""
    bare = usage
    while '[' in bare:
        bare = re.sub(r' ?\[[^][]*\](\.\.\.)?', '', bare)
    for text in dict.fromkeys((' '.join(bare.split()), ' '.join(re.sub(r'[][]|\.\.\.', '', usage).split()))):
        choices = [part.split('|') if re.fullmatch(r'[A-Z]+(\|[A-Z]+)+', part) else [part] for part in text.split(' ')]
        yield from (with_values(' '.join(words)) for words in itertools.product(*choices))


def with_values(form):
    for name in sorted(WORDS, key=len, reverse=True):
        pattern = r"(?<![\w-])%s(?![\w/.'-])" % name
        form = re.sub(pattern, lambda _, name=name: WORDS[name], form, flags=re.I if ' ' in name else 0)
    return form


def verb_of(command):
    words = command.split()
    if words[0] == 'rtcheck-valgrind':
        return 'valgrind'
    if re.search(r'(^| )--help\b', command):
        return 'help'
    two = ' '.join(words[1:3])
    return two if two in VERBS else words[1] if len(words) > 1 and words[1] in VERBS else 'run'


def is_complete(command):
    """Has it the argument that its verb needs?"""
    verb = verb_of(command)
    words = [w for w in command.split()[1:] if not w.startswith('-') and w not in verb.split()]
    return bool(words) or verb not in NEED_ARGUMENT


def line_of(verb, command):
    if verb == 'valgrind':
        return r'==\d+== (ERROR SUMMARY: \d+ errors? from \d+ context|Invalid free)'
    if verb == 'run' and re.search('--update-baseline', command):
        return 'rtcheck: '
    if verb == 'show' and re.search(r' (--bytes|0x\w+)\b', command):
        return r'(\S+  )?block of \d+ bytes'
    if verb == 'dump' and ' --heap=' in command:
        return ''
    return VERBS[verb]


def written(scene, command):
    """Files that options name are there and whole, and a rule is in its file."""
    if verb_of(command) == 'suppress add':
        file = re.search(r'--file=(\S+)', command)
        text = read_text(f'{scene.folder}/{file[1] if file else "rtcheck.supp"}')
        must(text.startswith('{\n'), command, text)
    for option, name in re.findall(r'--(json|sarif|gitlab|junit|xml-file)[= ](\S+)', command):
        text = read_text(scene.folder + '/' + name)
        if option in ('junit', 'xml-file'):
            xml.dom.minidom.parseString(text)
        else:
            json.loads(text)


def known(scene, command):
    """With rules or a baseline for all findings, a run has no problems."""
    if '--suppressions=known.supp' in command:
        scene.write('known.supp', 'suppress all\n')
    elif '--baseline=known.json' in command:
        scene.run('rtcheck -q --baseline=known.json --update-baseline ./tests')
    else:
        return
    status, printed = scene.run(command)
    must(status == 0, command, 'with all findings known: status', status, printed)


def rtcheck(scene, command):
    """A command of rtcheck, in each of its forms."""
    count, found = 0, ''
    for form in forms(re.sub(r' +#.*', '', command)):
        if not found and re.search(r'\b(FILE|ID|RUN)\b|^rtcheck (report|show|pack|list|suppress)\b', form):
            found = scene.kept_runs()
        if re.search(r'\bADDRESS\b', form):
            form = re.sub(r'\bADDRESS\b', scene.address_of(found), form)
        if re.search(r' run\.rtpack$', form):
            scene.run('rtcheck pack --output=run.rtpack')
        form = re.sub(r'\b(FILE|RUN)\b', scene.state + '/rtcheck/last', re.sub(r'\bID\b', found, form))
        form = form.replace('--verbose', OPTION_OF.get(verb_of(form), '--verbose'))
        status, printed = scene.run_beside(form) if re.search(r'\bPID\b', form) else scene.run(form)
        code = re.search(r'--error-exitcode=(\d+)', form)
        want, line = int(code[1]) if code else 0, line_of(verb_of(re.sub(r'^\S+=\S+ |^setarch -R ', '', form)), form)
        must(status == want, form, 'status', status, 'not', want, printed[-2000:])
        must(re.search('^' + line, printed, re.M), form, 'printed no line', repr(line), printed[-2000:])
        written(scene, form)
        known(scene, form)
        count += 1
    return count


def examples(scene, command):
    """The examples, built in a copy: each becomes a program."""
    shutil.copytree(SOURCE + '/examples', scene.folder + '/examples', dirs_exist_ok=True)
    status, printed = scene.run(command)
    must(status == 0, command, status, printed[-2000:])
    names = re.search('^examples = (.*)', read_text(SOURCE + '/examples/Makefile'), re.M)[1].split()
    to = re.search(r' (?:-B|-C) (\S+)', command)[1]
    must(all(os.access(f'{scene.folder}/{to}/{name}', os.X_OK) for name in names), command, names)


def bench(scene, command):
    """One row with tiny counts; without arguments it is the test `bench`."""
    if len(re.sub(' +#.*', '', command).split()) > 1:
        row = '' if '--only' in command else ' --only perl'
        status, printed = scene.run(f'{SOURCE}/{re.sub(" +#.*", "", command)}{row} --smoke')
        must(status == 0 and '| perl |' in printed, command, status, printed)


def panel(scene, command):
    """With a bug that does not exist: panel/run, which needs a network, runs it with all."""
    command = re.sub('/tmp/', scene.state + '/', re.sub(' +#.*', '', command))
    status, printed = scene.run(f'{SOURCE}/{command} no-such-bug')
    must(status == 2 and "argument BUG: invalid choice: 'no-such-bug'" in printed, command, status, printed)


def packages(scene, command):
    status, printed = scene.run(SOURCE + '/' + command)
    must(status == 0 and 'libdw-dev' in printed.split(), command, status, printed)


def tests_named(_scene, command):
    """Only whether such a test exists: a test that runs tools/test would run itself."""
    name = re.search(r' -R (\S+)', command)[1]
    must(re.search(r'add_test\(\S*' + re.escape(name), read_text(BUILD + '/CTestTestfile.cmake')), 'no test', name)


def manual(scene, command):
    status, printed = scene.run(command.replace('man ', 'man -w ', 1))
    must(status == 0 and scene.prefix in printed, command, status, printed)


def build(scene, command):
    """A whole build, in a copy of the checkout.  It is installed where the other commands find rtcheck."""
    if not os.path.exists(scene.folder + '/CMakeLists.txt'):
        scene.run(f'rm -rf * && tar -C {SOURCE} --exclude="./build*" --exclude=./.git -cf - . | tar -xf -')
        scene.prefix = scene.stage.room() # an empty one
    status, printed = scene.run(command)
    must(status == 0, command, status, printed[-2000:])
    if ' --install ' in command:
        printed = scene.run('rtcheck selftest')[1]
        must(re.search('^' + VERBS['selftest'], printed, re.M) and os.listdir(scene.prefix + '/bin'), command, printed)
    if command.startswith('cpack '):
        must([n for n in os.listdir(scene.folder) if n.endswith('.deb')], command, printed)


def install_packages(scene, command):
    """As an ordinary user: only whether they could be installed."""
    command = re.sub(' +#.*', '', command)
    for package in command.split()[2:]:
        if not re.search('Candidate: [^(]', scene.run('apt-cache policy ' + package)[1]):
            raise Lacking('no lists of packages: ' + package)
    status, printed = scene.run(command.replace('apt-get ', 'apt-get --simulate ', 1))
    must(status == 0, command, status, printed)


OTHERS = [(r'(LD_PRELOAD=\S+ |setarch -R )?(rtcheck|rtcheck-valgrind|\./prog|PROGRAM)( |$)', rtcheck),
          (r'cmake -S examples |make -C examples ', examples), (r'tests/bench/run\b', bench), (r'tests/panel/run ', panel),
          (r'tools/packages ', packages), (r'tools/test ', tests_named), (r'man ', manual)]
ONLY_FULL = [(r'cmake -B build |cmake --install|cpack ', build), (r'apt-get install ', install_packages)]


def run_command(scene, command):
    """The number of commands that were run."""
    handlers = [handler for pattern, handler in OTHERS + ONLY_FULL if re.match(pattern, command)]
    must(handlers, 'no test runs this command:', command)
    if not scene.stage.full and handlers[0] in (build, install_packages):
        scene.stage.left += 1
        return 0
    return handlers[0](scene, command) or 1


# ---- output --------------------------------------------------------------------------------

def normal(line):
    """Without pids, times, paths and numbers that differ between runs."""
    line = re.sub(r' in \S*/(\S+) \(pid \d+\)', r' in \1 (pid N)', line)
    line = re.sub(r'run file: .*', 'run file: PATH', line)
    line = re.sub(r'\b0x[0-9a-f]+', 'ADDRESS', line)
    return re.sub(r'[0-9][0-9.]*', 'N', line) if line.startswith('cost ') else line


def shape(line):
    """Without numbers, widths of columns and kinds of cost, of which a short run lacks some."""
    line = re.sub(r'(: |, )(?:(?:events|allocate|free|unwind|quarantine|scan|start) [0-9.]+(?:, |(?=;)))+', r'\1KINDS', line)
    line = re.sub(r'by the processor.s clock|by clock_gettime', 'by CLOCK', line)
    line = re.sub(r'n/a: [^;,]*|[0-9.]+( ns)?  +(perf: \w+|getrusage|clock_gettime)(, user mode alone)?$', 'N', line)
    return ' '.join(re.sub(r'[0-9][0-9.]*( [KMG]iB)?', 'N', line).replace(':u', '').split())


def rows(text):
    """Of a table, its head, and the events of which there is a row."""
    lines = [line.split() for line in text.splitlines() if re.match(r' +(time|[0-9.]+) +', line)]
    must(lines and all(len(line) == len(lines[0]) for line in lines), text)
    return [w.removesuffix(':u') for w in lines[0]], sorted({line[3] for line in lines[1:]})


def output(scene, shown, command):
    status, printed = scene.run(command)
    must(status == 0, command, status, printed)
    if ' -T ' in command:
        must(rows(shown) == rows(printed), rows(shown), 'is not', rows(printed))
    elif command == 'tools/run':
        must(not blocks.differences(shown, printed, normal), command, blocks.differences(shown, printed, normal))
    else:
        excerpt = '...\n' + shown + '...\n'
        must(not blocks.differences(excerpt, printed, shape), command, blocks.differences(excerpt, printed, shape))
    return 1


def watchpoint_works(scene):
    scene.write('w.c', 'int x;\nint main(void) { x = 1; return 0; }\n')
    scene.run('cc -g w.c -o w')
    return 'New value = 1' in scene.run('gdb -nx ./w', 'break main\nrun\nwatch x\ncontinue\n')[1]


def debugger(scene, command, shown, address):
    """The session of gdb with the address that rtcheck has shown: the last stop outside of librtcheck.so is the bad write."""
    text = '\n'.join(re.findall(r'^\(gdb\) (.*)', shown, re.M)) + '\ncontinue' * 9 + '\n'
    text = re.sub(r'0x[0-9a-f]+', address, scene.here(text))
    status, printed = scene.run(command.replace('gdb ', 'gdb -nx ', 1), text)
    must(status == 0 and 'watchpoint 2: *(char *)' + address in printed and 'BAD WRITE' in printed, command, status, printed)
    if not watchpoint_works(scene):
        raise Lacking('watchpoints have no effect in a program without rtcheck')
    stops = re.findall(r'^(?:0x\S+ in )?(\w+) \(.*\)', printed.partition('BAD WRITE')[0], re.M)
    must(stops and stops[-1] == 'write_past_end', command, stops, printed)


def session(scene, text):
    """Commands with their outputs."""
    before, pairs = blocks.session(text)
    must(not before, 'output before a command', before)
    count, printed = 0, ''
    if 'setarch' in text and scene.run('setarch -R true')[0] != 0:
        raise Lacking('address randomisation cannot be switched off')
    for command, shown in pairs:
        if command.startswith('gdb '):
            debugger(scene, command, shown, re.search(r'^  address +(\S+)', printed, re.M)[1])
        else:
            status, printed = scene.run(command)
            must(status == 0, command, status, printed)
            must(not blocks.differences(shown, printed, normal), command, blocks.differences(shown, printed, normal))
        count += 1
    return count


# ---- samples -------------------------------------------------------------------------------

def rules(scene, text, left):
    """Rules of suppression, and the findings that they leave.  Comments alone are put above a rule."""
    scene.write('sample.supp', text if re.search('^[^#]', text, re.M) else text + 'leak:^never$\n')
    status, printed = scene.run('rtcheck --suppressions=sample.supp ./ruled')
    must(status == 0, status, printed)
    codes = sorted(code for code in re.findall(r' ([a-z]{3})-[0-9a-f]{8}(?:\.\d+)?$', printed, re.M))
    must(codes == left, 'findings left:', codes, 'instead of', left, printed)
    return 1


def declarations(block):
    """Text of an installed header, which project/install compiles."""
    name = re.search(r'rtcheck-(\w+)\.3$', block.document)
    if not name:
        return False
    header = re.sub(r'\bRTC_(API|INLINE_)\b', '', read_text(f'{SOURCE}/include/rtcheck/{name[1]}.h'))
    return re.sub(r'[\s*/;]', '', block.text) in re.sub(r'[\s*/;]', '', header)


# ---- who runs what -------------------------------------------------------------------------

def taken():
    """{(document, words): the test that takes this block}"""
    found = {}
    for path in sorted(pathlib.Path(SOURCE, 'tests').rglob('*')):
        text = read_text(path) if path.is_file() and path.suffix in ('', '.py', '.sh') and path.name != 'code_blocks.py' else ''
        test = re.search(r'^# rtc-test: (\S+) (\S+)', text, re.M)
        if test:
            for document, words in re.findall(r'''\bblocks?(?:\.py)?["(]\s*["']?([\w/-]+\.md)["']?,?\s+["']([^"'\n]+)["']''', text):
                found[document, words] = test[1]
    return found


def listed(table, block):
    """The value of the row that is about this block, or None."""
    rows_of = (value for (document, words), value in table.items() if block.document.endswith(document) and words in block.text)
    return next(rows_of, None)


def handle(stage, block, others):
    """Run a block; what was done, and how many commands."""
    left, command = listed(RULES, block), listed(OUTPUTS, block)
    by = {test for (name, words), test in others.items() if name == block.document and blocks.block(name, words) == block.text}
    if left is not None:
        return 'rules', rules(Scene(stage), block.text, left)
    if command is not None:
        return 'outputs', output(Scene(stage), block.text, command)
    if re.search(r'^\$ ', block.text, re.M):
        return 'commands of sessions', session(Scene(stage), block.text)
    if by:
        return 'blocks by ' + ', '.join(sorted(by)), 1
    if declarations(block):
        return 'declarations', 1
    must(block.kind in ('', 'sh'), 'no test runs a block of kind', block.kind)
    scene = Scene(stage)
    return 'commands', sum(run_command(scene, command) for command in blocks.commands(block.text))


def synopsis(page):
    """The commands of a man page's synopsis; names in italics become capitals."""
    text = re.search(r'^\.SH SYNOPSIS\n(.*?)^\.SH', blocks.read(page), re.M | re.S)
    lines = ['']
    for line in text[1].splitlines() if text else []:
        macro, _, words = line.partition(' ')
        words = [blocks.plain(a or b) for a, b in re.findall(r'"([^"]*)"|(\S+)', words)]
        if macro == '.br':
            lines.append('')
        elif macro in ('.B', '.I'):
            lines[-1] += ' ' + ' '.join(words if macro == '.B' else [w.upper() for w in words])
        else:
            italic = macro.index('I') - 1 if 'I' in macro else None
            lines[-1] += ' ' + ''.join(w.upper() if i % 2 == italic else w for i, w in enumerate(words))
    return [line.strip() for line in lines if line.strip()]


def span(stage, text):
    """Code of a sentence: the number of commands run."""
    first = text.split()[0]
    if re.match(r'[A-Z_]+=', first):
        row = [r for r in VARIABLES if r[0] == text]
        if not row and re.match(r'(LD_PRELOAD|RTCHECK|[A-Z]*SAN_|MALLOC_|PYTHON|DEBUGINFOD)', first):
            raise Failure('no test sets this variable')
        for _, command, want, line in row:
            status, printed = Scene(stage).run(command.format(re.sub(r'\bN$', NUMBER, text)))
            must(status == want and re.search('^' + line, printed, re.M), command, status, printed)
        return len(row)
    is_command = first in ('rtcheck', 'rtcheck-valgrind') and is_complete(text) and text != first
    is_script = re.match(r'(tools|tests)/', first) and os.access(SOURCE + '/' + first, os.X_OK) and text != first
    if is_command or is_script or first == 'man':
        return run_command(Scene(stage), text)
    return 0


def document(name, others, read=blocks.blocks):
    """A check of all blocks and spans of a document or page."""
    def check(stage):
        counts, wrong, lacking, stage.left = {}, [], [], 0

        def do(where, work, *words):
            try:
                what, n = work(stage, *words)
                counts[what] = counts.get(what, 0) + n
            except Lacking as e:
                lacking.append(f'{where}: {e}')
            except (Failure, ValueError, subprocess.SubprocessError) as e:
                wrong.append(f'{where}: {e}')

        for block in read(name):
            do(block, handle, block, others)
        if read is blocks.blocks:
            for line, text in blocks.spans(name):
                do(f'{name}:{line}: `{text}`', lambda stage, text: ('commands in sentences', span(stage, text)), text)
        elif name.endswith('.1'):
            for line in synopsis(name):
                do(f'{name}: {line}', lambda stage, line: ('commands of a synopsis', run_command(Scene(stage), line)), line)
        must(not wrong, *('\n  ' + w for w in wrong))
        for text in lacking:
            print('skip: code_blocks:', text)
        counts['commands left to --full'] = stage.left
        return ', '.join(f'{n} {what}' for what, n in sorted(counts.items()) if n)
    return check


def can_fail(stage):
    """A document with a mistake is refused."""
    for i, text in enumerate(MISTAKES):
        name = f'{stage.room()}/{i}.md'
        with open(name, 'w') as f:
            f.write(text)
        try:
            printed = document(name, {})(stage)
        except (Failure, ValueError):
            continue
        raise Failure(text, 'is not refused:', printed)
    return f'{len(MISTAKES)} documents'


def usage(_stage):
    """The synopsis of rtcheck(1) is that of --help."""
    printed = subprocess.run([BUILD + '/bin/rtcheck', '--help'], stdout=subprocess.PIPE, text=True, check=True).stdout
    of_help = re.sub('usage:', '', printed.partition('\n\n')[0]).split('\n')
    of_page = [line for line in synopsis('man/rtcheck.1') if not line.startswith('rtcheck-valgrind')]
    must([line.strip() for line in of_help] == of_page, of_help, of_page)


def others_exist(others):
    """Each block() of another test finds its block."""
    def check(_stage):
        for name, words in others:
            blocks.block(name, words)
        must(len(others) >= 10, others)
        return f'{len(others)} blocks in {len(set(others.values()))} tests'
    return check


if __name__ == '__main__':
    OTHERS_TAKE = taken()
    main([('can_fail', can_fail), ('taken', others_exist(OTHERS_TAKE)), ('usage', usage)] +
         [(name, document(name, OTHERS_TAKE)) for name in DOCUMENTS] +
         [(os.path.basename(name), document(name, OTHERS_TAKE, blocks.page_blocks)) for name in PAGES])

"""Commands of gdb for a program that runs with rtcheck: docs/debuggers.md.

gdb loads this file together with librtcheck.so if it is installed in gdb's own folder for such files;
`source` loads it from anywhere.  Nothing here needs debugging information of the
library.
"""
import json
import os
import subprocess
import tempfile

import gdb

LIBRARY = 'librtcheck.so'
BREAK = 'rtc_error_break'
WORD = 8
FIELDS = ('code', 'title', 'function', 'address', 'bytes', 'block', 'block_bytes')  # of struct rtc_finding
TEXTS = FIELDS[:3]
NOT_CHECKED = {-1: 'the program is not checked for leaks', -2: 'no memory for the check', -3: 'the program is in a sandbox',
               -4: 'a thread stays in the allocator', -5: 'no file of /proc could be opened'}


# ---- the program -------------------------------------------------------------------------------

def library():
    """Path of the library in the program."""
    for file in gdb.objfiles():
        if file.filename and os.path.basename(file.filename) == LIBRARY:
            return file.filename
    raise gdb.GdbError('rtcheck: the program runs without ' + LIBRARY)


def is_of_runtime(frame):
    path = gdb.solib_name(frame.pc())
    return path is not None and os.path.basename(path) == LIBRARY


def first_of_program(frame):
    """The newest frame outside of the library; None: there is none."""
    while frame is not None and is_of_runtime(frame):
        frame = frame.older()
    return frame


def pid():
    process = gdb.selected_inferior().pid
    if not process:
        raise gdb.GdbError('rtcheck: the program does not run')
    return str(process)


def rtcheck(*words):
    """What the command prints for the program, as text."""
    command = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(library()))), 'bin', 'rtcheck')
    env = {name: value for name, value in os.environ.items() if name != 'LD_PRELOAD'}
    done = subprocess.run([command, *words], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.decode(errors='replace')


def call(name, *arguments):
    """Call a function of the library in the program, which has no debugging information."""
    parameters = ', '.join(['unsigned long'] * len(arguments))
    value = gdb.parse_and_eval('((long (*)(%s))%s)(%s)' % (parameters, name, ', '.join(map(str, arguments))))
    return int(value)


# ---- the break at an error -----------------------------------------------------------------------

def read_finding(at):
    inferior = gdb.selected_inferior()
    words = inferior.read_memory(at, WORD * len(FIELDS)).tobytes()
    finding = {name: int.from_bytes(words[i * WORD:i * WORD + WORD], 'little') for i, name in enumerate(FIELDS)}
    for name in TEXTS:
        finding[name] = inferior.read_memory(finding[name], 64).tobytes().split(b'\0')[0].decode()
    return finding


def sentence(finding):
    text = 'rtcheck: %s, %s(0x%x)' % (finding['title'], finding['function'], finding['address'])
    if finding['block']:
        text += ', block 0x%x of %d bytes' % (finding['block'], finding['block_bytes'])
    return text


class ErrorBreak(gdb.Breakpoint):
    """Stop at each new error.  The function is empty, so its argument is still in its register."""

    def __init__(self):
        super().__init__(BREAK)
        self.silent = True

    def stop(self):
        gdb.write(sentence(read_finding(int(gdb.selected_frame().read_register('rdi')))) + '\n')
        return True


def select_program(event):
    """A stop in the library: show the call of the program that led there."""
    try:
        frame = gdb.newest_frame()
        if not is_of_runtime(frame):
            return
        of_program = first_of_program(frame)
    except gdb.error:
        return
    if of_program is not None:
        of_program.select()
        gdb.execute('frame')


class WithoutRuntime:
    """`backtrace` leaves out the library's frames; `disable frame-filter global rtcheck` shows them."""

    def __init__(self):
        self.name, self.priority, self.enabled = 'rtcheck', 100, True
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        return (f for f in frames if not is_of_runtime(f.inferior_frame()))


# ---- commands ------------------------------------------------------------------------------------

class Rtc(gdb.Command):
    """Memory errors, leaks and blocks of a program that runs with rtcheck."""

    def __init__(self):
        super().__init__('rtc', gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class RtcBreak(gdb.Command):
    """Stop at each new memory error, with the program's frame selected."""

    def __init__(self):
        super().__init__('rtc break', gdb.COMMAND_BREAKPOINTS, gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        ErrorBreak()


class RtcError(gdb.Command):
    """Print the newest error with all its stacks."""

    def __init__(self):
        super().__init__('rtc error', gdb.COMMAND_DATA, gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        process = pid()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'report.json')
            printed = rtcheck('report', '--json=' + path, process)
            if not os.path.exists(path):
                raise gdb.GdbError(printed.strip())
            with open(path) as file:
                errors = json.load(file)['errors']
        if not errors:
            raise gdb.GdbError('rtcheck: no errors')
        gdb.write(rtcheck('show', max(errors, key=lambda e: e['time'])['id'], process))


class RtcReport(gdb.Command):
    """Print the errors so far, and what is in use."""

    def __init__(self):
        super().__init__('rtc report', gdb.COMMAND_DATA, gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        gdb.write(rtcheck('report', pid()))


class RtcLeaks(gdb.Command):
    """Check for leaks now: `rtc leaks`; `rtc leaks new` reports only blocks allocated since the last check.

The report appears where the program's report at its end would."""

    def __init__(self):
        super().__init__('rtc leaks', gdb.COMMAND_DATA, gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        if argument.strip() not in ('', 'new'):
            raise gdb.GdbError('rtcheck: "%s": rtc leaks takes nothing, or new' % argument)
        library()
        lost = call('__rtc_check_leaks', 1 if argument.strip() else 0, 0, 0)
        gdb.write('rtcheck: %s\n' % ('%d lost blocks' % lost if lost >= 0 else NOT_CHECKED.get(lost, 'the check failed')))


for command in Rtc, RtcBreak, RtcError, RtcReport, RtcLeaks:
    command()
WithoutRuntime()
gdb.events.stop.connect(select_program)

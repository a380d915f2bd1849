#!/usr/bin/python3
"""A program that is killed at any moment leaves a file that agrees with its own ledger.

ledger.c keeps the ledger in a page of the driver's.  After the kill, the blocks in use that its functions
allocated must equal the ledger, plus for each thread at most the one operation in flight.
"""
# rtc-test: stress_ledger ci 240
# rtc-test: stress_ledger_full full 600 --full
# rtc-test: stress_ledger_root ci,root 200 --only launcher_8_fork --only hand_8_fork
import mmap
import os
import signal
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Failure, Run, main, must, wait_until

THREADS = 8
LINE = 64
BOOK = 64 + THREADS * LINE
FLIGHTS = 4
MASK = (1 << 64) - 1


class Books:
    """The page: two books, the parent's and the child's."""

    def __init__(self, path):
        with open(path, 'wb') as f:
            f.truncate(4096)
        with open(path, 'r+b') as f:
            self.page = mmap.mmap(f.fileno(), 4096)

    def words(self, book, thread):
        return struct.unpack_from('<6Q', self.page, book * BOOK + 64 + thread * LINE)

    def pid(self, book):
        return struct.unpack_from('<I', self.page, book * BOOK)[0]

    def is_ready(self, book):
        return struct.unpack_from('<I', self.page, book * BOOK + 4)[0] != 0

    def operations(self):
        return sum(self.words(b, t)[1 + FLIGHTS] for b in (0, 1) for t in range(THREADS))

    def possible(self):
        """Every (blocks, bytes) that may be true."""
        sums = {0}
        for book in (0, 1):
            for thread in range(THREADS):
                words = self.words(book, thread)
                changes = {0} | set(words[1:1 + FLIGHTS])
                sums = {(s + words[0] + c) & MASK for s in sums for c in changes}
        return {(s >> 40, s & ((1 << 40) - 1)) for s in sums}


def kill_all(books, with_child):
    """The child first, so that it has ended when the launcher sees the parent's end."""
    for book in (1, 0) if with_child else (0,):
        if books.pid(book):
            os.kill(books.pid(book), signal.SIGKILL)


def one_kill(stage, how, threads, with_child):
    path = stage.room() + '/books'
    books = Books(path)
    argv = [stage.program('stress/ledger'), path, str(threads), str(stage.random.getrandbits(32))]
    run = Run(stage, argv + (['fork'] if with_child else []), how=how, keep=True)
    try:
        wait_until(lambda: books.is_ready(with_child), what='the program')
        time.sleep(stage.random.random() ** 2 * 0.04)
    finally:
        kill_all(books, with_child)
    run.wait()
    must(run.status == -signal.SIGKILL, 'status', run.status, run.log, run.err)
    run.verify()
    report = run.report if how == 'launcher' else run.reread()
    found = report.sites('book_')
    possible = books.possible()
    if found not in possible:
        near = min(possible, key=lambda p: abs(p[0] - found[0]) * 1000 + abs(p[1] - found[1]))
        raise Failure('%s, %d threads%s: the file has %s, the books %s (nearest of %d)' % (
            how, threads, ', forked' if with_child else '', found, near, len(possible)))
    run.forget()
    return books.operations(), found[0]


def kills(how, threads, with_child):
    def check(stage):
        operations = blocks = 0
        count = stage.sample(5, 25)
        for _ in range(count):
            did, left = one_kill(stage, how, threads, with_child)
            operations += did
            blocks += left
        return '%d kills, %d operations, %d blocks' % (count, operations, blocks)
    return check


if __name__ == '__main__':
    main([('%s_%d%s' % (how, threads, '_fork' if child else ''), kills(how, threads, child))
          for how in ('launcher', 'hand') for threads in (1, 8) for child in (False, True)])

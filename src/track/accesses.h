/*
 * accesses.h - accesses by calls of libc's functions that a check has refused (accesses.c).
 */
#ifndef ACCESSES_H
#define ACCESSES_H

#include "heap.h"
#include "unwinder.h"

struct access {
    const void *at;
    uint64_t bytes;
    bool is_write;
    uint32_t entry; /* enum error_entry: the function that the program called */
    /* set here: bytes before the first that is refused, and whether the program has poisoned that */
    uint64_t allowed;
    bool is_poisoned;
    /* of a fault: its stack and instruction, and whether `bytes` is not known, but 1 */
    uint32_t stack;
    uint64_t pc;
    bool is_size_unknown, is_by_libc;
};

/*
 * Bytes from `at` on that may be accessed, at most `bytes`: all of them outside of the heap.  Takes
 * no lock, enters no section; async-signal-safe.  Records that a fork left unreliable allow
 * everything.  An address, not a pointer: nothing is read at it.
 */
uint64_t access_allowed(uintptr_t at, uint64_t bytes);

/*
 * The program's call `at` is about to access, or has accessed, memory that access_allowed refused:
 * check it again, inside a section, and record the error.  Preserves errno.  In a handler that
 * interrupted a section the error is only counted.  Guards in the range are opened.
 */
COLD void access_refused(struct access *a, const struct entry *at);

/*
 * The kernel is about to access this memory for the program: open the guards in the range, at which
 * the call would fail with EFAULT.  Preserves errno.
 */
COLD void access_by_kernel(const void *p, uint64_t bytes);

/*
 * The same for a search without a limit, as that for the end of a string.  How far it reaches beyond
 * a block depends on what happens to follow: so the report has the first byte that must not be read,
 * and nothing of what follows it.
 */
COLD void access_refused_search(const void *s, uint64_t bytes, uint32_t entry,
                                const struct entry *at);

/* The program is about to write these bytes, as a consequence of an access that was refused. */
COLD void access_follows(const void *p, uint64_t bytes);

/*
 * An access by the program's own code, which has faulted at a guard: record it.  Inside a section.
 */
struct section;
COLD void access_faulted(struct access *a, const struct section *s);

/* Overlapping source and destination, of `bytes` each. */
COLD void access_overlaps(const void *to, const void *from, uint64_t bytes, uint32_t entry,
                          const struct entry *at);

/* Does a late check find what access_refused has reported? Then it forgets it. Inside a section. */
bool access_was_reported(const void *first, uint64_t bytes);
void accesses_after_fork(void);

#endif

/*
 * leakcheck.h - the interface of leakcheck: which blocks are no longer reachable?
 *
 * A check stops the other threads (stop_the_world.c), determines what is live in each of them
 * (live.c), lists the memory that may hold pointers (roots.c; dirty_pages.c leaves out pages that
 * were never written), describes the heap (heap_view.c, client_view.c) to the marking phase
 * (shadow/leakscan) and writes the groups of lost blocks to the run file (leak_records.c,
 * witness.c).  It runs at the end of an image (exit/finish.c), in mid-run (on_demand.c), and for a
 * process that is gone (exit/post_mortem.c); snapshot.c checks a copy of a program that runs on.  keys.c mutes slots of deleted pthread keys; lsan.c
 * reads the program's own LeakSanitizer settings.
 *
 * Locks: one check at a time in a process (leaks_begin).  Functions must not be called in a
 * critical section: a stopped thread must not be inside one.  While threads are stopped no libc
 * function is called that takes a lock, and no memory is allocated but by mmap.
 *
 * leakcheck and exit are one floor: the end checks for leaks, and LeakSanitizer's
 * __lsan_do_leak_check may end the program.
 */
#ifndef LEAKCHECK_H
#define LEAKCHECK_H

#include "init.h"

struct range {
    uintptr_t start, end;
};

/* ---- leaks.c: the leak check ----------------------------------------------------------------- */

/*
 * Find the blocks that are no longer reachable, and replace the results of the previous check.
 * `caller` NULL: the process is gone, and the post-mortem scanner calls this.  `extra_roots`: words
 * that are live although `caller` is further out on the stack.  `stays_stopped`: the other threads
 * stay stopped until leaks_resume.  Return true if blocks are lost.  Do not call in a section.
 */
#define EXTRA_ROOTS 2u
bool leaks_check(const struct caller *caller, const struct range extra_roots[EXTRA_ROOTS],
                 bool stays_stopped);
/* Discard the results: the program continues.  Do not call in a section. */
void leaks_forget(void);
extern HIDDEN const struct range nothing[EXTRA_ROOTS];

/*
 * Leak checks of a process are serialized.  Wait until no other thread checks.  Return false if
 * this thread checks already: a handler has interrupted its check, or the period up to leaks_done.
 * `blocked`: receives the signal mask; on return all signals are blocked, also on false.  They are
 * not blocked during the wait, because another checker must be able to stop this thread by a
 * signal.
 */
bool leaks_begin(struct os_signals *blocked);
void leaks_done(void);
/*
 * After a check with stays_stopped: resume the other threads.  The lock of leaks_begin stays held.
 */
void leaks_resume(void);
/*
 * Between leaks_begin and leaks_done, when the program ends: stop the other threads until the end.
 * Calls into the loader, and waits for locks that another thread may hold, must come before this.
 * Code of others that runs later (libc's flush, the program's handlers) may need such a lock, too.
 * Call leaks_stop_no_longer before it: the threads resume if that code takes too long.
 */
void leaks_stop_for_end(const struct caller *caller);
void leaks_stop_no_longer(void);
/*
 * Stop the other threads for a moment that is no leak check (fork.h, fork_stops_by).  Threads that wait in a
 * system call do not get a signal.
 */
bool leaks_stop_others(void);
void leaks_resume_others(void);

struct leaks_sum {
    uint64_t blocks, bytes, new_blocks, new_bytes;
};

/* Segments filled by a check. */
struct leak_records {
    struct range list;
    uint32_t count;
    uint32_t image; /* the owning image: a forked child inherits its parent's list */
};

/*
 * A check in mid-run: is_reported and flags (LEAK_CHECK_*) are inputs, the other fields are
 * results.
 */
struct leaks_now {
    bool is_reported; /* the results are written to the run file, for a report */
    uint32_t flags;
    uint32_t number;      /* sequence number in the image */
    uint32_t not_stopped; /* threads that were not stopped */
    uint32_t waiting;     /* of these: threads in a system call */
    uint64_t pause_ns;    /* how long allocations waited; 0: not measured */
    enum leak_check result;
    struct leaks_sum sum[REACH_COUNT];
    struct leak_check_record *record; /* NULL: not written to the run file */
    struct leak_records leak_records;
};

/* The results have been reported: make their segments vacant. */
void leaks_reported(struct leaks_now *now);

/* Memory for the caller's register values: its thread continues, so they are roots. */
#define KEPT_COUNT DWARF_PC
void leaks_keep_registers(const struct caller *caller, uint64_t kept[KEPT_COUNT]);

/* ---- snapshot.c ------------------------------------------------------------------------------ */

/*
 * In the process that serves the program (os_serve): check a snapshot of it and write the results to the run file.
 * false: the program ended meanwhile.
 */
bool leaks_check_snapshot(struct leaks_now *now);

/* ---- on_demand.c ----------------------------------------------------------------------------- */

/* Notify the program's handlers of the last scan, if any are registered. */
void leaks_notify(bool at_end);

/* ---- lsan.c ---------------------------------------------------------------------------------- */

/*
 * Has the program turned leak checks off?  Calls the program's function just before a check: while
 * its threads run, in no section, and not in a handler of ours.  In handlers use lsan_can_turn_off.
 */
bool lsan_is_turned_off(void);
bool lsan_can_turn_off(void);
/*
 * The same for the check at the end, noted in the image's header. false: do not report leaks of
 * this image.
 */
bool lsan_allows_end(void);
bool lsan_note_end(bool allowed);

#endif

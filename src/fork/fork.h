/*
 * fork.h - the interface of fork: one heap before a fork, two after it, with records that are valid
 * for both.
 *
 *   fork.c         the fork: epochs, leases, torn snapshots, the first operation of a child
 *   quiesce.c      stops and resumes the writers of records, for a bounded time
 *   handshake.c    a consistent snapshot of the writers' counters, for which no writer waits
 *   copy.c         copy-on-write of records in shared memory, a slab at a time
 *   post_mortem.c  a process that continues with the memory of one that is gone
 *
 * The kernel copies private memory at one instant, but not the run file, which is shared.  After a
 * fork the parent has the next epoch: a writer that finds records of an older one copies them first
 * (fork_own).  The kernel wipes epoch_page in a child, so the child detects the fork at its first
 * operation and becomes an image of its own.  A vfork child shares the page and the image.
 *
 * Data: epoch_page (declared in heap.h), the current fork, superseded segments that wait until no
 * child can read them.
 *
 * Calling conditions: fork_own, fork_retire_* and fork_enter_anyway are called inside a section, as
 * heap.h describes; fork_prepare, fork_wait and fork_stop_writers outside of sections.
 *
 * Locks, in this order (enum lock_rank): `forking` (rank 0, before all others, held from prepare to
 * parent or child), copy, retired records.  After quiescence no other lock is held.
 */
#ifndef FORK_H
#define FORK_H

#include "base.h"
#include "shadow.h"

struct unit; /* heap.h */

/* Do the head's records belong to an ancestor?  True until this image writes one of them. */
bool fork_is_inherited(const struct unit *head);
/* Do the head's records belong to an ancestor, and may they disagree with the inherited data? */
bool fork_is_unsure(const struct unit *head);
/* Make the head's records writable by this image in `write_epoch`; copies them if necessary. */
void fork_own(struct unit *head, uint32_t write_epoch);
/* Release a superseded segment or large record as soon as no child can read it. */
void fork_retire_segment(struct segment *s, uint32_t born);
void fork_retire_large(struct large_record *r, uint32_t born);

/* heap=file: the heap of a forked child, and of its parent from then on. */
enum fork_heap {
    FORK_HEAP_SHARED = 0, /* both write to the same memory: for children that only exec */
    FORK_HEAP_PRIVATE,    /* both are private memory */
    FORK_HEAP_COPY,       /* the child has a copy in the file; private if the file has no room */
    FORK_HEAP_AUTO,       /* the same */
};

/*
 * `child` is called in a new child before its first operation; `fresh`: the child inherits no
 * records.
 */
void fork_start(void (*child)(bool fresh), enum fork_heap heap);
/*
 * heap=file: how the other threads are stopped for the moment in which the mapping of the heap changes,
 * outside of sections (fork_stop_writers) and in the program's code.  `stop` returns false if a thread may be running; `resume` is called in both cases.
 */
void fork_stops_by(bool (*stop)(void), void (*resume)(void));
/* `begun` is called by one thread when the child has become an image, with all signals blocked. */
void fork_when_begun(void (*begun)(void));
/*
 * Hooks around a fork that libc reports.  fork_prepare runs in the parent, the others on their
 * side.
 */
void fork_prepare(void);
void fork_parent(void);
void fork_child(void);
/* Pass the child's pid to the parent (<= 0: the fork failed). */
void fork_pid(int32_t pid);
/* The first operation of a new child: makes it an image of its own. */
void fork_begin_child(void);
bool fork_is_child(void);      /* epoch_page was wiped: the runtime has done nothing since a fork */
bool fork_is_beginning(void);  /* a signal handler interrupted fork_begin_child */
bool fork_shares_memory(void); /* is this process a vfork child in its parent's memory? */
/*
 * Wait while another thread's fork is under way.  false: the wait timed out, or the fork is the
 * caller's own; then enter a section and call fork_enter_anyway().
 */
bool fork_wait(void);
/*
 * Called inside a section that found the epoch word 0.  true: the section may write records of
 * fork_epoch().  Unless the fork is the caller's own, its snapshot is now torn: the child does not
 * trust inherited records.  false: that fork is over; leave the section and enter again.
 */
bool fork_enter_anyway(void);
/*
 * Stop writers of records as for a fork, until fork_resume_writers.  The caller may still enter
 * sections.  false: a thread stayed in its section, or a fork is under way; then nothing is
 * stopped.
 */
bool fork_stop_writers(void);
void fork_resume_writers(void);
/*
 * Between fork_stop_writers and a fork of a process that serves this one: the child will read the records as they
 * are now.  Then call fork_resume_snapshot in place of fork_resume_writers, with the pid of the child, or 0.  It
 * returns the child's lease, or NULL: there is none, or a thread wrote records before the fork was over.  After the child's end
 * call fork_drop_snapshot.
 */
void fork_lease_snapshot(void);
struct lease *fork_resume_snapshot(uint32_t pid);
void fork_drop_snapshot(struct lease *l);

/* Is it the process that serves this one from outside (exit/post_mortem.c)? */
bool fork_is_scanner(uint32_t tid);

/*
 * A handshake: each writer saves its counters (thread.answer) before its next section, and
 * continues.  handshake_counters has the counters of `t` at the moment of handshake_begin; all
 * threads' are consistent.  It waits while `t` changes them, one second at most since
 * handshake_begin.  Outside of sections, and briefly: signals are blocked in between.  begin
 * returns false, and nothing is to be ended, if another thread's fork lasts longer than a second,
 * or in the child of a vfork.
 */
struct handshake {
    uint32_t number;
    uint64_t begin_ns;
};
bool handshake_begin(struct handshake *h);
struct thread_totals handshake_counters(const struct handshake *h, const struct thread *t);
void handshake_end(void);
/* For a writer that found the epoch word 0.  Save its counters; false: there is no handshake. */
bool handshake_answer(struct thread *t);
/* Inside a section that found the epoch word 0: is the handshake answered that still lasts? */
bool handshake_is_answered(const struct thread *t);
/* Is the calling thread the one that forks, or stops writers? */
bool fork_is_by_caller(void);

/* The current epoch.  Unlike epoch_page->epoch it is not 0 while a fork waits for quiescence. */
uint32_t fork_epoch(void);

/*
 * Make this memory usable for a process that outlived the process and all threads that used it.
 * false: their last writes may be incomplete.
 */
bool pool_post_mortem(void);

#endif

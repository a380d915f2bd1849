/*
 * fork.h - what is a parent's and what a child's (fork.c, copy.c, quiesce.c), and who goes on alone
 * (post_mortem.c).
 *
 * Called as pool.h says.
 */
#ifndef FORK_H
#define FORK_H

#include "base.h"
#include "shadow.h"

struct unit; /* pool.h */

/* Are the head's records an ancestor's?  We never wrote one of them. */
bool fork_is_inherited(const struct unit *head);
/* Makes the head's records ours to write in epoch `go`. */
void fork_own(struct unit *head, uint32_t write_epoch);
/* A segment or large record that a child may still read is let go of when none can. */
void fork_retire_segment(struct segment *s, uint32_t born);
void fork_retire_large(struct large_record *r, uint32_t born);
/* Puts a large record back on its list (large.c). */
void large_record_vacate(struct large_record *r);
/* `from` is the head's record. */
struct large_record *large_record_copy(const struct unit *head, const struct large_record *from);
/* The record of an inherited block keeps only what private tables hold. */
void large_record_distrust(struct large_record *r);

/* `child` is called in a new child before its first operation; `fresh`: it inherits no records. */
void fork_start(void (*child)(bool fresh));
/* And this one when it has become an image, on its one thread, with all signals blocked. */
void fork_when_begun(void (*begun)(void));
/* Around a fork that we see.  prepare runs in the parent; the others on their side. */
void fork_prepare(void);
void fork_parent(void);
void fork_child(void);
/* The parent learns the child's pid (<= 0: there is none). */
void fork_pid(int32_t pid);
/* A new child's first operation: becomes an image of its own. */
void fork_begin_child(void);
bool fork_is_child(void);      /* the page was wiped: nothing of ours has run since a fork */
bool fork_is_beginning(void);  /* a handler interrupted fork_begin_child */
bool fork_shares_memory(void); /* are we a vfork child, in our parent's memory? */
/*
 * Waits while a fork by another thread is under way.  false: it took too long, or the fork is our own: enter a
 * section and call fork_enter_anyway().
 */
bool fork_wait(void);
/*
 * Inside a section that found the epoch word 0.  true: it may write records of fork_epoch(); the child of the
 * fork under way, if it is not our own, does not trust what it inherits.  false: that fork is over: leave and
 * enter again.
 */
bool fork_enter_anyway(void);
/*
 * Stops writers of records as for a fork, until fork_resume_writers; the caller may still enter sections.
 * false: one stayed inside, or a fork is under way; then nothing is stopped.
 */
bool fork_stop_writers(void);
void fork_resume_writers(void);
/* The current epoch; unlike epoch_page's word it is right also inside a section that a fork waits for. */
uint32_t fork_epoch(void);

/*
 * All other threads, and the process that this memory was, are gone: makes it usable for one that outlived
 * them.  false: what they wrote may be half done.
 */
bool pool_post_mortem(void);

#endif

/*
 * fork_priv.h - declarations that only the files of fork share.
 */
#ifndef FORK_PRIV_H
#define FORK_PRIV_H

#include "heap.h"

/* ---- copy.c: for fork.c ---------------------------------------------------------------------- */

/* Records written in `epoch` or later belong to this image. */
void copies_begin(uint32_t epoch);
/* The same in a forked child, which reads older records by `lease` (NULL: without a lease). */
void copies_inherit(uint32_t epoch, struct lease *lease);
/* May inherited records of epoch `born` disagree with the data that was inherited with them? */
bool copies_are_unsure(uint32_t born);
bool lease_is_torn(const struct lease *l);
/* A lease may be reused when its child is over, even before its parent runs again. */
bool lease_is_of(const struct lease *l, uint32_t parent, uint32_t epoch);
/* Grant a lease on the current records to the child of the next fork; NULL: none free. */
struct lease *lease_grant(void);
/* Drop leases that ended, and reuse records that no child can read any more. */
void copies_sweep(void);
void copies_after_fork(void);

/* ---- quiesce.c: for fork.c ------------------------------------------------------------------- */

void quiesce_start(uint32_t epoch);
/* Stop writers; true if no thread is left in a section. */
bool quiesce_writers(void);
void quiesce_resume(uint32_t epoch);
void quiesce_after_fork(void);

/* ---- handshake.c: for quiesce.c and fork.c --------------------------------------------------- */

bool handshake_lasts(void);
void handshake_after_fork(void);

/* ---- fork.c: for quiesce.c and post_mortem.c ------------------------------------------------- */

void fork_post_mortem(void);

/* ---- fork.c: for quiesce.c --------------------------------------------------------------------- */

/* A scanner that stopped writers was killed (leakcheck/snapshot.c): end its stop.  false: it lives. */
bool fork_end_dead_stop(void);

/* ---- fork.c: for handshake.c ----------------------------------------------------------------- */

/*
 * Exclude forks and stops of writers, with signals blocked; waits for `limit_ns` at most.  false:
 * not excluded.
 */
bool forks_exclude(uint64_t limit_ns, struct os_signals *signals);
void forks_permit(const struct os_signals *signals);

#endif

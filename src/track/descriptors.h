/*
 * descriptors.h - --track-fds: which call opened each descriptor, and which one closed it
 * (descriptors.c).
 *
 * Thread-safe and async-signal-safe, without a lock; errno is preserved.  Calls of a vfork child are
 * not recorded: the child shares the memory of its parent, and this table, but not its descriptors.
 */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include "base.h"
#include "unwinder.h"

enum track_fds {
    TRACK_FDS_NO,
    TRACK_FDS_BAD, /* bad closes only */
    TRACK_FDS_YES, /* also descriptors left open, except inherited ones and 0 to 2 */
    TRACK_FDS_ALL, /* also these */
};

/* Nonzero: calls are recorded.  A byte, read by descriptor_jump.h; constant after start-up. */
extern HIDDEN uint8_t descriptors_tracked;

/* Record the descriptors that are open as inherited.  At start-up, before the program opens any. */
void descriptors_start(void);
void descriptors_after_fork(void);

/* The program's call `at` of the function `opener` has returned fd; < 0: it has failed. */
void descriptor_opened(int fd, enum error_entry opener, const struct entry *at);

/* A descriptor that the program is closing. */
struct closing {
    int fd; /* < 0: not recorded */
    uint64_t opened, closed, now;
};

/*
 * Record a descriptor as closed.  Called before the function that closes it, because another thread
 * may get the same number before that function returns.
 */
struct closing descriptor_close(int fd, enum error_entry closer, const struct entry *at);
/* The kernel refused the close (EBADF).  Report an error if the descriptor was open before. */
void descriptor_close_failed(const struct closing *c, enum error_entry closer);
/* All from `first` to `last` were closed by one call, whether they were open or not. */
void descriptors_closed(unsigned first, unsigned last, enum error_entry closer,
                        const struct entry *at);

/* Report an error for each descriptor left open.  At the end, outside of sections. */
void descriptors_at_end(void);

#endif

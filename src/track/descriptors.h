/*
 * descriptors.h - --track-fds: which call opened each descriptor, and which one closed it
 * (descriptors.c).
 *
 * Thread-safe and async-signal-safe, without a lock; errno is preserved.  In a vfork child, which
 * has its parent's memory but descriptors of its own, nothing is recorded.
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

/* At start-up, before the program opens any: what is open is inherited. */
void descriptors_start(void);
void descriptors_after_fork(void);

/* The program's call `at` of the function `opener` has returned fd; < 0: it has failed. */
void descriptor_opened(int fd, enum error_entry opener, const struct entry *at);

/* One that the program is closing. */
struct closing {
    int fd; /* < 0: not recorded */
    uint64_t opened, closed, now;
};

/*
 * Before the call: it is recorded as closed, because another thread may get the same number before
 * the call returns.
 */
struct closing descriptor_close(int fd, enum error_entry closer, const struct entry *at);
/* It was not open.  An error, if the program has had it open before. */
void descriptor_close_failed(const struct closing *c, enum error_entry closer);
/* All from `first` to `last` were closed by one call, whether they were open or not. */
void descriptors_closed(unsigned first, unsigned last, enum error_entry closer,
                        const struct entry *at);

/* At the end, outside of sections: an error for each that is open. */
void descriptors_at_end(void);

#endif

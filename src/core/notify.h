/*
 * notify.h - what the program is told of as it happens (notify.c).
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include "nonlocal_exit.h"
#include "pool.h"

/* What a search for leaks has found. */
struct scan_sum {
    uint64_t lost_blocks, lost_bytes, possible_blocks, possible_bytes;
    bool at_end;
};

struct notification {
    enum notify_event event;
    union {
        struct {
            uint64_t bytes;
            uint32_t stack;
        } alloc_error;
        struct notify_bad_free bad_free;
        struct scan_sum scan;
    };
};

/* Who tells the program, once, before anything is wanted. */
void notify_start(void (*hook)(const struct notification *h));
/* Not in a section: tells of it, if somebody wants to hear.  errno stays as it is. */
void notify_program(const struct notification *h);
struct notify_pending notify_take_pending(struct thread *t);
void notify_deliver(const struct notify_pending *pending);

/* Around a call of the program that must not allocate.  false: not by this thread, now. */
struct callback {
    struct thread *t;
    uintptr_t outer;
};
bool callback_begin(struct callback *c);
void callback_end(struct callback *c);
void callback_nonlocal_exit(const struct jump *j);

ALWAYS_INLINE bool notify_in_callback(void)
{
    return self && self->after & AFTER_CALLBACK;
}

/*
 * A search has been made, one at a time.  scan_last, false: none was, by this image, or one is
 * being noted.
 */
void scan_note(const struct scan_sum *sum);
bool scan_last(struct scan_sum *out);
/* How many of the leaks that one found rules have hidden, when it was told. */
void scan_note_hidden(uint64_t leaks);
bool scan_last_hidden(uint64_t *leaks);

#endif

/*
 * notify.h - notifications to the program (notify.c).
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include "nonlocal_exit.h"
#include "heap.h"

/* Result of a leak scan. */
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

/* Set the function that calls the program, once, before any event is requested. */
void notify_start(void (*hook)(const struct notification *h));
/*
 * Deliver a notification, if the event is requested. Call outside of sections. errno is preserved.
 */
void notify_program(const struct notification *h);
struct notify_pending notify_take_pending(struct thread *t);
void notify_deliver(const struct notify_pending *pending);

/* Call these around a callback that must not allocate. false: this thread cannot call it now. */
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
 * Record the result of a leak scan; scans do not overlap. scan_last, false: this image has made
 * none, or one is being recorded.
 */
void scan_note(const struct scan_sum *sum);
bool scan_last(struct scan_sum *out);
/* How many leaks of that scan were hidden by rules, when they were reported. */
void scan_note_hidden(uint64_t leaks);
bool scan_last_hidden(uint64_t *leaks);

#endif

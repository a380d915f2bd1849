/*
 * heard.h - what the program is told of as it happens (heard.c).
 */
#ifndef HEARD_H
#define HEARD_H

#include "left.h"
#include "pool.h"

/* What a search for leaks has found. */
struct scan_sum {
    uint64_t lost_blocks, lost_bytes, possible_blocks, possible_bytes;
    bool at_end;
};

struct heard {
    enum heard_event event;
    union {
        struct {
            uint64_t bytes;
            uint32_t stack;
        } alloc_error;
        struct heard_free bad_free;
        struct scan_sum scan;
    };
};

/* Who tells the program, once, before anything is wanted. */
void heard_start(void (*tell)(const struct heard *h));
/* Not in a section: tells of it, if somebody wants to hear.  errno stays as it is. */
void heard_tell(const struct heard *h);
struct heard_due heard_take(struct thread *t);
void heard_give(const struct heard_due *due);

/* Around a call of the program that must not allocate.  false: not by this thread, now. */
struct callback {
    struct thread *t;
    uintptr_t outer;
};
bool callback_begin(struct callback *c);
void callback_end(struct callback *c);
void callback_leave(const struct jump *j);

ALWAYS_INLINE bool heard_in_callback(void)
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

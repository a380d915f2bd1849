/*
 * guarded.h - which blocks are guarded (guarded.c; heap/guard.h makes them).
 */
#ifndef GUARDED_H
#define GUARDED_H

#include "guard.h"
#include "unwinder.h"

#define GUARD_EVERY_AUTO 1000u
#define GUARD_EVERY_MAX 1000000u
#define GUARD_ALL 1u

enum guard_edges { GUARD_EDGES_BOTH, GUARD_EDGES_END, GUARD_EDGES_START };

#define GUARD_STACKS_MAX 32u

/* Allocation stacks whose blocks are guarded. */
struct guard_stacks {
    uint32_t count;
    struct guard_stack {
        uint64_t key; /* format/stack_key.h */
        enum guard_edges edges;
        uint32_t gap; /* as in struct guard_place */
    } of[GUARD_STACKS_MAX];
};

/* Options --guard and --guard-stacks. */
struct guard_options {
    uint32_t every;  /* one of so many blocks; 0: none */
    bool is_limited; /* fewer, if guards would take more than a hundredth of the time */
    enum guard_edges edges;
    struct guard_stacks stacks; /* if there are any, only their blocks are guarded */
};

/* Faults at guards are handled from now on; false: no block is to be guarded. */
bool guarded_start(void);
/* They are not: guard no further block, and open all guards. */
void guarded_stop(void);
bool guarded_is_on(void);
/* Do the options request guarded blocks? */
bool guarded_is_wanted(void);

struct guarded_choice {
    uint32_t stack;
    struct guard_place place;
};

/* t->guard_left has run out: shall this allocation be guarded?  Inside a section. */
bool guarded_choose(struct thread *t, const struct entry *at, struct guarded_choice *out);
/* For `guard.stacks`, before the other call of guarded_stacks.c.  false: no memory. */
bool guarded_stacks_start(void);
/* The entry of `guard.stacks` for a stack id (guarded_stacks.c); NULL: none. */
const struct guard_stack *guarded_stack(uint32_t stack);
/* So many ticks were used for a guarded block. */
void guarded_charge(struct thread *t, uint64_t ticks);
/* guard_give, charged to this thread. */
void guarded_free(struct thread *t, const struct found *f);
/* Remove the guards around a bad access, if there are any.  A freed block holds the fill again. */
void guarded_open(uintptr_t at);
/* A forked child has other random numbers. */
void guarded_after_fork(struct thread *t);

#endif

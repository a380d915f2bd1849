/*
 * stack_cache.h - a thread's last stacks, kept to tell the next one from them (unwind/stack_cache.c).
 *
 * Frames lie outermost first, so that what calls and returns change is the end of the arrays.
 * sp is what the stack pointer was in that frame when it called: the return address pc lies just
 * below it, and both are what verifying reads.
 */
#ifndef STACK_CACHE_H
#define STACK_CACHE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#define CACHED_MORE 32u /* so many more than are wanted are walked: outer ones may return */
#define CACHED_FRAMES 128u
#define CACHED_STACKS 8u /* that a thread keeps */
#define CACHED_MARKS 1024u
#define RECENT_WAYS 4u
#define RECENT_MIN 64u /* lines of so many stacks' ids that it has at hand: a page, to begin with */
#define RECENT_MAX 2048u
#define CACHED_RULES 4096u

/*
 * What `push %rbp; mov %rsp,%rbp` leaves of a call into us: the program's frame pointer (or
 * whatever it keeps there) and where its call returns to.  Its stack pointer was &entry[1].
 */
struct entry {
    uintptr_t bp;
    uintptr_t pc;
};

struct cached_frame {
    uintptr_t sp;
    uintptr_t pc;
};

/* What else is known of a frame. */
struct cached_frame_more {
    uint64_t hash; /* of all frames up to this one */
    uint64_t word; /* its pc as the depot has it */
    uintptr_t bp;  /* rbp in it, where needs_bp */
    struct rule *rule;
    uint32_t id; /* depot id of the frames up to this one; 0 = not asked for yet */
    bool needs_bp;
};

/* A word of the stack beside return addresses that an outer frame was found by. */
struct cached_check {
    const uintptr_t *slot;
    uintptr_t value;
    uint16_t frame; /* that is needed to leave it */
    uint16_t saver; /* the frame whose function saved it there; beyond the last: our caller's rbp */
};

/* A frame on its way into the trace, innermost first. */
struct fresh_frame {
    uintptr_t sp;
    uintptr_t pc;
    const uintptr_t *bp; /* where rbp, as it was in this frame, has been saved */
    struct rule *rule;
};

struct rule; /* unwind's */

struct cached_stack {
    uint32_t count; /* frames; 0 = none to go by */
    uint32_t checks;
    uint32_t end; /* enum stack_end: why there are no more */
    bool known;   /* they lie on a stack that is there as long as the thread */
    /* From 1 on, outermost first; 0 is a wall: no stack pointer is higher, and its hash is a root. */
    struct cached_frame frame[CACHED_FRAMES + 1];
    struct cached_frame_more more[CACHED_FRAMES + 1];
    struct cached_check check[2 * CACHED_FRAMES + 2];
};

/* Stacks that were found last by hashes which agree in their lower bits: a cache line. */
struct recent_stacks {
    struct recent_way {
        uint64_t hash;
        uint64_t id; /* 0 = none */
    } way[RECENT_WAYS];
};

/* All that a thread has of its stacks.  What is found by a hash or a mark is only a hint. */
struct stack_cache {
    uint32_t epoch;  /* of the rules that they were made by */
    uint32_t last;   /* the one that was used last */
    uint32_t misses; /* calls that none was like */
    uint32_t recent_mask;
    uint32_t recent_lost;         /* ids that the depot had and `recent` no more, since that grew */
    uint32_t recent_next;         /* whose way is taken */
    bool lacks_rule;              /* why stack_cache_update returned none */
    uint16_t mark[CACHED_STACKS]; /* of the call that came to each of them last */
    uint8_t by_mark[CACHED_MARKS]; /* the trace that it came to; < TRACES */
    struct cached_stack cached[CACHED_STACKS];
    struct fresh_frame fresh[CACHED_FRAMES];
    uint32_t rule_at[CACHED_RULES];                      /* by a pc */
    alignas(64) struct recent_stacks recent[RECENT_MAX]; /* up to recent_mask */
};

#endif

/*
 * trace.h - a thread's last stacks, kept to tell the next one from them (unwind/trace.c).
 *
 * Frames lie outermost first, so that what calls and returns change is the end of the arrays.
 * sp is what the stack pointer was in that frame when it called: the return address pc lies just
 * below it, and both are what verifying reads.
 */
#ifndef TRACE_H
#define TRACE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#define TRACE_MORE 32u /* so many more than are wanted are walked: outer ones may return */
#define TRACE_FRAMES 128u
#define TRACES 8u /* that a thread keeps */
#define TRACE_MARKS 1024u
#define RECENT_WAYS 4u
#define RECENT_MIN 64u /* lines of so many stacks' ids that it has at hand: a page, to begin with */
#define RECENT_MAX 2048u
#define RULES_AT_HAND 4096u

/*
 * What `push %rbp; mov %rsp,%rbp` leaves of a call into us: the program's frame pointer (or
 * whatever it keeps there) and where its call returns to.  Its stack pointer was &entry[1].
 */
struct entry {
    uintptr_t bp;
    uintptr_t pc;
};

struct trace_frame {
    uintptr_t sp;
    uintptr_t pc;
};

/* What else is known of a frame. */
struct trace_more {
    uint64_t hash; /* of all frames up to this one */
    uint64_t word; /* its pc as the depot has it */
    uintptr_t bp;  /* rbp in it, where needs_bp */
    struct rule *rule;
    uint32_t id; /* depot id of the frames up to this one; 0 = not asked for yet */
    bool needs_bp;
};

/* A word of the stack beside return addresses that an outer frame was found by. */
struct trace_check {
    const uintptr_t *slot;
    uintptr_t value;
    uint16_t frame; /* that is needed to leave it */
    uint16_t saver; /* the frame whose function saved it there; beyond the last: our caller's rbp */
};

/* A frame on its way into the trace, innermost first. */
struct trace_fresh {
    uintptr_t sp;
    uintptr_t pc;
    const uintptr_t *bp; /* where rbp, as it was in this frame, has been saved */
    struct rule *rule;
};

struct rule; /* unwind's */

struct trace {
    uint32_t count; /* frames; 0 = none to go by */
    uint32_t checks;
    uint32_t end; /* enum stack_end: why there are no more */
    bool known;   /* they lie on a stack that is there as long as the thread */
    /* From 1 on, outermost first; 0 is a wall: no stack pointer is higher, and its hash is a root. */
    struct trace_frame frame[TRACE_FRAMES + 1];
    struct trace_more more[TRACE_FRAMES + 1];
    struct trace_check check[2 * TRACE_FRAMES + 2];
};

/* Stacks that were found last by hashes which agree in their lower bits: a cache line. */
struct trace_recent {
    struct trace_way {
        uint64_t hash;
        uint64_t id; /* 0 = none */
    } way[RECENT_WAYS];
};

/* All that a thread has of its stacks.  What is found by a hash or a mark is only a hint. */
struct traces {
    uint32_t epoch; /* of the rules that they were made by */
    uint32_t last;  /* the one that was used last */
    uint32_t strangers; /* calls that none was like */
    uint32_t recent_mask;
    uint32_t recent_lost; /* ids that the depot had and `recent` no more, since that grew */
    uint32_t recent_next; /* whose way is taken */
    bool lacks_rule;      /* why trace_update returned none */
    uint16_t mark[TRACES];        /* of the call that came to each of them last */
    uint8_t by_mark[TRACE_MARKS]; /* the trace that it came to; < TRACES */
    struct trace trace[TRACES];
    struct trace_fresh fresh[TRACE_FRAMES];
    uint32_t rule_at[RULES_AT_HAND]; /* by a pc */
    alignas(64) struct trace_recent recent[RECENT_MAX]; /* up to recent_mask */
};

#endif

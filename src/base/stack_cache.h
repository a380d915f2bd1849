/*
 * stack_cache.h - a thread's cached backtraces, from which its next backtrace is derived
 * (unwind/stack_cache.c).
 *
 * Frames are stored outermost first: calls and returns change only the end of the arrays.  `sp` is
 * the stack pointer of a frame before its call.  The return address `pc` lies just below `sp`;
 * verification reads the word at sp - 8 and compares it with `pc`.
 */
#ifndef STACK_CACHE_H
#define STACK_CACHE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

/* Frames walked beyond the requested count, so that a cut stack survives returns. */
#define CACHED_MORE 32u
#define CACHED_FRAMES 128u
#define CACHED_STACKS 8u /* cached backtraces per thread */
#define CACHED_MARKS 1024u
#define RECENT_WAYS 4u
#define RECENT_MIN 64u /* initial lines of depot ids: one page */
#define RECENT_MAX 2048u
#define CACHED_RULES 4096u

/*
 * The words that `push %rbp; mov %rsp,%rbp` stores at a call into the runtime: the program's frame
 * pointer (or other content of rbp) and the return address.  The program's stack pointer was
 * &entry[1].
 */
struct entry {
    uintptr_t bp;
    uintptr_t pc;
};

struct cached_frame {
    uintptr_t sp;
    uintptr_t pc;
};

/* Further data of a cached frame. */
struct cached_frame_more {
    uint64_t hash; /* of all frames from the outermost to this one */
    uint64_t word; /* its pc as stored in the depot */
    uintptr_t bp;  /* rbp in this frame, if needs_bp */
    struct rule *rule;
    uint32_t id; /* depot id of the frames from the outermost to this one; 0: not looked up yet */
    bool needs_bp;
};

/* A stack word, other than a return address, on which the location of an outer frame depends. */
struct cached_check {
    const uintptr_t *slot;
    uintptr_t value;
    uint16_t frame; /* unwinding this frame needs the word */
    /* The function of this frame saved the word; beyond the last frame: rbp of our caller. */
    uint16_t saver;
};

/* A frame found by the current walk, innermost first. */
struct fresh_frame {
    uintptr_t sp;
    uintptr_t pc;
    const uintptr_t *bp; /* where rbp of this frame is saved */
    struct rule *rule;
};

struct rule; /* defined by unwind */

struct cached_stack {
    uint32_t count; /* frames; 0: the entry is empty */
    uint32_t checks;
    uint32_t end; /* enum stack_end: why the walk ended */
    bool known;   /* on a stack of known bounds, valid for the thread's lifetime */
    /*
     * Entries from 1 on, outermost first.  Entry 0 is a sentinel: its sp is above every stack
     * pointer, and its hash is the root hash.
     */
    struct cached_frame frame[CACHED_FRAMES + 1];
    struct cached_frame_more more[CACHED_FRAMES + 1];
    struct cached_check check[2 * CACHED_FRAMES + 2];
};

/* The most recent stacks with the same lower hash bits: one cache line. */
struct recent_stacks {
    struct recent_way {
        uint64_t hash;
        uint64_t id; /* 0: none */
    } way[RECENT_WAYS];
};

/*
 * All stack data of a thread.  Entries found by a hash or a mark are only hints and are verified.
 */
struct stack_cache {
    uint32_t epoch;  /* rules_epoch when the cached stacks were made */
    uint32_t last;   /* index of the entry used last */
    uint32_t misses; /* calls with a mark that matched no entry */
    uint32_t recent_mask;
    /* Ids found in the depot but no longer in `recent`, since it last grew. */
    uint32_t recent_lost;
    uint32_t recent_next;          /* the way to replace next */
    bool lacks_rule;               /* reason why stack_cache_update returned NULL */
    uint16_t mark[CACHED_STACKS];  /* for each entry: mark of the last call that used it */
    uint8_t by_mark[CACHED_MARKS]; /* entry by mark; < CACHED_STACKS */
    struct cached_stack cached[CACHED_STACKS];
    struct fresh_frame fresh[CACHED_FRAMES];
    uint32_t rule_at[CACHED_RULES];                      /* rule offsets, by a hash of the pc */
    alignas(64) struct recent_stacks recent[RECENT_MAX]; /* used up to recent_mask */
};

#endif

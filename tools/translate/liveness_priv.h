/* liveness_priv.h - the state of the liveness analysis, and what it needs to know of calls. */
#ifndef LIVENESS_PRIV_H
#define LIVENESS_PRIV_H

#include "translate_priv.h"

/* Instructions of one function, or between two: the analysis repeats one range at a time. */
struct range {
    uint32_t first, end;
};

struct analysis {
    const struct code *code;
    const struct object *object;
    const struct functions *functions;
    const bool *is_target;
    uint64_t *live;
    /* Of each function, the last item for code outside of functions. */
    uint64_t *at_return;
    uint64_t *at_targets; /* of indirect branches */
    bool *has_targets;    /* after its first instruction */
    uint32_t *changed;    /* registers that a call changes */
    struct range *ranges;
    uint32_t range_count;
    uint32_t *range_of; /* of each function */
    bool *is_dirty;     /* of each range: what it depends on has changed */
    bool *is_entry;     /* of each instruction: another range branches or continues to it */
    /* The ranges that branch to range r: users[first_user[r]] up to users[first_user[r + 1]]. */
    uint32_t *users, *first_user;
};

/* ---- callees.c ------------------------------------------------------------------------------- */

/* Allocate the tables; find ranges, their users, and what functions change. */
void analysis_begin(struct analysis *a);
void analysis_end(struct analysis *a);
uint32_t item_of(const struct analysis *a, uint32_t function);
/* Is the code of this function one sequence of instructions, whose flow is seen? */
bool is_seen(const struct analysis *a, uint32_t function);
bool is_linkage(const struct analysis *a, const struct instruction *i);
/* call *(%rax) may be a TLS descriptor's, which preserves all other registers. */
bool is_descriptor_call(const struct instruction *i);

#endif

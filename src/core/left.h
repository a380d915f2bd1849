/*
 * left.h - what a longjmp leaves.
 */
#ifndef LEFT_H
#define LEFT_H

#include "base.h"

/*
 * To a frame whose stack pointer is `target` (JUMP_ENDS: the thread ends); its alternate stack, if
 * it has one.
 */
struct jump {
    uintptr_t target;
    uintptr_t alternate, alternate_end;
};

#define JUMP_ENDS UINTPTR_MAX

/* Then nothing of what is left is there to be read. */
ALWAYS_INLINE bool jump_ends(const struct jump *j)
{
    return j->target == JUMP_ENDS;
}

/* Who makes the jump has interrupted what is at `frame`, or was called by it: does that go on no more? */
bool jump_leaves(const struct jump *j, uintptr_t frame);
/* The calling thread is about to make it: what it leaves of ours has ended. */
void leave_by_jump(uintptr_t target);
/* How many threads hold something that is not seen by their struct: `tell` hears of every jump then. */
extern HIDDEN _Atomic uint32_t left_held;
/* Who is to be told of jumps that leave anything of ours; from our constructor. */
void left_start(void (*tell)(const struct jump *j));

#endif

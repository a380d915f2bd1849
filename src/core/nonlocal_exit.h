/*
 * nonlocal_exit.h - what a longjmp leaves.
 */
#ifndef NONLOCAL_EXIT_H
#define NONLOCAL_EXIT_H

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
bool jump_discards(const struct jump *j, uintptr_t frame);
/* The calling thread is about to make it: what it leaves of ours has ended. */
void nonlocal_exit(uintptr_t target);
/* How many threads hold something that is not seen by their struct: `tell` hears of every jump then. */
extern HIDDEN _Atomic uint32_t nonlocal_exit_watchers;
/* Who is to be told of jumps that leave anything of ours; from our constructor. */
void nonlocal_exit_start(void (*hook)(const struct jump *j));

#endif

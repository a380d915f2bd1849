/*
 * nonlocal_exit.h - cleanup after a non-local exit: longjmp, siglongjmp, or the end of a thread.
 */
#ifndef NONLOCAL_EXIT_H
#define NONLOCAL_EXIT_H

#include "base.h"

/*
 * A jump to a frame with stack pointer `target` (JUMP_ENDS: the thread ends), and the thread's
 * alternate signal stack, if it has one.
 */
struct jump {
    uintptr_t target;
    uintptr_t alternate, alternate_end;
};

#define JUMP_ENDS UINTPTR_MAX

/* The thread ends: then the discarded frames can no longer be read. */
ALWAYS_INLINE bool jump_ends(const struct jump *j)
{
    return j->target == JUMP_ENDS;
}

/*
 * Does the jump discard the frame at `frame`? The code that jumps has interrupted it, or was called
 * by it.
 */
bool jump_discards(const struct jump *j, uintptr_t frame);
/* The calling thread is about to jump: end what the jump discards of the runtime's state. */
void nonlocal_exit(uintptr_t target);
/*
 * Number of threads with state that is not in their struct. While it is not 0, every jump calls the
 * hook.
 */
extern HIDDEN _Atomic uint32_t nonlocal_exit_watchers;
/*
 * Set the function that is called for jumps which may discard state of the runtime; from our
 * constructor.
 */
void nonlocal_exit_start(void (*hook)(const struct jump *j));

#endif

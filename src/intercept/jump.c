/*
 * jump.c - longjmp out of a signal handler that interrupted the runtime.
 *
 * sync/nonlocal_exit.c has no other way to notice it: the abandoned frames may stay intact below
 * the stack pointer.  The jmp_buf contains the target's stack pointer.
 *
 * A mask that a jump restores does not contain SIGSEGV while blocks are guarded: libc has read it from
 * the kernel.
 */
#include "intercept.h"

static void prepare(const void *buffer)
{
    nonlocal_exit(libc_jump_target(buffer));
    if (libc_jump_restores_mask(buffer))
        self_state &= ~(uint32_t)SELF_BLOCKS_FAULTS;
}

#define DEFINE_JUMP(name, real)                          \
    EXPORT _Noreturn void name(void *buffer, int value); \
    EXPORT _Noreturn void name(void *buffer, int value)  \
    {                                                    \
        prepare(buffer);                                 \
        NEXT(real)(buffer, value);                       \
    }

DEFINE_JUMP(longjmp, siglongjmp)
DEFINE_JUMP(_longjmp, siglongjmp)
DEFINE_JUMP(siglongjmp, siglongjmp)
DEFINE_JUMP(__longjmp_chk, longjmp_chk)

/*
 * jump.c - longjmp out of a signal handler that interrupted the runtime.
 *
 * sync/nonlocal_exit.c has no other way to notice it: the abandoned frames may stay intact below
 * the stack pointer.  The jmp_buf contains the target's stack pointer, mangled as in glibc for
 * x86-64: exclusive or with the guard at %fs:0x30, then rotated by 17 bits.
 */
#include "intercept.h"

#define JB_RSP 6 /* index of the stack pointer in glibc's __jmp_buf */
#define DISGUISE_BITS 17

static uintptr_t target_of(const uintptr_t *registers)
{
    uintptr_t guard, disguised = registers[JB_RSP];
    __asm__("movq %%fs:0x30, %0" : "=r"(guard));
    return (disguised >> DISGUISE_BITS | disguised << (64 - DISGUISE_BITS)) ^ guard;
}

static void prepare(const void *buffer)
{
    nonlocal_exit(target_of(buffer));
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

/*
 * glibc_abi.h - where glibc's structures differ between machines: x86-64.
 *
 * Only src/libc/glibc includes it.  It is here and not there, so that a port to another
 * architecture writes no file outside of its two folders; a port to another libc adds such a header
 * to each architecture that it supports.
 *
 * Thread-local storage: the thread pointer is the address of the control block (struct pthread),
 * and storage of libraries loaded at start-up lies below it (variant II of the ELF TLS ABI).
 */
#ifndef GLIBC_ABI_H
#define GLIBC_ABI_H

#include <stdint.h>

#include "processor.h"

/* ---- thread control blocks ------------------------------------------------------------------- */

ARCH_INLINE uintptr_t glibc_control_block(void)
{
    return (uintptr_t)__builtin_thread_pointer();
}

/*
 * A thread without libc's knowledge needs storage for the initial thread-local variables, of which
 * `variable` is one: how many bytes on both sides of its thread pointer lie between them.
 */
static inline void glibc_storage(uintptr_t variable, uint64_t *below, uint64_t *above)
{
    *below = glibc_control_block() - variable;
    *above = 0;
}

/* Prepare zeroed storage for such a thread: pointers to itself, required by the ABI and libc. */
static inline void glibc_storage_prepare(uintptr_t thread_pointer)
{
    uintptr_t *block = (uintptr_t *)thread_pointer;
    block[0] = block[2] = thread_pointer;
}

/* ---- jmp_buf --------------------------------------------------------------------------------- */

#define GLIBC_JMPBUF_SP 6          /* index of the stack pointer in __jmp_buf */
#define GLIBC_JMPBUF_MASK_SAVED 16 /* index of the int behind __jmp_buf */
#define GLIBC_DISGUISE_BITS 17

/* Pointers are mangled: exclusive or with the guard at %fs:0x30, then rotated by 17 bits. */
static inline uintptr_t glibc_demangle(uintptr_t disguised)
{
    uintptr_t guard;
    __asm__("movq %%fs:0x30, %0" : "=r"(guard));
    return (disguised >> GLIBC_DISGUISE_BITS | disguised << (64 - GLIBC_DISGUISE_BITS)) ^ guard;
}

#endif

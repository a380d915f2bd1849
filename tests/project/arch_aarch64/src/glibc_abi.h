/*
 * glibc_abi.h - where glibc's structures differ between machines: AArch64 (variant I of the ELF TLS ABI).
 */
#ifndef GLIBC_ABI_H
#define GLIBC_ABI_H

#include <stdint.h>

#include "processor.h"

#define GLIBC_BEFORE_BYTES \
    2048u /* struct pthread ends at the thread pointer; its size is no part of the ABI */

ARCH_INLINE uintptr_t glibc_control_block(void)
{
    return (uintptr_t)__builtin_thread_pointer() - GLIBC_BEFORE_BYTES;
}

static inline void glibc_storage(uintptr_t variable, uint64_t *below, uint64_t *above)
{
    *below = GLIBC_BEFORE_BYTES;
    *above = variable - (uintptr_t)__builtin_thread_pointer();
}

static inline void glibc_storage_prepare(uintptr_t thread_pointer)
{
    (void)thread_pointer;
}

#define GLIBC_JMPBUF_SP 13
#define GLIBC_JMPBUF_MASK_SAVED 44

/* The guard is a hidden variable of the loader. */
uintptr_t glibc_demangle(uintptr_t disguised);

#endif

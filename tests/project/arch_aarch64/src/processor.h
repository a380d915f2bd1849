/*
 * processor.h - single instructions: AArch64.
 */
#ifndef PROCESSOR_H
#define PROCESSOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ARCH_INLINE static inline __attribute__((always_inline))

ARCH_INLINE void processor_count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

ARCH_INLINE void *processor_thread(void)
{
    return __builtin_thread_pointer();
}

ARCH_INLINE void processor_pause(void)
{
    __asm__ volatile("yield");
}

ARCH_INLINE uint64_t processor_ticks(void)
{
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
}

ARCH_INLINE uint64_t processor_ticks_after(void)
{
    __asm__ volatile("isb");
    return processor_ticks();
}

uint32_t processor_counters(void);
bool processor_is_valgrind(void);

#endif

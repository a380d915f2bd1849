/*
 * processor.h - single instructions: x86-64.
 *
 * This folder is the lowest room of the runtime, and its only machine-specific one; facts that need
 * no code, and decoders, are in shadow/arch.  A port provides the same headers:
 *
 *   processor.h       counting, waiting, time, the thread pointer
 *   calls.h           numbers of system calls that only older machines have
 *   context.h         registers in the ucontext of a signal handler
 *   registers.h       registers of this thread and of an interrupted one, for the unwinder
 *   saved_vectors.h   vector registers in a signal frame
 *   stack_switch.h    calling a function on another stack
 *   signal_return.h   the code to which signal handlers return
 *   dispatch_lines.h  making a system call after its SIGSYS
 *   library_jump.h    the exported dlopen and abort
 *   glibc_abi.h       glibc's structures, where they differ between machines
 *
 * Functions on the paths of malloc and free are inline.  Nothing here allocates, locks, or uses
 * thread-local variables: code runs in signal handlers and before relocation.
 */
#ifndef PROCESSOR_H
#define PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_INLINE static inline __attribute__((always_inline))

/*
 * Increment a counter that only one thread writes, by an instruction that a signal cannot divide.
 * It is not atomic for other processors.  A machine without such an instruction needs an atomic
 * addition: a handler of the thread may count, too.
 */
ARCH_INLINE void processor_count(_Atomic uint64_t *counter)
{
    __asm__ volatile("addq $1, %0" : "+m"(*counter) : : "memory", "cc");
}

/* The thread pointer: the fs register's base, by which relocated code finds the words that it uses. */
ARCH_INLINE void *processor_thread(void)
{
    return __builtin_thread_pointer();
}

/* In a loop that waits for another processor. */
ARCH_INLINE void processor_pause(void)
{
    __builtin_ia32_pause();
}

/* A clock of constant rate that is read without a system call. */
ARCH_INLINE uint64_t processor_ticks(void)
{
    return __builtin_ia32_rdtsc();
}

/* The same after all earlier instructions have completed. */
ARCH_INLINE uint64_t processor_ticks_after(void)
{
    __builtin_ia32_lfence();
    return __builtin_ia32_rdtsc();
}

/* Number of general-purpose performance counters; 0: unknown. */
uint32_t processor_counters(void);

/* Does valgrind run the program?  (valgrind.h: RUNNING_ON_VALGRIND) */
bool processor_is_valgrind(void);

#endif

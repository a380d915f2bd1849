/*
 * step.h - single stepping: between the two functions each instruction of the thread raises
 * SIGTRAP.
 */
#ifndef STEP_H
#define STEP_H

#define TRAP_FLAG 0x100

static inline __attribute__((always_inline)) void steps_begin(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq %0, (%%rsp); popfq; lea 128(%%rsp), %%rsp"
                     :
                     : "i"(TRAP_FLAG)
                     : "memory", "cc");
}

static inline __attribute__((always_inline)) void steps_end(void)
{
    __asm__ volatile(
        "lea -128(%%rsp), %%rsp; pushfq; andq %0, (%%rsp); popfq; lea 128(%%rsp), %%rsp"
        :
        : "i"(~TRAP_FLAG)
        : "memory", "cc");
}

#endif

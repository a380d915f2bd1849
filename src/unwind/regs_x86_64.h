/*
 * regs_x86_64.h - the registers of x86-64, by their DWARF numbers (System V ABI for AMD64).
 */
#ifndef REGS_X86_64_H
#define REGS_X86_64_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define REG_RBX 3u
#define REG_RBP 6u
#define REG_RSP 7u
#define REG_RA 16u
#define REG_COUNT 17u

struct regs {
    uintptr_t value[REG_COUNT];
    uint32_t known; /* bit n: register n is known */
};

static inline void regs_set(struct regs *r, unsigned reg, uintptr_t value)
{
    r->value[reg] = value;
    r->known |= 1u << reg;
}

static inline bool regs_know(const struct regs *r, unsigned reg)
{
    return reg < REG_COUNT && r->known >> reg & 1;
}

/* Callee-saved registers, with the stack pointer and pc of a function that is still running. */
struct kept_regs {
    uintptr_t rbx, rbp, rsp, r12, r13, r14, r15, rip;
};

static inline __attribute__((always_inline)) void regs_capture(struct kept_regs *k)
{
    __asm__ volatile("mov %%rbx,%0; mov %%rbp,%1; mov %%rsp,%2; lea 0f(%%rip),%3; 0:"
                     : "=m"(k->rbx), "=m"(k->rbp), "=m"(k->rsp), "=&r"(k->rip));
    __asm__ volatile("mov %%r12,%0; mov %%r13,%1; mov %%r14,%2; mov %%r15,%3"
                     : "=m"(k->r12), "=m"(k->r13), "=m"(k->r14), "=m"(k->r15));
}

static inline struct regs regs_of(const struct kept_regs *k)
{
    struct regs r = {.known = 0};
    regs_set(&r, REG_RBX, k->rbx);
    regs_set(&r, REG_RBP, k->rbp);
    regs_set(&r, REG_RSP, k->rsp);
    regs_set(&r, 12, k->r12);
    regs_set(&r, 13, k->r13);
    regs_set(&r, 14, k->r14);
    regs_set(&r, 15, k->r15);
    regs_set(&r, REG_RA, k->rip);
    return r;
}

/* Does a call instruction end at pc, in code that begins at `start`? */
static inline bool follows_call(uintptr_t pc, uintptr_t start)
{
    const uint8_t *at = (const uint8_t *)pc;
    if (pc - start >= 5 && at[-5] == 0xe8) /* call rel32 */
        return true;
    for (uintptr_t n = 2; n <= 7 && n <= pc - start; n++) /* call *operand */
        if (*(at - n) == 0xff && (*(at - n + 1) & 0x38) == 0x10)
            return true;
    return false;
}

/* ---- signal frames --------------------------------------------------------------------------- */

/*
 * A handler returns to the restorer, `mov $15,%rax; syscall`.  The stack pointer is then the
 * address of the ucontext.  These are offsets in it (uc_mcontext.gregs), by DWARF number.
 */
static inline bool is_restorer(uintptr_t pc)
{
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    return memcmp((const void *)pc, code, sizeof code) == 0;
}

#define SIGNAL_RBP 120u
#define SIGNAL_RSP 160u
#define SIGNAL_RIP 168u
#define SIGNAL_BYTES 936u

static inline uintptr_t signal_word(uintptr_t ucontext, unsigned offset)
{
    return *(const uintptr_t *)(ucontext + offset);
}

static inline void regs_of_signal(uintptr_t ucontext, struct regs *r)
{
    static const uint8_t at[REG_COUNT] = {144, 136, 152, 128, 112, 104, SIGNAL_RBP, SIGNAL_RSP, 40,
                                          48,  56,  64,  72,  80,  88,  96,         SIGNAL_RIP};
    for (unsigned i = 0; i < REG_COUNT; i++)
        regs_set(r, i, signal_word(ucontext, at[i]));
}

#endif

/*
 * registers.h - the registers of a thread, by their DWARF numbers: AArch64.
 *
 * A call leaves the return address in x30: every frame is unwound with all registers.
 */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "machine.h"

#define RETURN_AT_CFA 1 /* no frame has it there */
#define OP_FRAME_POINTER 0x8d

struct regs {
    uintptr_t value[DWARF_REGISTERS];
    register_mask known;
};

static inline void regs_set(struct regs *r, unsigned reg, uintptr_t value)
{
    r->value[reg] = value;
    r->known |= REGISTER(reg);
}

static inline bool regs_know(const struct regs *r, unsigned reg)
{
    return reg < DWARF_REGISTERS && r->known >> reg & 1;
}

struct kept_regs {
    uintptr_t x[12], sp, pc; /* x19 to x30 */
};

static inline __attribute__((always_inline)) void regs_capture(struct kept_regs *k)
{
    __asm__ volatile("stp x19, x20, [%0]; stp x21, x22, [%0, #16]; stp x23, x24, [%0, #32];"
                     "stp x25, x26, [%0, #48]; stp x27, x28, [%0, #64]; stp x29, x30, [%0, #80]"
                     :
                     : "r"(k->x)
                     : "memory");
    __asm__ volatile("mov %0, sp; adr %1, ." : "=&r"(k->sp), "=r"(k->pc));
}

static inline struct regs regs_of(const struct kept_regs *k)
{
    struct regs r = {.known = 0};
    for (unsigned i = 0; i < 12; i++)
        regs_set(&r, 19 + i, k->x[i]);
    regs_set(&r, DWARF_SP, k->sp);
    regs_set(&r, DWARF_PC, k->pc);
    return r;
}

/* sp -> siginfo (128 bytes), ucontext; its mcontext follows 176 bytes of flags, stack and mask. */
#define SIGNAL_REGISTER(n) (176u + 8u + 8u * (n))
#define SIGNAL_FP SIGNAL_REGISTER(DWARF_FP)
#define SIGNAL_SP SIGNAL_REGISTER(31u)
#define SIGNAL_PC SIGNAL_REGISTER(32u)
#define SIGNAL_BYTES 4560u

static inline uintptr_t signal_context(uintptr_t sp)
{
    return sp + 128;
}

static inline uintptr_t signal_word(uintptr_t ucontext, unsigned offset)
{
    return *(const uintptr_t *)(ucontext + offset);
}

static inline void regs_of_signal(uintptr_t ucontext, struct regs *r)
{
    for (unsigned i = 0; i < DWARF_REGISTERS; i++)
        regs_set(r, i, signal_word(ucontext, SIGNAL_REGISTER(i)));
}

#endif

/*
 * registers.h - the registers of a thread, by their DWARF numbers: x86-64.
 *
 * The unwinder has two ways.  The fast one (rules of 24 bytes) needs a machine whose call
 * instruction stores the return address just below the CFA, and compilers that restore the stack
 * pointer from itself or from the frame pointer.  All other frames are unwound with all registers,
 * which is slower and as exact.  A machine that passes the return address in a register defines
 * RETURN_AT_CFA as an offset that no frame has; then all its frames are of the second kind.
 *
 * A function of the runtime that takes a backtrace has a frame pointer.  Its frame address is that
 * of two words, the caller's frame pointer and the return address (struct entry in base).
 */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "machine.h"

#define RETURN_AT_CFA (-8) /* offset of the return address that a call has stored */
/* DW_OP_breg of the frame pointer, as gcc describes frames whose stack it has realigned. */
#define OP_FRAME_POINTER 0x76

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

/* Callee-saved registers, with the stack pointer and pc of a function that is still running. */
struct kept_regs {
    uintptr_t rbx, rbp, sp, r12, r13, r14, r15, pc;
};

static inline __attribute__((always_inline)) void regs_capture(struct kept_regs *k)
{
    __asm__ volatile("mov %%rbx,%0; mov %%rbp,%1; mov %%rsp,%2; lea 0f(%%rip),%3; 0:"
                     : "=m"(k->rbx), "=m"(k->rbp), "=m"(k->sp), "=&r"(k->pc));
    __asm__ volatile("mov %%r12,%0; mov %%r13,%1; mov %%r14,%2; mov %%r15,%3"
                     : "=m"(k->r12), "=m"(k->r13), "=m"(k->r14), "=m"(k->r15));
}

static inline struct regs regs_of(const struct kept_regs *k)
{
    struct regs r = {.known = 0};
    regs_set(&r, 3, k->rbx);
    regs_set(&r, DWARF_FP, k->rbp);
    regs_set(&r, DWARF_SP, k->sp);
    regs_set(&r, 12, k->r12);
    regs_set(&r, 13, k->r13);
    regs_set(&r, 14, k->r14);
    regs_set(&r, 15, k->r15);
    regs_set(&r, DWARF_PC, k->pc);
    return r;
}

/* ---- signal frames --------------------------------------------------------------------------- */

/*
 * When a handler has returned to the restorer, the stack pointer is the address of the ucontext.
 * These are offsets in it (uc_mcontext.gregs), by DWARF number.
 */
#define SIGNAL_FP 120u
#define SIGNAL_SP 160u
#define SIGNAL_PC 168u
#define SIGNAL_BYTES 936u

static inline uintptr_t signal_context(uintptr_t sp)
{
    return sp;
}

static inline uintptr_t signal_word(uintptr_t ucontext, unsigned offset)
{
    return *(const uintptr_t *)(ucontext + offset);
}

static inline void regs_of_signal(uintptr_t ucontext, struct regs *r)
{
    static const uint8_t at[DWARF_REGISTERS] = {144,       136,       152, 128, 112,      104,
                                                SIGNAL_FP, SIGNAL_SP, 40,  48,  56,       64,
                                                72,        80,        88,  96,  SIGNAL_PC};
    for (unsigned i = 0; i < DWARF_REGISTERS; i++)
        regs_set(r, i, signal_word(ucontext, at[i]));
}

#endif

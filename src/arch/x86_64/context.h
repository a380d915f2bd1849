/*
 * context.h - the registers in the ucontext that a signal handler gets: x86-64.
 *
 * Changing a register changes it in the interrupted thread when the handler returns.
 */
#ifndef CONTEXT_H
#define CONTEXT_H

#include "machine.h"

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#define CONTEXT_KERNEL_BYTES 304u /* the kernel's struct ucontext: its sigset_t has 8 bytes */

static inline greg_t *context_registers(void *context)
{
    return ((ucontext_t *)context)->uc_mcontext.gregs;
}

static inline const greg_t *context_saved(const void *context)
{
    return ((const ucontext_t *)context)->uc_mcontext.gregs;
}

static inline uintptr_t context_pc(const void *context)
{
    return (uintptr_t)context_saved(context)[REG_RIP];
}

static inline void context_set_pc(void *context, uintptr_t pc)
{
    context_registers(context)[REG_RIP] = (greg_t)pc;
}

static inline uintptr_t context_sp(const void *context)
{
    return (uintptr_t)context_saved(context)[REG_RSP];
}

static inline void context_set_sp(void *context, uintptr_t sp)
{
    context_registers(context)[REG_RSP] = (greg_t)sp;
}

/* The frame pointer, or what the program keeps in its register. */
static inline uintptr_t context_fp(const void *context)
{
    return (uintptr_t)context_saved(context)[REG_RBP];
}

/* The result of the last comparison becomes `equal`. */
static inline void context_set_equal(void *context)
{
    context_registers(context)[REG_EFL] |= 0x40; /* ZF */
}

/* ---- at a system call ------------------------------------------------------------------------ */

/* Before the call, and in its SIGSYS: its number. */
static inline long context_call_number(const void *context)
{
    return context_saved(context)[REG_RAX];
}

/* After the call: its result. */
static inline long context_result(const void *context)
{
    return context_saved(context)[REG_RAX];
}

static inline void context_set_result(void *context, long result)
{
    context_registers(context)[REG_RAX] = result;
}

static inline unsigned context_argument_index(unsigned argument)
{
    static const uint8_t where[6] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    return where[argument];
}

static inline long context_argument(const void *context, unsigned argument)
{
    return context_saved(context)[context_argument_index(argument)];
}

static inline void context_set_argument(void *context, unsigned argument, long value)
{
    context_registers(context)[context_argument_index(argument)] = value;
}

/* ---- at a fault ------------------------------------------------------------------------------ */

/* Exception number and page-fault error code (Intel SDM volume 3, 4.7 and 6.15). */
struct context_fault {
    bool is_page_fault; /* else the fields below are false */
    bool is_mapped, is_write, is_fetch;
};

static inline struct context_fault context_fault(const void *context)
{
    uint64_t code = (uint64_t)context_saved(context)[REG_ERR];
    if (context_saved(context)[REG_TRAPNO] != 14)
        return (struct context_fault){.is_page_fault = false};
    return (struct context_fault){true, code & 1, code & 2, code & 16};
}

/* The register with this DWARF number; DWARF_REGISTERS: the flags. */
static inline uint64_t context_general(const void *context, unsigned number)
{
    static const uint8_t saved_index[DWARF_REGISTERS + 1] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP, REG_EFL};
    return (uint64_t)context_saved(context)[saved_index[number]];
}

/* The index of the register with this number in instructions (struct operand). */
static inline unsigned context_index(unsigned number)
{
    static const uint8_t saved_index[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                            REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                            REG_R12, REG_R13, REG_R14, REG_R15};
    return saved_index[number];
}

static inline uintptr_t context_register(const void *context, unsigned number)
{
    return (uintptr_t)context_saved(context)[context_index(number)];
}

static inline void context_clear(void *context, unsigned number)
{
    context_registers(context)[context_index(number)] = 0;
}

/* The mask that the interrupted thread gets when the handler returns: bit n is signal n + 1. */
static inline uint64_t *context_mask(void *context)
{
    return (uint64_t *)(void *)&((ucontext_t *)context)->uc_sigmask;
}

#endif

/*
 * context.h - the registers in the ucontext that a signal handler gets: AArch64.
 */
#ifndef CONTEXT_H
#define CONTEXT_H

#include "machine.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#define CONTEXT_KERNEL_BYTES 4560u

static inline mcontext_t *context_registers(void *context)
{
    return &((ucontext_t *)context)->uc_mcontext;
}

static inline const mcontext_t *context_saved(const void *context)
{
    return &((const ucontext_t *)context)->uc_mcontext;
}

static inline uintptr_t context_pc(const void *context)
{
    return context_saved(context)->pc;
}

static inline void context_set_pc(void *context, uintptr_t pc)
{
    context_registers(context)->pc = pc;
}

static inline uintptr_t context_sp(const void *context)
{
    return context_saved(context)->sp;
}

static inline void context_clear(void *context, unsigned number)
{
    context_registers(context)->regs[number] = 0;
}

static inline void context_set_equal(void *context)
{
    context_registers(context)->pstate |= 0x40000000;
}

static inline void context_set_sp(void *context, uintptr_t sp)
{
    context_registers(context)->sp = sp;
}

static inline uintptr_t context_fp(const void *context)
{
    return context_saved(context)->regs[29];
}

static inline long context_call_number(const void *context)
{
    return (long)context_saved(context)->regs[8];
}

static inline long context_result(const void *context)
{
    return (long)context_saved(context)->regs[0];
}

static inline void context_set_result(void *context, long result)
{
    context_registers(context)->regs[0] = (uint64_t)result;
}

static inline long context_argument(const void *context, unsigned argument)
{
    return (long)context_saved(context)->regs[argument];
}

static inline void context_set_argument(void *context, unsigned argument, long value)
{
    context_registers(context)->regs[argument] = (uint64_t)value;
}

static inline uint64_t context_general(const void *context, unsigned number)
{
    const mcontext_t *saved = context_saved(context);
    return number < DWARF_SP    ? saved->regs[number]
           : number == DWARF_SP ? saved->sp
           : number == DWARF_PC ? saved->pc
                                : saved->pstate;
}

static inline uintptr_t context_register(const void *context, unsigned number)
{
    return number < 31 ? context_saved(context)->regs[number] : context_sp(context);
}

/* ---- the cause of a fault -------------------------------------------------------------------- */

struct context_fault {
    bool is_page_fault; /* else the fields below are false */
    bool is_mapped, is_write, is_fetch;
};

/* The kernel puts the syndrome register (ESR) into a record behind the registers. */
static inline struct context_fault context_fault(const void *context)
{
    const unsigned char *at = context_saved(context)->__reserved;
    struct {
        uint32_t magic, bytes;
        uint64_t esr;
    } r;
    for (size_t left = 4096; left >= sizeof r; left -= r.bytes, at += r.bytes) {
        memcpy(&r, at, sizeof r);
        if (r.magic == 0x45535201) {
            uint32_t class = (uint32_t)(r.esr >> 26) & 0x3f, status = r.esr & 0x3c;
            return (struct context_fault){class == 0x20 || class == 0x24, status == 0x0c,
                                          class == 0x24 && (r.esr & 0x40), class == 0x20};
        }
        if (r.bytes < sizeof r || r.bytes > left)
            break;
    }
    return (struct context_fault){.is_page_fault = false};
}

static inline uint64_t *context_mask(void *context)
{
    return (uint64_t *)(void *)&((ucontext_t *)context)->uc_sigmask;
}

#endif

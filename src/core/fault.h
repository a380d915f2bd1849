/*
 * fault.h - what a faulting instruction took its address from (fault.c).  All of it is signal-safe.
 */
#ifndef FAULT_H
#define FAULT_H

#include "os.h"

#include <signal.h>
#include <ucontext.h>

#define NO_REGISTER 0xffu

/* The memory operand of an instruction, or the target of its branch; registers by the machine's numbers. */
struct operand {
    uint32_t displacement;
    uint32_t
        implied; /* mask of registers that hold addresses without being named: string instructions */
    uint8_t base, index; /* NO_REGISTER: it has none */
    uint8_t scale;       /* of the index: shifted by so much */
    uint8_t bytes;       /* of the instruction up to the end of the operand */
    bool memory;         /* it has one; else a branch goes to what `base` holds */
    bool by_pc;          /* relative to the end of the instruction */
    bool branch;         /* calls or jumps to where the operand says */
};

/* Of the instruction at `code`, of which `room` bytes can be read. */
struct operand operand_of(const uint8_t *code, size_t room);

/* Is `value` a pointer that was read from memory filled with `fill`, or near one?  fill < 0: there is none. */
bool fault_has_fill(uint64_t value, int fill);

/* Did the access that a signal reports take its address from such a pointer? */
bool fault_is_of_fill(const siginfo_t *info, const ucontext_t *context, int fill);

#endif

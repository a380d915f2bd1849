/*
 * fault.h - the operand from which a faulting instruction took its address (fault.c). Signal-safe.
 */
#ifndef FAULT_H
#define FAULT_H

#include "os.h"

#include <signal.h>
#include <ucontext.h>

#define NO_REGISTER 0xffu

/*
 * The memory operand of an instruction, or the target of its branch. Registers have the numbers of
 * the machine encoding.
 */
struct operand {
    uint32_t displacement;
    uint32_t implied;    /* mask of implicit address registers (string instructions) */
    uint8_t base, index; /* NO_REGISTER: none */
    uint8_t scale;       /* left shift of the index */
    uint8_t bytes;       /* length of the instruction up to the end of the operand */
    bool memory;         /* it is in memory; else a branch jumps to the value of `base` */
    bool by_pc;          /* relative to the end of the instruction */
    bool branch;         /* it is the target of a call or jump */
};

/* Decode the instruction at `code`, of which `room` bytes can be read. */
struct operand operand_of(const uint8_t *code, size_t room);

/*
 * Is `value` a pointer read from memory filled with `fill`, or near one? fill < 0: no fill, so
 * false.
 */
bool fault_has_fill(uint64_t value, int fill);

/* Did the access that a signal reports take its address from such a pointer? */
bool fault_is_of_fill(const siginfo_t *info, const ucontext_t *context, int fill);

#endif

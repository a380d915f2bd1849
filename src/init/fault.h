/*
 * fault.h - the operand from which a faulting instruction took its address (fault.c). Signal-safe.
 */
#ifndef FAULT_H
#define FAULT_H

#include "instructions.h"
#include "os.h"

#include <signal.h>

/* The fill of new blocks, for the functions below. */
#define FILL_OF_NEW_BLOCK (FILL_OF_BLOCK + 1)

/*
 * Is `value` a pointer read from freed memory with this fill (pool_knobs.free_fill), or near one?
 * fill < 0: no fill, so false.
 */
bool fault_has_fill(uint64_t value, int fill);

/* What the interrupted instruction did. */
struct fault_access {
    uint64_t pc, address;
    enum crash_access access;
    uint32_t bytes;  /* size of the operand; 0: unknown */
    uint32_t flags;  /* CRASH_* but CRASH_OF_STACK */
    uint64_t source; /* CRASH_OF_FILL, CRASH_OF_NEW_FILL: the pointer that has the fill */
};

/* Describe the access that a SIGSEGV or SIGBUS reports, by the kernel's error code and the code. */
struct fault_access fault_access_of(const siginfo_t *info, const void *context, int fill);

/* The interrupted instruction. */
struct fault_code {
    const uint8_t *at; /* NULL: not readable */
    size_t room;
    struct operand operand;
    uintptr_t address; /* of an operand in memory */
};
struct fault_code fault_code_of(const void *context);

/* Did the access that a signal reports take its address from such a pointer?  It is in *source. */
bool fault_is_of_fill(const siginfo_t *info, const void *context, int fill, uint64_t *source);

#endif

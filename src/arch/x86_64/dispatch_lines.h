/*
 * dispatch_lines.h - trampolines that make a system call after its SIGSYS: x86-64.
 *
 * os/dispatch.c explains them.  The handler of SIGSYS saves the thread's pc and stack pointer, and
 * for a changed call its arguments, in a struct dispatch_kept, and lets the thread resume at a
 * trampoline with the struct's address as its stack pointer.  The trampoline makes the call with the
 * program's registers, restores the stack pointer (dispatch_change: and the arguments), and jumps
 * to the saved pc.  Registers that a system call clobbers anyway may be used for that, no others.
 * Where nothing can be saved, tables of trampolines contain the call site: a trampoline of line n
 * jumps to the address in slot n.
 *
 * Lines that arm call prctl in a child whose call returned 0, and count failures.  The unwinder
 * needs call frame information at each instruction that may be interrupted with a changed stack
 * pointer.
 */
#ifndef DISPATCH_LINES_H
#define DISPATCH_LINES_H

#include <linux/audit.h>
#include <stdbool.h>
#include <stdint.h>

#define DISPATCH_AUDIT_ARCH AUDIT_ARCH_X86_64 /* of calls that the lines can make */
#define DISPATCH_SLOTS 64u
#define DISPATCH_DATA_BYTES 32u

/* State saved on the program's stack, below its red zone, or in the signal frame. */
struct dispatch_kept {
    uint64_t pc, sp;
    uint64_t argument[6]; /* the program's original arguments */
    uint8_t data[DISPATCH_DATA_BYTES];
};

/* The code whose system calls the kernel executes: what a child arms itself with. */
void dispatch_lines_start(uint64_t start, uint64_t bytes);
uint64_t dispatch_missed_count(void); /* children that could not arm themselves */

void dispatch_call(void);
void dispatch_fork(void);
void dispatch_change(void);

void dispatch_stackless_lines(void);
void dispatch_arming_lines(void);
#define STACKLESS_LINE_BYTES 16u
#define ARMING_LINE_BYTES 32u

/* The slots of a table; 0: free. */
_Atomic uintptr_t *dispatch_slots(bool arms);

static inline uintptr_t dispatch_line(uint32_t slot, bool arms)
{
    return arms ? (uintptr_t)dispatch_arming_lines + slot * ARMING_LINE_BYTES
                : (uintptr_t)dispatch_stackless_lines + slot * STACKLESS_LINE_BYTES;
}

#endif

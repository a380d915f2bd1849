/*
 * os_dispatch.h - shared by dispatch.c and dispatch_pass.c: the trampolines at which a thread
 * resumes (dispatch.c), and the treatment of each system call (dispatch_pass.c).
 */
#ifndef OS_DISPATCH_H
#define OS_DISPATCH_H

#include "os.h"

#define DISPATCH_SLOTS 64u
/* System V ABI: bytes below the stack pointer that a function may use. */
#define DISPATCH_RED_ZONE 128u

/* State saved on the program's stack, below its red zone, or in the signal frame. */
struct dispatch_kept {
    uint64_t rip, rsp;
    uint64_t argument[6]; /* the program's original arguments */
    uint8_t data[OS_DISPATCH_DATA];
};

extern HIDDEN _Atomic uintptr_t dispatch_stackless[DISPATCH_SLOTS], dispatch_arming[DISPATCH_SLOTS];

void dispatch_call(void);
void dispatch_fork(void);
void dispatch_change(void);
extern HIDDEN const char dispatch_stackless_lines[DISPATCH_SLOTS][16];
extern HIDDEN const char dispatch_arming_lines[DISPATCH_SLOTS][32];

#endif

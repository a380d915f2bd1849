/*
 * os_dispatch.h - what the two files of dispatch share: the lines at which a thread goes on (dispatch.c), and
 * what each call needs (dispatch_pass.c).
 */
#ifndef OS_DISPATCH_H
#define OS_DISPATCH_H

#include "os.h"

#define DISPATCH_SLOTS 64u
#define DISPATCH_RED_ZONE 128u /* below its stack pointer a function may have what is its own */

/* On the program's stack, below its red zone. */
struct dispatch_kept {
    uint64_t rip, rsp;
    uint64_t argument[6]; /* as the program gave them */
    uint8_t data[OS_DISPATCH_DATA];
};

extern HIDDEN _Atomic uintptr_t dispatch_stackless[DISPATCH_SLOTS], dispatch_arming[DISPATCH_SLOTS];

void dispatch_call(void);
void dispatch_fork(void);
void dispatch_change(void);
extern HIDDEN const char dispatch_stackless_lines[DISPATCH_SLOTS][16];
extern HIDDEN const char dispatch_arming_lines[DISPATCH_SLOTS][32];

#endif

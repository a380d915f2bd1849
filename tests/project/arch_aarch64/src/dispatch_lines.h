/*
 * dispatch_lines.h - trampolines that make a system call after its SIGSYS: AArch64.
 */
#ifndef DISPATCH_LINES_H
#define DISPATCH_LINES_H

#include <linux/audit.h>
#include <stdbool.h>
#include <stdint.h>

#define DISPATCH_AUDIT_ARCH AUDIT_ARCH_AARCH64
#define DISPATCH_SLOTS 64u
#define DISPATCH_DATA_BYTES 32u

struct dispatch_kept {
    uint64_t pc, sp;
    uint64_t argument[6];
    uint8_t data[DISPATCH_DATA_BYTES];
};

void dispatch_lines_start(uint64_t start, uint64_t bytes);
uint64_t dispatch_missed_count(void);
void dispatch_call(void);
void dispatch_fork(void);
void dispatch_change(void);
_Atomic uintptr_t *dispatch_slots(bool arms);
uintptr_t dispatch_line(uint32_t slot, bool arms);

#endif

/*
 * translated_trap.h - what a bad access in relocated code calls: an instruction that faults, so that the
 * kernel saves all registers, and the handler of SIGSEGV records the access (init/translated_fault.c).
 */
#ifndef TRANSLATED_TRAP_H
#define TRANSLATED_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As plan_header.handler: it preserves all registers but flags. */
__attribute__((visibility("hidden"))) void translated_bad(void);
#define TRANSLATED_BAD_BYTES 8u /* of the instruction, which the handler skips */

/* An instruction of a check that reads the shadow. */
struct shadow_read {
    bool is_load;
    uint8_t to;             /* the register of a load, as in instructions */
    uint8_t constant_bytes; /* after the operand */
};
/* false: another instruction. */
static inline bool shadow_read_at(const uint8_t *code, size_t room, struct shadow_read *out)
{
    size_t at = 0;
    uint8_t rex = 0;
    if (at < room && code[at] == 0x66)
        at++;
    if (at < room && (code[at] & 0xf0) == 0x40)
        rex = code[at++];
    if (at + 3 > room)
        return false;
    *out = (struct shadow_read){.is_load = code[at] == 0x0f && code[at + 1] == 0xbe};
    if (out->is_load) /* movsx */
        out->to = (uint8_t)((code[at + 2] >> 3 & 7) | (rex & 4) << 1);
    else
        out->constant_bytes = 1;
    return out->is_load ||
           ((code[at] == 0x80 || code[at] == 0x83) && (code[at + 1] & 0x38) == 0x38);
}

#endif

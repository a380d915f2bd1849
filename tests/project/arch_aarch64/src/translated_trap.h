/* translated_trap.h - what a bad access in relocated code calls: AArch64. */
#ifndef TRANSLATED_TRAP_H
#define TRANSLATED_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void translated_bad(void);
#define TRANSLATED_BAD_BYTES 4u

struct shadow_read {
    bool is_load;
    uint8_t to;
    uint8_t constant_bytes;
};
bool shadow_read_at(const uint8_t *code, size_t room, struct shadow_read *out);

#endif

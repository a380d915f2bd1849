/*
 * byte_shadow.h - one byte of shadow for each 8 bytes of memory, which checks in relocated code read
 * (byte_shadow.c).
 *
 * The byte of the granule at `at` is at (at >> 3) + PLAN_SHADOW: 0: all 8 bytes may be accessed; 1 to 7:
 * the first so many; BYTE_SHADOW_*: none.  Memory that the runtime does not know has 0.
 */
#ifndef BYTE_SHADOW_H
#define BYTE_SHADOW_H

#include "base.h"

#define BYTE_SHADOW_BYTES (1ull << 44) /* of the shadow of 47 bits of address */
#define BYTE_SHADOW_REDZONE 0xfau
#define BYTE_SHADOW_FREED 0xfdu

extern HIDDEN bool byte_shadow_is_on; /* constant after start-up */

/* Map the shadow of all addresses of programs.  Before threads exist; -errno. */
int byte_shadow_start(void);
/* Is it an address in the shadow, where the program has no memory? */
bool byte_shadow_contains(uintptr_t at);
/*
 * Make a part of the shadow readable, after a check could not read it.  false: it is the shadow of the
 * shadow.  Signal-safe.
 */
bool byte_shadow_open(uintptr_t at);
/* A new block: its bytes may be accessed, the rest up to `end` may not. */
void byte_shadow_allow(const void *block, uint64_t bytes, const void *end);
/* None of the whole granules may be accessed. */
void byte_shadow_forbid(const void *at, uint64_t bytes, unsigned why);

/* The same for the block of ours at `block`, with its slot or units. */
void block_allow(const void *block, uint64_t bytes);

#endif

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
#define BYTE_SHADOW_POISONED 0xf7u /* by the program: poison.c */

extern HIDDEN bool byte_shadow_is_on;              /* constant after start-up */
extern HIDDEN _Atomic bool byte_shadow_has_poison; /* the program has poisoned memory */

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

/*
 * The program forbids accesses to its memory, or permits them again, as ASan's functions of these names:
 * of a granule that is poisoned in part, only the first bytes can be permitted.  Redzones and freed blocks
 * stay what they are.  Nothing if there is no shadow.  Signal-safe.
 */
void byte_shadow_poison(uintptr_t at, uint64_t bytes);
void byte_shadow_unpoison(uintptr_t at, uint64_t bytes);
/* Bytes from `at` on, at most `bytes`, that are not poisoned. */
uint64_t byte_shadow_unpoisoned(uintptr_t at, uint64_t bytes);

/* The same for the block of ours at `block`, with its slot or units. */
void block_allow(const void *block, uint64_t bytes);

#endif

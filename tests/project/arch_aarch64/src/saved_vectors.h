/*
 * saved_vectors.h - vector registers, which may hold the only pointer to a block: AArch64.
 */
#ifndef SAVED_VECTORS_H
#define SAVED_VECTORS_H

#include <stdbool.h>
#include <stdint.h>

/* Vector registers in the signal frame, as saved by the kernel. */
struct saved_vectors {
    const uint64_t *word;
    uint32_t pieces;
    struct {
        uint32_t start, end; /* words; the stack between pieces is stale */
    } piece[32];
};
/* `context`: the handler's ucontext.  Return false if it has no saved vector state. */
bool vectors_of(const void *context, struct saved_vectors *out);

/* Set all vector registers to 0, also those that a compiler would not use here. */
void vectors_wipe(void);

#endif

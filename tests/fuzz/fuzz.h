/*
 * fuzz.h - shared code of all fuzz targets: reading libFuzzer's bytes from the front, and the abort
 * of a run in which a property does not hold.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Called by libFuzzer, for every input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

struct input {
    const uint8_t *at;
    size_t left;
};

/* A number of `bytes` bytes, little-endian; zeros past the end of the input. */
static inline uint64_t input_number(struct input *in, unsigned bytes)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < bytes && in->left > 0; i++, in->at++, in->left--)
        n |= (uint64_t)*in->at << (8 * i);
    return n;
}

/* At most `most` bytes; *bytes = their number. */
static inline const uint8_t *input_bytes(struct input *in, size_t most, size_t *bytes)
{
    const uint8_t *from = in->at;

    *bytes = in->left < most ? in->left : most;
    in->at += *bytes;
    in->left -= *bytes;
    return from;
}

/* Copies at most `room` bytes over what is in `to`. */
static inline void input_copy(struct input *in, void *to, size_t room)
{
    size_t bytes;
    const uint8_t *from = input_bytes(in, room, &bytes);

    if (bytes > 0)
        memcpy(to, from, bytes);
}

#endif

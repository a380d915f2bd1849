/*
 * chance.h - reproducible pseudo-random numbers: xorshift.  *random is initially any number but 0.
 */
#ifndef CHANCE_H
#define CHANCE_H

#include <stdint.h>

/* A number below n. */
static inline uint32_t chance_of(uint64_t *random, uint32_t n)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (uint32_t)((*random >> 32) * n >> 32);
}

#endif

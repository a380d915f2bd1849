/*
 * ends.h - declarations shared by the programs of ends.c.
 */
#ifndef ENDS_H
#define ENDS_H

#include <stddef.h>

#define NOINLINE __attribute__((noinline))

struct end {
    const char *name;
    void (*body)(void);
};

extern const struct end exec_ends[]; /* the last has no name */

void lose(size_t bytes);
/* Allocate a block whose twin programs either keep it reachable or lose it. */
void twin(void);
/* The same, with a pointer left in a vector register, which has no meaning after the next call. */
void twin_in_register(void);

#endif

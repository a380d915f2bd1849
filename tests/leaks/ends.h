/*
 * ends.h - what the programs of ends.c have in common.
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
/* The block of which there are twins: it is held, or it is lost. */
void twin(void);
/* The same, and a pointer to it stays in a vector register, where it means nothing behind the next call. */
void twin_in_register(void);

#endif

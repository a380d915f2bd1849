/*
 * dump_priv.h - shared by dump.c and dump_items.c: values as text.
 */
#ifndef DUMP_PRIV_H
#define DUMP_PRIV_H

#include "read_priv.h"

/* Return names[n]; "?" if n, which may have any value, has no name. */
static inline const char *name_of(const char *const *names, size_t count, uint64_t n)
{
    return n < count && names[n] ? names[n] : "?";
}

#define NAME(names, n) name_of(names, countof(names), n)

static inline unsigned long long ull(uint64_t n)
{
    return n;
}

/* Print the used items of a segment, one line each (dump_items.c). */
void dump_items(const struct segment *s, FILE *out);

#endif

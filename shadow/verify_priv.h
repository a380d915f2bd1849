/*
 * verify_priv.h - declarations shared by the files of verification.
 */
#ifndef VERIFY_PRIV_H
#define VERIFY_PRIV_H

#include <string.h>

#include "shadow.h"

/* The area being verified, for error messages. */
struct look {
    const char *base;     /* the area */
    uint64_t file_offset; /* file offset of base */
    uint32_t image;       /* owner of the area */
    struct verify_error *err;
};

static inline bool fail(struct verify_error *err, const char *what, uint64_t offset)
{
    err->what = what;
    err->offset = offset;
    return false;
}

static inline bool bad(const struct look *l, const void *where, const char *what)
{
    return fail(l->err, what, l->file_offset + (uint64_t)((const char *)where - l->base));
}

static inline bool is_text(const char *s, size_t bytes)
{
    return memchr(s, 0, bytes) != NULL;
}

/*
 * verify_items.c: verify a segment in state CURRENT or SUPERSEDED, of a known kind, inside the
 * area.
 */
bool verify_items(const struct look *l, const struct segment *s);

#endif

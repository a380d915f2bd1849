/*
 * frames.h - call frame information built by tests: an .eh_frame_hdr and entries in a buffer.
 *
 * The functions that it describes need no code: their addresses follow the buffer, at
 * frames_code().
 */
#ifndef FRAMES_H
#define FRAMES_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "unwinder_priv.h"

#define DWARF_RBX 3u

#define FRAMES_BYTES 16384u
#define FRAMES_PAIRS 64u
#define FRAMES_CODE_BYTES (1u << 20)
#define HEADER_BYTES (12u + FRAMES_PAIRS * 8u)

#define PROGRAM(text) (const uint8_t *)(text), sizeof(text) - 1

struct frames {
    _Alignas(8) uint8_t byte[FRAMES_BYTES];
    uint32_t used;
    uint32_t entry; /* offset of the open entry */
    uint32_t pairs;
    int32_t pair[FRAMES_PAIRS][2];
};

static inline void put(struct frames *f, uint64_t v, unsigned bytes)
{
    memcpy(f->byte + f->used, &v, bytes);
    f->used += bytes;
}

static inline void put_bytes(struct frames *f, const void *bytes, size_t n)
{
    memcpy(f->byte + f->used, bytes, n);
    f->used += (uint32_t)n;
}

static inline void put_uleb(struct frames *f, uint64_t v)
{
    for (; v > 0x7f; v >>= 7)
        put(f, (v & 0x7f) | 0x80, 1);
    put(f, v, 1);
}

static inline void put_sleb(struct frames *f, int64_t v)
{
    for (; v > 63 || v < -64; v >>= 7)
        put(f, ((uint64_t)v & 0x7f) | 0x80, 1);
    put(f, (uint64_t)v & 0x7f, 1);
}

/* Encode a pointer; datarel is relative to the header. */
static inline void put_pointer(struct frames *f, uint8_t encoding, uintptr_t v)
{
    if ((encoding & 0x70) == 0x10)
        v -= (uintptr_t)(f->byte + f->used);
    else if ((encoding & 0x70) == 0x30)
        v -= (uintptr_t)f->byte;
    switch (encoding & 0x0f) {
    case 0x1:
        put_uleb(f, v);
        break;
    case 0x9:
        put_sleb(f, (int64_t)v);
        break;
    case 0x2:
    case 0xa:
        put(f, v, 2);
        break;
    case 0x3:
    case 0xb:
        put(f, v, 4);
        break;
    default:
        put(f, v, 8);
    }
}

/* ---- entries --------------------------------------------------------------------------------- */

static inline uint32_t entry_begin(struct frames *f, bool wide)
{
    f->entry = f->used;
    if (wide)
        put(f, 0xffffffff, 4);
    put(f, 0, wide ? 8 : 4);
    return f->entry;
}

static inline void entry_end(struct frames *f, bool wide)
{
    uint64_t bytes = f->used - f->entry - (wide ? 12 : 4);
    memcpy(f->byte + f->entry + (wide ? 4 : 0), &bytes, wide ? 8 : 4);
}

struct cie_shape {
    const char *letters;
    uint8_t version;
    uint8_t encoding;
    bool wide;
    uint64_t code_align;
    int64_t data_align;
    uint32_t return_register;
    const uint8_t *more; /* more of its program, after the usual beginning */
    size_t more_bytes;
};

/* As compilers generate it: CFA = rsp + 8, the return address below it. */
#define CIE_USUAL                                                                           \
    {                                                                                       \
        .letters = "zR", .version = 1, .encoding = 0x1b, .code_align = 1, .data_align = -8, \
        .return_register = 16                                                               \
    }

static inline void put_augmentation(struct frames *f, const struct cie_shape *c)
{
    uint8_t *bytes = f->byte + f->used;
    put(f, 0, 1);
    for (const char *letter = c->letters + 1; *letter; letter++)
        switch (*letter) {
        case 'R':
            put(f, c->encoding, 1);
            break;
        case 'P':
            put(f, 0x9b, 1), put(f, 0x12345678, 4);
            break;
        case 'L':
            put(f, 0x1b, 1);
            break;
        case 'S':
            break;
        default:
            put(f, 0xdeadbeef, 4); /* data of an unknown letter */
        }
    *bytes = (uint8_t)(f->byte + f->used - bytes - 1);
}

static inline uint32_t put_cie(struct frames *f, const struct cie_shape *c)
{
    uint32_t at = entry_begin(f, c->wide);
    put(f, 0, 4);
    put(f, c->version, 1);
    put_bytes(f, c->letters, strlen(c->letters) + 1);
    if (c->version >= 4)
        put(f, 8, 2);
    put_uleb(f, c->code_align);
    put_sleb(f, c->data_align);
    if (c->version == 1)
        put(f, c->return_register, 1);
    else
        put_uleb(f, c->return_register);
    if (c->letters[0] == 'z')
        put_augmentation(f, c);
    put_bytes(f, "\x0c\x07\x08\x90\x01", 5); /* def_cfa rsp+8; the return address at CFA-8 */
    put_bytes(f, c->more ? c->more : (const uint8_t *)"", c->more_bytes);
    entry_end(f, c->wide);
    return at;
}

static inline void put_fde(struct frames *f, const struct cie_shape *c, uint32_t cie,
                           uintptr_t start, uintptr_t bytes, const uint8_t *program, size_t n)
{
    uint32_t at = entry_begin(f, c->wide);
    uint8_t encoding = c->letters[0] ? c->encoding : 0;
    put(f, f->used - cie, 4);
    put_pointer(f, encoding, start);
    put_pointer(f, encoding & 0x0f, bytes);
    if (c->letters[0] == 'z')
        put(f, 0, 1);
    put_bytes(f, program, n);
    entry_end(f, c->wide);
    f->pair[f->pairs][0] = (int32_t)(start - (uintptr_t)f->byte);
    f->pair[f->pairs++][1] = (int32_t)at;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static inline void frames_begin(struct frames *f)
{
    memset(f, 0, sizeof *f);
    f->used = HEADER_BYTES;
}

/* With a binary search table, or without, for a linear search. */
static inline struct object frames_end(struct frames *f, bool table)
{
    uint32_t end;
    put(f, 0, 4); /* the terminator */
    end = f->used;
    f->used = 0;
    put(f, 1, 1);
    put(f, 0x1b, 1);
    put(f, table ? 0x03 : 0xff, 1);
    put(f, table ? 0x3b : 0xff, 1);
    put_pointer(f, 0x1b, (uintptr_t)f->byte + HEADER_BYTES);
    put(f, f->pairs, 4);
    put_bytes(f, f->pair, f->pairs * sizeof f->pair[0]);
    f->used = end;
    return (struct object){.start = (uintptr_t)f->byte,
                           .end = (uintptr_t)f->byte + end,
                           .index = f->byte,
                           .path = "",
                           .handle = f};
}

static inline uintptr_t frames_code(const struct frames *f)
{
    return (uintptr_t)(f + 1);
}

#endif

/* encode.c - the few instructions that checks consist of, as bytes. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "format/bits.h"
#include "translate_priv.h"

#define REX 0x40
#define REX_W 0x48
#define HIGH(r) ((r) >> 3 & 1) /* the bit of a register's number that REX has */
#define LOW(r) ((r)&7)
#define MOD_RM(mod, reg, rm) ((mod) << 6 | LOW(reg) << 3 | LOW(rm))
#define NEEDS_SIB(base) (LOW(base) == RSP)
#define PREFIX_FS 0x64

void put_bytes(struct buffer *b, const void *from, uint32_t bytes)
{
    for (uint32_t n = 0; n < bytes; n++) {
        b->at = grown(b->at, b->bytes, 1);
        b->at[b->bytes++] = ((const uint8_t *)from)[n];
    }
}

void put(struct buffer *b, unsigned count, ...)
{
    va_list args;

    va_start(args, count);
    while (count-- > 0) {
        uint8_t byte = (uint8_t)va_arg(args, int);
        put_bytes(b, &byte, 1);
    }
    va_end(args);
}

void put_i32(struct buffer *b, int64_t value)
{
    int32_t low = (int32_t)value;
    b->is_far |= low != value;
    put_bytes(b, &low, 4);
}

void put_uleb128(struct buffer *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put(b, 1, (int)(value & 0x7f) | 0x80);
    put(b, 1, (int)value);
}

void put_sleb128(struct buffer *b, int64_t value)
{
    for (; value < -0x40 || value >= 0x40; value >>= 7)
        put(b, 1, (int)(value & 0x7f) | 0x80);
    put(b, 1, (int)(value & 0x7f));
}

void patch_i32(struct buffer *b, uint32_t at, int64_t value)
{
    int32_t low = (int32_t)value;
    b->is_far |= low != value;
    memcpy(b->at + at, &low, 4);
}

static void put_displacement(struct buffer *b, unsigned mod, int32_t displacement)
{
    if (mod == 1)
        put(b, 1, displacement);
    else if (mod == 2)
        put_i32(b, displacement);
}

/* Modes of a displacement: none, 8 or 32 bits; bases rbp and r13 always have one. */
static unsigned mode_of(int base, int32_t displacement)
{
    if (displacement == 0 && LOW(base) != RBP)
        return 0;
    return displacement == (int8_t)displacement ? 1 : 2;
}

/* ModRM, SIB and displacement of an operand in memory. */
static void put_address(struct buffer *b, int reg, const struct operand *o)
{
    unsigned scale = log2_floor(o->scale), mod;
    int index = o->index == NO_REGISTER ? RSP : o->index;

    if (o->base == NO_REGISTER) {
        put(b, 2, MOD_RM(0, reg, RSP), MOD_RM(scale, index, RBP));
        put_i32(b, o->displacement);
        return;
    }
    mod = mode_of(o->base, o->displacement);
    if (o->index != NO_REGISTER || NEEDS_SIB(o->base))
        put(b, 2, MOD_RM(mod, reg, RSP), MOD_RM(scale, index, o->base));
    else
        put(b, 1, MOD_RM(mod, reg, o->base));
    put_displacement(b, mod, o->displacement);
}

void put_lea(struct buffer *b, int to, const struct operand *o)
{
    int base = o->base == NO_REGISTER ? 0 : o->base, index = o->index == NO_REGISTER ? 0 : o->index;

    if (o->index == NO_REGISTER && o->displacement == 0 && o->base != NO_REGISTER) {
        put_move(b, to, o->base);
        return;
    }
    put(b, 2, REX_W | HIGH(to) << 2 | HIGH(index) << 1 | HIGH(base), 0x8d);
    put_address(b, to, o);
}

void put_move(struct buffer *b, int to, int from)
{
    put(b, 3, REX_W | HIGH(from) << 2 | HIGH(to), 0x89, MOD_RM(3, from, to));
}

void put_shift_3(struct buffer *b, int r)
{
    put(b, 4, REX_W | HIGH(r), 0xc1, MOD_RM(3, 5, r), 3);
}

void put_test(struct buffer *b, int r, uint8_t mask)
{
    if (r == RAX)
        put(b, 2, 0xa8, mask);
    else if (r < RSP)
        put(b, 3, 0xf6, MOD_RM(3, 0, r), mask);
    else
        put(b, 4, REX | HIGH(r), 0xf6, MOD_RM(3, 0, r), mask);
}

/* Shadow from the byte `more` at r on, as operand. */
static void put_shadow(struct buffer *b, int reg, int r, unsigned more)
{
    put(b, 1, MOD_RM(2, reg, r));
    if (NEEDS_SIB(r))
        put(b, 1, MOD_RM(0, RSP, r));
    put_i32(b, PLAN_SHADOW + (int64_t)more);
}

void put_compare_shadow(struct buffer *b, int r, unsigned more, unsigned window)
{
    if (window == 2)
        put(b, 1, 0x66);
    if (window == 8 || HIGH(r))
        put(b, 1, (window == 8 ? REX_W : REX) | HIGH(r));
    put(b, 1, window == 1 ? 0x80 : 0x83);
    put_shadow(b, 7, r, more);
    put(b, 1, 0);
}

void put_load_shadow(struct buffer *b, int to, int r)
{
    put(b, 3, REX | HIGH(to) << 2 | HIGH(r), 0x0f, 0xbe);
    put_shadow(b, to, r, 0);
}

/* mov between a register and a word of the thread. */
static void put_move_fs(struct buffer *b, int opcode, int r, int32_t offset)
{
    put(b, 5, PREFIX_FS, REX_W | HIGH(r) << 2, opcode, MOD_RM(0, r, RSP), MOD_RM(0, RSP, RBP));
    put_i32(b, offset);
}

void put_store_fs(struct buffer *b, int r, int32_t offset)
{
    put_move_fs(b, 0x89, r, offset);
}

void put_load_fs(struct buffer *b, int r, int32_t offset)
{
    put_move_fs(b, 0x8b, r, offset);
}

void put_jump(struct buffer *b, uint32_t to)
{
    put(b, 1, 0xe9);
    put_i32(b, (int64_t)to - (b->bytes + 4));
}

/*
 * cold.c - the cold part of the copy: is an access bad whose shadow is not 0, or that is not aligned?
 *
 *   of each access                     of each scratch register and size of an access
 *     lea  operand, %r                   push b, c
 *     add  $-128, %rsp                   b = shadow of the last byte; c = last byte & 7
 *     call routine                       if b is not 0 and c >= b: bad
 *     sub  $-128, %rsp                   if all granules before the last are accessible: return
 *     jmp  back, after the last       bad:
 *                                        pop c, b;  mov %r, %fs:address;  jmp *handler
 *
 * All granules before the last are accessed up to their ends, so their shadow must be 0.  If there
 * is none, because the access is in one granule, the last decides alone.  The stack is used below
 * the red zone only.  The handler returns to the code of the check, by which it is identified.
 */
#include <stdlib.h>

#include "machine.h"
#include "translate_priv.h"

static_assert(RED_ZONE_BYTES <= 128, "add $-128");

#define SIZE_MOST 64

struct routines {
    uint32_t at[REGISTERS][SIZE_MOST + 1]; /* 0: not emitted */
};

/* Opcodes of branches with 8 bits. */
enum {
    IF_EQUAL = 0x74,
    IF_NOT_EQUAL = 0x75,
    IF_NOT_LESS = 0x7d,
    IF_LESS_OR_EQUAL = 0x7e,
    ALWAYS = 0xeb
};

/* A branch forward; returns its position. */
static uint32_t put_branch(struct buffer *b, int opcode)
{
    put(b, 2, opcode, 0);
    return b->bytes;
}

static void branch_here(struct buffer *b, uint32_t branch)
{
    b->at[branch - 1] = (uint8_t)(b->bytes - branch);
}

static void put_pops(struct buffer *b, int first, int second)
{
    put(b, 2, 0x58 | second, 0x58 | first);
}

/* %c = (%r + more) & 7; registers below r8, but r. */
static void put_byte_in_granule(struct buffer *b, int c, int r)
{
    put_move(b, c, r);
    put(b, 3, 0x83, 0xe0 | c, 7);
}

/* Load the last byte's shadow to b, its position in the granule to c. */
static void put_last_granule(struct buffer *out, int b, int c, int r, unsigned bytes)
{
    struct operand last = {
        .base = (int8_t)r, .index = NO_REGISTER, .scale = 1, .displacement = (int32_t)bytes - 1};

    put_lea(out, b, &last);
    put_byte_in_granule(out, c, b);
    put_shift_3(out, b);
    put_load_shadow(out, b, b);
    put(out, 2, 0x85, 0xc0 | b << 3 | b); /* test b, b */
}

static void put_bad(struct emission *e, int b, int c, int r)
{
    put_pops(&e->out, b, c);
    put_store_fs(&e->out, r, spill_at(e, SPILL_ADDRESS));
    put(&e->out, 2, 0xff, 0x25); /* jmp *handler(%rip) */
    put_i32(&e->out,
            (int64_t)offsetof(struct plan_header, handler) - PLAN_COPY_OFFSET - (e->out.bytes + 4));
}

/* Branches of a routine, to where it returns and to where the access is bad. */
struct branches {
    uint32_t good[2], bad[2];
    unsigned good_count, bad_count;
};

/* Compare the shadow from the granule of r + more on. */
static void put_compare(struct buffer *out, int b, int r, int32_t more, unsigned window)
{
    struct operand o = {.base = (int8_t)r, .index = NO_REGISTER, .scale = 1, .displacement = more};

    put_lea(out, b, &o);
    put_shift_3(out, b);
    put_compare_shadow(out, b, 0, window);
}

/* Granules before the last.  10 bytes have one, or two: those of the first byte and of the next. */
static void put_granules_before(struct buffer *out, int b, int c, int r, unsigned bytes,
                                struct branches *to)
{
    if (bytes == 10) {
        put_compare(out, b, r, 0, 1);
        to->bad[to->bad_count++] = put_branch(out, IF_NOT_EQUAL);
        put_compare(out, b, r, 1, 1);
    } else {
        put_compare(out, b, r, 0, bytes < 8 ? 1 : bytes / 8);
    }
    to->good[to->good_count++] = put_branch(out, IF_EQUAL);
    if (bytes < 8) {
        put_byte_in_granule(out, c, r);
        put(out, 3, 0x83, 0xf8 | c, 8 - bytes); /* cmp $8 - bytes, c */
        to->good[to->good_count++] = put_branch(out, IF_LESS_OR_EQUAL);
    }
}

/* Append the routine, and return where it begins. */
static uint32_t put_routine(struct emission *e, int r, unsigned bytes)
{
    struct buffer *out = &e->out;
    int b = r == RAX ? RDX : RAX, c = r == RCX ? RDX : RCX;
    uint32_t start = out->bytes, inside;
    struct branches to = {0};

    put(out, 2, 0x50 | b, 0x50 | c);
    put_last_granule(out, b, c, r, bytes);
    inside = put_branch(out, IF_EQUAL);
    put(out, 2, 0x39, 0xc0 | b << 3 | c); /* cmp b, c */
    to.bad[to.bad_count++] = put_branch(out, IF_NOT_LESS);
    branch_here(out, inside);
    if (bytes > 1)
        put_granules_before(out, b, c, r, bytes, &to);
    else
        to.good[to.good_count++] = put_branch(out, ALWAYS);
    while (to.bad_count > 0)
        branch_here(out, to.bad[--to.bad_count]);
    put_bad(e, b, c, r);
    while (to.good_count > 0)
        branch_here(out, to.good[--to.good_count]);
    put_pops(out, b, c);
    put(out, 1, 0xc3);
    return start;
}

static void put_routines(struct emission *e, struct routines *routines)
{
    for (uint32_t n = 0; n < e->check_count; n++) {
        const struct check *k = &e->checks[n];
        for (uint32_t s = k->first; s < k->first + k->count; s++) {
            unsigned bytes = e->sites[s].operand.bytes;
            uint32_t *at = &routines->at[k->scratch][bytes];
            if (!*at)
                *at = put_routine(e, k->scratch, bytes);
        }
    }
}

/* The address again.  While rax has the flags, the word for addresses keeps them. */
static void put_address_again(struct emission *e, const struct check *k, const struct operand *o)
{
    bool exchange = k->saves_flags && (o->base == RAX || o->index == RAX);

    if (exchange) {
        put_store_fs(&e->out, RAX, spill_at(e, SPILL_ADDRESS));
        put_load_fs(&e->out, RAX, spill_at(e, SPILL_RAX));
    }
    put_lea(&e->out, k->scratch, o);
    if (exchange)
        put_load_fs(&e->out, RAX, spill_at(e, SPILL_ADDRESS));
}

static void put_site(struct emission *e, const struct check *k, struct site *s,
                     const struct routines *routines)
{
    const struct operand *o = &s->operand;

    s->cold = e->out.bytes;
    put_address_again(e, k, o);
    put(&e->out, 5, 0x48, 0x83, 0xc4, 0x80, 0xe8);
    put_i32(&e->out, (int64_t)routines->at[k->scratch][o->bytes] - (e->out.bytes + 4));
    put(&e->out, 4, 0x48, 0x83, 0xec, 0x80);
}

static void put_cold(struct emission *e, const struct check *k, const struct routines *routines)
{
    patch_i32(&e->out, k->miss, (int64_t)e->out.bytes - (k->miss + 4));
    for (uint32_t s = k->first; s < k->first + k->count; s++)
        put_site(e, k, &e->sites[s], routines);
    put_jump(&e->out, k->back);
}

void emit_cold(struct emission *e)
{
    struct routines *routines = zeroed(1, sizeof *routines);

    e->body_bytes = e->out.bytes;
    put_routines(e, routines);
    for (uint32_t n = 0; n < e->check_count; n++)
        put_cold(e, &e->checks[n], routines);
    free(routines);
}

/*
 * check_code.c - the inline part of a check, before the instruction that it checks:
 *
 *     mov  %r, %fs:scratch                          if no register is dead
 *     lea  operand, %r
 *     mov  %rax, %fs:rax;  lahf;  seto %al          if flags are live
 *     test $mask, %r8;  jne 1f                      if the access may be in more granules
 *     shr  $3, %r
 *     cmp  $0, PLAN_SHADOW(%r);  jne 1f             for each part of a window but the last
 *     cmp  $0, PLAN_SHADOW + n(%r)
 *  1: jne  cold
 *   back:
 *     add  $0x7f, %al;  sahf;  mov %fs:rax, %rax
 *     mov  %fs:scratch, %r
 *
 * An access that is aligned to its size is in as many granules as the comparison reads.  Nothing is
 * pushed: the red zone below rsp may be in use.  lahf does not have the overflow flag; al is 1 or 0
 * by seto, so that adding 0x7f sets the flag again.
 */
#include "format/bits.h"
#include "translate_priv.h"

int32_t spill_at(const struct emission *e, enum plan_spill word)
{
    return e->how->spill + 8 * (int32_t)word;
}

static void put_save_flags(struct emission *e, const struct check *k)
{
    if (k->saves_rax)
        put_store_fs(&e->out, RAX, spill_at(e, SPILL_RAX));
    put(&e->out, 4, 0x9f, 0x0f, 0x90, 0xc0);
}

static void put_restore_flags(struct emission *e, const struct check *k)
{
    put(&e->out, 3, 0x04, 0x7f, 0x9e);
    if (k->saves_rax)
        put_load_fs(&e->out, RAX, spill_at(e, SPILL_RAX));
}

#define PARTS_MOST 3 /* of a window of up to 8 bytes: powers of two */

struct jumps {
    uint32_t at[PARTS_MOST];
    unsigned count;
};

/* To the last branch, with the same flags. */
static void put_jump_to_last(struct buffer *b, struct jumps *jumps)
{
    put(b, 2, 0x75, 0);
    jumps->at[jumps->count++] = b->bytes;
}

static void put_comparison(struct emission *e, struct check *k)
{
    struct buffer *b = &e->out;
    struct jumps jumps = {.count = 0};

    if (k->mask) {
        put_test(b, k->scratch, k->mask);
        put_jump_to_last(b, &jumps);
    }
    put_shift_3(b, k->scratch);
    for (unsigned done = 0, part; done < k->window; done += part) {
        if (done > 0)
            put_jump_to_last(b, &jumps);
        part = 1u << log2_floor(k->window - done);
        put_compare_shadow(b, k->scratch, done, part);
    }
    while (jumps.count-- > 0)
        b->at[jumps.at[jumps.count] - 1] = (uint8_t)(b->bytes - jumps.at[jumps.count]);
    put(b, 2, 0x0f, 0x85);
    k->miss = b->bytes;
    put_i32(b, 0);
}

static void add_sites(struct emission *e, struct check *k, const struct group *g)
{
    k->first = e->site_count;
    k->count = g->count;
    for (uint32_t n = 0; n < g->count; n++) {
        e->sites = grown(e->sites, e->site_count, sizeof *e->sites);
        e->sites[e->site_count++] =
            (struct site){.instruction = g->at[n],
                          .operand = g->count == 1 ? g->operand : e->code->at[g->at[n]].operand};
        e->is_served[g->at[n]] = n > 0;
    }
}

void emit_group(struct emission *e, const struct group *g)
{
    struct check k = {.miss = 0};

    add_sites(e, &k, g);
    check_plan(&k, &e->sites[k.first].operand, e->live[g->at[0]]);
    if (g->is_wide) {
        k.window = (uint8_t)(g->operand.bytes / 8);
        k.mask = 7;
    }
    if (k.spills)
        put_store_fs(&e->out, k.scratch, spill_at(e, SPILL_SCRATCH));
    put_lea(&e->out, k.scratch, &g->operand);
    if (k.saves_flags)
        put_save_flags(e, &k);
    put_comparison(e, &k);
    k.back = e->out.bytes;
    if (k.saves_flags)
        put_restore_flags(e, &k);
    if (k.spills)
        put_load_fs(&e->out, k.scratch, spill_at(e, SPILL_SCRATCH));
    e->checks = grown(e->checks, e->check_count, sizeof *e->checks);
    e->checks[e->check_count++] = k;
}

void emit_check(struct emission *e, uint32_t n)
{
    struct group g;

    group_find(e, n, &g);
    emit_group(e, &g);
}

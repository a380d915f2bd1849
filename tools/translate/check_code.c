/*
 * check_code.c - the inline part of a check, before the instruction that it checks:
 *
 *     mov  %r, %fs:scratch                          if no register is dead
 *     lea  operand, %r
 *     mov  %rax, %fs:rax;  lahf;  seto %al          if flags are live
 *     test $mask, %r8;  jne 1f                      if the access may be in more granules
 *     shr  $3, %r
 *     cmp  $0, PLAN_SHADOW(%r)
 *  1: jne  cold
 *   back:
 *     add  $0x7f, %al;  sahf;  mov %fs:rax, %rax
 *     mov  %fs:scratch, %r
 *
 * An access that is aligned to its size is in as many granules as the comparison reads.  Nothing is
 * pushed: the red zone below rsp may be in use.  lahf does not have the overflow flag; al is 1 or 0
 * by seto, so that adding 0x7f sets the flag again.
 */
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

static void put_comparison(struct emission *e, struct check *k)
{
    struct buffer *b = &e->out;
    uint32_t jump = 0;

    if (k->mask) {
        put_test(b, k->scratch, k->mask);
        put(b, 2, 0x75, 0);
        jump = b->bytes;
    }
    put_shift_3(b, k->scratch);
    put_compare_shadow(b, k->scratch, k->window);
    if (k->mask)
        b->at[jump - 1] = (uint8_t)(b->bytes - jump);
    put(b, 2, 0x0f, 0x85);
    k->miss = b->bytes;
    put_i32(b, 0);
}

void emit_check(struct emission *e, uint32_t n)
{
    const struct instruction *i = &e->code->at[n];
    struct check k = {.instruction = n};

    check_plan(&k, i, e->live[n]);
    if (k.spills)
        put_store_fs(&e->out, k.scratch, spill_at(e, SPILL_SCRATCH));
    put_lea(&e->out, k.scratch, &i->operand);
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

/*
 * strings.c - checks of string instructions, as rep stos, which compilers put in place of memset:
 *
 *     jrcxz over                               if it is repeated
 *     check of the last element at rdi, of the first; the same at rsi
 *  over:
 *     rep movsq
 *
 * An access that is longer than a redzone, and whose ends are both in blocks, is not found.  The reporter
 * of a bad access gets the whole range, by the registers.  A comparison or a search may end before the last
 * element, so only its first one is checked.
 *
 * If one instruction of the object sets the direction flag, no string instruction in it is checked.
 */
#include "translate_priv.h"

#define STEP_MOST 200 /* of a plan_step, whose lengths have 8 bits, without the instruction */

static struct operand element(const struct instruction *i, int base, bool is_last, unsigned kind)
{
    struct operand o = {.base = (int8_t)base,
                        .index = NO_REGISTER,
                        .scale = 1,
                        .kind = (uint8_t)(kind | i->string),
                        .bytes = i->operand.bytes};

    if (is_last) {
        o.kind |= PLAN_OF_LAST;
        o.index = RCX;
        o.scale = (uint8_t)o.bytes;
        o.displacement = -o.bytes;
    }
    return o;
}

/* Of a repeated instruction the last element, too; in so far as there is room. */
static void check_side(struct emission *e, uint32_t n, int base, unsigned kind, uint32_t end)
{
    const struct instruction *i = &e->code->at[n];
    bool has_last = i->string & PLAN_REPEATED && !(i->special & INSN_STOPS);

    for (int is_last = has_last; is_last >= 0; is_last--) {
        struct emission before = *e;
        struct group g = {.at = {n}, .count = 1, .operand = element(i, base, is_last, kind)};
        emit_group(e, &g);
        if (e->out.bytes <= end)
            continue;
        e->out.bytes = before.out.bytes;
        e->check_count = before.check_count;
        e->site_count = before.site_count;
        return;
    }
}

/* Over what follows, whose end is not known: two branches, as with 8 bits only 127 bytes are in reach. */
static uint32_t put_skip(struct emission *e)
{
    put(&e->out, 5, 0xe3, 2, 0xeb, 5, 0xe9);
    put_i32(&e->out, 0);
    return e->out.bytes;
}

void emit_string_checks(struct emission *e, uint32_t n)
{
    const struct instruction *i = &e->code->at[n];
    uint32_t end = e->out.bytes + STEP_MOST, skip = i->string & PLAN_REPEATED ? put_skip(e) : 0;

    if (i->string & PLAN_WRITES_RDI)
        check_side(e, n, RDI, PLAN_WRITE, end);
    if (i->string & PLAN_READS_RDI)
        check_side(e, n, RDI, PLAN_READ, end);
    if (i->string & PLAN_READS_RSI)
        check_side(e, n, RSI, PLAN_READ, end);
    if (skip)
        patch_i32(&e->out, skip - 4, (int64_t)e->out.bytes - skip);
}

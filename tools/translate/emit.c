/*
 * emit.c - the copy, instruction by instruction, in the order of the original text.
 *
 * Direct branches lead to the copy of their target, or to the original if that is native.
 * Displacements relative to rip are corrected by the distance.  All other bytes are those of the
 * original; so returns and indirect branches need no translation.
 *
 * The copy is emitted twice: first all displacements have 32 bits.  The second copy is shorter, so
 * that each distance that has 8 bits in the first has 8 bits in the second, too.
 */
#include <stdlib.h>
#include <string.h>

#include "translate_priv.h"

/* A displacement that leads to an instruction's copy. */
struct fixup {
    uint32_t at;
    uint32_t instruction;
    uint32_t from; /* the instruction that branches, NONE: with 32 bits always */
    bool is_short;
};

/* From the byte after 4 bytes at the end of `out` to an offset of the original text. */
static int64_t distance_to(const struct emission *e, int64_t original)
{
    return original - (e->how->distance + e->out.bytes + 4);
}

static void add_fixup(struct emission *e, uint32_t to, uint32_t from, bool is_short)
{
    e->fixups = grown(e->fixups, e->fixup_count, sizeof *e->fixups);
    e->fixups[e->fixup_count++] =
        (struct fixup){.at = e->out.bytes, .instruction = to, .from = from, .is_short = is_short};
}

/* 4 bytes: the displacement of a branch to an offset of the original text. */
static void put_target(struct emission *e, uint32_t target, uint32_t from)
{
    uint32_t n = code_at(e->code, e->object, target);

    if (n == NONE || !is_translated(e->functions, &e->code->at[n])) {
        put_i32(&e->out, distance_to(e, (int32_t)target));
        return;
    }
    add_fixup(e, n, from, false);
    put_i32(&e->out, 0);
}

/* jrcxz and loop have 8 bits: jump to a jump, and over it. */
static void put_by_count(struct emission *e, const struct instruction *i)
{
    put_bytes(&e->out, e->object->content + i->offset, i->bytes - 1u);
    put(&e->out, 4, 2, 0xeb, 5, 0xe9);
    put_target(e, i->target, NONE);
}

static void put_copy(struct emission *e, const struct instruction *i)
{
    uint32_t at = e->out.bytes;
    int64_t operand = pc_operand(i) - (e->how->distance + at + i->bytes);

    put_bytes(&e->out, e->object->content + i->offset, i->bytes);
    if (i->special & INSN_BY_PC)
        patch_i32(&e->out, at + i->displacement, operand);
}

/* A jump, or a branch by a condition. */
static void put_branch(struct emission *e, uint32_t n)
{
    const struct instruction *i = &e->code->at[n];
    bool is_jump = i->flow == FLOW_JUMP;

    if (e->is_short[n]) {
        put(&e->out, 1, is_jump ? 0xeb : 0x70 | i->condition);
        add_fixup(e, code_at(e->code, e->object, i->target), n, true);
        put(&e->out, 1, 0);
        return;
    }
    if (is_jump)
        put(&e->out, 1, 0xe9);
    else
        put(&e->out, 2, 0x0f, 0x80 | i->condition);
    put_target(e, i->target, n);
}

static void put_instruction(struct emission *e, uint32_t n)
{
    const struct instruction *i = &e->code->at[n];

    switch (i->flow) {
    case FLOW_CALL:
        put(&e->out, 1, 0xe8);
        put_target(e, i->target, NONE);
        break;
    case FLOW_JUMP:
    case FLOW_BRANCH:
        if (i->special & INSN_BY_COUNT)
            put_by_count(e, i);
        else
            put_branch(e, n);
        break;
    default:
        put_copy(e, i);
    }
}

/* Does the instruction continue at the next, whose copy does not follow? */
static bool needs_jump(const struct emission *e, uint32_t n)
{
    const struct instruction *i = &e->code->at[n];

    if (n + 1 < e->code->count && is_translated(e->functions, i + 1))
        return false;
    return i->flow == FLOW_NEXT || i->flow == FLOW_BRANCH || i->flow == FLOW_CALL ||
           i->flow == FLOW_CALL_BY || i->flow == FLOW_KERNEL;
}

static void emit_one(struct emission *e, uint32_t n)
{
    const struct instruction *i = &e->code->at[n];

    e->copy_of[n] = e->out.bytes;
    if (i->access == ACCESS_CHECKED && !e->is_served[n])
        emit_check(e, n);
    else if (i->access == ACCESS_STRING && i->string && !e->is_backwards)
        emit_string_checks(e, n);
    put_instruction(e, n);
    if (needs_jump(e, n)) {
        uint32_t after = code_after(e->code, n);
        bool is_copied = after != NONE && is_translated(e->functions, &e->code->at[after]);
        put(&e->out, 1, 0xe9);
        put_target(e, is_copied ? e->code->at[after].offset : i->offset + i->bytes, NONE);
    }
}

static void emit_body(struct emission *e)
{
    e->out.bytes = e->fixup_count = e->check_count = e->site_count = 0;
    memset(e->is_served, 0, e->code->count * sizeof *e->is_served);
    for (uint32_t n = 0; n < e->code->count; n++) {
        e->copy_of[n] = NONE;
        if (is_translated(e->functions, &e->code->at[n]))
            emit_one(e, n);
    }
}

static int64_t distance_of(const struct emission *e, const struct fixup *f)
{
    return (int64_t)e->copy_of[f->instruction] - (f->at + (f->is_short ? 1 : 4));
}

static void find_short(struct emission *e)
{
    for (uint32_t n = 0; n < e->fixup_count; n++) {
        const struct fixup *f = &e->fixups[n];
        int64_t distance = distance_of(e, f);
        if (f->from != NONE)
            e->is_short[f->from] = distance == (int8_t)distance;
    }
}

void emit(struct emission *e)
{
    e->copy_of = zeroed(e->code->count, sizeof *e->copy_of);
    e->is_short = zeroed(e->code->count, sizeof *e->is_short);
    e->is_served = zeroed(e->code->count, sizeof *e->is_served);
    for (uint32_t n = 0; n < e->code->count; n++)
        e->is_backwards |= (e->code->at[n].special & INSN_BACKWARDS) != 0;
    e->is_label = labels_find(e->code, e->object, e->is_target);
    emit_body(e);
    find_short(e);
    emit_body(e);
    emit_cold(e);
    for (uint32_t n = 0; n < e->fixup_count; n++) {
        const struct fixup *f = &e->fixups[n];
        if (f->is_short)
            e->out.at[f->at] = (uint8_t)distance_of(e, f);
        else
            patch_i32(&e->out, f->at, distance_of(e, f));
    }
}

void emission_free(struct emission *e)
{
    free(e->out.at);
    free(e->unwind.at);
    free(e->copy_of);
    free(e->is_short);
    free(e->is_served);
    free(e->is_label);
    free(e->sites);
    free(e->checks);
    free(e->fixups);
}

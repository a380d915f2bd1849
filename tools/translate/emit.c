/*
 * emit.c - the copy, instruction by instruction, in the order of the original text.
 *
 * Direct branches lead to the copy of their target, or to the original if that is native, with
 * displacements of 32 bits.  Displacements relative to rip are corrected by the distance.  All
 * other bytes are those of the original; so returns and indirect branches need no translation.
 */
#include <stdlib.h>

#include "translate_priv.h"

/* A displacement that leads to an instruction's copy. */
struct fixup {
    uint32_t at;
    uint32_t instruction;
};

/* From the byte after 4 bytes at the end of `out` to an offset of the original text. */
static int64_t distance_to(const struct emission *e, int64_t original)
{
    return original - (e->how->distance + e->out.bytes + 4);
}

/* 4 bytes: the displacement of a branch to an offset of the original text. */
static void put_target(struct emission *e, uint32_t target)
{
    uint32_t n = code_at(e->code, e->object, target);

    if (n == NONE || !is_translated(e->functions, &e->code->at[n])) {
        put_i32(&e->out, distance_to(e, (int32_t)target));
        return;
    }
    e->fixups = grown(e->fixups, e->fixup_count, sizeof *e->fixups);
    e->fixups[e->fixup_count++] = (struct fixup){.at = e->out.bytes, .instruction = n};
    put_i32(&e->out, 0);
}

/* jrcxz and loop have 8 bits: jump to a jump, and over it. */
static void put_by_count(struct emission *e, const struct instruction *i)
{
    put_bytes(&e->out, e->object->content + i->offset, i->bytes - 1u);
    put(&e->out, 4, 2, 0xeb, 5, 0xe9);
    put_target(e, i->target);
}

static void put_copy(struct emission *e, const struct instruction *i)
{
    uint32_t at = e->out.bytes;
    int64_t operand = pc_operand(i) - (e->how->distance + at + i->bytes);

    put_bytes(&e->out, e->object->content + i->offset, i->bytes);
    if (i->special & INSN_BY_PC)
        patch_i32(&e->out, at + i->displacement, operand);
}

static void put_instruction(struct emission *e, const struct instruction *i)
{
    switch (i->flow) {
    case FLOW_JUMP:
        put(&e->out, 1, 0xe9);
        put_target(e, i->target);
        break;
    case FLOW_CALL:
        put(&e->out, 1, 0xe8);
        put_target(e, i->target);
        break;
    case FLOW_BRANCH:
        if (i->special & INSN_BY_COUNT) {
            put_by_count(e, i);
            break;
        }
        put(&e->out, 2, 0x0f, 0x80 | i->condition);
        put_target(e, i->target);
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
    if (i->access == ACCESS_CHECKED)
        emit_check(e, n);
    put_instruction(e, i);
    if (needs_jump(e, n)) {
        uint32_t after = code_after(e->code, n);
        bool is_copied = after != NONE && is_translated(e->functions, &e->code->at[after]);
        put(&e->out, 1, 0xe9);
        put_target(e, is_copied ? e->code->at[after].offset : i->offset + i->bytes);
    }
}

void emit(struct emission *e)
{
    e->copy_of = zeroed(e->code->count, sizeof *e->copy_of);
    for (uint32_t n = 0; n < e->code->count; n++) {
        e->copy_of[n] = NONE;
        if (is_translated(e->functions, &e->code->at[n]))
            emit_one(e, n);
    }
    emit_cold(e);
    for (uint32_t n = 0; n < e->fixup_count; n++) {
        const struct fixup *f = &e->fixups[n];
        patch_i32(&e->out, f->at, (int64_t)e->copy_of[f->instruction] - (f->at + 4));
    }
}

void emission_free(struct emission *e)
{
    free(e->out.at);
    free(e->unwind.at);
    free(e->copy_of);
    free(e->checks);
    free(e->fixups);
}

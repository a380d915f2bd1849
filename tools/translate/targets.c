/*
 * targets.c - instructions that an indirect branch or native code may reach.
 *
 * Each gets a jump to its copy (patches.c).  All addresses of code that the object contains count:
 * in words of data, in tables of 32-bit distances whose address an instruction takes, as the
 * operand of lea, and as immediates where addresses are fixed.  Symbols, relocations and dynamic
 * entries are loaded, so their words are among those of data.  A target too many costs five bytes
 * of dead code; one too few is caught when it traps.
 */
#include <string.h>

#include "translate_priv.h"

#define TABLE_MOST 65536u /* entries of a jump table */

struct search {
    const struct code *code;
    const struct object *object;
    bool *is_target;
};

static bool mark_offset(struct search *s, uint32_t offset)
{
    uint32_t i = code_at(s->code, s->object, offset);

    if (i == NONE)
        return false;
    s->is_target[i] = true;
    return true;
}

static bool mark(struct search *s, uint64_t address)
{
    uint32_t offset;

    return object_text_at(s->object, address, &offset) && mark_offset(s, offset);
}

static void mark_words(struct search *s, const struct data_range *r)
{
    uint64_t word, from = -r->address & 7;

    for (uint64_t at = from; r->bytes >= 8 && at <= r->bytes - 8; at += 8) {
        memcpy(&word, r->content + at, 8);
        mark(s, word);
    }
}

/* A table of distances from its own address to code ends at the first that leads to none. */
static void mark_table(struct search *s, uint64_t address)
{
    const struct object *o = s->object;
    int32_t distance;

    for (uint32_t n = 0; n < o->data_count; n++) {
        const struct data_range *r = &o->data[n];
        uint64_t at = address - r->address;
        if (at >= r->bytes)
            continue;
        for (uint32_t k = 0; k < TABLE_MOST && r->bytes - at >= 4; k++, at += 4) {
            memcpy(&distance, r->content + at, 4);
            if (!mark(s, address + (uint64_t)(int64_t)distance))
                return;
        }
    }
}

static void mark_lea(struct search *s, const struct instruction *i)
{
    uint64_t address = s->object->text_address + (uint64_t)pc_operand(i);

    if (!mark(s, address))
        mark_table(s, address);
}

/* The last 4 bytes of an instruction, as an absolute address. */
static void mark_immediate(struct search *s, const struct instruction *i)
{
    uint32_t value;

    if (i->bytes < 5 || has_target(i))
        return;
    memcpy(&value, s->object->content + i->offset + i->bytes - 4, 4);
    mark(s, value);
}

/* Where native code branches to, or continues; nops are padding. */
static void mark_native(struct search *s, uint32_t n)
{
    const struct instruction *i = &s->code->at[n];

    if (has_target(i))
        mark_offset(s, i->target);
    if (!i->is_nop && (i->flow == FLOW_NEXT || i->flow == FLOW_BRANCH || i->flow == FLOW_KERNEL))
        mark_offset(s, i->offset + i->bytes);
}

bool *targets_find(const struct code *c, const struct object *o, const struct functions *f)
{
    struct search s = {.code = c, .object = o, .is_target = zeroed(c->count, sizeof(bool))};

    mark(&s, o->entry);
    for (uint32_t n = 0; n < o->data_count; n++)
        mark_words(&s, &o->data[n]);
    for (uint32_t n = 0; n < c->count; n++) {
        const struct instruction *i = &c->at[n];
        if ((i->special & INSN_LEA) && (i->special & INSN_BY_PC))
            mark_lea(&s, i);
        if (o->is_fixed)
            mark_immediate(&s, i);
        if (!is_translated(f, i))
            mark_native(&s, n);
    }
    return s.is_target;
}

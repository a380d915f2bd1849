/*
 * select.c - which functions are translated.
 *
 * A function stays native if its bytes cannot be moved faithfully: some are no instruction, or are
 * data.  So does a function that a branch enters in the middle of an instruction.  The entries of
 * translated functions are overwritten by jumps, so no code may read them as data.
 */
#include "translate_priv.h"

bool is_translated(const struct functions *f, const struct instruction *i)
{
    return i->function != NONE && f->at[i->function].state == PLAN_TRANSLATED;
}

static void refuse(struct functions *f, uint32_t function, enum plan_state state)
{
    if (function != NONE && f->at[function].state == PLAN_TRANSLATED)
        f->at[function].state = (uint32_t)state;
}

static void refuse_linkage(struct functions *f, const struct object *o)
{
    for (uint32_t n = 0; n < f->count; n++)
        for (uint32_t k = 0; k < o->linkage_count; k++)
            if (o->text_address + f->at[n].start - o->linkage[k].address < o->linkage[k].bytes)
                refuse(f, n, PLAN_LINKAGE);
}

/* A branch into an instruction makes two instructions of one byte. */
static void refuse_split(struct functions *f, const struct code *c, const struct object *o,
                         const struct instruction *i)
{
    if (i->target >= o->text_bytes || c->index[i->target] != NONE)
        return;
    refuse(f, i->function, PLAN_SPLIT);
    refuse(f, function_at(f, i->target), PLAN_SPLIT);
}

/* An operand in the text is data; an address in the middle of an instruction is one of data, too. */
static void refuse_data(struct functions *f, const struct code *c, const struct object *o,
                        const struct instruction *i)
{
    int64_t operand = pc_operand(i);

    if (operand < 0 || operand >= o->text_bytes)
        return;
    if (!(i->special & INSN_LEA) || c->index[operand] == NONE)
        refuse(f, function_at(f, (uint32_t)operand), PLAN_DATA);
}

/* After other states: bytes of data rarely are instructions. */
static void refuse_bytes(struct functions *f, const struct instruction *i)
{
    if (i->flow == FLOW_BAD)
        refuse(f, i->function, PLAN_UNDECODABLE);
    else if (i->special & INSN_UNMOVABLE)
        refuse(f, i->function, PLAN_UNMOVABLE);
}

void functions_select(struct functions *f, const struct code *c, const struct object *o)
{
    refuse_linkage(f, o);
    for (uint32_t n = 0; n < c->count; n++)
        refuse_bytes(f, &c->at[n]);
    for (uint32_t n = 0; n < c->count; n++) {
        const struct instruction *i = &c->at[n];
        if (has_target(i))
            refuse_split(f, c, o, i);
        if (i->special & INSN_BY_PC)
            refuse_data(f, c, o, i);
    }
}

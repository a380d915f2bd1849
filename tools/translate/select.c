/*
 * select.c - which functions are translated.
 *
 * A function stays native if its bytes cannot be moved faithfully: some are no instruction, or are
 * data.  So does a function that a branch enters in the middle of an instruction.  The entries of
 * translated functions are overwritten by jumps, so no code may read them as data.
 *
 * dlsym and dlopen look for the object that contains their return address, so the functions that call them
 * stay native, too.
 */
#include "format/bits.h"
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

/* ---- functions that call dlsym and its like ------------------------------------------------------- */

#define CALLERS_MOST 32u

/* Slots with addresses of such functions, and the stubs of the linkage that jump through them. */
struct callers {
    uint64_t slot[CALLERS_MOST];
    uint32_t slots;
    uint32_t stub[2 * CALLERS_MOST];
    uint32_t stubs;
};

static bool is_slot(const struct callers *k, uint64_t address)
{
    for (uint32_t n = 0; n < k->slots; n++)
        if (k->slot[n] == address)
            return true;
    return false;
}

static bool is_stub(const struct callers *k, uint32_t offset)
{
    for (uint32_t n = 0; n < k->stubs; n++)
        if (k->stub[n] == offset)
            return true;
    return false;
}

/* A stub is the jump, or an endbr64 and the jump: either may be called. */
static void add_stub(struct callers *k, const struct code *c, uint32_t n)
{
    if (k->stubs + 2 > countof(k->stub))
        return;
    k->stub[k->stubs++] = c->at[n].offset;
    if (n > 0 && c->at[n - 1].offset + c->at[n - 1].bytes == c->at[n].offset)
        k->stub[k->stubs++] = c->at[n - 1].offset;
}

/* A use of a slot: by the linkage, or by a function itself. */
static void find_stubs(struct callers *k, struct functions *f, const struct code *c,
                       const struct object *o)
{
    for (uint32_t n = 0; n < c->count; n++) {
        const struct instruction *i = &c->at[n];
        int64_t operand = i->special & INSN_BY_PC ? pc_operand(i) : -1;
        if (operand < 0 || !is_slot(k, o->text_address + (uint64_t)operand))
            continue;
        add_stub(k, c, n);
        refuse(f, i->function, PLAN_CALLER);
    }
}

static void refuse_callers(struct functions *f, const struct code *c, const struct object *o)
{
    struct callers k = {.stubs = 0};

    k.slots = object_caller_slots(o, k.slot, countof(k.slot));
    if (k.slots > 0)
        find_stubs(&k, f, c, o);
    for (uint32_t n = 0; n < c->count && k.stubs > 0; n++)
        if (has_target(&c->at[n]) && is_stub(&k, c->at[n].target))
            refuse(f, c->at[n].function, PLAN_CALLER);
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
    refuse_callers(f, c, o);
}

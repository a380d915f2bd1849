/*
 * operand.c - what an instruction does with registers, flags and memory.
 *
 * An error here makes a check overwrite a register that the program needs.  Therefore registers
 * count as written only if all of their 64 bits are, on every path; otherwise they stay live.
 */
#include "zydis_priv.h"

#define STATUS                                                                   \
    (ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | \
     ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF)
#define REPEATED (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)
#define READS(o) ((o)->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
#define WRITES(o) ((o)->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)

static bool is_pc(ZydisRegister r)
{
    return r == ZYDIS_REGISTER_RIP || r == ZYDIS_REGISTER_EIP;
}

/* The number of the general register that contains `r`; NO_REGISTER for all others. */
static int register_of(ZydisRegister r)
{
    ZydisRegister whole;

    if (r == ZYDIS_REGISTER_NONE || is_pc(r))
        return NO_REGISTER;
    whole = zydis.ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
    return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15
               ? (int)(whole - ZYDIS_REGISTER_RAX)
               : NO_REGISTER;
}

static uint32_t bit_of(ZydisRegister r)
{
    int n = register_of(r);
    return n == NO_REGISTER ? 0 : BIT(n);
}

/* ---- registers ------------------------------------------------------------------------------- */

/* xor and sub of a register with itself: the result is 0 whatever it was. */
static bool is_zeroing(const struct decoded *d)
{
    const ZydisDecodedOperand *o = d->operands;

    return (d->z.mnemonic == ZYDIS_MNEMONIC_XOR || d->z.mnemonic == ZYDIS_MNEMONIC_SUB) &&
           o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           o[0].reg.value == o[1].reg.value && o[0].size >= 32;
}

/* bsf and bsr of 0 do not write. */
static bool may_keep(const struct decoded *d)
{
    return d->z.mnemonic == ZYDIS_MNEMONIC_BSF || d->z.mnemonic == ZYDIS_MNEMONIC_BSR;
}

static void read_operand(struct instruction *i, const struct decoded *d,
                         const ZydisDecodedOperand *o)
{
    if (o->type == ZYDIS_OPERAND_TYPE_MEMORY)
        i->use |= bit_of(o->mem.base) | bit_of(o->mem.index);
    if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return;
    if (READS(o) && !is_zeroing(d))
        i->use |= bit_of(o->reg.value);
    if (WRITES(o))
        i->changed |= bit_of(o->reg.value);
    if ((o->actions & ZYDIS_OPERAND_ACTION_WRITE) && o->size >= 32 && !may_keep(d))
        i->set |= bit_of(o->reg.value);
}

void read_registers(struct instruction *i, const struct decoded *d)
{
    for (unsigned n = 0; n < d->z.operand_count; n++)
        read_operand(i, d, &d->operands[n]);
    if (i->is_nop)
        i->use = 0;
    if (i->flow == FLOW_KERNEL || i->flow == FLOW_STOP)
        i->use = LIVE_ALL;
}

/* ---- flags ----------------------------------------------------------------------------------- */

/* Shifts by 0 keep all flags, and so do repeated instructions that are executed 0 times. */
static bool may_keep_flags(const struct decoded *d)
{
    const ZydisDecodedOperand *by;

    if (d->z.attributes & REPEATED)
        return true;
    if (d->z.meta.category != ZYDIS_CATEGORY_SHIFT)
        return false;
    by = &d->operands[d->z.operand_count_visible - 1];
    return by->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || (by->imm.value.u & 31) == 0;
}

void read_flags(struct instruction *i, const struct decoded *d)
{
    const ZydisAccessedFlags *f = d->z.cpu_flags;

    switch (d->z.mnemonic) {
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFD:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_LAHF:
    case ZYDIS_MNEMONIC_CMC:
        i->use |= FLAGS;
        return;
    default:
        break;
    }
    if (!f)
        return;
    if (f->tested & STATUS)
        i->use |= FLAGS;
    if (((f->modified | f->set_0 | f->set_1 | f->undefined) & STATUS) == STATUS &&
        !may_keep_flags(d))
        i->set |= FLAGS;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* These have an operand in memory and do not access it. */
static bool is_hint(const struct decoded *d)
{
    switch (d->z.meta.category) {
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB:
    case ZYDIS_CATEGORY_CLDEMOTE:
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
        return true;
    default:
        return d->z.mnemonic == ZYDIS_MNEMONIC_CLFLUSH;
    }
}

/* Parts of the operand are not accessed, by a mask or by the bit number in a register. */
static bool is_partial(const struct decoded *d)
{
    ZydisRegister mask = d->z.avx.mask.reg;

    switch (d->z.mnemonic) {
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
        return true;
    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_BTC:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTS:
        return d->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
    default:
        return (mask != ZYDIS_REGISTER_NONE && mask != ZYDIS_REGISTER_K0) ||
               d->z.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID;
    }
}

static bool is_size(unsigned bits)
{
    switch (bits) {
    case 8:
    case 16:
    case 32:
    case 64:
    case 80:
    case 128:
    case 256:
    case 512:
        return true;
    default:
        return false;
    }
}

static enum access access_by(const struct decoded *d, const ZydisDecodedOperand *o)
{
    int base = register_of(o->mem.base), index = register_of(o->mem.index);

    if (o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS)
        return ACCESS_SEGMENT;
    if (is_pc(o->mem.base) || (o->mem.base == ZYDIS_REGISTER_NONE && index == NO_REGISTER &&
                               o->mem.index == ZYDIS_REGISTER_NONE))
        return ACCESS_PC;
    if (base == RSP)
        return ACCESS_STACK;
    if (o->mem.type != ZYDIS_MEMOP_TYPE_MEM || d->z.address_width != 64 || !is_size(o->size) ||
        is_partial(d))
        return ACCESS_UNCHECKABLE;
    if (o->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
        return base == RBP ? ACCESS_STACK : ACCESS_UNCHECKABLE;
    return ACCESS_CHECKED;
}

/* Operands by which push, pop, call and return use the stack are not accesses. */
static bool is_stack_of(const ZydisDecodedOperand *o)
{
    return o->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT && register_of(o->mem.base) == RSP;
}

/* What a string instruction accesses; 0: not by rsi and rdi alone. */
static uint8_t string_kinds(const struct decoded *d)
{
    unsigned kinds = 0;

    for (unsigned n = 0; n < d->z.operand_count; n++) {
        const ZydisDecodedOperand *o = &d->operands[n];
        if (o->type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        if (o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS ||
            d->z.address_width != 64)
            return 0;
        if (register_of(o->mem.base) == RSI)
            kinds |= PLAN_READS_RSI;
        else
            kinds |= WRITES(o) ? PLAN_WRITES_RDI : PLAN_READS_RDI;
    }
    return (uint8_t)kinds;
}

static void read_string(struct instruction *i, const struct decoded *d)
{
    const ZydisInstructionAttributes stops = ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;

    if (d->z.meta.category != ZYDIS_CATEGORY_STRINGOP)
        return;
    i->string = string_kinds(d);
    if (i->string && d->z.attributes & (ZYDIS_ATTRIB_HAS_REP | stops))
        i->string |= PLAN_REPEATED;
    if (d->z.attributes & stops)
        i->special |= INSN_STOPS;
}

static void read_access(struct instruction *i, const struct decoded *d,
                        const ZydisDecodedOperand *o)
{
    i->access = d->z.meta.category == ZYDIS_CATEGORY_STRINGOP ||
                        d->z.meta.category == ZYDIS_CATEGORY_IOSTRINGOP
                    ? ACCESS_STRING
                    : (uint8_t)access_by(d, o);
    i->operand = (struct operand){
        .displacement = o->mem.disp.has_displacement ? (int32_t)o->mem.disp.value : 0,
        .base = (int8_t)register_of(o->mem.base),
        .index = (int8_t)register_of(o->mem.index),
        .scale = o->mem.scale ? o->mem.scale : 1,
        .kind = (uint8_t)((READS(o) ? PLAN_READ : 0) | (WRITES(o) ? PLAN_WRITE : 0)),
        .bytes = o->size / 8};
    if (i->access == ACCESS_STRING)
        read_string(i, d);
}

static void read_pc(struct instruction *i, const struct decoded *d, const ZydisDecodedOperand *o)
{
    i->special |= INSN_BY_PC;
    i->displacement = d->z.raw.disp.offset;
    i->operand.displacement = (int32_t)o->mem.disp.value;
    if (o->mem.base == ZYDIS_REGISTER_EIP || d->z.raw.disp.size != 32)
        i->special |= INSN_UNMOVABLE;
}

void read_memory(struct instruction *i, const struct decoded *d)
{
    for (unsigned n = 0; n < d->z.operand_count; n++) {
        const ZydisDecodedOperand *o = &d->operands[n];
        if (o->type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        if (i->access == ACCESS_NONE && o->mem.type != ZYDIS_MEMOP_TYPE_AGEN && !is_hint(d) &&
            (READS(o) || WRITES(o)) && !is_stack_of(o))
            read_access(i, d, o);
        if (is_pc(o->mem.base))
            read_pc(i, d, o);
    }
    if (d->z.mnemonic == ZYDIS_MNEMONIC_LEA)
        i->special |= INSN_LEA;
}

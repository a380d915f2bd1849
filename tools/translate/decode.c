/*
 * decode.c - the text as a table of instructions.
 *
 * Each function is decoded from its start to its end, and so is each range between functions: it
 * may contain code without an FDE, whose branches reach functions.  A byte at which no instruction
 * begins, or only one that crosses the end, is an item FLOW_BAD of one byte.
 */
#include <stdlib.h>
#include <string.h>

#include "zydis_priv.h"

/* Instructions of transactions: Zydis has them among the branches. */
static bool is_of_transaction(const struct decoded *d)
{
    switch (d->z.mnemonic) {
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XEND:
    case ZYDIS_MNEMONIC_XABORT:
        return true;
    default:
        return false;
    }
}

static enum flow flow_of(const struct decoded *d)
{
    bool is_direct = d->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

    if (is_of_transaction(d))
        return FLOW_KERNEL;
    switch (d->z.meta.category) {
    case ZYDIS_CATEGORY_CALL:
        return is_direct ? FLOW_CALL : FLOW_CALL_BY;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return is_direct ? FLOW_JUMP : FLOW_JUMP_BY;
    case ZYDIS_CATEGORY_COND_BR:
        return FLOW_BRANCH;
    case ZYDIS_CATEGORY_RET:
        return FLOW_RETURN;
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_INTERRUPT:
        return FLOW_KERNEL;
    default:
        break;
    }
    switch (d->z.mnemonic) {
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
        return FLOW_STOP;
    default:
        return FLOW_NEXT;
    }
}

static bool is_by_count(const struct decoded *d)
{
    switch (d->z.mnemonic) {
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
        return true;
    default:
        return false;
    }
}

/* A call of the next instruction takes the address of code, which in a copy is another. */
static bool is_unmovable(const struct instruction *i, const struct decoded *d)
{
    if (d->z.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR || is_of_transaction(d))
        return true;
    if (!has_target(i))
        return false;
    return d->z.raw.imm[0].size == 16 || (i->flow == FLOW_CALL && d->operands[0].imm.value.s == 0);
}

static void read_branch(struct instruction *i, const struct decoded *d)
{
    if (has_target(i))
        i->target = i->offset + i->bytes + (uint32_t)d->operands[0].imm.value.s;
    if (i->flow == FLOW_BRANCH) {
        i->condition = d->z.opcode & 15;
        i->special |= is_by_count(d) ? INSN_BY_COUNT : 0;
    }
    if (is_unmovable(i, d))
        i->special |= INSN_UNMOVABLE;
}

static bool is_nop(const struct decoded *d)
{
    return d->z.meta.category == ZYDIS_CATEGORY_NOP ||
           d->z.meta.category == ZYDIS_CATEGORY_WIDENOP || d->z.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
}

static void read_instruction(struct instruction *i, const struct decoded *d)
{
    i->bytes = d->z.length;
    i->flow = (uint8_t)flow_of(d);
    i->is_nop = is_nop(d);
    if (d->z.mnemonic == ZYDIS_MNEMONIC_DIV || d->z.mnemonic == ZYDIS_MNEMONIC_IDIV)
        i->special |= INSN_MAY_TRAP;
    if (d->z.mnemonic == ZYDIS_MNEMONIC_STD)
        i->special |= INSN_BACKWARDS;
    read_branch(i, d);
    read_registers(i, d);
    read_flags(i, d);
    read_memory(i, d);
}

static void add(struct code *c, const struct instruction *i)
{
    c->at = grown(c->at, c->count, sizeof *c->at);
    c->index[i->offset] = c->count;
    c->at[c->count++] = *i;
}

static void decode_range(struct code *c, const ZydisDecoder *decoder, const struct object *o,
                         uint32_t at, uint32_t end, uint32_t function)
{
    struct decoded d;

    while (at < end) {
        struct instruction i = {.offset = at, .function = function, .target = NONE};
        if (ZYAN_SUCCESS(zydis.ZydisDecoderDecodeFull(decoder, o->content + at, end - at, &d.z,
                                                      d.operands))) {
            read_instruction(&i, &d);
        } else {
            i.bytes = 1;
            i.flow = FLOW_BAD;
            i.use = LIVE_ALL;
        }
        add(c, &i);
        at += i.bytes;
    }
}

void code_decode(struct code *c, const struct object *o, const struct functions *f)
{
    uint32_t at = 0;
    ZydisDecoder decoder;

    zydis.ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    *c = (struct code){.index = zeroed(o->text_bytes, sizeof *c->index)};
    memset(c->index, 0xff, o->text_bytes * sizeof *c->index);
    for (uint32_t n = 0; n < f->count; n++) {
        uint32_t start = f->at[n].start, end = start + f->at[n].bytes;
        decode_range(c, &decoder, o, at, start, NONE);
        decode_range(c, &decoder, o, start, end, n);
        at = end;
    }
    decode_range(c, &decoder, o, at, o->text_bytes, NONE);
}

/* `n`, or the instruction after it if nops between functions begin there; or NONE. */
static uint32_t without_nops(const struct code *c, uint32_t n)
{
    while (n < c->count && c->at[n].function == NONE && c->at[n].is_nop)
        n++;
    return n < c->count ? n : NONE;
}

uint32_t code_at(const struct code *c, const struct object *o, uint32_t offset)
{
    uint32_t n = offset < o->text_bytes ? c->index[offset] : NONE;

    return n == NONE ? NONE : without_nops(c, n);
}

uint32_t code_after(const struct code *c, uint32_t n)
{
    return without_nops(c, n + 1);
}

bool has_target(const struct instruction *i)
{
    return i->flow == FLOW_JUMP || i->flow == FLOW_BRANCH || i->flow == FLOW_CALL;
}

int64_t pc_operand(const struct instruction *i)
{
    return (int64_t)i->offset + i->bytes + i->operand.displacement;
}

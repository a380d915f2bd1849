/*
 * locals.c - which local variables and parameters may lie at a place in a frame.
 *
 * Of a frame is known where its function stands, and how far from its canonical frame address (CFA)
 * the place is; all is counted from there.  Compilers say where a variable lies by an offset from the
 * function's frame base: gcc's is the CFA, clang's a register, whose distance from the CFA is in the
 * call frame information.  What is aligned more than the stack they count from the stack pointer.
 * Here are found all variables that begin at or before the place, those of inner blocks first; how
 * long they are, and so which of them it is, types tell (variables.c).
 *
 * What lies in a register there, or nowhere, is at no place of the frame.
 */
#include <dwarf.h>
#include <stdlib.h>

#include "symbols_priv.h"

#define REGISTERS 16u
#define RSP 7u

/* Distances from the CFA. */
struct cpu_state {
    Dwarf_Addr address;       /* the unit's own */
    uint32_t known;           /* registers, by DWARF's numbers */
    int64_t value[REGISTERS]; /* what they hold */
    bool has_base;
    int64_t base; /* of the function's frame */
};

/* ---- registers ------------------------------------------------------------------------------- */

/* An operation that adds to a register's value. */
static bool is_register_plus(const Dwarf_Op *op, uint64_t *number, int64_t *plus)
{
    bool is_short = op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31;

    if (!is_short && op->atom != DW_OP_bregx)
        return false;
    *number = is_short ? (uint64_t)(op->atom - DW_OP_breg0) : op->number;
    *plus = (int64_t)(is_short ? op->number : op->number2);
    return true;
}

/* One that names a register. */
static bool is_register(const Dwarf_Op *op, uint64_t *number)
{
    bool is_short = op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31;

    *number = is_short ? (uint64_t)(op->atom - DW_OP_reg0) : op->number;
    return is_short || op->atom == DW_OP_regx;
}

static void learn(struct cpu_state *s, uint64_t number, int64_t value)
{
    if (number >= REGISTERS)
        return;
    s->known |= 1u << number;
    s->value[number] = value;
}

/* The one that the CFA is counted from. */
static void take_register(struct cpu_state *s, Dwarf_CFI *cfi, Dwarf_Addr address)
{
    Dwarf_Frame *frame;
    uint64_t number;
    Dwarf_Op *ops;
    size_t count;
    int64_t plus;

    if (!cfi || dwarf_cfi_addrframe(cfi, address, &frame) != 0)
        return;
    if (dwarf_frame_cfa(frame, &ops, &count) == 0 && count == 1 &&
        is_register_plus(ops, &number, &plus))
        learn(s, number, (int64_t)(0 - (uint64_t)plus));
    free(frame);
}

/* ---- places ---------------------------------------------------------------------------------- */

static bool plus_register(const struct cpu_state *s, uint64_t number, int64_t plus, int64_t *out)
{
    return number < REGISTERS && s->known >> number & 1 &&
           !__builtin_add_overflow(s->value[number], plus, out);
}

/* How many of the operations make one place in memory; 0: they do not. */
static size_t memory_of(const struct cpu_state *s, const Dwarf_Op *ops, size_t count, int64_t *out)
{
    uint64_t number;
    int64_t plus;

    if (count == 0)
        return 0;
    if (ops->atom == DW_OP_fbreg) {
        if (!s->has_base || __builtin_add_overflow(s->base, (int64_t)ops->number, out))
            return 0;
    } else if (ops->atom == DW_OP_call_frame_cfa) {
        *out = 0;
    } else if (!is_register_plus(ops, &number, &plus) || !plus_register(s, number, plus, out)) {
        return 0;
    }
    if (count == 1 || ops[1].atom != DW_OP_plus_uconst)
        return 1;
    return __builtin_add_overflow(*out, (int64_t)ops[1].number, out) ? 0 : 2;
}

static void take_base(struct cpu_state *s, Dwarf_Die *function)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    uint64_t number;

    if (dwarf_attr_integrate(function, DW_AT_frame_base, &attribute) == NULL ||
        dwarf_getlocation_addr(&attribute, s->address, &ops, &count, 1) != 1)
        return;
    if (count == 1 && is_register(ops, &number))
        s->has_base = plus_register(s, number, 0, &s->base);
    else
        s->has_base = count > 0 && memory_of(s, ops, count, &s->base) == count;
}

static bool is_variable(int tag)
{
    return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* How far behind the variable's start the place is; false: the variable begins nowhere before it. */
static bool contains_address(const struct cpu_state *s, Dwarf_Die *variable, int64_t at,
                             uint64_t *inside)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    int64_t start;

    if (!dwarf_attr(variable, DW_AT_location, &attribute) ||
        dwarf_getlocation_addr(&attribute, s->address, &ops, &count, 1) != 1 || count == 0 ||
        memory_of(s, ops, count, &start) != count || at < start)
        return false;
    *inside = (uint64_t)at - (uint64_t)start;
    return true;
}

/* Those of one scope, without what is in it. */
static uint32_t list(const struct cpu_state *s, Dwarf_Die *scope, int64_t at, struct local *found,
                     uint32_t room)
{
    Dwarf_Die die;
    uint32_t count = 0;

    if (dwarf_child(scope, &die) != 0)
        return 0;
    do {
        if (is_variable(dwarf_tag(&die)) && contains_address(s, &die, at, &found[count].inside))
            found[count++].die = dwarf_dieoffset(&die);
    } while (count < room && die_next(&die));
    return count;
}

/* The function, inlined or not, that the scope at `i` belongs to. */
static Dwarf_Die function_of(const Dwarf_Die *scopes, uint32_t i)
{
    Dwarf_Die scope = scopes[i];

    while (i > 0 && dwarf_tag(&scope) != DW_TAG_inlined_subroutine)
        scope = scopes[--i];
    return scope;
}

uint32_t locals_find(struct functions **known, Dwarf_Die *unit, Dwarf_Addr address, Dwarf_CFI *cfi,
                     Dwarf_Addr cfi_address, struct in_frame at, struct local found[LOCALS_MAX])
{
    struct cpu_state s = {.address = address};
    Dwarf_Die scopes[SCOPES_MAX];
    uint32_t count = 0, depth = scopes_find(known, unit, address, scopes);

    if (depth == 0)
        return 0;
    if (at.sp != 0)
        learn(&s, RSP, at.sp);
    take_register(&s, cfi, cfi_address);
    take_base(&s, &scopes[0]);
    for (uint32_t i = depth; i-- > 0 && count < LOCALS_MAX;) {
        uint32_t n = list(&s, &scopes[i], at.at, found + count, LOCALS_MAX - count);
        for (uint32_t k = 0; k < n; k++)
            found[count + k].function = function_of(scopes, i);
        count += n;
    }
    return count;
}

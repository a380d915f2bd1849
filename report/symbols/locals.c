/*
 * locals.c - local variables and parameters that may be at a position in a frame.
 *
 * The input is a code address in the frame's function, and a position relative to the canonical
 * frame address (CFA); all positions here are relative to it. Compilers locate a variable by its
 * offset from the function's frame base. gcc's frame base is the CFA; clang's is a register, and
 * call frame information (CFI) has its distance from the CFA. Variables with a larger alignment
 * than the stack are located from the stack pointer. The result is all variables that begin at or
 * before the position, those of inner blocks first. Their types have the sizes that select one of
 * them (variables.c).
 *
 * Variables that are in a register at this address, or optimized out, have no position in the
 * frame.
 */
#include <dwarf.h>
#include <stdlib.h>

#include "symbols_priv.h"

#define REGISTERS 16u
#define RSP 7u

/* Registers and frame base, as distances from the CFA. */
struct cpu_state {
    Dwarf_Addr address;       /* without load bias */
    uint32_t known;           /* bits of registers, by DWARF's numbers */
    int64_t value[REGISTERS]; /* of these registers */
    bool has_base;
    int64_t base; /* the function's frame base */
};

/* ---- registers ------------------------------------------------------------------------------- */

/* Whether the operation adds to a register's value. */
static bool is_register_plus(const Dwarf_Op *op, uint64_t *number, int64_t *plus)
{
    bool is_short = op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31;

    if (!is_short && op->atom != DW_OP_bregx)
        return false;
    *number = is_short ? (uint64_t)(op->atom - DW_OP_breg0) : op->number;
    *plus = (int64_t)(is_short ? op->number : op->number2);
    return true;
}

/* Whether the operation names a register. */
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

/* Get the register that the CFA is computed from. */
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

/* Return how many operations form one memory location; 0: they form none. */
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

/*
 * *inside: offset of the position from the variable's start. false: the variable does not begin at
 * or before it.
 */
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

/* List the variables of one scope, without nested scopes. */
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

/* Return the function, inlined or not, that contains the scope at `i`. */
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

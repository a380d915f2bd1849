/*
 * expression.c - DWARF expressions, as far as call frame information uses them.
 *
 * Hand-written assembly and procedure linkage tables describe their frames by expressions.  All
 * memory that an expression reads must lie on the stack that it describes; other reads fail.
 */
#include "unwinder_priv.h"

#include <string.h>

#define DEPTH_MAX 16u

struct evaluation {
    const uint8_t *at, *end;
    const struct regs *regs;
    uintptr_t high;
    uint64_t stack[DEPTH_MAX];
    unsigned depth;
    bool bad;
};

static void push(struct evaluation *e, uint64_t v)
{
    if (e->depth == DEPTH_MAX)
        e->bad = true;
    else
        e->stack[e->depth++] = v;
}

static uint64_t pop(struct evaluation *e)
{
    if (!e->depth) {
        e->bad = true;
        return 0;
    }
    return e->stack[--e->depth];
}

static uint64_t pick(struct evaluation *e, unsigned n)
{
    if (n >= e->depth) {
        e->bad = true;
        return 0;
    }
    return e->stack[e->depth - 1 - n];
}

static uint64_t operand(struct evaluation *e, unsigned bytes, bool is_signed)
{
    uint64_t v = 0;
    if ((size_t)(e->end - e->at) < bytes) {
        e->bad = true;
        return 0;
    }
    memcpy(&v, e->at, bytes);
    e->at += bytes;
    if (is_signed && bytes < 8)
        v = (uint64_t)((int64_t)(v << (64 - 8 * bytes)) >> (64 - 8 * bytes));
    return v;
}

static uint64_t leb(struct evaluation *e, bool is_signed)
{
    uint64_t v = 0, byte;
    unsigned shift = 0;
    do {
        byte = operand(e, 1, false);
        if (shift < 64)
            v |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && !e->bad);
    if (is_signed && byte & 0x40 && shift < 64)
        v |= ~0ull << shift;
    return v;
}

static uint64_t reg_value(struct evaluation *e, uint64_t reg)
{
    if (reg >= DWARF_REGISTERS || !regs_know(e->regs, (unsigned)reg)) {
        e->bad = true;
        return 0;
    }
    return e->regs->value[reg];
}

static void load(struct evaluation *e, unsigned bytes)
{
    uint64_t at = pop(e), v = 0;
    if (e->bad || bytes > 8 || at < e->regs->value[DWARF_SP] - BELOW_SP_BYTES || at >= e->high ||
        e->high - at < 8) {
        e->bad = true;
        return;
    }
    memcpy(&v, (const void *)(uintptr_t)at, bytes);
    push(e, v);
}

static void jump(struct evaluation *e, bool taken)
{
    int64_t by = (int64_t)operand(e, 2, true);
    if (!taken)
        return;
    if (by < 0 || by > e->end - e->at) /* a backward jump could loop */
        e->bad = true;
    else
        e->at += by;
}

static uint64_t shift_by(uint64_t a, uint64_t by, bool left)
{
    if (by > 63)
        return 0;
    return left ? a << by : a >> by;
}

static uint64_t two(struct evaluation *e, uint8_t op)
{
    uint64_t b = pop(e), a = pop(e);
    int64_t x = (int64_t)a, y = (int64_t)b;
    switch (op) {
    case 0x1a:
        return a & b;
    case 0x1c:
        return a - b;
    case 0x1e:
        return a * b;
    case 0x21:
        return a | b;
    case 0x22:
        return a + b;
    case 0x24:
        return shift_by(a, b, true);
    case 0x25:
        return shift_by(a, b, false);
    case 0x26:
        return (uint64_t)(x >> (b > 63 ? 63 : b));
    case 0x27:
        return a ^ b;
    case 0x29:
        return x == y;
    case 0x2a:
        return x >= y;
    case 0x2b:
        return x > y;
    case 0x2c:
        return x <= y;
    case 0x2d:
        return x < y;
    case 0x2e:
        return x != y;
    default:
        e->bad = true;
        return 0; /* includes divisions: no known CFI uses one */
    }
}

static void swap(struct evaluation *e)
{
    uint64_t b = pop(e), a = pop(e);
    push(e, b);
    push(e, a);
}

static bool constant(struct evaluation *e, uint8_t op)
{
    if (op >= 0x30 && op <= 0x4f)
        push(e, op - 0x30u);
    else if (op >= 0x08 && op <= 0x0f)
        push(e, operand(e, 1u << (op - 0x08) / 2, op & 1));
    else if (op == 0x03)
        push(e, operand(e, 8, false));
    else if (op == 0x10 || op == 0x11)
        push(e, leb(e, op == 0x11));
    else
        return false;
    return true;
}

static bool of_register(struct evaluation *e, uint8_t op)
{
    uint64_t reg;
    if (op >= 0x70 && op <= 0x8f)
        reg = op - 0x70u;
    else if (op == 0x92)
        reg = leb(e, false);
    else
        return false;
    push(e, reg_value(e, reg) + leb(e, true));
    return true;
}

static void execute(struct evaluation *e, uint8_t op)
{
    if (constant(e, op) || of_register(e, op))
        return;
    switch (op) {
    case 0x06:
        load(e, 8);
        break;
    case 0x94:
        load(e, (unsigned)operand(e, 1, false));
        break;
    case 0x12:
        push(e, pick(e, 0));
        break;
    case 0x13:
        pop(e);
        break;
    case 0x14:
        push(e, pick(e, 1));
        break;
    case 0x15:
        push(e, pick(e, (unsigned)operand(e, 1, false)));
        break;
    case 0x16:
        swap(e);
        break;
    case 0x1f:
        push(e, 0 - pop(e));
        break;
    case 0x20:
        push(e, ~pop(e));
        break;
    case 0x23:
        push(e, pop(e) + leb(e, false));
        break;
    case 0x28:
        jump(e, pop(e) != 0);
        break;
    case 0x2f:
        jump(e, true);
        break;
    case 0x96:
        break;
    default:
        push(e, two(e, op));
    }
}

bool expression_value(const struct column *c, const struct regs *r, uintptr_t initial,
                      uintptr_t high, uintptr_t *out)
{
    struct evaluation e = {
        .at = c->expression, .end = c->expression + c->bytes, .regs = r, .high = high};
    if (initial)
        push(&e, initial);
    while (e.at < e.end && !e.bad)
        execute(&e, (uint8_t)operand(&e, 1, false));
    *out = pop(&e);
    return !e.bad;
}

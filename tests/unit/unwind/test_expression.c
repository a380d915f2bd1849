/*
 * test_expression.c - DWARF expressions: each operator, and each failure: a truncated operand,
 * stack underflow and overflow, memory outside of the frame, a loop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "frames.h"

#include <cmocka.h>

/* The memory of the frame; the stack pointer is in its middle, `high` its end. */
static uint64_t memory[512];
#define SP_WORD 256u

static struct regs registers(void)
{
    struct regs r = {.known = 0};
    for (unsigned i = 0; i < DWARF_REGISTERS; i++)
        if (i != 12) /* one register is unknown */
            regs_set(&r, i, 1000 + i);
    regs_set(&r, DWARF_SP, (uintptr_t)&memory[SP_WORD]);
    regs_set(&r, DWARF_FP, (uintptr_t)&memory[SP_WORD + 8]);
    return r;
}

static bool evaluate(const char *code, size_t n, uintptr_t initial, uintptr_t *out)
{
    struct regs r = registers();
    uint8_t *exact = malloc(n + !n);
    assert_non_null(exact);
    memcpy(exact, code, n);
    struct column c = {.expression = exact, .bytes = (uint32_t)n, .kind = COLUMN_IS_EXPRESSION};
    bool good = expression_value(&c, &r, initial, (uintptr_t)(memory + 512), out);
    free(exact);
    return good;
}

static void is_value(const char *code, size_t n, uint64_t value)
{
    uintptr_t out;
    assert_true(evaluate(code, n, 0, &out));
    assert_int_equal(out, value);
}

static void is_refused(const char *code, size_t n)
{
    uintptr_t out;
    assert_false(evaluate(code, n, 0, &out));
}

#define IS(code, value) is_value((code), sizeof(code) - 1, (uint64_t)(value))
#define REFUSED(code) is_refused((code), sizeof(code) - 1)

/* ---- numbers --------------------------------------------------------------------------------- */

static void test_constants(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 32; i++)
        is_value((char[]){(char)(0x30 + i)}, 1, i);
    IS("\x08\xfe", 0xfe);
    IS("\x09\xfe", -2);
    IS("\x0a\xfe\xff", 0xfffe);
    IS("\x0b\xfe\xff", -2);
    IS("\x0c\xfe\xff\xff\xff", 0xfffffffe);
    IS("\x0d\xfe\xff\xff\xff", -2);
    IS("\x0e\x01\x02\x03\x04\x05\x06\x07\x88", 0x8807060504030201);
    IS("\x0f\x01\x02\x03\x04\x05\x06\x07\x88", 0x8807060504030201);
    IS("\x03\x01\x02\x03\x04\x05\x06\x07\x88", 0x8807060504030201);
    IS("\x10\xff\x01", 255);
    IS("\x10\x7f", 127);
    IS("\x11\x7f", -1);
    IS("\x11\x80\x7f", -128);
    IS("\x11\xff\0", 127);
    IS("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", UINT64_MAX);
    IS("\x10\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 1); /* exceeds a word */
}

static void test_registers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 32; i++) {
        char code[] = {(char)(0x70 + i), 5};
        if (i == 12 || i >= DWARF_REGISTERS)
            is_refused(code, 2);
        else if (i != DWARF_SP && i != DWARF_FP)
            is_value(code, 2, 1005 + i);
    }
    IS("\x73\x7d", 1000); /* rbx - 3 */
    IS("\x77\x10", (uintptr_t)&memory[SP_WORD + 2]);
    IS("\x92\x03\x80\x01", 1003 + 128);
    REFUSED("\x92\x0c\0");
    REFUSED("\x92\x11\0");
    REFUSED("\x92\x83\x80\x80\x80\x10\0"); /* 2^32 + 3 is not 3 */
}

/* ---- operators ------------------------------------------------------------------------------- */

static void test_stack(void **state)
{
    (void)state;
    IS("\x31\x32\x12\x22", 4);               /* dup */
    IS("\x31\x32\x13", 1);                   /* drop */
    IS("\x35\x33\x14\x1c\x1c", 5 - (3 - 5)); /* over */
    IS("\x35\x34\x33\x15\x02", 5);           /* pick */
    IS("\x35\x34\x33\x15\0", 3);
    IS("\x35\x33\x16\x1c", 3 - 5); /* swap */
    IS("\x35\x96", 5);             /* nop */
    REFUSED("\x35\x34\x33\x15\x03");
    REFUSED("\x31\x14");
    REFUSED("\x12");
    REFUSED("\x13");
    REFUSED("\x31\x16");
    REFUSED("\x31\x13");
    REFUSED("");
}

static void test_arithmetic(void **state)
{
    (void)state;
    IS("\x35\x33\x1a", 1);
    IS("\x35\x33\x1c", 2);
    IS("\x33\x35\x1c", -2);
    IS("\x35\x33\x1e", 15);
    IS("\x35\x32\x21", 7);
    IS("\x35\x33\x22", 8);
    IS("\x35\x33\x27", 6);
    IS("\x35\x1f", -5);
    IS("\x35\x20", ~5ull);
    IS("\x35\x23\x80\x01", 133);
    IS("\x31\x08\x3f\x24", 1ull << 63);
    IS("\x31\x08\x40\x24", 0);
    IS("\x09\xff\x08\x3f\x25", 1);
    IS("\x09\xff\x08\x40\x25", 0);
    IS("\x09\xf0\x32\x26", -4);
    IS("\x09\xf0\x08\x7f\x26", -1);
    IS("\x09\xf0\x08\x40\x26", -1);
    IS("\x08\x70\x08\x7f\x26", 0);
    REFUSED("\x31\x22");
    REFUSED("\x1f");
    REFUSED("\x36\x33\x1b"); /* division */
    REFUSED("\x36\x33\x1d");
}

static void test_comparisons(void **state)
{
    (void)state;
    static const struct {
        uint8_t op;
        bool less, equal, more;
    } each[] = {{0x29, 0, 1, 0}, {0x2a, 0, 1, 1}, {0x2b, 0, 0, 1},
                {0x2c, 1, 1, 0}, {0x2d, 1, 0, 0}, {0x2e, 1, 0, 1}};
    for (unsigned i = 0; i < sizeof each / sizeof each[0]; i++) {
        char op = (char)each[i].op;
        is_value((char[]){0x09, (char)-2, 0x31, op}, 4, each[i].less); /* signed */
        is_value((char[]){0x31, 0x31, op}, 3, each[i].equal);
        is_value((char[]){0x31, 0x09, (char)-2, op}, 4, each[i].more);
    }
}

/* A PLT entry's expression, as linkers write it. */
static void test_plt(void **state)
{
    (void)state;
    struct regs r = registers();
    static const uint8_t code[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    struct column c = {.expression = code, .bytes = sizeof code, .kind = COLUMN_IS_EXPRESSION};
    uintptr_t out, sp = (uintptr_t)&memory[SP_WORD];
    for (unsigned i = 0; i < 16; i++) {
        regs_set(&r, DWARF_RETURN, 0x400000 + i);
        assert_true(expression_value(&c, &r, 0, (uintptr_t)(memory + 512), &out));
        assert_true(out == sp + 8 + (i >= 11 ? 8 : 0));
    }
}

/* ---- jumps ----------------------------------------------------------------------------------- */

static void test_jumps(void **state)
{
    (void)state;
    IS("\x31\x2f\x01\0\x32\x33\x22", 4);     /* over one */
    IS("\x31\x31\x28\x01\0\x32\x33\x22", 4); /* taken */
    IS("\x31\x30\x28\x01\0\x32\x33\x22", 5); /* not taken */
    IS("\x31\x2f\x02\0\x32\x33", 1);         /* to the very end */
    IS("\x31\x2f\0\0", 1);
    REFUSED("\x31\x2f\x03\0\x32\x33");
    REFUSED("\x31\x2f\xfd\xff"); /* to itself: endless */
    REFUSED("\x31\x2f\xff\xff");
    REFUSED("\x31\x31\x28\xfb\xff");
    REFUSED("\x31\x28\x01");
    REFUSED("\x28\0\0");
    IS("\x31\x30\x28\xfb\xff", 1); /* not taken: the target does not matter */
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool load_at(uintptr_t at, uint64_t *out)
{
    char code[10] = {0x0e};
    memcpy(code + 1, &at, 8);
    code[9] = 0x06;
    return evaluate(code, 10, 0, out);
}

static void test_memory(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 512; i++)
        memory[i] = 0x8182838485868700 + i;
    IS("\x77\x10\x06", memory[SP_WORD + 2]);
    IS("\x76\x78\x06", memory[SP_WORD + 7]);
    IS("\x77\x10\x94\x01", (uint8_t)memory[SP_WORD + 2]);
    IS("\x77\x10\x94\x02", (uint16_t)memory[SP_WORD + 2]);
    IS("\x77\x10\x94\x04", (uint32_t)memory[SP_WORD + 2]);
    IS("\x77\x10\x94\x08", memory[SP_WORD + 2]);
    REFUSED("\x77\x10\x94\x09");
    REFUSED("\x77\x10\x94\xff");
    REFUSED("\x06");
    uint64_t out;
    uintptr_t sp = (uintptr_t)&memory[SP_WORD], high = (uintptr_t)(memory + 512);
    assert_true(load_at(sp, &out) && out == memory[SP_WORD]);
    assert_true(load_at(high - 8, &out) && out == memory[511]);
    assert_false(load_at(high - 7, &out));
    assert_false(load_at(high, &out));
    assert_true(load_at(sp - BELOW_SP_BYTES, &out) && out == memory[SP_WORD - BELOW_SP_BYTES / 8]);
    assert_false(load_at(sp - BELOW_SP_BYTES - 1, &out));
    assert_false(load_at(0, &out));
    assert_false(load_at(UINTPTR_MAX, &out));
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static void test_depth(void **state)
{
    (void)state;
    char code[40];
    memset(code, 0x31, sizeof code);
    is_value(code, 16, 1);
    is_refused(code, 17);
    memset(code + 16, 0x22, 15);
    is_value(code, 31, 16);
    uintptr_t out; /* the CFA is on the stack, too */
    memset(code, 0x31, sizeof code);
    assert_true(evaluate(code, 15, 77, &out));
    assert_false(evaluate(code, 16, 77, &out));
}

static void test_initial(void **state)
{
    (void)state;
    uintptr_t out;
    assert_true(evaluate("\x23\x05", 2, 1000, &out) && out == 1005);
    assert_true(evaluate("", 0, 1000, &out) && out == 1000);
    assert_false(evaluate("\x23\x05", 2, 0, &out));
}

static void test_cut(void **state)
{
    (void)state;
    for (unsigned op = 0x08; op <= 0x0f; op++)
        for (unsigned n = 0; n < 1u << (op - 8) / 2; n++)
            is_refused((char[9]){(char)op}, 1 + n);
    REFUSED("\x03\0\0\0\0\0\0\0");
    REFUSED("\x10\x80");
    REFUSED("\x11\x80\x80");
    REFUSED("\x77");
    REFUSED("\x77\x80");
    REFUSED("\x92\x03");
    REFUSED("\x31\x23");
    REFUSED("\x77\0\x94");
    REFUSED("\x31\x15");
    REFUSED("\x31\x2f\0");
}

static void test_unknown(void **state)
{
    (void)state;
    for (unsigned op = 0; op < 256; op++) {
        bool known = op == 0x03 || op == 0x06 || (op >= 0x08 && op <= 0x16) || op == 0x1a ||
                     op == 0x1c || (op >= 0x1e && op <= 0x4f) || (op >= 0x70 && op <= 0x8f) ||
                     op == 0x92 || op == 0x94 || op == 0x96;
        char code[12] = {0x31, 0x31, (char)op};
        if (!known)
            is_refused(code, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants),   cmocka_unit_test(test_registers),
        cmocka_unit_test(test_stack),       cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_comparisons), cmocka_unit_test(test_plt),
        cmocka_unit_test(test_jumps),       cmocka_unit_test(test_memory),
        cmocka_unit_test(test_depth),       cmocka_unit_test(test_initial),
        cmocka_unit_test(test_cut),         cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_cfi.c - call frame information built by the test: each instruction, and damaged programs,
 * which must be refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi_rows.h"

/* ---- one function ---------------------------------------------------------------------------- */

static void test_beginning(void **state)
{
    (void)state;
    struct row row = row_here(PROGRAM(""));
    is_cfa(&row, DWARF_SP, 8);
    is_column(row.column[DWARF_RETURN], COLUMN_AT_CFA, -8);
    for (unsigned i = 0; i < DWARF_RETURN; i++)
        assert_int_equal(row.column[i].kind, COLUMN_SAME);
}

/* ---- instructions: locations ----------------------------------------------------------------- */

static void changes_at(const struct cie_shape *cie, const uint8_t *program, size_t n, unsigned at)
{
    struct row row;
    assert_true(row_with(cie, program, n, at - 1, &row));
    is_cfa(&row, DWARF_SP, 8);
    assert_true(row_with(cie, program, n, at, &row));
    is_cfa(&row, DWARF_SP, 16);
}

static void test_advance(void **state)
{
    (void)state;
    struct cie_shape cie = CIE_USUAL;
    changes_at(&cie, PROGRAM("\x45\x0e\x10"), 5);
    changes_at(&cie, PROGRAM("\x7f\x0e\x10"), 63);
    changes_at(&cie, PROGRAM("\x02\xc8\x0e\x10"), 200);
    changes_at(&cie, PROGRAM("\x03\x2c\x01\x0e\x10"), 300);
    changes_at(&cie, PROGRAM("\x04\x90\x01\0\0\x0e\x10"), 400);
    changes_at(&cie, PROGRAM("\x45\0\x02\x05\0\0\x41\x0e\x10"), 11);
    cie.code_align = 4;
    changes_at(&cie, PROGRAM("\x45\x0e\x10"), 20);
    changes_at(&cie, PROGRAM("\x02\x32\x0e\x10"), 200);
    changes_at(&cie, PROGRAM("\x03\x4b\0\x0e\x10"), 300);
    changes_at(&cie, PROGRAM("\x04\x64\0\0\0\x0e\x10"), 400);
}

static void test_set_location(void **state)
{
    (void)state;
    struct cie_shape cie = CIE_USUAL;
    uint8_t program[11] = {0x01};
    uint64_t place = frames_code(&frames) + 77;
    cie.encoding = 0x04; /* eight bytes, absolute */
    memcpy(program + 1, &place, sizeof place);
    program[9] = 0x0e;
    program[10] = 0x10;
    changes_at(&cie, program, sizeof program, 77);
}

/* ---- instructions: the CFA ------------------------------------------------------------------- */

static void test_cfa(void **state)
{
    (void)state;
    struct row row = row_here(PROGRAM("\x0c\x06\x10"));
    is_cfa(&row, DWARF_FP, 16);
    row = row_here(PROGRAM("\x0c\x06\x80\x10"));
    is_cfa(&row, DWARF_FP, 2048);
    row = row_here(PROGRAM("\x12\x06\x7e"));
    is_cfa(&row, DWARF_FP, 16);
    row = row_here(PROGRAM("\x12\x06\x02"));
    is_cfa(&row, DWARF_FP, -16);
    row = row_here(PROGRAM("\x0d\x03"));
    is_cfa(&row, DWARF_RBX, 8);
    row = row_here(PROGRAM("\x0e\x28"));
    is_cfa(&row, DWARF_SP, 40);
    row = row_here(PROGRAM("\x13\x7b"));
    is_cfa(&row, DWARF_SP, 40);
}

static void test_cfa_expression(void **state)
{
    (void)state;
    struct row row = row_here(PROGRAM("\x0f\x03\x76\x78\x06"));
    assert_int_equal(row.cfa.kind, COLUMN_IS_EXPRESSION);
    assert_int_equal(row.cfa.bytes, 3);
    assert_memory_equal(row.cfa.expression, "\x76\x78\x06", 3);
    row = row_here(PROGRAM("\x0f\x03\x76\x78\x06\x0c\x07\x10"));
    is_cfa(&row, DWARF_SP, 16);
}

/* A change of the CFA's register or offset when the CFA has neither. */
static void test_cfa_nonsense(void **state)
{
    (void)state;
    struct row row;
    assert_false(row_at(PROGRAM("\x0f\x03\x76\x78\x06\x0e\x10"), 0, &row));
    assert_false(row_at(PROGRAM("\x0f\x03\x76\x78\x06\x13\x10"), 0, &row));
    assert_false(row_at(PROGRAM("\x0f\x03\x76\x78\x06\x0d\x07"), 0, &row));
    row = row_here(PROGRAM("\x0c\x87\x02\x10")); /* register 263 is not 7 */
    assert_true(row.cfa.reg >= DWARF_REGISTERS);
    row = row_here(PROGRAM("\x0d\x87\x02"));
    assert_true(row.cfa.reg >= DWARF_REGISTERS);
    row = row_here(PROGRAM("\x09\x03\x83\x80\x80\x80\x10")); /* 2^32 + 3 is not 3 */
    is_column(row.column[3], COLUMN_IN_REGISTER, DWARF_REGISTERS);
}

/* ---- instructions: registers ----------------------------------------------------------------- */

static void test_registers(void **state)
{
    (void)state;
    static const struct {
        const char *program;
        size_t bytes;
        enum column_kind kind;
        int64_t offset;
    } each[] = {
        {"\x83\x02", 2, COLUMN_AT_CFA, -16},     {"\x83\x80\x10", 3, COLUMN_AT_CFA, -16384},
        {"\x05\x03\x02", 3, COLUMN_AT_CFA, -16}, {"\x11\x03\x7f", 3, COLUMN_AT_CFA, 8},
        {"\x2f\x03\x02", 3, COLUMN_AT_CFA, 16},  {"\x07\x03", 2, COLUMN_UNDEFINED, 0},
        {"\x83\x02\x08\x03", 4, COLUMN_SAME, 0}, {"\x09\x03\x0c", 3, COLUMN_IN_REGISTER, 12},
        {"\x14\x03\x02", 3, COLUMN_IS_CFA, -16}, {"\x15\x03\x7e", 3, COLUMN_IS_CFA, 16},
    };
    for (unsigned i = 0; i < sizeof each / sizeof each[0]; i++) {
        struct row row = row_here((const uint8_t *)each[i].program, each[i].bytes);
        is_column(row.column[DWARF_RBX], each[i].kind, each[i].offset);
        is_cfa(&row, DWARF_SP, 8);
        for (unsigned k = 0; k < DWARF_RETURN; k++)
            assert_true(k == DWARF_RBX || row.column[k].kind == COLUMN_SAME);
    }
}

static void test_register_expressions(void **state)
{
    (void)state;
    struct row row = row_here(PROGRAM("\x10\x03\x02\x77\x08"));
    assert_int_equal(row.column[3].kind, COLUMN_AT_EXPRESSION);
    assert_int_equal(row.column[3].bytes, 2);
    assert_memory_equal(row.column[3].expression, "\x77\x08", 2);
    row = row_here(PROGRAM("\x16\x03\x02\x77\x08"));
    assert_int_equal(row.column[3].kind, COLUMN_IS_EXPRESSION);
    assert_memory_equal(row.column[3].expression, "\x77\x08", 2);
}

/* Registers that the walk does not use: vector registers, flags. */
static void test_other_registers(void **state)
{
    (void)state;
    struct row row =
        row_here(PROGRAM("\x91\x02\x05\x30\x02\xd1\x07\x31\x10\x11\x01\x30"
                         "\x16\x90\x01\x01\x30\x16\x11\x01\x30\x0a\x0b\x06\x80\x20\xc0"));
    struct row usual = row_here(PROGRAM(""));
    assert_memory_equal(&row, &usual, sizeof row);
}

static void test_restore(void **state)
{
    (void)state;
    struct cie_shape cie = CIE_USUAL;
    cie.more = (const uint8_t *)"\x83\x02";
    cie.more_bytes = 2;
    struct row row;
    assert_true(row_with(&cie, PROGRAM("\x83\x05\x86\x03"), 0, &row));
    is_column(row.column[3], COLUMN_AT_CFA, -40);
    is_column(row.column[6], COLUMN_AT_CFA, -24);
    assert_true(row_with(&cie, PROGRAM("\x83\x05\x86\x03\xc3\xc6"), 0, &row));
    is_column(row.column[3], COLUMN_AT_CFA, -16);
    is_column(row.column[6], COLUMN_SAME, 0);
    assert_true(row_with(&cie, PROGRAM("\x83\x05\x86\x03\x06\x03\x06\x06"), 0, &row));
    is_column(row.column[3], COLUMN_AT_CFA, -16);
    is_column(row.column[6], COLUMN_SAME, 0);
}

/* Each level has an offset of its own; they are restored in reverse order. */
static void test_remember(void **state)
{
    (void)state;
    for (unsigned depth = 1; depth <= 4; depth++) {
        uint8_t program[64];
        size_t n = 0;
        for (unsigned i = 0; i < depth; i++) {
            memcpy(program + n, "\x0a\x0e\0\x83\0", 5);
            program[n + 2] = (uint8_t)(16 * (i + 1));
            program[n + 4] = (uint8_t)(i + 2);
            n += 5;
        }
        struct row row;
        if (depth == 4) {
            assert_false(row_at(program, n, 0, &row));
            break;
        }
        for (unsigned back = 0; back <= depth; back++) {
            assert_true(row_at(program, n, 0, &row));
            is_cfa(&row, DWARF_SP, back == depth ? 8 : 16 * (depth - back));
            is_column(row.column[3], back == depth ? COLUMN_SAME : COLUMN_AT_CFA,
                      back == depth ? 0 : -8 * (int64_t)(depth - back + 1));
            program[n++] = 0x0b;
        }
        assert_false(row_at(program, n, 0, &row)); /* once more than remembered */
    }
}

static void test_no_matter(void **state)
{
    (void)state;
    struct row row = row_here(PROGRAM("\0\0\x2e\x80\x01\0"));
    struct row usual = row_here(PROGRAM(""));
    assert_memory_equal(&row, &usual, sizeof row);
}

/* ---- damaged programs ------------------------------------------------------------------------ */

static void test_unknown_instructions(void **state)
{
    (void)state;
    static const uint8_t known[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
                                    0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11,
                                    0x12, 0x13, 0x14, 0x15, 0x16, 0x2e, 0x2f};
    for (uint8_t op = 0; op < 0x40; op++) {
        uint8_t program[17] = {op};
        struct row row;
        if (!memchr(known, op, sizeof known))
            assert_false(row_at(program, sizeof program, 0, &row));
    }
}

/* Each instruction truncated at each of its bytes. */
static void test_cut_instructions(void **state)
{
    (void)state;
    static const struct {
        const char *program;
        size_t bytes;
    } each[] = {
        {"\x02\x01", 2},         {"\x03\x01\0", 3},           {"\x04\x01\0\0\0", 5},
        {"\x01\x01\0\0\0", 5},   {"\x0c\x86\0\x90\0", 5},     {"\x12\x86\0\x90\0", 5},
        {"\x0d\x86\0", 3},       {"\x0e\x90\0", 3},           {"\x13\x90\0", 3},
        {"\x0f\x02\x77\x08", 4}, {"\x83\x82\0", 3},           {"\x05\x83\0\x82\0", 5},
        {"\x11\x83\0\x82\0", 5}, {"\x2f\x83\0\x82\0", 5},     {"\x07\x83\0", 3},
        {"\x08\x83\0", 3},       {"\x09\x83\0\x82\0", 5},     {"\x14\x83\0\x82\0", 5},
        {"\x15\x83\0\x82\0", 5}, {"\x06\x83\0", 3},           {"\x10\x03\x02\x77\x08", 5},
        {"\x2e\x80\0", 3},       {"\x16\x03\x02\x77\x08", 5},
    };
    for (unsigned i = 0; i < sizeof each / sizeof each[0]; i++) {
        struct row row;
        const uint8_t *program = (const uint8_t *)each[i].program;
        for (size_t n = 1; n < each[i].bytes; n++)
            assert_false(row_at(program, n, 0, &row));
        assert_true(row_at(program, each[i].bytes, 0, &row));
    }
}

/* Numbers that exceed a machine word. */
static void test_large_numbers(void **state)
{
    (void)state;
    struct row row = row_here(PROGRAM("\x83\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    is_column(row.column[3], COLUMN_AT_CFA, 8);
    row = row_here(PROGRAM("\x2f\x03\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"));
    is_column(row.column[3], COLUMN_AT_CFA, 0);
    row = row_here(PROGRAM("\x0e\x90\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\0"));
    is_cfa(&row, DWARF_SP, 16);
    row = row_here(PROGRAM("\x12\x07\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"));
    is_cfa(&row, DWARF_SP, 8);
    row = row_here(PROGRAM("\x13\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f"));
    is_cfa(&row, DWARF_SP, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beginning),
        cmocka_unit_test(test_advance),
        cmocka_unit_test(test_set_location),
        cmocka_unit_test(test_cfa),
        cmocka_unit_test(test_cfa_expression),
        cmocka_unit_test(test_cfa_nonsense),
        cmocka_unit_test(test_registers),
        cmocka_unit_test(test_register_expressions),
        cmocka_unit_test(test_other_registers),
        cmocka_unit_test(test_restore),
        cmocka_unit_test(test_remember),
        cmocka_unit_test(test_no_matter),
        cmocka_unit_test(test_unknown_instructions),
        cmocka_unit_test(test_cut_instructions),
        cmocka_unit_test(test_large_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

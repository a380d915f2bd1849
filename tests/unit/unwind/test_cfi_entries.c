/*
 * test_cfi_entries.c - each encoding of CFI entries and pointers, each way to find an entry; and
 * damaged headers and entries, which must be refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi_rows.h"

/* ---- entries --------------------------------------------------------------------------------- */

static bool usual_row(const struct cie_shape *cie, struct cfi *out)
{
    struct row row;
    frames_begin(&frames);
    uint32_t cie_at = put_cie(&frames, cie);
    put_fde(&frames, cie, cie_at, frames_code(&frames), 100, PROGRAM("\x44\x0e\x10"));
    struct object o = frames_end(&frames, true);
    uintptr_t pc = frames_code(&frames) + 50;
    if (!cfi_find(&o, pc, out) || !cfi_row(out, pc, &row))
        return false;
    is_cfa(&row, DWARF_SP, 16);
    assert_true(out->start == frames_code(&frames) && out->bytes == 100);
    return true;
}

static void test_versions(void **state)
{
    (void)state;
    for (unsigned version = 0; version < 7; version++) {
        struct cie_shape cie = CIE_USUAL;
        struct cfi f;
        cie.version = (uint8_t)version;
        assert_int_equal(usual_row(&cie, &f), version == 1 || version == 3 || version == 4);
    }
}

static void test_return_register(void **state)
{
    (void)state;
    struct cie_shape cie = CIE_USUAL;
    struct cfi f;
    cie.return_register = 17;
    assert_false(usual_row(&cie, &f));
    cie.version = 3;
    assert_false(usual_row(&cie, &f));
    cie.return_register = 16 + 256;
    assert_false(usual_row(&cie, &f));
}

static void test_augmentations(void **state)
{
    (void)state;
    static const struct {
        const char *letters;
        bool good, signal;
    } each[] = {{"zR", true, false}, {"zPLR", true, false}, {"zRS", true, true},
                {"", true, false},   {"zRB", true, false},  {"zPLRS", true, true},
                {"R", false, false}, {"eh", false, false},  {"zRX", true, false}};
    for (unsigned i = 0; i < sizeof each / sizeof each[0]; i++) {
        struct cie_shape cie = CIE_USUAL;
        struct cfi f;
        cie.letters = each[i].letters;
        assert_int_equal(usual_row(&cie, &f), each[i].good);
        if (each[i].good)
            assert_int_equal(f.signal, each[i].signal);
    }
}

static void test_wide(void **state)
{
    (void)state;
    struct cie_shape cie = CIE_USUAL;
    struct cfi f;
    cie.wide = true;
    assert_true(usual_row(&cie, &f));
}

static void test_encodings(void **state)
{
    (void)state;
    for (unsigned encoding = 0; encoding < 256; encoding++) {
        unsigned form = encoding & 0x0f, relative = encoding & 0xf0;
        struct cie_shape cie = CIE_USUAL;
        struct cfi f;
        bool known = form <= 4 || (form >= 9 && form <= 12);
        bool whole = form != 2 && form != 10 && !(relative == 0 && (form == 3 || form == 11));
        cie.encoding = (uint8_t)encoding;
        if (!known || (relative != 0 && relative != 0x10))
            assert_false(usual_row(&cie, &f));
        else if (whole) /* else the address does not fit */
            assert_true(usual_row(&cie, &f));
    }
}

/* Functions near the beginning of the address space, in two and four bytes. */
static void test_small_pointers(void **state)
{
    (void)state;
    static const uint8_t encodings[] = {0x02, 0x0a, 0x03, 0x0b, 0x01, 0x09};
    for (unsigned i = 0; i < sizeof encodings; i++) {
        struct cie_shape cie = CIE_USUAL;
        struct cfi f;
        cie.encoding = encodings[i];
        frames_begin(&frames);
        put_fde(&frames, &cie, put_cie(&frames, &cie), 0x1234, 100, PROGRAM(""));
        struct object o = frames_end(&frames, false);
        assert_true(cfi_find(&o, 0x1234 + 99, &f));
        assert_false(cfi_find(&o, 0x1234 + 100, &f));
        assert_false(cfi_find(&o, 0x1233, &f));
    }
}

/* A function just before its FDE, within a two-byte offset. */
static void test_near(void **state)
{
    (void)state;
    struct cie_shape cie = CIE_USUAL;
    struct cfi f;
    uintptr_t start = (uintptr_t)frames.byte - 100;
    cie.encoding = 0x1a;
    frames_begin(&frames);
    put_fde(&frames, &cie, put_cie(&frames, &cie), start, 100, PROGRAM(""));
    struct object o = frames_end(&frames, true);
    assert_true(cfi_find(&o, start, &f) && cfi_find(&o, start + 99, &f));
    assert_false(cfi_find(&o, start - 1, &f) || cfi_find(&o, start + 100, &f));
}

/* ---- lookup ---------------------------------------------------------------------------------- */

#define FUNCTIONS 40u
#define DISTANCE 100u

static struct object many_functions(bool table)
{
    /* clang-format off */
    const struct cie_shape cie[2] = {CIE_USUAL, {.letters = "zPLR", .version = 1, .encoding = 0x1b,
                                     .code_align = 1, .data_align = -8, .return_register = 16}};
    /* clang-format on */
    uint32_t at[2];
    frames_begin(&frames);
    for (unsigned i = 0; i < 2; i++)
        at[i] = put_cie(&frames, &cie[i]);
    for (unsigned i = 0; i < FUNCTIONS; i++)
        put_fde(&frames, &cie[i % 2], at[i % 2], frames_code(&frames) + i * DISTANCE,
                DISTANCE - i % 3, PROGRAM("\x41\x0e\x10\x03\x05\x01"));
    return frames_end(&frames, table);
}

static void test_finding(void **state)
{
    (void)state;
    for (unsigned table = 0; table < 2; table++) {
        struct object o = many_functions(table);
        uintptr_t code = frames_code(&frames);
        struct cfi f;
        assert_false(cfi_find(&o, code - 1, &f));
        for (uintptr_t at = 0; at < FUNCTIONS * DISTANCE; at++) {
            uintptr_t i = at / DISTANCE, bytes = DISTANCE - i % 3;
            assert_int_equal(cfi_find(&o, code + at, &f), at % DISTANCE < bytes);
            if (at % DISTANCE < bytes)
                assert_true(f.start == code + i * DISTANCE && f.bytes == bytes);
        }
        assert_false(cfi_find(&o, code + FUNCTIONS * DISTANCE, &f));
        assert_false(cfi_find(&o, 0, &f));
        assert_false(cfi_find(&o, UINTPTR_MAX, &f));
    }
}

static void test_no_functions(void **state)
{
    (void)state;
    for (unsigned table = 0; table < 2; table++) {
        struct cfi f;
        frames_begin(&frames);
        struct object o = frames_end(&frames, table);
        assert_false(cfi_find(&o, frames_code(&frames), &f));
    }
}

/* ---- damaged headers and entries ------------------------------------------------------------- */

/* Is the first function still found if the bytes at `at` are replaced? */
static bool found_with(bool table, uint32_t at, uint64_t value, unsigned bytes)
{
    struct object o = many_functions(table);
    struct cfi f;
    memcpy(frames.byte + at, &value, bytes);
    return cfi_find(&o, frames_code(&frames), &f);
}

static uint32_t first_entry(void)
{
    many_functions(true);
    return (uint32_t)frames.pair[0][1];
}

static void test_damaged_header(void **state)
{
    (void)state;
    assert_true(found_with(true, 0, 1, 1));
    assert_false(found_with(true, 0, 2, 1)); /* version */
    assert_false(found_with(true, 1, 0x2b, 1));
    assert_false(found_with(true, 2, 0x07, 1));
    assert_true(found_with(true, 3, 0x3c, 1));        /* an unusual table: linear search */
    assert_false(found_with(true, 8, 0xffffffff, 4)); /* number of entries */
    assert_false(found_with(true, 8, 0, 4));
    assert_false(found_with(true, 16, 0x7fffffff, 4)); /* an entry outside of the object */
    assert_false(found_with(true, 16, 0x80000000, 4));
    assert_false(found_with(false, 4, 0x7fffff00, 4)); /* address of the entries */
    assert_false(found_with(false, 4, 0x80000000, 4));
    assert_false(found_with(false, 1, 0x9b, 1)); /* an indirect pointer is not supported */
}

static void test_index_elsewhere(void **state)
{
    (void)state;
    struct object o = many_functions(true);
    struct cfi f;
    o.index = (const uint8_t *)o.end;
    assert_false(cfi_find(&o, frames_code(&frames), &f));
    o.index = (const uint8_t *)o.start - 1;
    assert_false(cfi_find(&o, frames_code(&frames), &f));
}

static void test_damaged_entries(void **state)
{
    (void)state;
    uint32_t fde = first_entry(), cie = HEADER_BYTES;
    assert_true(found_with(true, fde + 4, fde + 4 - cie, 4));
    assert_false(found_with(true, fde, 0x7fffffff, 4)); /* length */
    assert_false(found_with(true, fde, 0, 4));
    assert_false(found_with(true, fde, 3, 4));
    assert_false(found_with(true, fde, 7, 4));
    assert_false(found_with(true, fde, UINT64_MAX, 8));
    assert_false(found_with(true, fde + 4, 0, 4)); /* a CIE itself */
    assert_false(found_with(true, fde + 4, 0x7fffffff, 4));
    assert_false(found_with(true, fde + 4, 0xffffffff, 4));
    assert_false(found_with(true, fde + 4, 4, 4));    /* another FDE */
    assert_false(found_with(true, fde + 16, 100, 1)); /* length of its augmentation */
    assert_false(found_with(true, cie, 0x7fffffff, 4));
    assert_false(found_with(true, cie, 8, 4));
    assert_false(found_with(true, cie + 4, 1, 4));
    assert_false(found_with(true, cie + 9, 'q', 1));  /* not "z..." */
    assert_false(found_with(true, cie + 15, 100, 1)); /* length of its augmentation */
    assert_false(found_with(true, cie + 15, 0xffff, 2));
}

/* A CIE that is too short for its fields. */
static void test_cut_cie(void **state)
{
    (void)state;
    for (uint32_t bytes = 0; bytes < 20; bytes++)
        assert_int_equal(found_with(true, HEADER_BYTES, bytes, 4), bytes >= 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_return_register),
        cmocka_unit_test(test_augmentations),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_small_pointers),
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_finding),
        cmocka_unit_test(test_no_functions),
        cmocka_unit_test(test_damaged_header),
        cmocka_unit_test(test_index_elsewhere),
        cmocka_unit_test(test_damaged_entries),
        cmocka_unit_test(test_cut_cie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

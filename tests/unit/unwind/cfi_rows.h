/*
 * cfi_rows.h - for tests: the unwind table row at an address in a function with CFI built by the
 * test.
 */
#ifndef CFI_ROWS_H
#define CFI_ROWS_H

#include "frames.h"

#include <cmocka.h>

static struct frames frames;

#define FUNCTION_BYTES 1000u

static inline bool row_with(const struct cie_shape *cie, const uint8_t *program, size_t n,
                            unsigned at, struct row *row)
{
    struct cfi f;
    frames_begin(&frames);
    uint32_t cie_at = put_cie(&frames, cie);
    put_fde(&frames, cie, cie_at, frames_code(&frames), FUNCTION_BYTES, program, n);
    struct object o = frames_end(&frames, true);
    return cfi_find(&o, frames_code(&frames) + at, &f) &&
           cfi_row(&f, frames_code(&frames) + at, row);
}

static inline bool row_at(const uint8_t *program, size_t n, unsigned at, struct row *row)
{
    const struct cie_shape usual = CIE_USUAL;
    return row_with(&usual, program, n, at, row);
}

static inline void is_column(struct column c, enum column_kind kind, int64_t offset)
{
    assert_int_equal(c.kind, kind);
    assert_int_equal(c.offset, offset);
}

static inline void is_cfa(const struct row *row, unsigned reg, int64_t offset)
{
    assert_int_equal(row->cfa.reg, reg);
    is_column(row->cfa, COLUMN_AT_REGISTER, offset);
}

static inline struct row row_here(const uint8_t *program, size_t n)
{
    struct row row;
    assert_true(row_at(program, n, 0, &row));
    return row;
}

#endif

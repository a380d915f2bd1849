/*
 * unwind_table.c - frame descriptions of the copy, by which exceptions, pthread_cancel and backtrace
 * pass through it.
 *
 * Each translated function gets an FDE for its copy, which is in one piece.  Its instructions are those
 * of the original, but the locations: a change of state at an instruction is one at the start of its
 * copy, which is its check.  Functions with an LSDA stay native, so no description needs a personality.
 *
 * A function stays native if its instructions cannot be read, if one of their locations is inside of an
 * instruction, or if an expression may depend on the pc or an address.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "format/bits.h"
#include "translate_priv.h"

#define LOCATIONS 0xc0 /* the bits of the three instructions that contain their first operand */
#define ALIGNMENT 4u
#define POINTERS (DW_EH_PE_pcrel | DW_EH_PE_sdata4)

/* The instructions of one function, or of a CIE. */
struct move {
    const struct code *code;
    const uint32_t *copy_of; /* NULL: only verify */
    const struct plan_function *function;
    uint64_t code_alignment;
    const uint8_t *at, *end;
    uint64_t location; /* in the original function */
    uint32_t placed;   /* in the copy */
    struct buffer *out;
};

static bool read_uleb128(struct move *m, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; m->at < m->end && shift < 64; shift += 7) {
        uint8_t byte = *m->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/*
 * An expression must not contain an address, or register 16, the pc.  All bytes are compared, not only
 * the operations: a function too many stays native.
 */
static bool skip_expression(struct move *m)
{
    uint64_t bytes;

    if (!read_uleb128(m, &bytes) || bytes > (uint64_t)(m->end - m->at))
        return false;
    for (; bytes > 0; bytes--, m->at++)
        if (*m->at == DW_OP_addr || *m->at == DW_OP_breg16 || *m->at == DW_OP_bregx)
            return false;
    return true;
}

/* Operands: n is a LEB128, e an expression; NULL: not moved. */
static const char *operands_of(uint8_t operation)
{
    static const char *const operands[] = {
        [DW_CFA_offset_extended] = "nn",    [DW_CFA_restore_extended] = "n",
        [DW_CFA_undefined] = "n",           [DW_CFA_same_value] = "n",
        [DW_CFA_register] = "nn",           [DW_CFA_remember_state] = "",
        [DW_CFA_restore_state] = "",        [DW_CFA_def_cfa] = "nn",
        [DW_CFA_def_cfa_register] = "n",    [DW_CFA_def_cfa_offset] = "n",
        [DW_CFA_def_cfa_expression] = "e",  [DW_CFA_expression] = "ne",
        [DW_CFA_offset_extended_sf] = "nn", [DW_CFA_def_cfa_sf] = "nn",
        [DW_CFA_def_cfa_offset_sf] = "n",   [DW_CFA_val_offset] = "nn",
        [DW_CFA_val_offset_sf] = "nn",      [DW_CFA_val_expression] = "ne",
        [DW_CFA_GNU_args_size] = "n",       [DW_CFA_GNU_negative_offset_extended] = "nn",
    };

    if ((operation & LOCATIONS) == DW_CFA_offset)
        return "n";
    if ((operation & LOCATIONS) == DW_CFA_restore)
        return "";
    return operation < countof(operands) ? operands[operation] : NULL;
}

static bool skip_operands(struct move *m, const char *operands)
{
    uint64_t ignored;

    for (; operands && *operands; operands++)
        if (*operands == 'e' ? !skip_expression(m) : !read_uleb128(m, &ignored))
            return false;
    return operands != NULL;
}

/* From one location to another, in its shortest form. */
static void put_advance(struct buffer *out, uint32_t bytes)
{
    if (bytes < 0x40)
        put(out, 1, DW_CFA_advance_loc | bytes);
    else if (bytes <= UINT8_MAX)
        put(out, 2, DW_CFA_advance_loc1, (int)bytes);
    else if (bytes <= UINT16_MAX)
        put(out, 3, DW_CFA_advance_loc2, (int)(bytes & 0xff), (int)(bytes >> 8));
    else {
        put(out, 1, DW_CFA_advance_loc4);
        put_i32(out, bytes);
    }
}

/* Before an instruction that changes the state. */
static void put_location(struct move *m)
{
    if (!m->copy_of)
        return;
    const uint32_t *index = m->code->index + m->function->start;
    uint32_t to = m->copy_of[index[m->location]] - m->copy_of[index[0]];
    if (to != m->placed)
        put_advance(m->out, to - m->placed);
    m->placed = to;
}

/* What follows the function's end has no effect. */
static bool advance(struct move *m, uint64_t by)
{
    uint64_t bytes = 0;

    if (!m->function || !checked_mul(by, m->code_alignment, &bytes))
        return false;
    if (bytes >= m->function->bytes - m->location) {
        m->at = m->end;
        return true;
    }
    m->location += bytes;
    return m->code->index[m->function->start + m->location] != NONE;
}

/* The distance of an instruction that advances the location; 0 bytes: it does not. */
static unsigned advance_bytes(uint8_t operation)
{
    switch (operation) {
    case DW_CFA_advance_loc1:
        return 1;
    case DW_CFA_advance_loc2:
        return 2;
    case DW_CFA_advance_loc4:
        return 4;
    default:
        return 0;
    }
}

static bool move_one(struct move *m)
{
    const uint8_t *first = m->at;
    uint8_t operation = *m->at++;
    unsigned bytes = advance_bytes(operation);
    uint32_t by = 0;

    if (operation == DW_CFA_nop)
        return true;
    if ((operation & LOCATIONS) == DW_CFA_advance_loc)
        return advance(m, operation & ~LOCATIONS);
    if (bytes > 0) {
        if ((size_t)(m->end - m->at) < bytes)
            return false;
        memcpy(&by, m->at, bytes);
        m->at += bytes;
        return advance(m, by);
    }
    if (!skip_operands(m, operands_of(operation)))
        return false;
    if (m->function)
        put_location(m);
    put_bytes(m->out, first, (uint32_t)(m->at - first));
    return true;
}

static bool move_all(struct move *m)
{
    while (m->at < m->end)
        if (!move_one(m))
            return false;
    return true;
}

static bool is_movable(const struct functions *f, const struct code *c, uint32_t n)
{
    struct buffer ignored = {0};
    const struct frame *frame = &f->frames[n];

    if (frame->cie == NONE)
        return false;
    const struct frame_cie *cie = &f->cies[frame->cie];
    struct move start = {.at = cie->at, .end = cie->end, .out = &ignored};
    struct move all = {.code = c,
                       .function = &f->at[n],
                       .code_alignment = cie->code_alignment,
                       .at = frame->at,
                       .end = frame->end,
                       .out = &ignored};
    bool is_read = move_all(&start) && move_all(&all);
    free(ignored.at);
    return is_read;
}

void unwind_select(struct functions *f, const struct code *c)
{
    for (uint32_t n = 0; n < f->count; n++)
        if (f->at[n].state == PLAN_TRANSLATED && !is_movable(f, c, n))
            f->at[n].state = PLAN_FRAME;
}

/* ---- the table ------------------------------------------------------------------------------- */

struct table {
    const struct emission *e;
    struct buffer *out;
    uint32_t base;   /* where it begins, from the first byte of the copy */
    uint32_t *place; /* of each CIE in the table; NONE: not written yet */
    uint32_t count;  /* entries */
};

/* Nops up to a multiple of 4 bytes, then the length at the start of the item. */
static void end_item(struct buffer *out, uint32_t start)
{
    while (out->bytes % ALIGNMENT)
        put(out, 1, DW_CFA_nop);
    patch_i32(out, start, out->bytes - start - 4);
}

static void put_cie(struct table *t, uint32_t number)
{
    const struct frame_cie *cie = &t->e->functions->cies[number];
    struct move start = {.at = cie->at, .end = cie->end, .out = t->out};
    uint32_t at = t->place[number] = t->out->bytes;

    put_i32(t->out, 0);
    put_i32(t->out, 0); /* it is a CIE */
    put(t->out, 1, 1);  /* the version */
    put_bytes(t->out, cie->is_signal ? "zRS" : "zR", cie->is_signal ? 4 : 3);
    put_uleb128(t->out, 1);
    put_sleb128(t->out, cie->data_alignment);
    put(t->out, 3, cie->return_register, 1, POINTERS);
    move_all(&start);
    end_item(t->out, at);
}

/* The address in the copy, from this place. */
static void put_address(struct table *t, uint32_t copy)
{
    put_i32(t->out, (int64_t)copy - ((int64_t)t->base + t->out->bytes));
}

static void put_fde(struct table *t, uint32_t n, uint32_t copy, uint32_t end)
{
    const struct functions *f = t->e->functions;
    const struct frame *frame = &f->frames[n];
    uint32_t at = t->out->bytes;
    struct move all = {.code = t->e->code,
                       .copy_of = t->e->copy_of,
                       .function = &f->at[n],
                       .code_alignment = f->cies[frame->cie].code_alignment,
                       .at = frame->at,
                       .end = frame->end,
                       .out = t->out};

    put_i32(t->out, 0);
    put_i32(t->out, t->out->bytes - t->place[frame->cie]);
    put_address(t, copy);
    put_i32(t->out, end - copy);
    put_uleb128(t->out, 0); /* no augmentation data */
    move_all(&all);
    end_item(t->out, at);
}

static uint32_t copy_of_function(const struct emission *e, uint32_t n)
{
    const struct plan_function *f = &e->functions->at[n];

    return f->state == PLAN_TRANSLATED ? e->copy_of[e->code->index[f->start]] : NONE;
}

static void put_function(struct table *t, uint32_t n, uint32_t copy, uint32_t end)
{
    uint32_t cie = t->e->functions->frames[n].cie,
             entry = (uint32_t)(sizeof(struct plan_unwind_header) +
                                t->count++ * sizeof(struct plan_unwind_entry));

    if (t->place[cie] == NONE)
        put_cie(t, cie);
    patch_i32(t->out, entry, (int64_t)copy - t->base);
    patch_i32(t->out, entry + 4, t->out->bytes);
    put_fde(t, n, copy, end);
}

/* The header, and zeros for its entries. */
static void put_header(struct table *t, uint32_t count)
{
    uint64_t bytes = sizeof(struct plan_unwind_header) + count * sizeof(struct plan_unwind_entry);

    put_i32(t->out, PLAN_UNWIND_FORM);
    put_i32(t->out, (int64_t)bytes - t->out->bytes);
    put_i32(t->out, count);
    while (t->out->bytes < bytes)
        put(t->out, 1, 0);
}

/* From the last function to the first, each ends where the next begins; they are written in order. */
static uint32_t *ends_of(const struct emission *e, uint32_t *count)
{
    const struct functions *f = e->functions;
    uint32_t *ends = zeroed(f->count, sizeof *ends), end = e->body_bytes;

    *count = 0;
    for (uint32_t n = f->count; n-- > 0;) {
        uint32_t copy = copy_of_function(e, n);
        ends[n] = end;
        end = copy == NONE ? end : copy;
        *count += copy != NONE;
    }
    return ends;
}

void unwind_make(struct buffer *out, const struct emission *e)
{
    const struct functions *f = e->functions;
    struct table t = {
        .e = e, .out = out, .base = (uint32_t)align_up(e->out.bytes, PLAN_COPY_OFFSET)};
    uint32_t count, *ends = ends_of(e, &count);

    t.place = zeroed(f->cie_count, sizeof *t.place);
    memset(t.place, 0xff, f->cie_count * sizeof *t.place);
    put_header(&t, count);
    for (uint32_t n = 0; n < f->count; n++) {
        uint32_t copy = copy_of_function(e, n);
        if (copy != NONE)
            put_function(&t, n, copy, ends[n]);
    }
    put_i32(out, 0); /* the end of .eh_frame */
    free(ends);
    free(t.place);
}

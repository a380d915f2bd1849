/*
 * cfi.c - call frame information (CFI, .eh_frame): from a pc to the row that unwinds its frame.
 *
 * A module's .eh_frame_hdr is a sorted table of function starts.  Each entry refers to an FDE,
 * which with its CIE is a program for a simple machine.  Run up to the pc, the program yields one
 * row.  The row contains the CFA (the stack pointer before the call) and the locations of the
 * caller's registers, relative to this frame's registers.  The bytes are mapped by the loader from
 * the module's file.  Their content is trusted, but never read beyond the lengths it contains.
 */
#include "unwinder_priv.h"

#include <string.h>

/* ---- reading --------------------------------------------------------------------------------- */

struct bytes {
    const uint8_t *at;
    const uint8_t *end;
    bool bad; /* a read beyond the end, or unsupported content */
};

static uint64_t take(struct bytes *b, unsigned n)
{
    uint64_t v = 0;
    if ((size_t)(b->end - b->at) < n) {
        b->bad = true;
        b->at = b->end;
        return 0;
    }
    memcpy(&v, b->at, n);
    b->at += n;
    return v;
}

static int64_t take_signed(struct bytes *b, unsigned n)
{
    unsigned unused = 64 - 8 * n;
    return (int64_t)(take(b, n) << unused) >> unused;
}

static uint64_t take_leb(struct bytes *b, bool is_signed)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)take(b, 1);
        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && !b->bad);
    if (is_signed && byte & 0x40 && shift < 64)
        v |= ~0ull << shift;
    return v;
}

static uint64_t uleb(struct bytes *b)
{
    return take_leb(b, false);
}

static int64_t sleb(struct bytes *b)
{
    return (int64_t)take_leb(b, true);
}

/* DW_EH_PE_*: the low half is the format, then come the base and a bit for indirection. */
enum { PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_RELATIVE = 0x70, PE_INDIRECT = 0x80, PE_OMIT = 0xff };

static uint64_t take_form(struct bytes *b, uint8_t form)
{
    switch (form) {
    case 0x00:
        return take(b, 8);
    case 0x01:
        return uleb(b);
    case 0x02:
        return take(b, 2);
    case 0x03:
        return take(b, 4);
    case 0x04:
        return take(b, 8);
    case 0x09:
        return (uint64_t)sleb(b);
    case 0x0a:
        return (uint64_t)take_signed(b, 2);
    case 0x0b:
        return (uint64_t)take_signed(b, 4);
    case 0x0c:
        return take(b, 8);
    default:
        b->bad = true;
        return 0;
    }
}

static uintptr_t take_pointer(struct bytes *b, uint8_t encoding, uintptr_t data)
{
    uintptr_t here = (uintptr_t)b->at;
    uint64_t v;
    if (encoding == PE_OMIT)
        return 0;
    v = take_form(b, encoding & 0x0f);
    if ((encoding & PE_RELATIVE) == PE_PCREL)
        v += here;
    else if ((encoding & PE_RELATIVE) == PE_DATAREL)
        v += data;
    else if (encoding & PE_RELATIVE)
        b->bad = true;
    b->bad = b->bad || encoding & PE_INDIRECT; /* unsupported: no toolchain uses it here */
    return (uintptr_t)v;
}

/* ---- entries --------------------------------------------------------------------------------- */

static bool is_inside(const struct object *o, const uint8_t *at)
{
    return (uintptr_t)at >= o->start && (uintptr_t)at < o->end;
}

/*
 * The body of the entry at `at`; false: its length exceeds the object.  A terminator has an empty
 * body.
 */
static bool entry_body(const uint8_t *at, const struct object *o, struct bytes *body)
{
    struct bytes b = {at, (const uint8_t *)o->end, false};
    uint64_t bytes = take(&b, 4);
    if (bytes == 0xffffffff)
        bytes = take(&b, 8);
    if (b.bad || bytes > (uint64_t)(b.end - b.at))
        return false;
    *body = (struct bytes){b.at, b.at + bytes, false};
    return true;
}

static void take_augmentation(struct bytes *b, const char *letters, struct cfi *f)
{
    uint64_t bytes = uleb(b);
    if (bytes > (uint64_t)(b->end - b->at)) {
        b->bad = true;
        return;
    }
    const uint8_t *end = b->at + bytes;
    for (letters++; *letters; letters++) {
        if (*letters == 'R')
            f->encoding = (uint8_t)take(b, 1);
        else if (*letters == 'P')
            take_pointer(b, (uint8_t)take(b, 1) & (uint8_t)~PE_INDIRECT, 0);
        else if (*letters == 'L')
            take(b, 1);
        else if (*letters == 'S')
            f->signal = true;
        else
            break; /* the length gives the end anyway */
    }
    b->at = end;
}

static bool read_cie(const uint8_t *at, const struct object *o, struct cfi *f)
{
    struct bytes b;
    if (!is_inside(o, at) || !entry_body(at, o, &b) || take(&b, 4) != 0)
        return false;
    uint8_t version = (uint8_t)take(&b, 1);
    const char *letters = (const char *)b.at;
    while (take(&b, 1))
        continue;
    if (b.bad)
        return false; /* the string is not terminated */
    if (version >= 4)
        take(&b, 2); /* sizes of addresses and of segment selectors */
    f->code_align = uleb(&b);
    f->data_align = sleb(&b);
    f->return_register = (uint32_t)(version == 1 ? take(&b, 1) : uleb(&b));
    f->augmented = letters[0] == 'z';
    if (f->augmented)
        take_augmentation(&b, letters, f);
    f->cie_code = b.at;
    f->cie_end = b.end;
    return !b.bad && (version == 1 || version == 3 || version == 4) &&
           (f->augmented || !letters[0]);
}

/* false: a CIE, the terminator, or unsupported. */
static bool read_fde(const uint8_t *at, const struct object *o, struct cfi *f)
{
    struct bytes b;
    *f = (struct cfi){.encoding = 0};
    if (!entry_body(at, o, &b) || b.at == b.end)
        return false;
    const uint8_t *here = b.at;
    uint32_t back = (uint32_t)take(&b, 4);
    if (!back || !read_cie(here - back, o, f))
        return false;
    f->start = take_pointer(&b, f->encoding, 0);
    f->bytes = take_pointer(&b, f->encoding & 0x0f, 0);
    if (f->augmented) {
        uint64_t bytes = uleb(&b);
        if (bytes > (uint64_t)(b.end - b.at))
            return false;
        b.at += bytes;
    }
    f->code = b.at;
    f->end = b.end;
    return !b.bad;
}

/* ---- lookup ---------------------------------------------------------------------------------- */

#define TABLE_ENCODING (PE_DATAREL | 0x0b) /* as written by all linkers: pairs of 32-bit offsets */

struct pair {
    int32_t start, entry;
};

static struct pair pair_at(const uint8_t *table, uint64_t i)
{
    struct pair p;
    memcpy(&p, table + i * sizeof p, sizeof p); /* perhaps unaligned */
    return p;
}

static const uint8_t *search(const uint8_t *table, uint64_t count, uintptr_t base, uintptr_t pc)
{
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (base + (uintptr_t)(intptr_t)pair_at(table, middle).start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? (const uint8_t *)(base + (uintptr_t)(intptr_t)pair_at(table, low - 1).entry)
               : NULL;
}

static bool holds(const struct cfi *f, uintptr_t pc)
{
    return pc - f->start < f->bytes;
}

/* Without a table: linear search. */
static bool scan(const uint8_t *at, const struct object *o, uintptr_t pc, struct cfi *out)
{
    struct bytes body;
    if (!is_inside(o, at))
        return false;
    while (entry_body(at, o, &body) && body.at != body.end) {
        if (read_fde(at, o, out) && holds(out, pc))
            return true;
        at = body.end;
    }
    return false;
}

bool cfi_find(const struct object *o, uintptr_t pc, struct cfi *out)
{
    uintptr_t base = (uintptr_t)o->index;
    if (!is_inside(o, o->index))
        return false;
    struct bytes b = {o->index, (const uint8_t *)o->end, false};
    if (take(&b, 1) != 1)
        return false;
    uint8_t frames_encoding = (uint8_t)take(&b, 1), count_encoding = (uint8_t)take(&b, 1),
            table_encoding = (uint8_t)take(&b, 1);
    const uint8_t *frames = (const uint8_t *)take_pointer(&b, frames_encoding, base);
    uint64_t count = take_pointer(&b, count_encoding, base);
    if (b.bad)
        return false;
    if (count_encoding == PE_OMIT || table_encoding != TABLE_ENCODING)
        return scan(frames, o, pc, out);
    if (count > (uint64_t)(b.end - b.at) / sizeof(struct pair))
        return false;
    const uint8_t *entry = search(b.at, count, base, pc);
    return is_inside(o, entry) && read_fde(entry, o, out) && holds(out, pc);
}

/* ---- the machine ----------------------------------------------------------------------------- */

#define REMEMBER_MAX 3u /* compilers nest one level; a handler's stack is small */

struct machine {
    const struct cfi *f;
    struct row *row;
    struct row first; /* row of the CIE, for DW_CFA_restore */
    struct row remembered[REMEMBER_MAX];
    unsigned depth;
    uintptr_t at; /* the row is valid from here on */
};

static void set(struct row *row, uint64_t reg, enum column_kind kind, int64_t offset)
{
    if (reg < DWARF_REGISTERS)
        row->column[reg] = (struct column){.offset = offset, .kind = (uint8_t)kind};
}

static struct column take_expression(struct bytes *b, enum column_kind kind)
{
    uint64_t bytes = uleb(b);
    struct column c = {.expression = b->at, .bytes = (uint32_t)bytes, .kind = (uint8_t)kind};
    if (bytes > (uint64_t)(b->end - b->at))
        b->bad = true;
    else
        b->at += bytes;
    return c;
}

static void set_expression(struct row *row, uint64_t reg, enum column_kind kind, struct bytes *b)
{
    struct column c = take_expression(b, kind);
    if (reg < DWARF_REGISTERS)
        row->column[reg] = c;
}

/* All registers without a column of their own map to one number. */
static uint8_t known_register(uint64_t reg)
{
    return (uint8_t)(reg < DWARF_REGISTERS ? reg : DWARF_REGISTERS);
}

static void define_cfa(struct row *row, uint64_t reg, int64_t offset)
{
    row->cfa =
        (struct column){.offset = offset, .kind = COLUMN_AT_REGISTER, .reg = known_register(reg)};
}

static void restore(struct machine *m, uint64_t reg)
{
    if (reg < DWARF_REGISTERS)
        m->row->column[reg] = m->first.column[reg];
}

static bool remember(struct machine *m)
{
    if (m->depth == REMEMBER_MAX)
        return false;
    m->remembered[m->depth++] = *m->row;
    return true;
}

static bool recall(struct machine *m)
{
    if (!m->depth)
        return false;
    *m->row = m->remembered[--m->depth];
    return true;
}

/* DW_CFA_set_loc and advance_loc1/2/4; false: another operation. */
static bool advance(struct machine *m, uint8_t op, struct bytes *b)
{
    uint64_t align = m->f->code_align;
    switch (op) {
    case 0x01:
        m->at = take_pointer(b, m->f->encoding, 0);
        return true;
    case 0x02:
        m->at += take(b, 1) * align;
        return true;
    case 0x03:
        m->at += take(b, 2) * align;
        return true;
    case 0x04:
        m->at += take(b, 4) * align;
        return true;
    default:
        return false;
    }
}

/* The operands come from a file: overflow must wrap. */
static int64_t factored(uint64_t n, int64_t align)
{
    return (int64_t)(n * (uint64_t)align);
}

static bool change_cfa(struct row *row, uint8_t op, struct bytes *b, int64_t align)
{
    if (row->cfa.kind != COLUMN_AT_REGISTER) /* a CFA expression has neither register nor offset */
        b->bad = true;
    else if (op == 0x0d)
        row->cfa.reg = known_register(uleb(b));
    else
        row->cfa.offset = op == 0x0e ? (int64_t)uleb(b) : factored((uint64_t)sleb(b), align);
    return true;
}

static bool about_cfa(struct machine *m, uint8_t op, struct bytes *b)
{
    struct row *row = m->row;
    int64_t align = m->f->data_align;
    uint64_t reg;
    switch (op) {
    case 0x0c: /* def_cfa */
        reg = uleb(b);
        define_cfa(row, reg, (int64_t)uleb(b));
        return true;
    case 0x12: /* def_cfa_sf */
        reg = uleb(b);
        define_cfa(row, reg, factored((uint64_t)sleb(b), align));
        return true;
    case 0x0d: /* def_cfa_register, def_cfa_offset, def_cfa_offset_sf */
    case 0x0e:
    case 0x13:
        return change_cfa(row, op, b, align);
    case 0x0f:
        row->cfa = take_expression(b, COLUMN_IS_EXPRESSION);
        return true;
    default:
        return false;
    }
}

static bool about_register(struct machine *m, uint8_t op, struct bytes *b)
{
    uint64_t reg = uleb(b);
    int64_t align = m->f->data_align;
    switch (op) {
    case 0x05:
        set(m->row, reg, COLUMN_AT_CFA, factored(uleb(b), align));
        return true;
    case 0x11:
        set(m->row, reg, COLUMN_AT_CFA, factored((uint64_t)sleb(b), align));
        return true;
    case 0x2f:
        set(m->row, reg, COLUMN_AT_CFA, factored(-uleb(b), align));
        return true;
    case 0x06:
        restore(m, reg);
        return true;
    case 0x07:
        set(m->row, reg, COLUMN_UNDEFINED, 0);
        return true;
    case 0x08:
        set(m->row, reg, COLUMN_SAME, 0);
        return true;
    case 0x09:
        set(m->row, reg, COLUMN_IN_REGISTER, known_register(uleb(b)));
        return true;
    case 0x14:
        set(m->row, reg, COLUMN_IS_CFA, factored(uleb(b), align));
        return true;
    case 0x15:
        set(m->row, reg, COLUMN_IS_CFA, factored((uint64_t)sleb(b), align));
        return true;
    case 0x10:
        set_expression(m->row, reg, COLUMN_AT_EXPRESSION, b);
        return true;
    case 0x16:
        set_expression(m->row, reg, COLUMN_IS_EXPRESSION, b);
        return true;
    default:
        return false;
    }
}

static bool execute(struct machine *m, uint8_t op, struct bytes *b)
{
    uint8_t low = op & 0x3f;
    switch (op & 0xc0) {
    case 0x40:
        m->at += low * m->f->code_align;
        return true;
    case 0x80:
        set(m->row, low, COLUMN_AT_CFA, factored(uleb(b), m->f->data_align));
        return true;
    case 0xc0:
        restore(m, low);
        return true;
    default:
        break;
    }
    switch (op) {
    case 0x00:
        return true;
    case 0x0a:
        return remember(m);
    case 0x0b:
        return recall(m);
    case 0x2e:
        uleb(b);
        return true; /* GNU_args_size: not needed */
    default:
        break;
    }
    return advance(m, op, b) || about_cfa(m, op, b) || about_register(m, op, b);
}

/* Run a program up to the row of `pc`. */
static bool run(struct machine *m, const uint8_t *code, const uint8_t *end, uintptr_t pc)
{
    struct bytes b = {code, end, false};
    while (b.at < b.end && m->at <= pc) { /* an advance changes only the location */
        if (!execute(m, (uint8_t)take(&b, 1), &b) || b.bad)
            return false;
    }
    return true;
}

bool cfi_row(const struct cfi *f, uintptr_t pc, struct row *row)
{
    struct machine m = {.f = f, .row = row, .at = f->start};
    memset(row, 0, sizeof *row);
    if (f->return_register != DWARF_RETURN || !run(&m, f->cie_code, f->cie_end, UINTPTR_MAX))
        return false;
    m.first = *row;
    return run(&m, f->code, f->end, pc);
}

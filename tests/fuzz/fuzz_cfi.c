/*
 * fuzz_cfi.c - call frame information of an object, as cfi.c and expression.c read it.
 *
 * rtc-build: unwind
 *
 * The object is exactly as long as it states; its bytes are the input's own, or a good header
 * and good entries around two programs that are.  Required: no read outside of the object, or of
 * the stack that an expression may read; termination; results that refer to addresses in the
 * object.
 */
#include "fuzz.h"
#include "unwinder_priv.h"

#define INPUT_MAX 4096
#define STACK_WORDS 64u
#define CODE_OFFSET 0x10000u /* of the function, from the object: no byte of it is read */
#define CODE_BYTES 64u

/* ---- an object ----------------------------------------------------------------------------------- */

static struct object object_in(uint8_t *at, size_t bytes)
{
    return (struct object){.start = (uintptr_t)at, .end = (uintptr_t)at + bytes, .index = at};
}

static size_t put(uint8_t *at, const void *from, size_t bytes)
{
    memcpy(at, from, bytes);
    return bytes;
}

static size_t put_number(uint8_t *at, uint32_t n)
{
    return put(at, &n, sizeof n);
}

/* Header, a CIE with its program, an FDE with its own. */
static size_t build(struct input *in, uint8_t *at)
{
    static const uint8_t header[] = {1, 0x1b, 0x03, 0x3b, 16, 0, 0, 0, 1, 0, 0, 0};
    static const uint8_t cie[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};
    size_t n = put(at, header, sizeof header), cie_bytes, fde_bytes, fde;
    n += put_number(at + n, CODE_OFFSET);
    n += 4; /* the offset of the FDE */
    const uint8_t *program = input_bytes(in, input_number(in, 1) % 64, &cie_bytes);
    n += put_number(at + n, (uint32_t)(4 + sizeof cie + cie_bytes));
    n += put_number(at + n, 0);
    n += put(at + n, cie, sizeof cie);
    n += put(at + n, program, cie_bytes);
    fde = n;
    put_number(at + 16, (uint32_t)fde);
    program = input_bytes(in, INPUT_MAX, &fde_bytes);
    n += put_number(at + n, (uint32_t)(13 + fde_bytes));
    n += put_number(at + n, (uint32_t)(n - 20));
    n += put_number(at + n, (uint32_t)(CODE_OFFSET - n));
    n += put_number(at + n, CODE_BYTES);
    at[n++] = 0;
    return n + put(at + n, program, fde_bytes);
}

/* ---- results ------------------------------------------------------------------------------------- */

static void check_expression(const struct object *o, const struct column *c)
{
    static uintptr_t *stack;
    struct regs r = {.known = 0};
    uintptr_t out;
    size_t below = BELOW_SP_BYTES / sizeof *stack;

    must((uintptr_t)c->expression >= o->start && (uintptr_t)c->expression <= o->end &&
             c->bytes <= o->end - (uintptr_t)c->expression,
         "an expression is in its object");
    stack = stack ? stack : calloc(below + STACK_WORDS, sizeof *stack);
    must(stack != NULL, "there is memory");
    for (unsigned i = 0; i < DWARF_REGISTERS; i++)
        if (i % 5)
            regs_set(&r, i, (uintptr_t)(stack + below + i));
    regs_set(&r, DWARF_SP, (uintptr_t)(stack + below));
    for (unsigned with_cfa = 0; with_cfa < 2; with_cfa++)
        expression_value(c, &r, with_cfa ? (uintptr_t)(stack + below + 8) : 0,
                         (uintptr_t)(stack + below + STACK_WORDS), &out);
}

static void check_column(const struct object *o, const struct column *c)
{
    must(c->kind <= COLUMN_AT_REGISTER, "a column is of a known kind");
    if (c->kind == COLUMN_AT_EXPRESSION || c->kind == COLUMN_IS_EXPRESSION)
        check_expression(o, c);
}

static void check_place(const struct object *o, uintptr_t pc)
{
    struct cfi f;
    struct row row;

    if (!cfi_find(o, pc, &f))
        return;
    must(pc - f.start < f.bytes, "an entry is about its place");
    if (!cfi_row(&f, pc, &row))
        return;
    check_column(o, &row.cfa);
    for (unsigned i = 0; i < DWARF_REGISTERS; i++)
        check_column(o, &row.column[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t built[2 * INPUT_MAX];
    struct input in = {data, size};
    size_t bytes;

    if (size > INPUT_MAX)
        return 0;
    bool raw = input_number(&in, 1) & 1;
    uint64_t place = input_number(&in, 2);
    const uint8_t *from = raw ? input_bytes(&in, INPUT_MAX, &bytes) : built;
    if (!raw)
        bytes = build(&in, built);
    uint8_t *at = malloc(bytes + !bytes);
    must(at != NULL, "there is memory");
    if (bytes)
        memcpy(at, from, bytes);
    struct object o = object_in(at, bytes);
    check_place(&o, raw ? place : (uintptr_t)at + CODE_OFFSET + place % (CODE_BYTES + 1));
    check_place(&o, (uintptr_t)at + place);
    free(at);
    return 0;
}

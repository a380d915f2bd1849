/*
 * test_bytes.c - blocks of a heap in the run file, as `rtcheck show --bytes` prints them, and files
 * that are damaged.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/pattern.h"
#include "text.h"
#include "made_image.h"
#include "golden.h"

#define BASE 0x700000000000ull
#define SLOT 64u
#define UNIT (1u << RTC_UNIT_SHIFT)

/* Slots of the slab in unit 0. */
enum { BORDER, LIVE, DAMAGED, FREED, FREE, HOLDER, EMPTY, SLOTS = 16 };

struct made {
    struct build b;
    struct made_image p;
    struct segment *slab, *large;
    uint32_t stack;
};

/* The byte of the heap at an offset. */
static char *heap_at(const struct made *m, uint64_t offset)
{
    return m->b.file + build_run(&m->b)->heap_offset + offset;
}

static uint64_t slot_address(uint32_t slot)
{
    return BASE + slot * SLOT;
}

static void put_block(const struct made *m, uint32_t slot, enum block_state state, uint32_t bytes)
{
    build_block(m->slab, slot, state, bytes, m->stack);
    ((struct block_record *)build_item(m->slab, slot))->word |= 1ull << BLOCK_THREAD_SHIFT;
    for (uint32_t i = 0; i < bytes; i++)
        *heap_at(m, slot * SLOT + i) = (char)('a' + i % 26);
}

static void put_fill(const struct made *m, uint32_t slot, uint32_t bytes)
{
    uint64_t word = fill_word_of(FILL_TAG_FREED, slot_address(slot));

    for (uint32_t i = 0; i < bytes; i++)
        *heap_at(m, slot * SLOT + i) = (char)(word >> i % 8 * 8);
    ((struct block_record *)build_item(m->slab, slot))->stacks |= m->stack;
}

/* A block of 1000 bytes in each state that matters, and a large one of 70,000 bytes. */
static struct made make(void)
{
    struct made m = {.b = build_begin()};
    uint64_t addresses[2] = {slot_address(LIVE), slot_address(LIVE) + 5};
    struct image_header *h;

    build_run(&m.b)->area_count--;
    build_run(&m.b)->heap_offset = m.b.bytes - BUILD_AREA_BYTES;
    build_run(&m.b)->heap_bytes = 4 * UNIT;
    build_run(&m.b)->heap_taken = NOBODYS_PID + 1;
    m.p = made_image(&m.b, 1, 0, "/usr/bin/prog1");
    h = build_image_header(&m.b, m.p.area);
    h->flags |= IMAGE_HEAP_IN_FILE;
    h->heap_base = BASE;
    h->heap_bytes = 4 * UNIT;
    h->free_fill = FILL_OF_BLOCK + 1;
    m.stack = deep(m.p.depot, 2);
    memset(heap_at(&m, 0), REDZONE_BYTE, SLOTS * SLOT);
    memset(heap_at(&m, UNIT), REDZONE_BYTE, 2 * UNIT);
    m.slab = build_slab(&m.b, m.p.area, 0, SLOT, SLOTS);
    put_block(&m, LIVE, BLOCK_LIVE, 20);
    put_block(&m, DAMAGED, BLOCK_LIVE, 40);
    *heap_at(&m, DAMAGED * SLOT + 40) = 'X';
    *heap_at(&m, DAMAGED * SLOT + 63) = '\x1b';
    *heap_at(&m, DAMAGED * SLOT - 1) = 'Y';
    put_block(&m, FREED, BLOCK_FREED, 30);
    put_fill(&m, FREED, 30);
    *heap_at(&m, FREED * SLOT + 12) = 0;
    put_block(&m, FREE, BLOCK_FREE, 48);
    put_block(&m, HOLDER, BLOCK_LIVE, 48);
    memcpy(heap_at(&m, HOLDER * SLOT + 16), addresses, sizeof addresses);
    memcpy(heap_at(&m, FREE * SLOT + 16), addresses, sizeof addresses); /* does not count */
    put_block(&m, EMPTY, BLOCK_LIVE, 0);
    m.large = build_records(&m.b, m.p.area, SEGMENT_LARGE, 4);
    build_large(m.large, 1, 2, 70000, m.stack)->lead = 64;
    for (uint32_t i = 0; i < 70000; i++)
        *heap_at(&m, UNIT + 64 + i) = (char)(i / 64);
    return m;
}

/* The text for an address or id, or the error; frees the run. */
static const char *bytes_of(struct made *m, const char *given, struct print_options how, int *code)
{
    static char text[65536];
    char err[REPORT_ERROR_BYTES] = "";
    int fd = build_fd(&m->b); /* bytes are read when they are printed */
    struct report *r;
    FILE *out;

    assert_int_equal(report_open_fd(&r, fd, "test", err), 0);
    assert_int_equal(report_collect(r, err), 0);
    build_end(&m->b);
    memset(text, 0, sizeof text);
    out = fmemopen(text, sizeof text - 1, "w");
    assert_non_null(out);
    *code = report_print_bytes(r, given, 0, out, &how, err, sizeof err);
    fclose(out);
    report_close(r);
    close(fd);
    if (*code == 0)
        return text;
    assert_string_equal(text, ""); /* nothing is printed on failure */
    snprintf(text, sizeof text, "%s\n", err);
    return text;
}

static const char *bytes_at(struct made *m, uint64_t address)
{
    char given[32];
    int code;

    snprintf(given, sizeof given, "0x%llx", (unsigned long long)address);
    return bytes_of(m, given, (struct print_options){0}, &code);
}

static void test_states(void **state)
{
    static const struct {
        const char *name;
        uint64_t address;
    } screens[] = {
        {"live", BASE + LIVE * SLOT},
        {"damaged", BASE + DAMAGED * SLOT},
        {"freed", BASE + FREED * SLOT},
        {"free", BASE + FREE * SLOT},
        {"of no bytes", BASE + EMPTY * SLOT},
        {"inside a block", BASE + LIVE * SLOT + 7},
        {"in a redzone", BASE + LIVE * SLOT + 50},
        {"large", BASE + UNIT + 64},
        {"first slot", BASE},
        {"never allocated", BASE + 15 * SLOT},
        {"after the last slot", BASE + SLOTS * SLOT},
        {"unit without blocks", BASE + 3 * UNIT},
        {"below the heap", BASE - 1},
        {"above the heap", BASE + 4 * UNIT},
    };

    (void)state;
    for (size_t i = 0; i < countof(screens); i++) {
        struct made m = make();
        golden_add(screens[i].name, bytes_at(&m, screens[i].address));
    }
}

static void test_settings(void **state)
{
    struct made m = make();
    int code;

    (void)state;
    golden_add("deterministic", bytes_of(&m, "0x7000000000c0",
                                         (struct print_options){.deterministic = true}, &code));
    m = make();
    golden_add("coloured",
               bytes_of(&m, "0x700000000080", (struct print_options){.color = true}, &code));
    m = make();
    golden_add("no address", bytes_of(&m, "0x70000000004g", (struct print_options){0}, &code));
    assert_int_equal(code, -EINVAL);
    m = make();
    golden_add("no id", bytes_of(&m, "nonsense", (struct print_options){0}, &code));
    assert_int_equal(code, -ENOENT);
}

/* The redzone of a large block is wider, or ends with its page; what was not written is no damage. */
static void test_redzones(void **state)
{
    static const struct {
        const char *options;
        bool is_marked; /* a changed byte 200 bytes after a large block of 70,000 */
        bool is_page;   /* one 100 bytes after it, in the next page */
    } rows[] = {{"", false, true}, {"redzone_size=256", true, true}, {"guard=all", false, false}};

    (void)state;
    for (size_t i = 0; i < countof(rows); i++)
        for (uint32_t bytes = 70000; bytes <= 73728 - 64; bytes += 73728 - 64 - 70000) {
            struct made m = make();
            uint32_t at = bytes == 70000 ? 200 : 100;
            strcpy(build_run(&m.b)->options, rows[i].options);
            ((struct large_record *)build_item(m.large, 0))->request = bytes;
            *heap_at(&m, UNIT + 64 + bytes + at) = 0;
            bool is_found = strstr(bytes_at(&m, BASE + UNIT + 64), "changed") != NULL;
            assert_int_equal(is_found, at == 200 ? rows[i].is_marked : rows[i].is_page);
        }
}

/* Of two copies of a slab the one with the higher epoch is valid. */
static void test_epochs(void **state)
{
    struct made m = make();
    struct segment *copy = build_slab(&m.b, m.p.area, 0, SLOT, SLOTS);

    (void)state;
    copy->epoch = 1;
    build_block(copy, LIVE, BLOCK_LIVE, 11, m.stack);
    must_print(bytes_at(&m, slot_address(LIVE)), "block of 11 bytes");
    m = make();
    copy = build_slab(&m.b, m.p.area, 0, SLOT, SLOTS);
    m.slab->epoch = 1;
    build_block(copy, LIVE, BLOCK_LIVE, 11, m.stack);
    must_print(bytes_at(&m, slot_address(LIVE)), "block of 20 bytes");
}

/* Why there is no heap. */
static void test_without(void **state)
{
    struct made m = make();

    (void)state;
    build_run(&m.b)->heap_offset = build_run(&m.b)->heap_bytes = 0;
    golden_add("private", bytes_at(&m, slot_address(LIVE)));
    m = make();
    build_run(&m.b)->heap_error = ENOMEM;
    golden_add("failed", bytes_at(&m, slot_address(LIVE)));
    m = make();
    build_run(&m.b)->heap_taken++;
    golden_add("of another process", bytes_at(&m, slot_address(LIVE)));
    m = make();
    build_image_header(&m.b, m.p.area)->heap_base++;
    golden_add("base is bad", bytes_at(&m, slot_address(LIVE)));
    m = make();
    build_image_header(&m.b, m.p.area)->flags &= ~IMAGE_HEAP_IN_FILE;
    golden_add("private in the process", bytes_at(&m, slot_address(LIVE)));
    m = make();
    build_run(&m.b)->reported = REPORTED_SAVED;
    build_run(&m.b)->file_bytes = 2 * m.b.bytes; /* the file ends where the heap would begin */
    build_run(&m.b)->kept_bytes = m.b.bytes;
    build_run(&m.b)->heap_offset = m.b.bytes;
    golden_add("left out", bytes_at(&m, slot_address(LIVE)));
}

/* Parts that are not in the heap do not count; blocks that end beyond it cannot be. */
static void test_damaged(void **state)
{
    struct made m = make();
    const char *none = "there is no block at 0x70000";

    (void)state;
    m.slab->index = 4;
    must_print(bytes_at(&m, slot_address(LIVE)), none);
    m = make();
    m.slab->units = 5;
    must_print(bytes_at(&m, slot_address(LIVE)), none);
    m = make();
    build_image_header(&m.b, m.p.area)->heap_bytes = UNIT;
    must_print(bytes_at(&m, BASE + UNIT + 64), none);
    m = make();
    ((struct large_record *)build_item(m.large, 0))->superseded = 1;
    must_print(bytes_at(&m, BASE + UNIT + 64), none);
    m = make();
    build_run(&m.b)->heap_bytes = UNIT; /* smaller than the image's */
    must_print(bytes_at(&m, BASE + UNIT + 64), none);
    m = make();
    build_run(&m.b)->heap_offset += UNIT; /* all bytes are others */
    build_run(&m.b)->heap_bytes -= UNIT;
    must_print(bytes_at(&m, slot_address(LIVE)), "block of 20 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),   cmocka_unit_test(test_settings),
        cmocka_unit_test(test_redzones), cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_without),  cmocka_unit_test(test_damaged),
    };

    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}

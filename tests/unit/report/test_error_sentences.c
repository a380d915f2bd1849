/*
 * test_error_sentences.c - one case per sentence, and for each condition a twin without it.
 *
 * rtc-build: -g
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "findings.h"

#define BLOCK 0x700000000040ull

static int table[16] = {1}; static const int table_line = __LINE__;

struct word_case {
    struct error error;
    const char *prints;
};

enum { IN_FILE = 2 };

static char root_name[] = "prog";
static struct image root = {.number = 1, .pid = 500, .name = root_name}; static const int root_line = __LINE__;

static struct image in_file = {.number = IN_FILE, .name = root_name, .flags = IMAGE_HEAP_IN_FILE,
                               .malloc_fill = 0xa5 + 1, .free_fill = 0xfd + 1};
static struct run_header run = {.heap_bytes = 8 << 20};

static struct report a_report(void)
{
    static struct module modules[2];
    static char exe[464], none[] = "/nowhere/lib\x1b.so";
    struct report r = {.view.run = &run, .modules = modules, .module_count = countof(modules)};

    assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    modules[0].path = exe;
    modules[1].path = none;
    HASH_ADD(hh, r.images, number, sizeof root.number, &root);
    HASH_ADD(hh, r.images, number, sizeof in_file.number, &in_file);
    return r;
}

static void report_drop(struct report *r)
{
    HASH_CLEAR(hh, r->images);
    helper_end(r);
    symbols_free(r);
}

static void check(const struct word_case *cases, size_t count, bool deterministic)
{
    struct report r = a_report();

    for (size_t i = 0; i < count; i++) {
        char *text = error_sentence(&r, &cases[i].error, deterministic);
        if (strcmp(text, cases[i].prints) != 0)
            fail_msg("\"%s\" instead of \"%s\"", text, cases[i].prints);
        free(text);
    }
    report_drop(&r);
}

/* ---- duf ----------------------------------------------------------------------------------- */

#define DUF(entry_, bytes_, state_)                                                                \
    {.kind = ERROR_DUF, .image = 1, .entry = ENTRY_##entry_, .block = BLOCK, .address = BLOCK,                 \
     .block_bytes = (bytes_), .block_state = BLOCK_##state_}

static void test_duf(void **state)
{
    static const struct word_case cases[] = {
        {DUF(FREE, 40, FREED), "double free of a 40-byte block"},
        {DUF(CFREE, 0, FREED), "double free of a 0-byte block, by cfree"},
        {DUF(FREE, 8, FREED), "double free of an 8-byte block"},
        {DUF(FREE, 11, FREED), "double free of an 11-byte block"},
        {DUF(FREE, 18, FREED), "double free of an 18-byte block"},
        {DUF(FREE, 80, FREED), "double free of an 80-byte block"},
        {DUF(FREE, 110, FREED), "double free of a 110-byte block"},
        {DUF(FREE, 1100, FREED), "double free of a 1100-byte block"},
        {DUF(FREE, 11000, FREED), "double free of an 11000-byte block"},
        {DUF(FREE, 800000, FREED), "double free of an 800000-byte block"},
        {DUF(FREE, 180000, FREED), "double free of a 180000-byte block"},
        {DUF(DELETE_ARRAY, 40, FREED), "double free of a 40-byte malloc block, by operator delete[]"},
        {DUF(FREE_SIZED, 40, FREED), "double free of a 40-byte block, by free_sized"},
        {DUF(REALLOC, 40, FREED), "realloc of a 40-byte block that had been freed"},
        {DUF(REALLOCARRAY, 40, FREED), "reallocarray of a 40-byte block that had been freed"},
        {DUF(NONE, 40, FREED), "double free of a 40-byte block"},
        {DUF(FREE, 40, FREE),
         "double free of a 40-byte block, possibly of an older block at this address"},
        {DUF(FREE, 40, INHERITED), "double free of a 40-byte block, possibly: what it was at "
                                   "the fork is not known"},
    };

    (void)state;
    check(cases, countof(cases), false);
}

/* ---- maf ----------------------------------------------------------------------------------- */

#define MAF(entry_, offset_, state_)                                                               \
    {.kind = ERROR_MAF, .image = 1, .entry = ENTRY_##entry_, .block = BLOCK, .address = BLOCK + (offset_),     \
     .block_bytes = 40, .block_state = BLOCK_##state_}
#define MAF_OF(family_, entry_, offset_)                                                           \
    {.kind = ERROR_MAF, .image = 1, .entry = ENTRY_##entry_, .block = BLOCK, .address = BLOCK + (offset_),     \
     .block_bytes = 40, .block_state = BLOCK_LIVE, .block_family = FAMILY_##family_}

static void test_maf(void **state)
{
    static const struct word_case cases[] = {
        {MAF(FREE, 8, LIVE), "free of an address 8 bytes inside a 40-byte block"},
        {MAF(FREE, 8, FREED), "free of an address 8 bytes inside a 40-byte block (freed)"},
        {MAF(FREE, 8, FREE), "free of an address 8 bytes inside a 40-byte block (freed; possibly "
                             "an older block at this address)"},
        {MAF(FREE, 8, INHERITED), "free of an address 8 bytes inside a 40-byte block (possibly "
                                  "freed: what it was at the fork is not known)"},
        {MAF(FREE, 1, LIVE), "free of an address 1 byte inside a 40-byte block"},
        {MAF(FREE, 39, LIVE), "free of an address 39 bytes inside a 40-byte block"},
        {MAF(FREE, 40, LIVE), "free of an address just past the end of a 40-byte block"},
        {MAF(FREE, 41, LIVE), "free of an address 1 byte past the end of a 40-byte block"},
        {MAF(FREE, -4, LIVE), "free of an address 4 bytes before a 40-byte block"},
        {MAF(REALLOC, 8, LIVE), "realloc of an address 8 bytes inside a 40-byte block"},
        {MAF(DELETE, 8, FREED),
         "free of an address 8 bytes inside a 40-byte malloc block (freed), by operator delete"},
        {MAF_OF(NEW_ARRAY, DELETE_ARRAY, 8),
         "free of an address 8 bytes inside a 40-byte block, by operator delete[]"},
        {MAF_OF(NEW_ARRAY, FREE, 8), "free of an address 8 bytes inside a 40-byte new[] block"},
        {MAF_OF(NEW_ALIGNED, FREE, 8),
         "free of an address 8 bytes inside a 40-byte block of aligned new"},
    };

    (void)state;
    check(cases, countof(cases), false);
}

/* ---- baf ----------------------------------------------------------------------------------- */

#define BAF(...) {.kind = ERROR_BAF, .image = 1, .entry = ENTRY_FREE, .address = 0x7f0000001234, .region = {.what = __VA_ARGS__}}

static void test_baf(void **state)
{
    static const struct word_case cases[] = {
        {BAF(REGION_NONE), "free of an address that no allocation returned"},
        {BAF(REGION_UNKNOWN), "free of an address that no allocation returned; its mapping could not be read"},
        {BAF(REGION_UNMAPPED), "free of an address where no memory is"},
        {BAF(REGION_STACK), "free of an address on the stack of this thread"},
        {BAF(REGION_STACK_ALTERNATE), "free of an address on the alternate signal stack of this thread"},
        {BAF(REGION_HEAP), "free of an address in our heap where no block was"},
        {BAF(REGION_LIBC), "free of an address in a block of libc's own allocator"},
        {BAF(REGION_STACK_OTHER, .thread = {3, 503, false, "worker"}),
         "free of an address on the stack of thread 3 (worker)"},
        {BAF(REGION_STACK_OTHER, .thread = {3, 503, false, "prog"}), /* the name of all threads */
         "free of an address on the stack of thread 3"},
        {BAF(REGION_STACK_OTHER, .thread = {1, 500, false, "prog"}),
         "free of an address on the stack of thread main"},
        {BAF(REGION_STACK_OTHER), "free of an address on the stack of a thread that is not known"},
        {BAF(REGION_STACK_ENDED, .thread = {2, 502, true, ""}),
         "free of an address on the stack of thread 2, which has ended"},
        {BAF(REGION_MAPPED, .start = 0x7f0000000000, .end = 0x7f0000010000),
         "free of an address in memory mapped at 0x7f0000000000-0x7f0000010000 (64.0 KiB)"},
        {BAF(REGION_MAPPED, .start = 0x7f0000000000, .end = 0x7f0000001000, .path = "/dev/shm/x"),
         "free of an address in /dev/shm/x, mapped at 0x7f0000000000-0x7f0000001000 (4096 B)"},
        {BAF(REGION_MAPPED), "free of an address in memory mapped by the program"},
        {BAF(REGION_MODULE, .module = NO_MODULE),
         "free of an address in a program or library that is not known"},
        {BAF(REGION_MODULE, .module = NO_MODULE, .path = "/opt/gone.so"),
         "free of an address in gone.so"},
        {BAF(REGION_MODULE, .module = 1, .offset = 0x1234),
         "free of an address in lib\x1b.so+0x1234"},
        {{.kind = ERROR_BAF, .entry = ENTRY_FREE, .address = 8, .region = {.what = REGION_NULL}},
         "free of NULL+8"},
        {{.kind = ERROR_BAF, .entry = ENTRY_REALLOC, .address = 8, .region = {.what = REGION_NULL}},
         "realloc of NULL+8"},
        {{.kind = ERROR_BAF, .entry = ENTRY_DELETE, .region = {.what = REGION_STACK}},
         "free of an address on the stack of this thread, by operator delete"},
    };

    (void)state;
    check(cases, countof(cases), false);
}

/* A pointer read from freed or uninitialized memory, or a small offset from such a pointer. */
static void test_baf_of_fill(void **state)
{
#define FILLED(address_) \
    {.kind = ERROR_BAF, .image = IN_FILE, .entry = ENTRY_FREE, .address = (address_), .region = {.what = REGION_UNMAPPED}}
    static const struct word_case cases[] = {
        {FILLED(0xfdfdfdfdfdfdfdfd), "free of an address that was read from freed memory"},
        {FILLED(0xfdfdfdfdfdfdfe0d), "free of an address that was read from freed memory"},
        {FILLED(0xa5a5a5a5a5a5a5a5), "free of an address that was read from memory that was never written"},
        {FILLED(0xfdfdfdfdfdfdfdfc), "free of an address where no memory is"},
        {FILLED(0xfdfdfdfdfdfefdfd), "free of an address where no memory is"},
        {BAF(REGION_UNMAPPED), "free of an address where no memory is"},
    };

    (void)state;
    check(cases, countof(cases), false);
}

/* Values that differ between runs are omitted on request. */
static void test_deterministic(void **state)
{
    static const struct word_case cases[] = {
        {BAF(REGION_MAPPED, .start = 0x7f0000000000, .end = 0x7f0000010000),
         "free of an address in memory mapped by the program (64.0 KiB)"},
        {BAF(REGION_MAPPED, .start = 0x7f0000000000, .end = 0x7f0000001000, .path = "/dev/shm/x"),
         "free of an address in /dev/shm/x, mapped by the program (4096 B)"},
    };

    (void)state;
    check(cases, countof(cases), true);
}

/* Places in this program: sections, symbols, and no symbol past the end of a variable. */
static void test_places(void **state)
{
    extern char __executable_start[];
    uint64_t bias = (uint64_t)(uintptr_t)__executable_start;
    struct {
        const void *at;
        uint64_t more;
        int line; /* line of its declaration, 0: not printed */
        const char *prints;
    } cases[] = {
        {table, 5, table_line, ".data of test_error_sentences: table[1]+0x1"},
        {table, 0, table_line, ".data of test_error_sentences: table"},
        {&root, 0, root_line, ".data of test_error_sentences: root"},
        {(const void *)(uintptr_t)test_deterministic, 1, 0,
         ".text of test_error_sentences: test_deterministic+0x1"},
        {(const void *)__executable_start, 4, 0, "test_error_sentences+0x4"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        uint64_t offset = (uint64_t)(uintptr_t)cases[i].at + cases[i].more - bias;
        char prints[160], where[64] = "";
        struct word_case one = {BAF(REGION_MODULE, .module = 0, .offset = offset), prints};
        if (cases[i].line)
            snprintf(where, sizeof where, " (test_error_sentences.c:%d)", cases[i].line);
        snprintf(prints, sizeof prints, "free of an address in %s%s", cases[i].prints, where);
        check(&one, 1, false);
    }
}

/* ---- mis ----------------------------------------------------------------------------------- */

#define MIS(entry_, family_, given_)                                                               \
    {.kind = ERROR_MIS, .image = 1, .entry = ENTRY_##entry_, .block_bytes = 24, .bytes = (given_),             \
     .block_family = FAMILY_##family_}

static void test_mis(void **state)
{
    static const struct word_case cases[] = {
        {MIS(FREE, NEW_ARRAY, 0), "24-byte new[] block freed by free()"},
        {MIS(FREE, NEW, 0), "24-byte new block freed by free()"},
        {MIS(DELETE, MALLOC, 0), "24-byte malloc block freed by operator delete"},
        {MIS(DELETE_ARRAY, NEW, 0), "24-byte new block freed by operator delete[]"},
        {MIS(DELETE, NEW_ALIGNED, 0), "24-byte block of aligned new freed by operator delete"},
        {MIS(DELETE_ALIGNED, ALIGNED, 0), "24-byte memalign block freed by operator delete (aligned)"},
        {MIS(DELETE_ARRAY_ALIGNED, NEW_ALIGNED, 0),
         "24-byte block of aligned new freed by operator delete[] (aligned)"},
        {MIS(REALLOC, NEW, 0), "24-byte new block given to realloc()"},
        {MIS(DELETE, NEW, 16), "sized delete(p, 16) of a 24-byte block"},
        {MIS(DELETE_ARRAY, NEW_ARRAY, 1), "sized delete(p, 1) of a 24-byte block"},
        {MIS(FREE_SIZED, MALLOC, 16), "free_sized(p, 16) of a 24-byte block"},
        {MIS(DELETE, MALLOC, 16), "24-byte malloc block freed by operator delete"},
        {MIS(DELETE, NEW, 24),
         "24-byte new block freed by operator delete with a size or alignment that is not its own"},
        {MIS(FREE_ALIGNED_SIZED, ALIGNED, 0), "24-byte memalign block freed by free_aligned_sized() "
                                              "with a size or alignment that is not its own"},
    };

    (void)state;
    check(cases, countof(cases), false);
}

/* ---- wua ----------------------------------------------------------------------------------- */

#define WUA(entry_, damage_, offset_, bytes_)                                                      \
    {.kind = ERROR_WUA, .image = 1, .entry = ENTRY_##entry_, .damage = DAMAGE_##damage_, .block = BLOCK,       \
     .block_bytes = 24, .address = BLOCK + (offset_), .bytes = (bytes_)}
#define WUA_FREED(entry_, damage_, offset_)                                                        \
    {.kind = ERROR_WUA, .image = 1, .entry = ENTRY_##entry_, .damage = DAMAGE_##damage_, .block = BLOCK,       \
     .block_bytes = 24, .address = BLOCK + (offset_), .bytes = 1, .block_state = BLOCK_FREED}

static void test_wua(void **state)
{
    static const struct word_case cases[] = {
        {WUA(FREE, AFTER, 24, 1), "1 byte written past the end of a 24-byte block, at offset 24 (detected at free)"},
        {WUA(REALLOC, AFTER, 24, 4),
         "bytes written past the end of a 24-byte block, at offsets 24 to 27 (detected at realloc)"},
        {WUA(EXIT, AFTER, 30, 1), "1 byte written past the end of a 24-byte block, at offset 30 (detected at exit)"},
        {WUA(EXIT, BEFORE, -1, 1),
         "1 byte written before a 24-byte block, 1 byte before its start (detected at exit)"},
        {WUA(EXIT, BEFORE, -8, 1),
         "1 byte written before a 24-byte block, 8 bytes before its start (detected at exit)"},
        {WUA(FREE, BEFORE, -8, 4),
         "bytes written before a 24-byte block, 8 to 5 bytes before its start (detected at free)"},
        {WUA(EVICTION, INSIDE, 4, 1), "1 byte written inside a 24-byte block, at offset 4, after "
                                      "it was freed (detected when it left quarantine)"},
        {WUA(EXIT, INSIDE, 0, 24), "bytes written inside a 24-byte block, at offsets 0 to 23, "
                                   "after it was freed (detected at exit)"},
        {WUA_FREED(EVICTION, AFTER, 24), "1 byte written past the end of a 24-byte block, at offset 24, after "
                                          "it was freed (detected when it left quarantine)"},
        {WUA_FREED(EXIT, BEFORE, -1), "1 byte written before a 24-byte block, 1 byte before its start, "
                                      "after it was freed (detected at exit)"},
        {WUA(NONE, NONE, 0, 1), "1 byte written at a 24-byte block, at offset 0"},
    };

    (void)state;
    check(cases, countof(cases), false);
}

/* ---- the others ---------------------------------------------------------------------------- */

static void test_others(void **state)
{
    static const struct word_case cases[] = {
        {{.kind = ERROR_OOM, .entry = ENTRY_MALLOC, .bytes = 10492000000000000000ull},
         "malloc of 9.1 EiB failed (warning)"},
        {{.kind = ERROR_OOM, .entry = ENTRY_CALLOC, .bytes = 100}, "calloc of 100 B failed (warning)"},
        {{.kind = ERROR_OOM, .entry = ENTRY_NEW_ARRAY, .image = 1, .bytes = 100},
         "operator new[] of 100 B failed (warning)"},
        {{.kind = ERROR_OOM, .bytes = 100}, "allocation of 100 B failed (warning)"},
        {{.kind = ERROR_OOM, .entry = ENTRY_MALLOC, .image = IN_FILE, .bytes = 24},
         "malloc of 24 B failed, in a heap of 8.0 MiB (warning)"},
        {{.kind = ERROR_BUM, .entry = ENTRY_MUNMAP, .bytes = 8192, .address = 0x1000,
          .region = {.what = REGION_UNMAPPED, .start = 0x1000, .end = 0x3000}},
         "munmap of 8192 B that is not mapped (warning)"},
        {{.kind = ERROR_BUM, .entry = ENTRY_MUNMAP, .bytes = 8192, .address = 0x1000,
          .region = {.what = REGION_UNMAPPED, .start = 0x2000, .end = 0x3000}},
         "munmap of 8192 B that is not mapped at offset 4096 (warning)"},
        {{.kind = ERROR_BUM, .entry = ENTRY_MUNMAP, .bytes = 8192, .address = 0x1000, .region = {.what = REGION_HEAP}},
         "munmap of 8192 B of the heap: left as it is (warning)"},
        {{.kind = ERROR_BUM, .entry = ENTRY_MREMAP, .bytes = 8192, .address = 0x1000},
         "mremap of 8192 B over memory of the checker's own: refused (warning)"},
        {{.kind = ERROR_FOREIGN, .entry = ENTRY_FREE, .region = {.what = REGION_LIBC}},
         "freed a block of libc's own allocator: passed on to libc"},
    };

    (void)state;
    check(cases, countof(cases), false);
}

/* ---- its facts ----------------------------------------------------------------------------- */

static void check_found(const struct error *e, const char *prints)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    assert_non_null(out);
    format_found(e, out);
    fclose(out);
    assert_string_equal(text, prints);
    free(text);
}

static void test_found(void **state)
{
    (void)state;
    check_found(&(struct error){.kind = ERROR_MAF}, "");
    check_found(&(struct error){.bytes = 1, .found_bytes = 1}, " holds 00");
    check_found(&(struct error){.bytes = 3, .found_bytes = 3, .found = "A\xff"}, " holds 41 ff 00 \"A..\"");
    check_found(&(struct error){.bytes = 8, .found_bytes = 8, .found = "abc d~\x7f"},
                " holds 61 62 63 20 64 7e 7f 00 \"abc d~..\"");
    check_found(&(struct error){.bytes = 9, .found_bytes = 9}, " holds 00 00 00 00 00 00 00 00 ...");
}

static void test_thread_label(void **state)
{
    (void)state;
    assert_string_equal(thread_label(&(struct error){.kind = ERROR_WUA}), "found by ");
    assert_string_equal(thread_label(&(struct error){.kind = ERROR_DUF}), "");
}

/* ---- its stacks ---------------------------------------------------------------------------- */

static void test_rows(void **state)
{
    static const struct {
        struct error error;
        const char *labels[3];
        unsigned with_thread; /* the row about another thread, + 1 */
    } cases[] = {
        {{.kind = ERROR_DUF, .entry = ENTRY_FREE, .block_state = BLOCK_FREED, .thread = {.number = 1},
          .block_thread = {.number = 2}}, {"freed again", "first freed", "allocated"}, 2},
        {{.kind = ERROR_DUF, .entry = ENTRY_FREE, .block_state = BLOCK_FREED, .thread = {.number = 1},
          .block_thread = {.number = 1}}, {"freed again", "first freed", "allocated"}, 0},
        {{.kind = ERROR_DUF, .entry = ENTRY_FREE, .block_state = BLOCK_FREE},
         {"freed again", "freed", "allocated"}, 0},
        {{.kind = ERROR_DUF, .entry = ENTRY_REALLOC, .block_state = BLOCK_FREED},
         {"called from", "first freed", "allocated"}, 0},
        {{.kind = ERROR_MAF, .entry = ENTRY_FREE, .block_state = BLOCK_LIVE, .free_stack = NO_SITE,
          .thread = {.number = 1}, .block_thread = {.number = 2}}, {"called from", "allocated"}, 2},
        {{.kind = ERROR_MAF, .entry = ENTRY_FREE, .block_state = BLOCK_FREED},
         {"called from", "freed", "allocated"}, 0},
        {{.kind = ERROR_MIS, .entry = ENTRY_DELETE, .free_stack = NO_SITE}, {"freed", "allocated"}, 0},
        {{.kind = ERROR_MIS, .entry = ENTRY_REALLOC, .free_stack = NO_SITE},
         {"called from", "allocated"}, 0},
        {{.kind = ERROR_WUA, .entry = ENTRY_EXIT, .stack = NO_SITE, .free_stack = NO_SITE},
         {"allocated"}, 0},
        {{.kind = ERROR_WUA, .entry = ENTRY_FREE}, {"detected at", "freed", "allocated"}, 0},
        {{.kind = ERROR_BAF, .entry = ENTRY_FREE, .free_stack = NO_SITE, .alloc_stack = NO_SITE},
         {"called from"}, 0},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct error_rows rows = error_rows(&cases[i].error);
        for (uint32_t k = 0; k < 3; k++) {
            if (k >= rows.count ? cases[i].labels[k] != NULL
                                : strcmp(rows.at[k].label, cases[i].labels[k] ? cases[i].labels[k] : "") != 0)
                fail_msg("case %zu, row %u", i, k);
            if (k < rows.count && (rows.at[k].thread != NULL) != (cases[i].with_thread == k + 1))
                fail_msg("case %zu, thread of row %u", i, k);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_duf),           cmocka_unit_test(test_maf),
        cmocka_unit_test(test_baf),           cmocka_unit_test(test_baf_of_fill),  cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_places),        cmocka_unit_test(test_mis),
        cmocka_unit_test(test_wua),           cmocka_unit_test(test_others),
        cmocka_unit_test(test_found),         cmocka_unit_test(test_thread_label),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

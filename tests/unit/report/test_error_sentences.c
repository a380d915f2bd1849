/*
 * test_error_sentences.c - one case per sentence, and for each condition a twin without it. The
 * sentences are in golden/test_error_sentences.txt.
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
#include "golden.h"

#define BLOCK 0x700000000040ull

/* clang-format off */
static int table[16] = {1}; static const int table_line = __LINE__;
/* clang-format on */

struct word_case {
    struct error error;
    const char *name;
};

#define CASE(...)                 \
    {                             \
        __VA_ARGS__, #__VA_ARGS__ \
    }

enum { IN_FILE = 2 };

static char root_name[] = "prog";
/* clang-format off */
static struct image root = {.number = 1, .pid = 500, .name = root_name}; static const int root_line = __LINE__;
/* clang-format on */

static struct image in_file = {.number = IN_FILE,
                               .name = root_name,
                               .flags = IMAGE_HEAP_IN_FILE,
                               .malloc_fill = 0xa5 + 1,
                               .free_fill = 0xfd + 1};
static struct run_header run = {.heap_bytes = 8 << 20, .folder = "/mnt/po\x1bol"};

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

/* Add the sentences as one screen: each below the case that it is of. */
static void add(const char *name, const struct word_case *cases, size_t count, bool deterministic)
{
    struct report r = a_report();
    char *all = NULL;
    size_t bytes;
    FILE *out = open_memstream(&all, &bytes);

    assert_non_null(out);
    for (size_t i = 0; i < count; i++) {
        char *text = error_sentence(&r, &cases[i].error, deterministic);
        fprintf(out, "%s\n    %s\n", cases[i].name, text);
        free(text);
    }
    fclose(out);
    golden_add(name, all);
    free(all);
    report_drop(&r);
}

static void must_be(const struct error *error, const char *prints)
{
    struct report r = a_report();
    char *text = error_sentence(&r, error, false);

    if (strcmp(text, prints) != 0)
        fail_msg("\"%s\" instead of \"%s\"", text, prints);
    free(text);
    report_drop(&r);
}

/* ---- duf ----------------------------------------------------------------------------------- */

#define DUF(entry_, bytes_, state_)                                                               \
    {                                                                                             \
        .kind = ERROR_DUF, .image = 1, .entry = ENTRY_##entry_, .block = BLOCK, .address = BLOCK, \
        .block_bytes = (bytes_), .block_state = BLOCK_##state_                                    \
    }

static void test_duf(void **state)
{
    static const struct word_case cases[] = {
        CASE(DUF(FREE, 40, FREED)),         CASE(DUF(CFREE, 0, FREED)),
        CASE(DUF(FREE, 8, FREED)),          CASE(DUF(FREE, 11, FREED)),
        CASE(DUF(FREE, 18, FREED)),         CASE(DUF(FREE, 80, FREED)),
        CASE(DUF(FREE, 110, FREED)),        CASE(DUF(FREE, 1100, FREED)),
        CASE(DUF(FREE, 11000, FREED)),      CASE(DUF(FREE, 800000, FREED)),
        CASE(DUF(FREE, 180000, FREED)),     CASE(DUF(DELETE_ARRAY, 40, FREED)),
        CASE(DUF(FREE_SIZED, 40, FREED)),   CASE(DUF(REALLOC, 40, FREED)),
        CASE(DUF(REALLOCARRAY, 40, FREED)), CASE(DUF(NONE, 40, FREED)),
        CASE(DUF(FREE, 40, FREE)),          CASE(DUF(FREE, 40, INHERITED)),
    };

    (void)state;
    add("duf", cases, countof(cases), false);
}

/* ---- maf ----------------------------------------------------------------------------------- */

#define MAF(entry_, offset_, state_)                                                   \
    {                                                                                  \
        .kind = ERROR_MAF, .image = 1, .entry = ENTRY_##entry_, .block = BLOCK,        \
        .address = BLOCK + (offset_), .block_bytes = 40, .block_state = BLOCK_##state_ \
    }
#define MAF_OF(family_, entry_, offset_)                                            \
    {                                                                               \
        .kind = ERROR_MAF, .image = 1, .entry = ENTRY_##entry_, .block = BLOCK,     \
        .address = BLOCK + (offset_), .block_bytes = 40, .block_state = BLOCK_LIVE, \
        .block_family = FAMILY_##family_                                            \
    }

static void test_maf(void **state)
{
    static const struct word_case cases[] = {
        CASE(MAF(FREE, 8, LIVE)),         CASE(MAF(FREE, 8, FREED)),
        CASE(MAF(FREE, 8, FREE)),         CASE(MAF(FREE, 8, INHERITED)),
        CASE(MAF(FREE, 1, LIVE)),         CASE(MAF(FREE, 39, LIVE)),
        CASE(MAF(FREE, 40, LIVE)),        CASE(MAF(FREE, 41, LIVE)),
        CASE(MAF(FREE, -4, LIVE)),        CASE(MAF(REALLOC, 8, LIVE)),
        CASE(MAF(DELETE, 8, FREED)),      CASE(MAF_OF(NEW_ARRAY, DELETE_ARRAY, 8)),
        CASE(MAF_OF(NEW_ARRAY, FREE, 8)), CASE(MAF_OF(NEW_ALIGNED, FREE, 8)),
    };

    (void)state;
    add("maf", cases, countof(cases), false);
}

/* ---- baf ----------------------------------------------------------------------------------- */

#define BAF(...)                                                                                   \
    {                                                                                              \
        .kind = ERROR_BAF, .image = 1, .entry = ENTRY_FREE, .address = 0x7f0000001234, .region = { \
            .what = __VA_ARGS__                                                                    \
        }                                                                                          \
    }

static void test_baf(void **state)
{
    static const struct word_case cases[] = {
        /* clang-format off */
        CASE(BAF(REGION_NONE)),
        CASE(BAF(REGION_UNKNOWN)),
        CASE(BAF(REGION_UNMAPPED)),
        CASE(BAF(REGION_STACK)),
        CASE(BAF(REGION_STACK_ALTERNATE)),
        CASE(BAF(REGION_HEAP)),
        CASE(BAF(REGION_LIBC)),
        CASE(BAF(REGION_STACK_OTHER, .thread = {3, 503, false, "worker"})),
        CASE(BAF(REGION_STACK_OTHER, .thread = {3, 503, false, "prog"})), /* the name of all threads */
        CASE(BAF(REGION_STACK_OTHER, .thread = {1, 500, false, "prog"})),
        CASE(BAF(REGION_STACK_OTHER)),
        CASE(BAF(REGION_STACK_ENDED, .thread = {2, 502, true, ""})),
        CASE(BAF(REGION_MAPPED, .start = 0x7f0000000000, .end = 0x7f0000010000)),
        CASE(BAF(REGION_MAPPED, .start = 0x7f0000000000, .end = 0x7f0000001000, .path = "/dev/shm/x")),
        CASE(BAF(REGION_MAPPED)),
        CASE(BAF(REGION_MODULE, .module = NO_MODULE)),
        CASE(BAF(REGION_MODULE, .module = NO_MODULE, .path = "/opt/gone.so")),
        CASE(BAF(REGION_MODULE, .module = 1, .offset = 0x1234)),
        CASE({.kind = ERROR_BAF, .entry = ENTRY_FREE, .address = 8, .region = {.what = REGION_NULL}}),
        CASE({.kind = ERROR_BAF, .entry = ENTRY_REALLOC, .address = 8, .region = {.what = REGION_NULL}}),
        CASE({.kind = ERROR_BAF, .entry = ENTRY_DELETE, .region = {.what = REGION_STACK}}),
        /* clang-format on */
    };

    (void)state;
    add("baf", cases, countof(cases), false);
}

/* A pointer read from freed or uninitialized memory, or a small offset from such a pointer. */
static void test_baf_of_fill(void **state)
{
#define FILLED(address_)                                                                 \
    {                                                                                    \
        .kind = ERROR_BAF, .image = IN_FILE, .entry = ENTRY_FREE, .address = (address_), \
        .region = {                                                                      \
            .what = REGION_UNMAPPED                                                      \
        }                                                                                \
    }
    static const struct word_case cases[] = {
        CASE(FILLED(0xfdfdfdfdfdfdfdfd)), CASE(FILLED(0xfdfdfdfdfdfdfe0d)),
        CASE(FILLED(0xa5a5a5a5a5a5a5a5)), CASE(FILLED(0xfdfdfdfdfdfdfdfc)),
        CASE(FILLED(0xfdfdfdfdfdfefdfd)), CASE(BAF(REGION_UNMAPPED)),
    };

    (void)state;
    add("baf of fill", cases, countof(cases), false);
}

/* Values that differ between runs are omitted on request. */
static void test_deterministic(void **state)
{
    static const struct word_case cases[] = {
        CASE(BAF(REGION_MAPPED, .start = 0x7f0000000000, .end = 0x7f0000010000)),
        CASE(BAF(REGION_MAPPED, .start = 0x7f0000000000, .end = 0x7f0000001000,
                 .path = "/dev/shm/x")),
    };

    (void)state;
    add("deterministic", cases, countof(cases), true);
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
        struct error error = BAF(REGION_MODULE, .module = 0, .offset = offset);
        if (cases[i].line)
            snprintf(where, sizeof where, " (test_error_sentences.c:%d)", cases[i].line);
        snprintf(prints, sizeof prints, "free of an address in %s%s", cases[i].prints, where);
        must_be(&error, prints); /* the lines are of this file */
    }
}

/* ---- mis ----------------------------------------------------------------------------------- */

#define MIS(entry_, family_, given_)                                               \
    {                                                                              \
        .kind = ERROR_MIS, .image = 1, .entry = ENTRY_##entry_, .block_bytes = 24, \
        .bytes = (given_), .block_family = FAMILY_##family_                        \
    }

static void test_mis(void **state)
{
    static const struct word_case cases[] = {
        CASE(MIS(FREE, NEW_ARRAY, 0)),
        CASE(MIS(FREE, NEW, 0)),
        CASE(MIS(DELETE, MALLOC, 0)),
        CASE(MIS(DELETE_ARRAY, NEW, 0)),
        CASE(MIS(DELETE, NEW_ALIGNED, 0)),
        CASE(MIS(DELETE_ALIGNED, ALIGNED, 0)),
        CASE(MIS(DELETE_ARRAY_ALIGNED, NEW_ALIGNED, 0)),
        CASE(MIS(REALLOC, NEW, 0)),
        CASE(MIS(DELETE, NEW, 16)),
        CASE(MIS(DELETE_ARRAY, NEW_ARRAY, 1)),
        CASE(MIS(FREE_SIZED, MALLOC, 16)),
        CASE(MIS(DELETE, MALLOC, 16)),
        CASE(MIS(DELETE, NEW, 24)),
        CASE(MIS(FREE_ALIGNED_SIZED, ALIGNED, 0)),
    };

    (void)state;
    add("mis", cases, countof(cases), false);
}

/* ---- wua ----------------------------------------------------------------------------------- */

#define WUA(entry_, damage_, offset_, bytes_)                                               \
    {                                                                                       \
        .kind = ERROR_WUA, .image = 1, .entry = ENTRY_##entry_, .damage = DAMAGE_##damage_, \
        .block = BLOCK, .block_bytes = 24, .address = BLOCK + (offset_), .bytes = (bytes_)  \
    }
#define WUA_FREED(entry_, damage_, offset_)                                                 \
    {                                                                                       \
        .kind = ERROR_WUA, .image = 1, .entry = ENTRY_##entry_, .damage = DAMAGE_##damage_, \
        .block = BLOCK, .block_bytes = 24, .address = BLOCK + (offset_), .bytes = 1,        \
        .block_state = BLOCK_FREED                                                          \
    }

static void test_wua(void **state)
{
    static const struct word_case cases[] = {
        CASE(WUA(FREE, AFTER, 24, 1)),        CASE(WUA(REALLOC, AFTER, 24, 4)),
        CASE(WUA(EXIT, AFTER, 30, 1)),        CASE(WUA(EXIT, BEFORE, -1, 1)),
        CASE(WUA(EXIT, BEFORE, -8, 1)),       CASE(WUA(FREE, BEFORE, -8, 4)),
        CASE(WUA(EVICTION, INSIDE, 4, 1)),    CASE(WUA(EXIT, INSIDE, 0, 24)),
        CASE(WUA_FREED(EVICTION, AFTER, 24)), CASE(WUA_FREED(EXIT, BEFORE, -1)),
        CASE(WUA(NONE, NONE, 0, 1)),
    };

    (void)state;
    add("wua", cases, countof(cases), false);
}

/* ---- accesses by calls --------------------------------------------------------------------- */

/* `length_` bytes from an offset on, of which the last `bytes_` must not be accessed. */
#define ACCESS(kind_, entry_, state_, offset_, length_, bytes_)                      \
    {                                                                                \
        .kind = ERROR_##kind_, .image = 1, .entry = ENTRY_##entry_, .block = BLOCK,  \
        .block_bytes = 24, .address = BLOCK + (offset_) + (length_) - (bytes_),      \
        .access_length = (length_), .bytes = (bytes_), .block_state = BLOCK_##state_ \
    }

static void test_accesses(void **state)
{
    static const struct word_case cases[] = {
        CASE(ACCESS(RUA, MEMCPY, LIVE, 0, 32, 8)),
        CASE(ACCESS(RUA, STRLEN, LIVE, 23, 2, 1)),
        CASE(ACCESS(RUA, MEMCMP, LIVE, 24, 4, 4)),
        CASE(ACCESS(RUA, MEMCMP, LIVE, 26, 4, 4)),
        CASE(ACCESS(RUA, MEMCHR, LIVE, -4, 4, 4)),
        CASE(ACCESS(RUA, STRCMP, FREED, 3, 1, 1)),
        CASE(ACCESS(RUA, STRCMP, FREE, 3, 1, 1)),
        CASE(ACCESS(WUA, STRCPY, LIVE, 0, 25, 1)),
        CASE(ACCESS(WUA, MEMSET, LIVE, -8, 16, 16)),
        CASE(ACCESS(WUA, MEMSET, FREED, 0, 24, 24)),
        CASE({.kind = ERROR_RUA,
              .image = 1,
              .entry = ENTRY_MEMCPY,
              .address = BLOCK,
              .access_length = 8,
              .bytes = 8,
              .region = {.what = REGION_HEAP}}),
        CASE({.kind = ERROR_RUI,
              .image = 1,
              .entry = ENTRY_WRITE,
              .address = BLOCK + 16,
              .bytes = 8,
              .access_length = 24,
              .block = BLOCK,
              .block_bytes = 24,
              .block_state = BLOCK_LIVE}),
        CASE({.kind = ERROR_RUI,
              .image = 1,
              .entry = ENTRY_MEMCMP,
              .address = BLOCK + 8,
              .bytes = 16,
              .access_length = 16,
              .block = BLOCK,
              .block_bytes = 24,
              .block_state = BLOCK_LIVE}),
        CASE({.kind = ERROR_RUI,
              .image = 1,
              .entry = ENTRY_FWRITE,
              .address = BLOCK + 4096,
              .bytes = 8,
              .access_length = 16,
              .block = BLOCK,
              .block_bytes = 24,
              .block_state = BLOCK_FREE}),
        CASE({.kind = ERROR_RUI,
              .image = 1,
              .entry = ENTRY_PRINTF,
              .bytes = 8,
              .access_length = 8,
              .block = BLOCK,
              .block_bytes = 24,
              .block_state = BLOCK_FREED}),
        CASE(
            {.kind = ERROR_RUI, .image = 1, .entry = ENTRY_PRINTF, .bytes = 8, .access_length = 8}),
        CASE({.kind = ERROR_OVL,
              .image = 1,
              .entry = ENTRY_MEMCPY,
              .address = BLOCK,
              .bytes = 20,
              .region = {.start = BLOCK + 1, .end = BLOCK + 21}}),
        CASE({.kind = ERROR_OVL,
              .image = 1,
              .entry = ENTRY_STRCPY,
              .address = BLOCK + 8,
              .bytes = 20,
              .region = {.start = BLOCK, .end = BLOCK + 20}}),
    };

    (void)state;
    add("accesses", cases, countof(cases), false);
}

/* ---- the others ---------------------------------------------------------------------------- */

static void test_others(void **state)
{
    static const struct word_case cases[] = {
        /* clang-format off */
        CASE({.kind = ERROR_OOM, .entry = ENTRY_MALLOC, .bytes = 10492000000000000000ull}),
        CASE({.kind = ERROR_OOM, .entry = ENTRY_CALLOC, .bytes = 100}),
        CASE({.kind = ERROR_OOM, .entry = ENTRY_NEW_ARRAY, .image = 1, .bytes = 100}),
        CASE({.kind = ERROR_OOM, .bytes = 100}),
        CASE({.kind = ERROR_OOM, .entry = ENTRY_MALLOC, .image = IN_FILE, .bytes = 24}),
        CASE({.kind = ERROR_BUM, .entry = ENTRY_MUNMAP, .bytes = 8192, .address = 0x1000,
             .region = {.what = REGION_UNMAPPED, .start = 0x1000, .end = 0x3000}}),
        CASE({.kind = ERROR_BUM, .entry = ENTRY_MUNMAP, .bytes = 8192, .address = 0x1000,
             .region = {.what = REGION_UNMAPPED, .start = 0x2000, .end = 0x3000}}),
        CASE({.kind = ERROR_BUM, .entry = ENTRY_MUNMAP, .bytes = 8192, .address = 0x1000,
             .region = {.what = REGION_HEAP}}),
        CASE({.kind = ERROR_BUM, .entry = ENTRY_MREMAP, .bytes = 8192, .address = 0x1000}),
        CASE({.kind = ERROR_FOREIGN, .entry = ENTRY_FREE, .region = {.what = REGION_LIBC}}),
        /* clang-format on */
    };

    (void)state;
    add("others", cases, countof(cases), false);
}

/* ---- its facts ----------------------------------------------------------------------------- */

static void test_found(void **state)
{
    static const struct word_case cases[] = {
        CASE({.bytes = 1, .found_bytes = 1}),
        CASE({.bytes = 3, .found_bytes = 3, .found = "A\xff"}),
        CASE({.bytes = 8, .found_bytes = 8, .found = "abc d~\x7f"}),
        CASE({.bytes = 9, .found_bytes = 9}),
    };
    char *all = NULL;
    size_t bytes;
    FILE *out = open_memstream(&all, &bytes);

    (void)state;
    assert_non_null(out);
    assert_null(format_found(&(struct error){.kind = ERROR_MAF}));
    for (size_t i = 0; i < countof(cases); i++) {
        char *text = format_found(&cases[i].error);
        assert_non_null(text);
        fprintf(out, "%s\n    %s\n", cases[i].name, text);
        free(text);
    }
    fclose(out);
    golden_add("found", all);
    free(all);
}

/* ---- its stacks ---------------------------------------------------------------------------- */

/* For each stack of an error: its label, the function called, and whether its thread is named. */
static void test_rows(void **state)
{
    static const struct word_case cases[] = {
        /* clang-format off */
        CASE({.kind = ERROR_DUF, .entry = ENTRY_FREE, .block_state = BLOCK_FREED, .thread = {.number = 1},
              .block_thread = {.number = 2}}),
        CASE({.kind = ERROR_DUF, .entry = ENTRY_FREE, .block_state = BLOCK_FREED, .thread = {.number = 1},
              .block_thread = {.number = 1}}),
        CASE({.kind = ERROR_DUF, .entry = ENTRY_FREE, .block_state = BLOCK_FREE}),
        CASE({.kind = ERROR_DUF, .entry = ENTRY_REALLOC, .block_state = BLOCK_FREED}),
        CASE({.kind = ERROR_MAF, .entry = ENTRY_FREE, .block_state = BLOCK_LIVE, .free_stack = NO_SITE,
              .thread = {.number = 1}, .block_thread = {.number = 2}}),
        CASE({.kind = ERROR_MAF, .entry = ENTRY_FREE, .block_state = BLOCK_FREED}),
        CASE({.kind = ERROR_MIS, .entry = ENTRY_DELETE, .free_stack = NO_SITE}),
        CASE({.kind = ERROR_MIS, .entry = ENTRY_REALLOC, .free_stack = NO_SITE}),
        CASE({.kind = ERROR_WUA, .entry = ENTRY_EXIT, .stack = NO_SITE, .free_stack = NO_SITE}),
        CASE({.kind = ERROR_WUA, .entry = ENTRY_FREE}),
        CASE({.kind = ERROR_BAF, .entry = ENTRY_FREE, .free_stack = NO_SITE, .alloc_stack = NO_SITE}),
        /* clang-format on */
    };
    char *all = NULL;
    size_t bytes;
    FILE *out = open_memstream(&all, &bytes);

    (void)state;
    assert_non_null(out);
    for (size_t i = 0; i < countof(cases); i++) {
        struct error_rows rows = error_rows(&cases[i].error);
        fprintf(out, "%s\n", cases[i].name);
        for (uint32_t k = 0; k < rows.count; k++) {
            const struct error_row *row = &rows.at[k];
            const char *name = row->entry ? entry_name(row->entry) : NULL;
            fprintf(out, "    %s: %s%s%s\n", row->label, row->order ? row->order : "",
                    name ? name : "the innermost frame's callee",
                    row->thread ? ", by a thread" : "");
        }
    }
    fclose(out);
    golden_add("rows", all);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_duf),           cmocka_unit_test(test_maf),
        cmocka_unit_test(test_baf),           cmocka_unit_test(test_baf_of_fill),
        cmocka_unit_test(test_deterministic), cmocka_unit_test(test_places),
        cmocka_unit_test(test_mis),           cmocka_unit_test(test_wua),
        cmocka_unit_test(test_accesses),      cmocka_unit_test(test_others),
        cmocka_unit_test(test_found),         cmocka_unit_test(test_rows),
    };
    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}

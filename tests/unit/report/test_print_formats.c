/*
 * test_print_formats.c - the report in the formats of memcheck and of the sanitizers: exact texts,
 * counts, processes.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_image.h"
#include "golden.h"

#define BLOCK 0x700000000040ull
#define ALL_KINDS (LEAK_DEFINITE | LEAK_INDIRECT | LEAK_POSSIBLE | LEAK_REACHABLE)
#define PROBLEMS .problem_kinds = LEAK_DEFINITE | LEAK_POSSIBLE
#define USUAL .leak_kinds = LEAK_DEFINITE | LEAK_POSSIBLE, PROBLEMS

static const char *program = "/usr/bin/prog1"; /* program of the images */

struct parts {
    uint32_t area;
    struct segment *leaks, *errors, *depot;
};

static struct parts an_image(struct build *b, uint32_t number)
{
    struct made_image i = made_image(b, number, number - 1, program);
    struct parts p = {
        i.area,
        build_records(b, i.area, SEGMENT_LEAKS, 20),
        build_records(b, i.area, SEGMENT_ERRORS, 20),
        i.depot,
    };

    build_image_header(b, i.area)->leak_check = LEAKS_FOUND;
    return p;
}

static struct error_record *an_error(struct parts *p, uint32_t kind, uint64_t offset)
{
    struct error_record *e = build_error(p->errors, kind, p->errors->count, deep(p->depot, 2));

    e->address = BLOCK + offset;
    e->block = BLOCK;
    e->block_bytes = 40;
    e->block_state = BLOCK_LIVE;
    e->alloc_stack = deep(p->depot, 1);
    return e;
}

/* ---- leaks --------------------------------------------------------------------------------- */

/* One leak of each kind; the child has only the first. */
static struct build leaks(void)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1), child;
    struct leak_group *g;

    build_leak(p.leaks, REACH_LOST, deep(p.depot, 2), 3, 1234567);
    g = build_leak(p.leaks, REACH_LOST, deep(p.depot, 1), 1, 16);
    g->indirect_blocks = 2;
    g->indirect_bytes = 64;
    build_leak(p.leaks, REACH_LOST_INDIRECT, deep(p.depot, 3), 2, 64);
    g = build_leak(p.leaks, REACH_INTERIOR, deep(p.depot, 4), 1, 256);
    g->indirect_blocks = 1;
    g->indirect_bytes = 8;
    build_leak(p.leaks, REACH_REACHABLE, deep(p.depot, 3), 1, 9)->witness = WITNESS_SELF;
    child = an_image(&b, 2);
    build_leak(child.leaks, REACH_LOST, deep(child.depot, 5), 1, 5);
    return b;
}

static void valgrind_leaks(void **state)
{
    struct build b = leaks();
    const char *text = text_of(
        &b, (struct print_options){PROBLEMS, .format = PRINT_VALGRIND, .leak_kinds = ALL_KINDS});

    (void)state;
    golden_add("valgrind leaks", text);
}

static void valgrind_shows_what_is_wanted(void **state)
{
    struct build b = leaks();
    const char *text = text_of(
        &b, (struct print_options){USUAL, .format = PRINT_VALGRIND, .quiet = true, .frames = 1});

    (void)state;
    golden_add("valgrind shows what is wanted", text);
    b = leaks();
    text = text_of(&b, (struct print_options){.leak_kinds = ALL_KINDS,
                                              .format = PRINT_VALGRIND,
                                              .leaks = PRINT_LEAKS_NOTHING,
                                              .deterministic = true});
    golden_add("valgrind, no leaks, deterministic", text);
}

static void lsan_leaks(void **state)
{
    struct build b = leaks();
    const char *text = text_of(&b, (struct print_options){USUAL, .format = PRINT_LSAN});

    (void)state;
    golden_add("lsan leaks", text);
}

/*
 * Leaks that are shown but are no problems are not matched by scripts that count "Direct leak of".
 */
static void lsan_counts_problems(void **state)
{
    struct build b = leaks();
    const char *text =
        text_of(&b, (struct print_options){.format = PRINT_LSAN,
                                           .leak_kinds = LEAK_POSSIBLE | LEAK_REACHABLE});

    (void)state;
    golden_add("lsan counts problems", text);
}

/* ---- errors -------------------------------------------------------------------------------- */

static struct build errors(void)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1);
    struct error_record *e = an_error(&p, ERROR_DUF, 0);

    e->entry = ENTRY_FREE;
    e->block_state = BLOCK_FREED;
    e->free_stack = deep(p.depot, 3);
    an_error(&p, ERROR_MAF, 3);
    e = an_error(&p, ERROR_MIS, 0);
    e->entry = ENTRY_DELETE;
    e->block_family = FAMILY_MALLOC;
    e = an_error(&p, ERROR_WUA, 41);
    e->bytes = 4;
    e->damage = DAMAGE_AFTER;
    e = an_error(&p, ERROR_BAF, 0);
    e->block = 0;
    e->alloc_stack = 0;
    e->region = REGION_UNMAPPED;
    an_error(&p, ERROR_OOM, 0)->bytes = 99;
    return b;
}

/* A bad read and a bad write by calls, and an overlap. */
static struct build accesses(void)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1);
    struct error_record *e = an_error(&p, ERROR_RUA, 40);

    e->entry = ENTRY_MEMCPY;
    e->access_length = 48;
    e->bytes = 8;
    e = an_error(&p, ERROR_WUA, 0);
    e->entry = ENTRY_MEMSET;
    e->block_state = BLOCK_FREED;
    e->free_stack = deep(p.depot, 3);
    e->access_length = 40;
    e->bytes = 40;
    e = an_error(&p, ERROR_OVL, 0);
    e->entry = ENTRY_STRCPY;
    e->bytes = 20;
    e->region_start = BLOCK + 1;
    e->region_end = BLOCK + 21;
    return b;
}

static void every_format_of_accesses(void **state)
{
    static const struct {
        const char *name;
        enum print_format format;
    } formats[] = {
        {"text", PRINT_TEXT}, {"valgrind", PRINT_VALGRIND}, {"lsan", PRINT_LSAN},
        {"gcc", PRINT_GCC},   {"github", PRINT_GITHUB},
    };
    char title[64];

    (void)state;
    for (size_t i = 0; i < countof(formats); i++) {
        struct build b = accesses();
        snprintf(title, sizeof title, "accesses: %s", formats[i].name);
        golden_add(title, text_of(&b, (struct print_options){USUAL, .format = formats[i].format,
                                                             .deterministic = i % 2}));
    }
}

static uint32_t times(const char *text, const char *prints)
{
    uint32_t count = 0;

    while ((text = strstr(text, prints))) {
        text++;
        count++;
    }
    return count;
}

static void valgrind_errors(void **state)
{
    struct build b = errors();
    const char *text = text_of(&b, (struct print_options){USUAL, .format = PRINT_VALGRIND});

    (void)state;
    golden_add("valgrind errors", text);
    assert_int_equal(times(text, "== Invalid free() / delete / delete[]"), 3);
    assert_int_equal(times(text, "== Mismatched free() / delete / delete []"), 1);
    assert_int_equal(times(text, "== Warning: an allocation failed"), 1);
}

static void lsan_errors(void **state)
{
    struct build b = errors();
    const char *text = text_of(&b, (struct print_options){USUAL, .format = PRINT_LSAN});

    (void)state;
    golden_add("lsan errors", text);
    assert_int_equal(times(text, "ERROR: AddressSanitizer"), 5);
}

/* ---- names with special characters ----------------------------------------------------------- */

static const char *file_of(struct build *b, enum report_file what)
{
    struct print_options how = {USUAL};
    char path[] = "formats.XXXXXX", err[REPORT_ERROR_BYTES];
    static char text[65536];
    struct report *r;
    int fd = build_fd(b), out = mkstemp(path);

    assert_true(out >= 0);
    close(out);
    assert_int_equal(report_open_fd(&r, fd, "test", err), 0);
    assert_int_equal(report_collect(r, err), 0);
    assert_int_equal(report_write(r, what, path, &how), 0);
    report_close(r);
    close(fd);
    build_end(b);
    memset(text, 0, sizeof text);
    out = open(path, O_RDONLY);
    assert_true(read(out, text, sizeof text - 1) > 0);
    close(out);
    unlink(path);
    return text;
}

/* Add the first piece of a text that begins with `start`, up to its `end`. */
static void add_piece(const char *name, const char *text, const char *start, const char *end)
{
    const char *at = strstr(text, start), *to = at ? strstr(at, end) : NULL;
    char piece[200];

    if (!to)
        fail_msg("no %s before a %s in\n%s", start, end, text);
    snprintf(piece, sizeof piece, "%.*s\n", (int)(to - at), at);
    golden_add(name, piece);
}

/* A program's path with characters special in XML, URIs, commands and tables, and invalid UTF-8. */
static void odd_names(void **state)
{
    struct build b;

    (void)state;
    program = "/o<d>&\"%:,|*\x01\xff\xef\xbf\xbe\xc3\xa4";
    b = leaks();
    add_piece("odd name, junit", file_of(&b, REPORT_JUNIT), "/o", "\n");
    b = leaks();
    add_piece("odd name, sarif", file_of(&b, REPORT_SARIF), "\"uri\":\"file:///o", "}");
    b = leaks();
    add_piece("odd name, gitlab", file_of(&b, REPORT_GITLAB), "\"path\"", "}");
    b = leaks();
    golden_add("odd name, github",
               text_of(&b, (struct print_options){USUAL, .format = PRINT_GITHUB}));
    program = "/usr/bin/prog1";
}

/* GitHub shows ten annotations: the tenth has the number of the others. */
static void json_of_accesses(void **state)
{
    struct build b = accesses();
    const char *text = file_of(&b, REPORT_JSON);

    (void)state;
    assert_non_null(strstr(text, "\"access\":{\"kind\":\"read\",\"size\":48}"));
    assert_non_null(strstr(text, "\"access\":{\"kind\":\"write\",\"size\":40}"));
    assert_int_equal(times(text, "\"access\":"), 2);
    assert_int_equal(times(text, "\"source\":\"0x700000000041\""), 1);
    b = accesses();
    assert_non_null(strstr(file_of(&b, REPORT_XML), "Source and destination overlap in strcpy(0x"));
}

static void github_shows_ten(void **state)
{
    (void)state;
    for (uint32_t count = 10; count <= 12; count += 2) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1);
        const char *text;
        for (uint32_t i = 1; i <= count; i++)
            build_leak(p.leaks, REACH_LOST, deep(p.depot, i), 1, 100 + i);
        text = text_of(&b, (struct print_options){USUAL, .format = PRINT_GITHUB});
        if (count > 10)
            golden_add("github shows ten", text);
        assert_int_equal(times(text, "::error "), 10);
        assert_int_equal(times(text, "::error file="), count == 10 ? 10 : 9);
        assert_int_equal(times(text, "::error title=rtcheck::3 more\n"), count == 12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valgrind_leaks),
        cmocka_unit_test(valgrind_shows_what_is_wanted),
        cmocka_unit_test(lsan_leaks),
        cmocka_unit_test(lsan_counts_problems),
        cmocka_unit_test(valgrind_errors),
        cmocka_unit_test(lsan_errors),
        cmocka_unit_test(every_format_of_accesses),
        cmocka_unit_test(json_of_accesses),
        cmocka_unit_test(odd_names),
        cmocka_unit_test(github_shows_ten),
    };

    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}

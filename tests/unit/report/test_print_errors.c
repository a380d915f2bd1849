/*
 * test_print_errors.c - the errors section, and its limits of length.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_image.h"
#include "format/fill_word.h"
#include "text.h"
#include "golden.h"

#define LIB 0x7f0000000000ull
#define LIBC 0x7f1000000000ull
#define BLOCK 0x7e0000000040ull

/* The segments of an image to which errors refer. */
struct parts {
    uint32_t area;
    struct segment *errors, *threads, *depot;
};

static struct parts an_image(struct build *b, uint32_t number, uint32_t parent)
{
    struct made_image i = made_image(b, number, parent, "/usr/bin/prog1");
    struct parts p = {i.area, build_records(b, i.area, SEGMENT_ERRORS, 64), i.threads, i.depot};

    build_module(i.modules, "/opt/libsome.so", LIB, 0x10000);
    build_module(i.modules, "/lib/libc.so.6", LIBC, 0x10000);
    return p;
}

static struct error_record *a_duf(const struct parts *p, unsigned depth)
{
    struct error_record *e = build_error(p->errors, ERROR_DUF, ENTRY_FREE, deep(p->depot, depth));

    e->address = e->block = BLOCK;
    e->block_bytes = 40;
    e->block_state = BLOCK_FREED;
    return e;
}

/* ---- whole texts --------------------------------------------------------------------------- */

static struct build one_duf(void)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    struct error_record *e = a_duf(&p, 2);

    snprintf(build_thread(p.threads, 3, 0, 0)->name, 16, "worker\x1b");
    build_image_header(&b, p.area)->end_ns += 420000000;
    e->count = 12;
    e->block_thread = 3;
    e->free_stack = deep(p.depot, 1);
    e->alloc_stack = deep(p.depot, 1);
    return b;
}

static void test_one_error(void **state)
{
    struct build b = one_duf();

    (void)state;
    golden_add("one error", text_of(&b, (struct print_options){.pool = "/state/last.pool"}));
    b = one_duf();
    golden_add("one error, terminal",
               text_of(&b, (struct print_options){.pool = "/state/last.pool", .columns = 80}));
}

/* No process id, no address, no time. */
static void test_deterministic(void **state)
{
    struct build b = one_duf();
    const char *text = text_of(&b, (struct print_options){.deterministic = true});

    (void)state;
    golden_add("one error, deterministic", text);
}

static void test_colors(void **state)
{
    struct build b = one_duf();

    (void)state;
    golden_add("one error in colours", text_of(&b, (struct print_options){.color = true}));
    b = build_begin();
    an_image(&b, 1, 0);
    golden_add("no error in colours", text_of(&b, (struct print_options){.color = true}));
}

/* The access of a crash, and the memory that its address was read from, are two sentences. */
static struct build one_crash(uint32_t state, uint64_t added)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    struct error_record *e = build_error(p.errors, ERROR_CRASH, ENTRY_NONE, deep(p.depot, 2));

    e->block = BLOCK;
    e->block_bytes = 88;
    e->block_state = state;
    e->address = fill_word_of(FILL_TAG_FREED, BLOCK) + added;
    e->free_stack = deep(p.depot, 1);
    e->alloc_stack = deep(p.depot, 1);
    e->signal = SIGSEGV;
    e->signal_code = SI_KERNEL;
    e->access = ACCESS_READ;
    e->access_bytes = 8;
    e->crash_flags = CRASH_HAS_ADDRESS | CRASH_NON_CANONICAL | CRASH_OF_FILL | CRASH_NAMED_BLOCK;
    return b;
}

static void test_crash(void **state)
{
    struct build b = one_crash(BLOCK_FREED, 40);

    (void)state;
    golden_add("a crash by freed memory", text_of(&b, (struct print_options){0}));
    b = one_crash(BLOCK_FREED, 40);
    golden_add("a crash by freed memory, terminal",
               text_of(&b, (struct print_options){.columns = 80}));
    b = one_crash(BLOCK_LIVE, 40);
    golden_add("a crash by freed memory that is reused", text_of(&b, (struct print_options){0}));
}

/* The headline counts problems and their kinds; warnings and notes are not problems. */
static void test_headlines(void **state)
{
    static const struct {
        enum error_kind kinds[6];
        const char *name;
        bool even_quiet;
    } cases[] = {
        {{0}, "headline: none", false},
        {{ERROR_OOM}, "headline: 1 warning", false},
        {{ERROR_OOM, ERROR_OOM}, "headline: 2 warnings", false},
        {{ERROR_FOREIGN}, "headline: foreign", false},
        {{ERROR_BAF}, "headline: 1 problem", true},
        {{ERROR_BAF, ERROR_BAF, ERROR_DUF, ERROR_MAF, ERROR_MIS, ERROR_WUA},
         "headline: 6 problems",
         true},
        {{ERROR_WUA, ERROR_WUA, ERROR_OOM}, "headline: problems and a warning", true},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++)
        for (int quiet = 0; quiet <= 1; quiet++) {
            struct build b = build_begin();
            struct parts p = an_image(&b, 1, 0);
            const char *text;
            for (unsigned k = 0; k < 6 && cases[i].kinds[k]; k++) {
                struct error_record *e =
                    build_error(p.errors, cases[i].kinds[k], ENTRY_FREE, deep(p.depot, k + 1));
                e->alloc_stack = e->stack;
                if (e->kind == ERROR_WUA)
                    e->damage = DAMAGE_AFTER;
            }
            text = text_of(&b, (struct print_options){.quiet = quiet});
            if (!quiet)
                golden_add(cases[i].name, text);
            else if (cases[i].even_quiet)
                must_print(text, "rtcheck: "); /* the screen above */
            else
                assert_string_equal(text, "");
        }
}

/* If a check was not made, the report must not claim that there are no problems. */
static void test_not_looked_for(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);

    (void)state;
    build_image_header(&b, p.area)->checks = 0;
    golden_add("errors were not looked for", text_of(&b, (struct print_options){0}));
    b = build_begin();
    p = an_image(&b, 1, 0);
    build_image_header(&b, p.area)->checks = 0;
    build_image_header(&b, p.area)->bad_frees[BAD_FREE_DUPLICATE] = 2;
    golden_add("only counted, quiet", text_of(&b, (struct print_options){.quiet = true}));
    b = build_begin();
    p = an_image(&b, 1, 0);
    build_image_header(&b, p.area)->flags = IMAGE_OWN_MALLOC;
    golden_add("nothing was checked", text_of(&b, (struct print_options){0}));
    b = one_duf();
    build_image_header(&b, 1)->errors_unrecorded = 3;
    golden_add("more errors than recorded", text_of(&b, (struct print_options){0}));
}

/* Counters and records count the same errors: each is reported once. */
static void test_counted_once(void **state)
{
    char *once = NULL;

    (void)state;
    for (unsigned counted = 0; counted < 3; counted++) {
        struct build b = one_duf();
        const char *text;
        build_image_header(&b, 1)->bad_frees[BAD_FREE_DUPLICATE] = counted ? 12 : 0;
        if (counted == 2)
            build_image_header(&b, 1)->checks = 0; /* its value is ignored: there are records */
        text = text_of(&b, (struct print_options){0});
        if (counted == 0)
            assert_non_null(once = strdup(text));
        else if (counted == 1)
            assert_string_equal(text, once);
        else
            golden_add("one error, counted and recorded", text);
    }
    free(once);
}

/* ---- how much ------------------------------------------------------------------------------ */

/* At a different site each. */
static void forty_dufs(const struct parts *p)
{
    for (unsigned i = 1; i <= 40; i++)
        a_duf(p, 1)->stack = build_node(p->depot, PROG + 0x1000 + 0x10 * i, 0);
}

/* As many errors as fit in full; then two lines each; then only a number. */
static void test_forty_lines(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    const char *text;

    (void)state;
    forty_dufs(&p);
    text = text_of(&b, (struct print_options){.pool = "/state/last.pool", .columns = 100});
    golden_add("40 errors", text);
    if (lines_of(text) > 40 || lines_of(text) < 36)
        fail_msg("%u lines:\n%s", lines_of(text), text);
}

/*
 * However many lines other sections take, the line with the number of further errors always fits.
 * Notes that are broken into several lines are counted as one each, so the page is wide.
 */
static void test_never_one_too_many(void **state)
{
    (void)state;
    for (unsigned more = 0; more < 3; more++) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1, 0);
        const char *text;
        build_image_header(&b, p.area)->flags |= more > 0 ? IMAGE_SANDBOXED : 0;
        build_image_header(&b, p.area)->flags |= more > 1 ? IMAGE_INHERITED_UNSURE : 0;
        forty_dufs(&p);
        text = text_of(&b, (struct print_options){.columns = 160});
        must_print(text, " more: --all prints them\n");
        if (lines_of(text) > 40 || lines_of(text) < 38)
            fail_msg("%u lines:\n%s", lines_of(text), text);
    }
}

static void test_all(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    const char *text;

    (void)state;
    forty_dufs(&p);
    text = text_of(&b, (struct print_options){.all = true});
    must_print(text, "\n40  DOUBLE FREE of a 40-byte block, main thread");
    must_print(text, "   second free()  prog1+0x1280\n");
    must_not_print(text, " more");
    assert_int_equal(lines_of(text), 2 + 40 * 3 + 3);
}

/* One error that is too long alone is printed with fewer frames. */
static void test_first_always_fits(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    struct error_record *e = a_duf(&p, 60);
    const char *text;

    (void)state;
    e->alloc_stack = deep(p.depot, 59);
    e->free_stack = deep(p.depot, 58);
    text = text_of(&b, (struct print_options){.frames = 60, .columns = 100});
    golden_add("an error of 180 frames", text);
    if (lines_of(text) > 40)
        fail_msg("%u lines:\n%s", lines_of(text), text);
}

static void test_time_orders(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    const char *text;

    (void)state;
    build_error(p.errors, ERROR_BAF, ENTRY_FREE, deep(p.depot, 1))->time_ns = 30;
    a_duf(&p, 1)->time_ns = 20;
    build_error(p.errors, ERROR_OOM, ENTRY_MALLOC, deep(p.depot, 1))->time_ns = 10;
    text = text_of(&b, (struct print_options){0});
    golden_add("errors in order of time", text);
    assert_true(strstr(text, " oom-") < strstr(text, " duf-"));
    assert_true(strstr(text, " duf-") < strstr(text, " baf-"));
}

/* ---- stacks -------------------------------------------------------------------------------- */

static const char *stack_text(const struct parts *p, struct build *b, uint32_t stack,
                              struct print_options how)
{
    build_error(p->errors, ERROR_BAF, ENTRY_FREE, stack)->address = 1;
    return text_of(b, how);
}

static void test_frames_shown(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);

    (void)state;
    golden_add("10 frames", stack_text(&p, &b, deep(p.depot, 10), (struct print_options){0}));
    b = build_begin();
    p = an_image(&b, 1, 0);
    golden_add("10 frames, 1 shown",
               stack_text(&p, &b, deep(p.depot, 10), (struct print_options){.frames = 1}));
    b = build_begin();
    p = an_image(&b, 1, 0);
    golden_add("10 frames, 2 shown",
               stack_text(&p, &b, deep(p.depot, 10), (struct print_options){.frames = 2}));
    b = build_begin();
    p = an_image(&b, 1, 0);
    must_not_print(stack_text(&p, &b, deep(p.depot, 8), (struct print_options){0}), "...");
}

/*
 * Three consecutive frames of a library without lines are merged; two are not, nor the program's
 * own.
 */
static void test_library_runs(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    uint32_t stack = deep(p.depot, 4);

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        stack = build_node(p.depot, LIB + 0x20 + i, stack);
    stack = build_node(p.depot, PROG + 0x999, stack);
    for (unsigned i = 0; i < 2; i++)
        stack = build_node(p.depot, LIB + 0x50 + i, stack);
    golden_add("run of frames in a library", stack_text(&p, &b, stack, (struct print_options){0}));
}

/* Frames of libc outside of main are not printed; libc's frames in the middle are. */
static void test_before_main(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    uint32_t stack = build_node(p.depot, LIBC + 0x10, build_node(p.depot, LIBC + 0x20, 0));

    (void)state;
    stack = build_node(p.depot, LIBC + 0x30, build_node(p.depot, PROG + 0x40, stack));
    golden_add("frames before main", stack_text(&p, &b, stack, (struct print_options){0}));
}

static void test_ends_of_stacks(void **state)
{
    static const struct {
        uint32_t end;
        const char *name;
    } cases[] = {
        {STACK_WHOLE, "stack: whole"},
        {STACK_NO_INFO, "stack: no call frame information"},
        {STACK_OFF_STACK, "stack: next frame not on the stack"},
        {STACK_CUT, "stack: cut"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1, 0);
        uint32_t stack = build_node(p.depot, PROG + 0x40, depot_root(cases[i].end));
        golden_add(cases[i].name, stack_text(&p, &b, stack, (struct print_options){0}));
    }
}

static void test_no_module(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);

    (void)state;
    golden_add("no module",
               stack_text(&p, &b, build_node(p.depot, 0x4242, 0), (struct print_options){0}));
    b = build_begin();
    p = an_image(&b, 1, 0);
    golden_add("no module, deterministic",
               stack_text(&p, &b, build_node(p.depot, 0x4242, 0),
                          (struct print_options){.deterministic = true}));
}

/* ---- processes ----------------------------------------------------------------------------- */

static void test_processes(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0), q = an_image(&b, 2, 1);

    (void)state;
    a_duf(&p, 1);
    a_duf(&q, 1);
    build_error(q.errors, ERROR_BAF, ENTRY_FREE, deep(q.depot, 1))->address = 8;
    golden_add("errors of two processes", text_of(&b, (struct print_options){0}));
    b = build_begin();
    p = an_image(&b, 1, 0);
    q = an_image(&b, 2, 1);
    a_duf(&q, 1);
    golden_add("errors of two processes, deterministic",
               text_of(&b, (struct print_options){.deterministic = true}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_error),
        cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_colors),
        cmocka_unit_test(test_crash),
        cmocka_unit_test(test_headlines),
        cmocka_unit_test(test_not_looked_for),
        cmocka_unit_test(test_counted_once),
        cmocka_unit_test(test_forty_lines),
        cmocka_unit_test(test_never_one_too_many),
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_first_always_fits),
        cmocka_unit_test(test_time_orders),
        cmocka_unit_test(test_frames_shown),
        cmocka_unit_test(test_library_runs),
        cmocka_unit_test(test_before_main),
        cmocka_unit_test(test_ends_of_stacks),
        cmocka_unit_test(test_no_module),
        cmocka_unit_test(test_processes),
    };
    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}

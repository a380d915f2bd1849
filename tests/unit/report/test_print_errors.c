/*
 * test_print_errors.c - the errors section: exact texts, and its limits of length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_image.h"
#include "text.h"

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

#define ID "duf-76e19095"
#define COST                                                                                       \
    "COST            task clock, page faults, context switches, max rss n/a: not reported by "  \
    "the system\n"                                                                                 \
    "                checker: 5 allocs, 4 frees, records n/a: not reported by the system\n"            \
    "                own cost: n/a: nothing was timed: no process came so far\n"

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
    assert_string_equal(text_of(&b, (struct print_options){.pool = "/state/last.pool"}),
                        "rtcheck: 1 problem: 1 double free; 5 allocs, 4 frees, 1 process\n"
                        "  prog1   pid 2000000001   ran 0.42 s\n"
                        "ERRORS\n"
                        " " ID "  double free of a 40-byte block\n"
                        "     0x7e0000000040, thread main, 12 times\n"
                        "     freed again  prog1+0x20\n"
                        "                  prog1+0x10\n"
                        "     first freed  by thread 3 (worker\\x1b)\n"
                        "                  prog1+0x10\n"
                        "     allocated    prog1+0x10\n"
                        "IN USE AT EXIT  nothing\n" COST
                        "rtcheck: in control; 1 problem; exit status 0; run file: /state/last.pool\n");
}

/* No process id, no address, no time. */
static void test_deterministic(void **state)
{
    struct build b = one_duf();

    (void)state;
    assert_string_equal(text_of(&b, (struct print_options){.deterministic = true}),
                        "rtcheck: 1 problem: 1 double free; 5 allocs, 4 frees, 1 process\n"
                        "  prog1\n"
                        "ERRORS\n"
                        " " ID "  double free of a 40-byte block\n"
                        "     thread main, 12 times\n"
                        "     freed again  prog1+0x20\n"
                        "                  prog1+0x10\n"
                        "     first freed  by thread 3 (worker\\x1b)\n"
                        "                  prog1+0x10\n"
                        "     allocated    prog1+0x10\n"
                        "IN USE AT EXIT  nothing\n"
                        "rtcheck: in control; 1 problem; exit status 0\n");
}

static void test_colors(void **state)
{
    struct build b = one_duf();
    const char *text = text_of(&b, (struct print_options){.color = true});

    (void)state;
    must_print(text, "\033[1;31mrtcheck: 1 problem: 1 double free\033[0m; 5 allocs");
    must_print(text, "\n\033[1mERRORS\033[0m\n \033[1;31m" ID "\033[0m  double");
    must_print(text, "\033[1mIN USE AT EXIT\033[0m  nothing\n");
    must_print(text, "\033[1;31mrtcheck: in control; 1 problem; \033[0mexit");
    b = build_begin();
    an_image(&b, 1, 0);
    text = text_of(&b, (struct print_options){.color = true});
    must_print(text, "\033[32mrtcheck: no problems\033[0m, ");
    must_not_print(text, "\033[1;31m");
    b = one_duf();
    must_not_print(text_of(&b, (struct print_options){0}), "\033");
}

/* The headline counts problems and their kinds; warnings and notes are not problems. */
static void test_headlines(void **state)
{
    static const struct {
        enum error_kind kinds[6];
        const char *prints;
        bool even_quiet;
    } cases[] = {
        {{0}, "rtcheck: no problems, 5 allocs", false},
        {{ERROR_OOM}, "rtcheck: no problems, 1 warning, 5 allocs", false},
        {{ERROR_OOM, ERROR_OOM}, "rtcheck: no problems, 2 warnings, 5 allocs", false},
        {{ERROR_FOREIGN}, "rtcheck: no problems, 5 allocs", false},
        {{ERROR_BAF}, "rtcheck: 1 problem: 1 invalid free; 5 allocs", true},
        {{ERROR_BAF, ERROR_BAF, ERROR_DUF, ERROR_MAF, ERROR_MIS, ERROR_WUA},
         "rtcheck: 6 problems: 2 invalid frees, 1 double free, 1 free inside a block, 1 mismatched free, "
         "1 bad write; 5 allocs", true},
        {{ERROR_WUA, ERROR_WUA, ERROR_OOM},
         "rtcheck: 2 problems: 2 bad writes, 1 warning; 5 allocs", true},
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
            }
            text = text_of(&b, (struct print_options){.quiet = quiet});
            if (quiet && !cases[i].even_quiet)
                assert_string_equal(text, "");
            else
                must_print(text, cases[i].prints);
        }
}

/* If a check was not made, the report must not claim that there are no problems. */
static void test_not_looked_for(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);

    (void)state;
    build_image_header(&b, p.area)->checks = 0;
    must_print(text_of(&b, (struct print_options){0}), "rtcheck: problems were not looked for, 5 allocs");
    b = build_begin();
    p = an_image(&b, 1, 0);
    build_image_header(&b, p.area)->checks = 0;
    build_image_header(&b, p.area)->bad_frees[BAD_FREE_DUPLICATE] = 2;
    must_print(text_of(&b, (struct print_options){.quiet = true}),
               "rtcheck: 2 problems: 2 double frees; 5 allocs");
    b = build_begin();
    p = an_image(&b, 1, 0);
    build_image_header(&b, p.area)->flags = IMAGE_OWN_MALLOC;
    must_print(text_of(&b, (struct print_options){0}), "rtcheck: nothing was checked, 5 allocs");
    b = one_duf();
    build_image_header(&b, 1)->errors_unrecorded = 3;
    must_print(text_of(&b, (struct print_options){0}), "rtcheck: at least 1 problem: 1 double free");
}

/* Counters and records count the same errors: each is reported once. */
static void test_counted_once(void **state)
{
    struct build b = one_duf();

    (void)state;
    build_image_header(&b, 1)->bad_frees[BAD_FREE_DUPLICATE] = 12;
    must_print(text_of(&b, (struct print_options){0}), "rtcheck: 1 problem: 1 double free; 5 allocs");
    b = one_duf();
    build_image_header(&b, 1)->bad_frees[BAD_FREE_DUPLICATE] = 12;
    build_image_header(&b, 1)->checks = 0; /* its value is ignored: there are records */
    must_print(text_of(&b, (struct print_options){0}), "rtcheck: 1 problem: 1 double free; 5 allocs");
}

/* ---- how much ------------------------------------------------------------------------------ */

/* At a different site each. */
static void forty_dufs(const struct parts *p)
{
    for (unsigned i = 1; i <= 40; i++)
        a_duf(p, 1)->stack = build_node(p->depot, PROG + 0x1000 + 0x10 * i, 0);
}

/* As many errors as fit in full; then one line each; then only a number. */
static void test_forty_lines(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    const char *text;

    (void)state;
    forty_dufs(&p);
    text = text_of(&b, (struct print_options){.pool = "/state/last.pool"});
    must_print(text, "ERRORS\n duf-");
    must_print(text, "     freed again  prog1+0x1010\n");
    must_print(text, " more: rtcheck report --all /state/last.pool\nIN USE");
    must_print(text, " double free of a 40-byte block; freed again prog1+0x");
    if (lines_of(text) > 40 || lines_of(text) < 36)
        fail_msg("%u lines:\n%s", lines_of(text), text);
}

/*
 * However many lines other sections take, the line with the number of further errors always fits.
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
        text = text_of(&b, (struct print_options){0});
        must_print(text, " more: --all prints them\n");
        text = strstr(text, "ERRORS\n");
        assert_int_equal(lines_of(text) - lines_of(strstr(text, "IN USE")), 30 - more);
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
    must_print(text, "     freed again  prog1+0x1280\n");
    must_not_print(text, " more");
    assert_int_equal(lines_of(text), 3 + 40 * 3 + 5);
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
    text = text_of(&b, (struct print_options){.frames = 60});
    must_print(text, "     freed again  prog1+0x3c0\n                  prog1+0x3b0\n");
    must_print(text, "     allocated    prog1+0x3b0\n");
    must_print(text, " more\n");
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
    const char *text = stack_text(&p, &b, deep(p.depot, 10), (struct print_options){0});

    (void)state;
    must_print(text, "     called from  prog1+0xa0\n");
    must_print(text, "                  prog1+0x30\n                  ... 2 more\n");
    b = build_begin();
    p = an_image(&b, 1, 0);
    text = stack_text(&p, &b, deep(p.depot, 10), (struct print_options){.frames = 1});
    must_print(text, "     called from  prog1+0xa0\n                  ... 9 more\n");
    b = build_begin();
    p = an_image(&b, 1, 0);
    must_not_print(stack_text(&p, &b, deep(p.depot, 8), (struct print_options){0}), " more");
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
    const char *text;

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        stack = build_node(p.depot, LIB + 0x20 + i, stack);
    stack = build_node(p.depot, PROG + 0x999, stack);
    for (unsigned i = 0; i < 2; i++)
        stack = build_node(p.depot, LIB + 0x50 + i, stack);
    text = stack_text(&p, &b, stack, (struct print_options){0});
    must_print(text, "     called from  libsome.so+0x51\n"
                   "                  libsome.so+0x50\n"
                   "                  prog1+0x999\n"
                   "                  ... 3 frames in libsome.so\n"
                   "                  prog1+0x40\n"
                   "                  prog1+0x30\n"
                   "                  prog1+0x20\n"
                   "                  prog1+0x10\n");
}

/* Frames of libc outside of main are not printed; libc's frames in the middle are. */
static void test_before_main(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    uint32_t stack = build_node(p.depot, LIBC + 0x10, build_node(p.depot, LIBC + 0x20, 0));
    const char *text;

    (void)state;
    stack = build_node(p.depot, LIBC + 0x30, build_node(p.depot, PROG + 0x40, stack));
    text = stack_text(&p, &b, stack, (struct print_options){0});
    must_print(text, "     called from  libc.so.6+0x30\n                  prog1+0x40\nIN USE");
}

static void test_ends_of_stacks(void **state)
{
    static const struct {
        uint32_t end;
        const char *prints;
    } cases[] = {
        {STACK_WHOLE, "prog1+0x40\nIN USE"},
        {STACK_NO_INFO, "prog1+0x40\n                  (ends here: code without call frame "
                        "information)\nIN USE"},
        {STACK_OFF_STACK, "prog1+0x40\n                  (ends here: the next frame is not on the "
                       "stack)\nIN USE"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1, 0);
        uint32_t stack = build_node(p.depot, PROG + 0x40, depot_root(cases[i].end));
        must_print(stack_text(&p, &b, stack, (struct print_options){0}), cases[i].prints);
    }
}

static void test_no_module(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);

    (void)state;
    must_print(stack_text(&p, &b, build_node(p.depot, 0x4242, 0), (struct print_options){0}),
               "     called from  0x4242 in no known module\n");
    b = build_begin();
    p = an_image(&b, 1, 0);
    must_print(stack_text(&p, &b, build_node(p.depot, 0x4242, 0),
                          (struct print_options){.deterministic = true}),
               "     called from  an address in no known module\n");
}

/* ---- processes ----------------------------------------------------------------------------- */

static void test_processes(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0), q = an_image(&b, 2, 1);
    const char *text;

    (void)state;
    a_duf(&p, 1);
    a_duf(&q, 1);
    build_error(q.errors, ERROR_BAF, ENTRY_FREE, deep(q.depot, 1))->address = 8;
    text = text_of(&b, (struct print_options){0});
    must_print(text, "     0x7e0000000040, thread main, 2 times, in 2 processes (first 2000000001, prog1)\n");
    must_print(text, "     0x8, thread main, in process 2000000002 (prog2)\n");
    b = build_begin();
    p = an_image(&b, 1, 0);
    q = an_image(&b, 2, 1);
    a_duf(&q, 1);
    text = text_of(&b, (struct print_options){.deterministic = true});
    must_print(text, "     thread main, in process prog2\n");
    must_not_print(text, "20000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_error),      cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_colors),         cmocka_unit_test(test_headlines),
        cmocka_unit_test(test_not_looked_for), cmocka_unit_test(test_counted_once),
        cmocka_unit_test(test_forty_lines),    cmocka_unit_test(test_never_one_too_many), cmocka_unit_test(test_all),
        cmocka_unit_test(test_first_always_fits), cmocka_unit_test(test_time_orders),
        cmocka_unit_test(test_frames_shown),   cmocka_unit_test(test_library_runs),
        cmocka_unit_test(test_before_main),    cmocka_unit_test(test_ends_of_stacks),
        cmocka_unit_test(test_no_module),      cmocka_unit_test(test_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

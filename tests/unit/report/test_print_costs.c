/*
 * test_print_costs.c - blocks in use at exit, and the costs of the run: exact texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text.h"
#include "made_image.h"

static struct made_image an_image(struct build *b, uint32_t number, uint32_t parent)
{
    return made_image(b, number, parent, "/usr/bin/prog1");
}

static struct build with_use(void)
{
    struct build b = build_begin();
    struct made_image p = an_image(&b, 1, 0);

    build_block(build_slab(&b, p.area, 1, 64, 4), 0, BLOCK_LIVE, 9, deep(p.depot, 9));
    build_image_header(&b, p.area)->peak_bytes = 20000;
    return b;
}

static void test_use(void **state)
{
    struct build b = with_use();
    const char *text = text_of(&b, (struct print_options){0});

    (void)state;
    must_print(text, "IN USE AT EXIT  9 B in 1 block; peak 19.5 KiB\n"
                   "  9 B in 1 block  prog1+0x90  <- prog1+0x80  <- prog1+0x70\nCOST");
    b = with_use();
    must_not_print(text_of(&b, (struct print_options){.use = PRINT_USE_NOTHING}), "IN USE");
    b = with_use();
    text = text_of(&b, (struct print_options){.use = PRINT_USE_STACKS});
    must_print(text, "          9 B    100.0%          1          9 B  \n"
                   "                  prog1+0x90\n");
    must_print(text, "                  prog1+0x20\n                  ... 1 more\nCOST");
    b = with_use();
    an_image(&b, 2, 1);
    must_print(text_of(&b, (struct print_options){0}), "; peak 19.5 KiB in one process\n");
}

static void test_costs(void **state)
{
    struct build b = build_begin();
    struct made_image p = an_image(&b, 1, 0), q;

    (void)state;
    build_costs(build_image_header(&b, p.area), COST_CLOCK | COST_RUSAGE);
    must_print(text_of(&b, (struct print_options){0}),
               "COST            task clock 12.346 ms (clock_gettime)\n"
               "                page faults 412 + 1 major, context switches 3 + 2 forced, max rss 8.0 MiB (getrusage)\n"
               "                checker: 5 allocs, 4 frees, 96.0 KiB of records\n");
    b = build_begin();
    p = an_image(&b, 1, 0);
    build_costs(build_image_header(&b, p.area), COST_CLOCK);
    must_print(text_of(&b, (struct print_options){0}),
               "COST            task clock 12.346 ms (clock_gettime)\n"
               "                page faults, context switches, max rss n/a: not reported by the system\n");
    b = build_begin();
    p = an_image(&b, 1, 0);
    q = an_image(&b, 2, 1);
    build_costs(build_image_header(&b, p.area), COST_CLOCK | COST_RUSAGE);
    build_image_header(&b, q.area)->state = IMAGE_OPEN;
    must_print(text_of(&b, (struct print_options){0}),
               "COST            task clock 12.346 ms (clock_gettime, of 1 of 2 processes)\n");
    b = build_begin();
    p = an_image(&b, 1, 0);
    build_image_header(&b, p.area)->state = IMAGE_OPEN;
    must_print(text_of(&b, (struct print_options){0}), "max rss n/a: it was killed\n");
    b = build_begin();
    an_image(&b, 1, 0);
    build_run(&b)->version_minor = 1;
    must_print(text_of(&b, (struct print_options){0}),
               "max rss n/a: not counted by the version that wrote the file\n");
}

/* Costs of several processes are added, except the maximum resident size. */
static void test_costs_of_two(void **state)
{
    struct build b = build_begin();
    struct made_image p = an_image(&b, 1, 0), q = an_image(&b, 2, 1);

    (void)state;
    build_costs(build_image_header(&b, p.area), COST_CLOCK | COST_RUSAGE);
    build_costs(build_image_header(&b, q.area), COST_CLOCK | COST_RUSAGE);
    build_image_header(&b, q.area)->max_rss_bytes = 4 << 20;
    must_print(text_of(&b, (struct print_options){0}),
               "COST            task clock 24.691 ms (clock_gettime)\n"
               "                page faults 824 + 2 major, context switches 6 + 4 forced, max rss 8.0 MiB (getrusage)\n");
}

/* Costs of an image before an exec are contained in its successor's. */
static void test_costs_of_exec(void **state)
{
    struct build b = build_begin();
    struct made_image p = an_image(&b, 1, 0);
    uint32_t area = build_image(&b, 2, 1, NOBODYS_PID + 1, IMAGE_EXEC);

    (void)state;
    build_image_header(&b, p.area)->end_how = END_EXEC;
    build_costs(build_image_header(&b, p.area), COST_CLOCK | COST_RUSAGE);
    build_costs(build_image_header(&b, area), COST_CLOCK | COST_RUSAGE);
    must_print(text_of(&b, (struct print_options){0}), "COST            task clock 12.346 ms (clock_gettime)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_use),
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_costs_of_two),
        cmocka_unit_test(test_costs_of_exec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

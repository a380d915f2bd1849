/*
 * test_print_costs.c - blocks in use at exit, and the costs of the run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text.h"
#include "made_image.h"
#include "golden.h"

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
    static const struct {
        enum print_use use;
        const char *name;
    } cases[] = {
        {PRINT_USE_SUM, "use: sum"},
        {PRINT_USE_NOTHING, "use: nothing"},
        {PRINT_USE_TABLE, "use: table"},
        {PRINT_USE_STACKS, "use: stacks"},
    };

    (void)state;
    an_image(&b, 2, 1);
    golden_add("use: peak of two processes", text_of(&b, (struct print_options){0}));
    for (size_t i = 0; i < countof(cases); i++) {
        b = with_use();
        golden_add(cases[i].name, text_of(&b, (struct print_options){.use = cases[i].use}));
    }
}

/* The text with one line of costs, and in detail. */
static void add_both(const char *name, struct build (*make)(void))
{
    char longer[80];
    struct build b = make();

    golden_add(name, text_of(&b, (struct print_options){.use = PRINT_USE_NOTHING}));
    b = make();
    snprintf(longer, sizeof longer, "%s, in detail", name);
    golden_add(longer, text_of(&b, (struct print_options){.use = PRINT_USE_NOTHING, .cost = true}));
}

static struct build with_costs(uint32_t known)
{
    struct build b = build_begin();

    build_costs(build_image_header(&b, an_image(&b, 1, 0).area), known);
    return b;
}

static struct build all_costs(void)
{
    return with_costs(COST_CLOCK | COST_RUSAGE);
}

static struct build clock_only(void)
{
    return with_costs(COST_CLOCK);
}

static struct build long_clock(void)
{
    struct build b = all_costs();

    build_image_header(&b, 1)->task_clock_ns = 1950000000;
    return b;
}

static struct build killed_child(void)
{
    struct build b = all_costs();

    build_image_header(&b, an_image(&b, 2, 1).area)->state = IMAGE_OPEN;
    return b;
}

static struct build killed(void)
{
    struct build b = build_begin();

    build_image_header(&b, an_image(&b, 1, 0).area)->state = IMAGE_OPEN;
    return b;
}

static struct build old_version(void)
{
    struct build b = build_begin();

    an_image(&b, 1, 0);
    build_run(&b)->version_minor = 1;
    return b;
}

static void test_costs(void **state)
{
    (void)state;
    add_both("costs", all_costs);
    add_both("costs: clock only", clock_only);
    add_both("costs: seconds", long_clock);
    add_both("costs: a child was killed", killed_child);
    add_both("costs: killed", killed);
    add_both("costs: old version", old_version);
}

/* Costs of several processes are added, except the maximum resident size. */
static struct build costs_of_two(void)
{
    struct build b = all_costs();
    struct made_image q = an_image(&b, 2, 1);

    build_costs(build_image_header(&b, q.area), COST_CLOCK | COST_RUSAGE);
    build_image_header(&b, q.area)->max_rss_bytes = 4 << 20;
    return b;
}

/* Costs of an image before an exec are contained in its successor's. */
static struct build costs_of_exec(void)
{
    struct build b = all_costs();
    uint32_t area = build_image(&b, 2, 1, NOBODYS_PID + 1, IMAGE_EXEC);

    build_image_header(&b, 1)->end_how = END_EXEC;
    build_costs(build_image_header(&b, area), COST_CLOCK | COST_RUSAGE);
    return b;
}

static void test_costs_of_two(void **state)
{
    (void)state;
    add_both("costs of two processes", costs_of_two);
    add_both("costs of an exec", costs_of_exec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_use),
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_costs_of_two),
    };
    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}

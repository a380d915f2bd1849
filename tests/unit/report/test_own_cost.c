/*
 * test_own_cost.c - the runtime's own share of the costs, as text: timed operations are
 * extrapolated to all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text.h"
#include "golden.h"
#include "made_image.h"

static struct cost_record *a_cost_record(const struct build *b, uint32_t area)
{
    struct segment *s = build_records(b, area, SEGMENT_COSTS, 1);

    s->count = 1;
    return (struct cost_record *)(s + 1);
}

/* An image with one thread that has made these numbers of calls. */
static struct cost_record *an_image(struct build *b, uint64_t allocs, uint64_t frees,
                                    uint64_t reallocs)
{
    uint32_t area = build_image(b, 1, 0, NOBODYS_PID, IMAGE_ROOT);
    struct segment *threads = build_records(b, area, SEGMENT_THREADS, 4);

    build_costs(build_image_header(b, area), COST_CLOCK | COST_RUSAGE);
    build_thread(threads, 1, allocs, frees)->reallocs = reallocs;
    return a_cost_record(b, area);
}

/* 4,000 allocations and 2,000 frees in 1 ms, of which the runtime had 10 %; a tick is half a ns. */
static struct build with_our_share(uint64_t faults)
{
    struct build b = build_begin();
    struct cost_record *c = an_image(&b, 4000, 2000, 0);

    *c = (struct cost_record){.every = 1000, .rate = 2 << 20, .kernel_ticks = 4000};
    c->whole[COST_ALLOCATE] = (struct cost_done){4, 4000, 700000, 7, 0};
    c->whole[COST_FREE] = (struct cost_done){2, 2000, 300000, faults, 0};
    c->work[COST_ALLOCATE] = (struct cost_done){8, 4000, 800000, 0, 0};
    c->work[COST_FREE] =
        (struct cost_done){4, 2000, (uint64_t)-10, 0, 0}; /* below the clock's resolution */
    c->work[COST_UNWIND] = (struct cost_done){12, 6000, 1200000, 0, 0};
    c->work[COST_SCAN].ns = 734600;
    c->alloc_times[cost_time_class(90)] = 3900;
    c->alloc_times[cost_time_class(1000)] = 100;
    c->free_times[cost_time_class(40)] = 2000;
    return b;
}

/*
 * The text from the share on, without what the report itself took: it is timed in this process.
 * Frees `b`.
 */
static void add_share(const char *name, struct build *b)
{
    const char *text = text_of(b, (struct print_options){.cost = true});
    const char *at = strstr(text, "own cost: "), *took, *after;
    char share[4000];

    if (!at)
        fail_msg("no share in\n%s", text);
    took = strstr(at, "report ");
    after = took ? took + strcspn(took, ",\n") : at;
    snprintf(share, sizeof share, "%.*s%s%s", took ? (int)(took - at) : 0, at,
             took ? "report <ms>" : "", after);
    golden_add(name, share);
}

static void in_words(void **state)
{
    struct build b = with_our_share(1);

    (void)state;
    add_share("6,000 operations", &b);
    b = with_our_share(8000); /* more than the 413 that there were */
    add_share("at most the page faults of the run", &b);
}

/* Faults of scan and start are all counted: at most the rest of 413 belongs to the operations. */
static void faults_of_parts(void **state)
{
    struct build b = build_begin();
    struct cost_record *c = an_image(&b, 4000, 2000, 0);

    (void)state;
    *c = (struct cost_record){.every = 1000, .rate = 2 << 20};
    c->whole[COST_ALLOCATE] = (struct cost_done){4, 4000, 700000, 8000, 0};
    c->work[COST_ALLOCATE] = (struct cost_done){8, 4000, 800000, 0, 0};
    c->alloc_times[cost_time_class(90)] = 4000;
    c->work[COST_SCAN] = (struct cost_done){.faults = 300, .ns = 1};
    c->work[COST_START] = (struct cost_done){.faults = 13, .ns = 1};
    add_share("page faults of scan and start", &b);
}

/*
 * If the share is unknown the text has the reason; other costs, which need no timing, are printed.
 */
static void not_known(void **state)
{
    struct build b = build_begin();
    struct segment *slab;

    (void)state;
    an_image(&b, 0, 0, 0)->every = 1000; /* no rate: it was killed before that */
    add_share("killed before the clock's rate was known", &b);
    b = build_begin();
    slab = build_slab(&b, build_image(&b, 1, 0, NOBODYS_PID, IMAGE_ROOT), 1, 32, 64);
    build_block(slab, 0, BLOCK_LIVE, 20, 0);
    add_share("not recorded", &b);
    b = build_begin();
    build_image(&b, 1, 0, NOBODYS_PID, IMAGE_ROOT);
    strcpy(build_run(&b)->options, "leaks=no:cost-every=0:frames=9");
    add_share("cost-every=0", &b);
    b = build_begin();
    build_image(&b, 1, 0, NOBODYS_PID, IMAGE_ROOT);
    strcpy(build_run(&b)->options, "cost_every=05");
    build_run(&b)->version_minor = 5;
    add_share("a file of minor version 5", &b);
}

/* Of two processes one has no known costs, and both had a share. */
static void of_some(void **state)
{
    struct build b = with_our_share(1);

    (void)state;
    build_image_header(&b, build_image(&b, 2, 1, NOBODYS_PID + 1, IMAGE_FORK))->state = IMAGE_OPEN;
    add_share("one of two processes", &b);
}

/*
 * Timed operations are extrapolated to the threads' counters, unless timing was stopped (by a
 * sandbox): 1.5 x 1 ms + 0.5 x 0.5 ms.
 */
static void as_many_as_there_were(void **state)
{
    (void)state;
    for (uint32_t stopped = 0; stopped < 2; stopped++) {
        struct build b = build_begin();
        struct cost_record *c = an_image(&b, 8000, 2000, 2000);
        *c = (struct cost_record){
            .every = 1000, .rate = 1 << 20, .kernel_ticks = 150000, .stopped = stopped};
        c->whole[COST_ALLOCATE] = (struct cost_done){4, 4000, 1000000, 12, 0};
        c->whole[COST_RESIZE] = (struct cost_done){4, 4000, 500000, 0, 0};
        c->work[COST_ALLOCATE] = (struct cost_done){4, 2000, 600000, 0, 0};
        c->alloc_times[cost_time_class(90)] = 4000;
        add_share(stopped ? "timing was stopped" : "extrapolated", &b);
    }
}

/* The share in cycles, of a run with this counter. */
static void add_cycles(const char *name, const struct counter_row *row)
{
    struct build b = with_our_share(1);
    struct report *r = collect(&b);
    struct cost_sum sum = cost_sum(r);
    char text[2000] = "", *at;
    struct page page = {.how = &(struct print_options){0},
                        .out = fmemopen(text, sizeof text - 1, "w")};

    report_set_counters(r, (struct counter_row[]){{.name = "faults"}, *row}, 2);
    own_cost_print(r, &sum, &page);
    fclose(page.out);
    report_close(r);
    assert_non_null(at = strstr(text, "cycles "));
    golden_add(name, at);
}

static void cycles(void **state)
{
    struct counter_row row = {
        .name = "cycles", .is_cycles = true, .reading = {true, false, 3000, 1000, 1000}};

    (void)state;
    add_cycles("cycles of 1.2346 ms", &row);
    row.user_alone = true;
    add_cycles("cycles in user mode", &row);
    row.is_cycles = false;
    add_cycles("another counter", &row);
    row = (struct counter_row){.name = "cycles", .is_cycles = true, .why = "n/a: no PMU"};
    add_cycles("cycles without a PMU", &row);
    row.reading.known = true; /* it was never on a counter */
    add_cycles("cycles that were not counted", &row);
}

/* The line of a run whose task clock is `clock_ns`; timed operations took 0.5 ms of it, the scan 0.7 ms. */
static void add_line(const char *name, struct build *b, uint64_t clock_ns, unsigned pairs)
{
    char text[2000] = "";
    struct print_options how = {.columns = 1000};
    struct report *r;

    build_image_header(b, 1)->task_clock_ns = clock_ns;
    r = collect(b);
    r->measured.pairs = pairs;
    struct page page = {
        .how = &how, .columns = how.columns, .out = fmemopen(text, sizeof text - 1, "w")};
    cost_print(r, &page);
    fclose(page.out);
    report_close(r);
    golden_add(name, text);
}

/* Left out if 5 ms for the image, the operations, and 5 us for each of 2048 pages are more than 5 % of the task clock. */
static void left_out(void **state)
{
    struct build b = with_our_share(1);

    (void)state;
    add_line("just below 100 ms", &b, 99999999, 0);
    b = with_our_share(1);
    add_line("just below 100 ms, measured", &b, 99999999, 1);
    b = with_our_share(1);
    add_line("the operations are just above 5 %", &b, 109900000, 0);
    b = with_our_share(1);
    add_line("the operations are just below 5 %", &b, 110100000, 0);
    b = with_our_share(1);
    add_line("the page faults are just above 5 %", &b, 314700000, 0);
    b = with_our_share(1);
    add_line("all are just below 5 %", &b, 314800000, 0);
    b = with_our_share(1);
    build_image_header(&b, 1)->minor_faults = 4000;
    add_line("4,000 page faults", &b, 314800000, 0);
    b = with_our_share(1);
    build_image_header(&b, 1)->peak_bytes = 2 << 20;
    add_line("2 MiB at the peak", &b, 2000000000, 0);
    b = with_our_share(1);
    build_image_header(&b, 1)->peak_bytes = (2 << 20) + 1;
    add_line("a byte more at the peak", &b, 2000000000, 0);
}

/* Time of the scan is known: it replaces nothing. */
static void large_scan(void **state)
{
    struct build b = build_begin();
    struct cost_record *c = an_image(&b, 0, 0, 0);

    (void)state;
    *c = (struct cost_record){.every = 1000, .rate = 2 << 20};
    c->work[COST_SCAN].ns = 300000000;
    add_line("a large scan", &b, 1000000000, 0);
}

static void add_child(struct build *b)
{
    uint32_t area = build_image(b, 2, 1, NOBODYS_PID + 1, IMAGE_FORK);

    build_costs(build_image_header(b, area), COST_CLOCK | COST_RUSAGE);
    a_cost_record(b, area)->every = 1000;
}

static void several_images(void **state)
{
    struct build b = with_our_share(1);

    (void)state;
    add_child(&b);
    add_line("two short processes", &b, 180000000, 0);
    b = with_our_share(1);
    add_child(&b);
    add_line("two long processes", &b, 610000000, 0);
}

/* After that, operations were not timed. */
static void sandboxed(void **state)
{
    struct build b = build_begin();
    struct cost_record *c = an_image(&b, 4000, 2000, 0);

    (void)state;
    *c = (struct cost_record){.every = 1000, .rate = 2 << 20, .stopped = 1};
    add_line("a sandbox", &b, 1000000000, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_words),
        cmocka_unit_test(faults_of_parts),
        cmocka_unit_test(not_known),
        cmocka_unit_test(of_some),
        cmocka_unit_test(as_many_as_there_were),
        cmocka_unit_test(cycles),
        cmocka_unit_test(left_out),
        cmocka_unit_test(large_scan),
        cmocka_unit_test(several_images),
        cmocka_unit_test(sandboxed),
    };
    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}

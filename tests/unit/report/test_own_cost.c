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

static void in_words(void **state)
{
    struct build b = with_our_share(1);

    (void)state;
    must_print(text_of(&b, (struct print_options){.cost = true}),
               "                own cost: 1.235 ms, 10.0 % of the task clock: allocate 0.200, "
               "unwind 0.300, scan 0.735; report ");
    b = with_our_share(1);
    must_print(text_of(&b, (struct print_options){.cost = true}),
               ", beside it (scan, start, report: CPU clock)\n");
    b = with_our_share(1);
    must_print(
        text_of(&b, (struct print_options){.cost = true}),
        "                an allocation: p50 44 ns, p99 480 ns; a free: p50 22 ns, p99 22 ns (6 of "
        "about 6000 operations "
        "timed, by the processor's clock)\n"
        "                in these: page faults about 8 (getrusage), in our system calls 0.002 ms; "
        "cycles n/a: not asked for, by --counters=cycles\n");
    b = with_our_share(8000); /* more than the 413 that there were */
    must_print(text_of(&b, (struct print_options){.cost = true}),
               "in these: page faults about 413 (getrusage),");
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
    must_print(text_of(&b, (struct print_options){.cost = true}),
               "in these: page faults about 100 (getrusage), in our system calls 0.000 ms; page "
               "faults of scan 300, of start 13 (getrusage); cycles n/a");
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
    must_print(text_of(&b, (struct print_options){.cost = true}),
               "\n                own cost: n/a: the processor's clock was forbidden, or ");
    b = build_begin();
    slab = build_slab(&b, build_image(&b, 1, 0, NOBODYS_PID, IMAGE_ROOT), 1, 32, 64);
    build_block(slab, 0, BLOCK_LIVE, 20, 0);
    must_print(text_of(&b, (struct print_options){.cost = true}),
               "own cost: n/a: no process has recorded it; a block in use: 16 B of record, 12.0 B "
               "of redzone and rounding\n");
    b = build_begin();
    build_image(&b, 1, 0, NOBODYS_PID, IMAGE_ROOT);
    strcpy(build_run(&b)->options, "leaks=no:cost-every=0:frames=9");
    must_print(text_of(&b, (struct print_options){.cost = true}),
               "own cost: n/a: nothing was timed: cost-every=0\n");
    b = build_begin();
    build_image(&b, 1, 0, NOBODYS_PID, IMAGE_ROOT);
    strcpy(build_run(&b)->options, "cost_every=05");
    build_run(&b)->version_minor = 5;
    must_print(text_of(&b, (struct print_options){.cost = true}),
               "own cost: n/a: not timed by the version that wrote the file\n");
}

/* Of two processes one has no known costs, and both had a share. */
static void of_some(void **state)
{
    struct build b = with_our_share(1);

    (void)state;
    build_image_header(&b, build_image(&b, 2, 1, NOBODYS_PID + 1, IMAGE_FORK))->state = IMAGE_OPEN;
    must_print(text_of(&b, (struct print_options){.cost = true}),
               "own cost: 1.235 ms, n/a % of the task clock, which is of 1 of 2 processes: "
               "allocate 0.200,");
}

/*
 * Timed operations are extrapolated to the threads' counters, unless timing was stopped (by a
 * sandbox).
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
        const char *text = text_of(&b, (struct print_options){.cost = true});
        must_print(text, stopped ? "own cost: 1.500 ms"
                                 : "own cost: 1.750 ms"); /* 1.5 x 1 ms + 0.5 x 0.5 ms */
        must_print(text, "(8 of about 8000 operations timed, by the processor's clock");
        must_print(text, stopped ? "faults about 12 (getrusage), in our system calls 0.150 ms"
                                 : "faults about 24 (getrusage), in our system calls 0.175 ms");
    }
}

/* The share in cycles, of a run with this counter. */
static void must_print_cycles(const struct counter_row *row, const char *prints)
{
    struct build b = with_our_share(1);
    struct report *r = collect(&b);
    struct cost_sum sum = cost_sum(r);
    char text[2000] = "";
    struct page page = {.how = &(struct print_options){0},
                        .out = fmemopen(text, sizeof text - 1, "w")};

    report_set_counters(r, (struct counter_row[]){{.name = "faults"}, *row}, 2);
    own_cost_print(r, &sum, &page);
    fclose(page.out);
    must_print(text, prints);
    report_close(r);
}

static void cycles(void **state)
{
    struct counter_row row = {
        .name = "cycles", .is_cycles = true, .reading = {true, false, 3000, 1000, 1000}};

    (void)state;
    must_print_cycles(&row, "; cycles about 3703800, at the run's 3.00 per ns\n"); /* 1.2346 ms */
    row.user_alone = true;
    must_print_cycles(&row, "; cycles n/a: they were counted in user mode alone\n");
    row.is_cycles = false;
    must_print_cycles(&row, "; cycles n/a: not asked for, by --counters=cycles\n");
    row = (struct counter_row){.name = "cycles", .is_cycles = true, .why = "n/a: no PMU"};
    must_print_cycles(&row, "; cycles n/a: no PMU\n");
    row.reading.known = true; /* it was never on a counter */
    must_print_cycles(&row, "; cycles n/a: nothing was counted\n");
}

/* The line of a run whose task clock is `clock_ns`; timed operations took 0.5 ms of it, the scan 0.7 ms. */
static const char *line_of(struct build *b, uint64_t clock_ns, unsigned pairs)
{
    static char text[2000];
    struct print_options how = {.columns = 1000};
    struct report *r;

    build_image_header(b, 1)->task_clock_ns = clock_ns;
    r = collect(b);
    r->measured.pairs = pairs;
    memset(text, 0, sizeof text);
    struct page page = {
        .how = &how, .columns = how.columns, .out = fmemopen(text, sizeof text - 1, "w")};
    cost_print(r, &page);
    fclose(page.out);
    report_close(r);
    return text;
}

/* Left out if 5 ms for the image, the operations, and 5 us for each of 2048 pages are more than 5 % of the task clock. */
static void left_out(void **state)
{
    struct build b = with_our_share(1);

    (void)state;
    must_print(line_of(&b, 99999999, 0),
               "; rtcheck's own cost n/a: the run was too short; --measure measures it\n");
    b = with_our_share(1);
    must_print(line_of(&b, 99999999, 1), "; rtcheck's own cost n/a: the run was too short\n");
    b = with_our_share(1);
    must_print(line_of(&b, 109900000, 0), "; rtcheck's own cost n/a: how much of it replaces "
                                          "libc's malloc is not known; --measure measures it\n");
    b = with_our_share(1);
    must_print(line_of(&b, 110100000, 0), "; rtcheck's own cost n/a: it changes the number of page "
                                          "faults, which are many; --measure measures it\n");
    b = with_our_share(1);
    must_print(line_of(&b, 314700000, 0), "page faults, which are many; ");
    b = with_our_share(1);
    must_print(line_of(&b, 314800000, 0), "; rtcheck 0 % of it\n");
    b = with_our_share(1);
    build_image_header(&b, 1)->minor_faults = 4000;
    must_print(line_of(&b, 314800000, 0), "page faults, which are many; ");
    b = with_our_share(1);
    build_image_header(&b, 1)->peak_bytes = 2 << 20;
    must_print(line_of(&b, 2000000000, 0), "; rtcheck 0 % of it\n");
    b = with_our_share(1);
    build_image_header(&b, 1)->peak_bytes = (2 << 20) + 1;
    must_print(line_of(&b, 2000000000, 0),
               "; rtcheck's own cost n/a: the effect of its huge pages is not known; ");
}

/* Time of the scan is known: it replaces nothing. */
static void large_scan(void **state)
{
    struct build b = build_begin();
    struct cost_record *c = an_image(&b, 0, 0, 0);

    (void)state;
    *c = (struct cost_record){.every = 1000, .rate = 2 << 20};
    c->work[COST_SCAN].ns = 300000000;
    must_print(line_of(&b, 1000000000, 0), "; rtcheck 30 % of it\n");
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
    must_print(line_of(&b, 180000000, 0),
               "; rtcheck's own cost n/a: the processes were too short; --measure measures it\n");
    b = with_our_share(1);
    add_child(&b);
    must_print(line_of(&b, 610000000, 0), "; rtcheck 0 % of it\n");
}

/* After that, operations were not timed. */
static void sandboxed(void **state)
{
    struct build b = build_begin();
    struct cost_record *c = an_image(&b, 4000, 2000, 0);

    (void)state;
    *c = (struct cost_record){.every = 1000, .rate = 2 << 20, .stopped = 1};
    must_print(line_of(&b, 1000000000, 0),
               "; rtcheck's own cost n/a: not timed after a sandbox was entered; ");
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
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_leaks.c - groups of leaked blocks merged into one table: equal sites, their referrers, and
 * their order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_image.h"
#include "read_priv.h"

#define STACK 0x7ffc00001000ull

/* The segments of an image to which leaks refer. */
struct parts {
    uint32_t area;
    struct segment *leaks, *roots, *threads, *depot, *modules;
};

static struct parts an_image(struct build *b, uint32_t number, uint64_t bias)
{
    uint32_t area = build_image(b, number, 0, NOBODYS_PID + number, IMAGE_ROOT);
    struct parts p = {
        area,
        build_records(b, area, SEGMENT_LEAKS, 16),
        build_segment(b, area, SEGMENT_ROOTS, sizeof(struct root_record), 2, 1),
        build_records(b, area, SEGMENT_THREADS, 4),
        build_depot(b, area, 0),
        build_records(b, area, SEGMENT_MODULES, 4),
    };

    build_image_header(b, area)->leak_check = LEAKS_FOUND;
    build_module(p.modules, "/opt/prog", bias, 0x10000)->number = 1;
    build_thread(p.threads, 1, 0, 0)->tid = NOBODYS_PID + number;
    build_thread(p.threads, 3, 0, 0);
    return p;
}

static struct leak_group *held_by(struct leak_group *g, enum witness witness, uint64_t at)
{
    g->witness = witness;
    g->value = g->block + 4;
    g->at = at;
    g->root = 1;
    return g;
}

static void test_all_fields(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, PROG);
    uint32_t outer = build_node(p.depot, PROG + 0x1010, 0);
    struct leak_group *g =
        build_leak(p.leaks, REACH_INTERIOR, build_node(p.depot, PROG + 0x2020, outer), 3, 48);
    struct report *r;

    (void)state;
    held_by(g, WITNESS_BLOCK, 0x700000020008)->from = 0x700000020000;
    g->from_bytes = 32;
    g->from_stack = outer;
    g->new_blocks = 1;
    g->new_bytes = 16;
    g->indirect_blocks = 2;
    g->indirect_bytes = 200;
    g->thread = 3;
    r = collect(&b);
    assert_int_equal(r->leak_count, 1);
    const struct leak *leak = &r->leaks[0];
    assert_int_equal(leak->class, CLASS_INTERIOR);
    assert_int_equal(r->sites[leak->site].count, 2);
    assert_int_equal(leak->blocks, 3);
    assert_int_equal(leak->bytes, 48);
    assert_int_equal(leak->new_blocks, 1);
    assert_int_equal(leak->new_bytes, 16);
    assert_int_equal(leak->indirect_blocks, 2);
    assert_int_equal(leak->indirect_bytes, 200);
    assert_int_equal(leak->block_bytes, 16);
    assert_int_equal(leak->thread.number, 3);
    assert_int_equal(leak->holder.what, WITNESS_BLOCK);
    assert_int_equal(leak->holder.inside, 4);
    assert_int_equal(leak->holder.at - leak->holder.from, 8);
    assert_int_equal(leak->holder.from_bytes, 32);
    assert_int_equal(r->sites[leak->holder.from_stack].count, 1);
    report_close(r);
}

/*
 * One site in two processes, at different load addresses; cycles and lost blocks are merged, too.
 */
static void test_merge(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, PROG), q = an_image(&b, 2, PROG + 0x100000);
    uint32_t one = build_node(p.depot, PROG + 0x1010, 0);
    struct report *r;

    (void)state;
    build_leak(p.leaks, REACH_LOST, one, 1, 10)->indirect_blocks = 5;
    build_leak(p.leaks, REACH_CYCLE, one, 2, 20)->indirect_bytes = 7;
    build_leak(q.leaks, REACH_LOST, build_node(q.depot, PROG + 0x101010, 0), 4, 40);
    r = collect(&b);
    assert_int_equal(r->leak_count, 1);
    assert_int_equal(r->leaks[0].blocks, 7);
    assert_int_equal(r->leaks[0].bytes, 70);
    assert_int_equal(r->leaks[0].indirect_blocks, 5);
    assert_int_equal(r->leaks[0].indirect_bytes, 7);
    assert_int_equal(r->leaks[0].block_bytes, 10);
    assert_false(r->leaks[0].is_cycle);
    assert_int_equal(r->leaks[0].images.count, 2);
    assert_int_equal(r->leaks[0].images.at[1], 2);
    assert_int_equal(report_leaks(r, LEAK_DEFINITE), 1);
    assert_int_equal(report_leaks(r, LEAK_INDIRECT | LEAK_POSSIBLE | LEAK_REACHABLE), 0);
    report_close(r);
}

/* Blocks of another class are another leak.  Definite before possible, the largest first. */
static void test_order(void **state)
{
    static const enum leak_class want[] = {CLASS_LOST,     CLASS_LOST,     CLASS_INDIRECT,
                                           CLASS_REGISTER, CLASS_INTERIOR, CLASS_POSSIBLY_INDIRECT,
                                           CLASS_REACHABLE};
    static const enum reach reaches[] = {REACH_REACHABLE, REACH_INDIRECT,      REACH_INTERIOR,
                                         REACH_REGISTER,  REACH_LOST_INDIRECT, REACH_LOST};
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, PROG);
    uint32_t one = build_node(p.depot, PROG + 0x1010, 0),
             two = build_node(p.depot, PROG + 0x2020, 0);
    struct report *r;

    (void)state;
    for (size_t i = 0; i < countof(reaches); i++)
        build_leak(p.leaks, reaches[i], one, 1, reaches[i] == REACH_REGISTER ? 100 : 90);
    build_leak(p.leaks, REACH_LOST, two, 1, 1)->indirect_bytes = 95;
    r = collect(&b);
    assert_int_equal(r->leak_count, countof(want));
    for (size_t i = 0; i < countof(want); i++)
        assert_int_equal(r->leaks[i].class, want[i]);
    assert_int_equal(r->leaks[0].bytes, 1); /* with its indirectly lost blocks it is the largest */
    assert_int_equal(report_leaks(r, LEAK_POSSIBLE), 2);
    assert_int_equal(report_leaks(r, LEAK_INDIRECT), 1);
    assert_int_equal(image_of(r, 1)->leak_index, 6); /* without blocks in use */
    report_close(r);
}

/*
 * In a process with a thread that was not stopped no block is definitely lost; in another one it
 * is.
 */
static void test_unheard(void **state)
{
    static const enum leak_class want[] = {CLASS_LOST, CLASS_UNSURE, CLASS_POSSIBLY_INDIRECT};
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, PROG), other = an_image(&b, 2, PROG);
    uint32_t one = build_node(p.depot, PROG + 0x1010, 0);
    struct report *r;

    (void)state;
    build_leak(p.leaks, REACH_LOST, one, 1, 10);
    build_leak(p.leaks, REACH_CYCLE, one, 1, 10);
    build_leak(p.leaks, REACH_LOST_INDIRECT, one, 1, 10);
    build_leak(other.leaks, REACH_LOST, build_node(other.depot, PROG + 0x1010, 0), 1, 10);
    build_image_header(&b, p.area)->threads_not_stopped = 1;
    r = collect(&b);
    assert_int_equal(r->leak_count, countof(want));
    for (size_t i = 0; i < countof(want); i++)
        assert_int_equal(r->leaks[i].class, want[i]);
    assert_int_equal(r->leaks[1].blocks, 2);
    assert_int_equal(report_leaks(r, LEAK_POSSIBLE), 1);
    assert_int_equal(report_leaks(r, LEAK_DEFINITE), 1);
    assert_string_equal(leak_code(CLASS_UNSURE), "air");
    report_close(r);
}

/* The head of a list and its other nodes have one allocation site, but two ids. */
static void test_ids(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, PROG);
    uint32_t one = build_node(p.depot, PROG + 0x1010, 0);
    struct report *r;

    (void)state;
    build_leak(p.leaks, REACH_LOST, one, 1, 10);
    build_leak(p.leaks, REACH_LOST_INDIRECT, one, 9, 90);
    build_leak(p.leaks, REACH_REGISTER, one, 9, 90);
    build_leak(p.leaks, REACH_REACHABLE, 0, 9, 90);
    r = collect(&b);
    leaks_name(r, 0, r->leak_count);
    assert_memory_equal(r->leaks[0].id, "mel-", 4);
    assert_memory_equal(r->leaks[1].id, "mel-", 4);
    assert_int_equal(strlen(r->leaks[1].id), strlen("mel-01234567"));
    assert_string_not_equal(r->leaks[0].id, r->leaks[1].id);
    assert_memory_equal(r->leaks[2].id, "air-", 4);
    assert_memory_equal(r->leaks[3].id, "biu-", 4);
    assert_int_equal(r->leaks[3].site, NO_SITE);
    report_close(r);
}

/* Root numbers index all chunks in order; unwritten slots count. */
static void test_roots(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, PROG);
    struct segment *first = build_records(&b, p.area, SEGMENT_ROOTS, 2);
    struct root_record *stack, *data;
    struct leak_group *g;
    struct report *r;

    (void)state;
    build_root(first, ROOT_NONE, 0, 0);
    stack = build_root(first, ROOT_STACK, STACK, 0x1000);
    stack->thread = 3;
    data = build_root(p.roots, ROOT_MODULE, PROG + 0x4000, 0x1000);
    data->bias = PROG;
    data->module = 1;
    g = held_by(build_leak(p.leaks, REACH_INTERIOR, build_node(p.depot, PROG + 1, 0), 1, 9),
                WITNESS_ROOT, STACK + 8);
    g->root = 2;
    g->frame_pc = PROG + 0x3030;
    g->frame_cfa = STACK + 0x20;
    g->frame_sp = STACK;
    g = held_by(build_leak(p.leaks, REACH_INTERIOR, build_node(p.depot, PROG + 2, 0), 1, 8),
                WITNESS_ROOT, PROG + 0x4010);
    g->root = 3;
    g->frame_pc = PROG + 0x3030; /* it is not in a stack */
    r = collect(&b);
    assert_int_equal(r->leaks[0].holder.root, ROOT_STACK);
    assert_int_equal(r->leaks[0].holder.region->thread.number, 3);
    assert_int_equal(r->frames[r->sites[r->leaks[0].holder.function].frames[0]].offset, 0x3030);
    assert_int_equal(r->leaks[0].holder.in_frame.at, 8 - 0x20);
    assert_int_equal(r->leaks[0].holder.in_frame.sp, -0x20);
    assert_int_equal(r->leaks[1].holder.root, ROOT_MODULE);
    assert_string_equal(r->modules[r->leaks[1].holder.region->module].path, "/opt/prog");
    assert_int_equal(r->leaks[1].holder.region->offset, 0x4010);
    assert_int_equal(r->leaks[1].holder.function, NO_SITE);
    report_close(r);
}

/* Invalid numbers are unknown; the other data is still used. */
static void test_strange_numbers(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, PROG);
    struct report *r;

    (void)state;
    build_root(p.roots, ROOT_STACK, STACK, 0x1000);
    held_by(build_leak(p.leaks, REACH_INTERIOR, 99, 1, 9), WITNESS_ROOT, STACK)->root = 7;
    held_by(build_leak(p.leaks, REACH_INTERIOR, 0, 1, 8), WITNESS_ROOT, STACK + 0x1000);
    held_by(build_leak(p.leaks, REACH_REGISTER, 0, 1, 8), WITNESS_REGISTER, 3)->thread = 77;
    held_by(build_leak(p.leaks, REACH_REACHABLE, 0, 1, 8), WITNESS_ROOT, STACK - 1);
    build_leak(p.leaks, REACH_NONE, 0, 1, 8);
    r = collect(&b);
    assert_int_equal(r->leak_count, 4);
    assert_int_equal(r->leaks[3].holder.root, ROOT_NONE);
    assert_int_equal(r->leaks[0].holder.root, ROOT_NONE);
    assert_int_equal(r->sites[r->leaks[0].site].end, SITE_LOST);
    assert_int_equal(r->leaks[1].holder.root, ROOT_NONE);
    assert_int_equal(r->leaks[2].holder.region->thread.number, 77);
    assert_int_equal(r->leaks[2].thread.number, 0); /* the allocating thread is not reported */
    report_close(r);
}

/* Groups count only if the check is complete; blocks of an image before an exec are not in use. */
static void test_what_counts(void **state)
{
    static const uint32_t checks[] = {LEAKS_NOT_REQUESTED, LEAKS_NO_MEMORY, LEAKS_SANDBOX,
                                      LEAKS_CHECK_COUNT + 5};
    struct report *r;

    (void)state;
    for (size_t i = 0; i <= countof(checks); i++) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1, PROG);
        build_leak(p.leaks, REACH_LOST, 0, 1, 10);
        build_leak(p.leaks, REACH_REACHABLE, 0, 1, 10);
        if (i < countof(checks))
            build_image_header(&b, p.area)->leak_check = checks[i];
        else
            build_image_header(&b, p.area)->end_how = END_EXEC;
        r = collect(&b);
        assert_int_equal(r->leak_count, i < countof(checks) ? 0 : 1);
        assert_true(image_of(r, 1)->leak_check <= LEAKS_CHECK_COUNT);
        report_close(r);
    }
}

/*
 * Only the sum of blocks in use is known, unless they are requested; blocks before an exec are
 * excluded.
 */
static void test_sum_of_reachable(void **state)
{
    (void)state;
    for (uint32_t over = 0; over < 2; over++) {
        char err[REPORT_ERROR_BYTES];
        struct build b = build_begin();
        struct parts p = an_image(&b, 1, PROG);
        struct report *r;
        int fd;
        build_leak(p.leaks, REACH_REACHABLE, 0, 3, 10);
        build_leak(p.leaks, REACH_REACHABLE, 0, 4, 20);
        if (over)
            build_image_header(&b, p.area)->end_how = END_EXEC;
        fd = build_fd(&b);
        assert_int_equal(report_open_fd(&r, fd, "test", err), 0);
        assert_int_equal(report_collect(r, err), 0);
        assert_int_equal(r->leak_count, 0);
        assert_int_equal(leak_sum(r, LEAK_REACHABLE).places, over ? 0 : 2);
        assert_int_equal(leak_sum(r, LEAK_REACHABLE).blocks, over ? 0 : 7);
        assert_int_equal(leak_sum(r, LEAK_REACHABLE).bytes, over ? 0 : 30);
        report_close(r);
        close(fd);
        build_end(&b);
    }
}

/* The table is limited, however much a file contains; known sites are still summed. */
static void test_no_room(void **state)
{
    struct report r = {0};
    struct image image = {.number = 1};
    struct leak_group lost = {.reach = REACH_LOST, .blocks = 1},
                      other = {.reach = REACH_INTERIOR, .blocks = 1};

    (void)state;
    leak_take(&r, &image, &lost, NULL, 0);
    r.leak_count = LEAKS_MAX;
    leak_take(&r, &image, &other, NULL, 0);
    leak_take(&r, &image, &lost, NULL, 0);
    assert_int_equal(r.leak_count, LEAKS_MAX);
    assert_int_equal(r.leaks_unread, 1);
    assert_int_equal(r.leaks[0].blocks, 2);
    r.leak_count = 1;
    leaks_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_fields),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_unheard),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_roots),
        cmocka_unit_test(test_strange_numbers),
        cmocka_unit_test(test_what_counts),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_sum_of_reachable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

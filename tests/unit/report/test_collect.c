/*
 * test_collect.c - what is counted as in use, by whom, and from where.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "build_run.h"
#include "report_priv.h"

static struct report *collected(const struct build *b)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    int fd = build_fd(b);

    assert_int_equal(report_open_fd(&r, fd, "test", err), 0);
    assert_int_equal(report_collect(r, err), 0);
    close(fd);
    r->view.fd = -1;
    return r;
}

static void finish(struct report *r, struct build *b)
{
    report_close(r);
    build_end(b);
}

static const struct image *image(const struct report *r, uint32_t number)
{
    const struct image *found = image_of(r, number);
    assert_non_null(found);
    return found;
}

static void assert_in_use(const struct image *image, uint64_t blocks, uint64_t bytes)
{
    assert_int_equal(image->live_blocks, blocks);
    assert_int_equal(image->live_bytes, bytes);
}

/* "module+0xoffset module+0x.." of the only place that an image uses. */
static const char *only_site(const struct report *r, uint32_t number)
{
    static char text[512];
    const struct image *i = image(r, number);
    const struct site *site;

    assert_int_equal(i->use_count, 1);
    site = &r->sites[i->uses[0].site];
    text[0] = 0;
    for (uint32_t k = 0; k < site->count; k++) {
        const struct frame *frame = &r->frames[site->frames[k]];
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s+0x%llx", k ? " " : "",
                 frame->module == NO_MODULE ? "?" : r->modules[frame->module].path,
                 (unsigned long long)frame->offset);
    }
    if (site->end != STACK_WHOLE)
        strcat(text, "...");
    return text;
}

/* ---- blocks -------------------------------------------------------------------------------- */

static void test_states_and_marks(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *s = build_slab(&b, area, 1, 64, 20);
    struct block_record *inherited = build_item(s, 6);
    struct report *r;

    (void)state;
    build_block(s, 0, BLOCK_LIVE, 10, 0);
    build_block(s, 1, BLOCK_LIVE, 0, 0);
    build_block(s, 2, BLOCK_FREED, 7, 0);
    build_block(s, 3, BLOCK_FREE, 7, 0);
    build_block(s, 4, BLOCK_INHERITED, 7, 0);
    build_block(s, 5, BLOCK_NEVER, 7, 0);
    inherited->word = build_word(BLOCK_LIVE, MARK_INHERITED, 7);
    build_block(s, 19, BLOCK_LIVE, 63, 0);
    r = collected(&b);
    assert_in_use(image(r, 1), 3, 73);
    finish(r, &b);
}

static void test_segment_states(void **state)
{
    static const enum segment_state states[] = {SEGMENT_BUILDING, SEGMENT_SUPERSEDED,
                                                SEGMENT_VACANT};
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct report *r;

    (void)state;
    for (uint32_t i = 0; i < countof(states); i++) {
        struct segment *s = build_slab(&b, area, i, 64, 4);
        build_block(s, 0, BLOCK_LIVE, 10, 0);
        s->state = states[i];
    }
    build_block(build_slab(&b, area, 9, 64, 4), 0, BLOCK_LIVE, 1, 0);
    r = collected(&b);
    assert_in_use(image(r, 1), 1, 1);
    finish(r, &b);
}

/* A kill between "the copy is there" and "the old one is not": one of them counts. */
static void higher_epoch(uint32_t first, uint32_t second)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t more = build_more(&b, area);
    struct segment *a = build_slab(&b, area, 3, 64, 4), *c = build_slab(&b, more, 3, 64, 4);
    struct report *r;

    a->epoch = first;
    c->epoch = second;
    for (uint32_t i = 0; i < 3; i++)
        build_block(first > second ? a : c, i, BLOCK_LIVE, 1, 0);
    build_block(first > second ? c : a, 3, BLOCK_LIVE, 50, 0);
    build_block(build_slab(&b, more, 4, 64, 4), 0, BLOCK_LIVE, 20, 0);
    r = collected(&b);
    assert_in_use(image(r, 1), 4, 23);
    finish(r, &b);
}

static void test_higher_epoch_counts(void **state)
{
    (void)state;
    higher_epoch(5, 4);
    higher_epoch(4, 5);
}

/* The later copy may be empty: the earlier one's blocks were freed. */
static void test_higher_epoch_may_be_empty(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *old = build_slab(&b, area, 3, 64, 4), *new = build_slab(&b, area, 3, 64, 4);
    struct report *r;

    (void)state;
    build_block(old, 0, BLOCK_LIVE, 5, 0);
    old->epoch = 1;
    new->epoch = 2;
    r = collected(&b);
    assert_in_use(image(r, 1), 0, 0);
    finish(r, &b);
}

static void test_large_blocks(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *s = build_segment(&b, area, SEGMENT_LARGE, sizeof(struct large_record), 12, 0);
    struct large_record *l;
    struct report *r;

    (void)state;
    build_large(s, 10, 1, 40000, 0);
    build_large(s, 11, 2, 70000, 0)->block.word = build_word(BLOCK_FREED, MARK_FIRST, 0);
    build_large(s, 13, 2, 70000, 0)->superseded = 1;
    build_large(s, 15, 1, 50000, 0)->block.word = build_word(BLOCK_LIVE, MARK_INHERITED, 0);
    /* one unit, two items: freed in the later epoch; over, and used again */
    l = build_large(s, 16, 1, 50001, 0);
    l->epoch = 1;
    l = build_large(s, 16, 1, 50001, 0);
    l->epoch = 2;
    l->block.word = build_word(BLOCK_FREED, MARK_FIRST, 0);
    build_large(s, 17, 1, 50002, 0);
    build_large(s, 17, 1, 50002, 0)->block.word = build_word(BLOCK_FREE, MARK_FIRST, 0);
    build_large(s, 18, 1, 50003, 0);
    build_large(s, 18, 1, 1, 0)->block.word = build_word(BLOCK_NEVER, MARK_FIRST, 0);
    build_large(s, 30, 1, 7, 0);
    s->count--; /* not published yet */
    r = collected(&b);
    assert_in_use(image(r, 1), 3, 40000 + 50002 + 50003);
    finish(r, &b);
}

static void test_threads_add_up(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t more = build_more(&b, area);
    struct segment *s =
        build_segment(&b, area, SEGMENT_THREADS, sizeof(struct thread_record), 4, 0);
    struct segment *t =
        build_segment(&b, more, SEGMENT_THREADS, sizeof(struct thread_record), 4, 1);
    struct report *r;

    (void)state;
    build_thread(s, 1, 10, 4);
    build_thread(s, 2, 5, 5)->gone = 1;
    build_thread(t, 65, 1, 0);
    build_thread(t, 66, 1000, 1000);
    t->count--; /* not published yet */
    r = collected(&b);
    assert_int_equal(image(r, 1)->allocs, 16);
    assert_int_equal(image(r, 1)->frees, 9);
    finish(r, &b);
}

static void test_many_places(void **state)
{
    enum { STACKS = 500 };
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *first = build_slab(&b, area, 1, 64, 1000);
    struct segment *second = build_slab(&b, area, 2, 64, 1000);
    struct report *r;

    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        build_block(first, i, BLOCK_LIVE, 1, i % STACKS + 1);
        build_block(second, i, BLOCK_LIVE, 2, (i * 7) % STACKS + 1);
    }
    r = collected(&b);
    assert_in_use(image(r, 1), 2000, 3000);
    assert_int_equal(image(r, 1)->use_count, STACKS);
    for (uint32_t i = 0; i < STACKS; i++) {
        assert_int_equal(image(r, 1)->uses[i].blocks, 4);
        assert_int_equal(image(r, 1)->uses[i].bytes, 6);
    }
    finish(r, &b);
}

static void test_later_threads_count(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *s =
        build_segment(&b, area, SEGMENT_THREADS, sizeof(struct thread_record), 4, 0);
    struct segment *t =
        build_segment(&b, area, SEGMENT_THREADS, sizeof(struct thread_record), 4, 0);
    struct report *r;

    (void)state;
    t->epoch = 1;
    build_thread(s, 1, 10, 4);
    build_thread(t, 1, 11, 5);
    r = collected(&b);
    assert_int_equal(image(r, 1)->allocs, 11);
    assert_int_equal(image(r, 1)->frees, 5);
    finish(r, &b);
}

/* ---- damage -------------------------------------------------------------------------------- */

static void test_bad_area_is_named_and_the_rest_used(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t more = build_more(&b, area), third = build_more(&b, more);
    uint32_t other = build_image(&b, 2, 0, 101, IMAGE_ROOT);
    struct report *r;

    (void)state;
    build_block(build_slab(&b, area, 1, 64, 4), 0, BLOCK_LIVE, 1, 0);
    build_block(build_slab(&b, more, 2, 64, 4), 0, BLOCK_LIVE, 64, 0); /* no redzone */
    build_block(build_slab(&b, third, 3, 64, 4), 0, BLOCK_LIVE, 3, 0);
    build_block(build_slab(&b, other, 3, 64, 4), 0, BLOCK_LIVE, 4, 0);
    r = collected(&b);
    assert_in_use(image(r, 1), 2, 4);
    assert_in_use(image(r, 2), 1, 4);
    assert_int_equal(r->bad_count, 1);
    assert_int_equal(r->bad[0].area, more);
    assert_int_equal(r->bad[0].image, 1);
    assert_string_equal(r->bad[0].what, "block leaves no redzone in its slot");
    finish(r, &b);
}

/* The table says image 1, the area says image 2: neither gets it. */
static void test_area_of_another_image(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t other = build_image(&b, 2, 0, 101, IMAGE_ROOT);
    uint32_t more = build_more(&b, other);
    struct report *r;

    (void)state;
    build_block(build_slab(&b, area, 1, 64, 4), 0, BLOCK_LIVE, 1, 0);
    build_block(build_slab(&b, more, 2, 64, 4), 0, BLOCK_LIVE, 2, 0);
    build_entry(&b, more)->owner = area_owner(AREA_CLAIMED, 1);
    r = collected(&b);
    assert_in_use(image(r, 1), 1, 1);
    assert_in_use(image(r, 2), 0, 0);
    assert_int_equal(r->bad_count, 1);
    assert_string_equal(r->bad[0].what, "area of another image");
    finish(r, &b);
}

/* An image whose first area is bad cannot be listed; that something was there is told. */
static void test_bad_first_area_is_named(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t first = build_image(&b, 2, 0, 101, IMAGE_ROOT);
    struct report *r;

    (void)state;
    build_block(build_slab(&b, area, 1, 64, 4), 0, BLOCK_LIVE, 1, 0);
    build_slab(&b, build_more(&b, first), 2, 64, 4);
    build_head(&b, first)->magic++;
    r = collected(&b);
    assert_int_equal(HASH_COUNT(r->images), 1);
    assert_in_use(image(r, 1), 1, 1);
    assert_int_equal(r->bad_count, 1);
    assert_int_equal(r->bad[0].area, first);
    assert_int_equal(r->bad[0].image, 2);
    assert_string_equal(r->bad[0].what, "no area head where one must be");
    finish(r, &b);
}

static void test_areas_not_begun_are_nothing(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT), young;
    struct report *r;

    (void)state;
    build_block(build_slab(&b, area, 1, 64, 4), 0, BLOCK_LIVE, 1, 0);
    build_claim(&b, 1); /* claimed by image 1, nothing written */
    build_claim(&b, 7); /* an image that has nothing yet */
    young = build_image(&b, 8, 0, 100, IMAGE_ROOT);
    build_image_header(&b, young)->magic = 0;
    young = build_image(&b, 10, 0, 100, IMAGE_ROOT); /* its length does not have the header yet */
    build_image_header(&b, young)->magic = 0;
    build_head(&b, young)->used_bytes = RTC_AREA_HEAD_BYTES;
    build_entry(&b, build_image(&b, 9, 0, 100, IMAGE_ROOT))->owner = area_owner(AREA_TAKING, 9);
    r = collected(&b);
    assert_int_equal(r->bad_count, 0);
    assert_int_equal(HASH_COUNT(r->images), 1);
    assert_in_use(image(r, 1), 1, 1);
    finish(r, &b);
}

/* How many areas were ever claimed: more than there are when claims failed. */
static void test_next_area(void **state)
{
    static const struct {
        uint32_t next_area;
        unsigned images;
    } cases[] = {{0, 0}, {1, 0}, {2, 1}, {3, 2}, {~0u, 2}};

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct report *r;
        build_image(&b, 1, 0, 100, IMAGE_ROOT);
        build_image(&b, 2, 0, 101, IMAGE_ROOT);
        build_run(&b)->next_area = cases[i].next_area;
        alarm(20);
        r = collected(&b);
        alarm(0);
        assert_int_equal(HASH_COUNT(r->images), cases[i].images);
        assert_int_equal(r->bad_count, 0);
        finish(r, &b);
    }
}

/* ---- places -------------------------------------------------------------------------------- */

#define LIB 0x7f0000000000ull

static struct segment *modules(const struct build *b, uint32_t area)
{
    return build_segment(b, area, SEGMENT_MODULES, sizeof(struct module_record), 4, 0);
}

static void one_block(struct build *b, uint32_t area, uint32_t stack)
{
    build_block(build_slab(b, area, 1, 64, 4), 0, BLOCK_LIVE, 8, stack);
}

static void test_module_and_offset(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *m = modules(&b, area), *d = build_depot(&b, area, 0);
    struct report *r;

    (void)state;
    build_module(m, "/lib/a", LIB, 0x1000);
    build_module(m, "/lib/b", LIB + 0x1000, 0x1000)->bias = LIB + 0x800;
    one_block(&b, area, build_node(d, LIB + 0x1001, 0));
    r = collected(&b);
    assert_string_equal(only_site(r, 1), "/lib/b+0x801");
    finish(r, &b);
}

/* A call may be the last thing in a module: it returns to the first byte behind it. */
static void test_return_behind_the_end(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *m = modules(&b, area), *d = build_depot(&b, area, 0);
    struct report *r;

    (void)state;
    build_module(m, "/lib/a", LIB, 0x1000);
    build_module(m, "/lib/b", LIB + 0x1000, 0x1000);
    one_block(&b, area, build_node(d, LIB + 0x1000, 0));
    r = collected(&b);
    assert_string_equal(only_site(r, 1), "/lib/a+0x1000");
    finish(r, &b);
}

static void test_later_module_at_the_same_place(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *m = modules(&b, area), *d = build_depot(&b, area, 0);
    struct report *r;

    (void)state;
    build_module(m, "/lib/unloaded", LIB, 0x1000);
    build_module(m, "/lib/loaded", LIB, 0x800);
    one_block(&b, area, build_node(d, LIB + 0x10, 0));
    r = collected(&b);
    assert_string_equal(only_site(r, 1), "/lib/loaded+0x10");
    finish(r, &b);
}

static void test_stacks_follow_parents(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT), outer, inner;
    struct segment *m = modules(&b, area), *d = build_depot(&b, area, 0);
    struct segment *later = build_depot(&b, area, 1);
    struct report *r;

    (void)state;
    build_module(m, "/bin/p", LIB, 0x1000);
    outer = build_node(d, LIB + 0x30, build_node(d, LIB + 0x40, 0));
    inner = build_node(later, LIB + 0x20, outer);
    one_block(&b, area, inner);
    r = collected(&b);
    assert_string_equal(only_site(r, 1), "/bin/p+0x20 /bin/p+0x30 /bin/p+0x40");
    finish(r, &b);
}

/* Whatever a file says, a stack has so many frames and no more. */
static void test_deep_stacks(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT), id = 0;
    struct segment *d =
        build_segment(&b, area, SEGMENT_DEPOT, sizeof(struct depot_node), DEPOT_CHUNK_NODES, 0);
    struct segment *s;
    struct report *r;

    (void)state;
    d->count = d->capacity;
    s = build_slab(&b, area, 1, 64, 4);
    for (uint32_t depth = 1; depth <= DEPOT_CHUNK_NODES; depth++) {
        id = build_node(d, 0x1000 + depth, id);
        if (depth == RTC_STACK_FRAMES)
            build_block(s, 0, BLOCK_LIVE, 1, id);
    }
    build_block(s, 1, BLOCK_LIVE, 2, id);
    r = collected(&b);
    assert_int_equal(r->site_count, 2);
    for (uint32_t i = 0; i < r->site_count; i++)
        assert_int_equal(r->sites[i].count, RTC_STACK_FRAMES);
    assert_int_equal(r->sites[0].end + r->sites[1].end, STACK_WHOLE + STACK_CUT);
    finish(r, &b);
}

static void test_unknown_stacks(void **state)
{
    static const uint32_t ids[] = {0, 1u << DEPOT_CHUNK_SHIFT, (1u << DEPOT_CHUNK_SHIFT) + 1, 6,
                                   ~0u};

    (void)state;
    for (size_t i = 0; i < countof(ids); i++) {
        struct build b = build_begin();
        uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
        struct report *r;
        build_node(build_depot(&b, area, 0), 0x5000, 0);
        one_block(&b, area, ids[i]);
        r = collected(&b);
        assert_string_equal(only_site(r, 1), ids[i] ? "..." : "");
        finish(r, &b);
    }
}

static void test_no_module(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct report *r;

    (void)state;
    build_module(modules(&b, area), "/bin/p", LIB, 0x1000);
    one_block(&b, area, build_node(build_depot(&b, area, 0), LIB, 0));
    r = collected(&b);
    assert_string_equal(only_site(r, 1), "?+0x7f0000000000");
    finish(r, &b);
}

/* Chunk 0 is the grandparent's, 1 the parent's, 2 the child's; modules likewise. */
static void test_forked_images_share_the_past(void **state)
{
    struct build b = build_begin();
    uint32_t old = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t mid = build_image(&b, 2, 1, 101, IMAGE_FORK);
    uint32_t young = build_image(&b, 3, 2, 102, IMAGE_FORK_UNSEEN);
    uint32_t outer, inner;
    struct report *r;

    (void)state;
    build_image_header(&b, mid)->first_depot_chunk = 1;
    build_image_header(&b, young)->first_depot_chunk = 2;
    build_module(modules(&b, old), "/bin/p", LIB, 0x1000);
    build_module(modules(&b, mid), "/lib/q", LIB + 0x1000, 0x1000);
    outer = build_node(build_depot(&b, old, 0), LIB + 0x10, 0);
    /* the parent has gone on in a chunk of the same number: that one is not the child's past */
    build_node(build_depot(&b, mid, 2), 0x666, 0);
    inner = build_node(build_depot(&b, mid, 1), LIB + 0x1020, outer);
    inner = build_node(build_depot(&b, young, 2), LIB + 0x30, inner);
    one_block(&b, young, inner);
    r = collected(&b);
    assert_string_equal(only_site(r, 3), "/bin/p+0x30 /lib/q+0x20 /bin/p+0x10");
    finish(r, &b);
}

static void test_exec_shares_nothing(void **state)
{
    struct build b = build_begin();
    uint32_t old = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t new = build_image(&b, 2, 1, 100, IMAGE_EXEC);
    struct report *r;

    (void)state;
    build_module(modules(&b, old), "/bin/p", LIB, 0x1000);
    one_block(&b, new, build_node(build_depot(&b, new, 0), LIB + 0x10, 0));
    r = collected(&b);
    assert_string_equal(only_site(r, 2), "?+0x7f0000000010");
    finish(r, &b);
}

/* Headers are taken before they are verified: a parent of itself, arguments without end. */
static void test_mad_headers(void **state)
{
    struct build b = build_begin();
    uint32_t mad = build_image(&b, 2, 2, 100, IMAGE_FORK);
    uint32_t child = build_image(&b, 3, 2, 101, IMAGE_FORK);
    struct report *r;

    (void)state;
    build_image_header(&b, mad)->first_depot_chunk = 9;
    build_image_header(&b, mad)->argv_bytes = ~0u;
    build_image_header(&b, child)->first_depot_chunk = 9;
    memset(build_image_header(&b, mad)->exe, 'x', sizeof build_image_header(&b, mad)->exe);
    one_block(&b, child, 5);
    alarm(20);
    r = collected(&b);
    alarm(0);
    assert_int_equal(r->bad_count, 1);
    assert_int_equal(image(r, 2)->argv_bytes, sizeof((struct image_header *)0)->argv);
    assert_int_equal(strlen(image(r, 2)->exe), sizeof((struct image_header *)0)->exe);
    assert_int_equal(image(r, 3)->argv_bytes, strlen("prog3") + 1);
    assert_string_equal(argv_next(image(r, 3), NULL), "prog3");
    assert_null(argv_next(image(r, 3), argv_next(image(r, 3), NULL)));
    assert_string_equal(only_site(r, 3), "...");
    finish(r, &b);
}

/* ---- records and totals -------------------------------------------------------------------- */

static void test_one_place_in_two_processes(void **state)
{
    struct build b = build_begin();
    struct report *r;
    struct record *records;
    uint32_t count;

    (void)state;
    for (uint32_t i = 1; i <= 2; i++) { /* at different addresses */
        uint32_t area = build_image(&b, i, 0, 100 + i, i == 1 ? IMAGE_ROOT : IMAGE_EXEC);
        struct segment *d = build_depot(&b, area, 0), *s = build_slab(&b, area, 1, 64, 8);
        uint64_t bias = LIB + i * 0x10000;
        build_module(modules(&b, area), "/bin/p", bias, 0x1000);
        build_block(s, 0, BLOCK_LIVE, 10, build_node(d, bias + 0x10, 0));
        build_block(s, 1, BLOCK_LIVE, 10, build_node(d, bias + 0x20, 0));
        build_block(s, 2, BLOCK_LIVE, 10 * i, build_node(d, bias + 0x30, 0));
        build_block(s, 3, BLOCK_LIVE, 0, depot_id(0, 1));
    }
    r = collected(&b);
    records = records_make(r, UINT32_MAX, &count);
    assert_int_equal(count, 3);
    assert_int_equal(records[0].bytes, 30);
    assert_int_equal(records[1].bytes, 20); /* more blocks first */
    assert_int_equal(records[1].blocks, 4);
    assert_int_equal(records[2].bytes, 20);
    assert_int_equal(records[2].blocks, 2);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(records[i].image_count, 2);
        assert_int_equal(records[i].images[0], 1);
        assert_int_equal(records[i].images[1], 2);
    }
    assert_string_not_equal(records[0].id, records[1].id);
    records_free(records, count);
    finish(r, &b);
}

/* One path, two builds (it was replaced while the run went on): two places. */
static void test_builds_are_told_apart(void **state)
{
    struct build b = build_begin();
    struct report *r;

    (void)state;
    for (uint32_t i = 1; i <= 3; i++) {
        uint32_t area = build_image(&b, i, 0, 100 + i, i == 1 ? IMAGE_ROOT : IMAGE_EXEC);
        struct module_record *m = build_module(modules(&b, area), "/bin/p", LIB, 0x1000);
        m->build_id_bytes = 20;
        m->build_id[19] = i == 3;
        one_block(&b, area, build_node(build_depot(&b, area, 0), LIB + 0x10, 0));
    }
    r = collected(&b);
    assert_int_equal(r->module_count, 2);
    assert_int_equal(r->site_count, 2);
    assert_int_equal(r->modules[0].build_id[19], 0);
    assert_int_equal(r->modules[1].build_id[19], 1);
    assert_int_equal(r->modules[1].image, 3);
    finish(r, &b);
}

static void test_exec_throws_away(void **state)
{
    struct build b = build_begin();
    uint32_t old = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    uint32_t new = build_image(&b, 2, 1, 100, IMAGE_EXEC);
    uint32_t lost = build_image(&b, 3, 2, 101, IMAGE_FORK);
    struct report_image_fact fact;
    struct report *r;
    struct totals t;
    uint32_t count;

    (void)state;
    build_image_header(&b, old)->end_how = END_EXEC;
    build_image_header(&b, lost)->end_how = END_EXEC; /* nobody reported in its place */
    one_block(&b, old, 0);
    one_block(&b, new, 0);
    one_block(&b, lost, 0);
    build_thread(build_segment(&b, old, SEGMENT_THREADS, sizeof(struct thread_record), 4, 0), 1, 7,
                 5);
    r = collected(&b);
    t = totals_of(r);
    assert_int_equal(t.processes, 2);
    assert_int_equal(t.blocks, 1);
    assert_int_equal(t.bytes, 8);
    assert_int_equal(t.allocs, 7);
    assert_int_equal(t.frees, 5);
    records_free(records_make(r, 0, &count), 1);
    assert_int_equal(count, 1);
    assert_int_equal(image_main(r)->number, 2);
    assert_int_equal(report_image_of_pid(r, 100).image, 2);
    assert_true(report_image_of_pid(r, 100).flags & IMAGE_IN_CONTROL);
    fact = report_image_of_pid(r, 101);
    assert_true(fact.found);
    assert_false(fact.flags & IMAGE_IN_CONTROL);
    assert_false(report_image_of_pid(r, 99).found);
    finish(r, &b);
}

/* Which image is the program: its start, or what it became; not what others became. */
static void test_main_image(void **state)
{
    struct build b = build_begin();
    struct report *r;

    (void)state;
    build_image(&b, 1, 0, 99, IMAGE_EXEC);
    build_image(&b, 2, 0, 100, IMAGE_ROOT);
    build_image(&b, 3, 0, 101, IMAGE_EXEC);
    build_image(&b, 4, 2, 100, IMAGE_EXEC);
    build_image(&b, 5, 0, 102, IMAGE_EXEC);
    build_image(&b, 6, 0, 101, IMAGE_FORK); /* a process number used again */
    r = collected(&b);
    assert_int_equal(image_main(r)->number, 4);
    assert_int_equal(report_main_image(r).image, 4);
    assert_true(image(r, 2)->succeeded);
    assert_false(image(r, 3)->succeeded);
    assert_int_equal(totals_of(r).processes, 5);
    finish(r, &b);
    b = build_begin();
    build_image(&b, 1, 0, 100, IMAGE_ROOT);
    build_image(&b, 2, 0, 101, IMAGE_EXEC);
    r = collected(&b);
    assert_int_equal(image_main(r)->number, 1);
    finish(r, &b);
}

static void test_mad_tables(void **state)
{
    struct build b = build_begin();
    char err[REPORT_ERROR_BYTES] = "";
    struct report *r;
    int fd = build_fd(&b);
    uint32_t mad = 3;

    (void)state;
    assert_int_equal(report_open_fd(&r, fd, "the run", err), 0);
    assert_int_equal(pwrite(fd, &mad, 4, RTC_AREA_TABLE_OFFSET + 4), 4);
    assert_int_equal(report_collect(r, err), -EBADMSG);
    assert_string_equal(err, "the run: the run's tables are damaged");
    finish(r, &b);
    close(fd);
}

static void test_equal_names_are_told_apart(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    struct segment *d = build_depot(&b, area, 0), *s = build_slab(&b, area, 1, 64, 8);
    struct report *r;
    struct record *records;
    uint32_t count;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) /* addresses without a module have no name at all */
        build_block(s, i, BLOCK_LIVE, 30 - i, build_node(d, 0x1000 + i, 0));
    r = collected(&b);
    records = records_make(r, UINT32_MAX, &count);
    assert_int_equal(count, 3);
    assert_int_equal(strlen(records[0].id), strlen("biu-01234567"));
    for (uint32_t i = 1; i < count; i++) {
        char want[64];
        snprintf(want, sizeof want, "%s.%u", records[0].id, i + 1);
        assert_string_equal(records[i].id, want);
    }
    records_free(records, count);
    finish(r, &b);
}

static void test_taken_back_by_others(void **state)
{
    struct build b = build_begin();
    struct report *r;
    struct totals t;

    (void)state;
    build_image(&b, 5, 0, 100, IMAGE_ROOT);
    build_run(&b)->taken_back.images = 4;
    build_run(&b)->taken_back.live_bytes = 99;
    build_run(&b)->taken_back.live_blocks = 9;
    build_run(&b)->taken_back.allocs = 30;
    build_run(&b)->taken_back.frees = 20;
    r = collected(&b);
    r->absorbed.images = 1;
    r->absorbed.live_bytes = r->absorbed.live_blocks = 1;
    r->absorbed.allocs = r->absorbed.frees = 2;
    t = totals_elsewhere(r);
    assert_int_equal(t.processes, 3);
    assert_int_equal(t.bytes, 98);
    assert_int_equal(t.blocks, 8);
    assert_int_equal(t.allocs, 28);
    assert_int_equal(t.frees, 18);
    r->absorbed.images = 4;
    assert_int_equal(totals_elsewhere(r).processes, 0);
    assert_int_equal(totals_elsewhere(r).bytes, 0);
    r->absorbed.images = 5; /* a mad header */
    assert_int_equal(totals_elsewhere(r).processes, 0);
    finish(r, &b);
}

/* Listed in passing, and taken back before anybody read it: it is in the tally, and nowhere else. */
static void test_taken_back_before_it_was_read(void **state)
{
    struct build b = build_begin();
    uint32_t old = build_image(&b, 1, 0, 100, IMAGE_ROOT);
    const struct area_entry vacant = {.owner = area_owner(AREA_FREE, 0)};
    off_t at = (off_t)(RTC_AREA_TABLE_OFFSET + old * sizeof vacant);
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    int fd;

    (void)state;
    build_image(&b, 2, 1, 100, IMAGE_EXEC);
    fd = build_fd(&b);
    assert_int_equal(report_open_fd(&r, fd, "test", err), 0);
    assert_int_equal(images_refresh(r), 0);
    assert_int_equal(HASH_COUNT(r->images), 2);
    assert_int_equal(pwrite(fd, &vacant, sizeof vacant, at), sizeof vacant);
    assert_int_equal(report_collect(r, err), 0);
    assert_int_equal(HASH_COUNT(r->images), 1);
    assert_int_equal(image_main(r)->number, 2);
    close(fd);
    r->view.fd = -1;
    finish(r, &b);
}

/* ---- files that are refused ---------------------------------------------------------------- */

static int open_error(const struct build *b, uint64_t bytes, char err[REPORT_ERROR_BYTES])
{
    struct report *r = NULL;
    int code;

    unlink("run.pool");
    build_file(b, "run.pool");
    assert_int_equal(truncate("run.pool", (off_t)bytes), 0);
    code = report_open(&r, "run.pool", err);
    if (!code)
        report_close(r);
    return code;
}

static void test_refused_files(void **state)
{
    struct build b = build_begin();
    char err[REPORT_ERROR_BYTES];

    (void)state;
    assert_int_equal(open_error(&b, b.bytes, err), 0);
    assert_int_equal(open_error(&b, b.bytes - 1, err), -EBADMSG);
    assert_string_equal(err, "run.pool is damaged: file is cut, or longer than any at offset 0x18");
    assert_int_equal(open_error(&b, 100, err), -EBADMSG);
    assert_string_equal(err, "run.pool is not a run file");
    assert_int_equal(open_error(&b, 0, err), -EBADMSG);
    build_run(&b)->version_major = 99;
    assert_int_equal(open_error(&b, b.bytes, err), -EPROTO);
    assert_string_equal(err, "run.pool is a run file of version 99, this rtcheck reads version 1");
    build_run(&b)->magic = 0;
    assert_int_equal(open_error(&b, b.bytes, err), -EBADMSG);
    assert_string_equal(err, "run.pool is not a run file");
    build_end(&b);
}

static void test_things_that_are_no_files(void **state)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;

    (void)state;
    unlink("pipe");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(report_open(&r, "pipe", err), -EBADMSG); /* and it does not hang */
    assert_string_equal(err, "pipe is not a run file");
    assert_int_equal(report_open(&r, ".", err), -EBADMSG);
    assert_int_equal(report_open(&r, "none", err), -ENOENT);
    assert_string_equal(err, "none cannot be opened: No such file or directory");
}

static void test_anothers_file(void **state)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    uid_t was = geteuid();

    (void)state;
    if (was == 0)
        assert_int_equal(seteuid(65534), 0);
    assert_int_equal(report_open(&r, "/etc/passwd", err), -EACCES);
    assert_string_equal(err, "/etc/passwd belongs to user 0, not to you");
    if (was == 0)
        assert_int_equal(seteuid(was), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states_and_marks),
        cmocka_unit_test(test_segment_states),
        cmocka_unit_test(test_higher_epoch_counts),
        cmocka_unit_test(test_higher_epoch_may_be_empty),
        cmocka_unit_test(test_large_blocks),
        cmocka_unit_test(test_threads_add_up),
        cmocka_unit_test(test_many_places),
        cmocka_unit_test(test_later_threads_count),
        cmocka_unit_test(test_bad_area_is_named_and_the_rest_used),
        cmocka_unit_test(test_area_of_another_image),
        cmocka_unit_test(test_bad_first_area_is_named),
        cmocka_unit_test(test_areas_not_begun_are_nothing),
        cmocka_unit_test(test_next_area),
        cmocka_unit_test(test_module_and_offset),
        cmocka_unit_test(test_return_behind_the_end),
        cmocka_unit_test(test_later_module_at_the_same_place),
        cmocka_unit_test(test_stacks_follow_parents),
        cmocka_unit_test(test_deep_stacks),
        cmocka_unit_test(test_unknown_stacks),
        cmocka_unit_test(test_no_module),
        cmocka_unit_test(test_forked_images_share_the_past),
        cmocka_unit_test(test_exec_shares_nothing),
        cmocka_unit_test(test_mad_headers),
        cmocka_unit_test(test_one_place_in_two_processes),
        cmocka_unit_test(test_builds_are_told_apart),
        cmocka_unit_test(test_exec_throws_away),
        cmocka_unit_test(test_main_image),
        cmocka_unit_test(test_mad_tables),
        cmocka_unit_test(test_equal_names_are_told_apart),
        cmocka_unit_test(test_taken_back_by_others),
        cmocka_unit_test(test_taken_back_before_it_was_read),
        cmocka_unit_test(test_refused_files),
        cmocka_unit_test(test_things_that_are_no_files),
        cmocka_unit_test(test_anothers_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_print_leaks.c - leaks in the text report: exact texts, what fits and what is left out, who
 * points there, and what the rest of the report says beside them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "told.h"
#include "page_priv.h"

#define STACK 0x7ffc00001000ull
#define ALL_KINDS (LEAK_DEFINITE | LEAK_INDIRECT | LEAK_POSSIBLE | LEAK_REACHABLE)
#define USUAL .leak_kinds = LEAK_DEFINITE | LEAK_POSSIBLE, .problem_kinds = LEAK_DEFINITE | LEAK_POSSIBLE

/* The segments of an image that leaks refer to. */
struct parts {
    uint32_t area;
    struct segment *leaks, *roots, *depot;
};

static struct parts an_image(struct build *b, uint32_t number)
{
    uint32_t area = build_image(b, number, 0, NOBODYS_PID + number, IMAGE_ROOT);
    struct segment *m = build_segment(b, area, SEGMENT_MODULES, sizeof(struct module_record), 4, 0);
    struct segment *t = build_segment(b, area, SEGMENT_THREADS, sizeof(struct thread_record), 4, 0);
    struct parts p = {
        area,
        build_segment(b, area, SEGMENT_LEAKS, sizeof(struct leak_group), 200, 0),
        build_segment(b, area, SEGMENT_ROOTS, sizeof(struct root_record), 4, 0),
        build_segment(b, area, SEGMENT_DEPOT, sizeof(struct depot_node), 400, 0),
    };

    p.depot->count = p.depot->capacity; /* as the runtime has it */
    build_image_header(b, area)->leak_check = LEAKS_FOUND;
    build_module(m, "/usr/bin/prog1", PROG, 0x10000)->number = 1;
    build_thread(t, 1, 5, 4)->tid = NOBODYS_PID + number;
    strcpy(build_thread(t, 3, 0, 0)->name, "worker\x1b");
    return p;
}

/* ---- whole texts --------------------------------------------------------------------------- */

/* One of each kind; the second lost place holds the most, with what is behind it. */
static struct build one_of_each(void)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1);
    struct leak_group *g;

    build_leak(p.leaks, REACH_LOST, deep(p.depot, 2), 3, 30);
    g = build_leak(p.leaks, REACH_CIRCLE, deep(p.depot, 1), 1, 16);
    g->behind_blocks = 2;
    g->behind_bytes = 64;
    build_leak(p.leaks, REACH_LOST_BEHIND, deep(p.depot, 3), 2, 64);
    g = build_leak(p.leaks, REACH_INTERIOR, deep(p.depot, 6), 1, 256);
    g->witness = WITNESS_REGISTER;
    g->at = 3;
    g->thread = 3;
    g->value = g->block + 8;
    build_leak(p.leaks, REACH_BEHIND, deep(p.depot, 3), 1, 7);
    build_leak(p.leaks, REACH_HELD, deep(p.depot, 3), 1, 9)->witness = WITNESS_SELF;
    return b;
}

static void test_table(void **state)
{
    struct build b = one_of_each();
    const char *text = text_of(&b, (struct print_options){USUAL});

    (void)state;
    must_say(text, "rtcheck: 3 problems: 2 leaks, 1 possible leak; 5 allocs, 4 frees, 1 process\n");
    must_say(text, "LEAKS (mel)  2 places: 46 B in 4 blocks, and 64 B in 2 blocks behind them\n"
                   " Id            Total Size  Num of Blocks  Block Address   Allocation Call Stack\n");
    must_say(text, "        16 B              1  0x700000010200  prog1+0x10; 2 blocks of 64 B behind it\n"
                   " mel-");
    must_say(text, "        30 B              3  -               prog1+0x20 < prog1+0x10\n"
                   "POSSIBLE LEAKS (aib, air)  1 place: 256 B in 1 block\n");
    must_say(text, "  0x700000010400  prog1+0x60 < prog1+0x50 < prog1+0x40 < prog1+0x30\nIN USE");
    must_not_say(text, "INDIRECT");
    must_not_say(text, "REACHABLE");
    must_say(text, "rtcheck: in control; 3 problems; leaked 110 B in 6 blocks, possibly 263 B in 2 blocks; exit status 0\n");
}

/* How many indirect leaks are told where places that lost their blocks are known, of these kinds told. */
static uint64_t indirect_told(bool knows_plain, bool knows_head, uint32_t kinds)
{
    struct build b = one_of_each();
    struct report *r = collect(&b);
    uint64_t blocks;

    for (uint32_t i = 0; i < r->leak_count; i++)
        if (r->leaks[i].class == CLASS_LOST)
            r->leaks[i].fate.is_known = r->leaks[i].behind_blocks > 0 ? knows_head : knows_plain;
    report_hide_behind(r, kinds);
    blocks = leak_sum(r, LEAK_INDIRECT).blocks;
    report_close(r);
    return blocks;
}

static void test_behind_what_is_known(void **state)
{
    (void)state;
    assert_int_equal(indirect_told(false, false, LEAK_DEFINITE), 2);
    assert_int_equal(indirect_told(true, false, LEAK_DEFINITE), 2);
    assert_int_equal(indirect_told(false, true, LEAK_DEFINITE), 0);
    assert_int_equal(indirect_told(true, true, ALL_KINDS), 2);
}

static void test_all_kinds(void **state)
{
    struct build b = one_of_each();
    const char *text = text_of(&b, (struct print_options){.leak_kinds = ALL_KINDS, .problem_kinds = ALL_KINDS, .frames = 1});

    (void)state;
    must_say(text, "rtcheck: 5 problems: 2 leaks, 1 indirect leak, 1 possible leak, 1 place in use; 5");
    must_say(text, "\nINDIRECT LEAKS (mel)  1 place: 64 B in 2 blocks\n");
    must_say(text, "\nSTILL REACHABLE (biu)  1 place: 9 B in 1 block\n");
    must_say(text, "  0x700000010400  prog1+0x60\n"); /* as many frames as were asked for */
}

static void test_deterministic(void **state)
{
    struct build b = one_of_each();
    const char *text = text_of(&b, (struct print_options){USUAL, .deterministic = true});

    (void)state;
    must_say(text, " Id            Total Size  Num of Blocks  Allocation Call Stack\n");
    must_say(text, "        16 B              1  prog1+0x10; 2 blocks");
    must_not_say(text, "0x7000000");
    b = one_of_each();
    must_not_say(text_of(&b, (struct print_options){USUAL, .deterministic = true, .leaks = PRINT_LEAKS_RECORDS}),
                 "0x7000000");
}

static void test_records(void **state)
{
    struct build b = one_of_each();
    const char *text = text_of(&b, (struct print_options){USUAL, .leaks = PRINT_LEAKS_RECORDS});

    (void)state;
    must_say(text, "  memory leak (mel): found a block of 16 bytes at 0x700000010200\n"
                   "     witness      nobody but itself, or what is behind it\n"
                   "     and          2 blocks of 64 B behind it\n"
                   "     allocated    [1]  prog1+0x10\n");
    must_say(text, "  memory leak (mel): found 3 blocks, 30 B in total\n"
                   "     the first    nobody points to it\n"
                   "     allocated    [1]  prog1+0x20\n"
                   "                  [2]  prog1+0x10\n");
    must_say(text, "  possible leak, address in block (aib): found a block of 256 bytes at 0x700000010400\n"
                   "     witness      a pointer 8 bytes inside it in register rbx of thread 3 (worker\\x1b)\n"
                   "     allocated    [1]  prog1+0x60\n");
}

static void test_summary(void **state)
{
    struct build b = one_of_each();

    (void)state;
    must_say(text_of(&b, (struct print_options){USUAL, .leaks = PRINT_LEAKS_SUMMARY}),
             "LEAKS\n"
             "  definite (mel)        46 B in 4 blocks at 2 places\n"
             "  indirect (mel)        64 B in 2 blocks at 1 place\n"
             "  possible (aib, air)   263 B in 2 blocks at 1 place\n"
             "  reachable (biu)       9 B in 1 block at 1 place\n"
             "IN USE");
}

/* What is shown and what counts are two things; without either there is nothing to say. */
static void test_problems(void **state)
{
    struct build b = one_of_each();
    const char *text = text_of(&b, (struct print_options){.leak_kinds = LEAK_DEFINITE});

    (void)state;
    must_say(text, "rtcheck: no problems, 5 allocs");
    must_say(text, "LEAKS (mel)");
    b = one_of_each();
    text = text_of(&b, (struct print_options){.leaks = PRINT_LEAKS_NOTHING});
    must_not_say(text, "LEAKS");
    must_not_say(text, "leak");
    b = one_of_each();
    must_say(text_of(&b, (struct print_options){USUAL, .quiet = true}), "LEAKS (mel)");
    b = one_of_each();
    assert_string_equal(text_of(&b, (struct print_options){.quiet = true}), "");
}

static void test_no_leaks(void **state)
{
    struct build b = build_begin();

    (void)state;
    an_image(&b, 1);
    must_say(text_of(&b, (struct print_options){USUAL}), "rtcheck: in control; no leaks; exit status 0\n");
}

/* An inherited block that was lost is the parent's; what is behind it is not. */
static void test_inherited(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1);
    struct leak_group *g = build_leak(p.leaks, REACH_LOST, deep(p.depot, 1), 0, 0);

    (void)state;
    g->block_bytes = 24;
    g->behind_blocks = 1;
    g->behind_bytes = 9;
    must_say(text_of(&b, (struct print_options){USUAL, .leaks = PRINT_LEAKS_RECORDS}),
             "found an inherited block of 24 bytes at 0x700000010100\n"
             "     witness      nobody points to it\n"
             "     and          1 block of 9 B behind it\n");
}

/* ---- told as one --------------------------------------------------------------------------- */

/* Three stacks: two have their 2 innermost frames in common, all three the innermost. */
static struct build three_stacks(void)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1);
    uint32_t outer, middle;

    for (uint32_t i = 0; i < 3; i++) {
        outer = build_node(p.depot, PROG + 0x100 + 0x10 * i, 0);
        middle = build_node(p.depot, PROG + (i < 2 ? 0x20 : 0x30), outer);
        build_leak(p.leaks, REACH_LOST, build_node(p.depot, PROG + 0x10, middle), 1, 10 + i);
    }
    return b;
}

static void test_match(void **state)
{
    struct build b = three_stacks();
    const char *text = text_of(&b, (struct print_options){USUAL});

    (void)state;
    must_say(text, "LEAKS (mel)  3 places: 33 B in 3 blocks\n");
    b = three_stacks();
    text = text_of(&b, (struct print_options){USUAL, .match = 2});
    must_say(text, "LEAKS (mel)  2 places: 33 B in 3 blocks\n");
    must_say(text, "        21 B              2  -               prog1+0x10 < prog1+0x20\n"); /* and no further */
    must_say(text, "        12 B              1  0x700000010300  prog1+0x10 < prog1+0x30 < prog1+0x120\n");
    must_say(text, "rtcheck: 3 problems"); /* it is about the text */
    b = three_stacks();
    text = text_of(&b, (struct print_options){USUAL, .match = 1, .leaks = PRINT_LEAKS_RECORDS});
    must_say(text, "found 3 blocks, 33 B in total\n");
    must_say(text, "[1]  prog1+0x10\n                  ... 2 more\n");
}

/* ---- what fits ------------------------------------------------------------------------------ */

static struct build many(uint32_t lost, uint32_t interior)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1);

    for (uint32_t i = 0; i < lost + interior; i++)
        build_leak(p.leaks, i < lost ? REACH_LOST : REACH_INTERIOR,
                   build_node(p.depot, PROG + 0x10 * (i + 1), 0), 1, 1000 - i);
    return b;
}

static void test_short(void **state)
{
    struct build b = many(60, 2);
    const char *text = text_of(&b, (struct print_options){USUAL, .pool = "/state/last.pool"});

    (void)state;
    assert_true(lines_of(text) <= 40);
    must_say(text, "LEAKS (mel)  60 places: ");
    must_say(text, " 53 more: rtcheck report --all"); /* 14 lines: 2 + 7 + 1 and 2 + 2 */
    must_say(text, "1000 B");
    must_say(text, "939 B"); /* all of the few */
    b = many(60, 60);
    text = text_of(&b, (struct print_options){USUAL});
    assert_true(lines_of(text) <= 40);
    must_say(text, " 56 more: --all prints them\nPOSSIBLE");
    must_say(text, " 56 more: --all prints them\nIN USE");
    b = many(60, 60);
    text = text_of(&b, (struct print_options){USUAL, .all = true});
    must_not_say(text, "more");
    must_say(text, "prog1+0x780\n");
}

/* ---- who points there ----------------------------------------------------------------------- */

struct witness_case {
    void (*make)(struct parts *p, struct leak_group *g);
    const char *says;
};

static void by_root(struct parts *p, struct leak_group *g, enum root_kind kind, uint64_t start)
{
    build_root(p->roots, kind, start, 0x1000);
    g->witness = WITNESS_ROOT;
    g->root = p->roots->count;
    g->at = start + 0x10;
}

static void on_stack(struct parts *p, struct leak_group *g)
{
    by_root(p, g, ROOT_STACK, STACK);
    ((struct root_record *)build_item(p->roots, 0))->thread = 3;
    g->frame_pc = PROG + 0x77;
}

static void on_main_stack(struct parts *p, struct leak_group *g)
{
    by_root(p, g, ROOT_STACK, STACK);
    ((struct root_record *)build_item(p->roots, 0))->thread = 1;
}

/* An alternate stack is memory like other. */
static void on_mapped_stack(struct parts *p, struct leak_group *g)
{
    by_root(p, g, ROOT_MAPPED, STACK);
    g->on_thread = 3;
    g->frame_pc = PROG + 0x77;
}

/* Beside a control block: above frames, in no known variable. */
static void of_thread(struct parts *p, struct leak_group *g)
{
    by_root(p, g, ROOT_STACK, STACK);
    g->on_thread = 3;
    g->control_block = g->at + 8;
    g->frame_cfa = g->at - 8;
}

static void of_some_thread(struct parts *p, struct leak_group *g)
{
    of_thread(p, g);
    g->frame_cfa = 0;
}

static void in_mapping_of_thread(struct parts *p, struct leak_group *g)
{
    by_root(p, g, ROOT_MAPPED, 0x1000);
    g->on_thread = 1;
    g->control_block = g->at + 8;
}

static void in_control_block(struct parts *p, struct leak_group *g)
{
    in_mapping_of_thread(p, g);
    g->control_block = g->at;
}

static void in_data(struct parts *p, struct leak_group *g)
{
    by_root(p, g, ROOT_MODULE, PROG + 0x4000);
    ((struct root_record *)build_item(p->roots, 0))->bias = PROG;
    ((struct root_record *)build_item(p->roots, 0))->module = 1;
}

static void in_unknown_data(struct parts *p, struct leak_group *g)
{
    by_root(p, g, ROOT_MODULE, 0x1000);
    strcpy(((struct root_record *)build_item(p->roots, 0))->path, "/opt/libgone.so");
}

static void in_mapping(struct parts *p, struct leak_group *g)
{
    by_root(p, g, ROOT_MAPPED, 0x1000);
    strcpy(((struct root_record *)build_item(p->roots, 0))->path, "/dev/shm/x");
}

static void in_anonymous(struct parts *p, struct leak_group *g)
{
    by_root(p, g, ROOT_MAPPED, 0x1000);
}

static void in_given(struct parts *p, struct leak_group *g)
{
    by_root(p, g, ROOT_GIVEN, 0x1000);
}

static void in_no_root(struct parts *p, struct leak_group *g)
{
    by_root(p, g, ROOT_GIVEN, 0x1000);
    g->root = 9;
}

static void in_block(struct parts *p, struct leak_group *g)
{
    g->witness = WITNESS_BLOCK;
    g->from = 0x700000020000;
    g->from_bytes = 32;
    g->at = g->from + 16;
    g->from_stack = build_node(p->depot, PROG + 0x88, 0);
}

static void in_circle(struct parts *p, struct leak_group *g)
{
    in_block(p, g);
    g->reach = REACH_CIRCLE;
}

static void in_vector(struct parts *p, struct leak_group *g)
{
    (void)p;
    g->witness = WITNESS_REGISTER;
    g->at = WITNESS_VECTOR + 2;
    g->thread = 1;
}

static void by_itself(struct parts *p, struct leak_group *g)
{
    (void)p;
    g->witness = WITNESS_SELF;
}

static void test_witnesses(void **state)
{
    static const struct witness_case cases[] = {
        {on_stack, "a pointer 1 byte inside it on the stack of thread 3 (worker\x1b), in prog1+0x77"},
        {on_main_stack, "a pointer 1 byte inside it on the stack of thread main"},
        {on_mapped_stack, "a pointer 1 byte inside it on the stack of thread 3 (worker\x1b), in prog1+0x77"},
        {of_thread, "a pointer 1 byte inside it in thread-local storage of thread 3 (worker\x1b)"},
        {of_some_thread, "a pointer 1 byte inside it on the stack of thread 3 (worker\x1b)"},
        {in_mapping_of_thread, "a pointer 1 byte inside it in memory mapped by the program at 0x1000-0x2000"},
        {in_control_block, "a pointer 1 byte inside it in the control block of thread main"},
        {in_data, "a pointer 1 byte inside it in prog1+0x4010"},
        {in_unknown_data, "a pointer 1 byte inside it in libgone.so"},
        {in_mapping, "a pointer 1 byte inside it in /dev/shm/x, mapped by the program at 0x1000-0x2000"},
        {in_anonymous, "a pointer 1 byte inside it in memory mapped by the program at 0x1000-0x2000"},
        {in_given, "a pointer 1 byte inside it in a root region that the program named"},
        {in_no_root, "a pointer 1 byte inside it in memory that is not known"},
        {in_block, "a pointer 1 byte inside it at offset +16 of a block of 32 bytes allocated at prog1+0x88"},
        {in_circle, "a pointer 1 byte inside it at offset +16 of a block of 32 bytes allocated at prog1+0x88, "
                    "and nobody else: a circle"},
        {in_vector, "a pointer 1 byte inside it in a vector register of thread main"},
        {by_itself, "in use by rule: the loader's, a stack that is run on, one with recorded blocks in it, or one "
                    "to be ignored"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1);
        struct leak_group *g = build_leak(p.leaks, REACH_HELD, deep(p.depot, 1), 1, 9);
        struct report *r;
        char *words;
        cases[i].make(&p, g);
        g->value = g->block + 1;
        r = collect(&b);
        words = witness_sentence(r, &r->leaks[0], false);
        assert_string_equal(words, cases[i].says);
        free(words);
        report_close(r);
    }
}

/* ---- what is not known ----------------------------------------------------------------------- */

static void test_not_known(void **state)
{
    static const struct {
        uint32_t check;
        bool killed;
        const char *says;
    } cases[] = {
        {LEAKS_NO_MEMORY, false, "process 2000000001 (prog1): leaks are not known: there was no memory to look for them\n"},
        {LEAKS_SANDBOX, false, "leaks are not known: in a sandbox it could not be asked what is mapped\n"},
        {LEAKS_BUSY, false, "leaks are not known: a thread would not leave the allocator\n"},
        {LEAKS_CHECK_COUNT + 3, false, "leaks are not known: for a reason that this rtcheck does not know\n"},
        {LEAKS_NOT_ASKED, true, "leaks are not known: it was killed before they could be looked for; --witness keeps a witness\n"},
        {LEAKS_NOT_ASKED, false, NULL},
        {LEAKS_FOUND, false, NULL},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        for (uint32_t off = 0; off < 2; off++) {
            struct build b = build_begin();
            struct parts p = an_image(&b, 1);
            const char *text;
            build_image_header(&b, p.area)->leak_check = cases[i].check;
            if (cases[i].killed)
                build_image_header(&b, p.area)->state = IMAGE_OPEN;
            build_image_header(&b, p.area)->checks |= CHECK_LEAKS;
            text = text_of(&b, (struct print_options){USUAL, .leaks = off ? PRINT_LEAKS_NOTHING : 0});
            if (cases[i].says && !off)
                must_say(text, cases[i].says);
            else
                must_not_say(text, "leaks are not known");
        }
    }
}

/* Of files that do not say it nobody knows whether leaks were to be looked for; of others who was not asked. */
static void test_who_was_asked(void **state)
{
    (void)state;
    for (uint32_t minor = 3; minor <= 4; minor++)
        for (uint32_t asked = 0; asked <= CHECK_LEAKS; asked += CHECK_LEAKS) {
            struct build b = build_begin();
            struct parts p = an_image(&b, 1);
            const char *text;
            build_image_header(&b, p.area)->leak_check = LEAKS_NOT_ASKED;
            build_image_header(&b, p.area)->state = IMAGE_OPEN;
            build_image_header(&b, p.area)->checks |= asked;
            build_run(&b)->version_minor = minor;
            text = text_of(&b, (struct print_options){USUAL});
            if (minor == 3)
                must_say(text, "leaks are not known: it was killed\n");
            else
                (asked ? must_say : must_not_say)(text, "leaks are not known: it was killed before they could be looked for; --witness keeps a witness\n");
        }
}

/* A witness may be killed, too, and there may be none; what it tells is told as its word. */
static void test_witness_of_the_end(void **state)
{
    static const struct {
        uint32_t watcher;
        const char *says;
    } cases[] = {
        {0, "leaks are not known: it was killed, and no witness could be kept\n"},
        {2000000003, "leaks are not known: it was killed, and its witness, too\n"},
        {WATCHER_DONE, "process 2000000001 (prog1): leaks are told by a witness of the end: registers are not known, so all are possible only, and dead parts of stacks count\n"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1);
        struct image_header *h = build_image_header(&b, p.area);
        const char *text;
        build_leak(p.leaks, REACH_LOST, 0, 1, 9);
        h->state = IMAGE_OPEN;
        h->checks |= CHECK_LEAKS | CHECK_WITNESS;
        h->watcher = cases[i].watcher;
        h->leak_check = cases[i].watcher == WATCHER_DONE ? LEAKS_FOUND : LEAKS_NOT_ASKED;
        h->threads_unheard = 1;
        h->flags |= cases[i].watcher == WATCHER_DONE ? IMAGE_WITNESSED : 0;
        text = text_of(&b, (struct print_options){USUAL});
        must_say(text, cases[i].says);
        must_not_say(text, "did not answer");
        (cases[i].watcher == WATCHER_DONE ? must_say : must_not_say)(text, "possibly 9 B in 1 block");
    }
}

/* Even a quiet report says so; and of a killed child that was to be asked, or where others were. */
static void test_who_is_not_known(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1);

    (void)state;
    build_image_header(&b, p.area)->leak_check = LEAKS_BUSY;
    must_say(text_of(&b, (struct print_options){USUAL, .quiet = true}), "leaks are not known");
    for (uint32_t asked = 0; asked <= 1; asked++) {
        const char *text;
        b = build_begin();
        p = an_image(&b, 1);
        p = an_image(&b, 2);
        build_image_header(&b, p.area)->leak_check = LEAKS_NOT_ASKED;
        build_image_header(&b, p.area)->checks |= asked ? CHECK_LEAKS : 0;
        build_image_header(&b, p.area)->state = IMAGE_OPEN;
        text = text_of(&b, (struct print_options){USUAL});
        (asked ? must_say : must_not_say)(text, "process 2000000002 (prog2): leaks are not known: it was killed");
    }
}

static void test_notes(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1);
    const char *text;

    (void)state;
    build_leak(p.leaks, REACH_LOST, 0, 2, 40);
    build_leak(p.leaks, REACH_HELD, 0, 2, 50);
    build_image_header(&b, p.area)->threads_unheard = 2;
    text = text_of(&b, (struct print_options){USUAL});
    must_say(text, "note: 2 threads did not answer; what is lost there may be in a register: possible leaks only\n");
    must_say(text, "possibly 40 B in 2 blocks");
    must_say(text, "note: it is not known where 40 B in leaked 2 blocks came from\n");
    must_say(text, "  -               not known\n");
}

/* Why they were not heard. */
static void test_deaf(void **state)
{
    static const struct {
        uint32_t unheard, deaf;
        const char *says;
    } cases[] = {
        {1, 1, "note: 1 thread did not answer: all signals are kept out; what"},
        {3, 3, "note: 3 threads did not answer: all signals are kept out; what"},
        {3, 1, "note: 3 threads did not answer: all signals are kept out by 1; what"},
        {2, 9, "note: 2 threads did not answer: all signals are kept out; what"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1);
        build_image_header(&b, p.area)->threads_unheard = cases[i].unheard;
        build_image_header(&b, p.area)->threads_deaf = cases[i].deaf;
        must_say(text_of(&b, (struct print_options){USUAL}), cases[i].says);
    }
}

/* Nobody can be seen to point to it: a possible leak, told with its reason. */
static void test_unsure(void **state)
{
    static const uint32_t reaches[] = {REACH_LOST, REACH_CIRCLE};

    (void)state;
    for (size_t i = 0; i < countof(reaches); i++) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1);
        const char *text;
        build_leak(p.leaks, reaches[i], deep(p.depot, 1), 1, 9);
        build_image_header(&b, p.area)->threads_unheard = 1;
        text = text_of(&b, (struct print_options){USUAL, .leaks = PRINT_LEAKS_RECORDS});
        must_say(text, "POSSIBLE LEAKS (aib, air)  1 place");
        must_say(text, "possible leak, unless a register holds it (air): found a block of 9 bytes");
        if (reaches[i] == REACH_LOST)
            must_say(text, "nobody points to it that can be seen\n");
        must_say(text, "1 problem: 1 possible leak");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),      cmocka_unit_test(test_all_kinds),
        cmocka_unit_test(test_behind_what_is_known),
        cmocka_unit_test(test_deterministic), cmocka_unit_test(test_records),
        cmocka_unit_test(test_summary),    cmocka_unit_test(test_problems),
        cmocka_unit_test(test_no_leaks),   cmocka_unit_test(test_inherited),
        cmocka_unit_test(test_match),      cmocka_unit_test(test_short),
        cmocka_unit_test(test_witnesses),  cmocka_unit_test(test_not_known),
        cmocka_unit_test(test_who_is_not_known), cmocka_unit_test(test_notes),
        cmocka_unit_test(test_who_was_asked), cmocka_unit_test(test_witness_of_the_end), cmocka_unit_test(test_deaf), cmocka_unit_test(test_unsure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

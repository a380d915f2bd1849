/*
 * test_print_witnesses.c - sentences about the referrers of leaked blocks, and about unknown ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "leak_output.h"
#include "machine.h"
#include "golden.h"

/* ---- referrers ------------------------------------------------------------------------------ */

struct witness_case {
    void (*make)(struct parts *p, struct leak_group *g);
    const char *name;
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

static void in_frame(struct parts *p, struct leak_group *g)
{
    on_stack(p, g);
    g->frame_sp = g->at - 24;
    g->frame_cfa = g->at + 8;
}

static void in_red_zone(struct parts *p, struct leak_group *g)
{
    in_frame(p, g);
    g->frame_sp = g->at + 64;
    g->frame_cfa = g->at + 72;
}

static void on_main_stack(struct parts *p, struct leak_group *g)
{
    by_root(p, g, ROOT_STACK, STACK);
    ((struct root_record *)build_item(p->roots, 0))->thread = 1;
}

/* An alternate signal stack is ordinary mapped memory. */
static void on_mapped_stack(struct parts *p, struct leak_group *g)
{
    by_root(p, g, ROOT_MAPPED, STACK);
    g->on_thread = 3;
    g->frame_pc = PROG + 0x77;
}

/* Near a thread control block: above all frames, in no known variable. */
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

static void in_cycle(struct parts *p, struct leak_group *g)
{
    in_block(p, g);
    g->reach = REACH_CYCLE;
}

static void in_vector(struct parts *p, struct leak_group *g)
{
    (void)p;
    g->witness = WITNESS_REGISTER;
    g->at = DWARF_VECTORS + 2;
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
        {on_stack, "on a stack"},
        {in_frame, "in a frame"},
        {in_red_zone, "in a red zone"},
        {on_main_stack, "on the main stack"},
        {on_mapped_stack, "on a mapped stack"},
        {of_thread, "of a thread"},
        {of_some_thread, "of a thread, no frame"},
        {in_mapping_of_thread, "in a mapping of a thread"},
        {in_control_block, "in a control block"},
        {in_data, "in data"},
        {in_unknown_data, "in data of an unknown module"},
        {in_mapping, "in a mapping of a file"},
        {in_anonymous, "in an anonymous mapping"},
        {in_given, "in a root region"},
        {in_no_root, "in no known root"},
        {in_block, "in a block"},
        {in_cycle, "in a cycle"},
        {in_vector, "in a vector register"},
        {by_itself, "by rule"},
    };
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    (void)state;
    assert_non_null(out);
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1);
        struct leak_group *g = build_leak(p.leaks, REACH_REACHABLE, deep(p.depot, 1), 1, 9);
        struct report *r;
        char *words;
        cases[i].make(&p, g);
        g->value = g->block + 1;
        r = collect(&b);
        words = witness_sentence(r, &r->leaks[0], false);
        fprintf(out, "%-30s%s\n", cases[i].name, words);
        free(words);
        report_close(r);
    }
    fclose(out);
    golden_add("referrers", text);
    free(text);
}

/* ---- unknown --------------------------------------------------------------------------------- */

static void test_not_known(void **state)
{
    static const struct {
        uint32_t check;
        bool killed;
        const char *name; /* NULL: leaks are known, or were not requested */
    } cases[] = {
        {LEAKS_NO_MEMORY, false, "not known: no memory"},
        {LEAKS_SANDBOX, false, "not known: sandbox"},
        {LEAKS_BUSY, false, "not known: busy"},
        {LEAKS_NO_PROC, false, "not known: no /proc"},
        {LEAKS_CHECK_COUNT + 3, false, "not known: later reason"},
        {LEAKS_NOT_REQUESTED, true, "not known: killed"},
        {LEAKS_NOT_REQUESTED, false, NULL},
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
            text =
                text_of(&b, (struct print_options){USUAL, .leaks = off ? PRINT_LEAKS_NOTHING : 0});
            if (cases[i].name && !off)
                golden_add(cases[i].name, text);
            else
                must_not_print(text, "not known");
        }
    }
}

/* Files of old versions do not record whether a leak check was requested; newer ones do. */
static void test_holder_of_request(void **state)
{
    (void)state;
    for (uint32_t minor = 3; minor <= 4; minor++)
        for (uint32_t asked = 0; asked <= CHECK_LEAKS; asked += CHECK_LEAKS) {
            struct build b = build_begin();
            struct parts p = an_image(&b, 1);
            const char *text;
            build_image_header(&b, p.area)->leak_check = LEAKS_NOT_REQUESTED;
            build_image_header(&b, p.area)->state = IMAGE_OPEN;
            build_image_header(&b, p.area)->checks |= asked;
            build_run(&b)->version_minor = minor;
            text = text_of(&b, (struct print_options){USUAL});
            if (minor == 4)
                golden_add(asked ? "killed before the leak check that was requested"
                                 : "killed, no leak check was requested",
                           text);
            else if (asked)
                golden_add("killed, a file of minor version 3", text);
            else
                must_print(text, "leaks are not known: it was killed\n"); /* the screen below */
        }
}

/* A post-mortem scanner may be killed, or missing; its results are reported as the scanner's. */
static void test_witness_of_the_end(void **state)
{
    static const struct {
        uint32_t scanner;
        const char *name;
    } cases[] = {
        {0, "no post-mortem scanner"},
        {2000000003, "a post-mortem scanner that was killed"},
        {SCANNER_DONE, "a post-mortem scanner"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1);
        struct image_header *h = build_image_header(&b, p.area);
        const char *text;
        build_leak(p.leaks, REACH_LOST, 0, 1, 9);
        h->state = IMAGE_OPEN;
        h->checks |= CHECK_LEAKS | CHECK_POST_MORTEM;
        h->scanner = cases[i].scanner;
        h->leak_check = cases[i].scanner == SCANNER_DONE ? LEAKS_FOUND : LEAKS_NOT_REQUESTED;
        h->threads_not_stopped = 1;
        h->flags |= cases[i].scanner == SCANNER_DONE ? IMAGE_POST_MORTEM : 0;
        text = text_of(&b, (struct print_options){USUAL});
        golden_add(cases[i].name, text);
    }
}

/*
 * A quiet report states that leaks are unknown; so does one of a killed child, if a check was
 * requested.
 */
static void test_holder_is_not_known(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1);

    (void)state;
    build_image_header(&b, p.area)->leak_check = LEAKS_BUSY;
    golden_add("not known, quiet", text_of(&b, (struct print_options){USUAL, .quiet = true}));
    for (uint32_t asked = 0; asked <= 1; asked++) {
        b = build_begin();
        p = an_image(&b, 1);
        p = an_image(&b, 2);
        build_image_header(&b, p.area)->leak_check = LEAKS_NOT_REQUESTED;
        build_image_header(&b, p.area)->checks |= asked ? CHECK_LEAKS : 0;
        build_image_header(&b, p.area)->state = IMAGE_OPEN;
        golden_add(asked ? "killed child, requested" : "killed child, not requested",
                   text_of(&b, (struct print_options){USUAL}));
    }
}

static void test_notes(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1);

    (void)state;
    build_leak(p.leaks, REACH_LOST, 0, 2, 40);
    build_leak(p.leaks, REACH_REACHABLE, 0, 2, 50);
    build_image_header(&b, p.area)->threads_not_stopped = 2;
    golden_add("no stack, two threads not stopped", text_of(&b, (struct print_options){USUAL}));
}

/* Reasons why threads were not stopped. */
static void test_deaf(void **state)
{
    static const struct {
        uint32_t unheard, deaf, waiting;
        const char *name;
    } cases[] = {
        {1, 1, 0, "1 thread, deaf"},
        {3, 3, 0, "3 threads, deaf"},
        {3, 1, 0, "3 threads, 1 deaf"},
        {2, 9, 0, "2 threads, more deaf than not stopped"},
        {3, 1, 2, "3 threads, 2 waiting, 1 deaf"},
        {1, 0, 9, "1 thread, more waiting than not stopped"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1);
        build_image_header(&b, p.area)->threads_not_stopped = cases[i].unheard;
        build_image_header(&b, p.area)->threads_unresponsive = cases[i].deaf;
        build_image_header(&b, p.area)->threads_waiting = cases[i].waiting;
        golden_add(cases[i].name, text_of(&b, (struct print_options){USUAL}));
    }
}

/* Without a visible referrer: a possible leak, reported with the reason. */
static void test_unsure(void **state)
{
    static const uint32_t reaches[] = {REACH_LOST, REACH_CYCLE};

    (void)state;
    for (size_t i = 0; i < countof(reaches); i++) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1);
        build_leak(p.leaks, reaches[i], deep(p.depot, 1), 1, 9);
        build_image_header(&b, p.area)->threads_not_stopped = 1;
        golden_add(i == 0 ? "unsure: lost" : "unsure: cycle",
                   text_of(&b, (struct print_options){USUAL, .leaks = PRINT_LEAKS_RECORDS}));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_witnesses),
        cmocka_unit_test(test_not_known),
        cmocka_unit_test(test_holder_is_not_known),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_holder_of_request),
        cmocka_unit_test(test_witness_of_the_end),
        cmocka_unit_test(test_deaf),
        cmocka_unit_test(test_unsure),
    };
    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}

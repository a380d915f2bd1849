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

/* ---- referrers ------------------------------------------------------------------------------ */

struct witness_case {
    void (*make)(struct parts *p, struct leak_group *g);
    const char *prints;
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
        {on_stack, "a pointer 1 byte inside it on the stack of thread 3 (worker\x1b), in prog1+0x77"},
        {in_frame, "a pointer 1 byte inside it on the stack of thread 3 (worker\x1b), in prog1+0x77, 24 bytes above "
                   "its stack pointer"},
        {in_red_zone, "a pointer 1 byte inside it on the stack of thread 3 (worker\x1b), in prog1+0x77, 64 bytes below "
                      "its stack pointer"},
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
        {in_cycle, "a pointer 1 byte inside it at offset +16 of a block of 32 bytes allocated at prog1+0x88, "
                    "and no other: a cycle"},
        {in_vector, "a pointer 1 byte inside it in a vector register of thread main"},
        {by_itself, "in use by rule: the loader's, a stack that is run on, one with recorded blocks in it, or one "
                    "to be ignored"},
    };

    (void)state;
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
        assert_string_equal(words, cases[i].prints);
        free(words);
        report_close(r);
    }
}

/* ---- unknown --------------------------------------------------------------------------------- */

static void test_not_known(void **state)
{
    static const struct {
        uint32_t check;
        bool killed;
        const char *prints;
    } cases[] = {
        {LEAKS_NO_MEMORY, false, "process 2000000001 (prog1): leaks are not known: there was no memory to look for them\n"},
        {LEAKS_SANDBOX, false, "leaks are not known: in a sandbox its mappings could not be read\n"},
        {LEAKS_BUSY, false, "leaks are not known: a thread would not leave the allocator\n"},
        {LEAKS_NO_PROC, false, "leaks are not known: no file of /proc could be opened: too many are open, or it is not there\n"},
        {LEAKS_CHECK_COUNT + 3, false, "leaks are not known: for a reason that this rtcheck does not know\n"},
        {LEAKS_NOT_REQUESTED, true, "leaks are not known: it was killed before they could be looked for; --witness keeps a witness\n"},
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
            text = text_of(&b, (struct print_options){USUAL, .leaks = off ? PRINT_LEAKS_NOTHING : 0});
            if (cases[i].prints && !off)
                must_print(text, cases[i].prints);
            else
                must_not_print(text, "leaks are not known");
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
            if (minor == 3)
                must_print(text, "leaks are not known: it was killed\n");
            else
                (asked ? must_print : must_not_print)(text, "leaks are not known: it was killed before they could be looked for; --witness keeps a witness\n");
        }
}

/* A post-mortem scanner may be killed, or missing; its results are reported as the scanner's. */
static void test_witness_of_the_end(void **state)
{
    static const struct {
        uint32_t scanner;
        const char *prints;
    } cases[] = {
        {0, "leaks are not known: it was killed, and no witness could be kept\n"},
        {2000000003, "leaks are not known: it was killed, and its witness, too\n"},
        {SCANNER_DONE, "process 2000000001 (prog1): leaks were found by the post-mortem scanner: registers are not known, so all are possible only, and dead parts of stacks count\n"},
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
        must_print(text, cases[i].prints);
        must_not_print(text, "did not answer");
        (cases[i].scanner == SCANNER_DONE ? must_print : must_not_print)(text, "possibly 9 B in 1 block");
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
    must_print(text_of(&b, (struct print_options){USUAL, .quiet = true}), "leaks are not known");
    for (uint32_t asked = 0; asked <= 1; asked++) {
        const char *text;
        b = build_begin();
        p = an_image(&b, 1);
        p = an_image(&b, 2);
        build_image_header(&b, p.area)->leak_check = LEAKS_NOT_REQUESTED;
        build_image_header(&b, p.area)->checks |= asked ? CHECK_LEAKS : 0;
        build_image_header(&b, p.area)->state = IMAGE_OPEN;
        text = text_of(&b, (struct print_options){USUAL});
        (asked ? must_print : must_not_print)(text, "process 2000000002 (prog2): leaks are not known: it was killed");
    }
}

static void test_notes(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1);
    const char *text;

    (void)state;
    build_leak(p.leaks, REACH_LOST, 0, 2, 40);
    build_leak(p.leaks, REACH_REACHABLE, 0, 2, 50);
    build_image_header(&b, p.area)->threads_not_stopped = 2;
    text = text_of(&b, (struct print_options){USUAL});
    must_print(text, "note: 2 threads did not answer; what is lost there may be in a register: possible leaks only\n");
    must_print(text, "possibly 40 B in 2 blocks");
    must_print(text, "note: it is not known where 40 B in leaked 2 blocks came from\n");
    must_print(text, "  -               not known\n");
}

/* Reasons why threads were not stopped. */
static void test_deaf(void **state)
{
    static const struct {
        uint32_t unheard, deaf, waiting;
        const char *prints;
    } cases[] = {
        {1, 1, 0, "note: 1 thread did not answer: all signals are kept out; what"},
        {3, 3, 0, "note: 3 threads did not answer: all signals are kept out; what"},
        {3, 1, 0, "note: 3 threads did not answer: all signals are kept out by 1; what"},
        {2, 9, 0, "note: 2 threads did not answer: all signals are kept out; what"},
        {3, 1, 2, "note: 1 thread did not answer: all signals are kept out; what"},
        {3, 1, 2,
         "note: 2 threads were not stopped in a system call; what is lost there may be in a "
         "register: "},
        {1, 0, 9, "note: 1 thread was not stopped in a system call; what"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1);
        build_image_header(&b, p.area)->threads_not_stopped = cases[i].unheard;
        build_image_header(&b, p.area)->threads_unresponsive = cases[i].deaf;
        build_image_header(&b, p.area)->threads_waiting = cases[i].waiting;
        must_print(text_of(&b, (struct print_options){USUAL}), cases[i].prints);
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
        const char *text;
        build_leak(p.leaks, reaches[i], deep(p.depot, 1), 1, 9);
        build_image_header(&b, p.area)->threads_not_stopped = 1;
        text = text_of(&b, (struct print_options){USUAL, .leaks = PRINT_LEAKS_RECORDS});
        must_print(text, "POSSIBLE LEAKS (aib, air)  1 place");
        must_print(text, "possible leak, unless a register holds it (air): found a block of 9 bytes");
        if (reaches[i] == REACH_LOST)
            must_print(text, "no pointer to it that can be seen\n");
        must_print(text, "1 problem: 1 possible leak");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_witnesses),  cmocka_unit_test(test_not_known),
        cmocka_unit_test(test_holder_is_not_known), cmocka_unit_test(test_notes),
        cmocka_unit_test(test_holder_of_request), cmocka_unit_test(test_witness_of_the_end), cmocka_unit_test(test_deaf), cmocka_unit_test(test_unsure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

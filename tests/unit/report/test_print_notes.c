/*
 * test_print_notes.c - one note for each limit of the report, and none without a limit.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "shown.h"

/* ---- notes --------------------------------------------------------------------------------- */

struct note_case {
    void (*set)(struct build *b, uint32_t area);
    const char *prints;
    bool even_quiet;
};

static void sandboxed(struct build *b, uint32_t area)
{
    build_image_header(b, area)->flags |= IMAGE_SANDBOXED;
}

static void unsure(struct build *b, uint32_t area)
{
    build_image_header(b, area)->flags |= IMAGE_INHERITED_UNSURE;
}

static void private(struct build *b, uint32_t area)
{
    build_image_header(b, area)->flags |= IMAGE_METADATA_PRIVATE;
}

static void private_places(struct build *b, uint32_t area)
{
    private(b, area);
    build_image_header(b, area)->private_kinds = 1u << SEGMENT_DEPOT | 1u << SEGMENT_MODULES;
}

static void unwritten(struct build *b, uint32_t area)
{
    build_image_header(b, area)->errors_unwritten = 5;
}

static void cut(struct build *b, uint32_t area)
{
    build_image_header(b, area)->leak_check = LEAKS_CUT;
}

static void starved(struct build *b, uint32_t area)
{
    build_image_header(b, area)->flags |= IMAGE_HANDLER_STARVED;
}

static void wrong_frees(struct build *b, uint32_t area)
{
    build_image_header(b, area)->checks = 0;
    build_image_header(b, area)->bad_frees[BAD_FREE_DUPLICATE] = 1;
    build_image_header(b, area)->bad_frees[BAD_FREE_MISALIGNED] = 2;
    build_image_header(b, area)->bad_frees[BAD_FREE_BAD] = 3;
}

static void unlooked(struct build *b, uint32_t area)
{
    build_image_header(b, area)->checks = 0;
}

static void unfilled(struct build *b, uint32_t area)
{
    build_image_header(b, area)->checks = CHECK_MADE | CHECK_REDZONES;
}

static void counted(struct build *b, uint32_t area)
{
    (void)area;
    strcpy(build_run(b)->options, "keep=yes:counters='instructions:u'");
}

static void counted_and_measured(struct build *b, uint32_t area)
{
    (void)area;
    strcpy(build_run(b)->options, "counters=cs measure=7");
}

static void measured_by_hand(struct build *b, uint32_t area)
{
    (void)area;
    build_run(b)->mode = RUN_BY_HAND;
    strcpy(build_run(b)->options, "measure=7");
}

static void beyond_limit(struct build *b, uint32_t area)
{
    build_image_header(b, area)->errors_unrecorded = 7;
}

static struct error_record *error(struct build *b, uint32_t area, enum error_kind kind)
{
    return build_error(build_records(b, area, SEGMENT_ERRORS, 1),
                       kind, ENTRY_FREE, 0);
}

static void strange_error(struct build *b, uint32_t area)
{
    error(b, area, ERROR_KIND_COUNT);
}

static void libcs_frees(struct build *b, uint32_t area)
{
    error(b, area, ERROR_FOREIGN)->count = 3;
    build_image_header(b, area)->bad_frees[BAD_FREE_FOREIGN] = 3;
}

static void foreign_frees(struct build *b, uint32_t area)
{
    build_image_header(b, area)->bad_frees[BAD_FREE_FOREIGN] = 2;
}

static void children(struct build *b, uint32_t area)
{
    build_image_header(b, area)->unchecked_children = 1;
}

static void unrecorded(struct build *b, uint32_t area)
{
    (void)area;
    build_run(b)->unrecorded_images = 2;
}

static void reclaimed(struct build *b, uint32_t area)
{
    (void)area;
    build_run(b)->reclaimed.images = 12;
    build_run(b)->reclaimed.live_blocks = 3;
    build_run(b)->reclaimed.live_bytes = 20480;
}

static void damaged(struct build *b, uint32_t area)
{
    build_head(b, build_more(b, area))->ordinal = 0;
}

static void lacking(struct build *b, uint32_t area)
{
    build_image_header(b, area)->missing_features = 0x11 | 1ull << 63;
}

static void later_features(struct build *b, uint32_t area)
{
    (void)area;
    build_run(b)->features = 4;
}

static void killed_child(struct build *b, uint32_t area)
{
    (void)area;
    build_image_header(b, an_image(b, 2, IMAGE_FORK, 0))->state = IMAGE_OPEN;
}

static void lost_child(struct build *b, uint32_t area)
{
    (void)area;
    build_image_header(b, an_image(b, 2, IMAGE_FORK, 0))->end_how = END_EXEC;
}

static void own_malloc_child(struct build *b, uint32_t area)
{
    (void)area;
    build_image_header(b, an_image(b, 2, IMAGE_EXEC, 0))->flags = IMAGE_OWN_MALLOC;
}

static void running_children(struct build *b, uint32_t area)
{
    (void)area;
    for (uint32_t number = 2; number <= 3; number++) {
        struct image_header *h = build_image_header(b, an_image(b, number, IMAGE_FORK, 0));
        h->state = IMAGE_OPEN;
        h->pid = (uint32_t)(number == 2 ? getpid() : getppid());
    }
}

static const struct note_case notes[] = {
    {sandboxed,
     "process 2000000001 (prog1): entered a sandbox: only system calls in use before it "
     "were made since",
     false},
    {unsure,
     "process 2000000001 (prog1): not sure what it had from its parent: frees of such "
     "blocks were believed",
     false},
    {private, "process 2000000001 (prog1): run file full, incomplete: blocks in use", true},
    {private_places, "process 2000000001 (prog1): run file full, incomplete: stacks, libraries",
     true},
    {unwritten, "process 2000000001 (prog1): 5 more errors were not recorded: run file full", true},
    {cut, "process 2000000001 (prog1): more leaks than are listed: run file full", true},
    {starved,
     "process 2000000001 (prog1): a signal handler that interrupted malloc or free got no "
     "memory: little is kept for that",
     true},
    {wrong_frees, "process 2000000001 (prog1): no errors were looked for, wrong frees only counted",
     true},
    {unlooked, "process 2000000001 (prog1): no errors were looked for, wrong frees only counted",
     false},
    {unfilled,
     "process 2000000001 (prog1): freed blocks were not filled: writes to them were not "
     "looked for",
     false},
    {counted,
     "the results of --counters are not in the run file: it was saved before the launcher wrote them",
     false},
    {counted_and_measured,
     "the results of --counters and --measure are not in the run file: it was saved before the launcher "
     "wrote them",
     false},
    {measured_by_hand, "without the launcher there is no --measure", false},
    {beyond_limit, "7 more errors were not recorded: error limit 1000", true},
    {strange_error, "1 error is of a kind that this rtcheck does not know", true},
    {libcs_frees, "freed 3 blocks of libc's own allocator: passed on to libc", false},
    {foreign_frees, "2 frees were not judged: the block came from another allocator", false},
    {children, "1 program was started without us: not checked", true},
    {unrecorded, "2 processes found no room in the run file: not recorded", true},
    {reclaimed,
     "12 processes are no longer in the file, with 20.0 KiB in 3 blocks in use at "
     "their ends",
     false},
    {damaged,
     "area 2 of the run file is damaged, the rest was used: area without its predecessor "
     "at 0x80000",
     true},
    {lacking,
     "3 system features are missing here and replaced: populate, noreplace, "
     "number 63",
     false},
    {later_features, "the file has features that this rtcheck does not know: 0x4", false},
    {killed_child, "process 2000000002 (prog2): killed, or ended unseen; counted as it was then",
     false},
    {lost_child,
     "process 2000000002 (prog2): went on by exec as a program that did not report: "
     "not checked",
     true},
    {own_malloc_child, "process 2000000002 (prog2): not in control: brought a malloc of its own",
     true},
    {running_children, "2 processes (first ", false},
};

static void test_notes(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(notes); i++) {
        char want[256];
        const char *text;
        struct build b = build_begin();
        notes[i].set(&b, an_image(&b, 1, IMAGE_ROOT, 0));
        snprintf(want, sizeof want, "  note: %s", notes[i].prints);
        text = text_of(&b, &plain);
        if (!strstr(text, want))
            fail_msg("missing: %s in\n%s", want, text);
        assert_null(strstr(strstr(text, "note: ") + 1, "note: ")); /* and no other note */
        b = build_begin();
        notes[i].set(&b, an_image(&b, 1, IMAGE_ROOT, 0));
        text = text_of(&b, &quiet);
        if (!!text[0] != notes[i].even_quiet)
            fail_msg("quiet, %s:\n%s", notes[i].prints, text);
    }
}

/* Its actions are unknown, whatever else its header contains. */
static void test_damaged_child(void **state)
{
    struct build b = build_begin();
    const char *text;

    (void)state;
    an_image(&b, 1, IMAGE_ROOT, 0);
    build_image_header(&b, an_image(&b, 2, IMAGE_FORK, 0))->argv_bytes = UINT32_MAX;
    text = text_of(&b, &quiet);
    assert_non_null(strstr(text, "  note: area 2 of the run file is damaged, the rest was used: arguments have no end "));
    assert_non_null(strstr(text, "  note: process 2000000002 (prog2): not in control: what was recorded of it is damaged\n"));
    assert_non_null(strstr(text, "\nrtcheck: incomplete: 1 area of the run file damaged; "));
}

/* Printed if the fault address contains the fill of freed memory, whatever the wait status. */
static void test_crash(void **state)
{
    static const struct {
        int wait_status;
        uint32_t flags;
        bool is_noted;
    } cases[] = {{SIGSEGV, IMAGE_FAULT_OF_FREED, true}, {SIGBUS | 0x80, IMAGE_FAULT_OF_FREED, true}, {-1, IMAGE_FAULT_OF_FREED, true},
                 {SIGSEGV, 0, false}, {SIGBUS, 0x400, false}};

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct shown shown = {.wait_status = cases[i].wait_status};
        build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 1))->flags |= cases[i].flags;
        const char *note = strstr(text_of(&b, &shown), "  note: process 2000000001 (prog1): crashed, perhaps ");
        assert_int_equal(note != NULL, cases[i].is_noted);
    }
}

static void test_quiet(void **state)
{
    struct build b = build_begin();

    (void)state;
    an_image(&b, 1, IMAGE_ROOT, 4);
    assert_string_equal(text_of(&b, &quiet), "");
}

/* Only the first few notes are printed; the text stays short. */
static void test_many_notes(void **state)
{
    struct build b = build_begin();
    uint32_t area = an_image(&b, 1, IMAGE_ROOT, 4), lines = 0;
    const char *text;

    (void)state;
    sandboxed(&b, area);
    unsure(&b, area);
    wrong_frees(&b, area);
    children(&b, area);
    text = text_of(&b, &plain);
    assert_non_null(strstr(text, "  note: 2 more with --all\n"));
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    assert_int_equal(lines, 13);
    b = build_begin();
    area = an_image(&b, 1, IMAGE_ROOT, 4);
    sandboxed(&b, area);
    unsure(&b, area);
    wrong_frees(&b, area);
    assert_null(strstr(text_of(&b, &plain), "more with"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_damaged_child),
        cmocka_unit_test(test_crash),
        cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_many_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

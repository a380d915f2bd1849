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
#include "golden.h"

/* ---- notes --------------------------------------------------------------------------------- */

struct note_case {
    void (*set)(struct build *b, uint32_t area);
    const char *name;
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
    return build_error(build_records(b, area, SEGMENT_ERRORS, 1), kind, ENTRY_FREE, 0);
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
    {sandboxed, "sandboxed", false},
    {unsure, "unsure", false},
    {private, "private", true},
    {private_places, "private places", true},
    {unwritten, "unwritten", true},
    {cut, "cut", true},
    {starved, "starved", true},
    {wrong_frees, "wrong frees", true},
    {unlooked, "unlooked", false},
    {unfilled, "unfilled", false},
    {counted, "counted", false},
    {counted_and_measured, "counted and measured", false},
    {measured_by_hand, "measured by hand", false},
    {beyond_limit, "beyond limit", true},
    {strange_error, "strange error", true},
    {libcs_frees, "libcs frees", false},
    {foreign_frees, "foreign frees", false},
    {children, "children", true},
    {unrecorded, "unrecorded", true},
    {reclaimed, "reclaimed", false},
    {damaged, "damaged", true},
    {lacking, "lacking", false},
    {later_features, "later features", false},
    {killed_child, "killed child", false},
    {lost_child, "lost child", true},
    {own_malloc_child, "own malloc child", true},
    {running_children, "running children", false},
};

static struct build noted(const struct note_case *note)
{
    struct build b = build_begin();

    note->set(&b, an_image(&b, 1, IMAGE_ROOT, 0));
    return b;
}

static uint32_t notes_in(const char *text)
{
    uint32_t count = strncmp(text, "note: ", 6) == 0;

    while ((text = strstr(text, "\nnote: ")) != NULL) {
        count++;
        text++;
    }
    return count;
}

/* The lines of notes alone: the rest of the text has test_print.c. */
static void notes_add(const char *name, const char *text)
{
    char *notes = calloc(1, strlen(text) + 1);

    assert_non_null(notes);
    for (const char *end; *text; text = end) {
        end = text + strcspn(text, "\n");
        end += *end == '\n';
        if (strncmp(text, "note: ", 6) == 0)
            strncat(notes, text, (size_t)(end - text));
    }
    golden_add(name, notes);
    free(notes);
}

static void test_notes(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(notes); i++) {
        struct build b = noted(&notes[i]);
        const char *text = text_of(&b, &plain);
        assert_int_equal(notes_in(text), 1);  /* and no other note */
        if (notes[i].set == running_children) /* the pids are of this run */
            assert_non_null(strstr(text, "\nnote: 2 processes (first "));
        else
            notes_add(notes[i].name, text);
        b = noted(&notes[i]);
        text = text_of(&b, &quiet);
        if (!!text[0] != notes[i].even_quiet)
            fail_msg("quiet, %s:\n%s", notes[i].name, text);
    }
}

/* On a terminal a note is broken between words, below its first word. */
static void test_narrow(void **state)
{
    struct shown narrow = {.how = {.columns = 80}, .wait_status = -1};
    struct build b = build_begin();

    (void)state;
    libcs_frees(&b, an_image(&b, 1, IMAGE_ROOT, 0));
    unsure(&b, 1);
    private_places(&b, 1);
    golden_add("three notes on 80 columns", text_of(&b, &narrow));
}

/* Each note is about its own processes. */
static void test_full_file(void **state)
{
    struct build b = build_begin();

    (void)state;
    an_image(&b, 1, IMAGE_ROOT, 4);
    unwritten(&b, an_image(&b, 2, IMAGE_FORK, 4));
    cut(&b, an_image(&b, 3, IMAGE_FORK, 4));
    golden_add("errors and leaks without room in two processes", text_of(&b, &plain));
}

/* Its actions are unknown, whatever else its header contains. */
static void test_damaged_child(void **state)
{
    struct build b = build_begin();

    (void)state;
    an_image(&b, 1, IMAGE_ROOT, 0);
    build_image_header(&b, an_image(&b, 2, IMAGE_FORK, 0))->argv_bytes = UINT32_MAX;
    golden_add("damaged child, quiet", text_of(&b, &quiet));
}

/* Printed if the fault address contains the fill of freed memory, whatever the wait status. */
static void test_crash(void **state)
{
    static const struct {
        int wait_status;
        uint32_t flags;
        bool is_noted;
    } cases[] = {{SIGSEGV, IMAGE_FAULT_OF_FREED, true},
                 {SIGBUS | 0x80, IMAGE_FAULT_OF_FREED, true},
                 {-1, IMAGE_FAULT_OF_FREED, true},
                 {SIGSEGV, 0, false},
                 {SIGBUS, 0x400, false}};

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct shown shown = {.wait_status = cases[i].wait_status};
        build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 1))->flags |= cases[i].flags;
        const char *note =
            strstr(text_of(&b, &shown), "note: process 2000000001 (prog1): crashed, perhaps ");
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
    uint32_t area = an_image(&b, 1, IMAGE_ROOT, 4);

    (void)state;
    sandboxed(&b, area);
    unsure(&b, area);
    wrong_frees(&b, area);
    children(&b, area);
    golden_add("four notes", text_of(&b, &plain));
    b = build_begin();
    area = an_image(&b, 1, IMAGE_ROOT, 4);
    sandboxed(&b, area);
    unsure(&b, area);
    wrong_frees(&b, area);
    golden_add("three notes", text_of(&b, &plain));
    b = build_begin();
    area = an_image(&b, 1, IMAGE_ROOT, 4);
    sandboxed(&b, area);
    unsure(&b, area);
    wrong_frees(&b, area);
    children(&b, area);
    golden_add("four notes, all",
               text_of(&b, &(struct shown){.how = {.all = true}, .wait_status = -1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notes),      cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_full_file),  cmocka_unit_test(test_damaged_child),
        cmocka_unit_test(test_crash),      cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_many_notes),
    };
    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}

/*
 * test_print.c - the words: sum first, verdict last, one line for each limit.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "build_run.h"
#include "page_priv.h"

#define LIB 0x7f0000000000ull

/* An image with `count` places in /opt/prog; place i has i + 1 blocks of 10 bytes. */
static uint32_t an_image(struct build *b, uint32_t number, enum image_how how, uint32_t count)
{
    uint32_t area = build_image(b, number, 0, 2000000000u + number, how); /* nobody's pid */
    struct segment *m = build_segment(b, area, SEGMENT_MODULES, sizeof(struct module_record), 4, 0);
    struct segment *t = build_segment(b, area, SEGMENT_THREADS, sizeof(struct thread_record), 4, 0);
    struct segment *d = build_depot(b, area, 0), *s = build_slab(b, area, 1, 64, 64);
    uint32_t slot = 0;

    build_module(m, "/opt/prog", LIB, 0x1000);
    build_thread(t, 1, 14, 4);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t stack = build_node(d, LIB + 0x10 * (i + 1), 0);
        for (uint32_t k = 0; k <= i; k++)
            build_block(s, slot++, BLOCK_LIVE, 10, stack);
    }
    return area;
}

struct shown {
    struct print_options how;
    int wait_status;
};

/* The text of a report on `b`; owned by a static buffer. */
static const char *text_of(struct build *b, const struct shown *shown)
{
    static char text[16384];
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    int fd = build_fd(b);
    FILE *out;

    memset(text, 0, sizeof text);
    out = fmemopen(text, sizeof text - 1, "w");
    assert_non_null(out);
    assert_int_equal(report_open_fd(&r, fd, "test", err), 0);
    if (shown->wait_status != -1)
        report_set_exit(r, 2000000001u, shown->wait_status, NULL);
    assert_int_equal(report_collect(r, err), 0);
    report_print_text(r, out, &shown->how);
    fclose(out);
    report_close(r);
    close(fd);
    build_end(b);
    return text;
}

/* Of images that nobody counted for. */
#define COST                                                                                       \
    "COST            task clock, page faults, context switches, max rss n/a: the system did not "  \
    "tell\n"                                                                                       \
    "                checker: 14 allocs, 4 frees, records n/a: the system did not tell\n"

static const struct shown plain = {.wait_status = -1};
static const struct shown memuse = {.how = {.use = PRINT_USE_TABLE}, .wait_status = -1};
static const struct shown quiet = {.how = {.quiet = true}, .wait_status = -1};

static void test_default(void **state)
{
    struct build b = build_begin();
    struct shown shown = {.how = {.pool = "/state/last.pool"}, .wait_status = 3 << 8};

    (void)state;
    an_image(&b, 1, IMAGE_ROOT, 4);
    assert_string_equal(text_of(&b, &shown),
                        "rtcheck: no problems, 14 allocs, 4 frees, 1 process\n"
                        "IN USE AT EXIT  100 B in 10 blocks\n"
                        "  40 B in 4 blocks  prog+0x40\n"
                        "  30 B in 3 blocks  prog+0x30\n"
                        "  20 B in 2 blocks  prog+0x20\n"
                        COST
                        "rtcheck: in control; exit status 3; run file: /state/last.pool\n");
}

static void test_nothing_in_use(void **state)
{
    struct build b = build_begin();

    (void)state;
    build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 0))->end_status = 7;
    assert_string_equal(text_of(&b, &plain),
                        "rtcheck: no problems, 14 allocs, 4 frees, 1 process\n"
                        "IN USE AT EXIT  nothing\n"
                        COST
                        "rtcheck: in control; exit status 7\n");
}

static void test_memuse(void **state)
{
    struct build b = build_begin();
    const char *text;

    (void)state;
    an_image(&b, 1, IMAGE_ROOT, 5);
    an_image(&b, 2, IMAGE_FORK, 1);
    text = text_of(&b, &memuse);
    assert_non_null(strstr(text, "rtcheck: no problems, 28 allocs, 8 frees, 2 processes\n"
                                 "PROCESSES\n"
                                 "  2000000001 root prog1: 150 B in 15 blocks, 14 allocs, 4 frees, "
                                 "exit status 0\n"
                                 "  2000000002 fork prog2: 10 B in 1 block, 14 allocs, 4 frees, "
                                 "exit status 0\n"
                                 "IN USE AT EXIT  160 B in 16 blocks\n"
                                 "  Id               Total size  % of all     Blocks      Average  "
                                 "Allocated at\n  biu-"));
    for (int i = 1; i <= 5; i++) {
        char place[32];
        snprintf(place, sizeof place, "  prog+0x%d0\n", i);
        assert_non_null(strstr(text, place));
    }
    assert_non_null(strstr(text, "           50 B     31.2%          5         10 B  prog+0x50\n"));
    assert_non_null(strstr(text, "           20 B     12.5%          2         10 B  prog+0x10\n")); /* of both */
}

static void test_ends(void **state)
{
    static const struct {
        int wait_status;
        const char *says;
    } cases[] = {
        {SIGKILL, "rtcheck: in control; killed by signal 9 (SIGKILL)\n"},
        {SIGSEGV | 0x80, "rtcheck: in control; killed by signal 11 (SIGSEGV), core dumped\n"},
        {-1, "rtcheck: in control; killed, or ended unseen\n"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct shown shown = {.wait_status = cases[i].wait_status};
        const char *text;
        build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 1))->state = IMAGE_OPEN;
        text = text_of(&b, &shown);
        assert_non_null(strstr(text, cases[i].says));
        assert_non_null(strstr(text, "\nIN USE AT END   10 B in 1 block\n"));
    }
}

static void test_still_running(void **state)
{
    struct build b = build_begin();
    uint32_t area = an_image(&b, 1, IMAGE_ROOT, 1);

    (void)state;
    build_image_header(&b, area)->state = IMAGE_OPEN;
    build_image_header(&b, area)->pid = (uint32_t)getpid();
    assert_non_null(strstr(text_of(&b, &plain), "rtcheck: in control; still running\n"));
}

/* ---- not in control ------------------------------------------------------------------------ */

static void test_nobody_reported(void **state)
{
    struct build b = build_begin();
    struct shown shown = {.wait_status = SIGKILL};

    (void)state;
    assert_string_equal(text_of(&b, &shown),
                        "rtcheck: not in control: the runtime did not start in the program\n");
    b = build_begin();
    assert_string_equal(text_of(&b, &quiet),
                        "rtcheck: not in control: the runtime did not start in the program\n");
}

static void test_own_malloc(void **state)
{
    struct build b = build_begin();
    const char *text;

    (void)state;
    build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 0))->flags = IMAGE_OWN_MALLOC;
    text = text_of(&b, &quiet);
    assert_non_null(strstr(text, "rtcheck: not in control: the program brought a malloc of its own; "
                                 "exit status 0\n"));
}

static void test_malloc_not_seen(void **state)
{
    struct build b = build_begin();

    (void)state;
    build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 0))->flags = 0;
    assert_non_null(strstr(text_of(&b, &quiet), "rtcheck: not in control: the program's malloc was "
                                                "not seen to be ours; exit status 0\n"));
}

static void test_lost_by_exec(void **state)
{
    struct build b = build_begin();

    (void)state;
    build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 0))->end_how = END_EXEC;
    assert_non_null(strstr(text_of(&b, &quiet),
                           "rtcheck: not in control: went on by exec, unchecked\n"));
    b = build_begin();
    build_run(&b)->mode = RUN_BY_HAND; /* there it has a run file of its own */
    build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 0))->end_how = END_EXEC;
    assert_non_null(strstr(text_of(&b, &plain), "rtcheck: in control; went on by exec\n"));
}

/* ---- notes --------------------------------------------------------------------------------- */

struct note_case {
    void (*set)(struct build *b, uint32_t area);
    const char *says;
    bool even_quiet;
};

static struct image_header *header(const struct build *b, uint32_t area)
{
    return build_image_header(b, area);
}

static void sandboxed(struct build *b, uint32_t area)
{
    header(b, area)->flags |= IMAGE_SANDBOXED;
}

static void unsure(struct build *b, uint32_t area)
{
    header(b, area)->flags |= IMAGE_INHERITED_UNSURE;
}

static void private(struct build *b, uint32_t area)
{
    header(b, area)->flags |= IMAGE_METADATA_PRIVATE;
}

static void wrong_frees(struct build *b, uint32_t area)
{
    header(b, area)->checks = 0;
    header(b, area)->bad_frees[LOST_DUPLICATE] = 1;
    header(b, area)->bad_frees[LOST_MISALIGNED] = 2;
    header(b, area)->bad_frees[LOST_BAD] = 3;
}

static void unlooked(struct build *b, uint32_t area)
{
    header(b, area)->checks = 0;
}

static void unfilled(struct build *b, uint32_t area)
{
    header(b, area)->checks = CHECK_MADE | CHECK_REDZONES;
}

static void beyond_limit(struct build *b, uint32_t area)
{
    header(b, area)->errors_unrecorded = 7;
}

static struct error_record *error(struct build *b, uint32_t area, enum error_kind kind)
{
    return build_error(build_segment(b, area, SEGMENT_ERRORS, sizeof(struct error_record), 1, 0),
                       kind, ENTRY_FREE, 0);
}

static void strange_error(struct build *b, uint32_t area)
{
    error(b, area, ERROR_KIND_COUNT);
}

static void libcs_frees(struct build *b, uint32_t area)
{
    error(b, area, ERROR_FOREIGN)->count = 3;
    header(b, area)->bad_frees[LOST_FOREIGN] = 3;
}

static void foreign_frees(struct build *b, uint32_t area)
{
    header(b, area)->bad_frees[LOST_FOREIGN] = 2;
}

static void children(struct build *b, uint32_t area)
{
    header(b, area)->unchecked_children = 1;
}

static void unrecorded(struct build *b, uint32_t area)
{
    (void)area;
    build_run(b)->unrecorded_images = 2;
}

static void taken_back(struct build *b, uint32_t area)
{
    (void)area;
    build_run(b)->taken_back.images = 12;
    build_run(b)->taken_back.live_blocks = 3;
    build_run(b)->taken_back.live_bytes = 20480;
}

static void damaged(struct build *b, uint32_t area)
{
    build_head(b, build_more(b, area))->ordinal = 0;
}

static void lacking(struct build *b, uint32_t area)
{
    header(b, area)->lost_features = 0x11 | 1ull << 63;
}

static void later_features(struct build *b, uint32_t area)
{
    (void)area;
    build_run(b)->features = 4;
}

static void killed_child(struct build *b, uint32_t area)
{
    (void)area;
    header(b, an_image(b, 2, IMAGE_FORK, 0))->state = IMAGE_OPEN;
}

static void lost_child(struct build *b, uint32_t area)
{
    (void)area;
    header(b, an_image(b, 2, IMAGE_FORK, 0))->end_how = END_EXEC;
}

static void own_malloc_child(struct build *b, uint32_t area)
{
    (void)area;
    header(b, an_image(b, 2, IMAGE_EXEC, 0))->flags = IMAGE_OWN_MALLOC;
}

static void running_children(struct build *b, uint32_t area)
{
    (void)area;
    for (uint32_t number = 2; number <= 3; number++) {
        struct image_header *h = header(b, an_image(b, number, IMAGE_FORK, 0));
        h->state = IMAGE_OPEN;
        h->pid = (uint32_t)(number == 2 ? getpid() : getppid());
    }
}

static const struct note_case notes[] = {
    {sandboxed, "process 2000000001 (prog1): entered a sandbox: only system calls in use before it "
                "were made since", false},
    {unsure, "process 2000000001 (prog1): not sure what it had from its parent: frees of such "
             "blocks were believed", false},
    {private, "process 2000000001 (prog1): some records did not fit the run file: what was in use "
              "is not complete", true},
    {wrong_frees, "process 2000000001 (prog1): no errors were looked for, wrong frees only counted",
     true},
    {unlooked, "process 2000000001 (prog1): no errors were looked for, wrong frees only counted",
     false},
    {unfilled, "process 2000000001 (prog1): freed blocks were not filled: writes to them were not "
               "looked for", false},
    {beyond_limit, "7 more errors were not recorded: error limit 1000", true},
    {strange_error, "1 error is of a kind that this rtcheck does not know", true},
    {libcs_frees, "freed 3 blocks of libc's own allocator: passed on to libc", false},
    {foreign_frees, "2 frees were not judged: the block came from another allocator", false},
    {children, "1 program was started without us: not checked", true},
    {unrecorded, "2 processes found no room in the run file: not recorded", true},
    {taken_back, "12 processes are no longer in the file, with 20.0 KiB in 3 blocks in use at "
                 "their ends", false},
    {damaged, "area 2 of the run file is damaged, the rest was used: area without its predecessor "
              "at 0x80000", true},
    {lacking, "3 system features are missing here and replaced: populate, noreplace, "
              "number 63", false},
    {later_features, "the file has features that this rtcheck does not know: 0x4", false},
    {killed_child, "process 2000000002 (prog2): killed, or ended unseen; counted as it was then",
     false},
    {lost_child, "process 2000000002 (prog2): went on by exec as a program that did not report: "
                 "not checked", true},
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
        snprintf(want, sizeof want, "  note: %s", notes[i].says);
        text = text_of(&b, &plain);
        if (!strstr(text, want))
            fail_msg("missing: %s in\n%s", want, text);
        assert_null(strstr(strstr(text, "note: ") + 1, "note: ")); /* and nothing else */
        b = build_begin();
        notes[i].set(&b, an_image(&b, 1, IMAGE_ROOT, 0));
        text = text_of(&b, &quiet);
        if (!!text[0] != notes[i].even_quiet)
            fail_msg("quiet, %s:\n%s", notes[i].says, text);
    }
}

/* What reads a pointer from freed memory often does nothing else that is seen. */
static void test_crash(void **state)
{
    static const struct {
        int wait_status;
        bool is_filled, is_noted;
    } cases[] = {{SIGSEGV, true, true}, {SIGBUS | 0x80, true, true}, {SIGSEGV, false, false},
                 {SIGKILL, true, false}, {SIGSEGV << 8, true, false}, {-1, true, false}};

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct shown shown = {.wait_status = cases[i].wait_status};
        uint32_t area = an_image(&b, 1, IMAGE_ROOT, 1);
        if (!cases[i].is_filled)
            unfilled(&b, area);
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

/* Of many only the first few are said; the text stays short. */
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
    assert_int_equal(lines, 12);
    b = build_begin();
    area = an_image(&b, 1, IMAGE_ROOT, 4);
    sandboxed(&b, area);
    unsure(&b, area);
    wrong_frees(&b, area);
    assert_null(strstr(text_of(&b, &plain), "more with"));
}

/* ---- text of others ------------------------------------------------------------------------ */

/* Names come from the checked program; terminals obey escapes. */
static void test_escapes(void **state)
{
    struct build b = build_begin();
    uint32_t area = an_image(&b, 1, IMAGE_ROOT, 0);

    (void)state;
    header(&b, area)->state = IMAGE_OPEN;
    snprintf(header(&b, area)->exe, 64, "/bin/\x1b[2J\n\xff\xc2\x9b\xc3\xa9");
    header(&b, area)->flags |= IMAGE_SANDBOXED;
    assert_non_null(strstr(text_of(&b, &plain),
                           "(\\x1b[2J\\x0a\\xff\\xc2\\x9b\xc3\xa9): entered"));
}

static void test_utf8(void **state)
{
    static const struct {
        const char *text;
        unsigned length;
    } cases[] = {
        {"a", 1},           {"\xc3\xa9", 2},         {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x98\x80", 4}, {"\x80", 0},        {"\xc3", 0},
        {"\xc3x", 0},       {"\xc0\x80", 0},         {"\xc1\xbf", 0},
        {"\xe0\x9f\xbf", 0}, {"\xe0\xa0\x80", 3},    {"\xed\xa0\x80", 0},
        {"\xed\x9f\xbf", 3}, {"\xe2\x82", 0},        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf0\x90\x80\x80", 4}, {"\xf4\x8f\xbf\xbf", 4}, {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0}, {"\xff", 0},        {"\xf0\x9f\x98", 0},
        {"\xc2\x80", 2},    {"\xdf\xbf", 2},         {"\xe1\x80\x80", 3},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++)
        if (utf8_length(cases[i].text) != cases[i].length)
            fail_msg("case %zu: %u", i, utf8_length(cases[i].text));
}

static void test_sizes(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *says;
    } cases[] = {
        {10239, "10239 B"},           {10240, "10.0 KiB"},       {1048524, "1023.9 KiB"},
        {1048575, "1.0 MiB"},         {1048576, "1.0 MiB"},      {1234567, "1.2 MiB"},
        {1ull << 40, "1.0 TiB"},      {~0ull >> 1, "8.0 EiB"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        char want[64];
        an_image(&b, 1, IMAGE_ROOT, 0);
        build_run(&b)->taken_back.images = 1;
        build_run(&b)->taken_back.live_bytes = cases[i].bytes;
        snprintf(want, sizeof want, "with %s in 0 blocks", cases[i].says);
        if (!strstr(text_of(&b, &plain), want))
            fail_msg("%s", want);
    }
}

/* ---- symbols ------------------------------------------------------------------------------- */

__attribute__((noinline)) static int landmark(int n)
{
    return n + 1;
}

/* This very program, at its own address. */
static void test_own_symbols(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 2000000001u, IMAGE_ROOT);
    struct segment *m = build_segment(&b, area, SEGMENT_MODULES, sizeof(struct module_record), 4, 0);
    extern char __executable_start[];
    uint64_t bias = (uint64_t)(uintptr_t)__executable_start;
    uint64_t pc = (uint64_t)(uintptr_t)&landmark + 1;
    char exe[464] = "";
    const char *text;

    (void)state;
    assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    build_module(m, exe, bias, 64u << 20);
    build_block(build_slab(&b, area, 1, 64, 4), 0, BLOCK_LIVE, 9,
                build_node(build_depot(&b, area, 0), pc, 0));
    text = text_of(&b, &plain);
    assert_non_null(strstr(text, "9 B in 1 block  landmark  test_print.c:"));
}

/* Two calls in one function are one name: ids outlive the lines that a function is made of. */
static void test_ids_are_of_names(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 2000000001u, IMAGE_ROOT);
    struct segment *m = build_segment(&b, area, SEGMENT_MODULES, sizeof(struct module_record), 4, 0);
    struct segment *s = build_slab(&b, area, 1, 64, 8), *d = build_depot(&b, area, 0);
    uint64_t function = (uint64_t)(uintptr_t)&landmark, other = (uint64_t)(uintptr_t)&test_sizes;
    extern char __executable_start[];
    char exe[464] = "", id[32];
    const char *text;

    (void)state;
    assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    build_module(m, exe, (uint64_t)(uintptr_t)__executable_start, 64u << 20);
    build_block(s, 0, BLOCK_LIVE, 9, build_node(d, function + 1, 0));
    build_block(s, 1, BLOCK_LIVE, 8, build_node(d, function + 2, 0));
    build_block(s, 2, BLOCK_LIVE, 7, build_node(d, other + 1, 0));
    text = text_of(&b, &memuse);
    text = strstr(text, "biu-");
    assert_non_null(text);
    snprintf(id, sizeof id, "%.12s.2 ", text);
    assert_non_null(strstr(text, id));
    snprintf(id, sizeof id, "%.12s.3 ", text);
    assert_null(strstr(text, id));
}

/* The same file, but not the build that ran: nothing is believed of it. */
static void test_another_build(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 2000000001u, IMAGE_ROOT);
    struct segment *s = build_segment(&b, area, SEGMENT_MODULES, sizeof(struct module_record), 4, 0);
    struct module_record *m;
    char exe[464] = "";
    const char *text;

    (void)state;
    assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    m = build_module(s, exe, LIB, 64u << 20);
    m->build_id_bytes = 20;
    build_block(build_slab(&b, area, 1, 64, 4), 0, BLOCK_LIVE, 9,
                build_node(build_depot(&b, area, 0), LIB + 0x2345, 0));
    text = text_of(&b, &plain);
    assert_non_null(strstr(text, "+0x2345\n"));
    assert_null(strstr(text, "test_print.c"));
}

/* Paths of modules are the checked program's word: no pipe is waited for, no odd file opened. */
static void test_odd_modules(void **state)
{
    static const char *const paths[] = {"/proc/self/mem", "/dev/zero", "relative", "/nowhere", "",
                                        NULL};
    char here[256], pipe[300];

    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    snprintf(pipe, sizeof pipe, "%s/odd", here);
    unlink(pipe);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    for (size_t i = 0; i < countof(paths); i++) {
        struct build b = build_begin();
        uint32_t area = build_image(&b, 1, 0, 2000000001u, IMAGE_ROOT);
        build_module(build_segment(&b, area, SEGMENT_MODULES, sizeof(struct module_record), 4, 0),
                     paths[i] ? paths[i] : pipe, LIB, 64u << 20);
        build_block(build_slab(&b, area, 1, 64, 4), 0, BLOCK_LIVE, 9,
                    build_node(build_depot(&b, area, 0), LIB + 0x2345, 0));
        assert_non_null(strstr(text_of(&b, &plain), "+0x2345\n"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_nothing_in_use),
        cmocka_unit_test(test_memuse),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_still_running),
        cmocka_unit_test(test_nobody_reported),
        cmocka_unit_test(test_own_malloc),
        cmocka_unit_test(test_malloc_not_seen),
        cmocka_unit_test(test_lost_by_exec),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_crash),
        cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_many_notes),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_own_symbols),
        cmocka_unit_test(test_ids_are_of_names),
        cmocka_unit_test(test_another_build),
        cmocka_unit_test(test_odd_modules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

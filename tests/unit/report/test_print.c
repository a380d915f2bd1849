/*
 * test_print.c - the text report of runs without findings: facts, notes, and the verdict last.
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

#include "shown.h"
#include "golden.h"

static void test_default(void **state)
{
    struct build b = build_begin();
    struct shown shown = {.how = {.pool = "/state/last.pool"}, .wait_status = 3 << 8};

    (void)state;
    an_image(&b, 1, IMAGE_ROOT, 4);
    golden_add("default, log", text_of(&b, &shown));
    b = build_begin();
    an_image(&b, 1, IMAGE_ROOT, 4);
    shown.how.columns = 100;
    golden_add("default, terminal", text_of(&b, &shown));
    b = build_begin();
    an_image(&b, 1, IMAGE_ROOT, 4);
    shown.how.use = PRINT_USE_NOTHING;
    golden_add("default, without blocks in use", text_of(&b, &shown));
}

static void test_nothing_in_use(void **state)
{
    struct build b = build_begin();

    (void)state;
    build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 0))->end_status = 7;
    golden_add("nothing in use", text_of(&b, &plain));
}

static void test_memuse(void **state)
{
    struct build b = build_begin();

    (void)state;
    an_image(&b, 1, IMAGE_ROOT, 5);
    an_image(&b, 2, IMAGE_FORK, 1);
    golden_add("memuse", text_of(&b, &memuse));
}

static void test_ends(void **state)
{
    static const struct {
        int wait_status;
        const char *name;
    } cases[] = {
        {SIGKILL, "end: SIGKILL"},
        {SIGSEGV | 0x80, "end: SIGSEGV, core dumped"},
        {-1, "end: not seen"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        struct shown shown = {.wait_status = cases[i].wait_status};
        build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 1))->state = IMAGE_OPEN;
        golden_add(cases[i].name, text_of(&b, &shown));
    }
}

/* Threads of a killed process may not have added their last blocks to the peak. */
static void test_peak_of_killed(void **state)
{
    struct build b = build_begin();
    struct image_header *h = build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 1));

    (void)state;
    h->state = IMAGE_OPEN;
    h->peak_bytes = 4;
    golden_add("peak of a killed process", text_of(&b, &(struct shown){.wait_status = SIGKILL}));
}

static void test_still_running(void **state)
{
    struct build b = build_begin();
    uint32_t area = an_image(&b, 1, IMAGE_ROOT, 1);

    (void)state;
    build_image_header(&b, area)->state = IMAGE_OPEN;
    build_image_header(&b, area)->pid = (uint32_t)getpid();
    golden_add("still running", text_of(&b, &plain));
}

/* ---- not in control ------------------------------------------------------------------------ */

static void test_no_report(void **state)
{
    struct build b = build_begin();
    struct shown shown = {.wait_status = SIGKILL};

    (void)state;
    golden_add("runtime did not start", text_of(&b, &shown));
    b = build_begin();
    golden_add("runtime did not start, quiet", text_of(&b, &quiet));
}

static void test_own_malloc(void **state)
{
    struct build b = build_begin();

    (void)state;
    build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 0))->flags = IMAGE_OWN_MALLOC;
    golden_add("malloc of its own, quiet", text_of(&b, &quiet));
}

/* Its actions are unknown, whatever else its header contains. */
static void test_damaged(void **state)
{
    struct build b = build_begin();
    struct shown shown = {.wait_status = 3 << 8};

    (void)state;
    build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 1))->argv_bytes = UINT32_MAX;
    golden_add("damaged image", text_of(&b, &shown));
}

static void test_malloc_not_seen(void **state)
{
    struct build b = build_begin();

    (void)state;
    build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 0))->flags = 0;
    golden_add("malloc not seen, quiet", text_of(&b, &quiet));
}

static void test_lost_by_exec(void **state)
{
    struct build b = build_begin();

    (void)state;
    build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 0))->end_how = END_EXEC;
    golden_add("lost by exec, quiet", text_of(&b, &quiet));
    b = build_begin();
    build_run(&b)->mode = RUN_BY_HAND; /* it has a run file of its own then */
    build_image_header(&b, an_image(&b, 1, IMAGE_ROOT, 0))->end_how = END_EXEC;
    golden_add("exec in a run by hand", text_of(&b, &plain));
}

/* ---- untrusted text ------------------------------------------------------------------------ */

/* Names come from the checked program; escape sequences would control the terminal. */
static void test_escapes(void **state)
{
    struct build b = build_begin();
    uint32_t area = an_image(&b, 1, IMAGE_ROOT, 0);

    (void)state;
    build_image_header(&b, area)->state = IMAGE_OPEN;
    snprintf(build_image_header(&b, area)->exe, 64, "/bin/\x1b[2J\n\xff\xc2\x9b\xc3\xa9");
    build_image_header(&b, area)->flags |= IMAGE_SANDBOXED;
    golden_add("escape sequences in names", text_of(&b, &plain));
}

static void test_utf8(void **state)
{
    static const struct {
        const char *text;
        unsigned length;
    } cases[] = {
        /* clang-format off */
        {"a", 1},           {"\xc3\xa9", 2},         {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x98\x80", 4}, {"\x80", 0},        {"\xc3", 0},
        {"\xc3x", 0},       {"\xc0\x80", 0},         {"\xc1\xbf", 0},
        {"\xe0\x9f\xbf", 0}, {"\xe0\xa0\x80", 3},    {"\xed\xa0\x80", 0},
        {"\xed\x9f\xbf", 3}, {"\xe2\x82", 0},        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf0\x90\x80\x80", 4}, {"\xf4\x8f\xbf\xbf", 4}, {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0}, {"\xff", 0},        {"\xf0\x9f\x98", 0},
        {"\xc2\x80", 2},    {"\xdf\xbf", 2},         {"\xe1\x80\x80", 3},
        /* clang-format on */
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
        const char *prints;
    } cases[] = {
        {10239, "10239 B"},      {10240, "10.0 KiB"},     {1048524, "1023.9 KiB"},
        {1048575, "1.0 MiB"},    {1048576, "1.0 MiB"},    {1234567, "1.2 MiB"},
        {1ull << 40, "1.0 TiB"}, {~0ull >> 1, "8.0 EiB"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct build b = build_begin();
        char want[64];
        an_image(&b, 1, IMAGE_ROOT, 0);
        build_run(&b)->reclaimed.images = 1;
        build_run(&b)->reclaimed.live_bytes = cases[i].bytes;
        snprintf(want, sizeof want, "with %s in 0 blocks", cases[i].prints);
        if (!strstr(text_of(&b, &plain), want))
            fail_msg("%s", want);
    }
}

/* ---- symbols ------------------------------------------------------------------------------- */

__attribute__((noinline)) static int landmark(int n)
{
    return n + 1;
}

/* This program, at its own address. */
static void test_own_symbols(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 2000000001u, IMAGE_ROOT);
    struct segment *m = build_records(&b, area, SEGMENT_MODULES, 4);
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
    text = text_of(&b, &memuse);
    assert_non_null(strstr(
        text, "         9 B  landmark test_print.c:")); /* a line number of this file follows */
}

/* Two calls in one function have one id: ids are independent of line numbers. */
static void test_ids_are_of_names(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 2000000001u, IMAGE_ROOT);
    struct segment *m = build_records(&b, area, SEGMENT_MODULES, 4);
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
    snprintf(id, sizeof id, "%.12s.2\n", text);
    assert_non_null(strstr(text, id));
    snprintf(id, sizeof id, "%.12s.3\n", text);
    assert_null(strstr(text, id));
}

/* The same path, but another build than the one that ran: its symbols are not used. */
static void test_another_build(void **state)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 2000000001u, IMAGE_ROOT);
    struct segment *s = build_records(&b, area, SEGMENT_MODULES, 4);
    struct module_record *m;
    char exe[464] = "";
    const char *text;

    (void)state;
    assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    m = build_module(s, exe, LIB, 64u << 20);
    m->build_id_bytes = 20;
    build_block(build_slab(&b, area, 1, 64, 4), 0, BLOCK_LIVE, 9,
                build_node(build_depot(&b, area, 0), LIB + 0x2345, 0));
    text = text_of(&b, &memuse);
    assert_non_null(strstr(text, "+0x2345  "));
    assert_null(strstr(text, "test_print.c"));
}

/*
 * Module paths are chosen by the checked program: pipes do not block, special files are not opened.
 */
static void test_odd_modules(void **state)
{
    static const char *const paths[] = {"/proc/self/mem", "/dev/zero", "relative",
                                        "/nowhere",       "",          NULL};
    char here[256], pipe[300];

    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    snprintf(pipe, sizeof pipe, "%s/odd", here);
    unlink(pipe);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    for (size_t i = 0; i < countof(paths); i++) {
        struct build b = build_begin();
        uint32_t area = build_image(&b, 1, 0, 2000000001u, IMAGE_ROOT);
        build_module(build_records(&b, area, SEGMENT_MODULES, 4), paths[i] ? paths[i] : pipe, LIB,
                     64u << 20);
        build_block(build_slab(&b, area, 1, 64, 4), 0, BLOCK_LIVE, 9,
                    build_node(build_depot(&b, area, 0), LIB + 0x2345, 0));
        assert_non_null(strstr(text_of(&b, &memuse), "+0x2345  "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default),        cmocka_unit_test(test_nothing_in_use),
        cmocka_unit_test(test_memuse),         cmocka_unit_test(test_ends),
        cmocka_unit_test(test_peak_of_killed), cmocka_unit_test(test_still_running),
        cmocka_unit_test(test_no_report),      cmocka_unit_test(test_own_malloc),
        cmocka_unit_test(test_damaged),        cmocka_unit_test(test_malloc_not_seen),
        cmocka_unit_test(test_lost_by_exec),   cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_utf8),           cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_own_symbols),    cmocka_unit_test(test_ids_are_of_names),
        cmocka_unit_test(test_another_build),  cmocka_unit_test(test_odd_modules),
    };
    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}

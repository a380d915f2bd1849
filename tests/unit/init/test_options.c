/*
 * test_options.c - the runtime's option parser, compared with include/format/options.def.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "init.h"

#include <cmocka.h>

/* ---- changes by reading --------------------------------------------------------------------- */

struct everything {
    struct options options;
    struct pool_knobs knobs;
};

static struct everything initial; /* the runtime's state before it reads options */

static struct everything after_reading(const char *text)
{
    struct everything e = initial;
    pool_knobs = initial.knobs;
    options_read(&e.options, text);
    e.knobs = pool_knobs;
    return e;
}

static bool changes_nothing(const char *text)
{
    struct everything e = after_reading(text);
    return e.options.trace_children == initial.options.trace_children &&
           e.options.leaks == initial.options.leaks &&
           e.options.leak_check == initial.options.leak_check &&
           e.options.mel_at_exit == initial.options.mel_at_exit &&
           e.options.strict_interior == initial.options.strict_interior &&
           e.options.run_libc_freeres == initial.options.run_libc_freeres &&
           e.options.run_cxx_freeres == initial.options.run_cxx_freeres &&
           e.options.error_exitcode == initial.options.error_exitcode &&
           e.options.witness == initial.options.witness &&
           e.options.heap_in_file == initial.options.heap_in_file &&
           e.options.heap_bytes == initial.options.heap_bytes &&
           e.options.all_events == initial.options.all_events &&
           e.options.frames == initial.options.frames &&
           e.options.cost_every == initial.options.cost_every &&
           e.options.access == initial.options.access &&
           e.options.access_full == initial.options.access_full &&
           strcmp(e.options.plans, initial.options.plans) == 0 &&
           e.options.access_every == initial.options.access_every &&
           e.options.error_limit == initial.options.error_limit &&
           e.options.guard.every == initial.options.guard.every &&
           e.options.guard.is_limited == initial.options.guard.is_limited &&
           e.options.guard.edges == initial.options.guard.edges &&
           e.options.guard.stacks.count == initial.options.guard.stacks.count &&
           e.options.on_error == initial.options.on_error &&
           e.options.track_fds == initial.options.track_fds &&
           e.options.fork == initial.options.fork &&
           memcmp(e.options.pool_dir, initial.options.pool_dir, sizeof e.options.pool_dir) == 0 &&
           strcmp(e.options.skip, initial.options.skip) == 0 &&
           e.knobs.quarantine_bytes == initial.knobs.quarantine_bytes &&
           e.knobs.malloc_fill == initial.knobs.malloc_fill &&
           e.knobs.free_fill == initial.knobs.free_fill &&
           e.knobs.redzone_bytes == initial.knobs.redzone_bytes &&
           e.knobs.redzone_reach == initial.knobs.redzone_reach &&
           e.knobs.redzone_tail == initial.knobs.redzone_tail;
}

/* ---- the table ------------------------------------------------------------------------------ */

enum where { L, R };

/* For each kind a value that no option has as default. */
#define OTHER_FLAG(initial) (strcmp(initial, "yes") == 0 ? "no" : "yes")
#define OTHER_SIZE(initial) "12345"
#define OTHER_PATH(initial) "/some/where"
#define OTHER_PATHS(initial) "x"
#define OTHER_NAMES(initial) "task-clock"
#define OTHER_PAIRS(initial) "7"
#define OTHER_REDZONE(initial) "64"
#define OTHER_GEN(initial) "all"
#define OTHER_NUMBER(initial) "21"
#define OTHER_BYTE(initial) "17"
#define OTHER_HEAP(initial) (RTC_HEAP_IN_FILE ? "private" : "file")
#define OTHER_EVENTS(initial) "all"
#define OTHER_FRAMES(initial) "17"
#define OTHER_LIMIT(initial) "18"
#define OTHER_ON_ERROR(initial) "stop"
#define OTHER_CALLERS(initial) "19"
#define OTHER_AT_EXIT(initial) "off"
#define OTHER_FORMAT(initial) "lsan"
#define OTHER_TOOL(initial) "memcheck"
#define OTHER_ANNOTATE(initial) "yes"
#define OTHER_MAP(initial) "/a=/b"
#define OTHER_COLOR(initial) "never"
#define OTHER_MATCH(initial) "20"
#define OTHER_LEAK_CHECK(initial) "no"
#define OTHER_RESOLUTION(initial) "low"
#define OTHER_LEAK_KINDS(initial) "none"
#define OTHER_HELP(initial) "yes"
#define OTHER_FILL(initial) "17"
#define OTHER_TRACK_FDS(initial) "all"
#define OTHER_GUARD(initial) "20"
#define OTHER_STACKS(initial) "0123456789abcdef.e9"
#define OTHER_ACCESS(initial) "full"
#define OTHER_FORK(initial) "copy"

/* "name=value" as in RTCHECK_OPTIONS: '-' written as '_'. */
static const char *setting(const char *name, const char *value)
{
    static char text[512];
    snprintf(text, sizeof text, "%s=%s", name, value);
    for (char *p = text; *p && *p != '='; p++)
        *p = *p == '-' ? '_' : *p;
    return text;
}

/* The defaults of the table equal the runtime's; each R option is accepted, and no L option. */
static void table(void **state)
{
    (void)state;
#define OPTION(name, kind, initial, where, help)                               \
    if (where == R) {                                                          \
        if (!changes_nothing(setting(name, initial)))                          \
            fail_msg("%s: its default is another here", name);                 \
    }                                                                          \
    if (changes_nothing(setting(name, OTHER_##kind(initial))) != (where == L)) \
        fail_msg("%s: %s", name, where == L ? "is not the runtime's" : "has no effect");
#include "format/options.def"
#undef OPTION
}

/* ---- stacks --------------------------------------------------------------------------------- */

static void guard_stacks(void **state)
{
    (void)state;
    static const char *const bad[] = {"0123456789abcdef",      "0123456789abcde.e1",
                                      "0123456789abcdef.e",    "0123456789abcdef.x1",
                                      "0123456789abcdef.e16",  "0123456789abcdef.e1;",
                                      "0123456789abcdef.e1,1", "0123456789abcdef.e1x"};
    char text[1024] = "guard_stacks=";
    for (size_t i = 0; i < countof(bad); i++) {
        snprintf(text, sizeof text, "guard_stacks=%s", bad[i]);
        if (!changes_nothing(text))
            fail_msg("%s is taken", bad[i]);
    }
    struct guard_stacks s =
        after_reading("guard_stacks=0123456789abcdef.e15,fedcba9876543210.s0,00000000000000ff.b7")
            .options.guard.stacks;
    assert_int_equal(s.count, 3);
    assert_true(s.of[0].key == 0x0123456789abcdefull && s.of[1].key == 0xfedcba9876543210ull);
    assert_true(s.of[0].edges == GUARD_EDGES_END && s.of[0].gap == 15);
    assert_true(s.of[1].edges == GUARD_EDGES_START && s.of[1].gap == 0);
    assert_true(s.of[2].edges == GUARD_EDGES_BOTH && s.of[2].gap == 7);
    snprintf(text, sizeof text, "guard_stacks=");
    for (uint32_t i = 0; i <= GUARD_STACKS_MAX; i++) {
        if (i)
            assert_int_equal(after_reading(text).options.guard.stacks.count, i);
        strcat(text, i ? ",0123456789abcdef.e15" : "0123456789abcdef.e15");
    }
    if (!changes_nothing(text))
        fail_msg("more than %u stacks are taken", GUARD_STACKS_MAX);
}

/* ---- values --------------------------------------------------------------------------------- */

static void flags(void **state)
{
    (void)state;
    static const char *const no[] = {"no", "0", "off", "false"};
    static const char *const yes[] = {"yes", "1", "on", "true"};
    char text[64];
    for (size_t i = 0; i < countof(no); i++) {
        snprintf(text, sizeof text, "trace_children=%s", no[i]);
        if (after_reading(text).options.trace_children)
            fail_msg("%s is no no", text);
        snprintf(text, sizeof text, "trace_children=no:trace_children=%s", yes[i]);
        if (!after_reading(text).options.trace_children)
            fail_msg("%s is no yes", text);
    }
    if (!after_reading("trace_children=no:trace_children").options.trace_children)
        fail_msg("a bare flag is no yes");
}

static void errors(void **state)
{
    (void)state;
    static const char *const bad[] = {"error_limit=0", "error_limit=10001", "on_error=",
                                      "on_error=go",   "redzone_size=4097", "redzone_size="};
    static const char *const word[] = {"continue", "stop", "abort", "debugger", "exit"};
    for (size_t i = 0; i < countof(bad); i++)
        if (!changes_nothing(bad[i]))
            fail_msg("%s is taken", bad[i]);
    assert_int_equal(after_reading("error_limit=10000").options.error_limit, 10000);
    assert_int_equal(after_reading("error_limit=no").options.error_limit, 10000);
    assert_int_equal(after_reading("error_limit=7:error_limit=yes").options.error_limit, 1000);
    assert_int_equal(after_reading("cost_every=7").options.cost_every, 7);
    if (!changes_nothing("cost_every=1000001"))
        fail_msg("cost_every=1000001 is taken");
    assert_int_equal(after_reading("guard=7").options.guard.every, 7);
    assert_false(after_reading("guard=1000").options.guard.is_limited);
    assert_int_equal(after_reading("guard=all").options.guard.every, GUARD_ALL);
    assert_int_equal(after_reading("guard=end").options.guard.every, GUARD_ALL);
    assert_int_equal(after_reading("guard=end").options.guard.edges, GUARD_EDGES_END);
    assert_int_equal(after_reading("guard=start").options.guard.edges, GUARD_EDGES_START);
    assert_int_equal(after_reading("guard=no").options.guard.every, 0);
    assert_true(after_reading("guard=no:guard=auto").options.guard.is_limited);
    if (!changes_nothing("guard=0") || !changes_nothing("guard=1000001") ||
        !changes_nothing("guard=some"))
        fail_msg("an invalid value of guard is taken");
    assert_int_equal(after_reading("access_every=7").options.access_every, 7);
    assert_int_equal(after_reading("access_every=0").options.access_every, 0);
    if (!changes_nothing("access_every=1000001"))
        fail_msg("access_every=1000001 is taken");
    assert_false(after_reading("access=no").options.access);
    assert_false(after_reading("access=full:access=yes").options.access_full);
    assert_true(after_reading("access=full").options.access_full);
    assert_true(after_reading("access=no:access=full").options.access);
    assert_string_equal(after_reading("plans=/a/b").options.plans, "/a/b");
    for (size_t i = 0; i < countof(word); i++) {
        char text[32];
        snprintf(text, sizeof text, "on_error=%s", word[i]);
        assert_int_equal(after_reading(text).options.on_error, i);
    }
}

static void frames(void **state)
{
    (void)state;
    static const char *const bad[] = {"frames=65", "frames=", "frames=8k", "frames=-1"};
    for (size_t i = 0; i < countof(bad); i++)
        if (!changes_nothing(bad[i]))
            fail_msg("%s is taken", bad[i]);
    assert_int_equal(after_reading("frames=0").options.frames, 0);
    assert_int_equal(after_reading("frames=8:frames=64").options.frames, 64);
}

static void sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {
        {"pool_size=0", 0},
        {"pool_size=1", 1},
        {"pool_size=4k", 4096},
        {"pool_size=4K", 4096},
        {"pool_size=3m", 3 << 20},
        {"pool_size=2g", 2ull << 30},
        {"pool_size=17179869183g", 0xffffffffc0000000ull},
        {"pool_size=18446744073709551615", UINT64_MAX},
        {"pool_size=5:pool_size=6", 6},
    };
    for (size_t i = 0; i < countof(rows); i++)
        if (after_reading(rows[i].text).options.heap_bytes != rows[i].bytes)
            fail_msg("%s", rows[i].text);
    assert_int_equal(after_reading("freelist_vol=1m").knobs.quarantine_bytes, 1 << 20);
}

static void bytes(void **state)
{
    (void)state;
    for (int i = 0; i <= 255; i++) {
        char text[64];
        snprintf(text, sizeof text, "malloc_fill=%x:free_fill=0x%x", i, i);
        struct everything e = after_reading(text);
        assert_int_equal(e.knobs.malloc_fill, i);
        assert_int_equal(e.knobs.free_fill, i);
    }
    assert_int_equal(after_reading("free_fill=no").knobs.free_fill, -1);
    assert_int_equal(after_reading("free_fill=0XAb").knobs.free_fill, 0xab);
    assert_int_equal(after_reading("free_fill=0:free_fill=block").knobs.free_fill, FILL_OF_BLOCK);
    assert_int_equal(after_reading("malloc_fill=block").knobs.malloc_fill, FILL_OF_BLOCK);
}

static void paths(void **state)
{
    (void)state;
    char text[2 * sizeof initial.options.pool_dir] = "pool_dir=/";
    assert_string_equal(after_reading("pool_dir=/a/b=c").options.pool_dir, "/a/b=c");
    assert_string_equal(after_reading("pool_dir=/a,b").options.pool_dir, "/a,b");
    assert_string_equal(after_reading("pool_dir=/a:pool_dir=").options.pool_dir, "");
    memset(text + 10, 'x', sizeof text - 11);
    assert_string_equal(after_reading("pool_dir='/a b:c,d'").options.pool_dir, "/a b:c,d");
    assert_string_equal(after_reading("keep pool_dir=\"/it's\":heap=file").options.pool_dir,
                        "/it's");
    assert_true(after_reading("json='x:pool_size=5':heap=file").options.heap_in_file);
    assert_true(after_reading("json='x'heap=file").options.heap_in_file); /* the quote separates */
    struct everything e = after_reading(text); /* longer than the buffer: cut, terminated */
    assert_in_range(strlen(e.options.pool_dir), 0, sizeof e.options.pool_dir - 1);
    assert_int_equal(e.options.heap_bytes, initial.options.heap_bytes);
    assert_int_equal(after_reading("heap=file").options.heap_in_file, true);
    assert_int_equal(after_reading("events=all:events=some").options.all_events, true);
    assert_int_equal(after_reading("events=all:events=calls").options.all_events, false);
    assert_int_equal(after_reading("heap=file:heap=private").options.heap_in_file, false);
}

/* The last valid word counts; an unknown word is ignored. */
static void leaks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool check, at_exit;
    } rows[] = {
        {"leak_check=no", false, true},
        {"leak_check=no:leak_check=full", true, true},
        {"leak_check=no:leak_check=bogus", false, true},
        {"leak_check=bogus", true, true},
        {"leak_check=off", true, true},
        {"rtc_mel_at_exit=off", true, false},
        {"rtc_mel_at_exit=off:rtc_mel_at_exit=on", true, true},
        {"rtc_mel_at_exit=off:rtc_mel_at_exit=verbose", true, true},
        {"rtc_mel_at_exit=no:rtc_biu_at_exit=off", true, true},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct options o = after_reading(rows[i].text).options;
        if (o.leak_check != rows[i].check || o.mel_at_exit != rows[i].at_exit)
            fail_msg("%s", rows[i].text);
    }
}

/* A size puts the heap into the file, unless `heap` is given. */
static void heap_choice(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool in_file;
    } heaps[] = {
        {"heap=file", true},
        {"heap=private", false},
        {"pool_size=64m", true},
        {"heap=private:pool_size=64m", false},
        {"pool_size=64m:heap=private", false},
        {"pool_size=64m:heap=files", true},
        {"pool_size=64m:heap=private:heap=file", true},
    };
    for (size_t i = 0; i < countof(heaps); i++) {
        struct everything e = after_reading(heaps[i].text);
        if (options_want_heap_in_file(&e.options) != heaps[i].in_file)
            fail_msg("%s", heaps[i].text);
    }
}

/* Whatever else the text contains, valid settings are read. */
static void separators(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "pool_size=4096:free_fill=1",
        ":: pool_size=4096 \t free_fill=1\n",
        "free_fill=1 pool_size=4k",
        "quiet:pool_size=4096:keep:free_fill=1:memuse",
        "pool_size=9:log_file=/x/%p:bogus=7:=8:free_fill=1:pool_size=4k",
        "json=a=b:pool_size=4096:=:free_fill=1:",
    };
    for (size_t i = 0; i < countof(texts); i++) {
        struct everything e = after_reading(texts[i]);
        if (e.options.heap_bytes != 4096 || e.knobs.free_fill != 1)
            fail_msg("%s", texts[i]);
    }
    assert_int_equal(after_reading("pool-size=4096").options.heap_bytes, 4096); /* '-' equals '_' */
}

static void bad_values(void **state)
{
    (void)state;
    static const char *const texts[] = {
        /* clang-format off */
        "", ":", "=", "=4096", "pool_size", "pool_size=", "pool_size=x", "pool_size=-1", "pool_size=+1",
        "pool_size=1kk", "pool_size=1t", "pool_size=0x10",
        "pool_size=18446744073709551616", "pool_size=17179869184g", "pool_siz=5", "pool_sizes=5",
        "Pool_size=5", "xpool_size=5", "pool_size:5", "free_fill=100", "free_fill=0x100",
        "free_fill=-1", "free_fill=0x", "free_fill=", "free_fill=none", "free_fill=no1",
        "free_fill=99999999999999999999", "trace_children=maybe", "trace_children=noo",
        "trace_children=n", "trace_children=", "malloc_fill=yes", "freelist_vol=256q", "heap=files",
        "heap=", "heap=privat", "heap", "events", "events=", "events=al", "pool_dir", "json='x:pool_size=5:heap=file", "pool_size='5 '",
        /* clang-format on */
    };
    for (size_t i = 0; i < countof(texts); i++) {
        if (!changes_nothing(texts[i]))
            fail_msg("'%s' changes something", texts[i]);
    }
    /* An invalid value does not change an earlier setting. */
    assert_true(after_reading("heap=file:heap=files").options.heap_in_file);
    assert_int_equal(after_reading("pool_size=5:pool_size=6x").options.heap_bytes, 5);
    assert_false(after_reading("trace_children=no:trace_children=x").options.trace_children);
}

static int remember(void **state)
{
    (void)state;
    initial.options = rt.options;
    initial.knobs = pool_knobs;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),      cmocka_unit_test(flags),        cmocka_unit_test(heap_choice),
        cmocka_unit_test(errors),     cmocka_unit_test(guard_stacks), cmocka_unit_test(frames),
        cmocka_unit_test(sizes),      cmocka_unit_test(bytes),        cmocka_unit_test(paths),
        cmocka_unit_test(separators), cmocka_unit_test(bad_values),   cmocka_unit_test(leaks),
    };
    return cmocka_run_group_tests(tests, remember, NULL);
}

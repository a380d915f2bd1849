/*
 * test_environment.c - our two environment entries: removed from the program's view, put back for
 * the programs it starts; entries of others stay unchanged.
 *
 * Environments are written as one text, entries separated by newlines.  The buffer of each new
 * environment ends at a guard page.  The original must not change: in a vfork child it is in the
 * memory of the parent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "init.h"

#include <cmocka.h>

#define RUNTIME_PATH "/opt/rtcheck/lib/librtcheck.so"
#define RUN "RTCHECK_RUN_FILE=987:65024:4711:/proc/99/fd/987"
#define RUN_LATER "RTCHECK_RUN_FILE=-1:65024:4711:/proc/99/fd/987"
#define ENTRIES_MAX 64u
#define ROOM_MAX 65536u

struct env {
    char *entry[ENTRIES_MAX];
    char *text; /* memory of the entries */
};

static struct env env_of(const char *text)
{
    struct env e = {.text = strdup(text)};
    size_t n = 0;
    assert_non_null(e.text);
    for (char *s = strtok(e.text, "\n"); s; s = strtok(NULL, "\n")) {
        assert_true(n < ENTRIES_MAX - 1);
        e.entry[n++] = s;
    }
    return e;
}

static void assert_same(char *const *got, const char *want)
{
    char text[ROOM_MAX];
    size_t n = 0;
    text[0] = '\0';
    for (; *got; got++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? "\n" : "", *got);
    assert_string_equal(text, want);
}

/* Reset the state of an earlier case. */
static void reset(void)
{
    memset(&rt, 0, sizeof rt);
    rt.options.trace_children = true;
}

/* The buffer ends at the guard page, or up to 7 bytes before it: pointers are aligned. */
static char *room_of(size_t bytes)
{
    static char *page;
    if (!page) {
        page = mmap(NULL, ROOM_MAX + PAGE_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(page != MAP_FAILED);
        assert_int_equal(mprotect(page + ROOM_MAX, PAGE_BYTES, PROT_NONE), 0);
    }
    assert_true(bytes < ROOM_MAX - 64);
    memset(page, 0x5a, ROOM_MAX);
    return page + ROOM_MAX - align_up(bytes, sizeof(char *));
}

typedef char *const *builder(const struct environment *e, void *room);

static char *const *build(char *const *envp, builder *make)
{
    struct environment e;
    environment_read(&e, envp);
    assert_true(e.readable);
    size_t bytes = environment_room(&e), entries = 0;
    char *room = room_of(bytes), *const before[1] = {NULL}, *const *source = envp ? envp : before;
    while (source[entries])
        entries++;
    assert_int_equal(entries, e.count);
    char **copy = calloc(entries + 1, sizeof *copy);
    for (size_t i = 0; i < entries; i++)
        copy[i] = strdup(source[i]);
    char *const *out = make(&e, room);
    for (size_t i = 0; i < entries; i++) {
        assert_string_equal(source[i], copy[i]);
        free(copy[i]);
    }
    free(copy);
    assert_null(source[entries]);
    for (const char *p = room - 64; p < room; p++)
        assert_int_equal(*p, 0x5a);
    assert_true(out == (char *const *)(void *)room);
    return out;
}

static char *const *put_back(char *const *envp)
{
    return build(envp, environment_with_runtime);
}

/* ---- one case after another ----------------------------------------------------------------- */

static const struct {
    const char *started; /* as made by the launcher */
    const char *seen;    /* by the program */
    const char *next;    /* for a program started with the same environment */
} rows[] = {
    {"A=1\nLD_PRELOAD=" RUNTIME_PATH "\nB=2\n" RUN "\nC=3", "A=1\nB=2\nC=3",
     "A=1\nB=2\nC=3\nLD_PRELOAD=" RUNTIME_PATH "\n" RUN_LATER},
    {RUN "\nLD_PRELOAD=" RUNTIME_PATH, "", "LD_PRELOAD=" RUNTIME_PATH "\n" RUN_LATER},
    {"LD_PRELOAD=" RUNTIME_PATH ":/u/a.so:/u/b.so\n" RUN "\nA=1", "LD_PRELOAD=/u/a.so:/u/b.so\nA=1",
     "LD_PRELOAD=" RUNTIME_PATH ":/u/a.so:/u/b.so\nA=1\n" RUN_LATER},
    {"A=1\n" RUN "\nLD_PRELOAD=" RUNTIME_PATH " /u/a.so /u/b.so\nB=2",
     "A=1\nLD_PRELOAD=/u/a.so /u/b.so\nB=2",
     "A=1\nLD_PRELOAD=" RUNTIME_PATH ":/u/a.so /u/b.so\nB=2\n" RUN_LATER},
    /* the user's own was set, but empty */
    {"A=1\nLD_PRELOAD=" RUNTIME_PATH ":\nB=2\n" RUN, "A=1\nLD_PRELOAD=\nB=2",
     "A=1\nLD_PRELOAD=" RUNTIME_PATH ":\nB=2\n" RUN_LATER},
    /* names that resemble ours */
    {"LD_PRELOADED=x\nXLD_PRELOAD=y\nRTCHECK_RUN_FILES=z\nRTCHECK_OPTIONS=keep\nLD_"
     "PRELOAD=" RUNTIME_PATH "\n" RUN "\nRTCHECK_RUN_FIL=q",
     "LD_PRELOADED=x\nXLD_PRELOAD=y\nRTCHECK_RUN_FILES=z\nRTCHECK_OPTIONS=keep\nRTCHECK_RUN_FIL=q",
     "LD_PRELOADED=x\nXLD_PRELOAD=y\nRTCHECK_RUN_FILES=z\nRTCHECK_OPTIONS=keep\nRTCHECK_RUN_FIL=q\n"
     "LD_PRELOAD=" RUNTIME_PATH "\n" RUN_LATER},
    /* an entry without '=', one without a name, a duplicate */
    {"NOTHING\n=x\nA=1\nA=2\nLD_PRELOAD=" RUNTIME_PATH "\n" RUN, "NOTHING\n=x\nA=1\nA=2",
     "NOTHING\n=x\nA=1\nA=2\nLD_PRELOAD=" RUNTIME_PATH "\n" RUN_LATER},
};

static void round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct env e = env_of(rows[i].started);
        reset();
        environment_take(e.entry);
        assert_true(rt.by_launcher);
        assert_string_equal(rt.preload, RUNTIME_PATH);
        assert_same(e.entry, rows[i].seen);
        char *const *out = put_back(e.entry);
        assert_same(out, rows[i].next);
        /* The next image sees what this one saw, in its order, and passes the same on. */
        struct env again = env_of(rows[i].next);
        environment_take(again.entry);
        assert_same(again.entry, rows[i].seen);
        assert_same(put_back(again.entry), rows[i].next);
        free(e.text);
        free(again.text);
    }
}

static void take_first(void)
{
    struct env e = env_of(rows[0].started);
    reset();
    environment_take(e.entry);
    free(e.text);
}

/* Environments that the program passes to exec: empty, with its own preload, with both. */
static void other_environments(void **state)
{
    (void)state;
    take_first();
    char *none[] = {NULL};
    assert_same(put_back(none), "LD_PRELOAD=" RUNTIME_PATH "\n" RUN_LATER); /* env -i */
    assert_same(put_back(NULL), "LD_PRELOAD=" RUNTIME_PATH "\n" RUN_LATER);
    struct env own = env_of("B=1\nLD_PRELOAD=/u/new.so\nA=2");
    assert_same(put_back(own.entry), "B=1\nLD_PRELOAD=" RUNTIME_PATH ":/u/new.so\nA=2\n" RUN_LATER);
    free(own.text);
    struct env empty = env_of("LD_PRELOAD=\nA=2");
    assert_same(put_back(empty.entry), "LD_PRELOAD=" RUNTIME_PATH ":\nA=2\n" RUN_LATER);
    free(empty.text);
    struct env stale = env_of("RTCHECK_RUN_FILE=5:6:7:/old\nA=2");
    assert_same(put_back(stale.entry), "A=2\nLD_PRELOAD=" RUNTIME_PATH "\n" RUN_LATER);
    free(stale.text);
}

static bool has_us(const char *text)
{
    struct env env = env_of(text);
    struct environment e;
    environment_read(&e, env.entry);
    bool found = e.runtime_word != NULL;
    free(env.text);
    return found;
}

/* Our library is in the list already, at any position. */
static void own_and_program(void **state)
{
    (void)state;
    static const char *const there[] = {
        "LD_PRELOAD=" RUNTIME_PATH,         "LD_PRELOAD=" RUNTIME_PATH ":/u/a.so",
        "LD_PRELOAD=/u/a.so:" RUNTIME_PATH, "LD_PRELOAD=/u/a.so " RUNTIME_PATH " /u/b.so",
        "LD_PRELOAD=::" RUNTIME_PATH,
    };
    static const char *const not_there[] = {
        "LD_PRELOAD=" RUNTIME_PATH "x",
        "LD_PRELOAD=x" RUNTIME_PATH,
        "LD_PRELOAD=/u/a.so:" RUNTIME_PATH ".1",
        "LD_PRELOAD=/opt/rtcheck/lib/librtcheck.s",
    };
    static const char *const by_name[] = {"LD_PRELOAD=librtcheck.so",
                                          "LD_PRELOAD=/u/a.so:./librtcheck.so"};
    take_first();
    for (size_t i = 0; i < countof(there); i++)
        assert_true(has_us(there[i]));
    for (size_t i = 0; i < countof(not_there); i++)
        assert_false(has_us(not_there[i]));
    for (size_t i = 0; i < countof(by_name); i++)
        assert_false(has_us(by_name[i]));
    reset(); /* by hand: any path with that file name */
    for (size_t i = 0; i < countof(there); i++)
        assert_true(has_us(there[i]));
    for (size_t i = 0; i < countof(by_name); i++)
        assert_true(has_us(by_name[i]));
    assert_false(has_us("LD_PRELOAD=/u/xlibrtcheck.so:" RUNTIME_PATH ".1"));
}

/* For a program that cannot run with our library: the other libraries stay, in their order. */
static void without_us(void **state)
{
    (void)state;
    static const struct {
        const char *given, *left;
    } cases[] = {
        {"A=1\nLD_PRELOAD=" RUNTIME_PATH "\nB=2\n" RUN, "A=1\nB=2"},
        {"LD_PRELOAD=" RUNTIME_PATH ":/u/a.so:/u/b.so\nA=1", "LD_PRELOAD=/u/a.so:/u/b.so\nA=1"},
        {"A=1\nLD_PRELOAD=/u/a.so " RUNTIME_PATH " /u/b.so", "A=1\nLD_PRELOAD=/u/a.so:/u/b.so"},
        {"LD_PRELOAD=" RUNTIME_PATH ":" RUNTIME_PATH, ""},
    };
    for (int by_launcher = 0; by_launcher < 2; by_launcher++) {
        reset();
        if (by_launcher)
            take_first();
        for (size_t i = 0; i < countof(cases); i++) {
            struct env e = env_of(cases[i].given);
            assert_same(build(e.entry, environment_without_runtime), cases[i].left);
            free(e.text);
        }
    }
}

/* Unreadable memory is passed on unchanged. */
static void unreadable(void **state)
{
    (void)state;
    take_first();
    char *end = room_of(64) + 64, *entry[4] = {"A=1", memcpy(end - 5, "LD_PR", 5), NULL};
    struct environment e;
    environment_read(&e, entry);
    assert_false(e.readable);
    entry[1] = memcpy(end - 12, "LD_PRELOAD=x", 12);
    environment_read(&e, entry);
    assert_false(e.readable);
    entry[1] = memcpy(end - 12, "LD_PRELOAD=", 12);
    environment_read(&e, entry);
    assert_true(e.readable);
    char **list = (char **)(void *)end - 2; /* without a terminating NULL */
    list[0] = list[1] = entry[0];
    environment_read(&e, list);
    assert_false(e.readable);
    environment_read(&e, (char *const *)(uintptr_t)64);
    assert_false(e.readable);
}

/* Without a launcher the environment is not changed. */
static void left_alone(void **state)
{
    (void)state;
    static const char *const by_hand[] = {"A=1\nLD_PRELOAD=" RUNTIME_PATH ":/u/a.so\nB=2",
                                          ("A=1\n" RUN), "A=1"};
    for (size_t i = 0; i < countof(by_hand); i++) {
        struct env e = env_of(by_hand[i]);
        reset();
        environment_take(e.entry);
        assert_false(rt.by_launcher);
        assert_same(e.entry, by_hand[i]);
        free(e.text);
    }
}

/* ---- lengths -------------------------------------------------------------------------------- */

/*
 * For every length of the library's path and of the user's list, the result ends at the guard page.
 */
static void lengths(void **state)
{
    (void)state;
    static char path[sizeof rt.preload], users[4000], started[8192], next[8192];
    for (size_t n = 1; n < sizeof path; n += n < 1000 ? 37 : 1) {
        for (size_t u = 0; u < sizeof users; u += u < 24 ? 1 : 331) {
            memset(path, 'p', n);
            path[n] = '\0';
            memset(users, 'u', u);
            users[u] = '\0';
            const char *colon = u ? ":" : "";
            snprintf(started, sizeof started, "A=1\nLD_PRELOAD=%s%s%s\n" RUN, path, colon, users);
            snprintf(next, sizeof next, "A=1\nLD_PRELOAD=%s%s%s\n" RUN_LATER, path, colon, users);
            struct env e = env_of(started);
            reset();
            environment_take(e.entry);
            assert_same(put_back(e.entry), next);
            free(e.text);
        }
    }
}

/* The program must see its complete LD_PRELOAD, however long it is. */
static void long_preload(void **state)
{
    (void)state;
    static char users[30000], started[31000], seen[31000];
    for (size_t i = 0; i < sizeof users - 1; i++)
        users[i] = i % 50 ? 'u' : ':';
    users[0] = '/';
    snprintf(started, sizeof started, "LD_PRELOAD=" RUNTIME_PATH ":%s\n" RUN, users);
    snprintf(seen, sizeof seen, "LD_PRELOAD=%s", users);
    struct env e = env_of(started);
    reset();
    environment_take(e.entry);
    assert_same(e.entry, seen);
    free(e.text);
}

/* Many entries, in random order. */
static void order(void **state)
{
    (void)state;
    char text[4096], want[4096];
    uint64_t random = 20261120;
    for (int round = 0; round < 200; round++) {
        size_t n = 0, w = 0, count = random % (ENTRIES_MAX - 4), own_at = random / 64 % (count + 1);
        for (size_t i = 0; i <= count; i++) {
            if (i == own_at)
                n += (size_t)snprintf(text + n, sizeof text - n, "%s\n%s\n",
                                      "LD_PRELOAD=" RUNTIME_PATH, RUN);
            random = random * 6364136223846793005ull + 1442695040888963407ull;
            int at = snprintf(want + w, sizeof want - w, "V%lu=%lu\n", random % 100, random >> 40);
            n += (size_t)snprintf(text + n, sizeof text - n, "%s", want + w);
            w += (size_t)at;
        }
        struct env e = env_of(text);
        reset();
        environment_take(e.entry);
        want[w - 1] = '\0';
        assert_same(e.entry, want);
        want[w - 1] = '\n';
        snprintf(want + w, sizeof want - w, "LD_PRELOAD=" RUNTIME_PATH "\n" RUN_LATER);
        assert_same(put_back(e.entry), want);
        free(e.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),      cmocka_unit_test(other_environments),
        cmocka_unit_test(own_and_program), cmocka_unit_test(left_alone),
        cmocka_unit_test(lengths),         cmocka_unit_test(long_preload),
        cmocka_unit_test(order),           cmocka_unit_test(without_us),
        cmocka_unit_test(unreadable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

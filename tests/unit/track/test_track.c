/*
 * test_track.c - the reserve for signal handlers that interrupted the runtime: its blocks are
 * recognized, and a freed one can be allocated again at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "init.h"
#include "../run_here.h"

#include <cmocka.h>

#define REQUEST 100u

static const struct entry here;

static void start(void)
{
    static char *envp[] = {"RTCHECK_OPTIONS=frames=0", "RTCHECK_TEST_WITHOUT=run_file", NULL};
    environ = envp;
    MUST(init_start());
}

static uint64_t lost(enum free_verdict_counter why)
{
    return atomic_load(&image()->bad_frees[why]);
}

static void *take(void)
{
    return track_alloc(REQUEST, 16, FAMILY_MALLOC, &here);
}

/* Allocate like a handler that interrupted a critical section. */
static __attribute__((noinline)) void *take_in_handler(void)
{
    struct section interrupted;
    MUST(section_begin(&interrupted));
    void *p = take();
    section_end(&interrupted);
    return p;
}

/* Allocate the whole reserve. */
static uint32_t take_reserve(void **p)
{
    uint32_t n = 0;
    while ((p[n] = take_in_handler()))
        MUST(is_reserve(pool_find(p[n++]).kind));
    return n;
}

static void its_kind(void)
{
    for (uint32_t kind = 0; kind <= UINT16_MAX; kind++)
        MUST(is_reserve(kind) == (kind > SIZE_CLASSES && kind <= ALL_CLASSES));
    start();
    void *slot = take(), *large = track_alloc(1 << 20, 16, FAMILY_MALLOC, &here);
    MUST(slot && !is_reserve(pool_find(slot).kind));
    MUST(large && !is_reserve(pool_find(large).kind));
    MUST(is_reserve(pool_find(take_in_handler()).kind));
}

static void given_back_at_once(void)
{
    static void *p[HANDLER_CLASSES * SLOTS_MAX + 1];
    start();
    uint32_t n = take_reserve(p);
    MUST(n >= HANDLER_CLASSES);
    for (uint32_t i = 0; i < n; i++)
        track_free(p[i], FAMILY_MALLOC, &here);
    MUST(lost(BAD_FREE_DUPLICATE) == 0);
    track_free(p[0], FAMILY_MALLOC, &here);
    MUST(lost(BAD_FREE_DUPLICATE) == 1);
    MUST(take_reserve(p) == n);
}

#define IN_CHILD(body)                       \
    static void test_##body(void **state)    \
    {                                        \
        (void)state;                         \
        assert_int_equal(in_child(body), 0); \
    }

IN_CHILD(its_kind)
IN_CHILD(given_back_at_once)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_its_kind),
        cmocka_unit_test(test_given_back_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

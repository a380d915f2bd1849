/*
 * test_bootstrap.c - memory for the first calls: aligned, disjoint, zero, recognized, and limited.
 * Each test uses the one arena of a process of its own.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "heap.h"
#include "../in_child.h"

#include <cmocka.h>

static bool is_zero(const char *p, size_t n)
{
    while (n && !*p) {
        p++;
        n--;
    }
    return n == 0;
}

static void one_by_one(void)
{
    char *end = NULL;
    for (size_t request = 0; request < 300; request++) {
        size_t align = (size_t)1 << request % 13;
        char *p = bootstrap_take(request, align);
        MUST(p && (uintptr_t)p % align == 0 && (uintptr_t)p % 16 == 0);
        MUST(p > end); /* a redzone byte after each: empty blocks are distinct, too */
        MUST(bootstrap_owns(p) && bootstrap_owns(p + request));
        MUST(bootstrap_request(p) == request);
        MUST(is_zero(p, request));
        memset(p, 0xee, request);
        end = p + request;
    }
}

static void foreign(void)
{
    char here;
    char *first = bootstrap_take(1, 4096);
    MUST(first && bootstrap_owns(first));
    MUST(!bootstrap_owns(first - 1)); /* the arena begins with it */
    MUST(!bootstrap_owns(NULL));
    MUST(!bootstrap_owns(&here));
    MUST(!bootstrap_owns((void *)UINTPTR_MAX));
    char *last = first;
    for (char *p; (p = bootstrap_take(4080, 16));)
        last = p;
    MUST(bootstrap_owns(last + 4080));
    MUST(!bootstrap_owns(first + (256 << 10)));
}

/* Refused requests consume nothing: the remaining memory can still be allocated. */
static void refused(void)
{
    char *first = bootstrap_take(8, 16);
    MUST(!bootstrap_take(SIZE_MAX, 16));
    MUST(!bootstrap_take((size_t)PTRDIFF_MAX, 16));
    MUST(!bootstrap_take(256 << 10, 16));
    MUST(!bootstrap_take(256 << 10, 1));
    MUST(!bootstrap_take(1, 8192));
    MUST(!bootstrap_take((256 << 10) - 16, 16)); /* with its redzone it would need 256 KiB */
    char *next = bootstrap_take(8, 16);
    MUST(next == first + 16);
    while (bootstrap_take(1000, 16))
        ;
    while (bootstrap_take(0, 1))
        ;
    MUST(!bootstrap_take(0, 1));
    MUST(bootstrap_request(first) == 8);
}

#define THREADS 4u
#define EACH 4000u
#define RACES 10

static char *taken[THREADS][EACH];
static _Atomic uint32_t ready;

static void *take_many(void *number)
{
    for (ready++; ready < THREADS;)
        ;
    for (uint32_t i = 0; i < EACH; i++)
        taken[(uintptr_t)number][i] = bootstrap_take(8, 16);
    return NULL;
}

static void together(void)
{
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        MUST(pthread_create(&thread[i], NULL, take_many, (void *)i) == 0);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (uint32_t i = 0; i < THREADS; i++)
        for (uint32_t k = 0; k < EACH; k++)
            MUST(taken[i][k] && !*taken[i][k] && ++*taken[i][k] == 1); /* not shared */
}

IN_CHILD(one_by_one)
IN_CHILD(foreign)
IN_CHILD(refused)

static void test_together(void **state)
{
    (void)state;
    for (int i = 0; i < RACES; i++)
        assert_int_equal(in_child(together), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_by_one),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

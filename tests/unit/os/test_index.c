/*
 * test_index.c - a hash index of numbers: entries are found, also past the end of the table with
 * wrap-around, and while a larger table replaces it under concurrent readers.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "index.h"
#include "os.h"

#include <cmocka.h>

/* ---- one thread ------------------------------------------------------------------------------ */

/* A number's hash is the number times a factor. */
static bool put(struct index *x, uint32_t number, uint64_t hash)
{
    uint32_t at = index_first(x, hash);
    for (uint32_t slot; (slot = index_at(x, at)) != 0; at = index_next(x, at))
        if (index_may_be(slot, hash) && index_number(slot) == number)
            return false;
    return index_put(x, at, hash, number);
}

static bool has(const struct index *x, uint32_t number, uint64_t hash)
{
    uint32_t slot;
    for (uint32_t at = index_first(x, hash); (slot = index_at(x, at)) != 0; at = index_next(x, at))
        if (index_may_be(slot, hash) && index_number(slot) == number)
            return true;
    return false;
}

static void test_putting(void **state)
{
    (void)state;
    for (uint64_t factor = 0; factor < 70; factor += 23) { /* 0: all collide */
        struct index *x = index_make(1024);
        assert_non_null(x);
        for (uint32_t n = 1; n < index_limit(x); n++) {
            assert_false(has(x, n, n * factor + 1000));
            assert_true(put(x, n, n * factor + 1000));
            assert_false(put(x, n, n * factor + 1000));
        }
        for (uint32_t n = 1; n < index_limit(x); n++)
            assert_true(has(x, n, n * factor + 1000));
        assert_false(has(x, 5000, 7)); /* there is always an empty slot */
    }
}

/* A slot has a part of the hash beside the number; it excludes most other numbers. */
static void test_hashes(void **state)
{
    struct index *x = index_make(64);
    uint32_t alike = 0;
    (void)state;
    assert_non_null(x);
    assert_true(index_put(x, 7, 0xffffffff12345678, INDEX_NUMBERS - 1));
    assert_int_equal(index_number(index_at(x, 7)), INDEX_NUMBERS - 1);
    assert_true(index_may_be(index_at(x, 7), 0xffffffff12345678));
    for (uint64_t i = 0; i < 10000; i++)
        alike += index_may_be(index_at(x, 7), i * 0x9e3779b97f4a7c15ull >> 32);
    assert_in_range(alike, 1, 80);
}

static void test_sizes(void **state)
{
    (void)state;
    assert_true(index_is_full(NULL, 0));
    for (uint32_t slots = 64; slots <= 1u << 20; slots *= 2) {
        struct index *x = index_make(slots);
        assert_non_null(x);
        assert_int_equal(index_bytes(x) % PAGE_BYTES, 0);
        assert_true(index_bytes(x) >= slots * 4ull + sizeof *x);
        assert_int_equal(index_first(x, UINT64_MAX), slots - 1);
        assert_int_equal(index_next(x, slots - 1), 0);
        assert_true(index_put(x, slots - 1, 0, 1));
        assert_false(index_put(x, slots - 1, 0, 2)); /* another thread was first */
        assert_int_equal(index_at(x, slots - 1), 1);
        assert_false(index_is_full(x, slots * 3 / 4));
        assert_true(index_is_full(x, slots - slots / 8));
        assert_true(index_limit(x) < slots && index_limit(x) >= slots - slots / 8);
        index_retire(x);
        assert_int_equal(index_first(x, UINT64_MAX), slots - 1); /* may still be read */
        assert_true(index_bytes(x) == PAGE_BYTES || index_at(x, slots - 1) == 0);
    }
}

/* ---- readers and a writer -------------------------------------------------------------------- */

#ifdef RTC_SANITIZED
#define NUMBERS 50000u /* enough for concurrency */
#else
#define NUMBERS 200000u
#endif
#define READERS 3u

static struct index *_Atomic shared;
static _Atomic uint32_t known; /* numbers below are in the index */

static uint64_t hash_of(uint32_t n)
{
    return n * 0x9e3779b97f4a7c15ull >> 32;
}

/* Look up as the index's users do. */
static bool find(uint32_t n)
{
    struct index *x = atomic_load(&shared), *now;
    for (;; x = now) {
        bool found = has(x, n, hash_of(n));
        now = atomic_load(&shared);
        if (found || now == x)
            return found;
    }
}

static void *look(void *seed)
{
    uint64_t random = (uintptr_t)seed;
    for (uint32_t below; (below = atomic_load(&known)) < NUMBERS;) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        if (below > 1 && !find(1 + (uint32_t)(random >> 33) % (below - 1)))
            return seed;
    }
    return NULL;
}

static void double_it(void)
{
    struct index *old = atomic_load(&shared), *new = index_make((old->mask + 1) * 2);
    assert_non_null(new);
    for (uint32_t i = 0; i <= old->mask; i++) {
        uint32_t n = index_number(index_at(old, i));
        if (n)
            assert_true(put(new, n, hash_of(n)));
    }
    atomic_store(&shared, new);
    index_retire(old);
}

static void test_readers(void **state)
{
    pthread_t thread[READERS];
    void *failed;
    (void)state;
    shared = index_make(64);
    for (uintptr_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, look, (void *)(i + 1)), 0);
    for (uint32_t n = 1; n < NUMBERS; n++) {
        if (index_is_full(atomic_load(&shared), n))
            double_it();
        assert_true(put(atomic_load(&shared), n, hash_of(n)));
        atomic_store(&known, n + 1);
    }
    for (unsigned i = 0; i < READERS; i++) {
        pthread_join(thread[i], &failed);
        assert_null(failed);
    }
    for (uint32_t n = 1; n < NUMBERS; n++)
        assert_true(find(n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_putting),
        cmocka_unit_test(test_hashes),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_readers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

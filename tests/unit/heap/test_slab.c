/*
 * test_slab.c - slots: no two blocks share a byte, records of free slots are free, freed slots are
 * reused, and slabs without blocks are released.
 *
 * The test replaces core: it publishes and retires records as core does, without a quarantine.  A
 * block is filled with its number from its first byte to the last of its slot, and checked when it
 * is freed.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "heap.h"
#include "../chance.h"
#include "heap_of_image.h"

#include <cmocka.h>

#ifdef RTC_SANITIZED
#define STEPS 20000u /* fewer: a sanitizer is slow */
#else
#define STEPS 200000u
#endif
#define SEED 20261120u
#define LIVE_MAX 6000u
#define THREADS 4u

static uint64_t bytes_in_use(void)
{
    uint64_t total, unused;
    heap_totals(&total, &unused);
    return total - unused;
}

/* ---- one block ------------------------------------------------------------------------------ */

static struct block_record *record_of(const struct found *f)
{
    return pool_record(f, epoch_page->epoch);
}

static uint64_t *take(uint32_t class, uint64_t stamp)
{
    uint64_t *p = slab_take_hot(self, class), word, stacks;
    MUST(p);
    struct found f = pool_find(p);
    MUST(f.verdict == PTR_START && f.kind == class + 1 && f.slot &&
         f.slot < size_class[class].slots);
    MUST(pool_room(&f) == size_class[class].slot_bytes - 1);
    struct block_record *b = record_of(&f);
    MUST(block_read(b, &word, &stacks));
    MUST(word_state(word) == BLOCK_NEVER || word_state(word) == BLOCK_FREE);
    block_publish(b, &(struct block_birth){.mark = MARK_FIRST, .size = 5, .stack = 9});
    for (size_t i = 0; i < size_class[class].slot_bytes / 8; i++)
        p[i] = stamp;
    return p;
}

static void give(uint32_t class, uint64_t *p, uint64_t stamp)
{
    struct found f = pool_find(p);
    uint64_t was;
    for (size_t i = 0; i < size_class[class].slot_bytes / 8; i++)
        MUST(p[i] == stamp);
    MUST(f.verdict == PTR_START && f.kind == class + 1);
    MUST(block_retire(record_of(&f), 1, 2, &was));
    block_forget(record_of(&f));
    slab_give(self, class, p);
}

/* ---- one thread ----------------------------------------------------------------------------- */

struct held {
    uint64_t *block;
    uint64_t stamp;
    uint32_t class;
};

/* Random replacement; a small number of `classes` means that many blocks share one. */
static void churn(struct held *held, uint32_t places, uint32_t classes, uint32_t steps,
                  uint64_t *random)
{
    for (uint32_t i = 0; i < steps; i++) {
        struct held *h = &held[chance_of(random, places)];
        if (h->block)
            give(h->class, h->block, h->stamp);
        h->class = chance_of(random, classes);
        h->stamp = (uint64_t)i << 32 | chance_of(random, UINT32_MAX);
        h->block = take(h->class, h->stamp);
    }
}

static void give_all(struct held *held, uint32_t places)
{
    for (uint32_t i = 0; i < places; i++) {
        if (held[i].block)
            give(held[i].class, held[i].block, held[i].stamp);
        held[i].block = NULL;
    }
}

static struct held held[THREADS][LIVE_MAX];

static void one_thread(void)
{
    uint64_t random = SEED, most = 0;
    heap_of_image();
    uint64_t before = bytes_in_use();
    for (uint32_t round = 0; round < 6; round++) {
        churn(held[0], LIVE_MAX, SIZE_CLASSES - 20, STEPS / 6, &random);
        give_all(held[0], LIVE_MAX);
        slab_drain(self);
        for (uint32_t class = 0; class < SIZE_CLASSES; class ++)
            MUST(self->bin[class].count == 0);
        /* Of each class that was used one empty slab may stay. */
        uint64_t stays = 0;
        for (uint32_t class = 0; class < SIZE_CLASSES - 20; class ++)
            stays += size_class[class].units * UNIT_BYTES;
        MUST(bytes_in_use() <= before + stays);
        MUST(round < 3 || heap.bytes <= most + most / 16); /* the same load needs no more memory */
        most = heap.bytes > most ? heap.bytes : most;
    }
}

/* All slots of a slab are used before there is another slab, and each once. */
static void whole_slabs(void)
{
    heap_of_image();
    for (uint32_t class = 0; class < SIZE_CLASSES; class ++) {
        static uint64_t *block[2 * SLOTS_MAX];
        uint32_t slots = size_class[class].slots - 1, n = 0; /* the first is a redzone */
        uint64_t before = bytes_in_use(), slab = size_class[class].units * UNIT_BYTES;
        for (; n < slots; n++)
            block[n] = take(class, n);
        MUST(bytes_in_use() == before + slab);
        for (; n < 2 * slots; n++)
            block[n] = take(class, n);
        MUST(bytes_in_use() == before + 2 * slab);
        while (n-- > 0)
            give(class, block[n], n);
        slab_drain(self);
        MUST(bytes_in_use() == before + slab); /* the last one stays */
    }
}

/* ---- more threads --------------------------------------------------------------------------- */

#define SHARED 3u /* few size classes, for contention */

static struct held passed[THREADS][64]; /* freed by the thread that finds them here */
static pthread_mutex_t passing[THREADS];

/* Free blocks of other threads, and pass some of its own to them. */
static void pass(uint32_t me, uint64_t *random)
{
    uint32_t to = chance_of(random, THREADS), place = chance_of(random, 64);
    struct held own = {take(chance_of(random, SHARED), me + 1), me + 1, 0}, other;
    own.class = pool_find(own.block).kind - 1;
    pthread_mutex_lock(&passing[to]);
    other = passed[to][place];
    passed[to][place] = own;
    pthread_mutex_unlock(&passing[to]);
    if (other.block)
        give(other.class, other.block, other.stamp);
}

static _Atomic uint32_t ready;

static void start_together(void)
{
    for (ready++; ready < THREADS;)
        sched_yield();
}

static void *work(void *number)
{
    uint32_t me = (uint32_t)(uintptr_t)number;
    uint64_t random = SEED + me;
    MUST(threads_register() == self && self);
    start_together();
    for (uint32_t i = 0; i < 200; i++) {
        churn(held[me], 500, SHARED, STEPS / 100, &random);
        for (uint32_t k = 0; k < 20; k++)
            pass(me, &random);
    }
    give_all(held[me], 500);
    slab_drain(self);
    return NULL;
}

static void more_threads(void)
{
    pthread_t thread[THREADS];
    heap_of_image();
    uint64_t before = bytes_in_use();
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_mutex_init(&passing[i], NULL);
    for (uintptr_t i = 0; i < THREADS; i++)
        MUST(pthread_create(&thread[i], NULL, work, (void *)i) == 0);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (uint32_t i = 0; i < THREADS; i++)
        give_all(passed[i], 64);
    slab_drain(self);
    MUST(bytes_in_use() <= before + SHARED * UNIT_BYTES); /* the smallest classes have 1 unit */
}

/* ---- handlers ------------------------------------------------------------------------------- */

static void for_handlers(void)
{
    static const struct {
        size_t request, align;
        uint32_t class; /* SIZE_CLASSES + ...; HANDLER_CLASSES: none fits */
        /* clang-format off */
    } rows[] = {{0, 1, 0},      {255, 16, 0},   {256, 16, 1},    {1, 256, 0},       {1, 512, 1},
                {2047, 1, 1},   {2048, 1, 2},   {16383, 16, 2},  {16384, 1, 3},     {1, 16384, 2},
                {1, 32768, 3},  {1, 65536, 3},  {131071, 1, 3},  {131072, 1, HANDLER_CLASSES},
                {1, 131072, HANDLER_CLASSES}, {SIZE_MAX, 1, HANDLER_CLASSES}};
    /* clang-format on */
    heap_of_image();
    for (size_t i = 0; i < countof(rows); i++) {
        char *p = slab_take_in_handler(rows[i].request, rows[i].align);
        MUST(!p == (rows[i].class == HANDLER_CLASSES));
        if (!p)
            continue;
        struct found f = pool_find(p);
        MUST(f.verdict == PTR_START && f.kind == SIZE_CLASSES + rows[i].class + 1);
        MUST((uintptr_t)p % rows[i].align == 0 && pool_room(&f) >= rows[i].request);
        slab_give(self, f.kind - 1, p);
    }
    const uint32_t class = SIZE_CLASSES + HANDLER_CLASSES - 1, slots = size_class[class].slots;
    const size_t request = size_class[class].slot_bytes - 1;
    char *last = NULL;
    for (uint32_t n = 0; n < slots; n++) /* all that exist, then none */
        MUST((last = slab_take_in_handler(request, 1)));
    MUST(!slab_take_in_handler(request, 1));
    slab_give_in_handler(class, last);
    MUST(slab_take_in_handler(request, 1) == last);
    MUST(slab_take_in_handler(100, 1)); /* other classes are not affected */
}

static void *handler_work(void *number)
{
    uint64_t me = (uint64_t)(uintptr_t)number + 1, *own[5];
    start_together();
    for (uint32_t round = 0; round < 200000; round++) {
        uint32_t n = 0;
        while (n < countof(own) && (own[n] = slab_take_in_handler(200, 16))) {
            own[n][0] = own[n][31] = me;
            n++;
        }
        while (n-- > 0) {
            MUST(own[n][0] == me && own[n][31] == me);
            slab_give_in_handler(SIZE_CLASSES, own[n]);
        }
    }
    return NULL;
}

static void handlers_together(void)
{
    pthread_t thread[THREADS];
    heap_of_image();
    for (uintptr_t i = 0; i < THREADS; i++)
        MUST(pthread_create(&thread[i], NULL, handler_work, (void *)i) == 0);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (uint32_t n = 0; n < size_class[SIZE_CLASSES].slots; n++) /* none was lost */
        MUST(pool_find(slab_take_in_handler(200, 16)).kind == SIZE_CLASSES + 1);
}

IN_CHILD(one_thread)
IN_CHILD(whole_slabs)
IN_CHILD(more_threads)
IN_CHILD(for_handlers)
IN_CHILD(handlers_together)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread),        cmocka_unit_test(test_whole_slabs),
        cmocka_unit_test(test_more_threads),      cmocka_unit_test(test_for_handlers),
        cmocka_unit_test(test_handlers_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

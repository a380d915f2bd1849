/*
 * test_large.c - records of large blocks are valid at every instant: after a kill at any
 * instruction they pass verify.c, and no unit refers to a record that may belong to another block.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "heap.h"
#include "heap_of_image.h"
#include "../step.h"

#include <cmocka.h>

#define LEAD 64 /* bytes of the first unit before the block */
#define UNITS(n) ((n)*UNIT_BYTES - LEAD - 100)

static struct found block;
static unsigned looked, wrong;

static void start(void)
{
    bool clean;
    heap_of_image();
    MUST(large_take(UNITS(2), 16, &clean, &block));
    block_publish(pool_record(&block, epoch_page->epoch),
                  &(struct block_birth){.mark = MARK_FIRST});
}

/* After each instruction: verify.c's condition for a block in use. */
static void look(int signal)
{
    (void)signal;
    const struct large_record *r = owner_pointer(block.head->owner);
    looked++;
    wrong += r->lead + r->request >= r->units << RTC_UNIT_SHIFT;
}

/* A vacant record may be reused by any thread: from then on the units must not refer to it. */
static void record_sender(int signal)
{
    (void)signal;
    uint64_t owner = block.head->owner;
    const struct large_record *r = owner_pointer(owner);
    looked++;
    wrong += owner_kind(owner) == UNIT_LARGE && word_state(r->block.word) == BLOCK_NEVER;
}

static void resize(uint64_t request)
{
    looked = wrong = 0;
    steps_begin();
    bool done = large_resize(&block, request);
    steps_end();
    MUST(done && looked > 20);
    MUST(wrong == 0);
}

/* ThreadSanitizer delays signals: with one after each instruction the test would not end. */
#ifndef __SANITIZE_THREAD__
static void grow_and_shrink(void)
{
    static const uint64_t requests[] = {UNITS(9), UNITS(3), UNITS(3) - 5000, UNITS(30), UNITS(1)};
    start();
    signal(SIGTRAP, look);
    for (size_t i = 0; i < countof(requests); i++) {
        resize(requests[i]);
        MUST(pool_room(&block) == align_up(LEAD + requests[i] + 1, UNIT_BYTES) - LEAD - 1);
    }
}

static void leave_quarantine(void)
{
    uint64_t was;
    start();
    MUST(block_retire(pool_record(&block, epoch_page->epoch), 1, 0, &was));
    quarantine_push_large(&block, (void *)large_start_of(block.head), UNITS(2));
    signal(SIGTRAP, record_sender);
    looked = wrong = 0;
    steps_begin();
    bool any = large_evict_all();
    steps_end();
    MUST(any && looked > 20);
    MUST(wrong == 0);
    uint64_t word, stacks; /* earlier readers must find it vacant */
    MUST(block_read(pool_look(&block, 0), &word, &stacks) && word_state(word) == BLOCK_NEVER);
}

static void left_in_steps(void **state)
{
    (void)state;
    assert_int_equal(in_child(leave_quarantine), 0);
}

static void resized_in_steps(void **state)
{
    (void)state;
    assert_int_equal(in_child(grow_and_shrink), 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(resized_in_steps),
        cmocka_unit_test(left_in_steps),
#else
        {.name = "none under ThreadSanitizer"},
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

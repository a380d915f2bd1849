/*
 * test_block.c - every state transition of a block, from every state, and copies made by a fork.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shadow.h"

#include <cmocka.h>

#define WORD(state, family, flags, mark, generation, thread, size)                          \
    ((uint64_t)(state) | (uint64_t)(family) << BLOCK_FAMILY_SHIFT |                         \
     (uint64_t)(flags) << BLOCK_FLAGS_SHIFT | (uint64_t)(mark) << BLOCK_MARK_SHIFT |        \
     (uint64_t)(generation) << BLOCK_GEN_SHIFT | (uint64_t)(thread) << BLOCK_THREAD_SHIFT | \
     (uint64_t)(size) << BLOCK_SIZE_SHIFT)
#define STACKS(alloc, release) ((uint64_t)(alloc) << 32 | (release))

/* A block in `state` with a different pattern in every other field. */
static struct block_record block_in(uint64_t state)
{
    struct block_record b;
    atomic_init(&b.word, WORD(state, 5, 2, 0xa5, 0x2a, 0x2aaaa, 0x5a5a5a));
    atomic_init(&b.stacks, STACKS(0x11112222, 0x33334444));
    return b;
}

static const struct block_birth birth = {.family = FAMILY_NEW_ARRAY_ALIGNED,
                                         .flags = BLOCK_FLAG_IN_HANDLER,
                                         .mark = 0x81,
                                         .thread = 0x20001,
                                         .size = 0x800001,
                                         .stack = 0x80000001};
#define BORN(generation) WORD(BLOCK_LIVE, 5, 1, 0x81, (generation), 0x20001, 0x800001)

static void fields(void **state)
{
    (void)state;
    struct block_record b = block_in(BLOCK_FREED);
    assert_int_equal(word_state(b.word), BLOCK_FREED);
    assert_int_equal(word_family(b.word), 5);
    assert_int_equal(word_flags(b.word), 2);
    assert_int_equal(word_mark(b.word), 0xa5);
    assert_int_equal(word_generation(b.word), 0x2a);
    assert_int_equal(word_thread(b.word), 0x2aaaa);
    assert_int_equal(word_size(b.word), 0x25a5a);
    assert_int_equal(word_align(b.word), 0x16); /* both in 24 bits: 0x5a5a5a */
    assert_int_equal(align_of_code(align_code(4096)), 4096);
    assert_int_equal(align_code(48), 0);
    assert_int_equal(align_of_code(0), 0);
    assert_true(WORD(7, 7, 3, 0xff, 0x3f, 0x3ffff, 0xffffff) == UINT64_MAX); /* all bits are used */
}

static void publish(void **state)
{
    (void)state;
    for (unsigned from = BLOCK_NEVER; from <= BLOCK_FREE; from += BLOCK_FREE) {
        struct block_record b = block_in(from);
        block_publish(&b, &birth);
        assert_true(b.word == BORN(0x2b)); /* only the life's number remains of the former life */
        assert_true(b.stacks == STACKS(0x80000001, 0));
    }
    struct block_record b = {0};
    for (unsigned life = 1; life < 200; life++) { /* numbers wrap at 64 without carry */
        block_publish(&b, &birth);
        assert_true(b.word == BORN(life & BLOCK_GEN_MASK));
    }
}

/* A field that is too large must not change its neighbours. */
static void too_large(void **state)
{
    (void)state;
    struct block_record b = {0};
    const struct block_birth huge = {.family = FAMILY_MALLOC, .thread = 0x40000, .size = 0x1000000};
    uint64_t was;
    block_publish(&b, &huge);
    assert_true(b.word == WORD(BLOCK_LIVE, 0, 0, 0, 1, 0, 0));
    assert_true(block_retire(&b, 0x40001, 0, &was));
    assert_true(b.word == WORD(BLOCK_FREED, 0, 0, 0, 1, 1, 0));
}

static void retire(void **state)
{
    (void)state;
    for (unsigned from = 0; from <= BLOCK_STATE_MASK; from++) {
        struct block_record b = block_in(from), before = b;
        uint64_t was = 0;
        bool won = block_retire(&b, 0x15555, 0x66667777, &was);
        assert_true(was == before.word);
        assert_int_equal(won, from == BLOCK_LIVE || from == BLOCK_INHERITED);
        if (won) {
            assert_true(b.word == WORD(BLOCK_FREED, 5, 2, 0xa5, 0x2a, 0x15555, 0x5a5a5a));
            assert_true(b.stacks == STACKS(0x11112222, 0x66667777));
        } else {
            assert_memory_equal(&b, &before, sizeof b);
        }
    }
}

static void resize(void **state)
{
    (void)state;
    for (unsigned from = 0; from <= BLOCK_STATE_MASK; from++) {
        struct block_record b = block_in(from), before = b;
        uint64_t was = 0;
        bool won = block_resize(&b, &birth, &was);
        assert_true(was == before.word);
        assert_int_equal(won, from == BLOCK_LIVE || from == BLOCK_INHERITED);
        if (won) {
            assert_true(b.word == BORN(0x2b)); /* another life: readers must be able to detect it */
            assert_true(b.stacks == STACKS(0x80000001, 0));
        } else {
            assert_memory_equal(&b, &before, sizeof b);
        }
    }
}

static void flag(void **state)
{
    (void)state;
    for (unsigned from = 0; from <= BLOCK_STATE_MASK; from++) {
        struct block_record b = block_in(from), before = b;
        uint64_t flagged = before.word | (uint64_t)BLOCK_FLAG_ROOT << BLOCK_FLAGS_SHIFT;
        bool is_there = from == BLOCK_LIVE || from == BLOCK_INHERITED;
        before.word = before.word & ~((uint64_t)BLOCK_FLAG_ROOT << BLOCK_FLAGS_SHIFT);
        b.word = before.word;
        assert_int_equal(block_flag(&b, BLOCK_FLAG_ROOT), is_there);
        assert_true(b.word == (is_there ? flagged : before.word) && b.stacks == before.stacks);
    }
}

static void forget(void **state)
{
    (void)state;
    struct block_record b = block_in(BLOCK_FREED);
    block_forget(&b);
    assert_true(b.word == WORD(BLOCK_FREE, 5, 2, 0xa5, 0x2a, 0x2aaaa, 0x5a5a5a));
    assert_true(b.stacks == STACKS(0x11112222, 0x33334444)); /* both stacks can be reported */
}

static void read_at_rest(void **state)
{
    (void)state;
    const struct block_record b = block_in(BLOCK_LIVE);
    uint64_t word = 0, stacks = 0;
    assert_true(block_read(&b, &word, &stacks));
    assert_true(word == b.word);
    assert_true(stacks == b.stacks);
}

/* ---- both sides of a fork ------------------------------------------------------------------- */

#define RECORDS 9u

/* Records `stride` bytes apart, one in each state; the last is past the copied range. */
static void fill(char *at, uint32_t stride, int filler)
{
    memset(at, filler, RECORDS * stride);
    for (uint32_t i = 0; i < RECORDS; i++)
        *(struct block_record *)(void *)(at + i * stride) = block_in(i & BLOCK_STATE_MASK);
}

static struct block_record *at(char *records, uint32_t i, uint32_t stride)
{
    return (struct block_record *)(void *)(records + i * stride);
}

static void copying(void **state)
{
    (void)state;
    _Alignas(16) char from[RECORDS * 64], to[RECORDS * 64], untouched[RECORDS * 64];
    for (uint32_t stride = 16; stride <= 64; stride += 16) {
        for (int inherited = 0; inherited <= 1; inherited++) {
            fill(from, stride, 1);
            memset(to, 2, sizeof to);
            memset(untouched, 2, sizeof untouched);
            block_copy(at(to, 0, stride), at(from, 0, stride), RECORDS - 1, stride, inherited);
            for (uint32_t i = 0; i < RECORDS - 1; i++) {
                uint64_t mark = (uint64_t)BLOCK_MARK_MASK << BLOCK_MARK_SHIFT;
                uint64_t word = at(from, i, stride)->word;
                assert_true(at(to, i, stride)->word == (inherited ? word & ~mark : word));
                assert_true(at(to, i, stride)->stacks == at(from, i, stride)->stacks);
                assert_memory_equal(at(to, i, stride) + 1, untouched, stride - 16);
            }
            assert_memory_equal(at(to, RECORDS - 1, stride), untouched, stride);
        }
    }
}

static void distrust(void **state)
{
    (void)state;
    _Alignas(16) char records[RECORDS * 64], before[RECORDS * 64];
    for (uint32_t stride = 16; stride <= 64; stride += 16) {
        uint64_t was;
        fill(records, stride, 3);
        memcpy(before, records, sizeof before);
        block_distrust(at(records, 0, stride), RECORDS - 1, stride);
        for (uint32_t i = 0; i < RECORDS - 1; i++) {
            struct block_record *b = at(records, i, stride);
            assert_true(b->word == BLOCK_INHERITED && b->stacks == 0);
            assert_memory_equal(b + 1, at(before, i, stride) + 1, stride - 16);
            assert_true(block_retire(b, 1, 2, &was)); /* the first free is accepted */
            assert_false(block_retire(b, 1, 2, &was));
        }
        assert_memory_equal(at(records, RECORDS - 1, stride), at(before, RECORDS - 1, stride),
                            stride);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields),   cmocka_unit_test(publish),      cmocka_unit_test(too_large),
        cmocka_unit_test(retire),   cmocka_unit_test(resize),       cmocka_unit_test(forget),
        cmocka_unit_test(flag),     cmocka_unit_test(read_at_rest), cmocka_unit_test(copying),
        cmocka_unit_test(distrust),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

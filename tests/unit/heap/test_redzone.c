/*
 * test_redzone.c - every byte of the redzones is checked, and no other: of slots of all sizes, for
 * live blocks and for blocks in quarantine.
 *
 * Each byte of a slot is changed in turn.  The bytes that matter are defined here a second time,
 * byte by byte, because redzone.h compares many at a time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "heap.h"

#include <cmocka.h>

#define BORDER 512u
#define FILLED_WHOLE 4096u /* of larger blocks only the first and the last 64 bytes are filled */
#define FILLED_ENDS 64u

static _Alignas(16) uint8_t room[BORDER + SLOT_BYTES_MAX + BORDER];
static uint8_t *const slot = room + BORDER;

static bool is_redzone(uint32_t at, uint32_t slot_bytes, uint32_t request)
{
    return at >= request && (at - request < REDZONE_REACH || at >= slot_bytes - REDZONE_TAIL);
}

static bool is_filled(uint32_t at, uint32_t request)
{
    if (at >= request || pool_knobs.free_fill < 0)
        return false;
    return request <= FILLED_WHOLE || at < FILLED_ENDS || at >= request - FILLED_ENDS;
}

static bool live_is_whole(uint32_t class, uint32_t request)
{
    return redzone_is_intact(slot, 2, class, request);
}

static bool freed_is_whole_in(uint32_t class, uint32_t request)
{
    return freed_is_intact(slot, size_class[class].slot_bytes, request);
}

/*
 * The next byte to change: every byte of small slots; of large ones those near borders and some
 * others.
 */
static uint32_t next_byte(uint32_t at, uint32_t slot_bytes, uint32_t request)
{
    uint32_t near = at < request ? request - at : at - request;
    bool all = slot_bytes <= 1024 || at < 80 || near < 200 || slot_bytes - at < 200;
    return at + (all ? 1 : 61);
}

static void change_each(uint32_t class, uint32_t request, bool freed)
{
    uint32_t slot_bytes = size_class[class].slot_bytes;
    for (uint32_t at = 0; at < slot_bytes; at = next_byte(at, slot_bytes, request)) {
        bool watched = is_redzone(at, slot_bytes, request) || (freed && is_filled(at, request));
        slot[at] ^= 0x40;
        bool whole = freed ? freed_is_whole_in(class, request) : live_is_whole(class, request);
        slot[at] ^= 0x40;
        if (whole == watched)
            fail_msg("slot of %u, request %u, byte %u: %s", slot_bytes, request, at,
                     watched ? "not seen" : "told of");
    }
}

static void live_and_freed(uint32_t class, uint32_t request)
{
    memset(room, 0x11, sizeof room);
    slot[-1] = REDZONE_BYTE;
    redzone_put(slot, class, request);
    memset(slot, 0x22, request); /* written by the program */
    assert_true(live_is_whole(class, request));
    change_each(class, request, false);
    fill_put(slot, request);
    assert_true(freed_is_whole_in(class, request));
    change_each(class, request, true);
    for (uint32_t i = 0; i < BORDER - 1; i++)
        assert_true(room[i] == 0x11 && slot[size_class[class].slot_bytes + i] == 0x11);
}

static void every_request(int free_fill)
{
    pool_knobs.free_fill = free_fill;
    freed_pattern_start();
    for (uint32_t class = 0; class < SIZE_CLASSES; class ++) {
        uint32_t slot_bytes = size_class[class].slot_bytes;
        for (uint32_t slack = 1; slack <= slot_bytes;) {
            live_and_freed(class, slot_bytes - slack);
            slack += slot_bytes <= 128 ? 1 : slack < 20 ? 3 : slack < 300 ? 13 : slot_bytes / 5;
        }
    }
}

static void with_fill(void **state)
{
    (void)state;
    every_request(FILL_OF_BLOCK);
}

static void with_byte(void **state)
{
    (void)state;
    every_request(0xfd);
}

static void without_fill(void **state)
{
    (void)state;
    every_request(-1);
}

static uint8_t byte_of_word(const uint8_t *block, uint64_t tag, uint64_t at)
{
    uint64_t bits = at % 8 == 7 ? tag : 0x80 | ((uintptr_t)block >> at % 8 * 7 & 0x7f);
    return (uint8_t)bits;
}

/* A block of any size at any address, with other bytes around it. */
static void words_of(uint8_t *block, uint64_t request)
{
    memset(room, 0x11, sizeof room);
    fill_put(block, request);
    assert_true(block[-1] == 0x11 && block[request] == 0x11);
    assert_true(fill_is_intact(block, request));
    for (uint64_t at = 0; at < request; at++) {
        bool filled = is_filled((uint32_t)at, (uint32_t)request);
        struct damage d;
        assert_int_equal(block[at], filled ? byte_of_word(block, 0xde, at) : 0x11);
        if (at % 16 > 1 && at > 200 && request - at > 200)
            continue;
        block[at] ^= 0x40;
        assert_int_equal(fill_is_intact(block, request), !filled);
        assert_int_equal(fill_damage(block, request, 0, 0, &d), filled);
        assert_true(!filled || (d.first == (char *)block + at && d.bytes == 1));
        block[at] ^= 0x40;
        uint8_t byte = block[at];
        block[at] = (uint8_t)(at * 5 % 0x80); /* a NUL, a character: whatever the address */
        assert_int_equal(fill_is_intact(block, request), !filled);
        block[at] = byte;
    }
}

/* Words begin at the start of the block, also where it is odd, and end with a part of one. */
static void words(void **state)
{
    (void)state;
    pool_knobs.free_fill = FILL_OF_BLOCK;
    freed_pattern_start();
    for (uint64_t odd = 0; odd < 16; odd++) {
        for (uint64_t request = 0; request < 300; request++)
            words_of(slot + odd, request);
        for (uint64_t request = 4090; request < 4106; request++)
            words_of(slot + odd, request);
    }
}

/* Each word of a new block, as far as it was requested. */
static void words_of_new(void **state)
{
    (void)state;
    pool_knobs.malloc_fill = FILL_OF_BLOCK;
    for (uint64_t request = 0; request < 9000; request = request * 5 / 4 + 1) {
        uint8_t *block = slot + request % 16;
        memset(room, 0x11, sizeof room);
        fill_put_new(block, request);
        for (uint64_t at = 0; at < request; at++)
            assert_int_equal(block[at], byte_of_word(block, 0xb1, at));
        assert_true(block[-1] == 0x11 && block[request] == 0x11);
    }
    pool_knobs.malloc_fill = -1;
}

static void byte_before(void **state)
{
    (void)state;
    redzone_put(slot, 0, 5);
    redzone_put_border(slot);
    for (int at = -1; at >= -(int)REDZONE_TAIL; at--) {
        slot[at] = REDZONE_BYTE ^ 1;
        assert_false(redzone_is_intact(slot, 1, 0, 5)); /* only redzone precedes it */
        assert_int_equal(redzone_is_intact(slot, 2, 0, 5),
                         at != -1); /* the end of slot 1 precedes it */
        slot[at] = REDZONE_BYTE;
        assert_true(redzone_is_intact(slot, 1, 0, 5));
    }
    slot[-(int)REDZONE_TAIL - 1] = 0;
    assert_true(redzone_is_intact(slot, 1, 0, 5));
}

/* Each block has redzones of the option's width on both sides, and all slack is redzone. */
static void width_of_the_option(void **state)
{
    (void)state;
    const struct pool_knobs saved = pool_knobs;
    for (uint32_t width = REDZONE_BYTES_MIN; width <= REDZONE_BYTES_MAX; width *= 2) {
        redzone_width(width);
        pool_knobs.free_fill = FILL_OF_BLOCK;
        freed_pattern_start();
        for (size_t request = 0; class_of(request) < SIZE_CLASSES; request += 1 + request / 7) {
            uint32_t class = class_of(request), slot_bytes = size_class[class].slot_bytes;
            assert_true(slot_bytes - request >= width);
            memset(room, 0x11, sizeof room);
            redzone_put_border(slot + slot_bytes); /* the border before a first slot */
            for (uint32_t i = 1; i <= width; i++)
                assert_int_equal(slot[slot_bytes - i], REDZONE_BYTE);
            slot[-1] = REDZONE_BYTE;
            redzone_put(slot, class, request);
            for (uint64_t at = request; at < slot_bytes; at += 1 + at % 3) {
                slot[at] ^= 1;
                assert_false(redzone_is_intact(slot, 2, class, request));
                slot[at] ^= 1;
            }
            assert_true(redzone_is_intact(slot, 2, class, request));
        }
    }
    pool_knobs = saved;
    freed_pattern_start();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_fill),
        cmocka_unit_test(with_byte),
        cmocka_unit_test(words),
        cmocka_unit_test(words_of_new),
        cmocka_unit_test(without_fill),
        cmocka_unit_test(byte_before),
        cmocka_unit_test(width_of_the_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_pending.c - pending notifications: freed runs before they are returned to the kernel, and
 * memory that is used again; each once, exactly, and by the thread that must deliver it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "heap_alone.h"

#include <cmocka.h>

/* ---- releases -------------------------------------------------------------------------------- */

/*
 * No run is released or reused before its notification; a run that cannot be released is pending
 * once.
 */
static void pending(void)
{
    struct pending_release d;
    struct unit *run[64];
    bool clean;
    uint32_t delivered = 0;
    heap_alone();
    heap_watched = true;
    for (size_t i = 0; i < countof(run); i++) {
        run[i] = units_take(32, 1, &clean);
        MUST(run[i]);
        memset((void *)unit_address(run[i]), 1, 32 * UNIT_BYTES);
    }
    for (size_t i = 0; i < countof(run); i++)
        units_give(run[i], 32, true);
    for (size_t i = 0; i < countof(run); i++)
        MUST(*(char *)unit_address(run[i]) == 1);
    for (; pending_take(&d); delivered += (uint32_t)d.units) {
        struct unit *other = units_take(d.units, 1, &clean);
        MUST(!other || other + d.units <= d.head || d.head + d.units <= other);
        pending_put(&d, false); /* for example, because it is locked */
        MUST(*(char *)unit_address(d.head) == 1);
    }
    MUST(delivered >= 64 * 32 - 16 * MIB / UNIT_BYTES);
}

/* Are notifications pending, and all of them for these two ranges? */
static bool pending_is_in(const struct unit *one, const struct unit *other, size_t n)
{
    struct pending_release d;
    bool all = true, any = false;
    for (; pending_take(&d); any = true) {
        all &= (d.head >= one && d.head < one + n) || (d.head >= other && d.head < other + n);
        pending_put(&d, false);
    }
    return all && any;
}

/*
 * A callback may take memory that it freed itself, and leaves the other notifications to its
 * caller.
 */
static void pending_in_a_callback(void)
{
    static struct thread called_back = {.number = 7};
    const size_t n = 512; /* so many that not all may stay dirty */
    struct unit *run[8];
    bool clean;
    heap_alone();
    heap_watched = true;
    for (size_t i = 0; i < countof(run); i++) {
        run[i] = units_take(n, 1, &clean);
        MUST(run[i]);
    }
    self = &called_back;
    for (size_t i = 0; i < countof(run); i += 2) {
        called_back.read_epoch = i >= 4;
        units_give(run[i], n, true);
    }
    MUST(pending_is_in(run[4], run[6], n));
    called_back.read_epoch = 0;
    MUST(pending_is_in(run[0], run[2], n));
    self = NULL;
}

/* ---- reuse ----------------------------------------------------------------------------------- */

static uint64_t bytes_in(const struct heap_part *part, const struct unit *first, uint64_t n)
{
    uint64_t from = unit_address(first) - heap.base, to = from + n * UNIT_BYTES;
    from = from > part->from ? from : part->from;
    to = to < part->to ? to : part->to;
    return from < to ? to - from : 0;
}

/* Of [first, first + n) so many units are announced as reused now, and no other memory. */
static void must_come(const struct unit *first, uint64_t n, uint64_t units)
{
    struct heap_part part;
    uint64_t inside = 0, all = 0;
    for (; heap_grown(&part); all += part.to - part.from)
        inside += bytes_in(&part, first, n);
    MUST(inside == units * UNIT_BYTES && all == inside);
}

/*
 * Memory announced as released is announced when it is reused, exactly, whatever it was merged with
 * meanwhile.
 */
static void comes_back(void)
{
    struct heap_part part;
    bool clean;
    heap_alone();
    heap_watched = true;
    struct unit *all = units_take(640, 1, &clean);
    MUST(all && heap_grown(&part) && !heap_grown(&part));
    memset((void *)unit_address(all + 64), 1, 512 * UNIT_BYTES);
    units_give(all, 64, false);
    give_units(all + 64, 512, true);
    units_give(all + 576, 64, false);
    MUST(units_take(600, 1, &clean) == all && clean);
    must_come(all + 64, 512, 512);
    give_units(all, 600, true);
    MUST(units_take(100, 1, &clean) == all);
    must_come(all, 100, 100);
    MUST(units_take_at(all + 100, 50, &clean));
    must_come(all + 100, 50, 50);
    units_give(all, 150, false);
    MUST(units_take(150, 1, &clean) == all);
    must_come(all, 150, 0);
    heap_watched = false; /* no handler is registered any more */
    MUST(units_take(200, 1, &clean) == all + 150);
    heap_watched = true;
    must_come(all, 640, 0);
}

/* More than the list holds: at least all reused memory is announced. */
static void many_come_back(void)
{
    struct heap_part part;
    struct unit *run[40];
    bool clean, gone[40] = {false}, delivered[40] = {false};
    uint32_t count = 0;
    heap_alone();
    for (size_t i = 0; i < countof(run); i++)
        MUST((run[i] = units_take(300, 1, &clean)));
    heap_watched = true;
    for (size_t i = 0; i < countof(run); i += 2) {
        *(char *)unit_address(run[i]) = 1;
        give_units(run[i], 300, true);
        gone[i] = *(char *)unit_address(run[i]) == 0; /* some may stay dirty */
        count += gone[i];
    }
    for (size_t i = 1; i < countof(run); i += 2)
        give_units(run[i], 300, false);
    MUST(units_take(40 * 300, 1, &clean) == run[0]);
    while (heap_grown(&part))
        for (size_t i = 0; i < countof(run); i++)
            delivered[i] |= bytes_in(&part, run[i], 300) == 300 * UNIT_BYTES;
    for (size_t i = 0; i < countof(run); i++)
        MUST(delivered[i] || !gone[i]);
    MUST(count > 10);
}

IN_CHILD(pending)
IN_CHILD(pending_in_a_callback)
IN_CHILD(comes_back)
IN_CHILD(many_come_back)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pending),
        cmocka_unit_test(test_pending_in_a_callback),
        cmocka_unit_test(test_comes_back),
        cmocka_unit_test(test_many_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_area.c - areas of the run file when memory for their pages is refused for a while, as by a
 * file system that is full until something is removed.
 *
 * rtc-build: -Wl,--wrap=os_populate
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "../run_here.h"

#include <cmocka.h>

#define PIECE (256u << 10)

static bool is_full;

int __real_os_populate(void *at, size_t bytes);
int __wrap_os_populate(void *at, size_t bytes);
int __wrap_os_populate(void *at, size_t bytes)
{
    return is_full ? -ENOSPC : __real_os_populate(at, bytes);
}

static bool takes_from_file(void)
{
    struct segment *s = segment_take(SEGMENT_SLAB, PIECE / 64, 64, 0);
    MUST(s);
    segment_publish(s);
    return run_contains(s);
}

static uint32_t areas_in_use(void)
{
    uint64_t bytes, used;
    segment_room(&bytes, &used);
    return (uint32_t)(bytes / run_header()->area_bytes);
}

/* Refuse the first page of a new area; later the image uses the file again. */
static void a_full_file_system_with_room_later(void)
{
    run_here();
    for (uint64_t bytes, used = 0; used + PIECE + 4096 < run_header()->area_bytes;
         segment_room(&bytes, &used))
        MUST(takes_from_file() && areas_in_use() == 1);
    is_full = true;
    MUST(!takes_from_file() && !takes_from_file());
    MUST(areas_in_use() == 1);
    is_full = false;
    MUST(takes_from_file());
    MUST(areas_in_use() == 2);
}

IN_CHILD(a_full_file_system_with_room_later)

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_full_file_system_with_room_later)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

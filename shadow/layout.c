/*
 * layout.c - the geometry of a run file: offsets and lengths of its parts.
 */
#include <errno.h>
#include <string.h>

#include "shadow.h"

static bool shape_is_sane(const struct run_shape *shape)
{
    uint64_t tables = RTC_AREA_TABLE_OFFSET +
                      (uint64_t)shape->area_count * sizeof(struct area_entry) +
                      (uint64_t)RTC_LEASE_COUNT * sizeof(struct lease) +
                      (uint64_t)RTC_UNCHECKED_COUNT * sizeof(struct unchecked_record) +
                      (uint64_t)RTC_HEAPS_MAX * sizeof(struct heap_slot);
    return is_pow2(shape->area_bytes) && shape->area_bytes <= RTC_FILE_BYTES_MAX &&
           shape->heap_bytes <= RTC_FILE_BYTES_MAX && shape->heap_count <= RTC_HEAPS_MAX &&
           !shape->heap_bytes == !shape->heap_count && shape->area_count >= 2 &&
           shape->area_count <= RTC_AREA_COUNT_MAX && tables <= shape->area_bytes &&
           run_file_bytes(shape) <= RTC_FILE_BYTES_MAX &&
           (shape->mode == RUN_BY_LAUNCHER || shape->mode == RUN_BY_HAND);
}

uint64_t run_file_bytes(const struct run_shape *shape)
{
    return shape->area_bytes * shape->area_count +
           shape->heap_count * align_up(shape->heap_bytes, 4096);
}

#define HEAPS_SHARE \
    (RTC_FILE_BYTES_MAX / 16 * 15) /* of the file's size: the other part is for areas */

uint32_t run_heap_count(uint64_t heap_bytes)
{
    uint64_t count = heap_bytes ? HEAPS_SHARE / heap_bytes : 0;
    return count < RTC_HEAPS_MAX ? (uint32_t)count : RTC_HEAPS_MAX;
}

/* Copy at most room - 1 bytes, and always terminate with a NUL. */
static void copy_text(char *to, const char *from, size_t room)
{
    size_t n = 0;
    while (from && from[n] && n < room - 1)
        n++;
    if (n)
        memcpy(to, from, n);
    to[n] = '\0';
}

int run_header_init(struct run_header *run, const struct run_shape *shape)
{
    if (!shape_is_sane(shape))
        return -EINVAL;
    run->version_major = RTC_VERSION_MAJOR;
    run->version_minor = RTC_VERSION_MINOR;
    run->file_bytes = run_file_bytes(shape);
    run->area_bytes = shape->area_bytes;
    run->area_count = shape->area_count;
    run->lease_count = RTC_LEASE_COUNT;
    run->area_table_offset = RTC_AREA_TABLE_OFFSET;
    run->lease_table_offset =
        RTC_AREA_TABLE_OFFSET + (uint64_t)shape->area_count * sizeof(struct area_entry);
    run->unchecked_offset = run_leases_end(run);
    run->heap_bytes = align_up(shape->heap_bytes, 4096);
    run->heap_count = shape->heap_count;
    run->heap_table_offset = shape->heap_count ? run_unchecked_end(run) : 0;
    run->heap_offset = shape->heap_bytes ? shape->area_bytes * shape->area_count : 0;
    run->start_ns = shape->start_ns;
    run->mode = shape->mode;
    run->uid = shape->uid;
    run->launcher_pid = shape->launcher_pid;
    copy_text(run->host, shape->host, sizeof run->host);
    copy_text(run->folder, shape->folder, sizeof run->folder);
    copy_text(run->options, shape->options, sizeof run->options);
    run->next_area = 1; /* area 0 is the run itself */
    /*
     * The magic makes the file a run file; pairs with the acquire load of a process that maps it.
     */
    __atomic_store_n(&run->magic, RTC_RUN_MAGIC, __ATOMIC_RELEASE);
    return 0;
}

void lease_release(struct lease *l, uint32_t state, uint32_t pid)
{
    typedef uint64_t __attribute__((may_alias)) lease_word;
    static_assert(offsetof(struct lease, state) == 0 && offsetof(struct lease, pid) == 4,
                  "state and pid change as one word");
    uint64_t seen = (uint64_t)pid << 32 | state;
    if (state == LEASE_HELD || state == LEASE_EXECED)
        __atomic_compare_exchange_n((lease_word *)(void *)l, &seen, LEASE_FREE, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

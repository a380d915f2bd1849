/*
 * heap_file.c - the heaps in the run file (heap=file).
 *
 * The file has several heaps of one size, sparse, for as many processes.  All of them are reserved as
 * PROT_NONE, as the areas are, so a forked child needs no descriptor for a heap of its own: a mapping of
 * its part of the file is made from that reservation.  The heap that is in use is mapped elsewhere,
 * where heap/space.c wants it.
 *
 * A heap belongs to its process until another one needs it.  Then the heaps of dead processes are emptied:
 * first those whose records are no longer in the file, at last all.  So what a killed process had in
 * its heap can be read as long as possible.  The launcher empties those whose records it has read.
 */
#include "runfile_priv.h"

#include <sys/resource.h>

#define PID_UNKNOWN UINT32_MAX /* in the owner of a slot: the process counts as alive */

static struct {
    char *window;
    uint64_t bytes; /* of one heap */
    uint32_t count; /* in the window */
    uint32_t used;  /* 1 + number of this process's heap; 0: it is private */
} heaps;

static struct heap_slot *slot_of(uint32_t number)
{
    return &run_heap_slots(run_header())[number];
}

static char *part_of(uint32_t number)
{
    return heaps.window + number * heaps.bytes;
}

/* Fewer heaps if the address space is limited. */
void heap_files_map(int fd, const struct run_header *h)
{
    uint32_t count = os_limit(RLIMIT_AS) == UINT64_MAX ? h->heap_count : h->heap_count > 0;
    for (; h->heap_table_offset && count; count /= 2) {
        char *p = os_reserve_file(NULL, fd, count * h->heap_bytes, h->heap_offset);
        if (os_failed(p))
            continue;
        os_dont_dump(p, count * h->heap_bytes);
        heaps.window = p;
        heaps.bytes = h->heap_bytes;
        heaps.count = count;
        return;
    }
}

uint64_t heap_file_bytes(void)
{
    return heaps.bytes;
}

bool heap_files_contain(const void *p)
{
    return (uintptr_t)p - (uintptr_t)heaps.window < heaps.count * heaps.bytes;
}

/* ---- which are free -------------------------------------------------------------------------- */

/* A hole again, for the next owner.  The mapping must be writable for that. */
static bool empty(uint32_t number)
{
    bool is_empty = os_allow(part_of(number), heaps.bytes) == 0 &&
                    os_release_file(part_of(number), heaps.bytes) == 0;
    os_protect(part_of(number), heaps.bytes, 0);
    return is_empty;
}

static bool has_records(uint32_t image)
{
    uint32_t used = atomic_load_explicit(&run_header()->next_area, memory_order_relaxed);
    for (uint32_t i = 1; i < used && i < run_area_limit(); i++)
        if (atomic_load_explicit(&run_areas()[i].owner, memory_order_relaxed) ==
            area_owner(AREA_CLAIMED, image))
            return true;
    return false;
}

static bool is_over(uint64_t owner, bool even_with_records)
{
    uint32_t pid = (uint32_t)(owner >> 32), image = (uint32_t)owner;
    return owner && pid != PID_UNKNOWN && pid && os_process_gone(pid) &&
           (even_with_records || !image || !has_records(image));
}

/* While it is emptied, it belongs to this process. */
static void empty_if(uint32_t number, uint64_t owner)
{
    uint64_t own = heap_owner(PID_UNKNOWN, 0);
    if (atomic_compare_exchange_strong(&slot_of(number)->owner, &owner, own) && empty(number))
        atomic_store(&slot_of(number)->owner, 0);
}

static void empty_dead(bool even_with_records)
{
    for (uint32_t i = 0; i < heaps.count && !os_sandboxed(); i++) {
        uint64_t owner = atomic_load(&slot_of(i)->owner);
        if (is_over(owner, even_with_records))
            empty_if(i, owner);
    }
}

static uint32_t take_free(void)
{
    for (uint32_t i = 0; i < heaps.count; i++) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&slot_of(i)->owner, &none, heap_owner(PID_UNKNOWN, 0)))
            return i + 1;
    }
    return 0;
}

uint32_t heap_file_take(void)
{
    if (!heaps.count || run_is_cut())
        return 0;
    empty_dead(false);
    uint32_t taken = take_free();
    if (!taken) {
        empty_dead(true);
        taken = take_free();
    }
    return taken;
}

void heap_file_drop(uint32_t number_1)
{
    uint64_t owner = number_1 ? atomic_load(&slot_of(number_1 - 1)->owner) : 0;
    if (owner)
        empty_if(number_1 - 1, owner);
}

/* ---- this process's ---------------------------------------------------------------------------- */

uint64_t heap_file_offset(uint32_t number_1)
{
    return run_header_at_start()->heap_offset + (number_1 - 1) * heaps.bytes;
}

int heap_file_map(uint32_t number_1, uint64_t offset, uint64_t bytes, void *at)
{
    return os_map_again(part_of(number_1 - 1) + offset, bytes, at);
}

void heap_file_use(uint32_t number_1)
{
    heaps.used = number_1;
}

uint32_t heap_file_used(void)
{
    return heaps.used;
}

/* Keep the other half of the owner: the parent sets the pid, the child its number. */
void heap_file_set_pid(uint32_t number_1, uint32_t pid)
{
    _Atomic uint64_t *owner = &slot_of(number_1 - 1)->owner;
    uint64_t was = atomic_load(owner);
    while (!atomic_compare_exchange_weak(owner, &was, heap_owner(pid, (uint32_t)was)))
        ;
}

void heap_file_set_image(void)
{
    uint32_t pid = image_pid();
    if (!heaps.used)
        return;
    _Atomic uint64_t *owner = &slot_of(heaps.used - 1)->owner;
    uint64_t was = atomic_load(owner), now;
    do
        now = heap_owner(pid ? pid : (uint32_t)(was >> 32), image_number());
    while (!atomic_compare_exchange_weak(owner, &was, now));
}

void heap_file_set_shared(void)
{
    if (!heaps.used)
        return;
    _Atomic uint64_t *owner = &slot_of(heaps.used - 1)->owner;
    uint64_t was = atomic_load(owner);
    while (!atomic_compare_exchange_weak(owner, &was, heap_owner(PID_UNKNOWN, (uint32_t)was)))
        ;
}

void heap_files_after_exec(void)
{
    uint32_t pid = image_pid();
    for (uint32_t i = 0; pid && i < heaps.count; i++) {
        uint64_t owner = atomic_load(&slot_of(i)->owner);
        if (i + 1 != heaps.used && owner >> 32 == pid)
            empty_if(i, owner);
    }
}

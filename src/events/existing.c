/*
 * existing.c - replay of existing memory: mappings as reported by the kernel, without those of the
 * runtime except the heap, and the announced memory of devices and private allocators.
 *
 * Announcements are stored in a hash table with chains, in memory that grows in steps.  The table
 * is protected by srcu_lock.
 */
#include "events_priv.h"

#define CHAINS 1024u
#define ROOM_BYTES (64ull << 20) /* address space */
#define STEP_BYTES (256ull << 10)

struct announced {
    union rtc_event event; /* member mem_type */
    uint32_t next;         /* number + 1 of the next in its chain or in the free list; 0: end */
};

static struct {
    struct announced *all; /* NULL: not reserved yet */
    uint32_t made, room;
    uint32_t free;
    uint32_t chain[CHAINS];
} known;

static uint32_t *chain_of(const void *address)
{
    return &known.chain[((uintptr_t)address >> 6 ^ (uintptr_t)address >> 16) % CHAINS];
}

/* Allocate a number; 0: no memory. */
static uint32_t new_number(void)
{
    uint32_t number = known.free;
    if (number) {
        known.free = known.all[number - 1].next;
        return number;
    }
    if (!known.all) {
        void *at = os_reserve(NULL, ROOM_BYTES, false);
        if (os_failed(at))
            return 0;
        known.all = at;
    }
    if (known.made == known.room) {
        uint64_t have = align_down((uint64_t)known.room * sizeof *known.all, PAGE_BYTES);
        have = known.room ? align_up((uint64_t)known.room * sizeof *known.all, STEP_BYTES) : 0;
        if (have == ROOM_BYTES || os_allow((char *)known.all + have, STEP_BYTES))
            return 0;
        known.room = (uint32_t)((have + STEP_BYTES) / sizeof *known.all);
    }
    return ++known.made;
}

static void remember(const union rtc_event *e)
{
    uint32_t number = new_number(), *chain = chain_of(e->mem_type.address);
    if (!number)
        return;
    known.all[number - 1] = (struct announced){*e, *chain};
    *chain = number;
}

static bool forget(void *address, union rtc_event *e)
{
    for (uint32_t *at = chain_of(address); *at; at = &known.all[*at - 1].next) {
        struct announced *a = &known.all[*at - 1];
        if (a->event.mem_type.address != address)
            continue;
        uint32_t number = *at;
        *e = a->event;
        *at = a->next;
        a->event.mem_type.address = NULL;
        a->event.mem_type.size = 0;
        a->next = known.free;
        known.free = number;
        return true;
    }
    return false;
}

static void notify_all(uint32_t type, const union rtc_event *e)
{
    struct visit v;
    visit_begin(&v);
    for (uint32_t i = 0; i < v.count; i++) {
        union rtc_event own = *e;
        visit_notify_one(&v, &v.to[i], type, &own);
    }
    visit_end(&v);
}

EXPORT void rtc_mem_type_alloc(void *address, size_t size, int mem_type, int sys_dev,
                               unsigned mem_flags)
{
    union rtc_event e = {.mem_type = {address, size, mem_type, sys_dev, mem_flags}};
    srcu_lock();
    remember(&e);
    srcu_unlock();
    notify_all(RTC_EVENT_MEM_TYPE_ALLOC, &e);
}

EXPORT void rtc_mem_type_free(void *address)
{
    union rtc_event e = {.mem_type = {address, 0, 0, 0, 0}};
    srcu_lock();
    forget(address, &e);
    srcu_unlock();
    notify_all(RTC_EVENT_MEM_TYPE_FREE, &e);
}

/* ---- replay ---------------------------------------------------------------------------------- */

static void notify_announced(struct visit *v, const struct handler *h)
{
    for (uint32_t i = 0;; i++) {
        srcu_lock(); /* not held during the callback */
        bool more = i < known.made;
        union rtc_event e = more ? known.all[i].event : (union rtc_event){0};
        srcu_unlock();
        if (!more)
            return;
        if (e.mem_type.size || e.mem_type.address)
            visit_notify_one(v, h, RTC_EVENT_MEM_TYPE_ALLOC, &e);
    }
}

bool existing_program_range(struct range r, uintptr_t *at, struct range *piece)
{
    uintptr_t own, own_end;
    for (*at = *at > r.start ? *at : r.start; *at < r.end; *at = own_end) {
        os_next_own(*at, &own, &own_end);
        *piece = (struct range){*at, own < r.end ? own : r.end};
        if (piece->start < piece->end) {
            *at = piece->end;
            return true;
        }
    }
    return false;
}

static void notify_mapped(struct visit *v, const struct handler *h, struct range r)
{
    union rtc_event e = {.vm_mapped = {(void *)r.start, r.end - r.start}};
    if (r.start < r.end)
        visit_notify_one(v, h, RTC_EVENT_VM_MAPPED, &e);
}

/* Report the memory that malloc uses, and the memory it used before the heap was ready. */
static void notify_heap(struct visit *v, const struct handler *h)
{
    uintptr_t start, end;
    bootstrap_range(&start, &end);
    notify_mapped(v, h, (struct range){start, align_up(end, PAGE_BYTES)});
    struct range heaps = {heap.base, heap.base + notice_existing()};
    uintptr_t own, own_end;
    for (uintptr_t at = heaps.start; at < heaps.end;
         at = own_end) { /* excludes mappings of the program in the heap's range */
        os_next_own(at, &own, &own_end);
        if (own < heaps.end)
            notify_mapped(v, h, (struct range){own, own_end < heaps.end ? own_end : heaps.end});
    }
}

static void notify_mappings(struct visit *v, const struct handler *h)
{
    struct mappings all;
    struct mapping m;
    if (os_mappings_open(&all))
        return;
    while (os_mappings_next(&all, &m)) {
        struct range piece;
        uintptr_t at = 0;
        if (m.start >> 47) /* [vsyscall]: belongs to the kernel */
            continue;
        while (existing_program_range((struct range){m.start, m.end}, &at, &piece))
            notify_mapped(v, h, piece);
    }
    os_mappings_close(&all);
}

void existing_notify(struct visit *v, const struct handler *h)
{
    if (h->events & RTC_EVENT_VM_MAPPED) {
        notify_heap(v, h);
        notify_mappings(v, h);
    }
    if (h->events & RTC_EVENT_MEM_TYPE_ALLOC)
        notify_announced(v, h);
}

/*
 * unmap.c - reports of invalid unmaps, before they are made. They are warnings, since the kernel
 * permits such calls.
 *
 *   our heap          the program's blocks are there
 *   a thread's stack  of a running thread, registered or not
 *   nothing           memory that is not mapped: a second munmap, or one that is too long
 *
 * The mapping table is searched first, since that is cheap. The kernel's list decides, since memory
 * that was mapped unseen is not in the table.
 *
 * The runtime's own memory stays mapped, the heap included. The kernel may have placed some of it
 * into a hole that the program made in the range. Without it the runtime would crash.
 *
 * For the same reason nothing is mapped over memory that we use: such a call fails with ENOMEM.
 * Memory that we have only reserved (PROT_NONE) may be replaced, so a program that needs fixed
 * addresses gets them. So may memory inside a block, which is the program's own. Parts of the heap
 * without a block in use are taken from the pool first (heap/foreign.c), so freed blocks may be
 * replaced too. munmap leaves them unchanged.
 */
#include "init.h"

#define RANGES_END (ADDRESSES_END - PAGE_BYTES) /* the kernel refuses ranges that end above */
#define PAGES_LOOKED_AT 64u   /* probed one by one, which is cheaper than the list of mappings */
#define THREADS_LOOKED_AT 64u /* with more, only ranges that the table lacks are examined */
#define STOPS_TRIED 8u        /* each takes 20 ms at most */
#define UNKNOWN_LOOKED_AT 16u /* threads that have never called us */

/*
 * Threads that have never called us are found by the address of their robust list, which the kernel
 * returns. libc keeps that list in the thread's control block.
 */
struct unknown {
    uintptr_t above, end;
    bool found;
};

static void look_at_thread(uint32_t tid, void *about)
{
    struct unknown *u = about;
    if (u->found || tid == os_tid() || threads_number_of(tid))
        return;
    uintptr_t block = os_thread_list(tid);
    u->found = block > u->above && block < u->end;
}

static COLD bool is_of_unknown(uintptr_t start, uintptr_t end)
{
    struct unknown u = {start, end, false};
    uint32_t threads = os_threads(), known = threads_alive();
    return threads > known && threads - known <= UNKNOWN_LOOKED_AT && !os_on_alternate_stack() &&
           !os_each_thread(look_at_thread, &u) && u.found;
}

/* Main's control block lies elsewhere; its stack is named [stack]. */
static bool is_mains(const struct mapping *m, struct error_record *region)
{
    bool mains = text_equal(m->path, "[stack]");
    region->region_thread = mains ? threads_main() : 0;
    return mains && os_tid() != os_pid() && os_thread_state(os_pid()) != OS_THREAD_OVER;
}

/* Is a thread's control block in the range, or in the mapping around it? */
static bool is_known(uintptr_t start, uintptr_t end, uintptr_t at, struct error_record *region,
                     bool *nobodys)
{
    struct thread_fact fact = threads_on_stack(start, end, at);
    region->region_thread = fact.number;
    *nobodys = !fact.number;
    return fact.number && !fact.ended && (!self || fact.number != self->number);
}

static COLD bool is_stack(const struct mapped_call *c, uintptr_t start, uintptr_t end,
                          struct error_record *region)
{
    struct mapping m = {.start = c->around, .end = c->around_end};
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    bool nobodys;
    if ((c->whole && threads_alive() > THREADS_LOOKED_AT) || (here >= start && here < end) ||
        os_threads() == 1 || (!c->whole && os_mapping_of(start, &m) != 1))
        return false;
    uintptr_t top = m.end > end ? m.end : end;
    region->region = REGION_STACK_OTHER;
    return is_known(m.start, top, start, region, &nobodys) || is_mains(&m, region) ||
           (nobodys && is_of_unknown(start, top));
}

static void hole_by_pages(uintptr_t start, uintptr_t end, uintptr_t hole[2])
{
    while (start < end && os_all_mapped(start, PAGE_BYTES))
        start += PAGE_BYTES;
    hole[0] = start;
    while (start < end && !os_all_mapped(start, PAGE_BYTES))
        start += PAGE_BYTES;
    hole[1] = start;
}

/* Not inlined: its list must be off the stack when the hole is reported. */
static COLD void hole_by_list(uintptr_t start, uintptr_t end, uintptr_t hole[2])
{
    struct mappings all;
    struct mapping m;
    hole[0] = hole[1] = end;
    if (os_mappings_open(&all))
        return;
    hole[0] = start;
    while (os_mappings_next(&all, &m) && m.start < end) {
        if (m.start > hole[0]) {
            hole[1] = m.start;
            break;
        }
        hole[0] = m.end > hole[0] ? m.end : hole[0];
    }
    os_mappings_close(&all);
}

/* Find the first hole; false: another thread has filled it by now. */
static bool find_hole(uintptr_t start, uintptr_t end, struct error_record *region)
{
    uintptr_t hole[2];
    if (end - start <= PAGES_LOOKED_AT * PAGE_BYTES)
        hole_by_pages(start, end, hole);
    else
        hole_by_list(start, end, hole);
    region->region = REGION_UNMAPPED;
    region->region_start = hole[0];
    region->region_end = hole[1];
    return hole[0] < end;
}

static void report_unmap(const struct mapped_call *c, uint32_t op, uintptr_t start, uintptr_t end,
                         const struct error_record *region)
{
    struct section s;
    if (!section_begin(&s))
        return;
    struct found f = pool_find((const void *)start);
    struct error_call call = {
        .t = s.t, .write_epoch = s.write_epoch, .op = op, .stack = stack_put(s.t, c->at)};
    error_unmap(&call, start, end - start, region->region == REGION_HEAP ? &f : NULL, region);
    section_end(&s);
}

COLD bool unmap_look(const struct mapped_call *c, uintptr_t start, uintptr_t end)
{
    struct error_record region = {.region = REGION_HEAP};
    uintptr_t own, own_end;
    if (!c->t || start >= end || end > RANGES_END)
        return false;
    bool heap = unmap_is_heap(start, end);
    if (!c->whole || heap)
        os_next_own(start, &own, &own_end);
    bool has_own = !c->whole && own < end;
    if (heap && own < end)
        report_unmap(c, OP(MUNMAP, MALLOC), start, end, &region);
    else if (is_stack(c, start, end, &region) ||
             (!c->whole && !has_own && !os_all_mapped(start, end - start) &&
              find_hole(start, end, &region)))
        report_unmap(c, OP(MUNMAP, MALLOC), start, end, &region);
    return has_own;
}

/* If the kernel's list cannot be read, only the heap counts as in use. */
static bool is_in_use(uintptr_t start, uintptr_t end)
{
    struct mappings all;
    struct mapping m;
    uintptr_t own, own_end;
    bool found = false;
    os_next_own(start, &own, &own_end);
    if (own >= end)
        return false;
    if (os_mappings_open(&all))
        return unmap_is_heap(start, end);
    while (!found && os_mappings_next(&all, &m) && m.start < end) {
        os_next_own(m.start > start ? m.start : start, &own, &own_end);
        found = m.protection && m.end > start && own < (m.end < end ? m.end : end);
    }
    os_mappings_close(&all);
    return found;
}

static bool is_in_a_block(uintptr_t start, uintptr_t end)
{
    struct known_block b;
    return client_find((const void *)start, &b) != KNOWN_NOT && end <= b.start + b.bytes;
}

/* Is nothing of [start, end) ours outside of the heap's address space? */
static bool is_alone_in_heap(uintptr_t start, uintptr_t end)
{
    return (start >= heap.base || !is_in_use(start, heap.base)) &&
           (end <= heap_space_end() || !is_in_use(heap_space_end(), end));
}

/*
 * A thread that lost its processor inside a section leaves it sooner or later, so this is retried.
 */
static bool stop_writers(void)
{
    for (unsigned i = 0; i < STOPS_TRIED; i++)
        if (fork_stop_writers())
            return true;
    return false;
}

/* Give the heap's part of [start, end) to the program. false: the heap keeps it. */
static bool take_from_heap(uintptr_t start, uintptr_t end)
{
    struct section s;
    uintptr_t from = start > heap.base ? start : heap.base, own, own_end;
    uintptr_t to = end < heap_space_end() ? end : heap_space_end();
    if (from >= to)
        return false;
    os_next_own(from, &own, &own_end);
    if (own >= to || !is_alone_in_heap(start, end) || !self ||
        (!os_has(OS_QUIESCE) && !threads_is_alone()) || !stop_writers())
        return false;
    bool begun = section_begin(&s), done = begun && heap_make_foreign(from, to, s.write_epoch);
    fork_resume_writers();
    if (begun)
        section_end(&s); /* only now: callbacks of the program may follow */
    return done;
}

COLD bool unmap_refuse(const struct mapped_call *c, uint32_t op, uintptr_t start, uintptr_t end,
                       bool over)
{
    struct error_record region = {.region = unmap_is_heap(start, end) ? REGION_HEAP : REGION_NONE};
    if (end > RANGES_END || is_in_a_block(start, end) || (over && take_from_heap(start, end)) ||
        !is_in_use(start, end))
        return false;
    report_unmap(c, op, start, end, &region);
    return true;
}

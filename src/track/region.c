/*
 * region.c - the memory region of an address at which no block of ours begins.
 *
 * Looked up once for each error site, from the cheapest source to the most expensive: this thread's
 * alternate stack (kernel), objects (loader), mappings (/proc/self/maps). A mapping that contains a
 * thread's control block is that thread's stack, up to the block: libc places one in the other.
 */
#include "init.h"
#include "mutant.h"

#include <string.h>

#define NULL_BYTES 65536u /* nothing is ever mapped below (vm.mmap_min_addr) */

static bool object_region(uintptr_t at, struct error_record *e)
{
    struct object o;
    if (!loader_find(at, &o))
        return false;
    e->region = REGION_MODULE;
    e->region_module = modules_number(&o, true);
    e->region_start = o.start;
    e->region_end = o.end;
    e->region_bias = o.bias;
    return true;
}

static bool alternate_region(uintptr_t at, struct error_record *e)
{
    uintptr_t start, end;
    if (!os_alternate_stack(&start, &end) || at < start || at >= end)
        return false;
    e->region = REGION_STACK_ALTERNATE;
    e->region_start = start;
    e->region_end = end;
    return true;
}

/* The present stack was not made by libc for a thread: it is main's, or the program's own. */
static bool is_here(const struct mapping *m)
{
    uintptr_t here = helper_program_sp();
    return here >= m->start && here < m->end && !threads_on_stack(m->start, m->end, here).number;
}

static void stack_region(uintptr_t at, const struct mapping *m, struct error_record *e)
{
    bool is_main = text_equal(m->path, "[stack]");
    struct thread_fact fact = threads_on_stack(m->start, m->end, at);
    uint32_t whose = is_main ? threads_main() : fact.number;
    e->region_thread = whose;
    if (whose ? self && whose == self->number : is_here(m))
        e->region = REGION_STACK;
    else if (is_main || (whose && !fact.ended))
        e->region = REGION_STACK_OTHER;
    else if (whose)
        e->region = REGION_STACK_ENDED;
}

static void mapped_region(uintptr_t at, struct error_record *e)
{
    struct mapping m;
    int known = os_mapping_of(at, &m);
    if (known < 0) {
        e->region = os_is_readable(at) ? REGION_UNKNOWN : REGION_UNMAPPED;
        return;
    }
    e->region = known ? REGION_MAPPED : REGION_UNMAPPED;
    if (!known)
        return;
    e->region_start = m.start;
    e->region_end = m.end;
    memcpy(e->region_path, m.path, sizeof m.path);
    stack_region(at, &m, e);
}

void region_of(uintptr_t at, struct error_record *e)
{
    if (MUTANT(NO_REGION))
        e->region = REGION_UNKNOWN;
    else if (at < NULL_BYTES)
        e->region = REGION_NULL;
    else if (pool_find((const void *)at).verdict != PTR_FOREIGN)
        e->region = REGION_HEAP;
    else if (!alternate_region(at, e) && !object_region(at, e))
        mapped_region(at, e);
}

/* ---- libc's own blocks ----------------------------------------------------------------------- */

bool region_is_libcs(const void *p)
{
    static struct {
        _Atomic uintptr_t start, end;
    } brk; /* libc's heap, as found last: it only grows */
    struct mapping m = {.start = atomic_load_explicit(&brk.start, memory_order_relaxed),
                        .end = atomic_load_explicit(&brk.end, memory_order_relaxed),
                        .path = "[heap]"};
    uintptr_t at = (uintptr_t)p;
    struct object o;
    if (at < NULL_BYTES || loader_find(at, &o))
        return false;
    if ((at < m.start || at >= m.end) && (os_mapping_of(at, &m) != 1 || !m.writable))
        return false;
    if (text_equal(m.path, "[heap]")) {
        atomic_store_explicit(&brk.end, m.end, memory_order_relaxed);
        atomic_store_explicit(&brk.start, m.start, memory_order_relaxed);
    }
    return libc_is_chunk(at, m.start, m.end, text_equal(m.path, "[heap]"));
}

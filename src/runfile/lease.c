/*
 * lease.c - the run's table of leases, shared by all processes: which records may still be read.
 */
#include "runfile_priv.h"

static bool lease_alive(struct lease *l)
{
    uint32_t state = atomic_load_explicit(&l->state, memory_order_acquire);
    uint32_t pid = atomic_load_explicit(&l->pid, memory_order_relaxed);
    return state == LEASE_FORKING || (state == LEASE_HELD && !(pid && os_process_gone(pid)));
}

bool image_is_read(uint32_t number, unsigned depth)
{
    struct lease *leases = run_leases();
    for (uint32_t i = 0; i < run_header()->lease_count; i++) {
        struct lease *l = &leases[i];
        if (atomic_load_explicit(&l->state, memory_order_acquire) == LEASE_FREE ||
            l->parent != number)
            continue;
        uint32_t child = atomic_load_explicit(&l->child, memory_order_relaxed);
        if (lease_alive(l) || depth == 0 || (child && image_is_read(child, depth - 1)))
            return true;
    }
    return false;
}

bool lease_needed(struct lease *l)
{
    uint32_t child = atomic_load_explicit(&l->child, memory_order_relaxed);
    return lease_alive(l) || (child && image_is_read(child, 4));
}

void leases_drop_unneeded(void)
{
    for (uint32_t i = 0; i < run_header()->lease_count; i++) {
        struct lease *l = &run_leases()[i];
        uint32_t state = atomic_load_explicit(&l->state, memory_order_acquire);
        uint32_t pid = atomic_load_explicit(&l->pid, memory_order_relaxed);
        if (state != LEASE_FREE && !lease_needed(l))
            lease_release(l, state, pid);
    }
}

void leases_exec(uint32_t pid)
{
    for (uint32_t i = 0; i < run_header()->lease_count; i++) {
        struct lease *l = &run_leases()[i];
        uint32_t held = LEASE_HELD;
        if (atomic_load_explicit(&l->pid, memory_order_relaxed) == pid)
            atomic_compare_exchange_strong(&l->state, &held, LEASE_EXECED);
    }
}

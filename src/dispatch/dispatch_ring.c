/*
 * dispatch_ring.c - io_setup and io_destroy, which map and unmap a ring; libc has no functions for
 * them.
 *
 * The context number is the address of the ring.  Its size is only available from /proc/self/maps.
 * A forked child inherits the mapping of a ring but not the context: io_destroy then fails, and the
 * ring stays mapped.
 */
#include "dispatch_priv.h"

#include <sys/mman.h>
#include <sys/syscall.h>

static struct range ring_at(uintptr_t context)
{
    struct mapping m;
    if (os_mapping_of(context, &m) != 1 || m.start != context || !text_starts(m.path, "/[aio]"))
        return NO_RANGE;
    return (struct range){m.start, m.end};
}

static void notify_range(const struct origin *o, uint32_t type, struct range r)
{
    struct visit v;
    if (!o->is_reported || r.start >= r.end)
        return;
    visit_begin(&v);
    visit_notify_range(&v, type, r);
    visit_end(&v);
}

long dispatch_ring_setup(struct origin o, const long a[6])
{
    struct mapped_call c;
    uintptr_t context = 0;
    mapped_at(&c, o.at);
    mapped_begin(&c);
    long result = os_pass(SYS_io_setup, a[0], a[1], 0, 0, 0, 0);
    struct range ring =
        !result && os_dispatch_look(a[1], &context, sizeof context) ? ring_at(context) : NO_RANGE;
    struct map_region r = region_of_call(ring, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
    mapped_new(&c, &r);
    notify_range(&o, RTC_EVENT_VM_MAPPED, ring);
    mapped_end(&c);
    return result;
}

long dispatch_ring_destroy(struct origin o, const long a[6])
{
    struct mapped_call c;
    struct range ring = ring_at((uintptr_t)a[0]);
    mapped_at(&c, o.at);
    c.unmaps = true;
    notify_range(&o, RTC_EVENT_VM_UNMAPPED, ring);
    mapped_take(&c, ring.start, ring.end);
    long result = os_pass(SYS_io_destroy, a[0], 0, 0, 0, 0, 0);
    if (result) {
        notify_range(&o, RTC_EVENT_VM_CANCELLED, ring);
        mapped_unchanged(&c, ring.start, ring.end);
    }
    mapped_unmapped(&c, !result && ring.start < ring.end);
    mapped_end(&c);
    return result;
}

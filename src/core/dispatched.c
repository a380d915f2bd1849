/*
 * dispatched.c - what came of events=all, in the run file.
 *
 * Counted in memory of the process, where a handler may write whatever state we are in; written
 * down now and then, and at the end.  The page is wiped at a fork, so a child counts from its first
 * call on; where the kernel does not do that, from when it is seen to be one.  One that does
 * nothing with memory has no image, and what it did is not written down.
 */
#include "core.h"

#define WRITTEN_EVERY 64u

static struct dispatched wiped_by_hand;
struct dispatched *dispatched = &wiped_by_hand;

static struct {
    _Atomic(struct dispatch_record *) at; /* NULL: none yet, or no room */
    _Atomic uint32_t image;               /* whose */
    struct dispatched_record known;
} record;

/* In a section. */
static void make(void)
{
    struct segment *s = segment_take(SEGMENT_DISPATCHED, 1, sizeof *record.at, 0);
    struct dispatch_record *r = s ? segment_items(s) : NULL;
    if (!r)
        return;
    r->error = record.known.error;
    r->call_ns = record.known.call_ns;
    r->measured = record.known.measured;
    atomic_store(&record.at, r);
    atomic_store_explicit(&s->count, 1, memory_order_relaxed);
    segment_publish(s);
}

static void write_down(_Atomic uint64_t *to, uint64_t n)
{
    atomic_store_explicit(to, n, memory_order_relaxed);
}

void dispatched_write(void)
{
    struct section s;
    if (!record.known.is_requested || !section_begin(&s))
        return;
    if (atomic_exchange(&record.image, image()->image) != image()->image)
        make();
    struct dispatch_record *r = atomic_load(&record.at);
    if (r) {
        write_down(&r->calls, atomic_load(&dispatched->calls));
        write_down(&r->reported, atomic_load(&dispatched->reported));
        write_down(&r->uncovered, atomic_load(&dispatched->uncovered) + os_dispatch_missed());
    }
    section_end(&s);
}

void dispatched_start(void)
{
    struct dispatched *made = os_map(PAGE_BYTES);
    if (os_failed(made))
        return;
    if (os_wipe_on_fork(made, PAGE_BYTES))
        os_unmap(made, PAGE_BYTES);
    else
        dispatched = made;
}

void dispatched_begin(int err, uint32_t ns, uint32_t measured)
{
    record.known = (struct dispatched_record){true, err, ns, measured};
    dispatched_write();
}

struct dispatched_record dispatched_state(void)
{
    return record.known;
}

void dispatched_count_reported(void)
{
    if (atomic_fetch_add(&dispatched->reported, 1) % WRITTEN_EVERY == 0)
        dispatched_write();
}

void dispatched_after_fork(void)
{
    atomic_store(&record.at, NULL); /* the parent's */
    atomic_store(&wiped_by_hand.calls, 0);
    atomic_store(&wiped_by_hand.reported, 0);
    atomic_store(&wiped_by_hand.uncovered, 0);
}

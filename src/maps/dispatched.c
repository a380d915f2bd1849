/*
 * dispatched.c - statistics of events=all (dispatch of every system call) in the run file.
 *
 * The counters are in the process's memory, where a SIGSYS handler can write in any state of the
 * runtime. They are copied to the run file at every WRITTEN_EVERY-th reported call, and at the end.
 * The kernel wipes their page at a fork, so a child counts from its first call. If the kernel does
 * not support that, a child counts from the point where the fork is detected. A child that performs
 * no memory operation has no image, and its counts are lost.
 */
#include "init.h"

#define WRITTEN_EVERY 64u

static struct dispatched wiped_by_hand;
struct dispatched *dispatched = &wiped_by_hand;

static struct {
    _Atomic(struct dispatch_record *) at; /* NULL: not made yet, or no room */
    _Atomic uint32_t image;               /* number of the image that `at` belongs to */
    struct dispatched_record known;
} record;

/* Call inside a section. */
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
    atomic_store(&record.at, NULL); /* it is the parent's */
    atomic_store(&wiped_by_hand.calls, 0);
    atomic_store(&wiped_by_hand.reported, 0);
    atomic_store(&wiped_by_hand.uncovered, 0);
}

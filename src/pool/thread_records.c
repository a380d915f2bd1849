/*
 * thread_records.c - the thread records of the run file: one for each living thread, and for the last ones
 * that ended.
 *
 * A server with a thread for each connection must not grow with every connection, so records of ended threads
 * are used again, the oldest first, once ENDED_KEPT of them wait.  The thread that gets one has a number of its
 * own: numbers are never used twice, so a block that an ended thread allocated is never attributed to another
 * thread.  Its number stays in the report; the name is lost with the record.
 *
 * What the ended thread counted moves to the *sum*, a record without a tid, because reports add up all records.
 * Records that somebody refers to (struct thread.keep_record) are not used again.
 *
 * The list of those that wait is in private memory: the program can write to the records.
 */
#include "pool_priv.h"

#define ENDED_KEPT 1024u
#define PLACES_MAX (BLOCK_THREAD_MASK + 1)

static struct {
    struct segment *chunk[PLACES_MAX / THREAD_CHUNK];
    uint32_t behind[PLACES_MAX]; /* place + 1 of the next record that waits, 0 = none */
    uint32_t oldest, newest;     /* place + 1, 0 = none waits */
    uint32_t waiting;
    uint32_t chunks;
    struct thread_record *sum; /* NULL: no record was used again yet */
} records;

/* Counters of threads that have no place in the file. */
static struct thread_record uncounted;

bool thread_record_counts(const struct thread_record *r)
{
    return r != &uncounted;
}

struct thread_record *thread_record_of_all(void)
{
    return &uncounted;
}

static struct thread_record *at_place(uint32_t place)
{
    return (struct thread_record *)segment_items(records.chunk[place / THREAD_CHUNK]) +
           place % THREAD_CHUNK;
}

static uint32_t used_places(void)
{
    if (!records.chunks)
        return 0;
    const struct segment *last = records.chunk[records.chunks - 1];
    return (records.chunks - 1) * THREAD_CHUNK +
           atomic_load_explicit(&last->count, memory_order_relaxed);
}

/* A place that was never used; NULL: no memory. */
static struct thread_record *append(uint32_t *place)
{
    uint32_t used = used_places();
    if (used == PLACES_MAX)
        return NULL;
    if (used == records.chunks * THREAD_CHUNK) {
        struct segment *s = segment_take(SEGMENT_THREADS, THREAD_CHUNK,
                                         sizeof(struct thread_record), records.chunks);
        if (!s)
            return NULL;
        segment_publish(s);
        records.chunk[records.chunks++] = s;
    }
    *place = used;
    return at_place(used);
}

/* Readers look at no record beyond this one. */
static void publish(uint32_t place)
{
    atomic_store_explicit(&records.chunk[place / THREAD_CHUNK]->count, place % THREAD_CHUNK + 1,
                          memory_order_release);
}

static void move(_Atomic uint64_t *to, _Atomic uint64_t *from)
{
    atomic_fetch_add_explicit(to, atomic_load_explicit(from, memory_order_relaxed),
                              memory_order_relaxed);
    atomic_store_explicit(from, 0, memory_order_relaxed);
}

static void empty_into_sum(struct thread_record *r)
{
    struct thread_record *sum = records.sum;
    atomic_store_explicit(&r->tid, 0, memory_order_release);
    move(&sum->allocs, &r->allocs);
    move(&sum->frees, &r->frees);
    move(&sum->reallocs, &r->reallocs);
    move(&sum->alloc_bytes, &r->alloc_bytes);
    move(&sum->free_bytes, &r->free_bytes);
    sum->inherited_blocks += r->inherited_blocks;
    sum->inherited_bytes += r->inherited_bytes;
    r->inherited_blocks = r->inherited_bytes = 0;
    atomic_store_explicit(&r->gone, 0, memory_order_relaxed);
}

static bool has_sum(void)
{
    uint32_t place;
    if (!records.sum && (records.sum = append(&place)))
        publish(place);
    return records.sum;
}

/* The record that has waited longest; NULL: too few wait. */
static struct thread_record *reuse(uint32_t *place)
{
    if (records.waiting <= ENDED_KEPT || !has_sum())
        return NULL;
    *place = records.oldest - 1;
    records.oldest = records.behind[*place];
    records.newest = records.oldest ? records.newest : 0;
    records.waiting--;
    empty_into_sum(at_place(*place));
    return at_place(*place);
}

struct thread_record *thread_record_take(uint32_t *place)
{
    struct thread_record *r = reuse(place);
    if (!r)
        r = append(place);
    return r ? r : &uncounted;
}

void thread_record_publish(struct thread_record *r, uint32_t place)
{
    atomic_store_explicit(&r->tid, os_tid(), memory_order_release);
    if (place == used_places())
        publish(place);
}

void thread_record_end(uint32_t place)
{
    records.behind[place] = 0;
    if (records.newest)
        records.behind[records.newest - 1] = place + 1;
    else
        records.oldest = place + 1;
    records.newest = place + 1;
    records.waiting++;
}

void thread_records_after_fork(void)
{
    records.chunks = records.waiting = 0;
    records.oldest = records.newest = 0;
    records.sum = NULL;
    memset(&uncounted, 0, sizeof uncounted);
}

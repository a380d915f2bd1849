/*
 * thread_records.c - the thread records of the run file: for each living thread, and for recently
 * ended ones.
 *
 * The file of a server with a thread per connection must not grow with every connection.  So
 * records of ended threads are reused, the oldest first, once ENDED_KEPT of them wait.  The new
 * thread gets a new number: numbers are never reused, so a block of an ended thread is never
 * attributed to another thread.  The report still shows the number of the ended thread; its name is
 * lost with the record.
 *
 * The counters of the ended thread are added to the *sum*, a record without a tid, because reports
 * add up all records.  Records that are referenced (struct thread.keep_record) are not reused.
 *
 * The list of waiting records is in private memory, because the program can write to the records.
 * Callers hold the lock of threads.c, except where only one thread runs.
 */
#include "runfile_priv.h"

#define ENDED_KEPT 1024u
#define RECORDS_MAX (BLOCK_THREAD_MASK + 1)

static struct {
    struct segment *chunk[RECORDS_MAX / THREAD_CHUNK];
    uint32_t next_waiting[RECORDS_MAX]; /* index + 1 of the next waiting record, 0 = none */
    uint32_t oldest, newest;            /* index + 1, 0 = none waits */
    uint32_t waiting;
    uint32_t chunks;
    struct thread_record *sum; /* NULL: no record was reused yet */
} records;

/* Counters of threads that have no record in the file. */
static struct thread_record uncounted;

bool thread_record_counts(const struct thread_record *r)
{
    return r != &uncounted;
}

struct thread_record *thread_record_of_all(void)
{
    return &uncounted;
}

static struct thread_record *record_at(uint32_t record_number)
{
    return (struct thread_record *)segment_items(records.chunk[record_number / THREAD_CHUNK]) +
           record_number % THREAD_CHUNK;
}

static uint32_t used_records(void)
{
    if (!records.chunks)
        return 0;
    const struct segment *last = records.chunk[records.chunks - 1];
    return (records.chunks - 1) * THREAD_CHUNK +
           atomic_load_explicit(&last->count, memory_order_relaxed);
}

/* Return a record that was never used; NULL: no memory. */
static struct thread_record *append(uint32_t *record_number)
{
    uint32_t used = used_records();
    if (used == RECORDS_MAX)
        return NULL;
    if (used == records.chunks * THREAD_CHUNK) {
        struct segment *s = segment_take(SEGMENT_THREADS, THREAD_CHUNK,
                                         sizeof(struct thread_record), records.chunks);
        if (!s)
            return NULL;
        segment_publish(s);
        records.chunk[records.chunks++] = s;
    }
    *record_number = used;
    return record_at(used);
}

/* Readers ignore records beyond this one. */
static void publish(uint32_t record_number)
{
    atomic_store_explicit(&records.chunk[record_number / THREAD_CHUNK]->count,
                          record_number % THREAD_CHUNK + 1, memory_order_release);
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
    uint32_t record_number;
    if (!records.sum && (records.sum = append(&record_number)))
        publish(record_number);
    return records.sum;
}

/* Return the record that has waited longest; NULL: too few wait. */
static struct thread_record *reuse(uint32_t *record_number)
{
    if (records.waiting <= ENDED_KEPT || !has_sum())
        return NULL;
    *record_number = records.oldest - 1;
    records.oldest = records.next_waiting[*record_number];
    records.newest = records.oldest ? records.newest : 0;
    records.waiting--;
    empty_into_sum(record_at(*record_number));
    return record_at(*record_number);
}

struct thread_record *thread_record_take(uint32_t *record_number)
{
    struct thread_record *r = reuse(record_number);
    if (!r)
        r = append(record_number);
    return r ? r : &uncounted;
}

void thread_record_publish(struct thread_record *r, uint32_t record_number)
{
    atomic_store_explicit(&r->tid, os_tid(), memory_order_release);
    if (record_number == used_records())
        publish(record_number);
}

void thread_record_end(uint32_t record_number)
{
    records.next_waiting[record_number] = 0;
    if (records.newest)
        records.next_waiting[records.newest - 1] = record_number + 1;
    else
        records.oldest = record_number + 1;
    records.newest = record_number + 1;
    records.waiting++;
}

void thread_records_after_fork(void)
{
    records.chunks = records.waiting = 0;
    records.oldest = records.newest = 0;
    records.sum = NULL;
    memset(&uncounted, 0, sizeof uncounted);
}

/*
 * test_threads.c - the list of thread structs: its state after a fork, and stopping of other
 * threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "heap.h"
#include "../in_child.h"

#include <cmocka.h>

static pthread_barrier_t *there, done;

static void start(void)
{
    MUST(heap_start(false) == 0);
    image_start(&(struct image_request){.how = IMAGE_ROOT, .first_thread = 1});
    fork_start(NULL, FORK_HEAP_PRIVATE);
    MUST(threads_register() == self && self);
}

static void *stay(void *unused)
{
    (void)unused;
    MUST(threads_register() == self && self);
    pthread_barrier_wait(there);
    pthread_barrier_wait(&done);
    return NULL;
}

static void add_threads(int count)
{
    pthread_t thread;
    static pthread_barrier_t each[4];
    static int calls;
    MUST(calls < 4);
    there = &each[calls++]; /* a barrier must not be reinitialized while a thread leaves it */
    pthread_barrier_init(there, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++)
        MUST(pthread_create(&thread, NULL, stay, NULL) == 0);
    pthread_barrier_wait(there);
}

static unsigned length_of(const struct thread *t)
{
    unsigned n = 0;
    for (; t; t = t->next)
        n++;
    return n;
}

/* The fallback struct, for threads past their end, is in the middle of the list. */
static void orphans_around_fallback(void)
{
    start();
    pthread_barrier_init(&done, NULL, 6);
    add_threads(3);
    MUST(threads_fallback_take()->is_fallback);
    threads_fallback_drop();
    add_threads(2);
    MUST(length_of(threads_first()) == 7 && threads_alive() == 6);
    MUST(length_of(threads_after_fork(self)) == 5);
    MUST(threads_first() == self && !self->next && threads_alive() == 1);
    MUST(!threads_fallback_take()->bin[0].count && length_of(threads_first()) == 2);
}

static void fork_leaves_others(void **state)
{
    (void)state;
    assert_int_equal(in_child(orphans_around_fallback), 0);
}

static long faults(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_minflt;
}

/* Unused structs are not touched: each page costs a child as much as thousands of instructions. */
static void few_pages(void)
{
    start();
    long before = faults();
    MUST(!threads_after_fork(self) && threads_first() == self);
    MUST(faults() - before < 10);
}

static void fork_touches_little(void **state)
{
    (void)state;
    assert_int_equal(in_child(few_pages), 0);
}

/* ---- stopping writers ------------------------------------------------------------------------ */

static void *fork_for_long(void *unused)
{
    MUST(threads_register() == self && self);
    fork_prepare();
    pthread_barrier_wait(there); /* it waits for a lock of libc that the test holds */
    pthread_barrier_wait(&done);
    fork_parent();
    return unused;
}

static void stop_in_time(void)
{
    pthread_t thread;
    pthread_barrier_t both;
    start();
    there = &both;
    pthread_barrier_init(&both, NULL, 2);
    pthread_barrier_init(&done, NULL, 2);
    MUST(fork_stop_writers() && epoch_page->epoch == 0);
    fork_resume_writers();
    MUST(epoch_page->epoch == fork_epoch());
    MUST(pthread_create(&thread, NULL, fork_for_long, NULL) == 0);
    pthread_barrier_wait(&both);
    alarm(60);
    MUST(!fork_stop_writers());
    pthread_barrier_wait(&done);
    pthread_join(thread, NULL);
    MUST(fork_stop_writers());
    fork_resume_writers();
}

static struct thread *somebody_else(void)
{
    struct thread *t = threads_first();
    while (t == self)
        t = t->next;
    MUST(t);
    return t;
}

/* A thread that is just counting is waited for, for a second; one that is only inside is not. */
static void count_at_once(void)
{
    struct thread_totals sum, before;
    start();
    pthread_barrier_init(&done, NULL, 2);
    add_threads(1);
    struct thread *t = somebody_else();
    MUST(threads_totals_at_once(&before));
    atomic_store(&t->crit, 16); /* as inside of a section */
    atomic_store(&t->counting, true);
    atomic_fetch_add(&t->record->allocs, 1);
    uint64_t begin = os_clock_ns();
    MUST(threads_totals_at_once(&sum) && os_clock_ns() - begin >= 1000000000);
    MUST(epoch_page->epoch == fork_epoch() && !handshake_answer(t)); /* it has ended */
    atomic_fetch_add(&t->record->alloc_bytes, 100);
    atomic_store(&t->counting, false);
    MUST(threads_totals_at_once(&sum));
    MUST(sum.allocs == before.allocs + 1 && sum.alloc_bytes == before.alloc_bytes + 100);
    MUST(threads_record_at_once(t->record, &sum) && sum.allocs >= 1 && sum.alloc_bytes >= 100);
    atomic_store(&t->crit, 0);
    MUST(threads_record_of(t->tid) == t->record && !threads_record_of(os_pid() + 100000));
}

static void counts_at_once(void **state)
{
    (void)state;
    assert_int_equal(in_child(count_at_once), 0);
}

#define CALLS 5000000u
#define IDLE 60 /* other threads, which make reading slow */
static _Atomic bool enough;
static _Atomic(struct thread_record *) counting;

static void bump(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* Enter and leave sections, and count calls in them. */
static void *count_on(void *unused)
{
    MUST(threads_register() == self && self);
    struct thread_record *r = self->record;
    counting = r;
    while (!enough) {
        atomic_store(&self->crit, 16);
        bool may_count = epoch_page->epoch || handshake_is_answered(self);
        if (may_count) {
            atomic_store(&self->counting, true);
            bump(&r->allocs, 1);
            bump(&r->alloc_bytes, 100);
            atomic_store_explicit(&self->counting, false, memory_order_release);
        }
        atomic_store_explicit(&self->crit, 0, memory_order_release);
        if (!may_count)
            handshake_answer(self);
    }
    return unused;
}

/* While a thread counts, each sum read is consistent. */
static void count_while_counting(void)
{
    pthread_t thread;
    struct thread_totals sum;
    struct thread_record *r;
    start();
    pthread_barrier_init(&done, NULL, IDLE + 1);
    add_threads(IDLE);
    MUST(pthread_create(&thread, NULL, count_on, NULL) == 0);
    while (!(r = counting))
        os_yield();
    while (atomic_load_explicit(&r->allocs, memory_order_relaxed) < CALLS) {
        MUST(threads_totals_at_once(&sum) && sum.alloc_bytes == 100 * sum.allocs);
        MUST(threads_record_at_once(r, &sum) && sum.alloc_bytes == 100 * sum.allocs);
    }
    enough = true;
    pthread_join(thread, NULL);
}

static void counts_whole_moments(void **state)
{
    (void)state;
    assert_int_equal(in_child(count_while_counting), 0);
}

#define MANY 5000u
#define RECORDS 1200u

static bool is_among(struct thread_record *const *seen, uint32_t count,
                     const struct thread_record *r)
{
    while (count && seen[count - 1] != r)
        count--;
    return count != 0;
}

/* One thread after another: each has its own number, and few records suffice for all. */
static void end_one_after_the_other(void)
{
    static struct thread_record *seen[RECORDS];
    struct thread_record *kept = NULL;
    uint32_t count = 0, number = 1;
    start();
    for (uint32_t i = 0; i < MANY; i++) {
        threads_remove(self);
        self = NULL;
        MUST(threads_register() == self && self->number == ++number &&
             self->record->number == number);
        MUST(self->record != kept && self->record->allocs == 0);
        bump(&self->record->allocs, 3);
        if (i == 10)
            MUST((kept = threads_record_of(os_tid())) == self->record);
        if (!is_among(seen, count, self->record)) {
            MUST(count < RECORDS);
            seen[count++] = self->record;
        }
    }
    MUST(kept->number == 12 && kept->allocs == 3 && threads_totals().allocs == 3 * MANY);
}

static void uses_records_again(void **state)
{
    (void)state;
    assert_int_equal(in_child(end_one_after_the_other), 0);
}

static void leave_word(void *word)
{
    *(void *volatile *)(self->helper.room + HELPER_STACK_BYTES / 2) = word;
}

/* Stale words on the helper stack are wiped: a leak scan would take them for pointers to blocks. */
static void leave_pointers_on_helper_stack(void)
{
    start();
    helper_call(leave_word, (void *)leave_word);
    threads_wipe_stale();
    for (size_t i = 0; i < HELPER_STACK_BYTES; i++)
        MUST(self->helper.room[i] == 0);
}

static void wipes_helper_stacks(void **state)
{
    (void)state;
    assert_int_equal(in_child(leave_pointers_on_helper_stack), 0);
}

static void stops_in_time(void **state)
{
    (void)state;
    assert_int_equal(in_child(stop_in_time), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fork_leaves_others),   cmocka_unit_test(fork_touches_little),
        cmocka_unit_test(uses_records_again),   cmocka_unit_test(stops_in_time),
        cmocka_unit_test(wipes_helper_stacks),  cmocka_unit_test(counts_at_once),
        cmocka_unit_test(counts_whole_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

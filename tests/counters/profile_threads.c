/*
 * profile_threads.c - rows of profile.def: while threads allocate, fork, and are interrupted.
 */
#include "profile.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

static _Atomic bool stop;
static _Atomic unsigned running, rest;

/* Some threads are nearly always inside the allocator, others nearly never. */
static void *allocate_and_release(void *slot)
{
    unsigned me = (unsigned)(uintptr_t)slot;
    running++;
    while (!stop) {
        allocate(me, 1);
        release(me, 1);
        for (volatile unsigned i = 0; i < rest; i++)
            ;
    }
    return NULL;
}

static void start_all(pthread_t *thread, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        must(pthread_create(&thread[i], NULL, allocate_and_release, (void *)(uintptr_t)i) == 0);
    while (running < n)
        sched_yield();
}

static void join_all(const pthread_t *thread, unsigned n)
{
    stop = true;
    for (unsigned i = 0; i < n; i++)
        must(pthread_join(thread[i], NULL) == 0);
}

static struct ids {
    uint32_t allocs, frees, alloc_bytes, free_bytes, blocks, bytes;
} ids;

static void find_ids(rtc_profile_t *p)
{
    ids = (struct ids){id_of(p, "alloc_calls"), id_of(p, "free_calls"),  id_of(p, "alloc_bytes"),
                       id_of(p, "free_bytes"),  id_of(p, "blocks_live"), id_of(p, "bytes_live")};
}

static uint64_t value(rtc_profile_t *p, uint32_t id)
{
    uint64_t value;
    must(rtc_profile_read_u64(p, id, &value) == 0);
    return value;
}

/* Every block of the threads has the same size, so bytes give the number of blocks; *others: all other bytes. */
static bool is_torn(rtc_profile_t *p, uint64_t *others)
{
    uint64_t blocks = value(p, ids.allocs) - value(p, ids.frees), bytes = value(p, ids.bytes);
    *others = bytes - BYTES * blocks;
    return blocks != value(p, ids.blocks) || blocks > 1 << 20 ||
           bytes != value(p, ids.alloc_bytes) - value(p, ids.free_bytes);
}

/* No moment is torn; stop at the first one that is. */
void row_one_moment(void)
{
    pthread_t thread[THREADS];
    rtc_profile_t *p = open_process();
    find_ids(p);
    start_all(thread, THREADS);
    uint64_t first = 0, others;
    for (uint64_t taken = 0; taken < moments;) {
        rest = taken % 1000 < 900 ? 20 * (unsigned)(taken % 32) : 0;
        must(rtc_profile_start_reads(p, 0) == 0);
        must(!is_torn(p, &others) && (!taken || others == first));
        first = others;
        taken++;
        must(rtc_profile_end_reads(p, 0) == 0);
    }
    join_all(thread, THREADS);
}

/* Values read from a snapshot do not change while four threads allocate. */
void row_stability(void)
{
    pthread_t thread[4];
    rtc_profile_t *p = open_process();
    find_ids(p);
    rest = 1000; /* else it is the moment that is waited for */
    start_all(thread, 4);
    for (unsigned i = 0; i < 30; i++) {
        must(rtc_profile_start_reads(p, 0) == 0);
        uint64_t allocs = value(p, ids.allocs), frees = value(p, ids.frees), others;
        for (unsigned j = 0; j < 4; j++) {
            sched_yield();
            must(value(p, ids.allocs) == allocs && value(p, ids.frees) == frees &&
                 !is_torn(p, &others));
        }
        must(rtc_profile_end_reads(p, 0) == 0);
    }
    join_all(thread, 4);
}

static struct {
    _Atomic int tid, stage;
} other;

static void *allocate_on_request(void *unused)
{
    allocate(1, 1);
    other.tid = (int)syscall(SYS_gettid);
    while (other.stage == 0)
        sched_yield();
    allocate(2, 7);
    release(2, 2);
    other.stage = 2;
    while (other.stage == 2)
        sched_yield();
    return unused;
}

void row_threads(void)
{
    pthread_t thread;
    rtc_profile_t *p, *own;
    must(pthread_create(&thread, NULL, allocate_on_request, NULL) == 0);
    while (!other.tid)
        sched_yield();
    must(rtc_profile_open(RTC_PROFILE_THREAD, (uint64_t)other.tid, 0, &p, NULL) == 0);
    must(rtc_profile_open(RTC_PROFILE_THREAD, 0, 0, &own, NULL) == 0);
    must(rtc_profile_reset(p, 0) == 0 && rtc_profile_reset(own, 0) == 0);
    other.stage = 1;
    while (other.stage != 2)
        sched_yield();
    allocate(3, 20);
    must(read_var(p, "alloc_calls") == 7 && read_var(p, "free_calls") == 2);
    must(read_var(p, "alloc_bytes") == 7 * BYTES && read_var(p, "free_bytes") == 2 * BYTES);
    must(read_var(own, "alloc_calls") == 20);
    other.stage = 3;
    must(pthread_join(thread, NULL) == 0);
    must(read_var(p, "alloc_calls") >= 7); /* the count does not decrease */
}

void row_forks(void)
{
    rtc_profile_t *p = open_process(), *thread;
    uint64_t value;
    must(rtc_profile_open(RTC_PROFILE_THREAD, 0, 0, &thread, NULL) == 0);
    uint64_t allocs = read_var(p, "alloc_calls");
    pid_t pid = fork();
    if (pid == 0) {
        must(read_var(p, "alloc_calls") == allocs);
        allocate(0, 4);
        must(read_var(p, "alloc_calls") == allocs + 4 && read_var(p, "threads_live") == 1);
        must(rtc_profile_read_u64(thread, 1, &value) == -ESRCH &&
             rtc_profile_reset(thread, 0) == -ESRCH);
        must(rtc_profile_close(thread) == 0 && rtc_profile_close(p) == 0);
        _exit(0);
    }
    must_end_well(pid);
    must(read_var(p, "alloc_calls") == allocs);
}

static rtc_profile_t *shared;
static volatile sig_atomic_t known, unknown;

static void read_in_handler(int signal)
{
    uint64_t value;
    (void)signal;
    int err = rtc_profile_read_u64(shared, 1, &value);
    must(err == 0 || err == -EAGAIN);
    if (err)
        unknown = unknown + 1;
    else
        known = known + 1;
}

/* Interrupt the row at short intervals. */
static void interrupt(void (*handler)(int))
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;
    signal(SIGUSR1, handler);
    must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    must(timer_settime(timer, 0, &(struct itimerspec){{0, 200000}, {0, 200000}}, NULL) == 0);
}

void row_handlers(void)
{
    shared = open_process();
    interrupt(read_in_handler);
    while (known + unknown < 300) {
        allocate(0, 16);
        release(0, 16);
    }
}

static int ignore_event(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
                        void *context)
{
    (void)p, (void)event, (void)param, (void)size, (void)context;
    return 0;
}

static void change_in_handler(int signal)
{
    rtc_profile_t *p = NULL;
    (void)signal;
    must(rtc_profile_open(RTC_PROFILE_PROCESS, 0, 0, &p, NULL) == 0);
    must(rtc_profile_register_callback(p, 1, ignore_event, NULL) == 0 && rtc_profile_close(p) == 0);
    known = known + 1;
}

/* A handler that interrupts a change makes its own. */
void row_handlers_change(void)
{
    shared = open_process();
    interrupt(change_in_handler);
    while (known < 300) {
        must(rtc_profile_register_callback(shared, 1, ignore_event, NULL) == 0);
        must(rtc_profile_register_callback(shared, 1, NULL, NULL) == 0);
    }
}

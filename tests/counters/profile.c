/*
 * profile.c - the contract of rtcheck/profile.h, row by row.
 *
 *     profile [--reads N] [ROW...]     N: snapshots that `one_moment` takes; without the runtime: "absent"
 *
 * rtc-build: -pthread
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../events/alone.h"
#include "rtcheck/profile.h"

#define THREADS 8
#define BYTES 100

static unsigned long reads = 20000;

/* ---- what the rows use ---------------------------------------------------------------------------- */

static rtc_profile_t *open_process(void)
{
    rtc_profile_t *p = NULL;
    must(rtc_profile_open(RTC_PROFILE_PROCESS, 0, 0, &p, NULL) == 0 && p);
    return p;
}

static uint32_t id_of(rtc_profile_t *p, const char *name)
{
    struct rtc_profile_desc list[32];
    size_t count = 32;
    ssize_t n = rtc_profile_query_vars(p, list, &count);
    for (ssize_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return list[i].id;
    return 0;
}

static uint64_t read_var(rtc_profile_t *p, const char *name)
{
    uint64_t value = 77;
    must(rtc_profile_read_u64(p, id_of(p, name), &value) == 0);
    return value;
}

static void *volatile kept[THREADS][64];

static void allocate(unsigned who, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        must((kept[who][i] = malloc(BYTES)));
}

static void release(unsigned who, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        free(kept[who][i]);
}

/* ---- profiles and descriptors --------------------------------------------------------------------- */

static void row_open(void)
{
    rtc_profile_t *p = NULL;
    int context;
    must(rtc_profile_open((enum rtc_profile_domain)0, 0, 0, &p, NULL) == -ENOSYS);
    must(rtc_profile_open((enum rtc_profile_domain)3, 0, 0, &p, NULL) == -ENOSYS);
    must(rtc_profile_open(RTC_PROFILE_PROCESS, 1, 0, &p, NULL) == -EINVAL);
    must(rtc_profile_open(RTC_PROFILE_PROCESS, 0, 1, &p, NULL) == -EINVAL);
    must(rtc_profile_open(RTC_PROFILE_PROCESS, 0, 0, NULL, NULL) == -EINVAL);
    must(rtc_profile_open(RTC_PROFILE_THREAD, 1ull << 32, 0, &p, NULL) == -EINVAL);
    must(rtc_profile_open(RTC_PROFILE_THREAD, (uint64_t)getppid(), 0, &p, NULL) == -ESRCH && !p);
    errno = 55;
    must(rtc_profile_open(RTC_PROFILE_PROCESS, 0, 0, &p, &context) == 0 && errno == 55);
    must(rtc_profile_context(p) == &context && !rtc_profile_context(NULL));
    must(rtc_profile_close(p) == 0 && rtc_profile_close(NULL) == -EINVAL);
    must(rtc_profile_reset(NULL, 0) == -EINVAL && rtc_profile_start_reads(NULL, 0) == -EINVAL);
    must(rtc_profile_end_reads(NULL, 0) == -EINVAL);
}

static void row_query(void)
{
    struct rtc_profile_desc list[16], other[16];
    rtc_profile_t *p = open_process(), *thread;
    size_t count = 5, all;
    must(rtc_profile_open(RTC_PROFILE_THREAD, 0, 0, &thread, NULL) == 0);
    must(rtc_profile_query_vars(p, NULL, &count) == 0 && count == 9);
    all = count;
    memset(list, 0x5a, sizeof list);
    count = 3; /* short */
    must(rtc_profile_query_vars(p, list, &count) == 3 && count == all && list[3].id == 0x5a5a5a5a);
    count = all; /* exact */
    must(rtc_profile_query_vars(p, list, &count) == (ssize_t)all && count == all);
    must(list[all].id == 0x5a5a5a5a);
    count = 16; /* long */
    must(rtc_profile_query_vars(p, other, &count) == (ssize_t)all && count == all);
    must(memcmp(list, other, all * sizeof *list) == 0); /* strings, too, are the same ones */
    count = 0;
    must(rtc_profile_query_vars(p, list, &count) == 0 && count == all);
    must(rtc_profile_query_vars(p, list, NULL) == -EINVAL && rtc_profile_query_vars(NULL, list, &count) == -EINVAL);
    for (size_t i = 0; i < all; i++) {
        must(list[i].datatype_sel == RTC_PROFILE_PRIMITIVE && list[i].size == sizeof(uint64_t));
        must(list[i].datatype.primitive == RTC_PROFILE_UINT64 && list[i].desc[0]);
        for (size_t j = 0; j < i; j++)
            must(list[i].id != list[j].id && strcmp(list[i].name, list[j].name) != 0);
    }
    count = 16;
    must(rtc_profile_query_vars(thread, other, &count) == 4 && count == 4);
    for (size_t i = 0; i < 4; i++) /* the same name, the same id */
        must(other[i].id == id_of(p, other[i].name) && other[i].flags == RTC_PROFILE_COUNTER);
}

static void row_unlisted(void)
{
    uint64_t value = 5;
    rtc_profile_t *p = open_process(), *thread;
    must(rtc_profile_open(RTC_PROFILE_THREAD, 0, 0, &thread, NULL) == 0);
    must(rtc_profile_read_u64(p, 0, &value) == -EINVAL && rtc_profile_read_u64(p, 10, &value) == -EINVAL);
    must(rtc_profile_read_u64(p, UINT32_MAX, &value) == -EINVAL);
    must(rtc_profile_read_u64(thread, id_of(p, "blocks_live"), &value) == -EINVAL);
    must(rtc_profile_read_u64(NULL, 1, &value) == -EINVAL && value == 5);
}

/* ---- values --------------------------------------------------------------------------------------- */

static void row_counts(void)
{
    rtc_profile_t *p = open_process();
    uint64_t allocs = read_var(p, "alloc_calls"), frees = read_var(p, "free_calls");
    uint64_t bytes = read_var(p, "alloc_bytes"), freed = read_var(p, "free_bytes");
    uint64_t blocks = read_var(p, "blocks_live"), live = read_var(p, "bytes_live");
    allocate(0, 10);
    release(0, 4);
    must(read_var(p, "alloc_calls") == allocs + 10 && read_var(p, "free_calls") == frees + 4);
    must(read_var(p, "alloc_bytes") == bytes + 10 * BYTES && read_var(p, "free_bytes") == freed + 4 * BYTES);
    must(read_var(p, "blocks_live") == blocks + 6 && read_var(p, "bytes_live") == live + 6 * BYTES);
    must(read_var(p, "bytes_peak") >= live + 6 * BYTES && read_var(p, "heap_bytes") > 0);
    must(read_var(p, "threads_live") == 1);
}

static void row_reset(void)
{
    rtc_profile_t *p = open_process(), *other = open_process();
    uint64_t before = read_var(other, "alloc_calls"), blocks = read_var(p, "blocks_live");
    must(rtc_profile_reset(p, 1) == -EINVAL && rtc_profile_reset(p, 0) == 0);
    allocate(0, 3);
    must(read_var(p, "alloc_calls") == 3 && read_var(p, "alloc_bytes") == 3 * BYTES);
    must(read_var(p, "free_calls") == 0 && read_var(p, "blocks_live") == blocks + 3); /* a state */
    must(read_var(other, "alloc_calls") == before + 3); /* for one profile alone */
    must(rtc_profile_start_reads(p, 0) == 0 && rtc_profile_reset(p, 0) == -EBUSY);
    must(rtc_profile_end_reads(p, 0) == 0 && rtc_profile_reset(p, 0) == 0);
    must(read_var(p, "alloc_calls") == 0);
}

static void row_snapshots(void)
{
    rtc_profile_t *p = open_process();
    must(rtc_profile_end_reads(p, 0) == -EINVAL && rtc_profile_start_reads(p, 1) == -EINVAL);
    must(rtc_profile_start_reads(p, 0) == 0);
    uint64_t allocs = read_var(p, "alloc_calls");
    allocate(0, 5);
    must(read_var(p, "alloc_calls") == allocs);
    must(rtc_profile_start_reads(p, 0) == 0 && read_var(p, "alloc_calls") == allocs); /* the same one */
    must(rtc_profile_end_reads(p, 0) == 0 && read_var(p, "alloc_calls") == allocs);
    must(rtc_profile_end_reads(p, 0) == 0 && read_var(p, "alloc_calls") == allocs + 5);
    must(rtc_profile_end_reads(p, 0) == -EINVAL);
}

static _Atomic bool stop;
static _Atomic unsigned running, rest;

/* Some threads are hardly ever outside the allocator, others hardly ever in it. */
static void *allocate_and_release(void *who)
{
    unsigned me = (unsigned)(uintptr_t)who;
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

/* Every block of the threads has the same size, so bytes tell the number of blocks. */
static void row_one_moment(void)
{
    pthread_t thread[THREADS];
    rtc_profile_t *p = open_process();
    start_all(thread, THREADS);
    uint64_t first = 0, torn = 0, taken = 0;
    while (taken < reads) {
        rest = taken % 1000 < 500 ? 2000 : 0;
        int err = rtc_profile_start_reads(p, 0);
        must(err == 0 || err == -EAGAIN);
        if (err)
            continue;
        uint64_t blocks = read_var(p, "alloc_calls") - read_var(p, "free_calls");
        uint64_t others = read_var(p, "bytes_live") - BYTES * blocks;
        first = taken++ ? first : others;
        torn += others != first || blocks != read_var(p, "blocks_live") || blocks > 1 << 20 ||
                read_var(p, "bytes_live") != read_var(p, "alloc_bytes") - read_var(p, "free_bytes");
        must(rtc_profile_end_reads(p, 0) == 0);
    }
    join_all(thread, THREADS);
    if (torn)
        fprintf(stderr, "%llu of %lu torn\n", (unsigned long long)torn, reads);
    must(torn == 0);
}

/* ---- threads, forks, handlers --------------------------------------------------------------------- */

static struct {
    _Atomic int tid, stage;
} other;

static void *allocate_when_told(void *unused)
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

static void row_threads(void)
{
    pthread_t thread;
    rtc_profile_t *p, *own;
    must(pthread_create(&thread, NULL, allocate_when_told, NULL) == 0);
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
    must(read_var(p, "alloc_calls") >= 7); /* it stays */
}

static void row_forks(void)
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
        must(rtc_profile_read_u64(thread, 1, &value) == -ESRCH && rtc_profile_reset(thread, 0) == -ESRCH);
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

static void row_handlers(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;
    shared = open_process();
    signal(SIGUSR1, read_in_handler);
    must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    must(timer_settime(timer, 0, &(struct itimerspec){{0, 200000}, {0, 200000}}, NULL) == 0);
    while (known + unknown < 300) {
        allocate(0, 16);
        release(0, 16);
    }
}

/* ---- rows ----------------------------------------------------------------------------------------- */

static const struct row row[] = {
    {"open", row_open},       {"query", row_query},         {"unlisted", row_unlisted},
    {"counts", row_counts},   {"reset", row_reset},         {"snapshots", row_snapshots},
    {"threads", row_threads}, {"one_moment", row_one_moment}, {"forks", row_forks},
    {"handlers", row_handlers},
};

/* It is known to the runtime. */
static void allocate_once(void)
{
    free(malloc(1));
}

int main(int argc, char **argv)
{
    const struct rows all = {row, sizeof row / sizeof row[0], 600, allocate_once};
    if (argc > 2 && strcmp(argv[1], "--reads") == 0) {
        reads = strtoul(argv[2], NULL, 10);
        argv += 2;
        argc -= 2;
    }
    return rows_main(&all, rtc_profile_open, argc, argv);
}

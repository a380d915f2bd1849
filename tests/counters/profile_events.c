/*
 * profile_events.c - rows of profile.def: delivery of events, and what a callback may do.
 */
#include "profile.h"

#include "rtcheck/check.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* ---- a callback that takes note ------------------------------------------------------------------- */

static struct {
    _Atomic unsigned count;
    rtc_profile_t *profile;
    struct rtc_profile_desc event;
    bool data;
    size_t size;
    void *context;
    union {
        uint64_t word[5];
        struct rtc_profile_alloc_error alloc_error;
        struct rtc_profile_bad_free bad_free;
        struct rtc_profile_scan scan;
        struct rtc_profile_pool pool;
        struct rtc_profile_thread_exit thread_exit;
    };
    pid_t tid;
} delivered;

static int take_note(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
                     void *context)
{
    delivered.profile = p;
    delivered.event = *event;
    delivered.data = param;
    delivered.size = size;
    delivered.context = context;
    must(size <= sizeof delivered.word && size == event->size && !param == !size);
    memcpy(delivered.word, param ? param : delivered.word, size);
    delivered.tid = (pid_t)syscall(SYS_gettid);
    delivered.count++;
    errno = 99; /* not visible to the program */
    return -1;  /* nor is this */
}

static bool was_delivered(rtc_profile_t *p, const char *event)
{
    bool was = delivered.count == 1 && delivered.profile == p &&
               strcmp(delivered.event.name, event) == 0 && delivered.context == &delivered;
    if (!was)
        fprintf(stderr, "told %u times, of %s\n", delivered.count, delivered.event.name);
    delivered.count = 0;
    return was;
}

/* ---- each event ----------------------------------------------------------------------------------- */

void row_alloc_error(void)
{
    rtc_profile_t *p = open_process();
    listen_to(p, "alloc_error", take_note, &delivered);
    errno = 0;
    must(!malloc((size_t)1 << 50) && errno == ENOMEM);
    must(was_delivered(p, "alloc_error") && delivered.alloc_error.bytes == (uint64_t)1 << 50 &&
         delivered.alloc_error.site);
    volatile size_t half = SIZE_MAX / 2;
    must(!calloc(half, 4) && was_delivered(p, "alloc_error"));
    void *volatile q = malloc(10);
    must(!realloc(q, (size_t)1 << 50) && was_delivered(p, "alloc_error"));
    must(malloc(10) && delivered.count == 0);
}

void row_bad_free(void)
{
    static long no_block[4];
    rtc_profile_t *p = open_process();
    char *q = malloc(100);
    listen_to(p, "bad_free", take_note, &delivered);
    free(malloc(10));
    must(delivered.count == 0);
    free_badly(q + 16);
    must(was_delivered(p, "bad_free") && delivered.bad_free.kind == RTC_PROFILE_MAF);
    must(delivered.bad_free.address == (uintptr_t)q + 16 && delivered.bad_free.site);
    errno = 5;
    free_badly(no_block + 2);
    must(errno == 5 && was_delivered(p, "bad_free") && delivered.bad_free.kind == RTC_PROFILE_BAF);
    free(q);
    for (unsigned i = 0; i < 3; i++) { /* also for repeated errors */
        free_badly(q);
        must(was_delivered(p, "bad_free") && delivered.bad_free.kind == RTC_PROFILE_DUF);
    }
    must(delivered.tid == (pid_t)syscall(SYS_gettid) && delivered.data);
}

void row_leak_scan_done(void)
{
    rtc_profile_t *p = open_process();
    listen_to(p, "leak_scan_done", take_note, &delivered);
    for (unsigned i = 0; i < 3; i++)
        must(malloc(40 + i));
    long lost = rtc_check_leaks(RTC_QUIET, NULL);
    must(was_delivered(p, "leak_scan_done") && !delivered.scan.at_end &&
         delivered.scan.lost_blocks == (uint64_t)lost);
    must(delivered.scan.lost_bytes >= 80);
}

static int at_exit(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
                   void *context)
{
    (void)p, (void)size, (void)context;
    static unsigned step;
    if (strcmp(event->name, "leak_scan_done") == 0 && ((struct rtc_profile_scan *)param)->at_end)
        must(step++ == 0);
    else
        must(step++ == 1 && strcmp(event->name, "report") == 0 && !param);
    if (step == 2)
        _exit(42);
    return 0;
}

/* The search and the report at the end; then that of one in mid-run. */
void row_report(void)
{
    int status;
    rtc_profile_t *p = open_process();
    pid_t pid = fork();
    if (pid == 0) {
        must(malloc(77));
        listen_to(p, "leak_scan_done", at_exit, NULL);
        listen_to(p, "report", at_exit, NULL);
        exit(1);
    }
    must(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 42);
    listen_to(p, "report", take_note, &delivered);
    rtc_check_leaks(RTC_QUIET, NULL);
    must(delivered.count == 0); /* a quiet check is not reported */
    rtc_check_leaks(0, NULL);
    must(was_delivered(p, "report") && !delivered.data && delivered.size == 0);
    must(read_var(p, "suppressed") == 0);
}

static void fill_pool(size_t blocks)
{
    while (blocks-- && !delivered.count)
        must(malloc(16));
}

void row_pool_grow(void)
{
    rtc_profile_t *p = open_process();
    uint64_t size = read_var(p, "pool_size");
    listen_to(p, "pool_grow", take_note, &delivered);
    fill_pool(1000000);
    must(was_delivered(p, "pool_grow") && delivered.pool.size > size &&
         delivered.pool.size == read_var(p, "pool_size"));
    must(delivered.pool.used <= delivered.pool.size && delivered.pool.used > size / 2);
}

/* Run with a limit of a few MiB for files; the run continues. */
void row_pool_full(void)
{
    rtc_profile_t *p = open_process();
    listen_to(p, "pool_full", take_note, &delivered);
    fill_pool(1000000);
    delivered.count = delivered.count !=
                      0; /* in one malloc both the stack and the record of the block may fail */
    must(was_delivered(p, "pool_full") && delivered.pool.size >= delivered.pool.used &&
         delivered.pool.size == read_var(p, "pool_size"));
    listen_to(p, "pool_full", NULL, NULL);
    fill_pool(100000);
}

void row_thread_exit(void)
{
    pthread_t thread;
    void *tid;
    rtc_profile_t *p = open_process();
    listen_to(p, "thread_exit", take_note, &delivered);
    void *allocate_and_print(void *);
    must(pthread_create(&thread, NULL, allocate_and_print, NULL) == 0 &&
         pthread_join(thread, &tid) == 0);
    must(was_delivered(p, "thread_exit") && delivered.thread_exit.tid == (uintptr_t)tid &&
         delivered.tid == (pid_t)(uintptr_t)tid);
    must(delivered.thread_exit.alloc_calls == 5 && delivered.thread_exit.free_calls >= 5);
    must(delivered.thread_exit.alloc_bytes == 5 * BYTES);
}

void *allocate_and_print(void *unused)
{
    (void)unused;
    allocate(1, 5);
    release(1, 5);
    return (void *)(uintptr_t)syscall(SYS_gettid);
}

void row_fork_child(void)
{
    rtc_profile_t *p = open_process();
    pid_t parent = getpid();
    listen_to(p, "fork_child", take_note, &delivered);
    pid_t pid = fork();
    if (pid == 0) {
        must(was_delivered(p, "fork_child") && delivered.word[0] == (uint64_t)parent);
        listen_to(p, "fork_child", NULL, NULL);
        pid = fork();
        must(delivered.count == 0);
        if (pid)
            must_end_well(pid);
        _exit(0);
    }
    must_end_well(pid);
    must(delivered.count == 0);
}

/* ---- registering ---------------------------------------------------------------------------------- */

void row_replacement(void)
{
    rtc_profile_t *p = open_process(), *q = open_process();
    unsigned first = 0, second = 0, third = 0;
    uint32_t id = event_of(p, "bad_free");
    must(rtc_profile_register_callback(p, 0, count_call, &first) == -EINVAL);
    must(rtc_profile_register_callback(p, EVENTS + 1, count_call, &first) == -EINVAL);
    must(rtc_profile_register_callback(p, UINT32_MAX, count_call, &first) == -EINVAL);
    must(rtc_profile_register_callback(NULL, id, count_call, &first) == -EINVAL);
    must(rtc_profile_register_callback(p, id, NULL, NULL) == 0); /* there was none */
    must(rtc_profile_register_callback(p, id, count_call, &first) == 0);
    free_twice();
    must(first == 1);
    must(rtc_profile_register_callback(p, id, count_call, &second) == 0); /* in its place */
    must(rtc_profile_register_callback(q, id, count_call, &third) == 0);  /* one for each profile */
    free_twice();
    must(first == 1 && second == 1 && third == 1);
    must(rtc_profile_register_callback(p, id, NULL, NULL) == 0);
    free_twice();
    must(first == 1 && second == 1 && third == 2);
    must(rtc_profile_close(q) == 0); /* takes its own with it */
    free_twice();
    must(third == 2);
}

static int of_thread(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
                     void *context)
{
    (void)event, (void)param, (void)size;
    uint64_t allocs = 0;
    must(rtc_profile_read_u64(p, 1, &allocs) == 0 && allocs >= 1 && context == &delivered);
    delivered.count++;
    return 0;
}

static void *free_twice_there(void *unused)
{
    free_twice();
    return unused;
}

/* Callbacks of a thread: only events in that thread. */
void row_thread_callbacks(void)
{
    pthread_t thread;
    rtc_profile_t *p = open_thread(0);
    must(rtc_profile_register_callback(p, event_of(open_process(), "pool_grow"), take_note, NULL) ==
         -EINVAL);
    listen_to(p, "bad_free", of_thread, &delivered);
    must(pthread_create(&thread, NULL, free_twice_there, NULL) == 0 &&
         pthread_join(thread, NULL) == 0);
    must(delivered.count == 0);
    free_twice();
    must(delivered.count == 1);
    pid_t pid = fork();
    if (pid == 0) { /* the callback is for the parent's thread */
        free_twice();
        _exit(delivered.count == 1 ? 0 : 1);
    }
    must_end_well(pid);
}

static _Atomic int stage;

static int stay(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
                void *context)
{
    (void)p, (void)event, (void)param, (void)size;
    stage = 1;
    while (stage != 2)
        sched_yield();
    for (unsigned i = 0; i < 1000; i++)
        sched_yield(); /* a caller that does not wait would have returned by now */
    *(unsigned *)context = 1;
    return 0;
}

/* A removed callback does not run any more; only its removal waits for it. */
void row_unregister_waits(void)
{
    pthread_t thread;
    unsigned *context = calloc(1, sizeof *context), others = 0;
    rtc_profile_t *p = open_process(), *q = open_process();
    listen_to(p, "bad_free", stay, context);
    listen_to(q, "alloc_error", count_call, &others);
    must(pthread_create(&thread, NULL, free_twice_there, NULL) == 0);
    while (stage != 1)
        sched_yield();
    must(!malloc((size_t)1 << 50) && others == 1);
    stage = 2;
    must(rtc_profile_close(p) == 0 && *context == 1);
    free(context);
    must(pthread_join(thread, NULL) == 0);
}

/* ---- without descriptors -------------------------------------------------------------------------- */

void row_no_descriptors(void)
{
    rtc_profile_t *p, *q;
    must(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0}) == 0 && dup(1) == -1 && errno == EMFILE);
    p = open_process();
    q = open_thread(0);
    listen_to(p, "bad_free", take_note, &delivered);
    free_twice();
    must(was_delivered(p, "bad_free") && rtc_profile_start_reads(p, RTC_PROFILE_WITH_SITES) == 0);
    must(read_var(p, "perf_faults") && read_var(p, "alloc_calls") && read_var(p, "pool_size"));
    must(rtc_profile_end_reads(p, 0) == 0 && rtc_profile_close(p) == 0 &&
         rtc_profile_close(q) == 0);
}

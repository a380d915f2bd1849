/*
 * profile_events.c - rows of profile.def: who is told of what, and what a callback may do.
 */
#include "profile.h"

#include "rtcheck/check.h"
#include "rtcheck/event.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
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
} told;

static int take_note(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size, void *context)
{
    told.profile = p;
    told.event = *event;
    told.data = param;
    told.size = size;
    told.context = context;
    must(size <= sizeof told.word && size == event->size && !param == !size);
    memcpy(told.word, param ? param : told.word, size);
    told.tid = (pid_t)syscall(SYS_gettid);
    told.count++;
    errno = 99; /* nobody sees it */
    return -1;  /* nor this */
}

static void listen_to(rtc_profile_t *p, const char *event, rtc_profile_callback callback, void *context)
{
    must(rtc_profile_register_callback(p, event_of(p, event), callback, context) == 0);
}

static bool was_told(rtc_profile_t *p, const char *event)
{
    bool was = told.count == 1 && told.profile == p && strcmp(told.event.name, event) == 0 && told.context == &told;
    if (!was)
        fprintf(stderr, "told %u times, of %s\n", told.count, told.event.name);
    told.count = 0;
    return was;
}

static void free_badly(void *volatile p)
{
    free(p);
}

static void *volatile freed;

static void free_twice(void)
{
    if (!freed)
        free((freed = malloc(10)));
    free_badly(freed);
}

/* ---- each event ----------------------------------------------------------------------------------- */

void row_alloc_error(void)
{
    rtc_profile_t *p = open_process();
    listen_to(p, "alloc_error", take_note, &told);
    errno = 0;
    must(!malloc((size_t)1 << 50) && errno == ENOMEM);
    must(was_told(p, "alloc_error") && told.alloc_error.bytes == (uint64_t)1 << 50 && told.alloc_error.site);
    volatile size_t half = SIZE_MAX / 2;
    must(!calloc(half, 4) && was_told(p, "alloc_error"));
    void *volatile q = malloc(10);
    must(!realloc(q, (size_t)1 << 50) && was_told(p, "alloc_error"));
    must(malloc(10) && told.count == 0);
}

void row_bad_free(void)
{
    static long no_block[4];
    rtc_profile_t *p = open_process();
    char *q = malloc(100);
    listen_to(p, "bad_free", take_note, &told);
    free(malloc(10));
    must(told.count == 0);
    free_badly(q + 16);
    must(was_told(p, "bad_free") && told.bad_free.kind == RTC_PROFILE_MAF);
    must(told.bad_free.address == (uintptr_t)q + 16 && told.bad_free.site);
    errno = 5;
    free_badly(no_block + 2);
    must(errno == 5 && was_told(p, "bad_free") && told.bad_free.kind == RTC_PROFILE_BAF);
    free(q);
    for (unsigned i = 0; i < 3; i++) { /* also where it is no new error */
        free_badly(q);
        must(was_told(p, "bad_free") && told.bad_free.kind == RTC_PROFILE_DUF);
    }
    must(told.tid == (pid_t)syscall(SYS_gettid) && told.data);
}

void row_leak_scan_done(void)
{
    rtc_profile_t *p = open_process();
    listen_to(p, "leak_scan_done", take_note, &told);
    for (unsigned i = 0; i < 3; i++)
        must(malloc(40 + i));
    long lost = rtc_check_leaks(RTC_QUIET, NULL);
    must(was_told(p, "leak_scan_done") && !told.scan.at_end && told.scan.lost_blocks == (uint64_t)lost);
    must(told.scan.lost_bytes >= 80);
}

static int at_exit(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size, void *context)
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
    listen_to(p, "report", take_note, &told);
    rtc_check_leaks(RTC_QUIET, NULL);
    must(told.count == 0); /* nobody but us is told */
    rtc_check_leaks(0, NULL);
    must(was_told(p, "report") && !told.data && told.size == 0);
    must(read_var(p, "suppressed") == 0);
}

static void fill_pool(size_t blocks)
{
    while (blocks-- && !told.count)
        must(malloc(16));
}

void row_pool_grow(void)
{
    rtc_profile_t *p = open_process();
    uint64_t size = read_var(p, "pool_size");
    listen_to(p, "pool_grow", take_note, &told);
    fill_pool(1000000);
    must(was_told(p, "pool_grow") && told.pool.size > size && told.pool.size == read_var(p, "pool_size"));
    must(told.pool.used <= told.pool.size && told.pool.used > size / 2);
}

/* Run where files may have a few MiB; the run goes on. */
void row_pool_full(void)
{
    rtc_profile_t *p = open_process();
    listen_to(p, "pool_full", take_note, &told);
    fill_pool(1000000);
    must(was_told(p, "pool_full") && told.pool.size >= told.pool.used && told.pool.size == read_var(p, "pool_size"));
    listen_to(p, "pool_full", NULL, NULL);
    fill_pool(100000);
}

void row_thread_exit(void)
{
    pthread_t thread;
    void *tid;
    rtc_profile_t *p = open_process();
    listen_to(p, "thread_exit", take_note, &told);
    void *allocate_and_say(void *);
    must(pthread_create(&thread, NULL, allocate_and_say, NULL) == 0 && pthread_join(thread, &tid) == 0);
    must(was_told(p, "thread_exit") && told.thread_exit.tid == (uintptr_t)tid && told.tid == (pid_t)(uintptr_t)tid);
    must(told.thread_exit.alloc_calls == 5 && told.thread_exit.free_calls >= 5);
    must(told.thread_exit.alloc_bytes == 5 * BYTES);
}

void *allocate_and_say(void *unused)
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
    listen_to(p, "fork_child", take_note, &told);
    pid_t pid = fork();
    if (pid == 0) {
        must(was_told(p, "fork_child") && told.word[0] == (uint64_t)parent);
        listen_to(p, "fork_child", NULL, NULL);
        pid = fork();
        must(told.count == 0);
        if (pid)
            must_end_well(pid);
        _exit(0);
    }
    must_end_well(pid);
    must(told.count == 0);
}

/* ---- registering ---------------------------------------------------------------------------------- */

static int another(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size, void *context)
{
    (void)p, (void)event, (void)param, (void)size;
    ++*(unsigned *)context;
    return 0;
}

void row_replacement(void)
{
    rtc_profile_t *p = open_process(), *q = open_process();
    unsigned first = 0, second = 0, third = 0;
    uint32_t id = event_of(p, "bad_free");
    must(rtc_profile_register_callback(p, 0, another, &first) == -EINVAL);
    must(rtc_profile_register_callback(p, EVENTS + 1, another, &first) == -EINVAL);
    must(rtc_profile_register_callback(p, UINT32_MAX, another, &first) == -EINVAL);
    must(rtc_profile_register_callback(NULL, id, another, &first) == -EINVAL);
    must(rtc_profile_register_callback(p, id, NULL, NULL) == 0); /* there was none */
    must(rtc_profile_register_callback(p, id, another, &first) == 0);
    free_twice();
    must(first == 1);
    must(rtc_profile_register_callback(p, id, another, &second) == 0); /* in its place */
    must(rtc_profile_register_callback(q, id, another, &third) == 0);  /* one for each profile */
    free_twice();
    must(first == 1 && second == 1 && third == 1);
    must(rtc_profile_register_callback(p, id, NULL, NULL) == 0);
    free_twice();
    must(first == 1 && second == 1 && third == 2);
    must(rtc_profile_close(q) == 0); /* takes its own with it */
    free_twice();
    must(third == 2);
}

static int of_thread(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size, void *context)
{
    (void)event, (void)param, (void)size;
    uint64_t allocs = 0;
    must(rtc_profile_read_u64(p, 1, &allocs) == 0 && allocs >= 1 && context == &told);
    told.count++;
    return 0;
}

static void *free_twice_there(void *unused)
{
    free_twice();
    return unused;
}

/* Of a thread: what happens to it alone. */
void row_thread_callbacks(void)
{
    pthread_t thread;
    rtc_profile_t *p = open_thread(0);
    must(rtc_profile_register_callback(p, event_of(open_process(), "pool_grow"), take_note, NULL) == -EINVAL);
    listen_to(p, "bad_free", of_thread, &told);
    must(pthread_create(&thread, NULL, free_twice_there, NULL) == 0 && pthread_join(thread, NULL) == 0);
    must(told.count == 0);
    free_twice();
    must(told.count == 1);
}

static _Atomic int stage;

static int stay(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size, void *context)
{
    (void)p, (void)event, (void)param, (void)size;
    stage = 1;
    while (stage != 2)
        sched_yield();
    for (unsigned i = 0; i < 1000; i++)
        sched_yield(); /* who did not wait for us has gone on by now */
    *(unsigned *)context = 1;
    return 0;
}

/* When a callback is gone nobody runs it any more; nobody else waits. */
void row_unregister_waits(void)
{
    pthread_t thread;
    unsigned *context = calloc(1, sizeof *context), others = 0;
    rtc_profile_t *p = open_process(), *q = open_process();
    listen_to(p, "bad_free", stay, context);
    listen_to(q, "alloc_error", another, &others);
    must(pthread_create(&thread, NULL, free_twice_there, NULL) == 0);
    while (stage != 1)
        sched_yield();
    must(!malloc((size_t)1 << 50) && others == 1);
    stage = 2;
    must(rtc_profile_close(p) == 0 && *context == 1);
    free(context);
    must(pthread_join(thread, NULL) == 0);
}

/* ---- what a callback may do ----------------------------------------------------------------------- */

static int reads(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size, void *context)
{
    (void)event, (void)param, (void)size;
    uint64_t *allocs = context, sites;
    size_t bytes = sizeof sites;
    must(rtc_profile_read_u64(p, (uint32_t)allocs[0], &allocs[1]) == 0);
    must(rtc_profile_start_reads(p, 0) == 0 && rtc_profile_start_reads(p, 0) == 0);
    must(rtc_profile_read_u64(p, (uint32_t)allocs[0], &allocs[2]) == 0);
    must(rtc_profile_end_reads(p, 0) == 0 && rtc_profile_end_reads(p, 0) == 0);
    must(rtc_profile_end_reads(p, 0) == -EINVAL); /* what its owner has begun is not its own */
    must(rtc_profile_read_data(p, (uint32_t)allocs[3], &sites, &bytes) == -ERANGE && bytes >= 24);
    must(rtc_profile_context(p) == NULL && rtc_profile_site_of(freed) == 0);
    told.count++;
    return 0;
}

void row_callback_reads(void)
{
    rtc_profile_t *p = open_process();
    uint64_t at[4] = {id_of(p, "alloc_calls"), 0, 0, id_of(p, "top_sites")};
    listen_to(p, "bad_free", reads, at);
    must(rtc_profile_start_reads(p, 0) == 0);
    uint64_t before = read_var(p, "alloc_calls");
    allocate(0, 10);
    free_twice(); /* one block more */
    must(told.count == 1 && at[1] == before + 11 && at[2] == before + 11);
    must(read_var(p, "alloc_calls") == before && rtc_profile_end_reads(p, 0) == 0);
}

static void hears(unsigned type, union rtc_event *event, void *arg)
{
    (void)type, (void)event;
    rtc_profile_t *p = arg;
    must(rtc_profile_register_callback(p, 1, another, NULL) == -EDEADLK && rtc_profile_close(p) == -EDEADLK);
    told.count++;
}

static int is_refused(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size, void *context)
{
    (void)param, (void)size, (void)context;
    rtc_profile_t *other = NULL;
    size_t count = 0;
    must(rtc_profile_register_callback(p, event->id, another, NULL) == -EDEADLK);
    must(rtc_profile_register_callback(p, event->id, NULL, NULL) == -EDEADLK);
    must(rtc_profile_query_vars(p, NULL, &count) == -EDEADLK && rtc_profile_query_events(p, NULL, &count) == -EDEADLK);
    must(rtc_profile_open(RTC_PROFILE_PROCESS, 0, 0, &other, NULL) == -EDEADLK && !other);
    must(rtc_profile_close(p) == -EDEADLK && rtc_profile_reset(p, 0) == -EDEADLK);
    must(rtc_event_set_handler(RTC_EVENT_MMAP, 0, hears, p) == -EDEADLK);
    told.count++;
    return 0;
}

/* Errors, not deadlocks; also between callbacks of the two kinds. */
void row_callback_limits(void)
{
    rtc_profile_t *p = open_process();
    listen_to(p, "bad_free", is_refused, NULL);
    free_twice();
    must(told.count == 1);
    must(rtc_event_set_handler(RTC_EVENT_MMAP, 0, hears, p) == 0);
    must(mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    must(told.count == 2 && rtc_event_unset_handler(RTC_EVENT_MMAP, hears, p) == 0);
    must(rtc_profile_close(p) == 0);
}

static void *mine, *theirs;

static int allocates(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size, void *context)
{
    (void)p, (void)event, (void)param, (void)size, (void)context;
    void *q = &q;
    errno = 0;
    must(!malloc(10) && errno == ENOMEM && !calloc(1, 10) && !aligned_alloc(64, 64));
    must(posix_memalign(&q, 64, 64) == ENOMEM && !strdup("word"));
    must(!realloc(NULL, 10) && !realloc(mine, 8) && !realloc(mine, 1 << 20));
    free(theirs); /* that it may */
    must(!malloc(10)); /* still */
    free_badly(theirs); /* what it does wrong is not told to itself */
    told.count++;
    return 0;
}

void row_callback_allocates(void)
{
    rtc_profile_t *p = open_process();
    mine = malloc(8);
    theirs = malloc(20);
    memcpy(mine, "as it is", 8);
    listen_to(p, "bad_free", allocates, NULL);
    listen_to(p, "alloc_error", take_note, NULL); /* none of it is one */
    uint64_t frees = read_var(p, "free_calls"), allocs = read_var(p, "alloc_calls");
    must(rtc_profile_reset(open_process(), 0) == 0);
    free_badly((char *)mine + 1);
    must(told.count == 1 && memcmp(mine, "as it is", 8) == 0);
    must(read_var(p, "alloc_calls") == allocs && read_var(p, "free_calls") == frees + 1);
    must(read_var(p, "err_duf") == 1 && read_var(p, "err_maf") == 1 && read_var(p, "err_oom") == 0);
    must((mine = realloc(mine, 100))); /* it is over */
    must(malloc(10));
}

static int frees_badly(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size, void *context)
{
    (void)p, (void)event, (void)param, (void)size;
    unsigned *depth = context;
    must(++*depth < 10 && !malloc(10));
    free_twice();
    must(!malloc(10));
    return 0;
}

/* One callback's doing is told to the others. */
void row_callbacks_within(void)
{
    unsigned first = 0, second = 0;
    rtc_profile_t *p = open_process(), *q = open_process();
    listen_to(p, "bad_free", frees_badly, &first);
    listen_to(q, "bad_free", frees_badly, &second);
    free_twice();
    must(first == 2 && second == 2); /* each by the program, and by the other */
    must(malloc(10));
}

static int forks(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size, void *context)
{
    (void)event, (void)param, (void)size;
    *(pid_t *)context = fork();
    must(!malloc(10) && read_var != NULL && rtc_profile_context(p) == NULL);
    return 0;
}

/* On both sides it goes on behind the callback; in the child nobody is waited for who is not there. */
void row_callback_forks(void)
{
    pid_t pid = -1;
    rtc_profile_t *p = open_process();
    listen_to(p, "bad_free", forks, &pid);
    free_twice();
    must(pid >= 0 && malloc(10));
    must(rtc_profile_close(p) == 0);
    if (pid == 0)
        _exit(0);
    must_end_well(pid);
}

/* ---- many at once --------------------------------------------------------------------------------- */

static _Atomic unsigned long heard;
static _Atomic bool over;

static int counts(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size, void *context)
{
    (void)p, (void)event, (void)param, (void)size;
    must(*(volatile unsigned *)context == 5 && !malloc(1));
    heard++;
    return 0;
}

static void *fail_often(void *unused)
{
    while (!over)
        must(!malloc((size_t)1 << 50));
    return unused;
}

/* While threads are told all the time callbacks come and go, and what they use with them. */
void row_callbacks_come_and_go(void)
{
    pthread_t thread[4];
    for (unsigned i = 0; i < 4; i++)
        must(pthread_create(&thread[i], NULL, fail_often, NULL) == 0);
    for (unsigned i = 0; i < 300; i++) {
        unsigned *context = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        rtc_profile_t *p = open_process();
        *context = 5;
        unsigned long before = heard;
        listen_to(p, "alloc_error", counts, context);
        while (heard == before)
            sched_yield();
        must(rtc_profile_close(p) == 0);
        must(munmap(context, 4096) == 0); /* a fault, if anybody is there still */
    }
    over = true;
    for (unsigned i = 0; i < 4; i++)
        must(pthread_join(thread[i], NULL) == 0);
}

/* ---- without descriptors -------------------------------------------------------------------------- */

void row_no_descriptors(void)
{
    rtc_profile_t *p, *q;
    must(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0}) == 0 && dup(1) == -1 && errno == EMFILE);
    p = open_process();
    q = open_thread(0);
    listen_to(p, "bad_free", take_note, &told);
    free_twice();
    must(was_told(p, "bad_free") && rtc_profile_start_reads(p, RTC_PROFILE_WITH_SITES) == 0);
    must(read_var(p, "perf_faults") && read_var(p, "alloc_calls") && read_var(p, "pool_size"));
    must(rtc_profile_end_reads(p, 0) == 0 && rtc_profile_close(p) == 0 && rtc_profile_close(q) == 0);
}

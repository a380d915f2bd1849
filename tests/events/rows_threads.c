/* rows_threads.c - many threads, and processes made in the middle of events. */
#include "contract.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define THREADS 8

static void start_all(pthread_t *thread, unsigned n, void *(*run)(void *), void *arg)
{
    for (unsigned i = 0; i < n; i++)
        must(pthread_create(&thread[i], NULL, run, arg) == 0);
}

static void join_all(const pthread_t *thread, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        must(pthread_join(thread[i], NULL) == 0);
}

/* ---- unregistering waits ------------------------------------------------------------------------ */

static _Atomic int unsetter; /* its tid */
static _Atomic int stamps, callback_ended, unset_returned;

/* Does the thread sleep in the kernel's futex? */
static bool waits(int tid)
{
    char path[64], line[16] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, line, sizeof line - 1) < 0)
        line[0] = '\0';
    close(fd);
    return atoi(line) == SYS_futex;
}

static void stay_until_awaited(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)e, (void)arg;
    while (!unsetter)
        sched_yield();
    while (!waits(unsetter) && !unset_returned)
        sched_yield();
    callback_ended = ++stamps;
}

static void *unset(void *unused)
{
    unsetter = (int)syscall(SYS_gettid);
    must(rtc_event_unset_handler(~0u, stay_until_awaited, NULL) == 0);
    unset_returned = ++stamps;
    return unused;
}

static void *map_once(void *unused)
{
    munmap(mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0), PAGE);
    return unused;
}

static void unset_waits(unsigned type)
{
    pthread_t mapper, other;
    must(rtc_event_set_handler(type, 0, stay_until_awaited, NULL) == 0);
    must(pthread_create(&mapper, NULL, map_once, NULL) == 0);
    must(pthread_create(&other, NULL, unset, NULL) == 0);
    must(pthread_join(mapper, NULL) == 0 && pthread_join(other, NULL) == 0);
    /* The handler may have been unset before the callback began: then the callback did not run. */
    must(!callback_ended || callback_ended < unset_returned);
}

void row_unset_waits_for_callbacks(void)
{
    unset_waits(RTC_EVENT_MMAP);
}

void row_unset_waits_for_ranges(void)
{
    unset_waits(RTC_EVENT_VM_UNMAPPED);
}

/* ---- totals of many threads ----------------------------------------------------------------------- */

static _Atomic size_t mapped, unmapped;

static void sum(unsigned type, union rtc_event *e, void *arg)
{
    (void)arg;
    *(type == RTC_EVENT_VM_MAPPED ? &mapped : &unmapped) += e->vm_mapped.size;
}

static void *map_over(void *unused)
{
    for (unsigned i = 0; i < 200; i++) {
        char *at = mmap(NULL, 4 * PAGE, READ_WRITE, PLAIN, -1, 0);
        must(mmap(at, PAGE, READ_WRITE, PLAIN | MAP_FIXED, -1, 0) == at);
        must(mremap(at, 4 * PAGE, 2 * PAGE, 0) == at);
        must(munmap(at, 2 * PAGE) == 0);
    }
    return unused;
}

void row_remap_override_multi_threads(void)
{
    pthread_t thread[THREADS];
    must(rtc_event_set_handler(RTC_EVENT_VM_MAPPED | RTC_EVENT_VM_UNMAPPED, 0, sum, NULL) == 0);
    start_all(thread, THREADS, map_over, NULL);
    join_all(thread, THREADS);
    must(mapped == THREADS * 200 * 7 * PAGE);
    must(unmapped == THREADS * 200 * 7 * PAGE);
}

/* ---- calls while handlers are set and unset ------------------------------------------------------- */

static _Atomic bool stop;
static _Atomic unsigned failures;

static void *fail(void *unused)
{
    while (!stop) {
        must(mmap(NULL, 0, READ_WRITE, PLAIN, -1, 0) == MAP_FAILED && errno == EINVAL);
        must(munmap(NULL, 0) == -1 && errno == EINVAL);
        failures++;
    }
    return unused;
}

/* The handler's arg is in use from registration until after its removal. */
static void check_arg(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)e;
    must(*(_Atomic int *)arg == 1);
}

void row_failing_mmap_storm(void)
{
    pthread_t thread[4];
    static _Atomic int used[60];
    start_all(thread, 4, fail, NULL);
    for (unsigned i = 0; i < 60; i++) {
        used[i] = 1;
        must(rtc_event_set_handler(ALL_EVENTS, (int)(i % 3) - 1, check_arg, &used[i]) == 0);
        if (i % 2)
            sched_yield();
        must(rtc_event_unset_handler(ALL_EVENTS, check_arg, &used[i]) == 0);
        used[i] = 0;
    }
    unsigned before = failures;
    while (failures < before + 100) /* the threads still run */
        sched_yield();
    stop = true;
    join_all(thread, 4);
}

/* ---- forks ------------------------------------------------------------------------------------------ */

static void count(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)e;
    ++*(_Atomic unsigned *)arg;
}

static void *map_and_unmap(void *arg)
{
    (void)arg;
    while (!stop)
        munmap(mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0), PAGE);
    return NULL;
}

static pid_t by_clone(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* A child has the handlers, and waits for no thread of its parent. */
static void live(_Atomic unsigned *counter)
{
    *counter = 0;
    munmap(mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0), PAGE);
    must(*counter == 4); /* 2 native, 2 ranges */
    must(rtc_event_set_handler(RTC_EVENT_MMAP, 0, record, NULL) == 0);
    must(rtc_event_unset_handler(ALL_EVENTS, count, counter) == 0);
    mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    must(*counter == 4 && logged_count == 1);
}

void row_fork_while_events_fire(void)
{
    static pid_t (*const make[])(void) = {fork, _Fork, by_clone};
    static _Atomic unsigned counter;
    pthread_t thread[4];
    must(rtc_event_set_handler(ALL_EVENTS, 0, count, &counter) == 0);
    start_all(thread, 4, map_and_unmap, NULL);
    for (unsigned i = 0; i < 60; i++) {
        pid_t pid = make[i % 3]();
        if (pid == 0) {
            live(&counter);
            _exit(0);
        }
        must_end_well(pid);
    }
    stop = true;
    join_all(thread, 4);
}

static volatile pid_t made_inside;

static void fork_inside(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)e, (void)arg;
    made_inside = fork();
}

/* The child returns from the callback of its parent, then makes a call, and changes the handlers. */
void row_fork_in_a_callback(void)
{
    must(rtc_event_set_handler(RTC_EVENT_MMAP, 0, fork_inside, NULL) == 0);
    handle(RTC_EVENT_MMAP | RTC_EVENT_MUNMAP, 1, "after");
    void *at = mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    must(at != MAP_FAILED && logged_count == 1);
    if (made_inside == 0) {
        must(rtc_event_unset_handler(~0u, fork_inside, NULL) == 0);
        must(munmap(at, PAGE) == 0 && logged_count == 2);
        _exit(0);
    }
    must_end_well(made_inside);
    must(rtc_event_unset_handler(~0u, fork_inside, NULL) == 0);
}

static void ignore(unsigned type, union rtc_event *e, void *unused)
{
    (void)type, (void)e, (void)unused;
}

static void *cancelled(void *at)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    msync(at, PAGE, MS_SYNC);
    return NULL;
}

/* A thread that is cancelled in msync is not waited for. */
void row_cancelled_in_a_call(void)
{
    pthread_t thread;
    void *result = NULL;
    must(rtc_event_set_handler(RTC_EVENT_MSYNC, 0, ignore, NULL) == 0);
    must(pthread_create(&thread, NULL, cancelled, pages(1)) == 0);
    must(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    must(rtc_event_unset_handler(RTC_EVENT_MSYNC, ignore, NULL) == 0);
}

/* The child runs in its parent's memory, on its parent's mappings. */
void row_vfork_child(void)
{
    handle(RTC_EVENT_VM_MAPPED, 0, "all");
    static char *volatile at;
    pid_t pid = vfork();
    if (pid == 0) {
        at = mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
        _exit(at == MAP_FAILED);
    }
    must_end_well(pid);
    at[0] = 1;
    must(is_range(RTC_EVENT_VM_MAPPED, 0, at, PAGE));
}

/* Mappings and handlers are the child's, too; changes there are its own. */
void row_handlers_survive_fork(void)
{
    handle(RTC_EVENT_VM_UNMAPPED, 0, "all");
    char *at = pages(1);
    pid_t pid = fork();
    if (pid == 0) {
        must(munmap(at, PAGE) == 0 && is_range(RTC_EVENT_VM_UNMAPPED, 0, at, PAGE));
        _exit(0);
    }
    must_end_well(pid);
    must(logged_count == 0 && is_mapped(at, PAGE));
}

static pthread_key_t last;

/* In the last round of destructors, behind ours. */
static void map_again(void *round)
{
    char *at = pages(1);
    must(munmap(at, PAGE) == 0);
    if ((uintptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(last, (char *)round + 1);
}

static void *end_late(void *unused)
{
    pthread_setspecific(last, (void *)1);
    return unused;
}

void row_mapped_past_the_end_of_a_thread(void)
{
    must(pthread_key_create(&last, map_again) == 0);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        must(pthread_create(&thread, NULL, end_late, NULL) == 0 && pthread_join(thread, NULL) == 0);
    }
}

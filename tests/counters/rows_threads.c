/* rows_threads.c - many threads, and forks in the middle of it all. */
#include "contract.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#define THREADS 4

static rtc_cpc_t *cpc;

static void run_in_thread(void *(*run)(void *), void *arg)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, run, arg) == 0 && pthread_join(thread, NULL) == 0);
}

static void *touch_some(void *arg)
{
    touch((unsigned)(uintptr_t)arg);
    return NULL;
}

/* A thread's start and end cause a few faults. */
#define OF_A_THREAD 300

static bool is_near(uint64_t counted, uint64_t n)
{
    if (counted < n || counted > n + OF_A_THREAD)
        fprintf(stderr, "%llu instead of %llu\n", (unsigned long long)counted,
                (unsigned long long)n);
    return counted >= n && counted <= n + OF_A_THREAD;
}

void row_each_thread_its_own(void)
{
    cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0);
    run_in_thread(touch_some, (void *)1000);
    must(is_near(sampled(cpc, set, 0), 0));
    touch(500);
    must(is_near(sampled(cpc, set, 0), 500));
}

void row_inherited_by_threads_not_by_forks(void)
{
    cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
    add(cpc, set, "minor-faults", 0, USER);
    must(rtc_cpc_bind_curlwp(cpc, set, RTC_CPC_BIND_LWP_INHERIT) == 0);
    run_in_thread(touch_some, (void *)1000);
    must(is_near(sampled(cpc, set, 0), 1000) && sampled(cpc, set, 1) >= 1000);
    pid_t pid = fork();
    if (pid == 0) {
        touch(2000);
        uint64_t counted = sampled(cpc, set, 0);
        must(counted >= 2000 && counted < 2000 + 1000); /* itself alone, and the copies of pages */
        _exit(0);
    }
    must_end_well(pid);
    uint64_t counted = sampled(cpc, set, 0);
    must(counted >= 1000 && counted < 1000 + 1000); /* and the copies of pages after the fork */
    must(rtc_cpc_set_restart(cpc, set) == 0 && is_near(sampled(cpc, set, 0), 0));
    run_in_thread(touch_some, (void *)1000);
    must(is_near(sampled(cpc, set, 0), 1000));
    rtc_cpc_set_t *clock = set_of(cpc, "clock:thread", BOTH);
    fails(rtc_cpc_bind_curlwp(cpc, clock, RTC_CPC_BIND_LWP_INHERIT), ENOTSUP,
          RTC_CPC_PIC_NOT_CAPABLE);
    clock = set_of(cpc, "clock:process", BOTH);
    must(rtc_cpc_bind_curlwp(cpc, clock, RTC_CPC_BIND_LWP_INHERIT) == 0);
}

/* ---- of others ------------------------------------------------------------------------------------ */

static struct {
    rtc_cpc_set_t *set, *usage;
    _Atomic int stage; /* 1: bound, and 100 faults; 2: sampled */
} other;

static void *bind_and_wait(void *unused)
{
    must(rtc_cpc_bind_curlwp(cpc, other.set, 0) == 0 &&
         rtc_cpc_bind_curlwp(cpc, other.usage, 0) == 0);
    touch(100);
    other.stage = 1;
    while (other.stage == 1)
        sched_yield();
    must(is_near(sampled(cpc, other.usage, 0), 100));
    return unused;
}

static pthread_t start_other(void)
{
    pthread_t thread;
    cpc = open_quietly();
    other.set = set_of(cpc, "page-faults", USER);
    add(cpc, other.set, "clock:thread", 0, BOTH);
    other.usage = set_of(cpc, "rusage:minor-faults", BOTH);
    must(pthread_create(&thread, NULL, bind_and_wait, NULL) == 0);
    while (other.stage == 0)
        sched_yield();
    return thread;
}

static void end_other(pthread_t thread)
{
    other.stage = 2;
    must(pthread_join(thread, NULL) == 0);
}

void row_sampled_by_another_thread(void)
{
    struct rtc_cpc_reading r;
    pthread_t thread = start_other();
    touch(1000);
    must(is_near(sampled(cpc, other.set, 0), 100) && sampled(cpc, other.set, 1) > 0);
    rtc_cpc_buf_t *buf = buffer(cpc, other.usage);
    must(rtc_cpc_set_sample(cpc, other.usage, buf) == 0);
    must(rtc_cpc_buf_reading(cpc, buf, 0, &r) == 0 && !r.known);
    must(strcmp(r.why, "n/a: only the thread that has bound it can read it") == 0);
    fails(rtc_cpc_set_restart(cpc, other.usage), EAGAIN,
          RTC_CPC_RESOURCE_UNAVAIL);        /* and all is as it was */
    fails(rtc_cpc_disable(cpc), EINVAL, 0); /* this thread has not bound a set */
    fails(rtc_cpc_request_preset(cpc, 0, 1), EINVAL, 0);
    must(rtc_cpc_set_restart(cpc, other.set) == 0 && is_near(sampled(cpc, other.set, 0), 0));
    end_other(thread);
}

static uint64_t usage_ticks(void)
{
    rtc_cpc_buf_t *buf = buffer(cpc, other.usage);
    must(rtc_cpc_set_sample(cpc, other.usage, buf) == 0);
    uint64_t ticks = rtc_cpc_buf_tick(cpc, buf);
    must(rtc_cpc_buf_destroy(cpc, buf) == 0);
    return ticks;
}

void row_thread_has_ended(void)
{
    pthread_t thread = start_other();
    rtc_cpc_buf_t *buf = buffer(cpc, other.set);
    end_other(thread);
    must(rtc_cpc_set_sample(cpc, other.set, buf) == 0 && is_near(value_of(cpc, buf, 0), 100));

    /* Its clocks, too; they do not continue with a new thread of the same id. */
    uint64_t time = value_of(cpc, buf, 1), ticks = usage_ticks();
    must(time > 0 && ticks > 0 && is_near(sampled(cpc, other.usage, 0), 100));
    run_in_thread(touch_some, (void *)1000);
    must(sampled(cpc, other.set, 1) == time && usage_ticks() == ticks);
    must(is_near(sampled(cpc, other.usage, 0), 100));
    must(rtc_cpc_set_restart(cpc, other.usage) == 0 && sampled(cpc, other.usage, 0) == 0 &&
         usage_ticks() == 0);

    /* After the set is bound to another thread its clocks run. */
    must(rtc_cpc_bind_curlwp(cpc, other.usage, 0) == 0);
    touch(64);
    must(is_near(sampled(cpc, other.usage, 0), 64) && usage_ticks() > 0);
    must(rtc_cpc_unbind(cpc, other.usage) == 0 && rtc_cpc_unbind(cpc, other.set) == 0);
    fails(rtc_cpc_disable(cpc), EINVAL, 0); /* also if a new thread has the same slot */
}

static void *work(void *pages)
{
    unsigned n = (unsigned)(uintptr_t)pages;
    for (unsigned i = 0; i < 40; i++) {
        rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
        rtc_cpc_buf_t *buf = buffer(cpc, set);
        must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0);
        touch(n);
        must(rtc_cpc_disable(cpc) == 0); /* only this thread's sets */
        must(rtc_cpc_set_sample(cpc, set, buf) == 0 && is_near(value_of(cpc, buf, 0), n));
        must(rtc_cpc_set_destroy(cpc, set) == 0 && rtc_cpc_buf_destroy(cpc, buf) == 0);
    }
    return NULL;
}

void row_handles_of_many_threads(void)
{
    pthread_t thread[THREADS];
    unsigned before = open_descriptors();
    cpc = open_quietly();
    for (unsigned i = 0; i < THREADS; i++)
        must(pthread_create(&thread[i], NULL, work, (void *)20) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        must(pthread_join(thread[i], NULL) == 0);
    must(open_descriptors() == before);
}

/* ---- forks ------------------------------------------------------------------------------------------ */

void row_forked_child_counts_itself(void)
{
    cpc = open_quietly();
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc), *stopped = set_of(cpc, "page-faults", USER);
    add(cpc, set, "page-faults", 10000, USER);
    add(cpc, stopped, "clock:thread", 0, BOTH);
    must(rtc_cpc_bind_curlwp(cpc, stopped, 0) == 0 && rtc_cpc_disable(cpc) == 0);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0);
    touch(5000);
    unsigned descriptors = open_descriptors();
    pid_t pid = fork();
    if (pid == 0) {
        must(open_descriptors() == descriptors);
        touch(64);
        uint64_t counted = sampled(cpc, set, 0);
        must(counted >= 10064 &&
             counted < 10064 + 3000); /* from the preset, with the copies of pages */
        touch(64);
        must(sampled(cpc, stopped, 0) == 0 && sampled(cpc, stopped, 1) == 0);
        must(rtc_cpc_enable(cpc) == 0);
        touch(64);
        must(is_near(sampled(cpc, stopped, 0), 64) && rtc_cpc_close(cpc) == 0);
        must(open_descriptors() == descriptors - 2);
        _exit(0);
    }
    must_end_well(pid);
    must(sampled(cpc, set, 0) >= 15000);
}

void row_forked_child_of_another_thread(void)
{
    pthread_t thread = start_other();
    unsigned descriptors = open_descriptors();
    pid_t pid = fork();
    if (pid == 0) {
        fails(rtc_cpc_set_sample(cpc, other.set, buffer(cpc, other.set)), EINVAL, 0);
        must(open_descriptors() ==
             descriptors - 1); /* the closed descriptor counted the parent's thread */
        must(rtc_cpc_bind_curlwp(cpc, other.set, 0) == 0);
        touch(64);
        must(is_near(sampled(cpc, other.set, 0), 64));
        _exit(0);
    }
    must_end_well(pid);
    must(is_near(sampled(cpc, other.set, 0), 100));
    end_other(thread);
}

void row_raw_clone_has_nothing_bound(void)
{
    cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0);
    touch(64);
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        fails(rtc_cpc_unbind(cpc, set), EINVAL, 0);
        must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0);
        touch(64);
        must(is_near(sampled(cpc, set, 0), 64));
        _exit(0);
    }
    must_end_well(pid);
    must(is_near(sampled(cpc, set, 0), 64));
}

static _Atomic bool stop;

static void *sample_on(void *unused)
{
    while (!stop)
        work(NULL);
    return unused;
}

static pid_t by_clone(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* A child can continue with the handle, wherever the other threads were interrupted. */
void row_forks_while_others_count(void)
{
    static pid_t (*const make[])(void) = {fork, _Fork, by_clone};
    pthread_t thread[2];
    cpc = open_quietly();
    for (unsigned i = 0; i < 2; i++)
        must(pthread_create(&thread[i], NULL, sample_on, NULL) == 0);
    for (unsigned i = 0; i < 15; i++) {
        pid_t pid = make[i % 3]();
        if (pid == 0) {
            alarm(20);
            work((void *)20);
            _exit(0);
        }
        must_end_well(pid);
    }
    stop = true;
    for (unsigned i = 0; i < 2; i++)
        must(pthread_join(thread[i], NULL) == 0);
}

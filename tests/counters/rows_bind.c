/* rows_bind.c - sets of the calling thread: the counted events, from binding to unbinding. */
#include "contract.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "../conform/sandbox.h"

/* As the first example of cpc_bind_curlwp(3CPC). */
void row_before_and_after(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    must(rtc_cpc_set_add_request(cpc, set, "page-faults", 0, USER, 0, NULL) == 0);
    must(rtc_cpc_set_add_request(cpc, set, "minor-faults", 0, USER, 0, NULL) == 1);
    rtc_cpc_buf_t *diff = buffer(cpc, set), *after = buffer(cpc, set), *before = buffer(cpc, set);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0);
    for (unsigned iterations = 1; iterations <= 20; iterations++) {
        must(rtc_cpc_set_sample(cpc, set, before) == 0);
        touch(50 * iterations);
        must(rtc_cpc_set_sample(cpc, set, after) == 0);
        rtc_cpc_buf_sub(cpc, diff, after, before);
        must(is_about(value_of(cpc, diff, 0), 50 * iterations));
        must(value_of(cpc, diff, 1) == value_of(cpc, diff, 0));
    }
    must(rtc_cpc_unbind(cpc, set) == 0);
}

void row_bind_errors(void)
{
    unsigned before = open_descriptors();
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    rtc_cpc_buf_t *buf;
    fails(rtc_cpc_bind_curlwp(cpc, set, 0), EINVAL, 0);
    add(cpc, set, "page-faults", 0, USER);
    buf = buffer(cpc, set);
    fails(rtc_cpc_set_sample(cpc, set, buf), EINVAL, 0);
    fails(rtc_cpc_unbind(cpc, set), EINVAL, 0);
    fails(rtc_cpc_set_restart(cpc, set), EINVAL, 0);
    fails(rtc_cpc_enable(cpc), EINVAL, 0);
    fails(rtc_cpc_disable(cpc), EINVAL, 0);
    fails(rtc_cpc_request_preset(cpc, 0, 1), EINVAL, 0);
    fails(rtc_cpc_set_request_preset(cpc, set, 1, 1), EINVAL, 0);
    fails(rtc_cpc_set_request_preset(cpc, set, -1, 1), EINVAL, 0);
    fails(rtc_cpc_bind_curlwp(cpc, set, 4), EINVAL, RTC_CPC_REQ_INVALID_FLAGS);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0);
    fails(rtc_cpc_set_add_request(cpc, set, "task-clock", 0, BOTH, 0, NULL), EINVAL, 0);
    must(rtc_cpc_bind_curlwp(cpc, set, RTC_CPC_BIND_PINNED) == 0); /* bound again */
    must(open_descriptors() == before + 1);
    must(rtc_cpc_unbind(cpc, set) == 0);
    fails(rtc_cpc_unbind(cpc, set), EINVAL, 0);
    fails(rtc_cpc_set_sample(cpc, set, buf), EINVAL, 0);
    must(open_descriptors() == before);
}

/* With an event that no machine has, all descriptors of the set are closed. */
void row_all_or_none(void)
{
    unsigned before = open_descriptors();
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
    add(cpc, set, "task-clock", 0, BOTH);
    add(cpc, set, "branch-stores", 0, USER);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == -1 && errno == EINVAL);
    must(strncmp(last_error.text, "branch-stores: n/a: ", 20) == 0);
    must(open_descriptors() == before);
    fails(rtc_cpc_unbind(cpc, set), EINVAL, 0);
}

void row_presets(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc), *other;
    add(cpc, set, "page-faults", 1000000, USER);
    add(cpc, set, "dummy", UINT64_MAX, USER);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0);
    touch(64);
    must(is_about(sampled(cpc, set, 0), 1000064) && sampled(cpc, set, 1) == UINT64_MAX);
    must(rtc_cpc_set_request_preset(cpc, set, 0, 2000000) == 0);
    must(is_about(sampled(cpc, set, 0), 1000064)); /* the preset takes effect at a restart */
    must(rtc_cpc_set_restart(cpc, set) == 0 && is_about(sampled(cpc, set, 0), 2000000));
    must(rtc_cpc_unbind(cpc, set) == 0 && rtc_cpc_bind_curlwp(cpc, set, 0) == 0);
    must(is_about(sampled(cpc, set, 0), 2000000));

    other = set_of(cpc, "page-faults", USER); /* the set that was bound last is changed */
    must(rtc_cpc_bind_curlwp(cpc, other, 0) == 0 && rtc_cpc_request_preset(cpc, 0, 3000000) == 0);
    must(rtc_cpc_set_restart(cpc, other) == 0 && is_about(sampled(cpc, other, 0), 3000000));
    must(rtc_cpc_set_restart(cpc, set) == 0 && is_about(sampled(cpc, set, 0), 2000000));
    must(rtc_cpc_unbind(cpc, other) == 0 && rtc_cpc_request_preset(cpc, 0, (uint64_t)-40) == 0);
    must(rtc_cpc_set_restart(cpc, set) == 0);
    touch(64);
    must(is_about(sampled(cpc, set, 0), 24)); /* modulo 2^64 */
    fails(rtc_cpc_request_preset(cpc, 2, 1), EINVAL, 0);
}

void row_restart(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
    rtc_cpc_buf_t *buf = buffer(cpc, set);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0);
    touch(300);
    must(rtc_cpc_set_sample(cpc, set, buf) == 0);
    uint64_t ticks = rtc_cpc_buf_tick(cpc, buf);
    must(rtc_cpc_set_restart(cpc, set) == 0 && rtc_cpc_set_sample(cpc, set, buf) == 0);
    must(is_about(value_of(cpc, buf, 0), 0) && rtc_cpc_buf_tick(cpc, buf) < ticks);
    touch(64);
    must(is_about(sampled(cpc, set, 0), 64));
}

void row_enable_and_disable(void)
{
    rtc_cpc_t *cpc = open_quietly(), *other = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER),
                  *clock = set_of(cpc, "rusage:minor-faults", BOTH);
    rtc_cpc_set_t *foreign = set_of(other, "page-faults", USER);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0 && rtc_cpc_bind_curlwp(cpc, clock, 0) == 0);
    must(rtc_cpc_bind_curlwp(other, foreign, 0) == 0);
    touch(64);
    must(rtc_cpc_disable(cpc) == 0 && rtc_cpc_disable(cpc) == 0);
    touch(640);
    must(is_about(sampled(cpc, set, 0), 64) && is_about(sampled(cpc, clock, 0), 64));
    must(sampled(cpc, set, 0) == sampled(cpc, set, 0));
    must(rtc_cpc_enable(cpc) == 0 && rtc_cpc_enable(cpc) == 0);
    touch(64);
    must(is_about(sampled(cpc, set, 0), 128) && is_about(sampled(cpc, clock, 0), 128));
    must(sampled(other, foreign, 0) >= 768); /* another handle's sets continue */
    must(rtc_cpc_disable(cpc) == 0 && rtc_cpc_set_restart(cpc, set) == 0);
    touch(64);
    must(sampled(cpc, set, 0) == 0);
}

/* ---- events --------------------------------------------------------------------------------------- */

static void spin(void)
{
    for (volatile unsigned i = 0; i < 3000000; i++)
        ;
}

void row_clocks(void)
{
    static const char *const name[] = {"clock:thread", "clock:process", "clock:monotonic",
                                       "rusage:user-time"};
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    struct rtc_cpc_reading r;
    for (int i = 0; i < 4; i++)
        add(cpc, set, name[i], 0, BOTH);
    add(cpc, set, "rusage:minor-faults", 0, BOTH);
    add(cpc, set, "rusage:voluntary-switches", 0, BOTH);
    add(cpc, set, "schedstat:wait-time", 0, BOTH);
    unsigned before = open_descriptors();
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0 && open_descriptors() == before);
    for (unsigned i = 0; i < 40; i++)
        spin();
    usleep(1000);
    touch(64);
    rtc_cpc_buf_t *buf = buffer(cpc, set);
    must(rtc_cpc_set_sample(cpc, set, buf) == 0);
    uint64_t thread = value_of(cpc, buf, 0), process = value_of(cpc, buf, 1),
             wall = value_of(cpc, buf, 2);
    must(thread > 1000000 && thread < process + 1000000 && process < wall + 1000000);
    must(value_of(cpc, buf, 3) <= thread + 10000000);
    must(is_about(value_of(cpc, buf, 4), 64) && value_of(cpc, buf, 5) >= 1);
    must(value_of(cpc, buf, 6) < wall);
    must(rtc_cpc_buf_tick(cpc, buf) > 1000000 && rtc_cpc_buf_tick(cpc, buf) < wall);
    must(rtc_cpc_buf_reading(cpc, buf, 4, &r) == 0 && strcmp(r.source, "getrusage") == 0);
}

void row_software_events(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    add(cpc, set, "task-clock", 0, BOTH);
    add(cpc, set, "cpu-clock", 0, SYSTEM);
    add(cpc, set, "clock:thread", 0, USER);
    add(cpc, set, "page-faults", 0, USER);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0);
    for (unsigned i = 0; i < 5; i++)
        spin();
    touch(64);
    rtc_cpc_buf_t *buf = buffer(cpc, set);
    must(rtc_cpc_set_sample(cpc, set, buf) == 0);
    uint64_t clock = value_of(cpc, buf, 2);
    must(value_of(cpc, buf, 0) > clock / 2 && value_of(cpc, buf, 0) < clock * 2);
    must(value_of(cpc, buf, 1) > clock / 2 && value_of(cpc, buf, 1) < clock * 2);
    must(is_about(value_of(cpc, buf, 3), 64));
    struct rtc_cpc_reading r;
    must(rtc_cpc_buf_reading(cpc, buf, 0, &r) == 0 && strcmp(r.source, "perf: software") == 0);
}

/* With a PMU it counts; without one there is a reason, not 0. */
void row_hardware_or_a_reason(void)
{
    struct rtc_cpc_reading r;
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "instructions", USER);
    rtc_cpc_buf_t *buf = buffer(cpc, set);
    if (rtc_cpc_bind_curlwp(cpc, set, 0) == 0) {
        spin();
        must(rtc_cpc_set_sample(cpc, set, buf) == 0 && value_of(cpc, buf, 0) > 3000000);
        return;
    }
    must(last_error.count == 1 && strncmp(last_error.text, "instructions: n/a: ", 19) == 0);
    must(rtc_cpc_set_sample(cpc, set, buf) == -1);
    must(rtc_cpc_buf_reading(cpc, buf, 0, &r) == 0 && !r.known);
}

/* ---- overflow ------------------------------------------------------------------------------------- */

static struct {
    rtc_cpc_t *cpc;
    rtc_cpc_set_t *set;
    rtc_cpc_buf_t *buf;
    volatile sig_atomic_t signals, index, code;
    volatile bool restart;
} overflow;

/* As the second example of cpc_bind_curlwp(3CPC). */
static void overflowed(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    overflow.signals++;
    overflow.code = info->si_code;
    overflow.index = rtc_cpc_overflow_index(overflow.cpc, overflow.set, info->si_fd);
    must(rtc_cpc_set_sample(overflow.cpc, overflow.set, overflow.buf) == 0);
    if (overflow.restart)
        must(rtc_cpc_set_restart(overflow.cpc, overflow.set) == 0);
}

static void handle_overflows(int signal)
{
    struct sigaction action = {.sa_sigaction = overflowed, .sa_flags = SA_SIGINFO};
    must(sigaction(signal, &action, NULL) == 0);
}

static void bind_overflow(uint64_t preset)
{
    overflow.cpc = open_quietly();
    overflow.set = set_of(overflow.cpc, "minor-faults", USER);
    add(overflow.cpc, overflow.set, "page-faults", preset, USER | RTC_CPC_OVF_NOTIFY_EMT);
    overflow.buf = buffer(overflow.cpc, overflow.set);
}

void row_overflow(void)
{
    bind_overflow((uint64_t)-100);
    handle_overflows(SIGIO);
    must(rtc_cpc_bind_curlwp(overflow.cpc, overflow.set, 0) == 0);
    touch(60);
    must(overflow.signals == 0 && sampled(overflow.cpc, overflow.set, 1) >= (uint64_t)-40);
    touch(60);
    must(overflow.signals == 1 && overflow.index == 1 && overflow.code == POLL_HUP);
    must(value_of(overflow.cpc, overflow.buf, 1) < 10); /* it wrapped to 0 */

    /* The whole set has stopped; only a restart starts it again. */
    uint64_t frozen = sampled(overflow.cpc, overflow.set, 0);
    must(frozen >= 95 && frozen < 110);
    touch(500);
    must(overflow.signals == 1 && sampled(overflow.cpc, overflow.set, 0) == frozen);
    must(rtc_cpc_disable(overflow.cpc) == 0 && rtc_cpc_enable(overflow.cpc) == 0);
    touch(500);
    must(overflow.signals == 1 && sampled(overflow.cpc, overflow.set, 0) == frozen);

    /* With a restart in the handler the signal comes repeatedly; here a signal of the program's choice. */
    overflow.restart = true;
    must(rtc_cpc_overflow_signal(overflow.cpc, SIGRTMIN + 2) == 0);
    handle_overflows(SIGRTMIN + 2);
    must(rtc_cpc_bind_curlwp(overflow.cpc, overflow.set, 0) == 0);
    overflow.signals = 0;
    touch(1050);
    must(overflow.signals >= 9 && overflow.signals <= 11);

    /* A set that was stopped before its overflow overflows after it is enabled again. */
    overflow.restart = false;
    must(rtc_cpc_set_restart(overflow.cpc, overflow.set) == 0);
    overflow.signals = 0;
    touch(60);
    must(rtc_cpc_disable(overflow.cpc) == 0);
    touch(500);
    must(rtc_cpc_enable(overflow.cpc) == 0 && overflow.signals == 0);
    touch(60);
    must(overflow.signals == 1);
    touch(500);
    must(overflow.signals == 1);
}

void row_overflow_errors(void)
{
    bind_overflow(0);
    fails(rtc_cpc_overflow_signal(overflow.cpc, 0), EINVAL, 0);
    fails(rtc_cpc_overflow_signal(overflow.cpc, SIGKILL), EINVAL, 0);
    fails(rtc_cpc_overflow_signal(overflow.cpc, 65), EINVAL, 0);
    must(rtc_cpc_bind_curlwp(overflow.cpc, overflow.set, 0) == 0); /* without overflow signals */
    touch(64);
    must(is_about(sampled(overflow.cpc, overflow.set, 1), 64));
    fails(rtc_cpc_overflow_index(overflow.cpc, overflow.set, 0), EINVAL, 0);
    fails(rtc_cpc_overflow_index(overflow.cpc, overflow.set, -1), EINVAL, 0);
    must(rtc_cpc_unbind(overflow.cpc, overflow.set) == 0);
    fails(rtc_cpc_bind_curlwp(overflow.cpc, overflow.set, RTC_CPC_BIND_LWP_INHERIT), ENOTSUP,
          RTC_CPC_PIC_NOT_CAPABLE);
    add(overflow.cpc, overflow.set, "clock:monotonic", 0, USER);
    fails(rtc_cpc_bind_curlwp(overflow.cpc, overflow.set, 0), EINVAL, RTC_CPC_CONFLICTING_REQS);
    rtc_cpc_set_t *two = set_of(overflow.cpc, "page-faults", USER | RTC_CPC_OVF_NOTIFY_EMT);
    add(overflow.cpc, two, "minor-faults", 0, USER | RTC_CPC_OVF_NOTIFY_EMT);
    fails(rtc_cpc_bind_curlwp(overflow.cpc, two, 0), EINVAL, RTC_CPC_CONFLICTING_REQS);
}

static rtc_cpc_t *shared;
static rtc_cpc_set_t *shared_set;
static rtc_cpc_buf_t *shared_buf;
static volatile sig_atomic_t ticks;

static void sample_in_handler(int signal)
{
    (void)signal;
    must(rtc_cpc_set_sample(shared, shared_set, shared_buf) == 0);
    ticks++;
}

/* A handler may call the function that it has interrupted. */
void row_sampled_in_a_handler(void)
{
    shared = open_quietly();
    shared_set = set_of(shared, "page-faults", USER);
    shared_buf = buffer(shared, shared_set);
    must(rtc_cpc_bind_curlwp(shared, shared_set, 0) == 0);
    signal(SIGUSR1, sample_in_handler); /* SIGALRM ends a row that hangs */
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;
    must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    must(timer_settime(timer, 0, &(struct itimerspec){{0, 500000}, {0, 500000}}, NULL) == 0);
    while (ticks < 100)
        sampled(shared, shared_set, 0);
}

/* ---- descriptors ---------------------------------------------------------------------------------- */

void row_closed_descriptors(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
    rtc_cpc_buf_t *buf = buffer(cpc, set);
    int ends[2], first = dup(0);
    char byte = 0;
    close(first);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0 && rtc_cpc_set_sample(cpc, set, buf) == 0);
    must(fcntl(first, F_GETFD) == FD_CLOEXEC);
    int64_t when = rtc_cpc_buf_hrtime(cpc, buf);
    close(first);
    must(pipe(ends) == 0 && ends[0] == first && write(ends[1], "x", 1) == 1);
    fails(rtc_cpc_set_sample(cpc, set, buf), EAGAIN, RTC_CPC_RESOURCE_UNAVAIL);
    must(strcmp(last_error.text, "page-faults: n/a: the program has closed its descriptor") == 0);
    must(rtc_cpc_buf_hrtime(cpc, buf) == when); /* as it was */
    fails(rtc_cpc_set_restart(cpc, set), EAGAIN, RTC_CPC_RESOURCE_UNAVAIL);
    must(rtc_cpc_unbind(cpc, set) == 0);
    must(read(ends[0], &byte, 1) == 1 &&
         byte == 'x'); /* the runtime has neither read nor closed it */
}

/* A clock that is a file. */
static void without_a_descriptor_to_read(rtc_cpc_t *cpc, unsigned limit)
{
    struct rtc_cpc_reading r;
    rtc_cpc_set_t *set = set_of(cpc, "schedstat:wait-time", BOTH);
    rtc_cpc_buf_t *buf = buffer(cpc, set);
    char printed[128];
    fails(rtc_cpc_bind_curlwp(cpc, set, 0), EMFILE, RTC_CPC_RESOURCE_UNAVAIL);
    snprintf(printed, sizeof printed,
             "schedstat:wait-time: n/a: no descriptor left in this process (RLIMIT_NOFILE is %u)",
             limit);
    must(strcmp(last_error.text, printed) == 0);
    close(0);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0 && dup(1) == 0);
    must(rtc_cpc_set_sample(cpc, set, buf) == 0 && rtc_cpc_buf_reading(cpc, buf, 0, &r) == 0);
    must(!r.known && strcmp(r.why, "n/a: no descriptor left in this process to read it with") == 0);
    must(rtc_cpc_unbind(cpc, set) == 0);
}

void row_no_descriptors(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
    add(cpc, set, "minor-faults", 0, USER);
    unsigned used = (unsigned)dup(0); /* the first that is free */
    close((int)used);
    must(setrlimit(RLIMIT_NOFILE, &(struct rlimit){used + 1, used + 1}) == 0);
    fails(rtc_cpc_bind_curlwp(cpc, set, 0), EMFILE, RTC_CPC_RESOURCE_UNAVAIL);
    char printed[128];
    snprintf(printed, sizeof printed,
             "minor-faults: n/a: no descriptor left in this process (RLIMIT_NOFILE is %u)",
             used + 1);
    must(strcmp(last_error.text, printed) == 0);
    int fd = dup(0);
    must(fd == (int)used); /* the first one was closed */
    fails(rtc_cpc_bind_curlwp(cpc, set, 0), EMFILE, RTC_CPC_RESOURCE_UNAVAIL);
    rtc_cpc_set_t *clock = set_of(cpc, "rusage:minor-faults", BOTH);
    must(rtc_cpc_bind_curlwp(cpc, clock, 0) == 0); /* needs none */
    touch(64);
    must(is_about(sampled(cpc, clock, 0), 64));
    must(rtc_cpc_unbind(cpc, clock) == 0);
    without_a_descriptor_to_read(cpc, used + 1);
    rtc_cpc_t *early = rtc_cpc_open(RTC_CPC_VER_CURRENT);
    must(early && rtc_cpc_caps(early) == 0); /* unknown without a descriptor */
    close(fd);
    must(rtc_cpc_caps(early) == rtc_cpc_caps(cpc) && rtc_cpc_npic(early) == rtc_cpc_npic(cpc));
    must(strcmp(rtc_cpc_cciname(early), rtc_cpc_cciname(cpc)) == 0);
}

/* No system call that the sandbox may forbid is made; permitted clocks continue. */
void row_sandbox(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER),
                  *clock = set_of(cpc, "clock:thread", BOTH);
    rtc_cpc_set_t *usage = set_of(cpc, "rusage:user-time", BOTH),
                  *late = set_of(cpc, "page-faults", USER);
    rtc_cpc_buf_t *buf = buffer(cpc, set), *other = buffer(cpc, usage);
    struct rtc_cpc_reading r;
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0 && rtc_cpc_bind_curlwp(cpc, clock, 0) == 0);
    must(rtc_cpc_bind_curlwp(cpc, usage, 0) == 0);
    must(sandbox_enter() == 0);
    fails(rtc_cpc_bind_curlwp(cpc, late, 0), ECANCELED, RTC_CPC_UNAVAILABLE);
    must(strcmp(last_error.text, "page-faults: n/a: the program has entered a sandbox") == 0);
    fails(rtc_cpc_set_sample(cpc, set, buf), EAGAIN, RTC_CPC_RESOURCE_UNAVAIL);
    must(rtc_cpc_set_sample(cpc, usage, other) == 0);
    must(rtc_cpc_buf_reading(cpc, other, 0, &r) == 0 && !r.known);
    uint64_t first = sampled(cpc, clock, 0);
    spin();
    must(sampled(cpc, clock, 0) > first);
    must(rtc_cpc_disable(cpc) == 0);
    must(rtc_cpc_set_sample(cpc, usage, other) == 0); /* its earlier count is unknown, too */
    must(rtc_cpc_buf_reading(cpc, other, 0, &r) == 0 && !r.known && !r.value);
    first = sampled(cpc, clock, 0);
    spin();
    must(sampled(cpc, clock, 0) == first && rtc_cpc_enable(cpc) == 0);
    spin();
    must(sampled(cpc, clock, 0) > first);
    must(rtc_cpc_unbind(cpc, set) == 0);
    rtc_cpc_t *another = rtc_cpc_open(RTC_CPC_VER_CURRENT);
    must(another && rtc_cpc_caps(another) == 0 && rtc_cpc_close(cpc) == 0);
}

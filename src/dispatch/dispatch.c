/*
 * dispatch.c - events=all: inspects every system call of every thread (for the mechanism see
 * os/dispatch.c).
 *
 * A system call that changes the address space is made here, and reported as by the interposed
 * functions (dispatch_feed.c).  System calls made by those functions themselves are not reported
 * again.  All other calls are passed on unchanged.
 *
 * In some cases a thread must be disarmed; such threads are counted:
 *
 *   a sandbox is entered             it may forbid sigreturn
 *   int $0x80                        it uses the numbers of another ABI
 *   munmap of the thread's own stack a signal handler would have no stack afterwards
 *   too many call sites that fork    their tables are full
 *
 * The program may use SIGSYS: signals that are not from dispatch are forwarded to its handler
 * (dispatch_signal.c).  It cannot use syscall user dispatch itself: prctl fails as on a kernel
 * without it.
 */
#include "dispatch_priv.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define PR_SET_SYSCALL_USER_DISPATCH 59
#define SECCOMP_FILTERS 1 /* the operations from 2 on are queries */
#define MEASURED 16u
#define MEASURED_TIMES 4u

bool dispatch_is_on;

static bool enters_sandbox(long number, const long a[6])
{
    return (number == SYS_seccomp && (unsigned long)a[0] <= SECCOMP_FILTERS) ||
           (number == SYS_prctl && a[0] == PR_SET_SECCOMP);
}

static void stop_dispatching(void *context)
{
    atomic_fetch_add_explicit(&dispatched->uncovered, 1, memory_order_relaxed);
    os_dispatch_disarm();
    os_dispatch_repeat(context);
}

/* Handle the calls that are treated here; false: another call. */
static bool answer(long number, const long a[6], void *context)
{
    long result;
    if (number == SYS_rt_sigaction && a[0] == SIGSYS)
        result = dispatch_action(a);
    else if (number == SYS_prctl && a[0] == PR_SET_SYSCALL_USER_DISPATCH)
        result = -EINVAL;
    else {
        switch (dispatch_feed(number, a, context, &result)) {
        case FEED_DONE:
            break;
        case FEED_PASS:
            return false;
        case FEED_STACKLESS:
            if (!os_dispatch_pass_stackless(context))
                stop_dispatching(context);
            return true;
        case FEED_LAST:
            stop_dispatching(context);
            return true;
        }
    }
    os_dispatch_return(context, result);
    return true;
}

static void on_call(int signal, void *info, void *context)
{
    bool foreign;
    long number, a[6];
    if (!os_is_dispatched(info, &foreign)) {
        dispatch_forward(signal, info, context);
        return;
    }
    atomic_fetch_add_explicit(&dispatched->calls, 1, memory_order_relaxed);
    os_dispatch_call(context, &number, a);
    if (foreign || enters_sandbox(number, a))
        stop_dispatching(context);
    else if (!answer(number, a, context) && !os_dispatch_pass(context))
        stop_dispatching(context);
}

/* ---- start ----------------------------------------------------------------------------------- */

static uint64_t time_of(bool through)
{
    uint64_t least = UINT64_MAX;
    for (unsigned t = 0; t < MEASURED_TIMES; t++) {
        uint64_t begin = os_clock_ns();
        for (unsigned i = 0; i < MEASURED; i++)
            if (through)
                NEXT(syscall)(SYS_getppid);
            else
                os_ppid();
        uint64_t took = os_clock_ns() - begin;
        least = took < least ? took : least;
    }
    return least;
}

static struct object runtime_object, libc;

bool dispatch_is_own_code(uintptr_t pc)
{
    return pc >= runtime_object.start && pc < runtime_object.end;
}

bool dispatch_is_libcs(uintptr_t pc)
{
    return (pc >= libc.start && pc < libc.end) || pc - loader_range.start < loader_range.bytes;
}

/* Additional cost of a dispatched call in ns. */
static uint32_t measure(void)
{
    uint64_t without = time_of(false), with = time_of(true);
    return with > without ? (uint32_t)((with - without) / MEASURED) : 0;
}

static void arm_other(uint32_t tid, void *self_tid)
{
    if (tid != *(const uint32_t *)self_tid)
        dispatch_arm_thread(tid);
}

void events_dispatch(void)
{
    struct mapped_call c;
    uint32_t tid = os_tid();
    if (!rt.options.all_events || !init_is_started())
        return;
    if (!loader_find((uintptr_t)events_dispatch, &runtime_object) ||
        !loader_find((uintptr_t)__errno_location, &libc)) {
        dispatched_begin(-ENOENT, 0, 0);
        return;
    }
    dispatched_start();
    mapped_at(&c, NULL);
    mapped_begin(&c); /* creates the map of mappings */
    mapped_end(&c);
    handlers_dispatch(true);
    int err =
        os_dispatch_start(on_call, runtime_object.start, runtime_object.end - runtime_object.start,
                          &dispatch_program_action);
    if (err)
        handlers_dispatch(false);
    uint32_t ns = err ? 0 : measure();
    atomic_store(&dispatched->calls, 0);
    dispatched_begin(err, ns, err ? 0 : MEASURED * MEASURED_TIMES);
    if (!err)
        os_each_thread(arm_other, &tid);
}

EXPORT int rtc_event_dispatched(struct rtc_event_dispatched *out)
{
    struct dispatched_record known = dispatched_state();
    if (out->size != sizeof *out)
        return -EINVAL;
    if (!known.is_requested)
        return -ENODATA;
    if (known.error)
        return known.error == -EINVAL || known.error == -ENOSYS ? -ENOTSUP : known.error;
    out->calls = atomic_load(&dispatched->calls);
    out->told = atomic_load(&dispatched->reported);
    out->uncovered = atomic_load(&dispatched->uncovered) + os_dispatch_missed();
    out->call_ns = known.call_ns;
    out->measured = known.measured;
    return 0;
}

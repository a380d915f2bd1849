/*
 * cpc.h - performance counters of threads, processes and processors, for programs.
 *
 * The interface is that of Solaris' libcpc, with the prefix rtc_cpc_ instead of cpc_, on Linux'
 * perf_event_open.  So code written for libcpc is easy to port.  Differences are documented.  The source
 * of each rule is the manual page of that name (cpc_open(3CPC) and so on), except rules marked
 * "ours".  If Linux cannot provide a counter (no PMU, no permission), its value is not known: no
 * function returns 0 instead, and the error handler receives the reason.
 *
 * A program links and runs without the runtime: every function is a weak symbol, NULL without the
 * runtime.  Test one, e.g. `if (rtc_cpc_open)`.  Complete programs: examples/.
 *
 * Unless a function documents otherwise:
 *
 *   - A status of type int is 0, or -1 with errno. errno is unchanged on success.
 *   - EINVAL also means: the handle, set, buffer or context is invalid, or belongs to another
 *     handle.  Functions without a status then return 0 or NULL, or do nothing.
 *   - Any thread and any signal handler may call a function: signals are blocked meanwhile.
 *     Handlers must not call in a program that has entered a sandbox, where signals cannot be
 *     blocked.  Several threads may use one handle concurrently.  Functions on buffers take no
 *     lock: only one thread at a time may use a buffer.
 *   - Times are in nanoseconds of CLOCK_MONOTONIC.
 *   - The caller owns what it passes: strings and attributes are copied.  The library owns handles,
 *     sets and buffers; pointers to them are invalid after close and destroy.  A closed handle is
 *     detected until it is reused.
 *
 * Each counter is a file descriptor of the process, closed on exec.  A program that closes unknown
 * descriptors loses its counters, and gets EAGAIN.  A descriptor number that was reused for another
 * file is neither read nor closed.
 *
 * Forks: a child has the handles, sets and buffers of its parent.  Sets that the forking thread had
 * bound to itself are bound to the child's thread, and start at their presets.  Sets of other
 * threads, processes and processors are not bound in the child.  After a fork that runs no atfork
 * handlers (a raw clone) no set is bound.  A vfork child runs in its parent's memory, and must not
 * call these functions.
 */
#ifndef RTCHECK_CPC_H
#define RTCHECK_CPC_H

#include <stdarg.h>
#include <stdint.h>
#include <sys/types.h>

#include "api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rtc_cpc rtc_cpc_t;
typedef struct rtc_cpc_set rtc_cpc_set_t;
typedef struct rtc_cpc_buf rtc_cpc_buf_t;

typedef struct rtc_cpc_attr {
    const char *ca_name;
    uint64_t ca_val;
} rtc_cpc_attr_t;

/* ---- handles --------------------------------------------------------------------------------- */

#define RTC_CPC_VER_CURRENT 2

/*
 * Open a handle.  Return NULL with EINVAL if the library has another version (pass
 * RTC_CPC_VER_CURRENT), or with ENOMEM.  Unlike libcpc's, it does not fail without counters: clocks
 * are always available.
 */
RTC_API rtc_cpc_t *rtc_cpc_open(int version);

/* Unbind its sets, and destroy them and all buffers. */
RTC_API int rtc_cpc_close(rtc_cpc_t *cpc);

/*
 * The number of the processor's general-purpose counters (by CPUID); 0: no PMU, or unknown.
 * Software events need no counter.
 */
RTC_API unsigned rtc_cpc_npic(rtc_cpc_t *cpc);

enum {
    RTC_CPC_CAP_OVERFLOW_INTERRUPT = 1 << 0, /* overflow notification */
    RTC_CPC_CAP_OVERFLOW_PRECISE = 1 << 1    /* with its request (rtc_cpc_overflow_index) */
};

/* Both, or 0 without perf events. */
RTC_API unsigned rtc_cpc_caps(rtc_cpc_t *cpc);

/*
 * The name of the processor, or "software only"; and references for its events.  The strings belong
 * to the handle.  These four functions repeat the probe if no descriptor was available.
 */
RTC_API const char *rtc_cpc_cciname(rtc_cpc_t *cpc);
RTC_API const char *rtc_cpc_cpuref(rtc_cpc_t *cpc);

/* ---- errors ---------------------------------------------------------------------------------- */

enum rtc_cpc_subcode {
    RTC_CPC_INVALID_EVENT = 1,           /* no such event on this machine */
    RTC_CPC_INVALID_PICNUM = 2,          /* no such counter */
    RTC_CPC_INVALID_ATTRIBUTE = 3,       /* no such attribute of this event */
    RTC_CPC_ATTRIBUTE_OUT_OF_RANGE = 4,  /* its value does not fit */
    RTC_CPC_RESOURCE_UNAVAIL = 5,        /* counters or descriptors are in use */
    RTC_CPC_PIC_NOT_CAPABLE = 6,         /* the counter does not support this */
    RTC_CPC_REQ_INVALID_FLAGS = 7,       /* unknown flags, or flags that count nothing */
    RTC_CPC_CONFLICTING_REQS = 8,        /* each request is possible, but not all in one set */
    RTC_CPC_ATTR_REQUIRES_PRIVILEGE = 9, /* not permitted */
    RTC_CPC_UNAVAILABLE = 10             /* ours: no perf events at all */
};

/*
 * Called for each failure with a subcode, by the thread that made the call, with no lock held,
 * before the call returns. errno is already set and is kept.  `fn`: the function.  `fmt`: a format
 * for vprintf; all its arguments are strings.  The message has the subject, and "n/a: " with the
 * reason.  (libcpc's handler does not get the handle, and its cpc_seterrhndlr returns nothing.)
 */
typedef void rtc_cpc_errhndlr_t(rtc_cpc_t *cpc, const char *fn, int subcode, const char *fmt,
                                va_list ap);

/* NULL restores the default, which writes one line "rtcheck: FN: ..." to stderr. */
RTC_API int rtc_cpc_seterrhndlr(rtc_cpc_t *cpc, rtc_cpc_errhndlr_t *handler);

/* ---- lists of events and attributes ---------------------------------------------------------- */

/*
 * Call action for each available event: events that can be opened in user mode, clocks, and events
 * that PMUs list ("cpu/cache-misses/").  Raw events and tracepoints are not listed.  The generic
 * events are libcpc's names, PAPI_.... On Linux any counter can count any event of the processor,
 * so _pic lists the processor's events for each counter below rtc_cpc_npic.  INVALID_PICNUM: there
 * is no such counter.  Names are valid during the call.  No lock is held. action must return.  If
 * no descriptor is available, the list is incomplete: afterwards the handler is called
 * (RESOURCE_UNAVAIL), and errno is EMFILE or ENFILE.
 */
RTC_API void rtc_cpc_walk_events_all(rtc_cpc_t *cpc, void *arg,
                                     void (*action)(void *arg, const char *event));
RTC_API void rtc_cpc_walk_generic_events_all(rtc_cpc_t *cpc, void *arg,
                                             void (*action)(void *arg, const char *event));
RTC_API void rtc_cpc_walk_events_pic(rtc_cpc_t *cpc, unsigned picno, void *arg,
                                     void (*action)(void *arg, unsigned picno, const char *event));
RTC_API void rtc_cpc_walk_generic_events_pic(rtc_cpc_t *cpc, unsigned picno, void *arg,
                                             void (*action)(void *arg, unsigned picno,
                                                            const char *event));

/* Call action for each attribute of the PMUs, in the same way; each name once. */
RTC_API void rtc_cpc_walk_attrs(rtc_cpc_t *cpc, void *arg,
                                void (*action)(void *arg, const char *attr));

/* ---- sets of requests ------------------------------------------------------------------------ */

/* Create an empty set.  Return NULL with ENOMEM. */
RTC_API rtc_cpc_set_t *rtc_cpc_set_create(rtc_cpc_t *cpc);

/* Unbind the set if it is bound, and free it; its buffers stay valid. */
RTC_API int rtc_cpc_set_destroy(rtc_cpc_t *cpc, rtc_cpc_set_t *set);

/* Flags of a request: at least one of the first two. */
enum {
    RTC_CPC_COUNT_USER = 1 << 0,
    RTC_CPC_COUNT_SYSTEM = 1 << 1,
    RTC_CPC_OVF_NOTIFY_EMT = 1 << 2 /* send a signal on overflow: rtc_cpc_overflow_signal */
};

#define RTC_CPC_REQUESTS_MAX 64  /* of a set */
#define RTC_CPC_ATTRIBUTES_MAX 8 /* of a request */

/*
 * Add a request to an unbound set.  Return its index, from 0.  The counter will start at `preset`.
 *
 * Events, by name:
 *   software       task-clock and cpu-clock (nanoseconds of CPU time, in both modes regardless of
 *                  the flags), page-faults or faults, minor-faults, major-faults, alignment-faults,
 *                  emulation-faults, dummy; in the kernel only: context-switches or cs,
 *                  cpu-migrations or migrations
 *   hardware       cycles or cpu-cycles, instructions, cache-references, cache-misses, branches or
 *                  branch-instructions, branch-misses, bus-cycles, stalled-cycles-frontend,
 *                  stalled-cycles-backend, ref-cycles; and libcpc's generic names for them:
 *                  PAPI_tot_cyc, PAPI_tot_ins, PAPI_br_ins, PAPI_br_msp, PAPI_ref_cyc
 *   caches         L1-dcache, L1-icache, LLC, dTLB, iTLB, branch or node, and -loads, -load-misses,
 *                  -stores, -store-misses, -prefetches, -prefetch-misses
 *   raw            rNNN, hexadecimal; attributes as for the PMU "cpu"
 *   PMU/EVENT/     as in /sys/bus/event_source/devices: cpu/cache-misses/; or by terms:
 *                  cpu/event=0x2e,umask=0x41/.  Attributes: config, config1, config2, and those of
 *                  the PMU's directory "format".  Values are not multiplied by a scale
 *   SYSTEM:NAME    tracepoints, if tracefs is mounted and readable; in the kernel
 *   clocks, ours   clock:thread, clock:process (CPU time), clock:monotonic; rusage:minor-faults,
 *                  rusage:major-faults, rusage:voluntary-switches, rusage:involuntary-switches,
 *                  rusage:user-time, rusage:system-time (of the thread); schedstat:wait-time.
 *                  Times are in nanoseconds.  Always both modes, no perf events, no overflow
 *
 * If perf events are not available or not permitted, clocks replace task-clock and cpu-clock in
 * sets of the calling thread.  They also replace faults and context-switches if both modes are
 * counted. rtc_cpc_reading has the source.
 *
 * -1: EINVAL (INVALID_EVENT, INVALID_ATTRIBUTE, ATTRIBUTE_OUT_OF_RANGE, INVALID_PICNUM,
 * PIC_NOT_CAPABLE).  REQ_INVALID_FLAGS: neither user nor system mode, or user mode alone for a
 * kernel event, or overflow notification unless only user mode is counted.  EINVAL also if the set
 * is bound.  ENOMEM: too many.  EMFILE, ENFILE (RESOURCE_UNAVAIL): no descriptor is available to
 * look the name up.
 */
RTC_API int rtc_cpc_set_add_request(rtc_cpc_t *cpc, rtc_cpc_set_t *set, const char *event,
                                    uint64_t preset, unsigned flags, unsigned nattrs,
                                    const rtc_cpc_attr_t *attrs);

/*
 * Change the preset of a request; it takes effect when the set is bound or restarted.  The second
 * function uses the last set that the calling thread has bound to itself (EINVAL: none).
 */
RTC_API int rtc_cpc_set_request_preset(rtc_cpc_t *cpc, rtc_cpc_set_t *set, int index,
                                       uint64_t preset);
RTC_API int rtc_cpc_request_preset(rtc_cpc_t *cpc, int index, uint64_t preset);

/*
 * Call action for each request, in order, with no lock held.  Strings and attributes are valid
 * during the call.
 */
RTC_API void rtc_cpc_walk_requests(rtc_cpc_t *cpc, rtc_cpc_set_t *set, void *arg,
                                   void (*action)(void *arg, int index, const char *event,
                                                  uint64_t preset, unsigned flags, int nattrs,
                                                  const rtc_cpc_attr_t *attrs));

/* ---- binding --------------------------------------------------------------------------------- */

enum {
    RTC_CPC_BIND_LWP_INHERIT = 1 << 0, /* also count threads that it creates from now on */
    RTC_CPC_BIND_PINNED = 1 << 1       /* ours: keep the counters exclusively, or fail */
};

/*
 * From now on the set counts the calling thread: all of its requests or none.  A bound set is
 * unbound first.  Several sets may be bound.  If there are more events than counters, Linux
 * multiplexes the sets, and values are scaled to the whole time (rtc_cpc_reading reports it).
 * PINNED: no multiplexing; if the counters are in use, samples fail with EAGAIN, as libcpc's do.
 * After the end of a thread, its counts remain.  Its clocks keep the values from near its end (when
 * its destructors of thread-specific data ran).  Other threads can sample its sets, and must
 * unbind them.
 *
 * INHERIT: threads created from now on by this thread, and by those, are added to its counts
 * (libcpc keeps separate counts).  Forked processes are not.  ENOTSUP: a kernel before 5.13 cannot
 * count threads without processes; or a request has overflow notification.
 *
 * EINVAL: the set is empty, or unknown flags; or INVALID_EVENT, REQ_INVALID_FLAGS,
 * CONFLICTING_REQS.  EACCES: ATTR_REQUIRES_PRIVILEGE.  EAGAIN: RESOURCE_UNAVAIL, another user has
 * the counters.  EMFILE, ENFILE: RESOURCE_UNAVAIL, no descriptors.  ENOTSUP: PIC_NOT_CAPABLE.
 * ENOSYS, or ECANCELED in a program that has entered a sandbox: UNAVAILABLE.
 */
RTC_API int rtc_cpc_bind_curlwp(rtc_cpc_t *cpc, rtc_cpc_set_t *set, unsigned flags);

/* Stop counting, and release the counters.  EINVAL: not bound.  Buffers keep their values. */
RTC_API int rtc_cpc_unbind(rtc_cpc_t *cpc, rtc_cpc_set_t *set);

/*
 * Restart a bound set at its presets, also if an overflow has stopped it.  A set stopped by
 * rtc_cpc_disable keeps its presets until rtc_cpc_enable.  EINVAL: not bound.  EAGAIN,
 * RESOURCE_UNAVAIL: its descriptors are closed, or it has a clock that only the thread that bound
 * it can read.  EMFILE, RESOURCE_UNAVAIL: no descriptor is available to read a clock.  A set with
 * overflow notification also fails like rtc_cpc_bind_curlwp; ESRCH: its thread has ended.
 */
RTC_API int rtc_cpc_set_restart(rtc_cpc_t *cpc, rtc_cpc_set_t *set);

/*
 * For all sets of the handle that the calling thread has bound to itself: stop counting; continue,
 * except sets that an overflow has stopped.  EINVAL: there is none.
 */
RTC_API int rtc_cpc_disable(rtc_cpc_t *cpc);
RTC_API int rtc_cpc_enable(rtc_cpc_t *cpc);

/* ---- other processes, and processors --------------------------------------------------------- */

/*
 * Like libpctx: a process with threads that a set can be bound to.  It is not stopped, because
 * ptrace is not used.  The kernel decides about permission to count it (the rules of ptrace;
 * perf_event_paranoid).  So pctx_run and pctx_set_events do not exist, and there are no callbacks.
 * The two functions below lack the last three arguments of pctx_capture and pctx_create (arg,
 * verbose, errfn).
 */
typedef struct rtc_pctx rtc_pctx_t;

/*
 * Capture a running process.  The caller ensures that its pid is not reused.  NULL: ESRCH, ENOMEM.
 */
RTC_API rtc_pctx_t *rtc_pctx_capture(pid_t pid);

/*
 * Fork a child that waits for its release, and then runs the program `file` (like execvp; status
 * 127 if that fails).  Sets bound to it count from its exec.  The caller waits for it like for any
 * child.  NULL: ENOMEM, or the errors of fork and socketpair.  Not for signal handlers, because it
 * forks.
 */
RTC_API rtc_pctx_t *rtc_pctx_create(const char *file, char *const argv[]);

RTC_API pid_t rtc_pctx_pid(rtc_pctx_t *pctx); /* -1: invalid */

/*
 * Release a created process.  The context, of either kind, is freed; bound sets count until they
 * are unbound.
 */
RTC_API int rtc_pctx_release(rtc_pctx_t *pctx);

/*
 * Count one thread of that process: `id`, or its first thread with 0 (libpctx numbers them from 1).
 * No flags, no inherited threads, no overflow notification.  The last counts are kept when the
 * thread has ended.  ESRCH: there is no such thread.  Other errors as for rtc_cpc_bind_curlwp.
 */
RTC_API int rtc_cpc_bind_pctx(rtc_cpc_t *cpc, rtc_pctx_t *pctx, pid_t id, rtc_cpc_set_t *set,
                              unsigned flags);

/*
 * Count everything that runs on that processor.  Needs CAP_PERFMON, or perf_event_paranoid below 1.
 * Other sets continue, and the caller may run on any processor (libcpc stops the sets, and binds
 * the caller).  No flags, no overflow notification.  EINVAL: there is no such processor.  ENOSYS
 * with RESOURCE_UNAVAIL: it is offline.
 */
RTC_API int rtc_cpc_bind_cpu(rtc_cpc_t *cpc, int cpu, rtc_cpc_set_t *set, unsigned flags);

/* ---- overflow -------------------------------------------------------------------------------- */

/*
 * A request with RTC_CPC_OVF_NOTIFY_EMT overflows when its counter exceeds 2^64 - 1, after 2^64 -
 * preset events.  Then the thread that bound the set receives a signal, and the whole set stops
 * until it is restarted or bound again.  The signal is delivered when the thread returns from the
 * kernel: some instructions late, and perhaps after an rtc_cpc_unbind.  The handler's ucontext has
 * the position.  The signal is SIGIO, because Linux has no SIGEMT here.  This function sets another
 * one for sets bound from then on. si_code is POLL_HUP; pass si_fd to rtc_cpc_overflow_index.  A
 * set has at most one such request, and then no clocks (CONFLICTING_REQS); several sets may be
 * bound.  A preset of 2^63 or less does not overflow.  EINVAL: not a signal that can be handled.
 */
RTC_API int rtc_cpc_overflow_signal(rtc_cpc_t *cpc, int signal);

/* Ours: the request of a bound set that has the descriptor `fd` (si_fd); -1 with EINVAL: none. */
RTC_API int rtc_cpc_overflow_index(rtc_cpc_t *cpc, rtc_cpc_set_t *set, int fd);

/* ---- buffers --------------------------------------------------------------------------------- */

/*
 * Create a buffer for the current requests of the set.  NULL: ENOMEM, EINVAL.  Its values are not
 * known until it is sampled, zeroed, set or copied into (libcpc's starts with zeros).
 */
RTC_API rtc_cpc_buf_t *rtc_cpc_buf_create(rtc_cpc_t *cpc, rtc_cpc_set_t *set);
/* No other thread may use it any more. */
RTC_API int rtc_cpc_buf_destroy(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf);

/*
 * Read all counters of a bound set at one moment, of any thread.  Presets are unchanged.  EINVAL:
 * the set is not bound, or the buffer belongs to another set or is older than one of its requests.
 * EAGAIN (RESOURCE_UNAVAIL): no value is known.  Either the set is pinned and did not get its
 * counters, or its descriptors are closed, or the program has entered a sandbox.  The buffer is then
 * unchanged.  Cost: five system calls; for a set of clocks four, plus one for each.
 */
RTC_API int rtc_cpc_set_sample(rtc_cpc_t *cpc, rtc_cpc_set_t *set, rtc_cpc_buf_t *buf);

/*
 * The value of a request.  EINVAL: no such index.  ENODATA: not known.  Functions on buffers are
 * async-signal-safe and make no system call.  (libcpc's cpc_buf_set takes the value's address.)
 */
RTC_API int rtc_cpc_buf_get(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf, int index, uint64_t *val);
RTC_API int rtc_cpc_buf_set(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf, int index, uint64_t val);

/* Ours: details of a value. */
struct rtc_cpc_reading {
    int known;  /* 0: the value is 0 and has no meaning */
    int scaled; /* an estimate: counted for running_ns of enabled_ns */
    uint64_t value;
    uint64_t enabled_ns, running_ns; /* for a sample: since the start or restart; 0 for clocks */
    const char *source;              /* "perf", "getrusage" and so on; "" unless sampled; static */
    const char *why;                 /* unless known: "n/a: ..."; else ""; static */
};

RTC_API int rtc_cpc_buf_reading(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf, int index,
                                struct rtc_cpc_reading *out);

/*
 * The time of the sample; and the CPU time in nanoseconds for which the set had been counting
 * (libcpc: cycles). 0: never sampled.
 */
RTC_API int64_t rtc_cpc_buf_hrtime(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf);
RTC_API uint64_t rtc_cpc_buf_tick(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf);

/*
 * result = left - right, left + right, for each request and the ticks, modulo 2^64.  A value that
 * is not known in an operand is not known in the result.  The time is the later one. result may be
 * an operand.  The difference of two samples of one start is the count between them, scaled to that
 * time alone.  It is not known if other sets used the counters all that time.  The difference of
 * two estimates may be below 0.  If the buffers do not all belong to one set, they are unchanged,
 * and the handler is called (RTC_CPC_CONFLICTING_REQS).  (libcpc's return an int.)
 */
RTC_API void rtc_cpc_buf_sub(rtc_cpc_t *cpc, rtc_cpc_buf_t *result, rtc_cpc_buf_t *left,
                             rtc_cpc_buf_t *right);
RTC_API void rtc_cpc_buf_add(rtc_cpc_t *cpc, rtc_cpc_buf_t *result, rtc_cpc_buf_t *left,
                             rtc_cpc_buf_t *right);
/* Copy src to dest, including unknown values.  Buffers of different sets: as above. */
RTC_API void rtc_cpc_buf_copy(rtc_cpc_t *cpc, rtc_cpc_buf_t *dest, rtc_cpc_buf_t *src);

/* Set values, time and ticks to 0, known. */
RTC_API void rtc_cpc_buf_zero(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf);

#ifdef __cplusplus
}
#endif

#endif

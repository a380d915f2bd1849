/*
 * cpc.h - performance counters of threads, processes and processors: what a program counts of itself.
 *
 * The contract is that of Solaris' libcpc (its names with rtc_cpc_ in place of cpc_), over Linux'
 * perf_event_open, so that code written for it carries over; where this one differs it says so.  The
 * source of each rule is the manual page of that name (cpc_open(3CPC) and so on) but for those marked
 * "ours".  Counters that Linux cannot give - no PMU, no permission - are not known: no function answers
 * 0 for them, and the error handler is told why.
 *
 * A program links and runs without the runtime: every function is a weak symbol, NULL where the
 * runtime is not there.  Ask once, e.g. `if (rtc_cpc_open)`.  Whole programs: tests/examples/.
 *
 * Unless a function says otherwise:
 *   - ints that are status return 0, or -1 with errno; errno is left alone on success.
 *   - EINVAL also means: the handle, the set, the buffer or the context is none, or belongs to another
 *     handle.  What returns no status answers 0 or NULL then, or does nothing.
 *   - a function may be called by any thread, and by signal handlers: signals are blocked meanwhile
 *     (not by handlers in a program that has entered a sandbox, where they cannot be).  One handle may be
 *     used by several threads at once.  Functions on buffers lock nothing: a buffer is used by one thread
 *     at a time.
 *   - times are in nanoseconds, of CLOCK_MONOTONIC.
 *   - the caller owns what it passes: strings and attributes are copied.  Handles, sets and buffers are
 *     the library's; pointers to them are dead after close and destroy (a handle that was closed is none,
 *     until another one takes its place).
 *
 * Each counter is a descriptor of the process, closed on exec.  A program that closes descriptors that it
 * does not know loses its counters, and is told (EAGAIN); a number that became somebody else's file is
 * neither read nor closed.
 *
 * Forks: a child has the handles, sets and buffers of its parent.  What the forking thread had bound to
 * itself is bound to the child's thread, starting from the presets; sets of other threads, processes and
 * processors are not bound there.  Of a fork that runs no handlers (a raw clone) nothing is bound.  A vfork
 * child is in its parent's memory, and calls nothing of this.
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
 * A handle; NULL: EINVAL, this is not the version that the library has (pass RTC_CPC_VER_CURRENT), or
 * ENOMEM.  It does not fail where there are no counters (libcpc's does): clocks are always there.
 */
RTC_API rtc_cpc_t *rtc_cpc_open(int version);

/* Unbinds its sets and destroys them and all buffers. */
RTC_API int rtc_cpc_close(rtc_cpc_t *cpc);

/*
 * How many counters the processor has that any event may use (as its CPUID says); 0: there is no PMU,
 * or nobody knows.  Software events need none.
 */
RTC_API unsigned rtc_cpc_npic(rtc_cpc_t *cpc);

enum {
    RTC_CPC_CAP_OVERFLOW_INTERRUPT = 1 << 0, /* overflows can be told */
    RTC_CPC_CAP_OVERFLOW_PRECISE = 1 << 1    /* and of which request (rtc_cpc_overflow_index) */
};

/* Both, or 0 where there are no perf events. */
RTC_API unsigned rtc_cpc_caps(rtc_cpc_t *cpc);

/*
 * What counts: the processor's name, or "software only".  And where its events are told of.  Strings of
 * the handle.  These four are asked again of the kernel where no descriptor was left to ask with.
 */
RTC_API const char *rtc_cpc_cciname(rtc_cpc_t *cpc);
RTC_API const char *rtc_cpc_cpuref(rtc_cpc_t *cpc);

/* ---- errors ---------------------------------------------------------------------------------- */

enum rtc_cpc_subcode {
    RTC_CPC_INVALID_EVENT = 1,           /* no such event, here */
    RTC_CPC_INVALID_PICNUM = 2,          /* no such counter */
    RTC_CPC_INVALID_ATTRIBUTE = 3,       /* no such attribute of this event */
    RTC_CPC_ATTRIBUTE_OUT_OF_RANGE = 4,  /* its value does not fit */
    RTC_CPC_RESOURCE_UNAVAIL = 5,        /* counters or descriptors are taken */
    RTC_CPC_PIC_NOT_CAPABLE = 6,         /* the counter cannot do that */
    RTC_CPC_REQ_INVALID_FLAGS = 7,       /* flags that nobody knows, or that count nothing */
    RTC_CPC_CONFLICTING_REQS = 8,        /* each is possible, but not both in one set */
    RTC_CPC_ATTR_REQUIRES_PRIVILEGE = 9, /* not permitted */
    RTC_CPC_UNAVAILABLE = 10             /* ours: no perf events at all */
};

/*
 * Is told of each failure that has a subcode, by the thread that made the call, with no lock held,
 * before the call returns; errno is set already and kept.  `fn` is the function.  `fmt` is for vprintf and
 * the like; all its arguments are strings.  In words: what it is about, and "n/a: " and why.
 * (libcpc's is not given the handle, and its cpc_seterrhndlr returns nothing.)
 */
typedef void rtc_cpc_errhndlr_t(rtc_cpc_t *cpc, const char *fn, int subcode, const char *fmt,
                                va_list ap);

/* NULL: the default one again, which writes "rtcheck: FN: ...", one line, to stderr. */
RTC_API int rtc_cpc_seterrhndlr(rtc_cpc_t *cpc, rtc_cpc_errhndlr_t *handler);

/* ---- what there is --------------------------------------------------------------------------- */

/*
 * Calls action for each event that can be counted here: what can be opened in user mode, clocks,
 * and what PMUs name themselves ("cpu/cache-misses/"); not for raw events and tracepoints.  The
 * generic ones are libcpc's names, PAPI_....  On Linux any counter may have any event of the
 * processor, so _pic tells the same of each counter below rtc_cpc_npic, the processor's alone;
 * INVALID_PICNUM: there is no such counter.  Names are for the call; no lock is held; action
 * returns.  Where no descriptor is left to look with they are not all: behind them the handler is
 * told so (RESOURCE_UNAVAIL), errno is EMFILE or ENFILE.
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

/* The attributes that PMUs have, in the same way; one that several have is told once. */
RTC_API void rtc_cpc_walk_attrs(rtc_cpc_t *cpc, void *arg,
                                void (*action)(void *arg, const char *attr));

/* ---- sets of requests ------------------------------------------------------------------------ */

/* An empty set; NULL: ENOMEM. */
RTC_API rtc_cpc_set_t *rtc_cpc_set_create(rtc_cpc_t *cpc);

/* Unbinds it, if it is bound, and frees it; its buffers stay. */
RTC_API int rtc_cpc_set_destroy(rtc_cpc_t *cpc, rtc_cpc_set_t *set);

/* Flags of a request: at least one of the first two. */
enum {
    RTC_CPC_COUNT_USER = 1 << 0,
    RTC_CPC_COUNT_SYSTEM = 1 << 1,
    RTC_CPC_OVF_NOTIFY_EMT = 1 << 2 /* a signal when it overflows: rtc_cpc_overflow_signal */
};

#define RTC_CPC_REQUESTS_MAX 64  /* of a set */
#define RTC_CPC_ATTRIBUTES_MAX 8 /* of a request */

/*
 * Adds a request to a set that is not bound: its index, from 0.  The counter will begin at `preset`.
 *
 * Events, by name:
 *   software       task-clock and cpu-clock (nanoseconds of CPU time, in both modes whatever the flags
 *                  say), page-faults or faults, minor-faults, major-faults, alignment-faults,
 *                  emulation-faults, dummy; in the kernel only: context-switches or cs, cpu-migrations
 *                  or migrations
 *   hardware       cycles or cpu-cycles, instructions, cache-references, cache-misses, branches or
 *                  branch-instructions, branch-misses, bus-cycles, stalled-cycles-frontend,
 *                  stalled-cycles-backend, ref-cycles; and the generic names that libcpc has for
 *                  them: PAPI_tot_cyc, PAPI_tot_ins, PAPI_br_ins, PAPI_br_msp, PAPI_ref_cyc
 *   caches         L1-dcache, L1-icache, LLC, dTLB, iTLB, branch or node, and -loads, -load-misses,
 *                  -stores, -store-misses, -prefetches, -prefetch-misses
 *   raw            rNNN, hexadecimal; attributes as of the PMU "cpu"
 *   PMU/EVENT/     as /sys/bus/event_source/devices has them: cpu/cache-misses/; or by terms:
 *                  cpu/event=0x2e,umask=0x41/.  Attributes: config, config1, config2, and those of the
 *                  PMU's folder "format".  None needs a scale: what the PMU counts is the value
 *   SYSTEM:NAME    tracepoints, where tracefs is mounted and may be read; in the kernel
 *   clocks, ours   clock:thread, clock:process (CPU time), clock:monotonic; rusage:minor-faults,
 *                  rusage:major-faults, rusage:voluntary-switches, rusage:involuntary-switches,
 *                  rusage:user-time, rusage:system-time (of the thread); schedstat:wait-time.  Times
 *                  are in nanoseconds.  Always both modes, without perf events, no overflow.
 *
 * Where perf events are not to be had, or not permitted, clocks stand in for task-clock, cpu-clock and, when
 * both modes are to be counted, faults and context-switches, in sets of the calling thread;
 * rtc_cpc_reading says so.
 *
 * -1: EINVAL (INVALID_EVENT, INVALID_ATTRIBUTE, ATTRIBUTE_OUT_OF_RANGE, INVALID_PICNUM, PIC_NOT_CAPABLE,
 * REQ_INVALID_FLAGS: none of user and system, or user alone of what the kernel does, or overflow of
 * what is not counted in user mode alone; or the set is bound), ENOMEM (too many).  EMFILE, ENFILE
 * (RESOURCE_UNAVAIL): no descriptor is left to look the name up.
 */
RTC_API int rtc_cpc_set_add_request(rtc_cpc_t *cpc, rtc_cpc_set_t *set, const char *event,
                                    uint64_t preset, unsigned flags, unsigned nattrs,
                                    const rtc_cpc_attr_t *attrs);

/*
 * Changes the preset of a request; it takes effect when the set is bound or restarted.  The second form
 * means the set that the calling thread has bound to itself last (EINVAL: none).
 */
RTC_API int rtc_cpc_set_request_preset(rtc_cpc_t *cpc, rtc_cpc_set_t *set, int index,
                                       uint64_t preset);
RTC_API int rtc_cpc_request_preset(rtc_cpc_t *cpc, int index, uint64_t preset);

/* Calls action for each request, in order, with no lock held; strings and attributes are for the call. */
RTC_API void rtc_cpc_walk_requests(rtc_cpc_t *cpc, rtc_cpc_set_t *set, void *arg,
                                   void (*action)(void *arg, int index, const char *event,
                                                  uint64_t preset, unsigned flags, int nattrs,
                                                  const rtc_cpc_attr_t *attrs));

/* ---- binding --------------------------------------------------------------------------------- */

enum {
    RTC_CPC_BIND_LWP_INHERIT = 1 << 0, /* count in threads that it makes from now on, too */
    RTC_CPC_BIND_PINNED = 1 << 1       /* ours: the counters are its own, or it is in error */
};

/*
 * The set counts from now on what the calling thread does: all of its requests or none.  A set that is
 * bound is unbound first.  Several sets may be bound; where there are more events than counters, Linux
 * lets the sets take turns, and values are scaled to the whole time (rtc_cpc_reading says so).
 * PINNED: no turns; when the counters are taken samples fail with EAGAIN, as libcpc's do.
 * A thread that has ended leaves its counts, and its clocks as they were near its end (when its
 * destructors of thread-specific data ran): its sets can be sampled by others, and have to be
 * unbound.
 *
 * INHERIT: threads made from now on by this thread, and theirs, are added to its own counts (libcpc keeps
 * each thread's own); processes that it forks are not.  ENOTSUP: a kernel before 5.13 cannot do the
 * one without the other; or a request asks for overflows.
 *
 * EINVAL: the set is empty, or unknown flags; or INVALID_EVENT, REQ_INVALID_FLAGS, CONFLICTING_REQS.
 * EACCES: ATTR_REQUIRES_PRIVILEGE.  EAGAIN: RESOURCE_UNAVAIL, somebody has the counters.  EMFILE, ENFILE:
 * RESOURCE_UNAVAIL, no descriptors.  ENOTSUP: PIC_NOT_CAPABLE.  ENOSYS, or ECANCELED in a program that
 * has entered a sandbox: UNAVAILABLE.
 */
RTC_API int rtc_cpc_bind_curlwp(rtc_cpc_t *cpc, rtc_cpc_set_t *set, unsigned flags);

/* Stops counting, and gives the counters back.  EINVAL: it is not bound.  Buffers keep their values. */
RTC_API int rtc_cpc_unbind(rtc_cpc_t *cpc, rtc_cpc_set_t *set);

/*
 * A bound set begins at its presets again, and counts, also when an overflow had stopped it; one that
 * rtc_cpc_disable has stopped stands at its presets until rtc_cpc_enable.
 * EINVAL: it is not bound.  EAGAIN, RESOURCE_UNAVAIL: its descriptors are gone, or it has a clock
 * that only the thread that bound it can read.  EMFILE, RESOURCE_UNAVAIL: no descriptor is left to
 * read a clock with.  Of a set that tells of overflows also as rtc_cpc_bind_curlwp; ESRCH: its
 * thread has ended.
 */
RTC_API int rtc_cpc_set_restart(rtc_cpc_t *cpc, rtc_cpc_set_t *set);

/*
 * Of all sets of the handle that the calling thread has bound to itself: they stop counting; they go on, but
 * for those that an overflow has stopped.  EINVAL: there is none.
 */
RTC_API int rtc_cpc_disable(rtc_cpc_t *cpc);
RTC_API int rtc_cpc_enable(rtc_cpc_t *cpc);

/* ---- other processes, and processors --------------------------------------------------------- */

/*
 * As libpctx: a process whose threads a set can be bound to.  No ptrace: it runs on, and is not stopped.
 * Who is counted, and who may count it, the kernel says (the rules of ptrace; perf_event_paranoid).
 * So there is no pctx_run and no pctx_set_events, and the two below lack pctx_capture's and
 * pctx_create's last three arguments (arg, verbose, errfn): nobody is called back.
 */
typedef struct rtc_pctx rtc_pctx_t;

/* One that runs; the caller sees to it that its number is not another one's soon.  NULL: ESRCH, ENOMEM. */
RTC_API rtc_pctx_t *rtc_pctx_capture(pid_t pid);

/*
 * A child of the caller that waits until it is released, and then becomes the program `file` (as execvp;
 * what it cannot run ends with 127).  Sets bound to it count from there on.  The caller waits for it as for
 * any child.  NULL: ENOMEM, or as fork and socketpair say.  It forks: not to be called by signal handlers.
 */
RTC_API rtc_pctx_t *rtc_pctx_create(const char *file, char *const argv[]);

RTC_API pid_t rtc_pctx_pid(rtc_pctx_t *pctx); /* -1: it is none */

/*
 * A created process goes on.  The context, of either kind, is gone; what is bound counts until it
 * is unbound.
 */
RTC_API int rtc_pctx_release(rtc_pctx_t *pctx);

/*
 * The set counts one thread of that process: `id`, or its first thread with 0 (libpctx numbers them from 1).
 * No flags, no threads to come, no overflows.  The last counts are kept when the thread has ended.
 * ESRCH: there is no such thread.  Else as rtc_cpc_bind_curlwp.
 */
RTC_API int rtc_cpc_bind_pctx(rtc_cpc_t *cpc, rtc_pctx_t *pctx, pid_t id, rtc_cpc_set_t *set,
                              unsigned flags);

/*
 * The set counts whatever runs on that processor.  Needs CAP_PERFMON, or perf_event_paranoid below 1.  Other
 * sets go on, and the caller may run anywhere (libcpc's ends the one, and keeps the other).  No flags, no
 * overflows.  EINVAL: there is no such processor.  ENOSYS with RESOURCE_UNAVAIL: it is offline.
 */
RTC_API int rtc_cpc_bind_cpu(rtc_cpc_t *cpc, int cpu, rtc_cpc_set_t *set, unsigned flags);

/* ---- overflow -------------------------------------------------------------------------------- */

/*
 * A request with RTC_CPC_OVF_NOTIFY_EMT whose counter goes beyond 2^64 - 1 - so it takes 2^64 - preset
 * events - sends a signal to the thread that bound the set, and stops the whole set until it is restarted or
 * bound again.  The signal comes when the thread leaves the kernel, some instructions late, and so
 * perhaps behind an rtc_cpc_unbind; where that is stands in the handler's ucontext.  Linux has no
 * SIGEMT here: it is SIGIO unless this function names another one, for sets that are bound from
 * then on.  si_code is POLL_HUP, si_fd what rtc_cpc_overflow_index takes.  A set has one such
 * request, and no clocks (CONFLICTING_REQS); several sets may be bound.  A preset of 2^63 or less
 * does not overflow.
 * EINVAL: no signal that can be handled.
 */
RTC_API int rtc_cpc_overflow_signal(rtc_cpc_t *cpc, int signal);

/* Ours: the request of a bound set whose descriptor is `fd` (si_fd); -1, EINVAL: none. */
RTC_API int rtc_cpc_overflow_index(rtc_cpc_t *cpc, rtc_cpc_set_t *set, int fd);

/* ---- buffers --------------------------------------------------------------------------------- */

/*
 * A buffer for the requests that the set has now.  NULL: ENOMEM, EINVAL.  Its values are not known until it
 * is sampled into, zeroed, set or copied into (libcpc's begins with zeros).
 */
RTC_API rtc_cpc_buf_t *rtc_cpc_buf_create(rtc_cpc_t *cpc, rtc_cpc_set_t *set);
/* No other thread uses it any more. */
RTC_API int rtc_cpc_buf_destroy(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf);

/*
 * Takes all counters of a bound set at one moment, any thread's.  Presets stay as they are.
 * EINVAL: the set is not bound, or the buffer is of another set or older than a request of it.
 * EAGAIN: nothing is known: the set is pinned and did not get its counters, or its descriptors are gone,
 * or the program has entered a sandbox (RESOURCE_UNAVAIL).  The buffer is as it was then.
 * It costs five system calls; of a set of clocks four, and one for each of them.
 */
RTC_API int rtc_cpc_set_sample(rtc_cpc_t *cpc, rtc_cpc_set_t *set, rtc_cpc_buf_t *buf);

/*
 * The value of a request.  EINVAL: no such index.  ENODATA: it is not known.  Functions on buffers are
 * signal-safe and make no system call.  (libcpc's cpc_buf_set takes the value's address.)
 */
RTC_API int rtc_cpc_buf_get(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf, int index, uint64_t *val);
RTC_API int rtc_cpc_buf_set(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf, int index, uint64_t val);

/* Ours: all that is known of it. */
struct rtc_cpc_reading {
    int known;  /* else the value is 0 and means nothing */
    int scaled; /* an estimate: it had a counter for running_ns of enabled_ns */
    uint64_t value;
    uint64_t enabled_ns, running_ns; /* of a sample: since its start or restart; 0 of clocks */
    const char *source;              /* "perf", "getrusage" and so on; "" unless sampled; static */
    const char *why;                 /* unless known: "n/a: ..."; else ""; static */
};

RTC_API int rtc_cpc_buf_reading(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf, int index,
                                struct rtc_cpc_reading *out);

/*
 * When it was sampled; and for how long its set had been running then, in nanoseconds of CPU time (libcpc:
 * cycles).  0: never.
 */
RTC_API int64_t rtc_cpc_buf_hrtime(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf);
RTC_API uint64_t rtc_cpc_buf_tick(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf);

/*
 * result = left - right, left + right, of each request and of the ticks, modulo 2^64; what is not known of
 * either is not known of the result; its time is the later one of the two.  result may be one of them.
 * The difference of two samples of one start is what was counted between them, scaled to that time
 * alone - the difference of two estimates may be below 0 - and not known if others had the counters
 * all of it.  Of buffers that are not all of the same set nothing is changed, and the handler is
 * told (RTC_CPC_CONFLICTING_REQS).  (libcpc's return an int.)
 */
RTC_API void rtc_cpc_buf_sub(rtc_cpc_t *cpc, rtc_cpc_buf_t *result, rtc_cpc_buf_t *left,
                             rtc_cpc_buf_t *right);
RTC_API void rtc_cpc_buf_add(rtc_cpc_t *cpc, rtc_cpc_buf_t *result, rtc_cpc_buf_t *left,
                             rtc_cpc_buf_t *right);
/* dest becomes as src is, also in what is not known.  Of two that are not of the same set: as above. */
RTC_API void rtc_cpc_buf_copy(rtc_cpc_t *cpc, rtc_cpc_buf_t *dest, rtc_cpc_buf_t *src);

/* Values, time and ticks become 0, known. */
RTC_API void rtc_cpc_buf_zero(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf);

#ifdef __cplusplus
}
#endif

#endif

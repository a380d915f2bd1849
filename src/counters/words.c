/*
 * words.c - why a counter is not to be had.  Each cause has its sentence, and what can be done about it
 * stands in it; a number is never given in its place.
 */
#include "counters_priv.h"

#include <errno.h>
#include <linux/perf_event.h>

static const char *const source_names[] = {
    [SOURCE_NONE] = "",
    [SOURCE_SOFTWARE] = "perf: software",
    [SOURCE_HARDWARE] = "perf: hardware",
    [SOURCE_PMU] = "perf: PMU",
    [SOURCE_TRACEPOINT] = "perf: tracepoint",
    [SOURCE_THREAD_CLOCK] = "clock_gettime: CPU time of the thread",
    [SOURCE_PROCESS_CLOCK] = "clock_gettime: CPU time of the process",
    [SOURCE_MONOTONIC] = "clock_gettime: monotonic",
    [SOURCE_FAULTS] = "getrusage",
    [SOURCE_MINOR_FAULTS] = "getrusage",
    [SOURCE_MAJOR_FAULTS] = "getrusage",
    [SOURCE_SWITCHES] = "getrusage",
    [SOURCE_VOLUNTARY] = "getrusage",
    [SOURCE_INVOLUNTARY] = "getrusage",
    [SOURCE_USER_TIME] = "getrusage",
    [SOURCE_SYSTEM_TIME] = "getrusage",
    [SOURCE_WAIT_TIME] = "schedstat",
};
static_assert(countof(source_names) == SOURCE_COUNT, "one name each");

static const char *const why_names[] = {
    [WHY_NOT_SAMPLED] = "n/a: not sampled yet",
    [WHY_NEVER_RAN] = "n/a: other events had the counters all the time",
    [WHY_OTHER_THREAD] = "n/a: only the thread that has bound it can read it",
    [WHY_NOT_READ] = "n/a: it could not be read",
    [WHY_OPERAND] = "n/a: not known of one of the two buffers",
};
static_assert(countof(why_names) == WHY_COUNT, "one sentence each");

const char *source_name(enum source source)
{
    return source_names[source];
}

const char *why_name(enum reading_why why)
{
    return why_names[why];
}

/* ---- what the kernel says ----------------------------------------------------------------------- */

static int not_found(struct call *c, const struct request *r)
{
    struct text *w = call_because(c, RTC_CPC_INVALID_EVENT, r->name);
    if (r->event.source != SOURCE_HARDWARE)
        text_put(w, "n/a: the kernel has no such event");
    else if (c->cpc->lacks_hardware == -ENOENT)
        text_put(w, "n/a: no PMU");
    else
        text_put(w, "n/a: the PMU has no such event");
    return -EINVAL;
}

static int not_permitted(struct call *c, const struct request *r)
{
    struct text *w = call_because(c, RTC_CPC_ATTR_REQUIRES_PRIVILEGE, r->name);
    int64_t level;
    bool in_kernel = r->flags & RTC_CPC_COUNT_SYSTEM;
    text_put(w, "n/a: not permitted");
    text_put(w, in_kernel ? " in the kernel" : "");
    text_put(w, " (perf_event_paranoid is ");
    if (!os_perf_paranoid(&level)) {
        text_put(w, "not known)");
        return -EACCES;
    }
    text_put(w, level < 0 ? "-" : "");
    text_decimal(w, (uint64_t)(level < 0 ? -level : level));
    text_put(w, ")");
    return -EACCES;
}

static int no_descriptors(struct call *c, const struct request *r, int err)
{
    struct text *w = call_because(c, RTC_CPC_RESOURCE_UNAVAIL, r->name);
    text_put(w, err == -EMFILE ? "n/a: no descriptor left in this process (RLIMIT_NOFILE is " :
                                 "n/a: no descriptor left in the system");
    if (err == -EMFILE) {
        text_decimal(w, os_limit(RLIMIT_NOFILE));
        text_put(w, ")");
    }
    return err;
}

static int say(struct call *c, const struct request *r, int subcode, const char *why, int err)
{
    text_put(call_because(c, subcode, r->name), why);
    return err;
}

static int not_explained(struct call *c, const struct request *r, int err)
{
    struct text *w = call_because(c, RTC_CPC_RESOURCE_UNAVAIL, r->name);
    text_put(w, "n/a: the kernel refuses it with error ");
    text_decimal(w, (uint64_t)-err);
    return err;
}

int refused(struct call *c, const struct request *r, int err)
{
    switch (err) {
    case -ENOENT:
        return not_found(c, r);
    case -EACCES:
        return not_permitted(c, r);
    case -EPERM:
        return say(c, r, RTC_CPC_ATTR_REQUIRES_PRIVILEGE,
                   "n/a: forbidden by the system: a container's filter, or a security module", -EACCES);
    case -ENOSYS:
        return say(c, r, RTC_CPC_UNAVAILABLE, "n/a: the kernel has no perf events", err);
    case -ECANCELED:
        return say(c, r, RTC_CPC_UNAVAILABLE, "n/a: the program has entered a sandbox", err);
    case -EINVAL:
        return say(c, r, RTC_CPC_REQ_INVALID_FLAGS,
                   "n/a: the kernel cannot count it with these flags and attributes", err);
    case -EMFILE:
    case -ENFILE:
        return no_descriptors(c, r, err);
    case -EBUSY:
        return say(c, r, RTC_CPC_RESOURCE_UNAVAIL, "n/a: somebody else has the counters to himself",
                   -EAGAIN);
    case -ENOSPC:
        return say(c, r, RTC_CPC_RESOURCE_UNAVAIL, "n/a: all counters of its kind are in use", -EAGAIN);
    case -EOPNOTSUPP:
        return say(c, r, RTC_CPC_PIC_NOT_CAPABLE,
                   r->flags & RTC_CPC_OVF_NOTIFY_EMT ? "n/a: the PMU cannot interrupt when it overflows" :
                                                       "n/a: the PMU cannot count it in this way", err);
    case -ESRCH:
        return say(c, r, RTC_CPC_RESOURCE_UNAVAIL, "n/a: there is no such thread", err);
    case -ENODEV:
        return say(c, r, RTC_CPC_RESOURCE_UNAVAIL, "n/a: the processor is offline", -ENOSYS);
    default:
        return not_explained(c, r, err);
    }
}

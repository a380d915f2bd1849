/*
 * bind.c - bind sets: from requests to perf event descriptors.
 *
 * The requests of a set form one perf event group: the kernel schedules all its events on the PMU
 * together, and one read returns them all.  If a request notifies of its overflow, it is the group
 * leader, because a leader that stops at an overflow also stops its members.  With inherited events
 * before Linux 6.12, the kernel cannot read groups: then each event is read separately.
 *
 * The kernel counts from 0.  A value is the preset plus the count since the start, so a restart
 * only saves two numbers.  Sets with overflow notification are reopened instead: the kernel does
 * not report whether such an event has stopped.
 */
#include "counters_priv.h"

#include <errno.h>
#include <linux/perf_event.h>

#define BIND_FLAGS (RTC_CPC_BIND_LWP_INHERIT | RTC_CPC_BIND_PINNED)

/* State of opening a set. */
struct opening {
    struct call *call;
    rtc_cpc_set_t *set;
    bool starts; /* false: the set is stopped when it is bound */
    int first;   /* the group leader; -1: none yet */
    uint32_t members;
};

static bool notifies(const struct request *r)
{
    return r->flags & RTC_CPC_OVF_NOTIFY_EMT;
}

/*
 * Number of events until the counter wraps at 2^64.  If there are none or too many, INT64_MAX: no
 * overflow.
 */
static uint64_t period_of(const struct request *r)
{
    uint64_t left = -r->preset;
    return left && left <= INT64_MAX ? left : INT64_MAX;
}

static bool counts_both(const struct request *r)
{
    return r->flags & RTC_CPC_COUNT_USER && r->flags & RTC_CPC_COUNT_SYSTEM;
}

static struct perf_event_attr attr_of(const struct opening *o, const struct request *r, bool leads)
{
    bool inherits = o->set->target.flags & RTC_CPC_BIND_LWP_INHERIT;
    struct perf_event_attr a = {
        .type = r->event.type,
        .size = sizeof a,
        .config = r->event.config,
        .config1 = r->event.config1,
        .config2 = r->event.config2,
        .disabled = leads,
        .enable_on_exec = leads && o->set->target.on_exec,
        .inherit = inherits,
        .inherit_thread = inherits,
        .pinned = leads && o->set->target.flags & RTC_CPC_BIND_PINNED,
        .exclude_user = !(r->flags & RTC_CPC_COUNT_USER),
        .exclude_kernel = !(r->flags & RTC_CPC_COUNT_SYSTEM),
        .exclude_hv = !counts_both(r), /* some PMUs do not support modes */
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
                       (o->set->is_ungrouped ? 0 : PERF_FORMAT_GROUP),
    };
    if (r->event.in_both) { /* kernel events count nevertheless; no permission needed */
        a.exclude_user = 0;
        a.exclude_kernel = 1;
    }
    if (notifies(r)) {
        a.sample_period = period_of(r);
        a.wakeup_events = 1;
    }
    return a;
}

/* ---- clocks as replacement ------------------------------------------------------------------- */

static bool is_denied(int err)
{
    return err == -EACCES || err == -EPERM || err == -ENOSYS;
}

/* Can a clock of the calling thread replace an event that the kernel refused? */
static bool falls_back(const struct opening *o, struct request *r, int err)
{
    if (!o->set->target.thread || o->set->target.flags & RTC_CPC_BIND_LWP_INHERIT)
        return false;
    bool same = counts_both(r) || r->event.in_both || r->event.in_kernel_only;
    if (!is_denied(err) || r->event.instead == SOURCE_NONE || notifies(r) || !same)
        return false;
    r->source = r->event.instead;
    return true;
}

static int conflict(struct call *c, const struct request *r, const char *why, int err)
{
    text_put(call_because(c, RTC_CPC_CONFLICTING_REQS, r->name), why);
    return err;
}

/* A thread's clock does not include later threads, and cannot be stopped by an overflow. */
static int check_clock(struct opening *o, const struct request *r)
{
    const rtc_cpc_set_t *set = o->set;
    bool of_thread = r->source != SOURCE_PROCESS_CLOCK && r->source != SOURCE_MONOTONIC;
    for (uint32_t i = 0; i < set->count; i++)
        if (notifies(&set->request[i]))
            return conflict(o->call, r, "a clock does not stop at another request's overflow",
                            -EINVAL);
    const char *why = of_thread && set->target.flags & RTC_CPC_BIND_LWP_INHERIT
                          ? refusal_text(REFUSAL_ONE_THREAD)
                          : NULL;
    if (!set->target.thread && r->source != SOURCE_MONOTONIC)
        why = "n/a: this clock measures the calling thread and its process only";
    if (why)
        text_put(call_because(o->call, RTC_CPC_PIC_NOT_CAPABLE, r->name), why);
    return why ? -ENOTSUP : 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_event(const struct opening *o, const struct request *r, int group)
{
    struct perf_event_attr a = attr_of(o, r, group < 0);
    return os_sandboxed() ? -ECANCELED
                          : os_perf_open(&a, o->set->target.pid, o->set->target.cpu, group);
}

/*
 * EINVAL for a group member has several causes.  Open the event alone to find whether the group is
 * the cause.
 */
static int explain(struct opening *o, const struct request *r, int group, int err)
{
    int fd = err == -EINVAL && group >= 0 ? open_event(o, r, -1) : -1;
    if (fd < 0)
        return refused(o->call, r, err);
    os_perf_close(fd);
    return conflict(o->call, r, "n/a: it cannot be counted together with the others of the set",
                    -EINVAL);
}

static void join(struct opening *o, uint32_t i, int fd)
{
    struct request *r = &o->set->request[i];
    r->fd = fd;
    r->leader = i;
    r->position = 0;
    if (o->first >= 0 && !o->set->is_ungrouped) {
        r->leader = (uint32_t)o->first;
        r->position = ++o->members;
    }
    if (o->first < 0)
        o->first = (int)i;
}

static int open_request(struct opening *o, uint32_t i)
{
    struct request *r = &o->set->request[i];
    int group = o->first < 0 || o->set->is_ungrouped ? -1 : o->set->request[o->first].fd;
    r->source = r->event.source;
    r->fd = -1;
    if (!is_perf(r))
        return check_clock(o, r);
    int fd = open_event(o, r, group);
    if (fd < 0 && falls_back(o, r, fd))
        return check_clock(o, r);
    bool may_be_alone = o->set->target.flags & RTC_CPC_BIND_LWP_INHERIT && fd == -EINVAL;
    if (fd < 0)
        return may_be_alone ? fd : explain(o, r, group, fd);
    join(o, i, fd);
    return os_perf_id(fd, &r->id);
}

static int find_notifier(struct opening *o, int *notifier)
{
    const rtc_cpc_set_t *set = o->set;
    *notifier = -1;
    for (uint32_t i = 0; i < set->count; i++) {
        const struct request *r = &set->request[i];
        if (!notifies(r))
            continue;
        if (*notifier >= 0)
            return conflict(o->call, r, "another request of the set reports overflows already",
                            -EINVAL);
        if (!set->target.thread || set->target.flags & RTC_CPC_BIND_LWP_INHERIT) {
            text_put(call_because(o->call, RTC_CPC_PIC_NOT_CAPABLE, r->name),
                     "overflows are reported of the calling thread only");
            return -ENOTSUP;
        }
        *notifier = (int)i;
    }
    return 0;
}

static int open_all(struct opening *o)
{
    int notifier, err = find_notifier(o, &notifier);
    if (!err && notifier >= 0)
        err = open_request(o, (uint32_t)notifier);
    for (uint32_t i = 0; !err && i < o->set->count; i++)
        if ((int)i != notifier)
            err = open_request(o, i);
    return err;
}

bool is_open(const struct request *r)
{
    uint64_t id;
    return r->fd >= 0 && !os_sandboxed() && os_perf_id(r->fd, &id) == 0 && id == r->id;
}

static void close_all(rtc_cpc_set_t *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        struct request *r = &set->request[i];
        if (is_open(r))
            os_perf_close(r->fd);
        r->fd = -1;
    }
}

/*
 * With inheritance, EINVAL comes from kernels that cannot exclude child processes, and from kernels
 * that cannot read groups of inherited events.  Retry without a group for the second case.
 */
static int open_set(struct opening *o)
{
    o->set->is_ungrouped = false;
    int err = open_all(o);
    if (err != -EINVAL || o->call->subcode)
        return err;
    close_all(o->set);
    o->set->is_ungrouped = true;
    o->first = -1;
    err = open_all(o);
    if (err != -EINVAL || o->call->subcode)
        return err;
    text_put(call_because(o->call, RTC_CPC_PIC_NOT_CAPABLE, ""),
             "n/a: the kernel cannot count threads to come without processes to come");
    return -ENOTSUP;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static int start_counting(rtc_cpc_set_t *set)
{
    int err = 0;
    set->begun = true;
    for (uint32_t i = 0; !err && i < set->count; i++) {
        const struct request *r = &set->request[i];
        if (is_leader(set, i))
            err = notifies(r) ? os_perf_control(r->fd, PERF_EVENT_IOC_REFRESH, (void *)1)
                              : os_perf_control(r->fd, PERF_EVENT_IOC_ENABLE, NULL);
    }
    return err;
}

/* Members of a group count while their leader is enabled. */
static void control_leaders(const rtc_cpc_set_t *set, unsigned long request)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (is_leader(set, i) && is_open(&set->request[i]))
            os_perf_control(set->request[i].fd, request, NULL);
}

static void bind_stop(rtc_cpc_set_t *set)
{
    if (!set->counting)
        return;
    for (uint32_t i = 0; i < set->count; i++)
        if (notifies(&set->request[i]))
            set->overflown = has_overflown(&set->request[i]);
    control_leaders(set, PERF_EVENT_IOC_DISABLE);
    clocks_hold(set);
    set->counting = false;
}

static void bind_resume(rtc_cpc_set_t *set)
{
    if (set->counting)
        return;
    if (!set->begun)
        start_counting(set);
    else if (!set->overflown)
        control_leaders(set, PERF_EVENT_IOC_ENABLE);
    clocks_resume(set);
    set->counting = true;
}

static int notify(const struct opening *o)
{
    uint32_t tid = (uint32_t)o->set->target.pid;
    int err = 0;
    for (uint32_t i = 0; !err && i < o->set->count; i++) {
        const struct request *r = &o->set->request[i];
        if (notifies(r))
            err = os_perf_notify(r->fd, tid, o->set->cell.cpc->signal);
    }
    return err;
}

static int begin(struct opening *o)
{
    rtc_cpc_set_t *set = o->set;
    int err = open_set(o);
    if (!err)
        err = notify(o);
    if (!err)
        err = set_start(o->call, set);
    set->begun = set->target.on_exec;
    if (!err && o->starts && !set->target.on_exec)
        err = start_counting(set);
    if (err) {
        close_all(set);
        return err;
    }
    static uint64_t orders; /* under the lock */
    set->order = ++orders;
    set->bound = true;
    set->counting = o->starts;
    set->overflown = false;
    return 0;
}

void bind_end(rtc_cpc_set_t *set)
{
    close_all(set);
    set->bound = set->counting = false;
}

int check_binding(struct call *c, const rtc_cpc_set_t *set, unsigned flags, unsigned valid)
{
    if (!is_set_of(set, c->cpc) || !set->count)
        return -EINVAL;
    if (!(flags & ~valid))
        return 0;
    text_put(call_because(c, RTC_CPC_REQ_INVALID_FLAGS, ""), "unknown flags");
    return -EINVAL;
}

int bind_set(struct call *c, rtc_cpc_set_t *set, const struct target *whom, bool starts)
{
    struct opening o = {c, set, .starts = starts, .first = -1};
    if (set->bound)
        bind_end(set);
    set->target = *whom;
    set->ended = false;
    return begin(&o);
}

int bind_to_caller(struct call *c, rtc_cpc_set_t *set, uint32_t flags, bool starts)
{
    const struct target caller = {thread_number(), (int)os_tid(), -1, .flags = flags};
    return bind_set(c, set, &caller, starts);
}

EXPORT int rtc_cpc_bind_curlwp(rtc_cpc_t *cpc, rtc_cpc_set_t *set, unsigned flags)
{
    struct call c;
    thread_add_exit_hook();
    if (!call_begin(&c, __func__, cpc))
        return -1;
    int err = check_binding(&c, set, flags, BIND_FLAGS);
    return call_end(&c, err ? err : bind_to_caller(&c, set, flags, true));
}

EXPORT int rtc_cpc_unbind(rtc_cpc_t *cpc, rtc_cpc_set_t *set)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    if (!is_set_of(set, cpc) || !set->bound)
        return call_end(&c, -EINVAL);
    bind_end(set);
    return call_end(&c, 0);
}

/* ---- restart, enable, disable ---------------------------------------------------------------- */

static bool has_notifier(const rtc_cpc_set_t *set)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (notifies(&set->request[i]))
            return true;
    return false;
}

static int restart(struct call *c, rtc_cpc_set_t *set)
{
    const struct target same = set->target;
    if (!has_notifier(set))
        return set_start(c, set);
    return set->ended ? refused(c, &set->request[0], -ESRCH)
                      : bind_set(c, set, &same, set->counting);
}

EXPORT int rtc_cpc_set_restart(rtc_cpc_t *cpc, rtc_cpc_set_t *set)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    return call_end(&c, is_set_of(set, cpc) && set->bound ? restart(&c, set) : -EINVAL);
}

/* Visit each set that the calling thread has bound to itself.  Return -EINVAL if there is none. */
static int for_each_here(rtc_cpc_t *cpc, void (*visit)(rtc_cpc_set_t *set))
{
    int result = -EINVAL;
    for (struct cell *o = cpc->sets; o; o = o->next)
        if (is_bound_here((rtc_cpc_set_t *)(void *)o)) {
            visit((rtc_cpc_set_t *)(void *)o);
            result = 0;
        }
    return result;
}

EXPORT int rtc_cpc_enable(rtc_cpc_t *cpc)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    return call_end(&c, for_each_here(cpc, bind_resume));
}

EXPORT int rtc_cpc_disable(rtc_cpc_t *cpc)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    return call_end(&c, for_each_here(cpc, bind_stop));
}

EXPORT int rtc_cpc_overflow_index(rtc_cpc_t *cpc, rtc_cpc_set_t *set, int fd)
{
    struct call c;
    int index = -EINVAL;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    for (uint32_t i = 0; is_set_of(set, cpc) && set->bound && fd >= 0 && i < set->count; i++)
        if (set->request[i].fd == fd)
            index = (int)i;
    return call_end(&c, index);
}

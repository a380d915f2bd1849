/*
 * sample.c - sample a set: the current counts.  A count is known only if it was read.
 */
#include "counters_priv.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#define GROUP_HEADER 3 /* words: number of members, enabled, running */

/* ---- clocks ---------------------------------------------------------------------------------- */

static uint64_t ns_of(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static uint64_t usage_of(const struct rusage *u, enum source source)
{
    switch (source) {
    case SOURCE_FAULTS:
        return (uint64_t)(u->ru_minflt + u->ru_majflt);
    case SOURCE_MINOR_FAULTS:
        return (uint64_t)u->ru_minflt;
    case SOURCE_MAJOR_FAULTS:
        return (uint64_t)u->ru_majflt;
    case SOURCE_SWITCHES:
        return (uint64_t)(u->ru_nvcsw + u->ru_nivcsw);
    case SOURCE_VOLUNTARY:
        return (uint64_t)u->ru_nvcsw;
    case SOURCE_INVOLUNTARY:
        return (uint64_t)u->ru_nivcsw;
    case SOURCE_USER_TIME:
        return ns_of(u->ru_utime);
    default:
        return ns_of(u->ru_stime);
    }
}

static enum reading_why read_usage(const rtc_cpc_set_t *set, enum source source, uint64_t *value)
{
    struct rusage usage;
    if (set->target.thread != thread_number())
        return WHY_OTHER_THREAD;
    if (os_sandboxed() || !os_thread_usage(&usage))
        return WHY_NOT_READ;
    *value = usage_of(&usage, source);
    return WHY_COUNT;
}

/* CPU time of the thread that has bound the set to itself. */
static bool cpu_time(const rtc_cpc_set_t *set, uint64_t *ns)
{
    return set->target.thread && os_thread_cpu_ns((uint32_t)set->target.pid, ns);
}

static enum reading_why read_wait_time(const rtc_cpc_set_t *set, uint64_t *value)
{
    int err = os_sandboxed() ? -EPERM : os_thread_wait_ns((uint32_t)set->target.pid, value);
    return err == 0 ? WHY_COUNT : err == -EMFILE ? WHY_NO_DESCRIPTOR : WHY_NOT_READ;
}

/* Return WHY_COUNT if the clock was read. */
static enum reading_why read_clock(const rtc_cpc_set_t *set, enum source source, uint64_t *value)
{
    switch (source) {
    case SOURCE_THREAD_CLOCK:
        return cpu_time(set, value) ? WHY_COUNT : WHY_NOT_READ;
    case SOURCE_PROCESS_CLOCK:
        *value = os_cpu_clock_ns();
        return WHY_COUNT;
    case SOURCE_MONOTONIC:
        *value = os_clock_ns();
        return WHY_COUNT;
    case SOURCE_WAIT_TIME:
        return read_wait_time(set, value);
    default:
        return read_usage(set, source, value);
    }
}

static void hold(rtc_cpc_set_t *set, struct request *r)
{
    r->held_why = (uint8_t)read_clock(set, r->source, &r->held);
}

/* If a clock could not be read at a stop or resume, it stays unknown until the next start. */
void clocks_hold(rtc_cpc_set_t *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        struct request *r = &set->request[i];
        if (!is_perf(r) && r->held_why == WHY_COUNT)
            hold(set, r);
    }
    cpu_time(set, &set->cpu_held);
}

void clocks_end(rtc_cpc_set_t *set)
{
    if (set->counting)
        clocks_hold(set);
    set->ended = true;
}

void clocks_resume(rtc_cpc_set_t *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        struct request *r = &set->request[i];
        uint64_t before = r->held;
        if (is_perf(r) || r->held_why != WHY_COUNT)
            continue;
        hold(set, r);
        if (r->held_why == WHY_COUNT)
            r->at.value += r->held - before;
    }
    uint64_t now;
    if (cpu_time(set, &now))
        set->cpu_at += now - set->cpu_held;
}

/* ---- perf events ----------------------------------------------------------------------------- */

static int gone(struct call *c, const struct request *r, const char *why)
{
    text_put(call_because(c, RTC_CPC_RESOURCE_UNAVAIL, r->name), why);
    return -EAGAIN;
}

/* Read a leader's group.  Convert an ungrouped event to the same format. */
static int read_group(struct call *c, const rtc_cpc_set_t *set, uint32_t leader, uint64_t *words)
{
    const struct request *r = &set->request[leader];
    if (os_sandboxed())
        return gone(c, r, refusal_text(REFUSAL_SANDBOX));
    if (!is_open(r))
        return gone(c, r, "n/a: the program has closed its descriptor");
    long got = os_perf_read(r->fd, words, (GROUP_HEADER + RTC_CPC_REQUESTS_MAX) * sizeof *words);
    if (got == 0)
        return gone(c, r, "n/a: it is pinned, and somebody else has the counters");
    if (got < 0)
        return gone(c, r, why_text(WHY_NOT_READ));
    if (set->is_ungrouped) { /* value, enabled, running */
        words[GROUP_HEADER] = words[0];
        words[0] = 1;
    }
    return 0;
}

static int read_events(struct call *c, const rtc_cpc_set_t *set, uint32_t leader,
                       struct snapshot *now)
{
    uint64_t words[GROUP_HEADER + RTC_CPC_REQUESTS_MAX];
    int err = read_group(c, set, leader, words);
    if (err)
        return err;
    for (uint32_t i = 0; i < set->count; i++) {
        const struct request *r = &set->request[i];
        if (!is_perf(r) || r->leader != leader || r->position >= words[0])
            continue;
        now->counts[i] = (struct counts){words[GROUP_HEADER + r->position], words[1], words[2]};
        now->why[i] = WHY_COUNT;
    }
    return 0;
}

bool has_overflown(const struct request *r)
{
    uint64_t before[GROUP_HEADER + RTC_CPC_REQUESTS_MAX],
        after[GROUP_HEADER + RTC_CPC_REQUESTS_MAX];
    if (!is_open(r) || os_perf_read(r->fd, before, sizeof before) <= 0 ||
        os_perf_read(r->fd, after, sizeof after) <= 0)
        return false;
    return before[1] == after[1]; /* its enabled time does not advance */
}

/* `fresh`: also read clocks of a stopped set, but not those of a thread that has ended. */
static void read_or_held(const rtc_cpc_set_t *set, uint32_t i, bool fresh, struct snapshot *now)
{
    const struct request *r = &set->request[i];
    bool is_held = set->ended || (set->bound && !set->counting);
    now->counts[i] = (struct counts){.value = r->held};
    now->why[i] = r->held_why;
    if (fresh ? !set->ended : !is_held && r->held_why == WHY_COUNT)
        now->why[i] = (uint8_t)read_clock(set, r->source, &now->counts[i].value);
}

static int take(struct call *c, const rtc_cpc_set_t *set, bool fresh, struct snapshot *now)
{
    int err = 0;
    memset(now->why, WHY_NOT_READ, sizeof now->why);
    for (uint32_t i = 0; !err && i < set->count; i++)
        if (!is_perf(&set->request[i]))
            read_or_held(set, i, fresh, now);
        else if (is_leader(set, i)) /* and its members */
            err = read_events(c, set, i, now);
    return err;
}

int snapshot_take(struct call *c, const rtc_cpc_set_t *set, struct snapshot *now)
{
    return take(c, set, false, now);
}

static int not_started(struct call *c, const struct request *r, enum reading_why why)
{
    if (why == WHY_NO_DESCRIPTOR)
        return no_descriptors(c, r->name, -EMFILE);
    int subcode = os_sandboxed() ? RTC_CPC_UNAVAILABLE : RTC_CPC_RESOURCE_UNAVAIL;
    text_put(call_because(c, subcode, r->name), why_text(why));
    return -EAGAIN;
}

static void begin_at(rtc_cpc_set_t *set, const struct snapshot *now)
{
    static uint64_t starts; /* under the lock */
    for (uint32_t i = 0; i < set->count; i++) {
        struct request *r = &set->request[i];
        r->from = r->preset;
        r->at = now->counts[i];
        r->held = now->counts[i].value;
        r->held_why = WHY_COUNT;
    }
    set->start = ++starts;
    set->cpu_at = set->ended ? set->cpu_held : 0;
    if (!set->ended)
        cpu_time(set, &set->cpu_at);
    set->cpu_held = set->cpu_at;
}

int set_start(struct call *c, rtc_cpc_set_t *set)
{
    struct snapshot now;
    int err = take(c, set, true, &now);
    if (err)
        return err;
    for (uint32_t i = 0; i < set->count; i++)
        if (now.why[i] != WHY_COUNT)
            return not_started(c, &set->request[i], now.why[i]);
    begin_at(set, &now);
    return 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

static struct reading reading_of(const rtc_cpc_set_t *set, uint32_t i, const struct snapshot *now)
{
    const struct request *r = &set->request[i];
    const struct counts *at = &r->at, *c = &now->counts[i];
    struct reading out = {.source = (uint8_t)r->source, .why = now->why[i]};
    if (out.why != WHY_COUNT)
        return out;
    out.settled.value = r->from;
    out.window.start = set->start;
    out.window.last =
        (struct counts){c->value - at->value, c->enabled - at->enabled, c->running - at->running};
    return reading_known(out);
}

/*
 * How long the set has counted: the longest running time of its events, else the thread's CPU time.
 */
static uint64_t ticks_of(const rtc_cpc_set_t *set, const rtc_cpc_buf_t *buf)
{
    uint64_t most = 0, now = set->cpu_held;
    for (uint32_t i = 0; i < set->count; i++)
        if (buf->reading[i].window.last.running > most)
            most = buf->reading[i].window.last.running;
    if (most || (set->counting && !set->ended && !cpu_time(set, &now)))
        return most;
    return now - set->cpu_at;
}

static int sample(struct call *c, const rtc_cpc_set_t *set, rtc_cpc_buf_t *buf)
{
    struct snapshot now;
    int err = snapshot_take(c, set, &now);
    if (err)
        return err;
    buf->time_ns = (int64_t)os_clock_ns();
    for (uint32_t i = 0; i < set->count; i++)
        buf->reading[i] = reading_of(set, i, &now);
    buf->ticks = ticks_of(set, buf);
    return 0;
}

EXPORT int rtc_cpc_set_sample(rtc_cpc_t *cpc, rtc_cpc_set_t *set, rtc_cpc_buf_t *buf)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    if (!is_set_of(set, cpc) || !is_buf_of(buf, cpc) || !set->bound || buf->set != set->number ||
        buf->count != set->count)
        return call_end(&c, -EINVAL);
    return call_end(&c, sample(&c, set, buf));
}

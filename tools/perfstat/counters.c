/*
 * counters.c - --counters: performance counters of the program, its threads and its children.
 *
 * The perf events are opened on the program's process before its exec, and count from the exec on.
 * Threads and children inherit them, and their counts are added to the parent's.  So no code runs
 * in the program for counters.  Each value has a source.  The value of an event that could not be
 * counted is unknown, with a reason, and never 0.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "perfstat_priv.h"

/* ---- the list -------------------------------------------------------------------------------- */

/* The end of the first name: a comma that is not between slashes. */
static const char *name_end(const char *list)
{
    bool inside = false;
    for (; *list && (inside || *list != ','); list++)
        inside ^= *list == '/';
    return list;
}

static int add(struct counters *all, const char *name, size_t bytes, char err[TOOLS_ERROR_BYTES])
{
    if (bytes == 0 || bytes >= COUNTER_NAME)
        return fail(err, -EINVAL, "option counters: no name of an event: '%.*s'",
                    (int)(bytes < 60 ? bytes : 60), name);
    if (all->count == COUNTERS_MAX)
        return fail(err, -EINVAL, "option counters: more than %d events", COUNTERS_MAX);
    struct counter *c = &all->at[all->count++];
    *c = (struct counter){.fd = -1};
    memcpy(c->name, name, bytes);
    int bad = counter_resolve(c, err);
    if (!bad && c->event.in_kernel_only && !c->kernel)
        bad = fail(err, -EINVAL, "this happens in the kernel alone: %s", c->name);
    if (!bad && c->event.in_both && !(c->user && c->kernel))
        bad = fail(err, -EINVAL, "its modes are not counted apart: %s", c->name);
    return bad;
}

int counters_make(struct counters **out, const char *list, char err[TOOLS_ERROR_BYTES])
{
    struct counters *all = calloc(1, sizeof *all);
    int bad = all ? 0 : fail(err, -ENOMEM, "out of memory");
    while (!bad) {
        const char *end = name_end(list);
        bad = add(all, list, (size_t)(end - list), err);
        if (!*end)
            break;
        list = end + 1;
    }
    if (!bad)
        *out = all;
    else
        free(all);
    return bad;
}

void counters_free(struct counters *all)
{
    for (unsigned i = 0; all && i < all->count; i++)
        if (all->at[i].fd >= 0)
            perf_close(all->at[i].fd);
    free(all);
}

/* ---- opening --------------------------------------------------------------------------------- */

struct perf_event_attr counter_attr(const struct counter *c, enum counting how)
{
    return (struct perf_event_attr){
        .type = c->event.type,
        .size = sizeof(struct perf_event_attr),
        .config = c->event.config,
        .config1 = c->event.config1,
        .config2 = c->event.config2,
        .disabled = how != COUNT_AT_ONCE,
        .enable_on_exec = how != COUNT_AT_ONCE,
        .inherit = how == COUNT_ALL_FROM_EXEC,
        .exclude_user = !c->event.in_both && !c->user,
        .exclude_kernel =
            c->event.in_both || !c->kernel, /* in_both events count the kernel even so */
        .exclude_hv = !c->user || !c->kernel,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
}

static bool is_clock(const struct counter *c)
{
    return c->event.source >= SOURCE_CLOCKS;
}

void counter_open(struct counter *c, pid_t pid, enum counting how)
{
    struct perf_event_attr attr = counter_attr(c, how);
    if (*c->why || is_clock(c))
        return;
    c->fd = perf_open(&attr, pid, -1);
    if (c->fd == -EACCES && c->user && c->kernel && !c->event.in_both && !c->event.in_kernel_only) {
        attr.exclude_kernel = attr.exclude_hv = 1;
        int fd = perf_open(&attr, pid, -1);
        c->user_alone = fd >= 0;
        c->fd = fd; /* it may fail for another reason */
    }
    if (c->fd >= 0)
        return;
    c->refused = c->fd;
    c->fd = -1;
    counter_explain(c);
}

void counters_open(struct counters *all, pid_t pid)
{
    for (unsigned i = 0; i < all->count; i++)
        counter_open(&all->at[i], pid, COUNT_ALL_FROM_EXEC);
}

void counters_deny(struct counters *all)
{
    for (unsigned i = 0; i < all->count; i++) {
        struct counter *c = &all->at[i];
        if (*c->why || is_clock(c))
            continue;
        c->refused = -EPERM;
        snprintf(c->why, sizeof c->why, "%s", refusal_text(REFUSAL_TAKEN_AWAY));
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

struct counter_reading reading_of(const struct counts *counts)
{
    if (counts->running == 0)
        return (struct counter_reading){.enabled_ns = counts->enabled};
    return (struct counter_reading){
        .known = true,
        .scaled = counts->running < counts->enabled,
        .value = counts->running < counts->enabled ? (uint64_t)((unsigned __int128)counts->value *
                                                                counts->enabled / counts->running)
                                                   : counts->value,
        .enabled_ns = counts->enabled,
        .running_ns = counts->running,
    };
}

static uint64_t ns_of(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* Values from rusage and the wall clock; false: the source is neither. */
static bool usage_value(enum source source, const struct rusage *u, uint64_t wall_ns,
                        uint64_t *value)
{
    switch (source) {
    case SOURCE_MONOTONIC:
        *value = wall_ns;
        break;
    case SOURCE_THREAD_CLOCK: /* replaces task-clock, which counts all threads */
    case SOURCE_PROCESS_CLOCK:
        *value = ns_of(u->ru_utime) + ns_of(u->ru_stime);
        break;
    case SOURCE_FAULTS:
        *value = (uint64_t)u->ru_minflt + (uint64_t)u->ru_majflt;
        break;
    case SOURCE_MINOR_FAULTS:
        *value = (uint64_t)u->ru_minflt;
        break;
    case SOURCE_MAJOR_FAULTS:
        *value = (uint64_t)u->ru_majflt;
        break;
    case SOURCE_SWITCHES:
        *value = (uint64_t)u->ru_nvcsw + (uint64_t)u->ru_nivcsw;
        break;
    case SOURCE_VOLUNTARY:
        *value = (uint64_t)u->ru_nvcsw;
        break;
    case SOURCE_INVOLUNTARY:
        *value = (uint64_t)u->ru_nivcsw;
        break;
    case SOURCE_USER_TIME:
        *value = ns_of(u->ru_utime);
        break;
    case SOURCE_SYSTEM_TIME:
        *value = ns_of(u->ru_stime);
        break;
    default:
        return false;
    }
    return true;
}

static bool is_time(const struct event *e)
{
    return (e->type == PERF_TYPE_SOFTWARE && e->source == SOURCE_SOFTWARE &&
            (e->config == PERF_COUNT_SW_TASK_CLOCK || e->config == PERF_COUNT_SW_CPU_CLOCK)) ||
           (e->source >= SOURCE_THREAD_CLOCK && e->source <= SOURCE_MONOTONIC) ||
           e->source >= SOURCE_USER_TIME;
}

static bool is_cycles(const struct counter *c)
{
    return c->event.type == PERF_TYPE_HARDWARE && c->event.source < SOURCE_CLOCKS &&
           c->event.config == PERF_COUNT_HW_CPU_CYCLES && c->user && c->kernel;
}

/* The clock that gives the value: the counter's own, or the substitute of a denied event. */
static enum source clock_of(const struct counter *c)
{
    bool denied = c->refused == -EACCES || c->refused == -EPERM || c->refused == -ENOSYS;
    if (is_clock(c))
        return c->event.source;
    return denied && (c->event.in_both || (c->user && c->kernel)) ? c->event.instead : SOURCE_NONE;
}

static bool is_of_thread(const struct counter *c)
{
    return clock_of(c) == SOURCE_WAIT_TIME || c->event.source == SOURCE_THREAD_CLOCK;
}

bool counter_is_by_clock(const struct counter *c)
{
    return clock_of(c) != SOURCE_NONE && !is_of_thread(c);
}

static void read_clock(const struct counter *c, const struct rusage *usage, uint64_t wall_ns,
                       struct counter_row *row)
{
    enum source source = clock_of(c);
    row->reading.known =
        !is_of_thread(c) && usage_value(source, usage, wall_ns, &row->reading.value);
    row->source = source_name(source == SOURCE_MONOTONIC ? source : SOURCE_WAITED_FOR);
    if (!row->reading.known)
        row->why = refusal_text(REFUSAL_ONE_THREAD);
}

static void read_event(const struct counter *c, struct counter_row *row)
{
    struct counts counts;
    row->source = source_name(c->event.source);
    if (c->fd < 0)
        row->why = c->why;
    else if (!perf_read(c->fd, &counts))
        row->why = why_text(WHY_NOT_READ);
    else if (!(row->reading = reading_of(&counts)).known)
        row->why = why_text(WHY_NEVER_RAN);
}

unsigned counters_read(const struct counters *all, const struct rusage *usage, uint64_t wall_ns,
                       struct counter_row rows[COUNTERS_MAX])
{
    for (unsigned i = 0; i < all->count; i++) {
        const struct counter *c = &all->at[i];
        rows[i] = (struct counter_row){.name = c->name,
                                       .user_alone = c->user_alone,
                                       .is_time = is_time(&c->event),
                                       .is_cycles = is_cycles(c)};
        if (clock_of(c) != SOURCE_NONE)
            read_clock(c, usage, wall_ns, &rows[i]);
        else
            read_event(c, &rows[i]);
    }
    return all->count;
}

/* ---- what there is --------------------------------------------------------------------------- */

/* Open the event as in a run, but on this process, and read nothing. */
static void list_name(const char *name, void *about)
{
    struct counter c = {.fd = -1};
    struct counter_row row = {0};
    struct rusage usage = {0};
    char err[TOOLS_ERROR_BYTES];
    (void)about;
    snprintf(c.name, sizeof c.name, "%s", name);
    if (counter_resolve(&c, err) != 0)
        return;
    counter_open(&c, 0, COUNT_ALL_FROM_EXEC);
    if (clock_of(&c) != SOURCE_NONE)
        read_clock(&c, &usage, 0, &row);
    else
        row = (struct counter_row){.source = source_name(c.event.source),
                                   .why = *c.why ? c.why : NULL};
    printf("%-34s %s%s\n", name, row.why ? row.why : row.source,
           c.user_alone ? ", user mode alone" : "");
    if (c.fd >= 0)
        perf_close(c.fd);
}

void counters_list(void)
{
    counter_each_name(list_name, NULL);
    counter_each_pmu_name(list_name, NULL);
    counter_each_pfm_name(list_name, NULL);
}

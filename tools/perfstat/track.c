/*
 * track.c - --interval: rows with the counts of each thread and child, like cputrack's.
 *
 * A row's time is that of its event.  Its values are read a moment later, when the event is seen.
 * A thread of the launcher reads forks, execs and exits from perf ring buffers (rings.c) and opens
 * the events of --counters on each new thread.  That happens a moment after the thread has begun,
 * so values of a tick are slightly too small.  At a thread's end the kernel delivers its complete
 * counts (PERF_RECORD_READ).  The program's first thread has no such record and is counted from its
 * exec on.
 *
 *    time     pid     tid  event     page-faults
 *   0.001    4711    4711  exec                1
 *   0.012    4711    4712  init_lwp            0
 *   1.000    4711    4711  tick               74
 *   1.000    4711    4712  tick             1003
 *   1.204    4711    4712  fini_lwp         1004
 *   1.210    4711       -  exit             1080     the sum of its threads
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "interval_priv.h"

#define END_COUNT_WAIT_NS \
    20000000u /* end counts follow a thread's exit record within this time, or not at all */

struct lwp {
    uint32_t pid, tid;
    uint64_t ended_ns;        /* 0: it runs */
    bool has_end_counts;      /* it gets end counts, of rings.has_end_counts */
    struct counter *counters; /* one for each event, as is end_counts */
    struct end_count *end_counts;
};

/* The end count of one event: the sum over all processors. */
struct end_count {
    unsigned processors;
    struct counts counts;
};

struct process {
    uint32_t pid, threads;
    struct value ended[COUNTERS_MAX]; /* sums of its ended threads */
};

struct tracker {
    pthread_t thread;
    int stop; /* eventfd */
    int log;
    int unwritten;        /* -errno of the first failed write; no rows are written after it */
    unsigned interval_ms; /* 0: no ticks */
    uint64_t begin_ns;
    const struct counters *counters;
    struct rings rings;
    struct lwp *lwps;
    size_t lwp_count;
    struct process *processes;
    size_t process_count;
    uint64_t missed;  /* threads that ended before their events could be opened */
    uint64_t refused; /* threads whose events could not be opened for another reason */
    char why[COUNTER_WHY];
    uint64_t lost;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* `tid` 0: the process as a whole. */
static void put(const struct tracker *t, uint64_t time_ns, uint32_t pid, uint32_t tid,
                const char *event, const struct value *values, FILE *out)
{
    const struct row row = {time_ns > t->begin_ns ? time_ns - t->begin_ns : 0, pid, tid, event,
                            values};
    row_put(t->counters, &row, out);
}

static bool has_count(const struct tracker *t, const struct lwp *l, unsigned i)
{
    return l->end_counts[i].processors == t->rings.count;
}

static bool has_all_counts(const struct tracker *t, const struct lwp *l)
{
    for (unsigned i = 0; l->has_end_counts && i < t->counters->count; i++)
        if (t->rings.has_end_counts[i] && !has_count(t, l, i))
            return false;
    return true;
}

static void lwp_read(const struct tracker *t, const struct lwp *l,
                     struct value values[COUNTERS_MAX])
{
    for (unsigned i = 0; i < t->counters->count; i++) {
        struct counts counts = l->end_counts[i].counts;
        values[i] = (struct value){0};
        if (!has_count(t, l, i) &&
            (l->counters[i].fd < 0 || !perf_read(l->counters[i].fd, &counts)))
            continue;
        struct counter_reading reading = reading_of(&counts);
        /*
         * an event that has not run yet has counted 0; one that never got a hardware counter is
         * unknown
         */
        values[i] =
            (struct value){reading.known || counts.enabled == 0, reading.scaled, reading.value};
    }
}

static void lwp_row(const struct tracker *t, const struct lwp *l, uint64_t time_ns,
                    const char *event, FILE *out)
{
    struct value values[COUNTERS_MAX];
    lwp_read(t, l, values);
    put(t, time_ns, l->pid, l->tid, event, values, out);
}

/* ---- threads and processes ------------------------------------------------------------------- */

static struct process *process_of(struct tracker *t, uint32_t pid)
{
    for (size_t i = 0; i < t->process_count; i++)
        if (t->processes[i].pid == pid)
            return &t->processes[i];
    struct process *more = reallocarray(t->processes, t->process_count + 1, sizeof *more);
    if (!more)
        return NULL;
    t->processes = more;
    struct process *p = &t->processes[t->process_count++];
    *p = (struct process){.pid = pid};
    for (unsigned i = 0; i < COUNTERS_MAX; i++)
        p->ended[i].known = true;
    return p;
}

/* The number of an ended thread may be reused before its last row is written: `ended` selects. */
static struct lwp *lwp_of(const struct tracker *t, uint32_t tid, bool ended)
{
    for (size_t i = 0; i < t->lwp_count; i++)
        if (t->lwps[i].tid == tid && (t->lwps[i].ended_ns != 0) == ended)
            return &t->lwps[i];
    return NULL;
}

/* Count an ended thread once, with its last reason. */
static void note_refusals(struct tracker *t, const struct lwp *l)
{
    int refused = 0;
    for (unsigned i = 0; i < t->counters->count; i++) {
        if (l->counters[i].refused == 0 || has_count(t, l, i))
            continue;
        refused = l->counters[i].refused;
        if (refused != -ESRCH)
            memcpy(t->why, l->counters[i].why, sizeof t->why);
    }
    t->missed += refused == -ESRCH;
    t->refused += refused != 0 && refused != -ESRCH;
}

/* Open the events that are not open yet. */
static void lwp_open(const struct tracker *t, struct lwp *l, enum counting how)
{
    for (unsigned i = 0; i < t->counters->count; i++) {
        struct counter *c = &l->counters[i];
        if (c->fd >= 0)
            continue;
        *c = t->counters->at[i];
        c->fd = -1;
        c->refused = 0;
        if (t->counters->at[i].fd >= 0) /* else it is unavailable, as reported at the end */
            counter_open(c, (pid_t)l->tid, how);
    }
}

/* NULL: out of memory. */
static struct lwp *lwp_add(struct tracker *t, uint32_t pid, uint32_t tid, enum counting how)
{
    struct process *p = process_of(t, pid);
    struct counter *counters = calloc(t->counters->count, sizeof *counters);
    struct end_count *end_count = calloc(t->counters->count, sizeof *end_count);
    struct lwp *more = reallocarray(t->lwps, t->lwp_count + 1, sizeof *more);
    t->lwps = more ? more : t->lwps;
    if (!p || !counters || !end_count || !more) {
        free(counters);
        free(end_count);
        return NULL;
    }
    for (unsigned i = 0; i < t->counters->count; i++)
        counters[i].fd = -1;
    p->threads++;
    struct lwp *l = &t->lwps[t->lwp_count++];
    *l = (struct lwp){.pid = pid,
                      .tid = tid,
                      .has_end_counts = how == COUNT_AT_ONCE,
                      .counters = counters,
                      .end_counts = end_count};
    lwp_open(t, l, how);
    return l;
}

static void lwp_drop(struct tracker *t, struct lwp *l)
{
    for (unsigned i = 0; i < t->counters->count; i++)
        if (l->counters[i].fd >= 0)
            perf_close(l->counters[i].fd);
    free(l->counters);
    free(l->end_counts);
    *l = t->lwps[--t->lwp_count];
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Write the last row of an ended thread, whose end counts are complete or overdue. */
static void lwp_end(struct tracker *t, struct lwp *l, FILE *out)
{
    struct process *p = process_of(t, l->pid);
    struct value values[COUNTERS_MAX];
    uint64_t time_ns = l->ended_ns;
    lwp_read(t, l, values);
    note_refusals(t, l);
    put(t, time_ns, l->pid, l->tid, "fini_lwp", values, out);
    lwp_drop(t, l);
    if (!p)
        return;
    for (unsigned i = 0; i < t->counters->count; i++)
        value_add(&p->ended[i], &values[i]);
    if (--p->threads > 0)
        return;
    put(t, time_ns, p->pid, 0, "exit", p->ended, out);
    *p = t->processes[--t->process_count];
}

/*
 * Write the rows of ended threads, by time.  `patient`: skip threads that may still get end counts.
 */
static void ended_put(struct tracker *t, bool patient, FILE *out)
{
    uint64_t now = now_ns();
    struct lwp *next;
    do {
        next = NULL;
        for (size_t i = 0; i < t->lwp_count; i++) {
            struct lwp *l = &t->lwps[i];
            bool is_over = l->ended_ns && (!patient || has_all_counts(t, l) ||
                                           now > l->ended_ns + END_COUNT_WAIT_NS);
            if (is_over && (!next || l->ended_ns < next->ended_ns))
                next = l;
        }
        if (next)
            lwp_end(t, next, out);
    } while (next);
}

/*
 * Records of processors arrive separately; each has the enabled time of the thread on all of them.
 */
static void take_count(const struct tracker *t, const struct life_event *e)
{
    struct lwp *l = lwp_of(t, e->tid, true);
    if (!l)
        return;
    struct end_count *end_count = &l->end_counts[e->counter];
    end_count->processors++;
    end_count->counts.value += e->counts.value;
    end_count->counts.running += e->counts.running;
    if (end_count->counts.enabled < e->counts.enabled)
        end_count->counts.enabled = e->counts.enabled;
}

static struct lwp *living_of(const struct tracker *t, uint32_t pid)
{
    for (size_t i = 0; i < t->lwp_count; i++)
        if (t->lwps[i].pid == pid && t->lwps[i].ended_ns == 0)
            return &t->lwps[i];
    return NULL;
}

/*
 * The thread that execs is the only one left of its process.  It takes over the number of the first
 * thread, whose counts are complete by then.  NULL: the thread is unknown.
 */
static struct lwp *lwp_execs(struct tracker *t, const struct life_event *e, FILE *out)
{
    struct lwp *was_first;
    if (!lwp_of(t, e->tid, false) && living_of(t, e->pid)) {
        while ((was_first = lwp_of(t, e->tid, true)))
            lwp_end(t, was_first, out);
        struct lwp *l = living_of(t, e->pid);
        l->tid = e->tid;
        lwp_open(t, l, COUNT_AT_ONCE); /* its old number may have been gone when it was seen */
    }
    return lwp_of(t, e->tid, false);
}

static void on_event(struct tracker *t, const struct life_event *e, FILE *out)
{
    struct lwp *l = e->what == LIFE_EXEC ? lwp_execs(t, e, out) : NULL;
    if (e->what == LIFE_FORK)
        l = lwp_add(t, e->pid, e->tid, COUNT_AT_ONCE);
    if (e->what == LIFE_EXIT && (l = lwp_of(t, e->tid, false)))
        l->ended_ns = e->time_ns;
    else if (e->what == LIFE_COUNTED)
        take_count(t, e);
    else if (e->what == LIFE_LOST)
        t->lost += e->lost;
    else if (l)
        lwp_row(t, l, e->time_ns,
                e->what == LIFE_EXEC  ? "exec"
                : e->pid == e->parent ? "init_lwp"
                                      : "fork",
                out);
}

static void tick(struct tracker *t, FILE *out)
{
    uint64_t now = now_ns();
    for (size_t i = 0; i < t->lwp_count; i++)
        if (!t->lwps[i].ended_ns)
            lwp_row(t, &t->lwps[i], now, "tick", out);
}

enum look { LOOK_FIRST, LOOK_ONLY, LOOK_TICK, LOOK_LAST };

/* Write the rows of all records that have arrived. */
static void look(struct tracker *t, enum look what)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    if (what == LOOK_FIRST)
        heading_put(t->counters, out);
    rings_drain(&t->rings);
    for (size_t i = 0; i < t->rings.event_count; i++)
        on_event(t, &t->rings.events[i], out);
    ended_put(t, what != LOOK_LAST, out);
    if (what == LOOK_TICK ||
        (what == LOOK_LAST && t->interval_ms > 0)) /* some children outlive the program */
        tick(t, out);
    if (fclose(out) == 0 && bytes > 0 && t->log >= 0 && t->unwritten == 0)
        t->unwritten = text_write(t->log, text, bytes);
    free(text);
}

static bool should_stop(const struct tracker *t)
{
    struct pollfd stop = {.fd = t->stop, .events = POLLIN};
    return poll(&stop, 1, 0) > 0;
}

/*
 * Time until the next tick (0: there is none), or until end counts of an ended thread are overdue.
 */
static int timeout_ms(const struct tracker *t, uint64_t next)
{
    uint64_t now = now_ns();
    for (size_t i = 0; i < t->lwp_count; i++)
        if (t->lwps[i].ended_ns && (next == 0 || t->lwps[i].ended_ns + END_COUNT_WAIT_NS < next))
            next = t->lwps[i].ended_ns + END_COUNT_WAIT_NS;
    return next == 0 ? -1 : next > now ? (int)((next - now) / 1000000u + 1) : 0;
}

static void *track(void *arg)
{
    struct tracker *t = arg;
    uint64_t interval = (uint64_t)t->interval_ms * 1000000u, next = t->begin_ns + interval;
    while (!should_stop(t)) {
        uint64_t now = now_ns();
        bool due = interval > 0 && now >= next;
        look(t, due ? LOOK_TICK : LOOK_ONLY);
        if (due)
            next = next + interval > now ? next + interval : now + interval;
        rings_wait(&t->rings, t->stop, timeout_ms(t, interval ? next : 0));
    }
    return NULL;
}

/* ---- from start to end ----------------------------------------------------------------------- */

static void tracker_free(struct tracker *t)
{
    while (t->lwp_count > 0)
        lwp_drop(t, &t->lwps[0]);
    rings_close(&t->rings);
    free(t->lwps);
    free(t->processes);
    if (t->stop >= 0)
        close(t->stop);
    free(t);
}

static int begin(struct tracker *t)
{
    sigset_t all, was;
    if (t->stop < 0)
        return -errno;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was); /* signals are handled by the main thread */
    int bad = -pthread_create(&t->thread, NULL, track, t);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    return bad;
}

struct tracker *tracker_start(const struct counters *counters, pid_t pid, unsigned interval_ms,
                              int log, struct warnings *lost)
{
    struct tracker *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    *t = (struct tracker){.stop = eventfd(0, EFD_CLOEXEC),
                          .log = log,
                          .interval_ms = interval_ms,
                          .begin_ns = now_ns(),
                          .counters = counters};
    int bad = rings_open(&t->rings, pid);
    if (!bad && lwp_add(t, (uint32_t)pid, (uint32_t)pid, COUNT_FROM_EXEC))
        rings_count(&t->rings, counters, pid);
    if (!bad)
        look(t, LOOK_FIRST);
    if (!bad)
        bad = begin(t);
    if (!bad)
        return t;
    struct counter why = {.event = {.source = SOURCE_SOFTWARE, .in_both = true}, .refused = bad};
    counter_explain(&why);
    warnings_add(
        lost, "--interval: no rows of threads: %.110s",
        bad == -ENOBUFS
            ? "n/a: this user may lock no more memory (RLIMIT_MEMLOCK, perf_event_mlock_kb)"
            : why.why);
    tracker_free(t);
    return NULL;
}

void tracker_end(struct tracker *t, struct warnings *lost)
{
    uint64_t one = 1;
    (void)!write(t->stop, &one, sizeof one);
    pthread_join(t->thread, NULL);
    look(t, LOOK_LAST);
    uint64_t all = rings_lost(&t->rings);
    t->lost = all > t->lost ? all : t->lost;
    note_clocks(t->counters, lost);
    if (t->unwritten)
        warnings_add(lost, "--interval: rows are missing: %s", strerror(-t->unwritten));
    if (t->missed > 0)
        warnings_add(lost,
                     "--interval: %llu threads or children had ended before they could be counted",
                     (unsigned long long)t->missed);
    if (t->refused > 0)
        warnings_add(lost, "--interval: %llu threads or children could not be counted: %.80s",
                     (unsigned long long)t->refused, t->why);
    if (t->lost > 0)
        warnings_add(lost,
                     "--interval: %llu forks, execs and ends were not seen: too many at a time",
                     (unsigned long long)t->lost);
    tracker_free(t);
}

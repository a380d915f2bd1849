/*
 * costs.c - our own share of what the run costs: how long the runtime's operations take, and what they do
 * in that time.
 *
 * Of each thread's operations some are timed and stand for those between them: the first ones all, one in
 * cost_every in the end, at random distances, so that no period of the program's meets one of ours.  What is
 * timed is the code that always runs: a copy of it for the purpose would be cold.  So an operation that is
 * due calls itself again, between two looks at the processor's clock:
 *
 *      malloc -> track_alloc, --cost_left < 0 -> cost_begin
 *                                                track_alloc     stack_put and free see `timed`, and look at
 *                                                cost_end        the clock where another work begins
 *
 * Even so the first one takes twice its time: the processor has never come there by this way,
 * guesses wrong at each branch, and a system call before makes it worse.  So operations come in
 * rows, and only the last ones of a row count.  The first is looked at for its page faults, which
 * takes two system calls.
 *
 * What the clock itself takes is measured once, and taken out of every interval.  It goes on while the
 * thread has no processor, or a virtual machine has none: what takes suspiciously long does not count, when
 * the thread was switched away, or when nothing explains it.  What has reason to take long - copying and
 * clearing of a lot, the call frame information of huge functions - is timed each time, by the
 * thread's own clock, and stands for itself alone: it comes in heaps, of which a row would meet all
 * or nothing.
 *
 * So the time is that of our own code, of libc's functions that it calls, of our system calls and of page
 * faults, but not of those of huge pages: such a one takes a thousand times as long as an
 * operation, and comes too rarely to be met.  Whoever touches memory first has them, and that would
 * be the program without us.
 *
 * What an operation waits for from memory is its time, also where the program would have gone on
 * meanwhile: with a million blocks in no order, which is little else, this makes 1.4 times as much
 * of it as there is.
 *
 * What is noted of a call that maps or unmaps, before it or behind it, and telling those who want
 * to hear of it, are operations like others; the call itself and what the handlers do are none of
 * their time.
 *
 * realloc calls the others, as parts of it.  But what a handler does that comes in the midst of an
 * operation is none of its time.  An operation that a handler leaves by siglongjmp is noticed by
 * the many that seem to go on within it.
 *
 * The sums are in the run file at once.  In a sandbox the clock may be forbidden: nothing is timed there.
 */
#include "core_priv.h"

#include <string.h>

#define ROW 32u /* operations in a row: the first is looked at for its page faults, */
#define ROW_TIMED \
    16u /* the last are timed; between them the processor gets used to what is new in that */
#define GROWTH 8u               /* with each row one that is timed stands for so many more */
#define OTHERS_MOST 16u         /* in the midst of one */
#define KERNEL_MOST_NS 1000000u /* of one operation, of those that are timed */
#define USER_MOST_NS \
    8000u /* of one, and 1 for each byte that it clears or copies; rules.c has a reason, too */

uint32_t cost_clock_ticks;

static struct {
    struct lock lock;
    struct cost_record *_Atomic record;
    _Atomic uint32_t rows; /* of this process, and its ancestors until it was forked */
    _Atomic bool stopped;
    uint32_t fence_ticks; /* that looking at the clock takes behind all that was begun */
    uint64_t begun_ticks, begun_ns;
    _Atomic uint64_t rated_ticks; /* since it began, when the rate was looked at last */
    _Atomic uint64_t rate;
    uint64_t start_ns, start_faults; /* not told yet */
} costs = {.lock = LOCK_INIT(RANK_ANNOTATIONS)};

static struct cost_record unrecorded; /* where the run file has no room */

static void count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* ---- the record ------------------------------------------------------------------------------ */

static struct cost_record *record_make(void)
{
    struct segment *s = segment_take(SEGMENT_COSTS, 1, sizeof(struct cost_record), 0);
    struct cost_record *r = s ? (struct cost_record *)segment_items(s) : &unrecorded;
    memset(r, 0, sizeof *r);
    r->every = rt.options.cost_every;
    r->clock_ticks = costs.fence_ticks;
    r->rate = costs.rate;
    r->stopped = costs.stopped;
    r->work[COST_START].ns = costs.start_ns;
    r->work[COST_START].faults = costs.start_faults;
    costs.start_ns = costs.start_faults = 0;
    if (s) {
        atomic_store_explicit(&s->count, 1, memory_order_relaxed);
        segment_publish(s);
    }
    return r;
}

/* NULL: we are in a handler that interrupted us. */
static struct cost_record *record_now(void)
{
    struct cost_record *r = atomic_load_explicit(&costs.record, memory_order_acquire);
    struct section s;
    if (r || !section_begin(&s))
        return r;
    lock_take(&costs.lock);
    r = atomic_load(&costs.record);
    if (!r) {
        r = record_make();
        atomic_store_explicit(&costs.record, r, memory_order_release);
    }
    lock_drop(&costs.lock);
    section_end(&s);
    return r;
}

/* How fast the processor's clock goes, each time that twice as much of it is over. */
static void calibrate(struct cost_record *r, bool last)
{
    uint64_t passed = os_ticks() - costs.begun_ticks;
    if (!last && passed < 2 * atomic_load_explicit(&costs.rated_ticks, memory_order_relaxed))
        return;
    uint64_t ns = os_clock_ns() - costs.begun_ns;
    passed = os_ticks() - costs.begun_ticks;
    atomic_store_explicit(&costs.rated_ticks, passed, memory_order_relaxed);
    if (ns)
        costs.rate = (uint64_t)((double)passed * (1 << 20) / (double)ns);
    atomic_store_explicit(&r->rate, costs.rate, memory_order_relaxed);
}

/* ---- which ones are timed -------------------------------------------------------------------- */

/* How many operations each one that is timed stands for, from here on. */
static uint32_t weight_now(void)
{
    uint32_t weight = 2 + GROWTH * atomic_load_explicit(&costs.rows, memory_order_relaxed);
    return weight < rt.options.cost_every ? weight : rt.options.cost_every;
}

/* From where one row begins to where the next one does, on average. */
static uint32_t period(const struct thread *t)
{
    uint32_t all = t->cost_weight * ROW_TIMED;
    return all > ROW
    ? all : ROW;
}

static uint32_t random_below(struct thread *t, uint32_t end)
{
    uint32_t x = t->cost_seed ? t->cost_seed : t->number * 2654435761u | 1;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    t->cost_seed = x;
    return (uint32_t)((uint64_t)x * end >> 32);
}

/* Somewhere in the midst of a period: for a thread that begins, or goes on as another process. */
static void choose_first(struct thread *t)
{
    t->cost_weight = weight_now();
    t->cost_left = (int32_t)random_below(t, period(t));
    t->cost.step = 0;
}

static void choose_next(struct thread *t)
{
    t->cost_weight = weight_now();
    t->cost_left = (int32_t)random_below(t, 2 * (period(t) - ROW) + 1);
    t->cost.step = 0;
}

static bool row_begins(struct thread *t)
{
    if (fork_is_child()) { /* it becomes a process of its own in this operation */
        t->cost_left = 1;  /* which asks again, and is not due */
        return false;
    }
    if (!t->cost_weight) {
        choose_first(t);
        return --t->cost_left < 0;
    }
    return true;
}

/* ---- timing ---------------------------------------------------------------------------------- */

static struct cost_usage usage_now(void)
{
    struct rusage now;
    if (!os_thread_usage(&now))
        return (struct cost_usage){0};
    return (struct cost_usage){.faults = (uint64_t)now.ru_minflt + (uint64_t)now.ru_majflt,
                               .switches = (uint64_t)now.ru_nvcsw + (uint64_t)now.ru_nivcsw};
}

static enum cost_call begin_nested(struct thread *t)
{
    struct cost_watch *w = &t->cost;
    t->cost_left = 1; /* it asks again, and is not due; another one in the midst of it is */
    if (w->is_nested)
        return COST_IGNORED;
    w->is_nested = true;
    w->nested_since = os_ticks();
    return COST_NESTED;
}

static void end_nested(struct thread *t)
{
    t->cost.since += os_ticks() - t->cost.nested_since;
    t->cost.is_nested = false;
    t->cost_left = 0;
}

COLD void cost_begin_nested(struct thread *t)
{
    struct cost_watch *w = &t->cost;
    if (w->is_nested) { /* a signal handler's, or deeper in the program's */
        w->outside += w->outside > 0;
        return;
    }
    w->is_nested = true;
    w->outside = 1;
    w->nested_since = os_ticks();
}

COLD void cost_end_nested(struct thread *t)
{
    if (t->cost.outside && --t->cost.outside == 0)
        end_nested(t);
}

enum cost_call cost_begin(enum cost_work work, uint64_t bytes)
{
    struct thread *t = self;
    struct cost_watch *w = &t->cost;
    if (t->timed && w->others++ < OTHERS_MOST)
        return begin_nested(t);
    t->timed = false;
    if (!rt.options.cost_every || costs.stopped || os_sandboxed()) {
        t->cost_left = INT32_MAX;
        return COST_IGNORED;
    }
    if (!w->step && !row_begins(t))
        return COST_IGNORED;
    w->operation = w->work = (uint8_t)work;
    if (!w->step++) {
        t->cost_left = ROW; /* what it calls is part of it */
        w->pieces = !w->pieces;
        w->before = usage_now();
        return COST_COUNTED;
    }
    memset(w->ticks, 0, sizeof w->ticks);
    w->met = 0;
    w->kernel_ticks = 0;
    w->reason_ns = bytes < LONG_BYTES ? bytes : 0;
    w->is_nested = false;
    w->outside = w->others = 0;
    t->cost_left = 1;
    t->stacks_plain = !w->pieces;
    t->timed = true;
    w->since = os_ticks_after();
    return COST_TIMED;
}

static void end_counted(struct thread *t, struct cost_record *r)
{
    struct cost_watch *w = &t->cost;
    struct cost_usage now = usage_now();
    count(&r->whole[w->operation].faults, (now.faults - w->before.faults) * period(t));
    w->before = now;
    t->cost_left = 0;
}

static uint64_t ns_of(uint64_t ticks)
{
    return costs.rate ? (uint64_t)((double)ticks * (1 << 20) / (double)costs.rate) : 0;
}

/* false: the clock went on while the thread, or the whole machine, had no processor. */
static bool is_undisturbed(struct cost_watch *w, uint64_t all)
{
    uint64_t ns = all > w->kernel_ticks ? ns_of(all - w->kernel_ticks) : 0,
             kernel_ns = ns_of(w->kernel_ticks);
    if (ns < USER_MOST_NS && kernel_ns < USER_MOST_NS)
        return true;
    struct cost_usage before = w->before;
    w->before = usage_now();
    return w->before.switches == before.switches && kernel_ns < KERNEL_MOST_NS &&
           ns < USER_MOST_NS + w->reason_ns;
}

static void note(struct cost_record *r, const struct thread *t, uint64_t all)
{
    const struct cost_watch *w = &t->cost;
    struct cost_done *to = w->pieces ? r->work : r->whole;
    uint64_t weight = 2 * t->cost_weight; /* every other row is of this kind */
    for (uint32_t i = 0; i < COST_WORK_COUNT; i++)
        if (w->met >> i & 1) {
            count(&to[i].timed, 1);
            count(&to[i].operations, weight);
            count(&to[i].ticks,
                  (uint64_t)w->ticks[i] * weight); /* modulo 2^64, a little below 0 as well */
        }
    if (w->pieces)
        return;
    count(&r->kernel_ticks, w->kernel_ticks * weight);
    _Atomic uint64_t *times = w->operation == COST_FREE ? r->free_times : r->alloc_times;
    if (w->operation <= COST_FREE)
        count(&times[cost_time_class(all)], weight);
}

static void end_timed(struct thread *t, struct cost_record *r)
{
    struct cost_watch *w = &t->cost;
    int64_t sum = 0;
    for (uint32_t i = 0; i < COST_WORK_COUNT; i++)
        sum += w->ticks[i];
    uint64_t all = sum > 0 ? (uint64_t)sum : 0;
    t->cost_left = 0;
    if (w->step <= ROW - ROW_TIMED)
        return;
    if (is_undisturbed(w, all))
        note(r, t, all);
    else
        count(&r->disturbed, 1);
    if (w->step < ROW)
        return;
    atomic_fetch_add_explicit(&costs.rows, 1, memory_order_relaxed);
    calibrate(r, false);
    choose_next(t);
}

void cost_end(enum cost_call call)
{
    struct thread *t = self;
    if (!t || call == COST_IGNORED)
        return;
    if (call == COST_NESTED) {
        end_nested(t);
        return;
    }
    if (call == COST_TIMED) {
        struct cost_watch *w = &t->cost;
        w->ticks[w->work] += (int64_t)(os_ticks_after() - w->since -
                                       (w->pieces ? cost_clock_ticks : costs.fence_ticks));
        w->met |= 1u << w->work;
        t->timed = false;
    }
    struct cost_record *r = record_now();
    if (!r)
        choose_next(t);
    else if (call == COST_TIMED)
        end_timed(t, r);
    else
        end_counted(t, r);
}

/* ---- what is not an operation ---------------------------------------------------------------- */

uint64_t cost_phase_begin(void)
{
    if (self && self->timed)
        self->cost.phase_since = os_ticks();
    return os_own_cpu_clock_ns();
}

void cost_phase_end(enum cost_work work, uint64_t since)
{
    uint64_t ns = os_own_cpu_clock_ns() - since;
    if (self && self->timed)
        self->cost.since += os_ticks() - self->cost.phase_since;
    if (!core_is_started()) {
        costs.start_ns += ns;
        return;
    }
    struct cost_record *r = rt.options.cost_every ? record_now() : NULL;
    if (!r)
        return;
    count(&r->work[work].ns, ns);
    if (!costs.stopped && !os_sandboxed())
        calibrate(r, work == COST_SCAN);
}

static uint64_t faults_now(void)
{
    return os_sandboxed() ? 0 : usage_now().faults;
}

struct cost_part cost_part_begin(void)
{
    return (struct cost_part){cost_phase_begin(), faults_now()};
}

void cost_part_end(enum cost_work work, struct cost_part since)
{
    uint64_t now = faults_now(), faults = now > since.faults ? now - since.faults : 0;
    cost_phase_end(work, since.ns);
    struct cost_record *r = core_is_started() && rt.options.cost_every ? record_now() : NULL;
    if (r)
        count(&r->work[work].faults, faults);
    else if (!core_is_started())
        costs.start_faults += faults;
}

/* ---- beginnings ------------------------------------------------------------------------------ */

static uint32_t fence_ticks(void)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < 8; i++) {
        uint64_t begun = os_ticks_after(), now = begun;
        for (uint32_t k = 0; k < 32; k++)
            now = os_ticks_after();
        least = now - begun < least ? now - begun : least;
    }
    return (uint32_t)((least + 16) / 32);
}

static void measure_clock(void)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < 8; i++) {
        struct cost_watch w = {.pieces = true, .since = os_ticks()};
        uint64_t begun = w.since;
        for (uint32_t k = 0; k < 32; k++)
            cost_switch(&w, k % 2);
        least = w.since - begun < least ? w.since - begun : least;
    }
    cost_clock_ticks = (uint32_t)((least + 16) / 32);
    costs.fence_ticks = fence_ticks();
}

void costs_start(void)
{
    if (!rt.options.cost_every)
        return;
    costs.begun_ns = os_clock_ns();
    costs.begun_ticks = os_ticks();
    measure_clock();
}

void costs_stop(void)
{
    struct cost_record *r = atomic_load(&costs.record);
    costs.stopped = true;
    if (r)
        atomic_store(&r->stopped, 1);
}

void costs_after_fork(void)
{
    lock_reset(&costs.lock);
    atomic_store(&costs.record, NULL);
    costs.start_ns = costs.start_faults = 0;
    if (!self)
        return;
    self->timed = false;
    self->cost_seed ^= image()->pid * 2654435761u;
    if (self->cost_weight)
        choose_first(self);
}

/*
 * costs.c - sampling profiler of rtcheck's own cost: how long the runtime's operations take, by
 * kind of work.
 *
 * Each thread times a sample of its operations, and each timed one is weighted by those between
 * samples. At first all operations are sampled, in the end one in cost_every. Distances are random,
 * so that the sample does not correlate with periods of the program. The timed code is the code
 * that always runs, since a copy of it would be cold in the caches. So a sampled operation calls
 * itself again between two readings of the time stamp counter (TSC):
 *
 *   malloc -> track_alloc, --cost_left < 0 -> cost_begin
 *                                             track_alloc    stack_put and free test `timed`, and
 *                                             cost_end       read the TSC where the work changes
 *
 * The first timed operation still takes twice its normal time: this path is new to the branch
 * predictors, and a preceding system call makes it worse. So operations are sampled in rows, and
 * only the last ones of a row count. For the first one page faults are counted instead, by two
 * system calls.
 *
 * The cost of reading the TSC is measured once, and subtracted from every interval. The TSC also
 * advances while the thread, or a virtual machine, has no processor. So a suspiciously long time is
 * discarded if the thread was switched, or if no reason for it is known; the next sample of the same
 * operation then has the weight of both, so that a busy machine does not reduce the sums. Work with a reason to take
 * long is timed each time by the thread's CPU clock, without a weight: copies and clears of
 * LONG_BYTES or more, call frame information of huge functions. Such work occurs in bursts, of
 * which a row would contain all or nothing.
 *
 * The times contain our own code, libc functions that it calls, our system calls, and page faults,
 * but not faults of huge pages. Such a fault takes a thousand times as long as an operation, and is
 * too rare for the sample. The first access to memory causes it, which without us would be the
 * program's.
 *
 * An operation's waits for memory are its time, also where the program would have executed on
 * meanwhile. With a million blocks in random order there is little else; then the result is 1.4
 * times the true cost.
 *
 * Recording a change of mappings, before or after the call, and notifying handlers are operations
 * too. The system call and the handlers themselves are excluded.
 *
 * realloc calls other operations as parts of itself. A signal handler's operations within another
 * operation are excluded. If a handler leaves an operation by siglongjmp, that is detected by many
 * operations that seem nested in it.
 *
 * In place of libvmmalloc (init/vmmalloc.h) no operation is timed.  With its log of allocations each
 * one is sampled, and logged: so the log costs nothing where it is off.
 *
 * The sums are in the run file immediately. A sandbox may forbid reading the TSC, so nothing is
 * timed there. costs.lock (RANK_ANNOTATIONS) protects the making of the record.
 */
#include "track_priv.h"
#include "vmmalloc.h"

#include <string.h>

#define ROW 32u /* operations in a row: of the first the page faults are counted, */
#define ROW_TIMED \
    16u /* the last ones are timed; those in between warm up the caches and the branch predictors */
#define GROWTH 8u               /* added to the weight of a timed operation by each row */
#define OTHERS_MOST 16u         /* nested operations, before the outer one counts as abandoned */
#define KERNEL_MOST_NS 1000000u /* longest kernel time of an operation that counts */
#define USER_MOST_NS \
    8000u /* longest user time; plus 1 for each byte cleared or copied, plus ROW_NS (stack.c) */

uint32_t cost_clock_ticks;

static struct {
    struct lock lock;
    struct cost_record *_Atomic record;
    _Atomic uint32_t rows; /* made by this process, and by its ancestors until it was forked */
    _Atomic bool stopped;
    uint32_t fence_ticks; /* cost of reading the TSC after all earlier instructions (lfence) */
    uint64_t begun_ticks, begun_ns;
    _Atomic uint64_t rated_ticks; /* from begun_ticks to the last calibration */
    _Atomic uint64_t rate;
    uint64_t start_ns, start_faults; /* of start-up, until a record is made */
} costs = {.lock = LOCK_INIT(RANK_ANNOTATIONS)};

static struct cost_record unrecorded; /* used if the run file has no room */

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

/* NULL: in a signal handler that interrupted the runtime. */
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

/* Measure the TSC's rate, each time that the ticks since the start have doubled. */
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

/* ---- sampling -------------------------------------------------------------------------------- */

/* The weight of operations that are timed from now on. */
static uint32_t weight_now(void)
{
    uint32_t weight = 2 + GROWTH * atomic_load_explicit(&costs.rows, memory_order_relaxed);
    return weight < rt.options.cost_every ? weight : rt.options.cost_every;
}

/* Average number of operations from the start of one row to the start of the next. */
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

/*
 * Begin at a random point of a period: for a new thread, or one that continues in a forked child.
 */
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
    if (fork_is_child()) { /* this operation will make the child's image */
        t->cost_left = 1;  /* the repeated call decrements it, and is not sampled */
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
    t->cost_left = 1; /* the repeated call is not sampled; one nested in it is */
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
    if (w->is_nested) { /* by a signal handler, or by a callback further out */
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

/* ---- logging each operation ------------------------------------------------------------------ */

COLD bool cost_is_sampled_first(void)
{
    struct section s;
    if (!vmmalloc_logs(VMMALLOC_ALLOCATIONS) || !section_begin(&s)) /* registers the thread */
        return false;
    section_end(&s);
    return self != NULL;
}

static enum cost_call begin_logged(struct thread *t)
{
    t->cost_left = 1; /* the repeated call is not logged again */
    return COST_LOGGED;
}

/* ---- operations ------------------------------------------------------------------------------ */

enum cost_call cost_begin(enum cost_work work, uint64_t bytes)
{
    struct thread *t = self;
    struct cost_watch *w = &t->cost;
    if (vmmalloc_logs(VMMALLOC_ALLOCATIONS))
        return begin_logged(t);
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
        t->cost_left = ROW; /* operations that it calls are parts of it */
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
    t->stacks_plain = !w->pieces && rt.options.frames;
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

/* false: the TSC advanced while the thread, or the whole machine, had no processor. */
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

static void note(struct cost_record *r, struct thread *t, uint64_t all)
{
    struct cost_watch *w = &t->cost;
    struct cost_done *to = w->pieces ? r->work : r->whole;
    uint32_t *owed = &w->owed[w->pieces][w->operation];
    /* Every other row is timed whole, the rest by pieces. */
    uint64_t weight = 2 * ((uint64_t)t->cost_weight + *owed);
    *owed = 0;
    for (uint32_t i = 0; i < COST_WORK_COUNT; i++)
        if (w->met >> i & 1) {
            count(&to[i].timed, 1);
            count(&to[i].operations, weight);
            count(&to[i].ticks,
                  (uint64_t)w->ticks[i] * weight); /* modulo 2^64; may be slightly negative */
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
    if (is_undisturbed(w, all)) {
        note(r, t, all);
    } else {
        count(&r->disturbed, 1);
        w->owed[w->pieces][w->operation] += t->cost_weight;
    }
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
    if (call == COST_LOGGED) {
        t->cost_left = 0;
        return;
    }
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

/* ---- phases, which are no operations --------------------------------------------------------- */

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
    if (!init_is_started()) {
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
    struct cost_record *r = init_is_started() && rt.options.cost_every ? record_now() : NULL;
    if (r)
        count(&r->work[work].faults, faults);
    else if (!init_is_started())
        costs.start_faults += faults;
}

/* ---- start-up -------------------------------------------------------------------------------- */

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

/*
 * own_cost.c - the runtime's share of the costs: sums of the cost records of all images.
 *
 * Only some operations are timed, so all values except scan and start are estimates; the number of
 * timed operations shows their quality. The threads' counters have the exact number of operations,
 * and timed operations are scaled to it. Scaling by the sampling distances could be wrong by a
 * fifth. If a sandbox was entered, timing stopped after an unknown number of operations, and
 * nothing is scaled. Images that were read in mid-run are included.
 */
#include "text.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define UNSURE_PERCENT 5            /* greatest difference between own_cost_percent and --measure */
#define UNTIMED_NS 5e6              /* greatest cost of an image that is not timed */
#define FAULT_NS 5e3                /* greatest cost of a page fault */
#define SMALL_HEAP_BYTES (2u << 20) /* smaller than a huge page */

bool own_cost_is_known(const struct own_cost *sum)
{
    return sum->images > 0 && sum->ns_per_tick > 0;
}

const char *own_cost_why(const struct report *r)
{
    const char *every = run_setting(r->view.run, "cost_every");

    if (r->own_cost.images > 0)
        return "the processor's clock was forbidden, or its rate not known when the program was "
               "killed";
    if (r->view.run->version_minor < 6)
        return "not timed by the version that wrote the file";
    return every && strtoul(every, NULL, 10) == 0 ? "nothing was timed: cost-every=0"
                                                  : "no process has recorded it";
}

double own_cost_ns(const struct own_cost *sum)
{
    double ns = 0;

    for (uint32_t i = 0; i < COST_WORK_COUNT; i++)
        ns += sum->work[i].ns;
    return ns;
}

/*
 * Faults are estimated from few samples, so the estimate may exceed all faults less those counted
 * exactly (scan, start). If it does, scale it down.
 */
uint64_t own_cost_faults(const struct own_cost *sum, const struct cost_sum *all, uint32_t works)
{
    uint64_t own = 0, counted_faults = 0, most = all->of.minor_faults + all->of.major_faults;
    uint64_t known = sum->work[COST_SCAN].faults + sum->work[COST_START].faults;

    most = most > known ? most - known : 0;
    for (uint32_t i = 0; i < COST_OPERATION_COUNT; i++) {
        own += sum->work[i].faults;
        counted_faults += works >> i & 1 ? sum->work[i].faults : 0;
    }
    if (all->with_rusage == 0 || all->with_rusage < all->processes || own <= most)
        return counted_faults;
    return (uint64_t)((double)counted_faults * (double)most / (double)own + 0.5);
}

double own_cost_time(const struct own_cost *sum, const uint64_t times[COST_TIMES], unsigned percent)
{
    uint64_t all = 0, below = 0;
    uint32_t i = 0;

    for (uint32_t k = 0; k < COST_TIMES; k++)
        all += times[k];
    if (all == 0)
        return -1;
    while (i + 1 < COST_TIMES && (below += times[i]) * 100 < all * percent)
        i++;
    return (double)(cost_time_least(i) + cost_time_least(i + 1)) / 2 * sum->ns_per_tick;
}

bool own_cost_has_calls(const struct own_cost *sum)
{
    return own_cost_time(sum, sum->alloc_times, 50) >= 0 ||
           own_cost_time(sum, sum->free_times, 50) >= 0;
}

double own_cost_cycles(const struct report *r, const char **why)
{
    const struct counter_row *row = r->counters, *end = row ? row + r->counter_count : NULL;

    while (row < end && !row->is_cycles)
        row++;
    *why = row == end                 ? "n/a: not requested (--counters=cycles)"
           : !row->reading.known      ? row->why
           : row->user_alone          ? "n/a: they were counted in user mode alone"
           : !row->reading.enabled_ns ? "n/a: nothing was counted"
                                      : NULL;
    return *why ? 0 : (double)row->reading.value / (double)row->reading.enabled_ns;
}

uint64_t own_report_faults(void)
{
    struct rusage usage = {0};

    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

double own_report_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- in words -------------------------------------------------------------------------------- */

static void works_put(const struct own_cost *sum, const struct page *page)
{
    const char *between = ": ";

    for (uint32_t i = 0; i < COST_WORK_COUNT; i++) {
        if (sum->work[i].ns < 500)
            continue;
        fprintf(page->out, "%s%s %.3f", between, cost_work_name(i), sum->work[i].ns / 1e6);
        between = ", ";
    }
    fprintf(page->out, "; report %.3f, beside it (scan, start, report: " COST_BY_CPU_CLOCK ")",
            own_report_ns() / 1e6);
}

static void times_put(const struct own_cost *sum, const char *what, const uint64_t *times,
                      const struct page *page)
{
    double middle = own_cost_time(sum, times, 50);

    if (middle < 0)
        fprintf(page->out, "%s n/a: none was timed", what);
    else
        fprintf(page->out, "%s p50 %.0f ns, p99 %.0f ns", what, middle,
                own_cost_time(sum, times, 99));
}

static void sources_put(const struct own_cost *sum, const struct page *page)
{
    uint64_t timed = 0, operations = 0;

    for (uint32_t i = 0; i < COST_OPERATION_COUNT; i++) {
        timed += sum->work[i].timed;
        operations += sum->work[i].operations;
    }
    if (timed == 0)
        return;
    fprintf(page->out, " (%llu of about %llu operations timed, by the processor's clock%s)",
            (unsigned long long)timed, (unsigned long long)operations,
            sum->stopped ? ", until a sandbox was entered" : "");
}

static void cycles_put(const struct report *r, const struct page *page)
{
    const char *why;
    double per_ns = own_cost_cycles(r, &why);

    fputs("cycles ", page->out);
    if (why)
        text_put(page->out, why);
    else
        fprintf(page->out, "about %.0f, at the run's %.2f per ns",
                own_cost_ns(&r->own_cost) * per_ns, per_ns);
}

/* Time of the operations, which are sampled: all but the scan and the start. */
static double operations_ns(const struct own_cost *sum)
{
    return own_cost_ns(sum) - sum->work[COST_SCAN].ns - sum->work[COST_START].ns;
}

/* The most that page faults of the run, or those saved in its memory, may have cost. */
static double faults_ns(const struct cost_sum *all)
{
    uint64_t faults = all->of.minor_faults + all->of.major_faults;
    uint64_t pages = all->of.max_rss_bytes / 4096 * all->processes;

    return (double)(faults > pages ? faults : pages) * FAULT_NS;
}

/* Why the percentage may differ from --measure by more than UNSURE_PERCENT points, or NULL. */
static const char *unsure_why(const struct own_cost *sum, const struct cost_sum *all)
{
    double most = (double)all->of.task_clock_ns * UNSURE_PERCENT / 100;
    double untimed = sum->images * UNTIMED_NS, operations = operations_ns(sum);

    if (sum->stopped > 0)
        return "not timed after a sandbox was entered";
    if (all->with_rusage < all->processes)
        return "some processes have no count of page faults";
    if (untimed > most)
        return sum->images == 1 ? "the run was too short" : "the processes were too short";
    if (untimed + operations > most)
        return "how much of it replaces libc's malloc is not known";
    if (untimed + operations + faults_ns(all) > most)
        return "it changes the number of page faults, which are many";
    return all->heap_peak_bytes > SMALL_HEAP_BYTES ? "the effect of its huge pages is not known"
                                                   : NULL;
}

/*
 * The percentage is printed only if it should agree with --measure (1 - 1 / ratio of CPU times)
 * within UNSURE_PERCENT points. Four differences are not known in the process:
 * - Loading the library, unmapping and effects on caches are not timed: up to 3 ms an image, where
 *   python3 was measured. UNTIMED_NS leaves room for slower machines.
 * - Operations replace those of libc, which --measure subtracts: from nothing to all of their time.
 * - Heap pages are huge, or are unmapped at free, where libc's are not. So the program has fewer
 *   faults (40 MiB blocks, filled and freed: a fifth of the time), or more of them (1 MiB: five
 *   times). The resident size bounds the faults that huge pages save.
 * - Huge pages need fewer TLB entries: random accesses to 64 MiB took 8 % less time, and to
 *   12 MiB 13 %.
 *
 * Measured, in percent: own_cost_ns, --measure (median of 9 pairs, on a busy machine).
 *
 *             python3  perl    cc1     sqlite3  jq      bash    computation  gzip
 *   1 s       39, 24   35, 26  25, 26  17, 17   22, 0   94, 77  0, -1        0, 1
 *   20 ms     66, 56   30, 41  48, 43  44, 42   36, 22  86, 74  11, 23       3, 6
 *
 * Only computation and gzip of 1 s are printed. (20 ms: python3 87 ms, cc1 65 ms.)
 */
double own_cost_percent(const struct report *r, const struct cost_sum *all, const char **why)
{
    *why = !own_cost_is_known(&r->own_cost)   ? own_cost_why(r)
           : all->with_clock == 0             ? "the task clock is not known"
           : all->with_clock < all->processes ? "some processes have no task clock"
           : all->of.task_clock_ns == 0       ? "the task clock is 0"
                                              : unsure_why(&r->own_cost, all);
    return *why ? 0 : own_cost_ns(&r->own_cost) * 100 / (double)all->of.task_clock_ns;
}

/* The share covers all processes: print no percentage if only some have a task clock. */
static void percent_put(double ns, const struct cost_sum *all, const struct page *page)
{
    if (all->with_clock > 0 && all->with_clock < all->processes)
        fprintf(page->out, ", n/a %% of the task clock, which is of %u of %u processes",
                all->with_clock, all->processes);
    else if (all->with_clock > 0 && all->of.task_clock_ns > 0)
        fprintf(page->out, ", %.1f %% of the task clock", ns * 100 / (double)all->of.task_clock_ns);
}

/* Faults of work other than operations are counted exactly. */
static void faults_put(const struct own_cost *sum, const struct page *page)
{
    const char *between = "page faults of ";

    for (uint32_t i = COST_OPERATION_COUNT; i < COST_WORK_COUNT; i++) {
        if (sum->work[i].faults == 0)
            continue;
        fprintf(page->out, "%s%s %llu", between, cost_work_name(i),
                (unsigned long long)sum->work[i].faults);
        between = ", of ";
    }
    if (*between == ',')
        fputs(" (" COST_BY_RUSAGE "); ", page->out);
}

static void own_cost_put(const struct report *r, const struct cost_sum *all,
                         const struct page *page)
{
    const struct own_cost *sum = &r->own_cost;
    double ns = own_cost_ns(sum);

    fprintf(page->out, "%.3f ms", ns / 1e6);
    percent_put(ns, all, page);
    works_put(sum, page);
    fprintf(page->out, "\n%*s", COST_COLUMN, "");
    times_put(sum, "an allocation:", sum->alloc_times, page);
    times_put(sum, "; a free:", sum->free_times, page);
    sources_put(sum, page);
    fprintf(page->out, "\n%*s", COST_COLUMN, "");
    if (own_cost_has_calls(sum))
        fprintf(page->out,
                "in these: page faults about %llu (" COST_BY_RUSAGE
                "), in rtcheck's system calls %.3f ms; ",
                (unsigned long long)own_cost_faults(sum, all, ALL_WORKS), sum->kernel_ns / 1e6);
    faults_put(sum, page);
    cycles_put(r, page);
}

void own_cost_print(const struct report *r, const struct cost_sum *all, const struct page *page)
{
    const struct own_cost *sum = &r->own_cost;

    fprintf(page->out, "%*sown cost: ", COST_COLUMN, "");
    if (own_cost_is_known(sum))
        own_cost_put(r, all, page);
    else
        fprintf(page->out, "n/a: %s", own_cost_why(r));
    if (sum->blocks > 0)
        fprintf(page->out, "; a block in use: %.0f B of record, %.1f B of redzone and rounding",
                (double)sum->record_bytes / (double)sum->blocks,
                (double)sum->around_bytes / (double)sum->blocks);
    fputc('\n', page->out);
}

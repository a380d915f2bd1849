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
    *why = row == end                 ? "n/a: not asked for, by --counters=cycles"
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

double own_cost_percent(const struct report *r, const struct cost_sum *all, const char **why)
{
    *why = !own_cost_is_known(&r->own_cost)   ? own_cost_why(r)
           : all->with_clock == 0             ? "the task clock is not known"
           : all->with_clock < all->processes ? "some processes have no task clock"
           : all->of.task_clock_ns == 0       ? "the task clock is 0"
                                              : NULL;
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
                "), in our system calls %.3f ms; ",
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

/*
 * print_json_costs.c - costs in the JSON report, with the runtime's own share.
 */
#include "print_json_priv.h"

static void counter_object(struct json *j, const struct report *r, const struct cost_sum *sum,
                           const char *name, uint32_t known, uint64_t value, const char *source)
{
    open_object(j, name);
    if (known > 0) {
        put_number(j, "value", value);
        put_text(j, "source", sum->at_death ? COST_AT_DEATH : source);
    } else {
        put_null(j, "value");
        put_text(j, "why", cost_reason(r, sum));
    }
    put_number(j, "processes", known);
    close_object(j);
}

static uint64_t whole(double ns)
{
    return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

static void times_object(struct json *j, const char *name, const struct own_cost *sum,
                         const uint64_t *times)
{
    double middle = own_cost_time(sum, times, 50);

    if (middle < 0) {
        put_null(j, name);
        return;
    }
    open_object(j, name);
    put_number(j, "p50", whole(middle));
    put_number(j, "p99", whole(own_cost_time(sum, times, 99)));
    close_object(j);
}

static void works_object(struct json *j, const struct own_cost *sum, const struct cost_sum *all,
                         double cycles_per_ns)
{
    open_object(j, "work");
    for (uint32_t i = 0; i < COST_WORK_COUNT; i++) {
        const struct own_work *work = &sum->work[i];
        open_object(j, cost_work_name(i));
        bool is_known = work->timed > 0 || i == COST_SCAN || i == COST_START || work->ns > 0;
        put_known(j, "ns", is_known, whole(work->ns));
        put_known(j, "cycles", is_known && cycles_per_ns > 0, whole(work->ns * cycles_per_ns));
        if (i < COST_OPERATION_COUNT)
            put_known(j, "faults", work->timed > 0, own_cost_faults(sum, all, 1u << i));
        /* files of older versions have none */
        else if (i == COST_SCAN || i == COST_START)
            put_known(j, "faults", work->faults > 0, work->faults);
        put_text(j, "source", i == COST_SCAN || i == COST_START ? COST_BY_CPU_CLOCK : COST_SAMPLED);
        if (work->timed > 0) {
            put_number(j, "timed", work->timed);
            put_number(j, "operations", work->operations);
        }
        close_object(j);
    }
    close_object(j);
}

static void cycles_fields(struct json *j, const struct own_cost *sum, double per_ns,
                          const char *why)
{
    put_known(j, "cycles", !why, whole(own_cost_ns(sum) * per_ns));
    if (why)
        put_text(j, "cycles_why", why);
    else
        put_real(j, "cycles_per_ns", per_ns);
}

/* Sources of the numbers that have no source beside them. */
static void sources_object(struct json *j)
{
    open_object(j, "sources");
    put_text(j, "report_ns", COST_BY_CPU_CLOCK);
    put_text(j, "report_faults", COST_BY_RUSAGE);
    put_text(j, "kernel_ns", COST_SAMPLED);
    put_text(j, "faults", COST_BY_RUSAGE ", sampled");
    put_text(j, "alloc_ns", COST_SAMPLED);
    put_text(j, "free_ns", COST_SAMPLED);
    close_object(j);
}

static void blocks_object(struct json *j, const struct own_cost *sum)
{
    if (sum->blocks == 0)
        return;
    open_object(j, "blocks_in_use");
    put_number(j, "blocks", sum->blocks);
    put_number(j, "record_bytes", sum->record_bytes);
    put_number(j, "around_bytes", sum->around_bytes);
    close_object(j);
}

/* "share": {..}, or null and the reason. */
static void own_cost_object(struct json *j, const struct report *r, const struct cost_sum *all)
{
    const struct own_cost *sum = &r->own_cost;
    const char *why;
    double per_ns = own_cost_cycles(r, &why);

    if (!own_cost_is_known(sum)) {
        put_null(j, "share");
        put_text(j, "share_why", own_cost_why(r));
        return;
    }
    open_object(j, "share");
    put_number(j, "ns", whole(own_cost_ns(sum)));
    put_number(j, "report_ns", whole(own_report_ns()));
    put_number(j, "report_faults", own_report_faults());
    cycles_fields(j, sum, per_ns, why);
    put_known(j, "kernel_ns", own_cost_has_calls(sum), whole(sum->kernel_ns));
    put_known(j, "faults", own_cost_has_calls(sum), own_cost_faults(sum, all, ALL_WORKS));
    put_number(j, "every", sum->every);
    put_number(j, "disturbed", sum->disturbed);
    put_flag(j, "sandboxed", sum->stopped > 0);
    works_object(j, sum, all, per_ns);
    times_object(j, "alloc_ns", sum, sum->alloc_times);
    times_object(j, "free_ns", sum, sum->free_times);
    sources_object(j);
    close_object(j);
}

void json_cost(struct json *j, const struct report *r)
{
    struct cost_sum sum = cost_sum(r);
    const struct costs *c = &sum.of;
    const struct {
        const char *name;
        uint64_t value;
    } usage[] = {
        {"minor_faults", c->minor_faults},
        {"major_faults", c->major_faults},
        {"voluntary_switches", c->voluntary_switches},
        {"involuntary_switches", c->involuntary_switches},
        {"max_rss_bytes", c->max_rss_bytes},
    };

    open_object(j, "cost");
    put_number(j, "processes", sum.processes);
    open_object(j, "counters");
    counter_object(j, r, &sum, "task_clock_ns", sum.with_clock, c->task_clock_ns, COST_BY_CLOCK);
    for (size_t i = 0; i < countof(usage); i++)
        counter_object(j, r, &sum, usage[i].name, sum.with_rusage, usage[i].value, COST_BY_RUSAGE);
    close_object(j);
    open_object(j, "self");
    if (sum.with_segments > 0)
        put_number(j, "metadata_bytes", sum.segment_bytes);
    else
        put_null(j, "metadata_bytes");
    json_leak_cost(j, &sum.leaks);
    own_cost_object(j, r, &sum);
    blocks_object(j, &r->own_cost);
    close_object(j);
    json_measured(j, &r->measured);
    close_object(j);
}

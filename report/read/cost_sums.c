/*
 * cost_sums.c - sums of the cost records of all images; own_cost.c has their meaning.
 */
#include "read_priv.h"

static double signed_ticks(uint64_t ticks)
{
    return ticks < 1ull << 63 ? (double)ticks : 0; /* slightly below 0: count as 0 */
}

/* Return the ratio of actual to estimated operations, to scale an estimate with. */
static double factor(const struct cost_record *c, uint64_t operations, uint64_t calls)
{
    return operations > 0 && calls > 0 && !c->stopped ? (double)calls / (double)operations : 1;
}

/* Return the ticks of all operations. */
static double add_whole(struct own_cost *sum, const struct cost_record *c, const uint64_t *calls)
{
    double ticks = 0;

    for (uint32_t i = 0; i < COST_OPERATION_COUNT; i++) {
        const struct cost_done *whole = &c->whole[i];
        double more = factor(c, whole->operations, calls[i]);
        double faults = factor(c, whole->operations / 2 + c->work[i].operations / 2,
                               calls[i]); /* from samples of both kinds */
        sum->work[i].timed += whole->timed;
        sum->work[i].operations += (uint64_t)((double)whole->operations * more + 0.5);
        sum->work[i].faults += (uint64_t)((double)whole->faults * faults + 0.5);
        ticks += signed_ticks(whole->ticks) * more;
    }
    return ticks;
}

static double sum_ticks(const struct cost_done *done, uint32_t count)
{
    double sum = 0;

    while (count-- > 0)
        sum += signed_ticks(done[count].ticks);
    return sum;
}

void own_cost_add(struct own_cost *sum, const struct cost_record *c,
                  const uint64_t calls[COST_OPERATION_COUNT])
{
    double ns_per_tick = c->rate ? (double)(1 << 20) / (double)c->rate : 0, estimate, whole, pieces;

    if (c->every == 0)
        return;
    sum->images++;
    sum->every = c->every;
    sum->stopped += c->stopped != 0;
    sum->disturbed += c->disturbed;
    sum->ns_per_tick = c->rate ? ns_per_tick : sum->ns_per_tick;
    whole = add_whole(sum, c, calls);
    estimate = sum_ticks(c->whole, COST_OPERATION_COUNT);
    pieces = sum_ticks(c->work, COST_WORK_COUNT);
    sum->kernel_ns += estimate > 0 ? (double)c->kernel_ticks * ns_per_tick * whole / estimate : 0;
    for (uint32_t i = 0; i < COST_WORK_COUNT; i++) {
        double part = pieces > 0 ? signed_ticks(c->work[i].ticks) / pieces : 0;
        sum->work[i].ns += whole * ns_per_tick * part + (double)c->work[i].ns;
        sum->work[i].faults += i < COST_OPERATION_COUNT ? 0 : c->work[i].faults; /* exact */
    }
    for (uint32_t i = 0; i < COST_TIMES; i++) {
        sum->alloc_times[i] += c->alloc_times[i];
        sum->free_times[i] += c->free_times[i];
    }
}

void own_cost_add_blocks(struct own_cost *sum, uint64_t blocks, uint32_t record_bytes,
                         uint64_t around_bytes)
{
    sum->blocks += blocks;
    sum->record_bytes += blocks * record_bytes;
    sum->around_bytes += around_bytes;
}

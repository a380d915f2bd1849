/*
 * reading.c - scaling of multiplexed counters.
 *
 * The kernel counts an event while its group is on the PMU (running), and reports for how long it
 * was enabled.  If other groups used the PMU part of the time, the count is scaled to the whole
 * time.  If they used it all the time, the count is unknown.
 *
 * Such estimates are not monotonic: 100 counted in 10 of the first 100 ns are 1000, and 110 in 100
 * of 200 ns are 220.  So a reading is not a number but a window between two moments of a counter.
 * Two readings are subtracted before scaling: between those moments the counter counted 10 in 90 of
 * 100 ns, which are 11.  A sample is the window since the counter's start.  Adjacent windows are
 * joined:
 *
 *     start ------ before ------ after          after - before = before..after
 *       [0 ....... before]                      before + (after - before) = 0..after
 *       [0 ..................... after]
 *
 * If windows are not adjacent (other starts, or the same window added twice), their scaled values
 * are summed in .settled.
 */
#include "counters_priv.h"

static uint64_t scale(uint64_t n, uint64_t enabled, uint64_t running)
{
    return (uint64_t)((unsigned __int128)n * enabled / running);
}

static struct counts between(const struct counts *from, const struct counts *to)
{
    return (struct counts){to->value - from->value, to->enabled - from->enabled,
                           to->running - from->running};
}

static struct counts sum(const struct counts *a, const struct counts *b)
{
    return (struct counts){a->value + b->value, a->enabled + b->enabled, a->running + b->running};
}

static bool are_equal(const struct counts *a, const struct counts *b)
{
    return a->value == b->value && a->enabled == b->enabled && a->running == b->running;
}

/* ---- windows --------------------------------------------------------------------------------- */

static struct window reversed(const struct window *w)
{
    return (struct window){w->start, .first = w->last, .last = w->first};
}

/* Is its end before its start?  A counter's enabled time never decreases. */
static bool is_backwards(const struct window *w)
{
    return w->last.enabled < w->first.enabled;
}

static bool never_ran(const struct window *w)
{
    return w->first.enabled != w->last.enabled && w->first.running == w->last.running;
}

static bool is_scaled(const struct window *w)
{
    struct counts c = between(&w->first, &w->last);
    return c.running != c.enabled;
}

/* The scaled difference of a window in which the event ran. */
static struct counts whole(const struct window *w)
{
    struct window forwards = is_backwards(w) ? reversed(w) : *w;
    struct counts c = between(&forwards.first, &forwards.last);
    if (c.running != c.enabled)
        c.value = scale(c.value, c.enabled, c.running);
    return is_backwards(w) ? (struct counts){-c.value, -c.enabled, -c.running} : c;
}

/* Return false if the windows are not adjacent. */
static bool join(const struct window *a, const struct window *b, struct window *out)
{
    if (a->start && b->start && a->start != b->start)
        return false;
    if (!a->start || !b->start)
        *out = a->start ? *a : *b;
    else if (are_equal(&a->last, &b->first))
        *out = (struct window){a->start, a->first, b->last};
    else if (are_equal(&b->last, &a->first))
        *out = (struct window){a->start, b->first, a->last};
    else
        return false;
    return true;
}

/* ---- readings -------------------------------------------------------------------------------- */

struct reading reading_known(struct reading r)
{
    r.known = !never_ran(&r.window);
    r.why = WHY_NEVER_RAN;
    return r;
}

bool reading_is_scaled(const struct reading *r)
{
    return r->known && (r->estimated || is_scaled(&r->window));
}

struct counts reading_whole(const struct reading *r)
{
    struct counts c = r->known ? whole(&r->window) : between(&r->window.first, &r->window.last);
    c = sum(&c, &r->settled);
    if (!r->known)
        c.value = 0;
    return c;
}

static void settle(struct reading *r)
{
    r->estimated = reading_is_scaled(r);
    r->settled = reading_whole(r);
    r->window = (struct window){0};
}

static struct reading negative(const struct reading *r)
{
    struct reading out = *r;
    out.settled = (struct counts){-r->settled.value, -r->settled.enabled, -r->settled.running};
    out.window = reversed(&r->window);
    return out;
}

static struct reading added(struct reading l, struct reading r)
{
    struct window met;
    struct reading out = {.source = l.source ? l.source : r.source, .why = WHY_OPERAND};
    if (!l.known || !r.known)
        return out;
    if (join(&l.window, &r.window, &met))
        out.window = met;
    else {
        settle(&l);
        settle(&r);
    }
    out.settled = sum(&l.settled, &r.settled);
    out.estimated = l.estimated || r.estimated;
    return reading_known(out);
}

struct reading reading_sum(const struct reading *l, const struct reading *r)
{
    return added(*l, *r);
}

struct reading reading_difference(const struct reading *l, const struct reading *r)
{
    return added(*l, negative(r));
}

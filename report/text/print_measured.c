/*
 * print_measured.c - the results of --measure: costs of the run with the runtime and without it.
 */
#include "text.h"

static const struct {
    const char *name, *key;
    enum { SECONDS, BYTES, TIMES } unit;
} whats[] = {
    [MEASURED_WALL] = {"wall", "wall_ns", SECONDS},
    [MEASURED_CPU] = {"cpu", "cpu_ns", SECONDS},
    [MEASURED_RSS] = {"max rss", "max_rss_bytes", BYTES},
    [MEASURED_FAULTS] = {"faults", "faults", TIMES},
};
static_assert(countof(whats) == MEASURED_COUNT, "a name for each");

void report_set_measured(struct report *r, const struct measured *m)
{
    r->measured = *m;
    r->is_of_launcher = true;
}

static void value_put(unsigned what, double value, FILE *out)
{
    if (whats[what].unit == SECONDS)
        fprintf(out, "%.3f s", value);
    else if (whats[what].unit == BYTES)
        fputs(size_text((uint64_t)value).text, out);
    else
        fprintf(out, "%.0f", value);
}

static void line_put(unsigned what, const struct measured_value *v, bool has_bounds, FILE *out)
{
    fprintf(out, "%*s%-8s ", COST_COLUMN, "", whats[what].name);
    value_put(what, v->with, out);
    fputs(", without ", out);
    value_put(what, v->without, out);
    fprintf(out, ": x%.2f", v->ratio);
    if (has_bounds)
        fprintf(out, " [%.2f, %.2f]", v->low, v->high);
    fputs("; least ", out);
    value_put(what, v->least_with, out);
    fputs(", ", out);
    value_put(what, v->least_without, out);
    fputc('\n', out);
}

void measured_print(const struct measured *m, const struct page *page)
{
    if (m->pairs == 0)
        return;
    set_colour(page, COLOUR_HEADING);
    fputs("MEASURED", page->out);
    set_colour(page, COLOUR_NONE);
    bool has_bounds = m->sure > 0;
    fprintf(page->out, "%*s%u %s with the runtime and without", COST_COLUMN - 8, "", m->pairs,
            m->pairs == 1 ? "pair of runs" : "pairs of runs");
    if (has_bounds)
        fprintf(page->out, ", medians; between [..] a ratio's median lies for %.1f %% sure",
                m->sure * 100);
    fputs(has_bounds ? "\n" : ", of which nothing is sure\n", page->out);
    for (unsigned i = 0; i < MEASURED_COUNT; i++)
        line_put(i, &m->of[i], has_bounds, page->out);
    if (m->otherwise + m->otherwise_without > 0)
        fprintf(page->out,
                "%*sof these runs %u with the runtime and %u without ended otherwise than the one "
                "above\n",
                COST_COLUMN, "", m->otherwise, m->otherwise_without);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static uint64_t whole(unsigned what, double value)
{
    return (uint64_t)(value * (whats[what].unit == SECONDS ? 1e9 : 1) + 0.5);
}

void json_measured(struct json *j, const struct measured *m)
{
    if (m->pairs == 0)
        return;
    open_object(j, "measured");
    put_number(j, "pairs", m->pairs);
    put_real(j, "sure", m->sure);
    put_number(j, "ended_otherwise", m->otherwise);
    put_number(j, "ended_otherwise_without", m->otherwise_without);
    for (unsigned i = 0; i < MEASURED_COUNT; i++) {
        const struct measured_value *v = &m->of[i];
        open_object(j, whats[i].key);
        put_number(j, "with", whole(i, v->with));
        put_number(j, "without", whole(i, v->without));
        put_number(j, "least_with", whole(i, v->least_with));
        put_number(j, "least_without", whole(i, v->least_without));
        put_real(j, "ratio", v->ratio);
        put_real(j, "low", v->low);
        put_real(j, "high", v->high);
        close_object(j);
    }
    close_object(j);
}

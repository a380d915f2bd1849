/*
 * track_rows.c - the text of --interval: a column for each event, a row for each fork, exec, exit
 * and tick.
 *
 * Numbers are exact.  "~" precedes an estimate: the value of an event that shared its hardware
 * counter, or a sum with such a part.  "n/a" marks an unknown value.  If the kernel's part of
 * an event may not be counted, ":u" is appended to its name, as in a request for user mode.
 */
#include <string.h>

#include "interval_priv.h"

#define VALUE_COLUMNS 14

static const char *modes_of(const struct counter *c)
{
    return c->user_alone ? ":u" : "";
}

static int column_of(const struct counter *c)
{
    int n = (int)(strlen(c->name) + strlen(modes_of(c)));
    return n > VALUE_COLUMNS ? n : VALUE_COLUMNS;
}

void heading_put(const struct counters *counters, FILE *out)
{
    fprintf(out, "%9s %7s %7s  %-8s", "time", "pid", "tid", "event");
    for (unsigned i = 0; i < counters->count; i++) {
        const struct counter *c = &counters->at[i];
        fprintf(out, " %*s%s", column_of(c) - (int)strlen(modes_of(c)), c->name, modes_of(c));
    }
    fputc('\n', out);
}

void row_put(const struct counters *counters, const struct row *row, FILE *out)
{
    char text[24] = "-";
    if (row->tid)
        snprintf(text, sizeof text, "%u", row->tid);
    fprintf(out, "%9.3f %7u %7s  %-8s", (double)row->time_ns / 1e9, row->pid, text, row->event);
    for (unsigned i = 0; i < counters->count; i++) {
        const struct value *v = &row->values[i];
        snprintf(text, sizeof text, v->known ? "%s%llu" : "n/a", v->scaled ? "~" : "",
                 (unsigned long long)v->value);
        fprintf(out, " %*s", column_of(&counters->at[i]), text);
    }
    fputc('\n', out);
}

void value_add(struct value *sum, const struct value *part)
{
    sum->known &= part->known;
    sum->scaled |= part->scaled;
    sum->value += part->value;
}

void note_clocks(const struct counters *counters, struct warnings *warnings)
{
    char names[80] = "";
    unsigned n = 0;
    for (unsigned i = 0; i < counters->count; i++) {
        size_t used = strlen(names);
        if (counter_is_by_clock(&counters->at[i]))
            snprintf(names + used, sizeof names - used, "%s%s", n++ ? "," : "",
                     counters->at[i].name);
    }
    if (n > 0)
        warnings_add(warnings,
                     "--interval: n/a in all rows: %s: a clock measures the whole run only", names);
}

/*
 * print_counters.c - the results of --counters: each number with its source, or why it is missing.
 */
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define NAME_COLUMN 16
#define NAME_BYTES 24

void report_set_counters(struct report *r, const struct counter_row *rows, uint32_t count)
{
    r->counters = xalloc(calloc((size_t)count + 1, sizeof *rows));
    if (count > 0)
        memcpy(r->counters, rows, count * sizeof *rows);
    r->counter_count = count;
}

static void row_put(const struct counter_row *row, FILE *out)
{
    const struct counter_reading *c = &row->reading;

    text_put(out, row->name);
    fprintf(out, "%*s", strlen(row->name) < NAME_BYTES ? (int)(NAME_BYTES - strlen(row->name)) : 1,
            "");
    if (!c->known) {
        text_put(out, row->why);
        fputc('\n', out);
        return;
    }
    fprintf(out, "%14llu%s  ", (unsigned long long)c->value, row->is_time ? " ns" : "   ");
    text_put(out, row->source);
    if (row->user_alone)
        fputs(", user mode alone", out);
    if (c->scaled)
        fprintf(out, ", an estimate: counted for %.1f %% of the time",
                100 * (double)c->running_ns / (double)c->enabled_ns);
    fputc('\n', out);
}

void report_print_counters(const struct counter_row *rows, uint32_t count, FILE *out)
{
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "%-*s", NAME_COLUMN, i == 0 ? "COUNTERS" : "");
        row_put(&rows[i], out);
    }
}

void counters_print(const struct report *r, const struct page *page)
{
    if (!page->how->deterministic)
        report_print_counters(r->counters, r->counter_count, page->out);
}

void json_counters(struct json *j, const struct report *r)
{
    if (r->counter_count == 0)
        return;
    open_array(j, "counters");
    for (uint32_t i = 0; i < r->counter_count; i++) {
        const struct counter_row *row = &r->counters[i];
        open_object(j, NULL);
        put_text(j, "name", row->name);
        if (row->reading.known)
            put_number(j, "value", row->reading.value);
        else
            put_null(j, "value");
        put_text(j, row->reading.known ? "source" : "why",
                 row->reading.known ? row->source : row->why);
        put_flag(j, "user_alone", row->user_alone);
        put_flag(j, "scaled", row->reading.scaled);
        put_number(j, "enabled_ns", row->reading.enabled_ns);
        put_number(j, "running_ns", row->reading.running_ns);
        close_object(j);
    }
    close_array(j);
}

/*
 * launcher_record.c - the launcher's own data about a run in the run file: results of --counters
 * and --measure.
 *
 * It is written when the run is over, after the tables of area 0, in otherwise unused space; the
 * run's header has its offset. So a report from the file contains the same data as the launcher's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read_priv.h"

/* ---- writing --------------------------------------------------------------------------------- */

static uint32_t flags_of(const struct counter_row *row)
{
    return (row->reading.known ? LAUNCHER_KNOWN : 0) | (row->reading.scaled ? LAUNCHER_SCALED : 0) |
           (row->is_time ? LAUNCHER_TIME : 0) | (row->user_alone ? LAUNCHER_USER_ONLY : 0) |
           (row->is_cycles ? LAUNCHER_CYCLES : 0);
}

static void counter_put(struct launcher_counter *to, const struct counter_row *row)
{
    to->value = row->reading.value;
    to->enabled_ns = row->reading.enabled_ns;
    to->running_ns = row->reading.running_ns;
    to->flags = flags_of(row);
    snprintf(to->name, sizeof to->name, "%s", row->name);
    snprintf(to->text, sizeof to->text, "%s", row->reading.known ? row->source : row->why);
}

int report_write_launcher_record(const struct report *r, int fd)
{
    uint64_t at = align_up(run_tables_end(r->view.run), RTC_AREA_HEAD_BYTES);
    struct launcher_record *launcher;
    int err;

    if (!range_inside(at, sizeof *launcher, r->view.run->area_bytes))
        return -ENOSPC;
    launcher = xalloc(calloc(1, sizeof *launcher));
    launcher->measured = r->measured;
    for (; launcher->counters < r->counter_count && launcher->counters < LAUNCHER_COUNTERS_MAX;
         launcher->counters++)
        counter_put(&launcher->counter[launcher->counters], &r->counters[launcher->counters]);
    err = write_at(fd, launcher, sizeof *launcher, at);
    if (!err)
        err = write_at(fd, &at, sizeof at, offsetof(struct run_header, launcher_offset));
    free(launcher);
    return err;
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct counter_row row_of(const struct launcher_counter *c)
{
    bool known = c->flags & LAUNCHER_KNOWN;

    return (struct counter_row){
        .name = c->name,
        .source = known ? c->text : NULL,
        .why = known ? NULL : c->text,
        .is_time = c->flags & LAUNCHER_TIME,
        .user_alone = c->flags & LAUNCHER_USER_ONLY,
        .is_cycles = c->flags & LAUNCHER_CYCLES,
        .reading = {known, c->flags & LAUNCHER_SCALED, c->value, c->enabled_ns, c->running_ns},
    };
}

/* Return the record. NULL: there is none, or it is bad and *wrong has the reason. */
static struct launcher_record *launcher_record_get(const struct view *v, struct verify_error *wrong)
{
    struct launcher_record *launcher = xalloc(calloc(1, sizeof *launcher));

    *wrong = (struct verify_error){0};
    if (v->run->launcher_offset != 0 &&
        view_read(v, v->run->launcher_offset, launcher, sizeof *launcher))
        *wrong = (struct verify_error){"what the launcher recorded cannot be read",
                                       v->run->launcher_offset};
    else if (v->run->launcher_offset != 0 &&
             verify_launcher(launcher, v->run->launcher_offset, wrong))
        return launcher;
    free(launcher);
    return NULL;
}

void launcher_record_read(struct report *r)
{
    struct verify_error wrong;

    if (r->is_of_launcher || r->launcher)
        return;
    r->launcher = launcher_record_get(&r->view, &wrong);
    r->launcher_error = wrong.what;
    if (!r->launcher)
        return;
    r->measured = r->launcher->measured;
    r->counter_count = r->launcher->counters;
    r->counters = xalloc(calloc((size_t)r->counter_count + 1, sizeof *r->counters));
    for (uint32_t i = 0; i < r->counter_count; i++)
        r->counters[i] = row_of(&r->launcher->counter[i]);
}

/* ---- as it is -------------------------------------------------------------------------------- */

static void measured_dump(const struct measured *m, FILE *out)
{
    fprintf(out, " told measured pairs=%u otherwise=%u,%u sure=%g\n", m->pairs, m->otherwise,
            m->otherwise_without, m->sure);
    for (unsigned i = 0; i < MEASURED_COUNT; i++) {
        const struct measured_value *v = &m->of[i];
        fprintf(out, "  #%u with=%g without=%g ratio=%g low=%g high=%g least=%g,%g\n", i, v->with,
                v->without, v->ratio, v->low, v->high, v->least_with, v->least_without);
    }
}

void launcher_record_dump(const struct view *v, FILE *out, struct verify_error *wrong)
{
    struct launcher_record *launcher = launcher_record_get(v, wrong);

    for (uint32_t i = 0; launcher && i < launcher->counters; i++) {
        const struct launcher_counter *c = &launcher->counter[i];
        fputs(" told counter ", out);
        text_put(out, c->name);
        fprintf(out, " flags=0x%x value=%llu enabled_ns=%llu running_ns=%llu ", c->flags,
                (unsigned long long)c->value, (unsigned long long)c->enabled_ns,
                (unsigned long long)c->running_ns);
        text_put(out, c->text);
        fputc('\n', out);
    }
    if (launcher && launcher->measured.pairs > 0)
        measured_dump(&launcher->measured, out);
    free(launcher);
}

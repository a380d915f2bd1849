/*
 * told.c - what the launcher alone knows of a run, in its file: what came of --counters and --measure.
 *
 * It is written when the run is over, behind the tables of area 0, which nobody else uses; the
 * run's header says where.  Whoever reads the file then tells the same as the launcher did.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "words_priv.h"

/* ---- writing --------------------------------------------------------------------------------- */

static uint32_t flags_of(const struct counter_row *row)
{
    return (row->reading.known ? TOLD_KNOWN : 0) | (row->reading.scaled ? TOLD_SCALED : 0) |
           (row->is_time ? TOLD_TIME : 0) | (row->user_alone ? TOLD_USER_ALONE : 0) | (row->is_cycles ? TOLD_CYCLES : 0);
}

static void counter_put(struct told_counter *to, const struct counter_row *row)
{
    to->value = row->reading.value;
    to->enabled_ns = row->reading.enabled_ns;
    to->running_ns = row->reading.running_ns;
    to->flags = flags_of(row);
    snprintf(to->name, sizeof to->name, "%s", row->name);
    snprintf(to->words, sizeof to->words, "%s", row->reading.known ? row->source : row->why);
}

static int write_at(int fd, const void *from, size_t bytes, uint64_t offset)
{
    ssize_t n = pwrite(fd, from, bytes, (off_t)offset);
    return n < 0 ? -errno : (size_t)n == bytes ? 0 : -EIO;
}

int report_tell(const struct report *r, int fd)
{
    uint64_t at = align_up(run_tables_end(r->view.run), RTC_AREA_HEAD_BYTES);
    struct told_record *told;
    int err;

    if (!range_inside(at, sizeof *told, r->view.run->area_bytes))
        return -ENOSPC;
    told = must_have(calloc(1, sizeof *told));
    told->measured = r->measured;
    for (; told->counters < r->counter_count && told->counters < TOLD_COUNTERS_MAX; told->counters++)
        counter_put(&told->counter[told->counters], &r->counters[told->counters]);
    err = write_at(fd, told, sizeof *told, at);
    if (!err)
        err = write_at(fd, &at, sizeof at, offsetof(struct run_header, told_offset));
    free(told);
    return err;
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct counter_row row_of(const struct told_counter *c)
{
    bool known = c->flags & TOLD_KNOWN;

    return (struct counter_row){
        .name = c->name,
        .source = known ? c->words : NULL,
        .why = known ? NULL : c->words,
        .is_time = c->flags & TOLD_TIME,
        .user_alone = c->flags & TOLD_USER_ALONE,
        .is_cycles = c->flags & TOLD_CYCLES,
        .reading = {known, c->flags & TOLD_SCALED, c->value, c->enabled_ns, c->running_ns},
    };
}

/* NULL: there is nothing good; *wrong says whether it is bad. */
static struct told_record *told_get(const struct view *v, struct verify_error *wrong)
{
    struct told_record *told = must_have(calloc(1, sizeof *told));

    *wrong = (struct verify_error){0};
    if (v->run->told_offset != 0 && view_read(v, v->run->told_offset, told, sizeof *told))
        *wrong = (struct verify_error){"what the launcher told cannot be read", v->run->told_offset};
    else if (v->run->told_offset != 0 && verify_told(told, v->run->told_offset, wrong))
        return told;
    free(told);
    return NULL;
}

void told_read(struct report *r)
{
    struct verify_error wrong;

    if (r->is_of_launcher || r->told)
        return;
    r->told = told_get(&r->view, &wrong);
    r->told_wrong = wrong.what;
    if (!r->told)
        return;
    r->measured = r->told->measured;
    r->counter_count = r->told->counters;
    r->counters = must_have(calloc((size_t)r->counter_count + 1, sizeof *r->counters));
    for (uint32_t i = 0; i < r->counter_count; i++)
        r->counters[i] = row_of(&r->told->counter[i]);
}

/* ---- as it is -------------------------------------------------------------------------------- */

static void measured_dump(const struct measured *m, FILE *out)
{
    fprintf(out, " told measured pairs=%u otherwise=%u,%u sure=%g\n", m->pairs, m->otherwise, m->otherwise_without, m->sure);
    for (unsigned i = 0; i < MEASURED_COUNT; i++) {
        const struct measured_value *v = &m->of[i];
        fprintf(out, "  #%u with=%g without=%g ratio=%g low=%g high=%g least=%g,%g\n", i, v->with, v->without, v->ratio,
                v->low, v->high, v->least_with, v->least_without);
    }
}

void told_dump(const struct view *v, FILE *out, struct verify_error *wrong)
{
    struct told_record *told = told_get(v, wrong);

    for (uint32_t i = 0; told && i < told->counters; i++) {
        const struct told_counter *c = &told->counter[i];
        fputs(" told counter ", out);
        text_put(out, c->name);
        fprintf(out, " flags=0x%x value=%llu enabled_ns=%llu running_ns=%llu ", c->flags, (unsigned long long)c->value,
                (unsigned long long)c->enabled_ns, (unsigned long long)c->running_ns);
        text_put(out, c->words);
        fputc('\n', out);
    }
    if (told && told->measured.pairs > 0)
        measured_dump(&told->measured, out);
    free(told);
}

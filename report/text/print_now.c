/*
 * print_now.c - current values of running processes (`rtcheck stat`): one row per process and
 * sample, as a table or as JSON lines.
 *
 * A process that has ended has one more row, with its last values and how it ended. The time of a
 * row is that of its values. Values of an image that absorb.c has removed from the file come from
 * the previous sample, when the image was running. It is then unknown how the image ended.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "now.h"
#include "text.h"

/* State of an image's rows before the current one. */
struct rows {
    struct now last; /* .known: there was a row */
    bool is_over;    /* the last row was printed */
};

/* ---- rates ----------------------------------------------------------------------------------- */

/* Calls per second since the previous row, or since the start of the image. */
struct rates {
    uint64_t allocs, frees;
};

static uint64_t per_second(uint64_t now, uint64_t before, double seconds)
{
    return seconds > 0 && now > before ? (uint64_t)((double)(now - before) / seconds + 0.5) : 0;
}

static struct rates rates_of(const struct image *image, const struct now *now)
{
    const struct now *last = &image->rows->last;
    uint64_t from = last->known ? last->time_ns : image->start_ns;
    double seconds = now->time_ns > from ? (double)(now->time_ns - from) / 1e9 : 0;

    return (struct rates){per_second(now->allocs, last->allocs, seconds),
                          per_second(now->frees, last->frees, seconds)};
}

/* ---- as a table ------------------------------------------------------------------------------ */

void report_stat_heading(FILE *out)
{
    fprintf(out, "%10s %7s %-6s %10s %10s %10s %10s %10s %10s %10s %10s %7s %6s %10s %6s  %s\n",
            "seconds", "pid", "event", "blocks", "bytes", "alloc/s", "free/s", "peak", "heap",
            "records", "quarantine", "threads", "maps", "mapped", "errors", "program");
}

static void size_column(FILE *out, bool is_known, uint64_t bytes)
{
    fprintf(out, " %10s", is_known ? size_text(bytes).text : "n/a");
}

/* A leading "~" marks a number that is not a consistent snapshot. */
static void blocks_column(FILE *out, const struct now *now)
{
    char text[32];

    snprintf(text, sizeof text, "%s%llu", now->is_moment ? "" : "~",
             (unsigned long long)now->blocks);
    fprintf(out, " %10s", now->use_known ? text : "n/a");
}

static double seconds_of(const struct report *r, const struct now *now)
{
    uint64_t start = r->view.run->start_ns;
    return now->time_ns > start ? (double)(now->time_ns - start) / 1e9 : 0;
}

#define INCOMPLETE " (the run file is full: some of it is missing)\n"

static void row_put(const struct report *r, const struct image *image, const struct now *now,
                    const char *event, FILE *out)
{
    struct rates rates = rates_of(image, now);

    fprintf(out, "%10.3f %7u %-6s", seconds_of(r, now), image->pid, event);
    blocks_column(out, now);
    size_column(out, now->use_known, now->bytes);
    fprintf(out, " %10llu %10llu", (unsigned long long)rates.allocs,
            (unsigned long long)rates.frees);
    size_column(out, true, now->peak_bytes);
    size_column(out, true, now->heap_bytes);
    size_column(out, true, now->shadow_bytes);
    size_column(out, true, now->quarantine_bytes);
    fprintf(out, " %7u %6llu", now->threads, (unsigned long long)now->maps);
    size_column(out, true, now->mapped_bytes);
    fprintf(out, " %6llu  ", (unsigned long long)now->errors);
    text_put(out, program_name(image));
    fputs(now->is_damaged   ? " (damaged: some of it is missing)\n"
          : now->is_partial ? INCOMPLETE
                            : "\n",
          out);
}

/* ---- as objects ------------------------------------------------------------------------------ */

static void values_json(struct json *j, const struct now *now)
{
    put_flag(j, "one_moment", now->is_moment);
    put_flag(j, "damaged", now->is_damaged);
    put_flag(j, "incomplete", now->is_partial);
    put_known(j, "blocks_live", now->use_known, now->blocks);
    put_known(j, "bytes_live", now->use_known, now->bytes);
    put_number(j, "bytes_peak", now->peak_bytes);
    put_number(j, "alloc_calls", now->allocs);
    put_number(j, "free_calls", now->frees);
    put_number(j, "alloc_bytes", now->alloc_bytes);
    put_number(j, "free_bytes", now->free_bytes);
    put_number(j, "realloc_calls", now->reallocs);
    put_number(j, "heap_bytes", now->heap_bytes);
    put_number(j, "shadow_bytes", now->shadow_bytes);
    put_known(j, "meta_overhead_pct", now->use_known && now->bytes > 0,
              now->bytes ? 100 * now->shadow_bytes / now->bytes : 0);
    put_number(j, "pool_size", now->pool_bytes);
    put_number(j, "pool_used", now->pool_used);
    put_number(j, "quarantine_blocks", now->quarantine_blocks);
    put_number(j, "quarantine_bytes", now->quarantine_bytes);
    put_number(j, "threads_live", now->threads);
    put_number(j, "maps_live", now->maps);
    put_number(j, "mapped_bytes", now->mapped_bytes);
    put_number(j, "errors", now->errors);
    put_number(j, "err_baf", now->baf);
    put_number(j, "err_duf", now->duf);
    put_number(j, "err_maf", now->maf);
    put_number(j, "err_oom", now->oom);
    put_number(j, "dropped", now->dropped);
    put_number(j, "scan_count", now->leak_checks);
}

static void object_put(const struct image *image, const struct now *now, const char *event,
                       FILE *out)
{
    struct rates rates = rates_of(image, now);
    struct json j = {
        .out = out, .depth = 3, .is_first = true}; /* at this depth all is written on one line */

    open_object(&j, NULL);
    put_time(&j, "time", now->time_ns);
    put_number(&j, "pid", image->pid);
    put_number(&j, "image", image->number);
    put_text(&j, "program", program_name(image));
    put_text(&j, "event", event);
    values_json(&j, now);
    put_number(&j, "allocs_per_second", rates.allocs);
    put_number(&j, "frees_per_second", rates.frees);
    close_object(&j);
    fputc('\n', out);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/*
 * Is it process `pid` or a descendant of it? The parent's image may be gone, by exec or because it
 * was removed from the file. Its number is still known.
 */
static bool comes_from(const struct report *r, const struct image *image, uint32_t pid)
{
    while (image && image->pid != pid && image->ppid != pid)
        image = image_likely_parent(r, image); /* image numbers decrease, so the loop ends */
    return image != NULL;
}

/* Has the process ended or replaced this image? false: it runs. */
static bool has_ended(const struct report *r, const struct image *image)
{
    return image_has_exec_successor(image) || !image_seems_alive(r, image);
}

/* The event of the last row. */
static const char *end_event(const struct report *r, const struct image *image,
                             const struct now *now)
{
    if (image_has_exec_successor(image) || now->has_left)
        return "exec";
    return now->is_end_known ? end_name(r, image) : "gone";
}

/* Print the row of an image. Returns whether it is the last one. */
static bool image_put(struct report *r, struct image *image, bool ended,
                      const struct stat_options *how, FILE *out)
{
    struct now now;
    bool known = now_read(r, image, &now), is_end_known = now.is_end_known;

    /* the image was removed: use the values of the previous sample */
    if (!known && image->rows->last.known)
        now = image->rows->last;
    now.is_end_known = is_end_known;
    /* a value reported late by a thread was already part of the peak */
    if (now.peak_bytes < image->rows->last.peak_bytes)
        now.peak_bytes = image->rows->last.peak_bytes;
    ended |= known && now.has_left;
    image->rows->is_over = ended;
    if (!now.known || (!known && !ended))
        return ended;
    const char *event = ended ? end_event(r, image, &now) : "tick";
    if (how->json)
        object_put(image, &now, event, out);
    else
        row_put(r, image, &now, event, out);
    image->rows->last = now;
    return ended;
}

struct stat_sum report_stat(struct report *r, const struct stat_options *how, FILE *out)
{
    struct stat_sum sum = {0};

    /* other errors mean damage: continue with what was read before */
    sum.is_cut = images_refresh(r) == -ESTALE;
    if (sum.is_cut)
        return sum;
    for (struct image *image = r->images; image; image = image->hh.next) {
        if (!image->rows && how->pid != 0 && !comes_from(r, image, how->pid))
            continue;
        if (!image->rows) /* its ancestors may disappear from now on */
            image->rows = xalloc(calloc(1, sizeof *image->rows));
        if (image->rows->is_over)
            continue;
        bool ended = image_put(r, image, has_ended(r, image), how, out);
        sum.running += !ended;
        sum.seen++;
    }
    return sum;
}

uint64_t report_stat_unseen(const struct report *r)
{
    uint64_t taken = atomic_load_explicit(&r->view.run->reclaimed.images, memory_order_relaxed),
             seen = 0;

    for (const struct image *image = r->images; image; image = image->hh.next)
        seen += image->rows && image->rows->last.known && !image_has_area(r, image);
    return taken > seen ? taken - seen : 0;
}

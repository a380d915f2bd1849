/*
 * print_json.c - the report as JSON: rtcheck-report/1, report.schema.json, json.md.
 *
 * The report is written to a temporary file beside `path` and renamed at the end, so a reader finds
 * either a whole report or none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats_priv.h"
#include "print_json_priv.h"
#include "unchecked.h"

#ifndef RTC_VERSION
#define RTC_VERSION "unknown"
#endif

/* ---- run and processes ----------------------------------------------------------------------- */

static void print_tool(struct json *j, const struct report *r)
{
    const struct run_header *run = r->view.run;
    char version[32];

    open_object(j, "tool");
    put_text(j, "name", "rtcheck");
    put_text(j, "version", RTC_VERSION);
    snprintf(version, sizeof version, "%u.%u", run->version_major, run->version_minor);
    put_text(j, "run_file_version", version);
    put_text(j, "mode", run->mode == RUN_BY_LAUNCHER ? "launcher" : "by_hand");
    close_object(j);
}

static uint64_t last_end(const struct report *r)
{
    uint64_t last = 0;
    for (const struct image *image = r->images; image; image = image->hh.next)
        if (image->end_ns > last)
            last = image->end_ns;
    return last;
}

/* Is the report free of gaps: nothing incomplete, refused, unchecked or still running? */
static bool is_complete(const struct report *r)
{
    if (report_is_incomplete(r, true) || totals_elsewhere(r).processes > 0)
        return false;
    for (const struct image *image = r->images; image; image = image->hh.next)
        if (!image_is_checked(image) || (image->flags & IMAGE_METADATA_PRIVATE) ||
            image->unchecked_children > 0 || strcmp(end_name(r, image), "running") == 0)
            return false;
    return r->images != NULL;
}

static void print_unchecked(struct json *j, const struct report *r)
{
    struct unchecked_programs all = unchecked_programs(r);

    open_array(j, "unchecked");
    for (uint32_t i = 0; i < all.count; i++) {
        open_object(j, NULL);
        put_text(j, "path", all.at[i].path);
        put_text(j, "reason", unchecked_code(all.at[i].reason));
        put_flag(j, "interpreter", all.at[i].by_interpreter);
        put_number(j, "count", all.at[i].count);
        close_object(j);
    }
    close_array(j);
}

static void print_run(struct json *j, const struct report *r)
{
    const struct run_header *run = r->view.run;
    uint64_t end = last_end(r);
    struct totals gone = totals_elsewhere(r);
    char *incomplete = report_incomplete(r, true);

    open_object(j, "run");
    put_text(j, "host", run->host);
    put_time(j, "start", run->start_ns);
    if (end >= run->start_ns)
        put_number(j, "duration_ns", end - run->start_ns);
    put_flag(j, "complete", is_complete(r));
    if (incomplete)
        put_text(j, "incomplete", incomplete);
    free(incomplete);
    put_text(j, "options", run->options);
    put_number(j, "unrecorded_processes", run->unrecorded_images);
    open_object(j, "taken_back");
    put_number(j, "images", gone.processes);
    put_number(j, "allocs", gone.allocs);
    put_number(j, "frees", gone.frees);
    put_number(j, "blocks", gone.blocks);
    put_number(j, "bytes", gone.bytes);
    close_object(j);
    open_array(j, "damaged");
    for (uint32_t i = 0; i < r->bad_count; i++) {
        open_object(j, NULL);
        put_number(j, "area", r->bad[i].area);
        put_number(j, "process", r->bad[i].image);
        put_text(j, "what", r->bad[i].what);
        put_number(j, "offset", r->bad[i].offset);
        close_object(j);
    }
    close_array(j);
    print_unchecked(j, r);
    close_object(j);
}

static void print_exit(struct json *j, const struct report *r, const struct image *image)
{
    int status = image->wait_status;

    open_object(j, "exit");
    put_text(j, "how", end_name(r, image));
    if (status != -1 && WIFSIGNALED(status))
        put_number(j, "signal", (uint64_t)WTERMSIG(status));
    else if (status != -1 && WIFEXITED(status))
        put_number(j, "status", (uint64_t)WEXITSTATUS(status));
    else if (image->state == IMAGE_ENDING && image->end_how != END_EXEC)
        put_number(j, "status", (uint64_t)(image->end_status & 0xff));
    close_object(j);
}

static void print_limits(struct json *j, const struct image *image)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } limits[] = {
        {IMAGE_SANDBOXED, "sandboxed"},
        {IMAGE_INHERITED_UNSURE, "inherited_unsure"},
        {IMAGE_METADATA_PRIVATE, "metadata_private"},
        {IMAGE_HANDLER_STARVED, "handler_starved"},
        {IMAGE_GUARDS_BOUNDED, "guards_bounded"},
        {IMAGE_WITHOUT_COPIES, "without_copies"},
    };

    open_array(j, "limits");
    for (size_t i = 0; i < countof(limits); i++)
        if (image->flags & limits[i].flag)
            put_text(j, NULL, limits[i].name);
    close_array(j);
}

static void print_checks(struct json *j, const struct image *image)
{
    open_array(j, "checks");
    if (image->checks & CHECK_MADE)
        put_text(j, NULL, "frees");
    if (image->checks & CHECK_REDZONES)
        put_text(j, NULL, "redzones");
    if (image->checks & CHECK_FREED)
        put_text(j, NULL, "freed");
    close_array(j);
}

/* Print names only for features known to this version; the mask has all of them. */
static void print_lost_features(struct json *j, uint64_t mask)
{
    put_hex(j, "lost_features", mask);
    open_array(j, "lost_feature_names");
    for (unsigned n = 0; feature_name(n); n++)
        if (mask >> n & 1)
            put_text(j, NULL, feature_name(n));
    close_array(j);
}

static void print_argv(struct json *j, const struct image *image)
{
    const char *arg = NULL;

    open_array(j, "argv");
    while ((arg = argv_next(image, arg)))
        put_text(j, NULL, arg);
    close_array(j);
    put_number(j, "argc", image->argc);
}

static void print_wrong_frees(struct json *j, const uint64_t lost[BAD_FREE_COUNT])
{
    put_number(j, "duf", lost[BAD_FREE_DUPLICATE]);
    put_number(j, "maf", lost[BAD_FREE_MISALIGNED]);
    put_number(j, "baf", lost[BAD_FREE_BAD]);
}

static void print_process(struct json *j, const struct report *r, const struct image *image)
{
    open_object(j, NULL);
    put_number(j, "n", image->number);
    put_number(j, "pid", image->pid);
    put_number(j, "ppid", image->ppid);
    if (image->parent)
        put_number(j, "parent", image->parent);
    put_text(j, "how", how_name(image->how));
    put_text(j, "exe", image->exe);
    put_text(j, "name", image->name);
    print_argv(j, image);
    put_time(j, "start", image->start_ns);
    if (image->end_ns >= image->start_ns)
        put_number(j, "duration_ns", image->end_ns - image->start_ns);
    print_exit(j, r, image);
    put_flag(j, "complete", image->state == IMAGE_ENDING);
    put_flag(j, "checked", image_is_checked(image));
    if (!image_is_checked(image))
        put_text(j, "why_unchecked", why_unchecked(image));
    print_limits(j, image);
    print_checks(j, image);
    json_leak_check(j, image);
    json_marks(j, image);
    put_text(j, "heap", image->flags & IMAGE_HEAP_IN_FILE ? "file" : "private");
    print_lost_features(j, image->missing_features);
    put_number(j, "allocs", image->allocs);
    put_number(j, "frees", image->frees);
    put_number(j, "bytes", image->live_bytes);
    put_number(j, "blocks", image->live_blocks);
    if (image->peak_bytes > 0)
        put_number(j, "peak_bytes", image->peak_bytes);
    put_number(j, "errors_unrecorded", image->errors_unrecorded);
    put_number(j, "unchecked_children", image->unchecked_children);
    open_object(j, "errors");
    print_wrong_frees(j, image->bad_frees);
    close_object(j);
    put_number(j, "foreign_frees", image->bad_frees[BAD_FREE_FOREIGN]);
    close_object(j);
}

static void print_summary(struct json *j, const struct report *r)
{
    struct totals t = totals_of(r);
    uint64_t peak = 0;

    for (const struct image *image = r->images; image; image = image->hh.next)
        peak = image->peak_bytes > peak ? image->peak_bytes : peak;
    open_object(j, "summary");
    put_number(j, "processes", t.processes);
    put_number(j, "allocs", t.allocs);
    put_number(j, "frees", t.frees);
    json_error_counts(j, r);
    json_mappings(j, r);
    json_dispatched(j, r);
    if (peak > 0)
        put_number(j, "peak_bytes", peak);
    open_object(j, "bytes");
    put_number(j, "biu", t.bytes);
    json_leak_bytes(j, r);
    close_object(j);
    open_object(j, "blocks");
    put_number(j, "biu", t.blocks);
    json_leak_blocks(j, r);
    close_object(j);
    json_suppressed(j, r);
    json_filtered(j, r);
    close_object(j);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Ids are indices into the report's tables. Only entries that a record refers to are printed. */
struct wanted {
    bool *sites;
    bool *frames;
    bool *modules;
};

static void want_site(const struct report *r, uint32_t index, struct wanted *w)
{
    const struct site *site = index == NO_SITE ? NULL : &r->sites[index];

    if (!site)
        return;
    w->sites[index] = true;
    for (uint32_t k = 0; k < site->count; k++) {
        uint32_t module = r->frames[site->frames[k]].module;
        w->frames[site->frames[k]] = true;
        if (module != NO_MODULE)
            w->modules[module] = true;
    }
}

static void wanted_fill(const struct report *r, const struct record *records, uint32_t count,
                        struct wanted *w)
{
    w->sites = xalloc(calloc((size_t)r->site_count + 1, sizeof(bool)));
    w->frames = xalloc(calloc((size_t)r->frame_count + 1, sizeof(bool)));
    w->modules = xalloc(calloc((size_t)r->module_count + 1, sizeof(bool)));
    for (uint32_t i = 0; i < count; i++)
        want_site(r, records[i].site, w);
    for (uint32_t i = 0; i < r->error_count; i++) {
        const struct error *e = &r->errors[i];
        want_site(r, e->stack, w);
        want_site(r, e->alloc_stack, w);
        want_site(r, e->free_stack, w);
        if (e->region.module != NO_MODULE)
            w->modules[e->region.module] = true;
    }
    for (uint32_t i = 0; i < r->leak_count; i++) {
        const struct holder *h = &r->leaks[i].holder;
        want_site(r, r->leaks[i].site, w);
        want_site(r, h->function, w);
        want_site(r, h->from_stack, w);
        if (h->region && h->region->module != NO_MODULE)
            w->modules[h->region->module] = true;
    }
}

static void wanted_free(struct wanted *w)
{
    free(w->sites);
    free(w->frames);
    free(w->modules);
}

void json_build_id(struct json *j, const uint8_t *id, uint32_t bytes)
{
    char text[2 * sizeof((struct module *)0)->build_id + 1] = "";

    for (uint32_t i = 0; i < bytes; i++)
        snprintf(text + (size_t)2 * i, 3, "%02x", id[i]);
    put_text(j, "build_id", text);
}

static void print_module(struct json *j, const struct module *module, uint32_t id)
{
    open_object(j, NULL);
    put_number(j, "id", id);
    put_text(j, "path", module->path);
    json_build_id(j, module->build_id, module->build_id_bytes);
    put_number(j, "process", module->image);
    put_hex(j, "bias", module->bias);
    put_text(j, "symbols", module_symbols_text(module->symbols));
    close_object(j);
}

static void print_function(struct json *j, const struct source_line *line)
{
    if (line->system_name) {
        put_text(j, "function", line->function);
        put_text(j, "system_name", line->system_name);
    }
    if (line->file) {
        put_text(j, "file", line->file);
        put_number(j, "line", (uint64_t)(line->line > 0 ? line->line : 0));
    }
}

static void print_frame(struct json *j, const struct report *r, const struct frame *frame,
                        uint32_t id)
{
    struct source_line lines[FRAME_LINES_MAX];
    uint32_t count = frame_lines_shown(r, frame, lines, FRAME_LINES_MAX);

    open_object(j, NULL);
    put_number(j, "id", id);
    if (frame->module != NO_MODULE)
        put_number(j, "module", frame->module);
    put_hex(j, "offset", frame->offset);
    if (frame->exact)
        put_flag(j, "exact", true);
    print_function(j, &lines[0]);
    if (frame->system_name)
        put_hex(j, "in_function", frame->in_function);
    if (frame->calls)
        put_text(j, "calls", entry_name(frame->calls));
    if (count > 1) {
        open_array(j, "inlined_into");
        for (uint32_t i = 1; i < count; i++) {
            open_object(j, NULL);
            print_function(j, &lines[i]);
            close_object(j);
        }
        close_array(j);
    }
    close_object(j);
}

static void print_stack(struct json *j, const struct site *site, uint32_t id)
{
    open_object(j, NULL);
    put_number(j, "id", id);
    open_array(j, "frames");
    for (uint32_t i = 0; i < site->count; i++)
        put_number(j, NULL, site->frames[i]);
    close_array(j);
    put_flag(j, "truncated", site->end != STACK_WHOLE);
    if (site->end != STACK_WHOLE)
        put_text(j, "end", stack_end_text(site->end));
    close_object(j);
}

void json_images(struct json *j, const struct image_numbers *images)
{
    open_array(j, "process");
    for (uint32_t i = 0; i < images->count; i++)
        put_number(j, NULL, images->at[i]);
    close_array(j);
}

static void print_record(struct json *j, const struct record *record)
{
    open_object(j, NULL);
    put_text(j, "id", record->id);
    put_text(j, "rtc", "biu");
    json_images(j, &record->images);
    put_number(j, "bytes", record->bytes);
    put_number(j, "blocks", record->blocks);
    put_number(j, "stack", record->site);
    json_disposition(j, &record->disposition);
    close_object(j);
}

static void print_sites(struct json *j, const struct report *r, const struct wanted *w)
{
    open_array(j, "modules");
    for (uint32_t i = 0; i < r->module_count; i++)
        if (w->modules[i])
            print_module(j, &r->modules[i], i);
    close_array(j);
    open_array(j, "frames");
    for (uint32_t i = 0; i < r->frame_count; i++)
        if (w->frames[i])
            print_frame(j, r, &r->frames[i], i);
    close_array(j);
    open_array(j, "stacks");
    for (uint32_t i = 0; i < r->site_count; i++)
        if (w->sites[i])
            print_stack(j, &r->sites[i], i);
    close_array(j);
}

/* Symbolize all stacks of errors, and assign the errors' ids. */
static void errors_symbolize(struct report *r)
{
    errors_name(r, r->error_count);
    for (uint32_t i = 0; i < r->error_count; i++) {
        struct error_rows rows = error_rows(&r->errors[i]);
        for (uint32_t k = 0; k < rows.count; k++)
            symbolize_site(r, rows.at[k].site);
    }
}

/* The same for leaks, kind by kind in table order. */
static void leaks_symbolize(struct report *r)
{
    leaks_name_all(r);
    for (uint32_t i = 0; i < r->leak_count; i++) {
        if (r->leaks[i].holder.function != NO_SITE)
            symbolize_site(r, r->leaks[i].holder.function);
        if (r->leaks[i].holder.from_stack != NO_SITE)
            symbolize_site(r, r->leaks[i].holder.from_stack);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

void json_print(struct report *r, FILE *out, const struct print_options *how)
{
    struct json j = {.out = out, .is_first = true};
    struct wanted w;
    uint32_t count;
    struct record *records = records_make(r, UINT32_MAX, &count);

    (void)how; /* JSON omits nothing */
    errors_symbolize(r);
    leaks_symbolize(r);
    wanted_fill(r, records, count, &w);
    open_object(&j, NULL);
    put_text(&j, "schema", "rtcheck-report/1");
    print_tool(&j, r);
    print_run(&j, r);
    open_array(&j, "processes");
    for (const struct image *image = r->images; image; image = image->hh.next)
        print_process(&j, r, image);
    close_array(&j);
    print_summary(&j, r);
    json_objects(&j, r);
    print_sites(&j, r, &w);
    json_errors(&j, r);
    json_leaks(&j, r);
    json_suppressions(&j, r);
    open_array(&j, "records");
    for (uint32_t i = 0; i < count; i++)
        print_record(&j, &records[i]);
    close_array(&j);
    json_cost(&j, r);
    json_counters(&j, r);
    close_object(&j);
    fputc('\n', out);
    wanted_free(&w);
    records_free(records, count);
}

int report_print_json(struct report *r, const char *path)
{
    return report_write(r, REPORT_JSON, path, NULL);
}

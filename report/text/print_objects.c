/*
 * print_objects.c - --access=full: how much of the run's code was checked, and which objects ran their
 * own code.  In detail, with --verbose or --cost: one line for each object, and one for the parts of it
 * that stayed native.  libc and its like are never checked, so the shares leave them out.
 */
#include <stdlib.h>
#include <string.h>

#include "notes.h"
#include "objects.h"

#define COLUMN 16 /* as in the other sections */
static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* The share of the time in objects with copies; nothing if it would be a guess. */
static void time_put(const struct access_time *t, FILE *out)
{
    uint64_t samples = t ? t->copies + t->native : 0;

    if (samples >= ACCESS_TIME_LEAST)
        fprintf(out, ", %.0f %% of the time in objects with copies", share(t->copies, samples));
}

static void sums_put(const struct object_sums *sums, const struct access_time *time, FILE *out)
{
    fprintf(out, "%u of %s checked", sums->checked,
            count_text(sums->checked + sums->native, "object", "objects").text);
    if (sums->checked > 0)
        fprintf(out, ", %.1f %% of the code", share(sums->checked_bytes, sums->text_bytes));
    if (sums->checked > 0)
        time_put(time, out);
    if (sums->skipped_bytes > 0)
        fprintf(out, ", %s skipped by --access-skip", size_text(sums->skipped_bytes).text);
}

/* ---- one line -------------------------------------------------------------------------------- */

/* Objects with the same reason to be native: one that a later version has counts as NATIVE_COUNT. */
struct group {
    uint32_t native;
    bool is_of_exec;
};

static bool is_in_group(const struct run_object *o, const struct group *g)
{
    uint32_t native = o->record.native < NATIVE_COUNT ? o->record.native : NATIVE_COUNT;

    return native == g->native && o->is_of_exec == g->is_of_exec;
}

/* "libfoo.so.1 and 3 more (no plan)"; nothing if the group is empty. */
static void group_put(const struct report *r, const struct group *g, const char **before, FILE *out)
{
    const char *first = NULL;
    uint32_t count = 0;

    for (uint32_t i = 0; i < r->object_count; i++)
        if (is_in_group(&r->objects[i], g) && count++ == 0)
            first = base_name(r->objects[i].record.path);
    if (count == 0)
        return;
    fprintf(out, "%s%s", *before, first);
    if (count > 1)
        fprintf(out, " and %u more", count - 1);
    fprintf(out, " (%s)", native_text(g->native, g->is_of_exec));
    *before = ", ";
}

/* What each group has; run-time libraries are left out. */
static void native_put(const struct report *r, FILE *out)
{
    const char *before = "; native: ";

    for (uint32_t native = NATIVE_LIBRARY + 1; native <= NATIVE_COUNT; native++) {
        group_put(r, &(struct group){native, false}, &before, out);
        group_put(r, &(struct group){native, true}, &before, out);
    }
}

static void line_print(const struct report *r, const struct object_sums *sums,
                       const struct page *page)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = xalloc(open_memstream(&text, &bytes));

    sums_put(sums, r->access_time, out);
    native_put(r, out);
    fclose(out);
    fact_print("access", text, page);
    free(text);
}

/* ---- in detail ------------------------------------------------------------------------------- */

static void text_line_print(uint32_t indent, const char *text, const struct page *page)
{
    spaces_put(page->out, indent);
    words_put(page, indent, COLUMN + 2, 0, text);
    fputc('\n', page->out);
}

/* The parts of a checked object that stayed native. */
static void parts_print(const struct object_record *o, const struct page *page)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = xalloc(open_memstream(&text, &bytes));
    struct native_part part;
    uint32_t count = 0;

    for (uint32_t i = 0; object_part(o, i, &part); i++)
        if (part.bytes > 0)
            fprintf(out, "%s%s (%s)", count++ ? ", " : "native: ", part.text,
                    size_text(part.bytes).text);
    fclose(out);
    if (count > 0)
        text_line_print(COLUMN + 2, text, page);
    free(text);
}

static void checked_print(const struct run_object *o, const struct page *page)
{
    const struct object_record *record = &o->record;
    uint64_t checked = record->text_bytes - object_native_bytes(record);
    char *text = NULL;
    size_t bytes;
    FILE *out = xalloc(open_memstream(&text, &bytes));

    fprintf(out, "%s: %.1f %% of %s", record->path, share(checked, record->text_bytes),
            size_text(record->text_bytes).text);
    fclose(out);
    text_line_print(COLUMN, text, page);
    free(text);
    parts_print(record, page);
}

static void native_print(const struct report *r, const struct group *g, const struct page *page)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = xalloc(open_memstream(&text, &bytes));
    uint32_t count = 0;

    fprintf(out, "native (%s):", native_text(g->native, g->is_of_exec));
    for (uint32_t i = 0; i < r->object_count; i++)
        if (is_in_group(&r->objects[i], g))
            fprintf(out, "%s %s", count++ ? "," : "", r->objects[i].record.path);
    fclose(out);
    if (count > 0)
        text_line_print(COLUMN, text, page);
    free(text);
}

static void hottest_put(const struct access_time *t, uint64_t all, FILE *out)
{
    for (uint32_t i = 0; i < ACCESS_TIME_HOTTEST && t->hottest[i].samples > 0; i++) {
        fputs(i ? ", " : "; most of it in ", out);
        text_put(out, t->hottest[i].function);
        fputs(" (", out);
        text_put(out, base_name(t->hottest[i].object));
        fprintf(out, ") %.1f %%", share(t->hottest[i].samples, all));
    }
}

static void time_print(const struct access_time *t, const struct page *page)
{
    uint64_t all = t->copies + t->native + t->elsewhere;
    char *text = NULL;
    size_t bytes;
    FILE *out = xalloc(open_memstream(&text, &bytes));

    if (*t->why)
        fprintf(out, "time: n/a: %s", t->why);
    else
        fprintf(out,
                "time: %s: %.1f %% in copies, %.1f %% elsewhere, %.1f %% native in checked objects",
                count_text(all, "sample", "samples").text, share(t->copies, all),
                share(t->elsewhere, all), share(t->native, all));
    hottest_put(t, all, out);
    fclose(out);
    text_line_print(COLUMN, text, page);
    free(text);
}

static void details_print(const struct report *r, const struct object_sums *sums,
                          const struct page *page)
{
    set_colour(page, COLOUR_HEADING);
    fprintf(page->out, "%-*s", COLUMN, "ACCESS");
    set_colour(page, COLOUR_NONE);
    sums_put(sums, r->access_time, page->out);
    fputc('\n', page->out);
    if (r->access_time)
        time_print(r->access_time, page);
    for (uint32_t i = 0; i < r->object_count; i++)
        if (r->objects[i].record.native == NATIVE_NOT)
            checked_print(&r->objects[i], page);
    for (uint32_t native = NATIVE_NOT + 1; native <= NATIVE_COUNT; native++) {
        native_print(r, &(struct group){native, false}, page);
        native_print(r, &(struct group){native, true}, page);
    }
}

void objects_print(const struct report *r, const struct page *page)
{
    struct object_sums sums = object_sums(r);

    if (r->object_count == 0)
        return;
    if (page->how->cost)
        details_print(r, &sums, page);
    else
        line_print(r, &sums, page);
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void note_reason(const struct report *r, uint32_t native, bool is_of_exec,
                        struct notes *notes)
{
    struct process_set f = {0};

    for (const struct image *image = r->images; image; image = image->hh.next)
        if (image->flags & IMAGE_WITHOUT_COPIES && image->native == native &&
            (image->how == IMAGE_EXEC) == is_of_exec)
            process_set_add(&f, image);
    if (f.count > 0)
        note_add(notes, true, "%s: its own loads and stores were not checked%s%s",
                 process_set_text(&f, notes->deterministic).text, native ? ": " : "",
                 native_text(native, is_of_exec));
}

void note_objects(const struct report *r, struct notes *notes)
{
    for (uint32_t native = NATIVE_NOT; native < NATIVE_COUNT; native++) {
        note_reason(r, native, false, notes);
        note_reason(r, native, true, notes);
    }
}

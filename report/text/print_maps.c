/*
 * print_maps.c - --mappings: what calls have mapped and unmapped, changes that the runtime did not
 * see, and the sizes at each mark.
 */
#include "text.h"

#define COLUMN 16 /* as in the other sections */

static bool is_counted(const struct image *image)
{
    return image->has_maps && !image_was_replaced(image);
}

struct map_totals map_totals(const struct report *r)
{
    struct map_totals t = {0};

    for (const struct image *image = r->images; image; image = image->hh.next) {
        const struct map_sum *sum = &image->maps;
        if (!is_counted(image))
            continue;
        t.processes++;
        t.uncompared += !(sum->flags & MAP_SUM_COMPARED);
        t.mapped += sum->mapped;
        t.unmapped += sum->unmapped;
        t.unseen += sum->unseen;
        t.rebuilt += sum->rebuilt;
        t.bytes += image->mapped_bytes;
        t.peak_bytes = sum->peak_bytes > t.peak_bytes ? sum->peak_bytes : t.peak_bytes;
        t.objects += sum->unseen_objects;
        t.stacks += sum->unseen_stacks;
        t.others += sum->unseen_others;
        t.gone += sum->unseen_unmapped;
        t.changed += sum->unseen_changed;
    }
    return t;
}

static void unseen_put(const struct map_totals *t, const struct page *page)
{
    fprintf(page->out,
            "%*sby other calls: %s, %s and %llu more mapped, %llu unmapped, %llu changed\n", COLUMN,
            "", count_text(t->objects, "library", "libraries").text,
            count_text(t->stacks, "stack", "stacks").text, (unsigned long long)t->others,
            (unsigned long long)t->gone, (unsigned long long)t->changed);
    if (t->uncompared > 0)
        fprintf(page->out, "%*snot compared with the kernel's at the end of %s\n", COLUMN, "",
                count_text(t->uncompared, "process", "processes").text);
    if (t->unseen > 0)
        fprintf(page->out,
                "%*s%s not recorded: in handlers that interrupted the runtime, or could not wait "
                "for it\n",
                COLUMN, "", count_text(t->unseen, "call", "calls").text);
    if (t->rebuilt > 0)
        fprintf(page->out,
                "%*sread from the kernel %s, because handlers had jumped out of changes: the calls "
                "that made these changes are not known\n",
                COLUMN, "", count_text(t->rebuilt, "time", "times").text);
}

static void owner_put(const struct image *image, const struct page *page)
{
    fputs("  ", page->out);
    text_put(page->out, program_name(image));
    if (!page->how->deterministic)
        fprintf(page->out, ", process %u", image->pid);
    fputs(":\n", page->out);
}

static void marks_put(const struct image *image, const struct page *page)
{
    fprintf(page->out, "  %-6s  %10s  %10s  %12s  %12s\n", "Mark",
            page->how->deterministic ? "Allocs" : "After", "Blocks", "In use", "Mapped");
    for (uint32_t i = 0; i < image->mark_count; i++) {
        const struct mark_record *m = &image->mark_records[i];
        double seconds =
            m->time_ns > image->start_ns ? (double)(m->time_ns - image->start_ns) / 1e9 : 0;
        fprintf(page->out, "  %-6u  ", m->mark);
        if (page->how->deterministic)
            fprintf(page->out, "%10llu", (unsigned long long)m->allocs);
        else
            fprintf(page->out, "%8.3f s", seconds);
        fprintf(page->out, "  %10llu  %12s  %12s\n", (unsigned long long)m->blocks,
                size_text(m->bytes).text, size_text(m->mapped_bytes).text);
    }
}

void maps_print(const struct report *r, const struct page *page)
{
    struct map_totals t = map_totals(r);

    if (!page->how->mappings)
        return;
    set_colour(page, COLOUR_HEADING);
    fprintf(page->out, "%-*s", COLUMN, "MAPPINGS");
    set_colour(page, COLOUR_NONE);
    if (t.processes == 0) {
        fputs("no calls that map or unmap\n", page->out);
    } else {
        fprintf(page->out, "%s mapped, %llu unmapped; %s by them, %s at most%s\n",
                count_text(t.mapped, "call", "calls").text, (unsigned long long)t.unmapped,
                size_text(t.bytes).text, size_text(t.peak_bytes).text,
                t.processes > 1 ? " in one process" : "");
        unseen_put(&t, page);
    }
    for (const struct image *image = r->images; image; image = image->hh.next) {
        if (image->mark_count == 0)
            continue;
        if (HASH_COUNT(r->images) > 1)
            owner_put(image, page);
        marks_put(image, page);
    }
}

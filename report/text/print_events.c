/*
 * print_events.c - results of calls that map and unmap memory, for each process: sums, and each
 * range with the stack that mapped it.
 *
 * For a killed process the map is that of its end, for a running one the current map. Such a map
 * may be read while it changes; the report then contains a note.
 */
#include <string.h>
#include <sys/mman.h>

#include "text.h"

#define EVENT_FRAMES 3u /* shown per stack */

/* Print a range in the format of /proc/PID/maps. */
static void range_put(const struct map_region *m, FILE *out)
{
    fprintf(out, "  %012llx-%012llx %c%c%c%c %10s  ", (unsigned long long)m->start,
            (unsigned long long)m->end, m->protection & PROT_READ ? 'r' : '-',
            m->protection & PROT_WRITE ? 'w' : '-', m->protection & PROT_EXEC ? 'x' : '-',
            m->shared ? 's' : 'p', size_text(m->end - m->start).text);
}

static void file_put(const struct region_files *files, const struct map_region *m, FILE *out)
{
    const char *path = region_file(files, m);

    if (path)
        text_put(out, path);
    else if (m->device == MAP_FILE_UNKNOWN && m->inode == 0)
        fputs(m->shared ? "shared or a file" : "a file", out);
    else if (m->device == MAP_FILE_UNKNOWN)
        fprintf(out, "shared memory %llu", (unsigned long long)m->inode);
    else if (m->device || m->inode)
        fprintf(out, "%02llx:%02llx %llu", (unsigned long long)m->device >> 32,
                (unsigned long long)m->device & 0xffffffff, (unsigned long long)m->inode);
    else
        fputs("anonymous", out);
}

static void owner_put(struct report *r, const struct image *image, uint32_t i,
                      const struct page *page)
{
    static const char *const names[] = {"", "there at first", "called", "found later"};
    const struct map_region *m = &image->regions[i];
    uint32_t site = image->region_sites ? image->region_sites[i] : NO_SITE;

    fprintf(page->out, ", %s", region_is_inherited(image, m) ? "inherited" : names[m->origin]);
    if (site == NO_SITE)
        return;
    symbolize_site(r, site);
    fputs(" by ", page->out);
    site_put(r, site, EVENT_FRAMES, page);
}

static void unseen_put(const struct map_sum *sum, FILE *out)
{
    uint64_t objects = sum->unseen_objects, stacks = sum->unseen_stacks,
             others = sum->unseen_others;

    if (sum->compared == 0)
        fputs("  not compared with the kernel's yet\n", out);
    else if (objects + stacks + others + sum->unseen_unmapped + sum->unseen_changed == 0)
        fputs("  no changes by other calls\n", out);
    else
        fprintf(out, "  by other calls: %s, %s and %llu more mapped, %llu unmapped, %llu changed\n",
                count_text(objects, "library", "libraries").text,
                count_text(stacks, "stack", "stacks").text, (unsigned long long)others,
                (unsigned long long)sum->unseen_unmapped, (unsigned long long)sum->unseen_changed);
}

static void regions_print(struct report *r, struct image *image, const struct page *page)
{
    struct region_files *files = region_files_of(r, image);

    for (uint32_t i = 0; i < image->region_count; i++) {
        range_put(&image->regions[i], page->out);
        file_put(files, &image->regions[i], page->out);
        owner_put(r, image, i, page);
        fputc('\n', page->out);
    }
    region_files_free(files);
}

static void process_print(struct report *r, struct image *image, struct page page)
{
    const struct map_sum *sum = &image->maps;

    page.program = image->exe;
    fprintf(page.out, "process %u (", image->pid);
    text_put(page.out, program_name(image));
    fprintf(page.out, "), %s: ", end_name(r, image));
    if (!image->has_maps) {
        fputs("no calls that map or unmap\n", page.out);
        return;
    }
    fprintf(page.out, "%s mapped, %llu unmapped; %s by them",
            count_text(sum->mapped, "call", "calls").text, (unsigned long long)sum->unmapped,
            size_text(image->mapped_bytes).text);
    fprintf(page.out, ", %s at most%s\n", size_text(sum->peak_bytes).text,
            sum->first_call > 1 ? " with inherited mappings" : "");
    unseen_put(sum, page.out);
    if (sum->unseen > 0)
        fprintf(page.out,
                "  %s not recorded: in handlers that interrupted the runtime, or could not wait "
                "for it\n",
                count_text(sum->unseen, "call", "calls").text);
    if (sum->rebuilt > 0)
        fprintf(page.out,
                "  read from the kernel %s, because handlers had jumped out of changes: the calls "
                "that made these changes are not known\n",
                count_text(sum->rebuilt, "time", "times").text);
    if (image->regions_torn)
        fputs("  read in the midst of a change: a range may be missing\n", page.out);
    if (sum->flags & MAP_SUM_FULL)
        fputs("  there was no room for all of them\n", page.out);
    regions_print(r, image, &page);
}

bool report_print_events(struct report *r, uint32_t pid, FILE *out)
{
    const struct print_options how = {0};
    struct page page = page_of(out, &how, "");
    bool any = false;

    for (struct image *image = r->images; image; image = image->hh.next) {
        if ((pid != 0 && image->pid != pid) || image->has_exec_successor)
            continue;
        process_print(r, image, page);
        any = true;
    }
    return any;
}

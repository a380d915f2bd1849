/*
 * print_use.c - blocks in use, by the site that allocated them.
 */
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define TOP_RECORDS 3u
#define TOP_FRAMES 3u

/* Print the largest records on one line each; a column is as wide as its widest entry. */
static void top_print(const struct report *r, const struct record *records, uint32_t count,
                      const struct page *page)
{
    int size_width = 0, block_width = 0;

    for (uint32_t i = 0; i < count; i++) {
        int size = (int)strlen(size_text(records[i].bytes).text);
        int blocks = (int)strlen(block_text(records[i].blocks).text);
        size_width = size > size_width ? size : size_width;
        block_width = blocks > block_width ? blocks : block_width;
    }
    for (uint32_t i = 0; i < count; i++) {
        fprintf(page->out, "  %*s in %-*s  ", size_width, size_text(records[i].bytes).text,
                block_width, block_text(records[i].blocks).text);
        site_put(r, records[i].site, TOP_FRAMES, page);
        fputc('\n', page->out);
    }
}

static void row_print(const struct report *r, const struct record *record, uint64_t whole,
                      const struct page *page)
{
    double share = whole ? 100.0 * (double)record->bytes / (double)whole : 0;

    fprintf(page->out, "  %-14s  %11s  %7.1f%%  %9llu  %11s  ", record->id,
            size_text(record->bytes).text, share, (unsigned long long)record->blocks,
            size_text(record->bytes / record->blocks).text);
    if (page->how->use == PRINT_USE_STACKS) {
        fputc('\n', page->out);
        stack_print(r, "", record->site, page);
        return;
    }
    site_put(r, record->site, page->frames, page);
    fputc('\n', page->out);
}

static void table_print(const struct report *r, const struct record *records, uint32_t count,
                        uint64_t whole, const struct page *page)
{
    if (count > 0)
        fprintf(page->out, "  %-14s  %11s  %8s  %9s  %11s  Allocated at\n", "Id", "Total size",
                "% of all", "Blocks", "Average");
    for (uint32_t i = 0; i < count; i++)
        row_print(r, &records[i], whole, page);
}

/* With several processes print the highest peak: the peaks need not be simultaneous. */
static void peak_put(const struct report *r, const struct page *page)
{
    uint64_t peak = 0;

    for (const struct image *image = r->images; image; image = image->hh.next)
        if (image->peak_bytes > peak)
            peak = image->peak_bytes;
    if (peak > 0)
        fprintf(page->out, "; peak %s%s", size_text(peak).text,
                r->images->hh.next ? " in one process" : "");
}

static void heading_print(const struct report *r, const struct image *main, const struct totals *t,
                          const struct totals *hidden, const struct page *page)
{
    set_colour(page, COLOUR_HEADING);
    fprintf(page->out, "%-14s", main->state == IMAGE_ENDING ? "IN USE AT EXIT" : "IN USE AT END");
    set_colour(page, COLOUR_NONE);
    if (t->blocks > 0)
        fprintf(page->out, "  %s in %s", size_text(t->bytes).text, block_text(t->blocks).text);
    else
        fputs("  nothing", page->out);
    peak_put(r, page);
    if (hidden->blocks > 0)
        fprintf(page->out, "; suppressed: %s in %s", size_text(hidden->bytes).text,
                block_text(hidden->blocks).text);
    fputc('\n', page->out);
}

/*
 * Move the records that a rule hides to the end. Returns the number of the others; *hidden gets the
 * sums.
 */
static uint32_t records_shown(struct record *records, uint32_t count, struct totals *hidden)
{
    uint32_t shown = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct record record = records[i];
        if (is_hidden(&record.disposition)) {
            hidden->blocks += record.blocks;
            hidden->bytes += record.bytes;
            continue;
        }
        records[i] = records[shown];
        records[shown++] = record;
    }
    return shown;
}

void use_print(struct report *r, const struct image *main, const struct page *page)
{
    bool table = page->how->use == PRINT_USE_TABLE || page->how->use == PRINT_USE_STACKS;
    struct totals t = totals_of(r), hidden = {0};
    struct record *records;
    uint32_t count, shown;

    if (page->how->use == PRINT_USE_NOTHING)
        return;
    records = records_make(r, table || r->use_dispositions ? UINT32_MAX : TOP_RECORDS, &count);
    shown = records_shown(records, count, &hidden);
    heading_print(r, main, &t, &hidden, page);
    if (table)
        table_print(r, records, shown, t.bytes, page);
    else
        top_print(r, records, shown < TOP_RECORDS ? shown : TOP_RECORDS, page);
    records_free(records, count);
}

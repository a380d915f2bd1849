/*
 * print_use.c - blocks in use: their sum, and a table of the sites that allocated them.
 */
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define TABLE_FRAMES 4u /* shown per stack in a table */

static void row_print(struct report *r, const struct record *record, uint64_t whole,
                      const struct page *page)
{
    double share = whole ? 100.0 * (double)record->bytes / (double)whole : 0;
    int at =
        fprintf(page->out, "%11s  %5.1f %%  %7llu  %10s  ", size_text(record->bytes).text, share,
                (unsigned long long)record->blocks, size_text(record->bytes / record->blocks).text);

    if (page->how->use == PRINT_USE_STACKS) {
        id_put(record->id, (uint32_t)at, page);
        fputc('\n', page->out);
        stack_print(r, "", record->site, page);
        return;
    }
    chain_print(r,
                &(struct chain){.site = record->site,
                                .most = page->how->frames ? page->how->frames : TABLE_FRAMES,
                                .indent = (uint32_t)at,
                                .id = record->id},
                page);
}

static void table_print(struct report *r, const struct record *records, uint32_t count,
                        uint64_t whole, const struct page *page)
{
    set_colour(page, COLOUR_FAINT);
    if (count > 0)
        fprintf(page->out, "%11s  %7s  %7s  %10s  allocated at", "bytes", "of all", "blocks",
                "average");
    set_colour(page, COLOUR_NONE);
    fputs(count > 0 ? "\n" : "", page->out);
    for (uint32_t i = 0; i < count; i++)
        row_print(r, &records[i], whole, page);
}

/* With several processes print the highest peak: the peaks need not be simultaneous. */
static void peak_put(const struct report *r, FILE *out)
{
    uint64_t peak = 0;

    for (const struct image *image = r->images; image; image = image->hh.next)
        if (image->peak_bytes > peak)
            peak = image->peak_bytes;
    if (peak > 0)
        fprintf(out, ", peak %s%s", size_text(peak).text,
                r->images->hh.next ? " in one process" : "");
}

/* "in use   4248 B in 14 blocks at exit, peak 5000 B; 20 allocations, 6 frees" */
static void heading_print(const struct report *r, const struct image *main, const struct totals *t,
                          const struct totals *hidden, const struct page *page)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = xalloc(open_memstream(&text, &bytes));

    if (t->blocks > 0)
        fprintf(out, "%s in %s", size_text(t->bytes).text, block_text(t->blocks).text);
    else
        fputs("nothing", out);
    fputs(main->state == IMAGE_ENDING ? " at exit" : " at the end", out);
    peak_put(r, out);
    fprintf(out, "; %s, %s", count_text(t->allocs, "allocation", "allocations").text,
            count_text(t->frees, "free", "frees").text);
    if (hidden->blocks > 0)
        fprintf(out, "; suppressed: %s in %s", size_text(hidden->bytes).text,
                block_text(hidden->blocks).text);
    fclose(out);
    fact_print("in use", text, page);
    free(text);
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
    records = records_make(r, table || r->use_dispositions ? UINT32_MAX : 0, &count);
    shown = records_shown(records, count, &hidden);
    heading_print(r, main, &t, &hidden, page);
    if (table)
        table_print(r, records, shown, t.bytes, page);
    records_free(records, count);
}

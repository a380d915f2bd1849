/*
 * print_leaks.c - leaks in the text report: a table for each kind, or a paragraph for each leak.
 *
 * Definite leaks come before possible ones, the largest first. Indirectly lost blocks are printed
 * with the leak that they are reachable from. If the text must stay short, each kind gets its share
 * of the lines, and leaks that do not fit are counted.
 */
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define TABLE_FRAMES 4u /* shown per stack on one line of a table */
#define HEAD_LINES 2u   /* heading lines of a table */
#define KINDS 5u

/* The leaks of one kind that is printed. */
struct part {
    uint32_t kind;
    struct leak_row *rows;
    uint32_t count;
};

static uint32_t parts_make(struct report *r, const struct page *page, uint32_t named,
                           struct part parts[KINDS])
{
    uint32_t count = 0;

    if (page->how->leaks == PRINT_LEAKS_NOTHING)
        return 0;
    for (uint32_t kind = LEAK_DEFINITE; kind <= LEAK_MAPPED; kind *= 2) {
        struct part part = {.kind = kind};
        if (!(page->how->leak_kinds & kind))
            continue;
        part.rows = leak_rows(r, kind, page->how->match, named, &part.count);
        if (part.count > 0)
            parts[count++] = part;
    }
    return count;
}

static void parts_free(struct part parts[KINDS], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(parts[i].rows);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void heading_print(const struct part *part, const struct page *page)
{
    uint64_t blocks = 0, bytes = 0, indirect_blocks = 0, indirect_bytes = 0;

    for (uint32_t i = 0; i < part->count; i++) {
        blocks += part->rows[i].blocks;
        bytes += part->rows[i].bytes;
        indirect_blocks += part->rows[i].indirect_blocks;
        indirect_bytes += part->rows[i].indirect_bytes;
    }
    set_colour(page, COLOUR_HEADING);
    fputs(kind_text(part->kind)->heading, page->out);
    set_colour(page, COLOUR_NONE);
    fprintf(page->out, "  %s: %s in %s", count_text(part->count, "place", "places").text,
            size_text(bytes).text, things_text(part->rows[0].first->class, blocks).text);
    if (indirect_blocks > 0)
        fprintf(page->out, ", and %s in %s indirectly lost", size_text(indirect_bytes).text,
                block_text(indirect_blocks).text);
    fputc('\n', page->out);
}

static enum colour colour_of(uint32_t kind)
{
    return kind & (LEAK_DEFINITE | LEAK_INDIRECT) ? COLOUR_ERROR
           : kind == LEAK_POSSIBLE                ? COLOUR_WARNING
                                                  : COLOUR_NONE;
}

static void id_put(const struct leak_row *row, int columns, const struct page *page)
{
    fputc(' ', page->out);
    set_colour(page, colour_of(leak_kind(row->first->class)));
    fprintf(page->out, "%-*s", columns, row->first->id);
    set_colour(page, COLOUR_NONE);
}

/* Ids have the same length except for suffixes like .2 and .3. */
static int id_columns(const struct part *part, uint32_t shown)
{
    size_t most = 0;

    for (uint32_t i = 0; i < shown; i++) {
        size_t bytes = strlen(part->rows[i].first->id);
        most = bytes > most ? bytes : most;
    }
    return (int)most;
}

static void columns_print(const struct part *part, int columns, const struct page *page)
{
    bool mapped = part->kind == LEAK_MAPPED;

    fprintf(page->out, " %-*s  %10s  %13s  ", columns, "Id", "Total Size",
            mapped ? "Mappings" : "Num of Blocks");
    if (part->rows[0].is_marked)
        fprintf(page->out, "%6s  ", "New");
    if (!page->how->deterministic)
        fprintf(page->out, "%-14s  ", mapped ? "Address" : "Block Address");
    fputs(mapped ? "Mapped at\n" : "Allocation Call Stack\n", page->out);
}

/* The frames to show. For a row of several leaks these are only the frames that the leaks share. */
static uint32_t frames_in_row(const struct leak_row *row, const struct page *page)
{
    uint32_t most = page->how->frames ? page->how->frames : TABLE_FRAMES;

    return row->members > 1 && page->how->match < most ? page->how->match : most;
}

static void row_print(struct report *r, const struct leak_row *row, int columns,
                      const struct page *page)
{
    char *indirect_text = format_indirect(row);
    char address[24] = "-";

    if (row->blocks <= 1)
        snprintf(address, sizeof address, "0x%llx", (unsigned long long)row->first->block);
    id_put(row, columns, page);
    fprintf(page->out, "  %10s  %13llu  ", size_text(row->bytes).text,
            (unsigned long long)row->blocks);
    if (row->is_marked)
        fprintf(page->out, "%6llu  ", (unsigned long long)row->new_blocks);
    if (!page->how->deterministic)
        fprintf(page->out, "%-14s  ", address);
    if (row->first->site == NO_SITE)
        fputs("not known", page->out);
    else
        chain_put(r, row->first->site, frames_in_row(row, page), " < ", page);
    if (indirect_text)
        fprintf(page->out, "; %s", indirect_text);
    fputc('\n', page->out);
    free(indirect_text);
}

static uint32_t shown_at_most(const struct part *part, const struct page *page)
{
    uint32_t most = page->how->max_leaks;

    return most > 0 && most < part->count ? most : part->count;
}

static void table_print(struct report *r, const struct part *part, uint32_t lines,
                        const struct page *page)
{
    uint32_t room = lines - HEAD_LINES, most = shown_at_most(part, page);
    uint32_t shown = part->count <= room ? part->count : room - 1;
    int columns;

    shown = shown < most ? shown : most;
    columns = id_columns(part, shown);
    heading_print(part, page);
    columns_print(part, columns, page);
    for (uint32_t i = 0; i < shown; i++)
        row_print(r, &part->rows[i], columns, page);
    if (shown < part->count)
        more_print(r, part->count - shown, page);
}

/* ---- in full --------------------------------------------------------------------------------- */

static void line_put(const char *label, const char *text, const struct page *page)
{
    fprintf(page->out, "%*s%-*s", STACK_INDENT, "", STACK_LABEL, label);
    text_put(page->out, text);
    fputc('\n', page->out);
}

static void record_print(struct report *r, const struct leak_row *row, struct page page)
{
    char *sentence = leak_sentence(row, page.how->deterministic);
    char *witness = witness_sentence(r, row->first, page.how->deterministic);
    char *indirect_text = format_indirect(row);

    page.program = program_path(r, row->first->image);
    page.numbered = true;
    id_put(row, 0, &page);
    fputs("  ", page.out);
    text_put(page.out, sentence);
    fputc('\n', page.out);
    if (row->first->class != CLASS_MAPPED)
        line_put(row->blocks > 1 ? "the first" : "witness", witness, &page);
    if (indirect_text)
        line_put("and", indirect_text, &page);
    if (row->members > 1 && page.how->match < page.frames)
        page.frames = page.how->match;
    if (row->first->site == NO_SITE)
        line_put(made_label(row->first), "at a place that is not known", &page);
    else
        stack_print(r, made_label(row->first), row->first->site, &page);
    free(sentence);
    free(witness);
    free(indirect_text);
}

/* ---- a line for each kind -------------------------------------------------------------------- */

static void summary_print(const struct report *r, const struct page *page)
{
    set_colour(page, COLOUR_HEADING);
    fputs("LEAKS", page->out);
    set_colour(page, COLOUR_NONE);
    fputc('\n', page->out);
    for (uint32_t kind = LEAK_DEFINITE; kind <= LEAK_MAPPED; kind *= 2) {
        struct leak_sum sum = leak_sum(r, kind);
        uint64_t places = kind == LEAK_REACHABLE && !r->wants_reachable
                              ? sum.places
                              : leak_rows_count(r, kind, page->how->match);
        if (kind == LEAK_MAPPED && !r->wants_mapped)
            continue;
        fprintf(page->out, "  %-20s  %s in %s at %s\n", kind_text(kind)->summary,
                size_text(sum.bytes).text,
                things_text(kind == LEAK_MAPPED ? CLASS_MAPPED : CLASS_LOST, sum.blocks).text,
                count_text(places, "place", "places").text);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static uint32_t wanted(const struct part *part)
{
    return part->count + HEAD_LINES;
}

/*
 * The lines for the first of `parts` parts: `left` minus the lines that the later parts need, up to
 * an equal share each.
 */
static uint32_t lines_for(const struct part *part, uint32_t parts, uint32_t left)
{
    uint32_t share = left / parts, least = HEAD_LINES + 1;

    for (uint32_t i = 1; i < parts; i++)
        left -= wanted(&part[i]) < share ? wanted(&part[i]) : share;
    /* the headings and one line, which can count the other leaks */
    left = left > least ? left : least;
    return wanted(part) < left ? wanted(part) : left;
}

uint32_t leaks_lines(struct report *r, uint32_t most, const struct page *page)
{
    struct part parts[KINDS];
    uint32_t count, lines = 0;

    if (page->how->leaks == PRINT_LEAKS_SUMMARY)
        return leaks_are_known(r) ? KINDS + r->wants_mapped : 0;
    count = parts_make(r, page, 0, parts);
    for (uint32_t i = 0; i < count; i++)
        lines += lines_for(&parts[i], count - i, most - lines);
    parts_free(parts, count);
    return lines;
}

static void records_print(struct report *r, const struct part *part, const struct page *page)
{
    heading_print(part, page);
    for (uint32_t i = 0; i < shown_at_most(part, page); i++)
        record_print(r, &part->rows[i], *page);
    if (shown_at_most(part, page) < part->count)
        more_print(r, part->count - shown_at_most(part, page), page);
}

void leaks_print(struct report *r, uint32_t most, const struct page *page)
{
    bool is_table = page->how->leaks == PRINT_LEAKS_TABLE;
    struct part parts[KINDS];
    uint32_t count, lines;

    if (page->how->leaks == PRINT_LEAKS_SUMMARY) {
        if (leaks_are_known(r))
            summary_print(r, page);
        return;
    }
    count = parts_make(r, page, most, parts);
    for (uint32_t i = 0; i < count; i++, most -= lines) {
        lines = lines_for(&parts[i], count - i, most);
        if (is_table)
            table_print(r, &parts[i], lines, page);
        else
            records_print(r, &parts[i], page);
    }
    parts_free(parts, count);
}

static void sum_put(uint64_t bytes, uint64_t blocks, uint64_t new_blocks, const struct report *r,
                    FILE *out)
{
    fprintf(out, "%s in %s", size_text(bytes).text, block_text(blocks).text);
    if (leaks_are_marked(r))
        fprintf(out, " (%llu new)", (unsigned long long)new_blocks);
}

void leaks_sums_put(const struct report *r, const struct page *page)
{
    struct leak_sum direct = leak_sum(r, LEAK_DEFINITE), indirect = leak_sum(r, LEAK_INDIRECT);
    struct leak_sum possible = leak_sum(r, LEAK_POSSIBLE);
    uint64_t blocks = direct.blocks + indirect.blocks;

    if (blocks == 0 && possible.blocks == 0) {
        fputs("no leaks", page->out);
        return;
    }
    fputs("leaked ", page->out);
    if (blocks > 0)
        sum_put(direct.bytes + indirect.bytes, blocks, direct.new_blocks + indirect.new_blocks, r,
                page->out);
    if (blocks > 0 && possible.blocks > 0)
        fputs(", ", page->out);
    if (possible.blocks > 0) {
        fputs("possibly ", page->out);
        sum_put(possible.bytes, possible.blocks, possible.new_blocks, r, page->out);
    }
}

/* Is the leak check of some process missing or cut? Then "no leaks" would be wrong. */
static bool some_leaks_are_missing(const struct report *r)
{
    for (const struct image *image = r->images; image; image = image->hh.next)
        if (image->leak_check == LEAKS_CUT ||
            (!leak_check_was_made(image->leak_check) && leak_check_text(r, image)))
            return true;
    return false;
}

static bool has_leaks(const struct report *r)
{
    return leak_sum(r, LEAK_DEFINITE).blocks + leak_sum(r, LEAK_INDIRECT).blocks +
               leak_sum(r, LEAK_POSSIBLE).blocks >
           0;
}

/* The number of processes that were killed before their requested leak check. */
static uint64_t killed_unchecked(const struct report *r)
{
    uint64_t count = 0;

    for (const struct image *image = r->images; image; image = image->hh.next)
        count += image->leak_check == LEAKS_NOT_REQUESTED && image->checks & CHECK_LEAKS &&
                 leak_check_text(r, image);
    return count;
}

void leaks_verdict_put(const struct report *r, const struct page *page)
{
    uint64_t killed = killed_unchecked(r);

    if (page->how->leaks == PRINT_LEAKS_NOTHING)
        return;
    if (killed > 0)
        fprintf(page->out, "leaks of %s not known; ",
                count_text(killed, "killed process", "killed processes").text);
    if (!leaks_are_known(r) || (some_leaks_are_missing(r) && !has_leaks(r)))
        return;
    leaks_sums_put(r, page);
    fputs("; ", page->out);
}

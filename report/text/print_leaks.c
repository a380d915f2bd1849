/*
 * print_leaks.c - leaks in the text report: a table for each kind, or a paragraph for each leak.
 *
 * Definite leaks come before possible ones, the largest first. Indirectly lost blocks are printed
 * with the leak that they are reachable from. If the text must stay short, each kind gets its share
 * of the lines, and leaks that do not fit are counted.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define TABLE_FRAMES 4u /* shown per stack in a table */
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

/* Blocks that are indirectly lost are added to a row, unless they have rows of their own. */
static bool adds_indirect(const struct page *page)
{
    return !(page->how->leak_kinds & LEAK_INDIRECT);
}

static void heading_print(const struct part *part, const struct page *page)
{
    const struct kind_text *text = kind_text(part->kind);
    uint64_t blocks = 0, bytes = 0;
    char *sums;

    for (uint32_t i = 0; i < part->count; i++) {
        blocks += part->rows[i].blocks;
        bytes += part->rows[i].bytes;
        if (!adds_indirect(page))
            continue;
        blocks += part->rows[i].indirect_blocks;
        bytes += part->rows[i].indirect_bytes;
    }
    set_colour(page, COLOUR_HEADING);
    fputs(text->heading, page->out);
    set_colour(page, COLOUR_NONE);
    if (asprintf(&sums, "  %s%s in %s, %s", text->reach, size_text(bytes).text,
                 things_text(part->rows[0].first->class, blocks).text,
                 count_text(part->count, "place", "places").text) < 0)
        sums = xalloc(NULL);
    clauses_put(page, columns_of(text->heading), sums);
    fputc('\n', page->out);
    free(sums);
}

/* The numbers of a row as text, and the widths of their columns. */
struct cells {
    struct amount total, direct, blocks, new_blocks;
};

struct widths {
    bool has_indirect, is_marked;
    int total, direct, blocks, new_blocks;
};

static struct cells cells_of(const struct leak_row *row, const struct page *page)
{
    uint64_t bytes = adds_indirect(page) ? row->indirect_bytes : 0;
    uint64_t blocks = adds_indirect(page) ? row->indirect_blocks : 0;
    struct cells c = {.total = size_text(row->bytes + bytes), .direct = size_text(row->bytes)};

    snprintf(c.blocks.text, sizeof c.blocks.text, "%llu",
             (unsigned long long)(row->blocks + blocks));
    snprintf(c.new_blocks.text, sizeof c.new_blocks.text, "%llu",
             (unsigned long long)row->new_blocks);
    return c;
}

static void widen(int *width, const struct amount *cell)
{
    int columns = (int)strlen(cell->text);

    *width = columns > *width ? columns : *width;
}

static struct widths widths_of(const struct part *part, uint32_t shown, const struct page *page)
{
    struct widths w = {.total = 7, .direct = 7, .blocks = 7, .new_blocks = 4};

    for (uint32_t i = 0; i < part->count; i++) {
        struct cells c = cells_of(&part->rows[i], page);
        w.has_indirect |= adds_indirect(page) && part->rows[i].indirect_blocks > 0;
        w.is_marked |= part->rows[i].is_marked;
        if (i >= shown)
            continue;
        widen(&w.total, &c.total);
        widen(&w.direct, &c.direct);
        widen(&w.blocks, &c.blocks);
        widen(&w.new_blocks, &c.new_blocks);
    }
    return w;
}

/* Print the cells of a row or the titles of the columns. Returns the column behind them. */
static uint32_t cells_put(const struct cells *c, const struct widths *w, FILE *out)
{
    int at = fprintf(out, " %*s", w->total, c->total.text);

    if (w->has_indirect)
        at += fprintf(out, "  %*s", w->direct, c->direct.text);
    at += fprintf(out, "  %*s", w->blocks, c->blocks.text);
    if (w->is_marked)
        at += fprintf(out, "  %*s", w->new_blocks, c->new_blocks.text);
    return (uint32_t)at;
}

static void titles_print(const struct part *part, const struct widths *w, const struct page *page)
{
    bool mapped = part->kind == LEAK_MAPPED;
    struct cells titles = {{"total"}, {"direct"}, {"blocks"}, {"new"}};

    if (mapped)
        strcpy(titles.blocks.text, "ranges");
    if (!w->has_indirect)
        strcpy(titles.total.text, "bytes");
    set_colour(page, COLOUR_FAINT);
    cells_put(&titles, w, page->out);
    fprintf(page->out, "  %s", mapped ? "mapped at" : "allocated at");
    set_colour(page, COLOUR_NONE);
    fputc('\n', page->out);
}

static void row_print(struct report *r, const struct leak_row *row, const struct widths *w,
                      const struct page *page)
{
    struct cells c = cells_of(row, page);
    uint32_t at = cells_put(&c, w, page->out) + 2;
    struct page own = *page;

    own.program = program_path(r, row->first->image);
    fputs("  ", page->out);
    if (row->first->site != NO_SITE) {
        chain_print(r,
                    &(struct chain){.site = row->first->site,
                                    .most = page->how->frames ? page->how->frames : TABLE_FRAMES,
                                    .frames = row->members > 1 ? page->how->match : 0,
                                    .indent = at,
                                    .id = row->first->id},
                    &own);
        return;
    }
    fputs("not known", page->out);
    id_put(row->first->id, at + 9, page);
    fputc('\n', page->out);
}

static uint32_t shown_at_most(const struct part *part, const struct page *page)
{
    uint32_t most = page->how->max_leaks;

    return most > 0 && most < part->count ? most : part->count;
}

static char *row_text(struct report *r, const struct leak_row *row, const struct widths *w,
                      struct page page)
{
    char *text = NULL;
    size_t bytes;

    page.out = xalloc(open_memstream(&text, &bytes));
    row_print(r, row, w, &page);
    fclose(page.out);
    return xalloc(text);
}

/* Print rows in at most *lines lines, but one at least. *lines: those left. Returns their number. */
static uint32_t rows_print_in(struct report *r, const struct part *part, uint32_t *lines,
                              const struct widths *w, const struct page *page)
{
    uint32_t most = shown_at_most(part, page), shown = 0;

    for (; shown < most; shown++) {
        char *text = row_text(r, &part->rows[shown], w, *page);
        uint32_t used = text_lines(text), others = shown + 1 < part->count; /* a line counts them */
        bool fits = shown == 0 || used + others <= *lines;
        if (fits)
            fputs(text, page->out);
        free(text);
        if (!fits)
            break;
        *lines -= used < *lines ? used : *lines;
    }
    return shown;
}

/* Returns how many of `lines` lines are left. */
static uint32_t table_print(struct report *r, const struct part *part, uint32_t lines,
                            const struct page *page)
{
    struct widths w = widths_of(part, lines < part->count ? lines : part->count, page);
    uint32_t left = lines > HEAD_LINES ? lines - HEAD_LINES : 1, shown;

    heading_print(part, page);
    titles_print(part, &w, page);
    shown = rows_print_in(r, part, &left, &w, page);
    if (shown == part->count)
        return left;
    more_print(r, part->count - shown, page);
    return left > 0 ? left - 1 : 0;
}

/* ---- in full --------------------------------------------------------------------------------- */

/* Print "POSSIBLE LEAK: a 24-byte block": the title of the sentence in capitals. */
static void record_head_put(const struct leak_row *row, uint32_t number, const struct page *page)
{
    static const enum colour colours[] = {[LEAK_DEFINITE] = COLOUR_ERROR,
                                          [LEAK_INDIRECT] = COLOUR_ERROR,
                                          [LEAK_POSSIBLE] = COLOUR_WARNING,
                                          [LEAK_MAPPED] = COLOUR_NONE};
    char *sentence = leak_sentence(row, page->how->deterministic);
    size_t title = strcspn(sentence, ":");
    char *head = xalloc(strndup(sentence, title));

    for (char *c = head; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    finding_head_put(page, number, colours[leak_kind(row->first->class)], head, sentence + title,
                     row->first->id);
    free(head);
    free(sentence);
}

static void record_print(struct report *r, const struct leak_row *row, uint32_t number,
                         struct page page)
{
    bool is_mapped = row->first->class == CLASS_MAPPED;
    char *witness = witness_sentence(r, row->first, page.how->deterministic);
    char *indirect = format_indirect(row);
    struct error_row made = {.label = made_label(row->first), .site = row->first->site};
    struct stack_row rows[3];
    uint32_t count = 0;
    char *label = NULL;

    page.program = program_path(r, row->first->image);
    if (row->members > 1 && page.how->match < page.frames)
        page.frames = page.how->match;
    record_head_put(row, number, &page);
    if (!is_mapped)
        rows[count++] = (struct stack_row){
            .label = row->blocks > 1 ? "first block" : "referrer", .by = witness, .site = NO_SITE};
    if (indirect)
        rows[count++] = (struct stack_row){.label = "and", .by = indirect, .site = NO_SITE};
    if (made.site != NO_SITE)
        symbolize_site(r, made.site);
    label = made.site == NO_SITE || is_mapped ? xalloc(strdup(made.label)) : row_label(r, &made);
    rows[count++] = (struct stack_row){.label = label,
                                       .by = made.site == NO_SITE ? "stack not recorded" : NULL,
                                       .callee = made.site == NO_SITE ? NULL : row_callee(r, &made),
                                       .site = made.site};
    rows_print(r, rows, count, &page);
    free(label);
    free(witness);
    free(indirect);
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
        fprintf(page->out, "  %-16s  %s in %s, %s\n", kind_text(kind)->summary,
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

/* The lines that the first of `parts` parts may take: later parts get up to an equal share each. */
static uint32_t lines_for(const struct part *part, uint32_t parts, uint32_t left)
{
    uint32_t share = left / parts;

    for (uint32_t i = 1; i < parts; i++) {
        uint32_t later = wanted(&part[i]) < share ? wanted(&part[i]) : share;
        left -= later < left ? later : left;
    }
    return left;
}

/* Returns the number of the next finding. */
static uint32_t records_print(struct report *r, const struct part *part, uint32_t number,
                              const struct page *page)
{
    uint32_t shown = shown_at_most(part, page);

    heading_print(part, page);
    for (uint32_t i = 0; i < shown; i++) {
        fputc('\n', page->out);
        record_print(r, &part->rows[i], number++, *page);
    }
    if (shown < part->count)
        more_print(r, part->count - shown, page);
    return number;
}

void leaks_print(struct report *r, uint32_t most, uint32_t number, const struct page *page)
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
    most -= count > 1 && most > count ? count - 1 : 0; /* the lines between them */
    for (uint32_t i = 0; i < count; i++) {
        lines = lines_for(&parts[i], count - i, most);
        if (i > 0)
            fputc('\n', page->out);
        if (is_table)
            most -= lines - table_print(r, &parts[i], lines, page);
        else
            number = records_print(r, &parts[i], number, page);
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

void leaks_sums_put(const struct report *r, FILE *out)
{
    struct leak_sum direct = leak_sum(r, LEAK_DEFINITE), indirect = leak_sum(r, LEAK_INDIRECT);
    struct leak_sum possible = leak_sum(r, LEAK_POSSIBLE);
    uint64_t blocks = direct.blocks + indirect.blocks;

    if (blocks == 0 && possible.blocks == 0) {
        fputs("no leaks", out);
        return;
    }
    fputs(blocks > 0 ? "leaked " : "", out);
    if (blocks > 0)
        sum_put(direct.bytes + indirect.bytes, blocks, direct.new_blocks + indirect.new_blocks, r,
                out);
    if (blocks > 0 && possible.blocks > 0)
        fputs(", ", out);
    if (possible.blocks > 0) {
        fputs(blocks > 0 ? "possibly " : "possibly leaked ", out);
        sum_put(possible.bytes, possible.blocks, possible.new_blocks, r, out);
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

char *leaks_verdict(const struct report *r, const struct print_options *how)
{
    uint64_t killed = killed_unchecked(r);
    bool known = leaks_are_known(r) && (!some_leaks_are_missing(r) || has_leaks(r));
    char *text = NULL;
    size_t bytes;
    FILE *out = xalloc(open_memstream(&text, &bytes));

    if (how->leaks == PRINT_LEAKS_NOTHING)
        killed = known = 0;
    if (killed > 0)
        fprintf(out, "leaks of %s not known%s",
                count_text(killed, "killed process", "killed processes").text, known ? "; " : "");
    if (known)
        leaks_sums_put(r, out);
    fclose(out);
    return xalloc(text);
}

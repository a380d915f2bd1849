/*
 * leak_rows.c - which leaks are shown as one row, and their sums.
 *
 * The report distinguishes leaks, and their ids, by whole stacks. If a number of frames to match is
 * given, leaks of one class with the same innermost frames form one row.
 */
#include <stdlib.h>
#include <string.h>

#include "findings.h"

struct row_key {
    uint32_t class;
    uint32_t count;
    uint32_t frames[RTC_STACK_FRAMES];
};

struct known_row {
    struct row_key key;
    uint32_t index;
    UT_hash_handle hh;
};

static struct row_key key_of(const struct report *r, const struct leak *leak, uint32_t match)
{
    const struct site *site = leak->site == NO_SITE ? NULL : &r->sites[leak->site];
    struct row_key key = {.class = leak->class};

    key.count = !site ? 0 : site->count < match ? site->count : match;
    for (uint32_t i = 0; i < key.count; i++)
        key.frames[i] = site->frames[i];
    return key;
}

/*
 * Return the index of the leak's row, `next` for a new row. match = 0: each leak has its own row.
 */
static uint32_t row_of(const struct report *r, struct known_row **all, const struct leak *leak,
                       uint32_t match, uint32_t next)
{
    struct known_row *known;
    struct row_key key;

    if (match == 0)
        return next;
    key = key_of(r, leak, match);
    HASH_FIND(hh, *all, &key, sizeof key, known);
    if (!known) {
        known = xalloc(calloc(1, sizeof *known));
        known->key = key;
        known->index = next;
        HASH_ADD(hh, *all, key, sizeof known->key, known);
    }
    return known->index;
}

static void row_add(struct leak_row *row, const struct leak *leak)
{
    row->first = row->first ? row->first : leak;
    row->members++;
    row->blocks += leak->blocks;
    row->bytes += leak->bytes;
    row->new_blocks += leak->new_blocks;
    row->indirect_blocks += leak->indirect_blocks;
    row->indirect_bytes += leak->indirect_bytes;
}

static int by_size(const void *a_, const void *b_)
{
    const struct leak_row *a = a_, *b = b_;
    uint64_t a_bytes = a->bytes + a->indirect_bytes, b_bytes = b->bytes + b->indirect_bytes;

    if (a_bytes != b_bytes)
        return a_bytes > b_bytes ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first; /* the report's order */
}

/*
 * Set the ids of the first `count` rows. Leaks of a kind are adjacent, and suffixes of ids follow
 * their order, so all leaks up to the last of these rows get ids.
 */
static void rows_name(struct report *r, const struct leak_row *rows, uint32_t count)
{
    uint32_t from, end = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = (uint32_t)(rows[i].first - r->leaks);
        end = index >= end ? index + 1 : end;
    }
    for (from = end;
         from > 0 && leak_kind(r->leaks[from - 1].class) == leak_kind(rows[0].first->class);)
        from--;
    leaks_name(r, from, end);
}

static void forget(struct known_row *all)
{
    struct known_row *known, *next;

    HASH_ITER (hh, all, known, next) {
        HASH_DEL(all, known);
        free(known);
    }
}

struct leak_row *leak_rows(struct report *r, uint32_t kind, uint32_t match, uint32_t named,
                           uint32_t *count)
{
    struct leak_row *rows = NULL;
    struct known_row *all = NULL;
    bool is_marked = leaks_are_marked(r);

    *count = 0;
    for (uint32_t i = 0; i < r->leak_count; i++) {
        uint32_t index;
        if (leak_kind(r->leaks[i].class) != kind || is_hidden(&r->leaks[i].disposition))
            continue;
        index = row_of(r, &all, &r->leaks[i], match, *count);
        if (index == *count) {
            rows = grow(rows, *count, sizeof *rows);
            rows[(*count)++] = (struct leak_row){.is_marked = is_marked};
        }
        row_add(&rows[index], &r->leaks[i]);
    }
    forget(all);
    if (*count > 0)
        qsort(rows, *count, sizeof *rows, by_size);
    if (named > 0 && *count > 0)
        rows_name(r, rows, named < *count ? named : *count);
    return rows;
}

uint32_t leak_rows_count(const struct report *r, uint32_t kinds, uint32_t match)
{
    struct known_row *all = NULL;
    uint32_t count = 0;

    for (uint32_t i = 0; i < r->leak_count; i++)
        if (leak_kind(r->leaks[i].class) & kinds && !is_hidden(&r->leaks[i].disposition))
            count += row_of(r, &all, &r->leaks[i], match, count) == count;
    forget(all);
    return count;
}

struct leak_row leak_row_of(const struct leak *leak)
{
    struct leak_row row = {0};

    row_add(&row, leak);
    return row;
}

static bool is_of_kind(enum leak_class class, uint32_t kind)
{
    return leak_kind(class) == kind || (class == CLASS_POSSIBLY_INDIRECT && kind == LEAK_POSSIBLE);
}

struct leak_sum leak_sum(const struct report *r, uint32_t kind)
{
    struct leak_sum sum = {.places = report_leaks(r, kind)};

    if (kind == LEAK_REACHABLE && !r->wants_reachable)
        return r->reachable;
    for (uint32_t i = 0; i < r->leak_count; i++) {
        if (!is_of_kind(r->leaks[i].class, kind) || is_hidden(&r->leaks[i].disposition))
            continue;
        sum.blocks += r->leaks[i].blocks;
        sum.bytes += r->leaks[i].bytes;
        sum.new_blocks += r->leaks[i].new_blocks;
    }
    return sum;
}

/*
 * The file has the amount indirectly lost through each head, not which blocks. So these are hidden
 * only if all heads that have some are hidden.
 */
static void hide_indirect(struct report *r, enum leak_class class, uint32_t heads)
{
    const struct disposition *disposition = NULL;

    for (uint32_t i = 0; i < r->leak_count; i++) {
        const struct leak *leak = &r->leaks[i];
        if (leak_kind(leak->class) != heads || leak->indirect_blocks == 0)
            continue;
        if (!is_hidden(&leak->disposition))
            return;
        disposition = &leak->disposition;
    }
    for (uint32_t i = 0; disposition && i < r->leak_count; i++)
        if (r->leaks[i].class == class && !is_hidden(&r->leaks[i].disposition))
            r->leaks[i].disposition = *disposition;
}

void report_hide_indirect(struct report *r, uint32_t kinds)
{
    if (!(kinds & LEAK_INDIRECT))
        hide_indirect(r, CLASS_INDIRECT, LEAK_DEFINITE);
    hide_indirect(r, CLASS_POSSIBLY_INDIRECT, LEAK_POSSIBLE);
}

bool leaks_are_known(const struct report *r)
{
    for (const struct image *image = r->images; image; image = image->hh.next)
        if (leak_check_was_made(image->leak_check))
            return true;
    return false;
}

bool leaks_are_marked(const struct report *r)
{
    for (const struct image *image = r->images; image; image = image->hh.next)
        if (image->marks > 0)
            return true;
    return false;
}

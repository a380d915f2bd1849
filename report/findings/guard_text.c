/*
 * guard_text.c - the value of --guard-stacks for a finding: its allocation stack, and the edge of the
 * block next to the bad access (--catch).  If a write has hit the bytes between two blocks, those of
 * the other one are guarded, too: whose end or start was passed is a guess then.
 */
#include <errno.h>
#include <string.h>

#include "findings.h"
#include "format/stack_key.h"

struct guarded {
    uint32_t site;  /* of the allocation */
    char edge;      /* b: both in turn, e: the end, s: the start */
    uint32_t gap;   /* at most so many bytes between the block and its guard page */
    uint32_t other; /* a second allocation: the other edge of its blocks, to the byte */
};

static uint64_t frame_key(const struct report *r, const struct frame *f, uint64_t key)
{
    if (f->module == NO_MODULE)
        return stack_key_add(key, 0, 0);
    const struct module *m = &r->modules[f->module];
    return stack_key_add(key, stack_key_object(m->build_id, m->build_id_bytes, m->path), f->offset);
}

static uint64_t key_of(const struct report *r, const struct site *s)
{
    uint64_t key = STACK_KEY_INITIAL;

    for (uint32_t i = 0; i < s->count && i < STACK_KEY_FRAMES && !r->frames[s->frames[i]].exact;
         i++)
        key = frame_key(r, &r->frames[s->frames[i]], key);
    return key;
}

/* The bytes between the block and the first bad one are the most that may stay unguarded. */
static struct guarded of_error(const struct error *e)
{
    struct guarded g = {e->alloc_stack, 'b', STACK_KEY_GAP_MAX, NO_SITE};
    uint64_t offset = e->address - e->block;

    if (e->damage == DAMAGE_BEFORE || (error_is_access(e) && e->address < e->block)) {
        g.edge = 's';
    } else if ((error_is_late(e) || error_is_access(e)) && offset >= e->block_bytes) {
        g.edge = 'e';
        if (offset - e->block_bytes < STACK_KEY_GAP_MAX)
            g.gap = (uint32_t)(offset - e->block_bytes);
    }
    if (error_is_late(e))
        g.other = e->other_alloc_stack;
    return g;
}

static struct guarded of_record(struct report *r, const char *id)
{
    struct guarded g = {NO_SITE, 'b', STACK_KEY_GAP_MAX, NO_SITE};
    uint32_t count;
    struct record *records = records_make(r, UINT32_MAX, &count);

    for (uint32_t i = 0; i < count; i++)
        if (strcmp(records[i].id, id) == 0)
            g.site = records[i].site;
    records_free(records, count);
    return g;
}

static struct guarded guarded_of(struct report *r, const char *id)
{
    for (uint32_t i = 0; i < r->error_count; i++)
        if (strcmp(r->errors[i].id, id) == 0)
            return of_error(&r->errors[i]);
    for (uint32_t i = 0; i < r->leak_count; i++)
        if (strcmp(r->leaks[i].id, id) == 0)
            return (struct guarded){r->leaks[i].site, 'b', STACK_KEY_GAP_MAX, NO_SITE};
    return of_record(r, id);
}

static void format_guarded(const struct report *r, const struct guarded *g,
                           char out[REPORT_GUARD_BYTES])
{
    uint64_t key = key_of(r, &r->sites[g->site]),
             other = g->other == NO_SITE ? key : key_of(r, &r->sites[g->other]);
    int n =
        snprintf(out, REPORT_GUARD_BYTES, "%016llx.%c%u", (unsigned long long)key, g->edge, g->gap);

    if (other != key)
        snprintf(out + n, REPORT_GUARD_BYTES - (size_t)n, ",%016llx.%c0", (unsigned long long)other,
                 g->edge == 's' ? 'e' : 's');
}

int report_guard_text(struct report *r, const char *given, char out[REPORT_GUARD_BYTES], char *err,
                      size_t room)
{
    char id[REPORT_ID_BYTES];
    int bad = report_find_id(r, given, id, err, room);
    struct guarded g =
        bad ? (struct guarded){.site = NO_SITE, .other = NO_SITE} : guarded_of(r, id);

    if (bad)
        return bad;
    if (g.site == NO_SITE || r->sites[g.site].count == 0) {
        snprintf(err, room, "the allocation stack of %.40s is not known", id);
        return -ENODATA;
    }
    format_guarded(r, &g, out);
    return 0;
}

/* ---- the next run ---------------------------------------------------------------------------- */

uint32_t report_late_writes(struct report *r, char id[][REPORT_ID_BYTES], uint32_t room)
{
    uint32_t count = 0;

    errors_name(r, r->error_count);
    for (uint32_t i = 0; i < r->error_count && count < room; i++) {
        const struct error *e = &r->errors[i];
        if (error_is_late(e) && e->alloc_stack != NO_SITE && !is_hidden(&e->disposition))
            snprintf(id[count++], REPORT_ID_BYTES, "%s", e->id);
    }
    return count;
}

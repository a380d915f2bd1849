/*
 * error_rows.c - the stacks of an error, in the order in which they are printed, and their labels.
 */
#include <stdlib.h>
#include <string.h>

#include "findings.h"

static const char *call_label(const struct error *e)
{
    if (error_is_late(e))
        return "detected at";
    if (e->kind == ERROR_CRASH)
        return "crashed";
    if (error_is_query(e))
        return "queried";
    if (e->kind == ERROR_DUF && !error_is_realloc(e))
        return "freed again";
    if (error_is_access(e) && e->crash.pc) /* by the program's own code */
        return e->kind == ERROR_RUA ? "read by" : "written by";
    return e->kind == ERROR_MIS && !error_is_realloc(e) ? "freed" : "called from";
}

static void row_add(struct error_rows *rows, struct error_row row)
{
    if (row.site != NO_SITE)
        rows->at[rows->count++] = row;
}

/* The calls that closed the descriptor twice, and the one that opened it. */
static struct error_rows descriptor_rows(const struct error *e)
{
    const struct thread *other =
        e->block_thread.number && e->block_thread.number != e->thread.number ? &e->block_thread
                                                                             : NULL;
    bool is_second = e->free_stack != NO_SITE;
    struct error_rows rows = {0};

    row_add(&rows, (struct error_row){.label = "closed again",
                                      .order = is_second ? "second " : "",
                                      .entry = e->entry,
                                      .site = e->stack});
    row_add(&rows, (struct error_row){.label = "closed",
                                      .order = is_second ? "first " : "",
                                      .entry = e->closer,
                                      .site = e->free_stack,
                                      .thread = other});
    row_add(&rows, (struct error_row){.label = "opened",
                                      .entry = e->opener,
                                      .site = e->alloc_stack,
                                      .thread = e->kind == ERROR_FDL ? other : NULL});
    return rows;
}

/* Name the thread that last allocated or freed the block only if it is another one. */
static struct error_rows block_rows(const struct error *e)
{
    const struct thread *other =
        e->block_thread.number && e->block_thread.number != e->thread.number ? &e->block_thread
                                                                             : NULL;
    bool freed = e->block_state == BLOCK_FREED || e->block_state == BLOCK_FREE;
    bool surely = e->kind == ERROR_DUF && e->block_state == BLOCK_FREED;
    bool is_second = surely && !error_is_named(e);
    bool is_call = !error_is_late(e) && e->kind != ERROR_CRASH;
    struct error_rows rows = {0};

    row_add(&rows, (struct error_row){.label = call_label(e),
                                      .order = is_second ? "second " : "",
                                      .entry = is_call ? e->entry : ENTRY_COUNT,
                                      .site = e->stack});
    row_add(&rows, (struct error_row){.label = surely                                ? "first freed"
                                               : e->crash.flags & CRASH_WAS_UNMAPPED ? "unmapped"
                                                                                     : "freed",
                                      .order = is_second ? "first " : "",
                                      .entry = e->crash.flags & CRASH_WAS_UNMAPPED ? e->entry : 0,
                                      .site = e->free_stack,
                                      .thread = freed ? other : NULL});
    row_add(&rows, (struct error_row){.label = "allocated",
                                      .site = e->alloc_stack,
                                      .thread = freed ? NULL : other});
    return rows;
}

struct error_rows error_rows(const struct error *e)
{
    return error_is_of_descriptor(e) ? descriptor_rows(e) : block_rows(e);
}

const char *row_callee(const struct report *r, const struct error_row *row)
{
    const struct site *site = &r->sites[row->site];
    uint32_t entry = row->entry ? row->entry : site->count ? r->frames[site->frames[0]].calls : 0;

    return entry < ENTRY_COUNT ? entry_name(entry) : NULL;
}

char *row_label(const struct report *r, const struct error_row *row)
{
    const char *name = row_callee(r, row);
    bool is_operator = name && strchr(name, ' ');
    char *text;
    int n;

    if (name)
        n = asprintf(&text, "%s%s%s", row->order ? row->order : "", name, is_operator ? "" : "()");
    else if (row->order && *row->order) /* a call by a pointer: the function is not known */
        n = asprintf(&text, "%sfree", row->order);
    else
        n = asprintf(&text, "%s", row->label);
    return xalloc(n < 0 ? NULL : text);
}

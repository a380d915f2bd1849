/*
 * error_ids.c - which errors are problems, and their ids.
 */
#include "findings.h"

bool error_is_shown(const struct error *e)
{
    return error_class(e->kind) != FINDING_NOTE;
}

bool error_is_warning(uint32_t kind)
{
    return error_class(kind) == FINDING_WARNING;
}

bool error_is_problem(const struct error *e)
{
    return error_class(e->kind) == FINDING_PROBLEM;
}

uint32_t error_main_site(const struct error *e)
{
    bool by_block = error_is_late(e) || e->stack == NO_SITE;
    return by_block && e->alloc_stack != NO_SITE ? e->alloc_stack : e->stack;
}

/*
 * The id of a bad access by a call contains the called function: a function of the program often
 * calls several of libc's, and their errors must not share an id.
 */
static const char *hashed_kind(const struct error *e)
{
    return error_is_by_call(e) && entry_name(e->entry) ? entry_name(e->entry) : error_code(e->kind);
}

void errors_name(struct report *r, uint32_t count)
{
    progress_begin(&r->progress, PROGRESS_SYMBOLS, count);
    for (uint32_t i = 0; i < count; i++) {
        struct error *e = &r->errors[i];
        if (error_main_site(e) != NO_SITE)
            symbolize_site(r, error_main_site(e));
        id_of_kind(r, error_code(e->kind), hashed_kind(e), error_main_site(e), e->id);
        progress_step(&r->progress);
    }
    progress_end(&r->progress);
    ids_make_unique(r->errors, count, sizeof *r->errors);
}

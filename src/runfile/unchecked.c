/*
 * unchecked.c - the run's table of programs that were started unchecked
 * (run_header.unchecked_offset).
 *
 * All images share one table: a program is identified by path and reason, and counted.  The table
 * has no lock, because its writers may be killed: a vfork child in its parent's memory, a forked
 * child that is no image yet, or a signal handler.  If two writers add the same program at once, it
 * may get two records; readers add them up.
 */
#include "runfile_priv.h"

#include <string.h>

/* The end of the path, if the path is longer than the record's field. */
static const char *kept_part(const char *path)
{
    size_t n = text_length(path), room = sizeof((struct unchecked_record *)0)->path;
    return n < room ? path : path + n - (room - 1);
}

static bool is_same(const struct unchecked_record *r, const char *path, uint32_t why,
                    uint32_t flags)
{
    return atomic_load_explicit(&r->reason, memory_order_acquire) == why && r->flags == flags &&
           text_length(r->path) == text_length(path) && text_starts(r->path, path);
}

static bool take(struct unchecked_record *r, const char *path, uint32_t why, uint32_t flags)
{
    uint32_t free = UNCHECKED_NONE;
    if (!atomic_compare_exchange_strong(&r->reason, &free, UNCHECKED_WRITING))
        return false;
    r->flags = flags;
    memcpy(r->path, path, text_length(path));
    /* pairs with is_same, and with readers outside */
    atomic_store_explicit(&r->reason, why, memory_order_release);
    return true;
}

struct unchecked_record *unchecked_note(const char *path, enum unchecked_reason why, uint32_t flags)
{
    image_count(&image()->unchecked_children);
    if (!run_header() || !run_header()->unchecked_offset)
        return NULL;
    const char *kept = kept_part(path);
    for (uint32_t i = 0; i < RTC_UNCHECKED_COUNT; i++) {
        struct unchecked_record *r = &run_unchecked(run_header())[i];
        if (is_same(r, kept, why, flags) || take(r, kept, why, flags)) {
            image_count(&r->count);
            return r;
        }
    }
    return NULL;
}

void unchecked_withdraw(struct unchecked_record *record)
{
    atomic_fetch_sub_explicit(&image()->unchecked_children, 1, memory_order_relaxed);
    if (record)
        atomic_fetch_sub_explicit(&record->count, 1, memory_order_relaxed);
}

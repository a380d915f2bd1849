/*
 * errors.c - merge the error records of all processes into the report's table.
 *
 * Stack ids become sites, which are the same in all processes. So one bug in a program that
 * runs as many processes is reported once. The details are those of the earliest error; the count
 * is the sum.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "read_priv.h"

static uint32_t site_or_none(struct report *r, struct image *image, uint32_t stack)
{
    return stack ? site_of_stack(r, image, stack) : NO_SITE;
}

static struct region region_of(struct report *r, struct image *image, const struct error_record *e)
{
    struct region region = {
        .what = e->region < REGION_COUNT ? e->region : REGION_UNKNOWN,
        .module = NO_MODULE,
        .offset = e->address - e->region_bias,
        .start = e->region_start,
        .end = e->region_end,
        .thread = thread_of_number(r, image, e->region_thread),
    };

    if (region.what == REGION_MODULE)
        region.module = module_of_number(r, image, e->region_module, e->address);
    memcpy(region.path, e->region_path, sizeof region.path);
    return region;
}

/* Files of earlier minor versions have 0: all their bad writes were detected afterwards. */
static uint64_t access_length_of(const struct error_record *e)
{
    bool is_access = e->kind == ERROR_RUA || (e->kind == ERROR_WUA && e->access_length > 0) ||
                     e->kind == ERROR_RUI;
    if (!is_access)
        return 0;
    return e->access_length > e->bytes ? e->access_length : e->bytes;
}

static struct error error_of(struct report *r, struct image *image, const struct error_record *e)
{
    struct error error = {
        .kind = atomic_load_explicit(&e->kind, memory_order_relaxed),
        .entry = e->entry < ENTRY_COUNT ? e->entry : ENTRY_NONE,
        .image = image->number,
        .time_ns = e->time_ns,
        .address = e->address,
        .bytes = e->bytes,
        .align = e->align,
        .block_align = e->block_align,
        .stack = site_or_none(r, image, e->stack),
        .alloc_stack = site_or_none(r, image, e->alloc_stack),
        .free_stack = site_or_none(r, image, e->free_stack),
        .other_alloc_stack = site_or_none(r, image, e->other_alloc_stack),
        .block = e->block,
        .block_bytes = e->block_bytes,
        .block_state = e->block_state,
        .block_family = e->block_family,
        .damage = e->damage < DAMAGE_COUNT ? e->damage : DAMAGE_NONE,
        .access_length = access_length_of(e),
        .thread = thread_of_number(r, image, e->thread),
        .block_thread = thread_of_number(r, image, e->block_thread),
        .region = region_of(r, image, e),
        .found_bytes = e->found_bytes,
        .crash = {e->pc, e->signal, e->signal_code, e->access, e->access_bytes, e->crash_flags,
                  e->sender, 0},
        .opener = e->opener < ENTRY_COUNT ? e->opener : ENTRY_NONE,
        .closer = e->closer < ENTRY_COUNT ? e->closer : ENTRY_NONE,
    };

    memcpy(error.found, e->found, sizeof error.found);
    return error;
}

/* `first` takes the details of an earlier error; counts and processes are added up. */
static void error_merge(struct error *first, const struct error *e, uint64_t count, uint32_t image)
{
    if (e->time_ns < first->time_ns) {
        struct error kept = *first;
        *first = *e;
        first->count = kept.count;
        first->images = kept.images;
    }
    first->count += count;
    image_numbers_add(&first->images, image);
}

/* Find the crash_record of an error, and add it to the report's. */
static uint32_t crash_record_take(struct report *r, const struct reading *rd,
                                  const struct error_record *e)
{
    for (uint32_t i = 0; i < rd->crash_count; i++) {
        const struct crash_record *c = &rd->crashes[i];
        if (c->pc != e->pc || c->thread != e->thread)
            continue;
        r->crashes = grow(r->crashes, r->crash_count, sizeof *r->crashes);
        r->crashes[r->crash_count++] = *c;
        return r->crash_count;
    }
    return 0;
}

void errors_take(struct report *r, const struct reading *rd)
{
    struct image *image = rd->image;

    for (uint32_t i = 0; i < rd->error_count; i++) {
        const struct error_record *e = &rd->errors[i];
        uint64_t times = atomic_load_explicit(&e->count, memory_order_relaxed);
        struct error error;
        uint32_t index;
        if (atomic_load_explicit(&e->kind, memory_order_relaxed) >= ERROR_KIND_COUNT) {
            r->strange_errors++;
            continue;
        }
        error = error_of(r, image, e);
        if (error.kind == ERROR_CRASH)
            error.crash.record = crash_record_take(r, rd, e);
        index = error_intern(r, &error);
        error_merge(&r->errors[index], &error, times ? times : 1, image->number);
    }
}

/* Crashes first, then by time. */
static int by_time(const void *a_, const void *b_)
{
    const struct error *a = a_, *b = b_;

    if ((a->kind == ERROR_CRASH) != (b->kind == ERROR_CRASH))
        return a->kind == ERROR_CRASH ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack; /* the same order in every run */
}

void errors_sort(struct report *r)
{
    for (uint32_t i = 0; i < r->error_count; i++)
        image_numbers_sort(&r->errors[i].images);
    if (r->error_count > 0)
        qsort(r->errors, r->error_count, sizeof *r->errors, by_time);
}

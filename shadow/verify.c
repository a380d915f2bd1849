/*
 * verify.c - the definition of a valid run file.
 *
 * The file is not trusted.  It may be truncated, corrupted by a wild store of the checked program,
 * incomplete after a kill, or forged for a reader that runs as root.  Readers use only data that
 * was verified here, in a private copy that no other process can change; so each check stays true.
 * The states that a kill can leave are valid: an area claimed but not begun (its head is all zero);
 * an image or segment under construction (only its link in the chain is checked); two current
 * copies of one slab.
 *
 * Every loop terminates: a segment is at least as long as its header, and the number of items is
 * limited by a verified capacity.  The cost is one pass over the data. verify_items.c verifies the
 * items of segments.
 */
#include "verify_priv.h"

#include <stdatomic.h>

/* ---- the run --------------------------------------------------------------------------------- */

static bool table_fits(uint64_t offset, uint64_t count, uint64_t item, uint64_t limit)
{
    uint64_t bytes;
    return offset % 8 == 0 && offset >= sizeof(struct run_header) &&
           checked_mul(count, item, &bytes) && range_inside(offset, bytes, limit);
}

static bool tables_are_disjoint(const struct run_header *run)
{
    uint64_t area_end = run->area_table_offset + run->area_count * sizeof(struct area_entry);
    uint64_t lease_end = run->lease_table_offset + run->lease_count * sizeof(struct lease);
    return area_end <= run->lease_table_offset || lease_end <= run->area_table_offset;
}

static bool verify_tables(const struct run_header *run, struct verify_error *err)
{
    uint64_t limit = run->area_bytes < RTC_RUN_HEAD_BYTES ? run->area_bytes : RTC_RUN_HEAD_BYTES;

    if (!table_fits(run->area_table_offset, run->area_count, sizeof(struct area_entry), limit))
        return fail(err, "area table outside the run's head",
                    offsetof(struct run_header, area_table_offset));
    if (run->lease_count > RTC_LEASE_COUNT)
        return fail(err, "too many leases", offsetof(struct run_header, lease_count));
    if (!table_fits(run->lease_table_offset, run->lease_count, sizeof(struct lease), limit))
        return fail(err, "lease table outside the run's head",
                    offsetof(struct run_header, lease_table_offset));
    if (!tables_are_disjoint(run))
        return fail(err, "area and lease table overlap",
                    offsetof(struct run_header, lease_table_offset));
    if (run->unchecked_offset != 0 && (run->unchecked_offset < run_leases_end(run) ||
                                       !table_fits(run->unchecked_offset, RTC_UNCHECKED_COUNT,
                                                   sizeof(struct unchecked_record), limit)))
        return fail(err, "unchecked table outside its place",
                    offsetof(struct run_header, unchecked_offset));
    if (run->heap_table_offset != 0 &&
        (run->heap_table_offset < run_unchecked_end(run) ||
         !table_fits(run->heap_table_offset, RTC_HEAPS_MAX, sizeof(struct heap_slot), limit)))
        return fail(err, "table of heaps outside its place",
                    offsetof(struct run_header, heap_table_offset));
    return true;
}

static bool verify_heap(const struct run_header *run, uint64_t areas_end, struct verify_error *err)
{
    if (run->heap_count > RTC_HEAPS_MAX || (run->heap_count && !run->heap_table_offset))
        return fail(err, "too many heaps", offsetof(struct run_header, heap_count));
    if (run->heap_offset == 0 && run->heap_bytes == 0)
        return true;
    if (run->heap_offset < areas_end || run->heap_offset % RTC_AREA_HEAD_BYTES != 0 ||
        !range_inside(run->heap_offset, run->heap_bytes, run->file_bytes) ||
        !range_inside(run->heap_offset, run->heap_bytes * run->heap_count, run->file_bytes))
        return fail(err, "heap outside its part of the file",
                    offsetof(struct run_header, heap_offset));
    return true;
}

static bool verify_launcher_offset(const struct run_header *run, struct verify_error *err)
{
    uint64_t at = run->launcher_offset;

    if (at == 0 || (at % 8 == 0 && at >= run_tables_end(run) &&
                    range_inside(at, sizeof(struct launcher_record), run->area_bytes)))
        return true;
    return fail(err, "what the launcher told is outside its place",
                offsetof(struct run_header, launcher_offset));
}

/*
 * Verify the entries of the tables.  All images share these tables, so a wild store may have
 * corrupted an entry; no writer of ours produces an invalid one.
 */
static bool verify_entries(const struct run_header *run, struct verify_error *err)
{
    const struct area_entry *areas = (const void *)((const char *)run + run->area_table_offset);
    const struct lease *leases = (const void *)((const char *)run + run->lease_table_offset);

    for (uint32_t i = 0; i < run->area_count; i++) {
        uint64_t owner = atomic_load_explicit(&areas[i].owner, memory_order_relaxed);
        if (owner >> 32 > AREA_RECLAIMING)
            return fail(err, "area in an unknown state",
                        run->area_table_offset + i * sizeof areas[0]);
    }
    for (uint32_t i = 0; i < run->lease_count; i++)
        if (atomic_load_explicit(&leases[i].state, memory_order_relaxed) > LEASE_EXECED)
            return fail(err, "lease in an unknown state",
                        run->lease_table_offset + i * sizeof leases[0]);
    for (uint32_t i = 0; run->unchecked_offset && i < RTC_UNCHECKED_COUNT; i++)
        if (run_unchecked(run)[i].path[sizeof run_unchecked(run)[i].path - 1])
            return fail(err, "path of an unchecked program has no end",
                        run->unchecked_offset + i * sizeof run_unchecked(run)[i]);
    return true;
}

bool verify_run(const struct run_header *run, uint64_t file_bytes, struct verify_error *err)
{
    uint64_t areas_end;

    *err = (struct verify_error){0};
    if (file_bytes < RTC_AREA_TABLE_OFFSET)
        return fail(err, "shorter than a run header", file_bytes);
    if (run->magic != RTC_RUN_MAGIC)
        return fail(err, "not a run file", 0);
    if (run->version_major != RTC_VERSION_MAJOR)
        return fail(err, "another major version", offsetof(struct run_header, version_major));
    if (run->file_bytes > file_bytes || run->file_bytes > RTC_FILE_BYTES_MAX)
        return fail(err, "file is cut, or longer than any",
                    offsetof(struct run_header, file_bytes));
    if (run->area_count == 0 || run->area_count > RTC_AREA_COUNT_MAX)
        return fail(err, "no areas, or too many", offsetof(struct run_header, area_count));
    if (!is_pow2(run->area_bytes) || run->area_bytes < 2ull * RTC_AREA_HEAD_BYTES)
        return fail(err, "area size is no power of two", offsetof(struct run_header, area_bytes));
    if (!checked_mul(run->area_bytes, run->area_count, &areas_end) || areas_end > run->file_bytes)
        return fail(err, "areas do not fit the file", offsetof(struct run_header, area_bytes));
    if (run->mode != RUN_BY_LAUNCHER && run->mode != RUN_BY_HAND)
        return fail(err, "unknown mode", offsetof(struct run_header, mode));
    if (run->kept_bytes > run->file_bytes)
        return fail(err, "more kept than there was", offsetof(struct run_header, kept_bytes));
    if (!is_text(run->folder, sizeof run->folder))
        return fail(err, "folder has no end", offsetof(struct run_header, folder));
    if (!is_text(run->host, sizeof run->host))
        return fail(err, "host name has no end", offsetof(struct run_header, host));
    if (!is_text(run->options, sizeof run->options))
        return fail(err, "options have no end", offsetof(struct run_header, options));
    return verify_heap(run, areas_end, err) && verify_tables(run, err) &&
           verify_launcher_offset(run, err) && verify_entries(run, err);
}

/* ---- the launcher's record ------------------------------------------------------------------- */

/* Is it in a range that fits an integer, also for seconds as nanoseconds? */
static bool is_measure(double n, double most)
{
    return n >= 0 && n <= most; /* false for NaN, too */
}

static bool are_measures(const struct measured *m)
{
    for (uint32_t i = 0; i < MEASURED_COUNT; i++) {
        const struct measured_value *v = &m->of[i];
        const double all[] = {v->with, v->without,    v->ratio,        v->low,
                              v->high, v->least_with, v->least_without};
        static_assert(sizeof all == sizeof *v, "all of them");
        for (uint32_t k = 0; k < countof(all); k++)
            if (!is_measure(all[k], i < MEASURED_RSS ? 1e9 : 1e18))
                return false;
    }
    return is_measure(m->sure, 1);
}

bool verify_launcher(const struct launcher_record *launcher, uint64_t offset,
                     struct verify_error *err)
{
    *err = (struct verify_error){0};
    if (launcher->counters > LAUNCHER_COUNTERS_MAX)
        return fail(err, "more counters than fit", offset);
    for (uint32_t i = 0; i < launcher->counters; i++) {
        const struct launcher_counter *c = &launcher->counter[i];
        if (!is_text(c->name, sizeof c->name) || !is_text(c->text, sizeof c->text))
            return fail(err, "a counter's words have no end",
                        offset + (uint64_t)((const char *)c - (const char *)launcher));
        if (c->flags & LAUNCHER_SCALED && c->running_ns >= c->enabled_ns)
            return fail(err, "an estimate of what was counted all the time",
                        offset + (uint64_t)((const char *)c - (const char *)launcher));
    }
    if (!are_measures(&launcher->measured))
        return fail(err, "a measure is no such number",
                    offset + offsetof(struct launcher_record, measured));
    return true;
}

/* ---- segments -------------------------------------------------------------------------------- */

static bool verify_segment(const struct look *l, const struct segment *s)
{
    uint32_t state = atomic_load_explicit(&s->state, memory_order_relaxed);

    if (state > SEGMENT_VACANT)
        return bad(l, s, "segment in an unknown state");
    if (state != SEGMENT_CURRENT && state != SEGMENT_SUPERSEDED)
        return true; /* its items are not read */
    if (s->kind == 0)
        return bad(l, s, "segment without a kind");
    if (s->kind >= SEGMENT_KIND_COUNT)
        return true; /* defined by a later minor version */
    return verify_items(l, s);
}

static_assert(sizeof(struct segment) == RTC_SEGMENT_ALIGN, "a chain is walked in whole headers");

/* Verify the segments from `off` to exactly `used`. */
static bool verify_chain(const struct look *l, uint64_t off, uint64_t used)
{
    while (off < used) {
        /* The header is inside: both ends of the chain are multiples of its size. */
        const struct segment *s = (const void *)(l->base + off);
        if (s->magic != RTC_SEGMENT_MAGIC)
            return bad(l, s, "no segment where one must begin");
        if (s->bytes < sizeof *s || s->bytes % RTC_SEGMENT_ALIGN != 0)
            return bad(l, s, "segment of an impossible length");
        if (!range_inside(off, s->bytes, used))
            return bad(l, s, "segment reaches over the end");
        if (!verify_segment(l, s))
            return false;
        off += s->bytes;
    }
    return true;
}

/* ---- areas ----------------------------------------------------------------------------------- */

static bool verify_image_texts(const struct look *l, const struct image_header *h)
{
    if (!is_text(h->exe, sizeof h->exe))
        return bad(l, h->exe, "program path has no end");
    if (!is_text(h->name, sizeof h->name))
        return bad(l, h->name, "program name has no end");
    if (h->argv_bytes > sizeof h->argv || (h->argv_bytes > 0 && h->argv[h->argv_bytes - 1] != 0))
        return bad(l, h->argv, "arguments have no end");
    return true;
}

static bool verify_image(const struct look *l, const struct image_header *h)
{
    uint64_t heap_end;

    if (h->magic != RTC_IMAGE_MAGIC)
        return bad(l, h, "no image header where one must be");
    if (h->image != l->image)
        return bad(l, h, "header of another image");
    if (h->parent >= h->image)
        return bad(l, h, "image older than its parent");
    if (h->how < IMAGE_ROOT || h->how > IMAGE_FORK_UNSEEN)
        return bad(l, h, "image of unknown origin");
    if (atomic_load_explicit(&h->state, memory_order_relaxed) > IMAGE_ENDING)
        return bad(l, h, "image in an unknown state");
    if (h->end_how > END_EXEC)
        return bad(l, h, "image with an unknown end");
    if (!checked_add(h->heap_base, atomic_load_explicit(&h->heap_bytes, memory_order_relaxed),
                     &heap_end))
        return bad(l, h, "heap without an end");
    if (h->header_bytes < sizeof *h || h->header_bytes % RTC_SEGMENT_ALIGN != 0)
        return bad(l, h, "image header of an impossible length");
    return verify_image_texts(l, h);
}

static bool verify_head(const struct look *l, const struct area_head *head,
                        const struct run_header *run, uint32_t index)
{
    if (head->magic != RTC_AREA_MAGIC)
        return bad(l, head, "no area head where one must be");
    if (head->area != index)
        return bad(l, head, "head of another area");
    if (head->image == 0)
        return bad(l, head, "area without an image");
    if ((head->ordinal == 0) != (head->previous == 0))
        return bad(l, head, "area without its predecessor");
    if (head->previous == index || head->previous >= run->area_count)
        return bad(l, head, "area with an impossible predecessor");
    return true;
}

/* Set *first to the offset of the first segment; 0: the image is still under construction. */
static bool first_segment(const struct look *l, const struct area_head *head, uint64_t bytes,
                          uint64_t used, uint64_t *first)
{
    const struct image_header *h = (const void *)(l->base + RTC_AREA_HEAD_BYTES);

    *first = RTC_AREA_HEAD_BYTES;
    if (head->ordinal != 0)
        return true;
    if (!range_inside(RTC_AREA_HEAD_BYTES, sizeof *h, bytes)) {
        *first = 0; /* a copy of its used part, which may not include the header yet */
        return used == RTC_AREA_HEAD_BYTES || bad(l, head, "area too short for an image header");
    }
    if (h->magic == 0) {
        *first = 0;
        return true;
    }
    if (!verify_image(l, h))
        return false;
    /* A new image writes its header before used_bytes. */
    *first = used == RTC_AREA_HEAD_BYTES ? 0 : (uint64_t)RTC_AREA_HEAD_BYTES + h->header_bytes;
    return true;
}

bool verify_area(const void *area, uint64_t bytes, const struct run_header *run, uint32_t index,
                 struct verify_error *err)
{
    const struct area_head *head = area;
    struct look l = {area, area_offset(run, index), 0, err};
    uint64_t used, first;

    *err = (struct verify_error){0};
    if (index == 0 || index >= run->area_count)
        return fail(err, "no such area", l.file_offset);
    if (bytes < RTC_AREA_HEAD_BYTES)
        return bad(&l, area, "shorter than an area head");
    if (head->magic == 0)
        return true; /* claimed, not begun: it has no content */
    if (!verify_head(&l, head, run, index))
        return false;
    l.image = head->image;
    used = atomic_load_explicit(&head->used_bytes, memory_order_relaxed);
    if (used > run->area_bytes || used > bytes || used % RTC_SEGMENT_ALIGN != 0)
        return bad(&l, &head->used_bytes, "area with an impossible length");
    if (!first_segment(&l, head, bytes, used, &first))
        return false;
    if (first == 0)
        return true;
    if (used < first)
        return bad(&l, &head->used_bytes, "area ends before its first segment");
    return verify_chain(&l, first, used);
}

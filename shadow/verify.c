/*
 * verify.c - the one statement of what a good run file is.
 *
 * The file is hearsay: it may be cut, scribbled over by a wild store of the checked program, torn
 * by a kill, or made up by somebody who wants root to read it.  Readers outside look at nothing
 * that has not passed here, on a copy of their own that nobody else can change; so a check made
 * here stays true.  What a kill can leave behind is good: an area claimed but not begun (its head
 * is all zero), an image or segment still being built (only its place in the chain is checked),
 * two current copies of one slab.
 *
 * Every loop ends: segments have a length of at least their header, items are counted by a
 * capacity that was seen to fit.  Cost is one pass over the bytes given.
 */
#include "shadow.h"

#include <stdatomic.h>
#include <string.h>

/* The furthest unit a heap below 2^47 can have. */
#define UNIT_LIMIT (1ull << (47 - RTC_UNIT_SHIFT))

#define BUILD_ID_MAX sizeof(((struct module_record *)0)->build_id)

/* What is being looked at: where errors are to be reported, and in whose terms. */
struct look {
    const char *base;     /* the area */
    uint64_t file_offset; /* of base */
    uint32_t image;       /* whose area it is */
    struct verify_error *err;
};

static bool fail(struct verify_error *err, const char *what, uint64_t offset)
{
    err->what = what;
    err->offset = offset;
    return false;
}

static bool bad(const struct look *l, const void *where, const char *what)
{
    return fail(l->err, what, l->file_offset + (uint64_t)((const char *)where - l->base));
}

static bool is_text(const char *s, size_t bytes)
{
    return memchr(s, 0, bytes) != NULL;
}

/* ---- the run ------------------------------------------------------------------------------ */

static bool table_fits(uint64_t offset, uint64_t count, uint64_t item, uint64_t limit)
{
    uint64_t bytes;
    return offset % 8 == 0 && offset >= sizeof(struct run_header) &&
           checked_mul(count, item, &bytes) && range_inside(offset, bytes, limit);
}

static bool tables_apart(const struct run_header *run)
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
    if (!tables_apart(run))
        return fail(err, "area and lease table overlap",
                    offsetof(struct run_header, lease_table_offset));
    return true;
}

static bool verify_heap(const struct run_header *run, uint64_t areas_end, struct verify_error *err)
{
    if (run->heap_offset == 0 && run->heap_bytes == 0)
        return true;
    if (run->heap_offset < areas_end || run->heap_offset % RTC_AREA_HEAD_BYTES != 0 ||
        !range_inside(run->heap_offset, run->heap_bytes, run->file_bytes))
        return fail(err, "heap outside its part of the file",
                    offsetof(struct run_header, heap_offset));
    return true;
}

/* The entries themselves; they are shared by all images, so a mad one proves nothing about a file
 * - but no writer of ours makes one. */
static bool verify_entries(const struct run_header *run, struct verify_error *err)
{
    const struct area_entry *areas = (const void *)((const char *)run + run->area_table_offset);
    const struct lease *leases = (const void *)((const char *)run + run->lease_table_offset);

    for (uint32_t i = 0; i < run->area_count; i++) {
        uint64_t owner = atomic_load_explicit(&areas[i].owner, memory_order_relaxed);
        if (owner >> 32 > AREA_TAKING)
            return fail(err, "area in an unknown state",
                        run->area_table_offset + i * sizeof areas[0]);
    }
    for (uint32_t i = 0; i < run->lease_count; i++)
        if (atomic_load_explicit(&leases[i].state, memory_order_relaxed) > LEASE_LEFT)
            return fail(err, "lease in an unknown state",
                        run->lease_table_offset + i * sizeof leases[0]);
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
    if (!is_text(run->host, sizeof run->host))
        return fail(err, "host name has no end", offsetof(struct run_header, host));
    if (!is_text(run->options, sizeof run->options))
        return fail(err, "options have no end", offsetof(struct run_header, options));
    return verify_heap(run, areas_end, err) && verify_tables(run, err) && verify_entries(run, err);
}

/* ---- items -------------------------------------------------------------------------------- */

static const void *item_at(const struct segment *s, uint32_t i)
{
    return (const char *)s + sizeof *s + (uint64_t)i * s->item_bytes;
}

static bool state_holds_block(enum block_state state)
{
    return state == BLOCK_LIVE || state == BLOCK_FREED;
}

static bool word_is_good(uint64_t word)
{
    return word_state(word) <= BLOCK_INHERITED && word_family(word) < FAMILY_COUNT;
}

static bool verify_slab(const struct look *l, const struct segment *s)
{
    uint64_t used, end;

    if (s->slot_bytes == 0 || s->units == 0)
        return bad(l, s, "slab without slots or units");
    if (!checked_add(s->index, s->units, &end) || end > UNIT_LIMIT)
        return bad(l, s, "slab outside any heap");
    if (!checked_mul(s->capacity, s->slot_bytes, &used) || used > (uint64_t)s->units
                                                                      << RTC_UNIT_SHIFT)
        return bad(l, s, "slots do not fit the slab");
    if (atomic_load_explicit(&s->count, memory_order_relaxed) != s->capacity)
        return bad(l, s, "slab with missing records");

    for (uint32_t i = 0; i < s->capacity; i++) {
        const struct block_record *b = item_at(s, i);
        uint64_t word = atomic_load_explicit(&b->word, memory_order_relaxed);
        if (!word_is_good(word))
            return bad(l, b, "block in an unknown state or family");
        if (state_holds_block(word_state(word)) && word_size(word) >= s->slot_bytes)
            return bad(l, b, "block leaves no redzone in its slot");
    }
    return true;
}

static bool large_fits(const struct large_record *r)
{
    uint64_t request = atomic_load_explicit(&r->request, memory_order_relaxed);
    uint64_t end;

    return checked_add(r->unit, r->units, &end) && end <= UNIT_LIMIT &&
           request < r->units << RTC_UNIT_SHIFT;
}

static bool verify_large(const struct look *l, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct large_record *r = item_at(s, i);
        uint64_t word = atomic_load_explicit(&r->block.word, memory_order_relaxed);
        if (!word_is_good(word))
            return bad(l, r, "large block in an unknown state or family");
        if (state_holds_block(word_state(word)) && !large_fits(r))
            return bad(l, r, "large block leaves no redzone in its units");
    }
    return true;
}

static bool verify_recorded(const struct look *l, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct recorded_block *r = item_at(s, i);
        uint64_t start = atomic_load_explicit(&r->start, memory_order_relaxed), end;
        if (!word_is_good(atomic_load_explicit(&r->block.word, memory_order_relaxed)))
            return bad(l, r, "recorded block in an unknown state or family");
        if (!checked_add(start, atomic_load_explicit(&r->bytes, memory_order_relaxed), &end))
            return bad(l, r, "recorded block beyond all memory");
    }
    return true;
}

/* Parents have lower ids: so every stack ends, and no reader needs to look for circles. */
static bool verify_depot(const struct look *l, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    if (s->capacity > DEPOT_CHUNK_NODES || s->index >= 1ull << (32 - DEPOT_CHUNK_SHIFT))
        return bad(l, s, "depot chunk that no stack id can name");
    for (uint32_t i = 0; i < count; i++) {
        const struct depot_node *n = item_at(s, i);
        if (atomic_load_explicit(&n->pc, memory_order_relaxed) == 0 || depot_is_root(n->parent))
            continue;
        if (depot_place_of(n->parent) >= DEPOT_CHUNK_NODES)
            return bad(l, n, "depot node with an impossible parent");
        if (n->parent >= depot_id((uint32_t)s->index, i))
            return bad(l, n, "depot node older than its parent");
    }
    return true;
}

static bool verify_threads(const struct look *l, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct thread_record *t = item_at(s, i);
        if (!is_text(t->name, sizeof t->name))
            return bad(l, t, "thread name has no end");
        if (t->number > BLOCK_THREAD_MASK)
            return bad(l, t, "thread number that no block can name");
    }
    return true;
}

static bool verify_modules(const struct look *l, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct module_record *m = item_at(s, i);
        if (m->start >= m->end)
            return bad(l, m, "module of no length");
        if (m->build_id_bytes > BUILD_ID_MAX)
            return bad(l, m, "build-id too long");
        if (!is_text(m->path, sizeof m->path))
            return bad(l, m, "module path has no end");
    }
    return true;
}

static bool verify_errors(const struct look *l, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct error_record *e = item_at(s, i);
        if (atomic_load_explicit(&e->kind, memory_order_relaxed) == ERROR_NONE)
            continue; /* the writer was killed on the way */
        if (e->block_state > BLOCK_INHERITED || e->block_family >= FAMILY_COUNT)
            return bad(l, e, "error about a block in an unknown state or family");
        if (e->found_bytes > ERROR_BYTES_FOUND)
            return bad(l, e, "error with more bytes than it has room for");
        if (!is_text(e->region_path, sizeof e->region_path))
            return bad(l, e, "path of an error's region has no end");
    }
    return true;
}

/* A block of this many bytes would not fit any address space; sums of groups cannot wrap. */
#define HEAP_BYTES_MAX (1ull << 47)

static bool lies_in_block(uint64_t address, uint64_t block, uint64_t bytes)
{
    return address >= block && address - block <= bytes; /* just behind it: a pointer to its end */
}

static bool witness_is_good(const struct leak_group *g)
{
    switch (g->witness) {
    case WITNESS_NOBODY:
    case WITNESS_SELF:
        return true;
    case WITNESS_ROOT:
        return g->root != 0 && lies_in_block(g->value, g->block, g->block_bytes);
    case WITNESS_BLOCK:
        return lies_in_block(g->at, g->from, g->from_bytes) &&
               lies_in_block(g->value, g->block, g->block_bytes);
    default:
        return g->witness < WITNESS_COUNT && lies_in_block(g->value, g->block, g->block_bytes);
    }
}

static bool sums_are_good(const struct leak_group *g)
{
    return g->bytes < HEAP_BYTES_MAX && g->blocks < HEAP_BYTES_MAX && g->behind_bytes < HEAP_BYTES_MAX &&
           g->behind_blocks < HEAP_BYTES_MAX && g->new_blocks <= g->blocks && g->new_bytes <= g->bytes;
}

static bool verify_leaks(const struct look *l, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct leak_group *g = item_at(s, i);
        uint32_t reach = atomic_load_explicit(&g->reach, memory_order_relaxed);
        if (reach == REACH_NONE)
            continue; /* the writer was killed on the way */
        if (reach >= REACH_COUNT)
            return bad(l, g, "blocks that are reached in an unknown way");
        if (!sums_are_good(g))
            return bad(l, g, "leak group with impossible sums");
        if (g->block_bytes >= HEAP_BYTES_MAX || g->from_bytes >= HEAP_BYTES_MAX)
            return bad(l, g, "leaked block larger than any");
        if (!witness_is_good(g))
            return bad(l, g, "leak group with an impossible witness");
    }
    return true;
}

static bool verify_roots(const struct look *l, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct root_record *root = item_at(s, i);
        uint32_t kind = root->kind;
        if (kind == ROOT_NONE)
            continue;
        if (kind >= ROOT_KIND_COUNT)
            return bad(l, root, "root of an unknown kind");
        if (root->start >= root->end)
            return bad(l, root, "root of no length");
        if (!is_text(root->path, sizeof root->path))
            return bad(l, root, "path of a root has no end");
    }
    return true;
}

static bool verify_leak_checks(const struct look *l, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct leak_check_record *check = item_at(s, i);
        uint32_t number = atomic_load_explicit(&check->number, memory_order_relaxed);
        if (number != 0 && number != s->index)
            return bad(l, check, "leak check with another's number");
    }
    return true;
}

static bool verify_texts(const struct look *l, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct text_record *text = item_at(s, i);
        if (!is_text(text->text, sizeof text->text))
            return bad(l, text, "text has no end");
    }
    return true;
}

/* Of marks and costs any number may be; of ranges a kill may leave one half written: who reads them leaves it out. */
static bool verify_any(const struct look *l, const struct segment *s)
{
    (void)l;
    (void)s;
    return true;
}

/* ---- segments ----------------------------------------------------------------------------- */

static const struct item_rule {
    uint16_t least; /* bytes of an item; writers of a later minor version may have longer ones */
    bool (*verify)(const struct look *l, const struct segment *s);
} item_rules[] = {
    [SEGMENT_SLAB] = {sizeof(struct block_record), verify_slab},
    [SEGMENT_LARGE] = {sizeof(struct large_record), verify_large},
    [SEGMENT_DEPOT] = {sizeof(struct depot_node), verify_depot},
    [SEGMENT_THREADS] = {sizeof(struct thread_record), verify_threads},
    [SEGMENT_MODULES] = {sizeof(struct module_record), verify_modules},
    [SEGMENT_ERRORS] = {sizeof(struct error_record), verify_errors},
    [SEGMENT_LEAKS] = {sizeof(struct leak_group), verify_leaks},
    [SEGMENT_ROOTS] = {sizeof(struct root_record), verify_roots},
    [SEGMENT_LEAK_CHECKS] = {sizeof(struct leak_check_record), verify_leak_checks},
    [SEGMENT_CHECK_LEAKS] = {sizeof(struct leak_group), verify_leaks},
    [SEGMENT_CHECK_ROOTS] = {sizeof(struct root_record), verify_roots},
    [SEGMENT_TEXTS] = {sizeof(struct text_record), verify_texts},
    [SEGMENT_RECORDED] = {sizeof(struct recorded_block), verify_recorded},
    [SEGMENT_MAPPINGS] = {sizeof(struct map_region), verify_any},
    [SEGMENT_MAP_SUM] = {sizeof(struct map_sum), verify_any},
    [SEGMENT_MARKS] = {sizeof(struct mark_record), verify_any},
    [SEGMENT_DISPATCHED] = {sizeof(struct dispatch_record), verify_any},
    [SEGMENT_COSTS] = {sizeof(struct cost_record), verify_any},
};
static_assert(countof(item_rules) == SEGMENT_KIND_COUNT, "a rule for each");

static bool verify_items(const struct look *l, const struct segment *s)
{
    uint64_t items, end;

    if (s->image != l->image)
        return bad(l, s, "segment of another image");
    if (s->item_bytes < item_rules[s->kind].least || s->item_bytes % 8 != 0)
        return bad(l, s, "items of a strange size");
    if (!checked_mul(s->capacity, s->item_bytes, &items) || !checked_add(items, sizeof *s, &end) ||
        end > s->bytes)
        return bad(l, s, "items do not fit the segment");
    if (atomic_load_explicit(&s->count, memory_order_relaxed) > s->capacity)
        return bad(l, s, "more items than fit");
    return item_rules[s->kind].verify(l, s);
}

static bool verify_segment(const struct look *l, const struct segment *s)
{
    uint32_t state = atomic_load_explicit(&s->state, memory_order_relaxed);

    if (state > SEGMENT_VACANT)
        return bad(l, s, "segment in an unknown state");
    if (state != SEGMENT_CURRENT && state != SEGMENT_SUPERSEDED)
        return true; /* nobody reads what it holds */
    if (s->kind == 0)
        return bad(l, s, "segment without a kind");
    if (s->kind >= countof(item_rules))
        return true; /* of a later minor version */
    return verify_items(l, s);
}

static_assert(sizeof(struct segment) == RTC_SEGMENT_ALIGN, "a chain is walked in whole headers");

/* From `off` to exactly `used`. */
static bool verify_chain(const struct look *l, uint64_t off, uint64_t used)
{
    while (off < used) {
        /* Its header is inside: both ends of the chain are multiples of its size. */
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

/* ---- areas -------------------------------------------------------------------------------- */

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

/* Where the first segment begins; 0 = the image is still being built, nothing else counts. */
static bool first_segment(const struct look *l, const struct area_head *head, uint64_t bytes,
                          uint64_t used, uint64_t *first)
{
    const struct image_header *h = (const void *)(l->base + RTC_AREA_HEAD_BYTES);

    *first = RTC_AREA_HEAD_BYTES;
    if (head->ordinal != 0)
        return true;
    if (!range_inside(RTC_AREA_HEAD_BYTES, sizeof *h, bytes)) {
        *first = 0; /* a copy of what is used of it: it may not have got there */
        return used == RTC_AREA_HEAD_BYTES || bad(l, head, "area too short for an image header");
    }
    if (h->magic == 0) {
        *first = 0;
        return true;
    }
    if (!verify_image(l, h))
        return false;
    /* A new image says how long it is after it has said what it is. */
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
        return true; /* claimed, not begun: nothing in it counts */
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

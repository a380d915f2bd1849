/*
 * plan_view.c - validation of a plan, and its map of code addresses.
 *
 * A plan is not trusted: it may be cut, damaged or made by another user.  All offsets, counts and
 * orders are verified once; then the functions below need no further tests.  What the copy's code
 * does cannot be verified: who may write a plan is a question of its file's owner and mode.
 */
#include "format/bits.h"
#include "plan_view.h"

#define REACH_MOST (1u << 30) /* bytes of a text, and of a copy */

/* Items inside the file, aligned, with a count of 32 bits. NULL: no. */
static const void *items(const struct plan_header *h, const struct plan_array *a, size_t item,
                         size_t align)
{
    uint64_t bytes;

    if (a->count > UINT32_MAX - 1 || a->offset % align != 0 || a->offset < sizeof *h)
        return NULL;
    if (!checked_mul(a->count, item, &bytes) || !range_inside(a->offset, bytes, h->file_bytes))
        return NULL;
    return (const uint8_t *)h + a->offset;
}

static const char *find_arrays(struct plan_view *v)
{
    const struct plan_header *h = v->header;

    v->copy = items(h, &h->copy, 1, PLAN_COPY_OFFSET);
    v->unwind = items(h, &h->unwind, 1, PLAN_COPY_OFFSET);
    v->functions = items(h, &h->functions, sizeof *v->functions, 4);
    v->blocks = items(h, &h->blocks, sizeof *v->blocks, 4);
    v->steps = items(h, &h->steps, sizeof *v->steps, 1);
    v->sites = items(h, &h->sites, sizeof *v->sites, 4);
    v->patches = items(h, &h->patches, sizeof *v->patches, 4);
    if (!v->copy || !v->unwind || !v->functions || !v->blocks || !v->steps || !v->sites ||
        !v->patches)
        return "an array is outside of the file";
    return h->copy.offset == PLAN_COPY_OFFSET ? NULL : "the copy is not after the header";
}

static const char *check_header(const struct plan_header *h, uint64_t bytes)
{
    if (bytes < PLAN_COPY_OFFSET || h->magic != PLAN_MAGIC)
        return "no plan";
    if (h->version != PLAN_VERSION || h->header_bytes != sizeof *h)
        return "a plan of another version";
    if (h->file_bytes != bytes)
        return "the file is not whole";
    if (h->handler != 0)
        return "it names a handler";
    if (h->text_bytes > REACH_MOST || h->copy.count > REACH_MOST)
        return "more than 1 GiB of code";
    if (h->distance < -PLAN_DISTANCE_MOST + (int64_t)h->text_bytes ||
        h->distance > PLAN_DISTANCE_MOST - (int64_t)h->copy.count)
        return "the copy is out of reach";
    if (h->unwind.offset != align_up(PLAN_COPY_OFFSET + h->copy.count, PLAN_COPY_OFFSET) ||
        h->unwind.count > REACH_MOST)
        return "the frame descriptions are not behind the copy";
    if (h->distance - (int64_t)PLAN_COPY_OFFSET < (int64_t)h->text_bytes &&
        h->distance + (int64_t)plan_mapped_bytes(h) > 0)
        return "the copy overlaps the text";
    if (h->build_id_bytes > PLAN_BUILD_ID_MOST)
        return "the build-id is too long";
    return h->statistics.body_bytes <= h->copy.count ? NULL : "the copy lacks its body";
}

const char *plan_verify_header(const struct plan_header *h, uint64_t bytes)
{
    return check_header(h, bytes);
}

static const char *check_functions(const struct plan_view *v)
{
    uint64_t end = 0;

    for (uint64_t n = 0; n < v->header->functions.count; n++) {
        const struct plan_function *f = &v->functions[n];
        if (f->start < end || !range_inside(f->start, f->bytes, v->header->text_bytes) ||
            f->state >= PLAN_STATE_COUNT)
            return "a function is not valid";
        end = (uint64_t)f->start + f->bytes;
    }
    return NULL;
}

/* The ends of a block by its steps. */
static void block_ends(const struct plan_view *v, const struct plan_block *b, uint64_t *original,
                       uint64_t *copy)
{
    *original = b->original;
    *copy = b->copy;
    for (uint32_t n = 0; n < b->count; n++) {
        *original += v->steps[b->first + n].original;
        *copy += v->steps[b->first + n].copy;
    }
}

static const char *check_blocks(const struct plan_view *v)
{
    const struct plan_header *h = v->header;
    uint64_t original = 0, copy = 0;

    for (uint64_t n = 0; n < h->blocks.count; n++) {
        const struct plan_block *b = &v->blocks[n];
        if (b->original < original || b->copy < copy || b->count == 0 ||
            b->count > PLAN_STEPS_MOST || !range_inside(b->first, b->count, h->steps.count))
            return "a block is not valid";
        block_ends(v, b, &original, &copy);
        if (original > h->text_bytes || copy > h->statistics.body_bytes)
            return "a block is outside of its code";
    }
    return NULL;
}

static const char *check_sites(const struct plan_view *v)
{
    const struct plan_header *h = v->header;
    uint64_t least = h->statistics.body_bytes;

    for (uint64_t n = 0; n < h->sites.count; n++) {
        const struct plan_site *s = &v->sites[n];
        if (s->cold < least || s->cold >= h->copy.count || s->original >= h->text_bytes ||
            s->bytes == 0 || !(s->kind & (PLAN_READ | PLAN_WRITE)) || s->kind > PLAN_KINDS)
            return "a check is not valid";
        least = (uint64_t)s->cold + 1;
    }
    return NULL;
}

static const char *check_patches(const struct plan_view *v)
{
    uint64_t end = 0;

    for (uint64_t n = 0; n < v->header->patches.count; n++) {
        const struct plan_patch *p = &v->patches[n];
        if ((p->bytes != 1 && p->bytes != 2 && p->bytes != PLAN_PATCH_MOST) || p->original < end ||
            !range_inside(p->original, p->bytes, v->header->text_bytes))
            return "a patch is not valid";
        end = (uint64_t)p->original + p->bytes;
    }
    return NULL;
}

/* An FDE is in the .eh_frame, and begins where its entry begins. */
static bool is_description(const struct plan_view *v, const struct plan_unwind_entry *e)
{
    const struct plan_header *h = v->header;
    uint64_t at = (uint64_t)(int64_t)e->description;
    struct {
        uint32_t bytes, cie;
        int32_t start;
        uint32_t range;
    } fde;

    if (at % 4 != 0 || !range_inside(at, sizeof fde, h->unwind.count))
        return false;
    __builtin_memcpy(&fde, v->unwind + at, sizeof fde);
    uint64_t copy = plan_unwind_at(h) + (uint64_t)(int64_t)e->start;
    return fde.bytes >= sizeof fde - 4 && range_inside(at + 4, fde.bytes, h->unwind.count) &&
           fde.cie - 1 < at + 4 &&
           at + 8 + (uint64_t)(int64_t)fde.start == (uint64_t)(int64_t)e->start &&
           range_inside(copy, fde.range, h->statistics.body_bytes);
}

static const char *check_unwind(const struct plan_view *v)
{
    const struct plan_unwind_header *u = (const void *)v->unwind;
    uint64_t bytes = v->header->unwind.count;

    if (bytes < sizeof *u || u->form != PLAN_UNWIND_FORM ||
        !range_inside(sizeof *u, u->count * sizeof(struct plan_unwind_entry), bytes) ||
        u->frames != (int64_t)(sizeof *u - 4 + u->count * sizeof(struct plan_unwind_entry)))
        return "the frame descriptions have no table";
    const struct plan_unwind_entry *e = (const void *)(u + 1);
    for (uint32_t n = 0; n < u->count; n++)
        if ((n > 0 && e[n].start <= e[n - 1].start) || !is_description(v, &e[n]))
            return "a frame description is not valid";
    return NULL;
}

const char *plan_verify(struct plan_view *out, const void *file, uint64_t bytes)
{
    struct plan_view v = {.header = file};
    const char *wrong = check_header(v.header, bytes);

    wrong = wrong ? wrong : find_arrays(&v);
    wrong = wrong ? wrong : check_functions(&v);
    wrong = wrong ? wrong : check_blocks(&v);
    wrong = wrong ? wrong : check_sites(&v);
    wrong = wrong ? wrong : check_patches(&v);
    wrong = wrong ? wrong : check_unwind(&v);
    if (!wrong && plan_checksum(file, bytes) != v.header->checksum)
        wrong = "the file is damaged";
    if (!wrong)
        *out = v;
    return wrong;
}

/* ---- the map --------------------------------------------------------------------------------- */

/* The last block that begins at or before an offset, NULL if there is none. */
static const struct plan_block *block_at(const struct plan_view *v, uint32_t offset, bool by_copy)
{
    uint64_t low = 0, high = v->header->blocks.count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const struct plan_block *b = &v->blocks[middle];
        if ((by_copy ? b->copy : b->original) <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &v->blocks[low - 1] : NULL;
}

uint32_t plan_copy_of(const struct plan_view *v, uint32_t original)
{
    const struct plan_block *b = block_at(v, original, false);
    uint32_t at = b ? b->original : 0, copy = b ? b->copy : 0;

    for (uint32_t n = 0; b && n < b->count && at <= original; n++) {
        if (at == original)
            return copy;
        at += v->steps[b->first + n].original;
        copy += v->steps[b->first + n].copy;
    }
    return PLAN_NOWHERE;
}

/* The step whose copy contains an offset, and the offset of its original; NULL: none. */
static const struct plan_step *step_at(const struct plan_view *v, uint32_t copy, uint32_t *original)
{
    const struct plan_block *b = block_at(v, copy, true);
    uint32_t at = b ? b->copy : 0;

    *original = b ? b->original : 0;
    for (uint32_t n = 0; b && n < b->count; n++) {
        const struct plan_step *step = &v->steps[b->first + n];
        if (copy - at < step->copy)
            return step;
        at += step->copy;
        *original += step->original;
    }
    return NULL;
}

uint32_t plan_original_of(const struct plan_view *v, uint32_t copy)
{
    const struct plan_site *s = plan_site_at(v, copy);
    uint32_t original;

    if (s)
        return s->original;
    return step_at(v, copy, &original) ? original : PLAN_NOWHERE;
}

uint32_t plan_return_of(const struct plan_view *v, uint32_t copy)
{
    uint32_t original;
    const struct plan_step *call = copy > 0 ? step_at(v, copy - 1, &original) : NULL;

    return call ? original + call->original : PLAN_NOWHERE;
}

/* The number of functions that begin at or before an offset. */
static uint64_t functions_before(const struct plan_view *v, uint32_t original)
{
    uint64_t low = 0, high = v->header->functions.count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (v->functions[middle].start <= original)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Copies have the order of their functions. */
uint32_t plan_end_of(const struct plan_view *v, uint32_t copy)
{
    uint32_t original = plan_original_of(v, copy);

    if (copy >= v->header->statistics.body_bytes || original == PLAN_NOWHERE)
        return PLAN_NOWHERE;
    for (uint64_t n = functions_before(v, original); n < v->header->functions.count; n++) {
        uint32_t next = plan_copy_of(v, v->functions[n].start);
        if (next != PLAN_NOWHERE && next > copy)
            return next;
    }
    return (uint32_t)v->header->statistics.body_bytes;
}

const struct plan_site *plan_site_at(const struct plan_view *v, uint32_t copy)
{
    uint64_t low = 0, high = v->header->sites.count;

    if (copy >= v->header->copy.count)
        return NULL;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (v->sites[middle].cold <= copy)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &v->sites[low - 1] : NULL;
}

/*
 * leaks.c - merge the leak groups of all processes into the report's table.
 *
 * A process groups its blocks by the stack that allocated them, and by how they are reached. Here
 * stack ids become sites, which are the same in all processes. So leaks of many processes at one
 * site are reported once, with sums; the referrer is that of the first block. The registers of a
 * thread that did not stop may have pointers to any block. So all leaks of a process with such
 * threads are only possible.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "read_priv.h"

static enum leak_class class_of(const struct image *image, uint32_t reach)
{
    static const enum leak_class unsure[CLASS_COUNT] = {
        [CLASS_LOST] = CLASS_UNSURE,         [CLASS_INDIRECT] = CLASS_POSSIBLY_INDIRECT,
        [CLASS_INTERIOR] = CLASS_INTERIOR,   [CLASS_REGISTER] = CLASS_REGISTER,
        [CLASS_UNSURE] = CLASS_UNSURE,       [CLASS_POSSIBLY_INDIRECT] = CLASS_POSSIBLY_INDIRECT,
        [CLASS_REACHABLE] = CLASS_REACHABLE, [CLASS_MAPPED] = CLASS_MAPPED,
    };
    static const enum leak_class of[] = {
        [REACH_NONE] = CLASS_REACHABLE,
        [REACH_REACHABLE] = CLASS_REACHABLE,
        [REACH_INTERIOR] = CLASS_INTERIOR,
        [REACH_REGISTER] = CLASS_REGISTER,
        [REACH_INDIRECT] = CLASS_POSSIBLY_INDIRECT,
        [REACH_LOST] = CLASS_LOST,
        [REACH_CYCLE] = CLASS_LOST,
        [REACH_LOST_INDIRECT] = CLASS_INDIRECT,
    };
    static_assert(countof(of) == REACH_COUNT, "each is of a class");
    return image->threads_not_stopped > 0 ? unsure[of[reach]] : of[reach];
}

/* ---- from the file --------------------------------------------------------------------------- */

static uint32_t site_or_none(struct report *r, struct image *image, uint32_t stack)
{
    return stack ? site_of_stack(r, image, stack) : NO_SITE;
}

static struct region *new_region(struct holder *h)
{
    h->region = xalloc(calloc(1, sizeof *h->region));
    h->region->module = NO_MODULE;
    return h->region;
}

/* Set the region of the pointer at h->at, if the root contains it. */
static void take_root(struct report *r, struct image *image, struct holder *h,
                      const struct root_record *root)
{
    struct region *index;

    if (h->at < root->start || h->at >= root->end)
        return;
    index = new_region(h);
    h->root = root->kind;
    index->start = root->start;
    index->end = root->end;
    index->offset = h->at - root->bias;
    index->thread = thread_of_number(r, image, root->thread);
    if (h->root == ROOT_MODULE)
        index->module = module_of_number(r, image, root->module, h->at);
    memcpy(index->path, root->path, sizeof index->path);
}

static void take_frame(struct report *r, struct image *image, struct holder *h,
                       const struct leak_group *g)
{
    if (g->on_thread)
        h->region->thread = thread_of_number(r, image, g->on_thread);
    if (g->frame_pc == 0) {
        h->is_above_frames = g->frame_cfa != 0;
        h->control_block = g->control_block;
        h->program = module_of_program(r, image);
        return;
    }
    h->function = site_of_pc(r, image, g->frame_pc);
    h->in_frame.at = (int64_t)(g->at - g->frame_cfa);
    h->in_frame.sp = g->frame_sp ? (int64_t)(g->frame_sp - g->frame_cfa) : 0;
}

/* Sets only the fields of this kind of witness, so that no reader uses another field. */
static struct holder holder_of(struct report *r, struct image *image, const struct leak_group *g,
                               const struct root_record *roots, uint32_t root_count)
{
    struct holder h = {.what = g->witness,
                       .at = g->at,
                       .program = NO_MODULE,
                       .function = NO_SITE,
                       .from_stack = NO_SITE};

    if (h.what != WITNESS_NONE && h.what != WITNESS_SELF)
        h.inside = g->value - g->block;
    if (h.what == WITNESS_REGISTER)
        new_region(&h)->thread = thread_of_number(r, image, g->thread);
    if (h.what == WITNESS_BLOCK) {
        h.from = g->from;
        h.from_bytes = g->from_bytes;
        h.from_stack = site_or_none(r, image, g->from_stack);
    }
    if (h.what == WITNESS_ROOT && g->root <= root_count)
        take_root(r, image, &h, &roots[g->root - 1]);
    if (h.root == ROOT_STACK || h.root == ROOT_MAPPED)
        take_frame(r, image, &h, g);
    return h;
}

static struct leak leak_of(struct report *r, struct image *image, const struct leak_group *g)
{
    uint32_t reach = atomic_load_explicit(&g->reach, memory_order_relaxed);

    return (struct leak){
        .class = class_of(image, reach),
        .site = site_or_none(r, image, g->stack),
        .image = image->number,
        .is_cycle = reach == REACH_CYCLE,
        .block = g->block,
        .block_bytes = g->block_bytes,
        .thread = thread_of_number(r, image, g->witness == WITNESS_REGISTER ? 0 : g->thread),
    };
}

/* ---- into the table -------------------------------------------------------------------------- */

static void leak_add(struct leak *leak, const struct leak_group *g, uint32_t image)
{
    leak->blocks += g->blocks;
    leak->bytes += g->bytes;
    leak->new_blocks += g->new_blocks;
    leak->new_bytes += g->new_bytes;
    leak->indirect_blocks += g->indirect_blocks;
    leak->indirect_bytes += g->indirect_bytes;
    image_numbers_add(&leak->images, image);
}

/*
 * Return the slot with the index + 1 of this class and site; the table grows with the number of
 * sites.
 */
static uint32_t *intern_slot(struct report *r, enum leak_class class, uint32_t site)
{
    uint32_t row = site == NO_SITE ? 0 : site + 1;

    if (row >= r->leak_row_count) {
        uint32_t count = r->site_count + r->site_count / 4 + 16;
        r->leak_index = xalloc(reallocarray(r->leak_index, count, sizeof *r->leak_index));
        memset(r->leak_index + r->leak_row_count, 0,
               (count - r->leak_row_count) * sizeof *r->leak_index);
        r->leak_row_count = count;
    }
    return &r->leak_index[row].of[class];
}

/*
 * Return the leak of this class and site, adding it if it is new. NULL: the table has LEAKS_MAX
 * leaks.
 */
static struct leak *leak_intern(struct report *r, const struct leak *leak)
{
    uint32_t *index = intern_slot(r, leak->class, leak->site);

    if (*index)
        return &r->leaks[*index - 1];
    if (r->leak_count == LEAKS_MAX)
        return NULL;
    r->leaks = grow(r->leaks, r->leak_count, sizeof *r->leaks);
    r->leaks[r->leak_count] = *leak;
    *index = ++r->leak_count;
    return &r->leaks[*index - 1];
}

static void sum_add(struct leak_sum *sum, const struct leak_group *g)
{
    sum->places++;
    sum->blocks += g->blocks;
    sum->bytes += g->bytes;
    sum->new_blocks += g->new_blocks;
}

static void finding_take(struct report *r, struct image *image, const struct leak_group *g,
                         const struct root_record *roots, uint32_t root_count)
{
    struct leak new = leak_of(r, image, g), *leak = leak_intern(r, &new);

    if (!leak) {
        r->leaks_unread++;
        return;
    }
    if (leak->images.count == 0)
        leak->holder = holder_of(r, image, g, roots, root_count);
    leak_add(leak, g, image->number);
    image->leak_index += leak->class != CLASS_REACHABLE;
}

void leak_take(struct report *r, struct image *image, const struct leak_group *g,
               const struct root_record *roots, uint32_t root_count)
{
    uint32_t reach = atomic_load_explicit(&g->reach, memory_order_relaxed);
    bool is_held = class_of(image, reach) == CLASS_REACHABLE;

    if (reach == REACH_NONE || (is_held && image_was_replaced(image)))
        return; /* exec discarded blocks in use */
    if (is_held && !r->wants_reachable)
        sum_add(&r->reachable, g);
    else
        finding_take(r, image, g, roots, root_count);
}

/* As for blocks, mappings made since the image's last mark are new. */
static bool is_new(const struct image *image, const struct map_region *m)
{
    return image->mark_count == 0 || m->mark >= image->mark_records[image->mark_count - 1].mark;
}

/* Add one piece of a mapping; `blocks` is 1 for its first piece. */
void mapping_take(struct report *r, struct image *image, const struct map_region *m,
                  uint32_t blocks)
{
    struct leak_group g = {.blocks = blocks, .bytes = m->end - m->start};
    struct leak new = {
        .class = CLASS_MAPPED,
        .site = site_or_none(r, image, m->stack),
        .image = image->number,
        .block = m->start,
        .block_bytes = m->end - m->start,
        .thread = thread_of_number(r, image, m->thread),
        .holder = {.program = NO_MODULE, .function = NO_SITE, .from_stack = NO_SITE},
    };
    struct leak *leak = leak_intern(r, &new);

    if (is_new(image, m)) {
        g.new_blocks = g.blocks;
        g.new_bytes = g.bytes;
    }
    if (leak)
        leak_add(leak, &g, image->number);
    else
        r->leaks_unread++;
}

/* ---- in order -------------------------------------------------------------------------------- */

/* Definite leaks come before possible ones, and these before leaks that are shown with others. */
static uint32_t rank(enum leak_class class)
{
    static const uint32_t ranks[] = {
        [CLASS_LOST] = 0,      [CLASS_INDIRECT] = 1, [CLASS_INTERIOR] = 2,
        [CLASS_REGISTER] = 2,  [CLASS_UNSURE] = 2,   [CLASS_POSSIBLY_INDIRECT] = 3,
        [CLASS_REACHABLE] = 4, [CLASS_MAPPED] = 5,
    };
    static_assert(countof(ranks) == CLASS_COUNT, "each has its rank");
    return ranks[class];
}

static int by_rank(const void *a_, const void *b_)
{
    const struct leak *a = a_, *b = b_;
    uint64_t a_bytes = a->bytes + a->indirect_bytes, b_bytes = b->bytes + b->indirect_bytes;
    uint64_t a_blocks = a->blocks + a->indirect_blocks, b_blocks = b->blocks + b->indirect_blocks;

    if (rank(a->class) != rank(b->class))
        return rank(a->class) < rank(b->class) ? -1 : 1;
    if (a_bytes != b_bytes)
        return a_bytes > b_bytes ? -1 : 1;
    if (a_blocks != b_blocks)
        return a_blocks > b_blocks ? -1 : 1;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    return a->site < b->site ? -1 : a->site > b->site; /* the same order in every run */
}

void leaks_sort(struct report *r)
{
    for (uint32_t i = 0; i < r->leak_count; i++)
        image_numbers_sort(&r->leaks[i].images);
    if (r->leak_count > 0)
        qsort(r->leaks, r->leak_count, sizeof *r->leaks, by_rank);
    free(r->leak_index); /* sorting has made it invalid */
    r->leak_index = NULL;
    r->leak_row_count = 0;
}

void leaks_free(struct report *r)
{
    for (uint32_t i = 0; i < r->leak_count; i++) {
        free(r->leaks[i].images.at);
        free(r->leaks[i].holder.region);
    }
    free(r->leaks);
    free(r->leak_index);
    free(r->use_dispositions);
    r->leaks = NULL;
    r->leak_index = NULL;
    r->use_dispositions = NULL;
    r->leak_count = r->leak_row_count = r->use_disposition_count = 0;
}

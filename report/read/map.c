/*
 * map.c - resolve an image's numbers: stack ids, modules and threads.
 *
 * A stack id is a node in the image's own depot or, below its first chunk, in the depot of the
 * image that it was forked from. The modules of return addresses are found in the same way.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "read_priv.h"

/* ---- reading --------------------------------------------------------------------------------- */

/* A chunk that is read again replaces the old copy: it may have more nodes. */
static void read_depot(struct image *image, const struct segment *s)
{
    uint32_t chunk = (uint32_t)s->index;
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);
    struct depot_chunk *known;

    HASH_FIND(hh, image->depot, &chunk, sizeof chunk, known);
    if (known) {
        HASH_DEL(image->depot, known);
        free(known);
    }
    known = xalloc(malloc(sizeof *known + count * sizeof known->nodes[0]));
    known->chunk = chunk;
    known->count = count;
    for (uint32_t i = 0; i < count; i++)
        known->nodes[i] = *(const struct depot_node *)segment_item(s, i);
    HASH_ADD(hh, image->depot, chunk, sizeof known->chunk, known);
}

static bool is_same_range(const struct range *a, const struct range *b)
{
    return a->number == b->number && a->start == b->start && a->end == b->end &&
           a->bias == b->bias && a->module == b->module;
}

/* Ignore known ranges: the map of a running image is read repeatedly. */
static void range_add(struct image *image, struct range range)
{
    for (uint32_t i = 0; i < image->range_count; i++)
        if (is_same_range(&image->ranges[i], &range))
            return;
    image->ranges = grow(image->ranges, image->range_count, sizeof range);
    image->ranges[image->range_count++] = range;
}

static void read_modules(struct report *r, struct image *image, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct module_record *m = segment_item(s, i);
        uint32_t module = module_intern(r, m, image->number);
        range_add(image, (struct range){m->number, m->start, m->end, m->bias, module});
    }
}

/* A thread may have two records: thread_of_number takes the later one. */
static void read_names(struct image *image, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct thread_record *t = segment_item(s, i);
        uint32_t tid = atomic_load_explicit(&t->tid, memory_order_relaxed);
        struct thread thread = {t->number, tid,
                                atomic_load_explicit(&t->gone, memory_order_relaxed), ""};
        if (tid == 0)
            continue;
        snprintf(thread.name, sizeof thread.name, "%.*s", (int)sizeof t->name, t->name);
        image->threads = grow(image->threads, image->thread_count, sizeof thread);
        image->threads[image->thread_count++] = thread;
    }
}

bool map_read_segment(struct report *r, struct image *image, const struct segment *s)
{
    if (s->kind == SEGMENT_DEPOT)
        read_depot(image, s);
    else if (s->kind == SEGMENT_MODULES)
        read_modules(r, image, s);
    else if (s->kind == SEGMENT_THREADS)
        read_names(image, s);
    return s->kind == SEGMENT_DEPOT || s->kind == SEGMENT_MODULES;
}

/* ---- stack ids to sites ---------------------------------------------------------------------- */

static const struct depot_node *depot_find(const struct image *image, uint32_t id)
{
    uint32_t number = depot_chunk_of(id), node_index = depot_index_of(id);
    struct depot_chunk *chunk;

    HASH_FIND(hh, image->depot, &number, sizeof number, chunk);
    return chunk && node_index < chunk->count && chunk->nodes[node_index].pc
               ? &chunk->nodes[node_index]
               : NULL;
}

static const struct depot_node *stack_node(struct report *r, struct image *image, uint32_t id)
{
    const struct depot_node *node;

    while (image && depot_chunk_of(id) < image->first_depot_chunk)
        image = image_parent(r, image);
    if (!image)
        return NULL;
    node = depot_find(image, id);
    if (node)
        return node;
    image_read_map(r, image);
    return depot_find(image, id);
}

/* Return the range recorded last: a module that is recorded again was loaded again. */
static const struct range *range_of(const struct image *image, uint64_t pc)
{
    uint32_t number = depot_module(pc);
    uint64_t address = depot_address(pc);

    for (uint32_t i = image->range_count; i-- > 0;) {
        const struct range *range = &image->ranges[i];
        if (number ? range->number == number : address > range->start && address <= range->end)
            return range;
    }
    return NULL;
}

/* A return address may be one past its function, even past its module, but never the first byte. */
static uint32_t frame_of_pc(struct report *r, struct image *image, uint64_t pc)
{
    bool exact = (pc & DEPOT_PC_EXACT) != 0;

    for (; image; image = image_parent(r, image)) {
        const struct range *range = range_of(image, pc);
        if (!range) {
            image_read_map(r, image);
            range = range_of(image, pc);
        }
        if (range)
            return frame_intern(r, range->module, depot_address(pc) - range->bias, exact);
    }
    return frame_intern(r, NO_MODULE, depot_address(pc), exact);
}

/*
 * Is it the frame of a function of ours that the program called instead of libc's (opendir, popen)?
 * Without rtcheck the stack would not have it.  The innermost frame is kept: a fault may be ours.
 */
static bool is_interposed(const struct report *r, uint32_t frame, uint32_t depth)
{
    uint32_t module = r->frames[frame].module;
    return depth > 0 && module != NO_MODULE && r->modules[module].is_runtime;
}

uint32_t site_of_stack(struct report *r, struct image *image, uint32_t id)
{
    uint32_t frames[RTC_STACK_FRAMES] = {0}, count = 0, most = image->stack_frames;

    if (id != 0 && depot_is_root(id)) /* a root is no node: no valid record has it */
        return site_intern(r, frames, 0, SITE_LOST);
    while (!depot_is_root(id) && count < most) {
        const struct depot_node *node = stack_node(r, image, id);
        if (!node)
            return site_intern(r, frames, count, SITE_LOST);
        frames[count] = frame_of_pc(r, image, node->pc);
        count += !is_interposed(r, frames[count], count);
        id = node->parent;
    }
    return site_intern(r, frames, count, depot_is_root(id) ? depot_end(id) : STACK_CUT);
}

uint32_t site_of_pc(struct report *r, struct image *image, uint64_t pc)
{
    uint32_t frame = frame_of_pc(r, image, pc);
    return site_intern(r, &frame, 1, STACK_WHOLE);
}

/* ---- modules and threads --------------------------------------------------------------------- */

static bool range_is(const struct range *range, uint32_t number, uint64_t address)
{
    return number ? range->number == number : address >= range->start && address < range->end;
}

uint32_t module_of_number(struct report *r, struct image *image, uint32_t number, uint64_t address)
{
    for (; image; image = image_parent(r, image)) {
        image_read_map(r, image);
        for (uint32_t i = image->range_count; i-- > 0;)
            if (range_is(&image->ranges[i], number, address))
                return image->ranges[i].module;
    }
    return NO_MODULE;
}

uint32_t module_of_program(struct report *r, struct image *image)
{
    const char *path = image->exe;

    for (; image; image = image_parent(r, image)) {
        image_read_map(r, image);
        for (uint32_t i = image->range_count; i-- > 0;)
            if (strcmp(r->modules[image->ranges[i].module].path, path) == 0)
                return image->ranges[i].module;
    }
    return NO_MODULE;
}

/*
 * An ancestor may have given the same number to another thread after the fork. So only numbers
 * below first_thread are looked up in ancestors.
 */
struct thread thread_of_number(struct report *r, struct image *image, uint32_t number)
{
    for (; image && number != 0; image = image_parent(r, image)) {
        image_read_map(r, image);
        for (uint32_t i = image->thread_count; i-- > 0;)
            if (image->threads[i].number == number)
                return image->threads[i];
        if (number >= image->first_thread)
            break;
    }
    return (struct thread){.number = number};
}

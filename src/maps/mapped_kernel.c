/*
 * mapped_kernel.c - compare the mapping table with the kernel's list (/proc/self/maps), and correct
 * it.
 *
 * libc and the loader map memory for themselves, unseen, and any code may use raw system calls. So
 * the table is compared with the kernel's list whenever it must be right. An additional range in
 * that list may be on its way into the table, by a call in progress. Then no difference is counted.
 */
#include "mapped_priv.h"

#include <errno.h>

struct comparison {
    uint64_t start, end;
    enum map_origin origin; /* of additional ranges */
    bool counts;
    bool unsure;    /* there was a difference that a call in progress may explain */
    uint64_t begun; /* calls_in_progress, before the list was read */
    uint64_t differences;
    uintptr_t object;   /* the object that was counted last */
    uint64_t guard_end; /* of the last range, if it has no access rights */
};

/*
 * Return the number of calls begun by all threads, + 1; 0: one is in progress, and the kernel may
 * have ranges that the table lacks. A thread that was seen outside of calls, and has begun none
 * since, is still outside. (A call changes the kernel's list after it began, so a reader of that
 * change also sees that it began.)
 */
static uint64_t calls_in_progress(void)
{
    uint64_t all = 1;
    for (struct thread *t = threads_first(); t; t = t->next) {
        uint64_t begun = atomic_load_explicit(&t->maps_begun, memory_order_acquire);
        uintptr_t inside =
            atomic_load_explicit(&t->maps_inside, memory_order_acquire); /* pairs with mapped_end */
        if (inside & ~(uintptr_t)MAPS_SHARED && t->tid) /* no tid: the thread ended within a call */
            return 0;
        all += begun;
    }
    return all;
}

static bool is_certain(struct comparison *c)
{
    bool is_undisturbed = c->begun && calls_in_progress() == c->begun;
    c->unsure |= !is_undisturbed;
    return is_undisturbed || !c->counts;
}

static void count_difference(struct comparison *c, _Atomic uint64_t *counter)
{
    if (!c->counts)
        return;
    c->differences++;
    map_count(counter, 1);
}

/*
 * Attribute an additional range to an object, a stack, or others. A stack made by libc is two
 * ranges: a guard, and the stack.
 */
static void count_extra(struct comparison *c, const struct map_region *r)
{
    struct object o;
    if (!c->counts)
        return;
    if (loader_find(r->start, &o)) {
        if (o.start != c->object)
            count_difference(c, &map.sum->unseen_objects);
        c->object = o.start;
    } else if (!threads_on_stack(r->start, r->end, r->start).number)
        count_difference(c, &map.sum->unseen_others);
    else if (c->guard_end != r->start)
        count_difference(c, &map.sum->unseen_stacks);
    else {
        map_count(&map.sum->unseen_others, -1ull);
        map_count(&map.sum->unseen_stacks, 1);
    }
    c->guard_end = r->protection ? 0 : r->end;
}

/* The kernel has a range that the table lacks. */
static void find_more(struct comparison *c, const struct map_region *kernels)
{
    if (!is_certain(c))
        return;
    count_extra(c, kernels);
    map_put(kernels);
}

/*
 * Both have a range. Fields that were never read from the kernel (MAP_FILE_UNKNOWN) take its
 * values.
 */
static void find_both(struct comparison *c, const struct map_region *kernels,
                      const struct map_region *recorded)
{
    struct map_region r = *recorded;
    map_clip(&r, kernels->start, kernels->end);
    bool look = r.device == MAP_FILE_UNKNOWN &&
                (!r.inode || r.inode == kernels->inode || !region_is_file(kernels));
    if (look) {
        r.inode = kernels->inode;
        r.device = kernels->device;
        r.offset = region_is_file(kernels) ? r.offset : 0;
    }
    bool same = r.shared == kernels->shared && r.inode == kernels->inode &&
                r.device == kernels->device && r.offset == kernels->offset;
    if (same && r.protection == kernels->protection) {
        if (look)
            map_put(&r);
        return;
    }
    if (!is_certain(c))
        return;
    count_difference(c, &map.sum->unseen_changed);
    r.protection = kernels->protection;
    map_put(same ? &r : kernels);
}

static void find_gone(struct comparison *c, uint64_t start, uint64_t end)
{
    const struct map_region *r;
    bool any = false;
    for (uint64_t at = start; at < end && (r = maps_find(&map.maps, at)) && r->start < end;
         at = r->end) {
        count_difference(c, &map.sum->unseen_unmapped);
        any = true;
    }
    if (any)
        map_take_out(start, end);
}

static void look_at(struct comparison *c, const struct map_region *kernels)
{
    struct map_region piece;
    for (uint64_t at = kernels->start; at < kernels->end; at = piece.end) {
        const struct map_region *r = maps_find(&map.maps, at);
        piece = *kernels;
        map_clip(&piece, at, !r ? kernels->end : r->start > at ? r->start : r->end);
        if (r && r->start <= at)
            find_both(c, &piece, r);
        else
            find_more(c, &piece);
    }
}

/*
 * A private mapping of /dev/zero is anonymous, although it has an inode. A shared one is shared
 * memory, with an inode of its own.
 */
static struct map_region region_of_mapping(const struct comparison *c, const struct mapping *m)
{
    bool file =
        (m->inode || m->major || m->minor) && (m->shared || !text_equal(m->path, "/dev/zero"));
    return (struct map_region){
        .start = m->start,
        .end = m->end,
        .offset = file ? m->offset : 0,
        .inode = file ? m->inode : 0,
        .device = file ? (uint64_t)m->major << 32 | m->minor : 0,
        .protection = (uint8_t)m->protection,
        .shared = m->shared,
        .origin = (uint8_t)c->origin,
        .mark = (uint8_t)annotations_mark_now(),
    };
}

/*
 * Compare the pieces of a mapping that are not the runtime's; *at: the end of what has been
 * compared.
 */
static void compare_mapping(struct comparison *c, const struct mapping *m, uint64_t *at)
{
    struct map_region whole = region_of_mapping(c, m), piece;
    uintptr_t own, own_end;
    map_clip(&whole, c->start, c->end);
    for (uint64_t from = whole.start; from < whole.end; from = own_end) {
        os_next_own(from, &own, &own_end);
        piece = whole;
        if (!map_clip(&piece, from, own))
            continue;
        find_gone(c, *at, piece.start);
        look_at(c, &piece);
        *at = piece.end;
    }
}

/* The kernel grows main's stack without a call, so it is not compared. */
static bool is_looked_at(const struct mapping *m)
{
    return m->start < ADDRESSES_END && !text_equal(m->path, "[stack]");
}

static int compare(struct comparison *c)
{
    struct mappings all;
    struct mapping m;
    uint64_t at = c->start;
    c->begun = calls_in_progress();
    int err = os_mappings_open(&all);
    if (err)
        return err;
    while (os_mappings_next(&all, &m) && m.start < c->end)
        if (m.end > c->start && is_looked_at(&m))
            compare_mapping(c, &m, &at);
    os_mappings_close(&all);
    find_gone(c, at, c->end);
    return 0;
}

int map_read_all(void)
{
    struct comparison c = {.end = ADDRESSES_END, .origin = MAP_EXISTED};
    return compare(&c);
}

void map_query_kernel(uint64_t start, uint64_t end)
{
    struct comparison c = {.start = start, .end = end, .origin = MAP_UNSEEN};
    compare(&c);
}

/* ---- on request ------------------------------------------------------------------------------ */

long mapped_compare(void)
{
    struct section s;
    struct comparison c = {.end = ADDRESSES_END, .origin = MAP_UNSEEN, .counts = true};
    if (!atomic_load(&map.begun))
        return 0;
    if (!map_enter(&s))
        return -EAGAIN; /* nothing was compared */
    int err = compare(&c);
    if (!err)
        map_count(&map.sum->compared, 1);
    map_exit(&s);
    return err ? err : c.unsure ? -EAGAIN : (long)c.differences;
}

void mapped_finish(void)
{
    if (mapped_compare() >= 0 && atomic_load(&map.ready))
        map.sum->flags |= MAP_SUM_COMPARED;
}

/*
 * annotations.c - leak annotations by the program: ignored blocks, root regions, hidden regions,
 * and the mark that new blocks get.
 *
 * An ignored block has BLOCK_FLAG_ROOT in its word. Leak marking uses flagged blocks as roots, so
 * blocks that they reach are not leaks either. While a thread ignores new allocations, its struct
 * holds the flag for each new block.
 *
 * Regions are few and long-lived: two unordered arrays, which only leak scans search often. The
 * lock (RANK_ANNOTATIONS) protects changes of both arrays.
 */
#include "init.h"

#include <string.h>

#define REGIONS_FIRST 128u

struct annotations annotations = {.mark = MARK_FIRST};

struct regions {
    struct root_region *region;
    uint32_t count, room;
};

static struct lock lock = LOCK_INIT(RANK_ANNOTATIONS);
static struct regions roots, hidden;

/* ---- marks ----------------------------------------------------------------------------------- */

uint32_t annotations_next_mark(void)
{
    uint32_t mark = annotations_mark_now();
    do {
        if (mark == BLOCK_MARK_MASK)
            return 0;
    } while (!atomic_compare_exchange_weak(&annotations.mark, &mark, mark + 1));
    return mark + 1;
}

/* ---- ignored blocks -------------------------------------------------------------------------- */

static struct thread *this_thread(void)
{
    struct section s;
    if (!self && section_begin(&s)) /* its first call registers it */
        section_end(&s);
    return self;
}

void annotations_ignore_new(void)
{
    struct thread *t = this_thread();
    if (!t)
        return; /* past its end: it has no struct of its own */
    annotations.ignoring = true;
    t->ignoring++;
    t->birth_flags = BLOCK_FLAG_ROOT;
}

void annotations_resume_new(void)
{
    struct thread *t = this_thread();
    if (!t || !t->ignoring)
        return;
    t->ignoring--;
    t->birth_flags = t->ignoring ? BLOCK_FLAG_ROOT : 0;
}

static bool ignore_found(const struct found *f, uint32_t write_epoch)
{
    if ((f->verdict != PTR_START && f->verdict != PTR_INSIDE) || slab_is_unrecorded(f))
        return false;
    struct block_record *b = pool_record(f, write_epoch);
    uint64_t word = atomic_load_explicit(&b->word, memory_order_acquire);
    uint64_t inside = f->verdict == PTR_INSIDE ? f->offset : 0;
    if (inside && inside >= pool_request(f, b, word))
        return false;
    return block_flag(b, BLOCK_FLAG_ROOT);
}

bool annotations_ignore(const void *p)
{
    struct section s;
    if (!section_begin(&s))
        return false;
    struct found f = pool_find(p);
    bool ignored =
        client_block_flag((uintptr_t)p, BLOCK_FLAG_ROOT) || ignore_found(&f, s.write_epoch);
    annotations.ignoring |= ignored;
    section_end(&s);
    return ignored;
}

static bool is_ignored(const struct found *f, uint32_t write_epoch)
{
    if (f->verdict != PTR_START || slab_is_unrecorded(f))
        return false;
    uint64_t word, stacks;
    return block_read(pool_look(f, write_epoch), &word, &stacks) &&
           word_flags(word) & BLOCK_FLAG_ROOT;
}

void annotations_ignore_moved(const void *from, const void *to)
{
    struct section s;
    if (!section_begin(&s))
        return;
    struct found f = pool_find(from);
    bool ignored = is_ignored(&f, s.write_epoch);
    section_end(&s);
    if (ignored)
        annotations_ignore(to);
}

/* ---- regions --------------------------------------------------------------------------------- */

static bool has_room(struct regions *all)
{
    if (all->count < all->room)
        return true;
    uint32_t room = all->room ? 2 * all->room : REGIONS_FIRST;
    struct root_region *more = os_map(align_up(room * sizeof *more, PAGE_BYTES));
    if (os_failed(more))
        return false;
    if (all->count) {
        memcpy(more, all->region, all->count * sizeof *more);
        os_unmap(all->region, align_up(all->room * sizeof *more, PAGE_BYTES));
    }
    all->region = more;
    all->room = room;
    return true;
}

static bool add(struct regions *all, struct root_region new)
{
    lock_take(&lock);
    bool added = has_room(all);
    if (added)
        all->region[all->count++] = new;
    lock_drop(&lock);
    return added;
}

static bool take_out(struct regions *all, uintptr_t start, uint64_t bytes)
{
    struct section s;
    if (!section_begin(&s))
        return false;
    lock_take(&lock);
    uint32_t i = 0;
    while (i < all->count && (all->region[i].start != start || all->region[i].bytes != bytes))
        i++;
    bool found = i < all->count;
    if (found)
        all->region[i] = all->region[--all->count];
    lock_drop(&lock);
    section_end(&s);
    return found;
}

bool annotations_add_root(uintptr_t start, uint64_t bytes)
{
    struct section s;
    uint64_t end;
    if (!bytes || !checked_add(start, bytes, &end) || !section_begin(&s))
        return false;
    bool added = add(&roots, (struct root_region){.start = start, .bytes = bytes});
    section_end(&s);
    return added;
}

bool annotations_remove_root(uintptr_t start, uint64_t bytes)
{
    return take_out(&roots, start, bytes);
}

const struct root_region *annotations_roots(uint32_t *count)
{
    *count = roots.count;
    return roots.region;
}

bool annotations_hide(uintptr_t start, uint64_t bytes)
{
    struct section s;
    struct root_region new = {.start = start, .bytes = bytes};
    uint64_t end;
    if (!bytes || !checked_add(start, bytes, &end) || !section_begin(&s))
        return false;
    bool added = client_block_life(start, bytes, s.write_epoch, &new.life) && add(&hidden, new);
    section_end(&s);
    return added;
}

bool annotations_show(uintptr_t start, uint64_t bytes)
{
    return take_out(&hidden, start, bytes);
}

const struct root_region *annotations_hidden(uint32_t *count)
{
    *count = hidden.count;
    return hidden.region;
}

static void list_range(const struct regions *all, uintptr_t *start, uintptr_t *end)
{
    *start = (uintptr_t)all->region;
    *end = *start + align_up(all->room * sizeof *all->region, PAGE_BYTES);
}

void annotations_lists(uintptr_t start[2], uintptr_t end[2])
{
    list_range(&roots, &start[0], &end[0]);
    list_range(&hidden, &start[1], &end[1]);
}

void annotations_after_fork(void)
{
    lock_reset(&lock);
}

/*
 * hints.c - what the program itself says about leaks: blocks that are none, memory that counts, and
 * from when on a block is new.
 *
 * A block to be ignored has a flag in its word, which the marking takes as a root: what such a block
 * holds is in use, too.  A thread that ignores what it allocates has that flag at hand for every block.
 * Regions are few and stay long: a list, looked at by nobody but a check.
 */
#include "core.h"

#include <string.h>

#define REGIONS_FIRST 128u

struct hints hints = {.mark = MARK_FIRST};

static struct {
    struct lock lock;
    struct root_region *region;
    uint32_t count, room;
} roots = {.lock = LOCK_INIT(RANK_HINTS)};

/* ---- marks -------------------------------------------------------------------------------------- */

uint32_t hints_next_mark(void)
{
    uint32_t mark = hints_mark_now();
    do {
        if (mark == BLOCK_MARK_MASK)
            return 0;
    } while (!atomic_compare_exchange_weak(&hints.mark, &mark, mark + 1));
    return mark + 1;
}

/* ---- blocks that are no leaks ------------------------------------------------------------------- */

static struct thread *this_thread(void)
{
    struct section s;
    if (!self && section_begin(&s)) /* its first call */
        section_end(&s);
    return self;
}

void hints_ignore_new(void)
{
    struct thread *t = this_thread();
    if (!t)
        return; /* past its end: its struct is not its own */
    hints.ignoring = true;
    t->ignoring++;
    t->birth_flags = BLOCK_FLAG_ROOT;
}

void hints_heed_new(void)
{
    struct thread *t = this_thread();
    if (!t || !t->ignoring)
        return;
    t->ignoring--;
    t->birth_flags = t->ignoring ? BLOCK_FLAG_ROOT : 0;
}

static bool ignore_found(const struct found *f, uint32_t go)
{
    if ((f->verdict != PTR_START && f->verdict != PTR_INSIDE) || slab_is_unrecorded(f))
        return false;
    struct block_record *b = pool_record(f, go);
    uint64_t word = atomic_load_explicit(&b->word, memory_order_acquire);
    uint64_t inside = f->verdict == PTR_INSIDE ? f->offset : 0;
    if (inside && inside >= pool_request(f, b, word))
        return false;
    return block_flag(b, BLOCK_FLAG_ROOT);
}

bool hints_ignore(const void *p)
{
    struct section s;
    if (!section_begin(&s))
        return false;
    struct found f = pool_find(p);
    bool ignored = ignore_found(&f, s.go);
    hints.ignoring |= ignored;
    section_end(&s);
    return ignored;
}

static bool is_ignored(const struct found *f, uint32_t go)
{
    if (f->verdict != PTR_START || slab_is_unrecorded(f))
        return false;
    uint64_t word, stacks;
    return block_read(pool_look(f, go), &word, &stacks) && word_flags(word) & BLOCK_FLAG_ROOT;
}

void hints_ignore_moved(const void *from, const void *to)
{
    struct section s;
    if (!section_begin(&s))
        return;
    struct found f = pool_find(from);
    bool ignored = is_ignored(&f, s.go);
    section_end(&s);
    if (ignored)
        hints_ignore(to);
}

/* ---- root regions ------------------------------------------------------------------------------- */

static bool has_room(void)
{
    if (roots.count < roots.room)
        return true;
    uint32_t room = roots.room ? 2 * roots.room : REGIONS_FIRST;
    struct root_region *more = os_map(align_up(room * sizeof *more, PAGE_BYTES));
    if (os_failed(more))
        return false;
    if (roots.count) {
        memcpy(more, roots.region, roots.count * sizeof *more);
        os_unmap(roots.region, align_up(roots.room * sizeof *more, PAGE_BYTES));
    }
    roots.region = more;
    roots.room = room;
    return true;
}

bool hints_add_root(uintptr_t start, uint64_t bytes)
{
    struct section s;
    uint64_t end;
    if (!bytes || !checked_add(start, bytes, &end) || !section_begin(&s))
        return false;
    lock_take(&roots.lock);
    bool added = has_room();
    if (added)
        roots.region[roots.count++] = (struct root_region){start, bytes};
    lock_drop(&roots.lock);
    section_end(&s);
    return added;
}

bool hints_remove_root(uintptr_t start, uint64_t bytes)
{
    struct section s;
    if (!section_begin(&s))
        return false;
    lock_take(&roots.lock);
    uint32_t i = 0;
    while (i < roots.count && (roots.region[i].start != start || roots.region[i].bytes != bytes))
        i++;
    bool found = i < roots.count;
    if (found)
        roots.region[i] = roots.region[--roots.count];
    lock_drop(&roots.lock);
    section_end(&s);
    return found;
}

const struct root_region *hints_roots(uint32_t *count)
{
    *count = roots.count;
    return roots.region;
}

void hints_after_fork(void)
{
    lock_reset(&roots.lock);
}

/*
 * maps.c - the table of mapped ranges.  Ranges do not overlap, are sorted, and have the kernel's
 * attributes.  Neighbours with equal attributes are joined.
 *
 * The table is a sorted list of leaves with up to 32 ranges each.  Within a leaf, ranges stay in
 * their slots:
 *
 *      order of leaves:  3               0           7
 *      slots of a leaf:  [c . a b]       [e f . .]   [. i h g]      each has free slots
 *      its order:         2 3 0           0 1         3 2 1
 *
 * A change of a sorted array moves half of it.  With 65,000 mappings, the limit of Linux, removing
 * and adding a range takes 49 us in an array, and 1.5 us with leaves.  A change within a leaf moves
 * up to 32 bytes of `order`, not 32 ranges.  A copy of the leaf (in the run file) changes in one
 * range only.  A full leaf is split in halves.  Neighbours that fit into half a leaf are merged, so
 * leaves are at least a quarter full on average.
 *
 * Most calls map a free range, or unmap exactly one mapped range: then one slot is found, and
 * filled or emptied.  All other changes have three steps: cut ranges at an address, change the
 * whole ranges between two cuts, join equal neighbours.
 */
#include "maps.h"

#include <string.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define LEAF_HALF (MAP_LEAF_REGIONS / 2)
#define ALL_SLOTS UINT32_MAX

static_assert(MAP_LEAF_REGIONS == 32, "a bit for each place");

static struct map_leaf *leaf_at(const struct maps *m, uint32_t k)
{
    return &m->leaf[m->order[k]];
}

static struct map_region *in_order(struct map_leaf *l, uint32_t i)
{
    return &l->region[l->order[i]];
}

static struct map_region *region_at(const struct maps *m, struct map_spot p)
{
    return p.k < m->leaves ? in_order(leaf_at(m, p.k), p.i) : NULL;
}

size_t maps_bytes(uint32_t regions)
{
    size_t leaves = regions / (LEAF_HALF / 2) + 4;
    return leaves * (sizeof(struct map_leaf) + sizeof(uint32_t));
}

void maps_init(struct maps *m, void *storage, size_t bytes)
{
    uint32_t room = (uint32_t)(bytes / (sizeof(struct map_leaf) + sizeof(uint32_t)));
    *m = (struct maps){.leaf = storage, .room = room};
    m->order = (uint32_t *)(void *)(m->leaf + room);
}

/* ---- searching ------------------------------------------------------------------------------- */

static bool ends_above(const struct maps *m, uint32_t k, uint64_t at)
{
    struct map_leaf *l = leaf_at(m, k);
    return in_order(l, l->count - 1)->end > at;
}

/* The first leaf whose last range ends above `at`. */
static uint32_t leaf_of(const struct maps *m, uint64_t at)
{
    uint32_t low = 0, high = m->leaves;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (ends_above(m, middle, at))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct map_spot search(const struct maps *m, uint64_t at)
{
    struct map_spot p = {leaf_of(m, at), 0};
    if (p.k == m->leaves)
        return p;
    struct map_leaf *l = leaf_at(m, p.k);
    uint32_t high = l->count;
    while (p.i < high) {
        uint32_t middle = (p.i + high) / 2;
        if (in_order(l, middle)->end > at)
            high = middle;
        else
            p.i = middle + 1;
    }
    return p;
}

/*
 * Is it at p, or next to it in its leaf?  Most searches hit the last range found or its neighbour.
 */
static bool is_near(const struct maps *m, struct map_spot *p, uint64_t at)
{
    if (p->k >= m->leaves)
        return false;
    struct map_leaf *l = leaf_at(m, p->k);
    if (p->i >= l->count)
        return false;
    if (in_order(l, p->i)->end > at)
        return p->i ? in_order(l, p->i - 1)->end <= at : !p->k || !ends_above(m, p->k - 1, at);
    return ++p->i < l->count && in_order(l, p->i)->end > at;
}

/* The first range that ends above `at`. */
static struct map_spot spot_of(struct maps *m, uint64_t at)
{
    struct map_spot p = m->last;
    if (!is_near(m, &p, at))
        p = search(m, at);
    return m->last = p;
}

/* The spot before p. k == leaves: p is the first. */
static struct map_spot before_spot(const struct maps *m, struct map_spot p)
{
    if (p.i)
        return (struct map_spot){p.k, p.i - 1};
    return p.k ? (struct map_spot){p.k - 1, leaf_at(m, p.k - 1)->count - 1}
               : (struct map_spot){m->leaves, 0};
}

/* ---- changes since the last copy ------------------------------------------------------------- */

#define LAST_CHANGED UINT32_MAX

static void touch(struct maps *m, uint32_t number, uint32_t slots_mask)
{
    struct map_leaf *l = &m->leaf[number];
    l->changed |= slots_mask;
    if (l->next_changed)
        return;
    l->next_changed = m->changed ? m->changed : LAST_CHANGED;
    m->changed = number + 1;
}

uint32_t maps_next_changed(struct maps *m, uint32_t *slots_mask)
{
    uint32_t number = m->changed;
    if (!number)
        return 0;
    struct map_leaf *l = &m->leaf[number - 1];
    *slots_mask = l->changed;
    m->changed = l->next_changed == LAST_CHANGED ? 0 : l->next_changed;
    l->next_changed = l->changed = 0;
    return number;
}

void maps_forget_changes(struct maps *m)
{
    m->changed = 0;
    for (uint32_t i = 0; i < m->made; i++)
        m->leaf[i].next_changed = m->leaf[i].changed = 0;
}

/* Mark the range at p as changed, and return it. */
static struct map_region *change_at(struct maps *m, struct map_spot p)
{
    uint32_t number = m->order[p.k];
    touch(m, number, 1u << m->leaf[number].order[p.i]);
    return region_at(m, p);
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static bool has_leaves(const struct maps *m, uint32_t leaves)
{
    return m->leaves + leaves <= m->room;
}

static void set_empty(struct map_leaf *l)
{
    l->count = l->used = 0;
}

/* Insert an empty leaf as the k-th in the order. */
static void add_leaf(struct maps *m, uint32_t k)
{
    uint32_t number = m->made;
    if (m->free) {
        number = m->free - 1;
        m->free = m->leaf[number].next_free;
    } else {
        m->made++;
        m->leaf[number].next_changed = m->leaf[number].changed = 0;
    }
    set_empty(&m->leaf[number]);
    touch(m, number, ALL_SLOTS);
    memmove(m->order + k + 1, m->order + k, (m->leaves - k) * sizeof *m->order);
    m->order[k] = number;
    m->leaves++;
}

static void drop_leaf(struct maps *m, uint32_t k)
{
    uint32_t number = m->order[k];
    touch(m, number, ALL_SLOTS);
    set_empty(&m->leaf[number]);
    m->leaf[number].next_free = m->free;
    m->free = number + 1;
    m->leaves--;
    memmove(m->order + k, m->order + k + 1, (m->leaves - k) * sizeof *m->order);
}

/* Insert a range as the leaf's i-th. */
static void put_in_leaf(struct maps *m, uint32_t number, uint32_t i, const struct map_region *r)
{
    struct map_leaf *l = &m->leaf[number];
    uint32_t slot_index = (uint32_t)__builtin_ctz(~l->used);
    memmove(l->order + i + 1, l->order + i, l->count - i);
    l->order[i] = (uint8_t)slot_index;
    l->region[slot_index] = *r;
    l->used |= 1u << slot_index;
    l->count++;
    touch(m, number, 1u << slot_index);
}

static void take_from_leaf(struct maps *m, uint32_t number, uint32_t i)
{
    struct map_leaf *l = &m->leaf[number];
    uint32_t slot_index = l->order[i];
    l->count--;
    l->used &= ~(1u << slot_index);
    memmove(l->order + i, l->order + i + 1, l->count - i);
    touch(m, number, 1u << slot_index);
}

static void split_leaf(struct maps *m, uint32_t k)
{
    add_leaf(m, k + 1);
    uint32_t number = m->order[k], next = m->order[k + 1];
    for (uint32_t i = 0; i < LEAF_HALF; i++)
        put_in_leaf(m, next, i, in_order(&m->leaf[number], LEAF_HALF + i));
    while (m->leaf[number].count > LEAF_HALF)
        take_from_leaf(m, number, LEAF_HALF);
}

static void merge_leaves(struct maps *m, uint32_t k)
{
    if (k + 1 >= m->leaves)
        return;
    struct map_leaf *l = leaf_at(m, k), *next = leaf_at(m, k + 1);
    if (l->count + next->count > LEAF_HALF)
        return;
    for (uint32_t i = 0; i < next->count; i++)
        put_in_leaf(m, m->order[k], l->count, in_order(next, i));
    drop_leaf(m, k + 1);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static bool is_file(const struct map_region *r)
{
    return r->inode || r->device;
}

static uint64_t called_bytes(const struct map_region *r)
{
    return r->origin == MAP_CALLED ? r->end - r->start : 0;
}

/* Insert a range before the range at p. */
static inline void insert(struct maps *m, struct map_spot p, const struct map_region *r)
{
    if (p.k == m->leaves && p.k > 0) {
        p.k--;
        p.i = leaf_at(m, p.k)->count;
    } else if (p.k == m->leaves)
        add_leaf(m, p.k);
    if (leaf_at(m, p.k)->count == MAP_LEAF_REGIONS) {
        split_leaf(m, p.k);
        if (p.i > LEAF_HALF) {
            p.k++;
            p.i -= LEAF_HALF;
        }
    }
    put_in_leaf(m, m->order[p.k], p.i, r);
    m->count++;
    m->called_bytes += called_bytes(r);
    m->last = p;
}

static void erase(struct maps *m, struct map_spot p)
{
    uint32_t number = m->order[p.k];
    m->called_bytes -= called_bytes(region_at(m, p));
    m->count--;
    take_from_leaf(m, number, p.i);
    m->last = p;
    if (m->leaf[number].count > LEAF_HALF)
        return;
    if (!m->leaf[number].count)
        drop_leaf(m, p.k);
    else
        merge_leaves(m, p.k);
    if (p.k > 0)
        merge_leaves(m, p.k - 1);
}

/* Cut the range at p.  The returned tail is in no leaf yet. */
static struct map_region cut_off(struct maps *m, struct map_spot p, uint64_t at)
{
    struct map_region *r = change_at(m, p), tail = *r;
    tail.start = at;
    tail.offset += is_file(r) ? at - r->start : 0;
    r->end = at;
    m->called_bytes -= called_bytes(&tail);
    return tail;
}

static void cut_at(struct maps *m, struct map_spot p, uint64_t at)
{
    struct map_region tail = cut_off(m, p, at);
    p.i++;
    insert(m, p, &tail);
}

static void cut(struct maps *m, uint64_t at)
{
    struct map_spot p = spot_of(m, at);
    const struct map_region *r = region_at(m, p);
    if (r && r->start < at)
        cut_at(m, p, at);
}

static bool continues(const struct map_region *a, const struct map_region *b)
{
    return a->end == b->start && a->call == b->call && a->protection == b->protection &&
           a->shared == b->shared && a->device == b->device && a->inode == b->inode &&
           a->stack == b->stack && a->origin == b->origin && a->mark == b->mark &&
           a->thread == b->thread && (!is_file(a) || a->offset + (a->end - a->start) == b->offset);
}

/* Join the range at p with the one before it, if they have equal attributes. */
static void join_at(struct maps *m, struct map_spot p)
{
    struct map_spot q = before_spot(m, p);
    const struct map_region *r = region_at(m, p), *before = region_at(m, q);
    if (!r || !before || !continues(before, r))
        return;
    m->called_bytes += called_bytes(r);
    change_at(m, q)->end = r->end;
    erase(m, p);
}

/* The same for the range that starts at `at`, if there is one. */
static void join(struct maps *m, uint64_t at)
{
    struct map_spot p = spot_of(m, at);
    const struct map_region *r = region_at(m, p);
    if (r && r->start == at)
        join_at(m, p);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Remove the part of a range before `at`. */
static void trim(struct maps *m, struct map_spot p, uint64_t at)
{
    struct map_region *r = change_at(m, p);
    m->called_bytes -= called_bytes(r);
    r->offset += is_file(r) ? at - r->start : 0;
    r->start = at;
    m->called_bytes += called_bytes(r);
}

static void take_out(struct maps *m, uint64_t start, uint64_t end)
{
    const struct map_region *r;
    for (struct map_spot p = spot_of(m, start); (r = region_at(m, p)) && r->start < end;
         p = spot_of(m, start))
        if (r->start < start && r->end > end)
            cut_at(m, p, end); /* now two ranges: the next iteration shortens the first */
        else if (r->start < start)
            cut_off(m, p, start);
        else if (r->end > end)
            trim(m, p, end);
        else
            erase(m, p);
}

/* Only removing the middle of a range needs room. */
static bool has_room_to_take(struct maps *m, uint64_t start, uint64_t end)
{
    struct map_spot p = spot_of(m, start);
    const struct map_region *r = region_at(m, p);
    return !r || r->start >= start || r->end <= end || leaf_at(m, p.k)->count < MAP_LEAF_REGIONS ||
           has_leaves(m, 1);
}

bool maps_take(struct maps *m, uint64_t start, uint64_t end, struct map_region *out)
{
    struct map_spot p = spot_of(m, start);
    const struct map_region *r = region_at(m, p);
    if (!r || r->start != start || r->end != end)
        return false;
    *out = *r;
    erase(m, p);
    return true;
}

bool maps_remove(struct maps *m, uint64_t start, uint64_t end)
{
    if (start >= end)
        return true;
    if (!has_room_to_take(m, start, end))
        return false;
    take_out(m, start, end);
    return true;
}

bool maps_put(struct maps *m, const struct map_region *r)
{
    if (r->start >= r->end)
        return true;
    if (!has_leaves(m, 2)) /* a cut and a new range may each split a leaf */
        return false;
    struct map_spot p = spot_of(m, r->start);
    const struct map_region *next = region_at(m, p), *before;
    if (next && next->start < r->end) {
        take_out(m, r->start, r->end);
        p = spot_of(m, r->start);
        next = region_at(m, p);
    }
    before = region_at(m, before_spot(m, p));
    bool joins_before = before && continues(before, r), joins_next = next && continues(r, next);
    insert(m, p, r);
    if (unlikely(joins_next))
        join(m, r->end);
    if (unlikely(joins_before))
        join(m, r->start);
    return true;
}

bool maps_protect(struct maps *m, uint64_t start, uint64_t end, uint8_t protection)
{
    if (start >= end)
        return true;
    if (!has_leaves(m, 2))
        return false;
    cut(m, start);
    cut(m, end);
    for (uint64_t at = start;;) {
        struct map_spot p = spot_of(m, at);
        struct map_region *r = region_at(m, p);
        if (!r || r->start >= end)
            break;
        at = r->end;
        change_at(m, p)->protection = protection;
        join_at(m, p);
    }
    join(m, end);
    return true;
}

const struct map_region *maps_find(struct maps *m, uint64_t at)
{
    return region_at(m, spot_of(m, at));
}

/* Fast path: is the range next to the last range found, in the same leaf? */
static inline bool is_free_near(struct maps *m, uint64_t start, uint64_t end)
{
    if (m->last.k >= m->leaves)
        return false;
    struct map_leaf *l = leaf_at(m, m->last.k);
    uint32_t i = m->last.i, count = l->count;
    if (i < count && in_order(l, i)->end <= start)
        i++;
    if (!i || i >= count || in_order(l, i - 1)->end > start || in_order(l, i)->start < end)
        return false;
    m->last.i = i;
    return true;
}

bool maps_is_free(struct maps *m, uint64_t start, uint64_t end)
{
    if (likely(is_free_near(m, start, end)))
        return true;
    const struct map_region *r = maps_find(m, start);
    return !r || r->start >= end;
}

bool maps_is_valid(const struct maps *m)
{
    const struct map_region *before = NULL;
    uint64_t called = 0;
    uint32_t count = 0;
    for (uint32_t k = 0; k < m->leaves; k++) {
        struct map_leaf *l = leaf_at(m, k);
        uint32_t used = 0;
        if (!l->count || l->count > MAP_LEAF_REGIONS)
            return false;
        for (uint32_t i = 0; i < l->count; i++) {
            const struct map_region *r = in_order(l, i);
            if (r->start >= r->end || (!is_file(r) && r->offset) ||
                (before && (before->end > r->start || continues(before, r))))
                return false;
            before = r;
            called += called_bytes(r);
            used |= 1u << l->order[i];
        }
        if (used != l->used)
            return false;
        count += l->count;
    }
    return count == m->count && called == m->called_bytes;
}

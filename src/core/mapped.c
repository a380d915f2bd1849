/*
 * mapped.c - what is mapped, and whose call mapped it: shadow's map of ranges, fed by the calls that
 * events stands in front of, and a copy of it in the run file.
 *
 *      first call                each call                        check, end, request
 *      /proc/self/maps           what goes is taken out before,   /proc/self/maps
 *      -> EXISTED                what comes is put in after it    -> BEHIND, or it is no more there
 *
 * What goes has to be out before the call is made: another thread may be given the place before this one
 * comes back.  It is kept with the call, which may fail (then it is put back) or move it.
 *
 * The kernel's calls never wait for another thread of the program's, and collectors count on that: they stop
 * threads wherever they are, in a handler, and map while those stand.  So nobody waits here for long, either: a
 * call that cannot have the map in time goes unseen, as one does that a handler makes in the midst of ours.
 *
 * A process that makes none of these calls has no map, and pays nothing for it.  The copy is written leaf
 * by leaf, behind each change; a forked child has its parent's map in its memory, and copies it anew when it
 * first changes it.
 */
#include "mapped_priv.h"

#include <string.h>
#include <sys/mman.h>

#define REGIONS_MOST 65536u /* as many as Linux allows, if nobody tells it otherwise */
#define REGIONS_LEAST 1024u
#define PATIENCE_NS 100000000u /* with who holds the lock */

struct map map = {.lock = LOCK_INIT(RANK_MAPS)};

/* ---- ranges ------------------------------------------------------------------------------------- */

bool map_clip(struct map_region *r, uint64_t start, uint64_t end)
{
    if (r->start < start) {
        r->offset += region_is_file(r) ? start - r->start : 0;
        r->start = start;
    }
    r->end = r->end < end ? r->end : end;
    return r->start < r->end;
}

static void add_bytes(uint64_t bytes)
{
    uint64_t now = map_count(&map.sum->bytes, bytes);
    if (now > atomic_load_explicit(&map.sum->peak_bytes, memory_order_relaxed))
        atomic_store_explicit(&map.sum->peak_bytes, now, memory_order_relaxed);
}

/* Bytes of what calls have mapped there; NULL, or where to keep what lies there. */
static uint64_t bytes_called(uint64_t start, uint64_t end, struct mapped_call *c)
{
    const struct map_region *r;
    uint64_t bytes = 0;
    for (uint64_t at = start; at < end && (r = maps_find(&map.maps, at)) && r->start < end; at = r->end) {
        struct map_region piece = *r;
        if (!map_clip(&piece, start, end))
            continue;
        bytes += piece.origin == MAP_CALLED ? piece.end - piece.start : 0;
        if (c && c->count < MAPPED_KEPT)
            c->kept[c->count++] = piece;
        else if (c)
            c->more = true;
    }
    return bytes;
}

/* `c`: that takes it out. */
void map_take_out(uint64_t start, uint64_t end, struct mapped_call *c)
{
    uint64_t bytes = bytes_called(start, end, c);
    if (maps_remove(&map.maps, start, end))
        add_bytes(-bytes);
    else
        map.sum->flags |= MAP_SUM_FULL;
}

void map_put(const struct map_region *r)
{
    uint64_t before = bytes_called(r->start, r->end, NULL);
    if (maps_put(&map.maps, r))
        add_bytes((r->origin == MAP_CALLED ? r->end - r->start : 0) - before);
    else
        map.sum->flags |= MAP_SUM_FULL;
}

/* ---- beginning ---------------------------------------------------------------------------------- */

/* Storage, and behind it room for what becomes of the leaves' copies. */
static bool make_room(uint32_t regions)
{
    size_t bytes = align_up(maps_bytes(regions), PAGE_BYTES);
    char *at = os_map(bytes + align_up(bytes / sizeof(struct map_leaf) * sizeof map.copy[0], PAGE_BYTES));
    if (os_failed(at))
        return false;
    maps_init(&map.maps, at, bytes);
    map.copy = (struct segment **)(void *)(at + bytes);
    return true;
}

static void begin(void)
{
    uint32_t regions = REGIONS_MOST;
    while (!map.copy && !make_room(regions) && regions > REGIONS_LEAST)
        regions /= 8;
    if (!map.copy)
        maps_init(&map.maps, NULL, 0); /* there is room for nothing */
    else
        memset(map.copy, 0, map.maps.room * sizeof map.copy[0]); /* it was made before: a parent's */
    map_take_sum(0);
    map.image = image()->image;
    if (!map_read_all())
        map.sum->flags |= MAP_SUM_KNOWN;
    atomic_store(&map.ready, true);
}

/* In a forked child: the copy was its parent's. */
static void begin_again(void)
{
    map.image = image()->image;
    map_take_sum(map.sum->flags & ~MAP_SUM_COMPARED);
    add_bytes(bytes_called(0, ADDRESSES_END, NULL));
    map_copy_all();
}

static bool take_lock(void)
{
    bool held_up = atomic_load_explicit(&map.held_up, memory_order_relaxed);
    bool taken = held_up ? lock_try(&map.lock) : lock_take_within(&map.lock, PATIENCE_NS);
    if (unlikely(taken == held_up))
        atomic_store_explicit(&map.held_up, !taken, memory_order_relaxed);
    return taken;
}

bool map_enter(struct section *s)
{
    if (!section_begin(s))
        return false;
    if (!take_lock()) {
        if (atomic_load(&map.ready))
            atomic_fetch_add(&map.sum->unseen, 1);
        section_end(s);
        return false;
    }
    if (!atomic_load(&map.ready))
        begin();
    else if (map.image != image()->image)
        begin_again();
    return true;
}

void map_leave(struct section *s)
{
    map_copy_changed();
    lock_drop(&map.lock);
    section_end(s);
}

/* Somebody was changing it when the parent forked: it is made anew. */
void mapped_after_fork(void)
{
    if (atomic_load(&map.lock.word)) {
        maps_init(&map.maps, map.maps.leaf, map.maps.room * (sizeof(struct map_leaf) + sizeof(uint32_t)));
        atomic_store(&map.ready, false);
    }
    lock_reset(&map.lock);
    atomic_store(&map.held_up, false);
    atomic_store(&map.ended, atomic_load(&map.begun));
}

/* ---- calls -------------------------------------------------------------------------------------- */

void mapped_begin(struct mapped_call *c, const struct entry *at)
{
    struct section s;
    c->count = 0;
    c->more = false;
    c->known = section_begin(&s);
    if (!c->known) {
        if (s.kind == SECTION_HANDLER && atomic_load(&map.ready))
            atomic_fetch_add(&map.sum->unseen, 1);
        return;
    }
    atomic_fetch_add(&map.begun, 1); /* before the kernel does anything: pairs with is_certain */
    c->stack = at ? stack_put(s.t, at) : 0;
    c->thread = s.t->number;
    section_end(&s);
    if (likely(atomic_load(&map.ready)))
        return;
    if (map_enter(&s)) {
        map_leave(&s);
    } else { /* no map to speak of */
        mapped_end(c);
        c->known = false;
    }
}

void mapped_end(struct mapped_call *c)
{
    if (c->known)
        atomic_fetch_add(&map.ended, 1);
}

void mapped_take(struct mapped_call *c, uint64_t start, uint64_t end)
{
    struct section s;
    if (!c->known || start >= end || !map_enter(&s))
        return;
    map_take_out(start, end, c);
    map_leave(&s);
}

static bool belongs(const struct map_region *r, const struct map_region *first, uint64_t at, uint64_t bytes)
{
    return r->start >= at && r->start - at == r->offset && r->end - at <= bytes && r->shared &&
           r->inode == first->inode;
}

void mapped_take_attachment(struct mapped_call *c, uint64_t start, uint64_t end, uint64_t at)
{
    struct section s;
    const struct map_region *first, *r;
    if (!c->known || start >= end || !map_enter(&s))
        return;
    first = maps_find(&map.maps, start);
    struct map_region whose = first ? *first : (struct map_region){0};
    for (uint64_t from = start; from < end && (r = maps_find(&map.maps, from)) && r->start < end;) {
        struct map_region own = *r;
        from = own.end;
        if (!belongs(&own, &whose, at, end - at))
            continue;
        map_take_out(own.start, own.end, c);
    }
    map_leave(&s);
}

void mapped_new(struct mapped_call *c, const struct map_region *what)
{
    struct section s;
    struct map_region r = *what;
    if (!c->known || r.start >= r.end || !map_enter(&s))
        return;
    bool crowded = map.maps.leaves > map.maps.room / 2; /* from then on neighbours of one stack become one */
    r.call = crowded ? 0 : ++map.calls;
    r.stack = c->stack;
    r.thread = crowded ? 0 : c->thread;
    r.origin = MAP_CALLED;
    r.mark = (uint8_t)hints_mark_now();
    map_put(&r);
    map_count(&map.sum->mapped, 1);
    map_leave(&s);
}

void mapped_gone(struct mapped_call *c)
{
    if (c->known)
        atomic_fetch_add(&map.sum->unmapped, 1);
}

void mapped_stay(struct mapped_call *c, uint64_t start, uint64_t end)
{
    struct section s;
    if (!c->known || start >= end || !map_enter(&s))
        return;
    for (uint32_t i = 0; i < c->count; i++) {
        struct map_region r = c->kept[i];
        if (map_clip(&r, start, end))
            map_put(&r);
    }
    if (c->more)
        map_ask(start, end);
    map_leave(&s);
}

/* A piece of what was at the old place; the last one grows. */
static void put_moved(const struct mapped_move *m, struct map_region r)
{
    if (m->keeps)
        map_put(&r);
    if (r.end == m->from_end)
        r.end = m->from + (m->to_end - m->to);
    r.start += m->to - m->from;
    r.end += m->to - m->from;
    if (map_clip(&r, m->to, m->to_end))
        map_put(&r);
}

/*
 * Where the old place has a hole what was at the new one stays (kernels that move several mappings at
 * once): so that is put back first.
 */
void mapped_moved(struct mapped_call *c, const struct mapped_move *m)
{
    struct section s;
    if (!c->known || !map_enter(&s))
        return;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->kept[i].start < m->from || c->kept[i].start >= m->from_end)
            map_put(&c->kept[i]);
    for (uint32_t i = 0; i < c->count; i++)
        if (c->kept[i].start >= m->from && c->kept[i].start < m->from_end)
            put_moved(m, c->kept[i]);
    if (c->more) {
        map_ask(m->from, m->from_end);
        map_ask(m->to, m->to_end);
    }
    map_leave(&s);
}

void mapped_ask(struct mapped_call *c, uint64_t start, uint64_t end)
{
    struct section s;
    if (!c->known || start >= end || !map_enter(&s))
        return;
    map_ask(start, end);
    map_leave(&s);
}

bool mapped_is_whole(uint64_t start, uint64_t end)
{
    struct section s;
    const struct map_region *r;
    uint64_t at = start;
    if (!map_enter(&s))
        return true;
    while (at < end && (r = maps_find(&map.maps, at)) && r->start <= at)
        at = r->end;
    map_leave(&s);
    return at >= end;
}

bool mapped_find(uint64_t at, struct map_region *out)
{
    struct section s;
    if (!map_enter(&s))
        return false;
    const struct map_region *r = maps_find(&map.maps, at);
    bool found = r && r->start <= at;
    if (found)
        *out = *r;
    map_leave(&s);
    return found;
}

void mapped_protected(struct mapped_call *c, uint64_t start, uint64_t end, int protection)
{
    struct section s;
    const struct map_region *r;
    uint64_t at = start;
    if (!c->known || start >= end || !map_enter(&s))
        return;
    while (at < end && (r = maps_find(&map.maps, at)) && r->start <= at)
        at = r->end < end ? r->end : end;
    if (!maps_protect(&map.maps, start, at, (uint8_t)(protection & (PROT_READ | PROT_WRITE | PROT_EXEC))))
        map.sum->flags |= MAP_SUM_FULL;
    map_leave(&s);
}

uint64_t mapped_bytes(void)
{
    return atomic_load(&map.ready) ? atomic_load_explicit(&map.sum->bytes, memory_order_relaxed) : 0;
}


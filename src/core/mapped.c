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
 * libc and the loader map for themselves where nobody sees it, and anybody may by raw system calls: so
 * the map is compared with what the kernel has whenever it is to be relied on, and mended.  What is more
 * there than in the map may be on its way into it, by a call that is being made: then nothing is said.
 *
 * The kernel's calls never wait for another thread of the program's, and collectors count on that: they stop
 * threads wherever they are, in a handler, and map while those stand.  So nobody waits here for long, either: a
 * call that cannot have the map in time goes unseen, as one does that a handler makes in the midst of ours.
 *
 * A process that makes none of these calls has no map, and pays nothing for it.  The copy is written leaf
 * by leaf, behind each change; a forked child has its parent's map in its memory, and copies it anew when it
 * first changes it.
 */
#include "core.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define REGIONS_MOST 65536u /* as many as Linux allows, if nobody tells it otherwise */
#define REGIONS_LEAST 1024u
#define ADDRESSES_END (1ull << 47) /* above are the kernel's */
#define PATIENCE_NS 100000000u /* with who holds the lock */

static struct {
    struct lock lock;
    struct maps maps;
    _Atomic bool ready;
    uint32_t image; /* whose part of the run file has the copy */
    uint32_t calls; /* numbers given out */
    struct segment **copy; /* of each leaf */
    struct map_sum *sum;
    _Atomic uint64_t begun, ended; /* calls; between the two the kernel may have what the map has not */
    _Atomic bool held_up; /* somebody has waited in vain: until it is free once nobody waits again */
} map = {.lock = LOCK_INIT(RANK_MAPS)};

static struct map_sum unrecorded; /* where the run file has no room */

/* Under the lock; readers outside see one value or the other. */
static uint64_t count(_Atomic uint64_t *counter, uint64_t n)
{
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed) + n;
    atomic_store_explicit(counter, now, memory_order_relaxed);
    return now;
}

/* ---- ranges ------------------------------------------------------------------------------------- */

static bool is_file(const struct map_region *r)
{
    return r->inode || r->device;
}

static bool clip(struct map_region *r, uint64_t start, uint64_t end)
{
    if (r->start < start) {
        r->offset += is_file(r) ? start - r->start : 0;
        r->start = start;
    }
    r->end = r->end < end ? r->end : end;
    return r->start < r->end;
}

static void add_bytes(uint64_t bytes)
{
    uint64_t now = count(&map.sum->bytes, bytes);
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
        if (!clip(&piece, start, end))
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
static void take_out(uint64_t start, uint64_t end, struct mapped_call *c)
{
    uint64_t bytes = bytes_called(start, end, c);
    if (maps_remove(&map.maps, start, end))
        add_bytes(-bytes);
    else
        map.sum->flags |= MAP_SUM_FULL;
}

static void put(const struct map_region *r)
{
    uint64_t before = bytes_called(r->start, r->end, NULL);
    if (maps_put(&map.maps, r))
        add_bytes((r->origin == MAP_CALLED ? r->end - r->start : 0) - before);
    else
        map.sum->flags |= MAP_SUM_FULL;
}

/* ---- what the kernel has ------------------------------------------------------------------------ */

struct comparison {
    uint64_t start, end;
    enum map_origin origin; /* of what is more there */
    bool counts;
    bool unsure; /* there is more: it may be on its way */
    uint64_t begun; /* when it was asked: no call was being made; 0: one was */
    uint64_t differences;
    uintptr_t object;   /* that was counted last */
    uint64_t guard_end; /* of the last range without rights */
};

static bool is_certain(struct comparison *c)
{
    bool quiet = c->begun && atomic_load(&map.begun) + 1 == c->begun;
    c->unsure |= !quiet;
    return quiet || !c->counts;
}

static void tell(struct comparison *c, _Atomic uint64_t *counter)
{
    if (!c->counts)
        return;
    c->differences++;
    count(counter, 1);
}

/* By whom?  A stack that libc makes is two ranges, a guard and what it guards. */
static void tell_more(struct comparison *c, const struct map_region *r)
{
    struct object o;
    if (!c->counts)
        return;
    if (loader_find(r->start, &o)) {
        if (o.start != c->object)
            tell(c, &map.sum->behind_objects);
        c->object = o.start;
    } else if (!threads_on_stack(r->start, r->end, r->start).number)
        tell(c, &map.sum->behind_others);
    else if (c->guard_end != r->start)
        tell(c, &map.sum->behind_stacks);
    else {
        count(&map.sum->behind_others, -1ull);
        count(&map.sum->behind_stacks, 1);
    }
    c->guard_end = r->protection ? 0 : r->end;
}

/* It is not in the map. */
static void find_more(struct comparison *c, const struct map_region *kernels)
{
    if (!is_certain(c))
        return;
    tell_more(c, kernels);
    put(kernels);
}

/* Both have something there.  What nobody has looked at yet is what the kernel says that it is. */
static void find_both(struct comparison *c, const struct map_region *kernels, const struct map_region *ours)
{
    struct map_region r = *ours;
    clip(&r, kernels->start, kernels->end);
    bool look = r.device == MAP_FILE_UNKNOWN && (!r.inode || r.inode == kernels->inode || !is_file(kernels));
    if (look) {
        r.inode = kernels->inode;
        r.device = kernels->device;
        r.offset = is_file(kernels) ? r.offset : 0;
    }
    bool same = r.shared == kernels->shared && r.inode == kernels->inode && r.device == kernels->device &&
                r.offset == kernels->offset;
    if (same && r.protection == kernels->protection) {
        if (look)
            put(&r);
        return;
    }
    if (!is_certain(c))
        return;
    tell(c, &map.sum->behind_changed);
    r.protection = kernels->protection;
    put(same ? &r : kernels);
}

static void find_gone(struct comparison *c, uint64_t start, uint64_t end)
{
    const struct map_region *r;
    bool any = false;
    for (uint64_t at = start; at < end && (r = maps_find(&map.maps, at)) && r->start < end; at = r->end) {
        tell(c, &map.sum->behind_gone);
        any = true;
    }
    if (any)
        take_out(start, end, NULL);
}

static void look_at(struct comparison *c, const struct map_region *kernels)
{
    struct map_region piece;
    for (uint64_t at = kernels->start; at < kernels->end; at = piece.end) {
        const struct map_region *r = maps_find(&map.maps, at);
        piece = *kernels;
        clip(&piece, at, !r ? kernels->end : r->start > at ? r->start : r->end);
        if (r && r->start <= at)
            find_both(c, &piece, r);
        else
            find_more(c, &piece);
    }
}

/* What shared memory has for a name differs from what /dev/zero has, which is anonymous but for its name. */
static struct map_region region_of_mapping(const struct comparison *c, const struct mapping *m)
{
    bool file = (m->inode || m->major || m->minor) && (m->shared || !text_equal(m->path, "/dev/zero"));
    return (struct map_region){
        .start = m->start,
        .end = m->end,
        .offset = file ? m->offset : 0,
        .inode = file ? m->inode : 0,
        .device = file ? (uint64_t)m->major << 32 | m->minor : 0,
        .protection = (uint8_t)m->protection,
        .shared = m->shared,
        .origin = (uint8_t)c->origin,
        .mark = (uint8_t)hints_mark_now(),
    };
}

/* The pieces of a mapping that are none of ours; *at: so far it was looked. */
static void look_at_theirs(struct comparison *c, const struct mapping *m, uint64_t *at)
{
    struct map_region whole = region_of_mapping(c, m), piece;
    uintptr_t own, own_end;
    clip(&whole, c->start, c->end);
    for (uint64_t from = whole.start; from < whole.end; from = own_end) {
        os_next_own(from, &own, &own_end);
        piece = whole;
        if (!clip(&piece, from, own))
            continue;
        find_gone(c, *at, piece.start);
        look_at(c, &piece);
        *at = piece.end;
    }
}

/* Main's stack grows by itself, and is not looked at. */
static bool is_looked_at(const struct mapping *m)
{
    return m->start < ADDRESSES_END && !text_equal(m->path, "[stack]");
}

static int compare(struct comparison *c)
{
    struct mappings all;
    struct mapping m;
    uint64_t at = c->start;
    uint64_t ended = atomic_load(&map.ended), begun = atomic_load(&map.begun);
    c->begun = begun <= ended ? begun + 1 : 0;
    int err = os_mappings_open(&all);
    if (err)
        return err;
    while (os_mappings_next(&all, &m) && m.start < c->end)
        if (m.end > c->start && is_looked_at(&m))
            look_at_theirs(c, &m, &at);
    os_mappings_close(&all);
    find_gone(c, at, c->end);
    return 0;
}

/* The range becomes what the kernel says that it is. */
static void ask(uint64_t start, uint64_t end)
{
    struct comparison c = {.start = start, .end = end, .origin = MAP_BEHIND};
    compare(&c);
}

/* ---- the copy ----------------------------------------------------------------------------------- */

/* NULL: it is in use no more, or there is no room. */
static struct segment *copy_of(uint32_t number, uint32_t *places)
{
    struct segment *s = map.copy[number];
    if (s || !map.maps.leaf[number].count)
        return s;
    s = segment_take(SEGMENT_MAPPINGS, MAP_LEAF_REGIONS, sizeof(struct map_region), number);
    if (!s)
        return NULL;
    atomic_store_explicit(&s->count, MAP_LEAF_REGIONS, memory_order_relaxed); /* of which many are empty */
    *places = UINT32_MAX;
    return s;
}

static void copy_places(struct map_region *to, const struct map_leaf *l, uint32_t places)
{
    static const struct map_region none;
    for (; places; places &= places - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(places);
        to[i] = l->used >> i & 1 ? l->region[i] : none;
    }
}

static void copy_leaf(uint32_t number, uint32_t places)
{
    struct segment *s = copy_of(number, &places);
    if (!s)
        return;
    uint32_t epoch = atomic_load_explicit(&s->epoch, memory_order_relaxed);
    atomic_store_explicit(&s->epoch, epoch + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    copy_places(segment_items(s), &map.maps.leaf[number], places);
    atomic_store_explicit(&s->epoch, epoch + 2, memory_order_release);
    if (!map.copy[number])
        segment_publish(s);
    map.copy[number] = s;
}

static void copy_changed(void)
{
    uint32_t number, places;
    while ((number = maps_next_changed(&map.maps, &places)))
        copy_leaf(number - 1, places);
}

static void take_sum(uint32_t flags)
{
    struct segment *s = segment_take(SEGMENT_MAP_SUM, 1, sizeof *map.sum, 0);
    memset((void *)&unrecorded, 0, sizeof unrecorded);
    map.sum = s ? segment_items(s) : &unrecorded;
    map.sum->flags = flags;
    map.sum->first_call = map.calls + 1;
    if (!s)
        return;
    atomic_store_explicit(&s->count, 1, memory_order_relaxed);
    segment_publish(s);
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
    struct comparison c = {.end = ADDRESSES_END, .origin = MAP_EXISTED};
    uint32_t regions = REGIONS_MOST;
    while (!map.copy && !make_room(regions) && regions > REGIONS_LEAST)
        regions /= 8;
    if (!map.copy)
        maps_init(&map.maps, NULL, 0); /* there is room for nothing */
    else
        memset(map.copy, 0, map.maps.room * sizeof map.copy[0]); /* it was made before: a parent's */
    take_sum(0);
    map.image = image()->image;
    if (!compare(&c))
        map.sum->flags |= MAP_SUM_KNOWN;
    atomic_store(&map.ready, true);
}

/* In a forked child: the copy was its parent's. */
static void begin_again(void)
{
    map.image = image()->image;
    take_sum(map.sum->flags & ~MAP_SUM_COMPARED);
    if (map.copy)
        memset(map.copy, 0, map.maps.made * sizeof map.copy[0]);
    add_bytes(bytes_called(0, ADDRESSES_END, NULL));
    for (uint32_t i = 0; i < map.maps.made; i++)
        copy_leaf(i, UINT32_MAX);
}

static bool take_lock(void)
{
    bool held_up = atomic_load_explicit(&map.held_up, memory_order_relaxed);
    bool taken = held_up ? lock_try(&map.lock) : lock_take_within(&map.lock, PATIENCE_NS);
    if (unlikely(taken == held_up))
        atomic_store_explicit(&map.held_up, !taken, memory_order_relaxed);
    return taken;
}

static bool enter(struct section *s)
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

static void leave(struct section *s)
{
    copy_changed();
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
    if (enter(&s)) {
        leave(&s);
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
    if (!c->known || start >= end || !enter(&s))
        return;
    take_out(start, end, c);
    leave(&s);
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
    if (!c->known || start >= end || !enter(&s))
        return;
    first = maps_find(&map.maps, start);
    struct map_region whose = first ? *first : (struct map_region){0};
    for (uint64_t from = start; from < end && (r = maps_find(&map.maps, from)) && r->start < end;) {
        struct map_region own = *r;
        from = own.end;
        if (!belongs(&own, &whose, at, end - at))
            continue;
        take_out(own.start, own.end, c);
    }
    leave(&s);
}

void mapped_new(struct mapped_call *c, const struct map_region *what)
{
    struct section s;
    struct map_region r = *what;
    if (!c->known || r.start >= r.end || !enter(&s))
        return;
    bool crowded = map.maps.leaves > map.maps.room / 2; /* from then on neighbours of one stack become one */
    r.call = crowded ? 0 : ++map.calls;
    r.stack = c->stack;
    r.thread = crowded ? 0 : c->thread;
    r.origin = MAP_CALLED;
    r.mark = (uint8_t)hints_mark_now();
    put(&r);
    count(&map.sum->mapped, 1);
    leave(&s);
}

void mapped_gone(struct mapped_call *c)
{
    if (c->known)
        atomic_fetch_add(&map.sum->unmapped, 1);
}

void mapped_stay(struct mapped_call *c, uint64_t start, uint64_t end)
{
    struct section s;
    if (!c->known || start >= end || !enter(&s))
        return;
    for (uint32_t i = 0; i < c->count; i++) {
        struct map_region r = c->kept[i];
        if (clip(&r, start, end))
            put(&r);
    }
    if (c->more)
        ask(start, end);
    leave(&s);
}

/* A piece of what was at the old place; the last one grows. */
static void put_moved(const struct mapped_move *m, struct map_region r)
{
    if (m->keeps)
        put(&r);
    if (r.end == m->from_end)
        r.end = m->from + (m->to_end - m->to);
    r.start += m->to - m->from;
    r.end += m->to - m->from;
    if (clip(&r, m->to, m->to_end))
        put(&r);
}

/*
 * Where the old place has a hole what was at the new one stays (kernels that move several mappings at
 * once): so that is put back first.
 */
void mapped_moved(struct mapped_call *c, const struct mapped_move *m)
{
    struct section s;
    if (!c->known || !enter(&s))
        return;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->kept[i].start < m->from || c->kept[i].start >= m->from_end)
            put(&c->kept[i]);
    for (uint32_t i = 0; i < c->count; i++)
        if (c->kept[i].start >= m->from && c->kept[i].start < m->from_end)
            put_moved(m, c->kept[i]);
    if (c->more) {
        ask(m->from, m->from_end);
        ask(m->to, m->to_end);
    }
    leave(&s);
}

void mapped_ask(struct mapped_call *c, uint64_t start, uint64_t end)
{
    struct section s;
    if (!c->known || start >= end || !enter(&s))
        return;
    ask(start, end);
    leave(&s);
}

bool mapped_is_whole(uint64_t start, uint64_t end)
{
    struct section s;
    const struct map_region *r;
    uint64_t at = start;
    if (!enter(&s))
        return true;
    while (at < end && (r = maps_find(&map.maps, at)) && r->start <= at)
        at = r->end;
    leave(&s);
    return at >= end;
}

bool mapped_find(uint64_t at, struct map_region *out)
{
    struct section s;
    if (!enter(&s))
        return false;
    const struct map_region *r = maps_find(&map.maps, at);
    bool found = r && r->start <= at;
    if (found)
        *out = *r;
    leave(&s);
    return found;
}

void mapped_protected(struct mapped_call *c, uint64_t start, uint64_t end, int protection)
{
    struct section s;
    const struct map_region *r;
    uint64_t at = start;
    if (!c->known || start >= end || !enter(&s))
        return;
    while (at < end && (r = maps_find(&map.maps, at)) && r->start <= at)
        at = r->end < end ? r->end : end;
    if (!maps_protect(&map.maps, start, at, (uint8_t)(protection & (PROT_READ | PROT_WRITE | PROT_EXEC))))
        map.sum->flags |= MAP_SUM_FULL;
    leave(&s);
}

uint64_t mapped_bytes(void)
{
    return atomic_load(&map.ready) ? atomic_load_explicit(&map.sum->bytes, memory_order_relaxed) : 0;
}

/* ---- on request --------------------------------------------------------------------------------- */

long mapped_compare(void)
{
    struct section s;
    struct comparison c = {.end = ADDRESSES_END, .origin = MAP_BEHIND, .counts = true};
    if (!atomic_load(&map.ready))
        return 0;
    if (!enter(&s))
        return -EAGAIN; /* nothing was compared */
    int err = compare(&c);
    if (!err)
        count(&map.sum->compared, 1);
    leave(&s);
    return err ? err : c.unsure ? -EAGAIN : (long)c.differences;
}

void mapped_settle(void)
{
    if (mapped_compare() >= 0 && atomic_load(&map.ready))
        map.sum->flags |= MAP_SUM_COMPARED;
}

/*
 * mapped.c - the mapping table: which ranges are mapped, and which calls mapped them. It is a map
 * of ranges (shadow/ranges/maps.c), updated by the calls that events intercept. A copy is in the run file.
 *
 *      first call                each call                         check, end, request
 *      /proc/self/maps           before it: take out old ranges,   /proc/self/maps
 *      -> EXISTED                after it: put in new ones         -> UNSEEN, or removed
 *
 * Old ranges are taken out before the call: the kernel may give their addresses to another thread
 * before this call returns. They are kept in struct mapped_call, since the call may fail (then they
 * are put back) or move them.
 *
 * The kernel's calls never wait for another thread of the program. Garbage collectors rely on that:
 * they stop threads at any point, in a signal handler, and map memory meanwhile. So the wait for
 * the lock is bounded here (LOCK_WAIT_NS). A call that does not get the lock in time is not
 * recorded, and neither is one by a handler that interrupted the runtime.
 *
 * A process that makes none of these calls has no table and no cost. The copy is written leaf by
 * leaf after each change. A forked child inherits the table in its memory, and copies it anew at
 * its first change.
 *
 * map.lock (RANK_MAPS) protects the table, the write buffer and the copy. It is taken inside a
 * section.
 */
#include "map_buffer.h"

#include <sys/mman.h>

#define LOCK_WAIT_NS 100000000u /* longest wait while no thread releases the lock */

struct map map = {.lock = LOCK_INIT(RANK_MAPS)};

/* ---- ranges ---------------------------------------------------------------------------------- */

bool map_clip(struct map_region *r, uint64_t start, uint64_t end)
{
    if (r->start < start) {
        r->offset += region_is_file(r) ? start - r->start : 0;
        r->start = start;
    }
    r->end = r->end < end ? r->end : end;
    return r->start < r->end;
}

ALWAYS_INLINE void note_surroundings(struct mapped_call *c, uint64_t start, uint64_t end,
                                     uint32_t call)
{
    if (!c->count) {
        c->around = start;
        c->around_end = end;
    }
    c->old |= call <= map.born_calls || threads_announcements() != map.born;
}

/* Save the ranges of [start, end), up to MAPPED_KEPT of them, and describe them in *c. */
static void keep(struct mapped_call *c, uint64_t start, uint64_t end)
{
    const struct map_region *r;
    uint64_t at = start;
    for (; at < end && (r = maps_find(&map.maps, at)) && r->start < end; at = r->end) {
        note_surroundings(c, r->start, r->end, r->call);
        c->whole &= r->start <= at;
        c->more |= c->count == MAPPED_KEPT;
        if (c->more)
            continue;
        c->kept[c->count] = *r;
        map_clip(&c->kept[c->count++], start, end);
    }
    c->whole &= at >= end;
}

/* The common case is the range of one call, often one of the last. */
ALWAYS_INLINE void take(struct mapped_call *c, uint64_t start, uint64_t end)
{
    struct map_region *first = &c->kept[0];
    if (likely(!c->count) &&
        (map_buffer_take(start, end, first) || maps_take(&map.maps, start, end, first))) {
        note_surroundings(c, start, end, first->call);
        c->count = 1;
        return;
    }
    if (map_buffer.present)
        map_buffer_flush();
    keep(c, start, end);
    map_take_out(start, end);
}

void map_take_out(uint64_t start, uint64_t end)
{
    if (unlikely(!maps_remove(&map.maps, start, end)))
        map.sum->flags |= MAP_SUM_FULL;
}

void map_put(const struct map_region *r)
{
    if (unlikely(!maps_put(&map.maps, r)))
        map.sum->flags |= MAP_SUM_FULL;
}

/* ---- the lock -------------------------------------------------------------------------------- */

static bool take_lock(void)
{
    bool has_timed_out = atomic_load_explicit(&map.has_timed_out, memory_order_relaxed);
    bool taken = has_timed_out ? lock_try(&map.lock) : lock_take_within(&map.lock, LOCK_WAIT_NS);
    if (unlikely(taken == has_timed_out))
        atomic_store_explicit(&map.has_timed_out, !taken, memory_order_relaxed);
    return taken;
}

static COLD bool lock_map_slow(bool taken)
{
    if (!taken && !take_lock()) {
        if (atomic_load(&map.ready))
            atomic_fetch_add(&map.sum->unseen, 1);
        return false;
    }
    if (!atomic_load(&map.ready))
        map_begin();
    else if (!map.copied)
        map_begin_again();
    return true;
}

/* Inside a section. false: the lock is not available now. */
ALWAYS_INLINE bool lock_map(void)
{
    bool taken = !atomic_load_explicit(&map.has_timed_out, memory_order_relaxed) &&
                 lock_take_if_free(&map.lock);
    if (likely(taken && map.copied))
        return true;
    return lock_map_slow(taken);
}

ALWAYS_INLINE void unlock_map(void)
{
    map_note_bytes();
    if (unlikely(map.maps.changed))
        map_copy_changed();
    lock_drop_only(&map.lock);
}

bool map_enter(struct section *s)
{
    if (!section_begin(s))
        return false;
    if (!lock_map()) {
        section_end(s);
        return false;
    }
    if (map_buffer.present)
        map_buffer_flush();
    return true;
}

void map_exit(struct section *s)
{
    unlock_map();
    section_end(s);
}

/* ---- the last unmapped ranges, for crashes ---------------------------------------------------- */

/*
 * In private memory, not in the run file: only the record of a crash has an address to look up, and
 * the handler that writes the record has looked it up before (error_crash). A process that ends
 * without this handler leaves no such address: SIGKILL, a sandbox, a handler of the program.
 */
#define UNMAPPED_MAX 1024u

static struct {
    struct {
        uint64_t start, end;
        uint32_t stack, by;
    } at[UNMAPPED_MAX];
    uint32_t next; /* number of all; the oldest entry is overwritten */
} unmapped;

/* Holds the lock. */
ALWAYS_INLINE void note_unmapped(const struct mapped_call *c, uint64_t start, uint64_t end,
                                 uint32_t stack)
{
    uint32_t i = unmapped.next++ % UNMAPPED_MAX;
    unmapped.at[i].start = start;
    unmapped.at[i].end = end;
    unmapped.at[i].stack = stack;
    unmapped.at[i].by = c->by;
}

void mapped_forget_unmapped(void)
{
    unmapped.next = 0;
}

/*
 * Without the lock, as a crashed thread may hold it: an entry that is being written may be missed.
 */
bool mapped_was_unmapped(uint64_t at, uint32_t *stack, uint32_t *by)
{
    for (uint32_t i = unmapped.next, n = 0; i-- && n < UNMAPPED_MAX; n++) {
        uint32_t k = i % UNMAPPED_MAX;
        if (at - unmapped.at[k].start >= unmapped.at[k].end - unmapped.at[k].start)
            continue;
        *stack = unmapped.at[k].stack;
        *by = unmapped.at[k].by;
        return true;
    }
    return false;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/*
 * A call within another one (made by a handler) is only counted. maps_inside stays that of the
 * outer call, which ends later.
 */
static COLD void begin_inside(struct thread *t)
{
    if (!t->is_fallback) {
        thread_count(&t->maps_begun);
        return;
    }
    atomic_fetch_add(&t->maps_inside, MAPS_SHARED_ONE);
    atomic_fetch_add(&t->maps_begun, 1);
}

COLD void mapped_end_inside(struct thread *t)
{
    if (t->is_fallback)
        atomic_fetch_sub(&t->maps_inside, MAPS_SHARED_ONE);
}

/*
 * Inside the call's section. The kernel changes its list after this: pairs with calls_in_progress.
 */
ALWAYS_INLINE void begin_call(struct mapped_call *c, struct thread *t)
{
    c->t = t;
    if (unlikely(atomic_load_explicit(&t->maps_inside, memory_order_relaxed))) {
        begin_inside(t);
        return;
    }
    atomic_store_explicit(&t->maps_inside, (uintptr_t)c->at, memory_order_relaxed);
    thread_count(&t->maps_begun);
}

void mapped_nonlocal_exit(const struct jump *j)
{
    uintptr_t inside = atomic_load_explicit(&self->maps_inside, memory_order_relaxed);
    if (inside && jump_discards(j, inside))
        atomic_store_explicit(&self->maps_inside, 0, memory_order_release);
}

/* Begin the call, in a section that stays entered; false: it has not begun. */
ALWAYS_INLINE bool open_call(struct mapped_call *c, struct section *s)
{
    if (c->tried)
        return c->t && section_begin(s);
    c->tried = true;
    if (unlikely(!section_begin(s))) {
        if (s->kind == SECTION_HANDLER && atomic_load(&map.ready))
            atomic_fetch_add(&map.sum->unseen, 1);
        return false;
    }
    begin_call(c, s->t);
    return true;
}

/* No table could be made: record nothing. */
static void give_up(struct mapped_call *c)
{
    mapped_end(c);
    c->t = NULL;
}

COLD void mapped_begin_slow(struct mapped_call *c)
{
    struct section s;
    if (c->tried || !open_call(c, &s))
        return;
    if (atomic_load(&map.ready))
        ;
    else if (lock_map())
        unlock_map();
    else
        give_up(c);
    section_end(&s);
}

static COLD void take_timed(struct mapped_call *c, uint64_t start, uint64_t end)
{
    enum cost_call call = cost_begin(COST_EVENTS, 0);
    mapped_take(c, start, end);
    cost_end(call);
}

void mapped_take(struct mapped_call *c, uint64_t start, uint64_t end)
{
    struct section s;
    if (start >= end)
        return;
    if (cost_is_sampled()) {
        take_timed(c, start, end);
        return;
    }
    if (!open_call(c, &s))
        return;
    uint32_t stack = c->at ? stack_put(s.t, c->at) : 0; /* before the lock, as in mapped_new */
    if (likely(lock_map())) {
        take(c, start, end);
        note_unmapped(c, start, end, stack);
        map_count(&map.sum->unmapped, c->unmaps);
        c->counted = c->unmaps;
        unlock_map();
    } else if (!atomic_load(&map.ready))
        give_up(c);
    section_end(&s);
}

static bool belongs(const struct map_region *r, const struct map_region *first, uint64_t at,
                    uint64_t bytes)
{
    return r->start >= at && r->start - at == r->offset && r->end - at <= bytes && r->shared &&
           r->inode == first->inode;
}

void mapped_take_attachment(struct mapped_call *c, uint64_t start, uint64_t end, uint64_t at)
{
    struct section s;
    const struct map_region *first, *r;
    if (!c->t || start >= end || !section_begin(&s))
        return;
    uint32_t stack = c->at ? stack_put(s.t, c->at) : 0;
    section_end(&s);
    if (!map_enter(&s))
        return;
    first = maps_find(&map.maps, start);
    struct map_region whose = first ? *first : (struct map_region){0};
    for (uint64_t from = start; from < end && (r = maps_find(&map.maps, from)) && r->start < end;) {
        struct map_region own = *r;
        from = own.end;
        if (!belongs(&own, &whose, at, end - at))
            continue;
        take(c, own.start, own.end);
        note_unmapped(c, own.start, own.end, stack);
    }
    map_exit(&s);
}

static void put_new(const struct map_region *r)
{
    if (likely(map_buffer_add(r)))
        return;
    if (map_buffer.present)
        map_buffer_flush();
    map_put(r);
}

static COLD void new_timed(struct mapped_call *c, struct map_region *r)
{
    enum cost_call call = cost_begin(COST_EVENTS, 0);
    mapped_new(c, r);
    cost_end(call);
}

/* Take the stack before the lock: that may take the depot's lock, of the same rank. */
void mapped_new(struct mapped_call *c, struct map_region *r)
{
    struct section s;
    if (!c->t || r->start >= r->end)
        return;
    if (self && cost_is_sampled_of(c->t)) { /* the fallback thread times nothing */
        new_timed(c, r);
        return;
    }
    if (!section_begin(&s))
        return;
    r->stack = c->at ? stack_put(s.t, c->at) : 0;
    if (likely(lock_map())) {
        /* When the table is half full, adjacent ranges of one stack merge: they get no numbers. */
        bool crowded = map.maps.leaves > map.maps.room / 2;
        if (unlikely(threads_announcements() != map.born)) {
            map.born = threads_announcements();
            map.born_calls = map.calls;
        }
        r->call = crowded ? 0 : ++map.calls;
        r->thread = crowded ? 0 : s.t->number;
        r->origin = MAP_CALLED;
        r->mark = (uint8_t)annotations_mark_now();
        put_new(r);
        map_count(&map.sum->mapped, 1);
        unlock_map();
    }
    section_end(&s);
}

void mapped_new_of_libc(struct mapped_call *c, struct map_region *r)
{
    struct section s;
    if (!c->t || r->start >= r->end || !map_enter(&s))
        return;
    r->origin = MAP_UNSEEN;
    r->mark = (uint8_t)annotations_mark_now();
    map_put(r);
    map_exit(&s);
}

void mapped_unmapped(struct mapped_call *c, bool gone)
{
    struct section s;
    if (!c->t || c->counted == gone || !map_enter(&s))
        return;
    map_count(&map.sum->unmapped, gone ? 1 : -1ull);
    map_exit(&s);
}

void mapped_unchanged(struct mapped_call *c, uint64_t start, uint64_t end)
{
    struct section s;
    if (!c->t || start >= end || !map_enter(&s))
        return;
    for (uint32_t i = 0; i < c->count; i++) {
        struct map_region r = c->kept[i];
        if (map_clip(&r, start, end))
            map_put(&r);
    }
    if (c->more)
        map_query_kernel(start, end);
    map_exit(&s);
}

/* Put a piece of the old range at its new address; the last piece grows. */
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
 * If the old range has a hole, the mapping at its new address stays (kernels that move several
 * mappings at once). So the ranges saved from the new address are put back first.
 */
void mapped_moved(struct mapped_call *c, const struct mapped_move *m)
{
    struct section s;
    if (!c->t || !map_enter(&s))
        return;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->kept[i].start < m->from || c->kept[i].start >= m->from_end)
            map_put(&c->kept[i]);
    for (uint32_t i = 0; i < c->count; i++)
        if (c->kept[i].start >= m->from && c->kept[i].start < m->from_end)
            put_moved(m, c->kept[i]);
    if (c->more) {
        map_query_kernel(m->from, m->from_end);
        map_query_kernel(m->to, m->to_end);
    }
    map_exit(&s);
}

void mapped_query_kernel(struct mapped_call *c, uint64_t start, uint64_t end)
{
    struct section s;
    if (!c->t || start >= end || !map_enter(&s))
        return;
    map_query_kernel(start, end);
    map_exit(&s);
}

bool mapped_live(uint64_t *ranges)
{
    struct section s;
    const struct map_region *r;
    *ranges = 0;
    if (!atomic_load(&map.begun))
        return true; /* no call has mapped anything yet */
    if (!map_enter(&s))
        return false;
    for (uint64_t at = 0; (r = maps_find(&map.maps, at)); at = r->end)
        *ranges += r->origin == MAP_CALLED;
    map_exit(&s);
    return true;
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
    map_exit(&s);
    return found;
}

void mapped_protected(struct mapped_call *c, uint64_t start, uint64_t end, int protection)
{
    struct section s;
    const struct map_region *r;
    uint64_t at = start;
    if (!c->t || start >= end || !map_enter(&s))
        return;
    while (at < end && (r = maps_find(&map.maps, at)) && r->start <= at)
        at = r->end < end ? r->end : end;
    if (!maps_protect(&map.maps, start, at,
                      (uint8_t)(protection & (PROT_READ | PROT_WRITE | PROT_EXEC))))
        map.sum->flags |= MAP_SUM_FULL;
    map_exit(&s);
}

uint64_t mapped_bytes(void)
{
    return atomic_load(&map.ready) ? atomic_load_explicit(&map.sum->bytes, memory_order_relaxed)
                                   : 0;
}

/*
 * leaks.c - which blocks the program can still get at, found out at its end, or when it asks.
 *
 *    writers stop (as for a fork) -> the other threads stop (world.c) -> what is mapped (roots.c) ->
 *    marking (shadow/reach.c) -> groups and roots into the run file -> all go on
 *
 * Blocks count only through each other and through roots, so the heap is described to the marking slab
 * by slab, as its records have it.  All that is needed meanwhile is taken from the kernel, and is no
 * root.  Nobody waits for ever, and what could not be found out is written down as such.
 *
 * In mid-run the thread that asks goes on, too: what only its registers hold is in use.  One thread checks
 * at a time; what it has written goes into segments of their own, which are vacant when it was told.
 */
#include "leave_priv.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#define GROUPS_AT_A_TIME 128u
#define FXSAVE_BYTES 512u /* of vector registers, where the kernel does not say */
#define WRITERS_NS 500000000ull /* that is waited for them to stop */
#define WAITED_NS 1000000ull    /* a try of that length has waited for somebody */
#define HUGE_BYTES (8u << 20) /* of scratch, from which on it is worth it */

/* All that one check has in hand. */
struct check {
    struct world world;
    struct roots roots;
    struct reach_heap heap;
    struct range lists, scratch; /* taken for it */
    struct reach_scan *scan;
    uint64_t looked_at, skipped;
    uint32_t root; /* that is being read */
    bool lost;     /* are there blocks that nobody can get at? */
    struct leaks_now *now; /* NULL: it is the one at the end */
    struct written *to;    /* what it fills */
};

/* ---- one at a time --------------------------------------------------------------------------------- */

static struct {
    _Atomic uint64_t checker; /* pid << 32 | tid of the thread that checks; of another pid: a parent's */
    _Atomic uint32_t over;    /* futex: changes when it has done so */
} turn;

bool leaks_begin(void)
{
    uint64_t me = (uint64_t)os_pid() << 32 | os_tid(), holder = 0;
    uint32_t seen = atomic_load(&turn.over);
    while (!atomic_compare_exchange_strong(&turn.checker, &holder, me)) {
        if (holder == me)
            return false; /* a handler of the thread that checks */
        if (holder >> 32 == me >> 32) { /* else the next try takes it over */
            os_wait(&turn.over, seen, 0, false);
            holder = 0;
        }
        seen = atomic_load(&turn.over);
    }
    return true;
}

void leaks_done(void)
{
    atomic_store(&turn.checker, 0);
    atomic_fetch_add(&turn.over, 1);
    os_wake(&turn.over, false);
}

static bool take(struct range *r, uint64_t bytes)
{
    void *p = os_map(align_up(bytes, PAGE_BYTES));
    if (os_failed(p))
        return false;
    *r = (struct range){(uintptr_t)p, (uintptr_t)p + align_up(bytes, PAGE_BYTES)};
    return true;
}

static void give_back(const struct range *r)
{
    if (r->start)
        os_unmap((void *)r->start, r->end - r->start);
}

/* ---- the heap, as the marking sees it -------------------------------------------------------------- */

static void describe_slab(struct reach_slab *s, const struct unit *head, uint64_t owner)
{
    const struct size_class *c = &size_class[owner_kind(owner) - 1];
    s->records = segment_record(owner_pointer(owner), 0);
    s->stride = RECORD_BYTES;
    s->slot_bytes = c->slot_bytes;
    s->slots = c->slots;
    s->magic = c->magic;
    s->start = unit_address(head);
    s->inherited = fork_is_inherited(head);
}

static void describe_large(struct reach_slab *s, const struct unit *head, uint64_t owner)
{
    const struct large_record *r = owner_pointer(owner);
    s->records = &r->block;
    s->stride = sizeof *r;
    s->slots = 1;
    s->request = atomic_load_explicit(&r->request, memory_order_relaxed);
    s->start = unit_address(head);
    s->inherited = fork_is_inherited(head);
}

static bool describe_heap(struct check *c)
{
    uint64_t bytes = atomic_load_explicit(&heap.bytes, memory_order_acquire);
    uint32_t units = (uint32_t)(bytes >> RTC_UNIT_SHIFT);
    uint64_t numbers = align_up(units * sizeof(uint32_t), _Alignof(struct reach_slab));
    if (!take(&c->lists, numbers + units * sizeof(struct reach_slab) + 1))
        return false;
    uint32_t *slab_of_unit = (uint32_t *)c->lists.start;
    struct reach_slab *slab = (struct reach_slab *)(c->lists.start + numbers);
    c->heap = (struct reach_heap){.base = heap.base,
                                  .bytes = bytes,
                                  .slab_of_unit = slab_of_unit,
                                  .slab = slab,
                                  .stacks = (depot_next_chunk() << DEPOT_CHUNK_SHIFT) + 1};
    for (uint32_t u = 1; u < units; u++) {
        const struct unit *head = heap.unit + u - heap.unit[u].back;
        uint64_t owner = atomic_load_explicit(&head->owner, memory_order_acquire);
        uint32_t kind = owner_kind(owner);
        if (!is_slab(kind) && kind != UNIT_LARGE)
            continue;
        if (!heap.unit[u].back) {
            struct reach_slab *s = &slab[c->heap.slabs++];
            s->first = c->heap.slots;
            if (is_slab(kind))
                describe_slab(s, head, owner);
            else
                describe_large(s, head, owner);
            c->heap.slots += s->slots;
        }
        slab_of_unit[u] = c->heap.slabs;
    }
    return true;
}

/* ---- marking ------------------------------------------------------------------------------------------ */

/* A virtual table is read-only data of the program or a library. */
static bool is_table(void *about, uint64_t word)
{
    struct object o;
    (void)about;
    return word % sizeof word == 0 && loader_find(word, &o);
}

static void scan_words(void *about, const uint64_t *words, uint64_t count, uint64_t at)
{
    struct check *c = about;
    c->looked_at += count * sizeof *words;
    reach_root(c->scan, words, count, at, c->root);
}

/* A coroutine's stack may be a block: the thread that runs on it needs it, whoever else does. */
static void scan_stack_block(struct check *c, const struct standing *t)
{
    struct found f = pool_find((void *)(uintptr_t)t->caller.value[CALLER_SP]);
    uint64_t block = t->caller.value[CALLER_SP] - f.offset;
    if (f.verdict == PTR_START || f.verdict == PTR_INSIDE)
        reach_root(c->scan, &block, 1, 0, 0);
}

/* How much of the vector registers the kernel has saved; it says so behind the first 464 bytes. */
static uint64_t vector_bytes(const void *saved)
{
    const struct _fpx_sw_bytes *more = (const void *)((const char *)saved + 464);
    return !saved ? 0 : more->magic1 == FP_XSTATE_MAGIC1 ? more->extended_size : FXSAVE_BYTES;
}

/* Of the thread that ends the program: what only they hold is in nobody's memory. */
static void scan_registers(struct check *c, const struct standing *t)
{
    const ucontext_t *context = t->caller.context;
    const uint64_t *vector = context ? (const void *)context->uc_mcontext.fpregs : NULL;
    for (uint32_t i = 0; i < CALLER_PC; i++)
        if (t->caller.known >> i & 1)
            reach_register(c->scan, t->caller.value[i], i, t->number);
    for (uint32_t i = 0; i < vector_bytes(vector) / sizeof *vector; i++)
        reach_register(c->scan, vector[i], WITNESS_VECTOR + i, t->number);
}

static bool mark(struct check *c)
{
    const struct reach_rules rules = {.strict = rt.options.strict_interior,
                                      .mark_since = hints_mark_now(),
                                      .is_table = is_table};
    if (!take(&c->scratch, reach_room(&c->heap, false)) &&
        !take(&c->scratch, reach_room(&c->heap, true)))
        return false;
    if (c->scratch.end - c->scratch.start >= HUGE_BYTES)
        os_huge((void *)c->scratch.start, c->scratch.end - c->scratch.start);
    c->scan = reach_begin((void *)c->scratch.start, c->scratch.end - c->scratch.start, &c->heap,
                          &rules);
    for (c->root = 1; c->root <= c->roots.count; c->root++)
        c->skipped += root_words(&c->roots.root[c->root - 1], scan_words, c);
    for (uint32_t i = 0; i < c->world.count; i++)
        scan_stack_block(c, &c->world.thread[i]);
    reach_inside(c->scan);
    scan_registers(c, &c->world.thread[0]);
    reach_lost(c->scan);
    return true;
}

/* ---- writing it down ------------------------------------------------------------------------------------- */

/* What the last check at the end has filled. */
static struct written written_at_end;

static struct segment **written_list(const struct written *w)
{
    return (struct segment **)w->list.start;
}

static void vacate(struct written *w)
{
    for (uint32_t i = 0; w->image == image()->image && i < w->count; i++)
        segment_vacate(written_list(w)[i]);
    give_back(&w->list);
    *w = (struct written){.image = image()->image};
}

static void forget(void)
{
    if (written_at_end.image == image()->image)
        atomic_store_explicit(&image()->leak_check, LEAKS_NOT_ASKED, memory_order_release);
    vacate(&written_at_end);
}

static uint64_t segments_for(uint32_t items)
{
    return align_up(items, GROUPS_AT_A_TIME) / GROUPS_AT_A_TIME;
}

static struct segment *take_segment(struct check *c, enum segment_kind kind, uint32_t capacity,
                                    uint32_t bytes, uint64_t index)
{
    struct segment *s = segment_take(kind, capacity, bytes, index);
    if (!s)
        return NULL;
    written_list(c->to)[c->to->count++] = s;
    atomic_store_explicit(&s->epoch, c->now ? c->now->number : 0, memory_order_relaxed);
    segment_publish(s);
    return s;
}

static bool append(struct check *c, struct segment **s, enum segment_kind kind, uint32_t bytes,
                   uint32_t index, const void *item)
{
    if (index % GROUPS_AT_A_TIME == 0) {
        *s = take_segment(c, kind, GROUPS_AT_A_TIME, bytes, index / GROUPS_AT_A_TIME);
        if (!*s)
            return false;
    }
    memcpy((char *)segment_items(*s) + index % GROUPS_AT_A_TIME * bytes, item, bytes);
    atomic_store_explicit(&(*s)->count, index % GROUPS_AT_A_TIME + 1, memory_order_release);
    return true;
}

static bool is_lost(const struct leak_group *g)
{
    uint32_t reach = atomic_load_explicit(&g->reach, memory_order_relaxed);
    return reach == REACH_LOST || reach == REACH_CIRCLE;
}

static bool write_down(struct check *c)
{
    struct segment *s = NULL;
    uint32_t count;
    const struct leak_group *group = reach_groups(c->scan, &count);
    uint64_t segments = segments_for(c->roots.count) + segments_for(count) + 1; /* a record's */
    enum segment_kind roots = c->now ? SEGMENT_CHECK_ROOTS : SEGMENT_ROOTS;
    enum segment_kind leaks = c->now ? SEGMENT_CHECK_LEAKS : SEGMENT_LEAKS;
    if (!take(&c->to->list, segments * sizeof(struct segment *)))
        return false;
    for (uint32_t i = 0; i < c->roots.count; i++)
        if (!append(c, &s, roots, sizeof c->roots.root[0], i, &c->roots.root[i]))
            return false;
    for (uint32_t i = 0; i < count; i++) {
        struct leak_group g;
        memcpy((void *)&g, (const void *)&group[i], sizeof g);
        if (g.witness == WITNESS_ROOT && g.root)
            witness_tell(&c->world, &c->roots.root[g.root - 1], &g);
        c->lost |= is_lost(&g);
        if (!append(c, &s, leaks, sizeof g, i, (const void *)&g))
            return false;
    }
    return true;
}

static void add_up(struct leaks_now *now, const struct reach_scan *scan)
{
    uint32_t count;
    const struct leak_group *group = reach_groups(scan, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct leaks_sum *sum = &now->sum[atomic_load_explicit(&group[i].reach, memory_order_relaxed)];
        sum->blocks += group[i].blocks;
        sum->bytes += group[i].bytes;
        sum->new_blocks += group[i].new_blocks;
        sum->new_bytes += group[i].new_bytes;
    }
}

/* What was found by a check in mid-run, for who tells it. */
static void write_record(struct check *c, uint64_t ns)
{
    struct leaks_now *now = c->now;
    struct segment *s = NULL;
    if (c->to->list.start || take(&c->to->list, sizeof s))
        s = take_segment(c, SEGMENT_LEAK_CHECKS, 1, sizeof *now->record, now->number);
    if (!s)
        return;
    now->record = segment_items(s);
    now->record->result = now->result;
    now->record->flags = now->flags;
    now->record->thread = self ? self->number : 0;
    now->record->threads_unheard = now->unheard;
    now->record->ns = ns;
    now->record->root_bytes = c->looked_at;
    now->record->root_bytes_skipped = c->skipped;
    atomic_store_explicit(&now->record->number, now->number, memory_order_relaxed);
    atomic_store_explicit(&s->count, 1, memory_order_release);
}

/* ---- the check --------------------------------------------------------------------------------------------- */

/* What a forked child has not allocated itself is its parent's to lose. */
static bool has_allocated(void)
{
    for (struct thread *t = threads_first(); t; t = t->next)
        if (atomic_load_explicit(&t->record->allocs, memory_order_relaxed))
            return true;
    return false;
}

static bool is_own(const struct block_record *b)
{
    uint64_t word, stacks;
    (void)block_read(b, &word, &stacks);
    return word_state(word) == BLOCK_LIVE && word_mark(word) != MARK_INHERITED;
}

/* Nor what it has freed again: many a child only makes ready for an exec. */
static bool has_own_blocks(void)
{
    uint64_t bytes = atomic_load_explicit(&heap.bytes, memory_order_acquire);
    for (const struct unit *u = heap.unit + 1, *end = heap.unit + (bytes >> RTC_UNIT_SHIFT); u < end; u++) {
        uint64_t owner = atomic_load_explicit(&u->owner, memory_order_acquire);
        uint32_t kind = owner_kind(owner);
        if (u->back || (!is_slab(kind) && kind != UNIT_LARGE) || fork_is_inherited(u))
            continue;
        if (kind == UNIT_LARGE && is_own(&((const struct large_record *)owner_pointer(owner))->block))
            return true;
        for (uint32_t slot = 0; is_slab(kind) && slot < size_class[kind - 1].slots; slot++)
            if (is_own(segment_record(owner_pointer(owner), slot)))
                return true;
    }
    return false;
}

/* Of a check that nobody is to tell only the sums are kept. */
static bool keep_result(struct check *c)
{
    if (c->now)
        add_up(c->now, c->scan);
    return (c->now && !c->now->tell) || write_down(c);
}

static enum leak_check look(struct check *c, const struct caller *caller, const struct range held[HELD_MAX])
{
    if (!(caller ? world_stop(&c->world, caller) : world_of_the_dead(&c->world)))
        return os_sandboxed() ? LEAKS_SANDBOX : LEAKS_NO_MEMORY;
    if (caller && !threads_all_outside())
        return LEAKS_BUSY;
    threads_wipe_stale();
    if (!describe_heap(c))
        return LEAKS_NO_MEMORY;
    const struct run_header *run = run_header();
    uintptr_t file = (uintptr_t)run;
    const struct range ours[] = {
        {heap.base, heap.base + c->heap.bytes},
        {file, file + (run ? run->area_bytes * run_area_limit() : 0)},
        c->lists,
    };
    int err = roots_find(&c->roots, &c->world, ours, sizeof ours / sizeof ours[0]);
    if (err)
        return err == -ENOMEM ? LEAKS_NO_MEMORY : LEAKS_SANDBOX;
    for (uint32_t i = 0; i < HELD_MAX; i++)
        roots_add_words(&c->roots, &held[i], c->world.thread[0].number);
    roots_open_blocks(&c->roots);
    bool marked = mark(c);
    roots_close_blocks(&c->roots);
    return marked && keep_result(c) ? LEAKS_FOUND : LEAKS_NO_MEMORY;
}

/* Into the image's header: the check at the end. */
static void write_end(const struct check *c, enum leak_check result, uint64_t ns)
{
    struct image_header *h = image();
    h->threads_unheard = c->world.unheard;
    h->threads_deaf = c->world.deaf;
    h->root_bytes = c->looked_at;
    h->root_bytes_skipped = c->skipped;
    h->leak_ns = ns;
    atomic_store_explicit(&h->leak_check, result, memory_order_release);
}

static void check_stopped(struct check *c, const struct caller *caller, const struct range held[HELD_MAX])
{
    uint64_t begin = os_clock_ns();
    if (!c->now)
        forget();
    c->to->image = image()->image;
    enum leak_check result = c->now || has_own_blocks() ? look(c, caller, held) : LEAKS_FOUND;
    uint64_t ns = os_clock_ns() - begin;
    if (c->now) {
        c->now->result = result;
        c->now->unheard = c->world.unheard;
    }
    if (c->now && c->now->tell)
        write_record(c, ns);
    if (!c->now)
        write_end(c, result, ns);
    world_go_on(&c->world);
    roots_drop(&c->roots);
    give_back(&c->lists);
    give_back(&c->scratch);
}

/* A thread that has lost its processor in the midst of something gets it back soon. */
static bool stop_writers(void)
{
    uint64_t begin = os_clock_ns(), before = begin, now;
    for (; !fork_stop_writers(); before = now) {
        now = os_clock_ns();
        if (now - before < WAITED_NS || now - begin > WRITERS_NS)
            return false; /* it does not depend on time, or takes too long */
    }
    return true;
}

/* false: somebody would not let us. */
static bool check_all(struct check *c, const struct caller *caller, const struct range held[HELD_MAX])
{
    struct section s;
    if (caller && !stop_writers())
        return false;
    bool inside = section_begin(&s);
    if (inside) {
        check_stopped(c, caller, held);
        section_end(&s);
    }
    if (caller)
        fork_let_go();
    return inside;
}

bool leaks_check(const struct caller *caller, const struct range held[HELD_MAX])
{
    struct check c = {.to = &written_at_end};
    if (!has_allocated())
        atomic_store(&image()->leak_check, LEAKS_FOUND);
    else if (!check_all(&c, caller, held))
        atomic_store(&image()->leak_check, LEAKS_BUSY);
    return c.lost;
}

void leaks_forget(void)
{
    struct section s;
    atomic_store(&image()->leak_check, LEAKS_NOT_ASKED);
    if (!section_begin(&s))
        return;
    forget();
    section_end(&s);
}

/* ---- in mid-run -------------------------------------------------------------------------------------------- */

void leaks_keep(const struct caller *caller, uint64_t kept[KEPT_COUNT])
{
    for (uint32_t i = 0; i < KEPT_COUNT; i++)
        kept[i] = caller->known >> i & 1 ? caller->value[i] : 0;
}

void leaks_check_now(const struct caller *caller, struct leaks_now *now)
{
    struct check c = {.now = now, .to = &now->written};
    uint64_t kept[KEPT_COUNT];
    const struct range held[HELD_MAX] = {{(uintptr_t)kept, (uintptr_t)(kept + KEPT_COUNT)}};
    leaks_keep(caller, kept);
    now->number = atomic_fetch_add(&image()->leak_checks, 1) + 1;
    if (!check_all(&c, caller, held))
        now->result = LEAKS_BUSY;
}

void leaks_told(struct leaks_now *now)
{
    struct section s;
    if (!now->written.list.start || !section_begin(&s))
        return;
    vacate(&now->written);
    section_end(&s);
}

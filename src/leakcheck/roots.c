/*
 * roots.c - the roots of the leak check: the program's writable memory.
 *
 * All mappings that are writable, or could have been, are roots: data of the program and its
 * libraries, stacks with the thread-local storage above them, and memory of other allocators.  The
 * exceptions are:
 *
 *   - the heap, whose blocks are scanned only if a pointer leads to them, and rtcheck's own memory;
 *   - devices, where reading may have side effects;
 *   - alternate signal stacks of ours, unless a handler of the program runs there;
 *   - memory of valgrind, if it runs the program: it unmaps memory during our scan;
 *   - dead parts of stacks: below the live part (live.c), or what libc leaves in the stack of a thread
 *     that has ended.  libc keeps such stacks, and their tops are full of stale pointers.
 *
 * Regions that the program has registered are roots wherever they are readable, also inside heap
 * blocks.  Private memory that the program has written and then made read-only or inaccessible
 * (PROT_NONE) is scanned too, also data of modules: the program may make it accessible again.
 * Inaccessible memory, also in blocks, is made readable for the duration of the scan.
 *
 * A stack that libc has made lies directly above a guard page, and ends with its thread's control
 * block.  In other memory that contains a stack pointer, the start of the stack is unknown, so all
 * of it is scanned.
 */
#include "byte_shadow.h"
#include "format/plan.h"
#include "leakcheck_priv.h"

#include <errno.h>
#include <string.h>

#define CLOSED_BYTES \
    (16ull << 30) /* limit of examined memory that is not writable: the kernel reports each page */

struct search {
    struct roots *all;
    const struct root_region *given; /* registered by the program */
    uint32_t given_count;
    const struct stopped_world *w;
    struct range excluded[ROOTS_EXCLUDED + 8];
    uint32_t excluded_count;
    bool all_are_stopped; /* no other thread runs that may rely on a fault in inaccessible memory */
    uint64_t closed_left; /* bytes of memory that is not writable, still to be examined */
    bool full;
};

/* ---- the list -------------------------------------------------------------------------------- */

static bool is_device(const struct mapping *m)
{
    return text_starts(m->path, "/dev/") && !text_starts(m->path, "/dev/shm/") &&
           !text_starts(m->path, "/dev/zero");
}

/* Private, and not a mapping of the kernel: [vdso] and the like. */
static bool is_private(const struct mapping *m)
{
    bool is_of_kernel = m->path[0] == '[' && !text_starts(m->path, "[anon:") &&
                        !text_equal(m->path, "[heap]") && !text_equal(m->path, "[stack]");
    return !m->shared && !is_of_kernel && !is_device(m);
}

/*
 * Private memory that cannot be read.  Most such memory was never written: guards and reservations.
 */
static bool is_closed(const struct mapping *m)
{
    return !m->readable && is_private(m);
}

/* Private and read-only.  The program may have written it before mprotect. */
static bool is_frozen(const struct mapping *m)
{
    return m->readable && !m->writable && is_private(m);
}

/* Make the range readable during the scan.  Return false if there are too many such ranges. */
static bool will_open(struct roots *all, uintptr_t start, uintptr_t end, int protection)
{
    if (all->closed_count == CLOSED_MAX)
        return false;
    all->closed[all->closed_count++] = (struct closed){start, end, protection};
    return true;
}

/* A file without a block device is in memory, or a read of it may wait for ever. */
static enum memory memory_of(const struct mapping *m)
{
    bool is_file = m->path[0] == '/';
    if (m->shared)
        return is_file && m->major ? MEMORY_ON_DISK : MEMORY_SHARED;
    return is_file && !m->writable ? MEMORY_WRITTEN : MEMORY_PRIVATE;
}

static void add(struct search *s, const struct mapping *m, uintptr_t start, uintptr_t end,
                enum root_kind kind, uint32_t thread)
{
    struct roots *all = s->all;
    struct object o;
    if (start >= end)
        return;
    if (is_closed(m) && (all->count == all->room || !will_open(all, start, end, m->protection)))
        return; /* inaccessible memory is the first to be left out */
    if (all->count == all->room) {
        s->full = true;
        return;
    }
    all->memory[all->count] = memory_of(m);
    struct root_record *r = &all->root[all->count++];
    *r = (struct root_record){.start = start, .end = end, .kind = kind, .thread = thread};
    memcpy(r->path, m->path, sizeof r->path);
    if (kind == ROOT_MAPPED && loader_find(start, &o)) {
        r->kind = ROOT_MODULE;
        r->bias = o.bias;
        r->module = modules_number(&o, !s->w->is_copied);
    }
}

/* The range from the first dirty page to the last; empty if there is none. */
static struct range dirty_range(struct search *s, enum memory memory, uintptr_t start,
                                uintptr_t end)
{
    struct range r = {0, 0};
    uintptr_t piece_end;
    if (start >= end || end - start > s->closed_left)
        return r;
    s->closed_left -= end - start;
    for (uintptr_t at = start; dirty_pages_next(memory, &at, end, &piece_end); at = piece_end)
        r = (struct range){r.start ? r.start : at, piece_end};
    return r;
}

/* Leave out our own reservations: the kernel may have merged them with the program's mapping. */
static void add_closed(struct search *s, const struct mapping *m)
{
    uintptr_t own, own_end;
    for (uintptr_t at = m->start; at < m->end; at = own_end) {
        os_next_own(at, &own, &own_end);
        struct range r = dirty_range(s, MEMORY_CLOSED, at, own < m->end ? own : m->end);
        add(s, m, r.start, r.end, ROOT_MAPPED, 0);
    }
}

/* In the heap's address range, add only the parts that the program has mapped over. */
static void add_in_heap(struct search *s, const struct mapping *m, uintptr_t start, uintptr_t end,
                        enum root_kind kind, uint32_t thread)
{
    uintptr_t own, own_end;
    for (uintptr_t at = start; at < end; at = own_end) {
        os_next_own(at, &own, &own_end);
        add(s, m, at, own < end ? own : end, kind, thread);
    }
}

/* Add the parts of a mapping that are not ours. */
static void add_without_excluded(struct search *s, const struct mapping *m, uintptr_t start,
                                 uintptr_t end, enum root_kind kind, uint32_t thread)
{
    for (uint32_t i = 0; i < s->excluded_count && start < end; i++) {
        const struct range *o = &s->excluded[i];
        if (o->end <= start || o->start >= end)
            continue;
        add_without_excluded(s, m, start, o->start, kind, thread);
        if (o->start == heap.base)
            add_in_heap(s, m, start > o->start ? start : o->start, end < o->end ? end : o->end,
                        kind, thread);
        start = o->end;
    }
    add(s, m, start, end, kind, thread);
}

/* Most read-only mappings of files are as the file: of the others the pages that were written. */
static void add_frozen_file(struct search *s, const struct mapping *m)
{
    struct range r = dirty_range(s, MEMORY_WRITTEN, m->start, m->end);
    add_without_excluded(s, m, r.start, r.end, ROOT_MAPPED, 0);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* The living thread with the lowest control block in [start, end), or NULL. */
static const struct stopped_thread *lowest(const struct stopped_world *w, uintptr_t start,
                                           uintptr_t end)
{
    const struct stopped_thread *best = NULL;
    for (uint32_t i = 0; i < w->count; i++) {
        const struct stopped_thread *t = &w->thread[i];
        if (t->control_block >= start && t->control_block < end &&
            (!best || t->control_block < best->control_block))
            best = t;
    }
    return best;
}

/*
 * The same among all recorded threads.  *ended: that thread has ended, and no later thread has its
 * control block.
 */
static uintptr_t lowest_known(uintptr_t start, uintptr_t end, bool *ended)
{
    uintptr_t best = 0;
    for (struct thread *t = threads_first(); t; t = t->next) {
        uintptr_t block = t->is_fallback ? 0 : t->record->control_block;
        if (block < start || block >= end || (best && block > best))
            continue;
        *ended = !t->tid && (block != best || *ended);
        best = block;
    }
    return best;
}

/* The lowest live address of the stack that begins at `start`. */
static uintptr_t live_from(const struct stopped_thread *t, uintptr_t start, uintptr_t end)
{
    uintptr_t sp = t->caller.value[DWARF_SP];
    if (sp < start || sp >= end)
        return start; /* its stack pointer is elsewhere or unknown: scan all of it */
    uintptr_t from = live_stack(t);
    return from < start ? start : (uintptr_t)align_down(from, sizeof from);
}

/*
 * Where the part begins that libc leaves in the stack of an ended thread.  Below it are pages with
 * contents only if the memory is the program's own (pthread_attr_setstack) or has been reused.
 */
static uintptr_t dead_from(uintptr_t start, uintptr_t control_block)
{
    return control_block - start > LIBC_DEAD_STACK_BYTES
               ? align_down(control_block - LIBC_DEAD_STACK_BYTES, PAGE_BYTES)
               : start;
}

/*
 * Add a mapping above a guard.  The kernel may have merged several stacks in it: only the first is
 * known to begin where the mapping begins.
 */
static void add_guarded(struct search *s, const struct mapping *m)
{
    bool ended = false;
    const struct stopped_thread *t = lowest(s->w, m->start, m->end);
    uintptr_t known = lowest_known(m->start, m->end, &ended), from = m->start;
    if (t && (!known || t->control_block <= known)) {
        uintptr_t end = align_up(t->control_block + LIBC_CONTROL_BYTES, PAGE_BYTES);
        end = end < m->end ? end : m->end;
        bool is_main =
            t->tid == s->w->process; /* its stack is elsewhere: this is its thread-local storage */
        add_without_excluded(s, m, live_from(t, from, t->control_block), end,
                             is_main ? ROOT_MAPPED : ROOT_STACK, is_main ? 0 : t->number);
        from = end;
    } else if (known && ended) {
        add_without_excluded(s, m, from, dead_from(from, known), ROOT_MAPPED, 0);
        from = known;
    }
    add_without_excluded(s, m, from, m->end, ROOT_MAPPED, 0);
}

static void add_main_stack(struct search *s, const struct mapping *m)
{
    uintptr_t from = m->start;
    uint32_t number = threads_main();
    for (uint32_t i = 0; i < s->w->count; i++)
        if (s->w->thread[i].tid && s->w->thread[i].tid == s->w->process)
            from = live_from(&s->w->thread[i], m->start, m->end);
    add_without_excluded(s, m, from, m->end, ROOT_STACK, number);
}

/* ---- regions registered by the program ------------------------------------------------------- */

static bool is_named(const struct search *s, uint32_t region, const struct mapping *m)
{
    const struct root_region *r = &s->given[region];
    return m->readable && r->start < m->end && m->start < r->start + r->bytes;
}

static void add_named(struct search *s, const struct mapping *m)
{
    for (uint32_t i = 0; i < s->given_count; i++) {
        uintptr_t start = s->given[i].start, end = start + s->given[i].bytes;
        if (is_named(s, i, m))
            add(s, m, start > m->start ? start : m->start, end < m->end ? end : m->end, ROOT_GIVEN,
                0);
    }
}

/* ---- all mappings ---------------------------------------------------------------------------- */

static bool may_hold_pointers(const struct mapping *m)
{
    return (m->writable && !is_device(m)) || is_frozen(m);
}

static void exclude(struct search *s, uintptr_t start, uintptr_t end)
{
    if (s->excluded_count < sizeof s->excluded / sizeof s->excluded[0])
        s->excluded[s->excluded_count++] = (struct range){start, end};
}

/* Exclude our library's data, except the blocks in it that were allocated during start-up. */
static void exclude_library(struct search *s)
{
    struct object o;
    uintptr_t blocks, blocks_end;
    bootstrap_range(&blocks, &blocks_end);
    if (!loader_find((uintptr_t)&finish_image, &o))
        return;
    exclude(s, o.start, blocks);
    exclude(s, blocks_end, o.end);
    if (byte_shadow_is_on) /* 16 TiB, without a pointer */
        exclude(s, PLAN_SHADOW, PLAN_SHADOW + BYTE_SHADOW_BYTES);
}

/* Open parts of our heap that the program has made inaccessible. */
static void note_closed(struct search *s, const struct mapping *m)
{
    struct roots *all = s->all;
    uintptr_t end = heap.base + atomic_load_explicit(&heap.bytes, memory_order_relaxed);
    if (m->readable || m->end <= heap.base || m->start >= end)
        return;
    end = m->end < end ? m->end : end;
    for (uintptr_t at = m->start, own, own_end; at < end; at = own_end) {
        os_next_own(at, &own, &own_end);
        if (own < end && !will_open(all, own, own_end < end ? own_end : end, m->protection))
            s->full = true;
    }
}

/*
 * The kernel may have merged the program's memory with valgrind's, which lies before or after it.
 */
static bool clip_to_program(struct mapping *m)
{
    bool first = os_is_of_program(m->start), last = os_is_of_program(m->end - 1);
    uintptr_t border = m->start;
    if (first == last)
        return first;
    while (os_is_of_program(border) == first)
        border += PAGE_BYTES;
    *(first ? &m->end : &m->start) = border;
    return true;
}

static void add_writable(struct search *s, const struct mapping *m, bool after_guard)
{
    if (text_equal(m->path, "[stack]"))
        add_main_stack(s, m);
    else if (after_guard && !m->path[0])
        add_guarded(s, m);
    else
        add_without_excluded(s, m, m->start, m->end, ROOT_MAPPED, 0);
}

/* A signal stack of ours: its words are saved registers, which were examined when they were live. */
static bool is_own_signal_stack(const struct search *s, const struct mapping *m)
{
    if (!signal_stack_is_own(m->start))
        return false;
    for (uint32_t i = 0; i < s->w->count; i++)
        if (s->w->thread[i].caller.value[DWARF_SP] - m->start < m->end - m->start)
            return false; /* a handler of the program runs there */
    return true;
}

static void search(struct search *s, struct mappings *maps)
{
    struct mapping m, before = {0};
    while (os_mappings_next(maps, &m)) {
        struct mapping its = m;
        note_closed(s, &m);
        add_named(s, &m);
        if (m.writable && is_own_signal_stack(s, &m))
            ;
        else if (is_closed(&m) && s->all_are_stopped)
            add_closed(s, &m);
        else if (is_frozen(&m) && m.path[0] == '/')
            add_frozen_file(s, &m);
        else if (may_hold_pointers(&m) && clip_to_program(&its))
            add_writable(s, &its, before.guard && before.end == its.start);
        before = m;
    }
}

static void exclude_lists(struct search *s)
{
    uintptr_t start[2], end[2];
    annotations_lists(start, end);
    for (uint32_t i = 0; i < 2; i++)
        exclude(s, start[i], end[i]);
}

static uint32_t most_roots(const struct search *s)
{
    struct mappings maps;
    struct mapping m;
    uint32_t n = 64 + s->w->waiting;
    if (os_mappings_open(&maps))
        return 0;
    while (os_mappings_next(&maps, &m)) {
        n += 2;
        for (uint32_t i = 0; i < s->given_count; i++)
            n += is_named(s, i, &m);
    }
    os_mappings_close(&maps);
    return n;
}

static bool all_are_stopped(const struct stopped_world *w)
{
    bool is_alive = is_answered(&w->thread[0]); /* else all threads have ended */
    if (w->is_copied)
        return true;
    for (uint32_t i = 1; is_alive && i < w->count; i++)
        if (!is_answered(&w->thread[i]) && !w->thread[i].over)
            return false;
    return true;
}

int roots_find(struct roots *all, const struct stopped_world *w, const struct range *excluded,
               uint32_t count)
{
    struct mappings maps;
    struct search s = {
        .all = all, .w = w, .all_are_stopped = all_are_stopped(w), .closed_left = CLOSED_BYTES};
    s.given = annotations_roots(&s.given_count);
    *all = (struct roots){.room = most_roots(&s)};
    if (!all->room)
        return -EPERM; /* the mappings cannot be read */
    all->bytes = align_up(all->room * (sizeof *all->root + sizeof *all->memory), PAGE_BYTES);
    all->root = os_map(all->bytes);
    if (os_failed(all->root))
        return -ENOMEM;
    all->memory = (uint8_t *)(all->root + all->room);
    exclude_library(&s);
    exclude_lists(&s);
    exclude(&s, (uintptr_t)all->root, (uintptr_t)all->root + all->bytes);
    exclude(&s, (uintptr_t)w->thread, (uintptr_t)w->thread + w->bytes);
    struct range results = snapshot_results();
    exclude(&s, results.start, results.end);
    for (uint32_t i = 0; i < count; i++)
        exclude(&s, excluded[i].start, excluded[i].end);
    int err = os_mappings_open(&maps);
    if (!err) {
        search(&s, &maps);
        os_mappings_close(&maps);
        dirty_pages_try_again();
    }
    if (!err && !all->count)
        err = -EPERM; /* an empty list of mappings cannot be true */
    return err ? err : s.full ? -ENOMEM : 0;
}

void roots_add_words(struct roots *all, const struct range *words, uint32_t thread)
{
    if (words->start >= words->end || all->count == all->room)
        return;
    all->memory[all->count] = MEMORY_OWN;
    all->root[all->count++] = (struct root_record){
        .start = words->start, .end = words->end, .kind = ROOT_STACK, .thread = thread};
}

void roots_drop(struct roots *all)
{
    if (all->root && !os_failed(all->root))
        os_unmap(all->root, all->bytes);
}

void roots_open_closed(const struct roots *all)
{
    for (uint32_t i = 0; i < all->closed_count; i++)
        os_read_only((void *)all->closed[i].start, all->closed[i].end - all->closed[i].start);
}

void roots_close_again(const struct roots *all)
{
    for (uint32_t i = 0; i < all->closed_count; i++)
        os_protect((void *)all->closed[i].start, all->closed[i].end - all->closed[i].start,
                   all->closed[i].protection);
}

/* ---- reading roots --------------------------------------------------------------------------- */

struct reading {
    void (*scan)(void *about, const uint64_t *words, uint64_t count, uint64_t at);
    void *about;
};

static void read_words(const struct reading *r, uintptr_t start, uintptr_t end)
{
    start = align_up(start, sizeof(uint64_t));
    if (start < end)
        r->scan(r->about, (const uint64_t *)start, (end - start) / sizeof(uint64_t), start);
}

static uint64_t read_dirty(const struct reading *r, enum memory memory, uintptr_t start,
                           uintptr_t end)
{
    uint64_t skipped = end - start;
    uintptr_t piece_end;
    for (uintptr_t at = start; dirty_pages_next(memory, &at, end, &piece_end); at = piece_end) {
        read_words(r, at, piece_end);
        skipped -= piece_end - at;
    }
    return skipped;
}

/*
 * Read a registered region in a file completely: other processes may have written it.  Copy in
 * pieces, up to its end.
 */
static uint64_t read_file(const struct reading *r, uintptr_t start, uintptr_t end)
{
    static uint64_t piece[65536 / sizeof(uint64_t)]; /* one check at a time */
    uint64_t skipped = 0;
    start = align_up(start, sizeof piece[0]);
    while (start < end) {
        size_t want = end - start < sizeof piece ? end - start : sizeof piece;
        long got = os_read_memory(start, piece, want);
        if (got > 0) {
            r->scan(r->about, piece, (uint64_t)got / sizeof piece[0], start);
            start += (uint64_t)got;
        } else {
            uintptr_t next = align_down(start, PAGE_BYTES) + PAGE_BYTES;
            skipped += (next < end ? next : end) - start;
            start = next;
        }
    }
    return skipped;
}

enum memory roots_memory(const struct roots *all, uintptr_t at)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (at - all->root[i].start < all->root[i].end - all->root[i].start)
            return all->memory[i];
    return MEMORY_SHARED; /* unknown: look up as much as possible */
}

uint64_t root_words(const struct roots *all, uint32_t number,
                    void (*scan)(void *about, const uint64_t *words, uint64_t count, uint64_t at),
                    void *about)
{
    struct reading r = {scan, about};
    const struct root_record *root = &all->root[number];
    if (root->kind == ROOT_GIVEN &&
        root->path[0]) /* or a mapping of the kernel with pages that are no memory */
        return read_file(&r, root->start, root->end);
    if (all->memory[number] != MEMORY_OWN)
        return read_dirty(&r, all->memory[number], root->start, root->end);
    read_words(&r, root->start, root->end);
    return 0;
}

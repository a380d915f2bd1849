/*
 * leaks.c - the leak check: which blocks are still reachable, at the end of the program or on
 * demand.
 *
 *    stop writers (as for a fork)
 *    -> stop the other threads (stop_the_world.c; at the end of the program: as the first step)
 *    -> list the roots (roots.c) -> mark (heap_view.c, shadow/leakscan/reach.c)
 *    -> write the results to the run file (leak_records.c) -> resume all
 *
 * Every wait is bounded.  If a check fails, the reason is recorded.
 *
 * In a check on demand the calling thread continues, so blocks held only by its registers are
 * reachable. leaks_begin/leaks_done serialize checks.  Each check has its own segments, which
 * become vacant once they are reported.
 */
#include "leakcheck_priv.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#define WRITERS_NS 500000000ull   /* limit of the wait for writers to stop */
#define CERTAIN_NS 10000000000ull /* the same if a writer only lacks a processor */
#define WAITED_NS 1000000ull      /* a try that took this long has waited for a thread */
#define FLUSH_NS \
    50000000ull /* limit for exit's flush or a program's handler; then the threads resume */
#define STOPPED_MAX_NS \
    1000000000ull /* limit for an exec: a handler of its thread may wait for a stopped thread */
#define HUGE_BYTES (8u << 20)     /* scratch memory from this size on uses huge pages */
#define DEAD_LOOK_NS 100000000ull /* between two looks at whether the holder is alive */
#define LOOKS 3u                  /* scans at most, if waiting threads run in between */
#define SEARCH_STACK_BYTES 16384u /* more than the depth of the scan's stack */

/* ---- one at a time --------------------------------------------------------------------------- */

static struct {
    _Atomic uint64_t checker; /* pid << 32 | tid; another pid: inherited from the parent */
    _Atomic uint32_t over;    /* futex: changes at each leaks_done */
} check_owner;

bool leaks_begin(struct os_signals *blocked)
{
    uint64_t me = (uint64_t)os_program_pid() << 32 | os_tid(), holder = 0;
    for (;;) {
        uint32_t seen = atomic_load(&check_owner.over);
        os_block_signals(blocked);
        if (atomic_compare_exchange_strong(&check_owner.checker, &holder, me))
            return true;
        if (holder == me)
            return false; /* a handler of the checking thread */
        os_restore_signals(blocked);
        if (holder >> 32 != me >> 32)
            continue; /* of the parent: the next try replaces it */
        bool may_die = fork_is_scanner((uint32_t)holder);
        os_wait(&check_owner.over, seen, may_die ? DEAD_LOOK_NS : 0, false);
        if (!may_die || !os_process_gone((uint32_t)holder)) /* else it is replaced, too */
            holder = 0;
    }
}

void leaks_done(void)
{
    atomic_store(&check_owner.checker, 0);
    atomic_fetch_add(&check_owner.over, 1);
    os_wake(&check_owner.over, false);
}

/*
 * Threads that stay stopped after a check, or were stopped before it.  Owned by the holder of
 * leaks_begin.
 */
static struct {
    struct stopped_world world;
    uint32_t pid; /* differs in a forked child; 0: none is stopped */
} stopped;

static bool is_stopped(void)
{
    return stopped.pid == os_pid();
}

static void keep_stopped(const struct stopped_world *w)
{
    stopped.world = *w;
    stopped.pid = os_pid();
}

void leaks_resume(void)
{
    if (is_stopped()) {
        world_resume(&stopped.world);
        stopped.pid = 0;
    }
}

/* ---- marking --------------------------------------------------------------------------------- */

/* A virtual table lies in a module of the program, suitably aligned. */
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

/* A coroutine's stack may be a heap block: the thread that runs on it keeps it reachable. */
static void scan_stack_block(struct check *c, const struct stopped_thread *t)
{
    struct found f = pool_find((void *)(uintptr_t)t->caller.value[DWARF_SP]);
    uint64_t block = t->caller.value[DWARF_SP] - f.offset;
    if (f.verdict == PTR_START || f.verdict == PTR_INSIDE)
        reach_root(c->scan, &block, 1, 0, 0);
}

static void scan_registers(struct check *c, const struct stopped_thread *t,
                           void (*scan)(struct reach_scan *, uint64_t value, uint32_t number,
                                        uint32_t thread))
{
    struct saved_vectors saved;
    for (uint32_t i = 0; i < DWARF_PC; i++)
        if (t->live >> i & 1)
            scan(c->scan, t->caller.value[i], i, t->number);
    if (!(t->live & LIVE_VECTORS) || !vectors_of(t->caller.context, &saved))
        return;
    for (uint32_t n = 0; n < saved.pieces; n++)
        for (uint32_t i = saved.piece[n].start; i < saved.piece[n].end; i++)
            scan(c->scan, saved.word[i], DWARF_VECTORS + i, t->number);
}

/* These threads would have continued, so blocks in their registers are reachable. */
static void scan_registers_of_others(struct check *c)
{
    for (uint32_t i = 1; i < c->world.count; i++)
        if (is_answered(&c->world.thread[i]))
            scan_registers(c, &c->world.thread[i], reach_live_register);
}

/*
 * Read only dirty pages of large blocks.  With heap=file read all that are no guards: another process may
 * have written them.
 */
static bool next_piece(void *about, uint64_t *at, uint64_t end, uint64_t *piece_end)
{
    const struct check *c = about;
    bool in_heap = *at - heap.base < heap.bytes;
    if (*at >= end)
        return false;
    *piece_end = end;
    bool in_file = in_heap && heap_in_file();
    if (in_file && !heap_has_gaps())
        return true;
    return dirty_pages_next(in_file   ? MEMORY_OF_HEAP
                            : in_heap ? MEMORY_PRIVATE
                                      : roots_memory(&c->roots, *at),
                            at, end, piece_end);
}

bool leaks_begin_scan(struct check *c)
{
    const struct reach_rules rules = {.strict = rt.options.strict_interior,
                                      .mark_since = annotations_mark_now(),
                                      .is_table = is_table,
                                      .next_piece = next_piece,
                                      .has_gaps = heap_has_gaps(),
                                      .about = c};
    if (!range_take(&c->scratch, reach_room(&c->heap, false)) &&
        !range_take(&c->scratch, reach_room(&c->heap, true)))
        return false;
    if (c->scratch.end - c->scratch.start >= HUGE_BYTES)
        os_huge((void *)c->scratch.start, c->scratch.end - c->scratch.start);
    c->scan =
        reach_begin((void *)c->scratch.start, c->scratch.end - c->scratch.start, &c->heap, &rules);
    return true;
}

static void mark(struct check *c)
{
    for (c->root = 1; c->root <= c->roots.count; c->root++)
        c->skipped += root_words(&c->roots, c->root - 1, scan_words, c);
    for (uint32_t i = 0; i < c->world.count; i++)
        scan_stack_block(c, &c->world.thread[i]);
    scan_registers_of_others(c);
    reach_inside(c->scan);
    scan_registers(c, &c->world.thread[0],
                   reach_register); /* the thread that ends the program: air */
    reach_lost(c->scan);
}

/* ---- the check ------------------------------------------------------------------------------- */

/* Blocks that a forked child has inherited are reported by its parent: heap_view_has_own_blocks. */
static bool has_allocated(void)
{
    for (struct thread *t = threads_first(); t; t = t->next)
        if (atomic_load_explicit(&t->record->allocs, memory_order_relaxed))
            return true;
    return client_block_has_own();
}

void leaks_add_up(struct check *c)
{
    c->group = reach_groups(c->scan, &c->groups);
    for (uint32_t i = 0; i < c->groups; i++) {
        const struct leak_group *g = &c->group[i];
        struct leaks_sum *sum = &c->sum[atomic_load_explicit(&g->reach, memory_order_relaxed)];
        sum->blocks += g->blocks;
        sum->bytes += g->bytes;
        sum->new_blocks += g->new_blocks;
        sum->new_bytes += g->new_bytes;
    }
}

void leaks_describe_witnesses(struct check *c)
{
    for (uint32_t i = 0; i < c->groups; i++)
        if (c->group[i].witness == WITNESS_ROOT && c->group[i].root)
            witness_describe(&c->world, &c->roots.root[c->group[i].root - 1], &c->group[i]);
}

/* If no report is requested, keep only the sums. */
static enum leak_check keep_result(struct check *c)
{
    leaks_add_up(c);
    if (c->now)
        memcpy(c->now->sum, c->sum, sizeof c->sum);
    if (c->now && !c->now->is_reported)
        return LEAKS_FOUND;
    leaks_describe_witnesses(c);
    return leak_records_put(c);
}

/* Why a check could not be made. */
static enum leak_check refused(int err)
{
    return err == -ENOMEM ? LEAKS_NO_MEMORY : os_sandboxed() ? LEAKS_SANDBOX : LEAKS_NO_PROC;
}

static int stop_world(struct check *c, const struct caller *caller)
{
    if (!caller)
        return world_of_killed(&c->world);
    if (!is_stopped())
        return world_stop(&c->world, caller, STOP_RUNNING);
    c->world = stopped.world;
    return 0;
}

/* Registers of waiting threads: only the arguments of their system calls are known. */
static void add_arguments(struct check *c)
{
    for (uint32_t i = 0; i < c->world.count; i++) {
        const struct stopped_thread *t = &c->world.thread[i];
        const struct range words = {(uintptr_t)t->argument,
                                    (uintptr_t)(t->argument + OS_CALL_ARGUMENTS)};
        if (t->waits)
            roots_add_words(&c->roots, &words, t->number);
    }
}

enum leak_check leaks_describe(struct check *c)
{
    if (!heap_view_make(&c->heap, &c->lists))
        return LEAKS_NO_MEMORY;
    const struct run_header *run = run_header();
    uintptr_t file = (uintptr_t)run;
    const struct range own[] = {
        {heap.base, heap_space_end()},
        {file, file + (run ? run->area_bytes * run_area_limit() : 0)},
        c->lists,
    };
    int err = roots_find(&c->roots, &c->world, own, sizeof own / sizeof own[0]);
    if (err)
        return refused(err);
    client_view_add(&c->heap, &c->roots);
    add_arguments(c);
    return LEAKS_FOUND;
}

/* Mark from the roots, with inaccessible memory readable and stale key slots muted. */
void leaks_scan(struct check *c, bool all_threads)
{
    struct muted_words muted;
    roots_open_closed(&c->roots);
    keys_mute(&c->world, all_threads, &muted);
    mark(c);
    keys_unmute(&muted);
    roots_close_again(&c->roots);
}

static enum leak_check look_once(struct check *c, const struct caller *caller,
                                 const struct range extra_roots[EXTRA_ROOTS])
{
    if (caller && !threads_all_outside())
        return LEAKS_BUSY;
    threads_wipe_stale();
    live_determine(&c->world);
    dirty_pages_begin();
    enum leak_check result = leaks_describe(c);
    if (result == LEAKS_FOUND) {
        for (uint32_t i = 0; i < EXTRA_ROOTS; i++)
            roots_add_words(&c->roots, &extra_roots[i], c->world.thread[0].number);
        if (leaks_begin_scan(c))
            leaks_scan(c, !caller);
        else
            result = LEAKS_NO_MEMORY;
    }
    dirty_pages_end();
    return result;
}

static void drop(struct check *c)
{
    roots_drop(&c->roots);
    range_give_back(&c->lists);
    range_give_back(&c->scratch);
    c->roots = (struct roots){0};
    c->lists = c->scratch = (struct range){0};
    c->looked_at = c->skipped = 0;
}

/*
 * A waiting thread may have run during the scan, and moved a pointer to memory that was scanned
 * before.
 */
static enum leak_check look(struct check *c, const struct caller *caller,
                            const struct range extra_roots[EXTRA_ROOTS])
{
    int err = stop_world(c, caller);
    if (err)
        return refused(err);
    enum leak_check result = look_once(c, caller, extra_roots);
    for (uint32_t i = 1; i < LOOKS && result == LEAKS_FOUND && world_stop_runnable(&c->world);
         i++) {
        drop(c);
        result = look_once(c, caller, extra_roots);
    }
    return result == LEAKS_FOUND ? keep_result(c) : result;
}

/*
 * If a thread did not stop, its registers may hold lost blocks: on_demand.c makes the same
 * distinction.
 */
static void note_scan(const struct check *c)
{
    bool sure = !c->world.not_stopped;
    struct scan_sum sum = {.at_end = !c->now};
    for (enum reach i = REACH_INTERIOR; i <= REACH_LOST_INDIRECT; i++) {
        bool lost = sure && i >= REACH_LOST;
        *(lost ? &sum.lost_blocks : &sum.possible_blocks) += c->sum[i].blocks;
        *(lost ? &sum.lost_bytes : &sum.possible_bytes) += c->sum[i].bytes;
    }
    scan_note(&sum);
}

static uint16_t at_most_16_bits(uint32_t n)
{
    return n < UINT16_MAX ? (uint16_t)n : UINT16_MAX;
}

/* Write the result of the check at the end to the image's header. */
static void write_end(const struct check *c, enum leak_check result, uint64_t ns)
{
    struct image_header *h = image();
    h->threads_not_stopped = c->world.not_stopped;
    h->threads_unresponsive = at_most_16_bits(c->world.unresponsive);
    h->threads_waiting = at_most_16_bits(c->world.waiting);
    h->root_bytes = c->looked_at;
    h->root_bytes_skipped = c->skipped;
    h->leak_ns = ns;
    atomic_store_explicit(&h->leak_check, result, memory_order_release);
}

static void check_stopped(struct check *c, const struct caller *caller,
                          const struct range extra_roots[EXTRA_ROOTS])
{
    uint64_t begin = os_clock_ns();
    if (!c->now)
        leak_records_void();
    c->to->image = image()->image;
    enum leak_check result =
        c->now || heap_view_has_own_blocks() ? look(c, caller, extra_roots) : LEAKS_FOUND;
    uint64_t ns = os_clock_ns() - begin;
    if (leak_check_was_made(result))
        note_scan(c);
    if (c->now) {
        c->now->result = result;
        c->now->not_stopped = c->world.not_stopped;
        c->now->waiting = c->world.waiting;
    }
    if (c->now && c->now->is_reported)
        leak_records_put_check(c, ns);
    if (!c->now)
        write_end(c, result, ns);
    if (c->stays_stopped) {
        keep_stopped(&c->world);
        world_resume_after(STOPPED_MAX_NS);
    } else if (!is_stopped()) {
        world_resume(&c->world);
    }
    drop(c);
}

/*
 * Is a thread in a section runnable?  On a loaded machine, or with a low priority, it may take
 * long.
 */
static bool someone_inside_runs(void)
{
    for (struct thread *t = threads_first(); t; t = t->next)
        if (t != self && t->tid && thread_is_inside(t) && os_thread_state(t->tid) == OS_THREAD_RUNS)
            return true;
    return false;
}

/* A thread that was preempted in a section gets time to leave it. */
bool leaks_stop_writers(void)
{
    uint64_t begin = os_clock_ns(), before = begin, now;
    for (; !fork_stop_writers(); before = now) {
        now = os_clock_ns();
        if (now - before < WAITED_NS || now - begin > CERTAIN_NS ||
            (now - begin > WRITERS_NS && !someone_inside_runs()))
            return false; /* waiting does not help, or takes too long */
    }
    return true;
}

/*
 * Do not stop a thread in a section: it would hold its locks for ever.  If the writers cannot be
 * stopped, the check itself records the reason.
 */
void leaks_stop_for_end(const struct caller *caller)
{
    struct stopped_world w;
    if (is_stopped() || os_threads() == 1 || !leaks_stop_writers())
        return;
    if (world_stop(&w, caller, STOP_FOR_END) == 0)
        keep_stopped(&w);
    fork_resume_writers();
}

void leaks_stop_no_longer(void)
{
    if (is_stopped())
        world_resume_after(FLUSH_NS);
}

/* Return false if other threads or an interrupted section prevent the check. */
static bool check_all(struct check *c, const struct caller *caller,
                      const struct range extra_roots[EXTRA_ROOTS])
{
    struct section s;
    if (caller && !leaks_stop_writers())
        return false;
    bool inside = section_begin(&s);
    if (inside) {
        check_stopped(c, caller, extra_roots);
        section_end(&s);
    }
    if (caller)
        fork_resume_writers();
    return inside;
}

/*
 * The scan leaves pointers to blocks, also to lost ones, on this thread's stack and in vector
 * registers (by memcpy and the loader).  The post-mortem scanner treats the whole stack as live,
 * and a handler may end the program here.  Both would find those stale words.
 */
static __attribute__((noinline)) void wipe_tracks(void)
{
    char room[SEARCH_STACK_BYTES];
    memset(room, 0, sizeof room);
    __asm__ volatile("" ::"r"(room) : "memory");
    vectors_wipe();
}

bool leaks_check(const struct caller *caller, const struct range extra_roots[EXTRA_ROOTS],
                 bool stays_stopped)
{
    struct check c = {.to = &leak_records_at_end, .stays_stopped = stays_stopped};
    if (!has_allocated())
        atomic_store(&image()->leak_check, LEAKS_FOUND);
    else if (!check_all(&c, caller, extra_roots))
        atomic_store(&image()->leak_check, LEAKS_BUSY);
    if (stays_stopped)
        wipe_tracks();
    return c.lost;
}

void leaks_forget(void)
{
    struct section s;
    if (rt.options.witness)
        wipe_tracks();
    atomic_store(&image()->leak_check, LEAKS_NOT_REQUESTED);
    if (!section_begin(&s))
        return;
    leak_records_void();
    section_end(&s);
}

/* ---- on demand ------------------------------------------------------------------------------- */

void leaks_keep_registers(const struct caller *caller, uint64_t kept[KEPT_COUNT])
{
    for (uint32_t i = 0; i < KEPT_COUNT; i++)
        kept[i] = caller->known >> i & 1 ? caller->value[i] : 0;
}

void leaks_check_now(const struct caller *caller, struct leaks_now *now)
{
    struct check c = {.now = now, .to = &now->leak_records};
    uint64_t kept[KEPT_COUNT];
    const struct range extra_roots[EXTRA_ROOTS] = {
        {(uintptr_t)kept, (uintptr_t)(kept + KEPT_COUNT)}};
    leaks_keep_registers(caller, kept);
    now->number = atomic_fetch_add(&image()->leak_checks, 1) + 1;
    if (!check_all(&c, caller, extra_roots))
        now->result = LEAKS_BUSY;
}

void leaks_put_end(struct leaks_now *now)
{
    struct check c = {.now = now, .to = &now->leak_records};
    struct section s;
    now->number =
        atomic_load(&image()->leak_checks) + 1; /* the next number: no check on demand has it */
    now->leak_records.image = image()->image;
    if (!section_begin(&s))
        return;
    leak_records_put_check(&c, 0);
    section_end(&s);
}

void leaks_reported(struct leaks_now *now)
{
    struct section s;
    if (!now->leak_records.list.start || !section_begin(&s))
        return;
    leak_records_vacate(&now->leak_records);
    section_end(&s);
}

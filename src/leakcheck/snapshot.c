/*
 * snapshot.c - check a program that runs on: the leak check of a copy of its memory.
 *
 *    program         continues -------------------------------------------------------->
 *    the scanner     stop writers, read records, fork, resume them | wait | write results
 *    the snapshot                              \-- mark --> results in shared memory
 *
 * The scanner (exit/post_mortem.c) is a process that shares the program's memory.  Its fork is an atomic copy
 * of that memory (os_fork_snapshot), and its child is no child of the program.  Records of blocks are in shared memory, so they
 * are read before the fork, while writers wait as for a fork of the program.  That is the pause: only a thread
 * that allocates or frees notices it.  Marking takes far longer, and reads only the copy.
 *
 * No thread is signalled, and no system call ends early.  So registers are unknown, and what is lost is only
 * possibly lost.  A thread that waits in a system call has its stack pointer and the arguments of the call in
 * /proc.  If it has run before the fork was over, both are out of date, and the snapshot is taken again.  After
 * RUNS no thread's stack pointer is used: each stack is scanned from its lowest address.  On a loaded machine the
 * scanner may lack a processor for so long that a waiting writer continues (fork_wait): then, too, until LIMIT_NS.
 *
 * If the scanner dies, writers resume by themselves (fork_wait).  If it is killed during leaks_begin, the program's
 * next check waits for ever; only SIGKILL does that.
 */
#include "leakcheck_priv.h"

#include <errno.h>
#include <string.h>

#define RUNS 2u /* of waiting threads; then stack pointers are not used */
#define LIMIT_NS 1500000000ull
#define RESULTS_BYTES (64ull << 20)

/* Written by the snapshot. */
struct results {
    _Atomic uint32_t is_complete;
    uint32_t groups;
    enum leak_check result;
    uint64_t looked_at, skipped;
    struct leaks_sum sum[REACH_COUNT];
    struct leak_group group[];
};

#define GROUPS_MAX ((RESULTS_BYTES - sizeof(struct results)) / sizeof(struct leak_group))

static struct results *results_of(const struct check *c)
{
    return (struct results *)c->shared.start;
}

/* ---- in the snapshot ------------------------------------------------------------------------- */

static void put_results(const struct check *c, struct results *to)
{
    bool fits = c->groups <= GROUPS_MAX;
    to->groups = fits ? c->groups : (uint32_t)GROUPS_MAX;
    to->result = fits ? LEAKS_FOUND : LEAKS_CUT;
    to->looked_at = c->looked_at;
    to->skipped = c->skipped;
    memcpy(to->sum, c->sum, sizeof to->sum);
    memcpy((void *)to->group, (const void *)c->group, to->groups * sizeof *c->group);
    atomic_store_explicit(&to->is_complete, 1, memory_order_release);
}

static _Noreturn void scan(struct check *c)
{
    threads_wipe_stale();
    dirty_pages_begin();
    leaks_scan(c, true);
    dirty_pages_end();
    leaks_add_up(c);
    leaks_describe_witnesses(c);
    put_results(c, results_of(c));
    os_exit_now(0);
}

/* ---- in the scanner -------------------------------------------------------------------------- */

static void forget_stack_pointers(struct stopped_world *w)
{
    for (uint32_t i = 1; i < w->count; i++) {
        w->thread[i].waits = false;
        w->thread[i].caller.value[DWARF_SP] = 0;
    }
    w->waiting = 0;
}

/* All that must be read while writers wait. */
static enum leak_check prepare(struct check *c, uint32_t runs)
{
    int err = world_of_running(&c->world);
    if (err)
        return err == -ENOMEM ? LEAKS_NO_MEMORY : LEAKS_NO_PROC;
    if (!threads_all_outside())
        return LEAKS_BUSY;
    if (runs >= RUNS)
        forget_stack_pointers(&c->world);
    dirty_pages_begin();
    enum leak_check result = leaks_describe(c);
    if (result == LEAKS_FOUND && !leaks_begin_scan(c))
        result = LEAKS_NO_MEMORY;
    dirty_pages_end();
    return result;
}

/* Set *child to the snapshot's descriptor if there is one. */
static enum leak_check fork_in_section(struct check *c, uint32_t runs, int *child)
{
    struct section s;
    enum leak_check result = LEAKS_BUSY;
    if (!section_begin(&s))
        return result;
    result = prepare(c, runs);
    if (result == LEAKS_FOUND) {
        *child = os_fork_snapshot();
        if (*child == 0)
            scan(c);
        result = *child < 0 ? LEAKS_NO_MEMORY : LEAKS_FOUND;
    }
    section_end(&s);
    return result;
}

static void drop(struct check *c)
{
    leaks_drop(c);
    if (c->world.thread && !os_failed(c->world.thread))
        os_unmap(c->world.thread, c->world.bytes);
    c->world = (struct stopped_world){0};
}

/* Take a snapshot.  LEAKS_BUSY: not usable, or writers did not stop.  *runs: how often a thread has run. */
static enum leak_check take(struct check *c, uint32_t *runs, int *child)
{
    uint64_t begin = os_clock_ns();
    *child = -1;
    if (!leaks_stop_writers())
        return LEAKS_BUSY;
    enum leak_check result = fork_in_section(c, *runs, child);
    bool is_whole = fork_resume_writers();
    uint64_t ns = os_clock_ns() - begin;
    c->now->pause_ns = ns > c->now->pause_ns ? ns : c->now->pause_ns;
    bool has_run = result == LEAKS_FOUND && world_has_run(&c->world);
    *runs += has_run;
    if (result == LEAKS_FOUND && (!is_whole || has_run)) {
        os_end_snapshot(*child);
        *child = -1;
        result = LEAKS_BUSY;
    }
    return result;
}

static enum leak_check take_any(struct check *c, int *child)
{
    enum leak_check result = LEAKS_BUSY;
    struct os_signals signals;
    if (!leaks_begin(&signals))
        return result;
    uint64_t begin = os_clock_ns();
    uint32_t runs = 0;
    do {
        drop(c);
        result = take(c, &runs, child);
    } while (result == LEAKS_BUSY && os_clock_ns() - begin < LIMIT_NS);
    leaks_done();
    os_restore_signals(&signals);
    return result;
}

/* false: the program has ended. */
static bool await(struct check *c, int child, enum leak_check *result)
{
    struct results *from = results_of(c);
    if (!os_wait_snapshot(child))
        return false;
    if (!atomic_load_explicit(&from->is_complete, memory_order_acquire)) {
        *result = LEAKS_NO_MEMORY; /* it was killed, or died of a page that could not be had */
        return true;
    }
    *result = from->result;
    c->group = from->group;
    c->groups = from->groups;
    c->looked_at = from->looked_at;
    c->skipped = from->skipped;
    memcpy(c->now->sum, from->sum, sizeof from->sum);
    return true;
}

static void write_down(struct check *c, enum leak_check result, uint64_t ns)
{
    struct leaks_now *now = c->now;
    struct section s;
    if (!section_begin(&s))
        return;
    c->to->image = image()->image;
    now->number = atomic_fetch_add(&image()->leak_checks, 1) + 1;
    if (leak_check_was_made(result) && leak_records_put(c) == LEAKS_CUT)
        result = LEAKS_CUT;
    now->result = result;
    now->not_stopped = c->world.not_stopped;
    now->waiting = c->world.waiting;
    leak_records_put_check(c, ns);
    section_end(&s);
}

bool leaks_check_snapshot(struct leaks_now *now)
{
    struct check c = {.now = now, .to = &now->leak_records};
    uint64_t begin = os_clock_ns();
    enum leak_check result = LEAKS_NO_MEMORY;
    bool runs = true;
    int child = -1;
    void *shared = os_map_shared(RESULTS_BYTES);
    if (!os_failed(shared)) {
        c.shared = (struct range){(uintptr_t)shared, (uintptr_t)shared + RESULTS_BYTES};
        result = take_any(&c, &child);
    }
    if (result == LEAKS_FOUND)
        runs = await(&c, child, &result);
    if (runs)
        write_down(&c, result, os_clock_ns() - begin);
    drop(&c);
    range_give_back(&c.shared);
    return runs;
}

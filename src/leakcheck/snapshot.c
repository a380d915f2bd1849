/*
 * snapshot.c - check a program that runs on: the leak check of a copy of its memory.
 *
 *    program         continues ------------------------------------------------------->
 *    the scanner     stop writers, fork, resume them | wait | write results
 *    the snapshot                   \-- mark --> results in shared memory
 *
 * The scanner (exit/post_mortem.c) is a process that shares the program's memory.  Its fork is an atomic copy of that
 * memory (os_fork_snapshot), and its child is no child of the program.  Records of blocks are in shared memory: the
 * child has a lease on them, as a forked child of the program, and writers copy them before they change them.  So
 * the pause is that of a fork, and only a thread that allocates or frees notices it.
 *
 * Reading the process from outside (/proc/PID/mem) needs no scanner, but pointers move while it is read: blocks
 * that a busy program holds would be reported.  A signal to a thread ends system calls, and ptrace does, too.
 *
 * No thread is signalled, so registers are unknown, and what is lost is only possibly lost.  A thread that waits
 * in a system call has its stack pointer and the arguments of the call in /proc.  If it has run before the fork was over, both
 * are out of date, and the snapshot is taken again.  After RUNS no thread's stack pointer is used: each stack is
 * scanned from its lowest address.  On a loaded machine the scanner may lack a processor for so long that a waiting
 * writer continues (fork_wait): then, too, until LIMIT_NS.
 */
#include "leakcheck_priv.h"

#include <errno.h>
#include <string.h>

#define RUNS 2u
#define LIMIT_NS 1500000000ull
#define GROUPS_BYTES (48ull << 20)
#define ROOTS_BYTES (16ull << 20)
#define GROUPS_MAX (GROUPS_BYTES / sizeof(struct leak_group))
#define ROOTS_MAX (ROOTS_BYTES / sizeof(struct root_record))

/* Written by the snapshot.  Only the pages that are used are allocated. */
struct results {
    _Atomic uint32_t is_complete;
    enum leak_check result;
    uint32_t groups, roots;
    uint64_t looked_at, skipped;
    struct leaks_sum sum[REACH_COUNT];
    struct leak_group group[GROUPS_MAX];
    struct root_record root[ROOTS_MAX];
};

/* The results are there; it stays so if the scanner is killed. */
static struct range kept;

struct range snapshot_results(void)
{
    return kept;
}

static struct results *results_of(const struct check *c)
{
    return (struct results *)c->shared.start;
}

/* ---- in the snapshot ------------------------------------------------------------------------- */

static uint32_t at_most(uint32_t n, uint64_t limit)
{
    return n < limit ? n : (uint32_t)limit;
}

static void put_results(const struct check *c, struct results *to)
{
    to->groups = at_most(c->groups, GROUPS_MAX);
    to->roots = at_most(c->roots.count, ROOTS_MAX);
    to->result = to->groups == c->groups ? LEAKS_FOUND : LEAKS_CUT;
    to->looked_at = c->looked_at;
    to->skipped = c->skipped;
    memcpy(to->sum, c->sum, sizeof to->sum);
    memcpy((void *)to->group, (const void *)c->group, to->groups * sizeof *c->group);
    memcpy(to->root, c->roots.root, to->roots * sizeof to->root[0]);
}

static enum leak_check look(struct check *c)
{
    threads_wipe_stale();
    enum leak_check result = leaks_describe(c);
    if (result != LEAKS_FOUND)
        return result;
    if (!leaks_begin_scan(c))
        return LEAKS_NO_MEMORY;
    leaks_scan(c, true);
    return result;
}

static _Noreturn void scan(struct check *c)
{
    struct results *to = results_of(c);
    dirty_pages_begin();
    to->result = look(c);
    dirty_pages_end();
    if (to->result == LEAKS_FOUND) {
        leaks_add_up(c);
        leaks_describe_witnesses(c);
        put_results(c, to);
    }
    atomic_store_explicit(&to->is_complete, 1, memory_order_release);
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

static void drop_world(struct stopped_world *w)
{
    if (w->thread && !os_failed(w->thread))
        os_unmap(w->thread, w->bytes);
    *w = (struct stopped_world){0};
}

/* Fork while writers wait.  false: a thread wrote records meanwhile. */
static bool fork_whole(struct check *c, int *child)
{
    uint32_t pid;
    fork_lease_snapshot();
    *child = os_fork_snapshot(&pid);
    if (*child == 0)
        scan(c);
    c->lease = fork_resume_snapshot(pid);
    return c->lease;
}

static void give_up(struct check *c, int *child)
{
    if (*child >= 0)
        os_end_snapshot(*child);
    if (c->lease)
        fork_drop_snapshot(c->lease);
    c->lease = NULL;
    *child = -1;
}

/* Take a snapshot.  LEAKS_BUSY: not usable, or writers did not stop.  *runs: how often a thread has run. */
static enum leak_check take(struct check *c, uint32_t *runs, int *child)
{
    int err = world_of_running(&c->world);
    if (err)
        return err == -ENOMEM ? LEAKS_NO_MEMORY : LEAKS_NO_PROC;
    if (*runs >= RUNS)
        forget_stack_pointers(&c->world);
    uint64_t begin = os_clock_ns();
    if (!leaks_stop_writers())
        return LEAKS_BUSY;
    bool is_whole = fork_whole(c, child);
    uint64_t ns = os_clock_ns() - begin;
    c->now->pause_ns = ns > c->now->pause_ns ? ns : c->now->pause_ns;
    bool has_run = world_has_run(&c->world);
    *runs += has_run;
    if (is_whole && !has_run)
        return LEAKS_FOUND;
    enum leak_check result = *child < 0 ? LEAKS_NO_MEMORY : LEAKS_BUSY;
    give_up(c, child);
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
        drop_world(&c->world);
        result = take(c, &runs, child);
    } while (result == LEAKS_BUSY && os_clock_ns() - begin < LIMIT_NS);
    leaks_done();
    os_restore_signals(&signals);
    return result;
}

/* The snapshot does not add modules to the run file. */
static void number_modules(struct check *c)
{
    struct object o;
    for (uint32_t i = 0; i < c->roots.count; i++) {
        struct root_record *r = &c->roots.root[i];
        if (r->kind == ROOT_MODULE && !r->module && loader_find(r->start, &o))
            r->module = modules_number(&o, true);
    }
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
    c->roots.root = from->root;
    c->roots.count = from->roots;
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
    number_modules(c);
    if (leak_check_was_made(result) && leak_records_put(c) == LEAKS_CUT)
        result = LEAKS_CUT;
    now->result = result;
    now->not_stopped = c->world.not_stopped;
    now->waiting = c->world.waiting;
    leak_records_put_check(c, ns);
    section_end(&s);
}

/* In this order: this process may be killed in between, and the addresses must not hold blocks then. */
static void drop_results(struct check *c)
{
    struct results *r = results_of(c);
    if (!r)
        return;
    memset((void *)r->group, 0, at_most(r->groups, GROUPS_MAX) * sizeof r->group[0]);
    memset((void *)r->root, 0, at_most(r->roots, ROOTS_MAX) * sizeof r->root[0]);
    kept = (struct range){0};
    range_give_back(&c->shared);
}

bool leaks_check_snapshot(struct leaks_now *now)
{
    struct check c = {.now = now, .to = &now->leak_records};
    uint64_t begin = os_clock_ns();
    enum leak_check result = LEAKS_NO_MEMORY;
    bool runs = true;
    int child = -1;
    void *shared = os_map_shared(sizeof(struct results));
    if (!os_failed(shared)) {
        c.shared = kept =
            (struct range){(uintptr_t)shared, (uintptr_t)shared + sizeof(struct results)};
        result = take_any(&c, &child);
    }
    if (result == LEAKS_FOUND) {
        runs = await(&c, child, &result);
        fork_drop_snapshot(c.lease);
    }
    if (runs)
        write_down(&c, result, os_clock_ns() - begin);
    drop_world(&c.world);
    drop_results(&c);
    return runs;
}

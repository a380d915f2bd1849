/*
 * finish.c - the end of an image: exit, a fatal signal, or exec.
 *
 * Lock: leaks_begin/leaks_done serialize leak checks.  An exec keeps that lock (`holder`) until it
 * succeeds or fails.
 */
#include "exit_priv.h"

#include <dlfcn.h>

/* ---- leaks ----------------------------------------------------------------------------------- */

/* The function by which the program ended.  Only frames further out are live. */
static struct range end_function(enum image_end how)
{
    struct object o;
    if (how == END_EXIT_NOW || how == END_EXEC)
        return loader_find((uintptr_t)&finish_image, &o) ? (struct range){o.start, o.end}
                                                         : (struct range){0, 0};
    uintptr_t at = (uintptr_t)dlsym(RTLD_NEXT, how == END_QUICK_EXIT ? "quick_exit" : "exit");
    return (struct range){at, at + LIBC_EXIT_BYTES};
}

#define NO_IMAGE UINT32_MAX
static _Atomic uint32_t checked_early = NO_IMAGE; /* the image whose check at the end was made */

static bool is_checked(void)
{
    return atomic_load(&checked_early) == image()->image;
}

/* The image that a thread is ending, and the image whose end is complete. */
static _Atomic uint32_t finishing = NO_IMAGE, finished = NO_IMAGE;
static _Atomic uint32_t finisher; /* tid of the thread that ends it */

static bool is_finishing(void)
{
    return atomic_load(&finishing) == image()->image;
}

static void finish_begin(void)
{
    atomic_store(&finisher, os_tid());
    atomic_store(&finishing, image()->image);
}

static void finish_over(void)
{
    atomic_store(&finished, image()->image);
    os_wake(&finished, false);
}

/*
 * The thread that holds the check lock while it calls exec, and the address of its exec_call on its
 * stack.
 */
static _Atomic uint32_t holder;
static uintptr_t calls_at;

/* Does a handler run here that has interrupted this thread's exec? */
static bool is_holder(void)
{
    uint32_t tid = atomic_load(&holder);
    return tid && tid == os_tid();
}

/*
 * Take the check lock for an exec.  If another thread ends the program, wait here and not on the
 * way to the kernel: the stop signal would reach the next program.
 */
static bool exec_begin(struct os_signals *signals)
{
    bool is_checker;
    uint32_t seen = atomic_load(&finished);
    while ((is_checker = leaks_begin(signals)) && is_finishing() &&
           atomic_load(&finisher) != os_tid() && seen != image()->image) {
        leaks_done();
        os_restore_signals(signals);
        os_wait(&finished, seen, 0, false);
        seen = atomic_load(&finished);
    }
    return is_checker;
}

static void exec_keep_stopped(void)
{
    atomic_store(&holder, os_tid());
    atomic_fetch_add(&nonlocal_exit_watchers, 1);
}

/* The caller of the function that ends the program, else of this frame. */
static bool find_caller(enum image_end how, struct caller *caller)
{
    struct range f = end_function(how);
    return unwind_caller_of(f.start, f.end - f.start, caller) ||
           unwind_to((uintptr_t)__builtin_frame_address(0), caller);
}

bool finish_check_early(void)
{
    struct range own_code = end_function(END_EXIT_NOW);
    struct caller caller;
    struct os_signals signals;
    uint64_t kept[KEPT_COUNT];
    bool any_lost = false;
    const struct range extra_roots[EXTRA_ROOTS] = {
        {(uintptr_t)kept, (uintptr_t)(kept + KEPT_COUNT)}};
    if (!init_is_started() || !wants_leaks() || fork_shares_memory() ||
        !unwind_caller_of(own_code.start, own_code.end - own_code.start, &caller))
        return false;
    if (fork_is_child())
        fork_begin_child();
    leaks_keep_registers(&caller, kept);
    bool allowed = is_checked() || lsan_allows_end();
    bool is_checker = leaks_begin(&signals); /* a handler must not leave by longjmp in the middle */
    if (is_checker && allowed && !is_checked())
        any_lost = leaks_check(&caller, extra_roots, false);
    if (is_checker)
        leaks_done();
    os_restore_signals(&signals);
    atomic_store(&checked_early, image()->image);
    post_mortem_end();
    leaks_notify(true);
    return any_lost && !image()->threads_not_stopped;
}

const struct range nothing[EXTRA_ROOTS];

/* ---- the end --------------------------------------------------------------------------------- */

/*
 * Stop all other threads: natively none would run after the program's end, and our end takes
 * longer.  The reporter must be found before this, because that calls the loader.
 */
static bool end_begin(const struct caller *caller, struct os_signals *signals)
{
    mapped_finish();
    dispatched_write();
    bool is_checker = leaks_begin(signals); /* false: in a handler that interrupted a check */
    if (is_checker)
        leaks_stop_for_end(caller);
    errors_sweep();
    return is_checker;
}

void finish_killed(const struct fatal_signal *s)
{
    struct caller caller;
    struct os_signals signals;
    crash_record(s);
    unwind_interrupted(s->context, &caller);
    finish_begin();
    if (is_holder())
        finish_exec_failed();
    struct cost_part since = cost_part_begin();
    if (end_begin(&caller, &signals)) {
        if (wants_leaks_at_end() && !is_checked() && lsan_note_end(!lsan_can_turn_off()))
            leaks_check(&caller, nothing, false);
        leaks_done();
    }
    os_restore_signals(&signals);
    cost_part_end(COST_SCAN, since);
    post_mortem_end();
    run_ring();
}

/* Run the program's notification handlers.  Not for _exit, which signal handlers may call. */
static void notify(bool scanned)
{
    if (notify_is_wanted(NOTIFY_SCAN_DONE) || notify_is_wanted(NOTIFY_REPORT))
        leaks_stop_no_longer();
    if (scanned)
        leaks_notify(true);
    notify_program(&(struct notification){.event = NOTIFY_REPORT});
}

/*
 * Free what libc and libstdc++ keep, as valgrind does.  Functions of libc take locks and flush
 * streams: only after exit's handlers, and if no thread exists that may hold a lock or use the
 * memory.
 */
static void free_library_memory(enum image_end how)
{
    if (how == END_EXIT && (rt.options.run_libc_freeres || rt.options.run_cxx_freeres) &&
        !fork_shares_memory() && os_threads() == 1)
        libc_freeres(rt.options.run_libc_freeres, rt.options.run_cxx_freeres);
}

int finish_image(enum image_end how, int status)
{
    static _Atomic bool reported;
    struct os_signals signals;
    struct caller caller = {0};
    if (fork_is_child())
        return status; /* it has not used memory since the fork: there is no image to end */
    if (run_is_gone())
        return end_without_file(status);
    if (rt.drop_in.is_on) {
        vmmalloc_log_end();
        return status;
    }
    free_library_memory(how);
    finish_begin();
    if (is_holder())
        finish_exec_failed();
    bool early = is_checked(), known = find_caller(how, &caller);
    bool checks = known && !early && wants_leaks_at_end() && lsan_allows_end();
    struct cost_part since = cost_part_begin();
    reporter_find();
    bool is_checker = end_begin(&caller, &signals);
    descriptors_at_end();
    if (is_checker && checks)
        leaks_check(&caller, nothing, false);
    os_restore_signals(&signals);
    cost_part_end(COST_SCAN, since);
    if (how == END_EXIT || how == END_QUICK_EXIT)
        notify(!early);
    image_end(how, status);
    post_mortem_end();
    int exit_status = atomic_exchange(&reported, true) ? 0 : report_by_hand();
    if (how == END_EXIT)
        leaks_stop_no_longer();
    if (is_checker)
        leaks_done();
    finish_over();
    return exit_status ? exit_status : status;
}

/* ---- exec ------------------------------------------------------------------------------------ */

/*
 * The other threads stay stopped until exec ends them, except those that wait in a system call: if
 * exec fails, they have not noticed.  A concurrent leak check would send this thread a signal,
 * which the next program would receive.  The stop lasts at most one second (STOPPED_MAX_NS): a
 * handler of this thread may wait for a stopped thread.
 *
 * In a run without a launcher the next image makes its own run file, and removes this one unless it
 * holds findings.
 */
bool finish_before_exec(const struct exec_call *call)
{
    const struct range extra_roots[EXTRA_ROOTS] = {
        {(uintptr_t)call->given, (uintptr_t)(call->given + countof(call->given))},
        {(uintptr_t)call->list, (uintptr_t)(call->list + call->list_count)}};
    struct caller caller;
    struct os_signals signals;
    if (rt.drop_in.is_on) {
        vmmalloc_log(VMMALLOC_CALLS, "exec", 0, NULL);
        return false;
    }
    struct cost_part since = cost_part_begin();
    bool any_lost = false;
    bool checks = wants_leaks_at_end() && !is_checked() && find_caller(END_EXEC, &caller) &&
                  lsan_allows_end();
    mapped_finish();
    dispatched_write();
    calls_at = (uintptr_t)call;
    bool is_checker = exec_begin(&signals), may_proceed = !is_finishing() || is_holder();
    if (is_checker && may_proceed) {
        if (checks && !is_checked())
            any_lost = leaks_check(&caller, extra_roots, true);
        exec_keep_stopped();
    } else if (is_checker) {
        leaks_done();
    }
    os_restore_signals(&signals);
    cost_part_end(COST_SCAN, since);
    if (!may_proceed)
        return false;
    image_end(END_EXEC, 0);
    post_mortem_end(); /* the scanner would keep this memory alive */
    if (!rt.options.keep && !any_lost)
        run_step_aside(true);
    return true;
}

void finish_exec_failed(void)
{
    struct os_signals signals;
    uint32_t me = os_tid();
    bool begun = leaks_begin(&signals); /* false: held since finish_before_exec */
    if (!is_checked())
        leaks_forget();
    image_reopen();
    bool extra_roots = atomic_compare_exchange_strong(&holder, &me, 0);
    if (extra_roots) {
        atomic_fetch_sub(&nonlocal_exit_watchers, 1);
        leaks_resume();
    }
    if (!is_checked() && !is_finishing())
        post_mortem_start();
    if (!rt.options.keep)
        run_step_aside(false);
    if (begun || extra_roots)
        leaks_done();
    os_restore_signals(&signals);
}

void finish_nonlocal_exit(const struct jump *j)
{
    if (is_holder() && jump_discards(j, calls_at))
        finish_exec_failed();
}

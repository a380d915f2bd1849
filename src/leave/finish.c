/*
 * finish.c - the end of an image: it ends, is killed, or another program takes its place.
 */
#include "leave_priv.h"

#include <dlfcn.h>

/* ---- leaks ----------------------------------------------------------------------------------- */

#define END_BYTES 64u /* of libc's exit and quick_exit, which only call on */

/* The function by which the program ended; its caller, and what is further out, is all that is left. */
static struct range end_function(enum image_end how)
{
    struct object o;
    if (how == END_EXIT_NOW || how == END_EXEC)
        return loader_find((uintptr_t)&leave_finish, &o) ? (struct range){o.start, o.end}
                                                         : (struct range){0, 0};
    uintptr_t at = (uintptr_t)dlsym(RTLD_NEXT, how == END_QUICK_EXIT ? "quick_exit" : "exit");
    return (struct range){at, at + END_BYTES};
}

#define NO_IMAGE UINT32_MAX
static _Atomic uint32_t checked_early = NO_IMAGE; /* this image has had its check at the end */

static bool is_checked(void)
{
    return atomic_load(&checked_early) == image()->image;
}

static _Atomic uint32_t finishing = NO_IMAGE; /* a thread of this image ends it: it has the last word */

static bool is_finishing(void)
{
    return atomic_load(&finishing) == image()->image;
}

/* The thread whose turn goes on behind its check: it calls exec; and from where on its stack. */
static _Atomic uint32_t holder;
static uintptr_t calls_at;

/* Is this in a handler that has interrupted an exec? */
static bool is_holder(void)
{
    uint32_t tid = atomic_load(&holder);
    return tid && tid == os_tid();
}

static bool check_and_hold(const struct caller *caller, const struct range held[HELD_MAX])
{
    if (is_finishing()) {
        leaks_done();
        return false;
    }
    bool lost = leaks_check(caller, held, true);
    atomic_store(&holder, os_tid());
    atomic_fetch_add(&left_held, 1);
    return lost;
}

static bool check_and_go_on(const struct caller *caller, const struct range held[HELD_MAX])
{
    bool lost = leaks_check(caller, held, false);
    leaks_done();
    return lost;
}

/* No handler may leave it half done.  true: some are lost. */
static bool check_at_end(const struct caller *caller, const struct range held[HELD_MAX], bool holds)
{
    struct os_signals signals;
    bool lost = false;
    if (is_checked())
        return false;
    if (leaks_begin(&signals))
        lost = holds ? check_and_hold(caller, held) : check_and_go_on(caller, held);
    os_restore_signals(&signals);
    return lost;
}

/* true: some are lost. */
static bool find_leaks(enum image_end how, const struct range held[HELD_MAX])
{
    if (!wants_leaks_at_end())
        return false;
    struct range f = end_function(how);
    struct caller caller;
    if (!unwind_caller_of(f.start, f.end - f.start, &caller) &&
        !unwind_to((uintptr_t)__builtin_frame_address(0), &caller))
        return false;
    return check_at_end(&caller, held, how == END_EXEC);
}

bool leave_check_early(void)
{
    struct range us = end_function(END_EXIT_NOW);
    struct caller caller;
    uint64_t kept[KEPT_COUNT];
    const struct range held[HELD_MAX] = {{(uintptr_t)kept, (uintptr_t)(kept + KEPT_COUNT)}};
    if (!core_is_started() || !wants_leaks() || fork_shares_memory() ||
        !unwind_caller_of(us.start, us.end - us.start, &caller))
        return false;
    if (fork_is_child())
        fork_begin_child();
    leaks_keep(&caller, kept);
    bool lost = check_at_end(&caller, held, false);
    atomic_store(&checked_early, image()->image);
    vigil_end();
    leaks_hear(true);
    return lost && !image()->threads_unheard;
}

const struct range nothing[HELD_MAX];

void leave_killed(const void *context)
{
    struct caller caller;
    unwind_interrupted(context, &caller);
    atomic_store(&finishing, image()->image);
    if (is_holder())
        leave_stayed();
    struct cost_part since = cost_part_begin();
    errors_sweep();
    mapped_settle();
    dispatched_settle();
    check_at_end(&caller, nothing, false);
    cost_part_end(COST_SCAN, since);
    vigil_end();
    run_ring();
}

int leave_finish(enum image_end how, int status)
{
    static _Atomic bool reported;
    if (fork_is_child())
        return status; /* did nothing with memory since the fork: there is no image to end */
    atomic_store(&finishing, image()->image);
    if (is_holder())
        leave_stayed();
    bool early = is_checked();
    struct cost_part since = cost_part_begin();
    errors_sweep();
    mapped_settle();
    dispatched_settle();
    find_leaks(how, nothing);
    cost_part_end(COST_SCAN, since);
    if (how == END_EXIT || how == END_QUICK_EXIT) { /* _exit is for handlers, too */
        if (!early)
            leaks_hear(true);
        heard_tell(&(struct heard){.event = HEARD_REPORT});
    }
    image_end(how, status);
    vigil_end();
    int asked = atomic_exchange(&reported, true) ? 0 : report_by_hand();
    return asked ? asked : status;
}

/* ---- exec ------------------------------------------------------------------------------------ */

/*
 * The other threads stand still until exec has ended them.  The stop has ended their pause or poll
 * by EINTR: they would go on with that, out of main perhaps, while this one is on its way.  And who
 * looks for leaks would send this thread a signal, which the next program would find.  For a second
 * at most: a handler of this thread may wait for one of them.
 *
 * By hand the next image makes a file of its own, and removes this one unless it has something to tell. */
bool leave_replaced(const struct exec_call *call)
{
    const struct range held[HELD_MAX] = {
        {(uintptr_t)call->given, (uintptr_t)(call->given + countof(call->given))},
        {(uintptr_t)call->list, (uintptr_t)(call->list + call->list_count)}};
    struct cost_part since = cost_part_begin();
    mapped_settle();
    dispatched_settle();
    calls_at = (uintptr_t)call;
    bool lost = find_leaks(END_EXEC, held);
    cost_part_end(COST_SCAN, since);
    if (is_finishing() && !is_holder())
        return false;
    image_end(END_EXEC, 0);
    vigil_end(); /* it would keep this memory */
    if (!rt.options.keep && !lost)
        run_step_aside(true);
    return true;
}

void leave_stayed(void)
{
    struct os_signals signals;
    uint32_t me = os_tid();
    bool begun = leaks_begin(&signals); /* else it is its turn since the check */
    if (!is_checked())
        leaks_forget();
    image_reopen();
    bool held = atomic_compare_exchange_strong(&holder, &me, 0);
    if (held) {
        atomic_fetch_sub(&left_held, 1);
        leaks_let_go();
    }
    if (!is_checked() && !is_finishing())
        vigil_start();
    if (!rt.options.keep)
        run_step_aside(false);
    if (begun || held)
        leaks_done();
    os_restore_signals(&signals);
}

void leave_left(const struct jump *j)
{
    if (is_holder() && jump_leaves(j, calls_at))
        leave_stayed();
}

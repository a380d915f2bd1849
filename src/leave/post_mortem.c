/*
 * post_mortem.c - somebody who is there when the program is gone (--witness).
 *
 * A program that is killed by SIGKILL, crashes where no handler of ours can run, or ends by a system call
 * of its own has no last moment in which to look for leaks.  So a process of ours lives in the same memory,
 * which therefore is still there when the program is not.  It sleeps until then, unless the image says
 * goodbye itself, and finds out what was lost: nobody runs any more, registers are not known, and of each
 * stack all counts.  So what nobody can be seen to point to is a possible leak.
 *
 *    program --clone--> between --clone--> witness     both share the memory and nothing else
 *       |   waits for it  |ends              |         an orphan from the beginning: no wait of the
 *       |                                    |         program's finds it
 *       |--- a signal that the witness has blocked: it is dismissed
 *       |--- gone: its process descriptor says so
 *
 * It is an orphan, so there is none where orphans are the program's own or another's of the run, or where it
 * would be the first process of a namespace.  The memory of a program that
 * went on by an exec of its own must not stay: from time to time it asks whether that is so.  Its thread
 * has local storage of its own, as that of the thread that made it may go before it does.
 */
#include "finish_priv.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

#define STACK_BYTES 131072u
#define BETWEEN_BYTES 8192u
#define DISMISSAL SIGUSR1
#define LOOK_MS 100u /* whether it is the program's memory still: less and less often */
#define LOOK_MS_MAX 5000u
#define EXIT_CHECKS 100u
#define EXIT_CHECK_NS 1000000u
/* What libc keeps of a thread above its control block, and below the variables of ours. */
#define ABOVE_BYTES 8192u
#define BELOW_BYTES 262144u

static struct {
    _Atomic uint32_t pid; /* the kernel sets it to 0 when the witness ends */
    _Atomic uint32_t dismissed;
    uint32_t image;   /* whose it is: a forked child finds its parent's */
    uint32_t program; /* pid */
    int signals;      /* descriptor of those that the witness has been sent */
    uintptr_t control_block;
} watch;

static _Alignas(64) char stack[STACK_BYTES], stack_between[BETWEEN_BYTES];

/* ---- in the witness -------------------------------------------------------------------------- */

/* What has to be known of a program that ended without a word. */
static void scan_post_mortem(void)
{
    os_exit_sandbox(); /* that was the program's */
    rt.options.on_error = ON_ERROR_CONTINUE;
    if (pool_post_mortem())
        errors_sweep(); /* else what is half written would be told as damage */
    image_flag(IMAGE_POST_MORTEM);
    if (lsan_note_end(!lsan_can_turn_off()))
        leaks_check(NULL, nothing, false);
}

/* Until the program is gone; false: we are not needed. */
static bool is_needed(int signals)
{
    unsigned ms = LOOK_MS;
    for (; !atomic_load(&watch.dismissed); ms = ms * 2 < LOOK_MS_MAX ? ms * 2 : LOOK_MS_MAX) {
        enum os_watch seen = os_watch_program(signals, ms);
        if (atomic_load(&watch.dismissed))
            return false;
        if (seen == OS_WATCH_PROGRAM_ENDED)
            return atomic_load_explicit(&image()->state, memory_order_acquire) == IMAGE_OPEN;
        if (seen == OS_WATCH_TIMEOUT && !os_has_memory_of(watch.program))
            return os_watch_program(signals, 0) ==
                       OS_WATCH_PROGRAM_ENDED && /* it may have ended just now */
                   !atomic_load(&watch.dismissed);
        os_keep_stderr_of(watch.program); /* who reads it waits for its end */
    }
    return false;
}

static int scanner_main(void *unused)
{
    (void)unused;
    self = NULL;
    self_state = SELF_GONE; /* not a thread of the program's */
    bool needed = is_needed(watch.signals);
    if (needed)
        scan_post_mortem();
    atomic_store_explicit(&image()->scanner, SCANNER_DONE, memory_order_release);
    run_ring();
    if (needed)
        report_by_hand();
    os_exit_now(0);
}

/* ---- in between ------------------------------------------------------------------------------ */

/*
 * It stands apart before the program goes on: no lock, pipe or file of the program's is open in the
 * witness.
 */
static int between(void *unused)
{
    (void)unused;
    bool by_hand = run_header()->mode == RUN_BY_HAND;
    int process = os_process_fd(watch.program);
    watch.signals =
        process < 0 ? process : os_detach("rtcheck-witness", process, by_hand, DISMISSAL);
    if (watch.signals < 0)
        os_exit_now(1);
    int pid =
        clone(scanner_main, stack + STACK_BYTES,
              CLONE_VM | CLONE_UNTRACED | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
              NULL, &watch.pid, (void *)watch.control_block, &watch.pid);
    uint32_t expected = 0; /* else it was quick, and has said all */
    if (pid > 0)
        atomic_compare_exchange_strong(&image()->scanner, &expected, (uint32_t)pid);
    os_exit_now(0);
}

/* ---- in the program -------------------------------------------------------------------------- */

/* Room for the thread-local variables that the witness may touch: ours, and errno. */
static bool make_storage(void)
{
    uintptr_t own = (uintptr_t)__builtin_thread_pointer();
    uint64_t below = align_up(own - (uintptr_t)&self + BELOW_BYTES, PAGE_BYTES);
    if (watch.control_block)
        return true;
    void *at = os_map(below + ABOVE_BYTES);
    if (os_failed(at))
        return false;
    uintptr_t *block = (uintptr_t *)(watch.control_block = (uintptr_t)at + below);
    block[0] = block[2] = watch.control_block; /* as the ABI, and libc, find it */
    return true;
}

static bool can_have_one(void)
{
    return rt.options.witness && wants_leaks_at_end() && run_header() && !os_sandboxed() &&
           !os_is_reaper() && !atomic_load(&run_header()->adopts_orphans) &&
           os_same_pid_namespace();
}

/* The one before it is on its way out: it uses the same stack. */
static bool is_alone(void)
{
    for (unsigned i = 0; i < EXIT_CHECKS && atomic_load(&watch.pid); i++)
        os_wait(&watch.pid, atomic_load(&watch.pid), EXIT_CHECK_NS, true);
    return !atomic_load(&watch.pid);
}

void post_mortem_start(void)
{
    if (!can_have_one())
        return;
    if (watch.image != image()->image)
        atomic_store(&watch.pid, 0);
    if (!is_alone() || !make_storage())
        return;
    if (run_header()->mode == RUN_BY_HAND)
        reporter_find();
    watch.image = image()->image;
    watch.program = os_pid();
    atomic_store(&watch.dismissed, 0);
    atomic_store(&image()->scanner, 0);
    int saved = errno; /* who forks, or whose exec has failed, may have one */
    struct os_signals signals;
    os_block_signals(&signals);
    int pid = clone(between, stack_between + BETWEEN_BYTES, CLONE_VM | CLONE_VFORK | CLONE_UNTRACED,
                    NULL);
    if (pid > 0)
        os_reap_silent((uint32_t)pid);
    os_restore_signals(&signals);
    errno = saved;
}

void post_mortem_end(void)
{
    uint32_t pid = atomic_load(&watch.pid);
    if (watch.image != image()->image || !pid)
        return;
    atomic_store(&watch.dismissed, 1);
    atomic_store(&image()->scanner, SCANNER_DONE);
    if (!os_sandboxed())
        os_signal_process(pid, DISMISSAL);
}

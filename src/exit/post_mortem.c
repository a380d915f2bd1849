/*
 * post_mortem.c - post-mortem scanner (--witness): a process that finds the leaks of a killed
 * program.
 *
 * A program may end by SIGKILL, by a crash in which no handler of ours can run, or by a direct
 * system call.  Then it cannot run a leak check.  The scanner is a process that shares the
 * program's memory (CLONE_VM), so the memory outlives the program.  The scanner sleeps until the
 * program ends.  If the image has ended in an orderly way, the scanner is dismissed.  Else it makes
 * the leak check: no thread runs any more, registers are unknown, and all of each stack is scanned.
 * Therefore blocks without a reference are only possible leaks.
 *
 *    program --clone--> between --clone--> scanner     both share the memory and nothing else
 *       |   waits for it  |ends              |         an orphan from the beginning: no wait of the
 *       |                                    |         program's finds it
 *       |--- a signal that the scanner has blocked: dismissed
 *       |--- gone: its process descriptor (pidfd) is readable
 *
 * The scanner is an orphan.  It is not started where the program or another process of the run
 * adopts orphans, nor where it would be the first process of a PID namespace.  It must not keep the
 * memory of a program that has called exec by a direct system call: it polls for that.  Its thread
 * has its own thread-local storage, because the thread that started it may end first.
 */
#include "exit_priv.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

#define STACK_BYTES 131072u
#define BETWEEN_BYTES 8192u
#define DISMISSAL SIGUSR1
#define LOOK_MS 100u /* first interval of polling for a raw exec or a request; doubled each time */
#define LOOK_MS_MAX 5000u
#define EXIT_CHECKS 100u
#define EXIT_CHECK_NS 1000000u
/* libc's data of a thread above its control block, and libraries' variables below ours. */
#define ABOVE_BYTES 8192u
#define BELOW_BYTES 262144u

static struct {
    _Atomic uint32_t pid; /* the kernel sets it to 0 when the scanner ends */
    _Atomic uint32_t dismissed;
    _Atomic uint32_t serves; /* the scanner writes to the run file for another process */
    uint32_t image;          /* the owning image: a forked child inherits its parent's value */
    uint32_t program;        /* pid */
    int signals;             /* descriptor of the signals sent to the scanner */
    uintptr_t control_block;
} watch;

static _Alignas(64) char stack[STACK_BYTES], stack_between[BETWEEN_BYTES];

/* ---- in the scanner -------------------------------------------------------------------------- */

/* Make the checks that the program did not make itself. */
static void scan_post_mortem(void)
{
    os_exit_sandbox(); /* a sandbox applied to the program only */
    rt.options.on_error = ON_ERROR_CONTINUE;
    if (pool_post_mortem())
        errors_sweep(); /* else half-written blocks would be reported as damage */
    image_flag(IMAGE_POST_MORTEM);
    if (lsan_note_end(!lsan_can_turn_off()))
        leaks_check(NULL, nothing, false);
}

/*
 * Make the leak check that another process has requested.  Its records stay in the file until the next one: the
 * requester may end at any time.
 */
static void serve(void)
{
    static struct leaks_now last;
    struct image_header *h = image();
    uint32_t requested = atomic_load(&h->check_requested);
    if (requested == atomic_load(&h->check_served))
        return;
    atomic_store(&watch.serves, 1); /* pairs with post_mortem_end */
    if (!atomic_load(&watch.dismissed)) {
        leaks_reported(&last);
        last = (struct leaks_now){.is_reported = true, .flags = LEAK_CHECK_REQUESTED};
        if (leaks_check_snapshot(&last)) {
            atomic_store(&h->check_served, requested);
            os_wake(&h->check_served, true);
        }
    }
    atomic_store(&watch.serves, 0);
}

/* Wait until the program is gone, and serve requests.  Return false if no check is needed. */
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
        serve();
        os_keep_stderr_of(watch.program); /* a reader of that pipe waits for end of file */
    }
    return false;
}

static int scanner_main(void *unused)
{
    (void)unused;
    self = NULL;
    self_state = SELF_GONE; /* not a thread of the program */
    os_serve(watch.program);
    bool needed = is_needed(watch.signals);
    os_serve(0);
    if (needed)
        scan_post_mortem();
    atomic_store_explicit(&image()->scanner, SCANNER_DONE, memory_order_release);
    run_ring();
    if (needed)
        report_by_hand();
    os_exit_now(0);
}

/* ---- the intermediate process ---------------------------------------------------------------- */

/*
 * Detach before the program continues: the scanner holds no lock, pipe or file of the program open.
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
    uint32_t expected = 0; /* not 0: the scanner has ended already, and has set SCANNER_DONE */
    if (pid > 0)
        atomic_compare_exchange_strong(&image()->scanner, &expected, (uint32_t)pid);
    os_exit_now(0);
}

/* ---- in the program -------------------------------------------------------------------------- */

/* Allocate the thread-local variables that the scanner uses: ours, and errno. */
static bool make_storage(void)
{
    uint64_t below, above;
    if (watch.control_block)
        return true;
    libc_storage((uintptr_t)&self, &below, &above);
    below = align_up(below + BELOW_BYTES, PAGE_BYTES);
    void *at = os_map(below + above + ABOVE_BYTES);
    if (os_failed(at))
        return false;
    watch.control_block = (uintptr_t)at + below;
    libc_storage_prepare(watch.control_block);
    return true;
}

static bool can_have_one(void)
{
    return rt.options.witness && wants_leaks_at_end() && run_header() && !os_sandboxed() &&
           !os_is_reaper() && !atomic_load(&run_header()->adopts_orphans) &&
           os_same_pid_namespace();
}

/* Wait until the previous scanner has ended: it uses the same stack. */
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
    int saved = errno; /* its caller is fork, or an exec that has failed */
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
    if (!atomic_load(&watch.serves)) /* else it sets that after its last record */
        atomic_store(&image()->scanner, SCANNER_DONE);
    if (!os_sandboxed())
        os_signal_process(pid, DISMISSAL);
}

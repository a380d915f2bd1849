/*
 * stop_the_world.c - stop the other threads of the process while its memory is scanned.
 *
 * Each thread receives a signal and waits in its handler.  Then its registers are in the signal
 * frame, in memory.  The signal is the one that libc reserves for setuid in all threads
 * (SIGSETXID).  So no program has a handler for it, and no function of libc blocks it.  If libc
 * sends that signal at the same time, our handler passes it to libc's handler.
 *
 * A handler ends poll, sleep and some other calls with EINTR, regardless of SA_RESTART.  The
 * program must not see that:
 *
 *   - STOP_RUNNING: a thread that sleeps in a system call is not signalled, with two exceptions.
 *     The kernel restarts the call transparently (a futex without a timeout), or the thread waits
 *     on a futex of ours. /proc has its stack pointer and the call's arguments; its other registers
 *     are unknown.  If its CPU time has grown after the scan, the thread has run, and the scan is
 *     repeated.
 *   - A thread may enter such a call between that test and the signal.  The handler finds -EINTR in
 *     rax, and restarts the call, which had begun a moment before.  This needs the number of the
 *     call loaded directly before the syscall instruction.  It fails for the program's own
 *     syscall() and with --events=all: that call returns EINTR.  If a handler of the program has
 *     returned at the same moment, the EINTR is its own: the call is restarted, as if the program's
 *     signal had come just before it.
 *   - STOP_FOR_END: all threads are stopped until the end. libc's exit flushes streams later, and
 *     may need a lock that a stopped thread holds.  If that takes long, the threads resume, and a
 *     call that cannot be restarted never returns.
 *
 * A thread may be unreachable: it blocks the signal by a direct system call, has just been created,
 * or was not scheduled for very long.  It counts as not stopped; if it sleeps, /proc has its stack
 * pointer.
 */
#include "leakcheck_priv.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define LOOK_NS 5000000ull
#define CERTAIN_NS \
    10000000000ull /* since the last answer, for a runnable thread that lacks a processor */
#define WAIT_LIMIT_NS \
    500000000ull /* for a thread in libc code that blocks all signals for a while */
#define UNRESPONSIVE_NS 20000000ull /* for a thread that sleeps with the signal blocked */

static struct {
    _Atomic uint32_t resume;   /* futex of stopped threads; a change ends the round */
    _Atomic uint32_t answered; /* futex of the thread that stops them */
    _Atomic uint64_t until;    /* deadline, os_clock_ns(); 0: none */
    _Atomic uint32_t ends;     /* STOP_FOR_END.  Futex of threads that never resume */
    struct os_action before;
    bool taken; /* our handler is installed */
    const struct stopped_thread *first, *end;
} stop;

/* Wait until the round is over, or until the deadline. */
static void wait_stopped(uint32_t round)
{
    while (atomic_load(&stop.resume) == round) {
        uint64_t until = atomic_load(&stop.until), now = until ? os_clock_ns() : 0;
        if (until && now >= until)
            return;
        os_wait(&stop.resume, round, until - now, false);
    }
}

/* Hide the signal from the program. */
static void return_to_program(void *context)
{
    enum os_interrupted call = os_interrupted_call(context);
    if (call == OS_CALL_REPEATABLE)
        os_repeat_call(context);
    while (call == OS_CALL_ENDED && atomic_load(&stop.ends))
        os_wait(&stop.ends, 1, 0, false);
}

static void on_signal(int signal, void *information, void *context)
{
    const siginfo_t *info = information;
    struct stopped_thread *t = info->si_value.sival_ptr;
    os_handler before = os_handler_of(&stop.before);
    if (info->si_code != SI_QUEUE || t < stop.first || t >= stop.end) {
        if (before)
            before(signal, information, context);
        return;
    }
    uint32_t round = atomic_load(&stop.resume);
    unwind_interrupted(context, &t->caller);
    t->control_block = libc_control_block();
    atomic_store_explicit(&t->answered, 1, memory_order_release); /* pairs with is_answered */
    atomic_fetch_add(&stop.answered, 1);
    os_wake(&stop.answered, false);
    wait_stopped(round);
    return_to_program(context);
}

/* ---- listing the threads --------------------------------------------------------------------- */

static void count_one(uint32_t tid, void *about)
{
    (void)tid;
    ++*(uint32_t *)about;
}

struct filling {
    struct stopped_world *w;
    uint32_t room, own;
};

static void add_one(uint32_t tid, void *about)
{
    struct filling *f = about;
    if (tid == f->own || f->w->count == f->room)
        return;
    struct stopped_thread *t = &f->w->thread[f->w->count++];
    t->tid = tid;
    t->number = threads_number_of(tid);
    const struct thread_record *known = threads_record_of(tid);
    t->control_block = known ? known->control_block : 0;
}

/* A thread may start between the two listings: reserve room for 16 more. */
static int list_threads(struct stopped_world *w, const struct caller *caller)
{
    struct filling f = {w, 16, os_tid()};
    int err = os_each_thread(count_one, &f.room);
    if (err)
        return err;
    w->process = os_program_pid();
    w->bytes = align_up(f.room * sizeof *w->thread, PAGE_BYTES);
    w->thread = os_map(w->bytes);
    if (os_failed(w->thread))
        return -ENOMEM;
    w->thread[0] = (struct stopped_thread){.tid = f.own,
                                           .number = self ? self->number : 0,
                                           .answered = 1,
                                           .control_block = libc_control_block(),
                                           .caller = *caller};
    w->count = 1;
    return os_each_thread(add_one, &f);
}

/* ---- stopping -------------------------------------------------------------------------------- */

/* Threads that were sent the signal and have not answered. */
static uint32_t unanswered(const struct stopped_world *w)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < w->count; i++)
        n += !is_answered(&w->thread[i]) && !w->thread[i].over && !w->thread[i].waits;
    return n;
}

/* How long to wait for the threads that have not answered. */
static uint64_t wait_limit_ns(struct stopped_world *w)
{
    uint64_t ns = 0;
    for (uint32_t i = 1; i < w->count; i++) {
        struct stopped_thread *t = &w->thread[i];
        if (is_answered(t) || t->over || t->waits)
            continue;
        enum os_thread_state state = os_thread_state(t->tid);
        t->over = state == OS_THREAD_OVER;
        bool blocks = os_thread_blocks(t->tid, LIBC_SIGNAL_SETXID);
        uint64_t its = t->over                   ? 0
                       : state == OS_THREAD_RUNS ? (blocks ? WAIT_LIMIT_NS : CERTAIN_NS)
                                                 : (blocks ? UNRESPONSIVE_NS : WAIT_LIMIT_NS);
        ns = its > ns ? its : ns;
    }
    return ns;
}

static void wait_for_answers(struct stopped_world *w)
{
    uint64_t since = os_clock_ns();
    uint32_t seen = atomic_load(&stop.answered);
    while (unanswered(w)) {
        os_wait(&stop.answered, seen, LOOK_NS, false);
        uint32_t now = atomic_load(&stop.answered);
        if (now != seen)
            since = os_clock_ns();
        else if (os_clock_ns() - since >= wait_limit_ns(w))
            break;
        seen = now;
    }
}

/* Count the threads that did not stop, and read their stack pointers. */
static void sum_not_stopped(struct stopped_world *w)
{
    struct os_waiting at;
    w->not_stopped = w->unresponsive = w->waiting = 0;
    for (uint32_t i = 1; i < w->count; i++) {
        struct stopped_thread *t = &w->thread[i];
        if (is_answered(t) || t->over)
            continue;
        if (!t->waits) {
            t->caller.value[DWARF_SP] = os_thread_waits(t->tid, &at) ? at.sp : 0;
            w->unresponsive += os_thread_blocks(t->tid, LIBC_SIGNAL_SETXID);
        }
        w->waiting += t->waits;
        w->not_stopped++;
    }
}

/* fork_wait and our other waits have a timeout, and retry themselves. */
static bool is_our_word(uintptr_t word)
{
    struct object own_code;
    return word && loader_find((uintptr_t)&world_stop, &own_code) && word >= own_code.start &&
           word < own_code.end;
}

/*
 * Does it sleep in a call that a signal would end?  Its CPU time is read first: if it is unchanged
 * later, the thread has not run since.
 */
static bool waits_in_call(struct stopped_thread *t, struct os_waiting *at)
{
    *at = (struct os_waiting){.in_call = true};
    os_thread_cpu_ns(t->tid, &t->cpu_ns);
    bool known = os_thread_waits(t->tid, at);
    if (!known && os_thread_state(t->tid) == OS_THREAD_WAITS)
        known = os_thread_waits(t->tid, at) || os_thread_state(t->tid) == OS_THREAD_WAITS;
    return known && at->in_call;
}

static void note_waiting(struct stopped_thread *t, const struct os_waiting *at)
{
    t->waits = true;
    t->caller.value[DWARF_SP] = at->sp;
    memcpy(t->argument, at->argument, sizeof t->argument);
}

static bool is_left_alone(struct stopped_thread *t)
{
    struct os_waiting at;
    t->waits = false;
    if (waits_in_call(t, &at) && !at.is_repeated && !is_our_word(at.futex))
        note_waiting(t, &at);
    return t->waits;
}

static void stop_one(struct stopped_thread *t, enum stop how)
{
    if (how == STOP_RUNNING && is_left_alone(t))
        return;
    t->over = os_signal_thread(t->tid, LIBC_SIGNAL_SETXID, t) == -ESRCH;
}

int world_stop(struct stopped_world *w, const struct caller *caller, enum stop how)
{
    *w = (struct stopped_world){0};
    int err = list_threads(w, caller);
    if (err || w->count == 1)
        return err;
    atomic_store(&stop.until, 0);
    atomic_store(&stop.ends, how == STOP_FOR_END);
    stop.first = w->thread;
    stop.end = w->thread + w->count;
    if (!stop.taken && (err = os_take_signal(LIBC_SIGNAL_SETXID, on_signal, SA_RESTART | SA_ONSTACK,
                                             0, &stop.before)))
        return err;
    stop.taken = true;
    for (uint32_t i = 1; i < w->count; i++)
        stop_one(&w->thread[i], how);
    wait_for_answers(w);
    sum_not_stopped(w);
    return 0;
}

bool world_stop_runnable(struct stopped_world *w)
{
    bool any = false;
    for (uint32_t i = 1; i < w->count; i++) {
        struct stopped_thread *t = &w->thread[i];
        uint64_t before = t->cpu_ns, now = before;
        if (!t->waits || (os_thread_cpu_ns(t->tid, &now) && now == before))
            continue;
        stop_one(t, STOP_RUNNING);
        any = true;
    }
    if (any) {
        wait_for_answers(w);
        sum_not_stopped(w);
    }
    return any;
}

int world_of_killed(struct stopped_world *w)
{
    uint32_t count = 1;
    for (struct thread *t = threads_first(); t; t = t->next)
        count += t->tid != 0;
    *w = (struct stopped_world){.bytes = align_up(count * sizeof *w->thread, PAGE_BYTES)};
    w->thread = os_map(w->bytes); /* [0] stays empty: there is no calling thread */
    if (os_failed(w->thread))
        return -ENOMEM;
    for (struct thread *t = threads_first(); t && w->count + 1 < count; t = t->next)
        if (t->tid && !t->is_fallback)
            w->thread[++w->count] = (struct stopped_thread){
                .tid = t->tid, .number = t->number, .control_block = t->record->control_block};
    w->not_stopped = w->count++;
    return 0;
}

/* Fill in the list: [0] stays empty, because there is no calling thread. */
int world_of_running(struct stopped_world *w)
{
    static const struct caller none;
    *w = (struct stopped_world){.is_copied = true};
    int err = list_threads(w, &none);
    if (err)
        return err;
    w->thread[0] = (struct stopped_thread){0};
    for (uint32_t i = 1; i < w->count; i++) {
        struct stopped_thread *t = &w->thread[i];
        t->over = os_thread_state(t->tid) == OS_THREAD_OVER;
        struct os_waiting at;
        if (!t->over && waits_in_call(t, &at))
            note_waiting(t, &at);
        w->waiting += t->waits;
        w->not_stopped += !t->over;
    }
    return 0;
}

bool world_has_run(const struct stopped_world *w)
{
    for (uint32_t i = 1; i < w->count; i++) {
        const struct stopped_thread *t = &w->thread[i];
        uint64_t now = t->cpu_ns;
        if (t->waits && (!os_thread_cpu_ns(t->tid, &now) || now != t->cpu_ns))
            return true;
    }
    return false;
}

void world_resume_after(uint64_t ns)
{
    atomic_store(&stop.until, os_clock_ns() + ns);
    os_wake(&stop.resume, false);
}

/*
 * Keep our handler while a signal may still be pending: SIGSETXID's default action would end the
 * process.
 */
void world_resume(struct stopped_world *w)
{
    bool all_answered = w->not_stopped == w->waiting; /* else a handler may still read the list */
    if (stop.taken && all_answered) {
        os_restore_action(LIBC_SIGNAL_SETXID, &stop.before);
        stop.taken = false;
    }
    stop.first = stop.end = NULL;
    atomic_fetch_add(&stop.resume, 1);
    os_wake(&stop.resume, false);
    if (w->thread && !os_failed(w->thread) && all_answered)
        os_unmap(w->thread, w->bytes);
}

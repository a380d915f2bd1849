/*
 * world.c - the other threads stand still while memory is looked at.
 *
 * Each is sent a signal, and waits in its handler until it may go on; all its registers are in the
 * signal's frame then, in memory like everything else that it holds.  The signal is one that libc
 * keeps for itself (it makes all threads change their user ids by it), so no program has a handler for
 * it and none of libc's functions keeps it out; one that libc has sent, by chance now, is handed on to
 * libc's handler.
 *
 * Who cannot be reached - blocked by a system call of the program's own, being born, or without a
 * processor for very long - is unheard: of those that wait in the kernel /proc tells the stack pointer.
 */
#include "leave_priv.h"

#include <errno.h>
#include <signal.h>

#define LOOK_NS 5000000ull
#define CERTAIN_NS 10000000000ull /* since a thread was last heard of, for one that needs but a processor */
#define PATIENCE_NS 500000000ull  /* or to come back from libc, which keeps all signals out at times */
#define DEAF_NS 20000000ull       /* or waits in the kernel, and keeps ours out */

static struct {
    _Atomic uint32_t go;    /* futex of those that wait: round is over when it is another */
    _Atomic uint32_t heard; /* futex of who waits for them */
    _Atomic uint64_t until; /* os_clock_ns(); 0: for ever */
    struct os_action before;
    bool taken; /* the signal is ours */
    const struct standing *first, *end;
} stop;

/* Until the round is over, or for as long as it may take. */
static void stand_still(uint32_t round)
{
    while (atomic_load(&stop.go) == round) {
        uint64_t until = atomic_load(&stop.until), now = until ? os_clock_ns() : 0;
        if (until && now >= until)
            return;
        os_wait(&stop.go, round, until - now, false);
    }
}

static void on_signal(int signal, void *information, void *context)
{
    const siginfo_t *info = information;
    struct standing *t = info->si_value.sival_ptr;
    os_handler before = os_handler_of(&stop.before);
    if (info->si_code != SI_QUEUE || t < stop.first || t >= stop.end) {
        if (before)
            before(signal, information, context);
        return;
    }
    uint32_t round = atomic_load(&stop.go);
    unwind_interrupted(context, &t->caller);
    t->control_block = (uintptr_t)__builtin_thread_pointer();
    atomic_store_explicit(&t->heard, 1, memory_order_release); /* pairs with is_heard */
    atomic_fetch_add(&stop.heard, 1);
    os_wake(&stop.heard, false);
    stand_still(round);
}

/* ---- who there is ---------------------------------------------------------------------------- */

static void count_one(uint32_t tid, void *about)
{
    (void)tid;
    ++*(uint32_t *)about;
}

struct filling {
    struct world *w;
    uint32_t room, own;
};

static void add_one(uint32_t tid, void *about)
{
    struct filling *f = about;
    if (tid == f->own || f->w->count == f->room)
        return;
    struct standing *t = &f->w->thread[f->w->count++];
    t->tid = tid;
    t->number = threads_number_of(tid);
    t->by_us = true;
}

/* A thread can begin between the two looks: there is room for some. */
static int list_threads(struct world *w, const struct caller *caller)
{
    struct filling f = {w, 16, os_tid()};
    int err = os_each_thread(count_one, &f.room);
    if (err)
        return err;
    w->bytes = align_up(f.room * sizeof *w->thread, PAGE_BYTES);
    w->thread = os_map(w->bytes);
    if (os_failed(w->thread))
        return -ENOMEM;
    w->thread[0] = (struct standing){.tid = f.own,
                                     .number = self ? self->number : 0,
                                     .heard = 1,
                                     .control_block = (uintptr_t)__builtin_thread_pointer(),
                                     .caller = *caller};
    w->count = 1;
    return os_each_thread(add_one, &f);
}

/* ---- stopping -------------------------------------------------------------------------------- */

static uint32_t unheard_of(const struct world *w)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < w->count; i++)
        n += !is_heard(&w->thread[i]) && !w->thread[i].over;
    return n;
}

/* How long it is worth it to wait for those that are unheard. */
static uint64_t patience(struct world *w)
{
    uint64_t ns = 0;
    for (uint32_t i = 1; i < w->count; i++) {
        struct standing *t = &w->thread[i];
        if (is_heard(t) || t->over)
            continue;
        enum os_thread_state state = os_thread_state(t->tid);
        t->over = state == OS_THREAD_OVER;
        bool blocks = os_thread_blocks(t->tid, OS_SIGNAL_SETXID);
        uint64_t its = t->over                   ? 0
                       : state == OS_THREAD_RUNS ? (blocks ? PATIENCE_NS : CERTAIN_NS)
                                                 : (blocks ? DEAF_NS : PATIENCE_NS);
        ns = its > ns ? its : ns;
    }
    return ns;
}

static void wait_for_all(struct world *w)
{
    uint64_t since = os_clock_ns();
    uint32_t seen = atomic_load(&stop.heard);
    while ((w->unheard = unheard_of(w))) {
        os_wait(&stop.heard, seen, LOOK_NS, false);
        uint32_t now = atomic_load(&stop.heard);
        if (now != seen)
            since = os_clock_ns();
        else if (os_clock_ns() - since >= patience(w))
            break;
        seen = now;
    }
    w->unheard = unheard_of(w);
}

/* What there is to be known of those that were not heard. */
static void ask_kernel(struct world *w)
{
    for (uint32_t i = 1; i < w->count && w->unheard; i++) {
        struct standing *t = &w->thread[i];
        if (is_heard(t) || t->over)
            continue;
        t->caller.value[CALLER_SP] = os_waiting_sp(t->tid);
        w->deaf += os_thread_blocks(t->tid, OS_SIGNAL_SETXID);
    }
}

/* Those that are over by now are no threads. */
static void signal_all(struct world *w)
{
    for (uint32_t i = 1; i < w->count;)
        if (os_signal_thread(w->thread[i].tid, OS_SIGNAL_SETXID, &w->thread[i]) == -ESRCH)
            w->thread[i] = w->thread[--w->count];
        else
            i++;
}

int world_stop(struct world *w, const struct caller *caller)
{
    *w = (struct world){0};
    int err = list_threads(w, caller);
    if (err || w->count == 1)
        return err;
    atomic_store(&stop.until, 0);
    stop.first = w->thread;
    stop.end = w->thread + w->count;
    if (!stop.taken &&
        (err = os_take_signal(OS_SIGNAL_SETXID, on_signal, SA_RESTART | SA_ONSTACK, &stop.before)))
        return err;
    stop.taken = true;
    signal_all(w);
    wait_for_all(w);
    ask_kernel(w);
    return 0;
}

int world_of_the_dead(struct world *w)
{
    uint32_t count = 1;
    for (struct thread *t = threads_first(); t; t = t->next)
        count += t->tid != 0;
    *w = (struct world){.bytes = align_up(count * sizeof *w->thread, PAGE_BYTES)};
    w->thread = os_map(w->bytes); /* the first is nobody */
    if (os_failed(w->thread))
        return -ENOMEM;
    for (struct thread *t = threads_first(); t && w->count + 1 < count; t = t->next)
        if (t->tid && !t->limbo)
            w->thread[++w->count] = (struct standing){
                .tid = t->tid, .number = t->number, .control_block = t->record->control_block};
    w->unheard = w->count++;
    return 0;
}

void world_go_on_in(uint64_t ns)
{
    atomic_store(&stop.until, os_clock_ns() + ns);
    os_wake(&stop.go, false);
}

/* A signal that is still on its way finds our handler, or libc's default for it would end us all. */
void world_go_on(struct world *w)
{
    if (stop.taken && !w->unheard) {
        os_restore_action(OS_SIGNAL_SETXID, &stop.before);
        stop.taken = false;
    }
    stop.first = stop.end = NULL;
    atomic_fetch_add(&stop.go, 1);
    os_wake(&stop.go, false);
    if (w->thread && !os_failed(w->thread) && !w->unheard) /* else one may look at it just now */
        os_unmap(w->thread, w->bytes);
}

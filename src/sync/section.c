/*
 * section.c - critical sections: slow paths of entry and exit, reentrancy, abandoned sections.
 *
 * A thread that finds its own section entered has one of two cases. A signal handler has
 * interrupted the section, and must not use state that it was changing. Or the section was
 * abandoned by siglongjmp. It was abandoned if the frame that holds its struct is gone: the present
 * frame lies above it on the same stack, or the struct has been overwritten.
 *
 * A callback that must not allocate runs outside of sections, and may enter them. Outside of them
 * its thread's crit is odd. So each entry takes the slow path here, and an allocation fails.
 */
#include "init.h"

static bool was_abandoned(const struct thread *t, const struct section *now)
{
    uintptr_t entered = atomic_load_explicit(&t->crit, memory_order_relaxed);
    /*
     * In the handler of a fault, on the helper stack: addresses of two stacks cannot be compared.
     */
    const volatile struct section *s = (const struct section *)entered;
    if (helper_is_here())
        return false;
    if ((uintptr_t)now >= entered) /* equal: the same function, called again */
        return !os_on_alternate_stack();
    return s->mark != SECTION_MARK || s->t != t;
}

/* intact: the abandoned frames can still be read. */
static void abandon(bool intact)
{
    mapped_abandon();
    locks_abandon();
    helper_abandon(intact);
}

static bool handler(struct section *s)
{
    s->kind = SECTION_HANDLER;
    return false;
}

static void enter(struct section *s, struct thread *t)
{
    s->mark = SECTION_MARK;
    s->t = t;
    s->kind = SECTION_NORMAL;
    atomic_store_explicit(&t->crit, (uintptr_t)s, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    s->write_epoch = atomic_load_explicit(&epoch_page->epoch, memory_order_acquire);
}

static struct thread *current_thread(void)
{
    if (self)
        return self;
    if (!(self_state & SELF_GONE)) {
        struct thread *t = thread_register();
        if (t)
            return t;
    }
    return threads_fallback_take();
}

COLD bool section_begin_slow(struct section *s)
{
    if (!init_start()) {
        s->kind = SECTION_BOOT;
        return false;
    }
    if (self_state & SELF_REGISTERING || (!self && self_state & SELF_IN_FALLBACK) ||
        fork_is_beginning())
        return handler(s);
    if (self && thread_is_inside(self)) {
        if (!was_abandoned(self, s))
            return handler(s);
        abandon(false);
        atomic_store_explicit(&self->crit, 0, memory_order_relaxed);
    }
    if (fork_is_child())
        fork_begin_child();
    struct thread *t = current_thread();
    /*
     * Forks may follow each other closely, so the state is checked again after each wait. A thread
     * enters before it tears a snapshot: the fork finds either the thread inside, or its snapshot
     * torn.
     */
    bool patient = true;
    for (enter(s, t); !s->write_epoch; enter(s, t)) {
        if (handshake_is_answered(t) || (!patient && fork_enter_anyway())) {
            s->write_epoch = fork_epoch();
            break;
        }
        atomic_store_explicit(&t->crit, 0, memory_order_release);
        patient = handshake_answer(t) || fork_wait();
    }
    return true;
}

COLD bool section_begin_to_allocate_slow(struct section *s, const struct entry *at)
/* The loader would end the program if it got no memory. */
{
    if (!notify_in_callback() || loader_called(at))
        return section_begin_slow(s);
    s->kind = SECTION_CALLBACK;
    return false;
}

/* Perform frees that a handler has deferred. A handler may add more meanwhile. */
static void do_deferred(struct thread *t)
{
    struct deferred *d = &t->deferred;
    uint32_t n;
    while ((n = atomic_load_explicit(&d->count, memory_order_acquire)) > 0) {
        void *block = d->block[n - 1];
        uint32_t stack = d->stack[n - 1], op = d->op[n - 1];
        if (atomic_compare_exchange_strong(&d->count, &n, n - 1))
            track_free_deferred(block, stack, op);
    }
}

COLD void section_end_slow(struct section *s)
{
    struct thread *t = s->t;
    bool error = t->after & AFTER_ERROR, signal = t->after & AFTER_SIGNAL;
    bool notice = t->after & AFTER_NOTICE;
    struct notify_pending pending = notify_take_pending(t);
    t->after &= (uint8_t) ~(AFTER_ERROR | AFTER_SIGNAL | AFTER_NOTICE | AFTER_NOTIFY);
    if (t->after & AFTER_CALLBACK)
        atomic_store_explicit(&t->crit, t->callback, memory_order_relaxed);
    if (t->is_fallback)
        threads_fallback_drop();
    else
        do_deferred(t);
    if (notice)
        notice_deliver();
    if (pending.events)
        notify_deliver(&pending);
    if (error)
        errors_act(t->new_error);
    if (signal)
        fatal_deliver_postponed();
}

void section_nonlocal_exit(const struct jump *j)
{
    uintptr_t entered = atomic_load_explicit(&self->crit, memory_order_relaxed);
    if (!crit_is_inside(entered) || !jump_discards(j, entered))
        return;
    abandon(!jump_ends(j));
    atomic_store_explicit(&self->crit, self->callback, memory_order_release);
}

/*
 * call.c - entry and exit of every call from the program.
 *
 * One lock protects the room.  It is held with signals blocked, so a handler may call a function
 * that it has interrupted.  The error handler runs after the lock is released.
 *
 * The lock is also held across a fork.  It lies in a page that the kernel clears at a fork
 * (MADV_WIPEONFORK).  So it is free in a child that no atfork handler has seen.  The word `is_unforked`
 * beside it is then 0: all bindings are the parent's.
 */
#include "counters_priv.h"

#include <errno.h>

struct gate {
    _Atomic uint32_t lock;
    _Atomic uint32_t is_unforked; /* 0: the page was cleared */
};

static struct gate wiped_by_hand; /* used if the kernel cannot clear it */
static _Atomic(void *) gate;      /* NULL: no handle was opened yet */

static __thread uint64_t number;

uint64_t thread_number(void)
{
    static _Atomic uint64_t numbers;
    if (!number)
        number = atomic_fetch_add(&numbers, 1) + 1;
    return number;
}

void room_lock(struct os_signals *s)
{
    struct gate *g = os_wiped_page(&gate, &wiped_by_hand);
    os_block_signals(s);
    os_lock(&g->lock);
    if (unlikely(!atomic_exchange(&g->is_unforked, 1)))
        counters_forked(false); /* after an unseen fork; at the first call nothing is bound */
}

void room_unlock(const struct os_signals *s)
{
    struct gate *g = atomic_load(&gate);
    os_unlock(&g->lock);
    os_restore_signals(s);
}

/* ---- forks ----------------------------------------------------------------------------------- */

static struct {
    bool locked; /* the lock is held for the fork */
    struct os_signals signals;
} forking; /* protected by the lock */

static void before_fork(void)
{
    struct os_signals s;
    if (!atomic_load(&gate))
        return;
    room_lock(&s);
    forking.signals = s;
    forking.locked = true;
}

static void after_fork_in_parent(void)
{
    struct os_signals s = forking.signals;
    if (!forking.locked)
        return;
    forking.locked = false;
    room_unlock(&s);
}

static void after_fork_in_child(void)
{
    if (!forking.locked)
        return;
    struct gate *g = atomic_load(&gate);
    atomic_store(&g->is_unforked, 1);
    counters_forked(true); /* this is the only thread */
    after_fork_in_parent();
}

/* ---- the end of a thread --------------------------------------------------------------------- */

static bool has_exit_hook; /* core calls thread_ends for each thread that it has registered */

void thread_add_exit_hook(void)
{
    struct section s;
    if (has_exit_hook && !self && section_begin(&s))
        section_end(&s);
}

static void thread_ends(void)
{
    struct os_signals s;
    if (!number || !atomic_load(&gate))
        return;
    room_lock(&s);
    counters_thread_ends();
    room_unlock(&s);
}

void counters_constructed(void)
{
    thread_on_exit(thread_ends);
    has_exit_hook = true;
    NEXT(register_atfork)(before_fork, after_fork_in_parent, after_fork_in_child, NULL);
}

/* ---- calls ----------------------------------------------------------------------------------- */

bool call_begin(struct call *c, const char *function, rtc_cpc_t *cpc)
{
    c->function = function;
    c->cpc = cpc;
    c->subcode = c->lacks = 0;
    if (!is_handle(cpc)) {
        errno = EINVAL;
        return false;
    }
    room_lock(&c->signals);
    return true;
}

struct text *call_because(struct call *c, int subcode, const char *subject)
{
    c->subcode = subcode;
    c->subject = subject;
    c->message = text_begin(c->because, sizeof c->because);
    return &c->message;
}

static void write_line(const char *function, const char *subject, const char *because)
{
    char line[400];
    struct text t = text_begin(line, sizeof line - 1);
    text_put(&t, "rtcheck: ");
    text_put(&t, function);
    text_put(&t, ": ");
    text_put(&t, subject);
    text_put(&t, *subject ? ": " : "");
    text_put(&t, because);
    char *end = text_end(&t);
    *end++ = '\n';
    os_write(2, line, (size_t)(end - line));
}

static void report_error(const struct call *c, rtc_cpc_errhndlr_t *handler, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    handler(c->cpc, c->function, c->subcode, format, ap);
    va_end(ap);
}

int call_end(struct call *c, int result)
{
    rtc_cpc_errhndlr_t *handler = c->cpc->handler;
    room_unlock(&c->signals);
    if (result >= 0)
        return result;
    if (c->subcode) {
        text_end(&c->message);
        errno = -result;
        if (!handler)
            write_line(c->function, c->subject, c->because);
        else if (*c->subject)
            report_error(c, handler, "%s: %s", c->subject, c->because);
        else
            report_error(c, handler, "%s", c->because);
    }
    errno = -result;
    return -1;
}

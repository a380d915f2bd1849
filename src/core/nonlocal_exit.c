/*
 * nonlocal_exit.c - what a longjmp leaves.
 *
 * A signal handler that interrupted us may leave what it interrupted by siglongjmp, and it may have
 * interrupted a callback: then ends are missing of a section, of callbacks, of visits to tables, of
 * a call that changes what is mapped.  Each is known by where on the stack it began.  What lies
 * below the place that is jumped to is over:
 *
 *      target                   the same, when both are on the alternate stack; else what lies on that
 *        |  visit     over      is over whatever its address, and nothing else is when the jump stays there
 *        |  section   over
 *      handler, which jumps
 *
 * All is over of a thread that ends: though they may not, callbacks do that, too.
 *
 * It is not over when it is on a stack of its own: threads of the program's own making switch
 * between theirs by longjmp, too, and come back.  So no hole, and no page without rights, may be in
 * between.
 */
#include "core.h"

#include <sys/mman.h>

struct range {
    uintptr_t low, high;
    bool writable;
};

/* In a sandbox it cannot be read what is mapped: then it is taken for writable. */
static void look_at_range(void *about)
{
    struct range *r = about;
    struct mappings all;
    struct mapping m;
    uintptr_t at = r->low;
    r->writable = true;
    if (os_mappings_open(&all))
        return;
    while (at < r->high && os_mappings_next(&all, &m) && m.start <= at)
        if (m.end > at && m.protection & PROT_WRITE)
            at = m.end;
    os_mappings_close(&all);
    r->writable = at >= r->high;
}

/* A handler that jumps may have little stack: /proc/self/maps is read on the helper stack. */
static bool is_one_stack(uintptr_t low, uintptr_t high)
{
    struct range r = {.low = low, .high = high};
    helper_call(look_at_range, &r);
    return r.writable;
}

static bool is_alternate(const struct jump *j, uintptr_t at)
{
    return at >= j->alternate && at < j->alternate_end;
}

bool jump_discards(const struct jump *j, uintptr_t frame)
{
    bool on_alternate = is_alternate(j, j->target);
    if (jump_ends(j))
        return true;
    if (is_alternate(j, frame))
        return !on_alternate || frame < j->target;
    return !on_alternate && frame < j->target && is_one_stack(frame, j->target);
}

_Atomic uint32_t nonlocal_exit_watchers;

static void (*exit_hook)(const struct jump *j);

void nonlocal_exit_start(void (*hook)(const struct jump *j))
{
    exit_hook = hook;
}

void nonlocal_exit(uintptr_t target)
{
    struct jump j = {.target = target};
    struct thread *t = self;
    bool ours = t && (atomic_load_explicit(&t->crit, memory_order_relaxed) |
                      atomic_load_explicit(&t->maps_inside, memory_order_relaxed) |
                      atomic_load_explicit(&t->read_epoch, memory_order_relaxed));
    if (likely(!ours && !srcu_innermost &&
               !atomic_load_explicit(&nonlocal_exit_watchers, memory_order_relaxed)))
        return;
    os_alternate_stack(&j.alternate, &j.alternate_end);
    if (t) {
        section_nonlocal_exit(&j);
        callback_nonlocal_exit(&j);
        mapped_nonlocal_exit(&j);
    }
    srcu_nonlocal_exit(&j);
    if (exit_hook)
        exit_hook(&j);
}

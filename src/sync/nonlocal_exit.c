/*
 * nonlocal_exit.c - cleanup after a non-local exit: longjmp, siglongjmp, or the end of a thread.
 *
 * A signal handler may leave the code that it interrupted by siglongjmp: code of the runtime, or a
 * callback. Then the ends of a section, of callbacks, of SRCU read sections and of mapping calls
 * are missing. Each is identified by the stack address where it began. All that lies below the
 * target of the jump is discarded:
 *
 *   target                    If both target and frame are on the alternate signal stack, the same
 *     |  reader    discarded  rule applies. A jump away from that stack discards all frames on it.
 *     |  section   discarded  A jump within it discards no frame outside.
 *   handler, which jumps
 *
 * The end of a thread discards everything: callbacks may end their thread, although that is
 * forbidden.
 *
 * A frame on another stack is not discarded: coroutines switch stacks by longjmp too, and come
 * back. So a frame counts as discarded only if there is no hole and no guard page up to the target.
 */
#include "init.h"

#include <sys/mman.h>

struct range {
    uintptr_t low, high;
    bool writable;
};

/* In a sandbox the list of mappings cannot be read: then assume that the range is writable. */
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

/* The helper stack is used to read /proc/self/maps: a handler that jumps may have little stack. */
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
    bool inside = t && (atomic_load_explicit(&t->crit, memory_order_relaxed) |
                        atomic_load_explicit(&t->maps_inside, memory_order_relaxed) |
                        atomic_load_explicit(&t->read_epoch, memory_order_relaxed));
    if (likely(!inside && !srcu_innermost &&
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

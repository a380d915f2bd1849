/*
 * stack_oracle.c - only in builds for the oracle's tests (RTC_ORACLE): each recorded stack is given
 * to tests/oracle, after its operation and outside of the runtime.
 */
#ifdef RTC_ORACLE
#include "init.h"
#include "oracle.h"

#include <sys/single_threaded.h>

static __thread struct {
    const struct entry *at;
    uint32_t id, count, end;
    bool kept;
    bool busy; /* the oracle's own allocations are not compared */
    struct oracle_frame frame[CACHED_FRAMES];
} last;

static bool note(const struct entry *at, uint32_t id, uint32_t end, bool kept)
{
    if (last.busy)
        return false;
    last.at = at;
    last.id = id;
    last.end = end;
    last.kept = kept;
    last.count = 0;
    return true;
}

static void note_frame(uint64_t word, uintptr_t sp)
{
    last.frame[last.count++] = (struct oracle_frame){depot_address(word), sp};
}

uint32_t stack_note_cached(const struct cached_stack *t, const struct entry *at, uint32_t id)
{
    if (note(at, id, t->end, true))
        for (uint32_t i = t->count; i > 0; i--)
            note_frame(t->more[i].word, t->frame[i].sp);
    return id;
}

uint32_t stack_note_walk(const struct walk *w, const struct entry *at, uint32_t id)
{
    if (note(at, id, w->end, false))
        for (uint32_t i = 0; i < w->count; i++)
            note_frame(w->word[i], w->sp[i]);
    return id;
}

static void compare(const struct oracle_frame *frame, uint32_t count, uint32_t end, bool kept,
                    uint32_t id)
{
    static const enum oracle_end ends[] = {ORACLE_OUTERMOST, ORACLE_CUT_DEPTH, ORACLE_NO_INFO,
                                           ORACLE_LEFT_STACK, ORACLE_OTHER};
    uint64_t word[RTC_STACK_FRAMES];
    uint32_t n = depot_get(id, word, RTC_STACK_FRAMES);
    for (uint32_t i = 0; i < n; i++)
        word[i] = depot_address(word[i]);
    oracle_check(frame, count, ends[end], kept, word, n);
}

void stack_compare(void)
{
    if (!last.at || last.busy)
        return;
    last.busy = true;
    atomic_signal_fence(memory_order_seq_cst); /* until here a handler may have replaced it */
    if (last.at)
        compare(last.frame, last.count, last.end, last.kept, last.id);
    last.at = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    last.busy = false;
}

/*
 * A stack of a handler that interrupted us is compared at once, since it may have interrupted the
 * use of `last`. We may hold locks, so libunwind must not wait: compare only if there are no other
 * threads.
 */
uint32_t stack_compare_walk(const struct walk *w, uint32_t id)
{
    struct oracle_frame frame[RTC_STACK_FRAMES];
    if (last.busy || !__libc_single_threaded || !id)
        return id; /* 0: no room without growth */
    for (uint32_t i = 0; i < w->count; i++)
        frame[i] = (struct oracle_frame){depot_address(w->word[i]), w->sp[i]};
    last.busy = true;
    compare(frame, w->count, w->end, false, id);
    last.busy = false;
    return id;
}
#endif

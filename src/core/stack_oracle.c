/*
 * stack_oracle.c - builds for the oracle's tests (RTC_ORACLE) only: each stack that was taken is
 * handed to tests/oracle, when its operation is over and the thread outside of us again.
 */
#ifdef RTC_ORACLE
#include "core.h"
#include "oracle.h"

static __thread struct {
    const struct entry *at;
    uint32_t id, count, end;
    bool kept;
    bool busy; /* what the oracle itself allocates is not compared */
    struct oracle_frame frame[TRACE_FRAMES];
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

uint32_t stack_note_trace(const struct trace *t, const struct entry *at, uint32_t id)
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

void stack_compare(void)
{
    static const enum oracle_end ends[] = {ORACLE_OUTERMOST, ORACLE_CUT_DEPTH, ORACLE_NO_INFO,
                                           ORACLE_LEFT_STACK, ORACLE_OTHER};
    uint64_t word[RTC_STACK_FRAMES];
    if (!last.at || last.busy)
        return;
    last.busy = true;
    uint32_t n = depot_get(last.id, word, RTC_STACK_FRAMES);
    for (uint32_t i = 0; i < n; i++)
        word[i] = depot_address(word[i]);
    last.at = NULL;
    oracle_check(last.frame, last.count, ends[last.end], last.kept, word, n);
    last.busy = false;
}
#endif

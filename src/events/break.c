/*
 * break.c - brk and sbrk: the range between the old and the new break is mapped or unmapped.
 */
#include "change.h"

/* The pages between two values of the break. */
static struct range between(uintptr_t low, uintptr_t high)
{
    if (low >= high)
        return NO_RANGE;
    return (struct range){align_up(low, PAGE_BYTES), align_up(high, PAGE_BYTES)};
}

/* libc's value; a raw system call may have moved the break without libc. */
static uintptr_t libcs_break(void)
{
    return (uintptr_t)next_sbrk(0);
}

static uintptr_t current_break(void)
{
    return dispatch_is_on ? raw_break() : libcs_break();
}

/*
 * Move the break from `before`, to `after` if the call succeeds.  libc's brk returns success when
 * the kernel refused an address below the break, so the break is read after the call.
 */
static void move_break(struct origin o, uint32_t type, union rtc_event *e, uintptr_t before,
                       uintptr_t after)
{
    struct change c;
    struct range gone =
        after < before && after >= os_break_start() ? between(after, before) : NO_RANGE;
    change_begin(&c, o);
    c.map.by = ENTRY_NONE;
    change_going(&c, gone);
    mapped_begin(&c.map);
    change_call(&c, type, e);
    uintptr_t now = current_break();
    if (gone.start < gone.end) {
        change_unchanged(&c, between(after, now));
        if (now < before)
            mapped_unmapped(&c.map, true);
    } else {
        struct range come = between(before, now);
        struct map_region r = {
            .start = come.start, .end = come.end, .protection = PROT_READ | PROT_WRITE};
        mapped_new(&c.map, &r);
        change_mapped(&c, come);
    }
    change_end(&c);
}

/* The call was a query, but a handler has changed it and moved the break. */
static void moved_unasked(struct change *c, uintptr_t before, uintptr_t now)
{
    struct range come = between(before, now), gone = between(now, before);
    mapped_begin(&c->map);
    mapped_query_kernel(&c->map, come.start, come.end);
    mapped_query_kernel(&c->map, gone.start, gone.end);
    change_mapped(c, come);
}

/* sbrk(0), the most frequent call, which changes nothing. */
static void *look_at_break(struct origin o)
{
    struct change c;
    union rtc_event e = {.sbrk = {INVALID_POINTER, 0}};
    change_begin(&c, o);
    change_call(&c, RTC_EVENT_SBRK, &e);
    if (unlikely(e.sbrk.increment))
        moved_unasked(&c, (uintptr_t)e.sbrk.result, current_break());
    change_end(&c);
    return e.sbrk.result;
}

void *change_break_by(struct origin o, intptr_t increment)
{
    if (!increment)
        return look_at_break(o);
    union rtc_event e = {.sbrk = {INVALID_POINTER, increment}};
    uintptr_t now = current_break(), from = libcs_break(), after = from + (uintptr_t)increment;
    bool wraps = increment > 0 ? after < from : after > from; /* refused by libc */
    move_break(o, RTC_EVENT_SBRK, &e, now, wraps ? now : after);
    return e.sbrk.result;
}

int change_break(struct origin o, void *addr)
{
    union rtc_event e = {.brk = {-1, addr}};
    uintptr_t now = current_break();
    move_break(o, RTC_EVENT_BRK, &e, now, addr ? (uintptr_t)addr : now);
    return e.brk.result;
}

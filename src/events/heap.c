/*
 * heap.c - events of malloc's heap: memory that it releases to the system, and memory that it grows
 * by.  No call of the program corresponds to these events, and /proc/self/maps may not change.
 * sync/notice.c defines when they occur.
 */
#include "events_priv.h"

#include <sys/mman.h>

static void releasing(void *at, size_t bytes)
{
    visit_with_range(RTC_EVENT_VM_UNMAPPED, (struct range){(uintptr_t)at, (uintptr_t)at + bytes});
}

static void became_usable(void *at, size_t bytes)
{
    visit_with_range(RTC_EVENT_VM_MAPPED, (struct range){(uintptr_t)at, (uintptr_t)at + bytes});
}

/* Not a call of the program: events=all must not report it. */
static int discard(int (*by)(void *, size_t, int), void *at, size_t bytes)
{
    return MAKING(RTC_EVENT_MADVISE, at, bytes, by(at, bytes, MADV_DONTNEED));
}

void heap_constructed(void)
{
    static const struct notice_callbacks to = {releasing, became_usable, discard};
    notice_start(&to);
}

/*
 * heap.c - the heap that malloc is served from, as far as it is seen from outside: what it gives back
 * to the system, and what it grows by.  No call of the program is behind these events, and the kernel's
 * list of mappings may not change by them; core/notice.c says when they come.
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

/* No call of the program's: who looks at system calls is to tell nothing. */
static int discard(int (*by)(void *, size_t, int), void *at, size_t bytes)
{
    return MAKING(RTC_EVENT_MADVISE, at, bytes, by(at, bytes, MADV_DONTNEED));
}

void heap_constructed(void)
{
    static const struct notice_callbacks to = {releasing, became_usable, discard};
    notice_start(&to);
}

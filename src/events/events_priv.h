/*
 * events_priv.h - internal declarations of events.
 *
 *   handlers.c   registration of handlers, and their notification (visit.h)
 *   change.c     the native event of each call and the ranges it maps and unmaps; also
 *                remap.c, shm.c, break.c, stays.c (pieces.c: parts still mapped after a failure;
 *                original.c: the calls themselves)
 *   calls.c      the interposed functions
 *   quick.c      mmap and munmap, the most frequent ones
 *   advice.c     calls that keep mappings but may discard pages
 *   heap.c       events of malloc's heap
 *   existing.c   events for mappings that already exist
 *   selftest.c   tests whether the program's calls are intercepted
 *   references.c the targets of the program's calls
 */
#ifndef EVENTS_PRIV_H
#define EVENTS_PRIV_H

#include <sys/mman.h>

#include "dispatch.h"
#include "origin.h"

#define EVENTS_NATIVE 0xfffu
#define EVENTS_UNMAPPING                                                                        \
    (RTC_EVENT_MMAP | RTC_EVENT_MUNMAP | RTC_EVENT_MREMAP | RTC_EVENT_SHMAT | RTC_EVENT_SHMDT | \
     RTC_EVENT_SBRK | RTC_EVENT_MADVISE | RTC_EVENT_BRK | RTC_EVENT_REMAP_FILE_PAGES)
#define EVENTS_MAPPING                                                                      \
    (RTC_EVENT_MMAP | RTC_EVENT_MREMAP | RTC_EVENT_SHMAT | RTC_EVENT_SBRK | RTC_EVENT_BRK | \
     RTC_EVENT_REMAP_FILE_PAGES)
#define EVENTS_AGGREGATE (RTC_EVENT_VM_MAPPED | RTC_EVENT_VM_UNMAPPED | RTC_EVENT_VM_CANCELLED)
#define EVENTS_MEM_TYPE (RTC_EVENT_MEM_TYPE_ALLOC | RTC_EVENT_MEM_TYPE_FREE)
#define EVENTS_ALL (EVENTS_NATIVE | EVENTS_AGGREGATE | EVENTS_MEM_TYPE)
#define EVENTS_FLAGS (RTC_EVENT_FLAG_NO_INSTALL | RTC_EVENT_FLAG_EXISTING_ALLOC)

static_assert(EVENTS_NATIVE < WANTED_ITSELF(1) && WANTED_ITSELF(EVENTS_NATIVE) < ARMED_ALL,
              "all in one word");

/* ---- handlers.c ------------------------------------------------------------------------------ */

/* The subset of `events` intercepted by the runtime; the subset reported by the program itself. */
uint32_t handlers_installed(uint32_t events);
uint32_t handlers_external(uint32_t events);

/* ---- calls.c, quick.c ------------------------------------------------------------------------ */

/* For interposed functions: records their caller. */
#define ORIGIN(event) ((struct origin){CALLER, is_armed(RTC_EVENT_##event), false, false})
#define ORIGIN_REPORTED ((struct origin){CALLER, true, false, false})
#define ORIGIN_SILENT ((struct origin){CALLER, false, false, false})
#define MAP_EVENT(address, size, prot, flags, fd, offset)              \
    &(union rtc_event)                                                 \
    {                                                                  \
        .mmap = { MAP_FAILED, address, size, prot, flags, fd, offset } \
    }
/* An alias of an interposed function that libc declares nothrow and leaf. */
#define SAME(name) __attribute__((alias(#name), nothrow, leaf))

/* Call the next sbrk.  A library interposed between us and libc may call back through __sbrk. */
ALWAYS_INLINE void *next_sbrk(intptr_t increment)
{
    return MAKING(RTC_EVENT_SBRK, NULL, 0, NEXT(sbrk)(increment));
}

/* ---- attachments.c --------------------------------------------------------------------------- */

/* Remember an attached shared memory segment. */
void attachment_note(uintptr_t at, uint64_t bytes, int segment);
/* The range from the first to the last piece that shmdt(at) would unmap; empty: none known. */
struct range attachment_of(uintptr_t at);

/* ---- heap.c ---------------------------------------------------------------------------------- */

void heap_constructed(void);

/* ---- references.c ---------------------------------------------------------------------------- */

/* NULL: no such function. */
void *reference_to(const char *name);

/* ---- existing.c ------------------------------------------------------------------------------ */

/*
 * The next piece of r that does not belong to the runtime.  *at (initially 0) is the position in r.
 * false: no more pieces.
 */
bool existing_program_range(struct range r, uintptr_t *at, struct range *piece);

/* Notify this handler of existing mappings and announced memory. */
void existing_notify(struct visit *v, const struct handler *h);

#endif

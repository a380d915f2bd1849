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
 *   dispatch*.c  events=all: every system call
 */
#ifndef EVENTS_PRIV_H
#define EVENTS_PRIV_H

#include <sys/mman.h>
#include <sys/uio.h>

#include "visit.h"

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

#define NO_RANGE ((struct range){0, 0})

/* [start, start + size), with the end rounded up to `unit`; empty if no call can succeed for it. */
static inline struct range range_in(uintptr_t start, size_t size, uint64_t unit)
{
    uint64_t end;
    if (start % PAGE_BYTES || !size || !checked_add(start, size, &end) ||
        !checked_add(end, unit - 1, &end))
        return NO_RANGE;
    return (struct range){start, align_down(end, unit)};
}

static inline struct range range_of(const void *start, size_t size)
{
    return range_in((uintptr_t)start, size, PAGE_BYTES);
}

/* The region that mmap has created; the file is not identified yet. */
static inline struct map_region region_of_call(struct range r, int prot, int flags, off_t offset)
{
    bool shared = (flags & MAP_TYPE) != MAP_PRIVATE, anonymous = flags & MAP_ANONYMOUS;
    return (struct map_region){
        .start = r.start,
        .end = r.end,
        .offset = anonymous ? 0 : (uint64_t)offset,
        .device = anonymous && !shared ? 0 : MAP_FILE_UNKNOWN,
        .protection = (uint8_t)(prot & (PROT_READ | PROT_WRITE | PROT_EXEC)),
        .shared = shared,
    };
}

/* ---- handlers.c ------------------------------------------------------------------------------ */

/* The subset of `events` intercepted by the runtime; the subset reported by the program itself. */
uint32_t handlers_installed(uint32_t events);
uint32_t handlers_external(uint32_t events);
/* Set dispatch_is_on. */
void handlers_dispatch(bool on);

/* ---- change.c -------------------------------------------------------------------------------- */

/* The origin of a call: its call site, and whether handlers are notified. */
struct origin {
    const struct entry *at;
    bool is_reported;
    bool raw;   /* a raw system call, passed on as one */
    bool libcs; /* made by libc or the loader for itself */
};

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

/* `e` is filled in by the caller, with an invalid result. */
void *change_map(struct origin o, union rtc_event *e);
int change_unmap(struct origin o, void *address, size_t size);
/* Continue an unmap after the map was searched and handlers were notified; ends `taken`. */
int change_unmap_taken(const struct mapped_call *taken, bool is_reported, void *address,
                       size_t size);
void *change_remap(struct origin o, union rtc_event *e);
void *change_attach(struct origin o, int shmid, const void *shmaddr, int shmflg);
int change_detach(struct origin o, const void *shmaddr);
void *change_break_by(struct origin o, intptr_t increment);
int change_break(struct origin o, void *addr);
int change_file_pages(struct origin o, union rtc_event *e);
int change_rights(struct origin o, union rtc_event *e);
/* Does not change mappings. */
int change_nothing(struct origin o, uint32_t type, union rtc_event *e);
int change_nothing_or_be_cancelled(uint32_t type, union rtc_event *e); /* a cancellation point */

/* ---- advice.c -------------------------------------------------------------------------------- */

/* Arguments of process_madvise. */
struct advice {
    int pidfd;
    const struct iovec *range;
    size_t count;
    int what;
    unsigned flags;
};

bool change_discards(int advice);
int change_advice(struct origin o, void *addr, size_t length, int advice);
/* Are all ranges readable, and is this process the target? */
bool advice_is_to_oneself(const struct advice *a);
bool advice_range(const struct advice *a, size_t n, struct iovec *range); /* false: no such range */
ssize_t change_advice_to_oneself(struct origin o, const struct advice *a);

/* ---- dispatch_feed.c ------------------------------------------------------------------------- */

extern HIDDEN bool dispatch_is_on;

/*
 * Set while an interposed function calls the next definition: system calls made there are already
 * reported.
 */
struct making {
    uint32_t type;
    /* A hash of its range, if the system call has one, too: thread-local storage is scarce. */
    uint32_t range;
    uintptr_t sp;
};

extern HIDDEN __thread struct making making;

ALWAYS_INLINE uint32_t making_range(uintptr_t address, uintptr_t size)
{
    return (uint32_t)(((address >> 12) + size * 3) * 0x9e3779b97f4a7c15ull >> 32);
}

ALWAYS_INLINE struct making making_begin(uint32_t type, uintptr_t address, uintptr_t size)
{
    struct making outer = making;
    making =
        (struct making){type, making_range(address, size), (uintptr_t)__builtin_frame_address(0)};
    return outer;
}

void making_nonlocal_exit(const struct jump *j);

#define MAKING(event, address, size, call)                                                  \
    __extension__({                                                                         \
        struct making outer = making_begin(event, (uintptr_t)(address), (uintptr_t)(size)); \
        __typeof__(call) result = (call);                                                   \
        making = outer;                                                                     \
        result;                                                                             \
    })

/* Call the next sbrk.  A library interposed between us and libc may call back through __sbrk. */
ALWAYS_INLINE void *next_sbrk(intptr_t increment)
{
    return MAKING(RTC_EVENT_SBRK, NULL, 0, NEXT(sbrk)(increment));
}

/* Make the system call without libc.  Returns -1, or the result as a long. */
long raw_call(uint32_t type, const union rtc_event *e);
uintptr_t raw_break(void);

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
bool existing_theirs(struct range r, uintptr_t *at, struct range *piece);

/* Notify this handler of existing mappings and announced memory. */
void existing_notify(struct visit *v, const struct handler *h);

#endif

/*
 * events_priv.h - what the files of events share.
 *
 *   handlers.c   who is told: registration, and the visit that an event pays them
 *   change.c     what each call means: its native event, and the ranges that it takes and gives
 *   calls.c      the functions that we stand in front of
 *   quick.c      the two of them that are called most
 *   heap.c       the heap that malloc is served from
 *   existing.c   what exists already
 *   selftest.c   do the calls of this program reach us?
 *   dispatch*.c  events=all: every system call
 */
#ifndef EVENTS_PRIV_H
#define EVENTS_PRIV_H

#include <sys/mman.h>

#include "events.h"

#define RTC_API EXPORT
#include "rtcheck/event.h"

#define EVENTS_NATIVE 0xfffu
#define EVENTS_UNMAPPING                                                                     \
    (RTC_EVENT_MMAP | RTC_EVENT_MUNMAP | RTC_EVENT_MREMAP | RTC_EVENT_SHMAT |                \
     RTC_EVENT_SHMDT | RTC_EVENT_SBRK | RTC_EVENT_MADVISE | RTC_EVENT_BRK |                  \
     RTC_EVENT_REMAP_FILE_PAGES)
#define EVENTS_MAPPING                                                                       \
    (RTC_EVENT_MMAP | RTC_EVENT_MREMAP | RTC_EVENT_SHMAT | RTC_EVENT_SBRK | RTC_EVENT_BRK |  \
     RTC_EVENT_REMAP_FILE_PAGES)
#define EVENTS_AGGREGATE                                                                     \
    (RTC_EVENT_VM_MAPPED | RTC_EVENT_VM_UNMAPPED | RTC_EVENT_VM_CANCELLED)
#define EVENTS_MEM_TYPE (RTC_EVENT_MEM_TYPE_ALLOC | RTC_EVENT_MEM_TYPE_FREE)
#define EVENTS_ALL (EVENTS_NATIVE | EVENTS_AGGREGATE | EVENTS_MEM_TYPE)
#define EVENTS_FLAGS (RTC_EVENT_FLAG_NO_INSTALL | RTC_EVENT_FLAG_EXISTING_ALLOC)

struct range {
    uintptr_t start, end; /* whole pages; equal: none */
};

#define NO_RANGE ((struct range){0, 0})

/* [start, start + size), the end rounded up to `unit`; none where no call can mean it. */
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

/* What mmap has made there; of a file nobody has looked at. */
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

/* ---- handlers.c ------------------------------------------------------------------------------- */

struct handler {
    uint32_t events;
    int priority;
    rtc_event_callback callback;
    void *arg;
};

/*
 * One event, or the few that one call makes, on its way through the handlers that there are when it
 * begins.  On the caller's stack; begin and end in the same function.
 */
struct visit {
    struct visit *outer; /* the one whose callback made this call */
    const struct handler *to;
    uint32_t count;
    uint32_t before, wanted; /* so many of them have a priority below 0; events, by any */
    const struct handler *running; /* now; NULL: none */
    struct turn turn;
};

void visit_begin(struct visit *v);
void visit_end(struct visit *v);
/* From the first-th handler to before the end-th, those that want it and do not run. */
void visit_tell_some(struct visit *v, uint32_t first, uint32_t end, uint32_t type, union rtc_event *e);
/* A range that is VM_MAPPED or the like, to all of these. */
void visit_tell_range(struct visit *v, uint32_t type, struct range r);

/* A native event to its handlers: those that come before the call is made, and the others. */
ALWAYS_INLINE void visit_before(struct visit *v, uint32_t type, union rtc_event *e)
{
    if (v->wanted & type)
        visit_tell_some(v, 0, v->before, type, e);
}

ALWAYS_INLINE void visit_behind(struct visit *v, uint32_t type, union rtc_event *e)
{
    if (v->wanted & type)
        visit_tell_some(v, v->before, v->count, type, e);
}

/* To this one alone, unless it is running. */
void visit_tell_one(struct visit *v, const struct handler *h, uint32_t type, union rtc_event *e);

/* The native events whose calls are to be told: the one word that calls without handlers look at. */
extern _Atomic uint32_t events_armed;

ALWAYS_INLINE bool is_armed(uint32_t native)
{
    return unlikely(atomic_load_explicit(&events_armed, memory_order_relaxed) & native);
}

/* Those of `events` whose calls are seen, and those that the program sees to. */
uint32_t handlers_installed(uint32_t events);
uint32_t handlers_external(uint32_t events);

/* ---- change.c ----------------------------------------------------------------------------------- */

/* Of a call: where the program made it, and whether handlers are to hear of it. */
struct origin {
    const struct entry *at;
    bool told;
    bool raw; /* it was made to the kernel, and goes there */
};

/* For doorways, whose own caller it is. */
#define ORIGIN(event) ((struct origin){CALLER, is_armed(RTC_EVENT_##event), false})
#define ORIGIN_TOLD ((struct origin){CALLER, true, false})
#define MAP_EVENT(address, size, prot, flags, fd, offset)                                    \
    &(union rtc_event){.mmap = {MAP_FAILED, address, size, prot, flags, fd, offset}}
/* Another name of a doorway, which libc declares nothrow and leaf. */
#define SAME(name) __attribute__((alias(#name), nothrow, leaf))

/* Events come filled in, the invalid result and all. */
void *change_map(struct origin o, union rtc_event *e);
int change_unmap(struct origin o, void *address, size_t size);
/* The same where nobody is told and the map has been asked: it ends what has been taken. */
int change_unmap_taken(const struct mapped_call *taken, void *address, size_t size);
void *change_remap(struct origin o, union rtc_event *e);
void *change_attach(struct origin o, int shmid, const void *shmaddr, int shmflg);
int change_detach(struct origin o, const void *shmaddr);
void *change_break_by(struct origin o, intptr_t increment);
int change_break(struct origin o, void *addr);
int change_file_pages(struct origin o, union rtc_event *e);
int change_rights(struct origin o, union rtc_event *e);
int change_advice(struct origin o, void *addr, size_t length, int advice);
bool change_discards(int advice);
int change_nothing(struct origin o, uint32_t type, union rtc_event *e); /* of what is mapped */
int change_nothing_or_be_cancelled(uint32_t type, union rtc_event *e); /* a cancellation point */
/* The call alone: MMAP, MREMAP, SHMAT, SBRK. */
void *pointer_call(uint32_t type, const union rtc_event *e);

/* ---- dispatch_feed.c ------------------------------------------------------------------------------ */

extern bool dispatch_is_on;

/* A function in front of libc is about to call the next one: what comes of that has been told. */
struct making {
    uint32_t type;
    uint32_t range; /* of which, as far as its system call has one, too: thread-local storage is scarce */
    uintptr_t sp;
};

extern __thread struct making making;

ALWAYS_INLINE uint32_t making_range(uintptr_t address, uintptr_t size)
{
    return (uint32_t)(((address >> 12) + size * 3) * 0x9e3779b97f4a7c15ull >> 32);
}

ALWAYS_INLINE struct making making_begin(uint32_t type, uintptr_t address, uintptr_t size)
{
    struct making outer = making;
    making = (struct making){type, making_range(address, size), (uintptr_t)__builtin_frame_address(0)};
    return outer;
}

#define MAKING(event, address, size, call)                                                   \
    __extension__({                                                                          \
        struct making outer = making_begin(event, (uintptr_t)(address), (uintptr_t)(size));  \
        __typeof__(call) result = (call);                                                    \
        making = outer;                                                                      \
        result;                                                                              \
    })

/* The call alone, without libc; -1 or a result, as a long. */
long raw_call(uint32_t type, const union rtc_event *e);
uintptr_t raw_break(void);

/* ---- attachments.c ------------------------------------------------------------------------------ */

/* Shared memory has been attached there. */
void attachment_note(uintptr_t at, uint64_t bytes);
/* From the first to the last piece that shmdt(at) would unmap; none: nothing, as far as is known. */
struct range attachment_of(uintptr_t at);

/* ---- heap.c ------------------------------------------------------------------------------------- */

void heap_constructed(void);

/* ---- existing.c ------------------------------------------------------------------------------- */

/*
 * The next piece of r that is not the runtime's own; *at, 0 at first, says how far that is.  false: there is
 * none.
 */
bool existing_theirs(struct range r, uintptr_t *at, struct range *piece);

/* Tells this handler of what exists. */
void existing_tell(struct visit *v, const struct handler *h);

#endif

/*
 * origin.h - the calls that change the address space, as functions with the origin of the call.
 *
 * The interposed functions (calls.c) and src/dispatch make the same calls by these functions.  Each
 * notifies the handlers, makes the call, and enters the change into the map of mappings.
 */
#ifndef EVENTS_ORIGIN_H
#define EVENTS_ORIGIN_H

#include <sys/mman.h>
#include <sys/uio.h>

#include "visit.h"

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

#endif

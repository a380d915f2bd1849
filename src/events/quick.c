/*
 * quick.c - mmap and munmap, the most frequent calls.  If no handler is registered for the native
 * event, but at most for the ranges, all work is done in the frame of the interposed function.
 * After a system call the caches are cold, including the stack and return addresses.  Each
 * additional frame was measured to cost as much as a hundred instructions.  So ranges are reported
 * by a visit of their own, which does not span the call.
 */
#include "events_priv.h"

/* Flags that need change_map. */
#define UNCOMMON (MAP_FIXED | MAP_HUGETLB)

EXPORT void *mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset)
{
    struct mapped_call c;
    uint32_t now = armed();
    if (unlikely(now & (WANTED_ITSELF(RTC_EVENT_MMAP) | ARMED_ALL)) || unlikely(flags & UNCOMMON))
        return change_map(ORIGIN(MMAP), MAP_EVENT(address, size, prot, flags, fd, offset));
    mapped_at(&c, CALLER);
    mapped_begin(&c);
    void *at = NEXT(mmap)(address, size, prot, flags, fd, offset);
    if (unlikely(at == MAP_FAILED)) {
        mapped_end(&c);
        return at;
    }
    struct range come = {(uintptr_t)at, align_up((uintptr_t)at + size,
                                                 /* Valid: the kernel has checked it. */
                                                 PAGE_BYTES)};
    struct map_region r = region_of_call(come, prot, flags, offset);
    mapped_new(&c, &r);
    mapped_end(&c);
    if (unlikely(now & RTC_EVENT_MMAP))
        visit_with_range(RTC_EVENT_VM_MAPPED, come);
    return at;
}

/* Names with __ are libc-internal; other libraries of glibc may use them. */
EXPORT void *mmap64(void *address, size_t size, int prot, int flags, int fd, off64_t offset)
    SAME(mmap);
EXPORT void *__mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset)
    SAME(mmap);

EXPORT int munmap(void *address, size_t size)
{
    struct mapped_call c;
    struct range gone = range_of(address, size);
    uint32_t now = armed();
    if (unlikely(now & (WANTED_ITSELF(RTC_EVENT_MUNMAP) | ARMED_ALL)))
        return change_unmap(ORIGIN(MUNMAP), address, size);
    if (unlikely(now & RTC_EVENT_MUNMAP))
        visit_with_range(RTC_EVENT_VM_UNMAPPED, gone);
    mapped_at(&c, CALLER);
    c.unmaps = true;
    mapped_take(&c, gone.start, gone.end);
    if (unlikely(!c.counted || unmap_is_special(&c, gone.start, gone.end)) ||
        unlikely(NEXT(munmap)(address, size) != 0))
        return change_unmap_taken(&c, now & RTC_EVENT_MUNMAP, address, size);
    mapped_end(&c);
    return 0;
}

EXPORT int __munmap(void *address, size_t size) SAME(munmap);

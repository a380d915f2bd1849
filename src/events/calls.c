/*
 * calls.c - the interposed functions that change the address space: mmap, munmap, mremap, brk, shmat
 * and their like.  A call that maps, unmaps or changes protection is entered into the map of mappings.  All other calls test one word if no
 * handler is registered.
 *
 * The functions call the next definition, not the kernel.  Other libraries may be interposed
 * between us and libc, or have patched libc, and depend on these calls as well.
 */
#include "events_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

/* ---- mappings -------------------------------------------------------------------------------- */

EXPORT void *rtc_mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset)
{
    return change_map(ORIGIN_REPORTED, MAP_EVENT(address, size, prot, flags, fd, offset));
}

EXPORT int rtc_munmap(void *address, size_t size)
{
    return change_unmap(ORIGIN_REPORTED, address, size);
}

/* As libc: the last argument is always passed on. */
#define REMAP_EVENT(e, address, old_size, new_size, flags)                               \
    va_list ap;                                                                          \
    va_start(ap, flags);                                                                 \
    union rtc_event e = {                                                                \
        .mremap = {MAP_FAILED, address, old_size, new_size, flags, va_arg(ap, void *)}}; \
    va_end(ap)

EXPORT void *mremap(void *address, size_t old_size, size_t new_size, int flags, ...)
{
    REMAP_EVENT(e, address, old_size, new_size, flags);
    return change_remap(ORIGIN(MREMAP), &e);
}

EXPORT void *rtc_mremap(void *address, size_t old_size, size_t new_size, int flags, ...)
{
    REMAP_EVENT(e, address, old_size, new_size, flags);
    return change_remap(ORIGIN_REPORTED, &e);
}

EXPORT void *rtc_orig_mremap(void *address, size_t old_size, size_t new_size, int flags, ...)
{
    REMAP_EVENT(e, address, old_size, new_size, flags);
    return change_remap(ORIGIN_SILENT, &e);
}

EXPORT int remap_file_pages(void *address, size_t size, int prot, size_t pgoff, int flags)
{
    union rtc_event e = {.remap_file_pages = {-1, address, size, prot, pgoff, flags}};
    return change_file_pages(ORIGIN(REMAP_FILE_PAGES), &e);
}

/* ---- shared memory, the break ---------------------------------------------------------------- */

EXPORT void *shmat(int shmid, const void *shmaddr, int shmflg)
{
    return change_attach(ORIGIN(SHMAT), shmid, shmaddr, shmflg);
}

EXPORT void *rtc_shmat(int shmid, const void *shmaddr, int shmflg)
{
    return change_attach(ORIGIN_REPORTED, shmid, shmaddr, shmflg);
}

EXPORT int shmdt(const void *shmaddr)
{
    return change_detach(ORIGIN(SHMDT), shmaddr);
}

EXPORT int rtc_shmdt(const void *shmaddr)
{
    return change_detach(ORIGIN_REPORTED, shmaddr);
}

EXPORT void *sbrk(intptr_t increment)
{
    if (!increment && !is_armed(RTC_EVENT_SBRK))
        return next_sbrk(0);
    return change_break_by(ORIGIN(SBRK), increment);
}

/* The next sbrk may call __sbrk, as tcmalloc's does. */
void *__sbrk(intptr_t increment);
EXPORT void *__sbrk(intptr_t increment)
{
    if (making.type == RTC_EVENT_SBRK)
        return NEXT(__sbrk)(increment);
    return change_break_by(ORIGIN(SBRK), increment);
}

EXPORT void *rtc_sbrk(intptr_t increment)
{
    return change_break_by(ORIGIN_REPORTED, increment);
}

EXPORT int brk(void *addr)
{
    return change_break(ORIGIN(BRK), addr);
}

EXPORT int rtc_brk(void *addr)
{
    return change_break(ORIGIN_REPORTED, addr);
}

/* ---- mappings stay --------------------------------------------------------------------------- */

#define RIGHTS_EVENT(address, size, prot, pkey)       \
    &(union rtc_event)                                \
    {                                                 \
        .mprotect = { -1, address, size, prot, pkey } \
    }

EXPORT int mprotect(void *address, size_t size, int prot)
{
    return change_rights(ORIGIN(MPROTECT), RIGHTS_EVENT(address, size, prot, -1));
}

EXPORT int __mprotect(void *address, size_t size, int prot) SAME(mprotect);

EXPORT int pkey_mprotect(void *address, size_t size, int prot, int pkey)
{
    return change_rights(ORIGIN(MPROTECT), RIGHTS_EVENT(address, size, prot, pkey));
}

static int change_locks(enum rtc_event_lock_call call, const void *address, size_t size, int flags)
{
    union rtc_event e = {.mlock = {-1, call, (void *)(uintptr_t)address, size, flags}};
    return change_nothing((struct origin){.is_reported = true}, RTC_EVENT_MLOCK, &e);
}

EXPORT int mlock(const void *address, size_t size)
{
    return is_armed(RTC_EVENT_MLOCK) ? change_locks(RTC_EVENT_CALL_MLOCK, address, size, 0)
                                     : NEXT(mlock)(address, size);
}

EXPORT int mlock2(const void *address, size_t size, unsigned flags)
{
    return is_armed(RTC_EVENT_MLOCK)
               ? change_locks(RTC_EVENT_CALL_MLOCK2, address, size, (int)flags)
               : NEXT(mlock2)(address, size, flags);
}

EXPORT int munlock(const void *address, size_t size)
{
    return is_armed(RTC_EVENT_MLOCK) ? change_locks(RTC_EVENT_CALL_MUNLOCK, address, size, 0)
                                     : NEXT(munlock)(address, size);
}

EXPORT int mlockall(int flags)
{
    return is_armed(RTC_EVENT_MLOCK) ? change_locks(RTC_EVENT_CALL_MLOCKALL, NULL, 0, flags)
                                     : NEXT(mlockall)(flags);
}

EXPORT int munlockall(void)
{
    return is_armed(RTC_EVENT_MLOCK) ? change_locks(RTC_EVENT_CALL_MUNLOCKALL, NULL, 0, 0)
                                     : NEXT(munlockall)();
}

EXPORT int msync(void *address, size_t size, int flags)
{
    if (!is_armed(RTC_EVENT_MSYNC))
        return NEXT(msync)(address, size, flags);
    union rtc_event e = {.msync = {-1, address, size, flags}};
    return change_nothing_or_be_cancelled(RTC_EVENT_MSYNC, &e);
}

/* ---- without events -------------------------------------------------------------------------- */

EXPORT void *rtc_orig_mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset)
{
    return change_map(ORIGIN_SILENT, MAP_EVENT(address, size, prot, flags, fd, offset));
}

EXPORT int rtc_orig_munmap(void *address, size_t size)
{
    return change_unmap(ORIGIN_SILENT, address, size);
}

EXPORT void *rtc_orig_shmat(int shmid, const void *shmaddr, int shmflg)
{
    return change_attach(ORIGIN_SILENT, shmid, shmaddr, shmflg);
}

EXPORT int rtc_orig_shmdt(const void *shmaddr)
{
    return change_detach(ORIGIN_SILENT, shmaddr);
}

EXPORT void *rtc_orig_sbrk(intptr_t increment)
{
    return change_break_by(ORIGIN_SILENT, increment);
}

EXPORT int rtc_orig_brk(void *addr)
{
    return change_break(ORIGIN_SILENT, addr);
}

/* ---- events without calls -------------------------------------------------------------------- */

static struct range as_given(void *address, size_t size)
{
    return (struct range){(uintptr_t)address, (uintptr_t)address + size}; /* empty if that wraps */
}

EXPORT void rtc_vm_mmap(void *address, size_t size)
{
    visit_with_range(RTC_EVENT_VM_MAPPED, as_given(address, size));
}

EXPORT void rtc_vm_munmap(void *address, size_t size)
{
    visit_with_range(RTC_EVENT_VM_UNMAPPED, as_given(address, size));
}

/*
 * notice.c - what the heap gives back to the kernel, told before it goes.
 *
 * Who keeps memory registered with a device by its address, say, has to let go of pages before they
 * are others.  So with somebody who wants to hear of it, the pool gives nothing back inside a section,
 * but keeps it out of use (pending_release); the thread that left it does the rest here, behind its section,
 * with no lock held: the callbacks are the program's.  Freed memory that stays in the heap stays
 * what it was, and nothing is told.
 *
 * Others, like UCX's libucm, patch madvise to hear of the same: libc's, or ours, whichever comes behind
 * them.  They are not known by name: code that is not as it was built is somebody's, and the
 * pages go by that way.
 *
 * A fork in a callback leaves the child with a run that is in no list: lost to it, and harmless.
 */
#include "core_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static const struct notice_callbacks *callbacks;

/* ---- others ---------------------------------------------------------------------------------- */

static uint64_t code_at(const void *at)
{
    uint64_t code;
    memcpy(&code, at, sizeof code);
    return code;
}

static bool is_ours_patched(void)
{
    return code_at(heap_code[0].at) != heap_code[0].was;
}

/* libc's may have been patched before we came. */
static void watch_code(void)
{
    const void *ours = (const void *)(uintptr_t)&madvise,
               *libcs = (const void *)(uintptr_t)NEXT(madvise);
    heap_code[0] = (struct heap_code){ours, code_at(ours)};
    heap_code[1] = (struct heap_code){libcs, code_at(libcs)};
    if (!os_is_plain_call(libcs, SYS_madvise))
        heap_code[1].was = ~heap_code[1].was;
}

void notice_start(const struct notice_callbacks *to)
{
    if (callbacks)
        return;
    callbacks = to;
    watch_code();
}

/* Not by ours as it is: it would tell of a call of the program's. */
static bool release(void *at, size_t bytes)
{
    int saved = errno;
    bool gone = callbacks->discard(is_ours_patched() ? madvise : NEXT(madvise), at, bytes) == 0;
    errno = saved;
    return gone;
}

/* ---- what is due ----------------------------------------------------------------------------- */

static bool take(struct pending_release *d)
{
    struct section s;
    if (!section_begin(&s))
        return false;
    bool any = pending_take(d);
    section_end(&s);
    return any;
}

static void put(const struct pending_release *d, bool released)
{
    struct section s;
    if (!section_begin(&s))
        return;
    pending_put(d, released);
    section_end(&s);
}

static bool has_grown(struct heap_part *part)
{
    struct section s;
    if (!section_begin(&s))
        return false;
    bool grown = heap_grown(part);
    section_end(&s);
    return grown;
}

uint64_t notice_existing(void)
{
    struct section s;
    if (!section_begin(&s))
        return 0;
    uint64_t bytes = heap_ready();
    section_end(&s);
    return bytes;
}

void notice_deliver(void)
{
    struct pending_release d;
    struct heap_part come;
    while (has_grown(&come))
        callbacks->became_usable((char *)heap.base + come.from, come.to - come.from);
    while (take(&d)) {
        void *at = (void *)unit_address(d.head);
        callbacks->releasing(at, d.units << RTC_UNIT_SHIFT);
        put(&d, release(at, d.units << RTC_UNIT_SHIFT));
    }
}

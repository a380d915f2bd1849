/*
 * notice.c - notices of heap pages, delivered before the pages return to the kernel.
 *
 * A program may have registered memory with a device by its address, and must deregister pages
 * before others replace them. So if there is a listener, the pool releases no pages inside a
 * section, but keeps them out of use (pending_release). After its section the same thread calls the
 * callbacks and releases the pages, with no lock held, since callbacks are the program's code.
 * Freed memory that stays in the heap causes no notice.
 *
 * Other libraries, such as UCX's libucm, patch madvise for the same purpose: libc's or ours,
 * whichever is their next definition. They are detected by changed code of that function, and the
 * pages are released through it.
 *
 * A fork in a callback leaves the child with a run of units that is in no list. The child leaks it,
 * without other harm.
 */
#include "instructions.h"
#include "init.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static const struct notice_callbacks *callbacks;

/* ---- other listeners ------------------------------------------------------------------------- */

static uint64_t code_at(const void *at)
{
    uint64_t code;
    memcpy(&code, at, sizeof code);
    return code;
}

static bool is_own_patched(void)
{
    return code_at(heap_code[0].at) != heap_code[0].was;
}

/* libc's madvise may have been patched before we started. */
static void watch_code(void)
{
    const void *own = (const void *)(uintptr_t)&madvise,
               *libcs = (const void *)(uintptr_t)NEXT(madvise);
    heap_code[0] = (struct heap_code){own, code_at(own)};
    heap_code[1] = (struct heap_code){libcs, code_at(libcs)};
    if (!code_is_stub(libcs, SYS_madvise))
        heap_code[1].was = ~heap_code[1].was;
}

void notice_start(const struct notice_callbacks *to)
{
    if (callbacks)
        return;
    callbacks = to;
    watch_code();
}

/*
 * Our own madvise is called only if it is patched: unpatched it would report a call of the program.
 */
static bool release(void *at, size_t bytes)
{
    int saved = errno;
    bool gone = callbacks->discard(is_own_patched() ? madvise : NEXT(madvise), at, bytes) == 0;
    errno = saved;
    return gone;
}

/* ---- pending notices ------------------------------------------------------------------------- */

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

/* A large block may begin in memory that the heap had before: its range is announced as a whole. */
static void begin_with_block(struct heap_part *part)
{
    uintptr_t at = (uintptr_t)heap.base + part->from;
    struct found f = pool_find((const void *)at);
    if (f.verdict != PTR_INSIDE || is_slab(f.kind))
        return;
    uintptr_t begin = align_down(at - pool_inside(&f, at), PAGE_BYTES);
    part->from = begin - (uintptr_t)heap.base;
}

static bool has_grown(struct heap_part *part)
{
    struct section s;
    if (!section_begin(&s))
        return false;
    bool grown = heap_grown(part);
    if (grown)
        begin_with_block(part);
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

/*
 * memory.c - mappings.
 *
 * Reservations are PROT_NONE and become usable by mprotect, so mlockall skips the unused part.
 * They are MADV_DONTDUMP as well: the kernel leaves untouched pages out of a core dump, but a
 * debugger (gcore) writes mappings as a whole, and the heap's is 1 TiB.  Pages of the run file are allocated before their first access: if the file system
 * is full, an access raises SIGBUS, but MADV_POPULATE_WRITE fails with an error.
 */
#include "os.h"
#include "os_priv.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

bool os_failed(const void *p)
{
    return (uintptr_t)p >= (uintptr_t)-4095;
}

static void *map(void *hint, size_t bytes, int prot, int flags, int fd, uint64_t offset)
{
    void *p = (void *)CALL6(SYS_mmap, hint, bytes, prot, flags, fd, offset);
    /* A fixed mapping replaces one that is already recorded. */
    if (!(flags & MAP_FIXED) && !os_failed(p))
        os_note_own(p, bytes);
    return p;
}

static int advise(void *at, size_t bytes, int advice)
{
    return (int)CALL3(SYS_madvise, at, bytes, advice);
}

void os_dont_dump(void *at, size_t bytes)
{
    if (os_has(OS_DONTDUMP) && advise(at, bytes, MADV_DONTDUMP) < 0)
        os_mark_missing(OS_DONTDUMP);
}

void os_dump(void *at, size_t bytes)
{
    if (os_has(OS_DONTDUMP))
        advise(at, bytes, MADV_DODUMP);
}

static void *reserve(void *at, size_t bytes, int flags)
{
    void *p = map(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    if (!os_failed(p))
        os_dont_dump(p, bytes);
    return p;
}

void *os_reserve(void *hint, size_t bytes, bool fixed)
{
    void *p = reserve(hint, bytes, fixed && os_has(OS_NOREPLACE) ? MAP_FIXED_NOREPLACE : 0);
    if (fixed && !os_failed(p) && p != hint) { /* the kernel ignores MAP_FIXED_NOREPLACE */
        os_unmap(p, bytes);
        return (void *)-(intptr_t)EEXIST;
    }
    return p;
}

void *os_replace(void *at, size_t bytes)
{
    return reserve(at, bytes, MAP_FIXED);
}

void *os_map(size_t bytes)
{
    return map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int os_move_part(void *from, size_t bytes, void *to)
{
    void *p = (void *)CALL6(SYS_mremap, from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to, 0);
    return os_failed(p) ? (int)(intptr_t)p : 0;
}

int os_move_over(void *from, size_t bytes, void *to)
{
    os_forget_own(from); /* first, because another mapping may reuse the address */
    return os_move_part(from, bytes, to);
}

void *os_reserve_file(void *at, int fd, size_t bytes, uint64_t offset)
{
    int flags = MAP_SHARED | MAP_NORESERVE | (at ? MAP_FIXED : 0);
    return map(at, bytes, PROT_NONE, flags, fd, offset);
}

/* mremap with an old size of 0 adds a mapping of the same pages, and keeps the old one. */
int os_map_again(void *from, size_t bytes, void *to)
{
    void *p = (void *)CALL6(SYS_mremap, from, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to, 0);
    return os_failed(p) ? (int)(intptr_t)p : 0;
}

int os_replace_by_copy(void *at, size_t bytes, int protection, int fd, uint64_t offset)
{
    void *p = map(at, bytes, protection, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, offset);
    return os_failed(p) ? (int)(intptr_t)p : 0;
}

int os_unmap(void *at, size_t bytes)
{
    os_forget_own(at); /* first, because another mapping may reuse the address */
    return (int)CALL2(SYS_munmap, at, bytes);
}

int os_allow(void *at, size_t bytes)
{
    return (int)CALL3(SYS_mprotect, at, bytes, PROT_READ | PROT_WRITE);
}

int os_read_only(void *at, size_t bytes)
{
    return (int)CALL3(SYS_mprotect, at, bytes, PROT_READ);
}

int os_protect(void *at, size_t bytes, int protection)
{
    return (int)CALL3(SYS_mprotect, at, bytes, protection);
}

int os_guard(void *at, size_t bytes)
{
    return advise(at, bytes, MADV_GUARD_INSTALL);
}

int os_unguard(void *at, size_t bytes)
{
    return advise(at, bytes, MADV_GUARD_REMOVE);
}

/*
 * Fallback for MADV_POPULATE_WRITE: a system call writes into each page.  It fails with EFAULT
 * where an access of our own would raise SIGBUS.  The pages are new, so zeroing the written words
 * restores them.
 */
static int populate_by_kernel_writes(char *at, size_t bytes)
{
    for (size_t done = 0; done < bytes; done += PAGE_BYTES) {
        struct timespec *page = (void *)(at + done);
        long err = CALL2(SYS_clock_gettime, CLOCK_MONOTONIC, page);
        if (err)
            return (int)err;
        *page = (struct timespec){0, 0};
    }
    return 0;
}

int os_populate(void *at, size_t bytes)
{
    if (!os_has(OS_POPULATE))
        return populate_by_kernel_writes(at, bytes);
    int err = advise(at, bytes, MADV_POPULATE_WRITE);
    if (err == -EINVAL) {
        os_mark_missing(OS_POPULATE);
        return populate_by_kernel_writes(at, bytes);
    }
    return err;
}

int os_collapse(void *at, size_t bytes)
{
    return advise(at, bytes, MADV_COLLAPSE);
}

/*
 * FUTEX_WAIT first reads the word and fails with EFAULT if it is not readable.  The expected value
 * is improbable; if the word has it, the wait times out at once.  A sandbox for an allocator allows
 * this call.
 */
bool os_is_readable(uintptr_t at)
{
    static const struct timespec no_time = {0, 0};
    return CALL4(SYS_futex, align_down(at, sizeof(uint32_t)), FUTEX_WAIT_PRIVATE, 0x5ec7104eu,
                 &no_time) != -EFAULT;
}

/* valgrind implements this futex operation itself, and reports its own memory as unreadable. */
bool os_is_of_program(uintptr_t at)
{
    static const struct timespec no_time = {0, 0};
    return !os_by_valgrind() ||
           CALL6(SYS_futex, align_down(at, sizeof(uint32_t)), FUTEX_WAIT_BITSET_PRIVATE,
                 0x5ec7104eu, &no_time, 0, FUTEX_BITSET_MATCH_ANY) != -EFAULT;
}

size_t os_copy(void *to, const void *from, size_t bytes)
{
    uintptr_t at = (uintptr_t)from;
    size_t done = 0;
    while (done < bytes && os_is_readable(at + done)) {
        size_t page = PAGE_BYTES - (at + done) % PAGE_BYTES,
               n = bytes - done < page ? bytes - done : page;
        memcpy((char *)to + done, (const char *)from + done, n);
        done += n;
    }
    return done;
}

int os_release(void *at, size_t bytes)
{
    return advise(at, bytes, MADV_DONTNEED);
}

int os_release_file(void *at, size_t bytes)
{
    return advise(at, bytes, MADV_REMOVE);
}

void os_huge(void *at, size_t bytes)
{
    if (os_has(OS_HUGEPAGE) && advise(at, bytes, MADV_HUGEPAGE) == -EINVAL)
        os_mark_missing(OS_HUGEPAGE);
}

void os_no_huge(void *at, size_t bytes)
{
    if (os_has(OS_HUGEPAGE))
        advise(at, bytes, MADV_NOHUGEPAGE); /* EINVAL: the kernel has no huge pages */
}

int os_wipe_on_fork(void *at, size_t bytes)
{
    if (!os_has(OS_WIPEONFORK))
        return -EINVAL;
    int err = advise(at, bytes, MADV_WIPEONFORK);
    if (err)
        os_mark_missing(OS_WIPEONFORK);
    return err;
}

COLD void *os_make_wiped_page(_Atomic(void *) *page_at, void *instead)
{
    void *made = os_map(PAGE_BYTES), *none = NULL;
    if (os_failed(made))
        made = instead;
    else if (os_wipe_on_fork(made, PAGE_BYTES)) {
        os_unmap(made, PAGE_BYTES);
        made = instead;
    }
    if (atomic_compare_exchange_strong(page_at, &none, made))
        return made;
    if (made != instead)
        os_unmap(made, PAGE_BYTES);
    return none;
}

void *os_map_file(void *at, size_t bytes, int protection, bool shared, int fd, uint64_t offset)
{
    int flags = (shared ? MAP_SHARED : MAP_PRIVATE) | (at ? MAP_FIXED_NOREPLACE : 0);
    void *p = map(at, bytes, protection, flags, fd, offset);
    if (os_failed(p) || !at || p == at)
        return p;
    os_unmap(p, bytes); /* a kernel that takes the address as a hint */
    return (void *)(intptr_t)-EEXIST;
}

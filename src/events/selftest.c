/*
 * selftest.c - rtc_event_test: are the calls of this program intercepted?
 *
 * Each function is called through the program's own reference to it, on memory allocated for the
 * test.  A handler records the resulting events.  Failures of the calls do not matter: a failed
 * call also causes its native event.  Events of auxiliary calls in a step are ignored.
 */
#include "events_priv.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#define PAGES 4u

struct scene {
    uint32_t tid, wanted, seen;
    uint32_t pages; /* still mapped */
    char *at;       /* MAP_FAILED: none */
    int segment;
    void *attached;
};

/* Does not pass munlockall on: memory locked by the program stays locked. */
static void note(unsigned type, union rtc_event *e, void *arg)
{
    struct scene *s = arg;
    if (os_tid() != s->tid)
        return;
    s->seen |= type;
    if (type == RTC_EVENT_MLOCK && e->mlock.call == RTC_EVENT_CALL_MUNLOCKALL)
        e->mlock.result = 0;
}

/* The program's function of this name, with the type of ours. */
#define PROGRAM_CALL_BY(name, text)            \
    __typeof__(&name) program_##name;          \
    do {                                       \
        void *f = reference_to(text);          \
        memcpy(&program_##name, &f, sizeof f); \
    } while (0)
#define PROGRAM_CALL(name) PROGRAM_CALL_BY(name, #name)

#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)
#define READ_WRITE (PROT_READ | PROT_WRITE)

static void test_mmap(struct scene *s)
{
    PROGRAM_CALL(mmap);
    s->at = program_mmap(NULL, PAGES * PAGE_BYTES, READ_WRITE, PLAIN, -1, 0);
}

static void test_mmap64(struct scene *s)
{
    PROGRAM_CALL(mmap64);
    program_mmap64(s->at, PAGE_BYTES, READ_WRITE, PLAIN | MAP_FIXED, -1, 0);
}

static void test_mmap_of_libc(struct scene *s)
{
    PROGRAM_CALL_BY(mmap, "__mmap");
    program_mmap(s->at, PAGE_BYTES, READ_WRITE, PLAIN | MAP_FIXED, -1, 0);
}

/* An invalid descriptor: mmap fails without replacing anything. */
static void test_failure(struct scene *s)
{
    PROGRAM_CALL(mmap);
    program_mmap(s->at, PAGE_BYTES, READ_WRITE, MAP_PRIVATE | MAP_FIXED, -1, 0);
}

static void test_madvise(struct scene *s)
{
    PROGRAM_CALL(madvise);
    program_madvise(s->at, PAGE_BYTES, MADV_DONTNEED);
}

static void test_madvise_of_libc(struct scene *s)
{
    PROGRAM_CALL_BY(madvise, "__madvise");
    program_madvise(s->at, PAGE_BYTES, MADV_DONTNEED);
}

static void test_posix_madvise(struct scene *s)
{
    PROGRAM_CALL(posix_madvise);
    program_posix_madvise(s->at, PAGE_BYTES, POSIX_MADV_SEQUENTIAL);
}

static void test_process_madvise(struct scene *s)
{
    PROGRAM_CALL(process_madvise);
    struct iovec range = {s->at, PAGE_BYTES};
    int process = os_process_fd(os_pid());
    program_process_madvise(process, &range, 1, MADV_COLD, 0);
    if (process >= 0)
        os_close(process);
}

static void test_mprotect(struct scene *s)
{
    PROGRAM_CALL(mprotect);
    program_mprotect(s->at, PAGE_BYTES, PROT_READ);
}

static void test_mprotect_of_libc(struct scene *s)
{
    PROGRAM_CALL_BY(mprotect, "__mprotect");
    program_mprotect(s->at, PAGE_BYTES, PROT_READ);
}

static void test_pkey_mprotect(struct scene *s)
{
    PROGRAM_CALL(pkey_mprotect);
    program_pkey_mprotect(s->at, PAGE_BYTES, READ_WRITE, -1);
}

static void test_mlock(struct scene *s)
{
    PROGRAM_CALL(mlock);
    program_mlock(s->at, PAGE_BYTES);
}

static void test_munlock(struct scene *s)
{
    PROGRAM_CALL(munlock);
    program_munlock(s->at, PAGE_BYTES);
}

/* Unlocks the page again. */
static void test_mlock2(struct scene *s)
{
    PROGRAM_CALL(mlock2);
    PROGRAM_CALL(munlock);
    program_mlock2(s->at, PAGE_BYTES, 0);
    uint32_t seen = s->seen;
    program_munlock(s->at, PAGE_BYTES);
    s->seen = seen;
}

/* Invalid flags 0: fails. */
static void test_mlockall(struct scene *s)
{
    (void)s;
    PROGRAM_CALL(mlockall);
    program_mlockall(0);
}

static void test_munlockall(struct scene *s)
{
    PROGRAM_CALL(munlockall);
    if (!(s->wanted & RTC_EVENT_MLOCK))
        return;
    if (program_munlockall == munlockall || !os_is_locked())
        program_munlockall();
    else
        s->seen = RTC_EVENT_MLOCK; /* assumed, not tested */
}

static void test_msync(struct scene *s)
{
    PROGRAM_CALL(msync);
    program_msync(s->at, PAGE_BYTES, MS_ASYNC);
}

/* Not a file mapping: fails. */
static void test_remap_file_pages(struct scene *s)
{
    PROGRAM_CALL(remap_file_pages);
    program_remap_file_pages(s->at, PAGE_BYTES, 0, 0, 0);
}

static void test_mremap(struct scene *s)
{
    PROGRAM_CALL(mremap);
    char *at = program_mremap(s->at, PAGES * PAGE_BYTES, (PAGES - 1) * PAGE_BYTES, MREMAP_MAYMOVE);
    s->pages = at == MAP_FAILED ? s->pages : PAGES - 1;
    s->at = at == MAP_FAILED ? s->at : at;
}

/* Unmap all pages but the first. */
static void test_munmap_of_libc(struct scene *s)
{
    PROGRAM_CALL_BY(munmap, "__munmap");
    program_munmap(s->at + PAGE_BYTES, (s->pages - 1) * PAGE_BYTES);
    s->pages = 1;
}

static void test_munmap(struct scene *s)
{
    PROGRAM_CALL(munmap);
    program_munmap(s->at, s->pages * PAGE_BYTES);
}

static void test_shmat(struct scene *s)
{
    PROGRAM_CALL(shmat);
    s->attached = program_shmat(s->segment, NULL, 0);
}

static void test_shmdt(struct scene *s)
{
    PROGRAM_CALL(shmdt);
    program_shmdt(s->attached);
}

/* Attach in place of a page, then map the page again for the following steps. */
static void test_shmat_over(struct scene *s)
{
    PROGRAM_CALL(shmat);
    PROGRAM_CALL(mmap);
    char *at = program_shmat(s->segment, s->at, SHM_REMAP);
    uint32_t seen = s->seen;
    if (at == s->at)
        program_mmap(s->at, PAGE_BYTES, READ_WRITE, PLAIN | MAP_FIXED, -1, 0);
    s->seen = seen;
}

static void test_sbrk(struct scene *s)
{
    (void)s;
    PROGRAM_CALL(sbrk);
    program_sbrk(0);
}

static void test_brk(struct scene *s)
{
    (void)s;
    PROGRAM_CALL(brk);
    program_brk(NULL);
}

#define GOES RTC_EVENT_VM_UNMAPPED
#define COMES RTC_EVENT_VM_MAPPED

/* The order matters. */
static const struct step {
    void (*make)(struct scene *s);
    uint32_t native, aggregate;
    enum {
        PLAINLY,
        EVERYWHERE, /* also in a sandbox */
        /* EVERYWHERE, by an internal name of libc that other interceptors need not cover. */
        OF_LIBC,
    } how;
} step[] = {
    {test_mmap, RTC_EVENT_MMAP, COMES, EVERYWHERE},
    {test_mmap64, RTC_EVENT_MMAP, GOES | COMES, EVERYWHERE},
    {test_mmap_of_libc, RTC_EVENT_MMAP, GOES | COMES, OF_LIBC},
    {test_failure, RTC_EVENT_MMAP, GOES | RTC_EVENT_VM_CANCELLED, EVERYWHERE},
    {test_madvise, RTC_EVENT_MADVISE, GOES, EVERYWHERE},
    {test_madvise_of_libc, RTC_EVENT_MADVISE, GOES, OF_LIBC},
    {test_posix_madvise, RTC_EVENT_MADVISE, 0, EVERYWHERE},
    {test_process_madvise, RTC_EVENT_MADVISE, 0, PLAINLY},
    {test_mprotect, RTC_EVENT_MPROTECT, 0, EVERYWHERE},
    {test_mprotect_of_libc, RTC_EVENT_MPROTECT, 0, OF_LIBC},
    {test_pkey_mprotect, RTC_EVENT_MPROTECT, 0, PLAINLY},
    {test_mlock, RTC_EVENT_MLOCK, 0, PLAINLY},
    {test_munlock, RTC_EVENT_MLOCK, 0, PLAINLY},
    {test_mlock2, RTC_EVENT_MLOCK, 0, PLAINLY},
    {test_mlockall, RTC_EVENT_MLOCK, 0, PLAINLY},
    {test_munlockall, RTC_EVENT_MLOCK, 0, PLAINLY},
    {test_msync, RTC_EVENT_MSYNC, 0, PLAINLY},
    {test_remap_file_pages, RTC_EVENT_REMAP_FILE_PAGES, 0, PLAINLY},
    {test_mremap, RTC_EVENT_MREMAP, GOES | COMES, PLAINLY},
    {test_munmap_of_libc, RTC_EVENT_MUNMAP, GOES, OF_LIBC},
    {test_shmat_over, RTC_EVENT_SHMAT, GOES | COMES, PLAINLY},
    {test_munmap, RTC_EVENT_MUNMAP, GOES, EVERYWHERE},
    {test_shmat, RTC_EVENT_SHMAT, COMES, PLAINLY},
    {test_shmdt, RTC_EVENT_SHMDT, GOES, PLAINLY},
    {test_sbrk, RTC_EVENT_SBRK, 0, PLAINLY},
    {test_brk, RTC_EVENT_BRK, 0, PLAINLY},
};

/* The expected events of this step that were missing. */
static uint32_t try(struct scene *s, const struct step *t)
{
    bool shared = t->make == test_shmat || t->make == test_shmat_over || t->make == test_shmdt;
    uint32_t missing_events =
        s->wanted & (t->native | (shared && s->segment < 0 ? 0 : t->aggregate));
    s->seen = 0;
    t->make(s);
    return missing_events & ~s->seen;
}

static bool is_possible(const struct step *t, bool closed, bool external)
{
    return (t->how != PLAINLY || !closed) && !(t->how == OF_LIBC && external);
}

static uint32_t try_all(struct scene *s, bool external)
{
    uint32_t missing = 0;
    bool closed = os_sandboxed();
    if (!closed)
        s->segment = shmget(IPC_PRIVATE, PAGE_BYTES, 0600);
    for (size_t i = 0; i < countof(step); i++)
        if (is_possible(&step[i], closed, external))
            missing |= try(s, &step[i]);
    if (s->segment >= 0)
        shmctl(s->segment, IPC_RMID, NULL);
    return missing;
}

static int test(uint32_t wanted, bool external, uint32_t *missing)
{
    struct scene s = {
        .tid = os_tid(), .wanted = wanted, .pages = PAGES, .at = MAP_FAILED, .segment = -1};
    uint32_t events = wanted ? wanted | RTC_EVENT_FLAG_NO_INSTALL : 0;
    int err = rtc_event_set_handler(events, -1, note, &s);
    if (err)
        return err;
    uint32_t lacking = try_all(&s, external);
    err = rtc_event_unset_handler(wanted, note, &s);
    if (missing)
        *missing = lacking;
    return err ? err : lacking ? -ENOTSUP : 0;
}

EXPORT int rtc_event_test(unsigned events, unsigned *missing)
{
    if (events & ~EVENTS_ALL)
        return -EINVAL;
    if (srcu_is_reading())
        return -EDEADLK;
    return test(handlers_installed(events & ~EVENTS_MEM_TYPE), false, missing);
}

EXPORT int rtc_event_test_external(unsigned events, unsigned *missing)
{
    if (events & ~EVENTS_ALL)
        return -EINVAL;
    if (srcu_is_reading())
        return -EDEADLK;
    return test(handlers_external(events & ~EVENTS_MEM_TYPE), true, missing);
}

EXPORT long rtc_event_compare(void)
{
    struct mapped_call c;
    mapped_at(&c, NULL);
    mapped_begin(&c); /* creates the map of mappings */
    mapped_end(&c);
    return mapped_compare();
}

EXPORT const char *rtc_event_name(unsigned event)
{
    switch (event) {
#define NAME(name)         \
    case RTC_EVENT_##name: \
        return #name
        NAME(MMAP);
        NAME(MUNMAP);
        NAME(MREMAP);
        NAME(SHMAT);
        NAME(SHMDT);
        NAME(SBRK);
        NAME(MADVISE);
        NAME(BRK);
        NAME(MPROTECT);
        NAME(MLOCK);
        NAME(MSYNC);
        NAME(REMAP_FILE_PAGES);
        NAME(VM_MAPPED);
        NAME(VM_UNMAPPED);
        NAME(VM_CANCELLED);
        NAME(MEM_TYPE_ALLOC);
        NAME(MEM_TYPE_FREE);
#undef NAME
    default:
        return NULL;
    }
}

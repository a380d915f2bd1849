/*
 * selftest.c - do the calls of this program reach us?
 *
 * Each function is looked up as the program's own references to it are, and called on memory made for
 * the purpose; a handler notes what comes of it.  Failures of the calls do not matter: a call that
 * fails makes its native event, too.
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
    uint32_t pages; /* that are left */
    char *at;       /* MAP_FAILED: none */
    int segment;
    void *attached;
};

static void note(unsigned type, union rtc_event *e, void *arg)
{
    struct scene *s = arg;
    (void)e;
    if (os_tid() == s->tid)
        s->seen |= type;
}

/* The program's function of this name; its type is that of ours. */
#define THEIRS(name)                                   \
    __typeof__(&name) name##_theirs;                   \
    do {                                               \
        void *f = dlsym(RTLD_DEFAULT, #name);          \
        memcpy(&name##_theirs, &f, sizeof f);          \
    } while (0)

#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)
#define READ_WRITE (PROT_READ | PROT_WRITE)

static void test_mmap(struct scene *s)
{
    THEIRS(mmap);
    s->at = mmap_theirs(NULL, PAGES * PAGE_BYTES, READ_WRITE, PLAIN, -1, 0);
}

static void test_mmap64(struct scene *s)
{
    THEIRS(mmap64);
    mmap64_theirs(s->at, PAGE_BYTES, READ_WRITE, PLAIN | MAP_FIXED, -1, 0);
}

/* No descriptor: it fails, having replaced nothing. */
static void test_failure(struct scene *s)
{
    THEIRS(mmap);
    mmap_theirs(s->at, PAGE_BYTES, READ_WRITE, MAP_PRIVATE | MAP_FIXED, -1, 0);
}

static void test_madvise(struct scene *s)
{
    THEIRS(madvise);
    madvise_theirs(s->at, PAGE_BYTES, MADV_DONTNEED);
}

static void test_mprotect(struct scene *s)
{
    THEIRS(mprotect);
    mprotect_theirs(s->at, PAGE_BYTES, PROT_READ);
}

static void test_mlock(struct scene *s)
{
    THEIRS(mlock);
    THEIRS(munlock);
    mlock_theirs(s->at, PAGE_BYTES);
    munlock_theirs(s->at, PAGE_BYTES);
}

static void test_msync(struct scene *s)
{
    THEIRS(msync);
    msync_theirs(s->at, PAGE_BYTES, MS_ASYNC);
}

/* Not of a file: refused. */
static void test_remap_file_pages(struct scene *s)
{
    THEIRS(remap_file_pages);
    remap_file_pages_theirs(s->at, PAGE_BYTES, 0, 0, 0);
}

static void test_mremap(struct scene *s)
{
    THEIRS(mremap);
    char *at = mremap_theirs(s->at, PAGES * PAGE_BYTES, PAGE_BYTES, MREMAP_MAYMOVE);
    s->pages = at == MAP_FAILED ? s->pages : 1;
    s->at = at == MAP_FAILED ? s->at : at;
}

static void test_munmap(struct scene *s)
{
    THEIRS(munmap);
    munmap_theirs(s->at, s->pages * PAGE_BYTES);
}

static void test_shmat(struct scene *s)
{
    THEIRS(shmat);
    s->attached = shmat_theirs(s->segment, NULL, 0);
}

static void test_shmdt(struct scene *s)
{
    THEIRS(shmdt);
    shmdt_theirs(s->attached);
}

static void test_sbrk(struct scene *s)
{
    (void)s;
    THEIRS(sbrk);
    sbrk_theirs(0);
}

static void test_brk(struct scene *s)
{
    (void)s;
    THEIRS(brk);
    brk_theirs(NULL);
}

#define GOES RTC_EVENT_VM_UNMAPPED
#define COMES RTC_EVENT_VM_MAPPED

/* In this order. */
static const struct step {
    void (*make)(struct scene *s);
    uint32_t native, aggregate;
    bool everywhere; /* also in a sandbox */
} step[] = {
    {test_mmap, RTC_EVENT_MMAP, COMES, true},
    {test_mmap64, RTC_EVENT_MMAP, GOES | COMES, true},
    {test_failure, RTC_EVENT_MMAP, GOES | RTC_EVENT_VM_CANCELLED, true},
    {test_madvise, RTC_EVENT_MADVISE, GOES, true},
    {test_mprotect, RTC_EVENT_MPROTECT, 0, true},
    {test_mlock, RTC_EVENT_MLOCK, 0, false},
    {test_msync, RTC_EVENT_MSYNC, 0, false},
    {test_remap_file_pages, RTC_EVENT_REMAP_FILE_PAGES, 0, false},
    {test_mremap, RTC_EVENT_MREMAP, GOES | COMES, false},
    {test_munmap, RTC_EVENT_MUNMAP, GOES, true},
    {test_shmat, RTC_EVENT_SHMAT, COMES, false},
    {test_shmdt, RTC_EVENT_SHMDT, GOES, false},
    {test_sbrk, RTC_EVENT_SBRK, 0, false},
    {test_brk, RTC_EVENT_BRK, 0, false},
};

/* What did not come of what this step should lead to. */
static uint32_t try(struct scene *s, const struct step *t)
{
    bool shared = t->make == test_shmat || t->make == test_shmdt;
    uint32_t due = s->wanted & (t->native | (shared && s->segment < 0 ? 0 : t->aggregate));
    s->seen = 0;
    t->make(s);
    return due & ~s->seen;
}

static uint32_t try_all(struct scene *s)
{
    uint32_t missing = 0;
    bool closed = os_sandboxed();
    if (!closed)
        s->segment = shmget(IPC_PRIVATE, PAGE_BYTES, 0600);
    for (size_t i = 0; i < countof(step); i++)
        if (step[i].everywhere || !closed)
            missing |= try(s, &step[i]);
    if (s->segment >= 0)
        shmctl(s->segment, IPC_RMID, NULL);
    return missing;
}

static int test(uint32_t wanted, uint32_t *missing)
{
    struct scene s = {.tid = os_tid(), .wanted = wanted, .pages = PAGES, .at = MAP_FAILED, .segment = -1};
    uint32_t events = wanted ? wanted | RTC_EVENT_FLAG_NO_INSTALL : 0;
    int err = rtc_event_set_handler(events, -1, note, &s);
    if (err)
        return err;
    uint32_t lacking = try_all(&s);
    err = rtc_event_unset_handler(wanted, note, &s);
    if (missing)
        *missing = lacking;
    return err ? err : lacking ? -ENOTSUP : 0;
}

EXPORT int rtc_event_test(unsigned events, unsigned *missing)
{
    if (events & ~EVENTS_ALL)
        return -EINVAL;
    if (turns_inside())
        return -EDEADLK;
    return test(handlers_installed(events & ~EVENTS_MEM_TYPE), missing);
}

EXPORT int rtc_event_test_external(unsigned events, unsigned *missing)
{
    if (events & ~EVENTS_ALL)
        return -EINVAL;
    if (turns_inside())
        return -EDEADLK;
    return test(handlers_external(events & ~EVENTS_MEM_TYPE), missing);
}

EXPORT long rtc_event_compare(void)
{
    struct mapped_call c;
    mapped_at(&c, NULL);
    mapped_begin(&c); /* from now on there is a map */
    mapped_end(&c);
    return mapped_compare();
}

EXPORT const char *rtc_event_name(unsigned event)
{
    switch (event) {
#define NAME(name) case RTC_EVENT_##name: return #name
    NAME(MMAP); NAME(MUNMAP); NAME(MREMAP); NAME(SHMAT); NAME(SHMDT); NAME(SBRK); NAME(MADVISE);
    NAME(BRK); NAME(MPROTECT); NAME(MLOCK); NAME(MSYNC); NAME(REMAP_FILE_PAGES);
    NAME(VM_MAPPED); NAME(VM_UNMAPPED); NAME(VM_CANCELLED);
    NAME(MEM_TYPE_ALLOC); NAME(MEM_TYPE_FREE);
#undef NAME
    default: return NULL;
    }
}

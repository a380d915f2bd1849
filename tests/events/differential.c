/*
 * differential.c - compares the mappings known from events with those of the kernel.
 *
 *     differential SEED OPERATIONS THREADS [EVERY [behind|unheard|reconciled]]
 *
 * Operations at random: every call, every flag, valid and invalid, on an arena of each thread and on mappings placed
 * by the kernel.  A map is kept from events alone (feed.c), and after EVERY operations (1000), when all threads
 * rest, compared with /proc/self/maps: range, rights, file, offset.  The first difference ends the run, which prints
 * how to repeat it; with one thread a smaller EVERY then finds the operation (under `setarch -R`, so that the kernel
 * uses the same addresses).
 *
 * `behind`: every other call is a raw system call, which no library in front of libc intercepts (raw_calls.h).
 *
 * `unheard`: there are no handlers, as in nearly all programs, and no map but the runtime's, which must equal the
 * kernel's.  `reconciled`: the same, with every other call a raw system call: a range is right once it was compared.
 * Both end by SIGKILL after printing the kernel's mappings in the arenas, for the reader of the run file.
 *
 * rtc-build: ranges +feed.c -pthread
 */
#include "feed.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "raw_calls.h"
#include "rtcheck/event.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

#define THREADS_MAX 8u
#define ARENA_PAGES 96ull
#define ARENA_AT \
    0x200000000000ull /* far below the kernel's own choices, so that holes stay holes */
#define ARENA_STRIDE (1ull << 30)
#define PLACED_MAX 24u
#define FILES 3u
#define SEGMENTS 4u

struct actor {
    uint64_t random;
    uint64_t arena;
    bool has_break; /* there is one break: one thread moves it */
    uint64_t break_floor;
    struct placed {
        uint64_t at, bytes;
    } placed[PLACED_MAX];
    uint64_t done, failed;
    char last[128];
};

static int file[FILES], segment[SEGMENTS];
static struct actor actor[THREADS_MAX];
static unsigned threads;
static uint64_t every;
static pthread_barrier_t rest;
static volatile bool over;
static enum { FED, UNHEARD, RECONCILED } how;

/* The range that `at` lies in, as far as is known. */
static bool find(uint64_t at, struct map_region *r)
{
    return how == FED ? feed_find(at, r) : feed_find_kernels(at, r);
}

static uint64_t draw(struct actor *a, uint64_t below)
{
    a->random ^= a->random << 13;
    a->random ^= a->random >> 7;
    a->random ^= a->random << 17;
    return (a->random >> 11) % below;
}

static bool one_in(struct actor *a, uint64_t n)
{
    return draw(a, n) == 0;
}

/* ---- where -------------------------------------------------------------------------------------- */

struct where {
    uint64_t at, bytes;
};

/* A range of the arena: it may have holes, and several mappings. */
static struct where somewhere(struct actor *a)
{
    uint64_t page = draw(a, ARENA_PAGES), pages = 1 + draw(a, one_in(a, 8) ? 40 : 6);
    pages = pages < ARENA_PAGES - page ? pages : ARENA_PAGES - page;
    struct where w = {a->arena + page * FEED_PAGE, pages * FEED_PAGE};
    if (one_in(a, 5))
        w.bytes -= draw(a, FEED_PAGE - 1); /* the kernel rounds up */
    return w;
}

/* A range placed by the kernel for this thread is all mapped as long as it is in `placed`. */
static struct where something(struct actor *a)
{
    const struct placed *p = &a->placed[draw(a, PLACED_MAX)];
    if (!one_in(a, 3) || !p->bytes)
        return somewhere(a);
    uint64_t skip = draw(a, p->bytes / FEED_PAGE) * FEED_PAGE;
    return (struct where){p->at + skip, FEED_PAGE * (1 + draw(a, (p->bytes - skip) / FEED_PAGE))};
}

/* For calls that may unmap: a part of the arena, or a whole placed range, which is removed. */
static struct where something_to_lose(struct actor *a)
{
    struct placed *p = &a->placed[draw(a, PLACED_MAX)];
    if (!one_in(a, 3) || !p->bytes)
        return somewhere(a);
    struct where w = {p->at, p->bytes};
    p->bytes = 0;
    return w;
}

/* Store a range placed by the kernel, in place of another one, for later use. */
static void remember(struct actor *a, void *at, uint64_t bytes)
{
    uint64_t start = (uintptr_t)at;
    if (at == MAP_FAILED || start - a->arena < ARENA_PAGES * FEED_PAGE)
        return;
    struct placed *p = &a->placed[draw(a, PLACED_MAX)];
    if (p->bytes)
        munmap((void *)p->at, p->bytes);
    *p = (struct placed){start, (bytes + FEED_PAGE - 1) & -FEED_PAGE};
}

/* ---- arguments ------------------------------------------------------------------------------------ */

static int rights(struct actor *a)
{
    return (int)draw(a, 8); /* every combination of the three */
}

static int map_flags(struct actor *a)
{
    static const int more[] = {MAP_NORESERVE, MAP_POPULATE, MAP_STACK,     MAP_LOCKED,    MAP_32BIT,
                               MAP_DENYWRITE, MAP_NONBLOCK, MAP_GROWSDOWN, MAP_EXECUTABLE};
    int flags = one_in(a, 2) ? MAP_PRIVATE : one_in(a, 4) ? MAP_SHARED_VALIDATE : MAP_SHARED;
    if (one_in(a, 4))
        flags |= more[draw(a, sizeof more / sizeof more[0])];
    if (one_in(a, 60)) /* there are none: an error */
        flags = (flags & ~MAP_NORESERVE) | MAP_HUGETLB;
    if (one_in(a, 60))
        flags &= ~MAP_TYPE;
    return flags;
}

static bool call_mmap(struct actor *a)
{
    struct where w = somewhere(a);
    int flags = map_flags(a), fd = file[draw(a, FILES)];
    off_t offset = (off_t)(draw(a, 20) * FEED_PAGE);
    uint64_t how = draw(a, 10);
    void *hint = NULL;
    if (one_in(a, 2)) {
        flags |= MAP_ANONYMOUS;
        fd = -1;
    } else if (one_in(a, 30))
        fd = 9999;
    if (how < 6) {
        hint = (void *)(w.at + (one_in(a, 50) ? 1 : 0));
        flags |= how < 5 ? MAP_FIXED : MAP_FIXED_NOREPLACE;
    } else if (how == 6)
        hint = (void *)w.at;
    if (one_in(a, 50))
        w.bytes = one_in(a, 2) ? 0 : SIZE_MAX - draw(a, 9999);
    if (one_in(a, 50))
        offset += 1;
    if (hint == NULL && flags & MAP_GROWSDOWN)
        flags &= ~MAP_GROWSDOWN;
    snprintf(a->last, sizeof a->last, "mmap %p %lx %x fd %d %lx", hint, w.bytes, flags, fd,
             (long)offset);
    void *at = one_in(a, 2) ? mmap(hint, w.bytes, rights(a), flags, fd, offset)
                            : mmap64(hint, w.bytes, rights(a), flags, fd, offset);
    remember(a, at, w.bytes);
    return at != MAP_FAILED;
}

static bool call_munmap(struct actor *a)
{
    struct where w = something_to_lose(a);
    if (w.at - a->arena >= ARENA_PAGES * FEED_PAGE)
        return munmap((void *)w.at, w.bytes) == 0;
    if (one_in(a, 40))
        w.bytes = one_in(a, 2) ? 0 : SIZE_MAX - draw(a, 9999);
    if (one_in(a, 40))
        w.at += 8;
    snprintf(a->last, sizeof a->last, "munmap %lx %lx", w.at, w.bytes);
    return munmap((void *)w.at, w.bytes) == 0;
}

static bool call_mremap(struct actor *a)
{
    struct where from = something_to_lose(a), whole = from, to = somewhere(a);
    uint64_t old = from.bytes, new = one_in(a, 2) ? old : to.bytes;
    int flags = one_in(a, 5) ? 0 : MREMAP_MAYMOVE;
    void *target = (void *)to.at;
    struct map_region r;
    if (one_in(a, 3)) {
        flags |= MREMAP_FIXED;
        target = (void *)(to.at + (one_in(a, 40) ? 4 : 0));
        if (to.at + new > a->arena + ARENA_PAGES * FEED_PAGE)
            new = to.bytes;
    } else if (one_in(a, 5)) {
        flags |= MREMAP_DONTUNMAP;
        target = NULL;
        new = old;
    }
    if (one_in(a, 20))
        old = 0;
    if (one_in(a, 40))
        new = 0;
    if (one_in(a, 40))
        from.at += 1;
    if (one_in(a, 60))
        flags |= 64;
    /* No map can represent an attachment that is longer than its segment: shmdt checks its parts. */
    if (find(from.at, &r) && r.device == DEVICE_SHM && new > r.end - from.at)
        new = r.end - from.at;
    snprintf(a->last, sizeof a->last, "mremap %lx %lx %lx flags %x to %p", from.at, old, new, flags,
             target);
    void *at = mremap((void *)from.at, old, new, flags, target);
    if (at == MAP_FAILED)
        snprintf(a->last + strlen(a->last), sizeof a->last - strlen(a->last), ": %s",
                 strerror(errno));
    if (at == MAP_FAILED || flags & MREMAP_DONTUNMAP || !old)
        remember(a, (void *)whole.at, whole.bytes); /* the mapping still exists */
    remember(a, at, new);
    return at != MAP_FAILED;
}

static bool call_mprotect(struct actor *a)
{
    struct where w = something(a);
    int prot = rights(a);
    struct map_region r;
    /* For read-only attachments the kernel refuses PROT_WRITE after it has changed the pages before. */
    for (uint64_t at = w.at; prot & PROT_WRITE && at < w.at + w.bytes; at += FEED_PAGE)
        if (find(at, &r)) {
            prot &= r.device == DEVICE_SHM ? ~PROT_WRITE : prot;
            at = r.end - FEED_PAGE;
        }
    if (one_in(a, 40))
        w.at += 8;
    snprintf(a->last, sizeof a->last, "mprotect %lx %lx %d", w.at, w.bytes, prot);
    if (one_in(a, 4))
        return pkey_mprotect((void *)w.at, w.bytes, prot, -1) == 0;
    return mprotect((void *)w.at, w.bytes, prot) == 0;
}

static bool call_madvise(struct actor *a)
{
    static const int all[] = {MADV_NORMAL,     MADV_RANDOM,        MADV_SEQUENTIAL,
                              MADV_WILLNEED,   MADV_DONTNEED,      MADV_FREE,
                              MADV_REMOVE,     MADV_DONTFORK,      MADV_DOFORK,
                              MADV_MERGEABLE,  MADV_UNMERGEABLE,   MADV_HUGEPAGE,
                              MADV_NOHUGEPAGE, MADV_DONTDUMP,      MADV_DODUMP,
                              MADV_WIPEONFORK, MADV_KEEPONFORK,    MADV_COLD,
                              MADV_PAGEOUT,    MADV_POPULATE_READ, 999};
    struct where w = something(a);
    int advice = all[draw(a, sizeof all / sizeof all[0])];
    snprintf(a->last, sizeof a->last, "madvise %lx %lx %d", w.at, w.bytes, advice);
    if (one_in(a, 5))
        return posix_madvise((void *)w.at, w.bytes, (int)draw(a, 6)) == 0;
    return madvise((void *)w.at, w.bytes, advice) == 0;
}

static bool call_shmat(struct actor *a)
{
    static const int more[] = {0, 0, SHM_RDONLY, SHM_EXEC, SHM_RND, SHM_RND};
    struct where w = somewhere(a);
    int flags = more[draw(a, sizeof more / sizeof more[0])], id = segment[draw(a, SEGMENTS)];
    uint64_t at = 0;
    if (w.at > a->arena + (ARENA_PAGES - 5) * FEED_PAGE)
        w.at -= 5 * FEED_PAGE;
    if (one_in(a, 2)) {
        flags |= one_in(a, 2) ? SHM_REMAP : 0;
        at = w.at + (flags & SHM_RND ? draw(a, FEED_PAGE) : one_in(a, 30));
    }
    if (one_in(a, 40))
        id = -1;
    snprintf(a->last, sizeof a->last, "shmat %d %lx %x", id, at, flags);
    void *got = shmat(id, (void *)at, flags);
    struct shmid_ds ds;
    if (got != MAP_FAILED && shmctl(id, IPC_STAT, &ds) == 0)
        remember(a, got, ds.shm_segsz);
    return got != MAP_FAILED;
}

/* The start of an attachment, present or past. */
static bool call_shmdt(struct actor *a)
{
    struct where w = somewhere(a);
    struct map_region r;
    if (find(w.at, &r) && r.device == DEVICE_SHM)
        w.at = r.start - (one_in(a, 2) ? r.offset : 0);
    snprintf(a->last, sizeof a->last, "shmdt %lx", w.at);
    return shmdt((void *)w.at) == 0;
}

static bool call_break(struct actor *a)
{
    uint64_t now = (uintptr_t)sbrk(0), to = a->break_floor + draw(a, 20 * FEED_PAGE);
    if (!a->has_break)
        return false;
    snprintf(a->last, sizeof a->last, "break %lx to %lx", now, to);
    if (one_in(a, 30))
        return sbrk(INTPTR_MAX) != MAP_FAILED || brk((void *)1) == 0;
    return one_in(a, 2) ? brk((void *)to) == 0 : sbrk((intptr_t)(to - now)) != MAP_FAILED;
}

static bool call_file_pages(struct actor *a)
{
    struct where w = something(a);
    struct map_region r;
    if (find(w.at, &r) && r.device == DEVICE_SHM) /* as with mremap */
        return false;
    if (!one_in(a, 5) && find(w.at, &r) && w.bytes > r.end - w.at)
        w.bytes = r.end - w.at;
    int prot = one_in(a, 20) ? PROT_READ : 0, flags = one_in(a, 3) ? MAP_NONBLOCK : 0;
    uint64_t page = draw(a, 30);
    snprintf(a->last, sizeof a->last, "remap_file_pages %lx %lx %d %lx", w.at, w.bytes, prot, page);
    return remap_file_pages((void *)w.at, w.bytes, prot, page, flags) == 0;
}

static bool call_lock(struct actor *a)
{
    struct where w = something(a);
    snprintf(a->last, sizeof a->last, "locks %lx %lx", w.at, w.bytes);
    switch (draw(a, 4)) {
    case 0:
        return mlock((void *)w.at, w.bytes) == 0;
    case 1:
        return mlock2((void *)w.at, w.bytes, MLOCK_ONFAULT) == 0;
    case 2:
        return msync((void *)w.at, w.bytes, MS_ASYNC) == 0;
    default:
        return munlock((void *)w.at, w.bytes) == 0;
    }
}

/* ---- running --------------------------------------------------------------------------------------- */

static void act(struct actor *a)
{
    static bool (*const calls[])(struct actor *) = {
        call_mmap,   call_mmap,   call_mmap,       call_mmap,     call_munmap,  call_munmap,
        call_mremap, call_mremap, call_mprotect,   call_mprotect, call_madvise, call_shmat,
        call_shmdt,  call_break,  call_file_pages, call_lock};
    a->failed += !calls[draw(a, sizeof calls / sizeof calls[0])](a);
    a->done++;
}

static void *run(void *arg)
{
    struct actor *a = arg;
    pthread_barrier_wait(&rest); /* all stacks are mapped; libc maps them without events */
    while (!over) {
        for (uint64_t i = 0; i < every; i++)
            act(a);
        pthread_barrier_wait(&rest);
        pthread_barrier_wait(&rest); /* while main compares */
    }
    return NULL;
}

static void set_up(uint64_t seed)
{
    for (unsigned i = 0; i < FILES; i++) {
        file[i] = i ? memfd_create("file", 0) : open("/dev/zero", O_RDWR);
        if (file[i] < 0 || (i && ftruncate(file[i], 64 << 12)))
            abort();
    }
    for (unsigned i = 0; i < SEGMENTS; i++) {
        segment[i] = shmget(IPC_PRIVATE, 1000 + i * FEED_PAGE, IPC_CREAT | 0600);
        if (segment[i] < 0)
            abort();
    }
    uint64_t now = (uintptr_t)sbrk(0);
    for (unsigned i = 0; i < threads; i++)
        actor[i] = (struct actor){.random = (seed + 1) * 0x9e3779b97f4a7c15ull + i * 77777,
                                  .arena = ARENA_AT + i * ARENA_STRIDE,
                                  .has_break = i == 0,
                                  .break_floor = now};
}

static void tear_down(void)
{
    for (unsigned i = 0; i < SEGMENTS; i++)
        shmctl(segment[i], IPC_RMID, NULL);
}

static unsigned compare(void)
{
    unsigned differences = how == FED ? feed_compare() : 0;
    if (how == RECONCILED && rtc_event_compare() < 0)
        abort();
    long own = rtc_event_compare();
    if (own)
        fprintf(stderr, "differs: the runtime's map says %ld\n", own);
    return differences + (own != 0);
}

/* As /proc/self/maps has them, then the end. */
static void leave_arenas(void)
{
    char line[1024];
    unsigned long start;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%lx", &start) == 1 && start - ARENA_AT < THREADS_MAX * ARENA_STRIDE)
            fputs(line, stdout);
    fflush(stdout);
    raise(SIGKILL);
}

static void take_way(const char *name)
{
    how = strcmp(name, "unheard") == 0      ? UNHEARD
          : strcmp(name, "reconciled") == 0 ? RECONCILED
                                            : FED;
    calls_bypassing = how == RECONCILED || strcmp(name, "behind") == 0;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t operations = argc > 2 ? strtoull(argv[2], NULL, 0) : 20000, done = 0, failed = 0;
    threads = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    every = argc > 4 ? strtoull(argv[4], NULL, 0) : 1000;
    const char *way = argc > 5 ? argv[5] : "";
    take_way(way);
    if (!rtc_event_set_handler || threads < 1 || threads > THREADS_MAX || !every)
        return 2;
    set_up(seed);
    pthread_t thread[THREADS_MAX];
    pthread_barrier_init(&rest, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, run, &actor[i]))
            abort();
    unsigned differences = 0;
    if (how == FED)
        feed_start();
    rtc_event_compare();
    pthread_barrier_wait(&rest);
    while (!over) {
        pthread_barrier_wait(&rest);
        differences = compare();
        done += every * threads;
        over = differences || done >= operations;
        pthread_barrier_wait(&rest);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        failed += actor[i].failed;
    }
    tear_down();
    printf("%u differences, %lu operations, %lu failed, %u ranges\n", differences, done, failed,
           feed_ranges());
    if (differences)
        fprintf(stderr, "to have it again: differential %lu %lu %u %lu %s\n", seed, done, threads,
                every, way);
    for (unsigned i = 0; differences && i < threads; i++)
        fprintf(stderr, "  last: %s\n", actor[i].last);
    if (how != FED && !differences)
        leave_arenas();
    return differences != 0;
}

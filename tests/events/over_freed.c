/*
 * over_freed.c - maps over freed blocks, which native malloc allows, and over blocks in use.
 *
 *     over_freed CASE
 *
 * Ends with 0 if the call did what it should, and if no later block lies in the mapping, whose bytes stay
 * what the program wrote there.
 *
 * rtc-build: -pthread -fno-builtin
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rtcheck/event.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define PAGE 4096ul
#define MIB (1ul << 20)
#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)
#define READ_WRITE (PROT_READ | PROT_WRITE)
#define must(condition) ((condition) ? (void)0 : _exit(9))

struct pages {
    char *at;
    size_t bytes;
};

static struct pages inside(char *block, size_t bytes)
{
    char *at = (char *)(((uintptr_t)block + PAGE - 1) & -PAGE);
    return (struct pages){at, (size_t)(block + bytes - at) & -PAGE};
}

static struct pages part(struct pages p, size_t from, size_t count)
{
    return (struct pages){p.at + from * PAGE, count * PAGE};
}

static char *block_of(size_t bytes)
{
    char *block = malloc(bytes);
    must(block != NULL);
    memset(block, 1, bytes);
    return block;
}

static struct pages freed(size_t bytes)
{
    char *block = block_of(bytes);
    struct pages p = inside(block, bytes);
    free(block);
    return p;
}

static void map_over(struct pages p)
{
    must(mmap(p.at, p.bytes, READ_WRITE, PLAIN | MAP_FIXED, -1, 0) == p.at);
    must(p.at[0] == 0 && p.at[p.bytes - 1] == 0);
    memset(p.at, 7, p.bytes);
}

static void is_refused(struct pages p)
{
    must(mmap(p.at, p.bytes, READ_WRITE, PLAIN | MAP_FIXED, -1, 0) == MAP_FAILED &&
         errno == ENOMEM);
}

static void still_has(struct pages p, char byte)
{
    for (size_t i = 0; i < p.bytes; i++)
        must(p.at[i] == byte);
}

/* Blocks of many sizes, more than are freed in any case: all that is free is used. */
static void allocate_beside(struct pages p)
{
    static const size_t sizes[] = {24, 200, 3000, 20000, 70000, 300000, MIB, 9 * MIB};
    static char *block[8][400];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < (i < 4 ? 400 : 16); j++) {
            char *b = block[i][j] = malloc(sizes[i]);
            must(b && (b + sizes[i] <= p.at || b >= p.at + p.bytes));
            memset(b, 3, sizes[i] < MIB ? sizes[i] : 1);
        }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < (i < 4 ? 400 : 16); j++)
            free(block[i][j]);
}

/* As long as the mapping exists the allocator does not use it; after munmap its place is unmapped. */
static void use(struct pages p)
{
    allocate_beside(p);
    still_has(p, 7);
    must(munmap(p.at, p.bytes) == 0);
    must(msync(p.at, p.bytes, MS_ASYNC) == -1 && errno == ENOMEM);
    allocate_beside(p);
}

/* ---- freed memory ------------------------------------------------------------------------------- */

static void large_whole(void)
{
    struct pages p = freed(8 * MIB);
    map_over(p);
    use(p);
}

static void large_middle(void)
{
    struct pages p = part(freed(MIB), 20, 40);
    map_over(p);
    use(p);
}

/* This one keeps its fill in the quarantine. */
static void large_filled(void)
{
    struct pages p = freed(100000);
    map_over(p);
    use(p);
}

static void two_and_between(void)
{
    char *first = block_of(2 * MIB), *second = block_of(MIB);
    must(second - first > (ptrdiff_t)(2 * MIB) &&
         second - first < (ptrdiff_t)(2 * MIB + 128 * 1024));
    must(realloc(first, MIB) == first);
    struct pages p = inside(first, (size_t)(second - first) + MIB);
    free(second);
    free(first);
    map_over(p);
    use(p);
}

#define SLOTS 400
static char *slot[SLOTS];

/*
 * A page between blocks of one slab, all free but one, if that is kept.  Beside it lie the block that left the
 * quarantine last, now in the thread's cache, and the first one in the quarantine (256 KiB, 85 slots).
 */
static struct pages freed_slab(bool keep_one)
{
    enum { WAIT = 85, CACHED = SLOTS / 2 };
    for (int i = 0; i < SLOTS; i++)
        slot[i] = block_of(3000);
    for (int i = CACHED + WAIT + 1; i < SLOTS; i++)
        free(slot[i]);
    for (int i = 0; i <= CACHED + WAIT; i++)
        if (!keep_one || i != CACHED + 1)
            free(slot[i]);
    return (struct pages){(char *)((uintptr_t)slot[CACHED + 1] & -PAGE), PAGE};
}

static void slab(void)
{
    struct pages p = freed_slab(false);
    map_over(p);
    use(p);
}

static void twice(void)
{
    struct pages whole = freed(4 * MIB), p = part(whole, 100, 4), q = part(whole, 104, 4),
                 both = part(whole, 90, 40);
    map_over(p);
    map_over(q);
    still_has(p, 7);
    map_over(both);
    use(both);
}

/* From a freed block over the heap's reserved memory, which the heap uses later. */
static void beyond_the_end(void)
{
    struct pages p = freed(300 * MIB);
    p.bytes += 100 * MIB;
    must(mmap(p.at, p.bytes, READ_WRITE, PLAIN | MAP_FIXED | MAP_NORESERVE, -1, 0) == p.at);
    p.at[p.bytes - 1] = 7;
    for (int i = 0; i < 8; i++) {
        char *b = malloc(128 * MIB);
        must(b && (b + 128 * MIB <= p.at || b >= p.at + p.bytes));
        b[0] = b[128 * MIB - 1] = 3;
    }
    must(p.at[p.bytes - 1] == 7 && p.at[p.bytes - PAGE] == 0);
}

/* ---- by other calls ----------------------------------------------------------------------------- */

static void none(void)
{
    struct pages p = freed(MIB);
    must(mmap(p.at, p.bytes, PROT_NONE, PLAIN | MAP_FIXED, -1, 0) == p.at);
    allocate_beside(p);
    must(mprotect(p.at, p.bytes, PROT_READ) == 0 && p.at[PAGE] == 0 &&
         mprotect(p.at, p.bytes, PROT_NONE) == 0);
}

/* The heap is mapped still. */
static void no_replace(void)
{
    struct pages p = freed(MIB);
    must(mmap(p.at, p.bytes, READ_WRITE, PLAIN | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED &&
         errno == EEXIST);
}

static void moved(void)
{
    struct pages p = freed(MIB);
    char *from = mmap(NULL, p.bytes, READ_WRITE, PLAIN, -1, 0);
    must(from != MAP_FAILED);
    memset(from, 7, p.bytes);
    must(mremap(from, p.bytes, p.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, p.at) == p.at);
    use(p);
}

static void attached(void)
{
    struct pages p = freed(MIB);
    int id = shmget(IPC_PRIVATE, p.bytes, 0600);
    must(id >= 0);
    bool done = shmat(id, p.at, SHM_REMAP) == p.at;
    must(shmctl(id, IPC_RMID, NULL) == 0 && done);
    memset(p.at, 7, p.bytes);
    allocate_beside(p);
    still_has(p, 7);
    must(shmdt(p.at) == 0);
    allocate_beside(p);
}

static void by_original(void)
{
    struct pages p = freed(MIB);
    must(rtc_orig_mmap(p.at, p.bytes, READ_WRITE, PLAIN | MAP_FIXED, -1, 0) == p.at);
    memset(p.at, 7, p.bytes);
    use(p);
}

static volatile size_t notified; /* libc declares mmap as a leaf function */

static void on_event(unsigned type, union rtc_event *e, void *arg)
{
    (void)arg;
    notified += type == RTC_EVENT_VM_MAPPED ? e->vm_mapped.size : 0;
}

/* Freed blocks wait for a handler before they come into the quarantine. */
static void with_handlers(void)
{
    must(rtc_event_set_handler(RTC_EVENT_VM_MAPPED | RTC_EVENT_VM_UNMAPPED, 0, on_event, NULL) ==
         0);
    struct pages p = freed(8 * MIB);
    notified = 0;
    map_over(p);
    must(notified == p.bytes);
    use(p);
}

/* ---- records of freed memory -------------------------------------------------------------------- */

static void free_late(void)
{
    char *block = block_of(MIB);
    struct pages p = inside(block, MIB);
    free(block);
    map_over(p);
    free(p.at + PAGE);
    use(p);
}

static void free_late_of_slab(void)
{
    struct pages p = freed_slab(false);
    map_over(p);
    free(slot[SLOTS / 2 + 1]);
    still_has(p, 7);
}

/* Written before the mapping came, and not by the mapping. */
static void written_before(void)
{
    char *block = block_of(100000);
    struct pages p = inside(block, 100000);
    free(block);
    *(volatile char *)(block + 5) = 9;
    map_over(p);
    use(p);
}

static void **hold(size_t bytes)
{
    struct pages p = freed(MIB);
    map_over(p);
    memset(p.at, 0, p.bytes);
    void **at = (void **)(void *)p.at;
    at[3] = malloc(bytes);
    return at;
}

static void holds_a_block(void)
{
    must(hold(4321)[3] != NULL);
}

static void held_a_block(void)
{
    must(munmap(hold(4321), PAGE) == 0);
}

/* ---- processes and threads ---------------------------------------------------------------------- */

static void forked(void)
{
    struct pages p = freed(4 * MIB);
    map_over(p);
    pid_t child = fork();
    if (child == 0) {
        still_has(p, 7);
        use(p);
        struct pages q = freed(4 * MIB);
        map_over(q);
        use(q);
        _exit(0);
    }
    int status;
    must(waitpid(child, &status, 0) == child && status == 0);
    use(p);
}

/* The child does it to a block of its parent's. */
static void forked_before(void)
{
    struct pages p = freed(4 * MIB), q = freed_slab(false);
    pid_t child = fork();
    if (child == 0) {
        map_over(p);
        map_over(q);
        use(p);
        _exit(0);
    }
    int status;
    must(waitpid(child, &status, 0) == child && status == 0);
    map_over(p);
    map_over(q);
    use(p);
}

static atomic_bool over;

static void *allocate(void *seed)
{
    char *block[64] = {NULL};
    size_t size[64] = {0};
    for (unsigned i = 0, r = (unsigned)(uintptr_t)seed; !over || i < 64; i++) {
        r = r * 1103515245u + 12345u;
        unsigned n = r >> 16 & 63;
        for (size_t k = 0; k < size[n]; k++)
            must(block[n][k] == (char)n);
        free(block[n]);
        size[n] = 1 + (r >> 8) % 9000;
        block[n] = malloc(size[n]);
        must(block[n] != NULL);
        memset(block[n], (int)n, size[n]);
    }
    for (int n = 0; n < 64; n++)
        free(block[n]);
    return NULL;
}

/* On a busy machine stopping the other threads may time out: then the mapping is refused, and repeated. */
static void beside_threads(void)
{
    pthread_t thread[3];
    for (uintptr_t i = 0; i < 3; i++)
        must(pthread_create(&thread[i], NULL, allocate, (void *)(i + 1)) == 0);
    for (int done = 0, tries = 0; done < 100; tries++) {
        must(tries < 10000);
        struct pages p = part(freed(2 * MIB), 7, 100);
        if (mmap(p.at, p.bytes, READ_WRITE, PLAIN | MAP_FIXED, -1, 0) != p.at)
            continue;
        memset(p.at, 7, p.bytes);
        for (int i = 0; i < 100; i++)
            free(malloc(3000));
        still_has(p, 7);
        must(done++ % 2 || munmap(p.at, p.bytes) == 0);
    }
    over = true;
    for (int i = 0; i < 3; i++)
        must(pthread_join(thread[i], NULL) == 0);
}

/* Blocks in the quarantine and the cache of another thread. */
static void *free_slab(void *where)
{
    *(struct pages *)where = freed_slab(false);
    while (!over)
        usleep(1000);
    for (int i = 0; i < SLOTS; i++)
        slot[i] = block_of(3000);
    return NULL;
}

static void of_another_thread(void)
{
    static struct pages volatile p;
    pthread_t thread;
    must(pthread_create(&thread, NULL, free_slab, (void *)(uintptr_t)&p) == 0);
    while (!*(size_t volatile *)&p.bytes)
        usleep(1000);
    struct pages own = p;
    map_over(own);
    over = true;
    must(pthread_join(thread, NULL) == 0);
    still_has(own, 7);
    for (int i = 0; i < SLOTS; i++) {
        must(slot[i] + 3000 <= own.at || slot[i] >= own.at + own.bytes);
        free(slot[i]);
    }
    use(own);
}

/* ---- memory in use ------------------------------------------------------------------------------ */

static void over_a_live_slot(void)
{
    is_refused(freed_slab(true));
}

static void over_a_live_neighbour(void)
{
    char *first = block_of(MIB), *second = block_of(MIB);
    must(second > first);
    struct pages p = inside(first, (size_t)(second - first) + MIB / 2);
    free(first);
    is_refused(p);
    still_has((struct pages){second, MIB}, 1);
    free(second);
    map_over(p);
    use(p);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        /* clang-format off */
        {"large_whole", large_whole}, {"large_middle", large_middle}, {"large_filled", large_filled},
        {"two_and_between", two_and_between}, {"slab", slab}, {"twice", twice}, {"beyond_the_end", beyond_the_end},
        {"none", none}, {"no_replace", no_replace}, {"moved", moved}, {"attached", attached},
        {"by_original", by_original}, {"with_handlers", with_handlers}, {"free_late", free_late},
        {"free_late_of_slab", free_late_of_slab}, {"written_before", written_before},
        {"holds_a_block", holds_a_block}, {"held_a_block", held_a_block}, {"forked", forked},
        {"forked_before", forked_before}, {"beside_threads", beside_threads}, {"of_another_thread", of_another_thread},
        {"over_a_live_slot", over_a_live_slot}, {"over_a_live_neighbour", over_a_live_neighbour},
        /* clang-format on */
    };
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) {
            cases[i].run();
            return 0;
        }
    return 2;
}

/*
 * heap.c - a cache of registered memory, keyed by address, over blocks that are allocated and freed:
 * does it ever contain memory that is no longer mapped?
 *
 *     heap HOW BLOCKS THREADS       HOW, the source of events: rtcheck, ucm, or deaf (none)
 *
 * To register a page is to put it into a pipe (vmsplice): the pipe holds the page itself, whatever
 * happens to its address.  A registered page is checked by writing to its address and reading the pipe:
 * if the bytes differ, the cache is stale.  A network card would read the same bytes.  The second page
 * of each block is registered; the cache removes a page on VM_UNMAPPED, and counts the events and
 * removals.
 *
 * rtc-build: -pthread
 */
#include <assert.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rtcheck/event.h"

#define PAGE 4096ul
#define ENTRIES 64u
#define THREADS_MAX 8u
#define LIVE 6u
#define VM_UNMAPPED RTC_EVENT_VM_UNMAPPED /* ucm has the same number */

struct entry {
    _Atomic uintptr_t page; /* 0: none */
    int end[2];             /* the pipe */
};

/* One for each thread; events may arrive in any thread. */
static struct entry cache[THREADS_MAX][ENTRIES];
static _Atomic unsigned long notified, forgotten, hits, stale;
static unsigned long blocks;

/* ---- the cache ------------------------------------------------------------------------------ */

static void forget(unsigned type, union rtc_event *e, void *arg)
{
    uintptr_t from = (uintptr_t)e->vm_unmapped.address, to = from + e->vm_unmapped.size;
    (void)type, (void)arg;
    notified++;
    for (unsigned t = 0; t < THREADS_MAX; t++)
        for (unsigned i = 0; i < ENTRIES; i++) {
            uintptr_t page = cache[t][i].page;
            if (page >= from && page < to &&
                atomic_compare_exchange_strong(&cache[t][i].page, &page, 0))
                forgotten++;
        }
}

static void insert(struct entry *e, uintptr_t page)
{
    struct iovec one = {(void *)page, PAGE};
    char old[PAGE];
    while (read(e->end[0], old, sizeof old) > 0)
        ;
    assert(vmsplice(e->end[1], &one, 1, 0) == (ssize_t)PAGE);
    e->page = page;
}

static struct entry *find(struct entry *own, uintptr_t page)
{
    for (unsigned i = 0; i < ENTRIES; i++)
        if (own[i].page == page)
            return &own[i];
    return NULL;
}

static void look_at(struct entry *e, volatile uint64_t *word)
{
    static _Atomic uint64_t serial;
    uint64_t seen[PAGE / sizeof(uint64_t)];
    uint64_t now = ++serial;
    *word = now;
    assert(read(e->end[0], seen, sizeof seen) == (ssize_t)sizeof seen);
    hits++;
    stale += seen[0] != now;
}

static void use(struct entry *own, unsigned *oldest, char *block)
{
    uintptr_t page = ((uintptr_t)block + 2 * PAGE - 1) & -PAGE;
    struct entry *e = find(own, page);
    if (e)
        look_at(e, (void *)page);
    *(volatile uint64_t *)page = 0; /* the page is mapped */
    insert(e ? e : &own[(*oldest)++ % ENTRIES], page);
}

/* ---- blocks --------------------------------------------------------------------------------- */

static void *run(void *arg)
{
    struct entry *own = arg;
    unsigned oldest = 0, seed = (unsigned)(own - cache[0]) + 1;
    char *live[LIVE] = {0};
    for (unsigned i = 0; i < ENTRIES; i++)
        assert(pipe2(own[i].end, O_NONBLOCK) == 0);
    for (unsigned long n = 0; n < blocks; n++) {
        char **block = &live[(unsigned)rand_r(&seed) % LIVE];
        size_t bytes = 3 * PAGE << (unsigned)rand_r(&seed) % 11; /* to 12 MiB */
        if (*block && rand_r(&seed) % 4 == 0)
            assert(*block = realloc(*block, bytes));
        else {
            free(*block);
            assert(*block = malloc(bytes));
        }
        use(own, &oldest, *block);
    }
    for (unsigned i = 0; i < LIVE; i++)
        free(live[i]);
    return NULL;
}

/* ---- sources of events ---------------------------------------------------------------------- */

static void listen_to_ucm(void)
{
    int (*set)(int, int, void (*)(unsigned, union rtc_event *, void *), void *);
    assert(dlopen("libucs.so.0", RTLD_NOW | RTLD_GLOBAL)); /* initialises libucm */
    void *library = dlopen("libucm.so.0", RTLD_NOW),
         *f = library ? dlsym(library, "ucm_set_event_handler") : NULL;
    assert(f);
    memcpy(&set, &f, sizeof f);
    assert(set(VM_UNMAPPED, 0, forget, NULL) == 0);
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS_MAX];
    assert(argc == 4);
    unsigned threads = (unsigned)atoi(argv[3]);
    assert(threads && threads <= THREADS_MAX);
    blocks = strtoul(argv[2], NULL, 10);
    if (strcmp(argv[1], "ucm") == 0)
        listen_to_ucm();
    else if (strcmp(argv[1], "rtcheck") == 0)
        assert(rtc_event_set_handler(VM_UNMAPPED, 0, forget, NULL) == 0);
    for (unsigned i = 0; i < threads; i++)
        assert(pthread_create(&thread[i], NULL, run, cache[i]) == 0);
    for (unsigned i = 0; i < threads; i++)
        assert(pthread_join(thread[i], NULL) == 0);
    printf("%lu told, %lu forgotten, %lu hits, %lu stale\n", notified, forgotten, hits, stale);
    return 0;
}

/*
 * rows_heap.c - malloc and free of a program with handlers of mappings, like the tests of ucm:
 * growth and release of the heap have events, and none is lost.
 */
#include "contract.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#define BIG (40ul << 20)
#define SMALL_BLOCKS 20000u
#define SMALL 1000u

/* Does one event of this type contain the whole range? */
static bool was_in(unsigned type, const void *at, size_t bytes)
{
    uintptr_t start = (uintptr_t)at;
    for (unsigned i = 0; i < logged_count && i < LOGGED_MAX; i++) {
        uintptr_t from = (uintptr_t)logged[i].e.vm_mapped.address;
        if (logged[i].type == type && from <= start &&
            start + bytes <= from + logged[i].e.vm_mapped.size)
            return true;
    }
    return false;
}

/* The heap grows by these; some lie in reported ranges. */
static void small_blocks(void)
{
    static _Thread_local char *block[SMALL_BLOCKS];
    unsigned inside = 0;
    for (unsigned i = 0; i < SMALL_BLOCKS; i++) {
        must((block[i] = malloc(SMALL)) && malloc_usable_size(block[i]) >= SMALL);
        memset(block[i], (int)i, SMALL);
        inside += was_in(RTC_EVENT_VM_MAPPED, block[i], SMALL);
    }
    must(inside > SMALL_BLOCKS / 10);
    for (unsigned i = 0; i < SMALL_BLOCKS; i++) {
        must(block[i][0] == (char)i && block[i][SMALL - 1] == (char)i);
        free(block[i]);
    }
}

static void big_block(void)
{
    char *block = malloc(BIG);
    must(block && was_in(RTC_EVENT_VM_MAPPED, block, BIG)); /* in one range */
    must(!was_in(RTC_EVENT_VM_UNMAPPED, block, 1));
    memset(block, 7, BIG);
    uintptr_t was = (uintptr_t)block;
    free(block);
    must(was_in(RTC_EVENT_VM_UNMAPPED, (void *)was, BIG));
}

void row_heap_grows_and_gives_back(void)
{
    handle(VM_EVENTS, 0, "ranges");
    small_blocks();
    big_block();
    must(!count_of(RTC_EVENT_VM_CANCELLED));
}

static void *both(void *unused)
{
    small_blocks();
    for (unsigned i = 0; i < 20; i++) {
        char *block = malloc(BIG / 8);
        must(block);
        block[BIG / 16] = 1;
        uintptr_t was = (uintptr_t)block;
        free(block);
        while (!was_in(RTC_EVENT_VM_UNMAPPED, (void *)was, BIG / 8))
            sched_yield(); /* another thread may have taken it, and its event is still to come */
    }
    return unused;
}

void row_heap_multi_threads(void)
{
    pthread_t thread[8];
    handle(VM_EVENTS, 0, "ranges");
    for (unsigned i = 0; i < 8; i++)
        must(pthread_create(&thread[i], NULL, both, NULL) == 0);
    for (unsigned i = 0; i < 8; i++)
        must(pthread_join(thread[i], NULL) == 0);
    must(logged_count < LOGGED_MAX);
}

/* Is the last event of this address that it is mapped? */
static bool is_there(const void *at)
{
    for (unsigned i = logged_count; i-- > 0;) {
        uintptr_t from = (uintptr_t)logged[i].e.vm_mapped.address;
        if ((uintptr_t)at - from < logged[i].e.vm_mapped.size)
            return logged[i].type == RTC_EVENT_VM_MAPPED;
    }
    return false;
}

/* Mapped minus unmapped ranges: every live block lies in them, however often its place was reused. */
void row_heap_comes_back(void)
{
    static const size_t sizes[] = {300u << 10, 1u << 20, 4u << 20, 24u << 20, 40u << 20, 7000, 64};
    char *old = malloc(5u << 20), *kept[8] = {0};
    handle(VM_EVENTS | RTC_EVENT_FLAG_EXISTING_ALLOC, 0, "ranges");
    must(old && is_there(old) && is_there(old + (5u << 20) - 1));
    for (unsigned i = 0; i < 400; i++) {
        size_t bytes = sizes[i * 7 % 17 % 7];
        free(kept[i % 8]);
        must((kept[i % 8] = malloc(bytes)));
        kept[i % 8][0] = kept[i % 8][bytes - 1] = 1;
        must(is_there(kept[i % 8]) && is_there(kept[i % 8] + bytes / 2) &&
             is_there(kept[i % 8] + bytes - 1));
    }
    for (size_t bytes = 1u << 20; bytes < 60u << 20; bytes += 3u << 20) {
        must((old = realloc(old, bytes)));
        must(is_there(old) && is_there(old + bytes - 1));
    }
    must(count_of(RTC_EVENT_VM_UNMAPPED) > 20 && logged_count < LOGGED_MAX);
}

void row_heap_blocks_from_before(void)
{
    char *small = malloc(100), *big = malloc(BIG), *moving = malloc(3000);
    must(small && big && moving);
    strcpy(moving, "moved");
    handle(VM_EVENTS, 0, "ranges");
    must(logged_count == 0);
    free(small);
    must((moving = realloc(moving, BIG)) && strcmp(moving, "moved") == 0);
    must((moving = realloc(moving, 3000)) && strcmp(moving, "moved") == 0);
    free(moving);
    uintptr_t was = (uintptr_t)big;
    free(big);
    must(was_in(RTC_EVENT_VM_UNMAPPED, (void *)was, BIG));
}

/* Blocks that libc allocates for its callers; dlerror's text comes from asprintf. */
void row_heap_of_libcs_functions(void)
{
    handle(ALL_EVENTS, 0, "all");
    char *copy = strdup("copied"), *text = NULL;
    must(copy && strcmp(copy, "copied") == 0);
    must(setenv("RTC_ROW", "set", 1) == 0 && strcmp(getenv("RTC_ROW"), "set") == 0);
    must(setenv("RTC_ROW", copy, 1) == 0 && strcmp(getenv("RTC_ROW"), "copied") == 0);
    must(asprintf(&text, "%s %d", copy, 5) == 8 && strcmp(text, "copied 5") == 0);
    must(!dlopen("no-such-library.so", RTLD_NOW) && strstr(dlerror(), "no-such-library.so"));
    must(unsetenv("RTC_ROW") == 0 && !getenv("RTC_ROW"));
    getlogin(); /* through NSS; there may be none */
    free(copy);
    free(text);
}

/* Four times in children, one in the other. */
void row_heap_in_a_fork(void)
{
    handle(VM_EVENTS, 0, "ranges");
    for (unsigned depth = 0; depth < 4; depth++) {
        pid_t pid = fork();
        must(pid >= 0);
        if (pid) {
            int status = -1;
            must(waitpid(pid, &status, 0) == pid && status == 0);
            _exit(0);
        }
        small_blocks();
        big_block();
    }
}

#define LOCKED 64u

/* Locked memory cannot be released: its event reports it unmapped, and it stays; a free returns all the same. */
void row_heap_that_is_locked(void)
{
    static const size_t size[] = {900u << 10,
                                  4u << 20}; /* released by the heap late, and at once */
    char *block[LOCKED];
    handle(VM_EVENTS, 0, "ranges");
    for (unsigned i = 0; i < LOCKED; i++) {
        must((block[i] = malloc(size[i % 2])));
        must(mlock(block[i], PAGE) == 0);
    }
    for (unsigned i = 0; i < LOCKED; i++)
        free(block[i]);
    must(bytes_of(RTC_EVENT_VM_UNMAPPED) > LOCKED / 2 * size[1]);
    big_block();
}

static double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The least of many: the time of a pair without other load. */
static double pair_seconds(void)
{
    double least = 1;
    for (unsigned rep = 0; rep < 50; rep++) {
        double start = thread_seconds();
        for (unsigned i = 0; i < 100; i++) {
            char *volatile block = malloc(100000);
            free(block);
        }
        double took = thread_seconds() - start;
        least = took < least ? took : least;
    }
    return least;
}

/* As in ucm's mmap_ptrs: with very many large blocks a pair takes at most 1.75 times the initial time. */
void row_heap_many_large_blocks(void)
{
    handle(VM_EVENTS, 0, "ranges");
    pair_seconds();
    double empty = pair_seconds();
    for (unsigned i = 0; i < 20000; i++)
        must(malloc(40000 + i));
    must(pair_seconds() <= 1.75 * empty);
}

static void allocate(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)e;
    free(malloc(8u << 20));
    ++*(_Atomic unsigned *)arg;
}

/* A callback should not allocate; it does no harm, and the callback gets no event of its own call. */
void row_heap_allocating_callback(void)
{
    static _Atomic unsigned calls;
    must(rtc_event_set_handler(RTC_EVENT_VM_UNMAPPED, 0, allocate, (void *)&calls) == 0);
    free(malloc(BIG));
    must(calls && calls < 10);
    must(rtc_event_unset_handler(~0u, allocate, (void *)&calls) == 0);
}

static char *given_up; /* by free_in_between, when the heap first grows */

static void free_in_between(unsigned type, union rtc_event *e, void *arg)
{
    record(type, e, arg);
    if (type == RTC_EVENT_VM_MAPPED) {
        free(given_up);
        given_up = NULL;
    }
}

/*
 * realloc makes the heap grow and frees the old block: a callback that frees another block on the first event
 * still gets the second event.
 */
void row_heap_freeing_callback(void)
{
    char *block = malloc(BIG);
    uintptr_t was = (uintptr_t)block;
    given_up = malloc(BIG);
    must(block && given_up);
    memset(block, 7, BIG);
    memset(given_up, 7, BIG);
    must(rtc_event_set_handler(VM_EVENTS, 0, free_in_between, (void *)(uintptr_t) "frees") == 0);
    block = realloc(block, 4 * BIG);
    must(block && (uintptr_t)block != was && !given_up);
    must(was_in(RTC_EVENT_VM_UNMAPPED, (void *)was, BIG));
    must(rtc_event_unset_handler(~0u, free_in_between, (void *)(uintptr_t) "frees") == 0);
}

/*
 * unmaps.c - unmaps ranges that it should not, or maps over them; and twins that make no error.
 *
 *     unmaps CASE
 *
 * rtc-build: -pthread -fno-optimize-sibling-calls
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rtcheck/event.h"

#define PAGE 4096ul
#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)
#define READ_WRITE (PROT_READ | PROT_WRITE)
#define must(condition) ((condition) ? (void)0 : _exit(9))

static char *const place = (char *)0x200000000000; /* unused by the kernel and others */

static char *four(void)
{
    must(mmap(place, 4 * PAGE, READ_WRITE, PLAIN | MAP_FIXED, -1, 0) == place);
    return place;
}

/* ---- errors --------------------------------------------------------------------------------------- */

static void twice(void)
{
    char *at = four();
    must(munmap(at, 4 * PAGE) == 0 && munmap(at, 4 * PAGE) == 0);
}

static void too_long(void)
{
    char *at = four();
    must(munmap(at, 6 * PAGE) == 0);
}

/* The block stays whole, or free would find it damaged. */
static void over_a_block(void)
{
    char *block = malloc(1 << 20), *page = (char *)(((uintptr_t)block + PAGE - 1) & -PAGE);
    must(block != NULL);
    memset(block, 7, 1 << 20);
    must(munmap(page, 16 * PAGE) == 0 && page[PAGE] == 7);
    free(block);
}

static void over_a_block_by_original(void)
{
    char *block = calloc(1, 1 << 20), *page = (char *)(((uintptr_t)block + PAGE - 1) & -PAGE);
    must(block && rtc_orig_munmap(page, 16 * PAGE) == 0 && (page[PAGE] = 7));
    free(block);
}

static void unmap_twice(int signal)
{
    (void)signal;
    twice();
}

/* A handler's stack of common size, with nothing below: the runtime's check must fit. */
static void twice_on_a_small_stack(void)
{
    char *at = mmap(NULL, 8 * PAGE, PROT_NONE, PLAIN, -1, 0);
    stack_t stack = {.ss_sp = at + 4 * PAGE, .ss_size = 2 * PAGE};
    struct sigaction action = {.sa_handler = unmap_twice, .sa_flags = SA_ONSTACK};
    must(at != MAP_FAILED && mprotect(stack.ss_sp, stack.ss_size, READ_WRITE) == 0);
    must(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0 &&
         raise(SIGUSR1) == 0);
}

static pthread_barrier_t both;

static void *wait_there(void *frame)
{
    free(malloc(1)); /* the runtime registers the thread */
    *(void **)frame = __builtin_frame_address(0);
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    return NULL;
}

static atomic_bool may_end;

/* A thread without operations of the runtime, and without system calls. */
static void *run_silently(void *frame)
{
    *(void **)frame = __builtin_frame_address(0);
    pthread_barrier_wait(&both);
    while (!may_end)
        ;
    return NULL;
}

static char *begin(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *))
{
    static char *volatile frame;
    pthread_barrier_init(&both, NULL, 2);
    must(pthread_create(thread, attr, run, (void *)(uintptr_t)&frame) == 0);
    pthread_barrier_wait(&both);
    return (char *)((uintptr_t)frame & -PAGE);
}

static char *begin_thread(pthread_t *thread, const pthread_attr_t *attr)
{
    return begin(thread, attr, wait_there);
}

/* Far below the thread's stack pointer: not used yet. */
static void stack_of_another(void)
{
    pthread_t thread;
    char *frame = begin_thread(&thread, NULL);
    must(munmap(frame - 1000 * PAGE, 2 * PAGE) == 0);
    pthread_barrier_wait(&both);
    must(pthread_join(thread, NULL) == 0);
}

/* The same of one that the program has given it. */
static void given_stack(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    char *stack = mmap(NULL, 64 * PAGE, READ_WRITE, PLAIN, -1, 0);
    must(stack != MAP_FAILED && pthread_attr_init(&attr) == 0 &&
         pthread_attr_setstack(&attr, stack, 64 * PAGE) == 0);
    begin_thread(&thread, &attr);
    must(munmap(stack, PAGE) == 0);
    pthread_barrier_wait(&both);
    must(pthread_join(thread, NULL) == 0);
}

static void stack_of_a_silent_one(void)
{
    pthread_t thread;
    char *frame = begin(&thread, NULL, run_silently);
    must(munmap(frame - 1000 * PAGE, 2 * PAGE) == 0);
    may_end = true;
    must(pthread_join(thread, NULL) == 0);
}

/* Its stack was mapped long before, like other memory that is no stack. */
static void given_to_a_silent_one(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    char *stack = mmap(NULL, 64 * PAGE, READ_WRITE, PLAIN, -1, 0);
    must(munmap(mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0), PAGE) == 0);
    must(stack != MAP_FAILED && pthread_attr_init(&attr) == 0 &&
         pthread_attr_setstack(&attr, stack, 64 * PAGE) == 0);
    begin(&thread, &attr, run_silently);
    must(munmap(stack, PAGE) == 0);
    may_end = true;
    must(pthread_join(thread, NULL) == 0);
}

static pthread_t main_thread;

static void *unmap_of_main(void *frame)
{
    must(munmap(frame, PAGE) == 0);
    return NULL;
}

__attribute__((noinline)) static char *deep_in_main(void)
{
    volatile char deep[20 * PAGE];
    for (size_t i = 0; i < sizeof deep; i += PAGE)
        deep[i] = 1;
    return (char *)((uintptr_t)deep & -PAGE) + PAGE;
}

static void stack_of_main(void)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, unmap_of_main, deep_in_main()) == 0 &&
         pthread_join(thread, NULL) == 0);
}

/* ---- twins without errors ------------------------------------------------------------------------- */

static void pieces(void)
{
    char *at = four();
    must(munmap(at + PAGE, PAGE) == 0 && munmap(at, PAGE) == 0 &&
         munmap(at + 2 * PAGE, 2 * PAGE) == 0);
}

/* The kernel has to be queried for the range, as its mapping was not intercepted. */
static void mapped_unseen(void)
{
    must(munmap(four(), 4 * PAGE) == 0);
    must(syscall(SYS_mmap, place, 4 * PAGE, READ_WRITE, PLAIN | MAP_FIXED, -1, 0) == (long)place);
    must(munmap(place, 4 * PAGE) == 0);
}

static void several(void)
{
    char *at = four();
    must(mmap(at + PAGE, PAGE, PROT_READ, PLAIN | MAP_FIXED, -1, 0) == at + PAGE);
    must(munmap(at, 4 * PAGE) == 0);
}

static void stack_of_one_that_ended(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    char *stack = mmap(NULL, 64 * PAGE, READ_WRITE, PLAIN, -1, 0);
    must(stack != MAP_FAILED && pthread_attr_init(&attr) == 0 &&
         pthread_attr_setstack(&attr, stack, 64 * PAGE) == 0);
    begin_thread(&thread, &attr);
    pthread_barrier_wait(&both);
    must(pthread_join(thread, NULL) == 0 && munmap(stack, 64 * PAGE) == 0);
}

static void beside_a_silent_one(void)
{
    pthread_t thread;
    char *at = four();
    begin(&thread, NULL, run_silently);
    must(munmap(at, 4 * PAGE) == 0);
    may_end = true;
    must(pthread_join(thread, NULL) == 0);
}

static void *unmap_of_ended_main(void *frame)
{
    must(pthread_join(main_thread, NULL) == 0 && munmap(frame, PAGE) == 0);
    _exit(0);
}

static void stack_of_main_that_ended(void)
{
    pthread_t thread;
    main_thread = pthread_self();
    must(pthread_create(&thread, NULL, unmap_of_ended_main, deep_in_main()) == 0);
    pthread_exit(NULL);
}

static bool is_any_mapped(char *start, size_t bytes)
{
    unsigned char in_memory;
    for (char *at = start; at < start + bytes; at += PAGE)
        if (mincore(at, PAGE, &in_memory) == 0)
            return true;
    return false;
}

static volatile int events; /* libc declares mmap as a leaf function */

static void on_event(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)e, (void)arg;
    events++;
}

static void refused(void)
{
    must(munmap(place + 1, PAGE) == -1 && munmap(place, 0) == -1);
}

/* 16 pages, a hole with memory of the runtime (at least its table of handlers), 16 pages. */
static char *make_hole(void)
{
    char *at = mmap(NULL, 256 * PAGE, PROT_NONE, PLAIN | MAP_NORESERVE, -1, 0), *other = at;
    must(at != MAP_FAILED && munmap(at + 16 * PAGE, 224 * PAGE) == 0);
    while (!is_any_mapped(at + 16 * PAGE, 224 * PAGE))
        must(rtc_event_set_handler(RTC_EVENT_MMAP, 0, on_event, other++) == 0);
    return at;
}

static void around_a_hole(void)
{
    must(munmap(make_hole(), 256 * PAGE) == 0);
    must(mmap(NULL, PAGE, PROT_READ, PLAIN, -1, 0) != MAP_FAILED && events > 0);
}

/* Nothing is changed: the runtime's memory there stays intact, and the program gets its mapping. */
static void map_over_own(void)
{
    char *at = make_hole();
    must(rtc_event_set_handler(RTC_EVENT_MMAP, 0, on_event, NULL) == 0);
    int before = events;
    *(char *)mmap(at, PAGE, READ_WRITE, PLAIN | MAP_FIXED, -1, 0) = 7;
    must(mmap(at, 256 * PAGE, READ_WRITE, PLAIN | MAP_FIXED, -1, 0) == MAP_FAILED &&
         errno == ENOMEM && *at == 7);
    must(mmap(NULL, PAGE, PROT_READ, PLAIN, -1, 0) != MAP_FAILED && events > before + 1);
}

static void move_over_own(void)
{
    char *at = make_hole(), *from = mmap(NULL, 256 * PAGE, READ_WRITE, PLAIN, -1, 0);
    must(from != MAP_FAILED && (*from = 7) == 7);
    must(mremap(from, 256 * PAGE, 256 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED &&
         errno == ENOMEM);
    must(*from == 7 && munmap(from, 256 * PAGE) == 0);
}

static void attach_over_own(void)
{
    char *at = make_hole();
    int id = shmget(IPC_PRIVATE, 256 * PAGE, 0600);
    must(shmat(id, at, SHM_REMAP) == MAP_FAILED && errno == ENOMEM);
    must(shmctl(id, IPC_RMID, NULL) == 0);
}

static void map_over_the_heap(void)
{
    char *block = malloc(1 << 20), *page = (char *)(((uintptr_t)block + PAGE - 1) & -PAGE);
    must(block != NULL);
    memset(block, 7, 1 << 20);
    must(mmap(page, (1 << 20) + 64 * PAGE, READ_WRITE, PLAIN | MAP_FIXED, -1, 0) == MAP_FAILED &&
         errno == ENOMEM);
    must(page[PAGE] == 7);
    free(block);
}

/* The block is the program's own. */
static void map_in_a_block(void)
{
    char *block = aligned_alloc(PAGE, 64 * PAGE);
    must(block != NULL);
    memset(block, 7, 64 * PAGE);
    must(mmap(block + PAGE, 8 * PAGE, READ_WRITE, PLAIN | MAP_FIXED, -1, 0) == block + PAGE);
    must(block[0] == 7 && block[PAGE] == 0 && block[9 * PAGE] == 7);
    free(block);
}

/* A piece in the middle of the largest range without rights (the heap's), which is probably unused. */
static void map_over_reserved(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    uintptr_t start, end, at = 0, most = 0;
    char rights[8], line[512];
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 && strcmp(rights, "---p") == 0 &&
            end - start > most) {
            most = end - start;
            at = start + most / 2 / PAGE * PAGE;
        }
    fclose(maps);
    must(most > 1ul << 30);
    char *there = mmap((char *)at, 4 * PAGE, READ_WRITE, PLAIN | MAP_FIXED, -1, 0);
    must(there == (char *)at && (*there = 7) == 7);
}

/* The piece behind it cannot be unmapped: the program gets this error. */
static void around_a_hole_refused(void)
{
    char *at = make_hole(), **refused = dlsym(RTLD_DEFAULT, "munmaps_refused");
    unsigned char in_memory[16];
    must(refused != NULL);
    *refused = at + 255 * PAGE;
    must(munmap(at, 256 * PAGE) == -1 && errno == ENOMEM);
    must(mincore(at, PAGE, in_memory) == -1 && mincore(at + 240 * PAGE, 16 * PAGE, in_memory) == 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        /* clang-format off */
        {"twice", twice}, {"twice_on_a_small_stack", twice_on_a_small_stack}, {"too_long", too_long}, {"over_a_block", over_a_block},
        {"over_a_block_by_original", over_a_block_by_original},
        {"stack_of_another", stack_of_another}, {"given_stack", given_stack}, {"pieces", pieces},
        {"mapped_unseen", mapped_unseen}, {"several", several},
        {"stack_of_a_silent_one", stack_of_a_silent_one}, {"given_to_a_silent_one", given_to_a_silent_one},
        {"stack_of_main", stack_of_main}, {"beside_a_silent_one", beside_a_silent_one},
        {"stack_of_main_that_ended", stack_of_main_that_ended},
        {"stack_of_one_that_ended", stack_of_one_that_ended}, {"refused", refused},
        {"map_over_own", map_over_own}, {"move_over_own", move_over_own}, {"attach_over_own", attach_over_own},
        {"map_over_the_heap", map_over_the_heap}, {"map_in_a_block", map_in_a_block},
        {"map_over_reserved", map_over_reserved}, {"around_a_hole", around_a_hole}, {"around_a_hole_refused", around_a_hole_refused},
        /* clang-format on */
    };
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) {
            cases[i].run();
            return 0;
        }
    return 2;
}

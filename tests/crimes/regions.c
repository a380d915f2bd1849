/*
 * regions.c - frees of addresses that are not blocks, one in each kind of memory; and a free of a
 * block of libc's own allocator, which is passed on.  Its report is regions.expected.
 *
 * rtc-build: -pthread -fno-builtin -fno-optimize-sibling-calls
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STATUS = 7, STATUS_WRONG = 99 };

int crimes_table[10] = {1};           /* .data */
static int zeros[10];                 /* .bss */
static const int constants[10] = {1}; /* .rodata */
static volatile int sink;

/* free of any pointer: hidden from the compiler. */
static __attribute__((noinline)) void end(void *p)
{
    __asm__ volatile("" : "+r"(p));
    free(p);
    __asm__ volatile("");
}

#define CRIME static __attribute__((noinline)) void

CRIME own_stack(void)
{
    volatile int local[4] = {0};
    end((void *)(uintptr_t)(local + 1));
    sink = local[1];
}

CRIME data(void)
{
    end(&crimes_table[3]);
}

CRIME bss(void)
{
    end((char *)&zeros[3] + 2);
}

CRIME rodata(void)
{
    end((void *)(uintptr_t)&constants[1]);
}

CRIME text(void)
{
    end((void *)(uintptr_t)text);
}

CRIME mapped(void)
{
    char *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    end(p + 4096);
}

CRIME unmapped(void)
{
    char *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(p, 65536);
    end(p + 4096);
}

CRIME null_and_more(void)
{
    end((void *)24);
}

/* A pointer kept in the block by its first owner must not be readable any more. */
CRIME read_from_freed(void)
{
    void *volatile *owner = malloc(sizeof *owner);
    *owner = malloc(1);
    free(*owner);
    free((void *)(uintptr_t)owner);
    end(*owner);
}

/* ---- stacks of others --------------------------------------------------------------------------- */

static pthread_barrier_t barrier;
static char *volatile foreign;

static void *thread(void *unused)
{
    volatile char local[4096] = {0};
    foreign = (char *)(uintptr_t)local + 1024;
    pthread_setname_np(pthread_self(), "lender");
    free(malloc(1));
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    sink = local[0];
    return unused;
}

CRIME others_stack(pthread_t *t)
{
    pthread_create(t, NULL, thread, NULL);
    pthread_barrier_wait(&barrier);
    end(foreign);
    pthread_barrier_wait(&barrier);
}

/* libc keeps it for the next thread. */
CRIME ended_stack(pthread_t t)
{
    pthread_join(t, NULL);
    end(foreign);
}

CRIME handler(int sig)
{
    volatile int local = sig;
    end((void *)(uintptr_t)&local);
}

CRIME alternate_stack(void)
{
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &sa, NULL);
    raise(SIGUSR1);
}

/* ---- libc's heap: freed there, and so used again ---------------------------------------------------- */

CRIME libcs_block(void)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    void *(*libcs_malloc)(size_t) = (void *(*)(size_t))dlsym(libc, "malloc");
    struct mallinfo2 (*info)(void) = (struct mallinfo2(*)(void))dlsym(libc, "mallinfo2");
    char *first = libcs_malloc(5000);
    size_t used = info().uordblks;
    end(first);
    if (info().uordblks >= used || libcs_malloc(5000) != first)
        exit(STATUS_WRONG);
}

int main(void)
{
    pthread_t t;
    pthread_barrier_init(&barrier, NULL, 2);
    own_stack();
    data();
    bss();
    rodata();
    text();
    mapped();
    unmapped();
    null_and_more();
    read_from_freed();
    others_stack(&t);
    ended_stack(t);
    alternate_stack();
    libcs_block();
    return STATUS;
}

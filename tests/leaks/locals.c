/*
 * locals.c - functions that call one another, each with one pointer somewhere on the stack or in
 * thread-local storage; at last the program ends.  The expected text for the block of each is in
 * locals.py, by its size.
 */
/* rtc-build: +locals_library.c -pthread -fno-optimize-sibling-calls */
#include "scrub.h"

#include <alloca.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEEP(pointer) __asm__ volatile("" ::"r"(pointer) : "memory")

static NOINLINE void put(void *volatile *place, size_t bytes)
{
    *place = calloc(1, bytes);
    if (!*place)
        abort();
}

static NOINLINE void go_on(int step);

struct context {
    int count;
    struct {
        void *volatile next[4];
    } inner[2];
};

static _Thread_local char first = 1;
static _Thread_local _Alignas(64) struct context of_thread;
static _Thread_local struct context last;

static NOINLINE void thread_local(int step)
{
    put(&of_thread.inner[0].next[2], 110 + (size_t)(first - 1));
    put(&last.inner[1].next[3], 111);
    go_on(step);
}

void *volatile *library_place(void);
static pthread_barrier_t ready;

static NOINLINE void wait_for_ever(void)
{
    scrub();
    pthread_barrier_wait(&ready);
    for (;;)
        pause();
}

static void *other_thread(void *unused)
{
    put(&of_thread.inner[1].next[0], 112);
    put(library_place(), 113);
    scrub();
    wait_for_ever();
    return unused;
}

static NOINLINE void with_thread(int step)
{
    pthread_t thread;
    pthread_barrier_init(&ready, NULL, 2);
    if (pthread_create(&thread, NULL, other_thread, NULL))
        abort();
    pthread_barrier_wait(&ready);
    go_on(step);
}

static NOINLINE void member(int step)
{
    struct context context;
    memset(&context, 0, sizeof context);
    put(&context.inner[1].next[3], 101);
    go_on(step);
    KEEP(&context);
}

/* The two may share a place: one of them is there at a time. */
static NOINLINE void blocks(int step)
{
    {
        void *volatile before;
        put(&before, 1000);
        free(before);
        before = NULL;
    }
    {
        void *volatile after;
        put(&after, 102);
        go_on(step);
    }
}

static NOINLINE void parameter(int step, void *volatile given)
{
    put(&given, 103);
    go_on(step);
    KEEP(&given);
}

static inline __attribute__((always_inline)) void inner(int step)
{
    void *volatile of_inner;
    put(&of_inner, 104);
    go_on(step);
}

static NOINLINE void outer(int step)
{
    void *volatile of_outer = NULL;
    inner(step);
    KEEP(&of_outer);
}

/* The size of its frame is not fixed. */
static NOINLINE void growing(int step)
{
    void *volatile beside;
    char *room = alloca((size_t)step * 16 + 16);
    memset(room, 0, (size_t)step * 16 + 16);
    put(&beside, 105);
    go_on(step);
    KEEP(room);
}

/* The pointer is not in a variable. */
static NOINLINE void nameless(int step)
{
    void *volatile *room = alloca(((size_t)step + 4) * sizeof *room);
    put(&room[2], 106);
    go_on(step);
    KEEP(room);
}

/* The variable has a location only in a part of the function: its location is a list. */
static NOINLINE void *look(void **all, int step)
{
    void *volatile *first = (void *volatile *)all;
    put(first, 107);
    go_on(step);
    return *first;
}

static NOINLINE void pointed_at(int step)
{
    void *pair[2] = {NULL, NULL};
    KEEP(look(pair, step));
}

static NOINLINE void many(int step, int a, int b, int c, int d, int e, void *volatile seventh)
{
    put(&seventh, 108);
    go_on(step + 0 * (a + b + c + d + e));
    KEEP(&seventh);
}

/* Over-aligned: the distance to the frame's ends is only known at run time. */
static NOINLINE void aligned(int step)
{
    _Alignas(64) void *volatile far[16];
    memset((void *)(unsigned long)far, 0, sizeof far);
    put(&far[9], 109);
    go_on(step);
    KEEP(far);
}

static NOINLINE void go_on(int step)
{
    scrub();
    switch (step) {
    case 0:
        member(1);
        break;
    case 1:
        blocks(2);
        break;
    case 2:
        parameter(3, NULL);
        break;
    case 3:
        outer(4);
        break;
    case 4:
        growing(5);
        break;
    case 5:
        nameless(6);
        break;
    case 6:
        pointed_at(7);
        break;
    case 7:
        many(8, 1, 2, 3, 4, 5, NULL);
        break;
    case 8:
        aligned(9);
        break;
    case 9:
        thread_local(10);
        break;
    case 10:
        with_thread(11);
        break;
    default:
        exit(0);
    }
    KEEP(&step);
}

int main(void)
{
    go_on(0);
    return 1;
}

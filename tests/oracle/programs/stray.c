/*
 * Code without CFI that uses rbp for another purpose: rbp does not point to a frame, and may point
 * to unreadable memory.  On the main stack, a thread's, and on coroutines', behind which an
 * unmapped page lies.
 */
#include "deep.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK_BYTES (64 * 1024)

typedef void code(work *f, void *argument, uintptr_t rbp);

/* f(argument) with some rbp */
static const unsigned char with_any_rbp[] = {
    0x55,             /* push %rbp */
    0x48, 0x89, 0xd5, /* mov %rdx, %rbp */
    0x48, 0x89, 0xf8, /* mov %rdi, %rax */
    0x48, 0x89, 0xf7, /* mov %rsi, %rdi */
    0xff, 0xd0,       /* call *%rax */
    0x5d,             /* pop %rbp */
    0xc3,             /* ret */
};

static code *any;
static char *forbidden; /* pages below the stacks of coroutines, above them, and far above */
static unsigned visits;

static void at_the_end(void *unused)
{
    (void)unused;
    visits++;
    churn(1);
}

static void bottom(void *unused)
{
    dive(7, at_the_end, unused);
}

static void with_stray_rbp(void *unused)
{
    (void)unused;
    static uintptr_t elsewhere[2] = {7, 9};
    uintptr_t numbers[2] = {visits % 5, visits % 3 ? 0x900000006 : visits};
    uintptr_t text[2];
    memcpy(text, "a text of a size", sizeof text);
    /* clang-format off */
    const uintptr_t stray[] = {0, 1, (uintptr_t)numbers, (uintptr_t)text, (uintptr_t)elsewhere,
                               (uintptr_t)forbidden, (uintptr_t)forbidden + 2 * STACK_BYTES,
                               (uintptr_t)forbidden + 5 * STACK_BYTES,
                               (uintptr_t)&numbers + (16 << 20), UINTPTR_MAX - 7};
    /* clang-format on */
    for (unsigned i = 0; i < sizeof stray / sizeof stray[0]; i++)
        any(bottom, NULL, stray[i]);
}

static void *everywhere(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < 9; i++)
        dive(i, with_stray_rbp, NULL);
    return NULL;
}

static ucontext_t home, there;

static void coroutine(void)
{
    everywhere(NULL);
}

static void *in_coroutine(void *unused)
{
    getcontext(&there);
    there.uc_stack = (stack_t){.ss_sp = forbidden + STACK_BYTES, .ss_size = STACK_BYTES};
    there.uc_link = &home;
    makecontext(&there, coroutine, 0);
    swapcontext(&home, &there);
    return unused;
}

int main(void)
{
    pthread_t thread;
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, with_any_rbp, sizeof with_any_rbp);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    any = (code *)page;
    forbidden = mmap(NULL, 64 * STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(forbidden + STACK_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE);
    for (unsigned i = 0; i < 3; i++) {
        everywhere(NULL);
        pthread_create(&thread, NULL, everywhere, NULL);
        pthread_join(thread, NULL);
        in_coroutine(NULL);
    }
    printf("stray: %u visits\n", visits);
    return 0;
}

/*
 * Machine code without CFI: with a frame pointer, as most JIT compilers make it, and
 * without.
 */
#include "deep.h"

#include <string.h>
#include <sys/mman.h>

typedef void code(work *f, void *argument);

static unsigned visits;

/* f(argument), in a frame with rbp */
static const unsigned char with_rbp[] = {
    0x55,                   /* push %rbp */
    0x48, 0x89, 0xe5,       /* mov %rsp, %rbp */
    0x48, 0x83, 0xec, 0x30, /* sub $48, %rsp */
    0x48, 0x89, 0xf8,       /* mov %rdi, %rax */
    0x48, 0x89, 0xf7,       /* mov %rsi, %rdi */
    0xff, 0xd0,             /* call *%rax */
    0xc9,                   /* leave */
    0xc3,                   /* ret */
};

static const unsigned char without[] = {
    0x48, 0x83, 0xec, 0x28, /* sub $40, %rsp */
    0x48, 0x89, 0xf8,       /* mov %rdi, %rax */
    0x48, 0x89, 0xf7,       /* mov %rsi, %rdi */
    0xff, 0xd0,             /* call *%rax */
    0x48, 0x83, 0xc4, 0x28, /* add $40, %rsp */
    0xc3,                   /* ret */
};

static code *framed, *bare;

static void bottom(void *unused)
{
    (void)unused;
    visits++;
    churn(2);
}

static void again(void *levels)
{
    unsigned n = *(unsigned *)levels;
    churn(1);
    if (n) {
        unsigned less = n - 1;
        framed(again, &less);
    } else {
        dive(3, bottom, NULL);
    }
    churn(1);
}

static void into_bare(void *argument)
{
    bare(again, argument);
    NO_TAIL_CALL;
}

int main(void)
{
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page + 256, with_rbp, sizeof with_rbp);
    memcpy(page + 512, without, sizeof without);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    framed = (code *)(page + 256);
    bare = (code *)(page + 512);
    for (unsigned i = 0; i < 60; i++) {
        unsigned levels = i % 6;
        dive(i % 4 + 3, again, &levels);
        framed(again, &levels);
        dive(3, into_bare, &levels);
    }
    printf("jit: %u visits\n", visits);
    return 0;
}

/*
 * Loses its stack pointer, or its stack, and allocates in the handler of the resulting signal.
 *
 *     lost low|high|overflow
 *
 * rtc-build: -O1 -fomit-frame-pointer
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void on_fault(int number)
{
    char *volatile p = malloc(100);
    memset(p, number, 100);
    free(p);
    _exit(write(1, "handled\n", 8) == 8 ? 3 : 4);
}

static __attribute__((noinline)) unsigned fall(unsigned n)
{
    static volatile unsigned bottom = -1u;
    char volatile room[3000];
    room[n % 3000] = 1;
    return (n < bottom ? fall(n + 1) : 0) + room[n % 3000];
}

int main(int argc, char **argv)
{
    static char stack[65536];
    const stack_t there = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&there, NULL);
    sigaction(SIGSEGV, &(struct sigaction){.sa_handler = on_fault, .sa_flags = SA_ONSTACK}, NULL);
    if (argc != 2)
        return 2;
    if (!strcmp(argv[1], "low"))
        __asm__ volatile("mov $0x10, %%rsp; push %%rax" ::: "memory");
    else if (!strcmp(argv[1], "high"))
        __asm__ volatile("movabs $0x123456789000, %%rax; mov %%rax, %%rsp; push %%rax" ::: "rax");
    return (int)fall(0);
}

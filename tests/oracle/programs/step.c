/*
 * The trap flag is set while a function runs: a handler allocates after every instruction of its
 * prologue and epilogue, of the procedure linkage table, of the loader that binds a function at its
 * first call, of libc and of the vdso.  None of them may allocate itself.
 */
#include "deep.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

static volatile unsigned long steps;

static void on_trap(int number)
{
    (void)number;
    steps++;
    churn(1);
}

static void set_trap_flag(void)
{
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static void clear_trap_flag(void)
{
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static NOINLINE unsigned many_registers(unsigned a, unsigned b, unsigned c, unsigned d)
{
    unsigned volatile local[24];
    for (unsigned i = 0; i < 3; i++)
        local[i] = a * i + b;
    __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15");
    return local[0] + local[1] * c + local[2] * d;
}

static NOINLINE unsigned early_out(const char *s, unsigned n)
{
    if (!n)
        return 1;
    char copy[64];
    strncpy(copy, s, sizeof copy - 1);
    copy[63] = 0;
    return many_registers(n, (unsigned)strlen(copy), 3, 4) + (unsigned)copy[n];
}

static void stepped(void *argument)
{
    unsigned *sum = argument;
    struct timespec now;
    set_trap_flag();
    *sum += early_out("a string of some length", 5);
    *sum += early_out("", 0);
    *sum += (unsigned)strtoul("1234", NULL, 10);
    clock_gettime(CLOCK_MONOTONIC, &now);
    clear_trap_flag();
}

int main(void)
{
    unsigned sum = 0;
    sigaction(SIGTRAP, &(struct sigaction){.sa_handler = on_trap}, NULL);
    churn(1);
    for (unsigned i = 0; i < 3; i++)
        dive(i * 3, stepped, &sum);
    printf("step: %u, %s\n", sum, steps > 500 ? "many steps" : "too few steps");
    return 0;
}

/*
 * Handlers at any moment, many of them inside malloc and free: by a timer, at random moments, and by
 * a trap after every instruction, which leaves none out.  There must be no other thread: then the
 * stacks of allocations by handlers that interrupted the runtime are compared, too.
 */
#include "deep.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>

static volatile sig_atomic_t alarms, traps, wrong;

static void use(unsigned bytes)
{
    char *volatile p = malloc(bytes);
    if (p)
        memset(p, 0x5a, bytes);
    for (unsigned i = 0; p && i < bytes; i++)
        wrong |= p[i] != 0x5a;
    free(p);
}

static void in_handler(void *unused)
{
    (void)unused;
    use(24);
}

static void on_alarm(int number)
{
    (void)number;
    alarms++;
    dive((unsigned)alarms % 5, in_handler, NULL);
}

static void on_trap(int number)
{
    (void)number;
    traps++;
    use(40);
}

static void set_trap_flag(void)
{
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static void clear_trap_flag(void)
{
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static void stepped(void *unused)
{
    (void)unused;
    set_trap_flag();
    char *volatile p = malloc(100);
    p = realloc(p, 3000);
    free(p);
    clear_trap_flag();
}

static void busy(void *unused)
{
    (void)unused;
    churn(3);
}

int main(void)
{
    const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm, .sa_flags = SA_RESTART}, NULL);
    sigaction(SIGTRAP, &(struct sigaction){.sa_handler = on_trap}, NULL);
    churn(1);
    for (unsigned i = 0; i < 3; i++)
        dive(i * 4, stepped, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned i = 0; alarms < 300; i++)
        dive(i % 23, busy, NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("storm: %s\n", wrong ? "a block has changed" : traps < 100 ? "too few traps" : "over");
    return wrong;
}

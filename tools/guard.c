/*
 * guard.c - what is mapped of a run file survives that the file is made shorter.
 *
 * The launcher maps the run's header and tables.  A memfd is sealed, but a file in a directory can be
 * truncated by anybody who may write it, the checked program included; then a touch behind its new end is
 * SIGBUS, and the launcher would die in place of its program.  Zeros take the place of such a page: nothing
 * that is read there is trusted anyway, and what reads the file itself finds that it is shorter (view.c).
 */
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "tools.h"

#define PAGE_BYTES 4096u

static struct sigaction inherited;

static void on_bus(int signo, siginfo_t *info, void *context)
{
    void *page = (void *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE_BYTES - 1));

    (void)context;
    if (info->si_code == BUS_ADRERR && mmap(page, PAGE_BYTES, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page)
        return;
    signal(signo, SIG_DFL); /* sent, or of another kind: it happens again, or is sent again */
    if (info->si_code <= 0)
        raise(signo);
}

void guard_begin(void)
{
    struct sigaction ours = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};

    sigemptyset(&ours.sa_mask);
    sigaction(SIGBUS, &ours, &inherited);
}

void guard_give_back(void)
{
    sigaction(SIGBUS, &inherited, NULL);
}

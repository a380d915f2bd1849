/*
 * guard.c - SIGBUS handler: mappings of a run file survive its truncation.
 *
 * The launcher maps the run's header and tables.  A memfd is sealed.  A file in a directory can be
 * truncated by any process that may write it, including the checked program.  An access past the
 * new end raises SIGBUS, which would kill the launcher.  The handler replaces such a page by
 * zeros.  No data read from the mapping is trusted anyway, and code that reads the file itself
 * detects that it is shorter (view.c).
 */
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "launcher.h"
#include "machine.h"

static struct sigaction inherited;

static void on_bus(int signo, siginfo_t *info, void *context)
{
    void *page = (void *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE_BYTES - 1));

    (void)context;
    if (info->si_code == BUS_ADRERR && mmap(page, PAGE_BYTES, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page)
        return;
    signal(signo, SIG_DFL); /* sent by kill, or another fault: the default action follows */
    if (info->si_code <= 0)
        raise(signo);
}

void guard_begin(void)
{
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};

    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &inherited);
}

void guard_give_back(void)
{
    sigaction(SIGBUS, &inherited, NULL);
}

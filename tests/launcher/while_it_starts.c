/*
 * while_it_starts.c - a library that sends the signal SIGNAL to its process group when fork is called for the
 * AT_FORKth time: the launcher forks its keeper, and then the program.
 *
 * rtc-build: shared
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int times;

pid_t fork(void)
{
    const char *at = getenv("AT_FORK"), *sig = getenv("SIGNAL");
    pid_t (*next)(void);
    void *f = dlsym(RTLD_NEXT, "fork");

    memcpy(&next, &f, sizeof next);
    if (at && sig && ++times == atoi(at))
        kill(0, atoi(sig));
    return next();
}

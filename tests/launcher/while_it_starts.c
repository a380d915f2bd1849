/*
 * while_it_starts.c - a library that sends the signal SIGNAL to its process group when socketpair is called for the
 * AT_SOCKETPAIRth time: the launcher makes a pair for its keeper, and one for the program.
 *
 * rtc-build: shared
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int times;

int socketpair(int domain, int type, int protocol, int pair[2])
{
    const char *at = getenv("AT_SOCKETPAIR"), *sig = getenv("SIGNAL");

    if (at && sig && ++times == atoi(at))
        kill(0, atoi(sig));
    return (int)syscall(SYS_socketpair, domain, type, protocol, pair);
}

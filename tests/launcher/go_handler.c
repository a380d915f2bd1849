/*
 * go_handler.c - signal stacks as Go's runtime uses them: a thread that has an alternate stack, by a
 * raw system call, keeps it, and gets one otherwise; a handler for such stacks is set by libc's
 * sigaction, and must run on that stack, in the first thread and in another.  Without the note of Go's
 * linker (-DPLAIN: go_handler_plain.c) the handler must run on the thread's own stack.
 *
 * rtc-build: -D_GNU_SOURCE -lpthread
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROOM 65536u

#ifndef PLAIN
__asm__(".pushsection .note.go.buildid, \"a\", @note\n"
        ".balign 4\n"
        ".long 4, 4, 4\n"
        ".ascii \"Go\\0\\0\"\n"
        ".long 0\n"
        ".popsection\n");
#endif

static __thread uintptr_t start, end;
static volatile int handled, strayed;

static void handle(int signal)
{
    uintptr_t here = (uintptr_t)&signal;
    handled++;
    strayed += here < start || here >= end;
}

#ifndef PLAIN
static void *thread(void *is_second)
{
    stack_t now;
    syscall(SYS_sigaltstack, NULL, &now);
    if (now.ss_flags & SS_DISABLE) {
        now = (stack_t){.ss_sp = malloc(ROOM), .ss_size = ROOM};
        syscall(SYS_sigaltstack, &now, NULL);
    }
    start = (uintptr_t)now.ss_sp;
    end = start + now.ss_size;
    if (!is_second)
        sigaction(SIGURG, &(struct sigaction){.sa_handler = handle, .sa_flags = SA_ONSTACK}, NULL);
    raise(SIGURG);
    return NULL;
}
#endif

#ifdef PLAIN
/* The handler of a program that never sets an alternate stack runs on none. */
int main(void)
{
    stack_t now;
    sigaction(SIGURG, &(struct sigaction){.sa_handler = handle, .sa_flags = SA_ONSTACK}, NULL);
    syscall(SYS_sigaltstack, NULL, &now);
    start = (uintptr_t)now.ss_sp;
    end = start + now.ss_size;
    raise(SIGURG);
    printf("handled %d, on the stack of the thread %d\n", handled, strayed);
    return 0;
}
#else
int main(void)
{
    pthread_t other;
    free(malloc(100));
    thread(NULL);
    pthread_create(&other, NULL, thread, "");
    pthread_join(other, NULL);
    printf("handled %d, strayed %d\n", handled, strayed);
    return strayed || handled != 2;
}
#endif

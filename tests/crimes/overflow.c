/*
 * overflow.c - stack overflow by recursion: overflow WHERE FRAME [OWN], where
 * WHERE is main, thread (a stack of 64 KiB) or forked (a thread's child process);
 * FRAME is small, large (256 KiB) or legal (deep, but it ends);
 * OWN is set (an alternate stack of the program), unset (set and disabled again).
 *
 * rtc-build: -O1 -D_GNU_SOURCE -pthread -fno-optimize-sibling-calls
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREAD_STACK 65536

static volatile long sink;
static const char *frame, *own;

static int small_frame(int n)
{
    volatile char room[48];
    room[n % 48] = (char)n;
    return n == -1 ? n : small_frame(n + 1) + room[n % 48];
}

static int large_frame(int n)
{
    volatile char room[262144];
    room[n % 4096] = (char)n;
    return n == -1 ? n : large_frame(n + 1) + room[n % 4096];
}

/* Three quarters of the stack. */
static int legal_frame(long bytes)
{
    volatile char room[1024];
    room[bytes % 1024] = 1;
    free(malloc(bytes > 0 ? (size_t)bytes : 1));
    return bytes <= 0 ? 0 : legal_frame(bytes - 1200) + room[bytes % 1024];
}

static void set_own(void)
{
    size_t bytes = 65536;
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&(stack_t){.ss_sp = room, .ss_size = bytes}, NULL);
    if (strcmp(own, "unset") == 0)
        sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
}

static void *overflow(void *limit)
{
    free(malloc(10));
    if (own)
        set_own();
    if (strcmp(frame, "small") == 0)
        sink = small_frame(0);
    else if (strcmp(frame, "large") == 0)
        sink = large_frame(0);
    else
        sink = legal_frame((long)limit / 4 * 3);
    return NULL;
}

static void in_thread(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, THREAD_STACK);
    pthread_create(&thread, &attr, overflow, (void *)(long)THREAD_STACK);
    pthread_join(thread, NULL);
}

static void *fork_child(void *unused)
{
    int status;
    free(malloc(10));
    if (fork() == 0) {
        overflow((void *)(long)THREAD_STACK);
        exit(0);
    }
    wait(&status);
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    return unused;
}

static void in_child(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, fork_child, NULL);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    frame = argv[2];
    own = argc > 3 ? argv[3] : NULL;
    if (strcmp(argv[1], "main") == 0)
        overflow((void *)(4l << 20));
    else if (strcmp(argv[1], "thread") == 0)
        in_thread();
    else
        in_child();
    puts("ended");
    return 0;
}

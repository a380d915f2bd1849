/*
 * live.c - programs that are checked from outside while they wait or run: `live WHAT`.  Each loses two blocks,
 * prints "ready PID", and waits for the end of standard input; live.py requests the checks.
 *
 * Sizes identify blocks.
 */
/* rtc-build: -pthread -fno-optimize-sibling-calls */
#include <errno.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define LIMIT_S 600
#define THREADS 100
#define KEPT 64

static void *volatile kept[KEPT];
static void *volatile lost;
static uintptr_t last; /* address of the last lost block, during its preparation */
static _Atomic int returned, started;

static NOINLINE void lose(size_t bytes)
{
    lost = malloc(bytes);
    last = (uintptr_t)lost;
    lost = NULL;
}

/* Leave a word in the part of the stack that is not live: it counts only if the stack pointer is unknown. */
static NOINLINE void litter(uintptr_t word)
{
    volatile uintptr_t room[2048];
    for (size_t i = 0; i < sizeof room / sizeof room[0]; i++)
        room[i] = word;
}

/* waits: the thread will wait in a system call, so its stack pointer is known. */
static void prepare(bool waits)
{
    for (size_t i = 0; i < KEPT; i++)
        kept[i] = malloc(100 + i);
    lose(3001);
    lose(3002);
    litter(waits ? last : 0);
    last = 0;
}

static void ready(void)
{
    char text[32];
    int n = snprintf(text, sizeof text, "ready %d\n", (int)getpid());
    if (write(1, text, (size_t)n) != n)
        abort();
}

/* After this only read, write and exit are possible. */
static void enter_sandbox(void)
{
    ready();
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
}

static void wait_for_end(void)
{
    char byte;
    while (read(0, &byte, 1) != 0)
        if (errno == EINTR)
            abort();
}

/* ---- calls that wait ------------------------------------------------------------------------- */

static void wait_epoll(void)
{
    struct epoll_event e;
    epoll_wait(epoll_create1(0), &e, 1, -1);
}

static void wait_epoll_limit(void)
{
    struct epoll_event e;
    epoll_wait(epoll_create1(0), &e, 1, LIMIT_S * 1000);
}

static void wait_poll(void)
{
    poll(NULL, 0, LIMIT_S * 1000);
}

static void wait_select(void)
{
    struct timeval t = {.tv_sec = LIMIT_S};
    select(0, NULL, NULL, NULL, &t);
}

static int queue = -1, semaphore = -1;

static void wait_msgrcv(void)
{
    struct {
        long type;
        char text[8];
    } message;
    queue = msgget(IPC_PRIVATE, 0600);
    msgrcv(queue, &message, sizeof message.text, 0, 0);
}

static void wait_semop(void)
{
    struct sembuf down = {.sem_op = -1};
    semaphore = semget(IPC_PRIVATE, 1, 0600);
    semop(semaphore, &down, 1);
}

static void wait_nanosleep(void)
{
    struct timespec t = {.tv_sec = LIMIT_S}, left;
    nanosleep(&t, &left);
}

static void wait_recv(void)
{
    struct timeval t = {.tv_sec = LIMIT_S};
    int ends[2];
    char byte;
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    recv(ends[0], &byte, 1, 0);
}

static void wait_accept(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    bind(s, (struct sockaddr *)&at, sizeof at);
    listen(s, 1);
    accept(s, NULL, NULL);
}

static void wait_sigwait(void)
{
    sigset_t all;
    int signal;
    sigfillset(&all);
    sigwait(&all, &signal);
}

static const struct wait {
    const char *name;
    void (*call)(void);
    int threads;
} waits[] = {
    {"epoll_wait", wait_epoll, 1},    {"epoll_wait_limit", wait_epoll_limit, 1},
    {"poll", wait_poll, 1},           {"select", wait_select, 1},
    {"msgrcv", wait_msgrcv, 1},       {"semop", wait_semop, 1},
    {"nanosleep", wait_nanosleep, 1}, {"recv", wait_recv, 1},
    {"accept", wait_accept, 1},       {"sigwait", wait_sigwait, 1},
    {"crowd", wait_epoll, THREADS},
};

static void *waiter(void *wait)
{
    atomic_fetch_add(&started, 1);
    ((const struct wait *)wait)->call();
    atomic_fetch_add(&returned, 1);
    return NULL;
}

/* Prints how many calls have returned: none, unless a check has interrupted them. */
static void wait_in(const struct wait *w)
{
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (int i = 0; i < w->threads; i++)
        pthread_create(&thread, &small, waiter, (void *)(uintptr_t)w);
    while (atomic_load(&started) < w->threads)
        sched_yield();
    prepare(true);
    ready();
    wait_for_end();
    printf("returned %d\n", atomic_load(&returned));
    if (queue >= 0)
        msgctl(queue, IPC_RMID, NULL);
    if (semaphore >= 0)
        semctl(semaphore, 0, IPC_RMID);
}

/* ---- others ---------------------------------------------------------------------------------- */

/* The only thread waits. */
static void alone(void)
{
    struct epoll_event e = {.events = EPOLLIN};
    int set = epoll_create1(0);
    prepare(true);
    epoll_ctl(set, EPOLL_CTL_ADD, 0, &e);
    ready();
    printf("epoll_wait %d\n", epoll_wait(set, &e, 1, -1));
}

static void sandbox(void)
{
    prepare(false);
    enter_sandbox();
    wait_for_end();
    syscall(SYS_exit, 0);
}

static _Atomic int ends;

struct item {
    struct item *next;
    char bytes[200];
};

static void drop_items(struct item *list[2])
{
    for (int k = 0; k < 2; k++)
        for (struct item *next; list[k]; list[k] = next) {
            next = list[k]->next;
            free(list[k]);
        }
}

/* Items move from list to list: each is always reachable from a list, or in this thread's registers. */
static void *churn(void *unused)
{
    struct item *list[2] = {NULL, NULL};
    for (unsigned n = 0; !atomic_load(&ends); n++) {
        struct item *i = n % 3 && list[n % 2] ? list[n % 2] : malloc(sizeof *i);
        if (i == list[n % 2])
            list[n % 2] = i->next;
        i->next = list[(n + 1) % 2];
        list[(n + 1) % 2] = i;
        if (n % 64 == 63)
            drop_items(list);
    }
    drop_items(list);
    return unused;
}

static void busy(void)
{
    pthread_t thread[2];
    prepare(false);
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, churn, NULL);
    ready();
    wait_for_end();
    atomic_store(&ends, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
}

static _Atomic int signals;

static void on_signal(int signal)
{
    (void)signal;
    atomic_fetch_add(&signals, 1);
}

/* Signals to the process group, ends of pipes, and children: a process of the checker's must not be seen. */
static void group(void)
{
    struct pollfd in = {.fd = 0, .events = POLLIN};
    int rounds = 0, wrong = 0, children = 0, pipe_ends[2];
    char byte;
    setpgid(0, 0);
    signal(SIGUSR1, on_signal);
    prepare(false);
    ready();
    for (; poll(&in, 1, 0) == 0; rounds++) {
        kill(0, SIGUSR1);
        wrong += atomic_load(&signals) != rounds + 1;
        if (pipe(pipe_ends) == 0) {
            close(pipe_ends[1]);
            wrong += read(pipe_ends[0], &byte, 1) != 0;
            close(pipe_ends[0]);
        }
        children += waitpid(-1, NULL, __WALL | WNOHANG) != -1 || errno != ECHILD;
    }
    printf("wrong %d, children %d\n", wrong, children);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
        if (strcmp(what, waits[i].name) == 0)
            wait_in(&waits[i]);
    if (strcmp(what, "alone") == 0)
        alone();
    if (strcmp(what, "sandbox") == 0)
        sandbox();
    if (strcmp(what, "busy") == 0)
        busy();
    if (strcmp(what, "group") == 0)
        group();
    return 0;
}

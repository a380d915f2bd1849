/*
 * blocked.c - ends of a program whose threads wait in system calls: if a call returns, the end differs.
 *
 *     blocked SEED FIRST COUNT [programs]
 *
 * Makes the ends FIRST.. that SEED gives, each in a child, or in a separate program.  Prints those whose
 * status differs from the expected one, and at last their number.
 */
/* rtc-build: -pthread */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rtcheck/check.h"

#define THREADS 8
#define LONG_S 3600
#define STATUS 42

/* ---- calls that wait for an event that does not occur ------------------------------------------- */

static const struct timespec for_long = {LONG_S, 0};
static int messages, semaphores; /* created by the first process, which removes them */
static int no_input, full_pipe, no_connection, no_data;
static sem_t never;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint32_t word;

static struct timespec in_an_hour(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += LONG_S;
    return t;
}

static void in_usleep(void)
{
    usleep(LONG_S * 1000000u);
}
static void in_nanosleep(void)
{
    nanosleep(&for_long, NULL);
}
static void in_clock_nanosleep(void)
{
    struct timespec until = in_an_hour(CLOCK_MONOTONIC);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}
static void in_pause(void)
{
    pause();
}
static void in_sem_wait(void)
{
    sem_wait(&never);
}
static void in_sem_timedwait(void)
{
    struct timespec until = in_an_hour(CLOCK_REALTIME);
    sem_timedwait(&never, &until);
}
static void in_poll(void)
{
    poll(NULL, 0, -1);
}
static void in_poll_limited(void)
{
    struct pollfd p = {no_input, POLLIN, 0};
    poll(&p, 1, LONG_S * 1000);
}
static void in_ppoll(void)
{
    sigset_t none;
    sigemptyset(&none);
    ppoll(NULL, 0, NULL, &none);
}
static void in_select(void)
{
    struct timeval limit = {LONG_S, 0};
    select(0, NULL, NULL, NULL, &limit);
}
static void in_pselect(void)
{
    pselect(0, NULL, NULL, NULL, NULL, NULL);
}
static void in_epoll_wait(void)
{
    struct epoll_event e;
    epoll_wait(epoll_create1(0), &e, 1, -1);
}
static void in_read(void)
{
    char byte;
    (void)!read(no_input, &byte, 1);
}
static void in_write(void)
{
    (void)!write(full_pipe, "x", 1);
}
static void in_accept(void)
{
    accept(no_connection, NULL, NULL);
}
static void in_recv_limited(void)
{
    char byte;
    recv(no_data, &byte, 1, 0);
}
static void in_futex(void)
{
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL);
}
static void in_futex_limited(void)
{
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, &for_long);
}
static void in_cond_timedwait(void)
{
    struct timespec until = in_an_hour(CLOCK_REALTIME);
    pthread_mutex_lock(&lock);
    while (pthread_cond_timedwait(&changed, &lock, &until) == 0)
        ;
}
static void in_sigtimedwait(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMAX);
    sigtimedwait(&set, NULL, &for_long);
}
static void in_sigsuspend(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigsuspend(&none);
}
static void in_msgrcv(void)
{
    long message[2];
    msgrcv(messages, message, sizeof message[1], 1, 0);
}
static void in_semop(void)
{
    semop(semaphores, &(struct sembuf){0, -1, 0}, 1);
}

#define ONE(name)   \
    {               \
#name, name \
    }
static const struct {
    const char *name;
    void (*wait)(void);
} calls[] = {
    ONE(in_usleep),         ONE(in_nanosleep),    ONE(in_clock_nanosleep),
    ONE(in_pause),          ONE(in_sem_wait),     ONE(in_sem_timedwait),
    ONE(in_poll),           ONE(in_poll_limited), ONE(in_ppoll),
    ONE(in_select),         ONE(in_pselect),      ONE(in_epoll_wait),
    ONE(in_read),           ONE(in_write),        ONE(in_accept),
    ONE(in_recv_limited),   ONE(in_futex),        ONE(in_futex_limited),
    ONE(in_cond_timedwait), ONE(in_sigtimedwait), ONE(in_sigsuspend),
    ONE(in_msgrcv),         ONE(in_semop),
};
#define CALLS (sizeof calls / sizeof calls[0])

static void prepare_calls(void)
{
    int input[2], output[2], pair[2];
    struct timeval limit = {LONG_S, 0};
    no_connection = socket(AF_UNIX, SOCK_STREAM, 0);
    sem_init(&never, 0, 0);
    if (pipe(input) || pipe2(output, O_NONBLOCK) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
        bind(no_connection, &(struct sockaddr){.sa_family = AF_UNIX}, sizeof(sa_family_t)) ||
        listen(no_connection, 1) ||
        setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit))
        abort();
    no_input = input[0];
    full_pipe = output[1];
    no_data = pair[0];
    while (write(full_pipe, "x", 1) == 1)
        ;
    fcntl(full_pipe, F_SETFL, 0);
}

/* ---- threads ------------------------------------------------------------------------------------- */

static struct waiter {
    size_t call;
    _Atomic pid_t tid;
} waiters[THREADS];

static void *wait_there(void *waiter)
{
    struct waiter *w = waiter;
    void *volatile own = malloc(100);
    w->tid = gettid();
    calls[w->call].wait();
    printf("%s returned: %s\n", calls[w->call].name, strerror(errno));
    fflush(stdout);
    exit(1);
    return own;
}

static bool is_asleep(pid_t tid)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, line, sizeof line - 1);
    close(fd);
    line[n > 0 ? n : 0] = '\0';
    const char *end = strrchr(line, ')');
    return end && end[1] && end[2] == 'S';
}

static void start_threads(uint32_t *seed)
{
    pthread_t thread;
    for (int i = 0; i < THREADS; i++) {
        waiters[i].call = (size_t)rand_r(seed) % CALLS;
        if (pthread_create(&thread, NULL, wait_there, &waiters[i]))
            abort();
    }
    for (int i = 0; i < THREADS; i++)
        while (!waiters[i].tid || !is_asleep(waiters[i].tid))
            sched_yield();
}

/* ---- ends ---------------------------------------------------------------------------------------- */

static void *volatile kept;

static __attribute__((noinline)) void lose(void)
{
    kept = malloc(4711);
    kept = NULL;
}

static volatile uintptr_t page_of_none = 8;
static void by_return(void)
{
}
static void by_exit_now(void)
{
    _exit(STATUS);
}
static void by_quick_exit(void)
{
    quick_exit(STATUS);
}
static void by_signal(void)
{
    raise(SIGTERM);
}
static void by_abort(void)
{
    abort();
}
static void by_fault(void)
{
    *(volatile char *)(uintptr_t)page_of_none = 1;
}
static void by_exec(void)
{
    execl("/bin/sh", "sh", "-c", "exit 42", NULL);
}
static void after_failing_exec(void)
{
    char *argv[] = {"passwd", NULL};
    for (int i = 0; i < 3; i++)
        execv("/etc/passwd", argv);
}
static void after_check(void)
{
    for (int i = 0; i < 3; i++)
        (void)rtc_check_leaks(RTC_QUIET, NULL);
}
static void *exit_there(void *unused)
{
    exit(STATUS);
    return unused;
}
static void by_another_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, exit_there, NULL) == 0)
        pthread_join(thread, NULL);
}

static const struct {
    const char *name;
    void (*end)(void);
    int status; /* as of waitpid */
} ends[] = {
    {"return", by_return, STATUS << 8},
    {"_exit", by_exit_now, STATUS << 8},
    {"quick_exit", by_quick_exit, STATUS << 8},
    {"SIGTERM", by_signal, SIGTERM},
    {"abort", by_abort, SIGABRT},
    {"SIGSEGV", by_fault, SIGSEGV},
    {"exec", by_exec, STATUS << 8},
    {"failing exec", after_failing_exec, STATUS << 8},
    {"check", after_check, STATUS << 8},
    {"another thread", by_another_thread, STATUS << 8},
};
#define ENDS (sizeof ends / sizeof ends[0])

static int end(uint32_t seed, uint32_t number)
{
    uint32_t random = seed * 1000003u + number;
    prepare_calls();
    start_threads(&random);
    lose();
    ends[number % ENDS].end();
    return STATUS;
}

static void print_result(uint32_t seed, uint32_t number, int status)
{
    uint32_t random = seed * 1000003u + number;
    printf("end %u by %s: status %x, not %x; threads:", number, ends[number % ENDS].name,
           (unsigned)status, (unsigned)ends[number % ENDS].status);
    for (int i = 0; i < THREADS; i++)
        printf(" %s", calls[(size_t)rand_r(&random) % CALLS].name);
    puts("");
}

/* The end of the child, or of a separate program. */
static void begin(uint32_t seed, uint32_t number, bool is_program)
{
    char text[4][16];
    char *argv[] = {"blocked", "--end", text[0], text[1], text[2], text[3], NULL};
    if (!is_program)
        exit(end(seed, number));
    const uint32_t values[] = {seed, number, (uint32_t)messages, (uint32_t)semaphores};
    for (int i = 0; i < 4; i++)
        snprintf(text[i], sizeof text[i], "%u", values[i]);
    execv("/proc/self/exe", argv);
    abort();
}

static int all(uint32_t seed, uint32_t first, uint32_t count, bool are_programs)
{
    int different = 0;
    for (uint32_t n = first; n < first + count; n++) {
        int status = 0;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0)
            begin(seed, n, are_programs);
        waitpid(pid, &status, 0);
        if ((status & ~0x80) == ends[n % ENDS].status) /* a core is no difference */
            continue;
        print_result(seed, n, status);
        different++;
    }
    printf("%u ends, %d different\n", count, different);
    return different > 0;
}

static uint32_t number(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (argc == 6 && !strcmp(argv[1], "--end")) {
        messages = (int)number(argv[4]);
        semaphores = (int)number(argv[5]);
        return end(number(argv[2]), number(argv[3]));
    }
    messages = msgget(IPC_PRIVATE, 0600);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    if (messages < 0 || semaphores < 0 || argc < 4)
        return 2;
    int status = all(number(argv[1]), number(argv[2]), number(argv[3]), argc > 4);
    msgctl(messages, IPC_RMID, NULL);
    semctl(semaphores, 0, IPC_RMID);
    return status;
}

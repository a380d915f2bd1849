/*
 * ends.c - programs that end in the middle of an operation; `ends WHAT [lost]`.  Expected results: ends.py.
 */
/* rtc-build: +ends_exec.c -pthread -Wno-deprecated-declarations */
#include "ends.h"
#include "rtcheck/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static void *volatile kept, *volatile own_block;
static int is_lost;
static pthread_barrier_t ready;

NOINLINE void lose(size_t bytes)
{
    kept = malloc(bytes);
    kept = NULL;
}

NOINLINE void twin(void)
{
    own_block = malloc(4711);
    if (is_lost)
        own_block = NULL;
}

NOINLINE void twin_in_register(void)
{
    own_block = malloc(4711);
    if (__builtin_cpu_supports("avx512vl"))
        __asm__ volatile("vpbroadcastq %0, %%xmm31" ::"m"(
            own_block)); /* not in the clobbers: unknown to the compiler */
    if (is_lost)
        own_block = NULL;
}

static void start(void *(*body)(void *))
{
    pthread_t thread;
    pthread_barrier_init(&ready, NULL, 2);
    if (pthread_create(&thread, NULL, body, NULL))
        abort();
    pthread_barrier_wait(&ready);
}

/* ---- signals as seen by the program -------------------------------------------------------------- */

static const int signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGABRT,   SIGBUS,  SIGFPE,
                              SIGUSR1, SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM,   SIGTERM, SIGXCPU,
                              SIGXFSZ, SIGIO,   SIGSYS,  SIGPROF, SIGVTALRM, SIGCHLD, SIGWINCH};

static void handler(int number)
{
    (void)number;
}

static const char *name_of(void (*h)(int))
{
    return h == SIG_DFL ? "default" : h == SIG_IGN ? "ignored" : h == handler ? "ours" : "another";
}

static const char *now(int number)
{
    struct sigaction a;
    memset(&a, 0x5a, sizeof a);
    if (sigaction(number, NULL, &a))
        return "error";
    static char text[64];
    snprintf(text, sizeof text, "%s(%x,%d)", name_of(a.sa_handler),
             (unsigned)a.sa_flags & 0xfbffffff, sigismember(&a.sa_mask, SIGUSR2));
    return text;
}

static void dispositions(void)
{
    struct sigaction old, local_block = {.sa_handler = handler},
                          none = {.sa_handler = SIG_DFL, .sa_flags = SA_NODEFER};
    sigaddset(&none.sa_mask, SIGUSR2);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        int n = signals[i];
        printf("%d: %s", n, now(n));
        printf(" %s", name_of(signal(n, handler)));
        printf(" %s", name_of(signal(n, SIG_DFL)));
        printf(" %s", now(n));
        printf(" %s", name_of(sysv_signal(n, SIG_IGN)));
        printf(" %s", name_of(sysv_signal(n, SIG_DFL)));
        printf(" %s", name_of(sigset(n, handler)));
        printf(" %s", name_of(sigset(n, SIG_DFL)));
        sigaction(n, &local_block, &old);
        printf(" %s", name_of(old.sa_handler));
        sigaction(n, &none, &old);
        printf(" %s %s\n", name_of(old.sa_handler), now(n));
    }
}

/* A child of ours ends by each signal as it would without a checker. */
static void deaths(void)
{
    static const int fatal[] = {SIGHUP,  SIGINT,  SIGTERM, SIGUSR1, SIGPIPE,
                                SIGALRM, SIGSEGV, SIGABRT, SIGFPE};
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++) {
        int status;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            lose(100);
            if (fatal[i] == SIGSEGV)
                *(volatile char *)(uintptr_t)kept = 1;
            else
                raise(fatal[i]);
            _exit(1);
        }
        waitpid(pid, &status, 0);
        printf("%d: signal %d\n", fatal[i], WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    }
}

/* ---- threads that cannot be stopped ------------------------------------------------------------- */

static void *deaf_body(void *unused)
{
    uint64_t all = ~0ull;
    void *volatile local_block = malloc(4712);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
    pthread_barrier_wait(&ready);
    for (;;)
        __asm__ volatile("pause" ::"m"(local_block));
    return unused;
}

static void *allocating_body(void *unused)
{
    pthread_barrier_wait(&ready);
    for (;;)
        free(malloc(100));
    return unused;
}

static uint64_t own_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* As libc does while it makes a thread. */
static void *back_soon_body(void *unused)
{
    uint64_t all = ~0ull, none = 0, begin = own_ms();
    void *volatile local_block = malloc(4712);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
    pthread_barrier_wait(&ready);
    while (own_ms() < begin + 60)
        ;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
    for (;;)
        __asm__ volatile("pause" ::"m"(local_block));
    return unused;
}

static void back_soon(void)
{
    twin();
    start(back_soon_body);
}

static void deaf(void)
{
    twin();
    start(deaf_body);
}

static void allocating(void)
{
    twin();
    start(allocating_body);
}

static void *hogging_body(void *unused)
{
    pthread_barrier_wait(&ready);
    for (;;)
        ;
    return unused;
}

/* A thread that rarely gets a processor, and usually loses it inside malloc. */
static void *starved_body(void *unused)
{
    const struct sched_param none = {0};
    pthread_t hog;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (pthread_setaffinity_np(pthread_self(), sizeof one, &one) ||
        pthread_create(&hog, NULL, hogging_body, NULL) ||
        pthread_setschedparam(pthread_self(), SCHED_IDLE, &none))
        abort();
    for (;;)
        free(malloc(100));
    return unused;
}

static void starved(void)
{
    twin();
    start(starved_body);
    usleep(20000); /* any moment is as good */
}

static void *short_body(void *unused)
{
    return unused;
}

/* Creates threads in a loop: at any moment one is about to start or to end. */
static void *creating_body(void *unused)
{
    pthread_barrier_wait(&ready);
    for (;;) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, short_body, NULL) == 0)
            pthread_join(thread, NULL);
    }
    return unused;
}

static void creating(void)
{
    twin();
    start(creating_body);
}

/* Only the stack pointer refers to the block that is the stack. */
static ucontext_t own, other;

static void on_a_block(void)
{
    memset(&own, 0, sizeof own);
    memset(&other, 0, sizeof other);
    lose(4711);
    exit(0);
}

static NOINLINE void prepare(void)
{
    if (getcontext(&other))
        abort();
    other.uc_stack.ss_size = 1 << 18;
    other.uc_stack.ss_sp = malloc(other.uc_stack.ss_size);
    makecontext(&other, on_a_block, 0);
}

static void coroutine(void)
{
    prepare();
    swapcontext(&own, &other);
}

static char *volatile sparsely;

/* A large block with contents in one page in the middle, and one unreadable page. */
static void sparse(void)
{
    size_t bytes = 64u << 20, page = 4096;
    char *large = malloc(bytes), *closed = (char *)(((uintptr_t)large / page + 1000) * page);
    sparsely = large;
    *(void **)(void *)(large + bytes / 2) = malloc(1001);
    *(void **)(void *)closed = malloc(1002);
    mprotect(closed, page, PROT_NONE);
    lose(4711);
}

static void *ending_body(void *unused)
{
    twin();
    exit(0);
    return unused;
}

/* main waits, and another thread ends the program. */
static void by_another(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, ending_body, NULL);
    for (;;)
        pause();
}

static void *late_body(void *unused)
{
    twin();
    return unused;
}

/* main is over before the program is. */
static void main_first(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, late_body, NULL);
    pthread_exit(NULL);
}

/* ---- memory -------------------------------------------------------------------------------------- */

/* Pages of a block that may not be read, as a coroutine's guard. */
static void closed(void)
{
    char *p = aligned_alloc(4096, 65536);
    kept = p;
    *(void **)(uintptr_t)(p + 16) = malloc(4711);
    mprotect(p + 8192, 8192, PROT_NONE);
    mprotect(p, 4096, PROT_NONE);
}

static char sent[] = "in time";

static void at_exit(void)
{
    free(kept);
    kept = NULL;
    puts(sent);
}

/* Freed by a handler at the end, and so no leak. */
static void freed_late(void)
{
    kept = malloc(4711);
    atexit(at_exit);
}

/* The lists of threads and of mappings cannot be opened. */
static void no_descriptors(void)
{
    twin();
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
    long leaks = rtc_check_leaks(RTC_QUIET, NULL);
    if (leaks != RTC_NOT_CHECKED && leaks != RTC_NO_PROC)
        abort();
}

/* ---- children ------------------------------------------------------------------------------------ */

static void children(void)
{
    int status;
    lose(1001);
    pid_t pid = fork();
    if (pid == 0) {
        lose(1002);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    pid = fork();
    if (pid == 0) { /* none of its own, but its parent's */
        free(malloc(10));
        _exit(0);
    }
    waitpid(pid, &status, 0);
}

/* A child that loses a block of its parent's, which does so later or never. */
static void child_drops(void)
{
    int status;
    own_block = malloc(4711);
    pid_t pid = fork();
    if (pid == 0) {
        void *volatile local_block = malloc(1003);
        own_block = NULL;
        free(local_block);
        own_block = malloc(1004);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    if (is_lost)
        own_block = NULL;
}

/* ---- a signal inside malloc ---------------------------------------------------------------------- */

static pthread_t first;

static void *ending_soon(void *unused)
{
    usleep(20000); /* any moment is as good */
    pthread_kill(first, SIGTERM);
    return unused;
}

static void hammer(void)
{
    pthread_t thread;
    twin();
    first = pthread_self();
    pthread_create(&thread, NULL, ending_soon, NULL);
    for (;;)
        free(malloc(100));
}

static void quick(void)
{
    twin();
    quick_exit(3);
}

static const struct end others[] = {
    {"dispositions", dispositions},
    {"deaths", deaths},
    {"deaf", deaf},
    {"allocating", allocating},
    {"by_another", by_another},
    {"main_first", main_first},
    {"closed", closed},
    {"freed_late", freed_late},
    {"children", children},
    {"child_drops", child_drops},
    {"quick", quick},
    {"hammer", hammer},
    {"creating", creating},
    {"back_soon", back_soon},
    {"coroutine", coroutine},
    {"sparse", sparse},
    {"starved", starved},
    {"no_descriptors", no_descriptors},
    {NULL, NULL},
};

static const struct end *find(const struct end *e, const char *name)
{
    while (e->name && strcmp(e->name, name))
        e++;
    return e->name ? e : NULL;
}

int main(int argc, char **argv)
{
    is_lost = argc == 3 && !strcmp(argv[2], "lost");
    const struct end *e = argc >= 2 ? find(others, argv[1]) : NULL;
    if (!e && argc >= 2)
        e = find(exec_ends, argv[1]);
    if (!e)
        return 125;
    e->body();
    return 0;
}

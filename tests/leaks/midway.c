/*
 * midway.c - programs that check for leaks while they run: `midway WHAT`.  Prints the results of the
 * checks; midway.py has the expected results and reports.
 *
 * Sizes identify blocks.
 */
/* rtc-build: -pthread -fno-optimize-sibling-calls */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rtcheck/check.h"

extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

#define NOINLINE __attribute__((noinline))

static void *volatile kept;

static NOINLINE void lose(size_t bytes)
{
    kept = malloc(bytes);
    kept = NULL;
}

static void print_answer(const char *what, long answer)
{
    printf("%s %ld\n", what, answer);
    fflush(stdout);
}

static void check(const char *what, unsigned how)
{
    struct rtc_leaks l;
    memset(&l, 0, sizeof l);
    long answer = rtc_check_leaks(how, &l);
    printf("%s %ld: %lu/%lu (%lu/%lu) %lu/%lu %lu/%lu\n", what, answer, l.definite.blocks,
           l.definite.bytes, l.definite.new_blocks, l.definite.new_bytes, l.indirect.blocks,
           l.indirect.bytes, l.possible.blocks, l.possible.bytes);
    fflush(stdout);
}

/* ---- findings, and new ones ------------------------------------------------------------------------- */

static NOINLINE void lose_chain(void)
{
    void *volatile *chain = malloc(2001);
    chain[0] = malloc(2002);
}

static void counts(void)
{
    static char *inside;
    check("nothing", RTC_QUIET);
    lose_chain();
    inside = (char *)malloc(2003) + 4;
    check("one of each", RTC_QUIET);
    inside -= 4;
    check("quiet again", RTC_QUIET);
    print_answer("no result", rtc_check_leaks(RTC_QUIET, NULL));
    print_answer("mark", rtc_mark());
    lose(2004);
    check("since the mark", RTC_QUIET | RTC_NEW);
    check("told", RTC_ALL);
    lose(2005);
    check("since it was told", RTC_NEW);
    check("nothing new", RTC_NEW);
    print_answer("other names",
                 __lsan_do_recoverable_leak_check ? __lsan_do_recoverable_leak_check() : 0);
    free(inside);
}

/* Blocks held only by registers and the stack of the calling thread, in use before and after. */
static void own(void)
{
    register char *a __asm__("rbx") = malloc(2011);
    register char *b __asm__("r12") = malloc(2012);
    __asm__ volatile("" : "+r"(a), "+r"(b));
    check("registers", RTC_QUIET);
    __asm__ volatile("" : "+r"(a), "+r"(b));
    free(a);
    free(b);
}

static void marks(void)
{
    int n = 0;
    while (rtc_mark())
        n++;
    print_answer("marks", n);
    lose(2021);
    check("the last stays", RTC_QUIET | RTC_NEW);
}

static void silent(void)
{
    void *volatile local_block = malloc(2031);
    check("nothing", RTC_ALL);
    print_answer("other names",
                 __lsan_do_recoverable_leak_check ? __lsan_do_recoverable_leak_check() : 0);
    free(local_block);
}

static int checks = 10;

/* The records of a check are released after its report. */
static void many(void)
{
    void *volatile local_block = malloc(2041);
    long sum = 0;
    for (int i = 0; i < checks; i++)
        sum += rtc_check_leaks(RTC_ALL, NULL);
    print_answer("sum", sum);
    free(local_block);
}

/* ---- threads ---------------------------------------------------------------------------------------- */

#define THREADS 8
#define NODES 200

struct node {
    struct node *next;
    char text[40];
};

static atomic_bool over;
static atomic_uint running;

/* All of its blocks are held at any time, by its stack, its registers, or one another. */
static void *chase(void *about)
{
    struct node *head = NULL;
    unsigned count = 0, seed = (unsigned)(uintptr_t)about;
    atomic_fetch_add(&running, 1);
    while (!atomic_load(&over)) {
        if (count < NODES && rand_r(&seed) % 2) {
            struct node *n = malloc(sizeof *n);
            n->next = head;
            head = n;
            count++;
        } else if (head) {
            struct node *rest = NULL;
            for (struct node *n = head, *next; n;
                 n = next) { /* reverse the list: in between there are two */
                next = n->next;
                n->next = rest;
                rest = n;
            }
            head = rest->next;
            free(rest);
            count--;
        }
    }
    while (head) {
        struct node *next = head->next;
        free(head);
        head = next;
    }
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    long worst = 0, refused = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, chase, (void *)(i + 1)))
            abort();
    while (atomic_load(&running) < THREADS)
        sched_yield();
    for (int i = 0; i < checks; i++) {
        struct rtc_leaks l;
        long answer = rtc_check_leaks(RTC_QUIET, &l);
        refused += answer < 0;
        if (answer > worst || (answer == 0 && (long)l.possible.blocks > worst))
            worst = answer ? answer : (long)l.possible.blocks;
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    print_answer("lost", worst);
    print_answer("refused", refused);
}

/* Two threads check at once, and a third one forks meanwhile: all get a result. */
static void *query(void *unused)
{
    for (int i = 0; i < 20; i++) {
        long answer = rtc_check_leaks(RTC_QUIET, NULL);
        if (answer != 0 && answer != RTC_NOT_CHECKED)
            abort();
    }
    return unused;
}

static void together(void)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread[i], NULL, query, NULL))
            abort();
    int good = 0;
    for (int i = 0; i < 10; i++) {
        int status = 1;
        pid_t pid = fork();
        if (pid == 0) {
            void *volatile first =
                malloc(2101); /* stacks of threads that it lacks may point to its place */
            lose(2101);
            _exit((int)rtc_check_leaks(RTC_QUIET, NULL) - 1 + !first);
        }
        waitpid(pid, &status, 0);
        good += status == 0;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    print_answer("children", good);
}

/* A child reports only its own leaks. */
static void child(void)
{
    lose(2111);
    pid_t pid = fork();
    if (pid == 0) {
        lose(2112);
        check("child", RTC_ALL);
        exit(0);
    }
    waitpid(pid, NULL, 0);
    check("parent", RTC_ALL);
}

/* ---- threads in system calls ---------------------------------------------------------------------------- */

static int pipe_of_reader[2];
static _Atomic pid_t waiter;
static sem_t given;

static void *poll_one(void *result)
{
    struct pollfd p = {.fd = pipe_of_reader[0], .events = POLLIN};
    char byte;
    atomic_store(&waiter, gettid());
    *(int *)result = poll(&p, 1, -1);
    return read(p.fd, &byte, 1) == 1 ? NULL : result;
}

static void *read_one(void *result)
{
    char byte;
    atomic_store(&waiter, gettid());
    *(int *)result = (int)read(pipe_of_reader[0], &byte, 1);
    return NULL;
}

static void *wait_for_one(void *result)
{
    atomic_store(&waiter, gettid());
    *(int *)result = sem_wait(&given) == 0;
    return NULL;
}

/* Wait until the kernel reports that this thread sleeps. */
static void wait_until_asleep(void)
{
    char path[64], line[256], state = 0;
    while (!atomic_load(&waiter))
        sched_yield();
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)atomic_load(&waiter));
    while (state != 'S') {
        FILE *f = fopen(path, "r");
        if (f && fgets(line, sizeof line, f) && strrchr(line, ')'))
            state = strrchr(line, ')')[2];
        if (f)
            fclose(f);
    }
    atomic_store(&waiter, 0);
}

/* A check beside a thread in that call, which returns only when there is something to return for. */
static int check_beside(const char *what, void *(*body)(void *), unsigned how)
{
    pthread_t thread;
    int result = -1;
    pthread_create(&thread, NULL, body, &result);
    wait_until_asleep();
    check(what, how);
    if (write(pipe_of_reader[1], "x", 1) != 1 || sem_post(&given))
        abort();
    pthread_join(thread, NULL);
    return result;
}

/*
 * The lost block may be in a register of a thread that waits in poll or read.  A thread that waits for a
 * semaphore can be stopped.
 */
static void waiting(void)
{
    if (pipe(pipe_of_reader) || sem_init(&given, 0, 0))
        abort();
    lose(2121);
    int poll_result = check_beside("poll", poll_one, RTC_ALL);
    int read_result = check_beside("read", read_one, RTC_QUIET);
    sem_init(&given, 0, 0);
    int wait_result = check_beside("sem_wait", wait_for_one, RTC_QUIET);
    check("nobody waits", RTC_QUIET);
    print_answer("poll went on", poll_result);
    print_answer("read went on", read_result);
    print_answer("sem_wait went on", wait_result);
}

/* ---- a handler that jumps out of a check, or after it ---------------------------------------------------- */

static sigjmp_buf back;

static void jump_back(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

static void *check_there(void *answer)
{
    *(long *)answer = rtc_check_leaks(RTC_QUIET, NULL);
    return NULL;
}

static void left(void)
{
    pthread_t thread;
    long answer = -1;
    signal(SIGALRM, jump_back);
    for (volatile int us = 50; us < 3000; us += us) {
        struct itimerval in = {.it_value.tv_usec = us};
        if (sigsetjmp(back, 1) == 0) {
            setitimer(ITIMER_REAL, &in, NULL);
            rtc_check_leaks(RTC_ALL, NULL);
            for (;;) /* it may have been through */
                pause();
        }
    }
    pthread_create(&thread, NULL, check_there, &answer);
    pthread_join(thread, NULL);
    print_answer("of another thread", answer);
}

/* ---- which ------------------------------------------------------------------------------------------ */

/* clang-format off */
#define ONE(name) {#name, name}
/* clang-format on */
static const struct {
    const char *name;
    void (*run)(void);
} all[] = {
    ONE(counts),  ONE(own),      ONE(marks), ONE(silent),  ONE(many),
    ONE(threads), ONE(together), ONE(child), ONE(waiting), ONE(left),
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof all[0]; i++)
        if (!strcmp(argv[1], all[i].name)) {
            checks = argc > 2 ? atoi(argv[2]) : checks;
            all[i].run();
            return 0;
        }
    return 2;
}

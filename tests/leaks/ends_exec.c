/*
 * ends_exec.c - those programs of ends.c that exec another program, or try to.
 */
#include "ends.h"
#include "scrub.h"

#include <fcntl.h>
#include <pthread.h>
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

void __lsan_do_leak_check(void) __attribute__((weak));

static void *volatile kept;

static void exec_list(void)
{
    twin();
    execl("/bin/true", "true", NULL);
}

static void exec_path(void)
{
    twin();
    execlp("true", "true", NULL);
}

/* Only the next program uses them. */
static NOINLINE void exec_given(void)
{
    char **argv = malloc(2 * sizeof *argv), **envp = malloc(sizeof *envp);
    argv[0] = strdup("/bin/true");
    argv[1] = envp[0] = NULL;
    twin();
    execve(argv[0], argv, envp);
}

static NOINLINE void exec_listed(void)
{
    execl("/bin/true", strdup("a name of some length"), NULL);
}

static void wait_until_main_sleeps(void)
{
    char path[64], line[256], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
    while (state != 'S') {
        int fd = open(path, O_RDONLY);
        ssize_t n = read(fd, line, sizeof line - 1);
        close(fd);
        line[n > 0 ? n : 0] = '\0';
        const char *end = strrchr(line, ')');
        state = end && end[1] ? end[2] : state;
    }
}

static void *exec_body(void *unused)
{
    wait_until_main_sleeps();
    exec_list();
    return unused;
}

static void exec_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, exec_body, NULL);
    for (;;)
        pause();
}

/* main does not return from pause, with any result of the exec. */
static void exec_waited_for(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, exec_body, NULL);
    pause();
    printf("woken\n");
    exit(7);
}

static void *exec_failing_body(void *unused)
{
    execl("/there/is/none", "none", NULL);
    return unused;
}

static sigjmp_buf back;
static pthread_t caller;
static atomic_uint turns;

static void jump_back(int signal)
{
    if (pthread_equal(pthread_self(), caller))
        siglongjmp(back, signal);
    pthread_kill(caller, signal);
}

static void *turning_body(void *unused)
{
    for (;;) {
        free(malloc(10));
        turns++;
        usleep(100);
    }
    return unused;
}

/* A handler leaves an exec before it fails: other threads continue, and the end finds the leak. */
static void exec_left(void)
{
    pthread_t thread;
    volatile unsigned seed = 1;
    char *argv[] = {"passwd", NULL};
    twin();
    caller = pthread_self();
    pthread_create(&thread, NULL, turning_body, NULL);
    signal(SIGALRM, jump_back);
    for (volatile int i = 0; i < 60; i++) {
        if (!sigsetjmp(back, 1)) {
            seed = seed * 1103515245 + 12345;
            setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 500 + seed / 65536 % 5000}},
                      NULL);
            for (;;)
                execv("/etc/passwd", argv);
        }
        for (unsigned before = turns; turns == before;)
            usleep(100);
    }
}

static pthread_t waited_for;
static atomic_bool enough;

static void *until_enough(void *unused)
{
    while (!enough)
        usleep(200);
    return unused;
}

static void join_at_exit(void)
{
    enough = true;
    pthread_join(waited_for, NULL);
}

static void end(int signal)
{
    exit(signal);
}

/* The handler ends the program, whose exit handler waits for one of the threads. */
static void exec_ended(void)
{
    char *argv[] = {"passwd", NULL};
    sigset_t alarm;
    twin();
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    pthread_create(&waited_for, NULL, until_enough, NULL);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    atexit(join_at_exit);
    signal(SIGALRM, end);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 7000}}, NULL);
    for (;;)
        execv("/etc/passwd", argv);
}

/* They all continue, and can be stopped again. */
static void exec_fails_beside(void)
{
    pthread_t thread;
    twin();
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread, NULL, exec_failing_body, NULL);
        pthread_join(thread, NULL);
    }
}

/* in_exec.c: by the signal that comes then. */
static void exec_killed(void)
{
    char *argv[] = {"true", NULL};
    /* Bound already: lazy binding saves vector registers on the stack, where execvpe's frame is next. */
    int (*volatile exec)(const char *, char *const *, char *const *) = execvpe;
    twin_in_register();
    scrub(); /* words that malloc left lie in the frame of execvpe */
    exec("true", argv, environ);
}

static void *exec_for_ever_body(void *unused)
{
    char *argv[] = {"passwd", NULL};
    for (;;) {
        execv("/etc/passwd", argv);
        turns++;
    }
    return unused;
}

/* The ending thread's check is final; threads that wait for their own can be stopped. */
static void exec_beside_end(void)
{
    pthread_t thread;
    twin();
    for (int i = 0; i < 4; i++)
        pthread_create(&thread, NULL, exec_for_ever_body, NULL);
    while (turns < 20)
        usleep(100);
}

/* A block that seems lost when an exec fails, and has a pointer again later, is no leak. */
static void exec_fails(void)
{
    twin();
    char *p = malloc(1003);
    uintptr_t hidden = ~(uintptr_t)p;
    kept = (void *)hidden;
    p = NULL;
    __asm__ volatile("" : "+r"(p), "+r"(hidden));
    execl("/etc/passwd", "passwd", NULL);
    execl("/there/is/none", "none", NULL);
    execlp("there-is-none", "none", NULL);
    kept = (void *)~(uintptr_t)kept;
}

/* Findings of the check that the program requested as its last stay, also if an exec fails. */
static void exec_after_check(void)
{
    if (__lsan_do_leak_check)
        __lsan_do_leak_check();
    execl("/etc/passwd", "passwd", NULL);
    lose(4711); /* behind the end */
}

/* The block is the parent's, for any end of the child. */
static void exec_child(void)
{
    int status;
    twin();
    pid_t pid = fork();
    if (pid == 0) {
        free(malloc(10));
        execl("/bin/true", "true", NULL);
    }
    waitpid(pid, &status, 0);
    pid = vfork();
    if (pid == 0)
        execl("/bin/true", "true", NULL);
    waitpid(pid, &status, 0);
}

const struct end exec_ends[] = {
    /* clang-format off */
    {"exec_list", exec_list}, {"exec_path", exec_path}, {"exec_given", exec_given},
    {"exec_listed", exec_listed}, {"exec_thread", exec_thread}, {"exec_fails", exec_fails},
    {"exec_child", exec_child}, {"exec_waited_for", exec_waited_for}, {"exec_left", exec_left},
    {"exec_ended", exec_ended}, {"exec_fails_beside", exec_fails_beside},
    {"exec_after_check", exec_after_check}, {"exec_beside_end", exec_beside_end},
    {"exec_killed", exec_killed}, {NULL, NULL},
    /* clang-format on */
};

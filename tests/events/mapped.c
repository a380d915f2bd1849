/*
 * mapped.c - the ranges mapped at the end: by calls of the program, and others.
 *
 *     mapped CASE
 *
 * rtc-build: -pthread -fno-optimize-sibling-calls
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../unit/step.h"
#include "rtcheck/check.h"
#include "rtcheck/event.h"

#define PAGE 4096ul
#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)
#define READ_WRITE (PROT_READ | PROT_WRITE)
#define must(condition) ((condition) ? (void)0 : _exit(9))

__attribute__((noinline)) static char *pages(size_t n)
{
    char *at = mmap(NULL, n * PAGE, READ_WRITE, PLAIN, -1, 0);
    must(at != MAP_FAILED);
    return at;
}

/* 1 + 2 + 3 pages, the last in two pieces; 5 pages are moved and grow by one; an attachment. */
static void stays(void)
{
    pages(1);
    pages(2);
    char *at = pages(4);
    must(munmap(at + PAGE, PAGE) == 0);
    at = pages(5);
    must(mremap(at, 5 * PAGE, 6 * PAGE, MREMAP_MAYMOVE) != MAP_FAILED);
    int id = shmget(IPC_PRIVATE, 2 * PAGE, 0600);
    must(id >= 0 && shmat(id, NULL, 0) != MAP_FAILED && shmctl(id, IPC_RMID, NULL) == 0);
}

static void *nothing(void *unused)
{
    return unused;
}

/* Unmapped, by whomever; or mapped by libc and the loader for themselves. */
static void goes(void)
{
    char *at = pages(3);
    must(munmap(at, 3 * PAGE) == 0);
    at = (char *)0x200000000000; /* unused by the kernel and others */
    must(mmap(at, 3 * PAGE, READ_WRITE, PLAIN | MAP_FIXED, -1, 0) == at);
    must(syscall(SYS_munmap, at, 3 * PAGE) == 0);
    pthread_t thread;
    must(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
    must(dlopen("libutil.so.1", RTLD_NOW) != NULL);
    void *end = sbrk(0);
    must(sbrk(PAGE) == end && brk(end) == 0);
}

/* The parent's are not the child's. */
static void inherited(void)
{
    char *at = pages(7);
    int status;
    pid_t child = fork();
    if (!child) {
        pages(1);
        must(munmap(at, 7 * PAGE) == 0);
        _exit(0);
    }
    must(child > 0 && waitpid(child, &status, 0) == child && munmap(at, 7 * PAGE) == 0);
}

static pid_t child_of(void (*run)(void))
{
    int status;
    pid_t child = fork();
    if (!child) {
        run();
        _exit(0);
    }
    must(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    return child;
}

static void one_page(void)
{
    must(munmap(pages(1), PAGE) == 0);
}

/* The ranges that they inherit are one mapping, for any number of children. */
static void children(void)
{
    pages(7);
    for (int i = 0; i < 3; i++)
        child_of(one_page);
}

static void page_and_mark(void)
{
    pages(1);
    must(rtc_mark() == 1);
    pages(2);
}

/* Since the last mark: 2 pages of the child, 3 of the parent. */
static void two_mark(void)
{
    child_of(page_and_mark);
    pages(5);
    must(rtc_mark() == 1);
    pages(3);
}

static void killed(void)
{
    pages(3);
    must(munmap(pages(2), 2 * PAGE) == 0);
    kill(getpid(), SIGKILL);
}

static void marks(void)
{
    char *at = pages(4), *block = malloc(1000);
    must(block && rtc_mark() == 1);
    must(munmap(at, 3 * PAGE) == 0 && malloc(24) && rtc_mark() == 1);
    free(block);
    must(munmap(at + 3 * PAGE, PAGE) == 0);
}

/* ---- a handler that maps, behind each instruction of a call in turn --------------------------------- */

static volatile long steps_left;

static void on_step(int signal, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    (void)signal, (void)info;
    if (--steps_left > 0)
        return;
    c->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    must(munmap(pages(1), PAGE) == 0);
}

/* If no call is in progress, an unseen mapping is found at once, and is certain. */
static bool all_have_ended(void)
{
    long at = syscall(SYS_mmap, NULL, PAGE, PROT_READ, PLAIN, -1, 0);
    must(at != -1);
    bool certain = rtc_event_compare() == 1;
    must(munmap((void *)at, PAGE) == 0);
    return certain;
}

static void interrupted(void)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    bool through = false;
    must(munmap(pages(2), 2 * PAGE) == 0 && sigaction(SIGTRAP, &action, NULL) == 0 &&
         rtc_event_compare() >= 0);
    for (long n = 1; !through; n++) {
        steps_left = n;
        steps_begin();
        char *at = mmap(NULL, 2 * PAGE, READ_WRITE, PLAIN, -1, 0);
        through = steps_left > 0;
        if (through)
            steps_left = 1; /* the next instruction is the last that is stepped over */
        must(munmap(at, 2 * PAGE) == 0 && all_have_ended());
        must(!through || n > 100);
    }
}

static sigjmp_buf back;

static void jump_at_last(int signal)
{
    (void)signal;
    if (--steps_left == 0)
        siglongjmp(back, 1);
}

static __attribute__((noinline)) void map_and_unmap(char *protect)
{
    munmap(pages(1), PAGE);
    mprotect(protect, PAGE, PROT_READ);
    mprotect(protect, PAGE, READ_WRITE);
}

/* Mappings by calls that were left may be reported or not; all others are reported as usual. */
static void left(void)
{
    struct sigaction action = {.sa_handler = jump_at_last, .sa_flags = SA_NODEFER};
    pages(2);
    char *at = pages(100);
    for (int i = 1; i < 100; i += 2) /* so many that there are several leaves, */
        must(munmap(at + i * PAGE, PAGE) == 0);
    for (int i = 2; i < 100; i += 4) /* and some places in them are free */
        must(munmap(at + i * PAGE, PAGE) == 0);
    pages(4);
    must(sigaction(SIGTRAP, &action, NULL) == 0);
    volatile bool through = false;
    volatile int rounds = 0;
    for (volatile long n = 0; !through;
         n += n < 1800 ? 9 : 211) { /* at first each instruction matters more */
        steps_left = n;
        pages(5);
        rounds++;
        if (sigsetjmp(back, 0) == 0) {
            if (n > 0) /* from then on it takes about as many instructions each time */
                steps_begin();
            map_and_unmap(at);
            steps_end();
            through = n > 0;
        }
        map_and_unmap(at); /* so that the map is rebuilt now, which is slow in single steps */
    }
    pages(3);
    for (int i = 0; i < 100;
         i += 4) /* pages between them stay: calls that were left have mapped them */
        must(munmap(at + i * PAGE, PAGE) == 0);
    printf("%d\n", rounds);
}

/* ---- a child's first call, in which it copies its parent's map, left likewise -------------------------- */

static long steps_done;

static void jump_at(int signal)
{
    (void)signal;
    if (++steps_done == steps_left)
        siglongjmp(back, 1);
}

static void map_page(int protection)
{
    must(mmap(NULL, PAGE, protection, PLAIN, -1, 0) != MAP_FAILED);
}

/* The map lacks at most the mapping of the call itself. true: the call was complete. */
static bool is_first_call_through(long n)
{
    int status;
    pid_t child = fork();
    if (!child) {
        free(malloc(100)); /* a new image is begun with all signals blocked */
        steps_left = n;
        if (sigsetjmp(back, 0) == 0) {
            steps_begin();
            map_page(READ_WRITE);
            steps_end();
        }
        map_page(PROT_READ);
        must(rtc_event_compare() <= 1);
        _exit(steps_done < n ? 3 : 0);
    }
    must(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    must(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3);
    return WEXITSTATUS(status) == 3;
}

static void first_left(void)
{
    struct sigaction action = {.sa_handler = jump_at, .sa_flags = SA_NODEFER};
    must(sigaction(SIGTRAP, &action, NULL) == 0);
    for (int i = 0; i < 80;
         i++) /* so many that there are several leaves; the kernel keeps them apart */
        map_page(i % 2 ? READ_WRITE : PROT_READ);
    must(rtc_event_compare() >= 0);
    for (long n = 1; !is_first_call_through(n); n += 211)
        ;
    must(rtc_event_compare() == 0); /* the parent's mappings are unchanged */
}

static void waits(void)
{
    pages(3);
    int program = open("/proc/self/exe", O_RDONLY);
    must(mmap(NULL, PAGE, READ_WRITE, MAP_PRIVATE, program, 0) != MAP_FAILED &&
         close(program) == 0);
    must(write(1, "ready\n", 6) == 6);
    char c;
    must(read(0, &c, 1) >= 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
        /* clang-format off */
    } cases[] = {{"stays", stays}, {"goes", goes}, {"inherited", inherited}, {"killed", killed}, {"marks", marks}, {"children", children}, {"two_mark", two_mark}, {"waits", waits},
        {"interrupted", interrupted}, {"left", left}, {"first_left", first_left}};
    /* clang-format on */
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) {
            cases[i].run();
            return 0;
        }
    return 2;
}

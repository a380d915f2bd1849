/*
 * stale.c - sixteen detached threads that wait in a system call, each with a block of its own: `stale CALL PLACE`.
 *
 * Before it waits each thread writes the address of its block to every word of the stack below its frame, and to
 * registers that a function may change.  PLACE is where it keeps the address: nowhere, local, register, buffer,
 * red_zone (then the stack below is cleared).  Elsewhere the program has only the complement of the address.
 */
/* rtc-build: -pthread -fno-optimize-sibling-calls */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define UNUSED __attribute__((unused))
#define THREADS 16
#define BYTES 4720u
#define BELOW_WORDS 512

static const char *call_name, *place;

static int keeps_it_in(const char *where)
{
    return !strcmp(place, where);
}

/* ---- waiting ------------------------------------------------------------------------------------ */

static const struct timespec far = {.tv_sec = 1ll << 40};
static struct timespec left;
static struct pollfd none = {.fd = -1};
static int silent[2]; /* a pipe without a writer */
static char buffer[16];

struct call {
    const char *name;
    long number;
    void (*function)(void);
    long argument[4]; /* 0: the address of the block */
};

static struct call calls[] = {
    {"pause", SYS_pause, (void (*)(void))pause, {0}},
    {"clock_nanosleep",
     SYS_clock_nanosleep,
     (void (*)(void))clock_nanosleep,
     {CLOCK_MONOTONIC, TIMER_ABSTIME, (long)&far, (long)&left}},
    {"poll", SYS_poll, (void (*)(void))poll, {(long)&none, 1, -1}},
    {"read", SYS_read, (void (*)(void))read, {0, (long)buffer, sizeof buffer}},
};

static struct call *find_call(void)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (!strcmp(calls[i].name, call_name))
            return &calls[i];
    exit(2);
}

static NOINLINE void fill_below(uintptr_t hidden)
{
    void *volatile below[BELOW_WORDS];
    for (size_t i = 0; i < BELOW_WORDS; i++)
        below[i] = (void *)~hidden;
    __asm__ volatile("" ::"r"(below) : "memory");
}

/* Calls the function; the block's address is in all that it may change, and, if `keep`, in rbx. */
__attribute__((naked, noinline)) static void wait_in(UNUSED uintptr_t hidden,
                                                     UNUSED void (*function)(void),
                                                     UNUSED const long *argument, UNUSED long keep)
{
    __asm__ volatile("push %rbx\n\t"
                     "mov %rsi, %r11; mov %rdx, %r10; mov %rdi, %rax; not %rax\n\t"
                     "xor %ebx, %ebx; test %rcx, %rcx; cmovne %rax, %rbx\n\t"
                     "mov (%r10), %rdi; test %rdi, %rdi; cmove %rax, %rdi\n\t"
                     "mov 8(%r10), %rsi; test %rsi, %rsi; cmove %rax, %rsi\n\t"
                     "mov 16(%r10), %rdx; test %rdx, %rdx; cmove %rax, %rdx\n\t"
                     "mov 24(%r10), %rcx; test %rcx, %rcx; cmove %rax, %rcx\n\t"
                     "mov %rax, %r8; mov %rax, %r9; mov %rax, %r10\n\t"
                     "movq %rax, %xmm0; movq %rax, %xmm7; movq %rax, %xmm15\n\t"
                     ".cfi_adjust_cfa_offset 8; .cfi_rel_offset rbx, 0\n\t"
                     "call *%r11\n\t"
                     "pop %rbx; .cfi_adjust_cfa_offset -8; .cfi_restore rbx\n\t"
                     "ret");
}

/* A leaf function that makes a system call itself and keeps the address in its red zone. */
__attribute__((naked, noinline)) static void wait_as_leaf(UNUSED uintptr_t hidden)
{
    __asm__ volatile("not %rdi; mov %rdi, -64(%rsp); xor %edi, %edi\n\t"
                     "mov $34, %eax; syscall\n\t" /* pause */
                     "ret");
}

/* ---- threads ------------------------------------------------------------------------------------ */

static NOINLINE uintptr_t take(void)
{
    void *block = calloc(1, BYTES);
    return block ? ~(uintptr_t)block : (abort(), 0);
}

static void *body(void *unused)
{
    uintptr_t hidden = take();
    void *volatile local = keeps_it_in("local") ? (void *)~hidden : NULL;
    struct call *call = find_call();
    fill_below(keeps_it_in("red_zone") ? ~0ul : hidden);
    if (keeps_it_in("red_zone"))
        wait_as_leaf(hidden);
    else
        wait_in(hidden, call->function, call->argument, keeps_it_in("register"));
    for (;;)
        pause();
    return local ? unused : NULL;
}

/* A thread's file in /proc begins with the number of the system call that it waits in. */
static int waits(const char *task, long number)
{
    char path[300], line[64];
    snprintf(path, sizeof path, "/proc/self/task/%s/syscall", task);
    FILE *f = fopen(path, "r");
    int is = f && fgets(line, sizeof line, f) && line[0] != 'r' && atol(line) == number;
    if (f)
        fclose(f);
    return is;
}

static int waiting(long number)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    for (struct dirent *e; tasks && (e = readdir(tasks));)
        count += atoi(e->d_name) > 0 && atoi(e->d_name) != getpid() && waits(e->d_name, number);
    closedir(tasks);
    return count;
}

int main(int argc, char **argv)
{
    pthread_attr_t detached;
    if (argc != 3 || pipe(silent))
        return 2;
    call_name = argv[1];
    place = argv[2];
    struct call *call = find_call();
    if (call->number == SYS_read) {
        call->argument[0] = silent[0];
        call->argument[1] = keeps_it_in("buffer") ? 0 : call->argument[1];
    }
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &detached, body, NULL))
            abort();
    }
    while (waiting(call->number) < THREADS)
        sched_yield();
    return 0;
}

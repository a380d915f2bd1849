/*
 * small_stack.c - allocates on stacks that are just large enough for glibc's malloc, each above a
 * guard page.
 *
 *     small_stack coroutines BYTES   contexts of makecontext run in turn
 *     small_stack handlers           a handler on an alternate stack of the kernel's own minimum and 1.5 KiB
 *     small_stack interrupting       the same at every instruction of the allocator
 *     small_stack jumping            the same, and it leaves the allocator by siglongjmp
 *     small_stack errors BYTES       wrong frees on such a context
 *     small_stack stopped            threads allocate while all of them are stopped by a signal, again and again, and
 *                                    continue when each has stored its stack pointer in its handler
 *
 * To be run with LD_BIND_NOW: the loader's lazy binding saves all vector registers on the stack.
 *
 * rtc-build: -D_GNU_SOURCE -fno-optimize-sibling-calls -lpthread -lstdc++
 */
#include "stack_use.h"

#include "../unit/step.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define MUST(x) ((x) ? (void)0 : fail(#x, __LINE__))
#define PAGE 4096u

static void fail(const char *what, int line)
{
    fprintf(stderr, "small_stack:%d: %s\n", line, what);
    exit(1);
}

/* Return the lowest of `bytes` bytes, right above a page without access rights. */
static char *small_stack(size_t bytes)
{
    size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
    char *p = mmap(NULL, whole + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(p != MAP_FAILED && mprotect(p, PAGE, PROT_NONE) == 0);
    return p + PAGE;
}

/* Every function of the allocator that programs use, with blocks of all kinds. */
static NOINLINE unsigned use_all(unsigned n)
{
    static const size_t sizes[] = {1, 24, 100, 300, 1500, 5000, 33000, 200000};
    size_t bytes = sizes[n % 8] + n % 5;
    char *volatile p = malloc(bytes), *volatile q = calloc(n % 7 + 1, bytes);
    unsigned sum = !p + !q + q[bytes - 1];
    p[0] = p[bytes - 1] = 1;
    p = realloc(p, bytes * 2 + 10);
    sum += p[0] != 1;
    free(q);
    q = new_one(bytes);
    free(p);
    p = memalign(256, bytes);
    sum += (uintptr_t)p % 256 != 0;
    delete_one(q);
    free(p);
    return sum;
}

/* ---- coroutines ------------------------------------------------------------------------------ */

enum { COROUTINES = 24, TURNS = 16, OWN_BYTES = 1280 };

static ucontext_t home, context[COROUTINES];
static unsigned wrong, turns;

static void coroutine(int i)
{
    volatile char own[OWN_BYTES];
    own[0] = own[OWN_BYTES - 1] = (char)i;
    for (unsigned n = 0; n < TURNS; n++) {
        wrong += use_all((unsigned)i + n);
        turns++;
        swapcontext(&context[i], &home);
    }
    wrong += own[0] != (char)i || own[OWN_BYTES - 1] != (char)i;
}

static void begin(ucontext_t *c, void (*f)(void), size_t bytes, int i)
{
    getcontext(c);
    c->uc_stack.ss_sp = small_stack(bytes);
    c->uc_stack.ss_size = bytes;
    c->uc_link = &home;
    makecontext(c, f, 1, i);
}

static void coroutines(size_t bytes)
{
    for (int i = 0; i < COROUTINES; i++)
        begin(&context[i], (void (*)(void))coroutine, bytes, i);
    for (unsigned n = 0; n <= TURNS; n++)
        for (int i = 0; i < COROUTINES; i++)
            swapcontext(&home, &context[i]);
    printf("%u turns, %u wrong\n", turns, wrong);
}

/* ---- wrong frees ----------------------------------------------------------------------------- */

static NOINLINE void free_twice(void)
{
    char *volatile p = malloc(40);
    free(p);
    free(p);
}

static NOINLINE void free_inside(void)
{
    char *volatile p = malloc(40);
    free(p + 16);
    free(p);
}

static NOINLINE void free_local(void)
{
    char local[32];
    char *volatile p = local;
    free(p);
}

static NOINLINE void free_new(void)
{
    free(new_one(40));
}

static volatile int forty = 40;

static NOINLINE void write_past_end(void)
{
    volatile char *p = malloc((size_t)forty);
    p[forty] = 1;
    free((void *)p);
}

static void mistakes(int i)
{
    volatile char own[OWN_BYTES];
    own[0] = own[OWN_BYTES - 1] = (char)i;
    free_twice();
    free_inside();
    free_local();
    free_new();
    write_past_end();
    MUST(!malloc((size_t)PTRDIFF_MAX + (size_t)forty));
}

static void errors(size_t bytes)
{
    begin(&context[0], (void (*)(void))mistakes, bytes, 0);
    swapcontext(&home, &context[0]);
    puts("survived");
}

/* ---- handlers -------------------------------------------------------------------------------- */

static volatile unsigned handled;

static void on_alternate_stack(void)
{
    size_t bytes = (size_t)sysconf(_SC_MINSIGSTKSZ) + 1536;
    stack_t alternate = {.ss_sp = small_stack(bytes), .ss_size = bytes};
    MUST(sigaltstack(&alternate, NULL) == 0);
}

static void handle(int signal)
{
    (void)signal;
    wrong += use_all(handled);
    handled++;
}

static void handlers(void)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    on_alternate_stack();
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    for (unsigned i = 0; i < 64; i++)
        raise(SIGUSR1);
    printf("%u handled, %u wrong\n", handled, wrong);
}

static uintptr_t main_low;
static unsigned elsewhere;

/*
 * In place of a signal that may come at any instruction at which signals are not blocked: they are
 * blocked where the thread is on another stack.
 */
static void handle_step(int signal, siginfo_t *info, void *context)
{
    uintptr_t sp = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
    (void)signal;
    (void)info;
    if (sigismember(&((ucontext_t *)context)->uc_sigmask, SIGUSR1)) {
        elsewhere += sp < main_low;
        return;
    }
    MUST(sp >= main_low);
    if (++handled % 61)
        return;
    char *p = malloc(24 + handled % 200);
    if (p) {
        p[0] = 1;
        p = realloc(p, 300);
    }
    free(p);
}

static void interrupting(void)
{
    struct sigaction action = {.sa_sigaction = handle_step, .sa_flags = SA_ONSTACK | SA_SIGINFO};
    on_alternate_stack();
    main_low = (uintptr_t)__builtin_frame_address(0) - (64u << 10);
    MUST(sigaction(SIGTRAP, &action, NULL) == 0);
    steps_begin();
    void *volatile p = malloc(10000), *volatile q = malloc(
                                          24); /* a slab, and return addresses, that are new */
    free(q);
    free(p);
    free(p); /* an error */
    steps_end();
    MUST(handled > 2000 && (!elsewhere || elsewhere > 200));
    puts("survived");
}

/* ---- handlers that do not return ------------------------------------------------------------- */

static sigjmp_buf out;
static unsigned leave_at;

/* A signal that is blocked would come later. */
static void jump_away(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    if (++handled >= leave_at && !sigismember(&((ucontext_t *)context)->uc_sigmask, SIGUSR1))
        siglongjmp(out, 1);
}

static void jumping(void)
{
    struct sigaction action = {.sa_sigaction = jump_away, .sa_flags = SA_ONSTACK | SA_SIGINFO};
    volatile unsigned left = 0;
    on_alternate_stack();
    MUST(sigaction(SIGTRAP, &action, NULL) == 0);
    for (leave_at = 8; leave_at < 700; leave_at += 23) {
        handled = 0;
        if (sigsetjmp(out, 1) == 0) {
            steps_begin();
            void *volatile p = malloc(5000);
            free(p);
            steps_end();
        } else {
            left++;
        }
        free(malloc(24));
    }
    MUST(left > 10);
    puts("survived");
}

/* ---- threads that are stopped ---------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 150 };

static struct stopped {
    pthread_t thread;
    uintptr_t low, high; /* the limits of its stack */
    _Atomic uintptr_t sp;
    sem_t go;
} stopped[THREADS];
static _Thread_local struct stopped *me;
static sem_t printed;
static _Atomic int over, ready;

/*
 * Like that of a garbage collector: it may be sent at any time, and only reads the thread's
 * registers.
 */
static void stop_here(int signal)
{
    (void)signal;
    atomic_store(&me->sp, (uintptr_t)__builtin_frame_address(0));
    sem_post(&printed);
    while (sem_wait(&me->go))
        ;
}

static NOINLINE void vary(unsigned levels, unsigned n, void **block);

#define CASE(i)                         \
    case i:                             \
        vary(levels - 1, n / 4, block); \
        __asm__ volatile("nop #" #i);   \
        break

/* Stacks that were never there before, in which the depot, slabs and rules grow. */
static NOINLINE void vary(unsigned levels, unsigned n, void **block)
{
    if (!levels) {
        free(*block);
        *block = malloc(n % 3 ? 20000 : 50);
        return;
    }
    switch (n % 4) {
        CASE(0);
        CASE(1);
        CASE(2);
        CASE(3);
    }
}

static void *allocate(void *about)
{
    static _Thread_local void *block[64];
    pthread_attr_t attr;
    void *low = NULL;
    size_t bytes = 0;
    me = about;
    MUST(pthread_getattr_np(pthread_self(), &attr) == 0 &&
         pthread_attr_getstack(&attr, &low, &bytes) == 0);
    pthread_attr_destroy(&attr);
    me->low = (uintptr_t)low;
    me->high = me->low + bytes;
    atomic_fetch_add(&ready, 1);
    for (unsigned n = (unsigned)(me - stopped); !atomic_load(&over); n += THREADS)
        vary(12, n * 2654435761u, &block[n / THREADS % 64]);
    for (unsigned i = 0; i < 64; i++)
        free(block[i]);
    return NULL;
}

static void stop_all(void)
{
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_kill(stopped[i].thread, SIGUSR1) == 0);
    for (int i = 0; i < THREADS; i++)
        while (sem_wait(&printed))
            ;
    for (int i = 0; i < THREADS; i++) {
        uintptr_t sp = atomic_load(&stopped[i].sp);
        MUST(sp >= stopped[i].low && sp < stopped[i].high);
        sem_post(&stopped[i].go);
    }
}

static void stop_again_and_again(void)
{
    struct sigaction action = {.sa_handler = stop_here};
    MUST(sigaction(SIGUSR1, &action, NULL) == 0 && sem_init(&printed, 0, 0) == 0);
    for (int i = 0; i < THREADS; i++)
        MUST(sem_init(&stopped[i].go, 0, 0) == 0 &&
             pthread_create(&stopped[i].thread, NULL, allocate, &stopped[i]) == 0);
    while (atomic_load(&ready) < THREADS)
        sched_yield();
    for (int i = 0; i < ROUNDS; i++)
        stop_all();
    atomic_store(&over, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(stopped[i].thread, NULL);
    puts("stopped");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    if (strcmp(what, "coroutines") == 0)
        coroutines(bytes);
    else if (strcmp(what, "errors") == 0)
        errors(bytes);
    else if (strcmp(what, "handlers") == 0)
        handlers();
    else if (strcmp(what, "interrupting") == 0)
        interrupting();
    else if (strcmp(what, "jumping") == 0)
        jumping();
    else if (strcmp(what, "stopped") == 0)
        stop_again_and_again();
    else
        return 2;
    return 0;
}

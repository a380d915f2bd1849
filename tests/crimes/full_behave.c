/*
 * full_behave.c - code whose behaviour may not change in a checked copy: full_behave CASE; full_behave lists
 * the cases.
 *
 * The line of a crash has a comment: @ CASE.  full.py reads them, and compiles this file with other
 * compilers and options, too.
 *
 * rtc-build: -O1 -g -D_GNU_SOURCE -pthread -rdynamic -ldl -fno-optimize-sibling-calls -U_FORTIFY_SOURCE
 */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "full.h"

static volatile uint64_t sum;
static volatile int how_many = 50;
static jmp_buf back;
static char *volatile shared;

/* ---- behaviour: jumps, calls ------------------------------------------------------------------- */

static NOINLINE void dive(int depth, int *trail)
{
    trail[depth] = depth;
    if (depth == 20)
        longjmp(back, depth);
    if (how_many)
        dive(depth + 1, trail);
    trail[0]++;
}

static void behave_jumps(void)
{
    int *trail = calloc(21, sizeof *trail);
    volatile int total = 0;
    for (volatile int i = 0; i < 100; i++) {
        int got = setjmp(back);
        if (got == 0)
            dive(i % 20, trail);
        total += got + trail[20];
    }
    printf("%d\n", total);
    free(trail);
}

static NOINLINE int add_all(int count, ...)
{
    va_list list;
    double d = 0;
    int total = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++) {
        total += va_arg(list, int);
        d += va_arg(list, double);
    }
    va_end(list);
    return total * 1000 + (int)d;
}

static NOINLINE int on_stack(int n)
{
    int *a = alloca((size_t)n * sizeof *a), vla[n], total = 0;
    for (int i = 0; i < n; i++) {
        a[i] = i * i;
        vla[n - 1 - i] = a[i] / 3;
    }
    for (int i = 0; i < n; i++)
        total += a[i] ^ vla[i];
    return total;
}

static NOINLINE int switched(int n)
{
    switch (n) {
    case 0:
        return 17;
    case 1:
        return n + (int)sum % 2;
    case 2:
        return 5 - n;
    case 3:
        return 9 * n;
    case 4:
        return 4;
    case 5:
        return -n;
    case 6:
        return n * n;
    case 7:
        return 33;
    case 8:
        return 2;
    default:
        return n & 3;
    }
}

static NOINLINE int interpret(const char *code)
{
    static const void *const labels[] = {&&add, &&twice, &&less, &&end};
    int n = 0;
    goto *labels[*code - '0'];
add:
    n += 7;
    goto *labels[*++code - '0'];
twice:
    n *= 2;
    goto *labels[*++code - '0'];
less:
    n -= 3;
    goto *labels[*++code - '0'];
end:
    return n;
}

static NOINLINE int odd(const int *n, int left);
static NOINLINE int even(const int *n, int left)
{
    return left == 0 ? *n : odd(n, left - 1);
}
static NOINLINE int odd(const int *n, int left)
{
    return left == 0 ? -*n : even(n, left - 1);
}

static NOINLINE long deep(const long *p, int depth)
{
    return depth ? deep(p, depth - 1) + p[depth % 8] : 0;
}

static void behave_calls(void)
{
    long *p = calloc(8, sizeof *p);
    for (int i = 0; i < 8; i++)
        p[i] = i * 5;
    printf("%d %d\n", add_all(3, 1, 2.5, 3, 4.5, 5, 6.25), on_stack(300));
    for (int i = -1; i < 12; i++)
        printf("%d ", switched(i));
    char code[] = "0011021200113";
    int *n = malloc(sizeof *n);
    *n = 77;
    printf("%d %d %ld\n", interpret(code), even(n, 1001), deep(p, 10000));
    free(n);
    free(p);
}

/* ---- behaviour: arithmetic and strings ------------------------------------------------------------ */

__attribute__((target("avx2"))) static NOINLINE double wide(const double *d, int n)
{
    typedef double four __attribute__((vector_size(32), aligned(8)));
    four total = {0};
    for (int i = 0; i + 4 <= n; i += 4)
        total += *(const four *)(d + i) * *(const four *)(d + n - i - 4);
    return total[0] + total[1] * 2 + total[2] * 3 + total[3] * 4;
}

static NOINLINE double scalar(const double *d, const float *f, const long double *l, int n)
{
    double total = 0;
    for (int i = 0; i < n; i++)
        total += d[i] * f[i] + (double)(l[i % 4] / 3) - (int)f[i] + (unsigned)d[n - 1 - i];
    return total;
}

static NOINLINE void repeat(char *to, const char *from, size_t n, long *more)
{
    const char *s = from;
    char *t = to;
    size_t left = n;
    __asm__ volatile("cld; rep movsb" : "+S"(s), "+D"(t), "+c"(left) : : "memory");
    left = n / 8;
    t = to + n;
    __asm__ volatile("rep stosq" : "+D"(t), "+c"(left) : "a"(*more) : "memory");
    left = n;
    t = to;
    __asm__ volatile("repne scasb" : "+D"(t), "+c"(left) : "a"('q') : "memory", "cc");
    more[1] = t - to;
    s = from;
    t = to;
    left = n;
    __asm__ volatile("repe cmpsb" : "+S"(s), "+D"(t), "+c"(left) : : "memory", "cc");
    more[2] = s - from;
    __asm__ volatile("xlatb" : "=a"(more[3]) : "a"(3l), "b"(from));
}

static void behave_arithmetic(void)
{
    int n = 64;
    double *d = malloc((size_t)n * sizeof *d);
    float *f = malloc((size_t)n * sizeof *f);
    long double *l = malloc(4 * sizeof *l);
    for (int i = 0; i < n; i++) {
        d[i] = i * 1.25 + 0.1;
        f[i] = (float)(i * 0.75);
        l[i % 4] = i * 1e5L;
    }
    printf("%.17g %.17g\n", scalar(d, f, l, n), __builtin_cpu_supports("avx2") ? wide(d, n) : 0);
    char *from = malloc(100), *to = malloc(200);
    long *more = calloc(4, sizeof *more);
    for (int i = 0; i < 100; i++)
        from[i] = (char)('a' + i % 26);
    more[0] = 0x4142434445464748;
    repeat(to, from, 96, more);
    to[96 + 96] = 0;
    printf("%.192s %ld %ld %ld\n", to, more[1], more[2], more[3]);
    free(d);
    free(f);
    free(l);
    free(from);
    free(to);
    free(more);
}

/* ---- behaviour: threads and processes -------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long *counted;
static __thread long own[4];

static void *count(void *about)
{
    for (int i = 0; i < 20000; i++) {
        own[i % 4] += i;
        __atomic_fetch_add(&counted[1], 1, __ATOMIC_RELAXED);
        pthread_mutex_lock(&mutex);
        counted[0]++;
        pthread_mutex_unlock(&mutex);
    }
    long *total = malloc(sizeof *total);
    *total = own[0] + own[1] + own[2] + own[3] + (about == NULL);
    return total;
}

static void behave_threads(void)
{
    pthread_t t[8];
    long total = 0;
    counted = calloc(2, sizeof *counted);
    for (uintptr_t i = 0; i < 8; i++)
        must(pthread_create(&t[i], NULL, count, (void *)i) == 0, "thread");
    for (int i = 0; i < 8; i++) {
        void *got;
        pthread_join(t[i], &got);
        total += *(long *)got;
        free(got);
    }
    printf("%ld %ld %ld\n", counted[0], counted[1], total);
    free(counted);
}

static void *leave(void *about)
{
    long *p = malloc(8);
    *p = *(long *)about;
    pthread_exit(p);
}

static void on_cancel(void *about)
{
    ++*(long *)about;
}

static void *wait_long(void *about)
{
    pthread_cleanup_push(on_cancel, about);
    for (;;)
        usleep(1000);
    pthread_cleanup_pop(0);
    return NULL;
}

static void behave_ends(void)
{
    pthread_t t;
    void *got = NULL;
    long *p = malloc(sizeof *p);
    *p = 55;
    must(pthread_create(&t, NULL, leave, p) == 0 && pthread_join(t, &got) == 0, "exit");
    printf("%ld\n", *(long *)got);
    free(got);
    must(pthread_create(&t, NULL, wait_long, p) == 0, "thread");
    usleep(20000);
    must(pthread_cancel(t) == 0 && pthread_join(t, &got) == 0, "cancel");
    printf("%d %ld\n", got == PTHREAD_CANCELED, *p);
    free(p);
}

static void behave_processes(void)
{
    int status, *p = malloc(sizeof *p);
    char *const echo[] = {"/bin/echo", "executed", NULL};
    *p = 4;
    for (volatile int i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(*p + i);
        must(waitpid(child, &status, 0) == child, "wait");
        printf("%d ", WEXITSTATUS(status));
        fflush(stdout);
        child = vfork();
        if (child == 0) {
            ++*p;
            execv(*echo, echo);
            _exit(1);
        }
        must(waitpid(child, &status, 0) == child && status == 0, "executed");
    }
    printf("%d\n", *p);
    free(p);
}

static void at_end(void)
{
    printf("at end %c\n", *shared);
}

static void behave_atexit(void)
{
    shared = make(1);
    atexit(at_end);
    exit(3);
}

static void behave_library(void)
{
    void *library = dlopen(getenv("FULL_LIBRARY"), RTLD_NOW);
    must(library, "library");
    int (*call)(int (*)(int), const int *) =
        (int (*)(int (*)(int), const int *))(uintptr_t)dlsym(library, "call");
    int *p = malloc(sizeof *p);
    *p = 6;
    printf("%d", call(switched, p));
    printf(" %d\n", dlclose(library));
    free(p);
}

/* ---- behaviour: contexts ------------------------------------------------------------------------- */

static ucontext_t first, second;

static void coroutine(int a, int b)
{
    for (int i = 0; i < 5; i++) {
        printf("%d%c ", a * i + b, *shared);
        swapcontext(&second, &first);
    }
}

static void behave_contexts(void)
{
    char *stack = malloc(65536);
    shared = make(1);
    getcontext(&second);
    second.uc_stack.ss_sp = stack;
    second.uc_stack.ss_size = 65536;
    second.uc_link = &first;
    makecontext(&second, (void (*)(void))(uintptr_t)coroutine, 2, 7, 9);
    for (int i = 0; i < 6; i++)
        swapcontext(&first, &second);
    printf("end\n");
    free(stack);
    free(shared);
}

/* ---- behaviour: signals -------------------------------------------------------------------------- */

#define LIMBS 24

/* Additions with carry in memory keep flags alive over loads, and 16 sums the registers. */
static NOINLINE uint64_t press(const uint64_t *a, const uint64_t *b, uint64_t *to, int rounds)
{
    uint64_t r0 = a[0], r1 = a[1], r2 = a[2], r3 = a[3], r4 = a[4], r5 = a[5], r6 = a[6], r7 = a[7],
             r8 = a[8], r9 = a[9], r10 = a[10], r11 = a[11];
    for (int i = 0; i < rounds; i++) {
        const uint64_t *p = a + i % 8, *q = b + i % 4;
        __asm__(
            "add 0(%[p]), %[r0]\n adc 8(%[p]), %[r1]\n adc 16(%[p]), %[r2]\n adc 24(%[p]), %[r3]\n"
            "adc 0(%[q]), %[r4]\n adc 8(%[q]), %[r5]\n adc $0, %[r0]"
            :
            [r0] "+r"(r0), [r1] "+r"(r1), [r2] "+r"(r2), [r3] "+r"(r3), [r4] "+r"(r4), [r5] "+r"(r5)
            : [p] "r"(p), [q] "r"(q)
            : "cc", "memory");
        r6 += q[r0 % 8] * 3;
        r7 ^= p[r1 % 8] + r6;
        r8 += r7 > p[2] ? q[3] : r5;
        r9 = (r9 << 7 | r9 >> 57) ^ q[r8 % 8];
        r10 += p[r9 % 8] * r2;
        r11 ^= r10 + r3;
        to[i % LIMBS] += r11 ^ r4;
    }
    return r0 ^ r1 ^ r2 ^ r3 ^ r4 ^ r5 ^ r6 ^ r7 ^ r8 ^ r9 ^ r10 ^ r11 ^ to[3];
}

/* As above; no register is free. */
static NOINLINE uint64_t press_all(const uint64_t *a, int rounds)
{
    uint64_t total = 0;
    for (int i = 0; i < rounds; i++) {
        const uint64_t *p = a + i % 8;
        uint64_t r = total;
        __asm__("lea -128(%%rsp), %%rsp\n push %%rbp\n mov %%rax, %%rbp\n"
                "mov 0(%%rdi), %%rax\n mov 8(%%rdi), %%rbx\n mov 16(%%rdi), %%rcx\n"
                "mov 24(%%rdi), %%rdx\n mov 32(%%rdi), %%rsi\n mov 40(%%rdi), %%r8\n"
                "mov 48(%%rdi), %%r9\n mov 56(%%rdi), %%r10\n mov 64(%%rdi), %%r11\n"
                "mov 72(%%rdi), %%r12\n mov 80(%%rdi), %%r13\n mov 88(%%rdi), %%r14\n"
                "mov 96(%%rdi), %%r15\n"
                "add 104(%%rdi), %%rax\n adc 0(%%rdi), %%rbx\n adc 8(%%rdi), %%rcx\n"
                "adc 16(%%rdi), %%rdx\n adc 24(%%rdi), %%rsi\n adc 32(%%rdi), %%r8\n"
                "adc 40(%%rdi), %%r9\n adc 48(%%rdi), %%r10\n adc 56(%%rdi), %%r11\n"
                "adc 64(%%rdi), %%r12\n adc 72(%%rdi), %%r13\n adc 80(%%rdi), %%r14\n"
                "adc 88(%%rdi), %%r15\n adc %%rbp, %%rax\n"
                "rol $9, %%rax\n xor %%rbx, %%rax\n rol $9, %%rax\n xor %%rcx, %%rax\n"
                "rol $9, %%rax\n xor %%rdx, %%rax\n rol $9, %%rax\n xor %%rsi, %%rax\n"
                "rol $9, %%rax\n xor %%r8, %%rax\n rol $9, %%rax\n xor %%r9, %%rax\n"
                "rol $9, %%rax\n xor %%r10, %%rax\n rol $9, %%rax\n xor %%r11, %%rax\n"
                "rol $9, %%rax\n xor %%r12, %%rax\n rol $9, %%rax\n xor %%r13, %%rax\n"
                "rol $9, %%rax\n xor %%r14, %%rax\n rol $9, %%rax\n xor %%r15, %%rax\n"
                "pop %%rbp\n lea 128(%%rsp), %%rsp"
                : "+a"(r), "+D"(p)
                :
                : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
                  "cc", "memory");
        total += r;
    }
    return total;
}

static uint64_t *limbs, *signal_to;
static volatile uint64_t handled, signal_wrong, signal_right;

static uint64_t press_in_signal(void)
{
    memset(signal_to, 1, LIMBS * sizeof *signal_to);
    return press(limbs + 3, limbs + 1, signal_to, 9) ^ press_all(limbs + 2, 5);
}

static void on_timer(int signal)
{
    (void)signal;
    handled++;
    signal_wrong += press_in_signal() != signal_right;
}

static uint64_t press_both(uint64_t *to)
{
    memset(to, 0, LIMBS * sizeof *to);
    return press(limbs, limbs + 5, to, 1500) ^ press_all(limbs, 1500);
}

static void start_timer(long us)
{
    struct itimerval every = {{0, us}, {0, us}};
    must(setitimer(ITIMER_REAL, &every, NULL) == 0, "timer");
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void behave_timer(void)
{
    struct sigaction act = {.sa_handler = on_timer, .sa_flags = SA_RESTART}, old;
    uint64_t *to = malloc(LIMBS * sizeof *to), wrong = 0;
    double until = seconds() + (getenv("FULL_SECONDS") ? atof(getenv("FULL_SECONDS")) : 1);
    limbs = malloc(LIMBS * sizeof *limbs);
    signal_to = malloc(LIMBS * sizeof *signal_to);
    for (int i = 0; i < LIMBS; i++)
        limbs[i] = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1);
    signal_right = press_in_signal();
    uint64_t right = press_both(to);
    must(sigaction(SIGALRM, &act, &old) == 0 && old.sa_handler == SIG_DFL, "old action");
    start_timer(100);
    do
        wrong += press_both(to) != right;
    while (seconds() < until || handled <= 500);
    start_timer(0);
    printf("%d %llu %llu %llx %llx\n", handled > 500, (unsigned long long)wrong,
           (unsigned long long)signal_wrong, (unsigned long long)right,
           (unsigned long long)signal_right);
    free(limbs);
    free(signal_to);
    free(to);
}

/* Is it in this program's code?  Not in a library's, which may differ. */
static bool is_own(uintptr_t pc)
{
    extern const char __executable_start, etext;
    return pc >= (uintptr_t)&__executable_start && pc < (uintptr_t)&etext;
}

static volatile uintptr_t last_step;
static volatile uint64_t steps, step_sum;

static uintptr_t *pc_of(void *context)
{
    return (uintptr_t *)&((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

/* Checks are further steps before their instruction, with the same address. */
static void on_step(int signal, siginfo_t *info, void *context)
{
    uintptr_t pc = *pc_of(context);
    (void)signal;
    signal_wrong += (uintptr_t)info->si_addr != pc;
    if (!is_own(pc) || pc == last_step)
        return;
    last_step = pc;
    steps++;
    step_sum = step_sum * 31 + (pc - (uintptr_t)&pc_of);
}

static void step(bool on)
{
    uint64_t flag = on ? 0x100 : 0;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n"
                     "orq %0, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp"
                     :
                     : "r"(flag)
                     : "cc", "memory");
}

/* A signal after each instruction: the handler sees the original ones, and changes nothing. */
static void behave_stepped(void)
{
    struct sigaction act = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    uint64_t to[LIMBS] = {0};
    int rounds = getenv("FULL_ROUNDS") ? atoi(getenv("FULL_ROUNDS")) : 200;
    limbs = malloc(LIMBS * sizeof *limbs);
    for (int i = 0; i < LIMBS; i++)
        limbs[i] = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1);
    uint64_t right = press(limbs, limbs + 5, to, rounds) ^ press_all(limbs, rounds);
    memset(to, 0, sizeof to);
    sigaction(SIGTRAP, &act, NULL);
    step(true);
    uint64_t stepped = press(limbs, limbs + 5, to, rounds) ^ press_all(limbs, rounds);
    step(false);
    printf("%d %llu %llu %llx\n", stepped == right, (unsigned long long)signal_wrong,
           (unsigned long long)steps, (unsigned long long)step_sum);
    free(limbs);
}

static void on_bad_code(int signal, siginfo_t *info, void *context)
{
    uintptr_t *pc = pc_of(context);
    printf("signal %d, code %d, %d %d\n", signal, info->si_code, is_own(*pc),
           signal == SIGSEGV || (uintptr_t)info->si_addr == *pc);
    *pc += 2; /* the length of each of the instructions below */
}

/* Handlers continue after the instruction that has faulted, in the middle of a function. */
static NOINLINE int skip_bad_code(const int *p, const int *bad)
{
    int n = *p;
    __asm__ volatile("ud2" ::: "memory");
    n += p[1];
    __asm__ volatile("xor %%ecx, %%ecx\n xor %%edx, %%edx\n div %%ecx" : "+a"(n) : : "rcx", "rdx");
    n += p[2];
    __asm__ volatile("mov (%0), %%edx" : : "c"(bad) : "rdx");
    return n + p[3];
}

static void behave_skipped(void)
{
    static const int signals[] = {SIGILL, SIGFPE, SIGSEGV};
    struct sigaction act = {.sa_sigaction = on_bad_code, .sa_flags = SA_SIGINFO};
    for (int i = 0; i < 3; i++)
        sigaction(signals[i], &act, NULL);
    int *p = malloc(4 * sizeof *p);
    for (int i = 0; i < 4; i++)
        p[i] = 1 << i;
    printf("%d\n", skip_bad_code(p, NULL));
    free(p);
}

static void on_other(int signal, siginfo_t *info, void *context)
{
    printf("signal %d by %d, %d\n", signal, info->si_code, context != NULL);
}

static void behave_actions(void)
{
    struct sigaction act = {.sa_handler = on_timer}, old;
    sigaction(SIGUSR1, &act, NULL);
    sigaction(SIGUSR1, NULL, &old);
    printf("%d %x\n", old.sa_handler == on_timer, (unsigned)old.sa_flags & ~0x04000000u);
    act = (struct sigaction){.sa_sigaction = on_other, .sa_flags = SA_SIGINFO | SA_RESETHAND};
    sigaddset(&act.sa_mask, SIGUSR2);
    sigaction(SIGUSR1, &act, &old);
    printf("%d\n", old.sa_handler == on_timer);
    raise(SIGUSR1);
    sigaction(SIGUSR1, NULL, &old);
    printf("%d\n", old.sa_handler == SIG_DFL);
    printf("%d ", signal(SIGUSR2, on_timer) == SIG_DFL);
    printf("%d ", signal(SIGUSR2, SIG_IGN) == on_timer);
    printf("%d ", signal(SIGUSR2, SIG_DFL) == SIG_IGN);
    act.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR2, &act, NULL);
    sigaction(SIGUSR2, NULL, &old);
    printf("%d %x %d\n", old.sa_sigaction == on_other, (unsigned)old.sa_flags & ~0x04000000u,
           sigismember(&old.sa_mask, SIGUSR2));
    raise(SIGUSR2);
    sigaction(SIGSEGV, &act, NULL);
    sigaction(SIGSEGV, NULL, &old);
    printf("%d\n", old.sa_sigaction == on_other);
}

static sigjmp_buf from_signal;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    printf("signal %d code %d at %p\n", signal, info->si_code, info->si_addr);
    siglongjmp(from_signal, 1);
}

static NOINLINE int read_at(const volatile int *p)
{
    return p[1];
}

static void behave_fault(void)
{
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &act, NULL);
    shared = make(8);
    for (volatile int i = 0; i < 50; i++)
        if (sigsetjmp(from_signal, 1) == 0)
            printf("%d\n", read_at(NULL));
    printf("%c\n", *shared);
    free(shared);
}

static NOINLINE void crash_null(const volatile int *p)
{
    printf("%d\n", *p); /* @crash_null */
}

static void behave_null(void)
{
    crash_null(NULL);
}

static NOINLINE void crash_wild(volatile int *p)
{
    *p = 5; /* @crash_wild */
}

static void behave_wild(void)
{
    crash_wild((int *)0x4142434445464748);
}

struct three {
    volatile long a, b, c;
};

/* One check compares the shadow of all fields, in two parts. */
static NOINLINE long crash_wild_group(struct three *p)
{
    return p->a + p->b + p->c; /* @crash_wild_group */
}

static void behave_wild_group(void)
{
    crash_wild_group((struct three *)0x4142434445464740);
}

/* `bad` is no valid address. The check of its read must not change memory at `good`. */
static NOINLINE int read_beside(const char *good, const volatile int *bad)
{
    return *bad + *good;
}

static void behave_beside(void)
{
    static char *const bad[] = {(char *)0x4142434445464748, (char *)-1, (char *)-4096,
                                (char *)0x0000800000000000, (char *)0xffff800000000000};
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &act, NULL);
    sigaction(SIGBUS, &act, NULL);
    shared = make(64);
    for (volatile int i = 0; i < 5; i++)
        if (sigsetjmp(from_signal, 1) == 0)
            printf("%d\n", read_beside(shared, (int *)(void *)bad[i]));
    printf("%.64s\n", shared);
    free(shared);
}

static NOINLINE void write_beside(char *good, volatile int *bad)
{
    *bad = *good;
}

/* Addresses that the shadow of all memory covers, where the program has nothing. */
static void behave_nowhere(void)
{
    static char *const bad[] = {(char *)0x90000000, (char *)0x3000000000, (char *)0x10000000000,
                                (char *)0x20081000000, (char *)0x40000000000};
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &act, NULL);
    shared = make(64);
    for (volatile int i = 0; i < 5; i++) {
        if (sigsetjmp(from_signal, 1) == 0)
            printf("%d\n", read_beside(shared, (int *)(void *)bad[i]));
        if (sigsetjmp(from_signal, 1) == 0)
            write_beside(shared, (int *)(void *)bad[i]);
        if (sigsetjmp(from_signal, 1) == 0)
            memcpy(shared, bad[i], 8);
        printf("%zd %d\n", write(1, bad[i], 8), errno);
    }
    free(shared);
}

/* Memory where programs seldom have any: no check has read its shadow before. */
static void behave_far(void)
{
    for (uintptr_t at = 0x200000000000; at < 0x500000000000; at += 0x100000000000) {
        char *p =
            mmap((char *)at, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        printf("%d\n", p == (char *)at);
        write_beside(p, (int *)(void *)(p + 4));
        printf("%d\n", read_beside(p, (int *)(void *)(p + 4)));
    }
}

#define EACH_BEHAVIOUR(DO) \
    DO(jumps)              \
    DO(calls)              \
    DO(arithmetic)         \
    DO(threads)            \
    DO(ends)               \
    DO(processes)          \
    DO(atexit)             \
    DO(library)            \
    DO(contexts)           \
    DO(timer)              \
    DO(stepped)            \
    DO(skipped)            \
    DO(actions)            \
    DO(beside)             \
    DO(nowhere)            \
    DO(far)                \
    DO(fault)              \
    DO(null)               \
    DO(wild)               \
    DO(wild_group)
/* ---- all ---------------------------------------------------------------------------------------- */

static const struct behaviour {
    const char *name;
    void (*run)(void);
} behaviours[] = {
#define BEHAVIOUR(name) {#name, behave_##name},
    EACH_BEHAVIOUR(BEHAVIOUR)};

int main(int argc, char **argv)
{
    bool found = argc == 1;
    setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t i = 0; i < sizeof behaviours / sizeof *behaviours; i++)
        if (argc == 1) {
            puts(behaviours[i].name);
        } else if (strcmp(behaviours[i].name, argv[1]) == 0) {
            behaviours[i].run();
            found = true;
        }
    must(found, "name");
    puts("done");
    return 0;
}

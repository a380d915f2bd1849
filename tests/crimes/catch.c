/*
 * catch.c - one bad write by the program's own code, which is detected afterwards: catch CASE.  Each
 * case writes its last byte at "bad byte" and prints "done".  `twin` before CASE: the write stays
 * inside of the block.
 *
 * rtc-build: -O1 -g -D_GNU_SOURCE -pthread -fno-builtin -fno-optimize-sibling-calls -U_FORTIFY_SOURCE
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define OTHERS 50
#define KEPT 24 /* even: with both edges in turn, guarded at the end */

static int is_twin;
static char *self_path;

static NOINLINE void bad_byte(char *at)
{
    *(volatile char *)at = 0x5a;
}

static NOINLINE void bad_word(char *at)
{
    struct {
        uint64_t value;
    } __attribute__((packed, may_alias)) volatile *word = (void *)at;
    word->value = 0x5a5a5a5a5a5a5a5a;
}

static void write_at(char *p, long offset)
{
    bad_byte(p + (is_twin ? 0 : offset));
}

/* Other blocks of the same stack, some of which stay. */
static NOINLINE char *one_of(size_t bytes)
{
    char *p = NULL;
    for (int i = 0; i < OTHERS; i++) {
        char *q = malloc(bytes);
        if (i == KEPT)
            p = q;
        else
            free(q);
    }
    return p;
}

static void past(size_t bytes, long offset)
{
    char *p = one_of(bytes);
    write_at(p, offset);
    free(p);
}

static void end_of_9(void)
{
    past(9, 9);
}
static void slack_of_9(void)
{
    past(9, 11);
}
static void slack_of_13(void)
{
    past(13, 15);
}
static void end_of_16(void)
{
    past(16, 16);
}
static void end_of_1(void)
{
    past(1, 1);
}
static void end_of_24(void)
{
    past(24, 24);
}
static void slack_of_33(void)
{
    past(33, 40);
}
static void end_of_100(void)
{
    past(100, 100);
}
static void end_of_4000(void)
{
    past(4000, 4000);
}
static void end_of_40000(void)
{
    past(40000, 40000);
}
static void before_16(void)
{
    past(16, -1);
}
static void before_4000(void)
{
    past(4000, -8);
}

static void across_end(void)
{
    char *p = one_of(20);
    bad_word(p + (is_twin ? 8 : 16));
    free(p);
}

static void after_free(void)
{
    char *p = one_of(64);
    if (is_twin)
        write_at(p, 5);
    free(p);
    if (!is_twin)
        write_at(p, 5);
}

static void after_realloc(void)
{
    char *p = one_of(64), *q = realloc(p, 100000);
    write_at(is_twin ? q : p, 63);
    free(q);
}

static void of_calloc(void)
{
    char *p = calloc(7, 3);
    write_at(p, 21);
    free(p);
}

static void of_realloc(void)
{
    char *p = realloc(malloc(10), 50);
    write_at(p, 50);
    free(p);
}

static void of_aligned(void)
{
    void *p;
    if (posix_memalign(&p, 64, 128))
        abort();
    write_at(p, 128);
    free(p);
}

static void of_strdup(void)
{
    char *p = strdup("sixteen letters.");
    write_at(p, 17);
    free(p);
}

static void *in_thread(void *unused)
{
    past(30, 30);
    return unused;
}

static void by_thread(void)
{
    pthread_t t;
    pthread_create(&t, NULL, in_thread, NULL);
    pthread_join(t, NULL);
}

static void *worker(void *bad)
{
    for (int i = 0; i < 200; i++) {
        char *p = malloc(48);
        if (bad && i == 100)
            write_at(p, 48);
        free(p);
    }
    return NULL;
}

/* Four threads that allocate by the same calls, one of which writes. */
static void by_threads(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, worker, i == 2 ? &is_twin : NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

static void in_child(void)
{
    int status;
    pid_t child = fork();
    if (!child) {
        past(44, 44);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status)
        abort();
}

static void in_exec(void)
{
    int status;
    pid_t child = fork();
    if (!child) {
        char *twin[] = {self_path, "twin", "end_of_9", NULL},
             *bad[] = {self_path, "end_of_9", NULL};
        execv(self_path, is_twin ? twin : bad);
        _exit(127);
    }
    if (waitpid(child, &status, 0) != child || status)
        abort();
}

static NOINLINE void deep(int levels)
{
    char room[32];
    memset(room, levels, sizeof room);
    if (levels)
        deep(levels - 1);
    else
        past(12, 12);
    __asm__ volatile("" : : "r"(room) : "memory");
}

static void by_recursion(void)
{
    deep(100);
}

static void of_leak(void)
{
    char *volatile p = one_of(80);
    write_at(p, 80);
    p = NULL;
}

/* Instructions that need malloc's alignment, in every form that compilers emit. */
static void aligned_moves(void)
{
    char *p = one_of(44), *q = one_of(44);
    memset(p, 1, 44);
#define MOVE(load, store, at, vector)                                                       \
    __asm__ volatile(load " " #at "(%0), %%" vector "\n" store " %%" vector ", " #at "(%1)" \
                     :                                                                      \
                     : "r"(p), "r"(q)                                                       \
                     : "memory", vector)
    MOVE("movaps", "movaps", 0, "xmm0");
    MOVE("movapd", "movapd", 16, "xmm15");
    MOVE("movdqa", "movdqa", 0, "xmm7");
    MOVE("movdqa", "movntdq", 16, "xmm8");
    MOVE("movaps", "movntps", 0, "xmm3");
    MOVE("movapd", "movntpd", 16, "xmm9");
    register char *high __asm__("r13") = q;
    __asm__ volatile("movaps %%xmm3, (%0,%1,8)" : : "r"(high), "r"(2l) : "memory");
    for (int i = 0; i < 32; i++)
        if (q[i] != 1)
            abort();
    write_at(q, 44);
    free(p);
    free(q);
}

/* The bad write is itself such a move: its last bytes are past the end. */
static NOINLINE void bad_move(char *at)
{
    __asm__ volatile("movaps %%xmm0, (%0)" : : "r"(at) : "memory");
}

static void aligned_store(void)
{
    char *p = one_of(44);
    __asm__ volatile("pcmpeqd %%xmm0, %%xmm0" : : : "xmm0");
    bad_move(p + (is_twin ? 16 : 32));
    free(p);
}

/* More stacks than can be guarded at once. */
#define ONE(n)                            \
    {                                     \
        char *volatile p = malloc(9 + n); \
        write_at(p, is_twin ? 0 : 9 + n); \
        free(p);                          \
    }
#define FOUR(n) ONE(n) ONE(n + 1) ONE(n + 2) ONE(n + 3)

static int many(void)
{
    FOUR(0) FOUR(4) FOUR(8) FOUR(12) FOUR(16) return 0;
}

/* Only its first run writes. */
static int once(void)
{
    char *volatile p = malloc(24);
    FILE *mark = fopen("once", "r");
    if (!mark) {
        bad_byte(p + 24);
        mark = fopen("once", "w");
    }
    fclose(mark);
    free(p);
    return 0;
}

/* It is ended from outside, or may be. */
static int stopped(void)
{
    end_of_24();
    raise(SIGTERM);
    return 0;
}

/* A system call fills what it must not, with and without checks. */
static int filled(void)
{
    char *volatile p = malloc(24);
    int zero = open("/dev/zero", O_RDONLY);
    long got = read(zero, p, 25);
    printf("%ld\n", got);
    close(zero);
    free(p);
    return 0;
}

/* The handler interrupts the program anywhere. */
static volatile sig_atomic_t handled;

static void on_alarm(int unused)
{
    (void)unused;
    end_of_9();
    handled = 1;
}

static int in_handler(void)
{
    struct itimerval soon = {.it_value = {.tv_usec = 20000}};
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &soon, NULL);
    for (volatile unsigned long i = 0; !handled; i++)
        ;
    return 0;
}

static const struct {
    const char *name;
    int (*act)(void);
} others[] = {{"many", many},
              {"once", once},
              {"stopped", stopped},
              {"filled", filled},
              {"in_handler", in_handler}};

static const struct {
    const char *name;
    void (*act)(void);
} cases[] = {
#define CASE(name)  \
    {               \
#name, name \
    }
    CASE(end_of_1),    CASE(end_of_9),      CASE(slack_of_9),    CASE(slack_of_13),
    CASE(end_of_16),   CASE(end_of_24),     CASE(slack_of_33),   CASE(end_of_100),
    CASE(end_of_4000), CASE(end_of_40000),  CASE(before_16),     CASE(before_4000),
    CASE(across_end),  CASE(after_free),    CASE(after_realloc), CASE(of_calloc),
    CASE(of_realloc),  CASE(of_aligned),    CASE(of_strdup),     CASE(by_thread),
    CASE(by_threads),  CASE(in_child),      CASE(in_exec),       CASE(by_recursion),
    CASE(of_leak),     CASE(aligned_moves), CASE(aligned_store)};

int main(int argc, char **argv)
{
    char letter = '-';
    self_path = argv[0];
    is_twin = argc > 2 && strcmp(argv[1], "twin") == 0;
    const char *name = argc > 1 ? argv[argc - 1] : "";
    if (strcmp(name, "list") == 0) {
        for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
            puts(cases[i].name);
        return 0;
    }
    if (strcmp(name, "input") == 0) { /* prints what it reads */
        end_of_9();
        while (read(0, &letter, 1) == 1)
            printf("%c", letter);
        return 3;
    }
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].name, name) == 0)
            return others[i].act();
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, name) == 0) {
            cases[i].act();
            puts("done");
            return 0;
        }
    return 2;
}

/*
 * guards.c - loads and stores that leave a block, or use it after free, by the program's own code, and
 * code that touches exactly what it may: guards CASE. Each case prints "done" as its last line.
 *
 * rtc-build: -O1 -g -D_GNU_SOURCE -pthread -fno-builtin -fno-optimize-sibling-calls -U_FORTIFY_SOURCE
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

#define PLANTED 60
#define SAMPLES 20000

static volatile long sum;

static void must(bool holds, const char *what)
{
    if (!holds) {
        printf("FAIL %s\n", what);
        exit(9);
    }
}

static NOINLINE void load(const volatile char *p)
{
    sum += *p;
}

static NOINLINE void load_word(const volatile long *p)
{
    sum += *p;
}

static NOINLINE void store(volatile char *p)
{
    *p = 'Z';
}

static NOINLINE char *make(size_t n)
{
    char *p = malloc(n);
    must(p && (uintptr_t)p % 16 == 0, "alignment");
    memset(p, 'a', n);
    return p;
}

static NOINLINE void drop(char *p)
{
    free(p);
}

/* The first byte after the block that a guard can detect: blocks are aligned to 16 bytes. */
static char *after(char *p, size_t n)
{
    return p + (n + 15) / 16 * 16;
}

static size_t size_of(int i)
{
    return (size_t)(1 + i * 89 % 5000);
}

/* ---- planted accesses ------------------------------------------------------------------------ */

static void each(void (*access)(volatile char *), int place)
{
    for (int i = 0; i < PLANTED; i++) {
        size_t n = size_of(i);
        char *p = make(n);
        if (place > 0)
            access(after(p, n));
        else if (place < 0)
            access(p - 1);
        drop(p);
        if (place == 0)
            access(p + n / 2);
    }
}

static void load_it(volatile char *p)
{
    load(p);
}

static void case_loads_after(void)
{
    each(load_it, 1);
}
static void case_loads_before(void)
{
    each(load_it, -1);
}
static void case_loads_freed(void)
{
    each(load_it, 0);
}
static void case_stores_after(void)
{
    each(store, 1);
}
static void case_stores_before(void)
{
    each(store, -1);
}
static void case_stores_freed(void)
{
    each(store, 0);
}

/* Half of the word is in the block. */
static void case_word(void)
{
    char *p = make(64);
    load_word((const volatile long *)(p + 60));
    drop(p);
}

static void case_large(void)
{
    char *p = make(300000);
    load(after(p, 300000));
    drop(p);
    load(p + 150000);
}

/* The free fill is read. */
static void case_fill(void)
{
    char *p = make(48);
    drop(p);
    load(p + 47);
    const unsigned char *bytes = (const unsigned char *)p;
    for (int i = 0; i < 48; i++)
        must(bytes[i] == (i % 8 == 7 ? 0xde : 0x80 | ((uintptr_t)p >> i % 8 * 7 & 0x7f)), "fill");
    load(p + 3);
}

static void case_moved(void)
{
    char *p = make(100), *moved = realloc(p, 120);
    must(moved && moved[99] == 'a', "moved");
    load(p);
    free(moved);
}

static void case_samples(void)
{
    for (int i = 0; i < SAMPLES; i++) {
        char *p = malloc(64);
        p[0] = 1;
        free(p);
        load(p);
    }
}

/* ---- the program's signals ------------------------------------------------------------------- */

static sigjmp_buf back;
static volatile sig_atomic_t handled;
static void *volatile handled_at;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    handled = signal;
    handled_at = info->si_addr;
    siglongjmp(back, 1);
}

static NOINLINE void fault(void)
{
    if (!sigsetjmp(back, 1))
        load((const volatile char *)0x10);
    must(handled == SIGSEGV && handled_at == (void *)0x10, "the program's handler");
    handled = 0;
}

static void on_simple(int signal)
{
    handled = signal;
    siglongjmp(back, 1);
}

static void query_own(void)
{
    struct sigaction now;
    must(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction == on_fault &&
             (now.sa_flags & (SA_SIGINFO | SA_RESETHAND | SA_NODEFER)) ==
                 (SA_SIGINFO | SA_NODEFER) &&
             sigismember(&now.sa_mask, SIGUSR1) == 1 && sigismember(&now.sa_mask, SIGSEGV) == 0,
         "the program's action");
}

static void case_handler(void)
{
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER}, old;
    char *p = make(64);
    sigaddset(&act.sa_mask, SIGUSR1);
    must(sigaction(SIGSEGV, &act, &old) == 0 && old.sa_handler == SIG_DFL, "the first action");
    query_own();
    load(after(p, 64));
    must(!handled, "no call of the handler");
    fault();
    query_own();
    must(signal(SIGSEGV, on_simple) == (sighandler_t)(uintptr_t)on_fault,
         "signal returns the old one");
    if (!sigsetjmp(back, 1))
        load((const volatile char *)0x10);
    must(handled == SIGSEGV, "a handler with one argument");
    must(signal(SIGSEGV, SIG_DFL) == on_simple, "signal returns the second");
    act.sa_flags |= (int)SA_RESETHAND;
    must(sigaction(SIGSEGV, &act, NULL) == 0, "a third action");
    fault();
    must(sigaction(SIGSEGV, NULL, &old) == 0 && old.sa_handler == SIG_DFL, "SA_RESETHAND");
    drop(p);
    load(p);
}

static void *with_blocked(void *about)
{
    sigset_t all, now;
    (void)about;
    sigfillset(&all);
    must(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0 && pthread_sigmask(SIG_BLOCK, NULL, &now) == 0,
         "mask");
    must(sigismember(&now, SIGSEGV) == 1 && sigismember(&now, SIGUSR1) == 1, "mask as it was set");
    char *p = make(64);
    drop(p);
    load(p);
    sigemptyset(&all);
    must(sigprocmask(SIG_SETMASK, &all, &now) == 0 && sigismember(&now, SIGSEGV) == 1, "old mask");
    must(sigprocmask(SIG_SETMASK, NULL, &now) == 0 && sigismember(&now, SIGSEGV) == 0, "new mask");
    return NULL;
}

static char *freed;

static void on_user(int signal)
{
    (void)signal;
    load(freed);
}

static void case_blocked(void)
{
    pthread_t thread;
    struct sigaction act = {.sa_handler = on_user}, old;
    must(pthread_create(&thread, NULL, with_blocked, NULL) == 0 && pthread_join(thread, NULL) == 0,
         "thread");
    sigfillset(&act.sa_mask);
    freed = make(64);
    drop(freed);
    must(sigaction(SIGUSR1, &act, NULL) == 0 && raise(SIGUSR1) == 0, "signal");
    must(sigaction(SIGUSR1, NULL, &old) == 0 && sigismember(&old.sa_mask, SIGSEGV) == 1 &&
             sigismember(&old.sa_mask, SIGUSR2) == 1,
         "the handler's mask");
}

static void case_ignored(void)
{
    signal(SIGSEGV, SIG_IGN);
    char *p = make(64);
    load(after(p, 64));
    drop(p);
    load(p);
}

/* ---- threads and processes ------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS 1500

static char *shared[64];

static void *exchange(void *about)
{
    unsigned x = (unsigned)(uintptr_t)about;
    for (int i = 0; i < ROUNDS; i++) {
        x = x * 1664525 + 1013904223;
        size_t n = x >> 8 & 1023;
        char *p = make(n), *other = __atomic_exchange_n(&shared[x >> 20 & 63], p, __ATOMIC_ACQ_REL);
        free(other);
    }
    char *p = make(32);
    drop(p);
    load(p);
    return NULL;
}

static void case_threads(void)
{
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        must(pthread_create(&thread[i], NULL, exchange, (void *)(i + 1)) == 0, "thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 64; i++)
        free(shared[i]);
}

static void case_forked(void)
{
    char *before = make(64), *live = make(64), *gone = make(64);
    drop(gone);
    pid_t child = fork();
    load(gone);
    load(after(live, 64));
    must(live[0] == 'a' && live[63] == 'a', "contents");
    if (child == 0) {
        drop(before);
        load(before);
        for (int i = 0; i < 200; i++)
            drop(make((size_t)i * 40));
        exit(0);
    }
    int status = -1;
    must(waitpid(child, &status, 0) == child && status == 0, "child");
    must(before[63] == 'a', "the parent's block");
    drop(before);
    drop(live);
}

static void case_killed(void)
{
    char *p = make(64);
    load(after(p, 64));
    puts("done");
    fflush(stdout);
    raise(SIGKILL);
}

/* ---- silent ---------------------------------------------------------------------------------- */

static void touch(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((volatile char *)p)[i]++;
}

static void are_zero(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        must(p[i] == 0, "zero");
}

static void aligned(size_t align, size_t n)
{
    char *p = memalign(align, n);
    must(p && (uintptr_t)p % align == 0, "memalign");
    touch(p, n);
    free(p);
}

static void through_pipe(size_t n)
{
    int ends[2];
    char *out = make(n), *in = make(n);
    must(pipe(ends) == 0 && write(ends[1], out, n) == (ssize_t)n &&
             read(ends[0], in, n) == (ssize_t)n,
         "a pipe");
    must(memcmp(in, out, n) == 0, "data");
    close(ends[0]);
    close(ends[1]);
    free(in);
    free(out);
}

static void case_silent(void)
{
    char *kept[300] = {0};
    for (size_t i = 0; i < 1200; i++) {
        size_t n = i * 37 % 9000;
        char *p = malloc(n), *zero = calloc(1, n);
        must(malloc_usable_size(zero) >= n, "usable size");
        are_zero(zero, n);
        touch(p, n);
        touch(zero, malloc_usable_size(zero));
        p = realloc(p, n * 3 / 2 + 1);
        touch(p, n * 3 / 2 + 1);
        free(kept[i % 300]);
        kept[i % 300] = p;
        free(zero);
    }
    for (size_t align = 16; align <= 65536; align *= 2)
        for (size_t n = 0; n < 5000; n += 613)
            aligned(align, n);
    for (size_t n = 1; n < 4096; n += 501)
        through_pipe(n);
    for (size_t n = 40000; n < 2000000; n *= 3)
        free(memset(malloc(n), 1, n));
    for (int i = 0; i < 300; i++)
        free(kept[i]);
}

/* ---- system calls, by the program and inside libc ---------------------------------------------- */

#define FILE_BYTES 40000u

static void result(const char *name, long value)
{
    printf("%s %ld%s\n", name, value, value < 0 && errno == EFAULT ? " EFAULT" : "");
    errno = 0;
}

/* Natively the bytes after the block are another's, which is not used. */
static char *make_separate(size_t n)
{
    char *p = make(n);
    make(FILE_BYTES);
    return p;
}

static char *make_freed(void)
{
    char *p = make(1000);
    drop(p);
    return p;
}

static void data_calls(int fd)
{
    result("read", read(fd, make_separate(40), 100));
    result("read freed", read(fd, make_freed(), 100));
    result("pread large", pread(fd, make_separate(10000), 30000, 0));
    result("write", write(fd, make_separate(40), 100));
    result("write before", write(fd, make_separate(40) - 8, 40));
    result("write freed", write(fd, make_freed(), 100));
    struct iovec parts[2] = {{make_separate(40), 40}, {make_separate(40), 100}};
    result("readv", readv(fd, parts, 2));
    result("writev", writev(fd, parts, 2));
}

static void socket_calls(void)
{
    int ends[2];
    char *out = make(200);
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "sockets");
    result("send", send(ends[0], out, 200, 0));
    result("recv", recv(ends[1], make_separate(40), 200, 0));
    result("send again", send(ends[0], out, 200, 0));
    struct iovec part = {make_separate(40), 200};
    result("recvmsg", recvmsg(ends[1], &(struct msghdr){.msg_iov = &part, .msg_iovlen = 1}, 0));
    result("pipe", pipe((int *)(void *)(make_separate(16) + 12)));
    result("send freed", send(ends[0], make_freed(), 100, 0));
    result("recv freed", recv(ends[1], make_freed(), 100, 0));
}

static void path_calls(void)
{
    struct stat *room = (struct stat *)(void *)make_separate(40);
    char *path = memcpy(make_separate(9), "/no/file/", 9);
    result("stat", stat(path, room));
    result("stat into", stat("/", room));
    result("access freed", access(make_freed(), R_OK));
    result("open", open(path, O_RDONLY));
    result("fopen", fopen(path, "r") ? 0 : -1);
    result("open freed", open(make_freed(), O_RDONLY));
}

static void stream_calls(FILE *f)
{
    rewind(f);
    result("fread", (long)fread(make_separate(40), 1, 100, f));
    result("fread large", (long)fread(make_separate(10000), 1, 30000, f));
    rewind(f);
    result("fread freed", (long)fread(make_freed(), 1, 900, f));
    rewind(f);
    result("fwrite", (long)fwrite(make_separate(10000), 1, 30000, f));
    result("fwrite freed", (long)fwrite(make_freed(), 1, 1000, f));
    result("fflush", fflush(f));
}

static void case_calls(void)
{
    FILE *f = tmpfile();
    must(f && ftruncate(fileno(f), FILE_BYTES) == 0, "file");
    data_calls(fileno(f));
    socket_calls();
    path_calls();
    stream_calls(f);
}

/* Reachable only by a guarded block; the second is lost. */
struct link {
    struct link *next;
    char more[40];
};

static struct link *volatile chain;

static NOINLINE void make_chain(void)
{
    for (int i = 0; i < 100; i++) {
        struct link *l = malloc(sizeof *l);
        l->next = chain;
        chain = l;
    }
    struct link *lost = calloc(1, 1000);
    lost->next = NULL;
}

static void case_leaks(void)
{
    make_chain();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
#define CASE(name) {#name, case_##name}
        CASE(loads_after),   CASE(loads_before), CASE(loads_freed), CASE(stores_after),
        CASE(stores_before), CASE(stores_freed), CASE(word),        CASE(large),
        CASE(fill),          CASE(moved),        CASE(samples),     CASE(handler),
        CASE(blocked),       CASE(ignored),      CASE(threads),     CASE(forked),
        CASE(killed),        CASE(silent),       CASE(leaks),       CASE(calls),
    };
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) {
            cases[i].run();
            puts("done");
            return 0;
        }
    return 2;
}

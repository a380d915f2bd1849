/*
 * fork_kinds.c - one small program for every way in which processes come from others.
 *
 *     fork_kinds KIND [ARGUMENT]
 *
 * Each prints the same with and without the runtime, ends with 0, and frees nothing wrongly.
 * Blocks made before are checked and freed on the other side.
 */
#include "unseen.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

#define KEPT 600u

extern char **environ;

static uint8_t *kept[KEPT];

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fork_kinds: %s (errno %d)\n", what, errno);
    _exit(9);
}

static size_t kept_bytes(unsigned i)
{
    return i % 97 == 0 ? 40000 + i : 16 + i % 40 * 13;
}

static void keep(unsigned salt)
{
    for (unsigned i = 0; i < KEPT; i++) {
        kept[i] = malloc(kept_bytes(i));
        must(kept[i] != NULL, "out of memory");
        memset(kept[i], (int)(i + salt), kept_bytes(i));
    }
}

static void check_kept(unsigned salt)
{
    for (unsigned i = 0; i < KEPT; i++)
        for (size_t j = 0; j < kept_bytes(i); j++)
            must(kept[i][j] == (uint8_t)(i + salt), "an inherited block has changed");
}

static void free_kept(unsigned salt)
{
    check_kept(salt);
    for (unsigned i = 0; i < KEPT; i++)
        free(kept[i]);
}

static int ended(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) != pid)
        must(errno == EINTR, "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- children that share the parent's memory for a while --------------------------------- */

static char *volatile scratch;

/* Allocating in a vfork child is not portable; here the parent keeps the blocks. */
static int vfork_exit(const char *arg)
{
    (void)arg;
    keep(1);
    for (int i = 0; i < 200; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            if (i % 2) {
                free(scratch);
                scratch = malloc(100 + (size_t)i);
            }
            _exit(i % 100);
        }
        must(ended(pid) == i % 100, "vfork child's status");
    }
    free(scratch);
    free_kept(1);
    return 0;
}

static int vfork_exec(const char *arg)
{
    (void)arg;
    keep(2);
    for (int i = 0; i < 20; i++) {
        const char *program = i % 4 == 3 ? "/nonexistent/program" : "/bin/true";
        pid_t pid = vfork();
        if (pid == 0) {
            execl(program, program, (char *)NULL);
            _exit(127);
        }
        must(ended(pid) == (i % 4 == 3 ? 127 : 0), "exec'ing vfork child's status");
    }
    free_kept(2);
    return 0;
}

static int spawn(const char *arg)
{
    (void)arg;
    char *const echo[] = {"echo", "spawned", NULL}, *const clear[] = {NULL};
    pid_t pid;
    keep(3);
    fflush(NULL);
    must(posix_spawn(&pid, "/bin/echo", NULL, NULL, echo, environ) == 0, "posix_spawn");
    must(ended(pid) == 0, "spawned program's status");
    must(posix_spawnp(&pid, "echo", NULL, NULL, echo, clear) == 0, "posix_spawnp");
    must(ended(pid) == 0, "spawned program's status");
    must(posix_spawn(&pid, "/nonexistent/program", NULL, NULL, echo, environ) == ENOENT, "ENOENT");
    free_kept(3);
    return 0;
}

static int shell(const char *arg)
{
    (void)arg;
    char line[200];
    wordexp_t words;
    keep(4);
    fflush(NULL);
    must(system("echo from system | cat; exit 3") == 3 << 8, "system's status");
    FILE *f = popen("echo from popen | cat", "r");
    must(f != NULL && fgets(line, sizeof line, f) != NULL, "popen");
    fputs(line, stdout);
    must(pclose(f) == 0, "pclose");
    must(wordexp("$(echo from; echo wordexp) ~", &words, 0) == 0, "wordexp");
    printf("%zu words: %s %s\n", words.we_wordc, words.we_wordv[0], words.we_wordv[1]);
    wordfree(&words);
    free_kept(4);
    return 0;
}

/* ---- children that outlive or leave ------------------------------------------------------- */

static int become_daemon(const char *arg)
{
    (void)arg;
    int ends[2];
    char line[100];
    keep(5);
    must(pipe(ends) == 0, "pipe");
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        must(daemon(1, 1) == 0, "daemon");
        free_kept(5);
        keep(6);
        must(write(ends[1], "daemon ran\n", 11) == 11, "write");
        exit(0);
    }
    close(ends[1]);
    must(ended(pid) == 0, "status of the child that daemon() ends");
    ssize_t n = read(ends[0], line, sizeof line);
    must(n == 11, "nothing from the daemon");
    fwrite(line, 1, (size_t)n, stdout);
    must(read(ends[0], line, 1) == 0, "the daemon goes on");
    free_kept(5);
    return 0;
}

/* Ends at once; the child continues until it is alone, and then writes to stdout. */
static int orphan(const char *arg)
{
    (void)arg;
    pid_t parent = getpid();
    keep(7);
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid > 0)
        return 0;
    while (getppid() == parent)
        usleep(1000);
    usleep(100000); /* no wait for an event: lets the launcher end, too */
    for (int i = 0; i < 50; i++) {
        free_kept(7);
        keep(7);
    }
    if (fork() == 0) {
        free_kept(7);
        exit(0);
    }
    wait(NULL);
    puts("orphan ran");
    return 0;
}

/* ---- forks from odd places ---------------------------------------------------------------- */

static void fork_and_free(unsigned salt)
{
    pid_t pid = fork();
    if (pid == 0) {
        free_kept(salt);
        keep(salt + 1);
        free_kept(salt + 1);
        _exit(0);
    }
    must(ended(pid) == 0, "child's status");
}

static void *forking_thread(void *arg)
{
    for (int i = 0; i < 8; i++) {
        void *own = malloc(500);
        fork_and_free(8);
        free(own);
    }
    return arg;
}

static int threads(const char *arg)
{
    (void)arg;
    pthread_t id[4];
    keep(8);
    for (int i = 0; i < 4; i++)
        must(pthread_create(&id[i], NULL, forking_thread, NULL) == 0, "thread");
    for (int i = 0; i < 4; i++)
        pthread_join(id[i], NULL);
    free_kept(8);
    return 0;
}

static volatile sig_atomic_t handled, handler_allocates;

static void fork_in_handler(int signal)
{
    int error = errno;
    (void)signal;
    pid_t pid = fork();
    if (pid == 0) {
        if (handler_allocates)
            free(malloc(100));
        _exit(5);
    }
    must(pid > 0 && ended(pid) == 5, "status of a handler's child");
    if (handler_allocates)
        free(malloc(200));
    handled = handled + 1;
    errno = error;
}

/*
 * The handler comes while this thread is anywhere in the allocator.  The timer is set anew after each
 * signal: a periodic one starves this loop if the handler takes longer than its period.
 */
static int handler(const char *arg)
{
    struct sigaction action = {.sa_handler = fork_in_handler};
    struct itimerval once = {{0, 0}, {0, 2000}};
    int signals = 0;
    handler_allocates = arg != NULL;
    keep(9);
    sigaction(SIGALRM, &action, NULL);
    for (unsigned i = 0; handled < 60; i++) {
        if (signals == handled) {
            signals++;
            setitimer(ITIMER_REAL, &once, NULL);
        }
        void *volatile p = malloc(16 + i % 2000);
        must(p != NULL, "out of memory");
        free(p);
    }
    free_kept(9);
    return 0;
}

/* The driver preloads atfork_allocates.c. */
static int atfork(const char *arg)
{
    (void)arg;
    pthread_t id[2];
    keep(8);
    for (int i = 0; i < 2; i++)
        must(pthread_create(&id[i], NULL, forking_thread, NULL) == 0, "thread");
    for (int i = 0; i < 10; i++)
        fork_and_free(8);
    for (int i = 0; i < 2; i++)
        pthread_join(id[i], NULL);
    free_kept(8);
    return 0;
}

/* Each generation checks and frees the inherited blocks, and leaves its own to the next. */
static int nested(const char *arg)
{
    (void)arg;
    for (unsigned depth = 0; depth < 6; depth++) {
        keep(depth);
        pid_t pid = fork();
        if (pid > 0) {
            int status = ended(pid);
            free_kept(depth);
            exit(status);
        }
        must(pid == 0, "fork");
        if (depth % 2)
            free_kept(depth);
        else
            check_kept(depth); /* its blocks stay in use, for generations */
        printf("generation %u\n", depth + 1);
        fflush(stdout);
    }
    return 0;
}

/* A child that did nothing yet fails to exec when its parent has ended. */
static int late_exec(const char *arg)
{
    (void)arg;
    char *const argv[] = {"program", NULL};
    int go[2], tried[2];
    char c;
    must(pipe(go) == 0 && pipe(tried) == 0, "pipe");
    pid_t middle = fork();
    if (middle == 0) {
        keep(11); /* has separate records */
        if (fork() == 0) {
            must(read(go[0], &c, 1) == 1, "no go");
            execv("/nonexistent/program", argv);
            must(write(tried[1], "t", 1) == 1, "write");
            _exit(0);
        }
        exit(0);
    }
    must(ended(middle) == 0, "status of the one between");
    must(write(go[1], "g", 1) == 1 && read(tried[0], &c, 1) == 1, "child");
    return 0;
}

/* The child enters a sandbox before it does anything else; the parent is in none. */
static int sandbox(const char *arg)
{
    (void)arg;
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {1, &allow};
    keep(12);
    pid_t pid = fork();
    if (pid == 0) {
        must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                 prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0,
             "sandbox");
        free_kept(12);
        exit(0);
    }
    must(ended(pid) == 0, "status of the child in its sandbox");
    free_kept(12);
    return 0;
}

#define LARGE 12u
#define LARGE_BYTES (1200u << 10)

static void check_large(uint8_t *const large[LARGE], unsigned from, unsigned salt)
{
    for (unsigned i = from; i < LARGE; i++)
        for (size_t j = 0; j < LARGE_BYTES; j += 512)
            must(large[i][j] == (uint8_t)(i + salt), "a large block has changed");
}

/* Blocks of the parent's own pages, which it frees and uses again before the child looks. */
static int unseen_large(const char *arg)
{
    (void)arg;
    uint8_t *large[LARGE];
    void *small[LARGE];
    int go[2];
    char c;
    must(pipe(go) == 0, "pipe");
    for (unsigned i = 0; i < LARGE; i++) {
        large[i] = malloc(LARGE_BYTES);
        small[i] = malloc(40);
        must(large[i] && small[i], "out of memory");
        memset(large[i], (int)(i + 1), LARGE_BYTES);
    }
    pid_t pid = clone_unseen();
    if (pid == 0) {
        must(read(go[0], &c, 1) == 1, "no go");
        for (unsigned i = 0; i < LARGE; i++)
            must(malloc_usable_size(large[i]) >= LARGE_BYTES && malloc_usable_size(small[i]) >= 40,
                 "an inherited block has no size");
        for (unsigned i = 0; i < LARGE; i++) {
            check_large(large, i, 1);
            free(large[i]);
        }
        for (unsigned i = 0; i < LARGE; i++) {
            large[i] = malloc(LARGE_BYTES);
            memset(large[i], (int)(i + 2), LARGE_BYTES);
        }
        check_large(large, 0, 2);
        _exit(0);
    }
    for (unsigned i = 0; i < LARGE; i++) {
        free(large[i]);
        free(small[i]);
    }
    for (unsigned i = 0; i < 300; i++) {
        large[i % LARGE] = malloc((5 + i % 9) * LARGE_BYTES / 2);
        if (i % LARGE == LARGE - 1)
            for (unsigned j = 0; j < LARGE; j++)
                free(large[j]);
    }
    must(write(go[1], "g", 1) == 1, "write");
    must(ended(pid) == 0, "status of the child");
    return 0;
}

/* After the child's first allocation, later writes of its parent must not affect it. */
static int unseen_begins(const char *arg)
{
    (void)arg;
    int go[2], there[2];
    char c;
    must(pipe(go) == 0 && pipe(there) == 0, "pipe");
    keep(14);
    pid_t pid = clone_unseen();
    if (pid == 0) {
        void *volatile first = malloc(100);
        must(first && write(there[1], "t", 1) == 1 && read(go[0], &c, 1) == 1, "no go");
        check_kept(14);
        free_kept(14);
        _exit(0);
    }
    must(read(there[0], &c, 1) == 1, "no child");
    for (unsigned i = 0; i < KEPT; i++)
        memset(kept[i], 0x77, kept_bytes(i));
    must(write(go[1], "g", 1) == 1 && ended(pid) == 0, "status of the child");
    return 0;
}

/* In its parent's memory, a child needs so much for records that the parent gets more of them. */
static int vfork_allocates(const char *arg)
{
    (void)arg;
    enum { MANY = 600000 };
    static void *many[2 * MANY];
    pid_t pid = vfork();
    if (pid == 0) {
        for (unsigned i = 0; i < MANY; i++)
            many[i] = malloc(1);
        _exit(0);
    }
    must(ended(pid) == 0, "status of the child");
    for (unsigned i = 0; i < 62; i++) { /* with the areas above as many as are taken back */
        pid = fork();
        if (pid == 0) {
            free(malloc(10));
            _exit(0);
        }
        must(ended(pid) == 0, "status of a later child");
    }
    for (unsigned i = MANY; i < 2 * MANY; i++)
        many[i] = malloc(1);
    for (unsigned i = 0; i < 2 * MANY; i++) {
        must(malloc_usable_size(many[i]) >= 1, "a block has no size");
        free(many[i]);
    }
    return 0;
}

static int run_program(const char *program)
{
    keep(10);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        free_kept(10);
        execl(program, program, (char *)NULL);
        _exit(127);
    }
    must(ended(pid) == 0, "status of the program");
    free_kept(10);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(const char *arg);
    } kinds[] = {
        /* clang-format off */
        {"vfork_exit", vfork_exit}, {"vfork_exec", vfork_exec}, {"spawn", spawn},
        {"shell", shell},           {"daemon", become_daemon},  {"orphan", orphan},
        {"threads", threads},       {"handler", handler},       {"atfork", atfork},
        {"nested", nested},         {"late_exec", late_exec},
        {"sandbox", sandbox},       {"unseen_large", unseen_large},
        {"unseen_begins", unseen_begins},     {"vfork_allocates", vfork_allocates}, {"program", run_program},
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (argc > 1 && strcmp(argv[1], kinds[i].name) == 0)
            return kinds[i].run(argc > 2 ? argv[2] : NULL);
    return 2;
}

/*
 * post_mortem.c - programs that are killed; `post_mortem WHAT [lost]`. post_mortem.py has the expected results.
 */
/* rtc-build: -pthread */
#define SCRUB_BYTES 131072 /* all of a stack is scanned, as its stack pointer is unknown */
#include "scrub.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 8
#define LOCKS 100
#define EXECS 50
#define PATIENCE_S 10

static void *volatile kept, *volatile own_block;
static int is_lost;
static const char *program;

static NOINLINE void twin(void)
{
    own_block = malloc(4711);
    if (is_lost)
        own_block = NULL;
    scrub();
}

static NOINLINE void lose(size_t bytes)
{
    kept = malloc(bytes);
    kept = NULL;
    scrub();
}

/* A child has a scanner from its first block on, unless the compiler removes the block. */
static void use_memory(void)
{
    void *volatile block = malloc(100);
    free(block);
}

static void raw(long number, long a, long b, long c)
{
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
}

static void die(void)
{
    raw(SYS_kill, getpid(), SIGKILL, 0);
    for (;;)
        pause();
}

/* ---- ends ----------------------------------------------------------------------------------------- */

static void killed(void)
{
    twin();
    die();
}

/* So many blocks that scanning them takes a while. */
static void many(void)
{
    void **last = NULL;
    for (int i = 0; i < 500000; i++) {
        void **next = malloc(32);
        *next = last;
        last = next;
    }
    kept = last;
    twin();
    die();
}

static void own_call(void)
{
    twin();
    raw(SYS_exit_group, 7, 0, 0);
}

/* No handler can be called where there is no stack. */
static void no_stack(void)
{
    twin();
    __asm__ volatile("movq $64, %%rsp\n\tmovq %%rax, (%%rsp)" ::: "memory");
}

static pthread_barrier_t ready;

static void *holding_body(void *unused)
{
    void *volatile own = malloc(4712);
    pthread_barrier_wait(&ready);
    for (;;)
        pause();
    (void)own;
    return unused;
}

static void threads(void)
{
    pthread_t thread;
    pthread_barrier_init(&ready, NULL, THREADS + 1);
    twin();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, holding_body, NULL);
    pthread_barrier_wait(&ready);
    die();
}

static void *hammering_body(void *unused)
{
    pthread_barrier_wait(&ready);
    for (size_t n = 0;; n += 16)
        free(malloc(n % 100000));
    return unused;
}

static void hammer(void)
{
    pthread_t thread;
    struct timespec t = {.tv_nsec = 20000000}; /* any moment is as good */
    pthread_barrier_init(&ready, NULL, THREADS + 1);
    twin();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, hammering_body, NULL);
    pthread_barrier_wait(&ready);
    nanosleep(&t, NULL);
    die();
}

static void sandbox(void)
{
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, all};
    twin();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
        exit(125);
    die();
}

/* The child is killed, and its parent ends as it should. */
static void child(void)
{
    int status;
    lose(1001);
    pid_t pid = fork();
    if (pid == 0) {
        twin();
        die();
    }
    waitpid(pid, &status, 0);
    printf("%d\n", WTERMSIG(status));
}

/* ---- visible to the program ------------------------------------------------------------------------- */

static void on_term(int number)
{
    (void)number;
}

static int count_entries(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

static void print_wait(const char *what, int options)
{
    int status, pid = wait4(-1, &status, options, NULL);
    printf("wait for %s: %d %d\n", what, pid, errno == ECHILD);
}

static void behaviour(void)
{
    int status;
    setpgid(0, 0); /* the starting process must get no signal */
    signal(SIGTERM, on_term);
    print_wait("children", 0);
    print_wait("all", __WALL);
    print_wait("clones", __WCLONE);
    printf("descriptors: %d, threads: %d\n", count_entries("/proc/self/fd"),
           count_entries("/proc/self/task"));
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        use_memory();
        _exit(kill(0, SIGTERM) ? 1 : 5);
    }
    while (waitpid(pid, &status, 0) < 0)
        ;
    printf("child: %d\n", WEXITSTATUS(status));
    print_wait("all", __WALL);
}

static void in_child(int (*body)(void))
{
    int status = -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        use_memory();
        _exit(body());
    }
    waitpid(pid, &status, 0);
    printf("in a child: %d\n", WEXITSTATUS(status));
}

static int users(void)
{
    return unshare(CLONE_NEWUSER) ? errno : 200;
}

static int users_raw(void)
{
    return syscall(SYS_unshare, CLONE_NEWUSER) ? errno : 200;
}

/* The first process that is born there has to be the program's own. */
static int processes(void)
{
    int status = -1;
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID))
        return errno;
    pid_t pid = fork();
    if (pid == 0)
        _exit(getpid() == 1 ? 201 : 202);
    waitpid(pid, &status, 0);
    return pid < 0 ? errno : WEXITSTATUS(status);
}

static void namespaces(void)
{
    in_child(users);
    in_child(users_raw);
    in_child(processes);
}

/* A lock is released with the last descriptor of its file: the child's scanner must not have one. */
static void locks(void)
{
    int held = 0;
    FILE *file = tmpfile();
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
    fflush(stdout);
    for (int i = 0; i < LOCKS; i++) {
        int fd = open(path, O_RDWR);
        held += flock(fd, LOCK_EX | LOCK_NB) != 0;
        pid_t pid = fork();
        if (pid == 0) {
            use_memory();
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        close(fd);
        held += flock(fileno(file), LOCK_EX | LOCK_NB) != 0;
        flock(fileno(file), LOCK_UN);
    }
    fclose(file);
    printf("locks that were held: %d\n", held);
}

/* If no process can be created, malloc and exec have their usual results. */
static void no_children(void)
{
    int status = -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit none = {0, 0};
        int uid = setresuid(65534, 65534, 65534) ? errno == EPERM : 1;
        setrlimit(RLIMIT_NPROC, &none);
        errno = 0;
        use_memory();
        if (!uid || errno)
            _exit(125);
        execl("/rtcheck-no-such-program", "", (char *)NULL);
        _exit(errno);
    }
    waitpid(pid, &status, 0);
    printf("exec: %d\n", WEXITSTATUS(status));
}

static void inherited(void)
{
    locks();
    no_children();
}

/* Orphans are its children: only its own. */
static void subreaper(void)
{
    int status;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    in_child(getpagesize);
    print_wait("all", __WALL);
    pid_t pid = fork();
    if (pid == 0)
        execl("/proc/self/exe", program, "namespaces", (char *)NULL);
    waitpid(pid, &status, 0);
    usleep(200000);
    print_wait("all", __WALL);
}

/* A reader that waits for the end of the program's output must not wait for the scanner. */
static void closes(void)
{
    char c;
    close(1);
    close(2);
    (void)!read(0, &c, 1);
}

/* ---- processes and descriptors ----------------------------------------------------------------------- */

static int read_of(const char *pid, const char *name, char *out, size_t room)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(out, 1, room - 1, f) : 0;
    if (f)
        fclose(f);
    out[n] = '\0';
    return (int)n;
}

/* A scanner, not a zombie, of a memory that began with these arguments; 0: there is none. */
static pid_t scanner_of(const char *program, const char *what)
{
    DIR *dir = opendir("/proc");
    struct dirent *e;
    pid_t found = 0;
    while (dir && (e = readdir(dir)) && !found) {
        char name[64], words[4096], stat[512];
        if (!read_of(e->d_name, "comm", name, sizeof name) || strcmp(name, "rtcheck-witness\n") ||
            !read_of(e->d_name, "cmdline", words, sizeof words) || strcmp(words, program) ||
            strcmp(words + strlen(words) + 1, what))
            continue;
        read_of(e->d_name, "stat", stat, sizeof stat);
        if (strrchr(stat, ')') && strrchr(stat, ')')[2] != 'Z')
            found = atoi(e->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

static void goes_away(const char *of)
{
    for (time_t end = time(NULL) + PATIENCE_S; scanner_of(program, of) && time(NULL) < end;)
        sched_yield();
    puts(scanner_of(program, of) ? "still there" : "gone");
}

/* The scanner is visible only after a moment. */
static pid_t wait_for_scanner(const char *what)
{
    pid_t pid = 0;
    if (!getenv("WITNESSED")) /* without a checker there is none */
        return 0;
    for (time_t end = time(NULL) + PATIENCE_S; !pid && time(NULL) < end;)
        pid = scanner_of(program, what);
    if (!pid)
        exit(125);
    return pid;
}

static void replaced(void)
{
    twin();
    wait_for_scanner("replaced");
    execl(program, program, "after", "replaced", (char *)NULL);
}

static void replaced_by_own_call(void)
{
    const char *argv[] = {program, "after", "replaced_by_own_call", NULL};
    twin();
    wait_for_scanner("replaced_by_own_call");
    raw(SYS_execve, (long)program, (long)argv, (long)environ);
}

/* An exec that fails sends the scanner away: there has to be another one. */
static void stays(void)
{
    twin();
    execl("/etc/passwd", "passwd",
          (char *)NULL); /* it has to overwrite leftovers of the leak check */
    die();
}

static void *failing_body(void *unused)
{
    char *argv[] = {"passwd", NULL};
    pthread_barrier_wait(&ready);
    for (int i = 0; i < EXECS; i++) {
        execv("/etc/passwd", argv);
        execv("/there/is/none", argv);
    }
    return unused;
}

/* Each of them sends the scanner away, and there is one again when it has failed. */
static void execs(void)
{
    pthread_t thread[THREADS];
    pthread_barrier_init(&ready, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, failing_body, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    wait_for_scanner("execs");
    puts("all failed");
}

/* Both are killed, the scanner first. */
static void both(void)
{
    twin();
    kill(wait_for_scanner("both"), SIGKILL);
    for (time_t end = time(NULL) + PATIENCE_S; scanner_of(program, "both") && time(NULL) < end;)
        sched_yield();
    die();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*body)(void);
        /* clang-format off */
    } what[] = {{"killed", killed},     {"many", many},           {"own_call", own_call},   {"no_stack", no_stack}, {"threads", threads},
                {"hammer", hammer},     {"sandbox", sandbox},     {"child", child},       {"behaviour", behaviour},
                {"closes", closes},     {"replaced", replaced},   {"stays", stays},       {"both", both},
                {"replaced_by_own_call", replaced_by_own_call}, {"namespaces", namespaces},
                {"inherited", inherited}, {"subreaper", subreaper}, {"execs", execs}};
    /* clang-format on */
    program = argv[0];
    is_lost = argc == 3 && !strcmp(argv[2], "lost");
    if (argc == 3 && !strcmp(argv[1], "after")) {
        goes_away(argv[2]);
        return 0;
    }
    for (size_t i = 0; argc >= 2 && i < sizeof what / sizeof what[0]; i++)
        if (!strcmp(argv[1], what[i].name)) {
            what[i].body();
            return 0;
        }
    return 125;
}

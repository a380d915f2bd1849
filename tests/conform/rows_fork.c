/* rows_fork.c - children of every kind: inherited blocks, allocations, ends. */
#include "rows.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { BLOCKS = 300 };

static char *inherited[BLOCKS];

static size_t size_of(uint32_t i)
{
    return i % 50 == 0 ? 100000 : 1 + i * 13 % 2000;
}

static void blocks_make(char **blocks, uint32_t seed)
{
    for (uint32_t i = 0; i < BLOCKS; i++)
        if ((blocks[i] = malloc(size_of(i))))
            pattern_fill(blocks[i], size_of(i), seed + i);
}

static int blocks_damaged(char **blocks, uint32_t seed)
{
    int damaged = 0;
    for (uint32_t i = 0; i < BLOCKS; i++)
        damaged += !blocks[i] || !pattern_holds(blocks[i], size_of(i), seed + i);
    return damaged;
}

static void blocks_free(char **blocks)
{
    for (uint32_t i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

/* Allocates, checks and frees of every kind; 0 = all was well. */
static int use_heap(void)
{
    static char *own[BLOCKS];
    blocks_make(own, 9000);
    int wrong = blocks_damaged(own, 9000);
    for (uint32_t i = 0; i < BLOCKS; i += 3) {
        own[i] = realloc(own[i], size_of(i) * 2);
        wrong += !own[i] || !pattern_holds(own[i], size_of(i), 9000 + i);
    }
    blocks_free(own);
    void *p = calloc(1, 3000000);
    wrong += !p || !is_zeroed(p, 3000000);
    free(p);
    return wrong != 0;
}

static int child_uses_heap(void *unused)
{
    (void)unused;
    return use_heap();
}

void row_fork_child_allocates(void)
{
    for (int i = 0; i < 5; i++)
        print_child("child", child_uses_heap, NULL);
}

static int child_reads_inherited(void *unused)
{
    (void)unused;
    return blocks_damaged(inherited, 1) || use_heap() || blocks_damaged(inherited, 1);
}

void row_fork_child_reads_inherited(void)
{
    blocks_make(inherited, 1);
    print_child("child", child_reads_inherited, NULL);
    print_result("parent: %d damaged", blocks_damaged(inherited, 1));
    blocks_free(inherited);
}

static int child_frees_inherited(void *unused)
{
    (void)unused;
    blocks_free(inherited);
    return use_heap();
}

void row_fork_child_frees_inherited(void)
{
    blocks_make(inherited, 2);
    print_child("child", child_frees_inherited, NULL);
    print_child("child", child_frees_inherited, NULL);
    print_result("parent: %d damaged", blocks_damaged(inherited, 2));
    blocks_free(inherited);
}

static int child_resizes_inherited(void *unused)
{
    (void)unused;
    int wrong = 0;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        size_t n = size_of(i), to = i % 2 ? n * 2 : n / 2 + 1;
        inherited[i] = realloc(inherited[i], to);
        wrong += !inherited[i] || !pattern_holds(inherited[i], n < to ? n : to, 3 + i);
        if (inherited[i])
            memset(inherited[i], 0, to);
    }
    blocks_free(inherited);
    return wrong != 0;
}

void row_fork_child_resizes_inherited(void)
{
    blocks_make(inherited, 3);
    print_child("child", child_resizes_inherited, NULL);
    print_result("parent: %d damaged", blocks_damaged(inherited, 3));
    blocks_free(inherited);
}

static int child_measures_inherited(void *unused)
{
    (void)unused;
    for (uint32_t i = 0; i < BLOCKS; i++)
        expect_usable(inherited[i], size_of(i));
    return 0;
}

void row_fork_child_measures_inherited(void)
{
    blocks_make(inherited, 4);
    print_child("child", child_measures_inherited, NULL);
    blocks_free(inherited);
}

static int child_writes_inherited(void *unused)
{
    (void)unused;
    for (uint32_t i = 0; i < BLOCKS; i++)
        memset(inherited[i], 0xdd, size_of(i));
    return 0;
}

void row_fork_child_writes_its_own_copy(void)
{
    blocks_make(inherited, 5);
    print_child("child", child_writes_inherited, NULL);
    print_result("parent: %d damaged", blocks_damaged(inherited, 5));
    blocks_free(inherited);
}

/* Freed before the fork, freed by the parent after it, freed by the child: each once. */
void row_fork_parent_goes_on(void)
{
    for (uint32_t round = 0; round < (uint32_t)rounds(20); round++) {
        blocks_make(inherited, round);
        pid_t pid = fork();
        if (pid == 0) {
            int wrong = use_heap();
            _exit(blocks_damaged(inherited, round) || wrong);
        }
        for (uint32_t i = 0; i < BLOCKS; i += 2)
            inherited[i] = realloc(inherited[i], size_of(i));
        int wrong = blocks_damaged(inherited, round), status;
        waitpid(pid, &status, 0);
        expect(status == 0 && wrong == 0, "round %u: status %#x, %d wrong", round, status, wrong);
        blocks_free(inherited);
    }
}

/* A binary tree of processes, each checking the blocks of all its ancestors. */
static int tree(uint32_t depth)
{
    char *own[BLOCKS];
    uint32_t seed = 10000 * (depth + 1);
    pid_t children[2];
    int wrong = 0, status;
    blocks_make(own, seed);
    for (int i = 0; depth < 3 && i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(blocks_damaged(own, seed) || tree(depth + 1) || blocks_damaged(own, seed));
    }
    wrong += use_heap() + blocks_damaged(own, seed);
    for (int i = 0; depth < 3 && i < 2; i++)
        wrong += waitpid(children[i], &status, 0) != children[i] || status != 0;
    blocks_free(own);
    return wrong != 0;
}

void row_fork_tree(void)
{
    print_result("wrong %d", tree(0));
}

static int child_of_child(void *unused)
{
    (void)unused;
    pid_t pid = fork();
    if (pid == 0)
        _exit(use_heap() || blocks_damaged(inherited, 6));
    blocks_free(inherited);
    int status, wrong = use_heap();
    return waitpid(pid, &status, 0) != pid || status || wrong;
}

void row_fork_grandchild(void)
{
    blocks_make(inherited, 6);
    print_child("child", child_of_child, NULL);
    print_result("parent: %d damaged", blocks_damaged(inherited, 6));
    blocks_free(inherited);
}

/* ---- with threads --------------------------------------------------------------------------- */

static _Atomic bool stop_threads;

static void *allocate_until_stopped(void *argument)
{
    uint32_t state = (uint32_t)(intptr_t)argument + 1;
    while (!atomic_load(&stop_threads)) {
        size_t n = 1 + next_random(&state) % (state % 64 ? 500 : 100000);
        char *p = malloc(n);
        p[0] = p[n - 1] = 1;
        p = realloc(p, 1 + n / 2);
        free(p);
    }
    return NULL;
}

static void *fork_children(void *argument)
{
    int children = (int)(intptr_t)argument, wrong = 0;
    for (int i = 0; i < children; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            _exit(use_heap());
        wrong += waitpid(pid, &status, 0) != pid || status != 0;
    }
    return (void *)(intptr_t)wrong;
}

static void fork_beside_threads(bool from_thread)
{
    pthread_t threads[3], forker;
    void *wrong, *children = (void *)(intptr_t)rounds(30);
    stop_threads = false;
    for (intptr_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, allocate_until_stopped, (void *)i);
    if (from_thread) {
        pthread_create(&forker, NULL, fork_children, children);
        pthread_join(forker, &wrong);
    } else
        wrong = fork_children(children);
    stop_threads = true;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    print_result("%d of %d children wrong", (int)(intptr_t)wrong, (int)(intptr_t)children);
}

void row_fork_while_threads_allocate(void)
{
    fork_beside_threads(false);
}

void row_fork_from_a_thread(void)
{
    fork_beside_threads(true);
}

static int child_starts_threads(void *unused)
{
    (void)unused;
    pthread_t threads[4];
    stop_threads = false;
    for (intptr_t i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, allocate_until_stopped, (void *)i))
            return 1;
    int wrong = use_heap();
    stop_threads = true;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return wrong;
}

void row_fork_child_starts_threads(void)
{
    for (int i = 0; i < 3; i++)
        print_child("child", child_starts_threads, NULL);
}

/* ---- forks that no handler of pthread_atfork sees ------------------------------------------- */

void row_fork_without_handlers(void)
{
    blocks_make(inherited, 7);
    pid_t pid = _Fork();
    if (pid == 0)
        _exit(blocks_damaged(inherited, 7) || use_heap());
    int status;
    waitpid(pid, &status, 0);
    print_status("child of _Fork", status);
    print_result("parent: %d damaged, %d", blocks_damaged(inherited, 7), use_heap());
    blocks_free(inherited);
}

void row_fork_by_raw_clone(void)
{
    blocks_make(inherited, 8);
    long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(blocks_damaged(inherited, 8) || use_heap());
    int status;
    waitpid((pid_t)pid, &status, 0);
    print_status("child of clone", status);
    print_result("parent: %d damaged, %d", blocks_damaged(inherited, 8), use_heap());
    blocks_free(inherited);
}

void row_vfork_exec(void)
{
    blocks_make(inherited, 11);
    for (int i = 0; i < rounds(5); i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
            _exit(127);
        }
        int status;
        waitpid(pid, &status, 0);
        print_status("child", status);
    }
    print_result("parent: %d damaged, %d", blocks_damaged(inherited, 11), use_heap());
    blocks_free(inherited);
}

void row_vfork_exit(void)
{
    blocks_make(inherited, 12);
    for (int i = 0; i < rounds(5); i++) {
        pid_t pid = vfork();
        if (pid == 0)
            _exit(4);
        int status;
        waitpid(pid, &status, 0);
        print_status("child", status);
    }
    print_result("parent: %d damaged, %d", blocks_damaged(inherited, 12), use_heap());
    blocks_free(inherited);
}

void row_posix_spawn(void)
{
    char *arguments[] = {"sh", "-c", "exit 5", NULL};
    for (int i = 0; i < rounds(3); i++) {
        pid_t pid;
        int status, error = posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ);
        expect(error == 0, "error %d", error);
        waitpid(pid, &status, 0);
        print_status("child", status);
    }
    print_result("parent: %d", use_heap());
}

void row_system_and_popen(void)
{
    char line[64] = "";
    print_status("system", system("exit 6"));
    FILE *pipe = popen("echo through the pipe; exit 7", "r");
    expect(pipe && fgets(line, sizeof line, pipe), "nothing read");
    line[strcspn(line, "\n")] = 0;
    print_result("%s", line);
    if (pipe)
        print_status("popen", pclose(pipe));
}

/* The same program again, deep in a chain of forks: in control there, too. */
static int child_executes_itself(void *unused)
{
    (void)unused;
    char *arguments[] = {"conform", "in_control", "surface", NULL};
    char *arguments_preloaded[] = {"conform", "--ours", "in_control", "surface", NULL};
    int out = dup(STDERR_FILENO);
    dup2(out, STDOUT_FILENO);
    pid_t pid = fork();
    if (pid == 0)
        execv("/proc/self/exe", is_preloaded() ? arguments_preloaded : arguments);
    int status, wrong = use_heap();
    return waitpid(pid, &status, 0) != pid || status || wrong;
}

void row_fork_fork_exec_self(void)
{
    print_child("child", child_executes_itself, NULL);
}

/* ---- how processes end ---------------------------------------------------------------------- */

static void blocks_free_inherited(void)
{
    blocks_free(inherited);
}

static void late_heap(void)
{
    if (use_heap())
        _exit(98);
}

static int exit_with_handlers(void *how)
{
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    atexit(blocks_free_inherited);
    switch ((int)(intptr_t)how) {
    case 0:
        exit(21);
    case 1:
        at_quick_exit(blocks_free_inherited);
        quick_exit(22);
    case 2:
        _exit(23);
    case 3:
        _Exit(24);
    case 4:
        abort();
    case 5:
        raise(SIGTERM);
        break;
    case 6:
        raise(SIGSEGV);
        break;
    case 7:
        raise(SIGKILL);
        break;
    }
    return 25;
}

void row_exit_forms(void)
{
    static const char *const forms[] = {"exit",  "quick_exit", "_exit",   "_Exit",
                                        "abort", "SIGTERM",    "SIGSEGV", "SIGKILL"};
    for (intptr_t i = 0; i < 8; i++) {
        blocks_make(inherited, 13);
        print_child(forms[i], exit_with_handlers, (void *)i);
        blocks_free(inherited);
    }
}

/* A handler of atexit's may be the first, and the last, to use the heap. */
static int exit_allocating(void *unused)
{
    (void)unused;
    atexit(late_heap);
    atexit(late_heap);
    exit(31);
}

void row_exit_handlers_allocate(void)
{
    print_child("child", exit_allocating, NULL);
}

static void *exit_from_thread(void *unused)
{
    (void)unused;
    free(malloc(100));
    exit(41);
}

static int exit_in_thread(void *unused)
{
    (void)unused;
    pthread_t threads[3], last;
    stop_threads = false;
    for (intptr_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, allocate_until_stopped, (void *)i);
    pthread_create(&last, NULL, exit_from_thread, NULL);
    while (!atomic_load(&stop_threads))
        free(malloc(50));
    return 42;
}

void row_exit_while_threads_allocate(void)
{
    for (int i = 0; i < rounds(10); i++)
        print_child("child", exit_in_thread, NULL);
}

static void *outlive_main(void *main_thread)
{
    pthread_join(*(pthread_t *)main_thread, NULL);
    _exit(use_heap() ? 52 : 51);
}

static int main_leaves_first(void *unused)
{
    (void)unused;
    static pthread_t main_thread, other;
    main_thread = pthread_self();
    pthread_create(&other, NULL, outlive_main, &main_thread);
    pthread_exit(NULL);
}

void row_exit_of_main_thread_first(void)
{
    print_child("child", main_leaves_first, NULL);
}

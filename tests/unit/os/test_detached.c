/*
 * test_detached.c - a process that shares our memory, at each moment of its end: as long as it is
 * visible, it either has our memory or has ended.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os.h"

#define ROUNDS 3

static _Alignas(64) char stack[65536];
static _Atomic int open_files;

/* Closing all of them takes the kernel a while, in which the process has no memory. */
static int many_files(void *unused)
{
    (void)unused;
    int n = 0;
    while (eventfd(0, 0) >= 0)
        n++;
    atomic_store(&open_files, n + 1);
    while (pause())
        ;
    return 0;
}

static int other_memory(void *unused)
{
    (void)unused;
    atomic_store(&open_files, 1);
    while (pause())
        ;
    return 0;
}

static pid_t start(int (*body)(void *), int flags)
{
    atomic_store(&open_files, 0);
    pid_t pid = clone(body, stack + sizeof stack, flags | SIGCHLD, NULL);
    assert_true(pid > 0);
    while (flags & CLONE_VM && !atomic_load(&open_files))
        sched_yield();
    return pid;
}

static bool is_over(pid_t pid)
{
    siginfo_t info = {0};
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid == pid;
}

static void test_ending(void **state)
{
    (void)state;
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    for (int i = 0; i < ROUNDS; i++) {
        pid_t pid = start(many_files, CLONE_VM);
        assert_true(os_has_memory_of((uint32_t)pid));
        kill(pid, SIGKILL);
        while (!is_over(pid))
            assert_true(os_has_memory_of((uint32_t)pid));
        assert_true(os_has_memory_of((uint32_t)pid));
        assert_int_equal(waitpid(pid, NULL, 0), pid);
    }
}

static void test_other(void **state)
{
    (void)state;
    pid_t pid = start(other_memory, 0);
    assert_false(os_has_memory_of((uint32_t)pid));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_true(os_has_memory_of((uint32_t)getpid()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ending),
        cmocka_unit_test(test_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

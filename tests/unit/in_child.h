/*
 * in_child.h - run a body in a forked child: for rooms whose variables can be set up only once, and
 * for bodies that end the process.  In the child MUST replaces cmocka's assertions, which would
 * longjmp into the parent's tests.
 */
#ifndef IN_CHILD_H
#define IN_CHILD_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(condition) ((condition) ? (void)0 : in_child_failed(__FILE__, __LINE__, #condition))

static inline _Noreturn void in_child_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
    _exit(1);
}

/* The status of a child that ran `body`, as of waitpid: 0 = every MUST held. */
static inline int in_child(void (*body)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        body();
        _exit(0);
    }
    int status = -1;
    return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Define test_body for cmocka: it runs that body in a child. */
#define IN_CHILD(body)                       \
    static void test_##body(void **state)    \
    {                                        \
        (void)state;                         \
        assert_int_equal(in_child(body), 0); \
    }

#endif

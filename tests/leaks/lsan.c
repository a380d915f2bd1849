/*
 * lsan.c - programs built for another checker: they call its functions, and define those that set its options:
 * `lsan WHAT`; these return LSAN_TEST_OPTIONS, LSAN_TEST_OFF and LSAN_TEST_SUPPRESSIONS.
 */
/* rtc-build: -rdynamic */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void __lsan_disable(void) __attribute__((weak));
extern void __lsan_do_leak_check(void) __attribute__((weak));
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    const char *options = getenv("LSAN_TEST_OPTIONS");
    return options ? options : "";
}

int __lsan_is_turned_off(void);
static int is_off;

int __lsan_is_turned_off(void)
{
    return is_off || getenv("LSAN_TEST_OFF") != NULL;
}

const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    const char *text = getenv("LSAN_TEST_SUPPRESSIONS");
    static char endless[1 << 20];
    if (!text || strcmp(text, "endless"))
        return text;
    memset(endless, '#', sizeof endless - 1);
    return endless;
}

static void *volatile kept;

static __attribute__((noinline)) void lose(size_t bytes)
{
    kept = malloc(bytes);
    kept = NULL;
}

static void print_answer(const char *what)
{
    puts(what);
    fflush(stdout);
}

static void at_exit(void)
{
    print_answer("exit");
}

/* Checks are turned off and on as the program runs; the last setting holds at its end. */
static int turn(const char *how)
{
    for (; *how; how++) {
        is_off = *how == '0';
        if (how[1])
            printf("%d\n", __lsan_do_recoverable_leak_check());
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!__lsan_do_leak_check || !__lsan_do_recoverable_leak_check || !__lsan_disable)
        return 77;
    if (argc > 2) {
        lose(3004);
        is_off = 1;
        return turn(argv[2]);
    }
    atexit(at_exit);
    if (!strcmp(what, "copy")) {
        kept = strdup("lost");
        kept = NULL;
        return 0;
    }
    if (strcmp(what, "clean"))
        lose(3001);
    if (!strcmp(what, "recoverable") || !strcmp(what, "midway"))
        printf("%d\n", __lsan_do_recoverable_leak_check());
    else if (!strcmp(what, "all"))
        __lsan_disable();
    if (!strcmp(what, "midway"))
        return 0;
    if (strcmp(what, "recoverable"))
        __lsan_do_leak_check();
    lose(3002);
    print_answer("after");
    pid_t pid = strcmp(what, "clean") ? -1 : fork();
    if (pid == 0) {
        lose(3003); /* another process has another end */
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    __lsan_do_leak_check();
    print_answer("again");
    return 3;
}

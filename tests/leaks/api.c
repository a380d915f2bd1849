/*
 * api.c - programs that use the checker's interface: `api WHAT`.  Prints the result of each call; api.py has
 * the expected results, with a checker and without one, and the blocks that must be reported as lost.
 *
 * Sizes identify blocks.
 */
/* rtc-build: -pthread */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rtcheck/check.h"

/* As <sanitizer/lsan_interface.h> has them, by name only: a program need not be built with a sanitizer. */
extern void __lsan_disable(void) __attribute__((weak));
extern void __lsan_enable(void) __attribute__((weak));
extern void __lsan_ignore_object(const void *) __attribute__((weak));
extern void __lsan_register_root_region(const void *, size_t) __attribute__((weak));
extern void __lsan_unregister_root_region(const void *, size_t) __attribute__((weak));

#define NOINLINE __attribute__((noinline))

static void *volatile kept;

static void print_answer(const char *what, long answer)
{
    printf("%s %ld\n", what, answer);
    fflush(stdout);
}

static NOINLINE void lose(size_t bytes)
{
    kept = malloc(bytes);
    kept = NULL;
}

/* ---- blocks that are no leaks ---------------------------------------------------------------------- */

static void *lose_1011(void *unused)
{
    lose(1011);
    return unused;
}

static void *lose_1012_ignored(void *unused)
{
    rtc_disable(); /* and never enabled: the next thread does not inherit it */
    lose(1012);
    return unused;
}

static void in_thread(void *(*body)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL))
        abort();
    pthread_join(thread, NULL);
}

static void disable(void)
{
    print_answer("enable too many", rtc_enable());
    print_answer("disable", rtc_disable());
    rtc_disable();
    lose(1001);
    in_thread(lose_1011);
    print_answer("enable", rtc_enable());
    lose(1002);
    rtc_enable();
    lose(1003);
    in_thread(lose_1012_ignored);
    in_thread(lose_1011);
    rtc_disable();
    void *volatile *chain = malloc(1004);
    rtc_enable();
    chain[3] = malloc(1005); /* held by one that is ignored */
    chain = NULL;
    void *volatile grown = malloc(2006);
    rtc_disable();
    kept = realloc(grown, 2007); /* in place, and a birth as any other */
    rtc_enable();
    kept = NULL;
}

static NOINLINE void ignore_some(void)
{
    char *block = malloc(1101), *freed = malloc(1102);
    void **holder = malloc(1103);
    static char own[16];
    holder[1] = malloc(1104);
    free(freed);
    print_answer("ignore inside", rtc_ignore(block + 700));
    print_answer("ignore", rtc_ignore(holder));
    print_answer("ignore the end", rtc_ignore(block + 1101));
    print_answer("ignore freed", rtc_ignore(freed));
    print_answer("ignore data", rtc_ignore(own));
    print_answer("ignore nothing", rtc_ignore(NULL));
    char *volatile grown = malloc(1105), *volatile moved = malloc(1106),
                   *volatile large = malloc(1 << 20);
    rtc_ignore(grown);
    rtc_ignore(moved);
    print_answer("ignore large", rtc_ignore(large + 70000));
    kept = realloc(grown, 1107);
    kept = realloc(moved, 8106);
    kept = realloc(large, 3 << 20);
    kept = NULL;
    lose(1108);
}

static void ignore(void)
{
    ignore_some();
}

/* ---- memory that holds pointers -------------------------------------------------------------------- */

/* A page that can be read only, its second word written by way of the file. */
static NOINLINE void **hidden(size_t bytes)
{
    int fd = memfd_create("hidden", 0);
    void *block = malloc(bytes);
    if (fd < 0 || ftruncate(fd, 8192) ||
        pwrite(fd, &block, sizeof block, sizeof block) != sizeof block)
        abort();
    void **page = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    block = NULL;
    return page == MAP_FAILED ? (abort(), NULL) : page;
}

static void region(void)
{
    void **named = hidden(1201), **not_named = hidden(1202), **removed = hidden(1203),
         **twice = hidden(1204);
    kept = not_named;
    print_answer("add", rtc_add_root_region(named, 8192));
    print_answer("add no bytes", rtc_add_root_region(named, 0));
    print_answer("add too many", rtc_add_root_region(named, SIZE_MAX));
    rtc_add_root_region(removed, 8192);
    print_answer("remove another", rtc_remove_root_region(removed, 4096));
    print_answer("remove", rtc_remove_root_region(removed, 8192));
    print_answer("remove again", rtc_remove_root_region(removed, 8192));
    rtc_add_root_region(twice, 16);
    rtc_add_root_region(twice, 16);
    rtc_remove_root_region(twice, 16);
    for (int i = 0; i < 300;
         i++) /* more than there is room for at first; most of it is not there */
        rtc_add_root_region((char *)named + 8192 + i, 1 << 20);
}

/* A file that is shorter than its mapping: the pages behind its end are left out. */
static void cut(void)
{
    int fd = memfd_create("cut", 0);
    void *block = malloc(1211);
    if (fd < 0 || ftruncate(fd, 3 * 4096) || pwrite(fd, &block, sizeof block, 0) != sizeof block)
        abort();
    void *all = mmap(NULL, 3 * 4096, PROT_READ, MAP_SHARED, fd, 0);
    if (all == MAP_FAILED || ftruncate(fd, 4096))
        abort();
    block = NULL;
    print_answer("add", rtc_add_root_region(all, 3 * 4096));
}

/* In a forked child: its parent's regions, and its own. */
static void child(void)
{
    void **page = hidden(1221), **other = hidden(1222);
    rtc_add_root_region(page, 8192);
    pid_t pid = fork();
    if (pid == 0) {
        void **local_block = hidden(1223), **lost = hidden(1224);
        kept = lost;
        rtc_add_root_region(local_block, 8192);
        rtc_disable();
        lose(1225);
        exit(0);
    }
    waitpid(pid, NULL, 0);
    rtc_add_root_region(other, 8192);
    lose(1226);
}

/* ---- the same by the names of another checker ------------------------------------------------------- */

static NOINLINE void lsan_ignore(void)
{
    char *block = malloc(1301);
    if (__lsan_ignore_object)
        __lsan_ignore_object(block + 5);
    block = NULL;
}

static void lsan(void)
{
    void **named = hidden(1302), **removed = hidden(1303);
    print_answer("names", __lsan_disable && __lsan_enable && __lsan_register_root_region &&
                              __lsan_unregister_root_region);
    lsan_ignore();
    if (!__lsan_disable)
        return;
    __lsan_disable();
    lose(1304);
    __lsan_enable();
    lose(1305);
    __lsan_register_root_region(named, 8192);
    __lsan_register_root_region(removed, 8192);
    __lsan_unregister_root_region(removed, 8192);
    __lsan_unregister_root_region(removed, 4096);
}

/* ---- which ------------------------------------------------------------------------------------------ */

/* clang-format off */
#define ONE(name) {#name, name}
/* clang-format on */
static const struct {
    const char *name;
    void (*run)(void);
} all[] = {
    ONE(disable), ONE(ignore), ONE(region), ONE(cut), ONE(child), ONE(lsan),
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof all[0]; i++)
        if (!strcmp(argv[1], all[i].name)) {
            all[i].run();
            return 0;
        }
    return 2;
}

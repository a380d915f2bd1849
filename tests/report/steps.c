/*
 * steps.c - a program that does one thing for each letter on its standard input, and prints "done".
 *
 * rtc-build: -pthread
 *
 *   a  allocates 100 blocks of 1000 bytes      f  frees 40 of them
 *   b  allocates 2000 bytes, or frees those
 *   t  starts two threads that allocate once   m  maps 1 MiB
 *   d  frees a block twice                     c  forks a child that frees 10 inherited blocks
 *   w  waits for the end of a child
 *   z  starts a second thread that continues, and ends the first one
 *   p  starts two threads that allocate and free a block, a thousand times and then a little later again
 *   e  starts a thread that allocates, and waits for its end
 *   x  executes itself again
 *   y  executes static.c, which is beside it
 *   s  starts five children that execute it, each in another way, and wait
 *   v  prints all its variables, by rtcheck/profile.h
 *   o  allocates more memory than there is, and resizes a block
 * At the end of the input it frees 5 blocks and ends with 3.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rtcheck/profile.h"

static void *block[100];
static int steps[2]; /* threads and children have done theirs */
static int end[2];   /* closed when all is over */

static void free_blocks(int from, int count)
{
    for (int i = from; i < from + count; i++)
        free(block[i]);
}

static void allocate_or_free(void)
{
    static void *p;
    if (p)
        free(p);
    p = p ? NULL : malloc(2000);
}

static void wait_for_end(void)
{
    char byte;
    close(end[1]);
    (void)!read(end[0], &byte, 1);
}

static void *wait_with_a_block(void *unused)
{
    char byte;
    void *p = malloc(10);
    (void)!write(steps[1], "", 1);
    (void)!read(end[0], &byte, 1);
    free(p);
    return unused;
}

static void *allocate_and_free(void *unused)
{
    (void)!write(steps[1], "", 1);
    for (;;) {
        for (int i = 0; i < 1000; i++)
            free(malloc(1000));
        usleep(20);
    }
    return unused;
}

static void start_two(void *(*what)(void *))
{
    char byte;
    pthread_t thread;
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&thread, NULL, what, NULL) != 0)
            _exit(100);
        (void)!read(steps[0], &byte, 1);
    }
}

static void *allocate_once(void *unused)
{
    free(malloc(10));
    return unused;
}

static void start_and_join(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, allocate_once, NULL) != 0 || pthread_join(thread, NULL) != 0)
        _exit(100);
}

static void start_child(void)
{
    char byte;
    if (fork() == 0) {
        free_blocks(50, 10);
        (void)!write(steps[1], "", 1);
        wait_for_end();
        _exit(0);
    }
    (void)!read(steps[0], &byte, 1);
}

/* Nothing is allocated between reading and printing. */
static void print_variables(void)
{
    static struct rtc_profile_desc list[64];
    static uint64_t value[64];
    static int bad[64];
    static char text[8192];
    size_t count = 64, used = 0;
    rtc_profile_t *p;
    if (rtc_profile_open(RTC_PROFILE_PROCESS, 0, 0, &p, NULL) != 0 ||
        rtc_profile_query_vars(p, list, &count) < 0 || rtc_profile_start_reads(p, 0) != 0)
        _exit(101);
    for (size_t i = 0; i < count; i++)
        bad[i] = rtc_profile_read_u64(p, list[i].id, &value[i]);
    if (rtc_profile_end_reads(p, 0) != 0 || rtc_profile_close(p) != 0)
        _exit(101);
    for (size_t i = 0; i < count; i++)
        if (bad[i] == 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s %" PRIu64 "\n",
                                     list[i].name, value[i]);
    if (write(1, text, used) != (ssize_t)used)
        _exit(101);
}

static char waiter[300]; /* the path of the program that they exec */
static char path[256], words[2][12];
static char *wait_words[] = {path, words[0], words[1], NULL};

static void *run_by_system(void *unused)
{
    (void)!system(waiter);
    return unused;
}

static void start_by_exec(void)
{
    extern char **environ;
    pthread_t thread;
    pid_t spawned;
    char byte;
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
        _exit(102);
    snprintf(words[0], sizeof words[0], "%d", steps[1]);
    snprintf(words[1], sizeof words[1], "%d", end[0]);
    snprintf(waiter, sizeof waiter, "%s %s %s", path, words[0], words[1]);
    fcntl(end[1], F_SETFD, FD_CLOEXEC);
    if (posix_spawn(&spawned, path, NULL, NULL, wait_words, environ) != 0 || !popen(waiter, "r") ||
        pthread_create(&thread, NULL, run_by_system, NULL) != 0)
        _exit(102);
    if (fork() == 0) {
        execv(path, wait_words);
        _exit(102);
    }
    if (vfork() == 0) {
        execv(path, wait_words);
        _exit(102);
    }
    for (int i = 0; i < 5; i++)
        (void)!read(steps[0], &byte, 1);
}

/* The main function of a child of start_by_exec. */
static int be_waiter(char **argv)
{
    char byte;
    void *p = malloc(10);
    (void)!write(atoi(argv[1]), "", 1);
    (void)!read(atoi(argv[2]), &byte, 1);
    free(p);
    return 0;
}

static void become_static(char **argv)
{
    if (readlink("/proc/self/exe", path, sizeof path - 1) > 0)
        strcpy(strrchr(path, '/'), "/static");
    execv(path, argv);
    _exit(102);
}

static void *take_steps(void *argv);

static void go_on_without_the_first(char **argv)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, take_steps, argv) != 0)
        _exit(100);
    pthread_exit(NULL);
}

static void step(char letter, char **argv)
{
    switch (letter) {
    case 'a':
        for (int i = 0; i < 100; i++)
            block[i] = malloc(1000);
        break;
    case 'b':
        allocate_or_free();
        break;
    case 'f':
        free_blocks(0, 40);
        break;
    case 't':
        start_two(wait_with_a_block);
        break;
    case 'e':
        start_and_join();
        break;
    case 'p':
        start_two(allocate_and_free);
        break;
    case 'm':
        (void)!mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        break;
    case 'd':
        free(block[0]);
        break;
    case 'c':
        start_child();
        break;
    case 'w':
        wait(NULL);
        break;
    case 'z':
        go_on_without_the_first(argv);
        break;
    case 's':
        start_by_exec();
        break;
    case 'v':
        print_variables();
        break;
    case 'o':
        free(malloc((size_t)1 << 62));
        free(realloc(malloc(10), 2000));
        break;
    case 'y':
        become_static(argv);
        break;
    case 'x':
        execv("/proc/self/exe", argv);
    }
}

static void *take_steps(void *argv)
{
    char letter;
    do {
        if (write(1, "done\n", 5) != 5 || read(0, &letter, 1) != 1)
            break;
        step(letter, argv);
    } while (1);
    free_blocks(40, 5);
    close(end[1]);
    while (wait(NULL) > 0)
        ;
    exit(3);
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return be_waiter(argv);
    if (pipe(steps) != 0 || pipe(end) != 0)
        return 100;
    take_steps(argv);
}

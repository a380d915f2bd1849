/*
 * threads.c - programs with threads and without leaks: all blocks are freed, or held at the end.
 *
 * usage: threads NAME clean|leak WAY      threads --list
 *
 * WAY: return (from main), worker (another thread calls exit, main waits), exit_now (_exit).  `leak`: a
 * thread of the same program loses one block of BYTES on its way.
 */
/* rtc-build: +threads_*.c* -pthread -fno-optimize-sibling-calls */
#include "scrub.h"
#include "threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_leak;

static NOINLINE void lose(void)
{
    void *volatile p = malloc(BYTES);
    if (!p)
        abort();
    p = NULL;
}

void plant(void)
{
    static _Atomic int done;
    if (!is_leak || done++)
        return;
    lose();
    scrub();
}

void *block(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p)
        abort();
    memset(p, 1, bytes);
    return p;
}

pthread_t start(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, argument))
        abort();
    return thread;
}

void join(pthread_t thread)
{
    if (pthread_join(thread, NULL))
        abort();
}

void crowd(void *(*body)(void *))
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        thread[i] = start(body, NULL);
    for (int i = 0; i < THREADS; i++)
        join(thread[i]);
}

/* ---- which, and how it ends ------------------------------------------------------------------------------ */

static void *ender(void *unused)
{
    exit(0);
    return unused;
}

static const struct program *const groups[] = {lock_programs, libc_programs, cxx_programs};
#define GROUPS (sizeof groups / sizeof groups[0])

static const struct program *find(const char *name)
{
    for (size_t i = 0; i < GROUPS; i++)
        for (const struct program *p = groups[i]; p->name; p++)
            if (!strcmp(p->name, name))
                return p;
    return NULL;
}

static int list(void)
{
    for (size_t i = 0; i < GROUPS; i++)
        for (const struct program *p = groups[i]; p->name; p++)
            puts(p->name);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--list"))
        return list();
    const struct program *p = argc == 4 ? find(argv[1]) : NULL;
    if (!p)
        return 2;
    is_leak = !strcmp(argv[2], "leak");
    p->run();
    scrub();
    if (!strcmp(argv[3], "worker"))
        join(start(ender, NULL));
    if (!strcmp(argv[3], "exit_now"))
        _exit(0);
    return 0;
}

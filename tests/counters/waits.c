/*
 * waits.c - does one thing for each letter on its standard input, and prints "done".
 *
 * rtc-build: -pthread
 *
 *   t  starts a thread, c forks a child: it waits for g
 *   g  lets the last one continue, which touches 1000 pages and ends, and waits for its end
 *   m  touches 1000 pages itself
 *   s  starts 20 threads, one after the other, that touch 1000 pages and end
 *   f  forks a child that does the same, and waits for it
 *   v  has 2000 children, one after the other, that end at once
 *   x  executes itself again
 *   y  the same by a thread that touches 1000 pages first; z: when the first thread has ended
 * Ends with 5 at the end of its input.
 */
#include "pages.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static int go[2];
static pthread_t thread;
static pid_t child; /* 0: it was a thread */

static void *wait_and_touch(void *unused)
{
    char byte;
    if (read(go[0], &byte, 1) == 1)
        touch_pages();
    return unused;
}

static void start_thread(void *(*what)(void *))
{
    child = 0;
    if (pthread_create(&thread, NULL, what, NULL) != 0)
        _exit(100);
}

static void *just_touch(void *unused)
{
    touch_pages();
    return unused;
}

static void start_many(void)
{
    for (int i = 0; i < 20; i++) {
        start_thread(just_touch);
        pthread_join(thread, NULL);
    }
}

static void start_child(void)
{
    child = fork();
    if (child == 0) {
        wait_and_touch(NULL);
        _exit(0);
    }
}

static void have_many_children(void)
{
    for (int i = 0; i < 2000; i++) {
        pid_t pid = vfork();
        if (pid == 0)
            _exit(0);
        if (pid < 0 || waitpid(pid, NULL, 0) != pid)
            _exit(100);
    }
}

static void let_go(void)
{
    if (write(go[1], "", 1) != 1)
        _exit(100);
    if (child)
        waitpid(child, NULL, 0);
    else
        pthread_join(thread, NULL);
}

static char *const *arguments;
static pthread_t first; /* 0: it runs on */

static void *become_again(void *unused)
{
    touch_pages();
    if (first)
        pthread_join(first, NULL);
    execv("/proc/thread-self/exe",
          arguments); /* the first thread's directory is gone after its end */
    return unused;
}

static void become_by_thread(char **argv, bool ends)
{
    arguments = argv;
    first = ends ? pthread_self() : 0;
    start_thread(become_again);
    if (ends)
        pthread_exit(NULL);
    pthread_join(thread, NULL);
}

static void step(char letter, char **argv)
{
    switch (letter) {
    case 't':
        start_thread(wait_and_touch);
        break;
    case 'c':
        start_child();
        break;
    case 'g':
        let_go();
        break;
    case 'm':
        touch_pages();
        break;
    case 's':
        start_many();
        break;
    case 'f':
        child = fork();
        if (child == 0) {
            start_many();
            _exit(0);
        }
        waitpid(child, NULL, 0);
        break;
    case 'v':
        have_many_children();
        break;
    case 'x':
        execv("/proc/self/exe", argv);
        break;
    case 'y':
    case 'z':
        become_by_thread(argv, letter == 'z');
    }
}

int main(int argc, char **argv)
{
    char letter;
    (void)argc;
    if (pipe(go) != 0)
        return 100;
    while (write(1, "done\n", 5) == 5 && read(0, &letter, 1) == 1)
        step(letter, argv);
    return 5;
}

/*
 * rows_shell.c - the environment while libc starts a shell: others read it, are cancelled, or start one, too.
 */
#include "rows.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static struct {
    int there[2], go[2]; /* pipes: the shell has started; it may continue */
    sem_t held, walk;
    char line[100];
} shells;

/* A shell that reports its start, and waits. */
static void shells_begin(void)
{
    expect(pipe(shells.there) == 0 && pipe(shells.go) == 0, "no pipe");
    fcntl(shells.there[0], F_SETFD, FD_CLOEXEC);
    fcntl(shells.go[1], F_SETFD, FD_CLOEXEC); /* a shell that is left over finds the end */
    snprintf(shells.line, sizeof shells.line, "echo >&%d; read x <&%d", shells.there[1],
             shells.go[0]);
    sem_init(&shells.held, 0, 0);
    sem_init(&shells.walk, 0, 0);
}

static void shells_end(void)
{
    for (int i = 0; i < 2; i++) {
        close(shells.there[i]);
        close(shells.go[i]);
    }
}

static void await_shell(void)
{
    char c;
    expect(read(shells.there[0], &c, 1) == 1, "no shell");
}

static void release_shell(void)
{
    expect(write(shells.go[1], "\n", 1) == 1, "not written");
}

static bool is_good_environment(char **e)
{
    for (unsigned i = 0; i < 5000 && e[i]; i++)
        if (strncmp(e[i], "PATH=", 5) == 0)
            return true;
    return false;
}

static void *walk_later(void *unused)
{
    await_shell();
    char **e = environ;
    release_shell();
    sem_post(&shells.held);
    sem_wait(&shells.walk);
    expect(is_good_environment(e), "what was the environment is none any more");
    return unused;
}

/* Overwrite earlier words on the stack. */
static __attribute__((noinline)) void scribble(void)
{
    char room[20000];
    memset(room, 0x41, sizeof room);
    escape(room);
}

void row_environment_read_during_system(void)
{
    pthread_t walker;
    shells_begin();
    pthread_create(&walker, NULL, walk_later, NULL);
    print_status("system", system(shells.line));
    scribble();
    sem_wait(&shells.held);
    sem_post(&shells.walk);
    pthread_join(walker, NULL);
    shells_end();
}

static void *run_shell(void *line)
{
    (void)!system(line);
    return NULL;
}

/* libc kills the shell: by hand that would leave a run file, so it is not checked there. */
void row_environment_after_cancelled_system(void)
{
    pthread_t thread;
    void *result;
    char *preload = getenv("LD_PRELOAD") ? strdup(getenv("LD_PRELOAD")) : NULL;
    setenv("LD_PRELOAD", "", 1);
    char **before = environ;
    shells_begin();
    pthread_create(&thread, NULL, run_shell, shells.line);
    await_shell();
    pthread_cancel(thread);
    pthread_join(thread, &result);
    expect(result == PTHREAD_CANCELED, "not cancelled");
    scribble();
    expect(environ == before && is_good_environment(environ), "another environment");
    shells_end();
    if (preload)
        setenv("LD_PRELOAD", preload, 1);
    else
        unsetenv("LD_PRELOAD");
    free(preload);
}

void row_environment_of_two_systems(void)
{
    pthread_t thread;
    char **before = environ;
    shells_begin();
    pthread_create(&thread, NULL, run_shell, shells.line);
    await_shell();
    print_status("second", system("exit 3"));
    release_shell();
    pthread_join(thread, NULL);
    expect(environ == before && is_good_environment(environ), "another environment");
    shells_end();
}

static int is_our_own(void *before)
{
    expect(environ == before && !getenv("RTCHECK_RUN_FILE"), "what was lent to another thread");
    print_status("child's system", system("exit 4"));
    return environ == before ? 0 : 1;
}

void row_environment_of_child_during_system(void)
{
    pthread_t thread;
    char **before = environ;
    shells_begin();
    pthread_create(&thread, NULL, run_shell, shells.line);
    await_shell();
    print_child("child", is_our_own, before);
    release_shell();
    pthread_join(thread, NULL);
    shells_end();
}

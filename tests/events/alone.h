/*
 * alone.h - for tests: the rows of a table, each in a process of its own.
 *
 * Prints "ok NAME" or "wrong NAME" for each that is wanted: those that are named, else all.
 */
#ifndef ALONE_H
#define ALONE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct row {
    const char *name;
    void (*run)(void);
};

struct rows {
    const struct row *row;
    size_t count;
    unsigned seconds;     /* a row that hangs ends then */
    void (*before)(void); /* in the row's process; NULL: nothing */
};

static inline bool row_is_good(const struct rows *all, const struct row *r)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(all->seconds);
        if (all->before)
            all->before();
        r->run();
        _exit(0);
    }
    bool good = waitpid(pid, &status, 0) == pid && status == 0;
    printf("%s %s\n", good ? "ok" : "wrong", r->name);
    return good;
}

static inline bool row_is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc == 1;
}

/* Whether one was wrong: main's status. */
static inline int rows_run(const struct rows *all, int argc, char **argv)
{
    int wrong = 0;
    for (size_t i = 0; i < all->count; i++)
        if (row_is_wanted(all->row[i].name, argc, argv))
            wrong += !row_is_good(all, &all->row[i]);
    return wrong != 0;
}

#endif

/*
 * alone.h - for tests: run the rows of a table, each in a process of its own.
 *
 * Print "ok NAME" or "wrong NAME" for each selected row: the rows named by arguments, else all.  A
 * row is wrong if its process fails, for example by a `must` that does not hold.
 */
#ifndef ALONE_H
#define ALONE_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MUST_ALSO
#define MUST_ALSO "" /* more text for the message of a failed condition */
#endif
#define must(condition) \
    ((condition) ? (void)0 : must_failed(__FILE__, __LINE__, #condition, MUST_ALSO))

static inline _Noreturn void must_failed(const char *file, int line, const char *condition,
                                         const char *also)
{
    fprintf(stderr, "%s:%d: not so: %s (errno %d) %s\n", file, line, condition, errno, also);
    _exit(1);
}

static inline void must_end_well(pid_t pid)
{
    int status = -1;
    if (pid <= 0 || waitpid(pid, &status, 0) != pid || status != 0)
        must_failed(__FILE__, __LINE__, "a child ends well", "");
}

struct row {
    const char *name;
    void (*run)(void);
};

struct rows {
    const struct row *row;
    size_t count;
    unsigned seconds;     /* timeout of a row */
    void (*before)(void); /* called in the row's process; may be NULL */
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

/* Return main's status: 1 if a row was wrong. */
static inline int rows_run(const struct rows *all, int argc, char **argv)
{
    int wrong = 0;
    for (size_t i = 0; i < all->count; i++)
        if (row_is_wanted(all->row[i].name, argc, argv))
            wrong += !row_is_good(all, &all->row[i]);
    return wrong != 0;
}

/* The body of main; `there`: the runtime is loaded. */
static inline int rows_main(const struct rows *all, bool there, int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    if (there)
        return rows_run(all, argc, argv);
    puts("absent");
    return 0;
}

#endif

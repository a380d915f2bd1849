/*
 * exec.c - exec and spawn: puts our entries back into the environment of the new program, unless it
 * cannot be checked.
 *
 * The functions run in vfork children, in their parent's memory: they use only the stack and change
 * nothing else.  Unreadable arguments are passed on, so the kernel returns EFAULT.
 */
#include "intercept.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"

/* The environment for the new program, if necessary on the stack of the calling function. */
#define ENVIRONMENT(c) child_environment((c), child_room((c), alloca(child_stack_bytes(c))))

/* End this image in case the exec succeeds; exec_failed reverts it.  Not in vfork children. */
static bool prepare_exec(const struct exec_call *call)
{
    /*
     * init_start comes first: it determines what the exec'd program must find.  A child without an
     * image ends none.
     */
    return init_start() && !fork_shares_memory() && !fork_is_child() &&
           init_hooks.prepare_exec(call);
}

/* Revert the preparations of an exec that has failed. */
static int exec_failed(struct child *c, bool is_prepared, int result)
{
    child_end(c, true);
    if (is_prepared)
        init_hooks.exec_failed();
    return result;
}

/* A shell tries every directory of PATH: record nothing for an exec that will fail. */
static bool is_missing(const struct child *c, const char *path)
{
    struct stat st;
    return !c->is_found && init_is_started() && !os_sandboxed() && os_stat(path, &st) < 0;
}

static int exec_at(const struct exec_call *call)
{
    const char *path = call->given[0];
    struct child c;
    child_by_path(&c, AT_FDCWD, path, call->given[2]);
    char *const *envp = ENVIRONMENT(&c);
    bool is_prepared = !is_missing(&c, path) && prepare_exec(call);
    return exec_failed(&c, is_prepared, (int)syscall(SYS_execve, path, call->given[1], envp));
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    return exec_at(&(struct exec_call){.given = {path, argv, envp}});
}

EXPORT int execv(const char *path, char *const argv[])
{
    return exec_at(&(struct exec_call){.given = {path, argv, environ}});
}

static int exec_in_path(const struct exec_call *call)
{
    struct child c;
    child_by_name(&c, call->given[0], call->given[2]);
    char *const *envp = ENVIRONMENT(&c);
    bool is_prepared = prepare_exec(call);
    return exec_failed(&c, is_prepared, NEXT(execvpe)(call->given[0], call->given[1], envp));
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    return exec_in_path(&(struct exec_call){.given = {file, argv, envp}});
}

EXPORT int execvp(const char *file, char *const argv[])
{
    return exec_in_path(&(struct exec_call){.given = {file, argv, environ}});
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    struct child c;
    child_by_path(&c, fd, "", envp);
    char *const *given = envp ? ENVIRONMENT(&c) : NULL; /* refused by libc */
    bool is_prepared = prepare_exec(&(struct exec_call){.given = {NULL, argv, envp}});
    return exec_failed(&c, is_prepared, NEXT(fexecve)(fd, argv, given));
}

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
    struct child c;
    child_by_path(&c, dir, path, envp);
    char *const *given = ENVIRONMENT(&c);
    bool is_prepared = prepare_exec(&(struct exec_call){.given = {path, argv, envp}});
    return exec_failed(&c, is_prepared, (int)syscall(SYS_execveat, dir, path, argv, given, flags));
}

/* ---- argument lists ------------------------------------------------------------------------- */

/* Count the arguments from `first` up to the NULL. */
static size_t count_arguments(const char *first, va_list ap)
{
    size_t n = 0;
    for (const char *a = first; a; a = va_arg(ap, const char *))
        n++;
    return n;
}

/* Copy the list into argv, on the stack; leaves ap after the NULL. */
#define COLLECT(argv, first, ap)                     \
    va_list counting;                                \
    va_copy(counting, ap);                           \
    size_t argc = count_arguments(first, counting);  \
    va_end(counting);                                \
    char **argv = alloca((argc + 1) * sizeof *argv); \
    memcpy(&argv[0], &first, sizeof first);          \
    for (size_t i = 1; i <= argc; i++)               \
        argv[i] = va_arg(ap, char *);                \
    argv[argc] = NULL

#define LISTED(file, argv, envp)                              \
    (&(struct exec_call){.given = {(file), (argv), (envp)},   \
                         .list = (const char *const *)(argv), \
                         .list_count = argc})

EXPORT int execl(const char *path, const char *arg, ...)
{
    va_list ap;
    va_start(ap, arg);
    COLLECT(argv, arg, ap);
    va_end(ap);
    return exec_at(LISTED(path, argv, environ));
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
    va_list ap;
    va_start(ap, arg);
    COLLECT(argv, arg, ap);
    va_end(ap);
    return exec_in_path(LISTED(file, argv, environ));
}

EXPORT int execle(const char *path, const char *arg, ...)
{
    va_list ap;
    va_start(ap, arg);
    COLLECT(argv, arg, ap);
    char *const *envp = va_arg(ap, char *const *);
    va_end(ap);
    return exec_at(LISTED(path, argv, envp));
}

/* ---- spawning ------------------------------------------------------------------------------- */

EXPORT int posix_spawn(pid_t *restrict pid, const char *restrict path,
                       const posix_spawn_file_actions_t *restrict actions,
                       const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                       char *const envp[restrict])
{
    struct child c;
    child_by_path(&c, AT_FDCWD, path, envp);
    char *const *given = ENVIRONMENT(&c);
    int err = NEXT(posix_spawn)(pid, path, actions, attributes, argv, given);
    child_end(&c, err != 0);
    return err;
}

EXPORT int posix_spawnp(pid_t *restrict pid, const char *restrict file,
                        const posix_spawn_file_actions_t *restrict actions,
                        const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                        char *const envp[restrict])
{
    struct child c;
    child_by_name(&c, file, envp);
    char *const *given = ENVIRONMENT(&c);
    int err = NEXT(posix_spawnp)(pid, file, actions, attributes, argv, given);
    child_end(&c, err != 0);
    return err;
}

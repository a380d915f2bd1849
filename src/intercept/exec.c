/*
 * exec.c - the program starts another program: our entries go back into its environment.
 *
 * These run in vfork children, in their parent's memory: they build on the stack and change
 * nothing.
 */
#include "intercept.h"

#include <alloca.h>
#include <elf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Expands to the environment for the next image, on the stack of the calling function. */
#define WITH_OURS(envp) environment_put_back((envp), alloca(environment_room(envp)))

/*
 * Will LD_PRELOAD be lost on this program: static, or gaining privileges?  What cannot be read, or
 * is found by PATH, passes: the launcher sees that no image followed.
 */
static bool goes_unchecked(const char *path)
{
    static const unsigned char magic[] = {0x7f, 'E', 'L', 'F'};
    char head[1024];
    struct stat st;
    int fd = os_open(path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0)
        return false;
    long n = os_read(fd, head, sizeof head);
    bool privileged = os_stat_fd(fd, &st) == 0 && st.st_mode & S_ISUID && st.st_uid != os_uid();
    os_close(fd);
    const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)(const void *)head;
    if (n < (long)sizeof *ehdr || memcmp(head, magic, sizeof magic) != 0)
        return false;
    const Elf64_Phdr *ph = (const Elf64_Phdr *)(const void *)(head + ehdr->e_phoff);
    if (!range_inside(ehdr->e_phoff, (uint64_t)ehdr->e_phnum * sizeof *ph, (uint64_t)n))
        return privileged;
    for (unsigned i = 0; i < ehdr->e_phnum; i++)
        if (ph[i].p_type == PT_INTERP)
            return privileged;
    return true;
}

/* Counted in the nearest image: a vfork child's, or one that did nothing yet, is its parent's. */
static void count_unchecked(const char *path)
{
    if (core_is_started() && rt.by_launcher && rt.options.trace_children && !os_sandboxed() &&
        path && goes_unchecked(path))
        image_count(&image()->unchecked_children);
}

/* This image ends if the exec succeeds; a failed one takes it back.  Not for vfork children. */
static bool farewell(const struct exec_call *call)
{
    /* Started here: what exec must find is known only then.  A child that is no image ends none. */
    return core_start() && !fork_shares_memory() && !fork_is_child() && core_hooks.replaced(call);
}

static int stayed(bool said, int result)
{
    if (said)
        core_hooks.stayed();
    return result;
}

/* A shell that looks for a program tries all of PATH: of an exec that will fail nothing is said. */
static bool is_missing(const char *path)
{
    struct stat st;
    return core_is_started() && !os_sandboxed() && os_stat(path, &st) < 0;
}

static int exec_at(const struct exec_call *call)
{
    const char *path = call->given[0];
    char *const *envp = call->given[2];
    count_unchecked(path);
    bool said = !is_missing(path) && farewell(call);
    long err = syscall(SYS_execve, path, call->given[1], WITH_OURS(envp));
    return stayed(said, (int)err);
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
    char *const *envp = call->given[2];
    bool said = farewell(call);
    return stayed(said, NEXT(execvpe)(call->given[0], call->given[1], WITH_OURS(envp)));
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
    bool said = farewell(&(struct exec_call){.given = {NULL, argv, envp}});
    return stayed(said, NEXT(fexecve)(fd, argv, WITH_OURS(envp)));
}

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
    bool said = farewell(&(struct exec_call){.given = {path, argv, envp}});
    return stayed(said, (int)syscall(SYS_execveat, dir, path, argv, WITH_OURS(envp), flags));
}

/* ---- arguments as a list --------------------------------------------------------------------- */

/* Counts the arguments from `first` up to the NULL; the list may be walked again. */
static size_t count_arguments(const char *first, va_list ap)
{
    size_t n = 0;
    for (const char *a = first; a; a = va_arg(ap, const char *))
        n++;
    return n;
}

/* argv out of the list, on the stack; leaves ap behind the NULL. */
#define COLLECT(argv, first, ap)                                      \
    va_list counting;                                                 \
    va_copy(counting, ap);                                            \
    size_t argc = count_arguments(first, counting);                   \
    va_end(counting);                                                 \
    char **argv = alloca((argc + 1) * sizeof *argv);                  \
    memcpy(&argv[0], &first, sizeof first);                           \
    for (size_t i = 1; i <= argc; i++)                                \
        argv[i] = va_arg(ap, char *);                                 \
    argv[argc] = NULL

#define LISTED(file, argv, envp)                            \
    (&(struct exec_call){.given = {(file), (argv), (envp)}, \
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

/* ---- spawning -------------------------------------------------------------------------------- */

EXPORT int posix_spawn(pid_t *restrict pid, const char *restrict path,
                       const posix_spawn_file_actions_t *restrict actions,
                       const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                       char *const envp[restrict])
{
    count_unchecked(path);
    return NEXT(posix_spawn)(pid, path, actions, attributes, argv, WITH_OURS(envp));
}

EXPORT int posix_spawnp(pid_t *restrict pid, const char *restrict file,
                        const posix_spawn_file_actions_t *restrict actions,
                        const posix_spawnattr_t *restrict attributes,
                        char *const argv[restrict], char *const envp[restrict])
{
    return NEXT(posix_spawnp)(pid, file, actions, attributes, argv, WITH_OURS(envp));
}

/*
 * start.c - the program's process, from fork to exec.
 *
 * exec uses the raw system call: if the launcher itself runs under a checked program, the
 * interposed exec would replace the launcher's environment entries.
 *
 * The two processes share a page instead of a socket, because descriptors may be scarce (ulimit -n
 * 4).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher.h"

#define LIBRARY "librtcheck.so"

/* ---- the library ----------------------------------------------------------------------------- */

/* The launcher's own path, also without /proc; NULL if it cannot be determined. */
static char *own_path(char real[PATH_MAX])
{
    if (realpath("/proc/self/exe", real))
        return real;
    const char *as_started = (const char *)getauxval(AT_EXECFN);
    return as_started ? realpath(as_started, real) : NULL;
}

int runtime_path(char *path, size_t room, char err[TOOLS_ERROR_BYTES])
{
    char own[PATH_MAX], real[PATH_MAX], beside[PATH_MAX + 32];
    if (!own_path(own))
        return fail(err, -ENOENT,
                    "cannot find out where %s is: no /proc, and started from elsewhere", LIBRARY);
    *strrchr(own, '/') = '\0';
    snprintf(beside, sizeof beside, "%s/../lib/" LIBRARY, own);
    if (!realpath(beside, real) || access(real, R_OK) != 0)
        return fail(err, -errno, "%s: %s", beside, strerror(errno));
    if (strpbrk(real, " \t:"))
        return fail(err, -EINVAL, "%s: LD_PRELOAD cannot carry a path with a space or a colon",
                    real);
    if (strchr(real, '$'))
        return fail(err, -EINVAL, "%s: LD_PRELOAD cannot carry a path with a dollar sign", real);
    if (strlen(real) >= room)
        return fail(err, -ENAMETOOLONG, "%s: name too long", real);
    strcpy(path, real);
    return 0;
}

/* ---- the environment ------------------------------------------------------------------------- */

static bool is_entry_of(const char *entry, const char *name)
{
    size_t n = strlen(name);
    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

/* Replace the entry of `name`, else append.  `env` must have room for one more entry. */
static void put_entry(char **env, const char *name, char *entry)
{
    while (*env && !is_entry_of(*env, name))
        env++;
    if (!*env)
        env[1] = NULL;
    *env = entry;
}

/*
 * The program's environment: the launcher's with two entries of ours.  The library is first in
 * LD_PRELOAD.  A colon after it means that the user's own value follows, even if it is empty.
 */
static char **make_environment(const struct start *s, int fd)
{
    const char *users = getenv("LD_PRELOAD");
    char *preload, *file;
    size_t n = 0;
    while (environ[n])
        n++;
    char **env = calloc(n + 3, sizeof *env);
    if (!env ||
        asprintf(&preload, "LD_PRELOAD=%s%s%s", s->runtime, users ? ":" : "", users ? users : "") <
            0 ||
        asprintf(&file, "RTCHECK_RUN_FILE=%d:%llu:%llu:%s", fd, (unsigned long long)s->file->dev,
                 (unsigned long long)s->file->ino, s->file->path) < 0)
        return NULL;
    memcpy(env, environ, n * sizeof *env);
    put_entry(env, "LD_PRELOAD", preload);
    put_entry(env, "RTCHECK_RUN_FILE", file);
    return env;
}

/* ---- the child ------------------------------------------------------------------------------- */

/* execvp's rule: a file for which execve returns ENOEXEC is a shell script. */
static void exec_by_shell(const struct start *s, char **env)
{
    size_t n = 0;
    while (s->argv[n])
        n++;
    char **argv = calloc(n + 2, sizeof *argv);
    if (!argv)
        return;
    argv[0] = (char[]){"/bin/sh"};
    argv[1] = s->program->path;
    memcpy(argv + 2, s->argv + 1, n * sizeof *argv);
    syscall(SYS_execve, argv[0], argv, env);
}

static void drop_output(void)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (int to = 1; to <= 2 && fd >= 0; to++)
        if (fds_was_open(to))
            dup2(fd, to);
}

enum { START_WAIT, START_NOW, START_GIVEN_UP };

struct handshake {
    _Atomic uint32_t state; /* START_*; the child waits on it as a futex */
    _Atomic int error;      /* errno of the child's failed exec */
};

/* false: the launcher gave up.  If the launcher ends before that, the child is killed. */
static bool may_start(struct handshake *h, pid_t launcher)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (atomic_load(&h->state) == START_WAIT && getppid() == launcher)
        syscall(SYS_futex, &h->state, FUTEX_WAIT, START_WAIT, NULL, NULL, 0);
    prctl(PR_SET_PDEATHSIG, 0);
    return atomic_load(&h->state) == START_NOW;
}

static void become_program(const struct start *s, struct handshake *h, pid_t launcher)
{
    signals_give_back(s->was);
    if (!may_start(h, launcher))
        _exit(STATUS_SETUP);
    char **env = environ;
    if (s->is_silent)
        drop_output();
    if (s->runtime) {
        int handed = fds_pass_down(s->file->fd);
        env = make_environment(s, handed < 0 ? -1 : handed);
    }
    fds_restore_limit();
    errno = ENOMEM;
    if (env)
        syscall(SYS_execve, s->program->path, s->argv, env);
    if (errno == ENOEXEC)
        exec_by_shell(s, env);
    atomic_store(&h->error, errno);
    _exit(STATUS_NOT_FOUND);
}

/* ---- the launcher's side --------------------------------------------------------------------- */

int start_fork(const struct start *s, struct started *out, char err[TOOLS_ERROR_BYTES])
{
    pid_t launcher = getpid();
    struct handshake *h =
        mmap(NULL, sizeof *h, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (h == MAP_FAILED)
        return fail(err, -errno, "cannot start a process: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        become_program(s, h, launcher);
    if (pid < 0) {
        int bad = -errno;
        munmap(h, sizeof *h);
        return fail(err, bad, "cannot start a process: %s", strerror(-bad));
    }
    *out = (struct started){.pid = pid, .handshake = h};
    return 0;
}

static void answer(struct handshake *h, uint32_t state)
{
    uint32_t waits = START_WAIT;
    if (atomic_compare_exchange_strong(&h->state, &waits, state))
        syscall(SYS_futex, &h->state, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void start_release(const struct started *s)
{
    answer(s->handshake, START_NOW);
}

int start_error(struct started *s)
{
    answer(s->handshake, START_GIVEN_UP);
    int bad = atomic_load(&s->handshake->error);
    munmap(s->handshake, sizeof *s->handshake);
    s->handshake = NULL;
    return -bad;
}

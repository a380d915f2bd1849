/*
 * folder.c - a private folder for the files of a pack, and a temporary file.
 *
 * It is removed by exit, and by the signals that end a command.  A signal handler cannot search a
 * folder, so a list has all that was made in it, the newest first: each entry is added before the
 * file is made.  After SIGKILL the folder stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/bits.h"
#include "pack.h"

struct made {
    struct made *older;
    bool is_folder;
    char path[]; /* below the folder */
};

static struct {
    char path[PATH_MAX]; /* "": there is none */
    int fd;
    pid_t owner; /* children of the process do not remove it */
    struct made *_Atomic newest;
} folder = {.fd = -1};

static const int deadly[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGALRM, SIGXCPU, SIGXFSZ};

/* Async-signal-safe. */
static void remove_all(void)
{
    if (!*folder.path || getpid() != folder.owner)
        return;
    for (const struct made *m = atomic_load(&folder.newest); m; m = m->older)
        unlinkat(folder.fd, m->path, m->is_folder ? AT_REMOVEDIR : 0);
    rmdir(folder.path);
}

static void end_by_signal(int number)
{
    remove_all();
    signal(number, SIG_DFL);
    raise(number); /* it is blocked, and ends the process after the return */
}

static void handlers_set(void)
{
    struct sigaction action = {.sa_handler = end_by_signal}, old;

    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < countof(deadly); i++)
        if (sigaction(deadly[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(deadly[i], &action, NULL);
}

void folder_remove(void)
{
    struct made *m = atomic_load(&folder.newest), *older;
    sigset_t all, before;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    remove_all();
    folder.path[0] = '\0';
    atomic_store(&folder.newest, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    for (; m; m = older) {
        older = m->older;
        free(m);
    }
    if (folder.fd >= 0)
        close(folder.fd);
    folder.fd = -1;
}

/* The path must be absolute: it becomes a sysroot, and in libdwfl's lists a colon separates. */
static const char *temporary(void)
{
    const char *set = getenv("TMPDIR");

    return set && set[0] == '/' && !strchr(set, ':') ? set : "/tmp";
}

int temporary_file(void)
{
    int fd = open(temporary(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

    return fd >= 0 ? fd : memfd_create("rtcheck-pack", MFD_CLOEXEC);
}

static int make(char path[PATH_MAX], char err[TOOLS_ERROR_BYTES])
{
    int n = snprintf(path, PATH_MAX, "%s/rtcheck.XXXXXX", temporary());

    if (n < PATH_MAX && mkdtemp(path)) /* mode 0700 */
        return 0;
    path[0] = '\0';
    return fail(err, -errno, "no temporary folder in %.200s: %s", temporary(), strerror(errno));
}

int folder_make(char err[TOOLS_ERROR_BYTES])
{
    static bool is_prepared;
    sigset_t all, before;
    int bad;

    if (!is_prepared) {
        handlers_set();
        atexit(folder_remove);
        is_prepared = true;
    }
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    folder.owner = getpid();
    bad = make(folder.path, err);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (bad)
        return bad;
    folder.fd = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return folder.fd < 0
               ? fail(err, -errno, "%.200s cannot be opened: %s", folder.path, strerror(errno))
               : 0;
}

const char *folder_path(void)
{
    return folder.path;
}

static void note(const char *path, size_t bytes, bool is_folder)
{
    struct made *m = malloc(sizeof *m + bytes + 1);

    if (!m)
        abort();
    m->is_folder = is_folder;
    memcpy(m->path, path, bytes);
    m->path[bytes] = '\0';
    m->older = atomic_load(&folder.newest);
    atomic_store(&folder.newest, m);
}

void folder_note(const char *path)
{
    note(path, strlen(path), false);
}

/* Make the folders above a file.  Those that exist are on the list already. */
static int make_above(const char *path)
{
    struct stat st;

    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        char above[PATH_MAX];
        snprintf(above, sizeof above, "%.*s", (int)(slash - path), path);
        if (fstatat(folder.fd, above, &st, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        note(above, strlen(above), true);
        if (mkdirat(folder.fd, above, 0700) < 0)
            return -errno;
    }
    return 0;
}

int folder_create(const char *path)
{
    int bad = strlen(path) < PATH_MAX ? make_above(path) : -ENAMETOOLONG;
    struct stat st;

    if (bad)
        return bad;
    if (fstatat(folder.fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return -EEXIST;
    folder_note(path);
    int fd = openat(folder.fd, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    return fd < 0 ? -errno : fd;
}

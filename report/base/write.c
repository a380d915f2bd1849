/*
 * write.c - read whole files, and replace files atomically by writing a temporary file and renaming
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basics.h"

#define FILE_BYTES_MAX (64u << 20)

char *file_read(const char *path, size_t *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
    char *text = NULL;
    size_t room = 0;

    *bytes = 0;
    while (in && !feof(in) && !ferror(in) && *bytes < FILE_BYTES_MAX) {
        room = room ? 2 * room : 4096;
        text = xalloc(realloc(text, room));
        *bytes += fread(text + *bytes, 1, room - *bytes, in);
    }
    if (!in || ferror(in) || *bytes >= FILE_BYTES_MAX) {
        errno = in && !ferror(in) ? EFBIG : errno;
        free(text);
        text = NULL;
    }
    if (in)
        fclose(in);
    return text;
}

/* Closes `out` in any case. */
static int put_and_close(FILE *out, write_put *put, void *arg)
{
    int err = put(out, arg);

    if (fflush(out) != 0 && !err)
        err = -errno;
    if (ferror(out) && !err)
        err = -EIO;
    return fclose(out) != 0 && !err ? -errno : err;
}

/* Pipes and terminals cannot be replaced by rename. */
static int write_in_place(const char *path, write_put *put, void *arg)
{
    FILE *out = fopen(path, "we");
    return out ? put_and_close(out, put, arg) : -errno;
}

/*
 * Create the temporary file with the mode of the existing file, so that its other readers keep
 * access.
 */
static int open_beside(const char *path, const struct stat *old, char **beside)
{
    mode_t mask = umask(0);
    int fd;

    umask(mask);
    if (asprintf(beside, "%s.XXXXXX", path) < 0)
        *beside = xalloc(NULL);
    fd = mkostemp(*beside, O_CLOEXEC);
    if (fd >= 0)
        fchmod(fd, old ? old->st_mode & 0777 : 0666 & ~mask);
    return fd;
}

static int write_beside(const char *path, const struct stat *old, write_put *put, void *arg)
{
    char *beside;
    int fd = open_beside(path, old, &beside);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    int err = out ? put_and_close(out, put, arg) : -errno;

    if (!err && rename(beside, path) < 0)
        err = -errno;
    if (err && fd >= 0)
        unlink(beside);
    free(beside);
    return err;
}

/*
 * Paths below /dev and /proc may name a descriptor of the caller, whatever file it refers to.  /dev/shm is a
 * file system as others are.
 */
static bool is_device(const char *path)
{
    return (strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0) ||
           strncmp(path, "/proc/", 6) == 0;
}

/*
 * Will the path be replaced by rename? *real: what is replaced, freed by the caller.  A symbolic
 * link is kept; its target is replaced, or created.  A path below /dev is never replaced, also if nothing is there.
 */
static bool is_replaced(const char *path, struct stat *st, bool *is_there, char **real)
{
    struct stat link;

    *st = (struct stat){0};
    *is_there = stat(path, st) == 0;
    *real = NULL;
    if (is_device(path) || (*is_there && !S_ISREG(st->st_mode)) ||
        (!*is_there && lstat(path, &link) == 0))
        return false;
    if (*is_there)
        *real = realpath(path, NULL);
    if (!*real)
        *real = xalloc(strdup(path));
    return true;
}

int write_whole(const char *path, write_put *put, void *arg)
{
    struct stat st;
    bool is_there;
    char *real;
    int err = is_replaced(path, &st, &is_there, &real)
                  ? write_beside(real, is_there ? &st : NULL, put, arg)
                  : write_in_place(path, put, arg);

    free(real);
    return err;
}

/* In a sticky directory (/tmp) only the owner of a file, or of the directory, replaces it. */
static bool is_protected(const struct stat *folder, const struct stat *old)
{
    uid_t user = geteuid();

    return folder->st_mode & S_ISVTX && user && old->st_uid != user && folder->st_uid != user;
}

/* Changes `path`. */
static int check_beside(char *path, const struct stat *old)
{
    char *slash = strrchr(path, '/');
    const char *folder = slash ? path : ".";
    struct stat st;

    if (slash)
        slash[1] = '\0'; /* with the slash: no file is taken for a directory */
    if (access(folder, W_OK | X_OK) < 0)
        return -errno;
    return old && stat(folder, &st) == 0 && is_protected(&st, old) ? -EPERM : 0;
}

/* A link to nothing: can its target be created? Of a relative target, in the folder of the link. */
static int check_target(const char *path)
{
    const char *slash = strrchr(path, '/');
    char target[PATH_MAX], *whole;
    ssize_t bytes = readlink(path, target, sizeof target - 1);
    int err;

    if (bytes < 0)
        return -errno;
    target[bytes] = '\0';
    if (asprintf(&whole, "%.*s%s", *target == '/' || !slash ? 0 : (int)(slash + 1 - path), path,
                 target) < 0)
        whole = xalloc(NULL);
    err = check_beside(whole, NULL);
    free(whole);
    return err;
}

int write_whole_check(const char *path)
{
    struct stat st;
    bool is_there;
    char *real;
    int err;

    if (is_replaced(path, &st, &is_there, &real))
        err = check_beside(real, is_there ? &st : NULL);
    else if (S_ISDIR(st.st_mode))
        err = -EISDIR;
    else if (!is_there && !is_device(path))
        err = check_target(path);
    else
        err = access(path, W_OK) < 0 ? -errno : 0;
    free(real);
    return err;
}

int write_at(int fd, const void *from, size_t bytes, uint64_t offset)
{
    const char *at = from;

    while (bytes > 0) {
        ssize_t n = pwrite(fd, at, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        at += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return 0;
}

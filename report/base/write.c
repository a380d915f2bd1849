/*
 * write.c - read whole files, and replace files atomically by writing a temporary file and renaming
 * it.
 */
#include <errno.h>
#include <fcntl.h>
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
    int err;

    put(out, arg);
    err = fflush(out) != 0 ? -errno : ferror(out) ? -EIO : 0;
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

/* Paths below /dev and /proc may name a descriptor of the caller, whatever file it refers to. */
static bool is_device(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
}

/* A symbolic link is kept; its target is replaced. */
int write_whole(const char *path, write_put *put, void *arg)
{
    struct stat st;
    bool is_there = stat(path, &st) == 0;
    char *real = is_there ? realpath(path, NULL) : NULL;
    int err;

    if (is_there && (!S_ISREG(st.st_mode) || is_device(path)))
        err = write_in_place(path, put, arg);
    else
        err = write_beside(real ? real : path, is_there ? &st : NULL, put, arg);
    free(real);
    return err;
}

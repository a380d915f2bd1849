/*
 * write_file.c - the report in files beside the text: each appears by rename, whole or not at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats_priv.h"

typedef void printer(struct report *r, FILE *out, const struct print_options *how);

/* Closes `out` whatever happens. */
static int print_and_close(struct report *r, printer *print, FILE *out, const struct print_options *how)
{
    bool bad;

    print(r, out, how);
    bad = ferror(out);
    return fclose(out) != 0 || bad ? -EIO : 0;
}

/* A pipe or a terminal cannot be renamed over. */
static int print_in_place(struct report *r, printer *print, const char *path, const struct print_options *how)
{
    FILE *out = fopen(path, "we");
    return out ? print_and_close(r, print, out, how) : -errno;
}

static int open_beside(const char *path, char **beside)
{
    mode_t mask = umask(0);
    int fd;

    umask(mask);
    if (asprintf(beside, "%s.XXXXXX", path) < 0)
        *beside = must_have(NULL);
    fd = mkostemp(*beside, O_CLOEXEC);
    if (fd >= 0)
        fchmod(fd, 0666 & ~mask);
    return fd;
}

static int print_by_rename(struct report *r, printer *print, const char *path, const struct print_options *how)
{
    char *beside;
    int fd = open_beside(path, &beside);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    int err = out ? print_and_close(r, print, out, how) : -errno;

    if (!err && rename(beside, path) < 0)
        err = -errno;
    if (err && fd >= 0)
        unlink(beside);
    free(beside);
    return err;
}

int report_write(struct report *r, enum report_file what, const char *path, const struct print_options *how)
{
    static printer *const printers[REPORT_FILE_COUNT] = {
        [REPORT_JSON] = json_print,
        [REPORT_SARIF] = sarif_print,
        [REPORT_JUNIT] = junit_print,
        [REPORT_GITLAB] = gitlab_print,
    };
    struct stat st;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return print_in_place(r, printers[what], path, how);
    return print_by_rename(r, printers[what], path, how);
}

/*
 * open.c - open a run for a verb: a run file, or the one in a pack.
 *
 * A pack is recognised by its first bytes.  Its members stay in the private folder as long as the
 * run is open, since symbols are read from them when they are printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pack_priv.h"

/* The descriptor of a regular file that is an archive; -1: report_open reads the file. */
static int archive_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_archive(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* The message begins with the path in the folder. */
static int run_refused(const char *path, const char *file, int bad, char err[REPORT_ERROR_BYTES])
{
    char why[REPORT_ERROR_BYTES];
    size_t bytes = strlen(file);

    snprintf(why, sizeof why, "%s", err + (strncmp(err, file, bytes) == 0 ? bytes : 0));
    return fail(err, bad, "%.200s: its run file%.250s", path, why);
}

static int packed_run_open(struct report **out, int fd, const char *path,
                           char err[REPORT_ERROR_BYTES])
{
    char file[PATH_MAX + 8], root[PATH_MAX + 8];
    json_t *manifest;
    int bad = folder_make(err);

    if (!bad)
        bad = unpack(fd, path, &manifest, err);
    if (bad)
        return bad;
    snprintf(file, sizeof file, "%s/" RUN_NAME, folder_path());
    snprintf(root, sizeof root, "%s/" ROOT_NAME, folder_path());
    bad = report_open(out, file, err);
    if (!bad) {
        report_use_pack(*out, path, root);
        manifest_apply(manifest, *out);
    }
    json_decref(manifest);
    return bad ? run_refused(path, file, bad, err) : 0;
}

int run_open(struct report **out, const char *path, char err[REPORT_ERROR_BYTES])
{
    int fd = archive_open(path), bad;

    static_assert(REPORT_ERROR_BYTES == TOOLS_ERROR_BYTES, "both rooms write the message");
    if (fd < 0)
        return report_open(out, path, err);
    bad = packed_run_open(out, fd, path, err);
    close(fd);
    if (bad)
        folder_remove();
    return bad;
}

void run_close(struct report *r)
{
    const char *first;
    uint32_t refused = report_sources_refused(r, &first);

    fflush(stdout);
    if (refused > 0) {
        fputs("rtcheck: note: no lines of ", stderr);
        report_put_name(stderr, first);
        fprintf(stderr, "%s are printed: %s not the version of the run\n",
                refused > 1 ? " and others" : "", refused > 1 ? "they are" : "it is");
    }
    report_close(r);
    folder_remove();
}

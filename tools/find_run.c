/*
 * find_run.c - run files, if the command line names none: those kept, and those of runs by hand.
 *
 * The start of a run by hand is in its file.  Hundreds of such files may be there, so a search opens
 * one only if it can be the newest that is left: it cannot have started after its last change.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools.h"

#define SECOND_NS 1000000000u

struct found {
    char *path;
    uint64_t time_ns; /* the run's start, or a kept run's end; unread: the start is not later */
    bool is_unread;
    dev_t dev;
    ino_t ino;
};

struct finds {
    struct found *at;
    unsigned count, room;
};

static bool is_known(const struct finds *f, const struct stat *st)
{
    for (unsigned i = 0; i < f->count; i++)
        if (f->at[i].dev == st->st_dev && f->at[i].ino == st->st_ino)
            return true;
    return false;
}

/* Without memory for it, a file is left out. */
static void add(struct finds *f, const char *path, struct found found)
{
    if (f->count == f->room) {
        unsigned room = f->room ? 2 * f->room : 32;
        struct found *more = realloc(f->at, room * sizeof *more);
        if (!more)
            return;
        f->at = more;
        f->room = room;
    }
    found.path = strdup(path);
    if (found.path)
        f->at[f->count++] = found;
}

static void drop(struct finds *f, unsigned i)
{
    free(f->at[i].path);
    f->at[i] = f->at[--f->count];
}

static void finds_free(struct finds *f)
{
    while (f->count > 0)
        drop(f, f->count - 1);
    free(f->at);
}

static uint64_t time_of(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * SECOND_NS + (uint64_t)t->tv_nsec;
}

/* The last change of a file; the clock of a file system is some milliseconds late. */
static uint64_t last_change(const struct stat *st)
{
    uint64_t inode = time_of(&st->st_ctim), data = time_of(&st->st_mtim);

    return (inode > data ? inode : data) + SECOND_NS;
}

/* Files of other users are not opened: in /tmp any user can create one. */
static void consider(struct finds *f, const char *path)
{
    struct stat st;

    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !is_known(f, &st))
        add(f, path, (struct found){NULL, last_change(&st), true, st.st_dev, st.st_ino});
}

static void consider_folder(struct finds *f, const char *folder)
{
    DIR *dir = folder && *folder ? opendir(folder) : NULL;
    const struct dirent *entry;
    char path[PATH_MAX];

    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (fnmatch("rtcheck.*.pool", entry->d_name, 0) == 0 &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            consider(f, path);
    closedir(dir);
}

static bool read_start(const char *path, uint64_t *start_ns, bool *is_to_be_reported)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;

    if (report_open(&r, path, err) != 0)
        return false;
    *start_ns = report_run(r)->start_ns;
    *is_to_be_reported = report_run(r)->reported == 0 && report_running(r) == 0;
    report_close(r);
    return true;
}

/* The newest that can be read; or all, which the caller opens one after the other. */
static void consider_kept(struct finds *f, bool all)
{
    size_t count;
    struct kept_run *runs = state_runs(&count);

    for (size_t i = 0; i < count && (all || f->count == 0); i++) {
        uint64_t ns = time_of(&runs[i].time);
        bool is_unreported; /* a file that is kept on purpose always counts */
        if (all || read_start(runs[i].path, &ns, &is_unreported))
            add(f, runs[i].path, (struct found){.time_ns = ns});
    }
    free(runs);
}

static void find_all(struct finds *f, const struct options *o, bool all_kept)
{
    *f = (struct finds){0};
    consider_kept(f, all_kept);
    if (o)
        consider_folder(f, option_text(o, "pool-dir"));
    consider_folder(f, getenv("RTCHECK_POOL_DIR"));
    consider_folder(f, getenv("XDG_RUNTIME_DIR"));
    consider_folder(f, "/dev/shm");
    consider_folder(f, getenv("TMPDIR"));
    consider_folder(f, "/tmp");
}

static unsigned newest_of(const struct finds *f)
{
    unsigned newest = 0;

    for (unsigned i = 1; i < f->count; i++)
        if (f->at[i].time_ns > f->at[newest].time_ns)
            newest = i;
    return newest;
}

/* Replace the last change by the start, or drop the file if its run is not to be reported. */
static void read_found(struct finds *f, unsigned i)
{
    struct found *found = &f->at[i];
    bool is_to_be_reported;

    found->is_unread = false;
    if (!read_start(found->path, &found->time_ns, &is_to_be_reported) || !is_to_be_reported)
        drop(f, i);
}

/* Take the path of the newest run, freed by the caller.  NULL: there is none. */
static char *take_newest(struct finds *f)
{
    while (f->count > 0) {
        unsigned i = newest_of(f);
        char *path = f->at[i].path;
        if (f->at[i].is_unread) {
            read_found(f, i);
        } else {
            f->at[i] = f->at[--f->count];
            return path;
        }
    }
    return NULL;
}

static int fail_none(char err[TOOLS_ERROR_BYTES])
{
    return fail(err, -ENOENT,
                "no run to report: no file was kept, none was left by a killed process");
}

int find_run(const struct options *o, char *path, size_t room, FILE *out,
             char err[TOOLS_ERROR_BYTES])
{
    struct finds f;

    find_all(&f, o, false);
    for (unsigned i = f.count; i-- > 0;)
        if (f.at[i].is_unread)
            read_found(&f, i);
    char *newest = take_newest(&f);
    if (!newest) {
        finds_free(&f);
        return fail_none(err);
    }
    snprintf(path, room, "%s", newest);
    free(newest);
    if (out) {
        fprintf(out, "rtcheck: run file %s\n", path);
        for (char *other; (other = take_newest(&f)); free(other))
            fprintf(out, "  also there: %s\n", other);
    }
    finds_free(&f);
    return 0;
}

int find_run_where(const struct options *o, int (*look)(const char *path, void *data), void *data,
                   char err[TOOLS_ERROR_BYTES])
{
    struct finds f;
    bool is_any = false;
    int got = -ENOENT;

    find_all(&f, o, true);
    for (char *path; got == -ENOENT && (path = take_newest(&f)); free(path)) {
        is_any = true;
        got = look(path, data);
    }
    finds_free(&f);
    return is_any ? got : fail_none(err);
}

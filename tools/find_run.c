/* find_run.c - run files, if the command line names none: those kept, and those of runs by hand. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools.h"

#define OTHERS_MAX (RUNS_KEPT_MAX + 64u)

struct found {
    char path[PATH_MAX];
    uint64_t start_ns;
    dev_t dev;
    ino_t ino;
};

struct finds {
    struct found at[OTHERS_MAX];
    unsigned count;
};

static bool is_known(const struct finds *f, const struct stat *st)
{
    for (unsigned i = 0; i < f->count; i++)
        if (f->at[i].dev == st->st_dev && f->at[i].ino == st->st_ino)
            return true;
    return false;
}

/* Has the run ended, and is its report still missing?  A file kept on purpose always counts. */
static bool is_to_be_reported(struct report *r, bool is_kept)
{
    return is_kept || (report_run(r)->reported == 0 && report_running(r) == 0);
}

/* Files of other users are not opened: in /tmp any user can create one. */
static void consider(struct finds *f, const char *path, bool is_kept)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    struct stat st;

    if (f->count == OTHERS_MAX || lstat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
        st.st_uid != geteuid() || is_known(f, &st) || report_open(&r, path, err) != 0)
        return;
    if (is_to_be_reported(r, is_kept)) {
        struct found *found = &f->at[f->count++];
        *found = (struct found){"", report_run(r)->start_ns, st.st_dev, st.st_ino};
        snprintf(found->path, sizeof found->path, "%s", path);
    }
    report_close(r);
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
            consider(f, path, false);
    closedir(dir);
}

static int newest_first(const void *a_, const void *b_)
{
    const struct found *a = a_, *b = b_;
    return a->start_ns > b->start_ns ? -1 : a->start_ns < b->start_ns;
}

/* The newest that can be read; or all, which the caller opens one after the other. */
static void consider_kept(struct finds *f, bool all)
{
    size_t count;
    struct kept_run *runs = state_runs(&count);

    for (size_t i = 0; i < count && f->count < OTHERS_MAX && (all || f->count == 0); i++) {
        if (!all) {
            consider(f, runs[i].path, true);
            continue;
        }
        struct found *found = &f->at[f->count++];
        *found = (struct found){.start_ns = (uint64_t)runs[i].time.tv_sec * 1000000000u +
                                            (uint64_t)runs[i].time.tv_nsec};
        snprintf(found->path, sizeof found->path, "%s", runs[i].path);
    }
    free(runs);
}

static void find_all(struct finds *f, const struct options *o, bool all_kept)
{
    f->count = 0;
    consider_kept(f, all_kept);
    if (o)
        consider_folder(f, option_text(o, "pool-dir"));
    consider_folder(f, getenv("RTCHECK_POOL_DIR"));
    consider_folder(f, getenv("XDG_RUNTIME_DIR"));
    consider_folder(f, "/dev/shm");
    consider_folder(f, getenv("TMPDIR"));
    consider_folder(f, "/tmp");
    qsort(f->at, f->count, sizeof f->at[0], newest_first);
}

static int find(struct finds **f, const struct options *o, bool all_kept,
                char err[TOOLS_ERROR_BYTES])
{
    *f = malloc(sizeof **f);
    if (!*f)
        return fail(err, -ENOMEM, "no memory");
    find_all(*f, o, all_kept);
    if ((*f)->count > 0)
        return 0;
    free(*f);
    return fail(err, -ENOENT,
                "no run to report: no file was kept, none was left by a killed process");
}

int find_run(const struct options *o, char *path, size_t room, FILE *out,
             char err[TOOLS_ERROR_BYTES])
{
    struct finds *f;
    int bad = find(&f, o, false, err);

    if (bad)
        return bad;
    snprintf(path, room, "%s", f->at[0].path);
    if (out) {
        fprintf(out, "rtcheck: run file %s\n", path);
        for (unsigned i = 1; i < f->count; i++)
            fprintf(out, "  also there: %s\n", f->at[i].path);
    }
    free(f);
    return 0;
}

int find_run_where(const struct options *o, int (*look)(const char *path, void *data), void *data,
                   char err[TOOLS_ERROR_BYTES])
{
    struct finds *f;
    int got = find(&f, o, true, err);

    if (got)
        return got;
    got = -ENOENT;
    for (unsigned i = 0; i < f->count && got == -ENOENT; i++)
        got = look(f->at[i].path, data);
    free(f);
    return got;
}

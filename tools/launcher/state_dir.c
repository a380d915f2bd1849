/*
 * state_dir.c - the directory in which run files are kept: PROGRAM.PID.TIME for each run, and the
 * link `last` to the newest. Containers may share it, with pids of their own: a second run with the
 * same name has -2 at its end.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "launcher.h"

/* The XDG standard requires that relative paths in these variables are ignored. */
static const char *absolute_env(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] == '/' ? value : NULL;
}

static const char *home(void)
{
    const char *dir = absolute_env("HOME");
    if (dir)
        return dir;
    const struct passwd *user = getpwuid(getuid());
    return user && user->pw_dir && user->pw_dir[0] == '/' ? user->pw_dir : NULL;
}

/* mkdir -p; new directories have mode 0700. */
static int make_dirs(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int bad = mkdir(path, 0700) != 0 && errno != EEXIST ? -errno : 0;
        struct stat st;
        if (bad && stat(path, &st) == 0) /* EROFS: may exist on a read-only file system */
            bad = 0;
        *slash = '/';
        if (bad)
            return bad;
    }
    return 0;
}

/* "DIR/": the path without a name. */
static int state_dir(char *path, size_t room, char err[TOOLS_ERROR_BYTES])
{
    const char *state = absolute_env("XDG_STATE_HOME");
    const char *dir = state ? state : home();
    if (!dir)
        return fail(err, -ENOENT, "no state directory: neither XDG_STATE_HOME nor HOME is set");
    int n = snprintf(path, room, "%s%s/rtcheck/", dir, state ? "" : "/.local/state");
    if (n < 0 || (size_t)n >= room)
        return fail(err, -ENAMETOOLONG, "state directory %.60s..: name too long", dir);
    return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

#define PROGRAM_BYTES_MAX 100 /* of a program's name in that of its run */
#define SAME_NAME_MAX 1000
#define TIME_FORMAT "%Y%m%dT%H%M%S"
#define TIME_BYTES sizeof "20261231T235959"

/* The program's name is untrusted: replace what would make the file hard to name in a shell. */
static void put_program(char out[PROGRAM_BYTES_MAX + 1], const char *program)
{
    const char *slash = strrchr(program, '/');
    size_t n = 0;
    for (const char *at = slash ? slash + 1 : program; *at && n < PROGRAM_BYTES_MAX; at++)
        out[n++] = isalnum((unsigned char)*at) || strchr("._+-", *at) ? *at : '_';
    out[n] = '\0';
    if (out[0] == '.' || out[0] == '-')
        out[0] = '_';
}

/* Is it PROGRAM.PID.TIME, or PROGRAM.PID.TIME-N? */
static bool is_run_name(const char *name)
{
    const char *time = strrchr(name, '.'), *pid = time;
    while (pid && pid > name && isdigit((unsigned char)pid[-1]))
        pid--;
    if (!time || pid == time || pid < name + 2 || pid[-1] != '.')
        return false;
    const char *at = time + 1;
    for (const char *form = "00000000T000000"; *form; at++, form++)
        if (*form == '0' ? !isdigit((unsigned char)*at) : *at != *form)
            return false;
    return !*at || (*at == '-' && at[1] && !at[1 + strspn(at + 1, "0123456789")]);
}

int state_run_path(char *path, size_t room, const char *program, pid_t pid,
                   char err[TOOLS_ERROR_BYTES])
{
    char name[PROGRAM_BYTES_MAX + 1], when[TIME_BYTES];
    time_t now = time(NULL);
    struct tm utc;
    int bad = state_dir(path, room, err);
    if (bad)
        return bad;
    put_program(name, program);
    strftime(when, sizeof when, TIME_FORMAT, gmtime_r(&now, &utc));
    size_t used = strlen(path);
    int n = snprintf(path + used, room - used, "%s.%d.%s", *name ? name : "_", (int)pid, when);
    if (n < 0 || (size_t)n >= room - used)
        return fail(err, -ENAMETOOLONG, "state directory %.60s..: name too long", path);
    bad = make_dirs(path);
    return bad ? fail(err, bad, "state directory of %s: %s", path, strerror(-bad)) : 0;
}

/* ---- kept runs ------------------------------------------------------------------------------- */

/* The later one first; names differ, so that the order is one. */
static int newest_first(const void *a_, const void *b_)
{
    const struct kept_run *a = a_, *b = b_;
    int64_t seconds = (int64_t)b->time.tv_sec - a->time.tv_sec;
    int64_t ns = seconds ? seconds : (int64_t)b->time.tv_nsec - a->time.tv_nsec;
    return ns ? (ns > 0) - (ns < 0) : strcmp(b->path, a->path);
}

/* Files of other users are left alone. */
static bool read_kept(struct kept_run *run, const char *dir, const char *name)
{
    struct stat st;
    int n = snprintf(run->path, sizeof run->path, "%s%s", dir, name);
    if (n < 0 || (size_t)n >= sizeof run->path || lstat(run->path, &st) != 0 ||
        !S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return false;
    run->time = st.st_mtim;
    run->bytes = (uint64_t)st.st_blocks * 512;
    return true;
}

struct kept_run *state_runs(size_t *count)
{
    char path[PATH_MAX], err[TOOLS_ERROR_BYTES];
    struct kept_run *runs = NULL;
    size_t room = 0;
    const struct dirent *entry;
    DIR *dir = state_dir(path, sizeof path, err) == 0 ? opendir(path) : NULL;

    *count = 0;
    while (dir && (entry = readdir(dir))) {
        if (!is_run_name(entry->d_name))
            continue;
        if (*count == room) {
            room = room ? 2 * room : 32;
            struct kept_run *more = realloc(runs, room * sizeof *runs);
            if (!more)
                break;
            runs = more;
        }
        *count += read_kept(&runs[*count], path, entry->d_name);
    }
    if (dir)
        closedir(dir);
    if (*count > 0)
        qsort(runs, *count, sizeof *runs, newest_first);
    return runs;
}

/*
 * Remove all but the newest.  Runs of the last minutes stay: the program that started many of them
 * at once may still want to look into each.
 */
static void remove_old(void)
{
    size_t count;
    struct kept_run *runs = state_runs(&count);
    time_t now = time(NULL);
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        bytes += runs[i].bytes;
        bool is_recent = now - runs[i].time.tv_sec < RUNS_RECENT_SECONDS && i < RUNS_KEPT_MAX;
        if (i > 0 && ((i >= RUNS_KEPT && !is_recent) || bytes > RUN_BYTES_MAX))
            unlink(runs[i].path);
    }
    free(runs);
}

/* A temporary name: of report_save, RUN.XXXXXX, or of link_last, last.PID. */
static bool is_temporary_name(const char *name)
{
    static const char digits[] = "0123456789";
    const char *end = strrchr(name, '.');
    char run[NAME_MAX + 1];

    if (strncmp(name, "last.", 5) == 0 && name[5] && !name[5 + strspn(name + 5, digits)])
        return true;
    if (!end || strlen(end) != sizeof ".XXXXXX" - 1)
        return false;
    for (const char *at = end + 1; *at; at++)
        if (!isalnum((unsigned char)*at))
            return false;
    snprintf(run, sizeof run, "%.*s", (int)(end - name), name);
    return is_run_name(run);
}

/* Remove what launchers that were killed while they saved have left. */
static void remove_temporary(void)
{
    char path[PATH_MAX], err[TOOLS_ERROR_BYTES];
    DIR *dir = state_dir(path, sizeof path, err) == 0 ? opendir(path) : NULL;
    time_t now = time(NULL);
    const struct dirent *entry;
    struct stat st;

    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (is_temporary_name(entry->d_name) &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) && st.st_uid == geteuid() &&
            now - st.st_mtim.tv_sec > TEMPORARY_SECONDS)
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

/* `last` is replaced by rename: it always exists.  A failure is harmless, the run itself is kept. */
static void link_last(const char *path)
{
    char link[PATH_MAX], beside[PATH_MAX + 32];
    const char *name = strrchr(path, '/') + 1;

    snprintf(link, sizeof link, "%.*slast", (int)(name - path), path);
    snprintf(beside, sizeof beside, "%s.%d", link, (int)getpid());
    unlink(beside);
    if (symlink(name, beside) != 0)
        return;
    if (rename(beside, link) != 0)
        unlink(beside);
}

int state_keep(int fd, char *path, size_t room, char err[TOOLS_ERROR_BYTES])
{
    size_t used = strlen(path);
    int bad = report_save(fd, path, RUN_BYTES_MAX);
    for (unsigned i = 2; bad == -EEXIST && i <= SAME_NAME_MAX; i++) {
        int n = snprintf(path + used, room - used, "-%u", i);
        bad = n < 0 || (size_t)n >= room - used ? -ENAMETOOLONG
                                                : report_save(fd, path, RUN_BYTES_MAX);
    }
    if (bad)
        return fail(err, bad, "%s: %s", path, strerror(-bad));
    link_last(path);
    remove_old();
    remove_temporary();
    return 0;
}

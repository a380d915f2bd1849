/*
 * plan_cache.c - the folder of plans: one file BUILD-ID.plan for each object, and beside it BUILD-ID.name,
 * with the object's path.  The name's time of modification is the time of the last run that used the
 * plan.  The folders only-HASH are of runs with lists: see plan_cache.h.
 *
 * Runs in parallel share the folder without locks: files appear by rename, and a process that has mapped a
 * removed plan keeps it.  Plans of the last minute are never removed for room: their runs may not have
 * mapped them yet.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plan_view.h"
#include "plan_cache.h"
#include "translate.h"

#define END ".plan"
#define CHOICE "only-"
#define KEPT_SECONDS 60

/* ---- the folder ------------------------------------------------------------------------------ */

bool plan_is_near(void)
{
    int persona = personality(0xffffffff); /* asks, and sets nothing */

    return persona != -1 && persona & ADDR_NO_RANDOMIZE;
}

int plan_folder(const struct options *o, char out[PATH_MAX], char err[TOOLS_ERROR_BYTES])
{
    const char *given = option_text(o, "plans"), *cache = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME"), *near = plan_is_near() ? "/near" : "";
    bool by_cache = cache && *cache == '/';
    int n;

    if (*given)
        n = snprintf(out, PATH_MAX, "%s%s", given, near);
    else if (by_cache || (home && *home == '/'))
        n = snprintf(out, PATH_MAX, "%s%s/rtcheck/plans%s", by_cache ? cache : home,
                     by_cache ? "" : "/.cache", near);
    else
        return fail(err, -ENOENT,
                    "no folder for plans: neither XDG_CACHE_HOME nor HOME is set (--plans=DIR)");
    return n < PATH_MAX ? 0 : fail(err, -ENAMETOOLONG, "the folder of plans has too long a name");
}

const char *plan_load(struct plan_view *out, const char *path, uint64_t *bytes)
{
    struct stat st = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    void *file = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0
                     ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                     : MAP_FAILED;
    const char *wrong = file == MAP_FAILED ? "it cannot be read"
                        : st.st_uid != geteuid() || st.st_mode & 022
                            ? "another user may write it"
                            : plan_verify(out, file, (uint64_t)st.st_size);

    if (fd >= 0)
        close(fd);
    if (wrong && file != MAP_FAILED)
        munmap(file, (size_t)st.st_size);
    *bytes = (uint64_t)st.st_size;
    return wrong;
}

void plan_unload(const struct plan_view *v, uint64_t bytes)
{
    munmap((void *)(uintptr_t)v->header, bytes);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* FOLDER/BUILD-ID.name of FOLDER/BUILD-ID.plan */
static void name_of(char out[PLAN_PATH_BYTES], const char *plan)
{
    snprintf(out, PLAN_PATH_BYTES, "%.*s.name", (int)(strlen(plan) - sizeof END + 1), plan);
}

static void read_name(char object[PATH_MAX], const char *name)
{
    FILE *file = fopen(name, "re");
    size_t n = file ? fread(object, 1, PATH_MAX - 1, file) : 0;

    object[n] = '\0';
    object[strcspn(object, "\n")] = '\0';
    if (file)
        fclose(file);
}

static int put_name(FILE *out, void *object)
{
    return fprintf(out, "%s\n", (const char *)object) < 0 ? -EIO : 0;
}

void plan_used(const char *plan, const char *object)
{
    char name[PLAN_PATH_BYTES], known[PATH_MAX], whole[PATH_MAX];

    if (*object != '/' && realpath(object, whole))
        object = whole;
    name_of(name, plan);
    read_name(known, name);
    if (strcmp(known, object) != 0 || utimensat(AT_FDCWD, name, NULL, 0) != 0)
        report_write_by(name, put_name, (void *)(uintptr_t)object);
}

/* Also the links to it, FOLDER/only-HASH/BUILD-ID.plan. */
void plan_remove(const char *plan)
{
    char name[PLAN_PATH_BYTES + sizeof CHOICE];
    const char *file = strrchr(plan, '/');
    glob_t links;

    snprintf(name, sizeof name, "%.*s/" CHOICE "*%s", (int)(file - plan), plan, file);
    if (glob(name, GLOB_NOSORT, NULL, &links) == 0) {
        for (size_t i = 0; i < links.gl_pathc; i++)
            unlink(links.gl_pathv[i]);
        globfree(&links);
    }
    name_of(name, plan);
    unlink(plan);
    unlink(name);
}

/* ---- --access-objects ------------------------------------------------------------------------ */

static bool has_all(const struct plan_choice *c)
{
    return !*c->list && !*c->skip;
}

static uint64_t hash_add(uint64_t hash, const char *text)
{
    while (*text)
        hash = (hash ^ (unsigned char)*text++) * 0x100000001b3ull;
    return hash;
}

int plan_choice_begin(struct plan_choice *c, const char *folder, char err[TOOLS_ERROR_BYTES])
{
    uint64_t hash = hash_add(0xcbf29ce484222325ull, c->list);

    if (pattern_count(c->list) > PATTERNS_MOST)
        return fail(err, -EINVAL, "option access-objects: more than %u patterns", PATTERNS_MOST);
    if (pattern_count(c->skip) > PATTERNS_MOST)
        return fail(err, -EINVAL, "option access-skip: more than %u patterns", PATTERNS_MOST);
    if (*c->skip)
        hash = hash_add(hash_add(hash, "\n"), c->skip);
    int n = has_all(c) ? snprintf(c->folder, sizeof c->folder, "%s", folder)
                       : snprintf(c->folder, sizeof c->folder, "%s/" CHOICE "%016llx", folder,
                                  (unsigned long long)hash);
    if (!has_all(c))
        mkdir(c->folder, 0700);
    return n < PATH_MAX ? 0 : fail(err, -ENAMETOOLONG, "the folder of plans has too long a name");
}

bool plan_is_chosen(struct plan_choice *c, const char *object)
{
    bool is_named = false, is_excluded = false, has_names = false;
    char pattern[PATH_MAX];
    const char *at = c->list;

    for (unsigned number = 0; *at; number++, at += *at == ',') {
        int bytes = (int)strcspn(at, ",");
        bool excludes = *at == '!';
        snprintf(pattern, sizeof pattern, "%.*s", bytes - excludes, at + excludes);
        at += bytes;
        has_names |= !excludes;
        if (!is_object_named(pattern, object))
            continue;
        c->matched |= 1ull << number;
        if (excludes)
            is_excluded = true;
        else
            is_named = true;
    }
    return !is_excluded && (is_named || !has_names);
}

static void link_of(char out[PLAN_PATH_BYTES], const struct plan_choice *c, const char *plan)
{
    snprintf(out, PLAN_PATH_BYTES, "%s%s", c->folder, strrchr(plan, '/'));
}

bool plan_is_linked(const struct plan_choice *c, const char *plan)
{
    char link_[PLAN_PATH_BYTES];

    link_of(link_, c, plan);
    return access(link_, F_OK) == 0;
}

/* Over a link to an earlier plan of the object. */
void plan_choose(const struct plan_choice *c, const char *plan)
{
    char link_[PLAN_PATH_BYTES], made[PLAN_PATH_BYTES + 16];

    if (has_all(c))
        return;
    link_of(link_, c, plan);
    snprintf(made, sizeof made, "%s.%d", link_, (int)getpid());
    if (link(plan, made) == 0 && rename(made, link_) == 0)
        unlink(made); /* it stays if both were the same file */
}

/* ---- all plans ------------------------------------------------------------------------------- */

static bool is_plan_name(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef");

    return digits > 0 && strcmp(name + digits, END) == 0;
}

static bool look(struct kept_plan *p, const char *folder, const char *file)
{
    char name[PLAN_PATH_BYTES];
    struct stat st, named;

    snprintf(p->path, sizeof p->path, "%s/%s", folder, file);
    if (lstat(p->path, &st) != 0)
        return false;
    name_of(name, p->path);
    snprintf(p->id, sizeof p->id, "%.*s", (int)(strlen(file) - sizeof END + 1), file);
    read_name(p->object, name);
    p->bytes = (uint64_t)st.st_size;
    p->used = stat(name, &named) == 0 ? named.st_mtime : st.st_mtime;
    return true;
}

static int newest_first(const void *a_, const void *b_)
{
    const struct kept_plan *a = a_, *b = b_;

    return a->used != b->used ? (a->used < b->used) - (a->used > b->used) : strcmp(a->id, b->id);
}

static void list_plan(struct kept_plans *all, const char *folder, const char *file)
{
    struct kept_plan *more = realloc(all->at, (all->count + 1) * sizeof *all->at);

    if (!more)
        return;
    all->at = more;
    if (look(&all->at[all->count], folder, file))
        all->bytes += all->at[all->count++].bytes;
}

/* Is it a link to the plan of this name in the folder above? */
static bool is_link(int folder, const char *file)
{
    char above[NAME_MAX + sizeof "../"];
    struct stat st, other;

    snprintf(above, sizeof above, "../%s", file);
    return fstatat(folder, file, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(folder, above, &other, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == other.st_dev &&
           st.st_ino == other.st_ino;
}

/* The plans of a choice that are its own. */
static void list_choice(struct kept_plans *all, const char *folder, const char *name)
{
    char path[PLAN_PATH_BYTES];
    struct dirent *entry;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        if (is_plan_name(entry->d_name) && !is_link(dirfd(dir), entry->d_name))
            list_plan(all, path, entry->d_name);
    if (dir)
        closedir(dir);
}

struct kept_plans plans_list(const char *folder)
{
    struct kept_plans all = {0};
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        if (is_plan_name(entry->d_name))
            list_plan(&all, folder, entry->d_name);
        else if (strncmp(entry->d_name, CHOICE, sizeof CHOICE - 1) == 0)
            list_choice(&all, folder, entry->d_name);
    }
    if (dir)
        closedir(dir);
    if (all.count > 0)
        qsort(all.at, all.count, sizeof *all.at, newest_first);
    return all;
}

void plans_bound(const char *folder, uint64_t most)
{
    struct kept_plans all = plans_list(folder);
    time_t now = time(NULL);

    for (size_t i = all.count; i-- > 0 && all.bytes > most;)
        if (all.at[i].used + KEPT_SECONDS < now) {
            plan_remove(all.at[i].path);
            all.bytes -= all.at[i].bytes;
        }
    free(all.at);
}

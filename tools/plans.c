/*
 * plans.c - --access=full: translate the program and its libraries before it starts.
 *
 * Plans are kept by build-id, in $XDG_CACHE_HOME/rtcheck/plans or ~/.cache/rtcheck/plans: the next run
 * finds them.  The dynamic loader lists the libraries (LD_TRACE_LOADED_OBJECTS), without running any of
 * their code.  Objects are translated in a child process: whatever happens there, the program runs, and
 * what has no plan runs its own code.
 *
 * libc, the loader and the runtime are never translated: their functions read beyond the ends of strings
 * by design, and src/boundary checks their callers.  Nor are unwinders, which begin at their own frames.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/bits.h"
#include "plan_cache.h"
#include "translate.h"

#define LINE_BYTES (PATH_MAX + 256)
#define OBJECTS_MOST 256

/* ---- the folder ------------------------------------------------------------------------------ */

static void make_folders(char *path)
{
    for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
}

/* ---- objects --------------------------------------------------------------------------------- */

/*
 * Above the libraries there is room, and below them is the runtime's memory.  If addresses are not
 * randomized, the stack is 128 MiB above the first library.  0: see translate.h.
 */
#define DISTANCE_LIBRARY (512ll << 20)
#define DISTANCE_NEAR (96ll << 20)

/*
 * A plan of another version, or one that is not whole, is made again.  The runtime verifies the rest,
 * and removes a plan that is damaged: then the next run makes it again.
 */
static bool read_header(const char *path, struct plan_header *header)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_valid = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
                    !(st.st_mode & 022) &&
                    pread(fd, header, sizeof *header, 0) == (ssize_t)sizeof *header &&
                    !plan_verify_header(header, (uint64_t)st.st_size);

    if (fd >= 0)
        close(fd);
    return is_valid;
}

static bool is_plan(const char *path)
{
    struct plan_header header;

    return read_header(path, &header);
}

/*
 * The runtime has removed the link to a plan that is damaged, if one is missing: so such a plan is
 * verified whole.
 */
static bool is_kept(const struct plan_choice *choice, const char *path)
{
    struct plan_view view;
    uint64_t bytes;

    if (!is_plan(path))
        return false;
    if (plan_is_linked(choice, path))
        return true;
    if (plan_load(&view, path, &bytes))
        return false;
    plan_unload(&view, bytes);
    return true;
}

struct target {
    const char *folder;
    struct plan_choice *choice; /* shared with the child that translates */
};

static bool write_plan(const char *plan, const char *path, const struct translation *how)
{
    char err[TOOLS_ERROR_BYTES];
    struct plan *p = NULL;
    bool is_written =
        translate_object(&p, path, how, err) == 0 && report_write_by(plan, plan_write, p) == 0;

    plan_free(p);
    return is_written;
}

/*
 * The patterns of --access-skip that match functions of the object: as its plan in the folder of the choice has
 * them, or as its symbols do.
 */
static uint64_t find_skipped(const struct plan_choice *c, const char *plan, const char *path)
{
    struct plan_header header;

    if (!*c->skip)
        return 0;
    return read_header(plan, &header) ? header.skip_matched : translate_skipped(path, c->skip);
}

/* Has a plan been written? */
static bool translate_file(const char *path, struct target *to, int64_t distance)
{
    struct translation how = {.distance = distance, .spill = SPILL_DEFAULT};
    char name[PLAN_NAME_BYTES], plan[PLAN_PATH_BYTES], err[TOOLS_ERROR_BYTES];
    struct plan_choice *c = to->choice;

    if (!plan_is_chosen(c, path) || plan_is_library(path) || translate_name(name, path, err))
        return false;
    snprintf(plan, sizeof plan, "%s/%s", c->folder, name);
    uint64_t skipped = find_skipped(c, plan, path);
    c->skipped |= skipped;
    if (skipped)
        how.skip = c->skip;
    else
        snprintf(plan, sizeof plan, "%s/%s", to->folder, name);
    bool kept = skipped ? is_plan(plan) : is_kept(c, plan);
    bool is_new = !kept && write_plan(plan, path, &how);
    if (kept || is_new)
        plan_used(plan, path);
    if (!skipped && (kept || is_new))
        plan_choose(c, plan);
    return is_new;
}

/* "\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f...)"; NULL: another line. */
static char *path_in(char *line)
{
    char *path = strstr(line, "=> /"), *end = path ? strstr(path, " (0x") : NULL;

    if (!end)
        return NULL;
    *end = '\0';
    return path + 3;
}

/* ---- scripts --------------------------------------------------------------------------------- */

/* The first line of a script, after its "#!"; false: it is none. */
static bool read_script(const char *path, char line[PATH_MAX])
{
    FILE *file = fopen(path, "re");
    char start[PATH_MAX] = "";
    size_t n = file ? fread(start, 1, sizeof start - 1, file) : 0;
    if (file)
        fclose(file);
    if (n < 3 || strncmp(start, "#!", 2) != 0)
        return false;
    int bytes = (int)strcspn(start + 2, "\r\n");
    while (bytes > 0 && strchr(" \t", start[1 + bytes]))
        bytes--;
    snprintf(line, PATH_MAX, "%.*s", bytes, start + 2);
    return true;
}

static char *next_word(char **rest)
{
    char *word = *rest += strspn(*rest, " \t");

    *rest += strcspn(word, " \t");
    if (**rest)
        *(*rest)++ = '\0';
    return word;
}

/*
 * What env runs: `rest` follows its name in a first line.  The kernel passes it as one argument, and
 * "-S" makes env split it into words: options, settings of variables, then the program.  "": not known.
 */
static const char *program_of_env(char *rest)
{
    rest += strspn(rest, " \t");
    if (strncmp(rest, "-S", 2) != 0)
        return strpbrk(rest, " \t=") || *rest == '-' ? "" : rest;
    rest += 2;
    for (;;) {
        const char *word = next_word(&rest);
        if (strcmp(word, "-u") == 0 || strcmp(word, "-C") == 0)
            next_word(&rest);
        else if (*word != '-' && !strchr(word, '='))
            return word;
    }
}

/* As execvp finds it. */
static bool find_program(const char *name, char out[PATH_MAX])
{
    const char *path = getenv("PATH");

    snprintf(out, PATH_MAX, "%s", name);
    if (strchr(name, '/') || !*name)
        return *name;
    for (size_t n; path && *path; path += n + (path[n] == ':')) {
        n = strcspn(path, ":");
        snprintf(out, PATH_MAX, "%.*s/%s", n > 0 ? (int)n : 1, n > 0 ? path : ".", name);
        if (access(out, X_OK) == 0)
            return true;
    }
    return false;
}

/*
 * Of a script: its interpreter, which the kernel runs, and the program that the interpreter runs if it is
 * env; "": there is none.
 */
static void read_programs(const char *path, char first[PATH_MAX], char second[PATH_MAX])
{
    char line[PATH_MAX], *rest = line;

    *second = '\0';
    snprintf(first, PATH_MAX, "%s", path);
    if (!read_script(path, line))
        return;
    snprintf(first, PATH_MAX, "%s", next_word(&rest));
    const char *slash = strrchr(first, '/');
    if (strcmp(slash ? slash + 1 : first, "env") == 0 &&
        !find_program(program_of_env(rest), second))
        *second = '\0';
}

/* ---- libraries ------------------------------------------------------------------------------- */

/* The child that lists: only the loader runs in it. */
static _Noreturn void list(const char *path, int out)
{
    char *const argv[] = {(char *)(uintptr_t)path, NULL};

    dup2(out, STDOUT_FILENO);
    setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
    unsetenv("LD_PRELOAD");
    execv(path, argv);
    _exit(1);
}

struct objects {
    char *path[OBJECTS_MOST];
    unsigned count;
};

static void read_list(struct objects *all, FILE *lines)
{
    char line[LINE_BYTES], *path;

    while (lines && fgets(line, sizeof line, lines)) {
        if ((path = path_in(line)) && all->count < OBJECTS_MOST)
            all->path[all->count++] = strdup(path);
    }
}

static void list_libraries(struct objects *all, const char *path)
{
    int ends[2];
    pid_t child = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;

    if (child < 0)
        return;
    if (child == 0)
        list(path, ends[1]);
    close(ends[1]);
    FILE *lines = fdopen(ends[0], "re");
    read_list(all, lines);
    if (lines)
        fclose(lines);
    waitpid(child, NULL, 0);
}

/* A program and its libraries.  Has a plan been written? */
static bool translate_all(const char *path, struct target *to)
{
    struct objects all = {.count = 0};
    bool is_new = false;

    int64_t distance = plan_is_near() ? DISTANCE_NEAR : DISTANCE_LIBRARY;

    list_libraries(&all, path);
    is_new = translate_file(path, to, 0);
    for (unsigned i = 0; i < all.count; i++)
        if (all.path[i])
            is_new |= translate_file(all.path[i], to, distance);
    return is_new;
}

/* In a child of the launcher. */
static void translate_programs(const char *program, struct target *to, uint64_t most)
{
    char first[PATH_MAX], second[PATH_MAX];

    umask(077); /* the runtime takes no plan that others may write */
    read_programs(program, first, second);
    bool is_new = translate_all(first, to);
    if (*second)
        is_new |= translate_all(second, to);
    if (is_new)
        plans_bound(to->folder, most);
}

/* A warning for each pattern of a list that has no bit. */
static void warn_of_patterns(const char *list, uint64_t matched, const char *option,
                             const char *what, struct warnings *warnings)
{
    char pattern[PATH_MAX];

    for (unsigned n = 0; (list = pattern_next(list, pattern, sizeof pattern)); n++)
        if (!(matched >> n & 1))
            warnings_add(warnings, "option %s: '%.60s' matches no %s", option, pattern, what);
}

/* Translate in a child.  Has it ended as it should? */
static bool translate_in_child(const char *program, struct target *to, uint64_t most)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        translate_programs(program, to, most);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

int plans_begin(struct options *o, const char *program, struct warnings *warnings,
                char err[TOOLS_ERROR_BYTES])
{
    char folder[PATH_MAX];

    if (strcmp(option_text(o, "access"), "full") != 0)
        return 0;
    if (plan_folder(o, folder, err))
        return -ENOENT;
    make_folders(folder);
    struct plan_choice *c =
        mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c == MAP_FAILED)
        return fail(err, -errno, "no memory for plans: %s", strerror(errno));
    *c = (struct plan_choice){.list = option_text(o, "access-objects"),
                              .skip = option_text(o, "access-skip")};
    struct target to = {.folder = folder, .choice = c};
    int bad = plan_choice_begin(c, folder, err);
    if (!bad && translate_in_child(program, &to, option_size(o, "plans-size"))) {
        warn_of_patterns(c->list, c->matched, "access-objects",
                         "object that is loaded at the start", warnings);
        warn_of_patterns(c->skip, c->skipped, "access-skip", "function of a checked object",
                         warnings);
    }
    if (!bad)
        bad = option_give(o, "plans", c->folder, err);
    munmap(c, sizeof *c);
    return bad;
}

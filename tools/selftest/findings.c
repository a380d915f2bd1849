/*
 * findings.c - `rtcheck selftest`: which classes of findings are found on this machine.
 *
 * The program of plants.c runs with the launcher and by hand (plain LD_PRELOAD), a process for each
 * set of errors.  The JSON reports are compared with the table of what was planted.  All files are
 * in a temporary directory, which is removed; so is the state directory of these runs.
 *
 * A program that crashes by hand leaves its run file, which `rtcheck report` reads afterwards, as a
 * user would.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/bits.h"
#include "launcher.h"
#include "selftest.h"

#define WORDS_MOST 16
#define FOLDERS_OPEN 8
#define POOL_DIR_ROOM 256 /* struct options of the runtime */

enum way { BY_LAUNCHER, BY_HAND, WAYS };
static const char *const way_names[WAYS] = {"launcher", "LD_PRELOAD"};

struct selftest {
    char self[PATH_MAX], runtime[PATH_MAX];
    char dir[PATH_MAX];
    char json[PATH_MAX + 16], log[PATH_MAX + 16];
    char err[TOOLS_ERROR_BYTES];
    json_t *report[WAYS][PLANTED_SETS]; /* NULL: there is none */
    char *reason[WAYS][PLANTED_SETS];   /* the last line of its log; NULL: the log is empty */
};

/* ---- runs ------------------------------------------------------------------------------------ */

/* Run a command with its output discarded, and wait for it. */
static int run_silent(char *const argv[], char *const envp[])
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int err = posix_spawn(&pid, argv[0], &actions, NULL, argv, envp);
    posix_spawn_file_actions_destroy(&actions);
    while (!err && waitpid(pid, NULL, 0) < 0)
        err = errno == EINTR ? 0 : errno;
    return -err;
}

/* NULL-terminated words of a command line or an environment, to be freed. */
struct words {
    char *word[WORDS_MOST];
    unsigned count;
};

static void add(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct words *w, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    if (w->count + 1 < WORDS_MOST && vasprintf(&w->word[w->count], format, ap) >= 0)
        w->count++;
    va_end(ap);
    w->word[w->count] = NULL;
}

static void words_free(struct words *w)
{
    for (unsigned i = 0; i < w->count; i++)
        free(w->word[i]);
}

/* The state directory is a temporary one, so that the user's last run stays the last. */
static int run_by_launcher(const struct selftest *s, const char *set)
{
    struct words argv = {0};
    add(&argv, "/usr/bin/env");
    add(&argv, "XDG_STATE_HOME=%s", s->dir);
    add(&argv, "%s", s->self);
    add(&argv, "run");
    add(&argv, "--mappings");
    add(&argv, "--show-leak-kinds=all,mapped");
    add(&argv, "--track-fds=yes");
    add(&argv, "--malloc-fill=block");
    add(&argv, "--json=%s", s->json);
    add(&argv, "--log-file=%s", s->log);
    add(&argv, "--");
    add(&argv, "%s", s->self);
    add(&argv, "selftest");
    add(&argv, "--plant=%s", set);
    int err = run_silent(argv.word, environ);
    words_free(&argv);
    return err;
}

/* Find the run file of a run by hand that was left in the directory. */
static bool find_left(const struct selftest *s, char path[PATH_MAX + 300])
{
    bool found = false;
    DIR *dir = opendir(s->dir);
    for (struct dirent *e; dir && !found && (e = readdir(dir));) {
        size_t n = strlen(e->d_name);
        found = n > 5 && strcmp(e->d_name + n - 5, ".pool") == 0;
        snprintf(path, PATH_MAX + 300, "%s/%s", s->dir, e->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

static int report_left(const struct selftest *s)
{
    char path[PATH_MAX + 300];
    struct words argv = {0};
    if (!find_left(s, path))
        return 0;
    add(&argv, "%s", s->self);
    add(&argv, "report");
    add(&argv, "--json=%s", s->json);
    add(&argv, "--log-file=%s", s->log);
    add(&argv, "%s", path);
    int err = run_silent(argv.word, environ);
    words_free(&argv);
    unlink(path);
    return err;
}

/* The caller's options come first: a later one of the same name is in effect. */
static int run_by_hand(const struct selftest *s, const char *set)
{
    const char *given = getenv("RTCHECK_OPTIONS");
    struct words argv = {0}, env = {0};
    add(&env, "LD_PRELOAD=%s", s->runtime);
    add(&env,
        "RTCHECK_OPTIONS=%1$s%2$smappings=yes:show_leak_kinds=all,mapped:track_fds=yes:malloc_fill="
        "block"
        ":json=%3$c%4$s%3$c:log_file=%3$c%5$s%3$c:pool_dir=%3$c%6$s%3$c",
        given ? given : "", given && *given ? ":" : "", strchr(s->dir, '\'') ? '"' : '\'', s->json,
        s->log, strlen(s->dir) < POOL_DIR_ROOM ? s->dir : "");
    add(&env, "RTCHECK_POOL_DIR=%s", s->dir); /* also if it is too long for the option */
    const char *without = getenv("RTCHECK_TEST_WITHOUT");
    if (without)
        add(&env, "RTCHECK_TEST_WITHOUT=%s", without);
    add(&argv, "%s", s->self);
    add(&argv, "selftest");
    add(&argv, "--plant=%s", set);
    int err = run_silent(argv.word, env.word);
    words_free(&argv);
    words_free(&env);
    return err ? err : access(s->json, F_OK) == 0 ? 0 : report_left(s);
}

/* ---- what they report ------------------------------------------------------------------------ */

/* The last line of the log is the verdict, or an error. */
static char *read_reason(const char *path)
{
    char *line = NULL, *last = NULL;
    size_t room = 0;
    FILE *f = fopen(path, "re");
    while (f && getline(&line, &room, f) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (*line) {
            free(last);
            last = strdup(line);
        }
    }
    free(line);
    if (f)
        fclose(f);
    return last;
}

static void copy_log(const struct selftest *s, enum way way, const char *set)
{
    char buffer[4096];
    size_t n;
    FILE *f = fopen(s->log, "re");
    printf("--- %s, %s\n", way_names[way], set);
    while (f && (n = fread(buffer, 1, sizeof buffer, f)) > 0)
        fwrite(buffer, 1, n, stdout);
    if (f)
        fclose(f);
    putchar('\n');
}

static int run_set(struct selftest *s, enum way way, unsigned set, bool verbose)
{
    json_error_t error;
    int err = (way == BY_LAUNCHER ? run_by_launcher : run_by_hand)(s, planted_sets[set]);
    if (err)
        return fail(s->err, err, "cannot start %s: %s", s->self, strerror(-err));
    s->report[way][set] = json_load_file(s->json, 0, &error);
    s->reason[way][set] = read_reason(s->log);
    if (verbose)
        copy_log(s, way, planted_sets[set]);
    unlink(s->json);
    unlink(s->log);
    return 0;
}

/* A number in nested objects, named by their keys; 0: there is none. */
static json_int_t number_at(const json_t *object, const char *outer, const char *key)
{
    return json_integer_value(json_object_get(json_object_get(object, outer), key));
}

static bool has_leak(const json_t *list, const struct planted *p)
{
    size_t i;
    json_t *leak;
    json_array_foreach(list, i, leak)
    {
        const char *code = json_string_value(json_object_get(leak, "rtc"));
        if (code && strcmp(code, p->code) == 0 &&
            json_integer_value(json_object_get(leak, "bytes")) == p->bytes)
            return true;
    }
    return false;
}

static bool is_found(const json_t *report, const struct planted *p)
{
    if (p->is_note)
        return json_integer_value(json_object_get(
                   json_array_get(json_object_get(report, "processes"), 0), "foreign_frees")) > 0;
    if (p->places)
        return number_at(json_object_get(report, "summary"), "error_places", p->code) >= p->places;
    return has_leak(json_object_get(report, "leaks"), p) ||
           has_leak(json_object_get(report, "records"), p);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Features that this machine lacks, of all runs. */
static void print_lacking(const struct selftest *s)
{
    const json_t *report =
        s->report[BY_LAUNCHER][0] ? s->report[BY_LAUNCHER][0] : s->report[BY_HAND][0];
    const json_t *process = json_array_get(json_object_get(report, "processes"), 0);
    const char *between = "not available on this machine: ";
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(process, "lost_feature_names"), i, name)
    {
        printf("%s%s", between, json_string_value(name));
        between = ", ";
    }
    if (i)
        putchar('\n');
}

static void print_reasons(const struct selftest *s, enum way way)
{
    const char *options = getenv("RTCHECK_OPTIONS");
    for (unsigned set = 0; set < PLANTED_SETS; set++)
        printf("%s, %s: %s\n", way_names[way], planted_sets[set],
               s->reason[way][set]   ? s->reason[way][set]
               : s->report[way][set] ? "the report is complete"
                                     : "no report was written");
    if (options && *options)
        printf("RTCHECK_OPTIONS is set: %s\n", options);
}

static unsigned print_table(const struct selftest *s)
{
    unsigned missing[WAYS] = {0};
    printf("%-8s %-37s %-11s %s\n", "class", "planted", way_names[BY_LAUNCHER], way_names[BY_HAND]);
    for (unsigned i = 0; i < planted_count; i++) {
        const struct planted *p = &planted[i];
        bool found[WAYS];
        for (unsigned way = 0; way < WAYS; way++) {
            found[way] = is_found(s->report[way][p->set], p);
            missing[way] += !found[way];
        }
        printf("%-8s %-37s %-11s %s\n", p->code, p->title,
               found[BY_LAUNCHER] ? "found" : "NOT found", found[BY_HAND] ? "found" : "NOT found");
    }
    print_lacking(s);
    for (unsigned way = 0; way < WAYS; way++)
        if (missing[way])
            print_reasons(s, way);
    unsigned all = missing[BY_LAUNCHER] + missing[BY_HAND];
    if (all)
        printf("rtcheck: %u of %u planted findings were not found\n", all, WAYS * planted_count);
    else
        printf("rtcheck: all %u classes of findings were found, both ways\n", planted_count);
    return all;
}

/* ---- the directory --------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

/* ---- the verb -------------------------------------------------------------------------------- */

static int prepare(struct selftest *s)
{
    const char *tmp = getenv("TMPDIR");
    ssize_t n = readlink("/proc/self/exe", s->self, sizeof s->self - 1);
    if (n <= 0)
        return fail(s->err, -errno, "/proc/self/exe cannot be read");
    s->self[n] = '\0';
    int err = runtime_path(s->runtime, sizeof s->runtime, s->err);
    if (err)
        return err;
    snprintf(s->dir, sizeof s->dir - 32, "%s/rtcheck-selftest.XXXXXX",
             tmp && *tmp == '/' ? tmp : "/tmp");
    if (!mkdtemp(s->dir))
        return fail(s->err, -errno, "%s: %s", s->dir, strerror(errno));
    snprintf(s->json, sizeof s->json, "%s/report.json", s->dir);
    snprintf(s->log, sizeof s->log, "%s/log", s->dir);
    return 0;
}

int selftest_findings(bool verbose)
{
    static struct selftest s;
    int err = prepare(&s);
    for (unsigned i = 0; !err && i < WAYS * PLANTED_SETS; i++)
        err = run_set(&s, i / PLANTED_SETS, i % PLANTED_SETS, verbose);
    unsigned missing = err ? 0 : print_table(&s);
    for (unsigned i = 0; i < WAYS * PLANTED_SETS; i++) {
        json_decref(s.report[i / PLANTED_SETS][i % PLANTED_SETS]);
        free(s.reason[i / PLANTED_SETS][i % PLANTED_SETS]);
    }
    if (*s.json)
        nftw(s.dir, remove_entry, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS);
    if (err)
        return print_failure(s.err);
    return fflush(stdout) != 0 || ferror(stdout) ? STATUS_SETUP
           : missing                             ? STATUS_NOT_IN_CONTROL
                                                 : 0;
}

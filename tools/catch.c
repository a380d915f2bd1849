/*
 * catch.c - --catch=ID: guard the blocks of a finding of an earlier run; --rerun: those of this run's
 * late bad writes, in a second run.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools.h"

struct search {
    const char *id;
    const char *program; /* only in its runs; NULL: in all */
    char text[REPORT_GUARD_BYTES];
    char err[TOOLS_ERROR_BYTES]; /* of the newest run */
};

/* "PROGRAM.PID..." is a kept run, "rtcheck.PROGRAM.PID..." one by hand. */
static bool is_run_of(const char *path, const char *program)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(program);
    if (strncmp(name, "rtcheck.", 8) == 0)
        name += 8;
    return strncmp(name, program, n) == 0 && name[n] == '.' && isdigit((unsigned char)name[n + 1]);
}

/* -ENOENT: not in this run. */
static int look(const char *path, void *data)
{
    struct search *s = data;
    char err[TOOLS_ERROR_BYTES], why[TOOLS_ERROR_BYTES];
    struct report *r;
    if (s->program && !is_run_of(path, s->program))
        return -ENOENT;
    int bad = run_open(&r, path, err);
    if (bad) /* it may just be removed */
        return -ENOENT;
    report_want_reachable(r);
    bad = report_collect(r, err);
    if (!bad)
        bad = report_guard_text(r, s->id, s->text, why, sizeof why);
    if (bad && !*s->err)
        snprintf(s->err, sizeof s->err, "%.200s in %.290s", why, path);
    run_close(r);
    return bad;
}

static int find(const struct options *o, struct search *s, char err[TOOLS_ERROR_BYTES])
{
    char none[TOOLS_ERROR_BYTES] = "";
    int bad = find_run_where(o, look, s, none);
    s->program = NULL;
    if (bad == -ENOENT) /* of another program, perhaps the same under another name */
        bad = find_run_where(o, look, s, none);
    if (bad == -ENOENT)
        return fail(err, -ENOENT, "option catch: %.250s",
                    *s->err ? s->err
                    : *none ? none
                            : "there is no run");
    return bad ? fail(err, bad, "option catch: %.250s", s->err) : 0;
}

int catch_begin(struct options *o, const char *path, char err[TOOLS_ERROR_BYTES])
{
    char list[OPTIONS_TEXT_BYTES], stacks[CATCH_MAX * (REPORT_GUARD_BYTES + 1)] = "";
    char *rest = NULL;
    unsigned count = 0;
    if (!*option_text(o, "catch"))
        return 0;
    if (option_is_given(o, "guard"))
        return fail(err, -EINVAL, "option catch: it guards blocks itself: leave out --guard");
    snprintf(list, sizeof list, "%s", option_text(o, "catch"));
    for (char *id = strtok_r(list, ",", &rest); id; id = strtok_r(NULL, ",", &rest)) {
        const char *slash = strrchr(path, '/');
        struct search s = {.id = id, .program = slash ? slash + 1 : path};
        if (count++ == CATCH_MAX)
            return fail(err, -E2BIG, "option catch: more than %u ids", CATCH_MAX);
        int bad = find(o, &s, err);
        if (bad)
            return bad;
        size_t used = strlen(stacks);
        snprintf(stacks + used, sizeof stacks - used, "%s%s", used ? "," : "", s.text);
    }
    return option_give(o, "guard-stacks", stacks, err);
}

/* ---- the second run -------------------------------------------------------------------------- */

#define VARIABLE "RTCHECK_FIRST_RUN" /* of rtcheck only: the program does not get it */
#define BY_SIGNAL 256

static struct {
    char **argv; /* of main */
    off_t input_at;
    bool is_second;
    int status; /* of the first run; from BY_SIGNAL on a signal */
} first;

void rerun_begin(char **argv)
{
    const char *status = getenv(VARIABLE);
    first.argv = argv;
    first.input_at = lseek(0, 0, SEEK_CUR);
    first.is_second = status;
    first.status = status ? atoi(status) : 0;
    unsetenv(VARIABLE);
}

bool rerun_is_second(void)
{
    return first.is_second;
}

int rerun_status(int status)
{
    if (!first.is_second)
        return status;
    if (first.status >= BY_SIGNAL)
        signals_end_as(first.status - BY_SIGNAL);
    return first.status;
}

/* What a run has read of a pipe is gone. */
bool rerun_is_possible(void)
{
    struct stat st;
    return fstat(0, &st) != 0 || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

static bool keep_status(int status, int by_signal)
{
    char text[16];
    if (!first.is_second)
        first.status = by_signal ? BY_SIGNAL + by_signal : status;
    snprintf(text, sizeof text, "%d", first.status);
    return setenv(VARIABLE, text, 1) == 0;
}

static unsigned count_of(const char *stacks)
{
    unsigned count = *stacks != '\0';
    for (; *stacks; stacks++)
        count += *stacks == ',';
    return count;
}

static bool has_stack(const char *stacks, const char *text)
{
    size_t n = strlen(text);
    for (const char *at = stacks; (at = strstr(at, text)); at += n)
        if (at[n] == ',' || at[n] == '\0')
            return true;
    return false;
}

/* Add "KEY.EDGEGAP", unless the key is there.  false: it is, or there are as many as possible. */
static bool add_stack(char *stacks, const char *text)
{
    char key[REPORT_GUARD_BYTES];
    size_t used = strlen(stacks);
    snprintf(key, sizeof key, "%.*s", (int)strcspn(text, ".") + 1, text);
    if (strstr(stacks, key) || count_of(stacks) == CATCH_MAX)
        return false;
    snprintf(stacks + used, RERUN_TEXT_BYTES - used, "%s%s", used ? "," : "", text);
    return true;
}

/* Stacks that were guarded stay so, unless another edge is needed. */
unsigned rerun_find(struct report *r, const char *guarded, char stacks[RERUN_TEXT_BYTES])
{
    char id[CATCH_MAX][REPORT_ID_BYTES], text[RERUN_TEXT_BYTES], why[TOOLS_ERROR_BYTES];
    unsigned count = 0, late = report_late_writes(r, id, CATCH_MAX);
    char *rest = NULL;
    stacks[0] = '\0';
    for (unsigned i = 0; i < late; i++)
        if (report_guard_text(r, id[i], text, why, sizeof why) == 0 && !has_stack(guarded, text))
            count += add_stack(stacks, text);
    if (!count)
        return 0;
    snprintf(text, sizeof text, "%s", guarded);
    for (char *one = strtok_r(text, ",", &rest); one; one = strtok_r(NULL, ",", &rest))
        add_stack(stacks, one);
    return count;
}

/* The options must precede the program, and "--" if that is there. */
static unsigned options_end(char **operands)
{
    unsigned end = (unsigned)(operands - first.argv);
    return end > 1 && strcmp(first.argv[end - 1], "--") == 0 ? end - 1 : end;
}

int rerun(const struct rerun *again, char err[TOOLS_ERROR_BYTES])
{
    unsigned count = 0, end = options_end(again->operands);
    char given[RERUN_TEXT_BYTES + sizeof "--guard-stacks="],
        more[] = "--rerun=yes", last[] = "--rerun=no", none[] = "--catch=";
    while (first.argv[count])
        count++;
    char **argv = calloc(count + 4, sizeof *argv);
    if (!argv || !keep_status(again->status, again->by_signal))
        return fail(err, -ENOMEM, "not run again: no memory");
    memcpy(argv, first.argv, end * sizeof *argv);
    snprintf(given, sizeof given, "--guard-stacks=%s", again->stacks);
    argv[end] = again->is_last ? last : more;
    argv[end + 1] = none;
    argv[end + 2] = given;
    memcpy(argv + end + 3, first.argv + end, (count - end) * sizeof *argv);
    if (first.input_at >= 0)
        lseek(0, first.input_at, SEEK_SET);
    execv("/proc/self/exe", argv);
    int bad = -errno;
    free(argv);
    unsetenv(VARIABLE);
    return fail(err, bad, "not run again: %s", strerror(-bad));
}

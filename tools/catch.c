/*
 * catch.c - --catch=ID: guard the blocks of a finding of an earlier run; --rerun: those of this run's
 * late bad writes, in a second run.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools.h"

struct search {
    const char *id;
    char text[REPORT_GUARD_BYTES];
    char err[TOOLS_ERROR_BYTES]; /* of the newest run */
};

/* -ENOENT: not in this run. */
static int look(const char *path, void *data)
{
    struct search *s = data;
    char err[TOOLS_ERROR_BYTES], why[TOOLS_ERROR_BYTES];
    struct report *r;
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
    if (bad == -ENOENT)
        return fail(err, -ENOENT, "option catch: %.250s",
                    *s->err ? s->err
                    : *none ? none
                            : "there is no run");
    return bad ? fail(err, bad, "option catch: %.250s", s->err) : 0;
}

int catch_begin(struct options *o, char err[TOOLS_ERROR_BYTES])
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
        struct search s = {.id = id};
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

static struct {
    char **argv; /* of main */
    off_t input_at;
} first;

void rerun_begin(char **argv)
{
    first.argv = argv;
    first.input_at = lseek(0, 0, SEEK_CUR);
}

/* What a run has read of a pipe is gone. */
static bool can_read_again(void)
{
    struct stat st;
    return fstat(0, &st) != 0 || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

/* Add "KEY.EDGEGAP", unless the key is there.  false: it is, or there is no room. */
static bool add_stack(char *stacks, const char *text)
{
    char key[REPORT_GUARD_BYTES];
    size_t used = strlen(stacks);
    snprintf(key, sizeof key, "%.*s", (int)strcspn(text, ".") + 1, text);
    if (strstr(stacks, key) || used + strlen(text) + 2 > RERUN_TEXT_BYTES)
        return false;
    snprintf(stacks + used, RERUN_TEXT_BYTES - used, "%s%s", used ? "," : "", text);
    return true;
}

/* Stacks that are guarded already stay so, but new ones precede: another edge may be needed. */
unsigned rerun_find(struct report *r, const char *guarded, char stacks[RERUN_TEXT_BYTES])
{
    char id[CATCH_MAX][REPORT_ID_BYTES], text[RERUN_TEXT_BYTES], why[TOOLS_ERROR_BYTES];
    unsigned count = 0, late = report_late_writes(r, id, CATCH_MAX);
    char *rest = NULL;
    stacks[0] = '\0';
    for (unsigned i = 0; i < late; i++)
        if (report_guard_text(r, id[i], text, why, sizeof why) == 0)
            count += add_stack(stacks, text);
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

int rerun(char **operands, const char *stacks, bool again, char err[TOOLS_ERROR_BYTES])
{
    unsigned count = 0, end = options_end(operands);
    char given[RERUN_TEXT_BYTES + sizeof "--guard-stacks="],
        more[] = "--rerun=yes", last[] = "--rerun=no", none[] = "--catch=";
    while (first.argv[count])
        count++;
    if (!can_read_again())
        return fail(err, -ESPIPE, "not run again: standard input is a pipe");
    char **argv = calloc(count + 4, sizeof *argv);
    if (!argv)
        return fail(err, -ENOMEM, "not run again: no memory");
    memcpy(argv, first.argv, end * sizeof *argv);
    snprintf(given, sizeof given, "--guard-stacks=%s", stacks);
    argv[end] = again ? more : last;
    argv[end + 1] = none;
    argv[end + 2] = given;
    memcpy(argv + end + 3, first.argv + end, (count - end) * sizeof *argv);
    if (first.input_at >= 0)
        lseek(0, first.input_at, SEEK_SET);
    execv("/proc/self/exe", argv);
    int bad = -errno;
    free(argv);
    return fail(err, bad, "not run again: %s", strerror(-bad));
}

/* catch.c - --catch=ID: guard the blocks of a finding of an earlier run. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

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

int check_stacks(const struct options *o, char err[TOOLS_ERROR_BYTES])
{
    bool is_catch = *option_text(o, "catch");
    if ((!is_catch && !option_flag(o, "rerun")) || option_number(o, "frames", 1) > 0)
        return 0;
    return fail(err, -EINVAL,
                "option %s: it guards blocks by their allocation stacks: leave out --frames=0",
                is_catch ? "catch" : "rerun");
}

int catch_begin(struct options *o, const char *path, char err[TOOLS_ERROR_BYTES])
{
    char list[OPTIONS_TEXT_BYTES], stacks[CATCH_MOST * REPORT_GUARD_BYTES] = "";
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
        if (count++ == CATCH_MOST)
            return fail(err, -E2BIG, "option catch: more than %u ids", CATCH_MOST);
        int bad = find(o, &s, err);
        if (bad)
            return bad;
        size_t used = strlen(stacks);
        snprintf(stacks + used, sizeof stacks - used, "%s%s", used ? "," : "", s.text);
    }
    return option_give(o, "guard-stacks", stacks, err);
}

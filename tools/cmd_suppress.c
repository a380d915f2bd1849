/*
 * cmd_suppress.c - `rtcheck suppress add ID [--file=FILE] [RUN]`: add a rule for one finding of a
 * run to a suppression file.
 *
 * RUN is a run file, by default the newest that has the finding.  FILE is rtcheck.supp by default.  The
 * rule's name is the finding's id; a rule that exists is not added again.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/bits.h"
#include "tools.h"

enum { STATUS_NO_SUCH_ID = 1 };

struct add {
    const char *given; /* an id, or its beginning */
    const char *file;
    char id[REPORT_ID_BYTES];
    bool is_unreadable;    /* the file that was tried last */
    bool searches;         /* files that cannot be read are passed over: they may just be removed */
    char newest[PATH_MAX]; /* of the runs that do not have it; "" = none */
    int status;
};

/* The rule's text, to be freed.  NULL: err has the reason; if err is empty, there is no such id. */
static char *rule_text(struct add *add, const char *run, char err[TOOLS_ERROR_BYTES])
{
    struct report *r;
    char *text = NULL;
    size_t bytes;
    FILE *out;
    int bad;

    *err = '\0';
    add->id[0] = '\0';
    add->is_unreadable = run_open(&r, run, err) != 0;
    if (add->is_unreadable)
        return NULL;
    report_want_reachable(r);
    report_want_mapped(r);
    bad = report_collect(r, err);
    add->is_unreadable = bad != 0;
    if (!bad && report_find_id(r, add->given, add->id, err, TOOLS_ERROR_BYTES) == -ENOENT)
        *err = '\0';
    out = !bad && !*err && *add->id ? open_memstream(&text, &bytes) : NULL;
    if (out) {
        report_print_rule(r, add->id, out);
        fclose(out);
    }
    run_close(r);
    if (text && *text)
        return text;
    free(text);
    return NULL;
}

/*
 * Existing rules must be valid: a file with an error is not used at all.  A missing file is valid.
 */
static int file_check(const char *path, char err[TOOLS_ERROR_BYTES])
{
    struct rules *rules = rules_new();
    int bad = access(path, F_OK) == 0 ? rules_read_file(rules, path, err, TOOLS_ERROR_BYTES) : 0;

    rules_free(rules);
    return bad;
}

/* Is the id the first word of a line, as the name of a rule is? */
static bool file_has(const char *path, const char *id)
{
    FILE *in = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    bool has = false;

    while (in && !has && getline(&line, &room, in) > 0) {
        char *at = line + strspn(line, " \t");
        at[strcspn(at, " \t\r\n")] = '\0';
        has = strcmp(at, id) == 0;
    }
    free(line);
    if (in)
        fclose(in);
    return has;
}

/* Append in one write, on a new line. */
static int file_add(const char *path, const char *text, char err[TOOLS_ERROR_BYTES])
{
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
    off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    char last = '\n', *whole;
    int n, bad = fd < 0 ? -errno : 0;

    if (!bad && end > 0 && pread(fd, &last, 1, end - 1) != 1)
        bad = -EIO;
    n = asprintf(&whole, "%s%s", last == '\n' ? "" : "\n", text);
    if (!bad && (n < 0 || write(fd, whole, (size_t)n) != n))
        bad = n < 0 ? -ENOMEM : errno ? -errno : -EIO;
    if (n >= 0)
        free(whole);
    if (fd >= 0)
        close(fd);
    return bad ? fail(err, bad, "%s cannot be written: %s", path, strerror(-bad)) : 0;
}

/* -ENOENT: the run has no such id with a stack. */
static int add_rule(const char *run, void *data)
{
    struct add *add = data;
    char err[TOOLS_ERROR_BYTES];
    char *text = rule_text(add, run, err);
    int bad;

    if (!text && (!*err || (add->searches && add->is_unreadable))) {
        if (!*add->newest)
            snprintf(add->newest, sizeof add->newest, "%s", run);
        return -ENOENT;
    }
    bad = text ? file_check(add->file, err) : -EINVAL;
    if (!bad && file_has(add->file, add->id))
        printf("%s has a rule for %s\n", add->file, add->id);
    else if (!bad)
        bad = file_add(add->file, text, err);
    free(text);
    add->status = bad ? print_failure(err) : 0;
    return 0;
}

static int suppress(struct options *o, int count, char **operands)
{
    struct add add = {.given = operands[1], .file = option_text(o, "file"), .searches = count < 3};
    char err[TOOLS_ERROR_BYTES] = "";
    int got;

    if (strcmp(operands[0], "add") != 0)
        return print_usage(&verb_suppress);
    got = count == 3 ? add_rule(operands[2], &add) : find_run_where(NULL, add_rule, &add, err);
    if (got != -ENOENT)
        return add.status;
    if (!*add.newest)
        return print_failure(err);
    fprintf(stderr, "rtcheck: there is no %s with a stack in %s\n", add.given, add.newest);
    return STATUS_NO_SUCH_ID;
}

static const struct option_info options[] = {
    OPTION_ROW("file", PATH, "rtcheck.supp", "the suppression file", NULL),
    OPTION_HELP,
};

const struct verb verb_suppress = {
    .name = "suppress",
    .usage = "suppress add [OPTION]... ID [RUN]",
    .about = "Adds a rule for one finding of a run, by default the newest that has it, to a\n"
             "suppression file.  The rule's name is the id; a rule that exists is not added\n"
             "again.",
    .options = options,
    .option_count = countof(options),
    .least = 2,
    .most = 3,
    .act = suppress,
};

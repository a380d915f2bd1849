/* cmd_show.c - `rtcheck show ID [FILE]`: print all data of one error, leak or record of a run. */
#include <errno.h>

#include "format/bits.h"
#include "tools.h"

enum { STATUS_NO_SUCH_ID = 1 };

struct request {
    const char *given; /* an id, or its beginning */
    const struct options *options;
    bool searches; /* files that cannot be read are passed over: they may just be removed */
    int status;
    char err[TOOLS_ERROR_BYTES]; /* of the newest run that was searched */
};

static int print_one(struct report *r, const char *id, const struct options *o)
{
    struct print_options how = print_how(o, 1, NULL);
    struct pager pager;
    bool is_paged = pager_start(&pager);

    report_print_one(r, id, stdout, &how);
    if (is_paged && !pager_end(&pager))
        report_print_one(r, id, stdout, &how);
    return fflush(stdout) != 0 || ferror(stdout) ? print_failure("the report cannot be written")
                                                 : 0;
}

/* -ENOENT: the run has no such id. */
static int show_in(struct report *r, struct request *request, const char *path)
{
    char id[REPORT_ID_BYTES], why[TOOLS_ERROR_BYTES];
    int bad = report_find_id(r, request->given, id, why, sizeof why);

    if (bad && !*request->err)
        snprintf(request->err, sizeof request->err, "%.200s in %.290s", why, path);
    if (bad == -ENOENT)
        return bad;
    if (bad) {
        fprintf(stderr, "rtcheck: %s in %s\n", why, path);
        request->status = STATUS_NO_SUCH_ID;
    } else {
        request->status = print_one(r, id, request->options);
    }
    return 0;
}

static int show(const char *path, void *data)
{
    struct request *request = data;
    char err[TOOLS_ERROR_BYTES];
    struct report *r;
    int bad = run_open(&r, path, err);

    if (bad) {
        request->status = request->searches ? 0 : print_failure(err);
        return request->searches ? -ENOENT : bad == -ENOENT ? -EIO : bad;
    }
    request_data(r, request->options);
    report_want_reachable(r);
    report_want_mapped(r);
    bad = report_collect(r, err);
    if (!bad)
        bad = show_in(r, request, path);
    else if (request->searches)
        bad = -ENOENT;
    else
        request->status = print_failure(err);
    run_close(r);
    return bad;
}

/* It prints all frames of one record in rtcheck's own format: other options have no effect. */
static bool has_effect(const char *option)
{
    static const char *const taken[] = {"help",     "version",  "color",   "deterministic",
                                        "pool-dir", "demangle", "sysroot", "debug-dir"};

    return option_is_among(option, taken, countof(taken));
}

static int show_id(struct options *o, int count, char **operands)
{
    struct request request = {.given = operands[0], .options = o, .searches = count < 2};
    char err[TOOLS_ERROR_BYTES] = "";
    int got = count == 2 ? show(operands[1], &request) : find_run_where(o, show, &request, err);

    if (got != -ENOENT)
        return request.status;
    if (!*request.err) /* there was no run */
        return *err ? print_failure(err) : request.status;
    fprintf(stderr, "rtcheck: %s%s\n", request.err, count == 2 ? "" : ", nor in an older run");
    return STATUS_NO_SUCH_ID;
}

const struct verb verb_show = {
    .name = "show",
    .usage = "show [OPTION]... ID [FILE]",
    .about = "Prints all data of one error, leak or record of a run, by default the\n"
             "newest that has it.  ID may be shortened.",
    .has_effect = has_effect,
    .least = 1,
    .most = 2,
    .act = show_id,
};

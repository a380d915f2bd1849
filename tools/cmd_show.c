/*
 * cmd_show.c - `rtcheck show ID [FILE|PID]`: print all data of one error, leak or record of a run;
 * `rtcheck show --bytes ID|ADDRESS [FILE|PID [PID]]`: print the bytes of its block.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "format/bits.h"
#include "tools.h"

enum { STATUS_NO_SUCH_ID = 1 };

struct request {
    const char *given; /* an id, or its beginning; with --bytes also an address */
    const struct options *options;
    uint32_t pid; /* of the process with the block; 0: any */
    bool wants_bytes;
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

/* --bytes.  -ENOENT: the run has no such id.  An address is searched in the newest run only. */
static int show_bytes_in(struct report *r, struct request *request, const char *path)
{
    struct print_options how = print_how(request->options, 1, NULL);
    char why[TOOLS_ERROR_BYTES];
    struct pager pager;
    bool is_paged = pager_start(&pager);

    how.all = option_flag(request->options, "all"); /* also in a log */
    int bad = report_print_bytes(r, request->given, request->pid, stdout, &how, why, sizeof why);

    if (is_paged && !pager_end(&pager) && !bad)
        bad = report_print_bytes(r, request->given, request->pid, stdout, &how, why, sizeof why);
    if (!bad) {
        request->status = fflush(stdout) != 0 || ferror(stdout)
                              ? print_failure("the bytes cannot be written")
                              : 0;
        return 0;
    }
    if (bad == -ENOENT && !report_is_address(request->given)) {
        if (!*request->err)
            snprintf(request->err, sizeof request->err, "%.200s in %.290s", why, path);
        return bad;
    }
    fprintf(stderr, "rtcheck: %s: %s\n", path, why);
    request->status = bad == -ENODATA ? STATUS_SETUP : STATUS_NO_SUCH_ID;
    return 0;
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
        bad = request->wants_bytes ? show_bytes_in(r, request, path) : show_in(r, request, path);
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
                                        "pool-dir", "demangle", "sysroot", "debug-dir",
                                        "bytes",    "all"};

    return option_is_among(option, taken, countof(taken));
}

static int show_id(struct options *o, int count, char **operands)
{
    struct request request = {
        .given = operands[0],
        .options = o,
        .wants_bytes = option_flag(o, "bytes") || report_is_address(operands[0]),
        .searches = count < 2,
    };
    char err[TOOLS_ERROR_BYTES] = "", running[PATH_MAX];

    if (count == 3 && (!request.wants_bytes || !is_pid(operands[2])))
        return print_failure("a third operand is the id of a process, with --bytes");
    if (count >= 2 && is_pid(operands[count - 1]))
        request.pid = (uint32_t)strtoul(operands[count - 1], NULL, 10);
    if (count >= 2 && find_run_named(operands[1], running, sizeof running, err))
        return print_failure(err);
    int got = count >= 2 ? show(running, &request) : find_run_where(o, show, &request, err);

    if (got != -ENOENT)
        return request.status;
    if (!*request.err) /* there was no run */
        return *err ? print_failure(err) : request.status;
    fprintf(stderr, "rtcheck: %s%s\n", request.err, count >= 2 ? "" : ", nor in an older run");
    return STATUS_NO_SUCH_ID;
}

const struct verb verb_show = {
    .name = "show",
    .usage = "show [OPTION]... ID|ADDRESS [FILE]",
    .about = "Prints all data of one error, leak or record of a run, by default the\n"
             "newest that has it.  ID may be shortened.  With --bytes, or for an ADDRESS\n"
             "(0x...), it prints the bytes of the block, by default of the newest run.\n"
             "FILE may be the id of a running process.  A process id after FILE selects the\n"
             "process with the block, by default the first one.  The run needs --heap=file.",
    .has_effect = has_effect,
    .least = 1,
    .most = 3,
    .act = show_id,
};

/*
 * cmd_pack.c - `rtcheck pack [--output=FILE] [RUN]`: put a run and the files that its names come
 * from into one archive, which report and show read on another machine.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/bits.h"
#include "tools.h"

/* "p.12.pool" -> "p.12": the name of a run file without the folder and the suffix. */
static void name_of_run(const char *path, char *name, size_t room)
{
    char real[PATH_MAX];
    const char *slash = strrchr(realpath(path, real) ? real : path, '/');
    char *suffix;

    snprintf(name, room, "%.*s", NAME_MAX, slash ? slash + 1 : path);
    suffix = strrchr(name, '.');
    if (suffix && suffix != name &&
        (strcmp(suffix, ".pool") == 0 || strcmp(suffix, ".rtpack") == 0))
        *suffix = '\0';
}

/* ---- the output ------------------------------------------------------------------------------ */

struct writing {
    const struct pack *pack;
    uint64_t bytes;
    char err[TOOLS_ERROR_BYTES];
};

static int put(FILE *out, void *writing_)
{
    struct writing *w = writing_;
    int bad = pack_write(w->pack, out, w->err);
    long at = bad ? -1 : ftell(out);

    w->bytes = at > 0 ? (uint64_t)at : 0;
    return bad;
}

static int write_to(const char *path, struct writing *w, char err[TOOLS_ERROR_BYTES])
{
    bool is_stdout = strcmp(path, "-") == 0;
    int bad;

    if (is_stdout && isatty(STDOUT_FILENO))
        return fail(err, -EINVAL, "a pack is not written to a terminal: use --output=FILE");
    if (is_stdout) {
        bad = put(stdout, w);
        bad = bad ? bad : fflush(stdout) != 0 || ferror(stdout) ? -errno : 0;
    } else {
        bad = report_write_by(path, put, w);
    }
    return bad ? fail(err, bad, "%.300s cannot be written: %.150s", is_stdout ? "the pack" : path,
                      *w->err ? w->err : strerror(-bad))
               : 0;
}

static void print_summary(const char *path, const struct pack *p, uint64_t bytes)
{
    if (strcmp(path, "-") == 0)
        return;
    printf("%s: %llu bytes; objects %u, files of debugging information %u, sources %u, digests of "
           "sources %u\n",
           path, (unsigned long long)bytes, p->objects, p->debug_files, p->sources, p->digests);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int pack_to(struct report *r, const struct options *o, const char *path,
                   char err[TOOLS_ERROR_BYTES])
{
    char name[NAME_MAX + 1], file[NAME_MAX + 16];
    struct pack pack = {0};
    struct writing w = {.pack = &pack};
    int copy, bad;

    name_of_run(path, name, sizeof name);
    snprintf(file, sizeof file, "%s.rtpack", name);
    const char *output = option_is_given(o, "output") ? option_text(o, "output") : file;
    if (strcmp(output, "-") != 0 && (bad = report_write_check(output)) != 0)
        return fail(err, bad, "%.300s cannot be written: %s", output, strerror(-bad));
    copy = temporary_file();
    bad = copy < 0 ? -errno : report_copy_run(r, copy);
    if (bad)
        fail(err, bad, "%.300s cannot be copied: %s", path, strerror(-bad));
    if (!bad)
        bad = pack_gather(&pack, r, copy, name, option_flag(o, "with-sources"), err);
    if (!bad)
        bad = write_to(output, &w, err);
    if (!bad)
        print_summary(output, &pack, w.bytes);
    pack_free(&pack);
    if (copy >= 0)
        close(copy);
    return bad;
}

static int collect(struct report *r, const struct options *o, const char *path,
                   char err[TOOLS_ERROR_BYTES])
{
    uint32_t running = report_running(r);

    if (running > 0)
        return fail(err, -EBUSY, "%.300s: the run has not ended, %u of its processes are running",
                    path, running);
    report_find_files(r, option_text(o, "sysroot"), option_text(o, "debug-dir"));
    report_want_reachable(r);
    report_want_mapped(r);
    report_want_regions(r);
    return report_collect(r, err);
}

static int pack(struct options *o, int count, char **operands)
{
    char newest[PATH_MAX], err[TOOLS_ERROR_BYTES];
    const char *path = count > 0 ? operands[0] : newest;
    struct report *r;
    int bad = pack_is_possible(err);

    if (!bad && count == 0)
        bad = find_run(NULL, newest, sizeof newest, NULL, err);
    if (!bad)
        bad = run_open(&r, path, err);
    if (bad)
        return print_failure(err);
    bad = collect(r, o, path, err);
    if (!bad)
        bad = pack_to(r, o, path, err);
    run_close(r);
    return bad ? print_failure(err) : 0;
}

static const struct option_info options[] = {
    OPTION_ROW("output", PATH, "", "the archive [RUN.rtpack in this folder]; -: standard output",
               NULL),
    OPTION_ROW("with-sources", FLAG, "no", "also pack the source files that the stacks name", NULL),
    OPTION_ROW("sysroot", PATH, "", "as of rtcheck report", NULL),
    OPTION_ROW("debug-dir", PATHS, "", "as of rtcheck report", NULL),
    OPTION_HELP,
};

const struct verb verb_pack = {
    .name = "pack",
    .usage = "pack [OPTION]... [RUN]",
    .about = "Puts a run, by default the newest that is kept, into one archive, with the\n"
             "programs, libraries and debugging information that its names come from.\n"
             "`report` and `show` read the archive on another machine.",
    .options = options,
    .option_count = countof(options),
    .most = 1,
    .act = pack,
};

/* cmd_dump.c - `rtcheck dump FILE`: print all contents of a run file, and whether it is valid. */
#include <errno.h>
#include <unistd.h>

#include "format/bits.h"
#include "tools.h"

enum { STATUS_BAD_FILE = 1 };

static int dump_file(struct options *o, int count, char **operands)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    int bad = run_open(&r, operands[0], err);

    (void)o, (void)count;
    if (bad) {
        fprintf(stderr, "rtcheck: %s\n", err);
        return bad == -EBADMSG || bad == -EPROTO ? STATUS_BAD_FILE : STATUS_SETUP;
    }
    bad = report_dump(r, stdout);
    run_close(r);
    if (fflush(stdout) != 0 || ferror(stdout))
        return STATUS_SETUP;
    return bad ? STATUS_BAD_FILE : 0;
}

static const struct option_info options[] = {OPTION_HELP};

const struct verb verb_dump = {
    .name = "dump",
    .usage = "dump FILE",
    .about = "Prints all contents of a run file, and whether it is valid (status 1: not).",
    .options = options,
    .option_count = countof(options),
    .least = 1,
    .most = 1,
    .act = dump_file,
};

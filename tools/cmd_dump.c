/* cmd_dump.c - `rtcheck dump FILE`: print all contents of a run file, and whether it is valid. */
#include <errno.h>
#include <unistd.h>

#include "tools.h"

enum { STATUS_BAD_FILE = 1 };

static int dump(const char *path)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    int bad = report_open(&r, path, err);

    if (bad) {
        fprintf(stderr, "rtcheck: %s\n", err);
        return bad == -EBADMSG || bad == -EPROTO ? STATUS_BAD_FILE : STATUS_SETUP;
    }
    bad = report_dump(r, stdout);
    report_close(r);
    if (fflush(stdout) != 0 || ferror(stdout))
        return STATUS_SETUP;
    return bad ? STATUS_BAD_FILE : 0;
}

int cmd_dump(int argc, char **argv)
{
    if (argc == 2 && argv[1][0] != '-')
        return dump(argv[1]);
    return usage(is_help(argc, argv), "dump FILE");
}

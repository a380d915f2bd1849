/*
 * cmd_dump.c - `rtcheck dump FILE`: print all contents of a run file, and whether it is valid;
 * `rtcheck dump --heap=CORE FILE`: write the heap in it as an ELF core file.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/bits.h"
#include "tools.h"

enum { STATUS_BAD_FILE = 1 };

static int dump_heap(struct report *r, const char *file, uint32_t pid, const char *core)
{
    char why[TOOLS_ERROR_BYTES], err[TOOLS_ERROR_BYTES];

    signal(SIGXFSZ, SIG_IGN); /* a write beyond RLIMIT_FSIZE fails instead */
    int bad = report_write_core(r, core, pid, why, sizeof why);

    if (bad == -ENODATA)
        snprintf(err, sizeof err, "%.200s: %.300s", file, why);
    return bad ? print_failure(bad == -ENODATA ? err : why) : 0;
}

static int dump_file(struct options *o, int count, char **operands)
{
    const char *core = option_text(o, "heap"), *file = operands[0];
    char err[REPORT_ERROR_BYTES], running[PATH_MAX];
    struct report *r;
    uint32_t pid = 0;

    if (count == 2 && (!option_is_given(o, "heap") || !is_pid(operands[1])))
        return print_failure("a second operand is the id of a process, with --heap");
    if (count == 2 || (option_is_given(o, "heap") && is_pid(file)))
        pid = (uint32_t)strtoul(operands[count - 1], NULL, 10);
    if (option_is_given(o, "heap") && is_pid(file)) {
        if (find_run_of_process(file, running, sizeof running, err))
            return print_failure(err);
        file = running;
    }
    int bad = run_open(&r, file, err);
    if (bad) {
        fprintf(stderr, "rtcheck: %s\n", err);
        return bad == -EBADMSG || bad == -EPROTO ? STATUS_BAD_FILE : STATUS_SETUP;
    }
    if (option_is_given(o, "heap")) {
        int status = dump_heap(r, file, pid, core);
        run_close(r);
        return status;
    }
    bad = report_dump(r, stdout);
    run_close(r);
    if (fflush(stdout) != 0 || ferror(stdout))
        return STATUS_SETUP;
    return bad ? STATUS_BAD_FILE : 0;
}

static const struct option_info options[] = {
    OPTION_ROW("heap", PATH, "", "CORE: write the heap as an ELF core file", NULL),
    OPTION_HELP,
};

const struct verb verb_dump = {
    .name = "dump",
    .usage = "dump [--heap=CORE] FILE",
    .about = "Prints all contents of a run file, and whether it is valid (status 1: not),\n"
             "or writes the heap in it, or of a running process, as an ELF core file, which\n"
             "debuggers open.  A process id after FILE selects the process, by default the\n"
             "first one.  The run needs --heap=file.",
    .options = options,
    .option_count = countof(options),
    .least = 1,
    .most = 2,
    .act = dump_file,
};

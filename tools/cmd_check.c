/*
 * cmd_check.c - `rtcheck check PID`: find and print the leaks of a running process.
 *
 * The process is neither stopped nor signalled: its witness (--witness) scans a snapshot of its memory. The
 * result is printed by the options of the run, as one that the program has requested.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "format/bits.h"
#include "tools.h"

static int check_opened(struct report *r, int fd, uint32_t pid, uint64_t limit_ms)
{
    char err[REPORT_ERROR_BYTES];
    struct check_choice choice = {.requested = true};

    return report_request_check(r, fd, pid, limit_ms, &choice.image, err)
               ? print_failure(err)
               : print_leak_check(r, fd, choice);
}

static int check_in(const char *path, uint32_t pid, uint64_t limit_ms)
{
    char err[TOOLS_ERROR_BYTES];
    struct report *r;
    int status, fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0) {
        fail(err, -errno, "%s cannot be opened: %s", path, strerror(errno));
        return print_failure(err);
    }
    if (report_open_fd(&r, fd, path, err)) {
        status = print_failure(err);
    } else {
        status = check_opened(r, fd, pid, limit_ms);
        report_close(r);
    }
    close(fd);
    return status;
}

static const struct option_info options[] = {
    OPTION_ROW("limit", COUNT, "10000", "milliseconds to wait for the result", NULL),
    OPTION_HELP,
};

static int check(struct options *o, int count, char **operands)
{
    char err[TOOLS_ERROR_BYTES], path[PATH_MAX];
    unsigned long pid = is_pid(operands[0]) ? process_of_thread(operands[0]) : 0;

    (void)count;
    if (pid == 0 || pid > INT_MAX) {
        fail(err, -ESRCH, "%s: not the number of a process", operands[0]);
        return print_failure(err);
    }
    if (find_run_of_process(operands[0], path, sizeof path, err))
        return print_failure(err);
    return check_in(path, (uint32_t)pid, option_number(o, "limit", 0));
}

const struct verb verb_check = {
    .name = "check",
    .usage = "check [OPTION]... PID",
    .about = "Finds and prints the leaks of a running process that was started with --witness.\n"
             "The process runs on: its memory is copied, as by a fork.",
    .options = options,
    .option_count = countof(options),
    .least = 1,
    .most = 1,
    .act = check,
};

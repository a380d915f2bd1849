/*
 * cmd_stat.c - `rtcheck stat FILE|PID`: print the variables of running processes periodically.
 *
 * No process is stopped or contacted: all values are in the run file.  PID selects the process and
 * its descendants, until it ends; FILE selects all processes of the run, until none runs.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/bits.h"
#include "tools.h"

struct stat_request {
    struct stat_options how;
    uint64_t interval_ms;
    uint64_t count; /* number of samples; 0: until the end */
    const char *word;
};

/* ---- sampling times -------------------------------------------------------------------------- */

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Wait for the next sample; true: the process of pidfd `fd` (-1: none) has ended before. */
static bool wait_until(uint64_t deadline_ms, int fd)
{
    struct pollfd process = {.fd = fd, .events = POLLIN};

    for (;;) {
        uint64_t now = now_ms();
        int n = poll(&process, 1, now < deadline_ms ? (int)(deadline_ms - now) : 0);
        if (n > 0)
            return true;
        if (n == 0 && now_ms() >= deadline_ms)
            return false;
    }
}

/* Samples have equal distances; one that took too long delays only the next. */
static uint64_t next_look(uint64_t deadline_ms, uint64_t interval_ms)
{
    uint64_t now = now_ms(), next = deadline_ms + interval_ms;
    return next > now ? next : now + interval_ms;
}

/* ---- the rows -------------------------------------------------------------------------------- */

/* `fd`: pidfd of the process that was named; -1: none was named, or pidfds are not supported. */
static int watch(struct report *r, const struct stat_request *request, int fd)
{
    uint64_t deadline_ms = now_ms(), looks = 0;
    bool over = false, any = false;

    if (!request->how.json)
        report_stat_heading(stdout);
    do {
        over = fd >= 0 && wait_until(now_ms(), fd);
        struct stat_sum sum = report_stat(r, &request->how, stdout);
        if (fflush(stdout) != 0)
            return print_failure("the rows cannot be written");
        if (sum.is_cut)
            return print_failure("the run file was made shorter while the program ran");
        any |= sum.seen > 0;
        over |= ++looks == request->count || (fd < 0 && sum.running == 0);
        deadline_ms = next_look(deadline_ms, request->interval_ms);
        if (!over)
            wait_until(deadline_ms, fd);
    } while (!over);
    uint64_t unseen = request->how.pid == 0 ? report_stat_unseen(r) : 0;
    if (unseen > 0)
        fprintf(stderr,
                "rtcheck: note: %llu program images that have ended have no row: their records are "
                "no longer in the file\n",
                (unsigned long long)unseen);
    return any ? 0 : print_failure("the run file has nothing of this process");
}

static int watch_path(const char *path, const struct stat_request *request, int fd)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;

    if (run_open(&r, path, err))
        return print_failure(err);
    int status = watch(r, request, fd);
    run_close(r);
    return status;
}

static int watch_process(struct stat_request *request)
{
    char err[TOOLS_ERROR_BYTES], path[PATH_MAX];
    unsigned long pid = process_of_thread(request->word);
    int fd = pid > INT_MAX ? -1 : (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    int bad = pid > INT_MAX || (fd < 0 && errno == ESRCH) ? -ESRCH : 0;

    if (bad)
        fail(err, bad, "there is no process %.20s", request->word);
    else
        bad = find_run_of_process(request->word, path, sizeof path, err);
    request->how.pid = (uint32_t)pid;
    int status = bad ? print_failure(err) : watch_path(path, request, fd);
    if (fd >= 0)
        close(fd);
    return status;
}

/* ---- the command line ------------------------------------------------------------------------ */

static const struct option_info options[] = {
    OPTION_ROW("interval", COUNT, "1000", "milliseconds between rows (-I)", NULL),
    OPTION_ROW("count", COUNT, "", "end after so many rows (-n)", NULL),
    OPTION_ROW("json", FLAG, "no", "a JSON object for each row", NULL),
    OPTION_HELP,
};

static int stat_watch(struct options *o, int count, char **operands)
{
    struct stat_request request = {
        .how.json = option_flag(o, "json"),
        .interval_ms = option_number(o, "interval", 0),
        .count = option_number(o, "count", 0),
        .word = operands[0],
    };

    (void)count;
    return is_pid(request.word) ? watch_process(&request) : watch_path(request.word, &request, -1);
}

const struct verb verb_stat = {
    .name = "stat",
    .usage = "stat [OPTION]... FILE|PID",
    .about = "Prints the variables of running processes periodically: of PID and its\n"
             "descendants until PID ends, or of all processes of FILE until none runs.",
    .options = options,
    .option_count = countof(options),
    .least = 1,
    .most = 1,
    .act = stat_watch,
};

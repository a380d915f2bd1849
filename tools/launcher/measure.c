/*
 * measure.c - --measure=N: the cost of the runtime, by runs with and without it.
 *
 * The reported run is followed by N pairs of runs, one of each pair with the runtime and one
 * without.  Their order alternates, so that changes of the machine's load affect both alike.  Their
 * output is discarded.  Each run reads the same input, from the same offset.
 *
 * The result is the median ratio of the pairs.  The true median is unknown.  It lies between the
 * k-th smallest and the k-th largest of N ratios with a probability that depends only on N and k,
 * whatever the distribution is: each ratio is as likely above the median as below it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/bits.h"
#include "launcher.h"

#define SURE 0.95
#define STDIN_MOST (1ull << 30) /* bytes of a pipe that are stored to be read again */

/* ---- input ----------------------------------------------------------------------------------- */

/* Copy all of a pipe into a memfd, which becomes stdin. */
static int keep_pipe(char err[TOOLS_ERROR_BYTES])
{
    static char piece[1 << 16];
    uint64_t all = 0;
    ssize_t n;
    int fd = memfd_create("rtcheck-stdin", MFD_CLOEXEC);
    if (fd < 0)
        return fail(err, -errno, "--measure: no room for what is read: %s", strerror(errno));
    while ((n = read(0, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR)) {
        all += n > 0 ? (uint64_t)n : 0;
        if (all > STDIN_MOST || (n > 0 && write(fd, piece, (size_t)n) != n)) {
            close(fd);
            return fail(err, -EFBIG,
                        "--measure: more than 1 GiB comes through a pipe: give it as a file");
        }
    }
    if (n < 0 || dup2(fd, 0) < 0 || lseek(0, 0, SEEK_SET) != 0) {
        int bad = -errno;
        close(fd);
        return fail(err, bad, "--measure: stdin: %s", strerror(-bad));
    }
    close(fd);
    return 0;
}

int measure_begin(struct measuring *m, unsigned pairs, char err[TOOLS_ERROR_BYTES])
{
    struct stat st;
    m->result.pairs = pairs;
    m->input = -1;
    if (pairs == 0 || !fds_was_open(0) || fstat(0, &st) != 0)
        return 0;
    if (isatty(0))
        return fail(err, -EINVAL,
                    "--measure: stdin is a terminal, and every run has to read the same: give it a "
                    "file, or </dev/null");
    if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
        int bad = keep_pipe(err);
        if (bad)
            return bad;
    }
    m->input = lseek(0, 0, SEEK_CUR);
    return 0;
}

/* ---- one run --------------------------------------------------------------------------------- */

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

struct values {
    double of[MEASURED_COUNT];
    int wait_status;
};

static int run_once(const struct measuring *m, const struct start *start, struct keeper *keeper,
                    struct values *v, char err[TOOLS_ERROR_BYTES])
{
    struct started started;
    struct rusage usage;
    int sent;
    if (m->input >= 0)
        lseek(0, m->input, SEEK_SET);
    int bad = start_fork(start, &started, err);
    if (bad)
        return bad;
    keeper_watch(keeper, started.pid);
    double since = now_seconds();
    start_release(&started);
    v->wait_status = signals_wait(started.pid, keeper, &usage, &sent);
    v->of[MEASURED_WALL] = now_seconds() - since;
    v->of[MEASURED_CPU] = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    v->of[MEASURED_RSS] = (double)usage.ru_maxrss * 1024;
    v->of[MEASURED_FAULTS] = (double)usage.ru_minflt + (double)usage.ru_majflt;
    bad = start_error(&started);
    if (sent) /* the signal is meant for the remaining runs, too */
        return fail(err, -EINTR, "SIG%s", sigabbrev_np(sent));
    return bad ? fail(err, bad, "%s: %s", start->argv[0], strerror(-bad)) : 0;
}

/* Take ended processes out of the file, as in the reported run: else other processes would wait. */
static void reaper_begin(struct reaper *reaper, const struct run_file *file,
                         const struct print_options *how)
{
    struct warnings warnings = {0};
    char err[REPORT_ERROR_BYTES];
    *reaper = (struct reaper){.file = file, .log = -1, .how = *how};
    if (report_open_fd(&reaper->report, file->fd, "a measured run", err) == 0)
        reaper_start(reaper, &warnings);
}

/* A run with a run file of its own; nothing is printed. */
static int run_checked(const struct measuring *m, const struct start *like, const struct options *o,
                       const char *options_text, struct keeper *keeper, struct values *v,
                       char err[TOOLS_ERROR_BYTES])
{
    struct run_file file = {.fd = -1};
    struct start start = *like;
    struct reaper reaper;
    struct warnings warnings = {0};
    int bad = run_file_make(&file, o, options_text, &warnings, err);
    if (bad)
        return bad;
    reaper_begin(&reaper, &file, &m->how);
    start.file = &file;
    bad = run_once(m, &start, keeper, v, err);
    reaper_end(&reaper);
    report_close(reaper.report);
    run_file_close(&file);
    return bad;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/*
 * How many of n ratios may be omitted at each end; *sure: probability that the median lies between
 * the remaining ones.
 */
static unsigned left_out(unsigned n, double *sure)
{
    double chance = 1, below = 0; /* P(k of n lie below the median), and P(at most k do) */
    unsigned k = 0;
    for (unsigned i = 0; i < n; i++)
        chance /= 2;
    below = chance;
    *sure = 1 - 2 * below;
    while (2 * (k + 1) < n) {
        chance = chance * (n - k) / (k + 1);
        if (1 - 2 * (below + chance) < SURE)
            break;
        below += chance;
        *sure = 1 - 2 * below;
        k++;
    }
    return k;
}

static double median(double *sorted, unsigned n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static void summarize(struct measured *to, unsigned which, const struct values *with,
                      const struct values *without)
{
    struct measured_value *v = &to->of[which];
    unsigned n = to->pairs;
    double ratio[MEASURE_MOST], a[MEASURE_MOST], b[MEASURE_MOST];
    for (unsigned i = 0; i < n; i++) {
        a[i] = with[i].of[which];
        b[i] = without[i].of[which];
        ratio[i] = b[i] > 0 ? a[i] / b[i] : a[i] > 0 ? 1e9 : 1;
    }
    qsort(a, n, sizeof a[0], by_size);
    qsort(b, n, sizeof b[0], by_size);
    qsort(ratio, n, sizeof ratio[0], by_size);
    unsigned k = left_out(n, &to->sure);
    *v = (struct measured_value){.with = median(a, n),
                                 .without = median(b, n),
                                 .ratio = median(ratio, n),
                                 .low = ratio[k],
                                 .high = ratio[n - 1 - k],
                                 .least_with = a[0],
                                 .least_without = b[0]};
}

/* ---- all of them ----------------------------------------------------------------------------- */

int measure(struct measuring *m, const struct start *start, const struct options *o,
            const char *options_text, struct keeper *keeper, int wait_status,
            char err[TOOLS_ERROR_BYTES])
{
    static struct values with[MEASURE_MOST], without[MEASURE_MOST];
    struct start plain = *start, checked = *start;
    off_t input_offset = m->input >= 0 ? lseek(0, 0, SEEK_CUR) : -1;
    unsigned done = 0;
    int bad = 0;
    plain.runtime = NULL;
    plain.is_silent = checked.is_silent = true;
    for (; done < m->result.pairs && !bad; done += !bad) {
        for (unsigned round = 0; round < 2 && !bad; round++)
            bad = (done + round) % 2
                      ? run_checked(m, &checked, o, options_text, keeper, &with[done], err)
                      : run_once(m, &plain, keeper, &without[done], err);
        if (bad)
            break;
        m->result.otherwise += with[done].wait_status != wait_status;
        m->result.otherwise_without += without[done].wait_status != wait_status;
    }
    if (input_offset >= 0)
        lseek(0, input_offset, SEEK_SET);
    m->result.pairs = done;
    for (unsigned i = 0; i < MEASURED_COUNT && done > 0; i++)
        summarize(&m->result, i, with, without);
    return bad;
}

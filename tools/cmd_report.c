/*
 * cmd_report.c - `rtcheck report`: print the report of a run file.
 *
 * Without FILE it is the newest run that is kept, or the file of a run by hand whose
 * processes were killed before they could start a reporter.  --end FILE is that reporter.  It is
 * started by a checked process, which waits on a futex in the file.  --check IMAGE FILE reports a
 * leak check in mid-run.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/bits.h"
#include "tools.h"

/* ---- printing -------------------------------------------------------------------------------- */

/* Destination of the text. */
struct output {
    FILE *usual;
    const char *pool;   /* the kept file, or NULL */
    bool is_sanitizers; /* use log_path of LSAN_OPTIONS if it is set and log-file is not */
};

/*
 * LSAN_OPTIONS' log_path of a program that was in control.  A program that was not has no such log,
 * so its absence is visible to the caller.
 */
static bool sanitizers_log(struct report *r, const struct options *o, char *path, size_t room)
{
    struct report_image_fact main = report_main_image(r);
    char base[PATH_MAX - 16];

    if (*option_text(o, "log-file") || !(main.flags & IMAGE_IN_CONTROL) ||
        !lsan_option_of_process((pid_t)main.pid, "log_path", base, sizeof base) || !*base ||
        strcmp(base, "stdout") == 0 || strcmp(base, "stderr") == 0)
        return false;
    snprintf(path, room, "%s.%u", base, main.pid);
    return true;
}

static int log_path_of(struct report *r, const struct options *o, char *path, size_t room,
                       char err[TOOLS_ERROR_BYTES])
{
    struct report_image_fact main = report_main_image(r);
    struct log_facts facts = {main.exe ? main.exe : "", (pid_t)main.pid, main.image};

    return log_path_expand(option_text(o, "log-file"), &facts, path, room, err);
}

/*
 * The stream of the text: the log file if there is one, else to->usual.  NULL: err has the reason.
 */
static FILE *open_text(struct report *r, const struct options *o, struct output *to,
                       char err[TOOLS_ERROR_BYTES])
{
    char path[PATH_MAX];
    FILE *out;

    to->is_sanitizers = to->is_sanitizers && sanitizers_log(r, o, path, sizeof path);
    if (!to->is_sanitizers && !*option_text(o, "log-file"))
        return to->usual;
    if (!to->is_sanitizers && log_path_of(r, o, path, sizeof path, err))
        return NULL;
    out = fopen(path, report_run(r)->checks_reported ? "ae" : "we"); /* after leak checks: append */
    if (!out)
        fail(err, -errno, "log file %s: %s", path, strerror(errno));
    return out;
}

/* Print to `out`; to standard output on a terminal by $PAGER, then without a limit of lines. */
static bool print_text(struct report *r, FILE *out, struct print_options how)
{
    struct print_options complete = how;
    struct pager pager;

    complete.all = true;
    if (out == stdout && pager_start(&pager)) {
        report_print_text(r, out, &complete);
        if (pager_end(&pager))
            return true;
    }
    report_print_text(r, out, &how);
    return fflush(out) == 0 && !ferror(out);
}

/* Print text and files of a collected run. */
static int print(struct report *r, const struct options *o, struct output to,
                 char err[TOOLS_ERROR_BYTES])
{
    FILE *out = open_text(r, o, &to, err);
    struct print_options how;
    bool bad;

    if (!out)
        return -EINVAL;
    how = print_how(o, fileno(out), to.pool);
    if (to.is_sanitizers && !option_is_given(o, "format"))
        how.format = PRINT_LSAN;
    bad = !print_text(r, out, how);
    if (out != to.usual)
        bad |= fclose(out) != 0;
    if (bad)
        return fail(err, -EIO, "the report cannot be written");
    how = print_how(o, fileno(to.usual), to.pool);
    print_annotations(r, o, &how, to.usual);
    return print_files(r, o, &how, err);
}

/* ---- report FILE ----------------------------------------------------------------------------- */

/* The program's status is not available here: an incomplete run ends as one with problems. */
static int status_after(const struct options *o, const struct report *r)
{
    return status_of_findings(o, r, (int)option_number(o, "error-exitcode", 0), 0);
}

static int report_file_by(const char *path, const struct options *o,
                          const struct finding_rules *finding_rules)
{
    char err[TOOLS_ERROR_BYTES];
    struct report *r;
    int status, bad = run_open(&r, path, err);

    if (bad)
        return print_failure(err);
    request_data(r, o);
    bad = report_collect(r, err);
    if (!bad)
        bad = finding_rules_apply(finding_rules, r, o, err);
    if (!bad) {
        bad = print(r, o, (struct output){stdout, NULL, false}, err);
    }
    status = bad ? print_failure(err) : status_after(o, r);
    run_close(r);
    return status;
}

static int report_file(const char *path, const struct options *o)
{
    char err[TOOLS_ERROR_BYTES];
    struct finding_rules finding_rules;
    int status;

    if (finding_rules_read(o, &finding_rules, err))
        return print_failure(err);
    status = report_file_by(path, o, &finding_rules);
    finding_rules_free(&finding_rules);
    return status;
}

/* ---- report without FILE --------------------------------------------------------------------- */

static int report_newest(const struct options *o)
{
    char path[PATH_MAX], err[TOOLS_ERROR_BYTES];

    if (find_run(o, path, sizeof path, stdout, err))
        return print_failure(err);
    return report_file(path, o);
}

static int report_named(const char *word, const struct options *o)
{
    char path[PATH_MAX], err[TOOLS_ERROR_BYTES];

    if (find_run_named(word, path, sizeof path, err))
        return print_failure(err);
    return report_file(path, o);
}

/* ---- removal of old files -------------------------------------------------------------------- */

#define FORGOTTEN_SECONDS (7L * 24 * 3600)

/*
 * A killed run's file is kept for a week; then the next run by hand in this directory removes it.
 */
static void remove_if_forgotten(const char *path, time_t now)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    struct stat st;

    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        now - st.st_mtime < FORGOTTEN_SECONDS || report_open(&r, path, err) != 0)
        return;
    if (report_running(r) == 0)
        unlink(path);
    report_close(r);
}

static void remove_forgotten(const char *beside)
{
    char folder[PATH_MAX], path[PATH_MAX];
    const struct dirent *entry;
    snprintf(folder, sizeof folder, "%s", beside);
    char *slash = strrchr(folder, '/');
    if (!slash)
        return;
    *slash = '\0';
    DIR *dir = opendir(folder);
    while (dir && (entry = readdir(dir)))
        if (fnmatch("rtcheck.*.pool", entry->d_name, 0) == 0 &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            remove_if_forgotten(path, time(NULL));
    if (dir)
        closedir(dir);
}

/* ---- report --end FILE: started by a process that is about to end ---------------------------- */

/* The header shared with the processes of the run; NULL: it cannot be mapped. */
static struct run_header *live_header(int fd)
{
    struct run_header *run = mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return run == MAP_FAILED ? NULL : run;
}

/* Wake the process that waits, and store the status with which it must end; 0: its own. */
static void release_program(struct run_header *run, int wanted_status)
{
    if (!run)
        return;
    atomic_store(&run->status_requested, (uint32_t)wanted_status);
    atomic_store(&run->reported, 1);
    syscall(SYS_futex, &run->reported, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    munmap(run, sizeof *run);
}

static int options_of_run(struct options *o, struct report *r, char err[TOOLS_ERROR_BYTES])
{
    options_init(o);
    int bad = options_from_text(o, report_run(r)->options, err);
    return bad ? bad : check_skip(o, err);
}

/* A file stays if it is kept, or other processes still write it. */
static bool file_is_kept(struct report *r, const struct options *o)
{
    return option_flag(o, "keep") || report_running(r) > 0;
}

/*
 * The last process to end reports again if the report has changed; earlier ones would only repeat
 * it.
 */
static bool is_reported_by_others(struct report *r)
{
    return report_run(r)->reported != 0 && report_running(r) > 0;
}

/* Take LSAN_OPTIONS, except log_path, which print handles. */
static int take_lsan(struct options *o, struct report *r, bool prints, char err[TOOLS_ERROR_BYTES])
{
    struct report_image_fact main = report_main_image(r);
    char *text = lsan_text_of_process((pid_t)main.pid);
    struct warnings warnings = {0};
    int bad = lsan_options_take(o, text, main.exe ? main.exe : "", &warnings, err);

    sanitizer_options_take(o, text, "LSAN_OPTIONS");
    launcher_variables_name(o, (pid_t)main.pid);
    if (!option_flag(o, "demangle"))
        report_want_mangled(r);
    for (unsigned i = 0; !bad && i < warnings.count && prints; i++)
        fprintf(stderr, "rtcheck: note: %s\n", warnings.line[i]);
    if (!bad && prints)
        print_without_effect(o);
    free(text);
    return bad;
}

static int keep_whole(const struct options *o, const char *path, char err[TOOLS_ERROR_BYTES])
{
    int fd = *option_text(o, "keep-pool") ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    int bad = write_pool(o, fd, err);

    if (fd >= 0)
        close(fd);
    return bad;
}

static int report_end_with(struct report *r, const struct options *o,
                           const struct finding_rules *finding_rules, const char *path,
                           char err[TOOLS_ERROR_BYTES])
{
    bool is_kept = file_is_kept(r, o);
    int bad = finding_rules_apply(finding_rules, r, o, err);

    if (!bad)
        bad = print(r, o, (struct output){stderr, is_kept ? path : NULL, true}, err);
    if (!bad)
        bad = keep_whole(o, path, err);
    if (!bad && !is_kept)
        unlink(path);
    return bad;
}

/*
 * The status with which the program must end, 0: its own.  If the report failed, --error-exitcode
 * demands a failure, because the run may have problems.
 */
static int requested_status(const struct report *r, const struct options *o, bool is_bad)
{
    bool is_wanted = option_number(o, "error-exitcode", 0) > 0;

    return is_bad && is_wanted ? STATUS_SETUP : is_bad ? 0 : status_after(o, r);
}

/* The file is kept if the options, the rules or the file itself are invalid. */
static int report_end_of_file(struct report *r, const char *path, int *wanted_status)
{
    char err[TOOLS_ERROR_BYTES];
    struct finding_rules finding_rules = {0};
    struct options o;
    int bad = options_of_run(&o, r, err);

    if (!bad) {
        request_data(r, &o);
        bad = report_collect(r, err);
    }
    if (!bad)
        bad = take_lsan(&o, r, !option_flag(&o, "quiet"), err);
    if (!bad)
        bad = finding_rules_read(&o, &finding_rules, err);
    if (!bad)
        bad = report_end_with(r, &o, &finding_rules, path, err);
    *wanted_status = requested_status(r, &o, bad != 0);
    options_free(&o);
    finding_rules_free(&finding_rules);
    return bad ? print_failure(err) : 0;
}

/*
 * Open a regular file of this user: its options contain paths that are written.  Another user's
 * options could be forged, and a process that has changed its user since could not open this file.
 */
static int open_own(const char *path, char err[TOOLS_ERROR_BYTES])
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0)
        return fail(err, -errno, "%s cannot be opened: %s", path, strerror(errno));
    if (S_ISREG(st.st_mode) && st.st_uid == geteuid())
        return fd;
    close(fd);
    return fail(err, -EACCES, "%s is not a run file of yours", path);
}

/* Open the file of a run by hand, for one of its processes; < 0: the error was printed. */
static int open_run(const char *path, struct report **r)
{
    char err[REPORT_ERROR_BYTES];
    int fd = open_own(path, err);

    if (fd < 0)
        return -print_failure(err);
    if (report_open_fd(r, fd, path, err) != 0) {
        close(fd);
        return -print_failure(err);
    }
    return fd;
}

static int report_end(const char *path)
{
    struct run_header *run;
    struct report *r;
    int wanted_status = 0, status, fd = open_run(path, &r);

    if (fd < 0)
        return STATUS_SETUP;
    run = live_header(fd);
    if (run)
        wait_for_scanners(r, run);
    status = is_reported_by_others(r) ? 0 : report_end_of_file(r, path, &wanted_status);
    release_program(run,
                    wanted_status); /* also if the report failed: no process may wait forever */
    remove_forgotten(path);
    report_close(r);
    close(fd);
    return status;
}

/* ---- report --check IMAGE FILE: started by a process that waits in mid-run ------------------- */

int print_leak_check(struct report *r, int fd, struct check_choice choice)
{
    char err[TOOLS_ERROR_BYTES];
    struct options o;
    struct check_reported at[1];
    uint32_t count;
    struct finding_rules finding_rules = {0};
    FILE *out = NULL;
    int bad = options_of_run(&o, r, err);

    if (!bad && (bad = report_collect(r, err)) == 0 && (bad = take_lsan(&o, r, false, err)) == 0 &&
        (bad = finding_rules_read(&o, &finding_rules, err)) == 0)
        bad = (out = choice.requested ? stdout
                                      : open_text(r, &o, &(struct output){.usual = stderr}, err))
                  ? 0
                  : -EINVAL;
    if (!bad) {
        struct print_options how = print_how(&o, fileno(out), NULL);
        finding_rules_of_run(&finding_rules, &o, &how);
        count = report_checks(fd, choice, out, &how, at, 1);
        fflush(out);
        report_checks_done(fd, at, count);
    }
    if (out && out != stderr && out != stdout)
        fclose(out);
    options_free(&o);
    finding_rules_free(&finding_rules);
    return bad ? print_failure(err) : 0;
}

static int report_check(const char *image, const char *path)
{
    struct report *r;
    int status, fd = open_run(path, &r);

    if (fd < 0)
        return STATUS_SETUP;
    status =
        print_leak_check(r, fd, (struct check_choice){.image = (uint32_t)strtoul(image, NULL, 10)});
    report_close(r);
    close(fd);
    return status;
}

/* ---- the verb -------------------------------------------------------------------------------- */

/* Options of the run itself have no effect: no program runs. */
static bool has_effect(const char *option)
{
    static const char *const of_run[] = {"keep",
                                         "keep-pool",
                                         "measure",
                                         "allow-unchecked",
                                         "trace-children",
                                         "trace-children-skip",
                                         "witness",
                                         "strict-interior",
                                         "run-libc-freeres",
                                         "run-cxx-freeres",
                                         "heap",
                                         "pool-size",
                                         "events",
                                         "freelist-vol",
                                         "frames",
                                         "cost-every",
                                         "access",
                                         "access-every",
                                         "guard",
                                         "track-fds",
                                         "on-error",
                                         "error-limit",
                                         "malloc-fill",
                                         "free-fill",
                                         "counters",
                                         "interval",
                                         "log-fd",
                                         "xml-fd",
                                         "bytes"};

    return !option_is_among(option, of_run, countof(of_run));
}

static int report(struct options *o, int count, char **operands)
{
    if (*o->note)
        print_failure(o->note);
    return count > 0 ? report_named(operands[0], o) : report_newest(o);
}

const struct verb verb_report = {
    .name = "report",
    .usage = "report [OPTION]... [FILE|PID]",
    .about = "Prints the report of a run file, by default of the newest run that is kept,\n"
             "or of a process that is running.",
    .has_effect = has_effect,
    .most = 1,
    .act = report,
};

bool is_reporter(int argc, char **argv)
{
    return (argc == 3 && strcmp(argv[1], "--end") == 0) ||
           (argc == 4 && strcmp(argv[1], "--check") == 0);
}

int report_for_process(int argc, char **argv)
{
    return argc == 3 ? report_end(argv[2]) : report_check(argv[2], argv[3]);
}

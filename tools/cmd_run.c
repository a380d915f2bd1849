/*
 * cmd_run.c - `rtcheck PROGRAM`: do all preparations that can fail, start the program, wait for its
 * end, report.
 *
 * After the program's start rtcheck must not change the program's behaviour or its end.  Failures
 * from then on are only reported.
 */
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools.h"

#ifndef RTC_VERSION
#define RTC_VERSION "unknown"
#endif

struct run {
    struct options options;
    struct inspection program;
    char **argv;
    char runtime[PATH_MAX];
    char unchecked[TOOLS_ERROR_BYTES]; /* why it runs without the runtime; "" = it is checked */
    char options_text[OPTIONS_TEXT_BYTES];
    struct warnings warnings;
    struct warnings
        unwritten; /* requested output that could not be written: printed in spite of --quiet */
    struct run_file file;
    struct signal_state was;
    struct keeper keeper;
    struct started started;
    struct reaper reaper;
    struct finding_rules finding_rules;
    struct counters *counters; /* NULL: none were requested */
    struct tracker *tracker;   /* rows of the counters; NULL: none */
    struct sampler *sampler;   /* of --access=full; NULL: there are no samples */
    const struct sample_row *samples;
    size_t sample_count;
    char unsampled[TOOLS_ERROR_BYTES]; /* why there are none */
    uint64_t begin_ns;                 /* CLOCK_MONOTONIC at the program's release */
    struct counter_row counter_rows[COUNTERS_MAX];
    unsigned counter_count;
    struct measuring measuring;
    struct report *report; /* NULL: the run file cannot be read, err has the reason */
    int log;               /* descriptor of the text; -1 = none */
    int log_fd;            /* a copy of --log-fd; -1 = not given */
    char log_path[PATH_MAX];
    int wait_status;
    int sent; /* first signal sent to end the program; 0: none */
    struct rusage usage;
    char pool[PATH_MAX]; /* path of the kept file, "" = none */
    char err[TOOLS_ERROR_BYTES];
};

/* Print r->err, one line (or several for a malformed file), to stderr if it was open. */
static int report_failure(const struct run *r, int status)
{
    char line[TOOLS_ERROR_BYTES + 16];
    int n = snprintf(line, sizeof line, "rtcheck: %s\n", r->err);
    if (fds_was_open(2))
        text_write(2, line, (size_t)n);
    return status;
}

/* ---- before ---------------------------------------------------------------------------------- */

int print_version(void)
{
    struct utsname os;
    char path[PATH_MAX], err[TOOLS_ERROR_BYTES];
    if (uname(&os) != 0)
        strcpy(os.release, "?");
    printf("rtcheck " RTC_VERSION "\n"
           "run file %u.%u, report rtcheck-report/1, heap=private, heap=file\n"
           "x86-64, Linux %s, glibc %s\n"
           "library %s\n",
           RTC_VERSION_MAJOR, RTC_VERSION_MINOR, os.release, gnu_get_libc_version(),
           runtime_path(path, sizeof path, err) == 0 ? path : err);
    return 0;
}

static int make_counters(struct run *r)
{
    const char *list = option_text(&r->options, "counters");
    if (option_is_given(&r->options, "counters"))
        return counters_make(&r->counters, list, r->err);
    return option_is_given(&r->options, "interval")
               ? fail(r->err, -EINVAL, "option interval: of what? (--counters=LIST)")
               : 0;
}

/* Copy the descriptor before its number can be taken by one of the launcher's own. */
static int copy_log_fd(struct run *r)
{
    int fd = (int)option_number(&r->options, "log-fd", 2);
    bool is_given = option_is_given(&r->options, "log-fd") && fd != 2;
    r->log_fd = is_given ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    return is_given && r->log_fd < 0
               ? fail(r->err, -errno, "option log-fd: descriptor %d is not open", fd)
               : 0;
}

/* An invalid log file name is a usage error: detect it before the program starts. */
static int check_log_name(struct run *r)
{
    char path[PATH_MAX];
    struct log_facts facts = {r->argv[0], getpid(), 1};
    int bad =
        log_path_expand(option_text(&r->options, "log-file"), &facts, path, sizeof path, r->err);
    return bad ? bad
               : log_path_expand(option_text(&r->options, "xml-file"), &facts, path, sizeof path,
                                 r->err);
}

/* XML needs a place; a descriptor must be open. */
static int check_xml(struct run *r)
{
    int fd = (int)option_number(&r->options, "xml-fd", 0);
    if (!xml_wanted(&r->options) || *option_text(&r->options, "xml-file"))
        return 0;
    if (!option_is_given(&r->options, "xml-fd"))
        return fail(r->err, -EINVAL, "option xml: where to? (--xml-file or --xml-fd)");
    return fcntl(fd, F_GETFD) < 0
               ? fail(r->err, -errno, "option xml-fd: descriptor %d is not open", fd)
               : 0;
}

/* Start the program without the runtime; it is not measured then. */
static void run_unchecked(struct run *r, const char *why)
{
    snprintf(r->unchecked, sizeof r->unchecked, "%s", why);
    r->measuring.result.pairs = 0;
    if (option_number(&r->options, "measure", 0) > 0)
        warnings_add(&r->unwritten, "not measured: the program is not checked");
}

/* Settings in variables of other tools, for options that were not given. */
static int take_environment(struct run *r)
{
    const char *lsan = getenv("LSAN_OPTIONS"), *asan = getenv("ASAN_OPTIONS");
    int bad = lsan_options_take(&r->options, lsan, r->program.path, &r->warnings, r->err);
    if (!bad)
        bad = lsan_log_take(&r->options, lsan, r->err);
    if (!bad)
        bad = lsan_log_take(&r->options, asan, r->err);
    sanitizer_options_take(&r->options, lsan, "LSAN_OPTIONS");
    sanitizer_options_take(&r->options, asan, "ASAN_OPTIONS");
    malloc_variables_take(&r->options);
    return bad;
}

void print_without_effect(const struct options *o)
{
    if (*o->without_effect && !option_flag(o, "quiet"))
        fprintf(stderr, "rtcheck: note: accepted without effect: %s\n", o->without_effect);
}

/* 0: continue; else the exit status, and the message has been printed. */
static int prepare(struct run *r)
{
    if (copy_log_fd(r) || check_xml(r) || check_skip(&r->options, r->err) ||
        check_files(&r->options, r->err))
        return report_failure(r, STATUS_SETUP);
    int bad = inspect_program(r->argv[0], &r->program, r->err);
    if (bad)
        return report_failure(r, bad == -ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUNNABLE);
    if (check_stacks(&r->options, r->err) || catch_begin(&r->options, r->program.path, r->err) ||
        (r->program.is_checkable &&
         plans_begin(&r->options, r->program.path, &r->warnings, r->err)) ||
        take_environment(r) || check_log_name(r) || make_counters(r) ||
        finding_rules_read(&r->options, &r->finding_rules, r->err) ||
        options_canonical(&r->options, r->options_text, r->err))
        return report_failure(r, STATUS_SETUP);
    r->file.fd = -1;
    if (!r->program.is_checkable) {
        run_unchecked(r, r->program.reason);
        if (option_flag(&r->options, "allow-unchecked"))
            return 0;
        print_files(NULL, &r->options, NULL, r->err); /* remove files of an earlier run */
        fail(r->err, 0, "program was not checked: %s: %s (--allow-unchecked runs it)",
             r->program.path, r->program.reason);
        return report_failure(r, STATUS_NOT_IN_CONTROL);
    }
    if (runtime_path(r->runtime, sizeof r->runtime, r->err) ||
        run_file_check_heap(&r->options, r->err))
        return report_failure(r, STATUS_SETUP);
    if (measure_begin(&r->measuring, option_number(&r->options, "measure", 0), r->err))
        return report_failure(r, STATUS_SETUP);
    /* A limit of the machine is not a reason to refuse to run the program. */
    if (run_file_make(&r->file, &r->options, r->options_text, &r->warnings, r->err))
        run_unchecked(r, r->err);
    return 0;
}

static int open_log(struct run *r)
{
    const char *pattern = option_text(&r->options, "log-file");
    struct log_facts facts = {r->argv[0], r->started.pid, 1};
    r->log = r->log_fd >= 0 ? r->log_fd : fds_was_open(2) ? 2 : -1;
    if (!*pattern)
        return 0;
    int bad = log_path_expand(pattern, &facts, r->log_path, sizeof r->log_path, r->err);
    if (bad)
        return bad;
    int how = rerun_is_second() ? O_APPEND : O_TRUNC; /* it has the report of the first run */
    r->log = open(r->log_path, O_WRONLY | O_CREAT | how | O_CLOEXEC | O_NOCTTY, 0666);
    return r->log < 0 ? fail(r->err, -errno, "log file %s: %s", r->log_path, strerror(errno)) : 0;
}

/* ---- while it runs --------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void count_program(struct run *r)
{
    if (r->program.is_guarded)
        counters_deny(r->counters);
    else
        counters_open(r->counters, r->started.pid);
    if (option_is_given(&r->options, "interval"))
        r->tracker =
            tracker_start(r->counters, r->started.pid, option_number(&r->options, "interval", 0),
                          r->log, &r->unwritten);
}

/* With --access=full: which code takes the time? */
static void sample_program(struct run *r)
{
    if (r->program.is_guarded)
        fail(r->unsampled, -EPERM, "exec of this program revokes perf events");
    else
        sampler_start(&r->sampler, r->started.pid, r->unsampled);
}

static bool is_sampled(const struct run *r)
{
    return !*r->unchecked && strcmp(option_text(&r->options, "access"), "full") == 0 &&
           !option_flag(&r->options, "deterministic");
}

static void set_access_time(struct run *r)
{
    struct access_time time = {0};

    if (r->sampler)
        access_time_make(&time, r->report, r->samples, r->sample_count);
    else
        snprintf(time.why, sizeof time.why, "%.127s", r->unsampled);
    report_set_access_time(r->report, &time);
}

/* Skip programs that did not start, and those that were killed or sent a signal to end. */
static void measure_pairs(struct run *r, const struct start *start)
{
    char err[TOOLS_ERROR_BYTES];
    const char *why = WIFSIGNALED(r->wait_status) ? "the program was killed"
                      : WEXITSTATUS(r->wait_status) == STATUS_NOT_FOUND
                          ? "it ended with 127, as what does not start"
                      : r->sent ? "it was asked to end"
                                : NULL;
    r->measuring.how = r->reaper.how;
    if (why) {
        r->measuring.result.pairs = 0;
        warnings_add(&r->unwritten, "not measured: %s", why);
    } else if (measure(&r->measuring, start, &r->options, r->options_text, &r->keeper,
                       r->wait_status, err)) {
        warnings_add(&r->unwritten, "measured %u times only: %.120s", r->measuring.result.pairs,
                     err);
    }
}

/* Has the report the table of blocks in use, by ids? */
static bool prints_records(const struct options *o)
{
    enum print_use use = print_how(o, -1, NULL).use;
    return !option_flag(o, "quiet") && (use == PRINT_USE_TABLE || use == PRINT_USE_STACKS);
}

/* Read records of ended processes while others still run. */
static void reap_meanwhile(struct run *r)
{
    if (*r->unchecked || report_open_fd(&r->report, r->file.fd, "the run", r->err) != 0)
        return;
    request_data(r->report, &r->options);
    report_keep(r->report, (uint32_t)r->started.pid);
    if (prints_records(&r->options))
        report_keep_blocks(r->report);
    r->reaper = (struct reaper){.report = r->report,
                                .file = &r->file,
                                .log = r->log,
                                .how = print_how(&r->options, r->log, NULL)};
    finding_rules_of_run(&r->finding_rules, &r->options, &r->reaper.how);
    reaper_start(&r->reaper, &r->warnings);
}

/* Start the program and wait for its end.  -errno: it was never started. */
static int run_program(struct run *r)
{
    struct start start = {
        .program = &r->program,
        .argv = r->argv,
        .runtime = *r->unchecked ? NULL : r->runtime,
        .file = &r->file,
        .was = &r->was,
    };
    char **last = r->argv;
    while (last[1])
        last++;
    signals_begin(&r->was);
    keeper_start(&r->keeper, &r->file, r->program.path, *last, &r->warnings);
    int bad = start_fork(&start, &r->started, r->err);
    if (!bad && (bad = open_log(r)) != 0) {
        start_error(&r->started); /* gives up: the child exits silently */
        waitpid(r->started.pid, NULL, 0);
    }
    if (bad)
        return bad;
    signals_let_through(&r->was, &r->keeper);
    keeper_watch(&r->keeper, r->started.pid);
    if (r->counters)
        count_program(r);
    if (is_sampled(r))
        sample_program(r);
    r->begin_ns = now_ns();
    start_release(&r->started);
    reap_meanwhile(r);
    r->wait_status = signals_wait(r->started.pid, &r->keeper, &r->usage, &r->sent);
    if (r->sampler)
        r->sample_count = sampler_end(r->sampler, &r->samples);
    if (r->tracker)
        tracker_end(r->tracker, &r->unwritten);
    if (r->counters)
        r->counter_count =
            counters_read(r->counters, &r->usage, now_ns() - r->begin_ns, r->counter_rows);
    if (r->measuring.result.pairs > 0)
        measure_pairs(r, &start);
    signals_after_program(&r->was);
    reaper_end(&r->reaper);
    if (r->report && option_flag(&r->options, "witness"))
        wait_for_scanners(r->report, r->file.run);
    return 0;
}

/* ---- after ----------------------------------------------------------------------------------- */

/* exec failed: print the message of a shell and return its status. */
static int report_not_runnable(struct run *r, int bad)
{
    fail(r->err, 0, "%s: %s", r->argv[0], strerror(-bad));
    return report_failure(r, bad == -ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUNNABLE);
}

enum control {
    CONTROL_GAINED,
    CONTROL_NOT_YET, /* it ended before control could be determined */
    CONTROL_NONE,
};

/* Was the program checked?  If not, `why` gets the reason. */
static enum control find_control(struct run *r, char why[TOOLS_ERROR_BYTES])
{
    if (*r->unchecked)
        return fail(why, CONTROL_NONE, "%s", r->unchecked);
    if (!r->report)
        return fail(why, CONTROL_NONE, "the run file cannot be read: %s", r->err);
    struct report_image_fact fact = report_image_of_pid(r->report, (uint32_t)r->started.pid);
    if (fact.found && fact.flags & IMAGE_IN_CONTROL)
        return CONTROL_GAINED;
    if (fact.found && (fact.is_refused || fact.flags & IMAGE_OWN_MALLOC))
        return CONTROL_NONE;
    if (WIFSIGNALED(r->wait_status))
        return fail(why, CONTROL_NOT_YET, "it ended before its state was known");
    if (WEXITSTATUS(r->wait_status) == STATUS_NOT_FOUND) /* ld.so's status for a missing library */
        return fail(why, CONTROL_NOT_YET, "it ended before librtcheck.so was loaded");
    return fact.found ? CONTROL_NONE
                      : fail(why, CONTROL_NONE,
                             "it has no image in the run: LD_PRELOAD was lost, or the run file "
                             "could not be used");
}

/* Write counters and measurements, which only this process has, into the kept file. */
static void report_file_kept(struct run *r)
{
    bool is_requested = r->counters || option_number(&r->options, "measure", 0) > 0;
    int bad = is_requested && r->report ? report_write_launcher_record(r->report, r->file.fd) : 0;
    if (bad)
        warnings_add(&r->unwritten, "counters and measures are not in the run file: %s",
                     strerror(-bad));
}

/* Are there findings or records with ids, which `rtcheck show` can print from the kept file? */
static bool has_reported(const struct run *r)
{
    return r->report && (problems_of(&r->options, r->report) > 0 ||
                         report_shows_errors(r->report) || prints_records(&r->options));
}

/* A killed program with its heap in the run file: `rtcheck show --bytes` prints it. */
static bool has_dead_heap(const struct run *r)
{
    return WIFSIGNALED(r->wait_status) && strcmp(option_text(&r->options, "heap"), "file") == 0;
}

static void keep_pool(struct run *r)
{
    char err[TOOLS_ERROR_BYTES];
    bool wanted = option_flag(&r->options, "keep") || has_reported(r) || has_dead_heap(r);
    if (!wanted || *r->unchecked)
        return;
    report_file_kept(r);
    int bad = state_run_path(r->pool, sizeof r->pool, r->program.path, r->started.pid, err);
    if (!bad)
        bad = state_keep(r->file.fd, r->pool, sizeof r->pool, err);
    if (bad) {
        r->pool[0] = '\0';
        warnings_add(&r->unwritten, "run file not kept: %.130s", err);
    }
}

static void write_files(struct run *r)
{
    struct print_options how = print_how(&r->options, -1, NULL);
    char err[TOOLS_ERROR_BYTES];
    if (rerun_is_second() && (!r->report || problems_of(&r->options, r->report) == 0))
        return; /* they have the report of the first run */
    if (print_files(r->report, &r->options, &how, err))
        warnings_add(&r->unwritten, "%.150s", err);
    if (write_pool(&r->options, *r->unchecked ? -1 : r->file.fd, err))
        warnings_add(&r->unwritten, "%.150s", err);
}

/* Print to stderr, wherever the text is written: the CI runner reads it there. */
static void annotate(struct run *r, const struct print_options *how)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = fds_was_open(2) ? open_memstream(&text, &bytes) : NULL;
    if (!out)
        return;
    print_annotations(r->report, &r->options, how, out);
    if (fclose(out) == 0)
        text_write(2, text, bytes);
    free(text);
}

static void print_warnings(const struct warnings *warnings, FILE *out)
{
    for (unsigned i = 0; i < warnings->count; i++)
        fprintf(out, "rtcheck: note: %s\n", warnings->line[i]);
}

/* The last line if the report does not have it, because nothing was recorded of the program. */
static void print_verdict(const struct run *r, const char *why, FILE *out)
{
    int status = r->wait_status;
    fprintf(out, "rtcheck: program was not checked: %s: %s; ", r->program.path, why);
    const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
    if (WIFSIGNALED(status))
        fprintf(out, "killed by signal %d (SIG%s)\n", WTERMSIG(status), name ? name : "?");
    else
        fprintf(out, "exit status %d\n", WEXITSTATUS(status));
}

/* Report a failed write: a truncated log looks like the log of a run without problems. */
static void write_log(struct run *r, const char *text, size_t bytes)
{
    int bad = text_write(r->log, text, bytes);

    if (bad && *r->log_path) {
        fail(r->err, bad, "log file %s: %s", r->log_path, strerror(-bad));
        report_failure(r, 0);
    }
}

/* Write all text of the run at once; the last line is the verdict. */
static void print_text(struct run *r, enum control control, const char *why)
{
    struct print_options how = print_how(&r->options, r->log, r->pool[0] ? r->pool : NULL);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = r->log >= 0 ? open_memstream(&text, &bytes) : NULL;
    if (!out)
        return;
    if (!how.quiet || control != CONTROL_GAINED)
        print_warnings(&r->warnings, out);
    print_warnings(&r->unwritten, out);
    if (*why && !how.deterministic)
        report_print_counters(r->counter_rows, r->counter_count, out);
    if (*why)
        print_verdict(r, why, out);
    else
        report_print_text(r->report, out, &how);
    if (fclose(out) == 0)
        write_log(r, text, bytes);
    free(text);
    if (r->report)
        annotate(r, &how);
}

static void warn_of_guards(struct run *r)
{
    if (!*option_text(&r->options, "guard-stacks"))
        return;
    if (!report_has_guarded_stack(r->report))
        warnings_add(&r->unwritten,
                     "no block with the allocation stack of the earlier run was guarded: "
                     "docs/bad-writes.md");
    else if (WIFSIGNALED(r->wait_status))
        warnings_add(&r->unwritten, "guarded blocks may be aligned less than malloc promises: "
                                    "docs/bad-writes.md");
}

static enum control report_result(struct run *r)
{
    char why[TOOLS_ERROR_BYTES] = "";
    if (r->report) {
        report_set_counters(r->report, r->counter_rows, r->counter_count);
        report_set_measured(r->report, &r->measuring.result);
        report_set_exit(r->report, (uint32_t)r->started.pid, r->wait_status, &r->usage);
        if (report_collect(r->report, r->err) != 0) {
            report_close(r->report);
            r->report = NULL;
        } else if (finding_rules_apply(&r->finding_rules, r->report, &r->options, r->err) != 0) {
            warnings_add(&r->unwritten, "%.150s", r->err);
        }
    }
    if (r->report && is_sampled(r))
        set_access_time(r);
    sampler_free(r->sampler);
    enum control control = find_control(r, why);
    if (control == CONTROL_GAINED)
        warn_of_guards(r);
    keep_pool(r);
    write_files(r);
    print_text(r, control, why);
    return control;
}

/* The program's status or signal, unless --error-exitcode or "not in control" overrides it. */
static int final_status(const struct run *r, enum control control)
{
    if (control == CONTROL_NONE && !option_flag(&r->options, "allow-unchecked"))
        return STATUS_NOT_IN_CONTROL;
    if (rerun_is_second())
        return rerun_status(0);
    if (WIFSIGNALED(r->wait_status))
        signals_end_as(WTERMSIG(r->wait_status));
    return status_of_findings(&r->options, r->report, STATUS_NOT_IN_CONTROL,
                              WEXITSTATUS(r->wait_status));
}

static int run_and_report(struct run *r)
{
    int bad = run_program(r);
    if (bad)
        report_failure(r, 0);
    int unstarted = bad ? 0 : start_error(&r->started);
    enum control control = bad || unstarted ? CONTROL_NONE : report_result(r);
    keeper_end(&r->keeper);
    counters_free(r->counters);
    run_file_close(&r->file);
    if (control == CONTROL_GAINED && option_flag(&r->options, "rerun"))
        rerun(&(struct rerun){
            .operands = r->argv,
            .options = &r->options,
            .report = r->report,
            .was = &r->was,
            .log = r->log,
            .wait_status = r->wait_status,
            .sent = r->sent,
        });
    if (bad)
        return STATUS_SETUP;
    return unstarted ? report_not_runnable(r, unstarted) : final_status(r, control);
}

static int run(struct options *o, int count, char **operands)
{
    static struct run r;
    r.log = -1;
    r.options = *o;
    options_init(o); /* r.options owns the values: LSAN_OPTIONS change them */
    if (strcmp(option_text(&r.options, "counters"), "help") == 0) {
        counters_list();
        return fflush(stdout) == 0 && !ferror(stdout) ? 0 : STATUS_SETUP;
    }
    if (count == 0)
        return print_failure("no program to run (see rtcheck --help)");
    r.argv = operands;
    if (*r.options.note)
        warnings_add(&r.warnings, "%s", r.options.note);
    int status = prepare(&r);
    if (!status) /* before the program starts: the run is not quite what the caller requested */
        print_without_effect(&r.options);
    return status ? status : run_and_report(&r);
}

static bool has_effect(const char *option)
{
    return strcmp(option, "bytes") != 0; /* of rtcheck show */
}

const struct verb verb_run = {
    .name = "run",
    .usage = "[run] [OPTION]... [--] PROGRAM [ARGUMENT]...",
    .about = "Runs PROGRAM, unmodified, with its memory checked, and reports afterwards its\n"
             "errors and the memory that it held; needs no privileges.  Options may be\n"
             "abbreviated and may have one dash:",
    .notes = "The same as KEY=VALUE:KEY=VALUE, with _ for -, in RTCHECK_OPTIONS.\n"
             "Status: 125 usage or set-up, 126 or 127 PROGRAM cannot be run, 120 it cannot be\n"
             "checked; PROGRAM's signal; --error-exitcode when there were problems; 120 when\n"
             "the report is incomplete; else PROGRAM's own status.",
    .has_effect = has_effect,
    .most = OPERANDS_ANY,
    .act = run,
};

/*
 * As valgrind: only --leak-check=full prints leaks one by one, and only then they are errors.  XML
 * takes the place of the text.
 */
static int run_as_valgrind(struct options *o, int count, char **operands)
{
    char err[TOOLS_ERROR_BYTES];
    bool is_summary = strcmp(option_text(o, "leak-check"), "summary") == 0;
    bool has_log = *option_text(o, "log-file") || option_is_given(o, "log-fd");
    if ((is_summary && option_give(o, "errors-for-leak-kinds", "none", err)) ||
        (xml_wanted(o) && !has_log && option_give(o, "log-file", "/dev/null", err)))
        return print_failure(err);
    return run(o, count, operands);
}

const struct verb verb_valgrind = {
    .name = "valgrind",
    .usage = "[OPTION]... PROGRAM [ARGUMENT]...",
    .about = "Runs PROGRAM under rtcheck with the options, defaults and output of valgrind's\n"
             "memcheck.  All options of valgrind: --help=valgrind.",
    .initial = "tool=memcheck:leak_check=summary:trace_children=no:num_callers=12:"
               "run_libc_freeres=yes:run_cxx_freeres=yes",
    .has_effect = has_effect,
    .is_valgrind = true,
    .least = 1,
    .most = OPERANDS_ANY,
    .act = run_as_valgrind,
};

/*
 * rerun.c - --rerun: run the program again, with the blocks of its late bad writes guarded.
 *
 * The second run is the same command in the same process, by exec.  Its end and status are those of
 * the first run, which an environment variable keeps.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools.h"

#define STACKS_BYTES (GUARD_STACKS_MOST * REPORT_GUARD_BYTES)
#define VARIABLE "RTCHECK_FIRST_RUN" /* of rtcheck only: the program does not get it */
#define BY_SIGNAL 256

static struct {
    char **argv; /* of main */
    off_t input_at;
    bool is_second;
    int status; /* of the first run; from BY_SIGNAL on a signal */
} first;

void rerun_begin(char **argv)
{
    const char *status = getenv(VARIABLE);
    first.argv = argv;
    first.input_at = lseek(0, 0, SEEK_CUR);
    first.is_second = status;
    first.status = status ? atoi(status) : 0;
    unsetenv(VARIABLE);
}

bool rerun_is_second(void)
{
    return first.is_second;
}

int rerun_status(int status)
{
    if (!first.is_second)
        return status;
    if (first.status >= BY_SIGNAL)
        signals_end_as(first.status - BY_SIGNAL);
    return first.status;
}

/* What a run has read of a pipe is gone. */
static bool is_possible(void)
{
    struct stat st;
    return fstat(0, &st) != 0 || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

static bool keep_status(const struct rerun *r)
{
    char text[16];
    if (!first.is_second)
        first.status = WIFSIGNALED(r->wait_status)
                           ? BY_SIGNAL + WTERMSIG(r->wait_status)
                           : status_of_findings(r->options, r->report, STATUS_NOT_IN_CONTROL,
                                                WEXITSTATUS(r->wait_status));
    snprintf(text, sizeof text, "%d", first.status);
    return setenv(VARIABLE, text, 1) == 0;
}

static unsigned count_of(const char *stacks)
{
    unsigned count = *stacks != '\0';
    for (; *stacks; stacks++)
        count += *stacks == ',';
    return count;
}

static bool has_stack(const char *stacks, const char *text)
{
    size_t n = strlen(text);
    for (const char *at = stacks; (at = strstr(at, text)); at += n)
        if (at[n] == ',' || at[n] == '\0')
            return true;
    return false;
}

/* Add "KEY.EDGEGAP", unless the key is there.  false: it is, or there are as many as possible. */
static bool add_stack(char *stacks, const char *text)
{
    char key[REPORT_GUARD_BYTES];
    size_t used = strlen(stacks);
    snprintf(key, sizeof key, "%.*s", (int)strcspn(text, ".") + 1, text);
    if (strstr(stacks, key) || count_of(stacks) == GUARD_STACKS_MOST)
        return false;
    snprintf(stacks + used, STACKS_BYTES - used, "%s%s", used ? "," : "", text);
    return true;
}

/* Add those of a list that `guarded` lacks; returns whether there was one. */
static bool add_stacks(char *stacks, char *list, const char *guarded)
{
    bool is_added = false;
    char *rest = NULL;
    for (char *one = strtok_r(list, ",", &rest); one; one = strtok_r(NULL, ",", &rest))
        is_added |= !has_stack(guarded, one) && add_stack(stacks, one);
    return is_added;
}

/*
 * The value of --guard-stacks for the late bad writes of a run in which `guarded` was its value;
 * returns the number of writes for which it adds some.  Stacks that were guarded stay so, unless
 * another edge is needed.
 */
static unsigned find(struct report *r, const char *guarded, char stacks[STACKS_BYTES])
{
    char id[CATCH_MOST][REPORT_ID_BYTES], text[STACKS_BYTES], why[TOOLS_ERROR_BYTES];
    unsigned count = 0, late = report_late_writes(r, id, CATCH_MOST);
    stacks[0] = '\0';
    for (unsigned i = 0; i < late; i++)
        if (report_guard_text(r, id[i], text, why, sizeof why) == 0)
            count += add_stacks(stacks, text, guarded);
    if (!count)
        return 0;
    snprintf(text, sizeof text, "%s", guarded);
    add_stacks(stacks, text, "");
    return count;
}

/* The options must precede the program, and "--" if that is there. */
static unsigned options_end(char **operands)
{
    unsigned end = (unsigned)(operands - first.argv);
    return end > 1 && strcmp(first.argv[end - 1], "--") == 0 ? end - 1 : end;
}

/*
 * Replace this process by the same command with these stacks.  It returns only on failure: err has
 * the reason.
 */
static void exec_again(const struct rerun *r, const char *stacks, bool is_last,
                       char err[TOOLS_ERROR_BYTES])
{
    unsigned count = 0, end = options_end(r->operands);
    char given[STACKS_BYTES + sizeof "--guard-stacks="], more[] = "--rerun=yes",
                                                         last[] = "--rerun=no", none[] = "--catch=";
    while (first.argv[count])
        count++;
    char **argv = calloc(count + 4, sizeof *argv);
    if (!argv || !keep_status(r)) {
        fail(err, -ENOMEM, "not run again: no memory");
        return;
    }
    memcpy(argv, first.argv, end * sizeof *argv);
    snprintf(given, sizeof given, "--guard-stacks=%s", stacks);
    argv[end] = is_last ? last : more;
    argv[end + 1] = none;
    argv[end + 2] = given;
    memcpy(argv + end + 3, first.argv + end, (count - end) * sizeof *argv);
    if (first.input_at >= 0)
        lseek(0, first.input_at, SEEK_SET);
    execv("/proc/self/exe", argv);
    fail(err, 0, "not run again: %s", strerror(errno));
    free(argv);
    unsetenv(VARIABLE);
}

/* Was it ended from outside? */
static bool is_stopped(const struct rerun *r)
{
    int by = WIFSIGNALED(r->wait_status) ? WTERMSIG(r->wait_status) : 0;
    return r->sent || by == SIGINT || by == SIGTERM || by == SIGHUP || by == SIGQUIT ||
           by == SIGKILL;
}

static void print_line(const struct rerun *r, const char *text)
{
    char line[TOOLS_ERROR_BYTES + 16];
    int n = snprintf(line, sizeof line, "rtcheck: %s\n", text);
    text_write(r->log, line, (size_t)n);
}

void rerun(const struct rerun *r)
{
    char stacks[STACKS_BYTES], err[TOOLS_ERROR_BYTES], text[TOOLS_ERROR_BYTES];
    const char *guarded = option_text(r->options, "guard-stacks");
    unsigned count = r->report && !is_stopped(r) ? find(r->report, guarded, stacks) : 0;
    if (!count)
        return;
    if (!is_possible()) {
        print_line(r, "note: not run again: standard input is a pipe");
        return;
    }
    snprintf(text, sizeof text,
             "running it again, with the blocks of %u late bad write%s guarded\n", count,
             count > 1 ? "s" : "");
    print_line(r, text);
    signals_give_back(r->was);
    exec_again(r, stacks, *guarded, err);
    snprintf(text, sizeof text, "note: %.400s", err);
    print_line(r, text);
}

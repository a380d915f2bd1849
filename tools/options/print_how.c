/* print_how.c - the options about the report's text, as struct print_options. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "options.h"

#define COLUMNS_LEAST 40
#define COLUMNS_MOST 1000
#define COLUMNS_UNKNOWN 100

static bool is_smart_terminal(int fd)
{
    const char *term = getenv("TERM");

    return isatty(fd) && !(term && strcmp(term, "dumb") == 0);
}

/* no-color.org: NO_COLOR counts if it is set and not empty, whatever its value. */
static bool wants_color(const struct options *o, int fd)
{
    const char *color = option_text(o, "color"), *no = getenv("NO_COLOR");

    if (strcmp(color, "auto") != 0)
        return strcmp(color, "always") == 0;
    return is_smart_terminal(fd) && !(no && *no);
}

/* There is no query for OSC 8: these variables are set by terminals that support it. */
static bool wants_links(const struct options *o, int fd)
{
    static const char *const known[] = {
        "VTE_VERSION", "KONSOLE_VERSION", "KITTY_WINDOW_ID",  "WEZTERM_PANE",
        "WT_SESSION",  "DOMTERM",         "ITERM_SESSION_ID", "GHOSTTY_RESOURCES_DIR"};
    const char *links = option_text(o, "hyperlinks");

    if (strcmp(links, "auto") != 0)
        return strcmp(links, "always") == 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (getenv(known[i]))
            return is_smart_terminal(fd);
    return false;
}

/* The width of the terminal; COLUMNS counts also without one. 0: the text is for a log. */
static unsigned columns(int fd)
{
    const char *given = getenv("COLUMNS");
    long wanted = given ? strtol(given, NULL, 10) : 0;
    struct winsize size;

    if (wanted >= COLUMNS_LEAST && wanted <= COLUMNS_MOST)
        return (unsigned)wanted;
    if (!isatty(fd))
        return 0;
    if (ioctl(fd, TIOCGWINSZ, &size) || size.ws_col < COLUMNS_LEAST || size.ws_col > COLUMNS_MOST)
        return COLUMNS_UNKNOWN;
    return size.ws_col;
}

/* The height of the terminal without the prompt; 0: not known. */
static unsigned lines(int fd)
{
    struct winsize size;

    return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row - 1u
                                                                              : 0;
}

static unsigned source_lines(const struct options *o, int fd)
{
    return isatty(fd) || option_is_given(o, "source") ? option_number(o, "source", 1) : 0;
}

static enum print_use print_use(const struct options *o)
{
    const char *at_exit = option_text(o, "rtc-biu-at-exit");

    if (strcmp(at_exit, "off") == 0)
        return PRINT_USE_NOTHING;
    if (strcmp(at_exit, "verbose") == 0)
        return PRINT_USE_STACKS;
    return option_flag(o, "memuse") || option_flag(o, "verbose") ? PRINT_USE_TABLE : PRINT_USE_SUM;
}

static enum print_leaks print_leaks(const struct options *o)
{
    const char *check = option_text(o, "leak-check"), *at_exit = option_text(o, "rtc-mel-at-exit");

    if (!option_flag(o, "leaks") || strcmp(check, "no") == 0 || strcmp(at_exit, "off") == 0)
        return PRINT_LEAKS_NOTHING;
    if (strcmp(check, "summary") == 0)
        return PRINT_LEAKS_SUMMARY;
    return strcmp(check, "table") == 0 && strcmp(at_exit, "verbose") != 0 ? PRINT_LEAKS_TABLE
                                                                          : PRINT_LEAKS_RECORDS;
}

static enum print_format print_format(const struct options *o)
{
    const char *format = option_text(o, "format");
    bool is_memcheck = strcmp(option_text(o, "tool"), "memcheck") == 0;

    if (strcmp(format, "gcc") == 0)
        return PRINT_GCC;
    if (strcmp(format, "github") == 0)
        return PRINT_GITHUB;
    if (strcmp(format, "lsan") == 0 || strcmp(format, "asan") == 0)
        return PRINT_LSAN;
    if (strcmp(format, "valgrind") == 0 || strcmp(format, "ctest") == 0)
        return PRINT_VALGRIND;
    return is_memcheck && !option_is_given(o, "format") ? PRINT_VALGRIND : PRINT_TEXT;
}

unsigned kinds_shown(const struct options *o)
{
    return option_leak_kinds(o, "show-leak-kinds") |
           (option_flag(o, "show-reachable") ? LEAK_REACHABLE | LEAK_INDIRECT : 0);
}

/* Leaks that are not reported are no problems. */
unsigned problem_kinds(const struct options *o)
{
    return print_leaks(o) == PRINT_LEAKS_NOTHING ? 0
                                                 : option_leak_kinds(o, "errors-for-leak-kinds");
}

/* Kinds that are reported, as problems or not. */
unsigned baseline_kinds(const struct options *o)
{
    return print_leaks(o) == PRINT_LEAKS_NOTHING ? 0 : problem_kinds(o) | kinds_shown(o);
}

static unsigned frames_to_match(const struct options *o)
{
    const char *resolution = option_text(o, "leak-resolution");
    unsigned coarse = strcmp(resolution, "low") == 0 ? 2 : strcmp(resolution, "med") == 0 ? 4 : 0;

    return option_number(o, "match", coarse);
}

/* The root of the sources; CI machines set it in a variable. */
static const char *source_root(const struct options *o)
{
    static const char *const variables[] = {"GITHUB_WORKSPACE", "CI_PROJECT_DIR"};
    static char root[PATH_MAX];
    const char *given = option_text(o, "source-root");

    for (size_t i = 0; !*given && i < sizeof variables / sizeof *variables; i++)
        given = getenv(variables[i]) ? getenv(variables[i]) : "";
    if (!realpath(*given ? given : ".", root))
        snprintf(root, sizeof root, "%s", given);
    return root;
}

/* --error-markers=BEGIN,END; NULL: not given, or empty. */
static const char *marker(const struct options *o, bool is_end)
{
    static char begin[256];
    const char *text = option_text(o, "error-markers"), *comma = strchr(text, ',');

    if (is_end)
        return comma && comma[1] ? comma + 1 : NULL;
    snprintf(begin, sizeof begin, "%.*s", (int)strcspn(text, ","), text);
    return *begin ? begin : NULL;
}

struct filters filters_of(const struct options *o)
{
    return (struct filters){option_text(o, "only-module"), option_text(o, "skip-module"),
                            option_text(o, "only-thread"), !option_flag(o, "shell-leaks")};
}

struct print_options print_how(const struct options *o, int fd, const char *pool)
{
    return (struct print_options){
        .format = print_format(o),
        .use = print_use(o),
        .leaks = print_leaks(o),
        .leak_kinds = kinds_shown(o),
        .problem_kinds = problem_kinds(o),
        .baseline_kinds = baseline_kinds(o),
        .match = frames_to_match(o),
        .filters = filters_of(o),
        .max_leaks = option_number(o, "max-leaks", 0),
        .gen_rules = strcmp(option_text(o, "gen-suppressions"), "no") != 0,
        .mappings = option_flag(o, "mappings"),
        .used_rules = option_flag(o, "print-suppressions"),
        .stale_rules = option_flag(o, "stale-suppressions"),
        .quiet = option_flag(o, "quiet"),
        .all = option_flag(o, "all") || !isatty(fd),
        .mangled = !option_flag(o, "demangle"),
        .deterministic = option_flag(o, "deterministic"),
        .color = wants_color(o, fd),
        .links = wants_links(o, fd),
        .cost = option_flag(o, "cost") || option_flag(o, "verbose"),
        .columns = columns(fd),
        .lines = lines(fd),
        .source = source_lines(o, fd),
        .wrappers = option_text(o, "wrappers"),
        .frames = option_number(o, "num-callers", 0),
        .pool = pool,
        .source_root = source_root(o),
        .full_paths =
            option_is_given(o, "fullpath-after") ? option_text(o, "fullpath-after") : NULL,
        .user_comment = option_text(o, "xml-user-comment"),
        .error_begin = marker(o, false),
        .error_end = marker(o, true),
        .path_maps = option_text(o, "path-map"),
    };
}

void request_data(struct report *r, const struct options *o)
{
    report_find_files(r, option_text(o, "sysroot"), option_text(o, "debug-dir"));
    if (!option_flag(o, "demangle"))
        report_want_mangled(r);
    if ((kinds_shown(o) | problem_kinds(o)) & LEAK_REACHABLE)
        report_want_reachable(r);
    if ((kinds_shown(o) | problem_kinds(o)) & LEAK_MAPPED)
        report_want_mapped(r);
}

uint64_t problems_of(const struct options *o, const struct report *r)
{
    return report_problems(r) + report_leaks(r, problem_kinds(o));
}

int status_of_findings(const struct options *o, const struct report *r, int if_incomplete,
                       int otherwise)
{
    int status = (int)option_number(o, "error-exitcode", 0);

    if (!r)
        return otherwise;
    /* Findings that were just written into the baseline are no problems. */
    if (status != 0 && !option_flag(o, "update-baseline") && problems_of(o, r) > 0)
        return status;
    struct print_options how = print_how(o, -1, NULL);
    bool leaks = how.leaks != PRINT_LEAKS_NOTHING && how.problem_kinds != 0;
    return report_is_incomplete(r, leaks) && !option_flag(o, "allow-unchecked") ? if_incomplete
                                                                                : otherwise;
}

bool annotations_wanted(const struct options *o)
{
    const char *annotate = option_text(o, "annotate"), *github = getenv("GITHUB_ACTIONS");

    return strcmp(annotate, "yes") == 0 ||
           (strcmp(annotate, "auto") == 0 && github && strcmp(github, "true") == 0);
}

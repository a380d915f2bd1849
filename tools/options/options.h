/*
 * options.h - interface of options: the options in effect, and what they select.
 *
 *   options, option_*           options.def as a parser: RTCHECK_OPTIONS and the command line
 *   lsan_options                settings that are taken over from LSAN_OPTIONS
 *   log_file                    names of log files: %p, %n ...
 *   print_how, print_files      the options as struct print_options; the files that they request
 *   suppressions                the suppression rules and the baseline that they select
 *
 * A verb gathers the options once; then `struct options` is only read.  The launcher passes the
 * runtime's options in the run file, as canonical text.
 *
 * This room does not start programs: it sees the reporter and messages, not the launcher.
 * Functions return and report errors as messages.h defines.  None is thread-safe.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "format/format.h"
#include "messages.h"
#include "report.h"

/* ---- options.c: options.def as a parser ------------------------------------------------------ */

#define OPTION_COUNT_MAX 96
#define MEASURE_MOST 255u /* pairs: kind PAIRS of options.def */

enum option_kind {
    KIND_FLAG,
    KIND_SIZE,
    KIND_PATH,
    KIND_PATHS,
    KIND_NAMES,
    KIND_GEN,
    KIND_NUMBER,
    KIND_COUNT,
    KIND_BYTE,
    KIND_HEAP,
    KIND_EVENTS,
    KIND_FRAMES,
    KIND_LIMIT,
    KIND_ON_ERROR,
    KIND_CALLERS,
    KIND_MATCH,
    KIND_AT_EXIT,
    KIND_COLOR,
    KIND_FORMAT,
    KIND_TOOL,
    KIND_ANNOTATE,
    KIND_MAP,
    KIND_LEAK_CHECK,
    KIND_RESOLUTION,
    KIND_LEAK_KINDS,
    KIND_PAIRS,
    KIND_REDZONE,
    KIND_HELP,
    KIND_FILL,
    KIND_TRACK_FDS,
    KIND_GUARD,
    KIND_STACKS,
    KIND_ACCESS,
    KIND_FORK,
};

#define GUARD_STACKS_MOST 32u /* of KIND_STACKS: as many as the runtime takes */

/* One option of a verb. */
struct option_info {
    const char *name;    /* as on the command line */
    const char *initial; /* text of the default */
    const char *help;    /* NULL: --help omits the option */
    int kind;
    bool is_runtime;  /* used by the runtime, not by the launcher or the reporter */
    const char *bare; /* the value if none is given; NULL: a value is required, but for flags */
};

/* Rows of a verb's table; every table contains OPTION_HELP. */
#define OPTION_ROW(name, kind, initial, help, bare)   \
    {                                                 \
        name, initial, help, KIND_##kind, false, bare \
    }
#define OPTION_HELP OPTION_ROW("help", HELP, "no", "print this and end", NULL)
#define OPERANDS_ANY (-1) /* those of another program: options end at the first */

struct options;

/* A verb of the command: what its command line may contain, and its --help. */
struct verb {
    const char *name;
    const char *usage;                 /* the command line in one line */
    const char *about;                 /* lines for --help, above and below the options */
    const char *notes;                 /* NULL: none */
    const struct option_info *options; /* NULL: those of options.def */
    unsigned option_count;
    bool (*has_effect)(const char *option); /* NULL: all have */
    const char *initial;                    /* settings before all others, as text; NULL: none */
    bool is_valgrind; /* rtcheck-valgrind: as strict as valgrind, and its status for that */
    int least, most;  /* number of operands */
    /* Return the exit status. */
    int (*act)(struct options *o, int count, char **operands);
};

/* Option `index` of a verb (NULL: of options.def); NULL past the last. */
const struct option_info *option_at(const struct verb *verb, unsigned index);

/* The options in effect.  value[i] is canonical text, NULL = not given; owned by the struct. */
struct options {
    const struct verb *verb; /* whose options they are; NULL: those of options.def */
    char *value[OPTION_COUNT_MAX];
    bool is_set[OPTION_COUNT_MAX]; /* by the command line, not by the environment */
    char without_effect[1024];     /* names of accepted options that do nothing, as a list */
    char note[128];                /* "" = none; how an option was interpreted if not literally */
};

void options_init(struct options *o);
void options_free(struct options *o);

/*
 * Add the settings of `text`: key=value:key=value, also separated by blanks; '_' equals '-' in
 * keys.  A value that contains a separator is enclosed in '..' or "..".  The last setting of a key
 * wins.  NULL is an empty text.  -EINVAL: err names the first bad key or value; all others are set.
 */
int options_from_text(struct options *o, const char *text, char err[TOOLS_ERROR_BYTES]);

/* Is trace-children-skip short enough? The runtime ignores a longer text. */
int check_skip(const struct options *o, char err[TOOLS_ERROR_BYTES]);

/*
 * Add the settings of argv[1..]: -name or --name, `=value` or the next argument, unambiguous
 * abbreviations, single letters.  Options end after "--"; without a verb, or if the verb takes any
 * operands, also at the first word that is no option.  Other verbs' operands are moved behind the
 * options.  *rest is the index of the first operand.  -EINVAL: err names the argument.
 */
int options_from_args(struct options *o, int argc, char **argv, int *rest,
                      char err[TOOLS_ERROR_BYTES]);

/*
 * Both of the above for a verb, first the environment (RTCHECK_OPTIONS) if the options are those of
 * options.def, then the arguments.  -EINVAL also for an argument without effect on the verb.
 */
int options_gather(struct options *o, const struct verb *verb, int argc, char **argv, int *rest,
                   char err[TOOLS_ERROR_BYTES]);

/* Is `name` one of `count` names? */
bool option_is_among(const char *name, const char *const names[], size_t count);

/* The value in force.  Abort if the table has no option `name` of the getter's kind. */
bool option_flag(const struct options *o, const char *name);
/* A decimal number; `none` if the value is "no" or another word. */
unsigned option_number(const struct options *o, const char *name, unsigned none);
unsigned option_leak_kinds(const struct options *o, const char *name); /* bits of enum leak_kind */
uint64_t option_size(const struct options *o, const char *name);
const char *option_text(const struct options *o, const char *name); /* "" when empty */
bool option_is_given(const struct options *o, const char *name);    /* or is it the default? */

#define OPTIONS_TEXT_BYTES sizeof(((struct run_header *)0)->options)

/*
 * Write the given settings in the grammar of options_from_text and the order of the table: flags as
 * yes|no, sizes in bytes, '_' in names.  The launcher's own options are omitted if `out` is full;
 * -E2BIG (and err) if the runtime's options do not fit.
 */
int options_canonical(const struct options *o, char out[OPTIONS_TEXT_BYTES],
                      char err[TOOLS_ERROR_BYTES]);

/* Set option `name` of the table, as if it had been given. */
int option_give(struct options *o, const char *name, const char *value,
                char err[TOOLS_ERROR_BYTES]);

/* An option as --help and the man page print it: "--name=VALUE"; its text, with the default. */
struct option_words {
    char name[64], text[256];
} option_words(const struct option_info *info);
/* Do --help, the man page and completions contain it?  `verb` NULL: that of options.def. */
bool option_is_listed(const struct verb *verb, const struct option_info *info);
/*
 * Print the options that have an effect on the verb: if they are many and `all` is false, only
 * those that are used most.  Return whether some were left out.
 */
bool options_print(const struct verb *verb, bool all, FILE *out);

/* ---- suppressions.c -------------------------------------------------------------------------- */

/* The suppression rules and the baseline that the options select. */
struct finding_rules {
    struct rules *rules;       /* sealed */
    struct baseline *baseline; /* NULL: none */
};

/* -errno: err describes the error in a file, in up to three lines; nothing needs to be freed. */
int finding_rules_read(const struct options *o, struct finding_rules *j,
                       char err[TOOLS_ERROR_BYTES]);
/*
 * Apply the rules to all findings of a collected report; compare with the baseline or write it.
 * -errno: err describes why the baseline could not be written.
 */
int finding_rules_apply(const struct finding_rules *j, struct report *r, const struct options *o,
                        char err[TOOLS_ERROR_BYTES]);
/* Apply the rules also to findings printed while the program runs. */
void finding_rules_of_run(const struct finding_rules *j, const struct options *o,
                          struct print_options *how);
void finding_rules_free(struct finding_rules *j);

/* ---- print_how.c ----------------------------------------------------------------------------- */

/* How the options format a text that is written to `fd` (-1: no terminal, no colors). */
struct print_options print_how(const struct options *o, int fd, const char *pool);
/* Select the optional data that the options require; call it before report_collect. */
void request_data(struct report *r, const struct options *o);
struct filters filters_of(const struct options *o);
/* Are GitHub workflow commands to be printed? */
bool annotations_wanted(const struct options *o);
unsigned kinds_shown(const struct options *o);
unsigned problem_kinds(const struct options *o);  /* that count: bits of enum leak_kind */
unsigned baseline_kinds(const struct options *o); /* kinds that a baseline contains */
/* Number of errors, and of leaks of the kinds that count. */
uint64_t problems_of(const struct options *o, const struct report *r);
/*
 * --error-exitcode if it is given and `r` (may be NULL) has problems; else `if_incomplete` if `r`
 * may lack findings and --allow-unchecked is not given; else `otherwise`.
 */
int status_of_findings(const struct options *o, const struct report *r, int if_incomplete,
                       int otherwise);

/* ---- print_files.c --------------------------------------------------------------------------- */

/* Do the options request valgrind's XML? */
bool xml_wanted(const struct options *o);
/*
 * Before the program starts: can the files be written that the options request?  Names with % are
 * known only later.
 */
int check_files(const struct options *o, char err[TOOLS_ERROR_BYTES]);
/*
 * Write all files that the options request besides the text.  `r` NULL: there are no results, and
 * files of earlier runs are removed.  Every file is tried; -errno and err are those of the first
 * failure.
 */
int print_files(struct report *r, const struct options *o, const struct print_options *how,
                char err[TOOLS_ERROR_BYTES]);
/* --keep-pool: write the run file `fd`.  fd < 0: there is none, and that of an earlier run is removed. */
int write_pool(const struct options *o, int fd, char err[TOOLS_ERROR_BYTES]);
/*
 * Print GitHub workflow commands to `out`, and its job summary page, if the options request them.
 */
void print_annotations(struct report *r, const struct options *o, const struct print_options *how,
                       FILE *out);

/* ---- lsan_options.c: settings for LeakSanitizer ---------------------------------------------- */

/*
 * Find the value of `key` in `text`, the value of LSAN_OPTIONS (may be NULL): key=value, separated
 * by colons, commas and blanks, quoted or not; the last one counts.  false: it is missing or does
 * not fit.
 */
bool lsan_option(const char *text, const char *key, char *out, size_t room);
/*
 * Take settings from LSAN_OPTIONS for options that were not given to rtcheck.  A relative
 * suppression file that does not exist is searched in the directory of `program`.  For each setting
 * without effect a warning with its key is added to `warnings`.
 */
int lsan_options_take(struct options *o, const char *text, const char *program,
                      struct warnings *warnings, char err[TOOLS_ERROR_BYTES]);
/* The same for log_path: its value P means the file P.PID. */
int lsan_log_take(struct options *o, const char *text, char err[TOOLS_ERROR_BYTES]);
/* The variable with which process `pid` was started; ours if it is gone.  NULL: none.  Free it. */
char *variable_of_process(pid_t pid, const char *name);
/* The same of LSAN_OPTIONS. */
char *lsan_text_of_process(pid_t pid);
/* One key of the LSAN_OPTIONS with which process `pid` was started; of ours if it is gone. */
bool lsan_option_of_process(pid_t pid, const char *key, char *out, size_t room);

/* ---- imported.c: options of other tools ------------------------------------------------------ */

/*
 * Take settings from `text`, the value of ASAN_OPTIONS or LSAN_OPTIONS (`variable`; NULL: not set),
 * for options that were not given to rtcheck.  Keys without effect are added to o->without_effect.
 */
void sanitizer_options_take(struct options *o, const char *text, const char *variable);
/* The same for MALLOC_PERTURB_ and MALLOC_CHECK_ of our environment. */
void malloc_variables_take(struct options *o);
/* Add variables of process `pid`, started by hand, that only the launcher reads, to o->without_effect. */
void launcher_variables_name(struct options *o, pid_t pid);
/* Print the table of valgrind's options, or of the sanitizers'. */
void imported_options_print(bool of_valgrind, FILE *out);

/* ---- log_file.c: names of log files ---------------------------------------------------------- */

struct log_facts {
    const char *program; /* the program that was run; %e is its last component */
    pid_t pid;           /* %p */
    unsigned image;      /* %n */
};

/* Expand %p %n %q{VAR} %h %e %% of `pattern` into `out`.  -EINVAL: err names the bad field. */
int log_path_expand(const char *pattern, const struct log_facts *facts, char *out, size_t room,
                    char err[TOOLS_ERROR_BYTES]);

#endif

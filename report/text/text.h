/*
 * text.h - the text report: the interface of text.
 *
 *   print_text.c      the layout; outcome.c: the first line and the verdict
 *   print_errors.c, print_leaks.c, print_use.c, print_cost.c, ..  one section each
 *   print_notes.c     limits on the meaning of the numbers; notes_run.c, notes_leaks.c
 *   print_stack.c     stacks, for all sections: stack_lines.c folds them, layout.c breaks lines,
 *                     short_name.c shortens names, source.c prints lines of source files
 *   source_files.c    the source files that a report refers to, for packs
 *   print_one.c       all details of one finding
 *   print_bytes.c     a block of the heap in the run file, with its bytes
 *   print_events.c    mappings and their callers; region_files.c: files that they are mapped from
 *   own_cost.c        the runtime's own share of the costs
 *   live.c            errors of a running program
 *   checks.c          leak checks in mid-run
 *   print_now.c       current values of running processes, as a table or as JSON
 *   close.c           the end of a report, which all rooms below have added data to
 *
 * A section prints to the page that it is given and decides nothing about findings: they have
 * their sentences, ids and suppressions from the rooms below (suppress.h). Texts that come from
 * files are escaped here (text_put). The formats of other tools print some of the sections, too.
 */
#ifndef TEXT_H
#define TEXT_H

#include <sys/stat.h>

#include "json.h"
#include "read.h"
#include "suppress.h"

/* ---- print_text.c ---------------------------------------------------------------------------- */

/* The report in our own format. */
void text_print(struct report *r, FILE *out, const struct print_options *how);

/* Was the program that the run was started for checked to its end? */
bool is_in_control(const struct report *r, const struct image *main);

/* ---- print_notes.c --------------------------------------------------------------------------- */

struct note {
    char *text;
    bool against; /* printed even by a quiet report */
};

struct notes {
    struct note *at;
    uint32_t count;
    bool deterministic;
};

struct notes notes_make(const struct report *r, const struct image *main,
                        const struct print_options *how);
bool notes_against(const struct notes *notes);
/* Print at most `shown` notes; the last line counts the notes that are left out. */
void notes_print(const struct notes *notes, uint32_t shown, const struct page *page);
void notes_free(struct notes *notes);
/* "process 4711 (make)", "3 processes (first 4711, make)" */
void process_set_put(const struct report *r, const struct image_numbers *images,
                     const struct page *page);

/* ---- outcome.c: the first and the last line ------------------------------------------------------ */

struct outcome {
    const struct image *main; /* NULL: the runtime did not start */
    struct notes notes;
    uint64_t problems;
    char *incomplete; /* names findings that may be missing; NULL: none; freed by outcome_free */
    bool is_printed;  /* even in a quiet report */
};

struct outcome outcome_of(const struct report *r, const struct print_options *how);
void outcome_free(struct outcome *outcome);
/* Print the first line: problems by kind and the program. It is omitted if there is no finding. */
void headline_print(const struct report *r, const struct outcome *outcome, const struct page *page);
/* Print how an image ended: "exit status 3", "killed by signal 9 (SIGKILL)". */
void end_print(const struct report *r, const struct image *image, FILE *out);
/* Print the last line of the report. */
void verdict_print(const struct report *r, const struct outcome *outcome, const struct page *page);
/*
 * For formats of other tools, after their findings: suppressed findings, the notes and the last
 * line, if they are printed there.
 */
void outcome_print_separate(const struct report *r, const struct outcome *outcome,
                            const struct page *page);

/* ---- region_files.c -------------------------------------------------------------------------- */

struct region_files;
struct region_files *region_files_of(struct report *r, struct image *image);
void region_files_free(struct region_files *all);
/* The path of the file that a range is mapped from. NULL: there is no file, or it is unknown. */
const char *region_file(const struct region_files *all, const struct map_region *m);

/* ---- print_maps.c ---------------------------------------------------------------------------- */

/* Sums over all processes, without images that an exec replaced. */
struct map_totals {
    uint64_t processes, uncompared, mapped, unmapped, unseen, rebuilt, bytes;
    uint64_t peak_bytes;                             /* maximum over the processes */
    uint64_t objects, stacks, others, gone, changed; /* not seen by the runtime */
};

struct map_totals map_totals(const struct report *r);
void maps_print(const struct report *r, const struct page *page);

/* ---- print_dispatch.c ------------------------------------------------------------------------ */

/* Totals of events=all. */
struct dispatch_totals {
    uint64_t processes, without; /* processes where dispatch is not available, because of `error` */
    int32_t error;
    uint64_t calls, reported, uncovered, ns;
    uint32_t measured;
    bool cut; /* a process was killed: its calls are a lower bound */
};

struct dispatch_totals dispatch_totals(const struct report *r);
const char *dispatch_reason(int32_t error);
uint64_t dispatch_call_ns(const struct dispatch_totals *t);
void dispatch_print(const struct report *r, const struct page *page);

/* ---- print_objects.c ------------------------------------------------------------------------- */

/* --access=full: what was checked of the program's code, and what was not. */
void objects_print(const struct report *r, const struct page *page);

/* ---- layout.c -------------------------------------------------------------------------------- */

#define HEAD_INDENT 3u
#define FACT_INDENT 9u /* of lines like "cost     task clock ..." */

/* The columns that text_put prints the text in. */
uint32_t columns_of(const char *text);
void spaces_put(FILE *out, uint32_t count);
/*
 * Print text from column `at` on, broken between words if the page wraps: next lines begin at
 * `indent`. The first line leaves `reserved` columns free. Return the column after the text.
 */
uint32_t words_put(const struct page *page, uint32_t at, uint32_t indent, uint32_t reserved,
                   const char *text);
/*
 * Print clauses, which end with a comma or semicolon, from column `at` on: a line of the page is
 * broken between them, and within one only if the clause is longer than a line.
 */
uint32_t clauses_put(const struct page *page, uint32_t at, const char *text);
/* Print a line like "cost     task clock 1.95 s": its name, and its text in FACT_INDENT. */
void fact_print(const char *name, const char *text, const struct page *page);
/* Print an id at the right end of a line that is filled up to column `at`. */
void id_put(const char *id, uint32_t at, const struct page *page);
/* Print the first line of a finding: "1  DOUBLE FREE of a 40-byte block ...   duf-01234567". */
void finding_head_put(const struct page *page, uint32_t number, enum colour colour,
                      const char *title, const char *text, const char *id);

/* ---- short_name.c ---------------------------------------------------------------------------- */

/* Replace arguments of templates by "..." as far as the room needs it; freed by the caller. */
char *name_shortened(const char *name, uint32_t room);
/* "rec(int, char)" -> "rec"; freed by the caller. */
char *name_without_parameters(const char *name);

/* ---- stack_lines.c --------------------------------------------------------------------------- */

struct stack_line {
    char *name;         /* escaped: a function, or a text in place of functions */
    char *place;        /* escaped: "demo.c:17  libdemo.so"; NULL: none */
    const char *mark;   /* "(inlined)", "(signal)", after the place; NULL: none */
    const char *file;   /* of the source; NULL: not known */
    int number;         /* of the line in it */
    uint32_t frame;     /* index in the site; of several: the innermost */
    uint32_t functions; /* that it stands for */
    bool is_text;
    bool is_program; /* a function of the program itself, not of a library or header */
    bool is_header;
    bool is_wrapper;
};

struct stack_lines {
    struct stack_line *at;
    uint32_t count;
};

/* The name of a source file as --fullpath-after has it: a part of `file`. */
const char *shown_file(const char *file, const struct print_options *how);
/* The lines of a symbolized site, or of its first `frames` frames; freed by stack_lines_free. */
struct stack_lines stack_lines_make(const struct report *r, uint32_t site, uint32_t frames,
                                    const struct page *page);
void stack_lines_free(struct stack_lines *l);
/* Drop headers and allocation wrappers at the inner end, unless nothing else is left. */
void stack_lines_skip_wrappers(struct stack_lines *l);
/* Keep `most` functions at least: fold those between the inner ones and the outermost. */
void stack_lines_cut(struct stack_lines *l, uint32_t most);
/* Replace the outer frames of `site` that `before` has, too, by "(callers as above)". */
void stack_lines_share(struct stack_lines *l, const struct site *site, const struct site *before);

/* ---- source.c -------------------------------------------------------------------------------- */

/* Can the file of a line be read? */
bool source_is_there(struct report *r, const struct stack_line *line);
/* Open a source file that may be shown. -1: there is none. */
int source_file_open(const char *path, struct stat *st);
/*
 * Print the source of a line, with how->source - 1 lines before it, and a caret below the name of
 * the function that it calls (NULL: not known).
 */
void source_print(struct report *r, const struct stack_line *line, const char *callee,
                  const struct page *page);
/* Begin and end a link to a source line (OSC 8 of terminals). */
void link_begin(FILE *out, const char *path, int line);
void link_end(FILE *out);

/* ---- print_stack.c --------------------------------------------------------------------------- */

#define STACK_INDENT 3

/* A labelled stack. */
struct stack_row {
    const char *label;
    const char *by;           /* printed on a line of its own before the stack; NULL: nothing */
    const char *callee;       /* function that the innermost frame calls; NULL: not known */
    uint32_t site;            /* symbolized; NO_SITE: only `by` is printed */
    struct stack_lines lines; /* set by rows_print, like source_line */
    uint32_t source_line;
};

/* Print the stacks of a finding with common columns. */
void rows_print(struct report *r, struct stack_row *rows, uint32_t count, const struct page *page);
void error_rows_print(struct report *r, uint32_t image, const struct error_rows *rows,
                      const char *found, const struct page *page);
/* Print one stack. */
void stack_print(struct report *r, const char *label, uint32_t site, const struct page *page);
/* Print at most `most` functions of a site within a line: "f a.c:1 < main a.c:3". */
void site_put(const struct report *r, uint32_t site, uint32_t most, const struct page *page);
/*
 * Print the functions of a site, "f a.c:1 < g a.c:2 < main a.c:3", broken between functions, with an
 * id (or NULL) at the end of the first line.
 */
struct chain {
    uint32_t site;
    uint32_t most;   /* functions */
    uint32_t frames; /* that several stacks share: no others are printed; 0: all */
    uint32_t indent; /* column */
    const char *id;
};

void chain_print(const struct report *r, const struct chain *chain, const struct page *page);

/* ---- print_errors.c, print_leaks.c, print_use.c, print_cost.c -------------------------------- */

/* Print the error in full. */
void error_print(struct report *r, const struct error *e, uint32_t number, const struct page *page);
/* Print the error on one line: id, sentence and the innermost functions. */
void error_print_line(struct report *r, const struct error *e, const struct page *page);
uint32_t text_lines(const char *text);
/* The number of errors that are shown. */
uint32_t errors_count(const struct report *r);
/* Print the errors in about `lines` lines. */
void errors_print(struct report *r, uint32_t lines, const struct page *page);
/* Print "12 more: " and the command that shows them. */
void more_print(const struct report *r, uint32_t count, const struct page *page);
/* In at most `most` lines; leaks printed in full are numbered from `number` on. */
void leaks_print(struct report *r, uint32_t most, uint32_t number, const struct page *page);
/* Print "leaked 46 B in 4 blocks, possibly 3 B in 1 block" or "no leaks". */
void leaks_sums_put(const struct report *r, FILE *out);
/* The same for the verdict, "" if the leaks are not known; freed by the caller. */
char *leaks_verdict(const struct report *r, const struct print_options *how);
void use_print(struct report *r, const struct image *main, const struct page *page);
void cost_print(const struct report *r, const struct page *page);
/* Cost of leak checks. */
struct leak_cost {
    uint32_t processes; /* 0: no leak check was made */
    uint64_t ns;
    uint64_t root_bytes;
    uint64_t root_bytes_skipped;
};

struct cost_sum {
    struct leak_cost leaks;
    struct costs of; /* max_rss_bytes is the maximum over the processes */
    uint64_t segment_bytes;
    uint64_t heap_peak_bytes; /* maximum over the images */
    uint32_t processes;
    uint32_t with_clock;
    uint32_t with_rusage;
    uint32_t with_segments;
    bool killed;   /* a process without costs was killed */
    bool runs;     /* one still runs */
    bool at_death; /* no process counted; these are the costs reported by wait4 */
};

struct cost_sum cost_sum(const struct report *r);
#define COST_COLUMN 16

/* The runtime's own share of the costs: own_cost.c. */
bool own_cost_is_known(const struct own_cost *sum);
const char *own_cost_why(const struct report *r); /* why the share is unknown */
double own_cost_ns(const struct own_cost *sum);
/*
 * In percent of the run's task clock; *why is set if that is not known, or may differ from --measure
 * by more than 5 points, else NULL.
 */
double own_cost_percent(const struct report *r, const struct cost_sum *all, const char **why);
/*
 * Page faults of the kinds of work in `works` (bit n: enum cost_work) that are operations. The sum
 * of all kinds is at most the number of faults that occurred.
 */
#define ALL_WORKS UINT32_MAX
uint64_t own_cost_faults(const struct own_cost *sum, const struct cost_sum *all, uint32_t works);
bool own_cost_has_calls(const struct own_cost *sum); /* operations were timed */
/* Clock cycles per ns by the run's counter. 0 with *why set: unknown. */
double own_cost_cycles(const struct report *r, const char **why);
/*
 * Approximate ns that `percent` percent of the operations stay below. Negative: no operation was
 * timed.
 */
double own_cost_time(const struct own_cost *sum, const uint64_t times[COST_TIMES],
                     unsigned percent);
double own_report_ns(void); /* CPU time of this process so far */
uint64_t own_report_faults(void);
void own_cost_print(const struct report *r, const struct cost_sum *all, const struct page *page);

/* Sources of numbers. */
#define COST_AT_DEATH "rusage at death"
#define COST_BY_CLOCK "clock_gettime"
#define COST_BY_RUSAGE "getrusage"
#define COST_BY_CPU_CLOCK "CPU clock"
#define COST_SAMPLED "TSC, sampled"
/* Why costs are unknown. */
const char *cost_reason(const struct report *r, const struct cost_sum *sum); /* or NULL */

/* ---- print_counters.c ------------------------------------------------------------------------ */

void counters_print(const struct report *r, const struct page *page);
/* "counters": [..], if there are any. */
void json_counters(struct json *j, const struct report *r);

/* ---- print_measured.c ------------------------------------------------------------------------ */

void measured_print(const struct measured *m, const struct page *page);
/* "measured": {..}, in cost, if there was a measurement; print_measured.c. */
void json_measured(struct json *j, const struct measured *m);

#endif

/*
 * text.h - the text report: the interface of text.
 *
 *   print_text.c      the layout, the first line and the verdict
 *   print_errors.c, print_leaks.c, print_use.c, print_cost.c, ..  one section each
 *   print_notes.c     limits on the meaning of the numbers
 *   print_stack.c     sites and stacks, for all sections
 *   print_one.c       all details of one finding
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
/* Print at most `shown` lines; the last line counts the notes that are left out. */
void notes_print(const struct notes *notes, uint32_t shown, FILE *out);
void notes_free(struct notes *notes);
/* "process 4711 (make)", "3 processes (first 4711, make)" */
void process_set_put(const struct report *r, const struct image_numbers *images,
                     const struct page *page);

/* ---- print_text.c: how the run ended --------------------------------------------------------- */

struct outcome {
    const struct image *main; /* NULL: the runtime did not start */
    struct notes notes;
    uint64_t problems;
    char *incomplete; /* names findings that may be missing; NULL: none; freed by outcome_free */
    bool is_printed;  /* even in a quiet report */
};

struct outcome outcome_of(const struct report *r, const struct print_options *how);
void outcome_free(struct outcome *outcome);
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

/* ---- print_stack.c --------------------------------------------------------------------------- */

#define STACK_INDENT 5
#define STACK_LABEL 13

/* Print at most `most` functions of a site on one line. */
void site_put(const struct report *r, uint32_t site, uint32_t most, const struct page *page);
/* The same with `joint` between the functions. */
void chain_put(const struct report *r, uint32_t site, uint32_t most, const char *joint,
               const struct page *page);
/* Print one line for each function, with the label before the first. */
void stack_print(const struct report *r, const char *label, uint32_t site, const struct page *page);

/* ---- print_errors.c, print_leaks.c, print_use.c, print_cost.c -------------------------------- */

/* Print the error in full. */
void error_print(struct report *r, const struct error *e, const struct page *page);
/* Print the error on one line. */
void error_print_short(struct report *r, const struct error *e, const struct page *page);
/* Print the errors in at most `lines` lines. */
void errors_print(struct report *r, uint32_t lines, const struct page *page);
/* Print "12 more: " and the command that shows them. */
void more_print(const struct report *r, uint32_t count, const struct page *page);
/* The number of lines that the leaks take, at most `most`. */
uint32_t leaks_lines(struct report *r, uint32_t most, const struct page *page);
/* at most `most` lines */
void leaks_print(struct report *r, uint32_t most, const struct page *page);
/*
 * Print "leaked 46 B in 4 blocks, possibly 3 B in 1 block" or "no leaks", followed by "; ". Print
 * nothing if the leaks are unknown.
 */
void leaks_sums_put(const struct report *r, const struct page *page);
void leaks_verdict_put(const struct report *r, const struct page *page);
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
    uint32_t processes;
    uint32_t with_clock;
    uint32_t with_rusage;
    uint32_t with_segments;
    bool killed;   /* a process without costs was killed */
    bool at_death; /* no process counted; these are the costs reported by wait4 */
};

struct cost_sum cost_sum(const struct report *r);
#define COST_COLUMN 16

/* The runtime's own share of the costs: own_cost.c. */
bool own_cost_is_known(const struct own_cost *sum);
const char *own_cost_why(const struct report *r); /* why the share is unknown */
double own_cost_ns(const struct own_cost *sum);
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
const char *cost_reason(const struct report *r, bool killed);

/* ---- print_counters.c ------------------------------------------------------------------------ */

void counters_print(const struct report *r, const struct page *page);
/* "counters": [..], if there are any. */
void json_counters(struct json *j, const struct report *r);

/* ---- print_measured.c ------------------------------------------------------------------------ */

void measured_print(const struct measured *m, const struct page *page);
/* "measured": {..}, in cost, if there was a measurement; print_measured.c. */
void json_measured(struct json *j, const struct measured *m);

#endif

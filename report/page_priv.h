/*
 * page_priv.h - the text report: what its print_*.c share.
 */
#ifndef PAGE_PRIV_H
#define PAGE_PRIV_H

#include "wording_priv.h"

/* ---- suppress_print.c -------------------------------------------------------------------------- */

struct rule; /* rules.h */

/* What is not told, and by how many rules. */
struct hidden {
    uint32_t errors;
    uint32_t leaks;
    uint64_t blocks;
    uint64_t bytes;
    uint32_t rules;
    uint32_t unused;
    uint32_t not_ours; /* about what other checkers find */
};

struct hidden hidden_sum(const struct report *r);
/* Of its leaks, those that would have been told with others, behind which they are. */
struct leak_sum hidden_indirect(const struct report *r, const struct print_options *how);
/* Out of a file, and it met nothing; it might have. */
bool rule_is_unused(const struct rule *rule);
/* How many lines suppressed_print takes that nobody has asked for. */
uint32_t suppressed_lines(const struct report *r);
void suppressed_print(const struct report *r, const struct page *page);
/* The same in formats of others, where it is asked for or somebody has to look at a rule. */
void suppressed_print_separate(const struct report *r, const struct page *page);

/* ---- suppress_gen.c -------------------------------------------------------------------------- */

/* A rule for this one, which has its id; false: its stack is not known, and nothing was written. */
bool error_rule_put(struct report *r, const struct error *error, FILE *out);
bool leak_rule_put(struct report *r, const struct leak *leak, FILE *out);
/* For all that is told, where it is asked for. */
void rules_print(struct report *r, const struct page *page);

/* ---- print_text.c ---------------------------------------------------------------------------- */

/* Where text goes, and how. */
struct page {
    FILE *out;
    const struct print_options *how;
    const char *program; /* path of the module whose name goes without saying */
    uint32_t frames;     /* shown of each stack */
    bool whole;          /* nothing left out of what is shown */
    bool numbered;       /* each function of a stack has its number */
};

#define FRAMES_SHOWN 8u

/* Was the program that the run was made for checked to its end? */
bool is_in_control(const struct report *r, const struct image *main);

enum colour { COLOUR_NONE, COLOUR_HEADING, COLOUR_ERROR, COLOUR_WARNING, COLOUR_GOOD };

/* What follows is of this color, where there are colors. */
void set_colour(const struct page *page, enum colour set_colour);

/* ---- print_notes.c --------------------------------------------------------------------------- */

struct note {
    char *text;
    bool against; /* said even by a quiet report */
};

struct notes {
    struct note *at;
    uint32_t count;
    bool deterministic;
};

struct notes notes_make(const struct report *r, const struct image *main,
                        const struct print_options *how);
bool notes_against(const struct notes *notes);
/* At most `shown` lines; the last tells of those beyond. */
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
    char *incomplete; /* what findings may be missing, NULL: none; freed by outcome_free */
    bool is_printed;  /* also by a quiet report */
};

struct outcome outcome_of(const struct report *r, const struct print_options *how);
void outcome_free(struct outcome *outcome);
/* What the report may lack, in words, to be freed; NULL: nothing. */
char *report_incomplete(const struct report *r, bool leaks);
/* The last line. */
void verdict_print(const struct report *r, const struct outcome *outcome, const struct page *page);
/*
 * In formats of others, behind their findings: what is not told, the notes and the last line, where
 * it is told.
 */
void outcome_print_separate(const struct report *r, const struct outcome *outcome,
                            const struct page *page);

/* ---- region_files.c -------------------------------------------------------------------------- */

struct region_files;
struct region_files *region_files_of(struct report *r, struct image *image);
void region_files_free(struct region_files *all);
/* The path of the file that a range is mapped from; NULL: it has none, or that is not known. */
const char *region_file(const struct region_files *all, const struct map_region *m);

/* ---- print_maps.c ---------------------------------------------------------------------------- */

/* Of all processes but those that exec threw away. */
struct map_totals {
    uint64_t processes, uncompared, mapped, unmapped, unseen, rebuilt, bytes;
    uint64_t peak_bytes;                             /* the most that one had */
    uint64_t objects, stacks, others, gone, changed; /* behind our back */
};

struct map_totals map_totals(const struct report *r);
void maps_print(const struct report *r, const struct page *page);

/* ---- print_dispatch.c ------------------------------------------------------------------------ */

/* events=all */
struct dispatch_totals {
    uint64_t processes,
        without; /* of those asked for it: where there is no such thing, because of */
    int32_t error;
    uint64_t calls, reported, uncovered, ns;
    uint32_t measured;
    bool cut; /* one was killed, and may have had more calls */
};

struct dispatch_totals dispatch_totals(const struct report *r);
const char *dispatch_reason(int32_t error);
uint64_t dispatch_call_ns(const struct dispatch_totals *t);
void dispatch_print(const struct report *r, const struct page *page);

/* ---- print_stack.c --------------------------------------------------------------------------- */

#define STACK_INDENT 5
#define STACK_LABEL 13

/* At most that many functions of a site, in one line. */
void site_put(const struct report *r, uint32_t site, uint32_t most, const struct page *page);
/* The same with another joint between them. */
void chain_put(const struct report *r, uint32_t site, uint32_t most, const char *joint,
               const struct page *page);
/* Is it of the compiler's or the system's? */
bool line_is_of_header(const struct source_line *line);
/* A line for each function, the label before the first. */
void stack_print(const struct report *r, const char *label, uint32_t site, const struct page *page);

/* ---- print_errors.c, print_leaks.c, print_use.c, print_cost.c -------------------------------- */

/* Does it stand among the errors (others are a note), and is it more than a warning? */
bool error_is_shown(const struct error *e);
bool error_is_problem(const struct error *e);
bool error_is_warning(uint32_t kind);
/* In full. */
void error_print(struct report *r, const struct error *e, const struct page *page);
/* In one line. */
void error_print_short(struct report *r, const struct error *e, const struct page *page);
/* In at most that many lines. */
void errors_print(struct report *r, uint32_t lines, const struct page *page);
/* "12 more: " and how to see them. */
void more_print(const struct report *r, uint32_t count, const struct page *page);
/* How many lines the leaks take, at most `most`. */
uint32_t leaks_lines(struct report *r, uint32_t most, const struct page *page);
void leaks_print(struct report *r, uint32_t most, const struct page *page); /* the same */
/* "leaked 46 B in 4 blocks, possibly 3 B in 1 block", "no leaks"; and behind it "; ", where it is known. */
void leaks_sums_put(const struct report *r, const struct page *page);
void leaks_verdict_put(const struct report *r, const struct page *page);
void use_print(struct report *r, const struct image *main, const struct page *page);
void cost_print(const struct report *r, const struct page *page);
/* Of finding out what is leaked. */
struct leak_cost {
    uint32_t processes; /* 0: nobody was asked */
    uint64_t ns;
    uint64_t root_bytes;
    uint64_t root_bytes_skipped;
};

struct cost_sum {
    struct leak_cost leaks;
    struct costs of; /* max_rss_bytes is the most of one process */
    uint64_t segment_bytes;
    uint32_t processes;
    uint32_t with_clock;
    uint32_t with_rusage;
    uint32_t with_segments;
    bool killed;   /* some of those without */
    bool at_death; /* nobody counted; so much was told at the program's death */
};

struct cost_sum cost_sum(const struct report *r);
#define COST_COLUMN 16

/* What of it is ours: own_cost.c. */
bool own_cost_is_known(const struct own_cost *sum);
const char *own_cost_why(const struct report *r); /* it is not */
double own_cost_ns(const struct own_cost *sum);
/* Of works (bit n: enum cost_work) that are operations; all together at most those that there were. */
#define ALL_WORKS UINT32_MAX
uint64_t own_cost_faults(const struct own_cost *sum, const struct cost_sum *all, uint32_t works);
bool own_cost_has_calls(const struct own_cost *sum); /* that were timed */
/* Clock cycles per ns, as the run's counter has them; 0, and why: they are not known. */
double own_cost_cycles(const struct report *r, const char **why);
/* ns that so many percent of operations stay below, about; below 0: none was timed. */
double own_cost_time(const struct own_cost *sum, const uint64_t times[COST_TIMES],
                     unsigned percent);
void measured_print(const struct measured *m, const struct page *page); /* print_measured.c */
double own_report_ns(void); /* that this process has needed so far */
uint64_t own_report_faults(void);
void own_cost_print(const struct report *r, const struct cost_sum *all, const struct page *page);

/* Where numbers come from. */
#define COST_AT_DEATH "rusage at death"
#define COST_BY_CLOCK "clock_gettime"
#define COST_BY_RUSAGE "getrusage"
#define COST_BY_CPU_CLOCK "CPU clock"
#define COST_SAMPLED "TSC, sampled"
/* Why costs are not known. */
const char *cost_reason(const struct report *r, bool killed);

/* ---- print_counters.c ------------------------------------------------------------------------ */

void counters_print(const struct report *r, const struct page *page);

#endif

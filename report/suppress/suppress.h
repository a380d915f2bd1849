/*
 * suppress.h - which findings are hidden, and why: the interface of suppress.
 *
 *   rules.c           rules from files and from programs (rules.h); patterns.c: names (patterns.h)
 *   suppress_read.c   files in three grammars: suppress_rtc.c, suppress_valgrind.c, suppress_lsan.c
 *   suppress_default.c, suppress_own.c   rules of a debugger, and of the checked programs
 *   suppress_match.c  applies the rules to the findings
 *   suppress_gen.c    makes rules from findings
 *   suppress_print.c  the rules that were used, as text and JSON
 *   filter.c          findings that options leave out
 *   baseline.c        known findings, from a file of ids
 *   baseline_origin.c of which program a finding is
 *
 * Files of rules and baselines are written by hand: a mistake is reported with its position, and
 * nothing of such a file is used. A finding that is hidden stays in the report's tables with its
 * disposition (finding.h); the rooms above decide what they show. report.h declares the functions
 * that the command calls. Below: findings.h, whose ids and names are compared.
 */
#ifndef SUPPRESS_H
#define SUPPRESS_H

#include "findings.h"

/* ---- suppress_print.c ------------------------------------------------------------------------ */

struct json; /* json.h */
struct rule; /* rules.h */

/* Findings that suppressions hide, and the number of rules that hide them. */
struct hidden {
    uint32_t errors;
    uint32_t leaks;
    uint64_t blocks;
    uint64_t bytes;
    uint32_t rules;
    uint32_t unused;
    uint32_t not_ours; /* rules for findings of other checkers */
};

struct hidden hidden_sum(const struct report *r);
/* Sum of the hidden leaks that would have been printed as indirectly lost with other leaks. */
struct leak_sum hidden_indirect(const struct report *r, const struct print_options *how);
/* The rule comes from a file, could have matched, and matched no finding. */
bool rule_is_unused(const struct rule *rule);
/* The number of lines that suppressed_print prints without being requested by an option. */
uint32_t suppressed_lines(const struct report *r);
#define SUPPRESSED_HEADING "SUPPRESSED"
#define SUPPRESSED_INDENT 16 /* column of the text after the heading, and of further lines */

void suppressed_print(const struct report *r, const struct page *page);
/*
 * The same for formats of other tools: prints if an option requests it or a rule needs attention.
 */
void suppressed_print_separate(const struct report *r, const struct page *page);

/* "suppressions": [..] */
void json_suppressions(struct json *j, const struct report *r);
/* "suppressed": {..}, in summary. */
void json_suppressed(struct json *j, const struct report *r);
/* "status" and the reason, in a finding. */
void json_disposition(struct json *j, const struct disposition *disposition);

/*
 * Print "2 leaks of 26 B in 2 blocks, 1 error". Return NULL, without output, if there is none.
 * Indirectly lost blocks are not counted as leaks.
 */
const char *hidden_put(const struct hidden *sum, const struct leak_sum *indirect, FILE *out);

/* ---- filter.c -------------------------------------------------------------------------------- */

/* The number of findings that filters leave out and that would have been printed. */
uint64_t filtered_count(const struct report *r, const struct print_options *how);
/* Describe them, with the options. NULL: there are none. The caller frees the text. */
char *filtered_text(const struct report *r, const struct print_options *how);
/* "filtered": {..}, in summary; nothing if there are no filters. */
void json_filtered(struct json *j, const struct report *r);

/* ---- suppress_gen.c -------------------------------------------------------------------------- */

/*
 * Print a rule for a finding that has its id. Return false, without output, if its stack is
 * unknown.
 */
/*
 * The name of the i-th rule, and how many errors and leaked blocks it has hidden.  NULL: there is no
 * such rule.
 */
const char *rule_hits(const struct report *r, uint32_t i, uint64_t *hits);
bool error_rule_put(struct report *r, const struct error *error, FILE *out);
bool leak_rule_put(struct report *r, const struct leak *leak, FILE *out);
/* Print rules for all findings that are shown, if how->gen_rules is set. */
void rules_print(struct report *r, const struct page *page);

/* ---- baseline.c ------------------------------------------------------------------------------ */

/* Parse a baseline; `name` is for messages. An empty text is an empty baseline. */
int baseline_read_text(struct baseline **out, const char *name, const char *text, size_t bytes,
                       char *err, size_t room);
void baseline_print(const struct report *r, const struct page *page);

/* ---- suppress_match.c ------------------------------------------------------------------------ */

/*
 * Like report_suppress and report_compare, but without counting the matches of rules: for a run in
 * progress.
 */
void findings_match(struct report *r, const struct print_options *how);

#endif

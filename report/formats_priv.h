/*
 * formats_priv.h - shared by the writers of other programs' report formats.
 *
 * All writers walk the same list of findings: all formats report the same findings with the same
 * numbers. The list is made for one output and freed after it.
 */
#ifndef FORMATS_PRIV_H
#define FORMATS_PRIV_H

#include "page_priv.h"

/* ---- findings.c ------------------------------------------------------------------------------ */

enum finding_level {
    LEVEL_PROBLEM, /* counts for --error-exitcode */
    LEVEL_WARNING,
    LEVEL_NOTE, /* a leak of a requested kind that is no problem */
};

/* An error, or leaks shown as one row. */
struct finding {
    const struct error *error; /* NULL: a leak */
    struct leak_row leak;
    const char *id;
    const char *code; /* "mel" */
    uint32_t image;   /* of the first process that had it */
    uint32_t site;    /* where it happened; NO_SITE: not known */
    enum finding_level level;
};

struct findings {
    struct finding *at;
    uint32_t count;
    uint32_t problems;
};

/*
 * Errors by time, then leaks of the `kinds`, definite ones first; all are symbolized and have ids.
 */
struct findings findings_make(struct report *r, const struct print_options *how, uint32_t kinds);
void findings_free(struct findings *f);
/* Describe the finding in one sentence; freed by the caller. */
char *finding_sentence(struct report *r, const struct finding *f, bool deterministic);
/* Return the process id, or with --deterministic the image number. */
uint32_t shown_pid(const struct report *r, uint32_t image, const struct print_options *how);
/* Return how many frames of a stack to print: at most --num-callers, none outside main. */
uint32_t shown_frames(const struct report *r, const struct site *site,
                      const struct print_options *how);
/*
 * Return the code address in the first process that had the module; with --deterministic the
 * offset.
 */
uint64_t shown_address(const struct report *r, const struct frame *frame,
                       const struct print_options *how);

/*
 * Return the frame to show first: the innermost with a source line outside headers, else the
 * innermost. *line: its function there. NULL: the stack is not known.
 */
const struct frame *finding_frame(const struct report *r, uint32_t site, struct source_line *line);

/* Return its stacks with labels; of a leak the stack that allocated it. */
struct error_rows finding_rows(const struct finding *f);

/* A kind of finding; a finding's `code` is that of one of these. */
struct check {
    const char *code;
    const char *title; /* "duplicate free" */
    const char *help;
};

const struct check *check_at(uint32_t i); /* NULL past the last */
uint32_t check_of(const char *code);

/* ---- source_paths.c -------------------------------------------------------------------------- */

/* Freed by the caller. */
char *source_path(const struct print_options *how, const char *file);

/* The source position to show first, as other programs expect it; .path is freed by the caller. */
struct finding_where {
    char *path;           /* of the program or library if no line is known */
    uint32_t line;        /* 0: not known */
    const char *function; /* or the module's name, or "?" */
};

struct finding_where finding_where(const struct report *r, const struct finding *f,
                                   const struct print_options *how);

/* ---- print_*.c: one for each format ---------------------------------------------------------- */

/* Our own format. */
void text_print(struct report *r, FILE *out, const struct print_options *how);
void valgrind_print(struct report *r, FILE *out, const struct print_options *how);
void lsan_print(struct report *r, FILE *out, const struct print_options *how);
void gcc_print(struct report *r, FILE *out, const struct print_options *how);
void github_print(struct report *r, FILE *out, const struct print_options *how);
void json_print(struct report *r, FILE *out, const struct print_options *how);
void sarif_print(struct report *r, FILE *out, const struct print_options *how);
void junit_print(struct report *r, FILE *out, const struct print_options *how);
void gitlab_print(struct report *r, FILE *out, const struct print_options *how);

#endif

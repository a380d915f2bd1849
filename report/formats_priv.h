/*
 * formats_priv.h - what the files share that tell a run in the formats of other programs.
 *
 * Each of them walks the same list of findings, so that all formats tell the same ones with the same
 * numbers; it is made for one output and freed behind it.
 */
#ifndef FORMATS_PRIV_H
#define FORMATS_PRIV_H

#include "page_priv.h"

/* ---- findings.c ------------------------------------------------------------------------------ */

enum finding_level {
    LEVEL_PROBLEM, /* what --error-exitcode is about */
    LEVEL_WARNING,
    LEVEL_NOTE, /* a leak that was asked for and is no problem */
};

/* An error, or leaks that are told as one. */
struct finding {
    const struct error *error; /* NULL: it is a leak */
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

/* Errors in order of time, then leaks of the `kinds`, actual ones first; all have names and ids. */
struct findings findings_make(struct report *r, const struct print_options *how, uint32_t kinds);
void findings_free(struct findings *f);
/* What it was, in one sentence; freed by the caller. */
char *finding_sentence(struct report *r, const struct finding *f, bool deterministic);
/* By what number others call a process. */
uint32_t shown_pid(const struct report *r, uint32_t image, const struct print_options *how);
/* How many frames of a stack are shown; at most what --num-callers says, none behind main. */
uint32_t shown_frames(const struct report *r, const struct site *site,
                      const struct print_options *how);
/* Where the frame's code lay in the first process that had its module; --deterministic: in its file. */
uint64_t shown_address(const struct report *r, const struct frame *frame,
                       const struct print_options *how);

/*
 * Where somebody would look first: the innermost function of a stack that has a line and is of no
 * header, else the innermost.  NULL: the stack is not known.
 */
const struct frame *finding_frame(const struct report *r, uint32_t site, struct source_line *line);

/* Its stacks, each with what it is of: of a leak the one that allocated it. */
struct error_rows finding_rows(const struct finding *f);

/* What there is to be found; a finding's `code` is that of one of them. */
struct check {
    const char *code;
    const char *title; /* "duplicate free" */
    const char *help;
};

const struct check *check_at(uint32_t i); /* NULL behind the last */
uint32_t check_of(const char *code);

/* ---- source_paths.c -------------------------------------------------------------------------- */

/* Freed by the caller. */
char *source_path(const struct print_options *how, const char *file);

/* Where to look first, for somebody elsewhere; .path is freed by the caller. */
struct finding_where {
    char *path;           /* where no line is known the program's or library's */
    uint32_t line;        /* 0: not known */
    const char *function; /* or what is known instead */
};

struct finding_where finding_where(const struct report *r, const struct finding *f,
                                   const struct print_options *how);

/* ---- print_*.c: one for each format ---------------------------------------------------------- */

void valgrind_print(struct report *r, FILE *out, const struct print_options *how);
void lsan_print(struct report *r, FILE *out, const struct print_options *how);
void gcc_print(struct report *r, FILE *out, const struct print_options *how);
void github_print(struct report *r, FILE *out, const struct print_options *how);
void json_print(struct report *r, FILE *out, const struct print_options *how);
void sarif_print(struct report *r, FILE *out, const struct print_options *how);
void junit_print(struct report *r, FILE *out, const struct print_options *how);
void gitlab_print(struct report *r, FILE *out, const struct print_options *how);

#endif

/*
 * findings.h - the findings of a report: the interface of findings.
 *
 *   findings.c    all findings as one list, for formats without sections
 *   error_ids.c, leak_ids.c   codes and ids (ids.c), which are stable from run to run
 *   find_id.c     the id that a shortened one means (report.h)
 *   group.c       blocks in use by site, sorted
 *   leak_rows.c   leaks that are shown as one row, and their sums
 *   error_rows.c  the stacks of an error and their labels
 *   error_sentences.c, leak_sentences.c   every sentence about a finding
 *   incomplete.c  whether findings may be missing
 *
 * The tables are complete and sorted (report_collect). Names come from symbols, on demand: a
 * finding that is not shown costs none. An id is a hash of the code and of the user's functions in
 * the stack; so it needs the symbols of this stack. Sentences have raw bytes of the file and of
 * names: the code that prints them escapes them. Nothing is printed or hidden here: suppress sets
 * the dispositions.
 */
#ifndef FINDINGS_H
#define FINDINGS_H

#include "symbols.h"

/* ---- error_ids.c ----------------------------------------------------------------------------- */

/* Is it listed as an error, not as a note? Is it more than a warning? */
bool error_is_shown(const struct error *e);
bool error_is_problem(const struct error *e);
bool error_is_warning(uint32_t kind);
/* Set the ids of the first `count` errors. */
void errors_name(struct report *r, uint32_t count);
/* Return the site that locates the error, or NO_SITE; for a wua, the block's allocation. */
uint32_t error_main_site(const struct error *e);

/* ---- leak_ids.c ------------------------------------------------------------------------------ */

/* Set the ids of the leaks in [from, end); `from` must be the first of its kind. */
void leaks_name(struct report *r, uint32_t from, uint32_t end);
void leaks_name_all(struct report *r);
uint32_t leak_kind(enum leak_class class);    /* a bit of LEAK_*; 0: shown with others */
const char *leak_code(enum leak_class class); /* "mel", .. */

/* ---- ids.c ----------------------------------------------------------------------------------- */

/* "duf-01234567" of a symbolized site, or of NO_SITE. */
void id_of_site(const struct report *r, const char *code, uint32_t site, char id[ID_BYTES]);
/* The same, but hashes `what` in place of `code`: different ids for findings of one code. */
void id_of_kind(const struct report *r, const char *code, const char *what, uint32_t site,
                char id[ID_BYTES]);
/*
 * Append .2, .3 to equal ids; the first keeps the plain id. Each of `items` has
 * `stride` bytes and begins with its id.
 */
void ids_make_unique(void *items, uint32_t count, size_t stride);
/* Return how many frames of a symbolized stack are the user's, without those outside main. */
uint32_t user_frames(const struct report *r, const struct site *site);
bool module_is_program(const struct report *r, const struct module *module);

/* ---- group.c --------------------------------------------------------------------------------- */

/* Blocks in use from one site, in all images that exec has not replaced. */
struct record {
    char id[ID_BYTES];
    struct disposition disposition; /* by rules of dbx's grammar for biu */
    uint32_t site;
    uint64_t blocks;
    uint64_t bytes;
    struct image_numbers images;
};

/*
 * Sorted by bytes, then blocks. The first `named` are symbolized and have ids; ids are unique only
 * if all records have one. Freed by records_free.
 */
struct record *records_make(struct report *r, uint32_t named, uint32_t *count);
void records_free(struct record *records, uint32_t count);

/* ---- crash_sentences.c ----------------------------------------------------------------------- */

/* Print the sentence about a crash, for error_sentence. */
void format_crash(struct report *r, const struct error *e, bool deterministic, FILE *out);
/* The mangled type of the exception that the thread of an abort handled; NULL: none. */
const char *crash_exception(const struct report *r, const struct error *e);
char *format_exception(const struct report *r, const char *type);

/* ---- error_sentences.c ----------------------------------------------------------------------- */

/*
 * Describe an error in one sentence. It contains raw bytes of the file: escape before printing. The
 * caller frees it.
 */
char *error_sentence(struct report *r, const struct error *e, bool deterministic);

/* Does the error's call query a block, and free nothing?  Does it resize one? */
bool error_is_query(const struct error *e);
/* --track-fds: its address is a descriptor, and no block belongs to it. */
bool error_is_of_descriptor(const struct error *e);
/* Of a crash: its address is not near the block, but was probably read from it. */
bool error_has_likely_block(const struct error *e);
bool error_has_named_block(const struct error *e); /* by the fill that the address was read from */
bool error_is_in_block(const struct error *e);     /* or near it: not only read from it */
bool error_is_realloc(const struct error *e);
/* Is the call one of these?  Then its name is the verb of the sentence. */
bool error_is_named(const struct error *e);
/* "main thread", "thread 3 (worker)" of this image; freed by the caller. */
char *format_thread(const struct report *r, uint32_t image, const struct thread *t);
/* The same after a preposition: "the main thread". */
char *format_thread_of(const struct report *r, uint32_t image, const struct thread *t);
/* The bytes that were found in a damaged redzone or freed block; freed by the caller. NULL: none. */
char *format_found(const struct error *e);

/* ---- error_rows.c ----------------------------------------------------------------------------- */

/* A stack of an error, with its thread if that is another one. */
struct error_row {
    const char *label; /* "freed again" */
    const char *order; /* "second ", or NULL */
    uint32_t entry;    /* the function called; ENTRY_NONE: the one that the innermost frame calls */
    uint32_t site;
    const struct thread *thread;
};

struct error_rows {
    struct error_row at[3];
    uint32_t count;
};

struct error_rows error_rows(const struct error *e);
/*
 * Name the function whose call the stack is: "second free()", "calloc()". If it is not known, return
 * the label. The site must be symbolized; the caller frees the text.
 */
char *row_label(const struct report *r, const struct error_row *row);
/* Name that function: "free", "operator delete[]". NULL: not known. */
const char *row_callee(const struct report *r, const struct error_row *row);

/* ---- leak_rows.c ----------------------------------------------------------------------------- */

/* Leaks that are printed as one row: of one class, with equal innermost frames. */
struct leak_row {
    const struct leak *first; /* the largest of them */
    uint32_t members;
    uint64_t blocks;
    uint64_t bytes;
    uint64_t new_blocks;
    uint64_t indirect_blocks;
    uint64_t indirect_bytes;
    bool is_marked; /* print the number of new blocks */
};

/*
 * The number of rows for leaks of these kinds if `match` frames are compared: the number that the
 * text report prints.
 */
uint32_t leak_rows_count(const struct report *r, uint32_t kinds, uint32_t match);
/*
 * Return the leaks of a kind as rows, the largest first. `match` frames are compared, 0: all. Ids
 * are set for the first `named` rows. The caller frees the array.
 */
struct leak_row *leak_rows(struct report *r, uint32_t kind, uint32_t match, uint32_t named,
                           uint32_t *count);

/* A row with one leak, with is_marked unset. */
struct leak_row leak_row_of(const struct leak *leak);

struct leak_sum leak_sum(const struct report *r, uint32_t kind);
/* Was a leak check made in any process? */
bool leaks_are_known(const struct report *r);
/* Has any process made a mark or a leak check in mid-run? If not, all leaks are new. */
bool leaks_are_marked(const struct report *r);

/* ---- leak_sentences.c ------------------------------------------------------------------------ */

struct kind_text {
    const char *heading;    /* "LEAKS" */
    const char *reach;      /* "definitely lost ", after the heading */
    const char *summary;    /* "definitely lost" */
    const char *one, *many; /* "leak", "leaks" */
};

const struct kind_text *kind_text(uint32_t kind);
/* The caller frees these texts. They contain raw bytes of the file: escape before printing. */
char *leak_sentence(const struct leak_row *row, bool deterministic);
/* Describe the referrer of the leak's first block. */
char *witness_sentence(struct report *r, const struct leak *leak, bool deterministic);
/* "32 B in 2 blocks indirectly lost": blocks that are indirectly lost. NULL: there are none. */
char *format_indirect(const struct leak_row *row);
/* "3 blocks", or for CLASS_MAPPED "3 mappings". made_label: the label of the allocating stack. */
struct amount things_text(enum leak_class class, uint64_t n);
const char *made_label(const struct leak *leak);
/* Why the leaks of an image are unknown. NULL: they are known, or no check was requested. */
const char *leak_check_text(const struct report *r, const struct image *image);
const char *reach_name(enum leak_class class); /* as in the JSON report */

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

/* Is the file a header of the compiler or the system? */
bool line_is_of_header(const struct source_line *line);
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
    const char *title; /* "double free" */
    const char *help;
};

const struct check *check_at(uint32_t i); /* NULL past the last */
uint32_t check_of(const char *code);

/* ---- incomplete.c ---------------------------------------------------------------------------- */

/* Describe what may be missing from the report. NULL: nothing. The caller frees the text. */
char *report_incomplete(const struct report *r, bool leaks);

#endif

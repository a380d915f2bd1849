/*
 * wording_priv.h - names of things, and sentences of the text report.
 */
#ifndef WORDING_PRIV_H
#define WORDING_PRIV_H

#include <stdarg.h>

#include "lookup_priv.h"
#include "collect_priv.h"

/* ---- locations.c ----------------------------------------------------------------------------- */

/*
 * Print the location at an offset of a module: ".data of prog: table[3]+0x4 (prog.c:7)",
 * "libfoo.so+0x1234".
 */
void format_location(struct report *r, uint32_t module, uint64_t offset, FILE *out);
/*
 * Print "local variable `next' of main (prog.c:12)", as found by local_find. false, without output:
 * unknown.
 */
bool format_local(struct report *r, uint32_t frame, struct in_frame at, FILE *out);

/*
 * Print "thread-local variable `last' (prog.c:12)", as found by thread_variable_find. false,
 * without output: unknown.
 */
bool format_thread_variable(struct report *r, uint32_t module, uint64_t below, FILE *out);

/* ---- text_error.c ---------------------------------------------------------------------------- */

/* A position in an input file: `at` points into the line, or to its end. */
struct text_position {
    const char *name; /* of the file */
    uint32_t number;  /* of the line */
    const char *line;
    size_t bytes;
    const char *at;
};

/* Write "NAME:LINE:COLUMN: why", the line, and a caret below the position, as far as they fit. */
void text_error(const struct text_position *position, char *err, size_t room, const char *format,
                va_list args) __attribute__((format(printf, 4, 0)));

/* ---- wording.c ------------------------------------------------------------------------------- */

/* The last component of a path. */
const char *base_name(const char *path);

/*
 * "root", "fork", "exec"; end_name: "exit", "_exit", .. "killed", "running": as in the JSON report.
 */
const char *how_name(uint32_t how);
const char *error_code(uint32_t kind); /* "duf", ..; "foreign" */
const char *module_symbols_text(enum module_symbols symbols);
const char *stack_end_text(uint32_t end); /* why a stack ends */
const char *end_name(const struct report *r, const struct image *image);
/*
 * The start of an option's value in the run's settings; `key` is written with "_". NULL: the option
 * was not given.
 */
const char *run_setting(const struct run_header *run, const char *key);

const char *cost_work_name(uint32_t work); /* "allocate", .. */

/* Name of bit n of missing_features. NULL: unknown to this version. */
const char *feature_name(unsigned n);

/* The length, 1..4 bytes, of the valid UTF-8 character at `text`. 0: it is invalid. */
unsigned utf8_length(const char *text);

/* Is it a printable ASCII character or a blank? */
static inline bool byte_is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f;
}

/* The code point of the first character of a text, which has `bytes` bytes (utf8_length). */
uint32_t utf8_code(const char *text, unsigned bytes);
/* Is it a printable character that does not affect how others are shown? bytes 0: no character. */
bool is_printable(const char *text, unsigned bytes);

/* Print untrusted text to a terminal: bytes of unprintable characters are written \xNN. */
void text_put(FILE *out, const char *text);

/* "9 B", "1.2 MiB": exact below 10 KiB, else with one decimal. "1 block", "2 blocks". */
struct amount {
    char text[64];
};

struct amount size_text(uint64_t bytes);
struct amount count_text(uint64_t count, const char *one, const char *many);
struct amount block_text(uint64_t blocks);

/* For an unchecked image: "the program brought a malloc of its own". */
const char *why_unchecked(const struct image *image);
/* Name of a process: the base name of its program. */
const char *program_name(const struct image *image);
/* Path of the program that image ran; "" if it is unknown. */
const char *program_path(const struct report *r, uint32_t image);

/* The argument after `arg` (NULL: the first). NULL: there is none. */
const char *argv_next(const struct image *image, const char *arg);

/* ---- error_sentences.c ----------------------------------------------------------------------- */

/*
 * Describe an error in one sentence. It contains raw bytes of the file: escape before printing. The
 * caller frees it.
 */
char *error_sentence(struct report *r, const struct error *e, bool deterministic);

/* A stack of an error, with its thread if that is another one. */
struct error_row {
    const char *label;
    uint32_t site;
    const struct thread *thread;
};

struct error_rows {
    struct error_row at[3];
    uint32_t count;
};

struct error_rows error_rows(const struct error *e);
/* "thread main", "thread 3 (worker)" of this image; freed by the caller. */
char *format_thread(const struct report *r, uint32_t image, const struct thread *t);
/* Print the bytes that were found, after the address of damage. Prints nothing for other errors. */
void format_found(const struct error *e, FILE *out);
/* label before the text of format_thread for e's thread */
const char *thread_label(const struct error *e);
const char *entry_name(uint32_t entry); /* "operator delete"; NULL: unknown */

/* ---- calls.c --------------------------------------------------------------------------------- */

/* Linker's name of an operator, which may have several. */
struct entry_alias {
    uint32_t entry;
    const char *name;
};

const struct entry_alias *entry_alias(size_t index); /* NULL: past the last one */

const char *family_name(uint32_t family);

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
    const char *heading;    /* "LEAKS (mel)" */
    const char *summary;    /* "definite (mel)" */
    const char *one, *many; /* "leak", "leaks" */
};

const struct kind_text *kind_text(uint32_t kind);
/* The caller frees these texts. They contain raw bytes of the file: escape before printing. */
char *leak_sentence(const struct leak_row *row, bool deterministic);
/* Describe the referrer of the leak's first block. */
char *witness_sentence(struct report *r, const struct leak *leak, bool deterministic);
/* "2 blocks of 32 B behind it": blocks that are indirectly lost. NULL: there are none. */
char *format_indirect(const struct leak_row *row);
/* "3 blocks", or for CLASS_MAPPED "3 mappings". made_label: the label of the allocating stack. */
struct amount things_text(enum leak_class class, uint64_t n);
const char *made_label(const struct leak *leak);
/* Why the leaks of an image are unknown. NULL: they are known, or no check was requested. */
const char *leak_check_text(const struct report *r, const struct image *image);
const char *reach_name(enum leak_class class); /* as in the JSON report */

#endif

/*
 * wording_priv.h - names of things, and sentences.
 */
#ifndef WORDING_PRIV_H
#define WORDING_PRIV_H

#include <stdarg.h>

#include "lookup_priv.h"
#include "collect_priv.h"

/* ---- locations.c -------------------------------------------------------------------------------- */

/* ".data of prog: table[3]+0x4 (prog.c:7)", "libfoo.so+0x1234": what lies at an offset of a module. */
void format_location(struct report *r, uint32_t module, uint64_t offset, FILE *out);
/* "local variable `next' of main (prog.c:12)", as local_find; false, and nothing: it is not known. */
bool format_local(struct report *r, uint32_t frame, struct in_frame at, FILE *out);

/*
 * "thread-local variable `last' (prog.c:12)", as thread_variable_find; false, and nothing: it is
 * not known.
 */
bool format_thread_variable(struct report *r, uint32_t module, uint64_t below, FILE *out);

/* ---- text_error.c ------------------------------------------------------------------------------ */

/* A place in a text that somebody wrote: `at` lies in the line, or at its end. */
struct text_position {
    const char *name; /* of the file */
    uint32_t number;  /* of the line */
    const char *line;
    size_t bytes;
    const char *at;
};

/* "NAME:LINE:COLUMN: why", the line, and a caret below the place: all that has room. */
void text_error(const struct text_position *position, char *err, size_t room, const char *format,
                va_list args) __attribute__((format(printf, 4, 0)));

/* ---- wording.c --------------------------------------------------------------------------------- */

/* The last component of a path. */
const char *base_name(const char *path);

/* "root", "fork", "exec"; "exit", "_exit", .. "killed", "running": as in the JSON report. */
const char *how_name(uint32_t how);
const char *error_code(uint32_t kind); /* "duf", ..; "foreign" */
const char *module_symbols_text(enum module_symbols symbols);
const char *stack_end_text(uint32_t end); /* why a stack has no further frames */
const char *end_name(const struct report *r, const struct image *image);
/* Where the value of an option that the run was made with begins, "_" in its name; NULL: it was not given. */
const char *run_setting(const struct run_header *run, const char *key);

const char *cost_work_name(uint32_t work); /* "allocate", .. */

/* Name of bit n of missing_features; NULL: one that this rtcheck does not know. */
const char *feature_name(unsigned n);

/* How many of the bytes at `text`, 1..4, are one character in good UTF-8; 0: not good. */
unsigned utf8_length(const char *text);

/* A character of ASCII that can be seen, or a blank. */
static inline bool byte_is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f;
}

/* The character of so many bytes (utf8_length) at the beginning of a text. */
uint32_t utf8_code(const char *text, unsigned bytes);
/* Is it one that shows itself, and changes nothing about how others are shown?  bytes 0: no character. */
bool is_printable(const char *text, unsigned bytes);

/* Text out of a file on its way to a terminal: what is no printable character is written \xNN. */
void text_put(FILE *out, const char *text);

/* "9 B", "1.2 MiB": exact below 10 KiB, then three digits or so.  "1 block", "2 blocks". */
struct amount {
    char text[64];
};

struct amount size_text(uint64_t bytes);
struct amount count_text(uint64_t count, const char *one, const char *many);
struct amount block_text(uint64_t blocks);

/* Of an image that is not: "the program brought a malloc of its own". */
const char *why_unchecked(const struct image *image);
/* What a process is called: its program, as it was started. */
const char *program_name(const struct image *image);
/* Of the program that image ran; "" when it is not known. */
const char *program_path(const struct report *r, uint32_t image);

/* The next argument behind `arg` (NULL: the first); NULL: no more. */
const char *argv_next(const struct image *image, const char *arg);

/* ---- error_sentences.c --------------------------------------------------------------------------- */

/* What it was, in one sentence, in the file's bytes: whoever prints it escapes it.  Freed by the caller. */
char *error_sentence(struct report *r, const struct error *e, bool deterministic);

/* A stack that tells of an error, with the thread that was there, if it was another. */
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
/* What was there when damage was found, behind its address; nothing of other errors. */
void format_found(const struct error *e, FILE *out);
const char *thread_label(const struct error *e); /* before what format_thread says of e's thread */
const char *entry_name(uint32_t entry);          /* "operator delete"; NULL: not known */

/* ---- calls.c --------------------------------------------------------------------------------- */

/* What linkers call an operator, which may have several names. */
struct entry_alias {
    uint32_t entry;
    const char *name;
};

const struct entry_alias *entry_alias(size_t index); /* NULL: there are no more */

const char *family_name(uint32_t family);

/* ---- leak_rows.c ----------------------------------------------------------------------------- */

/* Leaks that are told as one: of one class, whose innermost frames are the same. */
struct leak_row {
    const struct leak *first; /* the largest of them */
    uint32_t members;
    uint64_t blocks;
    uint64_t bytes;
    uint64_t new_blocks;
    uint64_t indirect_blocks;
    uint64_t indirect_bytes;
    bool is_marked; /* it is worth saying what is new */
};

/* How many rows there are of leaks of these kinds, when `match` frames are compared: what the text counts. */
uint32_t leak_rows_count(const struct report *r, uint32_t kinds, uint32_t match);
/*
 * Leaks of a kind, the largest first; `match` frames are compared, 0: all.  The first `named` have
 * their ids.  The caller frees them.
 */
struct leak_row *leak_rows(struct report *r, uint32_t kind, uint32_t match, uint32_t named,
                           uint32_t *count);

/* One leak by itself, without a word about what is new. */
struct leak_row leak_row_of(const struct leak *leak);

struct leak_sum leak_sum(const struct report *r, uint32_t kind);
/* Was it asked in any process? */
bool leaks_are_known(const struct report *r);
/* Has any process made a mark, or had leaks told in mid-run?  Else all are new. */
bool leaks_are_marked(const struct report *r);

/* ---- leak_sentences.c ---------------------------------------------------------------------------- */

struct kind_text {
    const char *heading;    /* "LEAKS (mel)" */
    const char *summary;    /* "definite (mel)" */
    const char *one, *many; /* "leak", "leaks" */
};

const struct kind_text *kind_text(uint32_t kind);
/* All of these are freed by the caller, and in the file's bytes: whoever prints them escapes them. */
char *leak_sentence(const struct leak_row *row, bool deterministic);
/* Who points to the first of its blocks. */
char *witness_sentence(struct report *r, const struct leak *leak, bool deterministic);
/* "2 blocks of 32 B behind it"; NULL: there are none. */
char *format_indirect(const struct leak_row *row);
/* "3 blocks", or of CLASS_MAPPED "3 mappings"; and the label of the stack that made it. */
struct amount things_text(enum leak_class class, uint64_t n);
const char *made_label(const struct leak *leak);
/* Why leaks of an image are not known; NULL: they are, or nobody asked. */
const char *leak_check_text(const struct report *r, const struct image *image);
const char *reach_name(enum leak_class class); /* as in the JSON report */

#endif

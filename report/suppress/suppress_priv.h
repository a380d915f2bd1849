/*
 * suppress_priv.h - shared by the files of suppress, above all by the readers of the three
 * grammars: line-by-line input and rule construction.
 *
 *   suppress_read.c      files, lines, comments with settings, messages; selects the grammar
 *   suppress_valgrind.c  { name, tool:kind, locations }
 *   suppress_lsan.c      leak:TEMPLATE
 *   suppress_rtc.c       suppress CODE.. [in NAME..]
 *
 * The reader of a grammar returns 0, or -EINVAL after writing a message.
 */
#ifndef SUPPRESS_PRIV_H
#define SUPPRESS_PRIV_H

#include <errno.h>
#include <stdarg.h>

#include "patterns.h"
#include "rules.h"
#include "suppress.h"

/* Settings in comments above or inside a rule. */
struct remarks {
    char *reason;
    char expires[11];
    uint64_t max;
};

struct reader {
    struct rules *rules;
    const char *name;     /* of the file */
    const char *at, *end; /* the unread text */
    /* the current line without surrounding blanks; empty at the end of the text */
    const char *line;
    size_t bytes;
    const char *whole; /* the current line with its blanks */
    size_t whole_bytes;
    uint32_t number;
    bool is_end;
    struct remarks remarks;
    char *err;
    size_t room;
};

/*
 * Read the next line that is neither empty nor a comment, and collect settings from comments.
 * Outside of an entry an empty line discards the settings above it. Sets is_end at the end of the
 * text.
 */
int reader_next(struct reader *in, bool in_entry);

/* Write "FILE:LINE:COLUMN: why", the line, and a caret below `at`. Returns -EINVAL. */
int reader_refuse(struct reader *in, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Does the line equal `word`? Does it begin with it? */
bool line_is(const struct reader *in, const char *word);
bool line_begins(const struct reader *in, const char *word);

/* Add a new rule to the list, named by `bytes` bytes at `name`, with the settings read so far. */
struct rule *reader_add(struct reader *in, enum rule_grammar grammar, const char *name,
                        size_t bytes);
/* Apply settings that were read after reader_add. */
void reader_remark(struct reader *in, struct rule *rule);
/* Add a location to the rule. */
void reader_locate(struct rule *rule, enum location_field field, uint32_t pattern, uint32_t line);

int read_valgrind(struct reader *in); /* in->line begins with "{" */
int read_lsan(struct reader *in);     /* in->line is one rule */
int read_rtc(struct reader *in);      /* in->line is one rule */

/* ---- suppress_own.c, suppress_match.c -------------------------------------------------------- */

/*
 * Return `rules` with those of the report's programs, freed with the report; or `rules` if there
 * are none.
 */
struct rules *rules_with_own(struct report *r, struct rules *rules);
bool is_of_libc(const char *base_name); /* of a module */
/*
 * Return the function that allocated (enum error_entry), by what the innermost frame calls.
 * ENTRY_NONE: not known.
 */
uint32_t allocator_of(const struct report *r, const struct site *site);

/* ---- baseline_origin.c ----------------------------------------------------------------------- */

/* The program that a finding is of. Both are NULL if only libraries are in its stack. */
struct origin {
    char *program; /* the name of its file */
    char *source;  /* "folder/main.c"; "build-id:9c0f.." if that is unknown; NULL: so is this */
};

/* Of a finding with this (symbolized) site, first found in this image. Freed by origin_free. */
struct origin origin_of(const struct report *r, uint32_t site, uint32_t image);
/* Return 0 if a baseline's row is of another program; a larger number is a better match. */
unsigned origin_match(const struct origin *row, const struct origin *finding);
int text_order(const char *a, const char *b); /* as strcmp; NULL is before all texts */
int origin_order(const struct origin *a, const struct origin *b);
struct origin origin_copy(const struct origin *origin);
void origin_free(struct origin *origin);

#endif

/*
 * suppress_priv.h - what the readers of the three grammars share: a text, line by line.
 *
 *   suppress_read.c      files, lines, comments that mean something, complaints; whose line it is
 *   suppress_valgrind.c  { name, tool:kind, locations }
 *   suppress_lsan.c      leak:TEMPLATE
 *   suppress_rtc.c       suppress CODE.. [in NAME..]
 *
 * A reader of a grammar returns 0, or -EINVAL with the complaint written.
 */
#ifndef SUPPRESS_PRIV_H
#define SUPPRESS_PRIV_H

#include <errno.h>
#include <stdarg.h>

#include "patterns.h"
#include "report_priv.h"
#include "rules.h"

/* What comments say of the rule that they stand above or in. */
struct remarks {
    char *reason;
    char expires[11];
    uint64_t max;
};

struct reader {
    struct rules *rules;
    const char *name;     /* of the file */
    const char *at, *end; /* what is not read yet */
    const char *line;     /* the current one, without blanks at its ends; empty at the end of all */
    size_t bytes;
    const char *whole; /* the same with its blanks */
    size_t whole_bytes;
    uint32_t number;
    bool is_end;
    struct remarks remarks;
    char *err;
    size_t room;
};

/*
 * The next line that is neither empty nor a comment; remarks in comments are taken on the way, those
 * above an empty line forgotten outside of an entry.  At the end is_end is set.
 */
int reader_next(struct reader *in, bool in_entry);

/* "FILE:LINE:COLUMN: why", the line, and a caret below `at`; returns -EINVAL. */
int reader_refuse(struct reader *in, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Is the line, or `at` up to its end, exactly this; does it begin with it? */
bool line_is(const struct reader *in, const char *word);
bool line_begins(const struct reader *in, const char *word);

/* A new rule in the list, named `bytes` bytes of `name`, with the remarks so far. */
struct rule *reader_add(struct reader *in, enum rule_grammar grammar, const char *name,
                        size_t bytes);
/* Remarks that came after reader_add. */
void reader_remark(struct reader *in, struct rule *rule);
/* A location of the rule. */
void reader_locate(struct rule *rule, enum location_field field, uint32_t pattern, uint32_t line);

int read_valgrind(struct reader *in); /* in->line is "{" */
int read_lsan(struct reader *in);     /* in->line is one rule */
int read_rtc(struct reader *in);      /* in->line is one rule */

#endif

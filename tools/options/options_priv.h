/*
 * options_priv.h - declarations shared by the parts of the options' parser.
 *
 *   options.c        the table, RTCHECK_OPTIONS, the values in force, the canonical text
 *   option_values.c  kinds of values: their syntax and canonical text
 *   option_args.c    the command line, and --help
 *   imported.c       options of valgrind and of sanitizers
 *   lsan_options.c   LSAN_OPTIONS
 */
#ifndef OPTIONS_PRIV_H
#define OPTIONS_PRIV_H

#include "options.h"

/* ---- option_values.c: functions return false for text that is not of the kind -------------- */

bool parse_flag(const char *text, bool *out);
/* Digits of `base`, with an optional 0x prefix for base 16; *end points past them. */
bool parse_number(const char *text, int base, uint64_t *out, char **end);
bool parse_size(const char *text, uint64_t *out);
bool parse_leak_kinds(const char *text, unsigned *out);

/* The canonical text of `given`; false: `given` is not of the kind, or `out` is too small. */
bool value_canonical(int kind, const char *given, char *out, size_t room);
/* The value of an option that is given without one; NULL: it needs one. */
const char *value_if_bare(const struct option_info *info);
/* The syntax of the kind's values, as text for error messages. */
const char *value_syntax(int kind);

/* ---- options.c ------------------------------------------------------------------------------- */

/* Index of the key [key, key + n), with '_' read as '-'; OPTION_COUNT_MAX if there is none. */
unsigned option_index(const struct verb *verb, const char *key, size_t n);
/* `given` NULL: the name had no value.  -EINVAL: err describes the expected value. */
int option_set(struct options *o, unsigned index, const char *given, char err[TOOLS_ERROR_BYTES]);

/* ---- option_args.c --------------------------------------------------------------------------- */

/* A row of --help: `text` in its column, wrapped between words. */
void help_row_print(FILE *out, const char *name, const char *text);

/* ---- imported.c ------------------------------------------------------------------------------ */

/* Take --name=value as valgrind's option.  -ENOENT: valgrind has none; -EINVAL: it is refused. */
int valgrind_option(struct options *o, const char *word, char err[TOOLS_ERROR_BYTES]);
/* Take the options in the value of `from`, VALGRIND_OPTS or the name of a file. */
int valgrind_words_take(struct options *o, const char *text, const char *from,
                        char err[TOOLS_ERROR_BYTES]);
/* Take VALGRIND_OPTS; for rtcheck-valgrind also the files .valgrindrc. */
int valgrind_environment_take(struct options *o, char err[TOOLS_ERROR_BYTES]);

/* ---- lsan_options.c -------------------------------------------------------------------------- */

/*
 * The next key=value at *at, which is advanced past it: the key, of *key_bytes, and the value.
 * NULL: there is none.
 */
const char *lsan_next(const char **at, size_t *key_bytes, char *value, size_t room);

#endif

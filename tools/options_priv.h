/*
 * options_priv.h - what the parts of the options' parser share.
 *
 *   options.c        the table, RTCHECK_OPTIONS, what is in force, the canonical text
 *   option_values.c  kinds of values: what is one, and its canonical text
 *   option_args.c   the command line, and --help
 */
#ifndef OPTIONS_PRIV_H
#define OPTIONS_PRIV_H

#include "tools.h"

enum option_kind {
    KIND_FLAG,
    KIND_SIZE,
    KIND_PATH,
    KIND_PATHS,
    KIND_NAMES,
    KIND_GEN,
    KIND_NUMBER,
    KIND_BYTE,
    KIND_HEAP,
    KIND_EVENTS,
    KIND_FRAMES,
    KIND_LIMIT,
    KIND_ON_ERROR,
    KIND_CALLERS,
    KIND_MATCH,
    KIND_AT_EXIT,
    KIND_COLOR,
    KIND_FORMAT,
    KIND_TOOL,
    KIND_ANNOTATE,
    KIND_MAP,
    KIND_LEAK_CHECK,
    KIND_RESOLUTION,
    KIND_LEAK_KINDS,
    KIND_PAIRS,
    KIND_REDZONE,
};

/* ---- option_values.c: each returns false for text that is not of the kind ------------------ */

bool parse_flag(const char *text, bool *out);
/* Digits of `base` only, one 0x before those of 16; *end is behind them. */
bool parse_number(const char *text, int base, uint64_t *out, char **end);
bool parse_size(const char *text, uint64_t *out);
bool parse_leak_kinds(const char *text, unsigned *out);

/* The canonical text of `given`. */
bool value_canonical(int kind, const char *given, char *out, size_t room);
/* What a value of the kind looks like, in words. */
const char *value_syntax(int kind);

/* ---- options.c ------------------------------------------------------------------------------- */

/* Index of the key [key, key + n), '_' read as '-'; OPTION_COUNT_MAX when there is none. */
unsigned option_index(const char *key, size_t n);
/* `given` NULL: the name stood alone.  -EINVAL: err says what it is not. */
int option_set(struct options *o, unsigned index, const char *given, char err[TOOLS_ERROR_BYTES]);

#endif

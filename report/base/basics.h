/*
 * basics.h - what every room of report needs and what depends on no run: the interface of base.
 *
 *   memory.c      allocation that does not fail
 *   search.c      binary search by start address
 *   write.c       whole files: read, or replaced by rename
 *   digest.c      the digest of a file
 *   text.c        untrusted text made safe for a terminal, and amounts in words
 *   text_error.c  messages about mistakes in an input file
 *   demangle.c    linkage name -> name in the source
 *   page.c        the stream and the settings of a text report, and its colours
 *   progress.c    a progress line on a terminal (report.h)
 *   json.c        a writer of JSON (json.h)
 *
 * Trusts nothing: names, texts and files may be malformed. Has no state between calls.
 *
 * The rooms of report, from the bottom: base < file < model < {read, symbols} < findings <
 * suppress < text < formats; variables is beside file. Each room sees the rooms below it only
 * (tests/project/law.py), and the header of each room includes those of the rooms below. report.h
 * is the interface to the rest of rtcheck.
 */
#ifndef BASICS_H
#define BASICS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report.h"
#include "format/bits.h"

/* ---- memory.c -------------------------------------------------------------------------------- */

/* Return `p`; if it is NULL, report that memory is exhausted and exit. */
void *xalloc(void *p);
void *grow(void *array, uint32_t count, size_t item); /* room for one more; doubles */

/* ---- search.c -------------------------------------------------------------------------------- */

/*
 * Return how many items begin at or before the address. They have `stride` bytes each and are
 * sorted by the 64-bit address in their first bytes.
 */
size_t begun_before(const void *items, size_t count, size_t stride, uint64_t address);

/* ---- write.c --------------------------------------------------------------------------------- */

/* Read a whole file into memory, freed by the caller. NULL: errno is set. */
char *file_read(const char *path, size_t *bytes);
/*
 * Write the output of `put`, which returns 0 or -errno, to a temporary file, then rename it to
 * `path`. Written in place are files that are not regular, those below /dev, and links to nothing.
 * Return 0 or -errno.
 */
typedef int write_put(FILE *out, void *arg);
int write_whole(const char *path, write_put *put, void *arg);
/* Write all bytes at an offset. Return 0 or -errno. */
int write_at(int fd, const void *from, size_t bytes, uint64_t offset);
/* Could write_whole write the file now? Nothing is created. Return 0 or -errno. */
int write_whole_check(const char *path);

/* ---- digest.c -------------------------------------------------------------------------------- */

/* The digest of all bytes of a file, from its start. Return 0 or -errno. */
int digest_of_file(int fd, char digest[REPORT_DIGEST_BYTES]);

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

/* ---- text.c ---------------------------------------------------------------------------------- */

/* The last component of a path. */
const char *base_name(const char *path);

/* Does one of the patterns, separated by commas, match the whole name? NULL: there are none. */
bool matches_any(const char *name, const char *patterns);

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

/* Return text as text_put prints it; freed by the caller. */
char *text_escaped(const char *text);
/* Print untrusted text to a terminal: bytes of unprintable characters are written \xNN. */
void text_put(FILE *out, const char *text);

/* "9 B", "1.2 MiB": exact below 10 KiB, else with one decimal. "1 block", "2 blocks". */
struct amount {
    char text[64];
};

struct amount size_text(uint64_t bytes);
struct amount count_text(uint64_t count, const char *one, const char *many);
struct amount block_text(uint64_t blocks);

/* ---- demangle.c ------------------------------------------------------------------------------ */

/* Return the source name, freed by the caller. NULL: not a mangled name, or too long. */
char *demangle(const char *name);

/* ---- page.c ---------------------------------------------------------------------------------- */

/* Output stream and settings of a text report. */
struct page {
    FILE *out;
    const struct print_options *how;
    const char *program; /* the module of this path is not named */
    uint32_t frames;     /* shown per stack */
    bool whole;          /* nothing is omitted from what is shown */
    bool wraps;          /* sentences are broken at the width, too: it is a terminal's */
    uint32_t columns;    /* width */
};

/* A page as `how` has it. */
struct page page_of(FILE *out, const struct print_options *how, const char *program);

#define COLUMNS_DEFAULT 100u
#define FRAMES_SHOWN 8u /* per stack, if how->frames is not set */

enum colour {
    COLOUR_NONE,
    COLOUR_HEADING,
    COLOUR_ERROR,
    COLOUR_WARNING,
    COLOUR_GOOD,
    COLOUR_PLACE,
    COLOUR_FAINT
};

/* Set the colour of the following text, if colours are enabled. */
void set_colour(const struct page *page, enum colour set_colour);

#endif

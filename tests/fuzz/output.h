/*
 * output.h - what must hold of everything that is printed, whatever the file says.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* Good UTF-8 without control characters but newlines: it cannot command a terminal. */
bool output_is_plain(const char *text, size_t bytes);

/* One JSON value (RFC 8259), white space around it allowed, in good UTF-8. */
bool output_is_json(const char *text, size_t bytes);

/* One on each line. */
bool output_is_json_lines(const char *text, size_t bytes);

#endif

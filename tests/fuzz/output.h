/*
 * output.h - properties of all printed output, for any contents of the file.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* Valid UTF-8 without control characters except newlines: it cannot control a terminal. */
bool output_is_plain(const char *text, size_t bytes);

/* One JSON value (RFC 8259), white space around it allowed, in valid UTF-8. */
bool output_is_json(const char *text, size_t bytes);

/* One JSON value on each line. */
bool output_is_json_lines(const char *text, size_t bytes);

#endif

/*
 * json_scan.h - a sequential scanner of JSON that may be written by hand.
 *
 * All functions that return int return 0, or -EINVAL with the name, the line and the reason in
 * `err`. Blanks between tokens are skipped.
 */
#ifndef JSON_SCAN_H
#define JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan {
    const char *name; /* of the file */
    const char *text, *at, *end;
    char *err;
    size_t room;
};

/* Report what is wrong at s->at. */
int scan_refuse(struct scan *s, const char *why, ...) __attribute__((format(printf, 2, 3)));
/* Return the next character that is not blank; 0: the end. */
char scan_peek(struct scan *s);
/* Consume `c`. false: the next character is another one. */
bool scan_take(struct scan *s, char c);
/* Copy a string to `out`, truncated to `room`; escapes are not decoded. */
int scan_text(struct scan *s, char *out, size_t room);
/* Read a number without a sign. */
int scan_number(struct scan *s, uint64_t *out);
/* Skip a value: brackets are counted, words are not checked. */
int scan_skip(struct scan *s);

/* Read the value of `member`, or skip it if the member is unknown. */
typedef int member_taker(struct scan *s, const char *member, void *arg);
/* Read an object with at least one member. */
int scan_object(struct scan *s, member_taker *take_member, void *arg);

#endif

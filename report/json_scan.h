/*
 * json_scan.h - JSON that somebody may have written by hand, read from beginning to end.
 *
 * All that return int: 0, or -EINVAL, with the place, the line and why in `err`.  Between what is
 * taken there may be blanks.
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

/* What is wrong at s->at. */
int scan_refuse(struct scan *s, const char *why, ...) __attribute__((format(printf, 2, 3)));
/* The next character that is no blank; 0: the end. */
char scan_peek(struct scan *s);
/* false: it is another one. */
bool scan_take(struct scan *s, char c);
/* Into `out` as far as there is room, escapes as they stand. */
int scan_text(struct scan *s, char *out, size_t room);
/* A count: without a sign. */
int scan_number(struct scan *s, uint64_t *out);
/* A value that nobody asks for: brackets are counted, words passed over. */
int scan_skip(struct scan *s);

/* Takes the value of `member`, passing over what it does not know. */
typedef int member_taker(struct scan *s, const char *member, void *arg);
/* An object of one member at least. */
int scan_object(struct scan *s, member_taker *take_member, void *arg);

#endif

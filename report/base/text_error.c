/*
 * text_error.c - messages about mistakes in an input file: position, reason, and the line.
 *
 *     known.json:3:12: { is expected
 *       "findings": ["mel-12"]
 *                    ^
 */
#include <string.h>

#include "basics.h"

#define SHOWN_MAX 100 /* bytes of a line */
#define SHOWN_BEFORE 60

/* Replace unprintable bytes: files are untrusted, and messages go to terminals. */
static char plain(char c)
{
    return byte_is_plain((unsigned char)c) ? c : c == '\t' ? ' ' : '?';
}

/* Print the part of the line around the position, and a caret below it. */
static void show_position(const struct text_position *position, size_t column, char *out,
                          size_t room)
{
    size_t from = column > SHOWN_MAX - 8 ? column - SHOWN_BEFORE : 0;
    size_t count = position->bytes - from, used = 3;

    count = count < SHOWN_MAX ? count : SHOWN_MAX;
    snprintf(out, room, "\n  ");
    for (size_t i = 0; i < count && used + 1 < room; i++)
        out[used++] = plain(position->line[from + i]);
    snprintf(out + used, room - used, "\n  %*s^", (int)(column - from), "");
}

void text_error(const struct text_position *position, char *err, size_t room, const char *format,
                va_list args)
{
    size_t column = (size_t)(position->at - position->line), used;

    used = (size_t)snprintf(err, room, "%.200s:%u:%zu: ", position->name, position->number,
                            column + 1);
    used = used < room ? used : room - 1;
    vsnprintf(err + used, room - used, format, args);
    for (char *p = err; *p; p++)
        *p = plain(*p);
    used = strlen(err);
    if (used + 16 < room)
        show_position(position, column, err + used, room - used);
}

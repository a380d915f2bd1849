/*
 * layout.c - text in the width of a page.
 *
 * A line is broken between words or between frames, never inside a name: names are searched for and
 * copied. Text for a log (page.wraps unset) is broken between frames only, so that a message stays
 * one line for grep; the second sentence of a finding begins a new line there. Widths are counted in
 * characters of the escaped text; bytes that are not printable take four columns (\xNN).
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

uint32_t columns_of(const char *text)
{
    uint32_t columns = 0;

    while (*text) {
        unsigned bytes = printable_bytes(text);
        columns += bytes ? 1 : 4;
        text += bytes ? bytes : 1;
    }
    return columns;
}

void spaces_put(FILE *out, uint32_t count)
{
    fprintf(out, "%*s", (int)count, "");
}

/* Print the first `bytes` bytes of untrusted text. */
static void part_put(FILE *out, const char *text, size_t bytes)
{
    char *part = xalloc(strndup(text, bytes));

    text_put(out, part);
    free(part);
}

static uint32_t part_columns(const char *text, size_t bytes)
{
    char *part = xalloc(strndup(text, bytes));
    uint32_t columns = columns_of(part);

    free(part);
    return columns;
}

/* The end of the word at a blank or word. "main thread" and "thread 3" are one word each. */
static size_t word_end(const char *text, size_t at)
{
    size_t start = at + strspn(text + at, " "), end = start + strcspn(text + start, " ");

    if (strncmp(text + start, "main thread", strlen("main thread")) == 0 ||
        (end - start == strlen("thread") && strncmp(text + start, "thread", end - start) == 0 &&
         isdigit((unsigned char)text[end + (text[end] == ' ')])))
        end += 1 + strcspn(text + end + 1, " ");
    return end;
}

/* Return the bytes of `text` that fit in `room` columns, up to a blank; at least one word. */
static size_t line_bytes(const char *text, uint32_t room)
{
    size_t fits = 0;

    for (size_t end = 0; text[end]; fits = end) {
        end = word_end(text, fits);
        if (fits > 0 && part_columns(text, end) > room)
            break;
    }
    return fits;
}

uint32_t words_put(const struct page *page, uint32_t at, uint32_t indent, uint32_t reserved,
                   const char *text)
{
    uint32_t width = page->columns - reserved;

    while (page->wraps && at + columns_of(text) > width) {
        size_t bytes = line_bytes(text, width > at ? width - at : 1);
        if (*text == ' ' && at > indent && at + part_columns(text, bytes) > width)
            bytes = 0; /* not even one word fits after what is there */
        if (text[bytes] == 0)
            break;
        part_put(page->out, text, bytes);
        text += bytes + strspn(text + bytes, " ");
        fputc('\n', page->out);
        spaces_put(page->out, indent);
        at = indent;
        width = page->columns;
    }
    text_put(page->out, text);
    return at + columns_of(text);
}

/* The bytes of a text up to the end of its first clause, "1 leak (9 B),". */
static size_t clause_bytes(const char *text)
{
    size_t bytes = 0;

    while (text[bytes] && !(strchr(",;", text[bytes]) && text[bytes + 1] == ' '))
        bytes++;
    return text[bytes] ? bytes + 1 : bytes;
}

uint32_t clauses_put(const struct page *page, uint32_t at, const char *text)
{
    while (*text) {
        size_t bytes = clause_bytes(text), blanks = strspn(text, " ");
        char *clause = xalloc(strndup(text, bytes));
        uint32_t columns = columns_of(clause + blanks);
        bool moves = page->wraps && blanks > 0 && at > HEAD_INDENT &&
                     at + blanks + columns > page->columns &&
                     HEAD_INDENT + columns <= page->columns;
        if (moves) {
            fputc('\n', page->out);
            spaces_put(page->out, HEAD_INDENT);
        }
        at = words_put(page, moves ? HEAD_INDENT : at, HEAD_INDENT, 0,
                       clause + (moves ? blanks : 0));
        free(clause);
        text += bytes;
    }
    return at;
}

void fact_print(const char *name, const char *text, const struct page *page)
{
    set_colour(page, COLOUR_HEADING);
    fprintf(page->out, "%-*s", (int)FACT_INDENT, name);
    set_colour(page, COLOUR_NONE);
    words_put(page, FACT_INDENT, FACT_INDENT, 0, text);
    fputc('\n', page->out);
}

/* ---- the head of a finding ------------------------------------------------------------------- */

static uint32_t digits_of(uint32_t number)
{
    uint32_t digits = 1;

    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

void id_put(const char *id, uint32_t at, const struct page *page)
{
    uint32_t columns = columns_of(id) + 2;

    spaces_put(page->out, at + columns <= page->columns ? page->columns - at - columns + 2 : 2);
    set_colour(page, COLOUR_FAINT);
    text_put(page->out, id);
    set_colour(page, COLOUR_NONE);
}

/* The bytes of a text up to its first semicolon outside of parentheses. */
static size_t sentence_bytes(const char *text)
{
    size_t bytes = 0, depth = 0;

    for (; text[bytes]; bytes++)
        if (text[bytes] == '(')
            depth++;
        else if (text[bytes] == ')' && depth > 0)
            depth--;
        else if (depth == 0 && strncmp(text + bytes, "; ", 2) == 0)
            return bytes + 1;
    return bytes;
}

/*
 * The id is at the right end of the first line. So the first line is formatted first: the words that
 * do not fit beside the id follow below. In a log they are the sentence after a semicolon.
 */
void finding_head_put(const struct page *page, uint32_t number, enum colour colour,
                      const char *title, const char *text, const char *id)
{
    uint32_t indent = digits_of(number) < 2 ? HEAD_INDENT : digits_of(number) + 2;
    uint32_t at = indent + columns_of(title), width = page->columns - columns_of(id) - 2;
    size_t bytes = strlen(text);
    struct page below = *page;

    fprintf(page->out, "%-*u", (int)indent, number);
    set_colour(page, colour);
    text_put(page->out, title);
    set_colour(page, COLOUR_NONE);
    if (at + columns_of(text) > width)
        bytes = page->wraps ? line_bytes(text, width > at ? width - at : 1) : sentence_bytes(text);
    part_put(page->out, text, bytes);
    id_put(id, at + part_columns(text, bytes), page);
    fputc('\n', page->out);
    text += bytes + strspn(text + bytes, " ");
    if (!*text)
        return;
    below.wraps = true;
    spaces_put(page->out, HEAD_INDENT);
    if (page->wraps)
        words_put(page, HEAD_INDENT, HEAD_INDENT, 0, text);
    else
        clauses_put(&below, HEAD_INDENT, text);
    fputc('\n', page->out);
}

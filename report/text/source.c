/*
 * source.c - lines of a source file below the frame that they belong to, and links to it.
 *
 *        54 |     free(copy);
 *        55 |     free(copy);
 *           |     ^
 *
 * The path comes from the debugging information of the checked program. So only a regular file is
 * read, and by root only one that everybody may read: a program must not choose which lines of
 * other files appear in a log.
 */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

#define SOURCE_BYTES_MAX (16u << 20)
#define TAB 8u
#define INDENT 6u

int source_file_open(const char *path, struct stat *st)
{
    int fd = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;

    if (fd < 0)
        return -1;
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_size <= SOURCE_BYTES_MAX &&
        (geteuid() != 0 || st->st_mode & S_IROTH))
        return fd;
    close(fd);
    return -1;
}

/* In the pack that the run was read from; -1: it has no sources, or not this one. */
static int packed_open(const struct report *r, const char *path)
{
    struct stat st;
    char *inside;
    int fd;

    if (!packed_root(r) || path[0] != '/')
        return -1;
    if (asprintf(&inside, "%s%s", packed_root(r), path) < 0)
        inside = xalloc(NULL);
    fd = source_file_open(inside, &st);
    free(inside);
    return fd;
}

static FILE *source_open(struct report *r, const char *path)
{
    int fd = packed_open(r, path);
    struct stat st;
    FILE *file;

    if (fd < 0)
        fd = source_file_open(path, &st);
    if (fd < 0)
        return NULL;
    file = packed_has_version(r, path, fd) ? fdopen(fd, "r") : NULL;
    if (!file)
        close(fd);
    return file;
}

bool source_is_there(struct report *r, const struct stack_line *line)
{
    FILE *file = line->file && line->number > 0 ? source_open(r, line->file) : NULL;

    return file && fclose(file) == 0;
}

static uint32_t indent_of(const char *text)
{
    uint32_t columns = 0;

    for (; *text == ' ' || *text == '\t'; text++)
        columns += *text == '\t' ? TAB - columns % TAB : 1;
    return columns;
}

/* Print a line without its indentation beyond `shift`, cut at the right end of the page. */
static void source_line_print(int number, const char *text, uint32_t shift, const struct page *page)
{
    const char *code = text + strspn(text, " \t");
    uint32_t at = INDENT + 9 + indent_of(text) - shift;

    spaces_put(page->out, INDENT);
    set_colour(page, COLOUR_FAINT);
    fprintf(page->out, "%6d | ", number);
    set_colour(page, COLOUR_NONE);
    spaces_put(page->out, indent_of(text) - shift);
    for (unsigned bytes; *code && *code != '\n' && at < page->columns; code += bytes, at++) {
        bytes = printable_bytes(code);
        if (bytes > 0)
            fwrite(code, 1, bytes, page->out);
        else
            fputc(*code == '\t' ? ' ' : '?', page->out);
        bytes = bytes ? bytes : 1;
    }
    fputc('\n', page->out);
}

static void caret_print(uint32_t columns, const struct page *page)
{
    if (INDENT + 9 + columns >= page->columns) /* the line is cut before it */
        return;
    spaces_put(page->out, INDENT);
    set_colour(page, COLOUR_FAINT);
    fputs("       | ", page->out);
    set_colour(page, COLOUR_ERROR);
    spaces_put(page->out, columns);
    fputc('^', page->out);
    set_colour(page, COLOUR_NONE);
    fputc('\n', page->out);
}

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The columns of the code from `from` to `to`, as source_line_print prints it. */
static uint32_t code_columns(const char *from, const char *to)
{
    uint32_t columns = 0;

    for (unsigned bytes; from < to; from += bytes ? bytes : 1, columns++)
        bytes = printable_bytes(from);
    return columns;
}

/* The column of the callee's name in a line ("operator delete[]": of delete), else of its first
 * character. */
static uint32_t caret_column(const char *text, const char *callee)
{
    static const char operator_[] = "operator ";
    uint32_t start = indent_of(text);
    const char *code = text + strspn(text, " \t");
    size_t bytes;

    if (callee && strncmp(callee, operator_, sizeof operator_ - 1) == 0)
        callee += sizeof operator_ - 1;
    bytes = callee ? strspn(callee, "abcdefghijklmnopqrstuvwxyz_") : 0;
    for (const char *at = code; bytes > 0 && *at; at++)
        if (strncmp(at, callee, bytes) == 0 && !is_of_name(at[bytes]) &&
            (at == code || !is_of_name(at[-1])))
            return start + code_columns(code, at);
    return start;
}

/* Read up to line `last` and keep the lines from `first` on. Returns how many were kept. */
static int lines_read(FILE *file, int first, int last, char **lines)
{
    size_t room = 0;
    int kept = 0;

    for (int number = 1; number <= last; number++) {
        char **line = &lines[number < first ? 0 : number - first];
        room = number > first ? 0 : room;
        if (getline(line, &room, file) < 0)
            break;
        kept = number < first ? 0 : kept + 1;
    }
    return kept;
}

void source_print(struct report *r, const struct stack_line *line, const char *callee,
                  const struct page *page)
{
    int count = (int)page->how->source, first = line->number - count + 1;
    FILE *file = count > 0 && line->file && line->number > 0 ? source_open(r, line->file) : NULL;
    char **lines;
    uint32_t shift = UINT32_MAX;

    if (!file)
        return;
    first = first < 1 ? 1 : first;
    count = line->number - first + 1;
    lines = xalloc(calloc((size_t)count, sizeof *lines));
    if (lines_read(file, first, line->number, lines) == count) {
        for (int i = 0; i < count; i++)
            if (lines[i][strspn(lines[i], " \t\r\n")] && indent_of(lines[i]) < shift)
                shift = indent_of(lines[i]);
        shift = shift == UINT32_MAX ? 0 : shift; /* all lines are empty */
        for (int i = 0; i < count; i++)
            source_line_print(first + i, lines[i],
                              indent_of(lines[i]) < shift ? indent_of(lines[i]) : shift, page);
        caret_print(caret_column(lines[count - 1], callee) - shift, page);
    }
    for (int i = 0; i < count; i++)
        free(lines[i]);
    free(lines);
    fclose(file);
}

/* ---- links (OSC 8) --------------------------------------------------------------------------- */

static bool is_plain_in_url(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("/-_.~+", c));
}

void link_begin(FILE *out, const char *path, int line)
{
    char host[HOST_NAME_MAX + 1] = "";

    gethostname(host, sizeof host - 1);
    fprintf(out, "\033]8;;file://%s", host);
    for (; *path; path++)
        fprintf(out, is_plain_in_url(*path) ? "%c" : "%%%02X", (unsigned char)*path);
    fprintf(out, "#L%d\033\\", line);
}

void link_end(FILE *out)
{
    fputs("\033]8;;\033\\", out);
}

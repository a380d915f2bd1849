/*
 * json.c - the JSON writer. Text from a run file is converted to valid UTF-8: an invalid byte
 * becomes U+FFFD. Numbers of 64 bits are written in full.
 */
#include <time.h>

#include "json.h"

/* Above U+FFFF: a surrogate pair. */
static void code_put(FILE *out, uint32_t code)
{
    if (code > 0xffff)
        fprintf(out, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
    else
        fprintf(out, "\\u%04x", code);
}

static void put_string(struct json *j, const char *s)
{
    fputc('"', j->out);
    while (*s) {
        unsigned bytes = utf8_length(s);
        if (bytes == 0) {
            fputs("\\ufffd", j->out);
            bytes = 1;
        } else if (*s == '"' || *s == '\\') {
            fprintf(j->out, "\\%c", *s);
        } else if (!is_printable(s, bytes)) {
            code_put(j->out, utf8_code(s, bytes));
        } else {
            fwrite(s, 1, bytes, j->out);
        }
        s += bytes;
    }
    fputc('"', j->out);
}

/* Write what precedes a value: comma, newline at depths 1 and 2, name. */
static void begin(struct json *j, const char *name)
{
    if (!j->is_first)
        fputc(',', j->out);
    j->is_first = false;
    if (j->depth > 0 && j->depth < 3)
        fprintf(j->out, "\n%*s", (int)j->depth, "");
    if (name) {
        put_string(j, name);
        fputc(':', j->out);
    }
}

static void open_as(struct json *j, const char *name, char bracket)
{
    begin(j, name);
    fputc(bracket, j->out);
    j->depth++;
    j->is_first = true;
}

void open_object(struct json *j, const char *name)
{
    open_as(j, name, '{');
}

void open_array(struct json *j, const char *name)
{
    open_as(j, name, '[');
}

static void close_as(struct json *j, char bracket)
{
    j->depth--;
    j->is_first = false;
    fputc(bracket, j->out);
}

void close_object(struct json *j)
{
    close_as(j, '}');
}

void close_array(struct json *j)
{
    close_as(j, ']');
}

void put_text(struct json *j, const char *name, const char *value)
{
    begin(j, name);
    put_string(j, value);
}

void put_number(struct json *j, const char *name, uint64_t value)
{
    begin(j, name);
    fprintf(j->out, "%llu", (unsigned long long)value);
}

void put_real(struct json *j, const char *name, double value)
{
    begin(j, name);
    fprintf(j->out, "%.6g", value);
}

void put_flag(struct json *j, const char *name, bool value)
{
    begin(j, name);
    fputs(value ? "true" : "false", j->out);
}

void put_hex(struct json *j, const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
    put_text(j, name, text);
}

void put_time(struct json *j, const char *name, uint64_t ns)
{
    char text[64];
    time_t seconds = (time_t)(ns / 1000000000u);
    struct tm tm;
    size_t n;

    if (!gmtime_r(&seconds, &tm))
        return;
    n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + n, sizeof text - n, ".%09uZ", (unsigned)(ns % 1000000000u));
    put_text(j, name, text);
}

void put_null(struct json *j, const char *name)
{
    begin(j, name);
    fputs("null", j->out);
}

void put_known(struct json *j, const char *name, bool is_known, uint64_t value)
{
    if (is_known)
        put_number(j, name, value);
    else
        put_null(j, name);
}

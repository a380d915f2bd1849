/*
 * text.c - safe output of untrusted text, and amounts in words.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "basics.h"

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

bool matches_any(const char *name, const char *patterns)
{
    size_t bytes;

    for (; patterns && *patterns; patterns += bytes + (patterns[bytes] == ',')) {
        bytes = strcspn(patterns, ",");
        char *pattern = xalloc(strndup(patterns, bytes));
        bool matches = fnmatch(pattern, name, 0) == 0;
        free(pattern);
        if (matches)
            return true;
    }
    return false;
}

static bool is_continued(const char *s, unsigned bytes)
{
    for (unsigned i = 1; i < bytes; i++)
        if (((unsigned char)s[i] & 0xc0) != 0x80)
            return false;
    return true;
}

/* Rejects overlong forms, surrogates, and code points above U+10FFFF. */
static bool is_in_range(const unsigned char *s, unsigned bytes)
{
    if (bytes == 3)
        return !(s[0] == 0xe0 && s[1] < 0xa0) && !(s[0] == 0xed && s[1] > 0x9f);
    if (bytes == 4)
        return !(s[0] == 0xf0 && s[1] < 0x90) && !(s[0] == 0xf4 && s[1] > 0x8f);
    return true;
}

unsigned utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned bytes = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

    if (s[0] > 0xf4 || bytes == 0 || !is_continued(text, bytes) || !is_in_range(s, bytes))
        return 0;
    return bytes;
}

uint32_t utf8_code(const char *text, unsigned bytes)
{
    const unsigned char *s = (const unsigned char *)text;
    uint32_t code = bytes == 1 ? s[0] : s[0] & (0x7fu >> bytes);

    for (unsigned i = 1; i < bytes; i++)
        code = code << 6 | (s[i] & 0x3f);
    return code;
}

/*
 * Characters that change how others are shown: controls, line and paragraph separators,
 * bidirectional marks (they can disguise a name as another one), and zero-width characters.
 */
static const struct {
    uint32_t first, last;
} controls[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},       {0x61c, 0x61c},
    {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},
    {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

bool is_printable(const char *text, unsigned bytes)
{
    uint32_t code = bytes ? utf8_code(text, bytes) : 0;

    for (size_t i = 0; i < countof(controls); i++)
        if (code >= controls[i].first && code <= controls[i].last)
            return false;
    return bytes > 0;
}

unsigned printable_bytes(const char *text)
{
    unsigned bytes = utf8_length(text);

    return is_printable(text, bytes) ? bytes : 0;
}

void text_put(FILE *out, const char *text)
{
    while (*text) {
        unsigned bytes = utf8_length(text);
        if (is_printable(text, bytes)) {
            fwrite(text, 1, bytes, out);
        } else {
            fprintf(out, "\\x%02x", (unsigned char)*text);
            bytes = 1;
        }
        text += bytes;
    }
}

char *text_escaped(const char *text)
{
    char *escaped = NULL;
    size_t bytes;
    FILE *out = xalloc(open_memstream(&escaped, &bytes));

    text_put(out, text);
    fclose(out);
    return xalloc(escaped);
}

/* ---- amounts --------------------------------------------------------------------------------- */

struct amount size_text(uint64_t bytes)
{
    static const char units[] = "KMGTPE";
    struct amount a;
    unsigned unit = 0;
    double n = (double)bytes / 1024;

    if (bytes < 10240) {
        snprintf(a.text, sizeof a.text, "%u B", (unsigned)bytes);
        return a;
    }
    for (; n >= 1023.95 && unit + 1 < sizeof units - 1; unit++)
        n /= 1024;
    snprintf(a.text, sizeof a.text, "%.1f %ciB", n, units[unit]);
    return a;
}

struct amount count_text(uint64_t count, const char *one, const char *many)
{
    struct amount a;
    snprintf(a.text, sizeof a.text, "%llu %s", (unsigned long long)count, count == 1 ? one : many);
    return a;
}

struct amount block_text(uint64_t blocks)
{
    return count_text(blocks, "block", "blocks");
}

/*
 * wording.c - names of things, and safe output of untrusted text.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "wording_priv.h"

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

const char *cost_work_name(uint32_t work)
{
    static const char *const names[] = {"allocate", "free",       "resize", "events",
                                        "unwind",   "quarantine", "scan",   "start"};
    static_assert(countof(names) == COST_WORK_COUNT, "a name for each");
    return work < countof(names) ? names[work] : "?";
}

const char *how_name(uint32_t how)
{
    static const char *const names[] = {
        [IMAGE_ROOT] = "root",
        [IMAGE_FORK] = "fork",
        [IMAGE_EXEC] = "exec",
        [IMAGE_FORK_UNSEEN] = "fork_unseen",
    };
    return how < countof(names) && names[how] ? names[how] : "unknown";
}

const char *error_code(uint32_t kind)
{
    static const char *const codes[] = {
#define ERROR(id, value, class, code, ...) [ERROR_##id] = code,
#include "format/findings.def"
    };
    return kind < countof(codes) && codes[kind] ? codes[kind] : "unknown";
}

const char *stack_end_text(uint32_t end)
{
    static const char *const texts[] = {
        [STACK_WHOLE] = "the thread began there",
        [STACK_CUT] = "deeper than is kept",
        [STACK_NO_INFO] = "code without call frame information",
        [STACK_OFF_STACK] = "the next frame is not on the stack",
        [STACK_BUDGET] = "the depot is full",
        [SITE_LOST] = "not in the file",
    };
    static_assert(countof(texts) == SITE_LOST + 1, "each has its words");
    return end < countof(texts) ? texts[end] : "unknown";
}

const char *module_symbols_text(enum module_symbols symbols)
{
    static const char *const texts[] = {
        [SYMBOLS_UNTRIED] = "not looked for",
        [SYMBOLS_NO_FILE] = "no file",
        [SYMBOLS_NOT_TRUSTED] = "file not trusted",
        [SYMBOLS_ANOTHER_BUILD] = "another build",
        [SYMBOLS_UNREADABLE] = "unreadable",
        [SYMBOLS_EXPORTED] = "exported",
        [SYMBOLS_NAMES] = "names",
        [SYMBOLS_LINES] = "lines",
    };
    static_assert(countof(texts) == SYMBOLS_COUNT, "each has its words");
    return texts[symbols];
}

static bool is_key(const char *text, const char *key)
{
    while (*key && (*text == *key || (*text == '-' && *key == '_'))) {
        text++;
        key++;
    }
    return !*key && *text == '=';
}

const char *run_setting(const struct run_header *run, const char *key)
{
    const char *found = NULL;

    for (const char *at = run->options; *at; at += strcspn(at, ": "), at += strspn(at, ": "))
        if (is_key(at, key))
            found = at + strlen(key) + 1;
    return found;
}

const char *end_name(const struct report *r, const struct image *image)
{
    static const char *const names[] = {
        [END_UNKNOWN] = "unknown",       [END_EXIT] = "exit", [END_EXIT_NOW] = "_exit",
        [END_QUICK_EXIT] = "quick_exit", [END_EXEC] = "exec",
    };

    if (image_was_replaced(image))
        return "exec";
    if (image->wait_status != -1 && WIFSIGNALED(image->wait_status))
        return "killed";
    if (image->state == IMAGE_ENDING)
        return image->end_how < countof(names) ? names[image->end_how] : "unknown";
    return image_seems_alive(r, image) ? "running" : "killed";
}

const char *feature_name(unsigned n)
{
    static const char *const names[] = {
#define FEATURE(id, name) name,
#include "format/features.def"
#undef FEATURE
    };
    return n < countof(names) ? names[n] : NULL;
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

const char *argv_next(const struct image *image, const char *arg)
{
    const char *next = arg ? arg + strlen(arg) + 1 : image->argv;
    return next < image->argv + image->argv_bytes ? next : NULL;
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

const char *program_path(const struct report *r, uint32_t number)
{
    const struct image *image = image_of(r, number);
    return image ? image->exe : "";
}

const char *why_unchecked(const struct image *image)
{
    if (image->refused)
        return "what was recorded of the program is damaged";
    return image->flags & IMAGE_OWN_MALLOC ? "the program brought a malloc of its own"
                                           : "the program's malloc was not seen to be ours";
}

const char *program_name(const struct image *image)
{
    const char *arg = argv_next(image, NULL);

    if (image->exe[0])
        return base_name(image->exe);
    return arg && arg[0] ? base_name(arg) : image->name[0] ? image->name : "?";
}

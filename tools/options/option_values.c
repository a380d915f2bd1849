/*
 * option_values.c - the kinds of values that options have.  There is one grammar per kind, for the
 * command line and RTCHECK_OPTIONS alike, and one canonical text per value.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options_priv.h"
#include "format/bits.h"
#include "format/stack_key.h"

#define ERROR_LIMIT_DEFAULT 1000u /* options.def */
#define CALLERS_MOST 500u         /* valgrind's */

bool parse_flag(const char *text, bool *out)
{
    static const char *const yes[] = {"yes", "1", "true", "on"};
    static const char *const no[] = {"no", "0", "false", "off"};
    for (unsigned i = 0; i < countof(yes); i++) {
        *out = strcmp(text, yes[i]) == 0;
        if (*out || strcmp(text, no[i]) == 0)
            return true;
    }
    return false;
}

/* strtoull alone would accept signs and blanks. */
bool parse_number(const char *text, int base, uint64_t *out, char **end)
{
    if (!isalnum((unsigned char)*text))
        return false;
    errno = 0;
    *out = strtoull(text, end, base);
    return errno == 0 && *end != text;
}

bool parse_size(const char *text, uint64_t *out)
{
    char *end;
    if (!parse_number(text, 10, out, &end))
        return false;
    static const char suffixes[] = "kmg";
    const char *suffix = *end ? strchr(suffixes, tolower((unsigned char)*end)) : NULL;
    if (suffix) {
        end++;
        if (!checked_mul(*out, 1ull << (10 * (suffix - suffixes + 1)), out))
            return false;
    }
    return *end == '\0';
}

static bool parse_byte(const char *text, uint64_t *out)
{
    bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end;
    return parse_number(text, is_hex ? 16 : 10, out, &end) && *end == '\0' && *out <= UINT8_MAX;
}

/* valgrind's fill bytes are hexadecimal, with and without 0x. */
static bool parse_fill(const char *text, uint64_t *out)
{
    char *end;
    return parse_number(text, 16, out, &end) && *end == '\0' && *out <= UINT8_MAX;
}

/* Minimum and maximum of a number, by kind. */
static const struct {
    uint64_t least, most;
} range_of[] = {[KIND_FRAMES] = {0, RTC_STACK_FRAMES},
                [KIND_LIMIT] = {1, 10000},
                [KIND_CALLERS] = {1, RTC_STACK_FRAMES},
                [KIND_MATCH] = {1, RTC_STACK_FRAMES},
                [KIND_NUMBER] = {0, 1000000},
                [KIND_COUNT] = {1, 999999999},
                [KIND_PAIRS] = {0, MEASURE_MOST},
                [KIND_REDZONE] = {16, 4096},
                [KIND_GUARD] = {1, 1000000}};

static bool parse_ranged(int kind, const char *text, uint64_t *out)
{
    char *end;
    return parse_number(text, 10, out, &end) && *end == '\0' && *out >= range_of[kind].least &&
           *out <= range_of[kind].most;
}

/* Values of valgrind's options beyond the range of ours mean its nearest end. */
static bool parse_as_valgrind(int kind, const char *text, uint64_t *out)
{
    uint64_t least = range_of[kind].least, most = range_of[kind].most;
    bool is_yes = false;
    char *end;
    if (kind == KIND_LIMIT && !isdigit((unsigned char)*text) && parse_flag(text, &is_yes)) {
        *out = is_yes ? ERROR_LIMIT_DEFAULT : most;
        return true;
    }
    if (!parse_number(text, 10, out, &end) || *end)
        return false;
    if (kind == KIND_CALLERS && *out > most && *out <= CALLERS_MOST)
        *out = most;
    if (kind == KIND_REDZONE && *out < least)
        *out = least;
    return *out >= least && *out <= most;
}

/* The words that a value of some kinds may be. */
static const char *const value_words[] = {[KIND_HEAP] = "private|file",
                                          [KIND_EVENTS] = "calls|all",
                                          [KIND_ON_ERROR] = "continue|stop|abort|exit|debugger",
                                          [KIND_TRACK_FDS] = "no|bad|yes|all",
                                          [KIND_FORK] = "shared|private|copy|auto|0|1|2|3",
                                          [KIND_GUARD] = "no|auto|all|end|start",
                                          [KIND_AT_EXIT] = "on|off|verbose",
                                          [KIND_GEN] = "no|yes|all",
                                          [KIND_COLOR] = "auto|always|never",
                                          [KIND_FORMAT] =
                                              "text|valgrind|ctest|lsan|asan|gcc|github",
                                          [KIND_TOOL] = "rtcheck|memcheck",
                                          [KIND_ANNOTATE] = "no|yes|auto",
                                          [KIND_LEAK_CHECK] = "no|summary|table|yes|full",
                                          [KIND_RESOLUTION] = "low|med|high",
                                          [KIND_HELP] = "no|yes|all|valgrind|sanitizers"};

static bool is_word_of(int kind, const char *text)
{
    size_t n = strlen(text);
    for (const char *word = value_words[kind]; word;
         word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL)
        if (n && strncmp(word, text, n) == 0 && (word[n] == '|' || !word[n]))
            return true;
    return false;
}

/* The leak kinds that a word of a set selects. */
static const struct {
    const char *word;
    unsigned kinds;
} leak_words[] = {
    {"definite", LEAK_DEFINITE},
    {"indirect", LEAK_INDIRECT},
    {"possible", LEAK_POSSIBLE},
    {"reachable", LEAK_REACHABLE},
    {"mel", LEAK_DEFINITE | LEAK_INDIRECT},
    {"aib", LEAK_POSSIBLE},
    {"air", LEAK_POSSIBLE},
    {"biu", LEAK_REACHABLE},
    {"mapped", LEAK_MAPPED},
    {"biu-map", LEAK_MAPPED},
    {"all", LEAK_DEFINITE | LEAK_INDIRECT | LEAK_POSSIBLE | LEAK_REACHABLE},
    {"none", 0},
};

/* Index of [text, text + n) in leak_words; countof(leak_words) if it is not there. */
static size_t leak_word(const char *text, size_t n)
{
    size_t i = 0;
    while (i < countof(leak_words) &&
           !(strlen(leak_words[i].word) == n && memcmp(leak_words[i].word, text, n) == 0))
        i++;
    return i;
}

bool parse_leak_kinds(const char *text, unsigned *out)
{
    *out = 0;
    for (;; text++) {
        size_t n = strcspn(text, ","), word = leak_word(text, n);
        if (word == countof(leak_words))
            return false;
        *out |= leak_words[word].kinds;
        text += n;
        if (!*text)
            return true;
    }
}

static void format_leak_kinds(unsigned kinds, char *out, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < countof(leak_words) && leak_words[i].kinds <= LEAK_MAPPED; i++) {
        unsigned kind = leak_words[i].kinds;
        if (kind & (kind - 1) || !(kinds & kind) || used >= room)
            continue;
        used +=
            (size_t)snprintf(out + used, room - used, "%s%s", used ? "," : "", leak_words[i].word);
        kinds &= ~kind;
    }
    if (used == 0)
        snprintf(out, room, "none");
}

/* One KEY.EDGEGAP, as the runtime reads it; *text: behind it. */
static bool parse_stack(const char **text)
{
    char *end;
    uint64_t gap;
    size_t digits = strspn(*text, "0123456789abcdef");
    *text += digits;
    if (digits != 16 || *(*text)++ != '.' || !**text || !strchr("bes", *(*text)++) ||
        !isdigit((unsigned char)**text) || !parse_number(*text, 10, &gap, &end))
        return false;
    *text = end;
    return gap <= STACK_KEY_GAP_MAX;
}

static bool parse_stacks(const char *text)
{
    unsigned count = 0;
    while (*text) {
        if (count++ == GUARD_STACKS_MOST || !parse_stack(&text))
            return false;
        if (*text && (*text++ != ',' || !*text))
            return false;
    }
    return true;
}

/* The expected value, by kind. */
static const char *const value_syntaxes[] = {
    [KIND_FLAG] = "yes or no",
    [KIND_SIZE] = "a size in bytes (k, m, g for more)",
    [KIND_PATH] = "a path",
    [KIND_PATHS] = "a path",
    [KIND_NAMES] = "names, with commas",
    [KIND_GEN] = "no, yes or all",
    [KIND_NUMBER] = "a number up to 1000000",
    [KIND_COUNT] = "a number from 1 to 999999999",
    [KIND_BYTE] = "a byte (0..255, 0x.., or no)",
    [KIND_HEAP] = "private or file",
    [KIND_EVENTS] = "calls or all",
    [KIND_FRAMES] = "a number from 0 to 64",
    [KIND_LIMIT] = "a number from 1 to 10000, yes or no",
    [KIND_ON_ERROR] = "continue, stop, abort, exit or debugger",
    [KIND_CALLERS] = "a number from 1 to 500, of which 64 are kept",
    [KIND_MATCH] = "a number from 1 to 64, or all",
    [KIND_AT_EXIT] = "on, off or verbose",
    [KIND_COLOR] = "auto, always or never",
    [KIND_FORMAT] = "text, valgrind, ctest, lsan, asan, gcc or github",
    [KIND_TOOL] = "memcheck, the only one of valgrind's that there is here",
    [KIND_ANNOTATE] = "no, yes or auto",
    [KIND_MAP] = "FROM=TO",
    [KIND_LEAK_CHECK] = "no, summary, table, yes or full",
    [KIND_RESOLUTION] = "low, med or high",
    [KIND_LEAK_KINDS] = "all, none, or some of definite,indirect,possible,reachable,mapped",
    [KIND_PAIRS] = "a number from 0 to 255",
    [KIND_REDZONE] = "a number of bytes up to 4096, or auto",
    [KIND_HELP] = "no, yes, all, valgrind or sanitizers",
    [KIND_FILL] = "a byte in hexadecimal (00..ff), block or no",
    [KIND_TRACK_FDS] = "no, bad, yes or all",
    [KIND_GUARD] = "no, auto, all, end, start or a number from 1 to 1000000",
    [KIND_STACKS] = "up to 32 stacks as --catch gives them",
    [KIND_ACCESS] = "no, yes or full",
    [KIND_FORK] = "shared, private, copy, auto or a number from 0 to 3",
};
static_assert(countof(value_syntaxes) == KIND_FORK + 1, "one for each kind");

const char *value_if_bare(const struct option_info *info)
{
    bool is_yes = info->kind == KIND_FLAG || info->kind == KIND_HELP || info->kind == KIND_ACCESS;
    return is_yes ? "yes" : info->bare;
}

const char *value_syntax(int kind)
{
    return value_syntaxes[kind];
}

static bool give_text(const char *text, char *out, size_t room)
{
    snprintf(out, room, "%s", text);
    return strlen(text) < room;
}

static bool give_number(uint64_t number, char *out, size_t room)
{
    return snprintf(out, room, "%llu", (unsigned long long)number) < (int)room;
}

bool value_canonical(int kind, const char *given, char *out, size_t room)
{
    bool flag = false;
    uint64_t number = 0;
    unsigned kinds = 0;
    if ((kind == KIND_MATCH && strcmp(given, "all") == 0) ||
        ((kind == KIND_BYTE || kind == KIND_FILL) && strcmp(given, "no") == 0) ||
        (kind == KIND_FILL && strcmp(given, "block") == 0) ||
        (kind == KIND_ACCESS && strcmp(given, "full") == 0) ||
        (kind == KIND_REDZONE && strcmp(given, "auto") == 0) ||
        (kind == KIND_GUARD && is_word_of(kind, given)))
        return give_text(given, out, room);
    switch (kind) {
    case KIND_FLAG:
    case KIND_ACCESS:
        return parse_flag(given, &flag) && give_text(flag ? "yes" : "no", out, room);
    case KIND_SIZE:
        return parse_size(given, &number) && give_number(number, out, room);
    case KIND_FRAMES:
    case KIND_NUMBER:
    case KIND_COUNT:
    case KIND_PAIRS:
    case KIND_GUARD:
    case KIND_MATCH:
        return parse_ranged(kind, given, &number) && give_number(number, out, room);
    case KIND_CALLERS:
    case KIND_LIMIT:
    case KIND_REDZONE:
        return parse_as_valgrind(kind, given, &number) && give_number(number, out, room);
    case KIND_BYTE:
        return parse_byte(given, &number) && give_number(number, out, room);
    case KIND_FILL:
        return parse_fill(given, &number) &&
               snprintf(out, room, "0x%02x", (unsigned)number) < (int)room;
    case KIND_LEAK_KINDS:
        if (!parse_leak_kinds(given, &kinds))
            return false;
        format_leak_kinds(kinds, out, room);
        return true;
    case KIND_MAP:
        return give_text(given, out, room) && (!*given || (*given != '=' && strchr(given, '=')));
    case KIND_STACKS:
        return parse_stacks(given) && give_text(given, out, room);
    case KIND_PATH:
    case KIND_PATHS:
    case KIND_NAMES:
        return give_text(given, out, room);
    default:
        return give_text(given, out, room) && is_word_of(kind, given);
    }
}

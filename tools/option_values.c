/*
 * option_values.c - the kinds of values that options have: one grammar per kind, wherever a value
 * comes from, and one canonical text per value.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options_priv.h"
#include "rtcheck/bits.h"

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

/* Digits of `base` only, one 0x before those of 16: strtoull alone would take signs and blanks. */
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

/* What a number may be, by kind. */
static const struct {
    uint64_t least, most;
} range_of[] = {[KIND_FRAMES] = {0, RTC_STACK_FRAMES}, [KIND_LIMIT] = {1, 10000},
              [KIND_CALLERS] = {1, RTC_STACK_FRAMES}, [KIND_MATCH] = {1, RTC_STACK_FRAMES},
              [KIND_NUMBER] = {0, 1000000}};

static bool parse_ranged(int kind, const char *text, uint64_t *out)
{
    char *end;
    return parse_number(text, 10, out, &end) && *end == '\0' && *out >= range_of[kind].least &&
           *out <= range_of[kind].most;
}

/* The words that some kinds are one of. */
static const char *const words_of[] = {[KIND_HEAP] = "private|file",
                                       [KIND_EVENTS] = "calls|all",
                                       [KIND_ON_ERROR] = "continue|stop|abort|debugger",
                                       [KIND_AT_EXIT] = "on|off|verbose",
                                       [KIND_GEN] = "no|yes|all",
                                       [KIND_COLOR] = "auto|always|never",
                                       [KIND_FORMAT] = "text|valgrind|ctest|lsan|asan|gcc|github",
                                       [KIND_TOOL] = "rtcheck|memcheck",
                                       [KIND_ANNOTATE] = "no|yes|auto",
                                       [KIND_LEAK_CHECK] = "no|summary|table|yes|full",
                                       [KIND_RESOLUTION] = "low|med|high"};

static bool is_word_of(int kind, const char *text)
{
    size_t n = strlen(text);
    for (const char *word = words_of[kind]; word; word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL)
        if (n && strncmp(word, text, n) == 0 && (word[n] == '|' || !word[n]))
            return true;
    return false;
}

/* What a word of a set stands for. */
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

/* Index of [text, text + n) in leak_words; their number: it is none of them. */
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
        used += (size_t)snprintf(out + used, room - used, "%s%s", used ? "," : "", leak_words[i].word);
        kinds &= ~kind;
    }
    if (used == 0)
        snprintf(out, room, "none");
}

const char *value_wish(int kind)
{
    switch (kind) {
    case KIND_FLAG:
        return "yes or no";
    case KIND_SIZE:
        return "a size in bytes (k, m, g for more)";
    case KIND_BYTE:
        return "a byte (0..255, 0x.., or no)";
    case KIND_HEAP:
        return "private or file";
    case KIND_EVENTS:
        return "calls or all";
    case KIND_FRAMES:
        return "a number from 0 to 64";
    case KIND_LIMIT:
        return "a number from 1 to 10000";
    case KIND_ON_ERROR:
        return "continue, stop, abort or debugger";
    case KIND_CALLERS:
        return "a number from 1 to 64";
    case KIND_MATCH:
        return "a number from 1 to 64, or all";
    case KIND_AT_EXIT:
        return "on, off or verbose";
    case KIND_LEAK_CHECK:
        return "no, summary, table, yes or full";
    case KIND_RESOLUTION:
        return "low, med or high";
    case KIND_LEAK_KINDS:
        return "all, none, or some of definite,indirect,possible,reachable";
    case KIND_NUMBER:
        return "a number up to 1000000";
    case KIND_GEN:
        return "no, yes or all";
    case KIND_COLOR:
        return "auto, always or never";
    case KIND_FORMAT:
        return "text, valgrind, ctest, lsan, asan, gcc or github";
    case KIND_ANNOTATE:
        return "no, yes or auto";
    case KIND_MAP:
        return "FROM=TO";
    case KIND_TOOL:
        return "memcheck, the only one of valgrind's that there is here";
    default:
        return "a path";
    }
}

/* The canonical text of `given`; false: it is not of the kind. */
bool value_canonical(int kind, const char *given, char *out, size_t room)
{
    bool flag = false;
    uint64_t number = 0;
    unsigned kinds = 0;
    switch (kind) {
    case KIND_FLAG:
        if (!parse_flag(given, &flag))
            return false;
        snprintf(out, room, "%s", flag ? "yes" : "no");
        return true;
    case KIND_SIZE:
        if (!parse_size(given, &number))
            return false;
        snprintf(out, room, "%llu", (unsigned long long)number);
        return true;
    case KIND_FRAMES:
    case KIND_LIMIT:
    case KIND_CALLERS:
    case KIND_NUMBER:
        if (!parse_ranged(kind, given, &number))
            return false;
        snprintf(out, room, "%llu", (unsigned long long)number);
        return true;
    case KIND_MATCH:
        if (strcmp(given, "all") == 0)
            snprintf(out, room, "all");
        else if (parse_ranged(kind, given, &number))
            snprintf(out, room, "%llu", (unsigned long long)number);
        else
            return false;
        return true;
    case KIND_LEAK_KINDS:
        if (!parse_leak_kinds(given, &kinds))
            return false;
        format_leak_kinds(kinds, out, room);
        return true;
    case KIND_MAP:
        snprintf(out, room, "%s", given);
        return strlen(given) < room && (!*given || (*given != '=' && strchr(given, '=')));
    case KIND_BYTE:
        if (strcmp(given, "no") != 0 && !parse_byte(given, &number))
            return false;
        if (strcmp(given, "no") == 0)
            snprintf(out, room, "no");
        else
            snprintf(out, room, "%llu", (unsigned long long)number);
        return true;
    default:
        snprintf(out, room, "%s", given);
        return strlen(given) < room &&
               (kind == KIND_PATH || kind == KIND_PATHS || is_word_of(kind, given));
    }
}

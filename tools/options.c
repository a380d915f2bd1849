/*
 * options.c - the table include/rtcheck/options.def as a parser.
 *
 * There is one grammar per kind of value, whether it comes from the command line or from
 * RTCHECK_OPTIONS, and one canonical text per value: what the runtime reads from the run header
 * has no sugar left in it.
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "rtcheck/bits.h"
#include "tools.h"

enum option_kind {
    KIND_FLAG,
    KIND_SIZE,
    KIND_PATH,
    KIND_PATHS,
    KIND_GEN,
    KIND_NUMBER,
    KIND_BYTE,
    KIND_HEAP,
    KIND_FRAMES,
    KIND_LIMIT,
    KIND_ON_ERROR,
    KIND_CALLERS,
    KIND_MATCH,
    KIND_AT_EXIT,
    KIND_COLOR,
    KIND_FORMAT,
    KIND_TOOL,
    KIND_ANNOTATE,
    KIND_MAP,
    KIND_LEAK_CHECK,
    KIND_RESOLUTION,
    KIND_LEAK_KINDS,
};
enum option_where { WHERE_L = 0, WHERE_R = 1 };

#define OPTION(name, kind, initial, where, help) \
    {name, initial, help, KIND_##kind, WHERE_##where == WHERE_R},
static const struct option_info table[] = {
#include "rtcheck/options.def"
};
#undef OPTION

static_assert(countof(table) <= OPTION_COUNT_MAX, "raise OPTION_COUNT_MAX");

#define SEPARATORS ": \t\r\n"
#define LONG_OPTION_BASE 256
#define SHOWN_MAX 16 /* of -frames */

const struct option_info *option_at(unsigned index)
{
    return index < countof(table) ? &table[index] : NULL;
}

void options_init(struct options *o)
{
    memset(o, 0, sizeof *o);
}

void options_free(struct options *o)
{
    for (unsigned i = 0; i < OPTION_COUNT_MAX; i++)
        free(o->value[i]);
    options_init(o);
}

/* ---- values: each returns false for text that is not of the kind -------------------------- */

static bool parse_flag(const char *text, bool *out)
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
static bool parse_number(const char *text, int base, uint64_t *out, char **end)
{
    if (!isalnum((unsigned char)*text))
        return false;
    errno = 0;
    *out = strtoull(text, end, base);
    return errno == 0 && *end != text;
}

static bool parse_size(const char *text, uint64_t *out)
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

static bool parse_leak_kinds(const char *text, unsigned *out)
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
    for (size_t i = 0; i < countof(leak_words) && leak_words[i].kinds <= LEAK_REACHABLE; i++) {
        unsigned kind = leak_words[i].kinds;
        if (kind & (kind - 1) || !(kinds & kind) || used >= room)
            continue;
        used += (size_t)snprintf(out + used, room - used, "%s%s", used ? "," : "", leak_words[i].word);
        kinds &= ~kind;
    }
    if (used == 0)
        snprintf(out, room, "none");
}

static const char *kind_wish(int kind)
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
static bool canonical_value(int kind, const char *given, char *out, size_t room)
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

/* given NULL: the name stood alone. */
static int set_value(struct options *o, unsigned index, const char *given,
                     char err[TOOLS_ERROR_BYTES])
{
    const struct option_info *info = &table[index];
    if (!given && info->kind != KIND_FLAG)
        return fail(err, -EINVAL, "option %s needs a value: %s", info->name, kind_wish(info->kind));
    char value[4096];
    if (!canonical_value(info->kind, given ? given : "yes", value, sizeof value))
        return fail(err, -EINVAL, "option %s: '%.60s' is not %s", info->name, given,
                    kind_wish(info->kind));
    bool is_list = info->kind == KIND_PATHS || info->kind == KIND_MAP;
    bool adds = is_list && o->value[index] && *o->value[index] && *value;
    char *copy = NULL;
    if (asprintf(&copy, "%s%s%s", adds ? o->value[index] : "", adds ? "\n" : "", value) < 0)
        return fail(err, -ENOMEM, "out of memory");
    free(o->value[index]);
    o->value[index] = copy;
    return 0;
}

static unsigned index_of_key(const char *key, size_t n);

int option_give(struct options *o, const char *name, const char *value, char err[TOOLS_ERROR_BYTES])
{
    return set_value(o, index_of_key(name, strlen(name)), value, err);
}

/* ---- RTCHECK_OPTIONS ----------------------------------------------------------------------- */

/* Table index of the key [key, key + n), '_' read as '-'; countof(table) when there is none. */
static unsigned index_of_key(const char *key, size_t n)
{
    for (unsigned i = 0; i < countof(table); i++) {
        const char *name = table[i].name;
        size_t k = 0;
        while (k < n && name[k] && name[k] == (key[k] == '_' ? '-' : key[k]))
            k++;
        if (k == n && name[n] == '\0')
            return i;
    }
    return countof(table);
}

/* Copies the value at *at and moves *at behind it.  NULL (err filled): a quote without its end. */
static char *take_value(const char **at, char err[TOOLS_ERROR_BYTES])
{
    const char *from = *at;
    size_t n;
    if (*from == '"' || *from == '\'') {
        const char *end = strchr(from + 1, *from);
        if (!end) {
            fail(err, 0, "RTCHECK_OPTIONS: quote without end: %.60s", from);
            return NULL;
        }
        n = (size_t)(end - ++from);
        *at = end + 1;
    } else {
        n = strcspn(from, SEPARATORS);
        *at = from + n;
    }
    char *value = strndup(from, n);
    if (!value)
        fail(err, 0, "out of memory");
    return value;
}

int options_from_text(struct options *o, const char *text, char err[TOOLS_ERROR_BYTES])
{
    const char *at = text ? text : "";
    while (*(at += strspn(at, SEPARATORS))) {
        size_t n = strcspn(at, "=" SEPARATORS);
        unsigned index = index_of_key(at, n);
        if (index == countof(table))
            return fail(err, -EINVAL, "RTCHECK_OPTIONS: unknown option '%.*s'",
                        n < 60 ? (int)n : 60, at);
        at += n;
        char *value = NULL;
        if (*at == '=') {
            at++;
            value = take_value(&at, err);
            if (!value)
                return -EINVAL;
        }
        int bad = set_value(o, index, value, err);
        free(value);
        if (bad)
            return bad;
    }
    return 0;
}

/* ---- the command line ----------------------------------------------------------------------- */

/* Says which of unknown and ambiguous `word` is: getopt tells both apart only in its own text. */
static int refuse_word(const char *word, char err[TOOLS_ERROR_BYTES])
{
    const char *name = word + strspn(word, "-");
    size_t n = strcspn(name, "=");
    char list[256] = "";
    unsigned hits = 0;
    for (unsigned i = 0; i < countof(table); i++) {
        if (strncmp(table[i].name, name, n) != 0)
            continue;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", hits++ ? ", " : "", table[i].name);
    }
    if (n > 0 && hits > 1)
        return fail(err, -EINVAL, "option '%.60s' is ambiguous: %s", word, list);
    return fail(err, -EINVAL, "unknown option '%.60s' (rtcheck --help lists them)", word);
}

/* getopt's table.  Each val differs: else getopt takes the first of several abbreviated names. */
static void make_long_options(struct option longs[countof(table) + 1])
{
    for (unsigned i = 0; i < countof(table); i++)
        longs[i] = (struct option){
            .name = table[i].name,
            .has_arg = table[i].kind == KIND_FLAG ? optional_argument : required_argument,
            .val = LONG_OPTION_BASE + (int)i,
        };
    longs[countof(table)] = (struct option){0};
}

/*
 * dbx's -frames, with one dash, is about the text: not how many frames are kept, but how many shown.
 * Its ceiling is dbx's, too.
 */
static int set_shown(struct options *o, const char *given, char err[TOOLS_ERROR_BYTES])
{
    uint64_t n;
    char *end, value[24];
    if (!parse_number(given, 10, &n, &end) || *end)
        return fail(err, -EINVAL, "option -frames: '%.60s' is not a number from 1 to 16", given);
    uint64_t taken = n < 1 ? 1 : n > SHOWN_MAX ? SHOWN_MAX : n;
    if (taken != n)
        snprintf(o->note, sizeof o->note, "-frames %.20s: %llu taken%s", given,
                 (unsigned long long)taken, n > SHOWN_MAX ? "; --num-callers goes up to 64" : "");
    snprintf(value, sizeof value, "%llu", (unsigned long long)taken);
    return set_value(o, index_of_key("num-callers", 11), value, err);
}

static bool is_frames_of_dbx(const char *word, int c)
{
    return c == LONG_OPTION_BASE + (int)index_of_key("frames", 6) && word[0] == '-' && word[1] != '-';
}

int options_from_args(struct options *o, int argc, char **argv, int *rest,
                      char err[TOOLS_ERROR_BYTES])
{
    struct option longs[countof(table) + 1];
    make_long_options(longs);
    optind = 0; /* glibc: forget an earlier call */
    opterr = 0;
    for (;;) {
        const char *word = argv[optind ? optind : 1];
        int c = getopt_long_only(argc, argv, "+:qh", longs, NULL);
        int bad = 0;
        if (c == -1)
            break;
        if (is_frames_of_dbx(word, c))
            bad = set_shown(o, optarg, err);
        else if (c >= LONG_OPTION_BASE)
            bad = set_value(o, (unsigned)(c - LONG_OPTION_BASE), optarg, err);
        else if (c == 'q')
            bad = set_value(o, index_of_key("quiet", 5), NULL, err);
        else if (c == 'h')
            bad = set_value(o, index_of_key("help", 4), NULL, err);
        else if (c == ':')
            bad = set_value(o, (unsigned)(optopt - LONG_OPTION_BASE), NULL, err);
        else
            bad = refuse_word(word, err);
        if (bad)
            return bad;
    }
    *rest = optind;
    return 0;
}

int options_gather(struct options *o, int argc, char **argv, int *rest, char err[TOOLS_ERROR_BYTES])
{
    int bad = options_from_text(o, getenv("RTCHECK_OPTIONS"), err);
    return bad ? bad : options_from_args(o, argc, argv, rest, err);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static const char *value_in_force(const struct options *o, const char *name, bool (*is_kind)(int))
{
    unsigned index = index_of_key(name, strlen(name));
    if (index == countof(table) || !is_kind(table[index].kind))
        abort(); /* a name that is not in the table is our own mistake */
    return o->value[index] ? o->value[index] : table[index].initial;
}

static bool is_flag(int kind)
{
    return kind == KIND_FLAG;
}

static bool is_size(int kind)
{
    return kind == KIND_SIZE;
}

static bool is_text(int kind)
{
    return kind != KIND_FLAG && kind != KIND_SIZE;
}

bool option_is_given(const struct options *o, const char *name)
{
    unsigned index = index_of_key(name, strlen(name));
    return index < countof(table) && o->value[index];
}

bool option_flag(const struct options *o, const char *name)
{
    bool flag = false;
    parse_flag(value_in_force(o, name, is_flag), &flag);
    return flag;
}

uint64_t option_size(const struct options *o, const char *name)
{
    uint64_t bytes = 0;
    parse_size(value_in_force(o, name, is_size), &bytes);
    return bytes;
}

unsigned option_number(const struct options *o, const char *name, unsigned none)
{
    const char *text = option_text(o, name);
    uint64_t n;
    char *end;
    return parse_number(text, 10, &n, &end) ? (unsigned)n : none;
}

unsigned option_leak_kinds(const struct options *o, const char *name)
{
    unsigned kinds = 0;
    parse_leak_kinds(option_text(o, name), &kinds);
    return kinds;
}

const char *option_text(const struct options *o, const char *name)
{
    return value_in_force(o, name, is_text);
}

/* ---- the canonical text ----------------------------------------------------------------------- */

/* "key=value" of option `index`; false: it cannot be written (both kinds of quotes, no room). */
static bool format_setting(const struct options *o, unsigned index, char *out, size_t room)
{
    const char *value = o->value[index];
    const char *quote = "";
    if (*value == '"' || *value == '\'' || strpbrk(value, SEPARATORS))
        quote = strchr(value, '"') ? "'" : "\"";
    if (*quote && strchr(value, *quote))
        return false;
    int n = snprintf(out, room, "%s=%s%s%s", table[index].name, quote, value, quote);
    for (char *p = out; *p && *p != '='; p++)
        if (*p == '-')
            *p = '_';
    return n > 0 && (size_t)n < room;
}

/* What the runtime must know comes first into the budget; the text keeps the table's order. */
int options_canonical(const struct options *o, char out[OPTIONS_TEXT_BYTES],
                      char err[TOOLS_ERROR_BYTES])
{
    char setting[countof(table)][OPTIONS_TEXT_BYTES] = {{0}};
    size_t used = 0;
    for (int runtime = 1; runtime >= 0; runtime--) {
        for (unsigned i = 0; i < countof(table); i++) {
            if (!o->value[i] || table[i].is_runtime != runtime)
                continue;
            bool fits = format_setting(o, i, setting[i], sizeof setting[i]) &&
                        used + strlen(setting[i]) + 1 < OPTIONS_TEXT_BYTES;
            if (!fits && runtime)
                return fail(err, -E2BIG, "option %s: value cannot be handed down", table[i].name);
            if (fits)
                used += strlen(setting[i]) + 1;
            else
                setting[i][0] = '\0';
        }
    }
    out[0] = '\0';
    for (unsigned i = 0; i < countof(table); i++) {
        if (setting[i][0] && out[0])
            strcat(out, ":");
        strcat(out, setting[i]);
    }
    return 0;
}

/* ---- help ------------------------------------------------------------------------------------- */

#define HELP_INDENT 27
#define HELP_COLUMNS 80

/* Prints `text` from column HELP_INDENT on, broken between words. */
static void print_wrapped(FILE *out, const char *text)
{
    int column = HELP_INDENT;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column > HELP_INDENT && column + 1 + n > HELP_COLUMNS) {
            fprintf(out, "\n%*s", HELP_INDENT, "");
            column = HELP_INDENT;
        }
        column += fprintf(out, "%s%.*s", column > HELP_INDENT ? " " : "", n, text);
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_option(FILE *out, const struct option_info *info)
{
    static const char *const shape[] = {
        [KIND_FLAG] = "",      [KIND_SIZE] = "=SIZE",         [KIND_PATH] = "=PATH",
        [KIND_PATHS] = "=FILE", [KIND_GEN] = "=WORD", [KIND_NUMBER] = "=N",
        [KIND_BYTE] = "=BYTE", [KIND_HEAP] = "=private|file", [KIND_FRAMES] = "=N",
        [KIND_LIMIT] = "=N",   [KIND_ON_ERROR] = "=WORD",     [KIND_CALLERS] = "=N",
        [KIND_AT_EXIT] = "=WORD", [KIND_COLOR] = "=WORD",     [KIND_MATCH] = "=N",
        [KIND_LEAK_CHECK] = "=WORD", [KIND_RESOLUTION] = "=WORD", [KIND_LEAK_KINDS] = "=SET",
        [KIND_FORMAT] = "=WORD", [KIND_TOOL] = "=WORD", [KIND_ANNOTATE] = "=WORD", [KIND_MAP] = "=FROM=TO",
    };
    char name[64], text[256];
    bool tell = *info->initial && (info->kind != KIND_FLAG || strcmp(info->initial, "no") != 0);
    snprintf(name, sizeof name, "--%s%s", info->name, shape[info->kind]);
    snprintf(text, sizeof text, "%s%s%s%s", info->help, tell ? " [" : "", tell ? info->initial : "",
             tell ? "]" : "");
    fprintf(out, "  %-*s", HELP_INDENT - 2, name);
    if (strlen(name) > HELP_INDENT - 3)
        fprintf(out, "\n%*s", HELP_INDENT, "");
    print_wrapped(out, text);
}

void options_print_help(FILE *out)
{
    fputs("usage: rtcheck [run] [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
          "       rtcheck report [OPTION]... [FILE]\n"
          "       rtcheck show [OPTION]... ID [FILE]\n"
          "       rtcheck suppress add ID [--file=FILE] [RUN]\n"
          "       rtcheck dump FILE\n\n"
          "Runs PROGRAM, unmodified, with its memory checked, and says afterwards what it\n"
          "did wrong and what it held; needs no privileges.  Options may be abbreviated\n"
          "and may have one dash:\n\n",
          out);
    for (unsigned i = 0; i < countof(table); i++)
        print_option(out, &table[i]);
    fputs("\nThe same as KEY=VALUE:KEY=VALUE, with _ for -, in RTCHECK_OPTIONS.\n"
          "Status: 125 usage or set-up, 126 or 127 PROGRAM cannot be run, 120 it cannot be\n"
          "checked; PROGRAM's signal; --error-exitcode when there were problems; else\n"
          "PROGRAM's own status.\n",
          out);
}

/* option_args.c - the options of a command line, for every verb, and their --help. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "format/bits.h"
#include "options_priv.h"

#define LONG_OPTION_BASE 256
#define SHOWN_MAX 16 /* maximum of -frames */

/* ---- the command line ------------------------------------------------------------------------ */

/* Single letters, for every verb that has the option. */
static const struct {
    char letter;
    const char *option;
} letters[] = {
    {'h', "help"},  {'q', "quiet"},   {'T', "interval"},           {'I', "interval"},
    {'n', "count"}, {'v', "verbose"}, {'s', "print-suppressions"}, {'o', "output"},
};

/* Report `word` as unknown or ambiguous: getopt distinguishes them only in its own message. */
static int refuse_word(const struct verb *verb, const char *word, char err[TOOLS_ERROR_BYTES])
{
    const char *name = word + strspn(word, "-");
    size_t n = strcspn(name, "=");
    char list[256] = "";
    unsigned hits = 0;
    for (unsigned i = 0; option_at(verb, i); i++) {
        if (strncmp(option_at(verb, i)->name, name, n) != 0)
            continue;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", hits++ ? ", " : "",
                 option_at(verb, i)->name);
    }
    if (n > 0 && hits > 1)
        return fail(err, -EINVAL, "option '%.60s' is ambiguous: %s", word, list);
    bool is_valgrind = verb && verb->is_valgrind;
    return fail(err, -EINVAL, "unknown option '%.60s' (rtcheck%s%s --help=%s lists them)", word,
                is_valgrind ? "-"
                : verb      ? " "
                            : "",
                verb ? verb->name : "", is_valgrind ? "valgrind" : "all");
}

/* getopt's table.  Values differ: otherwise getopt accepts an ambiguous abbreviation. */
static void make_long_options(const struct verb *verb, struct option longs[OPTION_COUNT_MAX + 1])
{
    const struct option_info *info;
    unsigned i = 0;
    for (; (info = option_at(verb, i)); i++)
        longs[i] = (struct option){
            .name = info->name,
            .has_arg = value_if_bare(info) ? optional_argument : required_argument,
            .val = LONG_OPTION_BASE + (int)i,
        };
    longs[i] = (struct option){0};
}

/* Index of the option of a letter, or of getopt's value of a long option. */
static unsigned index_of(const struct verb *verb, int c)
{
    for (unsigned i = 0; i < countof(letters); i++)
        if (letters[i].letter == c)
            return option_index(verb, letters[i].option, strlen(letters[i].option));
    return (unsigned)(c - LONG_OPTION_BASE);
}

static void make_letters(const struct verb *verb, char out[2 * countof(letters) + 3])
{
    strcpy(out, !verb || verb->most == OPERANDS_ANY ? "+:" : ":");
    for (unsigned i = 0; i < countof(letters); i++) {
        const struct option_info *info = option_at(verb, index_of(verb, letters[i].letter));
        char *end = out + strlen(out);
        if (info)
            sprintf(end, "%c%s", letters[i].letter, value_if_bare(info) ? "" : ":");
    }
}

static int word_set(struct options *o, unsigned index, const char *given,
                    char err[TOOLS_ERROR_BYTES])
{
    o->is_set[index] = true;
    return option_set(o, index, given, err);
}

/*
 * dbx's -frames, with one dash, sets how many frames are printed, not how many are recorded.  Its
 * maximum is that of dbx.
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
    return word_set(o, option_index(o->verb, "num-callers", 11), value, err);
}

/* Is it option `index` as -frames, with one dash? */
static bool is_frames_of_dbx(const struct verb *verb, const char *word, unsigned index)
{
    return word[0] == '-' && word[1] != '-' && option_at(verb, index) &&
           strcmp(option_at(verb, index)->name, "frames") == 0;
}

/* The word whose option getopt has read; optind was `before`. */
static const char *word_read(char **argv, int before)
{
    if (optind == before) /* more letters follow in the word */
        return argv[optind];
    return argv[optind - 1 - (optarg && optarg == argv[optind - 1])];
}

/* A verb that runs a program also takes valgrind's options. */
static int take_unknown(struct options *o, const char *word, char err[TOOLS_ERROR_BYTES])
{
    bool runs = !o->verb || o->verb->most == OPERANDS_ANY;
    int bad = runs ? valgrind_option(o, word, err) : -ENOENT;
    return bad == -ENOENT ? refuse_word(o->verb, word, err) : bad;
}

int options_from_args(struct options *o, int argc, char **argv, int *rest,
                      char err[TOOLS_ERROR_BYTES])
{
    struct option longs[OPTION_COUNT_MAX + 1];
    char shorts[2 * countof(letters) + 3];
    int c, bad = 0, before = 1;
    make_long_options(o->verb, longs);
    make_letters(o->verb, shorts);
    optind = 0; /* glibc: reset the state of an earlier call */
    opterr = 0;
    while (!bad && (c = getopt_long_only(argc, argv, shorts, longs, NULL)) != -1) {
        unsigned index = index_of(o->verb, c == ':' ? optopt : c);
        const char *word = word_read(argv, before);
        before = optind;
        if (c == '?')
            bad = take_unknown(o, word, err);
        else if (c != ':' && is_frames_of_dbx(o->verb, word, index))
            bad = set_shown(o, optarg, err);
        else
            bad = word_set(o, index, c == ':' ? NULL : optarg, err);
    }
    *rest = optind;
    return bad;
}

static bool has_effect(const struct verb *verb, const struct option_info *info)
{
    return !verb->has_effect || verb->has_effect(info->name);
}

static int refuse_without_effect(const struct options *o, char err[TOOLS_ERROR_BYTES])
{
    const struct option_info *info;
    for (unsigned i = 0; (info = option_at(o->verb, i)); i++)
        if (o->is_set[i] && !has_effect(o->verb, info))
            return fail(err, -EINVAL, "option %s has no effect on rtcheck %s", info->name,
                        o->verb->name);
    return 0;
}

/* RTCHECK_POOL_SIZE, unless an option has the size; a size puts the heap into the file. */
static int take_pool_size(struct options *o, char err[TOOLS_ERROR_BYTES])
{
    const char *size = getenv("RTCHECK_POOL_SIZE");
    char why[TOOLS_ERROR_BYTES];
    if (size && *size && !option_is_given(o, "pool-size") &&
        option_give(o, "pool-size", size, why) != 0)
        return fail(err, -EINVAL, "RTCHECK_POOL_SIZE: %s", why);
    if (option_is_given(o, "pool-size") && !option_is_given(o, "heap"))
        return option_give(o, "heap", "file", err);
    return 0;
}

int options_gather(struct options *o, const struct verb *verb, int argc, char **argv, int *rest,
                   char err[TOOLS_ERROR_BYTES])
{
    o->verb = verb;
    bool runs = verb->most == OPERANDS_ANY;
    int bad = verb->initial ? options_from_text(o, verb->initial, err) : 0;
    if (!bad && runs)
        bad = valgrind_environment_take(o, err);
    if (!bad && !verb->options)
        bad = options_from_text(o, getenv("RTCHECK_OPTIONS"), err);
    if (!bad)
        bad = options_from_args(o, argc, argv, rest, err);
    if (!bad && runs && !verb->options)
        bad = take_pool_size(o, err);
    return bad ? bad : refuse_without_effect(o, err);
}

bool option_is_among(const char *name, const char *const names[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* ---- help ------------------------------------------------------------------------------------ */

#define HELP_INDENT 27
#define HELP_COLUMNS 80

/* Print `text` from column HELP_INDENT on, wrapped between words. */
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

void help_row_print(FILE *out, const char *name, const char *text)
{
    fprintf(out, "  %-*s", HELP_INDENT - 2, name);
    if (strlen(name) > HELP_INDENT - 3)
        fprintf(out, "\n%*s", HELP_INDENT, "");
    print_wrapped(out, text);
}

/* The length of the value's name before ": " in a help text, in capitals; 0: the text has none. */
static size_t value_name(const char *help)
{
    size_t n = strspn(help, "ABCDEFGHIJKLMNOPQRSTUVWXYZ,");
    return strncmp(help + n, ": ", 2) == 0 ? n : 0;
}

struct option_words option_words(const struct option_info *info)
{
    static const char *const shape[] = {
        [KIND_FLAG] = "",
        [KIND_HELP] = "",
        [KIND_SIZE] = "=SIZE",
        [KIND_PATH] = "=PATH",
        [KIND_PATHS] = "=FILE",
        [KIND_NAMES] = "=NAME,...",
        [KIND_GEN] = "=WORD",
        [KIND_NUMBER] = "=N",
        [KIND_COUNT] = "=N",
        [KIND_BYTE] = "=BYTE",
        [KIND_FILL] = "=HEX|block",
        [KIND_TRACK_FDS] = "=no|bad|yes|all",
        [KIND_GUARD] = "=N|all|no",
        [KIND_STACKS] = "=STACK,...",
        [KIND_ACCESS] = "=no|yes|full",
        [KIND_FORK] = "=WORD",
        [KIND_HEAP] = "=private|file",
        [KIND_EVENTS] = "=calls|all",
        [KIND_FRAMES] = "=N",
        [KIND_LIMIT] = "=N",
        [KIND_ON_ERROR] = "=WORD",
        [KIND_CALLERS] = "=N",
        [KIND_AT_EXIT] = "=WORD",
        [KIND_COLOR] = "=WORD",
        [KIND_MATCH] = "=N",
        [KIND_LEAK_CHECK] = "=WORD",
        [KIND_RESOLUTION] = "=WORD",
        [KIND_LEAK_KINDS] = "=SET",
        [KIND_FORMAT] = "=WORD",
        [KIND_TOOL] = "=WORD",
        [KIND_ANNOTATE] = "=WORD",
        [KIND_MAP] = "=FROM=TO",
        [KIND_PAIRS] = "=N",
        [KIND_REDZONE] = "=BYTES",
    };
    struct option_words words;
    bool shows_default =
        *info->initial && (!value_if_bare(info) || info->bare || strcmp(info->initial, "no") != 0);
    size_t named = value_name(info->help);
    char value[32];
    if (named > 0)
        snprintf(value, sizeof value, "=%.*s", (int)named, info->help);
    else
        snprintf(value, sizeof value, "%s",
                 info->kind == KIND_FLAG && shows_default ? "=yes|no" : shape[info->kind]);
    snprintf(words.name, sizeof words.name,
             info->bare || info->kind == KIND_ACCESS ? "--%s[%s]" : "--%s%s", info->name, value);
    snprintf(words.text, sizeof words.text, "%s%s%s%s",
             info->help + (named > 0 ? named + strlen(": ") : 0), shows_default ? " [" : "",
             shows_default ? info->initial : "", shows_default ? "]" : "");
    return words;
}

bool option_is_listed(const struct verb *verb, const struct option_info *info)
{
    return info->help && has_effect(verb, info);
}

/* The options that are used most. */
static bool is_common(const char *name)
{
    static const char *const common[] = {
        "quiet",        "verbose",    "log-file", "format",         "num-callers",
        "suppressions", "leak-check", "baseline", "error-exitcode", "show-leak-kinds",
    };
    return option_is_among(name, common, countof(common));
}

#define OPTIONS_FEW 16u /* a list of so many is not shortened */

bool options_print(const struct verb *verb, bool all, FILE *out)
{
    const struct option_info *info;
    unsigned count = 0;
    for (unsigned i = 0; (info = option_at(verb, i)); i++)
        count += option_is_listed(verb, info);
    all = all || count <= OPTIONS_FEW;
    for (unsigned i = 0; (info = option_at(verb, i)); i++)
        if (option_is_listed(verb, info) && (all || is_common(info->name))) {
            struct option_words words = option_words(info);
            help_row_print(out, words.name, words.text);
        }
    return !all;
}

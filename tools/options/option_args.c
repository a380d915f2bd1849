/* option_args.c - the command line's options, and --help. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "options_priv.h"

#define LONG_OPTION_BASE 256
#define SHOWN_MAX 16 /* maximum of -frames */

/* ---- the command line ------------------------------------------------------------------------ */

/* Report `word` as unknown or ambiguous: getopt distinguishes them only in its own message. */
static int refuse_word(const char *word, char err[TOOLS_ERROR_BYTES])
{
    const char *name = word + strspn(word, "-");
    size_t n = strcspn(name, "=");
    char list[256] = "";
    unsigned hits = 0;
    for (unsigned i = 0; option_at(i); i++) {
        if (strncmp(option_at(i)->name, name, n) != 0)
            continue;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", hits++ ? ", " : "", option_at(i)->name);
    }
    if (n > 0 && hits > 1)
        return fail(err, -EINVAL, "option '%.60s' is ambiguous: %s", word, list);
    return fail(err, -EINVAL, "unknown option '%.60s' (rtcheck --help lists them)", word);
}

/* getopt's table.  Values differ: otherwise getopt accepts an ambiguous abbreviation. */
static void make_long_options(struct option longs[OPTION_COUNT_MAX + 1])
{
    const struct option_info *info;
    unsigned i = 0;
    for (; (info = option_at(i)); i++)
        longs[i] = (struct option){
            .name = info->name,
            .has_arg = info->kind == KIND_FLAG ? optional_argument : required_argument,
            .val = LONG_OPTION_BASE + (int)i,
        };
    longs[i] = (struct option){0};
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
    return word_set(o, option_index("num-callers", 11), value, err);
}

static bool is_frames_of_dbx(const char *word, int c)
{
    return c == LONG_OPTION_BASE + (int)option_index("frames", 6) && word[0] == '-' &&
           word[1] != '-';
}

int options_from_args(struct options *o, int argc, char **argv, int *rest,
                      char err[TOOLS_ERROR_BYTES])
{
    struct option longs[OPTION_COUNT_MAX + 1];
    make_long_options(longs);
    optind = 0; /* glibc: reset the state of an earlier call */
    opterr = 0;
    for (;;) {
        const char *word = argv[optind ? optind : 1];
        int c = getopt_long_only(argc, argv, "+:qhT:", longs, NULL);
        int bad = 0;
        if (c == -1)
            break;
        if (is_frames_of_dbx(word, c))
            bad = set_shown(o, optarg, err);
        else if (c >= LONG_OPTION_BASE)
            bad = word_set(o, (unsigned)(c - LONG_OPTION_BASE), optarg, err);
        else if (c == 'q')
            bad = word_set(o, option_index("quiet", 5), NULL, err);
        else if (c == 'h')
            bad = word_set(o, option_index("help", 4), NULL, err);
        else if (c == 'T')
            bad = word_set(o, option_index("interval", 8), optarg, err);
        else if (c == ':')
            bad = word_set(o,
                           optopt == 'T' ? option_index("interval", 8)
                                         : (unsigned)(optopt - LONG_OPTION_BASE),
                           NULL, err);
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

bool option_is_among(const char *name, const char *const names[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

int options_refuse(const struct options *o, const char *verb, bool (*has_effect)(const char *name),
                   char err[TOOLS_ERROR_BYTES])
{
    for (unsigned i = 0; option_at(i); i++)
        if (o->is_set[i] && !has_effect(option_at(i)->name))
            return fail(err, -EINVAL, "option %s has no effect on rtcheck %s", option_at(i)->name,
                        verb);
    return 0;
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

static void print_option(FILE *out, const struct option_info *info)
{
    static const char *const shape[] = {
        [KIND_FLAG] = "",
        [KIND_SIZE] = "=SIZE",
        [KIND_PATH] = "=PATH",
        [KIND_PATHS] = "=FILE",
        [KIND_NAMES] = "=EVENT,...",
        [KIND_GEN] = "=WORD",
        [KIND_NUMBER] = "=N",
        [KIND_BYTE] = "=BYTE",
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
    char name[64], text[256];
    bool shows_default =
        *info->initial && (info->kind != KIND_FLAG || strcmp(info->initial, "no") != 0);
    snprintf(name, sizeof name, "--%s%s", info->name, shape[info->kind]);
    snprintf(text, sizeof text, "%s%s%s%s", info->help, shows_default ? " [" : "",
             shows_default ? info->initial : "", shows_default ? "]" : "");
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
          "       rtcheck events FILE|PID\n"
          "       rtcheck stat [-I MILLISECONDS] [-n COUNT] [--json] FILE|PID\n"
          "       rtcheck dump FILE\n"
          "       rtcheck selftest --events[=all] [-v]\n\n"
          "Runs PROGRAM, unmodified, with its memory checked, and says afterwards what it\n"
          "did wrong and what it held; needs no privileges.  Options may be abbreviated\n"
          "and may have one dash:\n\n",
          out);
    for (unsigned i = 0; option_at(i); i++)
        print_option(out, option_at(i));
    fputs("\nThe same as KEY=VALUE:KEY=VALUE, with _ for -, in RTCHECK_OPTIONS.\n"
          "Status: 125 usage or set-up, 126 or 127 PROGRAM cannot be run, 120 it cannot be\n"
          "checked; PROGRAM's signal; --error-exitcode when there were problems; 120 when\n"
          "the report is incomplete; else PROGRAM's own status.\n",
          out);
}

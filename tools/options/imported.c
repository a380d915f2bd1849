/*
 * imported.c - options of valgrind and of the sanitizers, translated to rtcheck's by the tables
 * valgrind_options.def and sanitizer_options.def.
 *
 * An option either acts, or is accepted without effect and then named in one note at the start of
 * the run, or is refused with a reason.  The tables are also the manual: --help=valgrind and
 * --help=sanitizers.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/bits.h"
#include "options_priv.h"

enum otherwise { NOTE, REFUSED };
enum variables { A = 1, L = 2, B = 3 };

struct imported {
    const char *name;
    const char *values; /* "VALUE" and "VALUE>option=value", separated by blanks; or "same" */
    const char *text;
    enum otherwise otherwise;
    enum variables variables; /* of a sanitizer's key */
};

#define VALGRIND(name, values, otherwise, text) {name, values, text, otherwise, 0},
static const struct imported valgrind_table[] = {
#include "valgrind_options.def"
};
#define SANITIZER(name, variables, values, text) {name, values, text, NOTE, variables},
static const struct imported sanitizer_table[] = {
#include "sanitizer_options.def"
};

static bool is_same(const struct imported *row)
{
    return strcmp(row->values, "same") == 0;
}

/* Set "option=value", in which * is `given`. */
static int set_by_words(struct options *o, const char *setting, size_t n, const char *given,
                        char err[TOOLS_ERROR_BYTES])
{
    char name[64], value[PATH_MAX];
    size_t equals = (size_t)((const char *)memchr(setting, '=', n) - setting), used = 0;

    snprintf(name, sizeof name, "%.*s", (int)equals, setting);
    for (size_t i = equals + 1; i < n; i++) {
        const char *part = setting[i] == '*' ? given : setting + i;
        size_t bytes = setting[i] == '*' ? strlen(given) : 1;
        if (used + bytes >= sizeof value)
            return fail(err, -E2BIG, "option %s: value too long", name);
        memcpy(value + used, part, bytes);
        used += bytes;
    }
    value[used] = '\0';
    return option_give(o, name, value, err);
}

/* Apply the words about `given`.  -ENOENT: none is. */
static int apply_value(struct options *o, const struct imported *row, const char *given,
                       char err[TOOLS_ERROR_BYTES])
{
    int done = -ENOENT;

    for (const char *word = row->values; *word; word += strspn(word, " ")) {
        size_t n = strcspn(word, " "), value = strcspn(word, "> ");
        bool is_it = (value == 1 && *word == '*') ||
                     (value == strlen(given) && strncmp(word, given, value) == 0);
        if (is_it && done == -ENOENT)
            done = 0;
        if (is_it && !done && value < n)
            done = set_by_words(o, word + value + 1, n - value - 1, given, err);
        word += n;
    }
    return done;
}

/* Is it an element of the list, not only the beginning of one? */
static bool is_listed(const char *list, const char *text)
{
    size_t bytes = strlen(text);

    for (const char *at = list; (at = strstr(at, text)); at++)
        if ((at == list || at[-1] == ' ') && (at[bytes] == ',' || at[bytes] == '\0'))
            return true;
    return false;
}

/* Add a name to the note.  `from`: the variable that contains it; NULL: the command line. */
static void add_without_effect(struct options *o, const char *name, size_t n, const char *from)
{
    size_t used = strlen(o->without_effect), room = sizeof o->without_effect - used;
    char text[128];

    snprintf(text, sizeof text, "%s%.*s%s%s%s",
             from    ? ""
             : n > 1 ? "--"
                     : "-",
             n < 60 ? (int)n : 60, name, from ? " (" : "", from ? from : "", from ? ")" : "");
    if (!is_listed(o->without_effect, text) && strlen(text) + 3 < room)
        snprintf(o->without_effect + used, room, "%s%s", used ? ", " : "", text);
}

/* ---- valgrind -------------------------------------------------------------------------------- */

int valgrind_option(struct options *o, const char *word, char err[TOOLS_ERROR_BYTES])
{
    const char *name = word + strspn(word, "-"), *given;
    size_t n = strcspn(name, "=");
    const struct imported *row = valgrind_table;

    if (name - word != (n > 1 ? 2 : 1) || (n == 1 && name[n]))
        return -ENOENT;
    while (row < valgrind_table + countof(valgrind_table) &&
           (is_same(row) || strlen(row->name) != n || strncmp(row->name, name, n) != 0))
        row++;
    if (row == valgrind_table + countof(valgrind_table))
        return -ENOENT;
    given = name[n] ? name + n + 1 : "yes";
    int bad = apply_value(o, row, given, err);
    if (bad != -ENOENT)
        return bad;
    if (row->otherwise == REFUSED)
        return fail(err, -EINVAL, "option %.60s is refused: %s", word, row->text);
    add_without_effect(o, name, n, NULL);
    return 0;
}

/* One word of VALGRIND_OPTS or a file: an option, also as --memcheck:name=value. */
static int take_word(struct options *o, char *word, const char *from, char err[TOOLS_ERROR_BYTES])
{
    char own[] = "rtcheck", why[TOOLS_ERROR_BYTES] = "not an option", *argv[] = {own, word, NULL};
    size_t tool = strcspn(word, ":=");
    int rest = 2;

    if (word[tool] == ':') {
        if (strncmp(word, "--memcheck", tool) != 0 || tool != strlen("--memcheck"))
            return 0; /* for another tool */
        argv[1] = word + tool - 1;
        memcpy(argv[1], "--", 2);
    }
    int bad = options_from_args(o, 2, argv, &rest, why);
    if (!bad && rest == 2)
        return 0;
    if (o->verb && o->verb->is_valgrind)
        return fail(err, -EINVAL, "%s: %.400s", from, why);
    add_without_effect(o, word, strcspn(word, "="), from);
    return 0;
}

int valgrind_words_take(struct options *o, const char *text, const char *from,
                        char err[TOOLS_ERROR_BYTES])
{
    char *copy = text ? strdup(text) : NULL, *rest = copy, *word;
    int bad = 0;

    while (!bad && (word = strsep(&rest, " \t\r\n")))
        if (*word)
            bad = take_word(o, word, from, err);
    free(copy);
    return bad;
}

/* valgrind's rule: a file of somebody else, or that others can write, is not read. */
static int take_file(struct options *o, const char *folder, char err[TOOLS_ERROR_BYTES])
{
    char path[PATH_MAX], text[8192];
    struct stat st;
    FILE *in = NULL;

    if (snprintf(path, sizeof path, "%s/.valgrindrc", folder) < (int)sizeof path)
        in = fopen(path, "re");
    if (!in)
        return 0;
    bool is_own = fstat(fileno(in), &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
                  !(st.st_mode & S_IWOTH);
    size_t bytes = is_own ? fread(text, 1, sizeof text - 1, in) : 0;
    text[bytes] = '\0';
    fclose(in);
    return valgrind_words_take(o, text, path, err);
}

/* In valgrind's order: later settings win. */
int valgrind_environment_take(struct options *o, char err[TOOLS_ERROR_BYTES])
{
    const char *home = getenv("HOME");
    char here[PATH_MAX], *cwd = getcwd(here, sizeof here);
    bool reads_files = o->verb->is_valgrind;
    bool is_other = cwd && !(home && strcmp(cwd, home) == 0);
    int bad = reads_files && home ? take_file(o, home, err) : 0;

    if (!bad)
        bad = valgrind_words_take(o, getenv("VALGRIND_OPTS"), "VALGRIND_OPTS", err);
    return bad || !reads_files || !is_other ? bad : take_file(o, ".", err);
}

/* ---- sanitizers ------------------------------------------------------------------------------ */

static const struct imported *sanitizer_key(const char *key, size_t n, enum variables variable)
{
    for (size_t i = 0; i < countof(sanitizer_table); i++)
        if (sanitizer_table[i].variables & variable && strlen(sanitizer_table[i].name) == n &&
            strncmp(sanitizer_table[i].name, key, n) == 0)
            return &sanitizer_table[i];
    return NULL;
}

/* Set by `row`, unless rtcheck was given these options.  false: it has no effect. */
static bool take_key(struct options *o, const struct imported *row, const char *value)
{
    char err[TOOLS_ERROR_BYTES], name[64];

    for (const char *at = row->values; (at = strchr(at, '>')); at++) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 1, "="), at + 1);
        if (option_is_given(o, name))
            return true;
    }
    return apply_value(o, row, value, err) == 0;
}

void sanitizer_options_take(struct options *o, const char *text, const char *variable)
{
    enum variables which = strcmp(variable, "ASAN_OPTIONS") == 0 ? A : L;
    char value[PATH_MAX];
    size_t n;

    for (const char *key; (key = lsan_next(&text, &n, value, sizeof value));) {
        const struct imported *row = sanitizer_key(key, n, which);
        if (!row || !(is_same(row) || take_key(o, row, value)))
            add_without_effect(o, key, n, variable);
    }
}

/* glibc fills new blocks with the complement of the byte. */
static void take_perturb(struct options *o, const char *text)
{
    unsigned byte = text ? (unsigned)strtoul(text, NULL, 0) & 0xff : 0;
    char err[TOOLS_ERROR_BYTES], value[8];

    if (!byte)
        return;
    snprintf(value, sizeof value, "%02x", byte ^ 0xff);
    if (!option_is_given(o, "malloc-fill"))
        option_give(o, "malloc-fill", value, err);
    snprintf(value, sizeof value, "%02x", byte);
    if (!option_is_given(o, "free-fill"))
        option_give(o, "free-fill", value, err);
}

void malloc_variables_take(struct options *o)
{
    const char *check = getenv("MALLOC_CHECK_");
    char err[TOOLS_ERROR_BYTES];

    take_perturb(o, getenv("MALLOC_PERTURB_"));
    /* mallopt(3): bit 0 prints the error, bit 1 aborts. */
    if (check && strtoul(check, NULL, 0) & 2 && !option_is_given(o, "on-error"))
        option_give(o, "on-error", "abort", err);
}

/* By hand the program has started when the reporter reads its options. */
void launcher_variables_name(struct options *o, pid_t pid)
{
    static const char *const names[] = {"VALGRIND_OPTS", "ASAN_OPTIONS", "MALLOC_PERTURB_",
                                        "MALLOC_CHECK_"};

    for (size_t i = 0; i < countof(names); i++) {
        char *text = variable_of_process(pid, names[i]);
        if (text && *text)
            add_without_effect(o, names[i], strlen(names[i]), "with LD_PRELOAD");
        free(text);
    }
}

/* ---- the manual ------------------------------------------------------------------------------ */

/* "--leak-check=full", "no: --leak-check=no", ..: the settings of a row. */
static void settings_put(const struct imported *row, FILE *out)
{
    const char *before = "";

    for (const char *word = row->values; *word; word += strspn(word, " ")) {
        size_t n = strcspn(word, " "), value = strcspn(word, "> ");
        if (value < n)
            fprintf(out, "%s%.*s%s--%.*s", before, *word == '*' ? 0 : (int)value, word,
                    *word == '*' ? "" : ": ", (int)(n - value - 1), word + value + 1);
        before = value < n ? ", " : before;
        word += n;
    }
}

static void row_words_put(const struct imported *row, FILE *out)
{
    bool refuses = row->otherwise == REFUSED;

    if (is_same(row) || strchr(row->values, '>')) {
        fputs(is_same(row) ? "acts" : "acts: ", out);
        if (!is_same(row))
            settings_put(row, out);
        fputs(*row->text ? "; " : "", out);
    } else if (*row->values) {
        fprintf(out, "%s: as rtcheck; other values %s: ", row->values,
                refuses ? "are refused" : "have no effect");
    } else {
        fputs(refuses ? "refused: " : "no effect: ", out);
    }
    fputs(row->text, out);
}

static void row_put(const struct imported *row, const char *before, FILE *out)
{
    char name[64], *text = NULL;
    size_t bytes = 0;
    FILE *words = open_memstream(&text, &bytes);

    if (!words)
        return;
    row_words_put(row, words);
    fclose(words);
    snprintf(name, sizeof name, "%s%s", before, row->name);
    help_row_print(out, name, text);
    free(text);
}

void imported_options_print(bool of_valgrind, FILE *out)
{
    for (size_t i = 0; of_valgrind && i < countof(valgrind_table); i++)
        row_put(&valgrind_table[i], valgrind_table[i].name[1] ? "--" : "-", out);
    for (size_t i = 0; !of_valgrind && i < countof(sanitizer_table); i++)
        row_put(&sanitizer_table[i],
                sanitizer_table[i].variables == A   ? "ASAN "
                : sanitizer_table[i].variables == L ? "LSAN "
                                                    : "both ",
                out);
}

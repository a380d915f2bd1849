/*
 * manual.c - writes man pages and completions from the tables and headers that define what they describe.
 *
 *     manual page VERB VERSION <man/rtcheck.1    the page, with the verb's options for the line .OPTIONS
 *     manual header NAME VERSION <check.h        a page of section 3: comments and declarations of a header
 *     manual bash|zsh|fish                       completions of all verbs
 *
 * A program of the build, not installed.
 */
#include <ctype.h>
#include <string.h>

#include "format/bits.h"
#include "tools.h"

#define LINE_BYTES 4096u
#define CODE_COLUMNS 72u
#define COMMENT_COLUMN 48u /* at most: a comment behind it has room for few words in a line */
#define TERM_COLUMNS 18u

/* ---- roff ------------------------------------------------------------------------------------- */

/* `text` as roff shows it literally. */
static void roff_put(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++)
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
}

static void roff_line(const char *text)
{
    roff_put(text);
    putchar('\n');
}

static void title_put(const char *name, const char *section, const char *version)
{
    printf(".TH \"%s\" %s \"\" \"rtcheck %s\" \"rtcheck\"\n.nh\n.ad l\n", name, section,
           version); /* .nh: names of options are not divided */
}

/* ---- pages of section 1 ----------------------------------------------------------------------- */

static void options_put(const struct verb *verb)
{
    const struct option_info *info;
    for (unsigned i = 0; (info = option_at(verb, i)); i++) {
        struct option_words words;
        if (!option_is_listed(verb, info))
            continue;
        words = option_words(info);
        fputs(".TP\n\\fB", stdout);
        roff_put(words.name);
        puts("\\fR");
        roff_line(words.text);
    }
}

static int write_page(const struct verb *verb, const char *version)
{
    char line[LINE_BYTES];
    bool has_options = false;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, ".OPTIONS") == 0) {
            options_put(verb);
            has_options = true;
        } else if (strncmp(line, ".TH ", 4) == 0) {
            title_put(line + 4, "1", version);
        } else {
            puts(line);
        }
    }
    return has_options ? 0 : 1;
}

/* ---- pages of section 3 ----------------------------------------------------------------------- */

/* Lists in a comment: items ("- text"), terms with explanations, and tables, which are printed verbatim. */
enum list { NO_LIST, ITEMS, TERMS, TABLE };

struct header {
    bool in_comment, in_body, in_code; /* of a function; lines of declarations are printed */
    bool is_first;                     /* the comment of the file */
    enum list list;
    char declaration[LINE_BYTES]; /* lines of one whose brackets are open */
};

static void code_end(struct header *h)
{
    if (h->in_code)
        puts(".fi");
    h->in_code = false;
}

/* Broken behind the last of `after` that fits into a terminal of 80 columns; further lines begin at column `hang`. */
static void broken_put(const char *line, size_t hang, const char *after)
{
    char piece[CODE_COLUMNS + 1];
    size_t used = 0, first = strspn(line, " ") + 1;
    while (strlen(line) + used > CODE_COLUMNS) {
        size_t n = CODE_COLUMNS - used;
        while (n > first && strncmp(line + n - strlen(after), after, strlen(after)) != 0)
            n--;
        snprintf(piece, n + (line[n - 1] != ' '), "%s", line);
        printf("%*s", (int)used, "");
        roff_line(piece);
        line += n;
        used = hang;
        first = strlen(after);
    }
    printf("%*s", (int)used, "");
    roff_line(line);
}

/* Further lines of a long comment begin below its first. */
static void code_put(struct header *h, const char *line)
{
    const char *comment = strstr(line, "/* ");
    size_t indent = strspn(line, " "), column = comment ? (size_t)(comment - line) : 0;
    if (!h->in_code)
        puts(".PP\n.nf");
    h->in_code = true;
    if (comment && column <= COMMENT_COLUMN)
        broken_put(line, column + strlen("/* "), " ");
    else if (indent == 0 && strchr(line, '('))
        broken_put(line, 4, ", ");
    else
        broken_put(line, indent + 4, " ");
}

/* Two blanks that do not follow the end of a sentence, and what they precede; NULL: none. */
static const char *next_column(const char *text)
{
    for (const char *p = strstr(text, "  "); p; p = strstr(p + 1, "  "))
        if (p > text && !strchr(".:;?) ", p[-1]))
            return p + strspn(p, " ");
    return NULL;
}

static void list_end(struct header *h)
{
    static const char *const ends[] = {
        [NO_LIST] = NULL, [ITEMS] = ".RE\n.PP", [TERMS] = ".PD\n.RE\n.PP", [TABLE] = ".fi"};
    if (ends[h->list])
        puts(ends[h->list]);
    h->list = NO_LIST;
}

static void list_begin(struct header *h, enum list list)
{
    static const char *const begins[] = {
        [ITEMS] = ".RS 2", [TERMS] = ".PP\n.RS 2\n.PD 0", [TABLE] = ".PP\n.nf"};
    if (h->list != list) {
        list_end(h);
        puts(begins[list]);
    }
    h->list = list;
}

/* An indented line. */
static void list_line(struct header *h, const char *text)
{
    const char *word = text + strspn(text, " "), *column = next_column(word);
    char term[LINE_BYTES];
    if (h->list == TABLE || (column && next_column(column))) {
        list_begin(h, TABLE);
        broken_put(text, 4, " ");
    } else if (strncmp(word, "- ", 2) == 0) {
        list_begin(h, ITEMS);
        puts(".IP \\- 2");
        roff_line(word + 2);
    } else if (h->list != NO_LIST && word - text > 2) {
        roff_line(word);
    } else {
        list_begin(h, TERMS);
        snprintf(term, column ? (size_t)(column - word) + 1 : sizeof term, "%s", word);
        for (size_t n = strlen(term); n > 0 && term[n - 1] == ' '; n--)
            term[n - 1] = '\0';
        printf(".TP %u\n", TERM_COLUMNS);
        roff_line(term);
        if (column)
            roff_line(column);
        else
            puts("\\&");
    }
}

/* A line of a comment, without its frame. */
static void comment_put(struct header *h, char *line)
{
    char *end = strstr(line, "*/");
    const char *text = line;
    if (end)
        *end = '\0';
    h->in_comment = !end;
    for (size_t n = strlen(line); n > 0 && isspace((unsigned char)line[n - 1]); n--)
        line[n - 1] = '\0';
    text += strncmp(text, "/*", 2) == 0 || strncmp(text, " *", 2) == 0 ? 2 : 0;
    text += *text == ' ';
    if (*text == ' ') {
        list_line(h, text);
    } else if (*text) {
        list_end(h);
        roff_line(text);
    } else if (!end && line[0] != '/') {
        list_end(h);
        puts(".PP");
    }
    if (end)
        list_end(h);
}

/* "---- errors ----" */
static bool section_put(const char *line)
{
    const char *name = line + strlen("/* ---- ");
    size_t n = strlen("/* ---- ");
    if (strncmp(line, "/* ---- ", n) != 0)
        return false;
    fputs(".SH ", stdout);
    for (; *name && strncmp(name, " --", 3) != 0; name++)
        putchar(toupper((unsigned char)*name));
    putchar('\n');
    return true;
}

/* The first line of a function with a body: print its declaration only. */
static void function_put(struct header *h, char *line)
{
    static const char inline_[] = "RTC_INLINE_ ", api[] = "RTC_API ";
    size_t skip = strncmp(line, inline_, sizeof inline_ - 1) == 0 ? sizeof inline_ - 1
                  : strncmp(line, api, sizeof api - 1) == 0       ? sizeof api - 1
                                                                  : 0;
    char text[LINE_BYTES];
    bool has_body =
        skip == sizeof inline_ - 1 && !strchr(line, ';') && line[strlen(line) - 1] == ')';
    snprintf(text, sizeof text, "%s%s", line + skip, has_body ? ";" : "");
    code_put(h, text);
}

static size_t count_of(const char *text, char c)
{
    size_t n = 0;
    for (; (text = strchr(text, c)); text++)
        n++;
    return n;
}

/* Lines of one function, until its brackets are closed, become one. */
static void declaration_line(struct header *h, char *line)
{
    char *kept = h->declaration;
    size_t used = strlen(kept);
    if (used > 0)
        line += strspn(line, " ");
    else if (line[0] == ' ' || !strchr(line, '(')) {
        function_put(h, line);
        return;
    }
    snprintf(kept + used, sizeof h->declaration - used, "%s%s",
             used > 0 && kept[used - 1] == ',' ? " " : "", line);
    if (count_of(kept, '(') == count_of(kept, ')')) {
        function_put(h, kept);
        kept[0] = '\0';
    }
}

static void header_line(struct header *h, char *line)
{
    if (h->in_body) {
        h->in_body = line[0] != '}';
        return;
    }
    if (h->in_comment) {
        comment_put(h, line);
        return;
    }
    if (line[0] == '{') {
        h->in_body = true;
        return;
    }
    if (strncmp(line, "/* ----", 7) == 0 || strncmp(line, "/*", 2) == 0) {
        code_end(h);
        if (section_put(line))
            return;
        puts(h->is_first ? ".SH DESCRIPTION" : ".PP");
        h->is_first = false;
        comment_put(h, line);
        return;
    }
    if (line[0] == '\0')
        code_end(h);
    else
        declaration_line(h, line);
}

/* Lines that continue a macro, and what is between #if and #endif of helpers and of C++, are left out. */
static int write_header(const char *name, const char *version)
{
    struct header h = {.is_first = true};
    char line[LINE_BYTES], page[64];
    bool continues = false, is_helper = false;
    snprintf(page, sizeof page, "rtcheck-%s", name);
    title_put(page, "3", version);
    printf(".SH NAME\n%s \\- functions of rtcheck/%s.h\n.SH SYNOPSIS\n.B #include <rtcheck/%s.h>\n",
           page, name, name);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        bool is_macro = continues || (line[0] == '#' && !h.in_comment);
        continues = is_macro && line[0] && line[strlen(line) - 1] == '\\';
        if (strncmp(line, "#if defined __x86_64__", 22) == 0 ||
            strcmp(line, "#ifdef __cplusplus") == 0)
            is_helper = true;
        if (!is_macro && !is_helper)
            header_line(&h, line);
        if (strncmp(line, "#endif", 6) == 0)
            is_helper = false;
    }
    code_end(&h);
    puts(".SH SEE ALSO\n.BR rtcheck (1)");
    return h.is_first ? 1 : 0;
}

/* ---- completions ------------------------------------------------------------------------------ */

static bool needs_value(const struct option_info *info)
{
    return strchr(option_words(info).name, '=') && !info->bare;
}

static void names_put(const struct verb *verb)
{
    const struct option_info *info;
    for (unsigned i = 0, more = 0; (info = option_at(verb, i)); i++)
        if (option_is_listed(verb, info))
            printf("%s--%s%s", more++ ? " " : "", info->name, needs_value(info) ? "=" : "");
}

static void verbs_put(const char *between)
{
    for (unsigned i = 0; verb_at(i); i++)
        printf("%s%s", i ? between : "", verb_at(i)->name);
}

static void write_bash(void)
{
    fputs("# bash completion of rtcheck; generated\n"
          "_rtcheck() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} options\n"
          "    COMPREPLY=()\n"
          "    case ${COMP_WORDS[1]} in\n",
          stdout);
    for (unsigned i = 1; verb_at(i); i++) {
        printf("    %s) options='", verb_at(i)->name);
        names_put(verb_at(i));
        puts("' ;;");
    }
    fputs("    *) options='", stdout);
    names_put(verb_at(0));
    fputs("' ;;\n"
          "    esac\n"
          "    if [[ $cur == -* ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
          "        [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace "
          "2>/dev/null\n"
          "    elif ((COMP_CWORD == 1)); then\n"
          "        mapfile -t COMPREPLY < <(compgen -c -W '",
          stdout);
    verbs_put(" ");
    fputs("' -- \"$cur\")\n"
          "    fi\n"
          "    return 0\n"
          "}\n"
          "complete -o default -F _rtcheck rtcheck rtcheck-valgrind\n",
          stdout);
}

/* Within '..' of a shell, and within [..] of zsh's _arguments. */
static void quoted_put(const char *text)
{
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
}

static void zsh_options(const struct verb *verb)
{
    const struct option_info *info;
    fputs("        _arguments -S", stdout);
    for (unsigned i = 0; (info = option_at(verb, i)); i++) {
        if (!option_is_listed(verb, info))
            continue;
        printf(" \\\n            '--%s%s[", info->name, needs_value(info) ? "=" : "");
        quoted_put(info->help);
        printf("]%s'", needs_value(info) ? ":value:_files" : "");
    }
    puts(" \\\n            '*::program:_normal'");
}

static void write_zsh(void)
{
    fputs("#compdef rtcheck rtcheck-valgrind\n# generated\n_rtcheck() {\n    case $words[2] in\n",
          stdout);
    for (unsigned i = 1; verb_at(i); i++) {
        printf("    %s)\n", verb_at(i)->name);
        zsh_options(verb_at(i));
        puts("        ;;");
    }
    puts("    *)");
    zsh_options(verb_at(0));
    puts("        ;;\n    esac\n}\n_rtcheck \"$@\"");
}

static void fish_text(const char *text)
{
    putchar('\'');
    for (; *text; text++)
        printf(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
    putchar('\'');
}

static void fish_options(const struct verb *verb, const char *condition)
{
    const struct option_info *info;
    for (unsigned i = 0; (info = option_at(verb, i)); i++) {
        if (!option_is_listed(verb, info))
            continue;
        printf("complete -c rtcheck -n '%s' -l %s%s -d ", condition, info->name,
               needs_value(info) ? " -r" : "");
        fish_text(info->help);
        putchar('\n');
    }
}

static void write_fish(void)
{
    char condition[128];
    puts("# fish completion of rtcheck; generated");
    fputs("set -l verbs ", stdout);
    verbs_put(" ");
    puts("\ncomplete -c rtcheck -n \"not __fish_seen_subcommand_from $verbs\" -a \"$verbs\"");
    for (unsigned i = 0; verb_at(i); i++) {
        snprintf(condition, sizeof condition, "__fish_seen_subcommand_from %s", verb_at(i)->name);
        fish_options(verb_at(i), i ? condition : "true");
    }
}

static int write_completion(const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        write_bash();
    else if (strcmp(shell, "zsh") == 0)
        write_zsh();
    else if (strcmp(shell, "fish") == 0)
        write_fish();
    else
        return 1;
    return 0;
}

int main(int argc, char **argv)
{
    int status = 1;
    if (argc == 4 && strcmp(argv[1], "page") == 0 && verb_named(argv[2]))
        status = write_page(verb_named(argv[2]), argv[3]);
    else if (argc == 4 && strcmp(argv[1], "header") == 0)
        status = write_header(argv[2], argv[3]);
    else if (argc == 2)
        status = write_completion(argv[1]);
    return fflush(stdout) != 0 ? 1 : status;
}

/*
 * suppress_valgrind.c - valgrind's suppressions: a name, a tool and a kind, then the innermost
 * frames of a stack.
 *
 *     {
 *        name of one line
 *        Memcheck:Leak
 *        match-leak-kinds: definite,possible
 *        fun:malloc
 *        ...
 *        obj:*libfoo.so*
 *     }
 *
 * Entries for other tools are skipped. Of memcheck's kinds those for frees, leaks, accesses and
 * uninitialised values are used. Entries of the other kinds match nothing and are counted. A kind after our own name, as in
 * rtcheck:wua, is one of our codes; such an entry may begin with malloc's caller.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "suppress_priv.h"

/* Kinds of memcheck and of valgrind's core, including kinds of versions after 3.19. */
static const struct {
    const char *name;
    uint32_t codes;
    bool has_line; /* an additional line follows */
} kinds[] = {
    {"Leak", CODES_LEAKS, false},       {"Free", CODES_FREES, false},
    {"FishyValue", CODE_OTHER, true},   {"Param", CODES_PARAMS, true},
    {"User", CODE_OTHER, false},        {"CoreMem", CODE_OTHER, false},
    {"Addr1", CODES_ACCESSES, false},   {"Addr2", CODES_ACCESSES, false},
    {"Addr4", CODES_ACCESSES, false},   {"Addr8", CODES_ACCESSES, false},
    {"Addr16", CODES_ACCESSES, false},  {"Addr32", CODES_ACCESSES, false},
    {"Jump", CODE_OTHER, false},        {"Overlap", CODE_OVL, false},
    {"Mempool", CODE_OTHER, false},     {"Cond", CODE_RUI, false},
    {"Value0", CODE_RUI, false},        {"Value1", CODE_RUI, false},
    {"Value2", CODE_RUI, false},        {"Value4", CODE_RUI, false},
    {"Value8", CODE_RUI, false},        {"Value16", CODE_RUI, false},
    {"Value32", CODE_RUI, false},       {"ReallocZero", CODE_RZE, false},
    {"BadAlign", CODE_BAL, false},      {"UnsafeZeroSize", CODE_OTHER, false},
    {"BadSize", CODE_OTHER, false},     {"SizeMismatch", CODE_MIS, false},
    {"AlignMismatch", CODE_MIS, false},
};

static const struct {
    const char *name;
    uint32_t codes;
} core_kinds[] = {{"CoreMem", CODE_OTHER},  {"PThread", CODE_OTHER},  {"Thread", CODE_OTHER},
                  {"FdBadUse", CODE_OTHER}, {"FdBadClose", CODE_FDC}, {"FdNotClosed", CODE_FDL}};

static int refuse_end(struct reader *in, const char *wanted)
{
    return reader_refuse(in, in->line, "the file ends inside an entry: %s is expected", wanted);
}

static int next(struct reader *in, const char *wanted)
{
    int bad = reader_next(in, true);
    return bad ? bad : in->is_end ? refuse_end(in, wanted) : 0;
}

/* ---- tool:kind ------------------------------------------------------------------------------- */

enum tool { TOOL_OTHER, TOOL_CORE, TOOL_MEMCHECK, TOOL_RTCHECK };

static enum tool tool_of(const char *at, size_t bytes)
{
    static const struct {
        const char *name;
        enum tool tool;
    } tools[] = {{"Memcheck", TOOL_MEMCHECK}, {"rtcheck", TOOL_RTCHECK}, {"core", TOOL_CORE}};

    for (size_t i = 0; i < countof(tools); i++)
        if (strlen(tools[i].name) == bytes && memcmp(tools[i].name, at, bytes) == 0)
            return tools[i].tool;
    return TOOL_OTHER;
}

/* The tool of a list: the first one that is supported. */
static enum tool tool_of_list(const char *at, const char *colon)
{
    while (at < colon) {
        const char *comma = memchr(at, ',', (size_t)(colon - at));
        const char *end = comma ? comma : colon;
        enum tool tool = tool_of(at, (size_t)(end - at));
        if (tool != TOOL_OTHER)
            return tool;
        at = end + 1;
    }
    return TOOL_OTHER;
}

static bool is_word(const char *word, const char *at, size_t bytes)
{
    return strlen(word) == bytes && memcmp(word, at, bytes) == 0;
}

/* Index in kinds; countof(kinds): there is none. */
static size_t kind_of(const char *at, size_t bytes)
{
    size_t i = 0;

    while (i < countof(kinds) && !is_word(kinds[i].name, at, bytes))
        i++;
    return i;
}

/*
 * The line after Param names a system call and its argument, such as write(buf) or
 * socketcall.sendto(msg). Errors have the name of libc's function.
 */
static uint32_t take_call(const struct reader *in)
{
    const char *at = in->line, *end = memchr(at, '(', in->bytes), *dot;
    size_t bytes = end ? (size_t)(end - at) : in->bytes;

    dot = memchr(at, '.', bytes);
    if (dot) {
        bytes -= (size_t)(dot + 1 - at);
        at = dot + 1;
    }
    if (is_word("pread64", at, bytes) || is_word("pwrite64", at, bytes))
        bytes -= 2;
    return pattern_intern(in->rules->patterns, at, bytes);
}

static int take_kind(struct reader *in, struct rule *rule, enum tool tool, const char *at)
{
    size_t bytes = (size_t)(in->line + in->bytes - at), kind = kind_of(at, bytes);

    rule->may_skip_entry = tool == TOOL_RTCHECK;
    rule->codes = rule->may_skip_entry ? rule_code_of(at, bytes) : 0;
    for (size_t i = 0; tool == TOOL_CORE && i < countof(core_kinds); i++)
        if (is_word(core_kinds[i].name, at, bytes))
            rule->codes = core_kinds[i].codes;
    if (tool == TOOL_CORE && !rule->codes)
        return reader_refuse(in, at, "valgrind's core has no kind '%.*s'",
                             bytes < 60 ? (int)bytes : 60, at);
    if (rule->codes)
        return 0;
    if (kind == countof(kinds))
        return reader_refuse(in, at, "there is no kind of error '%.*s'",
                             bytes < 60 ? (int)bytes : 60, at);
    rule->codes = kinds[kind].codes;
    if (!kinds[kind].has_line)
        return 0;
    int bad = next(in, "what the kind is about");
    if (!bad && rule->codes == CODES_PARAMS)
        rule->call = take_call(in);
    return bad;
}

/* ---- match-leak-kinds ------------------------------------------------------------------------ */

static uint32_t leak_kinds_of(const char *at, size_t bytes)
{
    static const struct {
        const char *name;
        uint32_t kinds;
    } words[] = {{"definite", LEAK_DEFINITE}, {"indirect", LEAK_INDIRECT},
                 {"possible", LEAK_POSSIBLE}, {"reachable", LEAK_REACHABLE},
                 {"all", UINT32_MAX},         {"none", 0}};

    for (size_t i = 0; i < countof(words); i++)
        if (is_word(words[i].name, at, bytes))
            return words[i].kinds;
    return UINT32_MAX - 1; /* unknown word */
}

static int take_leak_kinds(struct reader *in, struct rule *rule)
{
    const char *end = in->line + in->bytes, *at = in->line + strlen("match-leak-kinds:");

    rule->leak_kinds = 0;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    do {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        uint32_t kinds_of_word = leak_kinds_of(at, (size_t)(stop - at));
        if (kinds_of_word == UINT32_MAX - 1)
            return reader_refuse(
                in, at, "definite, indirect, possible, reachable, all or none is expected");
        rule->leak_kinds |= kinds_of_word;
        at = stop + 1;
    } while (at <= end);
    return 0;
}

/* ---- locations ------------------------------------------------------------------------------- */

/* Convert a glob with '*' and '?' to a pattern. */
static uint32_t glob_intern(struct reader *in, const char *at, size_t bytes)
{
    char *glob = xalloc(malloc(bytes + 1));
    size_t used = 0;
    uint32_t number;

    for (size_t i = 0; i < bytes; i++) {
        char c = at[i] == '*' ? PATTERN_RUN : at[i] == '?' ? PATTERN_ONE : at[i];
        if (c != PATTERN_RUN || used == 0 || glob[used - 1] != PATTERN_RUN)
            glob[used++] = c;
    }
    number = pattern_intern(in->rules->patterns, glob, used);
    free(glob);
    return number;
}

/* A number after the last colon is a line. */
static uint32_t take_src_line(const char *at, size_t *bytes)
{
    size_t colon = *bytes;
    uint64_t line = 0;

    while (colon > 0 && isdigit((unsigned char)at[colon - 1]))
        colon--;
    if (colon == 0 || colon == *bytes || at[colon - 1] != ':' || *bytes - colon > 9)
        return 0;
    for (size_t i = colon; i < *bytes; i++)
        line = 10 * line + (uint64_t)(at[i] - '0');
    *bytes = colon - 1;
    return (uint32_t)line;
}

static int take_location(struct reader *in, struct rule *rule)
{
    const char *at = in->line + 4;
    size_t bytes = in->bytes - 4;
    uint32_t line = 0;

    if (line_is(in, "...")) {
        reader_locate(rule, FIELD_ELLIPSIS, 0, 0);
        return 0;
    }
    if (!line_begins(in, "fun:") && !line_begins(in, "obj:") && !line_begins(in, "src:"))
        return reader_refuse(in, in->line, "fun:, obj:, src:, ... or } is expected");
    if (bytes == 0)
        return reader_refuse(in, at, "a name is expected behind %.4s", in->line);
    if (*in->line == 's')
        line = take_src_line(at, &bytes);
    reader_locate(rule,
                  *in->line == 'f'   ? FIELD_FUN
                  : *in->line == 'o' ? FIELD_OBJ
                                     : FIELD_SRC,
                  glob_intern(in, at, bytes), line);
    return 0;
}

static bool is_specific(const struct rule *rule)
{
    for (uint32_t i = 0; i < rule->location_count; i++)
        if (rule->locations[i].field != FIELD_ELLIPSIS)
            return true;
    return false;
}

static int take_locations(struct reader *in, struct rule *rule)
{
    int bad = 0;

    while (!bad && !line_is(in, "}")) {
        bad = take_location(in, rule);
        if (!bad)
            bad = next(in, "}");
    }
    if (!bad && !is_specific(rule))
        return reader_refuse(in, in->line, "an entry needs one location at least that is not ...");
    return bad;
}

/* ---- an entry -------------------------------------------------------------------------------- */

static int skip_entry(struct reader *in)
{
    int bad = 0;

    in->rules->other_tools++;
    while (!bad && !line_is(in, "}"))
        bad = next(in, "}");
    free(in->remarks.reason); /* they belong to the skipped entry */
    in->remarks = (struct remarks){0};
    return bad;
}

static int take_entry(struct reader *in, const char *name, size_t bytes, uint32_t number)
{
    const char *colon = memchr(in->line, ':', in->bytes);
    enum tool tool = colon ? tool_of_list(in->line, colon) : TOOL_OTHER;
    struct rule *rule;
    int bad;

    if (!colon)
        return reader_refuse(in, in->line, "TOOL:KIND is expected, such as Memcheck:Leak");
    if (tool == TOOL_OTHER)
        return skip_entry(in);
    rule = reader_add(in, GRAMMAR_VALGRIND, name, bytes);
    rule->scope = SCOPE_STACK;
    rule->line = number;
    bad = take_kind(in, rule, tool, colon + 1);
    if (!bad)
        bad = next(in, "a location");
    if (!bad && line_begins(in, "match-leak-kinds:")) {
        if (!(rule->codes & CODES_LEAKS))
            return reader_refuse(in, in->line, "only entries about leaks have match-leak-kinds");
        bad = take_leak_kinds(in, rule);
        if (!bad)
            bad = next(in, "a location");
    }
    if (!bad)
        bad = take_locations(in, rule);
    reader_remark(in, rule);
    return bad;
}

int read_valgrind(struct reader *in)
{
    uint32_t number = in->number;
    const char *name;
    size_t bytes;
    int bad;

    if (!line_is(in, "{"))
        return reader_refuse(in, in->line + 1, "nothing may stand behind { on its line");
    bad = next(in, "the entry's name");
    if (bad)
        return bad;
    if (line_is(in, "}"))
        return reader_refuse(in, in->line, "the entry's name is expected");
    name = in->line;
    bytes = in->bytes;
    bad = next(in, "TOOL:KIND");
    return bad ? bad : take_entry(in, name, bytes, number);
}

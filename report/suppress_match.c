/*
 * suppress_match.c - findings held against rules: what a stack looks like to them.
 *
 * Rules see a stack as valgrind would show it: innermost is the entry, malloc or whatever it was, which
 * our stacks do not have; then each function with what was inlined in it, under the names that the
 * linker and the source have for it.  Of a leak it is not known which of the functions that allocate
 * was called: its entry has the names of all of them.
 *
 * Stacks get their names only where a rule may ask for them: that takes longer than all the rest.
 */
#include <stdlib.h>
#include <string.h>

#include "patterns.h"
#include "words_priv.h"
#include "rules.h"

/* Where valgrind has its own malloc: the entry's object to rules. */
#define ENTRY_OBJECT "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so"

#define ENTRY_NAMES 16u

struct entry_spot {
    struct spot spot;
    uint32_t names[ENTRY_NAMES];
};

/* The functions of a frame, innermost first. */
struct frame_spots {
    struct spot *at;
    uint32_t count;
};

struct match {
    struct report *r;
    struct rules *rules;
    struct entry_spot allocated, entries[ENTRY_COUNT];
    uint32_t below_main; /* the name that valgrind has for what calls main */
    struct frame_spots *frames; /* by the report's frames; at NULL: not asked for yet */
    const struct spot **spots;  /* of the current finding */
    uint32_t room;
};

/* ---- entries ------------------------------------------------------------------------------- */

static const char *const allocating[] = {
    "malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign", "valloc", "pvalloc",
    "_Znwm", "_ZnwmRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "_Znam", "_ZnamRKSt9nothrow_t", "_ZnamSt11align_val_t", "_ZnamSt11align_val_tRKSt9nothrow_t",
};
static_assert(countof(allocating) <= ENTRY_NAMES, "all have room");

/* Linkers' names of the entries that have others than C's. */
static const struct {
    uint32_t entry;
    const char *name;
} operators[] = {
    {ENTRY_NEW, "_Znwm"},
    {ENTRY_NEW_ARRAY, "_Znam"},
    {ENTRY_NEW_ALIGNED, "_ZnwmSt11align_val_t"},
    {ENTRY_NEW_ARRAY_ALIGNED, "_ZnamSt11align_val_t"},
    {ENTRY_DELETE, "_ZdlPv"},
    {ENTRY_DELETE, "_ZdlPvm"},
    {ENTRY_DELETE, "_ZdlPvRKSt9nothrow_t"},
    {ENTRY_DELETE_ARRAY, "_ZdaPv"},
    {ENTRY_DELETE_ARRAY, "_ZdaPvm"},
    {ENTRY_DELETE_ARRAY, "_ZdaPvRKSt9nothrow_t"},
    {ENTRY_DELETE_ALIGNED, "_ZdlPvSt11align_val_t"},
    {ENTRY_DELETE_ALIGNED, "_ZdlPvmSt11align_val_t"},
    {ENTRY_DELETE_ARRAY_ALIGNED, "_ZdaPvSt11align_val_t"},
    {ENTRY_DELETE_ARRAY_ALIGNED, "_ZdaPvmSt11align_val_t"},
};

static void entry_begin(struct match *m, struct entry_spot *e)
{
    e->spot.names = e->names;
    e->spot.text[SPOT_OBJECT] = text_intern(m->rules->patterns, ENTRY_OBJECT);
}

static void entry_name_add(struct match *m, struct entry_spot *e, const char *name)
{
    e->names[e->spot.name_count++] = text_intern(m->rules->patterns, name);
}

static void entries_make(struct match *m)
{
    m->below_main = text_intern(m->rules->patterns, "(below main)");
    entry_begin(m, &m->allocated);
    for (size_t i = 0; i < countof(allocating); i++)
        entry_name_add(m, &m->allocated, allocating[i]);
    for (uint32_t i = 0; i < ENTRY_COUNT; i++) {
        entry_begin(m, &m->entries[i]);
        if (entry_name(i))
            entry_name_add(m, &m->entries[i], entry_name(i));
    }
    for (size_t i = 0; i < countof(operators); i++)
        entry_name_add(m, &m->entries[operators[i].entry], operators[i].name);
}

/* ---- names --------------------------------------------------------------------------------- */

bool is_of_libc(const char *object)
{
    return strcmp(object, "libc.so.6") == 0 || strncmp(object, "ld-linux", 8) == 0;
}

/* Without the version of a symbol; of the C library's functions, which have many names, without underscores. */
static uint32_t alias_intern(struct match *m, const char *name, const char *object)
{
    const char *from = name;
    char *alias;
    uint32_t number;

    if (is_of_libc(object)) {
        from += strncmp(from, "__GI_", 5) == 0 ? 5 : 0;
        from += strspn(from, "_");
    }
    alias = must_have(strndup(from, strcspn(from, "@")));
    number = strcmp(alias, name) == 0 ? 0 : text_intern(m->rules->patterns, alias);
    free(alias);
    return number;
}

/* Where the bracket that the text up to `end` closes with was opened; `end`: it does not close with one. */
static const char *opened(const char *text, const char *end, char open, char close)
{
    const char *at = end;
    int depth = 0;

    do {
        if (at == text)
            return end;
        at--;
        depth += *at == close ? 1 : *at == open ? -1 : 0;
    } while (depth > 0);
    return at + 1 == end ? end : at;
}

/* Of "int ns::f<int>(char) const" what is between the blank and the bracket. */
char *qualified_name(const char *full, const char **simple)
{
    const char *end = full + strlen(full), *from, *last;
    char *name;
    int depth = 0;

    if (strstr(full, "operator"))
        return NULL; /* whose names are made of brackets */
    if (end - full > 6 && strcmp(end - 6, " const") == 0)
        end -= 6;
    end = opened(full, end, '(', ')');
    end = opened(full, end, '<', '>');
    for (from = last = full; full < end; full++) {
        depth += *full == '<' || *full == '(' ? 1 : *full == '>' || *full == ')' ? -1 : 0;
        if (depth == 0 && *full == ' ')
            from = last = full + 1;
        else if (depth == 0 && *full == ':')
            last = full + 1;
    }
    name = must_have(strndup(from, (size_t)(end - from)));
    *simple = name + (last - from);
    return name;
}

static void source_names(struct match *m, const char *full, struct spot *spot)
{
    const char *simple;
    char *name = qualified_name(full, &simple);

    if (!name)
        return;
    spot->text[SPOT_QUALIFIED] = text_intern(m->rules->patterns, name);
    spot->text[SPOT_SIMPLE] = text_intern(m->rules->patterns, simple);
    free(name);
}

static uint32_t name_intern(struct match *m, const char *name)
{
    return text_intern(m->rules->patterns, name);
}

static bool calls_main(const char *name)
{
    static const char *const names[] = {"_start", "__libc_start_main", "__libc_start_call_main"};

    for (size_t i = 0; i < countof(names); i++) {
        size_t bytes = strlen(names[i]);
        if (strncmp(name, names[i], bytes) == 0 && (name[bytes] == '\0' || name[bytes] == '@'))
            return true;
    }
    return false;
}

static void spot_fill(struct match *m, const struct frame *frame, const struct source_line *line,
                      struct spot *spot)
{
    const char *object = frame->module == NO_MODULE ? "???" : m->r->modules[frame->module].path;

    spot->text[SPOT_OBJECT] = name_intern(m, object);
    spot->text[SPOT_OBJECT_BASE] = name_intern(m, base_name(object));
    spot->text[SPOT_SYSTEM] = name_intern(m, line->system_name ? line->system_name : "???");
    spot->text[SPOT_FULL] = name_intern(m, line->function);
    spot->text[SPOT_FILE] = name_intern(m, line->file);
    spot->text[SPOT_FILE_BASE] = line->file ? name_intern(m, base_name(line->file)) : 0;
    spot->line = line->line > 0 ? (uint32_t)line->line : 0;
    if (line->system_name)
        spot->text[SPOT_ALIAS] = alias_intern(m, line->system_name, base_name(object));
    if (line->system_name && calls_main(line->system_name)) {
        spot->names = &m->below_main;
        spot->name_count = 1;
    }
    if (line->function && line->function != line->system_name)
        source_names(m, line->function, spot);
}

static const struct frame_spots *spots_of_frame(struct match *m, uint32_t place)
{
    struct frame_spots *spots = &m->frames[place];
    struct source_line lines[FRAME_LINES_MAX];

    if (spots->at)
        return spots;
    spots->count = frame_lines(&m->r->frames[place], lines, FRAME_LINES_MAX);
    spots->at = must_have(calloc(spots->count, sizeof *spots->at));
    for (uint32_t i = 0; i < spots->count; i++)
        spot_fill(m, &m->r->frames[place], &lines[i], &spots->at[i]);
    return spots;
}

/* ---- one finding ---------------------------------------------------------------------------- */

static void spot_add(struct match *m, struct subject *f, const struct spot *spot)
{
    if (f->spot_count == m->room) {
        m->room = m->room ? 2 * m->room : 128;
        m->spots = must_have(reallocarray(m->spots, m->room, sizeof *m->spots));
    }
    m->spots[f->spot_count++] = spot;
}

static void stack_take(struct match *m, struct subject *f, const struct entry_spot *entry, uint32_t place)
{
    const struct site *site = place == NO_SITE ? NULL : &m->r->sites[place];

    spot_add(m, f, &entry->spot);
    for (uint32_t i = 0; site && i < site->count; i++) {
        const struct frame_spots *spots = spots_of_frame(m, site->frames[i]);
        for (uint32_t k = 0; k < spots->count; k++)
            spot_add(m, f, &spots->at[k]);
        if (i == 0)
            f->place_count = spots->count;
    }
    f->is_cut = site && (site->end == STACK_CUT || site->end == STACK_BUDGET);
    f->spots = m->spots;
}

/* Does the innermost frame lie in a file that was stripped?  It is asked once of each file. */
static bool is_stripped(struct report *r, uint32_t place)
{
    const struct site *site = place == NO_SITE || r->sites[place].count == 0 ? NULL : &r->sites[place];
    uint32_t module = site ? r->frames[site->frames[0]].module : NO_MODULE;

    if (module == NO_MODULE)
        return false;
    if (r->modules[module].symbols == SYMBOLS_UNTRIED)
        symbolize_site(r, place);
    return r->modules[module].symbols == SYMBOLS_EXPORTED;
}

static uint32_t decide(struct match *m, struct subject *f, const struct entry_spot *entry, uint32_t site,
                       bool counts)
{
    if (rules_ask_names(m->rules, f->code, f->leak_kind)) {
        if (site != NO_SITE)
            symbolize_site(m->r, site);
        stack_take(m, f, entry, site);
    }
    f->is_stripped = f->code & (CODE_AIB | CODE_AIR) && is_stripped(m->r, site);
    return counts ? rules_decide(m->rules, f) : rules_find(m->rules, f);
}

static struct fate fate_of(const struct rules *rules, uint32_t rule)
{
    bool is_hiding = rule != NO_RULE && !rules->rule[rule].is_shown;

    return (struct fate){.suppressed_by = is_hiding ? rule + 1 : 0};
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* What a rule is to say of an error of another kind: nothing. */
static uint32_t code_of_error(uint32_t kind)
{
    const char *code = error_code(kind);

    return rule_code_of(code, strlen(code));
}

static void error_judge(struct match *m, struct error *e, bool counts)
{
    bool by_block = e->kind == ERROR_WUA;
    uint32_t site = by_block ? e->alloc_stack : e->stack;
    struct subject f = {
        .code = code_of_error(e->kind),
        .address = e->address,
        .hits = e->count,
        .bytes = 0,
    };

    if (f.code && rules_ask_about(m->rules, f.code, 0))
        e->fate = fate_of(m->rules, decide(m, &f, by_block ? &m->allocated : &m->entries[e->entry], site, counts));
}

/* The program that all these processes run; NULL: they run several. */
static const char *program_of(const struct report *r, const uint32_t *images, uint32_t count)
{
    const char *first = NULL;

    for (uint32_t i = 0; i < count; i++) {
        const struct image *image = image_of(r, images[i]);
        if (!image || !image->exe || (first && strcmp(first, image->exe) != 0))
            return NULL;
        first = image->exe;
    }
    return first;
}

static void leak_judge(struct match *m, struct leak *leak, bool counts)
{
    struct subject f = {
        .code = rule_code_of(leak_code(leak->class), strlen(leak_code(leak->class))),
        .leak_kind = leak->class == CLASS_BEHIND ? LEAK_POSSIBLE : leak_kind(leak->class),
        .address = leak->block,
        .bytes_there = leak->block_bytes,
        .program = m->r->own_count > 0 ? program_of(m->r, leak->images, leak->image_count) : NULL,
        .hits = leak->blocks,
        .bytes = leak->bytes,
    };

    if (rules_ask_about(m->rules, f.code, f.leak_kind))
        leak->fate = fate_of(m->rules, decide(m, &f, &m->allocated, leak->site, counts));
}

static struct match match_begin(struct report *r, struct rules *rules)
{
    struct match m = {.r = r, .rules = rules};

    m.frames = must_have(calloc((size_t)r->frame_count + 1, sizeof *m.frames));
    return m;
}

static void match_end(struct match *m)
{
    for (uint32_t i = 0; i < m->r->frame_count; i++)
        free(m->frames[i].at);
    free(m->frames);
    free(m->spots);
}

static void judge_all(struct report *r, struct rules *rules, bool counts)
{
    struct match m = match_begin(r, rules);

    entries_make(&m);
    r->rules = rules;
    progress_begin(&r->progress, r->error_count + r->leak_count);
    for (uint32_t i = 0; i < r->error_count; i++) {
        error_judge(&m, &r->errors[i], counts);
        progress_step(&r->progress);
    }
    for (uint32_t i = 0; i < r->leak_count; i++) {
        leak_judge(&m, &r->leaks[i], counts);
        progress_step(&r->progress);
    }
    progress_end(&r->progress);
    match_end(&m);
}

void report_suppress(struct report *r, struct rules *rules)
{
    judge_all(r, rules_with_own(r, rules), true);
}

void findings_judge(struct report *r, const struct print_options *how)
{
    if (how->rules)
        judge_all(r, rules_with_own(r, how->rules), false);
    if (how->baseline)
        report_compare(r, how->baseline, how->problem_kinds);
}

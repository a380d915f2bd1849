/*
 * suppress_match.c - match findings against suppression rules: the stack as rules see it.
 *
 * Rules see a stack as valgrind shows it. The innermost function is the entry, e.g. malloc, which
 * our stacks do not contain. Then comes each function with its inlined ones, under the linker's and
 * the source's names. For a leak the entry is the function that the innermost frame calls. If that
 * is unknown, the entry has the names of all allocation functions.
 *
 * Stacks are symbolized only if a rule may compare names, as that takes longer than all other
 * steps.
 */
#include <stdlib.h>
#include <string.h>

#include "suppress_priv.h"

/* Valgrind's object with its malloc: the entry's object for rules. */
#define ENTRY_OBJECT "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so"

#define ENTRY_NAMES 24u

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
    uint32_t below_main;        /* valgrind's name for the caller of main */
    struct frame_spots *frames; /* by the report's frames; .at NULL: not filled yet */
    const struct spot **spots;  /* of the current finding */
    uint32_t room;
};

/* ---- entries --------------------------------------------------------------------------------- */

static bool allocates(uint32_t entry)
{
    return (entry >= ENTRY_MALLOC && entry <= ENTRY_PVALLOC) || entry == ENTRY_NEW ||
           entry == ENTRY_NEW_ARRAY || entry == ENTRY_NEW_ALIGNED ||
           entry == ENTRY_NEW_ARRAY_ALIGNED;
}

/* Further names in valgrind, as some of its functions end in a jump to another one. */
static const struct entry_alias others[] = {
    {ENTRY_REALLOC, "malloc"},
    {ENTRY_REALLOCARRAY, "malloc"},
    {ENTRY_REALLOCARRAY, "realloc"},
    {ENTRY_ALIGNED_ALLOC, "memalign"},
    {ENTRY_POSIX_MEMALIGN, "memalign"},
    {ENTRY_VALLOC, "memalign"},
    {ENTRY_PVALLOC, "memalign"},
    {ENTRY_PVALLOC, "valloc"},
    {ENTRY_MEMCPY, "memmove"},
    {ENTRY_MEMCPY, "__memcpy_chk"},
    {ENTRY_MEMMOVE, "__memmove_chk"},
    {ENTRY_MEMSET, "__memset_chk"},
    {ENTRY_MEMCMP, "bcmp"},
    {ENTRY_BCMP, "memcmp"},
    {ENTRY_STRCPY, "__strcpy_chk"},
    {ENTRY_STPCPY, "__stpcpy_chk"},
    {ENTRY_STRNCPY, "__strncpy_chk"},
    {ENTRY_STRCAT, "__strcat_chk"},
    {ENTRY_STRCHR, "index"},
    {ENTRY_INDEX, "strchr"},
    {ENTRY_STRRCHR, "rindex"},
    {ENTRY_RINDEX, "strrchr"},
};

static void entry_name_add(struct match *m, struct entry_spot *e, const char *name)
{
    if (e->spot.name_count == ENTRY_NAMES)
        abort(); /* ENTRY_NAMES is too small: a bug in rtcheck */
    e->names[e->spot.name_count++] = text_intern(m->rules->patterns, name);
}

static void entry_begin(struct match *m, struct entry_spot *e)
{
    e->spot.names = e->names;
    e->spot.text[SPOT_OBJECT] = text_intern(m->rules->patterns, ENTRY_OBJECT);
}

/* Add a name of an entry; if the entry allocates, also to the names of an unknown allocator. */
static void entry_is(struct match *m, uint32_t entry, const char *name)
{
    entry_name_add(m, &m->entries[entry], name);
    if (allocates(entry))
        entry_name_add(m, &m->allocated, name);
}

static void entries_make(struct match *m)
{
    const struct entry_alias *alias;

    m->below_main = text_intern(m->rules->patterns, "(below main)");
    entry_begin(m, &m->allocated);
    for (uint32_t i = 0; i < ENTRY_COUNT; i++) {
        entry_begin(m, &m->entries[i]);
        /* for operators this is not the linker's name */
        if (entry_name(i) && (i < ENTRY_NEW || i >= ENTRY_OPEN))
            entry_is(m, i, entry_name(i));
    }
    for (size_t i = 0; (alias = entry_alias(i)); i++)
        entry_is(m, alias->entry, alias->name);
    for (size_t i = 0; i < countof(others); i++)
        entry_name_add(m, &m->entries[others[i].entry], others[i].name);
}

/* ---- names ----------------------------------------------------------------------------------- */

bool is_of_libc(const char *object)
{
    return strcmp(object, "libc.so.6") == 0 || strncmp(object, "ld-linux", 8) == 0;
}

/*
 * The name without the symbol's version. For functions of the C library, which have many aliases,
 * also without leading underscores.
 */
static uint32_t alias_intern(struct match *m, const char *name, const char *object)
{
    const char *from = name;
    char *alias;
    uint32_t number;

    if (is_of_libc(object)) {
        from += strncmp(from, "__GI_", 5) == 0 ? 5 : 0;
        from += strspn(from, "_");
    }
    alias = xalloc(strndup(from, strcspn(from, "@")));
    number = strcmp(alias, name) == 0 ? 0 : text_intern(m->rules->patterns, alias);
    free(alias);
    return number;
}

/* C++ functions with internal linkage: gcc gives them no linkage name in debugging information. */
static bool is_local(const char *system_name)
{
    return strncmp(system_name, "_ZL", 3) == 0 || strncmp(system_name, "_ZZ", 3) == 0 ||
           strstr(system_name, "12_GLOBAL__N_1") != NULL;
}

static void source_names(struct match *m, const struct source_line *line, struct spot *spot)
{
    const char *simple;
    char *declared = declared_name(line->function), *name = qualified_name(line->function, &simple);

    if (line->system_name && is_local(line->system_name))
        spot->text[SPOT_LOCAL] = text_intern(m->rules->patterns, declared);
    free(declared);
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
    spot->text[SPOT_DECLARED] = name_intern(m, line->declared);
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
        source_names(m, line, spot);
}

static const struct frame_spots *spots_of_frame(struct match *m, uint32_t index)
{
    struct frame_spots *spots = &m->frames[index];
    struct source_line lines[FRAME_LINES_MAX];

    if (spots->at)
        return spots;
    spots->count = frame_lines(&m->r->frames[index], lines, FRAME_LINES_MAX);
    spots->at = xalloc(calloc(spots->count, sizeof *spots->at));
    for (uint32_t i = 0; i < spots->count; i++)
        spot_fill(m, &m->r->frames[index], &lines[i], &spots->at[i]);
    return spots;
}

/* ---- one finding ----------------------------------------------------------------------------- */

static void spot_add(struct match *m, struct subject *f, const struct spot *spot)
{
    if (f->spot_count == m->room) {
        m->room = m->room ? 2 * m->room : 128;
        m->spots = xalloc(reallocarray(m->spots, m->room, sizeof *m->spots));
    }
    m->spots[f->spot_count++] = spot;
}

uint32_t allocator_of(const struct report *r, const struct site *site)
{
    uint32_t entry = site && site->count > 0 ? r->frames[site->frames[0]].calls : ENTRY_NONE;

    return allocates(entry) ? entry : ENTRY_NONE;
}

#define ENTRY_ALLOCATED ENTRY_COUNT /* represents the allocation function, not an error's entry */

static void entries_take(struct match *m, struct subject *f, const struct site *site,
                         uint32_t entry)
{
    if (entry == ENTRY_ALLOCATED) {
        entry = allocator_of(m->r, site);
        /* valgrind's posix_memalign calls it */
        if (entry == ENTRY_POSIX_MEMALIGN)
            spot_add(m, f, &m->entries[ENTRY_MEMALIGN].spot);
        spot_add(m, f, entry == ENTRY_NONE ? &m->allocated.spot : &m->entries[entry].spot);
    } else if (entry != ENTRY_NONE || !site || site->count == 0 ||
               !m->r->frames[site->frames[0]].exact) { /* else an instruction, not a call */
        spot_add(m, f, &m->entries[entry].spot);
    }
    f->entry_count = f->spot_count;
}

static void stack_take(struct match *m, struct subject *f, uint32_t entry, uint32_t index)
{
    const struct site *site = index == NO_SITE ? NULL : &m->r->sites[index];

    entries_take(m, f, site, entry);
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

/* Is the innermost frame in a stripped file? Each file is examined once. */
static bool is_stripped(struct report *r, uint32_t index)
{
    const struct site *site =
        index == NO_SITE || r->sites[index].count == 0 ? NULL : &r->sites[index];
    uint32_t module = site ? r->frames[site->frames[0]].module : NO_MODULE;

    if (module == NO_MODULE)
        return false;
    if (r->modules[module].symbols == SYMBOLS_UNTRIED)
        symbolize_site(r, index);
    return r->modules[module].symbols == SYMBOLS_EXPORTED;
}

static uint32_t decide(struct match *m, struct subject *f, uint32_t entry, uint32_t site,
                       bool counts)
{
    if (rules_need_names(m->rules, f->code, f->leak_kind)) {
        if (site != NO_SITE)
            symbolize_site(m->r, site);
        stack_take(m, f, entry, site);
    }
    f->is_stripped = f->code & (CODE_AIB | CODE_AIR) && is_stripped(m->r, site);
    return counts ? rules_decide(m->rules, f) : rules_find(m->rules, f);
}

static struct disposition disposition_of(const struct rules *rules, uint32_t rule)
{
    bool is_hiding = rule != NO_RULE && !rules->rule[rule].is_shown;

    return (struct disposition){.suppressed_by = is_hiding ? rule + 1 : 0};
}

/* ---- all findings ---------------------------------------------------------------------------- */

/* The code of an error. 0: no rule applies to errors of this kind. */
static uint32_t code_of_error(uint32_t kind)
{
    const char *code = error_code(kind);

    return rule_code_of(code, strlen(code));
}

static void match_error(struct match *m, struct error *e, bool counts)
{
    uint32_t entry = error_is_late(e)       ? ENTRY_ALLOCATED
                     : e->kind == ERROR_FDL ? e->opener
                                            : e->entry;
    uint32_t site = error_main_site(e);
    struct subject f = {
        .code = code_of_error(e->kind),
        .address = e->address,
        .hits = e->count,
        .bytes = 0,
    };

    if (f.code && rules_apply_to(m->rules, f.code, 0))
        e->disposition = disposition_of(m->rules, decide(m, &f, entry, site, counts));
}

/* The program that all these processes run. NULL: they run several. */
static const char *program_of(const struct report *r, const struct image_numbers *images)
{
    const char *first = NULL;

    for (uint32_t i = 0; i < images->count; i++) {
        const struct image *image = image_of(r, images->at[i]);
        if (!image || !image->exe || (first && strcmp(first, image->exe) != 0))
            return NULL;
        first = image->exe;
    }
    return first;
}

static void match_leak(struct match *m, struct leak *leak, bool counts)
{
    struct subject f = {
        .code = rule_code_of(leak_code(leak->class), strlen(leak_code(leak->class))),
        .leak_kind =
            leak->class == CLASS_POSSIBLY_INDIRECT ? LEAK_POSSIBLE : leak_kind(leak->class),
        .address = leak->block,
        .bytes_there = leak->block_bytes,
        .program = m->r->own_count > 0 ? program_of(m->r, &leak->images) : NULL,
        .hits = leak->blocks,
        .bytes = leak->bytes,
    };

    if (rules_apply_to(m->rules, f.code, f.leak_kind))
        leak->disposition =
            disposition_of(m->rules, decide(m, &f, ENTRY_ALLOCATED, leak->site, counts));
}

static struct match match_begin(struct report *r, struct rules *rules)
{
    struct match m = {.r = r, .rules = rules};

    m.frames = xalloc(calloc((size_t)r->frame_count + 1, sizeof *m.frames));
    return m;
}

static void match_end(struct match *m)
{
    for (uint32_t i = 0; i < m->r->frame_count; i++)
        free(m->frames[i].at);
    free(m->frames);
    free(m->spots);
}

/*
 * `suppress biu` is a dbx command: it applies to the table of blocks in use, whether or not a leak
 * check lists these blocks, too. The other grammars apply only to leaks. Hits are counted only for
 * rules that apply to biu alone, and only once: with the leak check's groups if these are read.
 */
static void match_uses(struct match *m, bool counts)
{
    struct report *r = m->r;
    uint32_t count;

    free(r->use_dispositions);
    r->use_dispositions = NULL;
    r->use_disposition_count = 0;
    if (!rules_apply_to(m->rules, CODE_BIU, LEAK_REACHABLE))
        return;
    struct record *records = records_make(r, 0, &count);
    r->use_dispositions = xalloc(calloc((size_t)r->site_count + 1, sizeof *r->use_dispositions));
    r->use_disposition_count = r->site_count;
    for (uint32_t i = 0; i < count; i++) {
        struct subject f = {.code = CODE_BIU,
                            .leak_kind = LEAK_REACHABLE,
                            .program = r->own_count > 0 ? program_of(r, &records[i].images) : NULL,
                            .hits = records[i].blocks,
                            .bytes = records[i].bytes};
        uint32_t rule = decide(m, &f, ENTRY_ALLOCATED, records[i].site, false);
        if (rule == NO_RULE || m->rules->rule[rule].grammar != GRAMMAR_RTC)
            continue;
        if (counts && !r->wants_reachable && m->rules->rule[rule].codes == CODE_BIU)
            rules_decide(m->rules, &f);
        r->use_dispositions[records[i].site] = disposition_of(m->rules, rule);
    }
    records_free(records, count);
}

static void match_all(struct report *r, struct rules *rules, bool counts)
{
    struct match m = match_begin(r, rules);

    entries_make(&m);
    r->rules = rules;
    progress_begin(&r->progress, PROGRESS_SYMBOLS, r->error_count + r->leak_count);
    for (uint32_t i = 0; i < r->error_count; i++) {
        match_error(&m, &r->errors[i], counts);
        progress_step(&r->progress);
    }
    for (uint32_t i = 0; i < r->leak_count; i++) {
        match_leak(&m, &r->leaks[i], counts);
        progress_step(&r->progress);
    }
    progress_end(&r->progress);
    match_uses(&m, counts);
    match_end(&m);
}

void report_suppress(struct report *r, struct rules *rules)
{
    match_all(r, rules_with_own(r, rules), true);
}

void findings_match(struct report *r, const struct print_options *how)
{
    if (how->rules)
        match_all(r, rules_with_own(r, how->rules), false);
    if (how->baseline)
        report_compare(r, how->baseline, how->baseline_kinds);
    report_filter(r, &how->filters);
}

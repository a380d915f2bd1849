/*
 * suppress_gen.c - generate a suppression for a finding, as an entry that valgrind accepts, too.
 *
 * An entry has the user's part of the stack, and at most as many locations as valgrind accepts.
 * Frames of the C library are written as its object, as its functions have other names if its
 * symbols are installed; only well-known functions that allocate for their caller are named.
 * Inlined functions have their declared name, as in valgrind. If the allocating function is
 * unknown, or may be one of several in valgrind, valgrind's preload object is written, which
 * contains all of them.
 *
 * Findings for which valgrind has no kind become entries for a tool "rtcheck", which valgrind
 * skips.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "suppress_priv.h"

#define LOCATIONS_MAX 24u /* limit of valgrind's entries */

struct entry {
    FILE *out;
    uint32_t locations;
};

__attribute__((format(printf, 3, 4))) static void location_put(struct entry *e, const char *field,
                                                               const char *format, ...)
{
    va_list arguments;
    char *text;

    if (e->locations++ >= LOCATIONS_MAX)
        return;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = xalloc(NULL);
    va_end(arguments);
    fprintf(e->out, "   %s:", field);
    for (const char *p = text; *p; p++) /* a name is untrusted: it must not leave its line */
        fputc(byte_is_plain((unsigned char)*p) ? *p : '?', e->out);
    fputc('\n', e->out);
    free(text);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void object_put(struct entry *e, const char *path)
{
    if (*path)
        location_put(e, "obj", "*/%s", base_name(path));
    else
        location_put(e, "obj", "*");
}

/* Return the name of a libc function that allocates for its caller; NULL: another function. */
static const char *libc_allocator(const char *name)
{
    static const char *const names[] = {"asprintf", "getcwd",    "realpath", "strdup",
                                        "strndup",  "vasprintf", "wcsdup"};
    const char *plain = name ? name + strspn(name, "_") : "";
    size_t bytes = strcspn(plain, "@");

    for (size_t i = 0; i < countof(names); i++)
        if (strlen(names[i]) == bytes && memcmp(names[i], plain, bytes) == 0)
            return names[i];
    return NULL;
}

static void frame_put(struct entry *e, const struct report *r, const struct frame *frame)
{
    const char *object = frame->module == NO_MODULE ? "" : r->modules[frame->module].path;
    struct source_line lines[FRAME_LINES_MAX];
    uint32_t count = frame_lines(frame, lines, FRAME_LINES_MAX);

    for (uint32_t i = 0; i < count; i++) {
        const char *name = lines[i].system_name;
        bool is_libc = is_of_libc(base_name(object));
        if (is_libc && libc_allocator(name))
            location_put(e, "fun", "*%s", libc_allocator(name)); /* or with underscores */
        else if (!name || !*name || is_libc)
            object_put(e, object);
        else if (lines[i].declared)
            location_put(e, "fun", "%s", lines[i].declared);
        else if (strchr(name, '@'))
            location_put(e, "fun", "%.*s*", (int)strcspn(name, "@"), name);
        else
            location_put(e, "fun", "%s", name);
    }
}

/* ---- entries --------------------------------------------------------------------------------- */

/*
 * Write the allocation function, or valgrind's object that contains its malloc. Valgrind's realloc
 * of NULL is a jump to its malloc, and aligned_alloc to its memalign.
 */
static void allocator_put(struct entry *e, uint32_t entry)
{
    static const char *const names[ENTRY_COUNT] = {
        [ENTRY_MALLOC] = "malloc",
        [ENTRY_CALLOC] = "calloc",
        [ENTRY_REALLOC] = "*alloc",
        [ENTRY_REALLOCARRAY] = "*alloc*",
        [ENTRY_MEMALIGN] = "memalign",
        [ENTRY_ALIGNED_ALLOC] = "*align*",
        [ENTRY_POSIX_MEMALIGN] = "memalign",
        [ENTRY_NEW] = "_Znwm*",
        [ENTRY_NEW_ARRAY] = "_Znam*",
        [ENTRY_NEW_ALIGNED] = "_ZnwmSt11align_val_t*",
        [ENTRY_NEW_ARRAY_ALIGNED] = "_ZnamSt11align_val_t*",
    };

    if (names[entry])
        location_put(e, "fun", "%s", names[entry]);
    else
        location_put(e, "obj", "*/vgpreload_memcheck-*.so");
    if (entry == ENTRY_POSIX_MEMALIGN)
        location_put(e, "fun", "posix_memalign"); /* calls its memalign */
}

/*
 * Write the entry frame: for an error the function that detected it, otherwise the allocation
 * function.
 */
static void entry_put(struct entry *e, const struct error *error, uint32_t allocator)
{
    static const char *const names[ENTRY_COUNT] = {
        [ENTRY_FREE] = "free",
        [ENTRY_CFREE] = "cfree",
        [ENTRY_REALLOC] = "realloc",
        [ENTRY_DELETE] = "_ZdlPv*",
        [ENTRY_DELETE_ALIGNED] = "_ZdlPv*",
        [ENTRY_DELETE_ARRAY] = "_ZdaPv*",
        [ENTRY_DELETE_ARRAY_ALIGNED] = "_ZdaPv*",
    };

    if (error && error_is_of_descriptor(error))
        location_put(e, "fun", "%s",
                     entry_name(error->kind == ERROR_FDL ? error->opener : error->entry));
    else if (!error || error_is_late(error))
        allocator_put(e, allocator);
    else if (error_is_by_call(error) && entry_name(error->entry))
        location_put(e, "fun", "*%s*", entry_name(error->entry)); /* also __memcpy_chk */
    else if (names[error->entry])
        location_put(e, "fun", "%s", names[error->entry]);
    else if (error->entry != ENTRY_NONE || !error_is_access(error)) /* else an instruction */
        location_put(e, "obj", "*/vgpreload_memcheck-*.so");
}

static void stack_put(struct entry *e, struct report *r, uint32_t index, const struct error *error)
{
    const struct site *site = &r->sites[index];
    uint32_t count;

    symbolize_site(r, index);
    count = user_frames(r, site);
    entry_put(e, error, allocator_of(r, site));
    for (uint32_t i = 0; i < count; i++)
        frame_put(e, r, &r->frames[site->frames[i]]);
}

/*
 * TOOL:KIND. Kinds that valgrind has only since versions after 3.19 are used only for errors that
 * need them.
 */
static const char *entry_kind(const struct error *error)
{
    static const char *const kinds[ERROR_KIND_COUNT] = {
#define ERROR(id, value, class, code, title, titles, entry, help) [ERROR_##id] = entry,
#include "format/findings.def"
    };
    return kinds[error->kind];
}

bool error_rule_put(struct report *r, const struct error *error, FILE *out)
{
    uint32_t index = error_main_site(error);
    struct entry e = {.out = out};

    if (index == NO_SITE || r->sites[index].count == 0)
        return false;
    fprintf(out, "{\n   %s\n   %s\n", error->id, entry_kind(error));
    stack_put(&e, r, index, error);
    fputs("}\n", out);
    return true;
}

static const char *leak_kind_text(enum leak_class class)
{
    switch (leak_kind(class)) {
    case LEAK_DEFINITE:
        return "definite";
    case LEAK_INDIRECT:
        return "indirect";
    case LEAK_REACHABLE:
        return "reachable";
    default:
        return "possible";
    }
}

bool leak_rule_put(struct report *r, const struct leak *leak, FILE *out)
{
    struct entry e = {.out = out};

    if (leak->site == NO_SITE || r->sites[leak->site].count == 0)
        return false;
    if (leak->class == CLASS_MAPPED)
        fprintf(out, "{\n   %s\n   rtcheck:biu-map\n", leak->id);
    else
        fprintf(out, "{\n   %s\n   Memcheck:Leak\n   match-leak-kinds: %s\n", leak->id,
                leak_kind_text(leak->class));
    stack_put(&e, r, leak->site, NULL);
    fputs("}\n", out);
    return true;
}

/* ---- rules for all findings ------------------------------------------------------------------ */

/*
 * Rules that were printed. Findings at different lines of the same functions have equal rules,
 * except for the name.
 */
struct given_rule {
    char *text;
    UT_hash_handle hh; /* key: the text after the name */
};

struct giving {
    struct given_rule *given;
    FILE *out;
    char *text; /* of the current rule */
    size_t bytes;
};

static FILE *rule_begin(struct giving *g)
{
    return xalloc(open_memstream(&g->text, &g->bytes));
}

static void rule_end(struct giving *g, FILE *rule)
{
    struct given_rule *known;
    const char *body;

    fclose(rule);
    xalloc(g->text);
    body = strstr(g->text, "\n   ");
    body = body ? strstr(body + 1, "\n   ") : NULL;
    if (!body) {
        free(g->text);
        return;
    }
    HASH_FIND_STR(g->given, body, known);
    if (known) {
        free(g->text);
        return;
    }
    fputs(g->text, g->out);
    known = xalloc(calloc(1, sizeof *known));
    known->text = g->text;
    HASH_ADD_KEYPTR(hh, g->given, body, strlen(body), known);
}

static void giving_end(struct giving *g)
{
    struct given_rule *rule, *next;

    HASH_ITER (hh, g->given, rule, next) {
        HASH_DEL(g->given, rule);
        free(rule->text);
        free(rule);
    }
}

static void leaks_put(struct report *r, uint32_t kind, const struct page *page, struct giving *g)
{
    uint32_t count;
    struct leak_row *rows = leak_rows(r, kind, page->how->match, UINT32_MAX, &count);

    for (uint32_t i = 0; i < count; i++) {
        FILE *rule = rule_begin(g);
        leak_rule_put(r, rows[i].first, rule);
        rule_end(g, rule);
    }
    free(rows);
}

void rules_print(struct report *r, const struct page *page)
{
    struct giving g = {.out = page->out};

    if (!page->how->gen_rules)
        return;
    errors_name(r, r->error_count);
    for (uint32_t i = 0; i < r->error_count; i++) {
        if (!error_is_shown(&r->errors[i]) || is_hidden(&r->errors[i].disposition))
            continue;
        FILE *rule = rule_begin(&g);
        error_rule_put(r, &r->errors[i], rule);
        rule_end(&g, rule);
    }
    for (uint32_t kind = LEAK_DEFINITE; kind <= LEAK_MAPPED; kind *= 2)
        if (page->how->leak_kinds & kind && page->how->leaks != PRINT_LEAKS_NOTHING)
            leaks_put(r, kind, page, &g);
    giving_end(&g);
}

bool report_print_rule(struct report *r, const char *id, FILE *out)
{
    leaks_name_all(r);
    for (uint32_t i = 0; i < r->leak_count; i++)
        if (strcmp(r->leaks[i].id, id) == 0)
            return leak_rule_put(r, &r->leaks[i], out);
    errors_name(r, r->error_count);
    for (uint32_t i = 0; i < r->error_count; i++)
        if (strcmp(r->errors[i].id, id) == 0)
            return error_rule_put(r, &r->errors[i], out);
    return false;
}

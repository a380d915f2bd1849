/*
 * locations.c - describe an address in a program or library, or a position in a frame: its section,
 * and the function or variable there.
 */
#include <string.h>

#include "symbols.h"
#include "variables.h"

/* Return the variable's name: at its start that of the whole variable, not of its first member. */
static const char *name_of(const struct variable *v)
{
    return v->in_whole == 0 ? v->whole : v->name;
}

/* "local variable `next'+0x4 of main (prog.c:12)" */
static void variable_put(const char *kind, const struct variable *v, FILE *out)
{
    fprintf(out, "%s `%s'", kind, name_of(v));
    if (v->offset > 0)
        fprintf(out, "+0x%llx", (unsigned long long)v->offset);
    if (v->function)
        fprintf(out, " of %s", v->function);
    if (v->file)
        fprintf(out, " (%s:%d)", base_name(v->file), v->line);
}

bool format_local(struct report *r, uint32_t frame, struct in_frame at, FILE *out)
{
    struct variable v;
    bool known = local_find(r, frame, at, &v);

    if (known)
        variable_put(v.is_parameter ? "parameter" : "local variable", &v, out);
    variable_free(&v);
    return known;
}

bool format_thread_variable(struct report *r, uint32_t module, uint64_t below, FILE *out)
{
    struct variable v;
    bool known = thread_variable_find(r, module, below, &v);

    if (known)
        variable_put("thread-local variable", &v, out);
    variable_free(&v);
    return known;
}

/* What a section holds, in words. */
static const char *contents_of(const char *section)
{
    static const struct {
        const char *start, *contents;
    } all[] = {
        {".rodata", "a constant"}, {".data", "static data"}, {".bss", "static data"},
        {".text", "code"},         {".plt", "code"},         {".init", "code"},
    };

    for (size_t i = 0; i < countof(all); i++)
        if (strncmp(section, all[i].start, strlen(all[i].start)) == 0)
            return all[i].contents;
    return NULL;
}

/* "a constant of prog: "text" (.rodata+0x4)" */
static void nameless_put(const char *module, const struct variable *v, FILE *out)
{
    const char *contents = contents_of(v->section);

    fprintf(out, "%s%s%s", contents ? contents : "", contents ? " of " : "", module);
    if (v->text)
        fprintf(out, ": \"%s\"", v->text);
    fprintf(out, " (%s+0x%llx)", v->section, (unsigned long long)v->in_section);
}

void format_location(struct report *r, uint32_t module, uint64_t offset, FILE *out)
{
    const char *file = base_name(r->modules[module].path), *name;
    struct variable v;

    variable_find(r, module, offset, &v);
    name = name_of(&v);
    if (!name && v.section) {
        nameless_put(file, &v, out);
    } else {
        fprintf(out, "%s%s%s", v.section ? v.section : "", v.section ? " of " : "", file);
        if (name)
            fprintf(out, ": %s", name);
        if (!name || v.offset > 0)
            fprintf(out, "+0x%llx", (unsigned long long)(name ? v.offset : offset));
        if (name && v.file)
            fprintf(out, " (%s:%d)", base_name(v.file), v.line);
    }
    variable_free(&v);
}

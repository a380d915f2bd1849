/*
 * places.c - what lies at an address of a program or library: its section, and the function or
 * variable there.
 */
#include "report_priv.h"
#include "variables.h"

void place_words(struct report *r, uint32_t module, uint64_t offset, FILE *out)
{
    struct variable v;
    const char *name;

    variable_find(r, module, offset, &v);
    name = v.in_whole == 0 ? v.whole : v.name; /* not its first member, where all of it is meant */
    if (v.section)
        fprintf(out, "%s of ", v.section);
    fputs(base_name(r->modules[module].path), out);
    if (name)
        fprintf(out, ": %s", name);
    if (!name || v.offset > 0)
        fprintf(out, "+0x%llx", (unsigned long long)(name ? v.offset : offset));
    if (name && v.file)
        fprintf(out, " (%s:%d)", base_name(v.file), v.line);
    variable_free(&v);
}

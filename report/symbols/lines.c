/*
 * lines.c - the compilation unit and the source line of an address, also without .debug_aranges;
 * paths of source files.
 *
 * libdw before 0.191 finds the unit of an address only by .debug_aranges, which clang does not
 * write. If libdw finds no unit, the address ranges of all units of the module are listed once and
 * kept, sorted.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols_priv.h"

struct unit_range {
    Dwarf_Addr start, end; /* libdwfl's addresses */
    Dwarf_Addr bias;       /* libdwfl's address - the unit's own */
    Dwarf_Die unit;
};

struct lines {
    struct unit_range *ranges;
    size_t count, room;
};

static void add_ranges(struct lines *l, Dwarf_Die *unit, Dwarf_Addr bias)
{
    Dwarf_Addr base, start, end;

    for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &start, &end)) > 0;) {
        if (l->count == l->room) {
            l->room = l->room ? 2 * l->room : 64;
            l->ranges = xalloc(reallocarray(l->ranges, l->room, sizeof *l->ranges));
        }
        l->ranges[l->count++] = (struct unit_range){start + bias, end + bias, bias, *unit};
    }
}

static int by_start(const void *a, const void *b)
{
    const struct unit_range *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

static struct lines *lines_make(Dwfl_Module *module)
{
    struct lines *l = xalloc(calloc(1, sizeof *l));
    Dwarf_Die *unit = NULL;
    Dwarf_Addr bias;

    while ((unit = dwfl_module_nextcu(module, unit, &bias)))
        add_ranges(l, unit, bias);
    if (l->count)
        qsort(l->ranges, l->count, sizeof *l->ranges, by_start);
    return l;
}

static int is_in_range(const void *key, const void *range)
{
    const Dwarf_Addr *address = key;
    const struct unit_range *r = range;

    return *address < r->start ? -1 : *address >= r->end;
}

bool unit_find(struct lines **lines, Dwfl_Module *module, Dwarf_Addr address, Dwarf_Die *unit,
               Dwarf_Addr *bias)
{
    Dwarf_Die *found = dwfl_module_addrdie(module, address, bias);
    const struct unit_range *r = NULL;

    if (found) {
        *unit = *found;
        return true;
    }
    if (!*lines)
        *lines = lines_make(module);
    if ((*lines)->count)
        r = bsearch(&address, (*lines)->ranges, (*lines)->count, sizeof *r, is_in_range);
    if (!r)
        return false;
    *unit = r->unit;
    *bias = r->bias;
    return true;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Of DWARF 5, libdw returns the path as it was given to the compiler. */
static char *absolute_path(const char *folder, const char *file)
{
    char *path;

    if (!file || file[0] == '/' || !folder || folder[0] != '/')
        return file ? xalloc(strdup(file)) : NULL;
    while (strncmp(file, "./", 2) == 0)
        file += 2;
    if (asprintf(&path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", file) < 0)
        path = NULL;
    return xalloc(path);
}

char *unit_path(Dwarf_Die *unit, const char *file)
{
    Dwarf_Attribute attribute;

    return absolute_path(dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute)), file);
}

char *line_find(struct lines **lines, Dwfl_Module *module, Dwarf_Addr address, int *number)
{
    Dwfl_Line *known = dwfl_module_getsrc(module, address);
    Dwarf_Line *line = NULL;
    Dwarf_Addr bias;
    Dwarf_Die unit;

    if (known)
        return absolute_path(dwfl_line_comp_dir(known),
                             dwfl_lineinfo(known, NULL, number, NULL, NULL, NULL));
    if (unit_find(lines, module, address, &unit, &bias))
        line = dwarf_getsrc_die(&unit, address - bias);
    return line && dwarf_lineno(line, number) == 0
               ? unit_path(&unit, dwarf_linesrc(line, NULL, NULL))
               : NULL;
}

void lines_free(struct lines *l)
{
    if (l)
        free(l->ranges);
    free(l);
}

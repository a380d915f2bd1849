/*
 * lines.c - the source line of an address, also where the file has no table that leads to it.
 *
 * libdw before 0.191 finds the unit of an address in .debug_aranges and nowhere else, and clang does
 * not write that section.  So where it finds nothing all units of the module are asked once which
 * addresses they have, and the answer is kept, sorted.
 */
#include <elfutils/libdwfl.h>
#include <stdlib.h>

#include "report_priv.h"

struct unit_range {
    Dwarf_Addr start, end; /* as libdwfl's */
    Dwarf_Addr bias;       /* of the unit's own */
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
            l->ranges = must_have(reallocarray(l->ranges, l->room, sizeof *l->ranges));
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
    struct lines *l = must_have(calloc(1, sizeof *l));
    Dwarf_Die *unit = NULL;
    Dwarf_Addr bias;

    while ((unit = dwfl_module_nextcu(module, unit, &bias)))
        add_ranges(l, unit, bias);
    if (l->count)
        qsort(l->ranges, l->count, sizeof *l->ranges, by_start);
    return l;
}

static int holds(const void *key, const void *range)
{
    const Dwarf_Addr *address = key;
    const struct unit_range *r = range;

    return *address < r->start ? -1 : *address >= r->end;
}

static const char *find_in_units(struct lines *l, Dwarf_Addr address, int *number)
{
    struct unit_range *r =
        l->count ? bsearch(&address, l->ranges, l->count, sizeof *l->ranges, holds) : NULL;
    Dwarf_Line *line = r ? dwarf_getsrc_die(&r->unit, address - r->bias) : NULL;

    return line && dwarf_lineno(line, number) == 0 ? dwarf_linesrc(line, NULL, NULL) : NULL;
}

const char *lines_find(struct lines **lines, struct Dwfl_Module *module, uint64_t address, int *number)
{
    Dwfl_Line *line = dwfl_module_getsrc(module, address);

    if (line)
        return dwfl_lineinfo(line, NULL, number, NULL, NULL, NULL);
    if (!*lines)
        *lines = lines_make(module);
    return find_in_units(*lines, address, number);
}

void lines_free(struct lines *l)
{
    if (l)
        free(l->ranges);
    free(l);
}

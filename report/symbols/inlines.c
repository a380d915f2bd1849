/*
 * inlines.c - the functions that a compiler inlined at an address.
 *
 * In a unit's DIE tree, the path from a function down to the address has one DIE for each inlined
 * call. It refers to the function (DW_AT_abstract_origin) and has the position of the call. libdw's
 * own search for scopes continues at the origin, so it loses the caller. It also starts at the top
 * of the unit each time. Here a unit's functions are listed once, sorted by address. The search
 * descends from the function that contains the address.
 *
 * Files are untrusted: a sibling must have a higher offset than the DIE before it, so every walk
 * ends.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols_priv.h"

#define DEPTH_MAX 64 /* of recursion: namespaces, classes, blocks */

struct function_range {
    Dwarf_Addr start, end; /* without load bias */
    Dwarf_Die function;
};

/* A unit's functions; at first without nested ones. */
struct functions {
    void *unit; /* address of its DIE */
    struct function_range *ranges;
    size_t count, room;
    bool all; /* with functions in functions */
    UT_hash_handle hh;
};

/* ---- a unit's functions ---------------------------------------------------------------------- */

bool die_next(Dwarf_Die *die)
{
    Dwarf_Off before = dwarf_dieoffset(die);

    return dwarf_siblingof(die, die) == 0 && dwarf_dieoffset(die) > before;
}

static void add_ranges(struct functions *f, Dwarf_Die *function)
{
    Dwarf_Addr base, start, end;

    for (ptrdiff_t at = 0; (at = dwarf_ranges(function, at, &base, &start, &end)) > 0;) {
        if (f->count == f->room) {
            f->room = f->room ? 2 * f->room : 64;
            f->ranges = xalloc(reallocarray(f->ranges, f->room, sizeof *f->ranges));
        }
        f->ranges[f->count++] = (struct function_range){start, end, *function};
    }
}

static bool may_hold_functions(int tag, bool all)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
        return true;
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
        return all;
    default:
        return false;
    }
}

static void list_functions(struct functions *f, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;

    if (depth == DEPTH_MAX || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram)
            add_ranges(f, &die);
        if (may_hold_functions(tag, f->all))
            list_functions(f, &die, depth + 1);
    } while (die_next(&die));
}

/* Sort nested ranges with the inner one last. */
static int by_start(const void *a, const void *b)
{
    const struct function_range *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end;
}

static void functions_list(struct functions *f, Dwarf_Die *unit, bool all)
{
    f->count = 0;
    f->all = all;
    list_functions(f, unit, 0);
    if (f->count > 0)
        qsort(f->ranges, f->count, sizeof *f->ranges, by_start);
}

static struct functions *functions_of(struct functions **known, Dwarf_Die *unit)
{
    struct functions *f;

    HASH_FIND_PTR(*known, &unit->addr, f);
    if (f)
        return f;
    f = xalloc(calloc(1, sizeof *f));
    f->unit = unit->addr;
    functions_list(f, unit, false);
    HASH_ADD_PTR(*known, unit, f);
    return f;
}

/*
 * Search from the last range that begins at or before the address, at most DEPTH_MAX back: ranges
 * may nest.
 */
static Dwarf_Die *search(struct functions *f, Dwarf_Addr address)
{
    size_t before = begun_before(f->ranges, f->count, sizeof *f->ranges, address);

    for (size_t i = before; i-- > 0 && i + DEPTH_MAX >= before;)
        if (address < f->ranges[i].end)
            return &f->ranges[i].function;
    return NULL;
}

static Dwarf_Die *function_at(struct functions **known, Dwarf_Die *unit, Dwarf_Addr address)
{
    struct functions *f = functions_of(known, unit);
    Dwarf_Die *found = search(f, address);

    if (found || f->all)
        return found;
    functions_list(f, unit, true);
    return search(f, address);
}

/* ---- from a function down to an address ------------------------------------------------------ */

static bool is_scope(int tag)
{
    return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
           tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* Move to the child of `die` that contains the address. */
static bool descend(Dwarf_Die *die, Dwarf_Addr address)
{
    Dwarf_Die child;

    if (dwarf_child(die, &child) != 0)
        return false;
    do {
        if (is_scope(dwarf_tag(&child)) && dwarf_haspc(&child, address) > 0) {
            *die = child;
            return true;
        }
    } while (die_next(&child));
    return false;
}

/* Return the calls inlined at the address, the outermost first. */
static uint32_t calls_at(const Dwarf_Die *function, Dwarf_Addr address,
                         Dwarf_Die calls[INLINED_MAX])
{
    Dwarf_Die die = *function;
    uint32_t count = 0;

    while (count < INLINED_MAX && descend(&die, address))
        if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
            calls[count++] = die;
    return count;
}

uint32_t scopes_find(struct functions **known, Dwarf_Die *unit, Dwarf_Addr address,
                     Dwarf_Die scopes[SCOPES_MAX])
{
    Dwarf_Die *function = function_at(known, unit, address), die;
    uint32_t count = 0;

    if (!function)
        return 0;
    die = *function;
    do
        scopes[count++] = die;
    while (count < SCOPES_MAX && descend(&die, address));
    return count;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;

    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        return dwarf_formstring(&attribute);
    return NULL;
}

static char *call_file(Dwarf_Die *call, Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    Dwarf_Files *files;
    Dwarf_Word number;
    size_t count;

    if (!dwarf_attr(call, DW_AT_call_file, &attribute) ||
        dwarf_formudata(&attribute, &number) != 0 || dwarf_getsrcfiles(unit, &files, &count) != 0 ||
        number >= count)
        return NULL;
    return unit_path(unit, dwarf_filesrc(files, number, NULL, NULL));
}

static int call_line(Dwarf_Die *call)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number;

    if (!dwarf_attr(call, DW_AT_call_line, &attribute) ||
        dwarf_formudata(&attribute, &number) != 0 || number > INT32_MAX)
        return 0;
    return (int)number;
}

static char *copy_of(const char *text)
{
    return text ? xalloc(strdup(text)) : NULL;
}

char *function_name(const struct report *r, Dwarf_Die *function)
{
    const char *linkage = linkage_name(function), *name = dwarf_diename(function);
    bool is_plain = linkage && !r->is_mangled;
    char *demangled = is_plain ? demangle(linkage) : NULL;

    return demangled ? demangled : copy_of(linkage && (!name || !is_plain) ? linkage : name);
}

static struct inlined inlined_of(Dwarf_Die *call, Dwarf_Die *unit)
{
    const char *linkage = linkage_name(call), *name = dwarf_diename(call);
    struct inlined inlined = {.system_name = copy_of(linkage ? linkage : name)};

    if (linkage)
        inlined.function = demangle(linkage);
    inlined.declared = linkage ? copy_of(name) : NULL;
    inlined.call_file = call_file(call, unit);
    inlined.call_line = inlined.call_file ? call_line(call) : 0;
    return inlined;
}

/* For files without a symbol table. */
static void name_function(struct frame *frame, Dwarf_Die *function, Dwarf_Addr address)
{
    const char *linkage = linkage_name(function), *name = dwarf_diename(function);
    Dwarf_Addr entry;

    if (frame->system_name || !(linkage || name) || dwarf_entrypc(function, &entry) != 0)
        return;
    frame->system_name = copy_of(linkage ? linkage : name);
    frame->function = linkage ? demangle(linkage) : NULL;
    frame->in_function = address - entry + !frame->exact;
}

/* ---- a frame --------------------------------------------------------------------------------- */

void inlines_find(struct functions **known, Dwarf_Die *unit, Dwarf_Addr address,
                  struct frame *frame)
{
    Dwarf_Die calls[INLINED_MAX], *function = function_at(known, unit, address);

    if (!function)
        return;
    name_function(frame, function, address);
    frame->inlined_count = calls_at(function, address, calls);
    if (frame->inlined_count == 0)
        return;
    frame->inlined = xalloc(calloc(frame->inlined_count, sizeof frame->inlined[0]));
    for (uint32_t i = 0; i < frame->inlined_count; i++)
        frame->inlined[i] = inlined_of(&calls[frame->inlined_count - 1 - i], unit);
}

void functions_free(struct functions *known)
{
    struct functions *f, *next;

    HASH_ITER (hh, known, f, next) {
        HASH_DEL(known, f);
        free(f->ranges);
        free(f);
    }
}

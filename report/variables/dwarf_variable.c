/*
 * dwarf_variable.c - a variable's name, and the source position of its declaration.
 */
#include <stdlib.h>
#include <string.h>

#include "dwarf_priv.h"

static Dwarf_Die unit_of(const struct variables *v, Dwarf_Die die)
{
    Dwarf_Error error;
    Dwarf_Off offset;

    if (dwarf_CU_dieoffset_given_die(die, &offset, &error) != DW_DLV_OK)
        return NULL;
    return die_at(v, offset, dwarf_get_die_infotypes_flag(die));
}

/* Before DWARF 5, file numbers start at 1. */
static char *file_number(const struct variables *v, Dwarf_Die die, uint64_t number)
{
    Dwarf_Half version = 0, offset_size;
    Dwarf_Die unit = unit_of(v, die);
    Dwarf_Signed count;
    Dwarf_Error error;
    char **files, *found = NULL;

    if (!unit)
        return NULL;
    dwarf_get_version_of_die(die, &version, &offset_size);
    number -= version < 5;
    if (dwarf_srcfiles(unit, &files, &count, &error) == DW_DLV_OK) {
        if (number < (uint64_t)count)
            found = xalloc(strdup(files[number]));
        for (Dwarf_Signed i = 0; i < count; i++)
            dwarf_dealloc(v->dwarf, files[i], DW_DLA_STRING);
        dwarf_dealloc(v->dwarf, files, DW_DLA_LIST);
    }
    dwarf_dealloc_die(unit);
    return found;
}

static void take_location(const struct variables *v, Dwarf_Die die, struct variable *out)
{
    uint64_t file, line;

    if (out->file || !die_number(die, DW_AT_decl_file, &file) ||
        !die_number(die, DW_AT_decl_line, &line) || line > INT32_MAX)
        return;
    out->file = file_number(v, die, file);
    out->line = out->file ? (int)line : 0;
}

static void take_name(Dwarf_Die die, const char *scope, struct name *name)
{
    const char *linkage = die_text(die, DW_AT_linkage_name), *plain = die_text(die, DW_AT_name);
    char *demangled = linkage ? demangle(linkage) : NULL;

    if (!*name->text && demangled) {
        name_add(name, demangled);
    } else if (!*name->text && plain) {
        name_add(name, scope ? scope : "");
        name_add(name, plain);
    }
    free(demangled);
}

/* A definition's missing attributes are taken from its declaration. */
void variable_take(const struct variables *v, Dwarf_Die die, const char *scope, struct name *name,
                   struct variable *out, unsigned links)
{
    Dwarf_Die declaration = links < LINKS_MAX ? die_declaration(v, die) : NULL;
    Dwarf_Off at = die_offset(die);
    struct declared *declared;

    HASH_FIND(hh, v->declared, &at, sizeof at, declared);
    if (declared)
        scope = declared->scope;
    take_location(v, die, out);
    if (die_text(die, DW_AT_linkage_name) || !declaration)
        take_name(die, scope, name);
    if (declaration) {
        variable_take(v, declaration, scope, name, out, links + 1);
        dwarf_dealloc_die(declaration);
    }
}

void variable_take_path(const struct variables *v, Dwarf_Die die, uint64_t *offset,
                        struct name *name)
{
    Dwarf_Die type = type_of(v, die), declaration = NULL;

    /* The definition's type may be missing, or complete the declaration's array type. */
    if (type) {
        dwarf_dealloc_die(type);
        type_descend(v, die, offset, name);
    } else if ((declaration = die_declaration(v, die))) {
        type_descend(v, declaration, offset, name);
        dwarf_dealloc_die(declaration);
    }
}

/*
 * dwarf_list.c - all variables that have one address for the whole run, by address.
 *
 * Global and static ones, of files, namespaces, classes and functions.  They are listed once; those in
 * functions only when no other holds the address, for their trees are most of a file.
 */
#include <stdlib.h>
#include <string.h>

#include "dwarf_priv.h"

/* ---- where a variable is ------------------------------------------------------------------- */

struct bytes {
    const uint8_t *at, *end;
};

static uint64_t uleb_of(struct bytes *b)
{
    uint64_t value = 0;

    for (unsigned shift = 0; b->at < b->end && shift < 64; shift += 7) {
        uint8_t byte = *b->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

/* An address, and perhaps something added; anything else is not one place for the whole run. */
static bool address_of_expression(Dwarf_Die die, struct bytes b, uint64_t *out)
{
    uint8_t op = b.at < b.end ? *b.at++ : 0;
    Dwarf_Error error;
    Dwarf_Addr address;

    if (op == DW_OP_addr && b.end - b.at >= 8) {
        memcpy(&address, b.at, 8);
        b.at += 8;
    } else if (op != DW_OP_addrx ||
               dwarf_debug_addr_index_to_addr(die, uleb_of(&b), &address, &error) != DW_DLV_OK) {
        return false;
    }
    if (b.at < b.end && *b.at == DW_OP_plus_uconst) {
        b.at++;
        address += uleb_of(&b);
    }
    *out = address;
    return b.at == b.end;
}

static bool address_of(const struct variables *v, Dwarf_Die die, uint64_t *out)
{
    Dwarf_Unsigned count;
    Dwarf_Attribute a;
    Dwarf_Error error;
    Dwarf_Block *block;
    Dwarf_Ptr at;
    bool good = false;

    if (!die_attribute(die, DW_AT_location, &a))
        return false;
    if (dwarf_formexprloc(a, &count, &at, &error) == DW_DLV_OK) {
        good = address_of_expression(die, (struct bytes){at, (const uint8_t *)at + count}, out);
    } else if (dwarf_formblock(a, &block, &error) == DW_DLV_OK) {
        at = block->bl_data;
        good = address_of_expression(
            die, (struct bytes){at, (const uint8_t *)at + block->bl_len}, out);
        dwarf_dealloc(v->dwarf, block, DW_DLA_BLOCK);
    }
    dwarf_dealloc_attribute(a);
    return good;
}

/* ---- the list ------------------------------------------------------------------------------ */

static void add_declared(struct variables *v, Dwarf_Die die, const struct name *scope)
{
    struct declared *new;

    if (!*scope->text || !die_has(die, DW_AT_declaration))
        return;
    new = must_have(calloc(1, sizeof *new));
    new->die = die_offset(die);
    new->scope = must_have(strdup(scope->text));
    HASH_ADD(hh, v->declared, die, sizeof new->die, new);
}

static void add_variable(struct variables *v, Dwarf_Die die, const struct name *scope)
{
    struct entry new = {.die = die_offset(die)};

    if (!address_of(v, die, &new.start)) {
        add_declared(v, die, scope);
        return;
    }
    if (new.start == 0) /* was thrown away by the linker */
        return;
    new.bytes = variable_bytes(v, die, 0);
    if (*scope->text)
        new.scope = must_have(strdup(scope->text));
    v->entries = grow(v->entries, v->count, sizeof new);
    v->entries[v->count++] = new;
}

static bool may_hold_variables(Dwarf_Half tag, bool all)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
        return true;
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_inlined_subroutine:
        return all;
    default:
        return false;
    }
}

static void add_level(struct name *scope, const char *name)
{
    name_add(scope, name);
    name_add(scope, "::");
}

static bool scope_by_linkage(Dwarf_Die die, struct name *scope)
{
    const char *linkage = die_text(die, DW_AT_linkage_name);
    char *demangled = linkage ? demangle(linkage) : NULL;

    if (!demangled)
        return false;
    scope->text[0] = '\0'; /* it has all of it */
    add_level(scope, demangled);
    free(demangled);
    return true;
}

/* A function's name may stand at its declaration; blocks have none. */
static void add_scope(const struct variables *v, Dwarf_Die die, struct name *scope, unsigned links)
{
    const char *name = die_text(die, DW_AT_name);
    Dwarf_Die declaration = NULL;

    if (scope_by_linkage(die, scope))
        return;
    if (name) {
        add_level(scope, name);
    } else if (die_tag(die) == DW_TAG_namespace) {
        add_level(scope, "(anonymous namespace)");
    } else if (links < LINKS_MAX && (declaration = die_declaration(v, die))) {
        add_scope(v, declaration, scope, links + 1);
        dwarf_dealloc_die(declaration);
    }
}

static void list(struct variables *v, Dwarf_Die parent, const struct name *scope, unsigned depth)
{
    if (depth == DEPTH_MAX)
        return;
    for (Dwarf_Die die = die_child(parent); die; die = die_sibling(v, die)) {
        Dwarf_Half tag = die_tag(die);
        struct name inner;
        if (tag == DW_TAG_variable || tag == DW_TAG_member)
            add_variable(v, die, scope);
        if (!may_hold_variables(tag, v->all))
            continue;
        inner = *scope;
        add_scope(v, die, &inner, 0);
        list(v, die, &inner, depth + 1);
    }
}

static bool next_unit(const struct variables *v)
{
    Dwarf_Unsigned length, type_offset, next;
    Dwarf_Half version, address_size, length_size, extension_size, type;
    Dwarf_Off abbreviations;
    Dwarf_Sig8 signature;
    Dwarf_Error error;

    return dwarf_next_cu_header_d(v->dwarf, true, &length, &version, &abbreviations, &address_size,
                                  &length_size, &extension_size, &signature, &type_offset, &next,
                                  &type, &error) == DW_DLV_OK;
}

static int by_start(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

void entries_forget(struct variables *v)
{
    struct declared *declared, *next;

    for (uint32_t i = 0; i < v->count; i++)
        free(v->entries[i].scope);
    HASH_ITER (hh, v->declared, declared, next) {
        HASH_DEL(v->declared, declared);
        free(declared->scope);
        free(declared);
    }
    free(v->entries);
    v->entries = NULL;
    v->count = 0;
}

void entries_list(struct variables *v, bool all)
{
    static const struct name none;
    Dwarf_Error error;
    Dwarf_Die unit;

    entries_forget(v);
    v->listed = true;
    v->all = all;
    while (next_unit(v))
        if (dwarf_siblingof_b(v->dwarf, NULL, true, &unit, &error) == DW_DLV_OK) {
            list(v, unit, &none, 0);
            dwarf_dealloc_die(unit);
        }
    if (v->count > 0)
        qsort(v->entries, v->count, sizeof v->entries[0], by_start);
}

const struct entry *entries_find(const struct variables *v, uint64_t address)
{
    uint32_t low = 0, high = v->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (v->entries[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address - v->entries[low - 1].start >= v->entries[low - 1].bytes)
        return NULL;
    return &v->entries[low - 1];
}

/*
 * dwarf_list.c - all variables with static storage or in TLS, sorted by address.
 *
 * These are variables of files, namespaces, classes and functions. They are listed once. Variables
 * in functions are added only when no other variable has the address: their DIE trees are most of a
 * file.
 */
#include <stdlib.h>
#include <string.h>

#include "dwarf_priv.h"

/* ---- where a variable is --------------------------------------------------------------------- */

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

/* Whether the location is an offset in the file's TLS segment. */
static bool is_of_thread(struct bytes b, uint64_t *out)
{
    uint8_t op = b.at < b.end ? *b.at++ : 0;
    size_t bytes = op == DW_OP_const8u ? 8 : op == DW_OP_const4u ? 4 : 0;

    if (bytes == 0 || (size_t)(b.end - b.at) != bytes + 1)
        return false;
    *out = 0;
    memcpy(out, b.at, bytes);
    return b.at[bytes] == DW_OP_form_tls_address || b.at[bytes] == DW_OP_GNU_push_tls_address;
}

/*
 * Whether the location is an address, perhaps plus a constant. Any other location may vary during
 * the run.
 */
static bool is_fixed(Dwarf_Die die, struct bytes b, uint64_t *out)
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

static struct entries *entries_of_expression(struct variables *v, Dwarf_Die die, const void *at,
                                             uint64_t bytes, uint64_t *start)
{
    struct bytes b = {at, (const uint8_t *)at + bytes};

    if (is_fixed(die, b, start))
        return *start == 0 ? NULL : &v->fixed; /* 0: discarded by the linker */
    return is_of_thread(b, start) ? &v->of_thread : NULL;
}

/*
 * Return the list that the variable belongs to, and where it begins. NULL: it has no location, or
 * is on a stack.
 */
static struct entries *entries_of(struct variables *v, Dwarf_Die die, uint64_t *start)
{
    struct entries *found = NULL;
    Dwarf_Unsigned count;
    Dwarf_Attribute a;
    Dwarf_Error error;
    Dwarf_Block *block;
    Dwarf_Ptr at;

    if (!die_attribute(die, DW_AT_location, &a))
        return NULL;
    if (dwarf_formexprloc(a, &count, &at, &error) == DW_DLV_OK) {
        found = entries_of_expression(v, die, at, count, start);
    } else if (dwarf_formblock(a, &block, &error) == DW_DLV_OK) {
        found = entries_of_expression(v, die, block->bl_data, block->bl_len, start);
        dwarf_dealloc(v->dwarf, block, DW_DLA_BLOCK);
    }
    dwarf_dealloc_attribute(a);
    return found;
}

/* ---- the list -------------------------------------------------------------------------------- */

static void add_declared(struct variables *v, Dwarf_Die die, const struct name *scope)
{
    struct declared *new;

    if (!*scope->text || !die_has(die, DW_AT_declaration))
        return;
    new = xalloc(calloc(1, sizeof *new));
    new->die = die_offset(die);
    new->scope = xalloc(strdup(scope->text));
    HASH_ADD(hh, v->declared, die, sizeof new->die, new);
}

static void add_variable(struct variables *v, Dwarf_Die die, const struct name *scope)
{
    struct entry new = {.die = die_offset(die)};
    struct entries *entries = entries_of(v, die, &new.start);

    if (!entries) {
        add_declared(v, die, scope);
        return;
    }
    new.bytes = variable_bytes(v, die, 0);
    if (*scope->text)
        new.scope = xalloc(strdup(scope->text));
    entries->at = grow(entries->at, entries->count, sizeof new);
    entries->at[entries->count++] = new;
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
    scope->text[0] = '\0'; /* the linkage name includes the outer scopes */
    add_level(scope, demangled);
    free(demangled);
    return true;
}

/* A function's name may be at its declaration; lexical blocks have no name. */
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

static void forget(struct entries *entries)
{
    for (uint32_t i = 0; i < entries->count; i++)
        free(entries->at[i].scope);
    free(entries->at);
    *entries = (struct entries){0};
}

void entries_forget(struct variables *v)
{
    struct declared *declared, *next;

    forget(&v->fixed);
    forget(&v->of_thread);
    HASH_ITER (hh, v->declared, declared, next) {
        HASH_DEL(v->declared, declared);
        free(declared->scope);
        free(declared);
    }
}

static void sort(const struct entries *entries)
{
    if (entries->count > 0)
        qsort(entries->at, entries->count, sizeof entries->at[0], by_start);
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
    sort(&v->fixed);
    sort(&v->of_thread);
}

const struct entry *entries_find(const struct entries *entries, uint64_t address)
{
    size_t before = begun_before(entries->at, entries->count, sizeof entries->at[0], address);
    const struct entry *last = before ? &entries->at[before - 1] : NULL;

    return last && address - last->start < last->bytes ? last : NULL;
}

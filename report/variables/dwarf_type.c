/*
 * dwarf_type.c - sizes of types, and the path to the element or member at an offset.
 *
 * Constants bound the depth of recursion and the length of chains, whatever a file contains.
 */
#include <stdio.h>
#include <string.h>

#include "dwarf_priv.h"

#define DIMENSIONS_MAX 8

/*
 * Return the attribute that leads from a typedef, qualifier or declaration to the type; 0: it is
 * the type.
 */
static Dwarf_Half link_of_type(Dwarf_Die type)
{
    switch (die_tag(type)) {
    case DW_TAG_typedef:
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
        return DW_AT_type;
    default:
        return die_has(type, DW_AT_declaration) && die_has(type, DW_AT_signature) ? DW_AT_signature
                                                                                  : 0;
    }
}

/* Return the type without typedefs and qualifiers, freed by the caller. NULL: unknown. */
Dwarf_Die type_of(const struct variables *v, Dwarf_Die of)
{
    Dwarf_Die type = die_linked(v, of, DW_AT_type);

    for (unsigned i = 0; type && i < LINKS_MAX; i++) {
        Dwarf_Half link = link_of_type(type);
        Dwarf_Die next;
        if (link == 0)
            return type;
        next = die_linked(v, type, link);
        dwarf_dealloc_die(type);
        type = next;
    }
    if (type)
        dwarf_dealloc_die(type);
    return NULL;
}

/* Get the number of elements in each dimension; 0 = not specified. */
static unsigned dimensions_of(const struct variables *v, Dwarf_Die array,
                              uint64_t counts[DIMENSIONS_MAX])
{
    unsigned n = 0;

    for (Dwarf_Die die = die_child(array); die; die = die_sibling(v, die)) {
        uint64_t last;
        if (die_tag(die) != DW_TAG_subrange_type || n == DIMENSIONS_MAX)
            continue;
        if (!die_number(die, DW_AT_count, &counts[n]))
            counts[n] = die_number(die, DW_AT_upper_bound, &last) ? last + 1 : 0;
        n++;
    }
    return n;
}

static uint64_t type_bytes(const struct variables *v, Dwarf_Die type, unsigned depth);

static uint64_t array_bytes(const struct variables *v, Dwarf_Die array, unsigned depth)
{
    uint64_t counts[DIMENSIONS_MAX], bytes;
    unsigned n = dimensions_of(v, array, counts);
    Dwarf_Die element = type_of(v, array);

    if (!element)
        return 0;
    bytes = type_bytes(v, element, depth + 1);
    dwarf_dealloc_die(element);
    for (unsigned i = 0; i < n; i++)
        if (__builtin_mul_overflow(bytes, counts[i], &bytes))
            return 0;
    return bytes;
}

/* Return 0 if the size is not known. */
static uint64_t type_bytes(const struct variables *v, Dwarf_Die type, unsigned depth)
{
    uint64_t bytes;

    if (depth == LINKS_MAX)
        return 0;
    if (die_number(type, DW_AT_byte_size, &bytes))
        return bytes;
    switch (die_tag(type)) {
    case DW_TAG_array_type:
        return array_bytes(v, type, depth);
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        return sizeof(void *);
    default:
        return 0;
    }
}

/* ---- the way down into a type ---------------------------------------------------------------- */

void name_add(struct name *name, const char *text)
{
    size_t n = strlen(name->text);
    snprintf(name->text + n, sizeof name->text - n, "%s", text);
}

static void add_index(struct name *name, uint64_t index)
{
    char text[32];
    snprintf(text, sizeof text, "[%llu]", (unsigned long long)index);
    name_add(name, text);
}

/* Return the element's type, freed by the caller; *offset becomes relative to the element. */
static Dwarf_Die into_array(const struct variables *v, Dwarf_Die array, uint64_t *offset,
                            struct name *name)
{
    uint64_t counts[DIMENSIONS_MAX], bytes;
    unsigned n = dimensions_of(v, array, counts);
    Dwarf_Die element = type_of(v, array);

    bytes = element ? type_bytes(v, element, 0) : 0;
    for (unsigned i = 1; i < n; i++)
        if (__builtin_mul_overflow(bytes, counts[i], &bytes))
            bytes = 0;
    if (bytes == 0 || n == 0) {
        if (element)
            dwarf_dealloc_die(element);
        return NULL;
    }
    for (unsigned i = 0; i < n; i++) {
        add_index(name, *offset / bytes);
        *offset %= bytes;
        bytes = i + 1 < n ? bytes / counts[i + 1] : bytes;
    }
    return element;
}

/* If the offset is inside the member, return the member's type, freed by the caller. */
static Dwarf_Die in_member(const struct variables *v, Dwarf_Die member, uint64_t offset,
                           uint64_t *start)
{
    Dwarf_Die type;
    uint64_t bytes;

    *start = 0; /* members of a union need no offset */
    if (die_has(member, DW_AT_data_bit_offset) || die_has(member, DW_AT_external) ||
        (die_has(member, DW_AT_data_member_location) &&
         !die_number(member, DW_AT_data_member_location, start)) ||
        offset < *start)
        return NULL;
    type = type_of(v, member);
    if (!type)
        return NULL;
    bytes = type_bytes(v, type, 0);
    if (offset - *start < bytes)
        return type;
    dwarf_dealloc_die(type);
    return NULL;
}

static void name_member(Dwarf_Die member, struct name *name)
{
    const char *text = die_tag(member) == DW_TAG_member ? die_text(member, DW_AT_name) : NULL;

    if (text && *text) {
        name_add(name, ".");
        name_add(name, text);
    } /* base classes and anonymous members have no name */
}

/* The same for the first member that contains the offset; members of a union overlap. */
static Dwarf_Die into_members(const struct variables *v, Dwarf_Die parent, uint64_t *offset,
                              struct name *name)
{
    Dwarf_Die found = NULL;
    uint64_t start;

    for (Dwarf_Die die = die_child(parent); die; die = die_sibling(v, die)) {
        Dwarf_Half tag = die_tag(die);
        if (found || (tag != DW_TAG_member && tag != DW_TAG_inheritance))
            continue;
        found = in_member(v, die, *offset, &start);
        if (found) {
            name_member(die, name);
            *offset -= start;
        }
    }
    return found;
}

static Dwarf_Die into_type(const struct variables *v, Dwarf_Die type, uint64_t *offset,
                           struct name *name)
{
    switch (die_tag(type)) {
    case DW_TAG_array_type:
        return into_array(v, type, offset, name);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        return into_members(v, type, offset, name);
    default:
        return NULL;
    }
}

void type_descend(const struct variables *v, Dwarf_Die variable, uint64_t *offset,
                  struct name *name)
{
    Dwarf_Die type = type_of(v, variable);

    for (unsigned i = 0; type && i < LINKS_MAX; i++) {
        Dwarf_Die next = into_type(v, type, offset, name);
        dwarf_dealloc_die(type);
        type = next;
    }
    if (type)
        dwarf_dealloc_die(type);
}

/* A variable without a type of known size counts as one byte. */
uint64_t variable_bytes(const struct variables *v, Dwarf_Die die, unsigned links)
{
    Dwarf_Die type = type_of(v, die), declaration;
    uint64_t bytes = type ? type_bytes(v, type, 0) : 0;

    if (type)
        dwarf_dealloc_die(type);
    if (bytes > 0 || links == LINKS_MAX)
        return bytes;
    declaration = die_declaration(v, die);
    if (!declaration)
        return 1;
    bytes = variable_bytes(v, declaration, links + 1);
    dwarf_dealloc_die(declaration);
    return bytes;
}

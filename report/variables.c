/*
 * variables.c - which variable an address lies in, and where in it, by libdwarf.
 *
 * Global and static variables, of files, namespaces, classes and functions: all that have one
 * address for the whole run.  They are listed once, sorted; those in functions only when no other
 * holds the address, for their trees are most of a file.  From a variable's type the way goes down
 * to the element or member that the address is in.
 *
 * Files may be anybody's: nothing here recurses or iterates as often as a file says.
 */
#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report_priv.h"
#include "variables.h"

#define DEPTH_MAX 64       /* of entries in one another */
#define LINKS_MAX 16       /* from type to type, from definition to declaration */
#define NAME_BYTES_MAX 512 /* what does not fit is cut */
#define DIMENSIONS_MAX 8

struct name {
    char text[NAME_BYTES_MAX];
};

struct entry {
    uint64_t start, bytes;
    Dwarf_Off die;
    char *scope; /* the functions and the like that it is in; NULL: none */
};

/* A declaration in a namespace or class, whose definition may stand elsewhere. */
struct declared {
    Dwarf_Off die;
    char *scope;
    UT_hash_handle hh;
};

struct variables {
    int fd;
    Dwarf_Debug dwarf;
    struct declared *declared;
    struct entry *entries;
    uint32_t count;
    bool listed;
    bool all; /* also those in functions */
};

/* ---- attributes ---------------------------------------------------------------------------- */

static bool attribute_of(Dwarf_Die die, Dwarf_Half name, Dwarf_Attribute *out)
{
    Dwarf_Error error;
    return dwarf_attr(die, name, out, &error) == DW_DLV_OK;
}

static bool has(Dwarf_Die die, Dwarf_Half name)
{
    Dwarf_Error error;
    Dwarf_Bool there;
    return dwarf_hasattr(die, name, &there, &error) == DW_DLV_OK && there;
}

static Dwarf_Half tag_of(Dwarf_Die die)
{
    Dwarf_Error error;
    Dwarf_Half tag;
    return dwarf_tag(die, &tag, &error) == DW_DLV_OK ? tag : 0;
}

static Dwarf_Off offset_of(Dwarf_Die die)
{
    Dwarf_Error error;
    Dwarf_Off offset;
    return dwarf_dieoffset(die, &offset, &error) == DW_DLV_OK ? offset : 0;
}

static bool number_of(Dwarf_Die die, Dwarf_Half name, uint64_t *out)
{
    Dwarf_Unsigned u;
    Dwarf_Signed s = 0;
    Dwarf_Attribute a;
    Dwarf_Error error;
    bool good;

    if (!attribute_of(die, name, &a))
        return false;
    good = dwarf_formudata(a, &u, &error) == DW_DLV_OK;
    if (!good && dwarf_formsdata(a, &s, &error) == DW_DLV_OK && s >= 0) {
        u = (Dwarf_Unsigned)s;
        good = true;
    }
    dwarf_dealloc_attribute(a);
    if (good)
        *out = u;
    return good;
}

/* A text of the file's; NULL: none. */
static const char *text_of(Dwarf_Die die, Dwarf_Half name)
{
    Dwarf_Error error;
    char *text;
    return dwarf_die_text(die, name, &text, &error) == DW_DLV_OK ? text : NULL;
}

/* Of .debug_info or, DWARF 4's, .debug_types. */
static Dwarf_Die die_at(const struct variables *v, Dwarf_Off offset, bool is_info)
{
    Dwarf_Error error;
    Dwarf_Die die;
    return dwarf_offdie_b(v->dwarf, offset, is_info, &die, &error) == DW_DLV_OK ? die : NULL;
}

static Dwarf_Die by_signature(const struct variables *v, Dwarf_Attribute a)
{
    Dwarf_Error error;
    Dwarf_Bool is_info;
    Dwarf_Sig8 signature;
    Dwarf_Die die;

    if (dwarf_formsig8(a, &signature, &error) == DW_DLV_OK &&
        dwarf_find_die_given_sig8(v->dwarf, &signature, &die, &is_info, &error) == DW_DLV_OK)
        return die;
    return NULL;
}

/* The entry that an attribute leads to, to be given back; NULL: none, or one of another file. */
static Dwarf_Die linked(const struct variables *v, Dwarf_Die from, Dwarf_Half name)
{
    Dwarf_Half form = 0;
    Dwarf_Attribute a;
    Dwarf_Error error;
    Dwarf_Off offset;
    Dwarf_Die die = NULL;

    if (!attribute_of(from, name, &a))
        return NULL;
    if (dwarf_whatform(a, &form, &error) == DW_DLV_OK && form == DW_FORM_ref_sig8)
        die = by_signature(v, a);
    else if (form != DW_FORM_GNU_ref_alt && form != DW_FORM_ref_sup4 && form != DW_FORM_ref_sup8 &&
             dwarf_global_formref(a, &offset, &error) == DW_DLV_OK)
        die = die_at(v, offset, form == DW_FORM_ref_addr || dwarf_get_die_infotypes_flag(from));
    dwarf_dealloc_attribute(a);
    return die;
}

/* To the next sibling, giving back this one; NULL: no more. */
static Dwarf_Die sibling(const struct variables *v, Dwarf_Die die)
{
    Dwarf_Off before = offset_of(die);
    Dwarf_Error error;
    Dwarf_Die next;
    bool good = dwarf_siblingof_b(v->dwarf, die, dwarf_get_die_infotypes_flag(die), &next,
                                  &error) == DW_DLV_OK;

    dwarf_dealloc_die(die);
    if (good && offset_of(next) <= before) { /* round and round */
        dwarf_dealloc_die(next);
        good = false;
    }
    return good ? next : NULL;
}

static Dwarf_Die child_of(Dwarf_Die die)
{
    Dwarf_Error error;
    Dwarf_Die child;
    return dwarf_child(die, &child, &error) == DW_DLV_OK ? child : NULL;
}

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

    if (!attribute_of(die, DW_AT_location, &a))
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

/* ---- types --------------------------------------------------------------------------------- */

/* The attribute that leads on from what only stands for a type; 0: it is one. */
static Dwarf_Half link_of_type(Dwarf_Die type)
{
    switch (tag_of(type)) {
    case DW_TAG_typedef:
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
        return DW_AT_type;
    default:
        return has(type, DW_AT_declaration) && has(type, DW_AT_signature) ? DW_AT_signature : 0;
    }
}

/* The type behind names and qualifiers; to be given back.  NULL: unknown. */
static Dwarf_Die type_of(const struct variables *v, Dwarf_Die of)
{
    Dwarf_Die type = linked(v, of, DW_AT_type);

    for (unsigned i = 0; type && i < LINKS_MAX; i++) {
        Dwarf_Half link = link_of_type(type);
        Dwarf_Die next;
        if (link == 0)
            return type;
        next = linked(v, type, link);
        dwarf_dealloc_die(type);
        type = next;
    }
    if (type)
        dwarf_dealloc_die(type);
    return NULL;
}

/* How many elements in each dimension; 0 = not said. */
static unsigned dimensions_of(const struct variables *v, Dwarf_Die array,
                              uint64_t counts[DIMENSIONS_MAX])
{
    unsigned n = 0;

    for (Dwarf_Die die = child_of(array); die; die = sibling(v, die)) {
        uint64_t last;
        if (tag_of(die) != DW_TAG_subrange_type || n == DIMENSIONS_MAX)
            continue;
        if (!number_of(die, DW_AT_count, &counts[n]))
            counts[n] = number_of(die, DW_AT_upper_bound, &last) ? last + 1 : 0;
        n++;
    }
    return n;
}

static uint64_t bytes_of(const struct variables *v, Dwarf_Die type, unsigned depth);

static uint64_t bytes_of_array(const struct variables *v, Dwarf_Die array, unsigned depth)
{
    uint64_t counts[DIMENSIONS_MAX], bytes;
    unsigned n = dimensions_of(v, array, counts);
    Dwarf_Die element = type_of(v, array);

    if (!element)
        return 0;
    bytes = bytes_of(v, element, depth + 1);
    dwarf_dealloc_die(element);
    for (unsigned i = 0; i < n; i++)
        if (__builtin_mul_overflow(bytes, counts[i], &bytes))
            return 0;
    return bytes;
}

/* 0: not known. */
static uint64_t bytes_of(const struct variables *v, Dwarf_Die type, unsigned depth)
{
    uint64_t bytes;

    if (depth == LINKS_MAX)
        return 0;
    if (number_of(type, DW_AT_byte_size, &bytes))
        return bytes;
    switch (tag_of(type)) {
    case DW_TAG_array_type:
        return bytes_of_array(v, type, depth);
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        return sizeof(void *);
    default:
        return 0;
    }
}

/* ---- the way down into a type -------------------------------------------------------------- */

static void add_text(struct name *name, const char *text)
{
    size_t n = strlen(name->text);
    snprintf(name->text + n, sizeof name->text - n, "%s", text);
}

static void add_index(struct name *name, uint64_t index)
{
    char text[32];
    snprintf(text, sizeof text, "[%llu]", (unsigned long long)index);
    add_text(name, text);
}

/* The element's type, to be given back; *offset is then in it. */
static Dwarf_Die into_array(const struct variables *v, Dwarf_Die array, uint64_t *offset,
                            struct name *name)
{
    uint64_t counts[DIMENSIONS_MAX], bytes;
    unsigned n = dimensions_of(v, array, counts);
    Dwarf_Die element = type_of(v, array);

    bytes = element ? bytes_of(v, element, 0) : 0;
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

/* The member's type when the offset is in it, to be given back. */
static Dwarf_Die in_member(const struct variables *v, Dwarf_Die member, uint64_t offset,
                           uint64_t *start)
{
    Dwarf_Die type;
    uint64_t bytes;

    *start = 0; /* of a union: it need not be said */
    if (has(member, DW_AT_data_bit_offset) || has(member, DW_AT_external) ||
        (has(member, DW_AT_data_member_location) &&
         !number_of(member, DW_AT_data_member_location, start)) ||
        offset < *start)
        return NULL;
    type = type_of(v, member);
    if (!type)
        return NULL;
    bytes = bytes_of(v, type, 0);
    if (offset - *start < bytes)
        return type;
    dwarf_dealloc_die(type);
    return NULL;
}

static void name_member(Dwarf_Die member, struct name *name)
{
    const char *text = tag_of(member) == DW_TAG_member ? text_of(member, DW_AT_name) : NULL;

    if (text && *text) {
        add_text(name, ".");
        add_text(name, text);
    } /* or without a name, as base classes are */
}

/* The same for the first member that holds the offset; of a union's there may be several. */
static Dwarf_Die into_members(const struct variables *v, Dwarf_Die parent, uint64_t *offset,
                              struct name *name)
{
    Dwarf_Die found = NULL;
    uint64_t start;

    for (Dwarf_Die die = child_of(parent); die; die = sibling(v, die)) {
        Dwarf_Half tag = tag_of(die);
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
    switch (tag_of(type)) {
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

static void go_down(const struct variables *v, Dwarf_Die variable, uint64_t *offset,
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

/* ---- the list ------------------------------------------------------------------------------ */

static Dwarf_Die declaration_of(const struct variables *v, Dwarf_Die die)
{
    Dwarf_Die found = linked(v, die, DW_AT_specification);
    return found ? found : linked(v, die, DW_AT_abstract_origin);
}

/* Of a variable without a type of known size one byte is better than none. */
static uint64_t bytes_of_variable(const struct variables *v, Dwarf_Die die, unsigned links)
{
    Dwarf_Die type = type_of(v, die), declaration;
    uint64_t bytes = type ? bytes_of(v, type, 0) : 0;

    if (type)
        dwarf_dealloc_die(type);
    if (bytes > 0 || links == LINKS_MAX)
        return bytes;
    declaration = declaration_of(v, die);
    if (!declaration)
        return 1;
    bytes = bytes_of_variable(v, declaration, links + 1);
    dwarf_dealloc_die(declaration);
    return bytes;
}

static void add_declared(struct variables *v, Dwarf_Die die, const struct name *scope)
{
    struct declared *new;

    if (!*scope->text || !has(die, DW_AT_declaration))
        return;
    new = must_have(calloc(1, sizeof *new));
    new->die = offset_of(die);
    new->scope = must_have(strdup(scope->text));
    HASH_ADD(hh, v->declared, die, sizeof new->die, new);
}

static void add_variable(struct variables *v, Dwarf_Die die, const struct name *scope)
{
    struct entry new = {.die = offset_of(die)};

    if (!address_of(v, die, &new.start)) {
        add_declared(v, die, scope);
        return;
    }
    if (new.start == 0) /* was thrown away by the linker */
        return;
    new.bytes = bytes_of_variable(v, die, 0);
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
    add_text(scope, name);
    add_text(scope, "::");
}

static bool scope_by_linkage(Dwarf_Die die, struct name *scope)
{
    const char *linkage = text_of(die, DW_AT_linkage_name);
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
    const char *name = text_of(die, DW_AT_name);
    Dwarf_Die declaration = NULL;

    if (scope_by_linkage(die, scope))
        return;
    if (name) {
        add_level(scope, name);
    } else if (tag_of(die) == DW_TAG_namespace) {
        add_level(scope, "(anonymous namespace)");
    } else if (links < LINKS_MAX && (declaration = declaration_of(v, die))) {
        add_scope(v, declaration, scope, links + 1);
        dwarf_dealloc_die(declaration);
    }
}

static void list(struct variables *v, Dwarf_Die parent, const struct name *scope, unsigned depth)
{
    if (depth == DEPTH_MAX)
        return;
    for (Dwarf_Die die = child_of(parent); die; die = sibling(v, die)) {
        Dwarf_Half tag = tag_of(die);
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

static void forget_list(struct variables *v)
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

static void list_all(struct variables *v, bool all)
{
    static const struct name none;
    Dwarf_Error error;
    Dwarf_Die unit;

    forget_list(v);
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

static const struct entry *entry_at(const struct variables *v, uint64_t address)
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

/* ---- what is said of one -------------------------------------------------------------------- */

static Dwarf_Die unit_of(const struct variables *v, Dwarf_Die die)
{
    Dwarf_Error error;
    Dwarf_Off offset;

    if (dwarf_CU_dieoffset_given_die(die, &offset, &error) != DW_DLV_OK)
        return NULL;
    return die_at(v, offset, dwarf_get_die_infotypes_flag(die));
}

/* Until DWARF 5 files were counted from 1. */
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
            found = must_have(strdup(files[number]));
        for (Dwarf_Signed i = 0; i < count; i++)
            dwarf_dealloc(v->dwarf, files[i], DW_DLA_STRING);
        dwarf_dealloc(v->dwarf, files, DW_DLA_LIST);
    }
    dwarf_dealloc_die(unit);
    return found;
}

static void take_place(const struct variables *v, Dwarf_Die die, struct variable *out)
{
    uint64_t file, line;

    if (out->file || !number_of(die, DW_AT_decl_file, &file) ||
        !number_of(die, DW_AT_decl_line, &line) || line > INT32_MAX)
        return;
    out->file = file_number(v, die, file);
    out->line = out->file ? (int)line : 0;
}

static void take_name(Dwarf_Die die, const char *scope, struct name *name)
{
    const char *linkage = text_of(die, DW_AT_linkage_name), *plain = text_of(die, DW_AT_name);
    char *demangled = linkage ? demangle(linkage) : NULL;

    if (!*name->text && demangled) {
        add_text(name, demangled);
    } else if (!*name->text && plain) {
        add_text(name, scope ? scope : "");
        add_text(name, plain);
    }
    free(demangled);
}

/* What a definition does not say, its declaration does. */
static void take_words(const struct variables *v, Dwarf_Die die, const char *scope,
                       struct name *name, struct variable *out, unsigned links)
{
    Dwarf_Die declaration = links < LINKS_MAX ? declaration_of(v, die) : NULL;
    Dwarf_Off at = offset_of(die);
    struct declared *declared;

    HASH_FIND(hh, v->declared, &at, sizeof at, declared);
    if (declared)
        scope = declared->scope;
    take_place(v, die, out);
    if (text_of(die, DW_AT_linkage_name) || !declaration)
        take_name(die, scope, name);
    if (declaration) {
        take_words(v, declaration, scope, name, out, links + 1);
        dwarf_dealloc_die(declaration);
    }
}

static void take_path(const struct variables *v, Dwarf_Die die, uint64_t *offset, struct name *name)
{
    Dwarf_Die type = type_of(v, die), declaration = NULL;

    /* A definition may leave its type to the declaration, or complete an array's. */
    if (type) {
        dwarf_dealloc_die(type);
        go_down(v, die, offset, name);
    } else if ((declaration = declaration_of(v, die))) {
        go_down(v, declaration, offset, name);
        dwarf_dealloc_die(declaration);
    }
}

bool variables_find(struct variables *v, uint64_t address, struct variable *out)
{
    const struct entry *entry;
    struct name name = {""};
    Dwarf_Die die;

    if (!v->listed)
        list_all(v, false);
    entry = entry_at(v, address);
    if (!entry && !v->all) {
        list_all(v, true);
        entry = entry_at(v, address);
    }
    die = entry ? die_at(v, entry->die, true) : NULL;
    if (!die)
        return false;
    out->offset = out->in_whole = address - entry->start;
    take_words(v, die, entry->scope, &name, out, 0);
    out->whole = must_have(strdup(name.text));
    take_path(v, die, &out->offset, &name);
    dwarf_dealloc_die(die);
    out->name = must_have(strdup(name.text));
    return true;
}

struct variables *variables_open(int fd)
{
    struct variables *v = must_have(calloc(1, sizeof *v));
    Dwarf_Error error;

    v->fd = fd;
    if (dwarf_init_b(fd, DW_DLC_READ, DW_GROUPNUMBER_ANY, NULL, NULL, &v->dwarf, &error) ==
        DW_DLV_OK)
        return v;
    close(fd);
    free(v);
    return NULL;
}

void variables_close(struct variables *v)
{
    Dwarf_Error error;

    if (!v)
        return;
    forget_list(v);
    dwarf_finish(v->dwarf, &error);
    close(v->fd);
    free(v);
}

/*
 * dwarf_priv.h - shared by the files that implement variables.h; no other file uses libdwarf.
 *
 * The caller frees the DIEs that functions return (dwarf_dealloc_die).
 */
#ifndef DWARF_PRIV_H
#define DWARF_PRIV_H

#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>
#include <uthash.h>

#include "basics.h"
#include "variables.h"

#define DEPTH_MAX 64       /* nesting of DIEs */
#define LINKS_MAX 16       /* links from type to type, from definition to declaration */
#define NAME_BYTES_MAX 512 /* longer names are truncated */

struct name {
    char text[NAME_BYTES_MAX];
};

struct entry {
    uint64_t start, bytes; /* of thread-local ones: offset in the file's TLS segment */
    Dwarf_Off die;
    char *scope; /* enclosing functions, namespaces and classes; NULL: none */
};

/* A declaration in a namespace or class; its definition may be elsewhere. */
struct declared {
    Dwarf_Off die;
    char *scope;
    UT_hash_handle hh;
};

struct variables {
    int fd;
    Dwarf_Debug dwarf;
    struct declared *declared;
    struct entries {
        struct entry *at; /* sorted by start */
        uint32_t count;
    } fixed, of_thread;
    bool listed;
    bool all; /* with those in functions */
};

/* ---- dwarf_die.c ----------------------------------------------------------------------------- */

bool die_attribute(Dwarf_Die die, Dwarf_Half name, Dwarf_Attribute *out);
bool die_has(Dwarf_Die die, Dwarf_Half name);
Dwarf_Half die_tag(Dwarf_Die die);
Dwarf_Off die_offset(Dwarf_Die die);
bool die_number(Dwarf_Die die, Dwarf_Half name, uint64_t *out);
/* Return a string of the file; NULL: none. */
const char *die_text(Dwarf_Die die, Dwarf_Half name);
/* `is_info`: the offset is in .debug_info, else in .debug_types (DWARF 4). */
Dwarf_Die die_at(const struct variables *v, Dwarf_Off offset, bool is_info);
/* Return the DIE that an attribute refers to; NULL: none, or one in another file. */
Dwarf_Die die_linked(const struct variables *v, Dwarf_Die from, Dwarf_Half name);
/* Return the next sibling and free this DIE; NULL: no more. */
Dwarf_Die die_sibling(const struct variables *v, Dwarf_Die die);
Dwarf_Die die_child(Dwarf_Die die);
/* Return the declaration of a definition, or the abstract origin of an inlined instance. */
Dwarf_Die die_declaration(const struct variables *v, Dwarf_Die die);

/* ---- dwarf_type.c ---------------------------------------------------------------------------- */

void name_add(struct name *name, const char *text);
/* Return the type without typedefs and qualifiers; NULL: unknown. */
Dwarf_Die type_of(const struct variables *v, Dwarf_Die of);
/*
 * Descend from a variable to the innermost element or member at *offset. Appends its path to the
 * name; *offset becomes relative to it.
 */
void type_descend(const struct variables *v, Dwarf_Die variable, uint64_t *offset,
                  struct name *name);
/* Return the size of a variable in bytes; `links` = 0. */
uint64_t variable_bytes(const struct variables *v, Dwarf_Die die, unsigned links);

/* ---- dwarf_list.c ---------------------------------------------------------------------------- */

/* Build the lists anew; `all`: with variables in functions. */
void entries_list(struct variables *v, bool all);
/* Return the entry at an address, or at an offset in TLS; NULL: none. */
const struct entry *entries_find(const struct entries *entries, uint64_t address);
void entries_forget(struct variables *v);

/* ---- dwarf_variable.c ------------------------------------------------------------------------ */

/* Get name and source position, from the declaration where the definition has none. `links` = 0. */
void variable_take(const struct variables *v, Dwarf_Die die, const char *scope, struct name *name,
                   struct variable *out, unsigned links);
/* Append the path to the member at *offset to the name; *offset becomes relative to the member. */
void variable_take_path(const struct variables *v, Dwarf_Die die, uint64_t *offset,
                        struct name *name);

#endif

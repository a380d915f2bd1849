/*
 * dwarf_priv.h - what the files behind variables.h share: they alone speak to libdwarf.
 *
 * Entries that a function hands out are the caller's to give back.
 */
#ifndef DWARF_PRIV_H
#define DWARF_PRIV_H

#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>

#include "report_priv.h"
#include "variables.h"

#define DEPTH_MAX 64       /* of entries in one another */
#define LINKS_MAX 16       /* from type to type, from definition to declaration */
#define NAME_BYTES_MAX 512 /* what does not fit is cut */

struct name {
    char text[NAME_BYTES_MAX];
};

struct entry {
    uint64_t start,
        bytes; /* thread-local ones: from where the file's thread-local storage begins */
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
    struct entries {
        struct entry *at; /* by start */
        uint32_t count;
    } fixed, of_thread;
    bool listed;
    bool all; /* also those in functions */
};

/* ---- dwarf_die.c ----------------------------------------------------------------------------- */

bool die_attribute(Dwarf_Die die, Dwarf_Half name, Dwarf_Attribute *out);
bool die_has(Dwarf_Die die, Dwarf_Half name);
Dwarf_Half die_tag(Dwarf_Die die);
Dwarf_Off die_offset(Dwarf_Die die);
bool die_number(Dwarf_Die die, Dwarf_Half name, uint64_t *out);
/* A text of the file's; NULL: none. */
const char *die_text(Dwarf_Die die, Dwarf_Half name);
/* Of .debug_info or, DWARF 4's, .debug_types. */
Dwarf_Die die_at(const struct variables *v, Dwarf_Off offset, bool is_info);
/* The entry that an attribute leads to; NULL: none, or one of another file. */
Dwarf_Die die_linked(const struct variables *v, Dwarf_Die from, Dwarf_Half name);
/* To the next sibling, giving back this one; NULL: no more. */
Dwarf_Die die_sibling(const struct variables *v, Dwarf_Die die);
Dwarf_Die die_child(Dwarf_Die die);
/* What says of a definition, or of one that was inlined, what it does not say itself. */
Dwarf_Die die_declaration(const struct variables *v, Dwarf_Die die);

/* ---- dwarf_type.c ---------------------------------------------------------------------------- */

void name_add(struct name *name, const char *text);
/* The type behind names and qualifiers; NULL: unknown. */
Dwarf_Die type_of(const struct variables *v, Dwarf_Die of);
/* From a variable down to the innermost element or member: adds to its name, *offset is then in it. */
void type_descend(const struct variables *v, Dwarf_Die variable, uint64_t *offset,
                  struct name *name);
/* How many bytes a variable takes; `links` = 0. */
uint64_t variable_bytes(const struct variables *v, Dwarf_Die die, unsigned links);

/* ---- dwarf_list.c ---------------------------------------------------------------------------- */

/* Lists them anew; `all`: also those in functions. */
void entries_list(struct variables *v, bool all);
/* The one at an address, or in thread-local storage; NULL: none. */
const struct entry *entries_find(const struct entries *entries, uint64_t address);
void entries_forget(struct variables *v);

/* ---- dwarf_variable.c --------------------------------------------------------------------------- */

/* Its name and place; what a definition does not say, its declaration does.  `links` = 0. */
void variable_take(const struct variables *v, Dwarf_Die die, const char *scope, struct name *name,
                   struct variable *out, unsigned links);
/* The way from it down to *offset, which is then in what is named. */
void variable_take_path(const struct variables *v, Dwarf_Die die, uint64_t *offset,
                        struct name *name);

#endif

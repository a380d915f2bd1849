/*
 * symbols_priv.h - shared by the files of report that use libdwfl.
 *
 *   symbolize.c           all data of a frame
 *   names.c               its function, from the symbol table
 *   lines.c               the compilation unit and the source line of an address
 *   inlines.c             inlined functions
 *   calls.c               the called function, if it allocates or frees
 *   locals.c              local variables in a frame
 *   symbolize_variable.c  the variable at an address
 *   object_files.c        files that symbols come from, for packs
 */
#ifndef SYMBOLS_PRIV_H
#define SYMBOLS_PRIV_H

#include <elfutils/libdwfl.h>

#include "symbols.h"

struct names;     /* of a module: its symbols by address */
struct lines;     /* of a module: units by address, if the file has no such table */
struct slots;     /* of a module: GOT slots of the functions that it calls */
struct functions; /* of a module: functions by address, of the units used so far */

/* State of a module's file; each part is loaded on first use. */
struct symbols {
    bool tried;
    Dwfl *dwfl; /* NULL: the module has no symbols */
    Dwfl_Module *module;
    GElf_Addr bias; /* libdwfl's address minus the file's */
    struct names *names;
    struct lines *lines;
    struct functions *functions;
    struct slots *slots;
    struct variables *variables;
    bool variables_tried;
    char *found[4]; /* separate files that libdwfl has opened */
    uint32_t found_count;
};

/* Modules may have been added since the last call. NULL: the module has no symbols. */
struct symbols *symbols_of(struct report *r, uint32_t module);
/*
 * Returns a descriptor, or -1 if the file cannot be used; *why has the reason. `is_compared`: the caller
 * rejects a file of another build, so with a pack the file may be one of this machine.
 */
int module_open(const struct report *r, const char *path, bool is_compared,
                enum module_symbols *why);

/*
 * Equivalent to dwfl_module_addrinfo, by an index that is built on first use (*names). NULL:
 * unknown.
 */
const char *name_find(struct names **names, Dwfl_Module *module, GElf_Addr address,
                      GElf_Off *offset, GElf_Sym *symbol);
void names_free(struct names *names);

/*
 * Find the unit of a libdwfl address; *bias is the offset from the unit's addresses to libdwfl's.
 * false: unknown.
 */
bool unit_find(struct lines **lines, Dwfl_Module *module, Dwarf_Addr address, Dwarf_Die *unit,
               Dwarf_Addr *bias);
/*
 * The path of a unit's source file, absolute if the compilation directory is; malloc'ed. NULL, if
 * `file` is.
 */
char *unit_path(Dwarf_Die *unit, const char *file);
/*
 * Return the file's path, malloc'ed, and the line in *number. NULL: unknown. *lines is built on
 * first use.
 */
char *line_find(struct lines **lines, Dwfl_Module *module, Dwarf_Addr address, int *number);
void lines_free(struct lines *lines);

/* Store the functions inlined at the unit's address in the frame, and its name if it has none. */
void inlines_find(struct functions **known, Dwarf_Die *unit, Dwarf_Addr address,
                  struct frame *frame);
void functions_free(struct functions *known);

/*
 * The entry that the call before `back`, an address in the file, leads to. ENTRY_NONE: unknown, or
 * another function. *slots is built on first use.
 */
uint32_t entry_called(struct slots **slots, Elf *elf, GElf_Addr back);
void slots_free(struct slots *slots);

/*
 * Find the function at the unit's address, and the blocks and inlined calls in it that contain the
 * address, outermost first. Returns their number. 0: no function contains it.
 */
#define SCOPES_MAX 128u
uint32_t scopes_find(struct functions **known, Dwarf_Die *unit, Dwarf_Addr address,
                     Dwarf_Die scopes[SCOPES_MAX]);
/* A function's name in the source; malloc'ed. NULL: it has none. */
char *function_name(const struct report *r, Dwarf_Die *function);
/* Move to the next sibling. false: there is none. */
bool die_next(Dwarf_Die *die);

/* A variable that begins `inside` bytes before a location in a frame, and may contain it. */
struct local {
    Dwarf_Off die;
    uint64_t inside;
    Dwarf_Die function; /* that contains it; may be an inlined call */
};

/*
 * Find local variables, those of the innermost scope first. `address`: the unit's address of the
 * instruction; `cfi_address`: the same address for `cfi`, which may be NULL.
 */
#define LOCALS_MAX 256u
uint32_t locals_find(struct functions **known, Dwarf_Die *unit, Dwarf_Addr address, Dwarf_CFI *cfi,
                     Dwarf_Addr cfi_address, struct in_frame at, struct local found[LOCALS_MAX]);

#endif

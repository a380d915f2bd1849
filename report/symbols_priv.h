/*
 * symbols_priv.h - what the files of report that speak to libdwfl share.
 *
 *   symbolize.c           all that is known of a frame
 *   names.c               its function, by the file's table of symbols
 *   lines.c               the unit and the source line of an address
 *   inlines.c             the functions that were inlined there
 *   calls.c               the function that was called there, if it is one of malloc's
 *   locals.c              the variables that lie on the stack then
 *   symbolize_variable.c  which variable lies at a place
 */
#ifndef SYMBOLS_PRIV_H
#define SYMBOLS_PRIV_H

#include <elfutils/libdwfl.h>

#include "report_priv.h"

struct names;     /* of a module: its symbols by address */
struct lines;     /* of a module: units by address, where the file has no such table */
struct slots;     /* of a module: where addresses of functions are kept that it calls */
struct functions; /* of a module: functions by address, of the units that were asked for */

/* Of a module's file; each is read when it is needed. */
struct symbols {
    bool tried;
    Dwfl *dwfl; /* NULL: no symbols of this module */
    Dwfl_Module *module;
    GElf_Addr bias; /* from addresses in the file to libdwfl's */
    struct names *names;
    struct lines *lines;
    struct functions *functions;
    struct slots *slots;
    struct variables *variables;
    bool variables_tried;
};

/* Modules may have been added since the last call.  NULL: there are none. */
struct symbols *symbols_of(struct report *r, uint32_t module);
/* A descriptor, or -1: not a file to look into; *why says which. */
int module_open(const struct report *r, const char *path, enum module_symbols *why);

/*
 * What dwfl_module_addrinfo answers, from an index that is made when it is needed (*names).  NULL:
 * not known.
 */
const char *name_find(struct names **names, Dwfl_Module *module, GElf_Addr address,
                      GElf_Off *offset, GElf_Sym *symbol);
void names_free(struct names *names);

/* Addresses are libdwfl's; *bias leads from the unit's own to them.  false: not known. */
bool unit_find(struct lines **lines, Dwfl_Module *module, Dwarf_Addr address, Dwarf_Die *unit,
               Dwarf_Addr *bias);
/* The file, and *number in it; NULL: not known.  *lines is made when it is needed. */
const char *line_find(struct lines **lines, Dwfl_Module *module, Dwarf_Addr address, int *number);
void lines_free(struct lines *lines);

/* What was inlined at the unit's own address, into the frame; its name, where it has none yet. */
void inlines_find(struct functions **known, Dwarf_Die *unit, Dwarf_Addr address,
                  struct frame *frame);
void functions_free(struct functions *known);

/*
 * The entry that the call before `back` leads to, an address of the file's own; ENTRY_NONE: not known, or
 * another function.  *slots is made when it is needed.
 */
uint32_t entry_called(struct slots **slots, Elf *elf, GElf_Addr back);
void slots_free(struct slots *slots);

/*
 * The function at the unit's own address, and what in it holds the address: blocks and inlined
 * calls, the outermost first.  Returns how many; 0: no function is there.
 */
#define SCOPES_MAX 128u
uint32_t scopes_find(struct functions **known, Dwarf_Die *unit, Dwarf_Addr address,
                     Dwarf_Die scopes[SCOPES_MAX]);
/* A function's name as its source has it; malloc'ed, NULL: it has none. */
char *function_name(Dwarf_Die *function);
/* To the next sibling; false: there is no more. */
bool die_next(Dwarf_Die *die);

/* A variable that begins `inside` bytes before a place of a frame: it may reach there. */
struct local {
    Dwarf_Off die;
    uint64_t inside;
    Dwarf_Die function; /* which has it; inlined calls are functions here */
};

/*
 * Those of the innermost scope first.  `address`: the unit's own, where the function stands;
 * `cfi_address`: the same for call frame information, which may be NULL.
 */
#define LOCALS_MAX 256u
uint32_t locals_find(struct functions **known, Dwarf_Die *unit, Dwarf_Addr address, Dwarf_CFI *cfi,
                     Dwarf_Addr cfi_address, struct in_frame at, struct local found[LOCALS_MAX]);

#endif

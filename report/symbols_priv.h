/*
 * symbols_priv.h - what the files of report that speak to libdwfl share.
 *
 *   symbolize.c  all that is known of a frame
 *   names.c      its function, by the file's table of symbols
 *   lines.c      the unit and the source line of an address
 *   inlines.c    the functions that were inlined there
 */
#ifndef SYMBOLS_PRIV_H
#define SYMBOLS_PRIV_H

#include <elfutils/libdwfl.h>

#include "report_priv.h"

struct names;     /* of a module: its symbols by address */
struct lines;     /* of a module: units by address, where the file has no such table */
struct functions; /* of a module: functions by address, of the units that were asked for */

/*
 * What dwfl_module_addrinfo answers, from an index that is made when it is needed (*names).  NULL:
 * not known.
 */
const char *name_find(struct names **names, Dwfl_Module *module, GElf_Addr address, GElf_Off *offset,
                      GElf_Sym *symbol);
void names_free(struct names *names);

/* Addresses are libdwfl's; *bias leads from the unit's own to them.  false: not known. */
bool unit_find(struct lines **lines, Dwfl_Module *module, Dwarf_Addr address, Dwarf_Die *unit,
               Dwarf_Addr *bias);
/* The file, and *number in it; NULL: not known.  *lines is made when it is needed. */
const char *line_find(struct lines **lines, Dwfl_Module *module, Dwarf_Addr address, int *number);
void lines_free(struct lines *lines);

/* What was inlined at the unit's own address, into the frame; its name, where it has none yet. */
void inlines_find(struct functions **known, Dwarf_Die *unit, Dwarf_Addr address, struct frame *frame);
void functions_free(struct functions *known);

#endif

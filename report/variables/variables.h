/*
 * variables.h - the interface of variables: the variable at an address, from DWARF.  The only user
 * of libdwarf.
 *
 *   variables.c       opens a file, and finds the variable at an address
 *   dwarf_list.c      variables with static storage or in TLS, sorted by address
 *   dwarf_die.c       entries of debugging information
 *   dwarf_type.c      the path to the element or member at an offset
 *   dwarf_variable.c  a variable's name, and the position of its declaration
 *
 * libdw and libdwarf export 34 equal names.  So this room and libdwarf are linked into one object
 * that exports only the names declared here (CMakeLists.txt).  No file includes the headers of both
 * libraries.
 *
 * Files of programs are untrusted and libdwarf may crash on them: the callers, in symbols, run in
 * the helper process.
 *
 * Data: one struct variables for each file, owned by the caller; texts that are returned are
 * malloc'ed and the caller's.  No locks: not thread-safe.
 */
#ifndef VARIABLES_H
#define VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

/* The variable at an address in a module. Texts are malloc'ed; NULL: unknown. */
struct variable {
    char *name;      /* "table[3].first"; the symbol's name if there is no debugging information */
    uint64_t offset; /* bytes from the start of `name` */
    char *whole;     /* "table": the variable without element or member */
    uint64_t in_whole;
    char *file; /* of the declaration */
    int line;
    char *function;    /* for a local variable: the function that contains it; else NULL */
    bool is_parameter; /* of that function */
    char *section;     /* ".data", ".bss", .. */
    uint64_t in_section;
    char *text; /* string constant that begins there, if no name is known */
};

struct variables; /* variables of one file, listed by address on first use */

/* Takes ownership of the descriptor. NULL: it has no readable debugging information. */
struct variables *variables_open(int fd);
/* `address` as in the file. Sets all fields but those of the section. */
bool variables_find(struct variables *v, uint64_t address, struct variable *out);
/*
 * The same for the entry at `die` in .debug_info, `inside` bytes after the variable's start. false:
 * the offset is not in the variable, or it has no name.
 */
bool variables_at(struct variables *v, uint64_t die, uint64_t inside, struct variable *out);
/* The same for thread-local variables, by offset in the file's thread-local storage. */
bool variables_find_in_thread(struct variables *v, uint64_t offset, struct variable *out);
void variables_close(struct variables *v);

#endif

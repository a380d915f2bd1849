/*
 * variables.h - the door of variables.c, which alone speaks to libdwarf.
 *
 * libdw and libdwarf export 34 equal names.  So variables.c and libdwarf are linked to one object
 * in which nothing is visible to others but what is declared here (CMakeLists.txt), and neither
 * header is seen where the other is.
 */
#ifndef VARIABLES_H
#define VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

/* What an address in a module is.  Texts are malloc'ed; NULL: not known. */
struct variable {
    char *name;      /* "table[3].first"; of its symbol, where there is no debugging information */
    uint64_t offset; /* bytes from the start of what it names */
    char *whole;     /* "table": the variable without the way into it */
    uint64_t in_whole;
    char *file; /* where the variable is declared */
    int line;
    char *function;    /* that has it on its stack; NULL: it is no local variable */
    bool is_parameter; /* of that function */
    char *section;     /* ".data", ".bss", .. */
};

struct variables; /* of one file, listed by address when the first is asked for */

/* Takes the descriptor.  NULL: it has no debugging information that can be read. */
struct variables *variables_open(int fd);
/* `address` as in the file.  Sets all but the section of what it found. */
bool variables_find(struct variables *v, uint64_t address, struct variable *out);
/*
 * The same for the entry at `die` in .debug_info, `inside` bytes behind the variable's start: false if
 * that is not in it, or it has no name.
 */
bool variables_at(struct variables *v, uint64_t die, uint64_t inside, struct variable *out);
/* Thread-local ones, by their offset in the file's thread-local storage. */
bool variables_find_in_thread(struct variables *v, uint64_t offset, struct variable *out);
void variables_close(struct variables *v);

#endif

/*
 * site_priv.h - what is known of places in programs: modules, frames, stacks.
 */
#ifndef SITE_PRIV_H
#define SITE_PRIV_H

#include "shadow.h"

/* What is known of a module's symbols; module_symbols_text has a word for each. */
enum module_symbols {
    SYMBOLS_UNTRIED,
    SYMBOLS_NO_FILE,
    SYMBOLS_NOT_TRUSTED,   /* read as root: the file is another user's */
    SYMBOLS_ANOTHER_BUILD, /* than the one that ran */
    SYMBOLS_UNREADABLE,    /* no ELF file, or one that reading breaks at */
    SYMBOLS_EXPORTED,      /* only names that other objects may use: it was stripped */
    SYMBOLS_NAMES,         /* a table of symbols */
    SYMBOLS_LINES,         /* and debugging information */
    SYMBOLS_COUNT
};

struct module {
    char *path;
    uint8_t build_id[20];
    uint32_t build_id_bytes;
    uint32_t image; /* the first that had it, and where */
    uint64_t bias;
    enum module_symbols symbols;
    bool no_variables; /* reading them breaks */
};

#define NO_MODULE UINT32_MAX
#define ID_BYTES 32 /* biu-01234567; .2, .3 behind it where names alone do not tell things apart */

/* A function that a compiler put into its caller. */
struct inlined {
    char *system_name;
    char *function;  /* NULL: that is it already */
    char *declared;  /* as it is declared, without what it is a member of; NULL: as system_name */
    char *call_file; /* where it was called; NULL, 0: not known */
    int call_line;
};

#define INLINED_MAX 64u /* in one another */

/* A place in a program. */
struct frame {
    uint32_t module;
    uint64_t
        offset; /* of the return address: from the bias, or the address itself without module */
    bool exact; /* it is not the return of a call: that instruction was interrupted */
    uint32_t
        calls; /* enum error_entry: the one that the call before it leads to; the rest by symbolize.c */
    char *system_name; /* NULL, 0: not known */
    char *function;
    char *file; /* of the innermost function that was inlined there */
    int line;
    uint64_t in_function;
    struct inlined *inlined; /* innermost first; frame_lines puts it in order */
    uint32_t inlined_count;
    bool tried;
};

/* A stack, outermost last. */
struct site {
    const uint32_t *frames; /* in the table of what is known */
    uint32_t count;
    uint32_t end; /* enum stack_end, or SITE_LOST: why there are no more */
};

#define SITE_LOST STACK_END_COUNT /* what the file has of it leads nowhere */

#define NO_SITE UINT32_MAX

#endif

/*
 * site.h - interned code locations: modules, frames, stacks.
 */
#ifndef SITE_H
#define SITE_H

#include "shadow.h"

/* State of a module's symbols; module_symbols_text has a name for each. */
enum module_symbols {
    SYMBOLS_UNTRIED,
    SYMBOLS_NO_FILE,
    SYMBOLS_NOT_TRUSTED,   /* reader is root, and the file belongs to another user */
    SYMBOLS_ANOTHER_BUILD, /* build-id differs from the recorded one */
    SYMBOLS_UNREADABLE,    /* not an ELF file, or parsing crashes */
    SYMBOLS_EXPORTED,      /* only dynamic symbols: the file was stripped */
    SYMBOLS_NAMES,         /* has a symbol table */
    SYMBOLS_LINES,         /* has debugging information, too */
    SYMBOLS_COUNT
};

struct module {
    char *path;
    uint8_t build_id[20];
    uint32_t build_id_bytes;
    uint32_t image; /* the first image that had it, with its load address */
    uint64_t bias;
    enum module_symbols symbols;
    bool no_variables; /* parsing its variables crashes */
    bool is_runtime;   /* rtcheck's own library */
};

#define RUNTIME_NAME "librtcheck.so"
#define NO_MODULE UINT32_MAX
#define ID_BYTES 32 /* biu-01234567; the suffixes .2, .3 make equal names unique */

/* A function that the compiler inlined into its caller. */
struct inlined {
    char *system_name;
    char *function;  /* NULL: same as system_name */
    char *declared;  /* declared name without class or namespace; NULL: same as system_name */
    char *call_file; /* call site; NULL, 0: unknown */
    int call_line;
};

#define INLINED_MAX 64u /* nesting depth */

/* A code location: module and offset. */
struct frame {
    uint32_t module;
    uint64_t
        offset; /* of the return address: from the bias, or the address itself without module */
    bool exact; /* the interrupted instruction itself, not a return address */
    /*
     * enum error_entry: function that the preceding call leads to; set by symbolize.c, like the
     * fields below
     */
    uint32_t calls;
    char *system_name; /* NULL, 0: unknown */
    char *function;
    char *file; /* of the innermost inlined function */
    int line;
    uint64_t in_function;
    struct inlined *inlined; /* innermost first; frame_lines returns all functions in order */
    uint32_t inlined_count;
    bool tried;
};

/* A stack, innermost frame first. */
struct site {
    const uint32_t *frames; /* owned by the intern table */
    uint32_t count;
    uint32_t end; /* enum stack_end, or SITE_LOST: why the stack ends */
};

#define SITE_LOST STACK_END_COUNT /* its record in the file is invalid */

#define NO_SITE UINT32_MAX

#endif

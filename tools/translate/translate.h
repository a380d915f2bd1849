/*
 * translate.h - interface of translate: an object file -> its plan (format/plan.h), a copy of the
 * code that checks its loads and stores.
 *
 *   object.c      the ELF file: executable ranges, words and relocations, build-id
 *   frames.c      functions: the ranges that FDEs describe, and which of them have an LSDA
 *   decode.c      bytes -> table of instructions; operand.c: one operand
 *   select.c      which functions are translated, and why the others stay native
 *   skip.c        functions that --access-skip names; symbols.c: their names
 *   targets.c     addresses that indirect branches may reach
 *   liveness.c    registers and flags that are live before each instruction; callees.c: what calls
 *                 change
 *   groups.c      which accesses have one check; checks.c: its registers
 *   emit.c        the copy; check_code.c: inline checks, cold.c: their cold part, encode.c: bytes
 *   unwind_table.c  frame descriptions of the copy
 *   patches.c     jumps at the targets in the original text
 *   plan_write.c  the tables of a plan, and its file
 *   zydis.c       Zydis, which is loaded at the first use
 *
 * All of it runs outside of the checked process.  Stages pass tables to each other and do not
 * change those of earlier stages, except that select.c sets the states of functions.  The object
 * is not trusted: every offset from it is compared with the size of its table.  shadow/plan
 * validates plans.
 *
 * Below: messages.h; report.h, for names in the source.  Memory that cannot be allocated ends the process.  Not thread-safe.
 */
#ifndef TRANSLATE_H
#define TRANSLATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "format/plan.h"
#include "messages.h"

/* ---- translate.c ----------------------------------------------------------------------------- */

/* The copy's place, and the fs: offset of the words that it may use. */
struct translation {
    int64_t distance; /* 0: one of those below */
    int32_t spill;
    const char *skip; /* --access-skip: patterns, separated by commas; NULL: none */
};

/*
 * From the text to its copy.  The kernel puts brk memory up to 1 GiB above a program; below a loaded
 * object there is room, but below one at a fixed address there is none.
 */
#define DISTANCE_LOADED (-(1ll << 30))
#define DISTANCE_FIXED (3ll << 29)
/*
 * Words of glibc's thread control block that it no longer uses, and keeps because other programs
 * depend on the size of the block.
 */
#define SPILL_DEFAULT 0x100

/* The name of an object's plan in a folder: its build-id.  -ENOENT: it has none. */
#define PLAN_NAME_BYTES (2 * PLAN_BUILD_ID_MOST + sizeof ".plan")
int translate_name(char out[PLAN_NAME_BYTES], const char *path, char err[TOOLS_ERROR_BYTES]);

struct plan; /* the tables of a plan in memory */

/* -EFBIG: the copy would be out of reach of the object's data. */
int translate_object(struct plan **out, const char *path, const struct translation *how,
                     char err[TOOLS_ERROR_BYTES]);
/* Bits: which of the patterns match a function of the object; 0 also if it cannot be read. */
uint64_t translate_skipped(const char *path, const char *patterns);
const struct plan_statistics *plan_statistics(const struct plan *p);
/* Write the file; returns 0 or -errno. `plan_` is a struct plan: as report_write_by calls it. */
int plan_write(FILE *out, void *plan_);
void plan_free(struct plan *p);

/* ---- skip.c: --access-skip ------------------------------------------------------------------- */

#define PATTERNS_MOST 64u /* of --access-skip, and of --access-objects: each has a bit */

/* Has the object this path, or this last part of it?  The name may be a pattern. */
bool is_object_named(const char *pattern, const char *path);
/* Copy the pattern at `list`, without its comma, and return the next; NULL: there is no pattern. */
const char *pattern_next(const char *list, char *out, size_t room);
unsigned pattern_count(const char *list);

/* ---- symbols.c: names of functions ----------------------------------------------------------- */

struct code_symbol {
    uint64_t address, bytes; /* as in the object's own headers; 0 bytes: not known */
    const char *name;
};

struct code_symbols {
    struct code_symbol *at; /* by address */
    uint32_t count;
    struct code_segment {
        uint64_t offset, bytes, address; /* in the file, and as in its headers */
    } segments[8];
    uint32_t segment_count;
    void *dwfl; /* Dwfl *: it has the names */
};

/*
 * Functions of an object file: of .symtab and .dynsym, of a separate file of debugging information, or of
 * .gnu_debugdata.  No symbols if the file cannot be read.  Nothing is downloaded.
 */
void code_symbols_read(struct code_symbols *s, const char *path);
/* The first symbol that begins at or after an address. */
uint32_t code_symbol_from(const struct code_symbols *s, uint64_t address);
/* The name of the function at an address; NULL: not known. */
const char *code_symbol_name(const struct code_symbols *s, uint64_t address);
/* The address, as in its headers, of an offset in the file; UINT64_MAX: it is not code. */
uint64_t code_address(const struct code_symbols *s, uint64_t offset);
void code_symbols_free(struct code_symbols *s);

#endif

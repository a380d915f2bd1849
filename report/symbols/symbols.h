/*
 * symbols.h - names, lines and variables from the files of programs: the interface of symbols.
 *
 *   helper.c      the helper process that parses the files, and its answers (helper_answers.c)
 *   symbolize.c   module + offset -> function (names.c), file and line (lines.c), inlined functions
 *                 (inlines.c)
 *   calls.c       the allocation function that a call leads to
 *   symbolize_variable.c  the variable at an address, or in a frame (locals.c); see variables.h
 *   locations.c   such a variable in words
 *   object_files.c  the files that symbols come from, for packs
 *   source_names.c  parts of a name in the source
 *
 * Nothing of these files is trusted: they may be malformed, crash a parser or keep it busy. So a
 * child process with limits of time and memory reads them, and answers one question at a time. When
 * it ends early, the file that ended it is given up and another child is started. A file counts
 * only if its build-id is the recorded one, and for root only if its owner is trusted. Results are
 * stored in the frames (site.h); a frame without names stays a module and an offset.
 *
 * Below: model.h, and variables.h, which alone uses libdwarf.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include "model.h"

/* ---- helper.c, symbolize.c ------------------------------------------------------------------- */

/* Symbolize a site's frames; later calls do nothing. */
void symbolize_site(struct report *r, uint32_t site);
/* Find what is at the offset. false: nothing is known. Freed by variable_free. */
bool variable_find(struct report *r, uint32_t module, uint64_t offset, struct variable *out);
/* Find the local variable or parameter at a position in this frame. */
bool local_find(struct report *r, uint32_t frame, struct in_frame at, struct variable *out);
/* Find the thread-local variable `below` bytes below a thread's control block. */
bool thread_variable_find(struct report *r, uint32_t module, uint64_t below, struct variable *out);
void variable_free(struct variable *variable);
void helper_end(struct report *r);

void symbols_free(struct report *r);

/* ---- frames in words ------------------------------------------------------------------------- */

/* One function of a frame, as in the source. Fields that are not known are NULL, a line is 0. */
struct source_line {
    const char *function;
    const char *system_name; /* the linkage name */
    const char *file;
    int line;
    const char *declared; /* of an inlined function: its name as declared */
};

/*
 * Write the functions of a frame: inlined ones, innermost first, then the function that the code
 * belongs to. The first line is the position; each other is that of the call to the function before
 * it. Return how many were written.
 */
#define FRAME_LINES_MAX (INLINED_MAX + 1)
uint32_t frame_lines(const struct frame *frame, struct source_line *lines, uint32_t max);
/* The same to be printed: with --demangle=no `function` is the linkage name. */
uint32_t frame_lines_shown(const struct report *r, const struct frame *frame,
                           struct source_line *lines, uint32_t max);
/* The name of the function to print. NULL: not known. */
const char *line_name(const struct report *r, const struct source_line *line);

/* ---- locations.c ----------------------------------------------------------------------------- */

/*
 * Print the location at an offset of a module: ".data of prog: table[3]+0x4 (prog.c:7)",
 * "a constant of prog: "text" (.rodata+0x4)", "libfoo.so+0x1234".
 */
void format_location(struct report *r, uint32_t module, uint64_t offset, FILE *out);
/*
 * Print "local variable `next' of main (prog.c:12)", as found by local_find. false, without output:
 * unknown.
 */
bool format_local(struct report *r, uint32_t frame, struct in_frame at, FILE *out);

/*
 * Print "thread-local variable `last' (prog.c:12)", as found by thread_variable_find. false,
 * without output: unknown.
 */
bool format_thread_variable(struct report *r, uint32_t module, uint64_t below, FILE *out);

/* ---- calls.c --------------------------------------------------------------------------------- */

/* Linker's name of an operator, which may have several. */
struct entry_alias {
    uint32_t entry;
    const char *name;
};

const struct entry_alias *entry_alias(size_t index); /* NULL: past the last one */

/* ---- source_names.c -------------------------------------------------------------------------- */

/* "ns::f" of "int ns::f<int>(char)"; *simple: "f" in it. NULL: an operator. Freed by the caller. */
char *qualified_name(const char *full, const char **simple);
/* "f<int>" of the same, "operator+" of "ns::operator+(ns::a)": as declared. Freed by the caller. */
char *declared_name(const char *full);

#endif

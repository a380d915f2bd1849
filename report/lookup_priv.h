/*
 * lookup_priv.h - lookups in programs' files: names, lines, variables.
 */
#ifndef LOOKUP_PRIV_H
#define LOOKUP_PRIV_H

#include "known_priv.h"

/* ---- helper.c, symbolize.c, demangle.c ------------------------------------------------------- */

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

/* The same in this process, which a malformed file may crash. */
void frame_symbolize(struct report *r, struct frame *frame);
void variable_symbolize(struct report *r, uint32_t module, uint64_t offset, struct variable *out);
void local_symbolize(struct report *r, const struct frame *frame, struct in_frame at,
                     struct variable *out);
void thread_variable_symbolize(struct report *r, uint32_t module, uint64_t below,
                               struct variable *out);
/* Whether the module has a file to read; NO_MODULE has none. */
bool module_has_file(struct report *r, uint32_t module);
void symbols_free(struct report *r);

/* ---- progress.c ------------------------------------------------------------------------------ */

/* Between _begin and _end the caller must not write to a terminal. */
void progress_begin(struct progress *p, uint32_t total);
void progress_step(struct progress *p);
void progress_show(struct progress *p); /* redraws if enough time has passed */
void progress_end(struct progress *p);

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

/* Return the source name, freed by the caller. NULL: not a mangled name, or too long. */
char *demangle(const char *name);

#endif

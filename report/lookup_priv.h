/*
 * lookup_priv.h - what is asked of programs' files: names, lines, variables.
 */
#ifndef LOOKUP_PRIV_H
#define LOOKUP_PRIV_H

#include "known_priv.h"

/* ---- helper.c, symbolize.c, demangle.c ------------------------------------------------------- */

/* Fills in what is known of a site's frames: once, later calls do nothing. */
void symbolize_site(struct report *r, uint32_t site);
/* What lies at the offset: false when nothing is known.  For variable_free. */
bool variable_find(struct report *r, uint32_t module, uint64_t offset, struct variable *out);
/* Which local variable or parameter lies at a place of this frame. */
bool local_find(struct report *r, uint32_t frame, struct in_frame at, struct variable *out);
/* Which thread-local variable of a program lies that far below a thread's control block. */
bool thread_variable_find(struct report *r, uint32_t module, uint64_t below, struct variable *out);
void variable_free(struct variable *variable);
void helper_end(struct report *r);

/* The same for one frame in this process, which a bad file may end. */
void frame_symbolize(struct report *r, struct frame *frame);
void variable_symbolize(struct report *r, uint32_t module, uint64_t offset, struct variable *out);
void local_symbolize(struct report *r, const struct frame *frame, struct in_frame at,
                     struct variable *out);
void thread_variable_symbolize(struct report *r, uint32_t module, uint64_t below,
                               struct variable *out);
/* Is there a file to look into?  NO_MODULE has none. */
bool module_has_file(struct report *r, uint32_t module);
void symbols_free(struct report *r);

/* ---- progress.c ------------------------------------------------------------------------------ */

/* Between _begin and _end nothing else is written to a terminal. */
void progress_begin(struct progress *p, uint32_t total);
void progress_step(struct progress *p);
void progress_show(struct progress *p); /* the time has come, perhaps */
void progress_end(struct progress *p);

/* ---- frames in words ------------------------------------------------------------------------- */

/* One function of a frame, as the source has it; what is not known is NULL, a line 0. */
struct source_line {
    const char *function;
    const char *system_name; /* as the linker has it */
    const char *file;
    int line;
    const char *declared; /* of one that was inlined: as it is declared */
};

/*
 * The functions that a frame is in the source: what was inlined there, innermost first, and at last
 * the one that the machine was in.  Each one's line is where it was, or where it called the one
 * before.  Returns how many were written.
 */
#define FRAME_LINES_MAX (INLINED_MAX + 1)
uint32_t frame_lines(const struct frame *frame, struct source_line *lines, uint32_t max);

/* The name as its source has it; NULL: it is that already.  The caller frees it. */
char *demangle(const char *name);

#endif

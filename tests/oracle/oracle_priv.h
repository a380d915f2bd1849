/*
 * oracle_priv.h - the parts of the oracle: results, which outlive the process, and the reference,
 * which is libunwind.
 */
#ifndef ORACLE_PRIV_H
#define ORACLE_PRIV_H

#include "oracle.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

/* false: the stacks come from an unwinder that stops at frames without CFI. */
extern bool oracle_follows_rbp;

/* ---- results.c ------------------------------------------------------------------------------ */

enum oracle_counter {
#define COUNTER(word, text) COUNT_##word,
#define EXPLAINED(word, text) COUNT_##word,
#include "counters.def"
#undef COUNTER
#undef EXPLAINED
    COUNTERS
};

#define PROGRAMS 64
#define NOTES 32
#define NOTE_BYTES 8192

/* The file: initially zero, little-endian, read by `run` with these sizes. */
struct oracle_results {
    struct {
        _Atomic uint64_t claimed;
        char name[56];
        _Atomic uint64_t counter[COUNTERS];
    } program[PROGRAMS];
    _Atomic uint64_t notes; /* requested; only the first NOTES have room */
    char note[NOTES][NOTE_BYTES];
};

/* false: results are not requested, or the file does not exist yet. */
bool results_open(void);
void results_add(enum oracle_counter counter, uint64_t n);
/* Count a stack as taken; true: the stack is in the sample. */
bool results_sample(void);
/* Room for the description of a stack that differs; NULL: all notes are used. */
char *results_note(void);

/* ---- reference.c ------------------------------------------------------------------------------ */

/* libunwind's walk, at one frame. */
struct walk {
    bool more; /* pc and sp belong to a frame; false: the frame before was the outermost */
    int error; /* the result of unw_step, if it was an error */
    uintptr_t pc, sp;
    unw_cursor_t at, before;
    unw_context_t context;
};

/*
 * Load libunwind if it is not loaded yet; false: impossible here, or another call is loading it.
 * `caller` has called malloc: calls of the loader itself must not start the loader.
 */
bool reference_ready(uintptr_t caller);
/* w->context must be filled by reference_context in a frame that still exists. */
void reference_context(unw_context_t *context);
void walk_begin(struct walk *w);
void walk_step(struct walk *w);
/* Is there no CFI for the frame at pc? */
bool walk_has_no_cfi(uintptr_t pc);
/* Has the object around pc an .eh_frame_hdr?  Without it CFI is found only by reading the file. */
bool walk_has_index(uintptr_t pc);
/*
 * The last step came from a frame without CFI: repeat it with rbp as frame pointer.  false: that
 * does not lead to `next`, and the walk is unchanged.
 */
bool walk_step_by_rbp(struct walk *w, const struct oracle_frame *next);

#endif

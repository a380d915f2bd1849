/*
 * oracle_priv.h - the parts of the oracle: results, which outlive the process, and the reference,
 * which is libunwind.
 */
#ifndef ORACLE_PRIV_H
#define ORACLE_PRIV_H

#include "oracle.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

/* false: the stacks come from an unwinder that gives up where there is no CFI. */
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

/* The file: all zero at first, little-endian, read by `run` with these sizes. */
struct oracle_results {
    struct {
        _Atomic uint64_t claimed;
        char name[56];
        _Atomic uint64_t counter[COUNTERS];
    } program[PROGRAMS];
    _Atomic uint64_t notes; /* asked for; the first ones have room */
    char note[NOTES][NOTE_BYTES];
};

/* false: nobody asks for results, or there is no file yet. */
bool results_open(void);
void results_add(enum oracle_counter counter, uint64_t n);
/* Counts a stack as taken; true: it is one of the sample. */
bool results_sample(void);
/* Room for the story of a stack that differs; NULL: enough were told. */
char *results_note(void);

/* ---- reference.c ------------------------------------------------------------------------------ */

/* libunwind's walk; stands at one frame. */
struct walk {
    bool more; /* pc and sp are a frame's; false: the one before was the outermost */
    int error; /* what unw_step said, if it was an error */
    uintptr_t pc, sp;
    unw_cursor_t at, before;
    unw_context_t context;
};

/*
 * Loads libunwind when there is nothing yet; false: it cannot be done here, or is being done.
 * `caller` has called malloc: the loader must not be started by its own calls.
 */
bool reference_ready(uintptr_t caller);
/* w->context is what reference_context filled in a frame that still exists. */
void reference_context(unw_context_t *context);
void walk_begin(struct walk *w);
void walk_step(struct walk *w);
/* Nothing describes the frame at pc. */
bool walk_has_no_cfi(uintptr_t pc);
/* The object around pc has a .eh_frame_hdr: without it only a reader of its file finds its CFI. */
bool walk_has_index(uintptr_t pc);
/*
 * The last step came from a frame without CFI: makes it once more, with rbp as frame pointer.
 * false: that does not lead to `next`, and the walk is where it was.
 */
bool walk_step_by_rbp(struct walk *w, const struct oracle_frame *next);

#endif

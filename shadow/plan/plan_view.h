/*
 * plan_view.h - interface of plan: a plan (format/plan.h) as both sides read it.
 *
 *   plan_view.c   validation of a whole file, then its map of code addresses
 *   libraries.c   objects that are never translated
 *
 * `rtcheck translate` writes plans; the checked process maps one for each object.  A plan is not
 * trusted: it is verified once, whole, and damaged or hostile input is refused and never crashes.
 * The caller ensures that the bytes do not change afterwards.
 *
 * Pure functions without state: thread-safe and async-signal-safe, no system calls, no locks.
 */
#ifndef PLAN_VIEW_H
#define PLAN_VIEW_H

#include <stdbool.h>

#include "format/plan.h"

#define PLAN_NOWHERE UINT32_MAX

/* ---- libraries.c ----------------------------------------------------------------------------- */

/* Is the object with this path never translated? */
bool plan_is_library(const char *path);

/* ---- plan_view.c ----------------------------------------------------------------------------- */

/* The parts of a valid plan. */
struct plan_view {
    const struct plan_header *header;
    const uint8_t *copy, *unwind;
    const struct plan_function *functions;
    const struct plan_block *blocks;
    const struct plan_step *steps;
    const struct plan_site *sites;
    const struct plan_patch *patches;
};

/*
 * Verify a file in memory, at an address that is a multiple of 8.  Returns NULL, or why it is not
 * valid.
 */
const char *plan_verify(struct plan_view *out, const void *file, uint64_t bytes);
/* The same of the header alone, in a file of so many bytes: NULL, or why it is not valid. */
const char *plan_verify_header(const struct plan_header *h, uint64_t bytes);
/*
 * The copy of the instruction at an offset of the original text, and the reverse: the instruction
 * whose copy contains an offset, also of the cold part.  PLAN_NOWHERE: there is none.
 */
uint32_t plan_copy_of(const struct plan_view *v, uint32_t original);
uint32_t plan_original_of(const struct plan_view *v, uint32_t copy);
/* The end of the original of a call, by the return address that its copy pushes. */
uint32_t plan_return_of(const struct plan_view *v, uint32_t copy);
/* Where the copy of a function ends, by an offset in its body.  PLAN_NOWHERE: it is in none. */
uint32_t plan_end_of(const struct plan_view *v, uint32_t copy);
/* The check whose cold part contains this offset, e.g. the handler's return address; or NULL. */
const struct plan_site *plan_site_at(const struct plan_view *v, uint32_t copy);

#endif

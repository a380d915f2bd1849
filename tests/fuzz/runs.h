/*
 * runs.h - the valid run files that fuzz_view corrupts.
 */
#ifndef RUNS_H
#define RUNS_H

#include <stdint.h>

#define RUN_ANCHORS_MAX 192
#define RUN_PAGES_MAX 64

/*
 * A run file in memory.  Anchors are the offsets at which its structures begin.  An edit names a
 * position by anchor and distance, so that most edits hit data that is read.
 */
struct run_base {
    const char *file;
    uint64_t bytes;
    uint32_t anchors[RUN_ANCHORS_MAX];
    unsigned anchor_count;
    uint32_t pages[RUN_PAGES_MAX]; /* offsets of pages that are not all zero */
    unsigned page_count;
};

/* Select one of them by a byte of the input. */
const struct run_base *run_base_choose(unsigned choice);

#endif

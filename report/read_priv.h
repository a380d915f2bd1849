/*
 * read_priv.h - state of reading one image from the run file, shared by the read*.c files.
 */
#ifndef READ_PRIV_H
#define READ_PRIV_H

#include <stdatomic.h>

#include "counts.h"
#include "report_priv.h"

enum what_is_read {
    READ_ALL,
    READ_MAP,   /* what is needed to interpret its numbers */
    READ_CHECK, /* READ_MAP and the unreported result of a leak check in mid-run */
};

struct reading {
    enum what_is_read what;
    struct leak_check_record check; /* .number 0: none */
    uint64_t check_at;              /* its offset in the file */
    struct report *report;
    struct image *image;
    struct part *parts;
    struct counts scratch;       /* counts of the current segment */
    struct counts client_blocks; /* blocks of custom allocators */
    struct cost_record costs;    /* .every 0: none */
    uint64_t reallocs;
    struct error_record *errors;
    uint32_t error_count;
    uint32_t area;        /* the current area */
    uint32_t *leak_areas; /* areas with leaks: read again when the map is known */
    uint32_t leak_area_count;
    struct chunk_root *roots;
    uint32_t root_count;
    struct map_region *regions;
    uint32_t region_count;
    bool torn;  /* mappings were being rewritten (odd epoch) */
    char **own; /* pieces of the program's own suppressions */
    uint32_t own_count;
};

/* ---- read.c ---------------------------------------------------------------------------------- */

/* Read all areas of the image, to the extent of rd->what. */
void read_areas(struct reading *rd);
/* Take the program's own suppressions, after all areas are read. */
void take_own(struct reading *rd);

/* ---- read_blocks.c --------------------------------------------------------------------------- */

void read_slab(struct reading *rd, const struct segment *s);
void read_large(struct reading *rd, const struct segment *s);
void read_client_blocks(struct reading *rd, const struct segment *s);
void read_threads(struct reading *rd, const struct segment *s);
/* Take the blocks in use, and the sums of allocations and frees, after all areas are read. */
void take_blocks(struct reading *rd);

/* ---- read_leaks.c ---------------------------------------------------------------------------- */

void note_leaks(struct reading *rd, const struct segment *s);
void read_roots(struct reading *rd, const struct segment *s);
/* `at`: the offset of the segment in the file. */
void read_check(struct reading *rd, const struct segment *s, uint64_t at);
/* Call when all roots and the map are known. */
void take_leaks(struct reading *rd);

/* ---- read_maps.c ----------------------------------------------------------------------------- */

void read_mappings(struct reading *rd, const struct segment *s);
void read_map_sum(struct reading *rd, const struct segment *s);
void read_dispatched(struct reading *rd, const struct segment *s);
void read_marks(struct reading *rd, const struct segment *s);
/* Call when all areas are read. */
void take_regions(struct reading *rd);
/* Call after take_regions: take the ranges that the image itself has mapped. */
void take_mapped(struct reading *rd);

#endif

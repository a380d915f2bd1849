/*
 * read_priv.h - one image on its way out of the file: what the files read*.c share.
 */
#ifndef READ_PRIV_H
#define READ_PRIV_H

#include <stdatomic.h>

#include "counts.h"
#include "report_priv.h"

enum what_is_read {
    READ_ALL,
    READ_MAP,   /* what its numbers mean */
    READ_CHECK, /* and what a check in mid-run has found, which nobody has told yet */
};

struct reading {
    enum what_is_read what;
    struct leak_check_record check; /* .number 0: there is none */
    uint64_t check_at;              /* where it lies in the file */
    struct report *report;
    struct image *image;
    struct part *parts;
    struct counts scratch;       /* of the segment being read */
    struct counts client_blocks; /* blocks that the program made itself */
    struct cost_record costs;    /* .every 0: there is none */
    uint64_t reallocs;
    struct error_record *errors;
    uint32_t error_count;
    uint32_t area;        /* that is being read */
    uint32_t *leak_areas; /* those with leaks: read again when the map is known */
    uint32_t leak_area_count;
    struct chunk_root *roots;
    uint32_t root_count;
    struct map_region *regions;
    uint32_t region_count;
    bool torn;  /* a copy of some was being made */
    char **own; /* pieces of its own suppressions */
    uint32_t own_count;
};

/* ---- read.c ---------------------------------------------------------------------------------- */

/* All of its areas, as far as rd->what says. */
void read_areas(struct reading *rd);
/* The program's own suppressions, when all are read. */
void take_own(struct reading *rd);

/* ---- read_blocks.c --------------------------------------------------------------------------- */

void read_slab(struct reading *rd, const struct segment *s);
void read_large(struct reading *rd, const struct segment *s);
void read_client_blocks(struct reading *rd, const struct segment *s);
void read_threads(struct reading *rd, const struct segment *s);
/* What was in use, and how much was asked for and freed, when all are read. */
void take_blocks(struct reading *rd);

/* ---- read_leaks.c ---------------------------------------------------------------------------- */

void note_leaks(struct reading *rd, const struct segment *s);
void read_roots(struct reading *rd, const struct segment *s);
/* `at`: where it lies in the file. */
void read_check(struct reading *rd, const struct segment *s, uint64_t at);
/* When all roots and the map are known. */
void take_leaks(struct reading *rd);

/* ---- read_maps.c ----------------------------------------------------------------------------- */

void read_mappings(struct reading *rd, const struct segment *s);
void read_map_sum(struct reading *rd, const struct segment *s);
void read_dispatched(struct reading *rd, const struct segment *s);
void read_marks(struct reading *rd, const struct segment *s);
/* When all are read. */
void take_regions(struct reading *rd);
/* And then: what the image itself has mapped. */
void take_mapped(struct reading *rd);

#endif

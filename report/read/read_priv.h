/*
 * read_priv.h - shared by the files of read: the state of reading one image from the run file, and
 * what its records are merged with.
 */
#ifndef READ_PRIV_H
#define READ_PRIV_H

#include <stdatomic.h>

#include "counts_priv.h"
#include "read.h"

enum what_is_read {
    READ_ALL,
    READ_MAP,   /* what is needed to interpret its numbers */
    READ_CHECK, /* READ_MAP and the unreported result of a leak check in mid-run */
};

struct reading {
    enum what_is_read what;
    struct leak_check_record check; /* .number 0: none */
    uint64_t check_at;              /* its offset in the file */
    uint32_t requested;             /* READ_CHECK: LEAK_CHECK_REQUESTED, or 0 */
    struct report *report;
    struct image *image;
    struct part *parts;
    struct counts scratch;       /* counts of the current segment */
    struct counts client_blocks; /* blocks of custom allocators */
    struct cost_record costs;    /* .every 0: none */
    uint64_t reallocs;
    struct error_record *errors;
    uint32_t error_count;
    struct object_record *objects;
    uint32_t object_count;
    struct crash_record *crashes; /* of these errors */
    uint32_t crash_count;
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

/*
 * Read a verified copy of an area of `image`, to be dropped by the caller. false: the area is bad,
 * which has been noted.
 */
bool read_good_area(struct report *r, const struct image *image, uint32_t area,
                    struct area_copy *copy);
/* Whether the area belongs to the image with this number, by the tables read last. */
bool area_is_of(const struct report *r, uint32_t area, uint32_t number);
/* Read all areas of an image, with its blocks in use. */
void image_collect(struct report *r, struct image *image);
/* Note bad areas of images that are not known: the image's first area may be the bad one. */
void orphans_check(struct report *r);
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

/* ---- objects.c ------------------------------------------------------------------------------- */

void read_objects(struct reading *rd, const struct segment *s);
/* Call when the map is known: it has the objects that were loaded later. */
void take_objects(struct reading *rd);

/* ---- map.c ----------------------------------------------------------------------------------- */

/*
 * Read a depot, module or thread segment. Return true if the map is its only reader; thread records
 * also have counters.
 */
bool map_read_segment(struct report *r, struct image *image, const struct segment *s);
uint32_t site_of_stack(struct report *r, struct image *image, uint32_t id);
/* Return a site of one frame; `pc` as in depot_node.pc. */
uint32_t site_of_pc(struct report *r, struct image *image, uint64_t pc);
/*
 * Return the module of the executable, whose TLS ends at the thread control block; NO_MODULE: none.
 */
uint32_t module_of_program(struct report *r, struct image *image);
/* Return the image's thread, or the ancestor's thread that the number is inherited from. */
struct thread thread_of_number(struct report *r, struct image *image, uint32_t number);

/* ---- errors.c -------------------------------------------------------------------------------- */

/* Merge an image's error records into the report's table. */
void errors_take(struct report *r, const struct reading *rd);
/* Sort the table by time, and each error's list of processes. Call after the last errors_take. */
void errors_sort(struct report *r);

/* ---- leaks.c --------------------------------------------------------------------------------- */

/* Add one leak group of an image to the report's table, or to a sum. */
void leak_take(struct report *r, struct image *image, const struct leak_group *g,
               const struct root_record *roots, uint32_t root_count);
/* Add one piece of a mapping; `blocks` is 1 for the first piece of each call, else 0. */
void mapping_take(struct report *r, struct image *image, const struct map_region *m,
                  uint32_t blocks);

/* ---- own_text.c ------------------------------------------------------------------------------ */

/* Join the pieces of an image's text, in order. A NULL piece is missing. */
void own_text_take(struct report *r, const struct image *image, char *const *pieces,
                   uint32_t count);

/* ---- cost_sums.c ----------------------------------------------------------------------------- */

/* `calls`: number of operations of each kind; the runtime timed only some of them. */
void own_cost_add(struct own_cost *sum, const struct cost_record *c,
                  const uint64_t calls[COST_OPERATION_COUNT]);
/* Add blocks in use: the size of one record, and the redzone and rounding bytes of all slots. */
void own_cost_add_blocks(struct own_cost *sum, uint64_t blocks, uint32_t record_bytes,
                         uint64_t around_bytes);

/* ---- launcher_record.c ----------------------------------------------------------------------- */

/* Read the launcher's record from the file. Does nothing in the launcher's own report. */
void launcher_record_read(struct report *r);
/* Sets wrong->what if the record is bad. */
void launcher_record_dump(const struct view *v, FILE *out, struct verify_error *wrong);

#endif

/*
 * collect_priv.h - interfaces of the files that read a run file, sort its findings and name them.
 */
#ifndef COLLECT_PRIV_H
#define COLLECT_PRIV_H

#include "known_priv.h"

/* ---- search.c -------------------------------------------------------------------------------- */

/*
 * Return how many items begin at or before the address. They have `stride` bytes each and are
 * sorted by the 64-bit address in their first bytes.
 */
size_t begun_before(const void *items, size_t count, size_t stride, uint64_t address);

/* ---- own_cost.c ------------------------------------------------------------------------------ */

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

/* ---- images.c -------------------------------------------------------------------------------- */

/* Read the run's tables again and add images that are new in them. */
int images_refresh(struct report *r);
struct image *image_of(const struct report *r, uint32_t number);
/* Copy the header fields that change while the process runs. */
void image_update(struct image *image, const struct image_header *h);
/* Set .gone of images whose process has certainly ended, so that their areas may be emptied. */
void images_mark_gone(struct report *r);
/* Whether the process seems to run; for wording only, a wrong answer loses no data. */
bool image_seems_alive(const struct report *r, const struct image *image);
/* Whether the file (still) has an area of the image. */
bool image_has_area(const struct report *r, const struct image *image);
/*
 * Return the older image that created this one or preceded it in its process; NULL: not known. The
 * header of an exec'd image does not always name its parent.
 */
const struct image *image_likely_parent(const struct report *r, const struct image *image);
/* Set .needed of images whose records a live process may still read. */
void images_mark_needed(struct report *r);
/*
 * Whether both images belong to one process. In foreign pid namespaces, equal pids may be a
 * coincidence.
 */
bool image_is_of_process(const struct image *a, const struct image *b);
/* Whether the same process has a later image: exec replaced this one. */
bool image_has_exec_successor(const struct image *image);
/* Return the image that it shares old records, stacks and modules with (by fork), or NULL. */
struct image *image_parent(const struct report *r, const struct image *image);
/* Move absorbed images that no other image's stacks need to r->done, and drop their maps. */
void images_retire(struct report *r);
/* Drop images whose areas other processes reclaimed before more than the header was read. */
void images_drop_taken(struct report *r);
/* Move all images back to r->images, in ascending order. */
void images_join(struct report *r);
void image_free(struct image *image);

/* ---- read.c, read_leaks.c -------------------------------------------------------------------- */

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

/* Read again the map of an image that may still run; at most once a round (map_tried). */
void image_read_map(struct report *r, struct image *image);

/*
 * Read a leak check that the image made in mid-run and that is not yet reported. Its leaks become
 * the report's leaks, like those of the check at exit. *at: file offset of the check's record.
 * false: there is no such check.
 */
bool image_read_check(struct report *r, struct image *image, struct leak_check_record *check,
                      uint64_t *at);

/* ---- map.c ----------------------------------------------------------------------------------- */

/*
 * Read a depot, module or thread segment. Return true if the map is its only reader; thread records
 * also have counters.
 */
bool map_read_segment(struct report *r, struct image *image, const struct segment *s);
uint32_t site_of_stack(struct report *r, struct image *image, uint32_t id);
/* Return a site of one frame; `pc` as in depot_node.pc. */
uint32_t site_of_pc(struct report *r, struct image *image, uint64_t pc);
/* Return the module with this number or, if it is 0, at this address; NO_MODULE: none. */
uint32_t module_of_number(struct report *r, struct image *image, uint32_t number, uint64_t address);
/*
 * Return the module of the executable, whose TLS ends at the thread control block; NO_MODULE: none.
 */
uint32_t module_of_program(struct report *r, struct image *image);
/* Return the image's thread, or the ancestor's thread that the number is inherited from. */
struct thread thread_of_number(struct report *r, struct image *image, uint32_t number);

/* ---- errors.c -------------------------------------------------------------------------------- */

/* Merge an image's error records into the report's table. */
void errors_take(struct report *r, struct image *image, const struct error_record *records,
                 uint32_t count);
/* Sort the table by time, and each error's list of processes. Call after the last errors_take. */
void errors_sort(struct report *r);
/* Set the ids of the first `count` errors. */
void errors_name(struct report *r, uint32_t count);
/* Return the site that locates the error, or NO_SITE; for a wua, the block's allocation. */
uint32_t error_main_site(const struct error *e);

/* ---- write.c --------------------------------------------------------------------------------- */

/* Read a whole file into memory, freed by the caller. NULL: errno is set. */
char *file_read(const char *path, size_t *bytes);
/*
 * Write the output of `put` to a temporary file, then rename it to `path`. A file that is not
 * regular is written in place. Return 0 or -errno.
 */
typedef void write_put(FILE *out, void *arg);
int write_whole(const char *path, write_put *put, void *arg);

/* ---- baseline.c ------------------------------------------------------------------------------ */

/* Parse a baseline; `name` is for messages. An empty text is an empty baseline. */
int baseline_read_text(struct baseline **out, const char *name, const char *text, size_t bytes,
                       char *err, size_t room);
void baseline_print(const struct report *r, const struct page *page);

/* ---- suppress_own.c -------------------------------------------------------------------------- */

/* Join the pieces of an image's text, in order. A NULL piece is missing. */
void own_text_take(struct report *r, const struct image *image, char *const *pieces,
                   uint32_t count);
void own_text_free(struct own_text *text);
/*
 * Return `rules` with those of the report's programs, freed with the report; or `rules` if there
 * are none.
 */
struct rules *rules_with_own(struct report *r, struct rules *rules);

/* ---- suppress_match.c ------------------------------------------------------------------------ */

/*
 * Like report_suppress and report_compare, but without counting the matches of rules: for a run in
 * progress.
 */
void findings_match(struct report *r, const struct print_options *how);
bool is_of_libc(const char *base_name); /* of a module */
/*
 * Return the function that allocated (enum error_entry), by what the innermost frame calls.
 * ENTRY_NONE: not known.
 */
uint32_t allocator_of(const struct report *r, const struct site *site);

/* ---- source_names.c -------------------------------------------------------------------------- */

/* "ns::f" of "int ns::f<int>(char)"; *simple: "f" in it. NULL: an operator. Freed by the caller. */
char *qualified_name(const char *full, const char **simple);
/* "f<int>" of the same, "operator+" of "ns::operator+(ns::a)": as declared. Freed by the caller. */
char *declared_name(const char *full);

/* ---- leaks.c --------------------------------------------------------------------------------- */

/* Add one leak group of an image to the report's table, or to a sum. */
void leak_take(struct report *r, struct image *image, const struct leak_group *g,
               const struct root_record *roots, uint32_t root_count);
void leaks_free(struct report *r);
/* Add one piece of a mapping; `blocks` is 1 for the first piece of each call, else 0. */
void mapping_take(struct report *r, struct image *image, const struct map_region *m,
                  uint32_t blocks);
/*
 * Sort the table by class and size, and each leak's list of processes. Call after the last
 * leak_take and mapping_take.
 */
void leaks_sort(struct report *r);
/* Set the ids of the leaks in [from, end); `from` must be the first of its kind. */
void leaks_name(struct report *r, uint32_t from, uint32_t end);
void leaks_name_all(struct report *r);
uint32_t leak_kind(enum leak_class class);    /* a bit of LEAK_*; 0: shown with others */
const char *leak_code(enum leak_class class); /* "mel", .. */

/* ---- sites.c --------------------------------------------------------------------------------- */

uint32_t module_intern(struct report *r, const struct module_record *m, uint32_t image);
uint32_t frame_intern(struct report *r, uint32_t module, uint64_t offset, bool exact);
uint32_t site_intern(struct report *r, const uint32_t *frames, uint32_t count, uint32_t end);
/*
 * Return the index of the error with the same kind, damage, entry and stacks, adding it if it is
 * new. Of a wua only kind, damage and allocation stack count: the call that detects it is
 * arbitrary.
 */
uint32_t error_intern(struct report *r, const struct error *error);
void sites_free(struct report *r);
void frame_free(struct frame *frame); /* frees its fields, not the struct */

/* ---- ids.c ----------------------------------------------------------------------------------- */

/* "duf-01234567" of a symbolized site, or of NO_SITE. */
void id_of_site(const struct report *r, const char *code, uint32_t site, char id[ID_BYTES]);
/* The same, but hashes `what` in place of `code`: different ids for findings of one code. */
void id_of_kind(const struct report *r, const char *code, const char *what, uint32_t site,
                char id[ID_BYTES]);
/*
 * Append .2, .3 to equal ids; the first keeps the plain id. Each of `items` has
 * `stride` bytes and begins with its id.
 */
void ids_make_unique(void *items, uint32_t count, size_t stride);
/* Return how many frames of a symbolized stack are the user's, without those outside main. */
uint32_t user_frames(const struct report *r, const struct site *site);

/* ---- group.c --------------------------------------------------------------------------------- */

/* Add a number, each once. All calls for one image must follow each other. */
void image_numbers_add(struct image_numbers *images, uint32_t number);
void image_numbers_sort(struct image_numbers *images);

/* Blocks in use from one site, in all images that exec has not replaced. */
struct record {
    char id[ID_BYTES];
    struct disposition disposition; /* by rules of dbx's grammar for biu */
    uint32_t site;
    uint64_t blocks;
    uint64_t bytes;
    struct image_numbers images;
};

struct totals {
    uint64_t processes;
    uint64_t allocs;
    uint64_t frees;
    uint64_t blocks; /* in use at the end */
    uint64_t bytes;
};

/*
 * Sorted by bytes, then blocks. The first `named` are symbolized and have ids; ids are unique only
 * if all records have one. Freed by records_free.
 */
struct record *records_make(struct report *r, uint32_t named, uint32_t *count);
void records_free(struct record *records, uint32_t count);
struct totals totals_of(const struct report *r);
/* Sums of images that others than this report reclaimed; .processes counts images. */
struct totals totals_elsewhere(const struct report *r);
/* Whether exec replaced this image and discarded its memory. */
bool image_was_replaced(const struct image *image);
/* Whether exec replaced it by a program that has no image in this run. */
bool image_was_lost(const struct report *r, const struct image *image);
/* Whether rtcheck's malloc served the checked program, and the image's data can be trusted. */
bool image_is_checked(const struct image *image);
/*
 * Return the image of the program that the run was made for: the root or its last exec successor.
 */
struct image *image_main(const struct report *r);

#endif

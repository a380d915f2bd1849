/*
 * collect_priv.h - from a run file to findings: what the files of report that read, sort and name share.
 */
#ifndef COLLECT_PRIV_H
#define COLLECT_PRIV_H

#include "known_priv.h"

/* ---- search.c -------------------------------------------------------------------------------- */

/*
 * How many of the items begin at the address or before it.  They lie `stride` bytes apart, sorted by
 * the 64-bit address that each has first of all.
 */
size_t begun_before(const void *items, size_t count, size_t stride, uint64_t address);

/* ---- own_cost.c ----------------------------------------------------------------------------- */

/* `calls`: how many operations there were, of which some were timed. */
void own_cost_add(struct own_cost *sum, const struct cost_record *c,
                  const uint64_t calls[COST_OPERATION_COUNT]);
/* Blocks in use, what a record of them takes, and what their slots have that they did not ask for. */
void own_cost_add_blocks(struct own_cost *sum, uint64_t blocks, uint32_t record_bytes,
                         uint64_t around_bytes);

/* ---- launcher_record.c ---------------------------------------------------------------------------------- */

/* What the launcher has written into the file, unless it is the launcher that asks. */
void launcher_record_read(struct report *r);
/* wrong->what: it is bad. */
void launcher_record_dump(const struct view *v, FILE *out, struct verify_error *wrong);

/* ---- images.c -------------------------------------------------------------------------------- */

/* Reads the run's tables again and takes the headers of images that are new in them. */
int images_refresh(struct report *r);
struct image *image_of(const struct report *r, uint32_t number);
/* Takes what may have changed in a header since. */
void image_update(struct image *image, const struct image_header *h);
/* Sets .gone of those whose process has ended for certain, so that their areas may be emptied. */
void images_mark_gone(struct report *r);
/* The same question for a sentence: nothing is lost when the answer is wrong. */
bool image_seems_alive(const struct report *r, const struct image *image);
/* Is anything of it in the file (still)? */
bool image_has_area(const struct report *r, const struct image *image);
/*
 * Who made it, or was in its process before: an older image; NULL: none is known.  What exec runs
 * does not always know whose child it is.
 */
const struct image *image_likely_parent(const struct report *r, const struct image *image);
/* Sets .needed of those whose records somebody alive may still read. */
void images_mark_needed(struct report *r);
/* Do both speak of one process?  Of those in namespaces of their own, as far as can be told. */
bool image_is_of_process(const struct image *a, const struct image *b);
/* Is there a later image of the same process?  exec has thrown this one away. */
bool image_has_exec_successor(const struct image *image);
/* The image it shares old records, stacks and modules with, or NULL. */
struct image *image_parent(const struct report *r, const struct image *image);
/* Absorbed images that no other's stacks refer to: to r->done, without their maps. */
void images_retire(struct report *r);
/* Forgets those that other processes took back before we read anything of them but the header. */
void images_drop_taken(struct report *r);
/* All images back in r->images, ascending. */
void images_join(struct report *r);
void image_free(struct image *image);

/* ---- read.c, read_leaks.c -------------------------------------------------------------------- */

/* An area of `image`, verified, in a copy to drop; false: it is bad, which has been noted. */
bool read_good_area(struct report *r, const struct image *image, uint32_t area,
                    struct area_copy *copy);
/* Does it belong to the image with this number, as the tables were when they were read? */
bool area_is_of(const struct report *r, uint32_t area, uint32_t number);
/* Reads all of an image's areas: what it had in use. */
void image_collect(struct report *r, struct image *image);
/* Notes what is wrong with areas of images that are not known: their first may be what is bad. */
void orphans_check(struct report *r);

/* What an image that still runs may have added to its map since it was read; once per round is enough. */
void image_read_map(struct report *r, struct image *image);

/*
 * A leak check that the image made in mid-run and that nobody has told yet: what it found becomes the
 * report's leaks, as if it were the one at the end.  *at: where its record lies in the file.  false:
 * there is none.
 */
bool image_read_check(struct report *r, struct image *image, struct leak_check_record *check,
                      uint64_t *at);

/* ---- map.c ----------------------------------------------------------------------------------- */

/* Takes a segment that belongs to the map; false: it does not. */
bool map_read_segment(struct report *r, struct image *image, const struct segment *s);
uint32_t site_of_stack(struct report *r, struct image *image, uint32_t id);
/* A stack of the one frame that depot_node.pc says. */
uint32_t site_of_pc(struct report *r, struct image *image, uint64_t pc);
/* The module with this number - or, without one, at this address; NO_MODULE. */
uint32_t module_of_number(struct report *r, struct image *image, uint32_t number, uint64_t address);
/* The program that it runs, which was linked first of all; NO_MODULE. */
uint32_t module_of_program(struct report *r, struct image *image);
/* The image's thread, or the one it inherited the number from. */
struct thread thread_of_number(struct report *r, struct image *image, uint32_t number);

/* ---- errors.c -------------------------------------------------------------------------------- */

/* Adds what an image's error records say to the report's table. */
void errors_take(struct report *r, struct image *image, const struct error_record *records,
                 uint32_t count);
/* Sorts the table by time, and the processes of each: when all are taken. */
void errors_sort(struct report *r);
/* Gives the first `count` their ids. */
void errors_name(struct report *r, uint32_t count);
/* The stack that says where it happened, a site or NO_SITE: of damage the block's allocation. */
uint32_t error_main_site(const struct error *e);

/* ---- write.c --------------------------------------------------------------------------------- */

/* All of a file, for free; NULL: errno says why. */
char *file_read(const char *path, size_t *bytes);
/* What `put` puts out, under the name by rename; what is no regular file is written in place.  -errno. */
typedef void write_put(FILE *out, void *arg);
int write_whole(const char *path, write_put *put, void *arg);

/* ---- baseline.c ------------------------------------------------------------------------------ */

/* Of a text that `name` stands for; empty: nothing is known. */
int baseline_read_text(struct baseline **out, const char *name, const char *text, size_t bytes,
                       char *err, size_t room);
void baseline_print(const struct report *r, const struct page *page);

/* ---- suppress_own.c -------------------------------------------------------------------------- */

/* Pieces of an image's text, in order; NULL: one is missing. */
void own_text_take(struct report *r, const struct image *image, char *const *pieces,
                   uint32_t count);
void own_text_free(struct own_text *text);
/* `rules` and those of the report's programs, as long as the report; `rules` itself where there are none. */
struct rules *rules_with_own(struct report *r, struct rules *rules);

/* ---- suppress_match.c ------------------------------------------------------------------------ */

/* As report_suppress and report_compare, without counting what rules met: of a run that goes on. */
void findings_match(struct report *r, const struct print_options *how);
bool is_of_libc(const char *base_name); /* of a module */
/*
 * The function that allocated (enum error_entry), by what the innermost frame calls; ENTRY_NONE:
 * not known.
 */
uint32_t allocator_of(const struct report *r, const struct site *site);

/* ---- source_names.c -------------------------------------------------------------------------- */

/* "ns::f" of "int ns::f<int>(char)", and where "f" is in it; NULL: an operator.  Freed by the caller. */
char *qualified_name(const char *full, const char **simple);
/* "f<int>" of it, "operator+" of "ns::operator+(ns::a)": as it is declared.  Freed by the caller. */
char *declared_name(const char *full);

/* ---- leaks.c --------------------------------------------------------------------------------- */

/* Adds what one of an image's groups says to the report's table, or to a sum. */
void leak_take(struct report *r, struct image *image, const struct leak_group *g,
               const struct root_record *roots, uint32_t root_count);
void leaks_free(struct report *r);
/* A piece of what a call has mapped; `blocks`: 1 for the first of each call. */
void mapping_take(struct report *r, struct image *image, const struct map_region *m,
                  uint32_t blocks);
/* Sorts the table by class and size, and the processes of each: when all are taken. */
void leaks_sort(struct report *r);
/* Gives those from `from` up to `end`, the first of them the first of its kind, their ids. */
void leaks_name(struct report *r, uint32_t from, uint32_t end);
void leaks_name_all(struct report *r);
uint32_t leak_kind(enum leak_class class);    /* a bit of LEAK_*; 0: it is told with others */
const char *leak_code(enum leak_class class); /* "mel", .. */

/* ---- sites.c --------------------------------------------------------------------------------- */

uint32_t module_intern(struct report *r, const struct module_record *m, uint32_t image);
uint32_t frame_intern(struct report *r, uint32_t module, uint64_t offset, bool exact);
uint32_t site_intern(struct report *r, const uint32_t *frames, uint32_t count, uint32_t end);
/*
 * The place of an error with the same kind, damage, entry and stacks - of a wua, whose finder is
 * chance, the stack that allocated its block alone: `error` itself, if it is new.
 */
uint32_t error_intern(struct report *r, const struct error *error);
void sites_free(struct report *r);
void frame_free(struct frame *frame); /* what it points to, not itself */

/* ---- ids.c ----------------------------------------------------------------------------------- */

/* "duf-01234567" of a symbolized site, or of NO_SITE. */
void id_of_site(const struct report *r, const char *code, uint32_t site, char id[ID_BYTES]);
/* The same, told apart by `what` from others of this code. */
void id_of_kind(const struct report *r, const char *code, const char *what, uint32_t site,
                char id[ID_BYTES]);
/*
 * .2, .3 behind equal ids: the first keeps the plain one.  An id is what each of `items`, which lie
 * `stride` bytes apart, begins with.
 */
void ids_make_unique(void *items, uint32_t count, size_t stride);
/* How many frames of a symbolized stack are the user's: not what comes before main. */
uint32_t user_frames(const struct report *r, const struct site *site);

/* ---- group.c --------------------------------------------------------------------------------- */

/* Numbers of one image come together. */
void image_numbers_add(struct image_numbers *images, uint32_t number);
void image_numbers_sort(struct image_numbers *images);

/* Blocks in use from one site, in all images but those that exec threw away. */
struct record {
    char id[ID_BYTES];
    struct disposition disposition; /* by rules of dbx's grammar that are about biu */
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
 * Sorted by bytes, then blocks.  Only the first `named` have symbols, and ids only when all have.
 * Freed by records_free.
 */
struct record *records_make(struct report *r, uint32_t named, uint32_t *count);
void records_free(struct record *records, uint32_t count);
struct totals totals_of(const struct report *r);
/* What others than this report took out of the file: .processes counts images. */
struct totals totals_elsewhere(const struct report *r);
/* Did exec throw this image away, with all that it had? */
bool image_was_replaced(const struct image *image);
/* And by something that nobody has seen report? */
bool image_was_lost(const struct report *r, const struct image *image);
/* Is it one that the checked program's malloc was ours in, and that can be believed? */
bool image_is_checked(const struct image *image);
/* The image of the program that the run was made for: the root, or what it became by exec. */
struct image *image_main(const struct report *r);

#endif

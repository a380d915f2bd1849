/*
 * read.h - from a run file to the tables of a report: the interface of read.
 *
 *   collect.c   opens a report, and reads all images at the end
 *   absorb.c    takes ended images out of a file that is still being written
 *   read.c      one image's areas: errors and texts, blocks in use (read_blocks.c; counts.c by
 *               stack), leaks (read_leaks.c), mappings (read_maps.c), costs (cost_sums.c)
 *   map.c       the meaning of an image's numbers: stacks, modules, threads
 *   errors.c, leaks.c   merge the findings of all processes
 *   own_text.c  suppressions that programs contain
 *   launcher_record.c   the results that only the launcher has
 *   now.c       current values of a running program (now.h)
 *   unchecked.c programs that were not checked (unchecked.h)
 *   heap.c      the heap in the file (heap.h); heap_core.c: as a core file
 *   dump.c      a file in full, for developers of rtcheck
 *
 * Every area is verified before it is read (view.h). An area that is bad, or an image that lacks
 * some, is noted in the report, and the rest is read. Indices become those of the report's tables,
 * so that findings of different processes can be compared. Files of programs are not opened.
 */
#ifndef READ_H
#define READ_H

#include "model.h"

/* ---- read.c, read_leaks.c -------------------------------------------------------------------- */

/* Read again the map of an image that may still run; at most once a round (map_tried). */
void image_read_map(struct report *r, struct image *image);

/*
 * Read a leak check that the image made in mid-run and that is not yet reported. `requested`: by another
 * process, else by the program. Its leaks become the report's leaks, like those of the check at exit.
 * *at: file offset of the check's record.
 * false: there is no such check.
 */
bool image_read_check(struct report *r, struct image *image, bool requested,
                      struct leak_check_record *check, uint64_t *at);

/* ---- map.c ----------------------------------------------------------------------------------- */

/* Return the module with this number or, if it is 0, at this address; NO_MODULE: none. */
uint32_t module_of_number(struct report *r, struct image *image, uint32_t number, uint64_t address);

/* ---- leaks.c --------------------------------------------------------------------------------- */

/*
 * Sort the table by class and size, and each leak's list of processes. Call after the last
 * leak_take and mapping_take.
 */
void leaks_sort(struct report *r);
void leaks_free(struct report *r);

/* ---- own_text.c ------------------------------------------------------------------------------ */

void own_text_free(struct own_text *text);

#endif

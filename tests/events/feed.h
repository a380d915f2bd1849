/*
 * feed.h - a map of the address space, maintained by events alone.
 */
#ifndef EVENTS_FEED_H
#define EVENTS_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "maps.h"

#define FEED_PAGE 4096ull
/* Substitutes for the kernel's device numbers of memory without a file system. */
#define DEVICE_SHM (1ull << 40)       /* inode: the segment */
#define DEVICE_ANONYMOUS (1ull << 41) /* shared; inode: a serial number, or the kernel's */

/* Read the present mappings; all later changes come from events. */
void feed_start(void);

/* Find the range that contains `at`; false: there is none, and *r is unchanged. */
bool feed_find(uint64_t at, struct map_region *r);

/* The same in the kernel's maps. */
bool feed_find_kernels(uint64_t at, struct map_region *r);

/*
 * Compare with /proc/self/maps, without the runtime's own areas and the stack; no thread may change
 * a mapping meanwhile.  Return the number of differences, which are printed on stderr.
 */
unsigned feed_compare(void);
uint32_t feed_ranges(void);

#endif

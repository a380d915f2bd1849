/*
 * feed.h - what is mapped, kept from events alone.
 */
#ifndef EVENTS_FEED_H
#define EVENTS_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow.h"

#define FEED_PAGE 4096ull
/* Stand-ins for devices that the kernel has for what is in no file system. */
#define DEVICE_SHM (1ull << 40)       /* inode: the segment */
#define DEVICE_ANONYMOUS (1ull << 41) /* shared; inode: a serial number, or the kernel's */

/* What is mapped now is read, all later changes come from events. */
void feed_start(void);

/* The range that `at` lies in, or *r unchanged and false. */
bool feed_find(uint64_t at, struct map_region *r);

/* The same by what the kernel says. */
bool feed_find_kernels(uint64_t at, struct map_region *r);

/*
 * Compares with /proc/self/maps, without the runtime's own areas and the stack; nobody may change anything
 * meanwhile.  The number of differences, which are said on stderr.
 */
unsigned feed_compare(void);
uint32_t feed_ranges(void);

#endif

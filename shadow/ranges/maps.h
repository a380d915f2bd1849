/*
 * maps.h - interface of ranges: the table of mapped ranges, with the kernel's rules for changes.
 *
 * The runtime records here what the program has mapped, by which call, and with what protection.
 * The address map of the run file (src/maps) is a copy of this table: maps_next_changed returns the
 * ranges that have changed since they were copied.
 *
 * A range is a struct map_region (format/records.h).  Ranges are sorted by address and do not
 * overlap; neighbours with equal attributes are joined, as in /proc/PID/maps.
 *
 * The caller provides the storage and its size; nothing is allocated.  No function makes a system
 * call, takes a lock or has static variables.  Changes and reads must not run concurrently:
 * maps_find moves the position at which the next search starts.
 */
#ifndef MAPS_H
#define MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/bits.h"
#include "format/format.h"

#define MAP_LEAF_REGIONS 32u

struct map_leaf {
    uint8_t order[MAP_LEAF_REGIONS]; /* slot numbers of its ranges, by address */
    uint32_t count;
    uint32_t used;         /* bit n: slot n contains a range */
    uint32_t changed;      /* bit n: slot n has changed since the last query */
    uint32_t next_changed; /* 0: not in the list */
    uint32_t next_free;
    struct map_region region[MAP_LEAF_REGIONS];
};

/* Not synchronised: the caller excludes concurrent changes and reads. */
struct maps {
    struct map_leaf *leaf;
    uint32_t *order;
    uint32_t room, made, leaves; /* leaves: capacity, ever used, in use */
    uint32_t free;
    uint32_t changed;
    struct map_spot {
        uint32_t k, i;     /* the i-th range of the k-th leaf */
    } last;                /* the last range found; the next search starts there */
    uint32_t count;        /* number of ranges */
    uint64_t called_bytes; /* sum of the ranges that are MAP_CALLED */
};

/* Size of the storage for `regions` ranges.  The caller provides it, aligned for uint64_t. */
size_t maps_bytes(uint32_t regions);
void maps_init(struct maps *m, void *storage, size_t bytes);

/*
 * The kernel's semantics: a new mapping replaces all mappings in its range; a range to remove or
 * protect may have holes.  Return false, without a change, if there is no room.
 */
bool maps_put(struct maps *m, const struct map_region *r);
bool maps_remove(struct maps *m, uint64_t start, uint64_t end);
bool maps_protect(struct maps *m, uint64_t start, uint64_t end, uint8_t protection);

/* Remove the range that has exactly this start and end, and copy it to *out. */
bool maps_take(struct maps *m, uint64_t start, uint64_t end, struct map_region *out);

/* Return the first range that ends above `at`, or NULL.  Valid until the next change. */
const struct map_region *maps_find(struct maps *m, uint64_t at);
/* Is the whole range unmapped? */
bool maps_is_free(struct maps *m, uint64_t start, uint64_t end);

/*
 * For a copy of the table: return the number + 1 of a leaf that has changed since it was last
 * returned here, and a mask of the changed slots.  Return 0 if there is none.  A leaf that is empty
 * now is no longer in use.
 */
uint32_t maps_next_changed(struct maps *m, uint32_t *slots_mask);
/* Mark all leaves as copied; only later changes are returned. */
void maps_forget_changes(struct maps *m);

/* Invariants: ranges are sorted, do not overlap, and equal neighbours are joined. */
bool maps_is_valid(const struct maps *m);

#endif

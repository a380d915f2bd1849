/*
 * access.h - the access model: may a range of addresses be read or written? (access.c)
 *
 * The states are those that dbx's manual teaches.  An address that is not in the heap has none of
 * them: the caller decides that first.  The runtime uses these functions for every access that it
 * checks, and the reporter to word it.
 */
#ifndef ACCESS_H
#define ACCESS_H

#include <stdbool.h>
#include <stdint.h>

enum access_state {
    ACCESS_ALLOCATED,   /* all bytes belong to one block in use */
    ACCESS_REDZONE,     /* some are past the end of the block, or before its start */
    ACCESS_FREED,       /* some are in a block that was freed */
    ACCESS_UNALLOCATED, /* no block was ever there, or none that is known */
};

/* A block, or what its slot held last. */
struct access_block {
    uint64_t start, bytes;
    uint32_t state; /* enum block_state */
};

struct access_verdict {
    enum access_state state;
    uint64_t allowed; /* bytes of the range before the first that must not be accessed */
    uint64_t
        distance;   /* REDZONE: from the block's end, or to its start, to the range; 0: adjacent */
    bool is_before; /* REDZONE: before the start */
};

/* Check the range [at, at + bytes) against the block that it belongs to. bytes == 0 is allowed. */
struct access_verdict access_check(uint64_t at, uint64_t bytes, const struct access_block *b);

/*
 * The block that an access at `at` belongs to: `own` is that of the slot that contains the address,
 * `next` that of the next slot. Slack between them belongs to both; the nearer one in use is meant.
 */
const struct access_block *access_owner(uint64_t at, uint64_t bytes, const struct access_block *own,
                                        const struct access_block *next);

#endif

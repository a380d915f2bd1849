/*
 * errors.h - what the program did wrong, and where that was (errors.c, region.c).
 */
#ifndef ERRORS_H
#define ERRORS_H

#include "pool.h"
#include "unwinder.h"

/*
 * What the program called: the entry, for reports, and the family of blocks that it makes or expects.
 * Of ENTRY_NONE it is not told that there was no memory.
 */
#define OP(entry, family) ((uint32_t)ENTRY_##entry << 8 | FAMILY_##family)

/* The same, for blocks of any family. */
#define OP_ANY(op) (((op) & ~(uint32_t)0xff) | FAMILY_COUNT)

ALWAYS_INLINE enum block_family op_family(uint32_t op)
{
    return (enum block_family)(op & 0xff);
}

ALWAYS_INLINE enum error_entry op_entry(uint32_t op)
{
    return (enum error_entry)(op >> 8);
}

#define SIZE_NOT_GIVEN UINT64_MAX

struct error_call {
    struct thread *t; /* NULL: not known */
    uint32_t write_epoch;
    uint32_t op;
    uint32_t stack; /* of the call, 0 = none */
};

/*
 * All inside a section.  error_free: p is not the start of a live block; true: it is a block of libc's
 * own allocator, to be freed there, once we are outside.
 */
bool error_free(const struct error_call *call, const void *p, const struct found *f);
/* The same of a pointer that was only asked about; a block of libc's is no error. */
bool error_query(const struct error_call *call, const void *p, const struct found *f);
/* p is not the start of a live block that the program has recorded: `n`, unless it is PTR_FOREIGN. */
void error_client_block(const struct error_call *call, const void *p, enum verdict verdict,
                        const struct client_block *n);
/* What a free was told of its block: SIZE_NOT_GIVEN, 0: nothing. */
struct given_shape {
    uint64_t size, align;
};
/* A block that said `was` was freed, or moved, by a function for others, or that was told another shape. */
void error_mismatch(const struct error_call *call, const void *p, const struct found *f,
                    uint64_t was, const struct given_shape *given);
void error_damage(const struct error_call *call, const struct damage *d);
/* A live block was given to realloc with a size of 0. */
void error_realloc_zero(const struct error_call *call, const void *p, const struct found *f);
void error_alignment(const struct error_call *call, uint64_t align);
void error_no_memory(const struct error_call *call, uint64_t bytes);
uint64_t errors_no_memory(void); /* how often, in this image */
/*
 * [start, start + bytes) is about to be unmapped, and is not to be: `region` says why, with what belongs
 * to it; REGION_HEAP: f is of the block at its start.
 */
void error_unmap(const struct error_call *call, uintptr_t start, uint64_t bytes,
                 const struct found *f, const struct error_record *region);
void errors_start(void);
void errors_after_fork(void);
/* Behind the section in which an error was found: stops, aborts or goes on. */
void errors_act(void);
/* Looks at all blocks that are there; once, at the end.  Not in a section. */
void errors_sweep(void);

/* Fills in region and what belongs to it. */
void region_of(uintptr_t at, struct error_record *e);
/* A block of libc's own allocator, as far as can be seen.  Signal-safe. */
bool region_is_libcs(const void *p);

#endif

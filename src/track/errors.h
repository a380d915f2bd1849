/*
 * errors.h - error records (errors.c), and the memory region of an address (region.c).
 */
#ifndef ERRORS_H
#define ERRORS_H

#include "heap.h"
#include "unwinder.h"

/*
 * The function that the program called: its entry (for reports), and the family of blocks that it
 * makes or expects. With ENTRY_NONE a failed allocation is not reported.
 */
#define OP(entry, family) ((uint32_t)ENTRY_##entry << 8 | FAMILY_##family)

/* The same function, for blocks of any family. */
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
 * All inside a section. error_free: p is not the start of a live block. true: it is a block of
 * libc's own allocator; free it there, outside of the section.
 */
bool error_free(const struct error_call *call, const void *p, const struct found *f);
/* The same for a query about p, such as malloc_usable_size. A block of libc's is no error. */
bool error_query(const struct error_call *call, const void *p, const struct found *f);
/* p is not the start of a live client block. n: the block found there, unless it is PTR_FOREIGN. */
void error_client_block(const struct error_call *call, const void *p, enum verdict verdict,
                        const struct client_block *n);
/* The size and the alignment that a free was given; SIZE_NOT_GIVEN and 0: none. */
struct given_shape {
    uint64_t size, align;
};
/*
 * A block with the word `was` was freed, or moved, by a function of another family, or with another
 * size or alignment.
 */
void error_mismatch(const struct error_call *call, const void *p, const struct found *f,
                    uint64_t was, const struct given_shape *given);
void error_damage(const struct error_call *call, const struct damage *d);
/*
 * A call accesses memory that it must not. `owner`, at `start`: the block that the access is in or
 * near; NULL: none.
 */
struct access;
void error_access(const struct error_call *call, const struct access *a, const struct found *owner,
                  uintptr_t start);
/* A call has read memory that was not written since its allocation. */
struct uninitialised;
void error_uninitialised(const struct error_call *call, const struct uninitialised *u);
/* A copy whose source and destination overlap. */
void error_overlap(const struct error_call *call, const void *to, const void *from, uint64_t bytes);
/* A live block was passed to realloc with a size of 0. */
void error_realloc_zero(const struct error_call *call, const void *p, const struct found *f);
void error_alignment(const struct error_call *call, uint64_t align);
/* A signal is about to end the program. */
struct crash {
    int signal, code;
    uint64_t pc, address;
    uint32_t access, access_bytes, flags; /* as in error_record */
    uint32_t sender;
    uint64_t source;     /* CRASH_OF_FILL, CRASH_OF_NEW_FILL: the pointer that has the fill */
    const void *context; /* the ucontext of the signal */
    char exception[CRASH_EXCEPTION_BYTES];
};
void error_crash(const struct error_call *call, const struct crash *c);
void error_no_memory(const struct error_call *call, uint64_t bytes);
uint64_t errors_no_memory(void); /* failed allocations of this image */
/*
 * The program is about to unmap [start, start + bytes), and must not. `region` holds the reason and
 * the fields that belong to it. REGION_HEAP: f is the block at `start`.
 */
void error_unmap(const struct error_call *call, uintptr_t start, uint64_t bytes,
                 const struct found *f, const struct error_record *region);
void errors_start(void);
void errors_after_fork(void);
/* After the section in which an error was found, with its record: call rtc_error_break, and act on --on-error. */
void errors_act(const struct error_record *e);
/* Texts, as in the report; "?": unknown. */
const char *error_title(uint32_t kind);
const char *error_entry_name(uint32_t entry);
/* The sweep: check redzones and fills of all blocks. Once, at the end, outside of sections. */
void errors_sweep(void);

/* Fill in e->region, and the fields that belong to it. */
void region_of(uintptr_t at, struct error_record *e);
/* Is p a block of libc's own allocator, by a heuristic check of its chunk header? Signal-safe. */
bool region_is_libcs(const void *p);

#endif

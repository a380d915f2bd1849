/*
 * heap.h - the heap of an image, as the run file has it with heap=file: its blocks, their bytes, and
 * the bytes that the runtime wrote around them.  Part of read's interface.
 *
 *   heap.c       where the heap is, its blocks and its bytes
 *   heap_core.c  the heap as an ELF core file, for debuggers
 *
 * Records are those of verified copies, which the struct owns.  Bytes are read from the file when they
 * are requested, and are not trusted: a process that still runs, or a damaged file, may have any.
 */
#ifndef HEAP_H
#define HEAP_H

#include "read.h"

/* A slab, or a large block: `unit` is the first field, by which they are sorted. */
struct heap_part {
    uint64_t unit;  /* counted from the heap's base */
    uint64_t units; /* its end is inside the heap */
    uint64_t epoch;
    const struct segment *slab; /* NULL: a large block */
    const struct large_record *large;
    bool is_inherited; /* an ancestor's record, which the image has not changed */
};

struct heap {
    struct report *report;
    struct image *image;
    struct image
        *owner;      /* of the heap in the file: an ancestor if a fork made the image's private */
    uint64_t base;   /* the address of the first byte in the process */
    uint64_t offset; /* the same byte in the file */
    uint64_t bytes;
    struct area_copy *areas; /* with the records of the parts */
    uint32_t area_count;
    struct heap_part *parts; /* by unit, each unit once */
    uint32_t part_count;
    bool is_shared;    /* by forked children, with --fork=shared */
    bool is_left;      /* the bytes are those before a fork: the heap is private memory since */
    bool has_guards;   /* blocks may be guarded: redzones end with their page */
    uint32_t wide;     /* --redzone-size; 0: the default */
    char *chunk;       /* the bytes that were read last */
    uint64_t chunk_at; /* their offset in the heap */
};

/* A block.  All offsets are from its first byte. */
struct heap_block {
    uint64_t address;
    uint64_t bytes; /* requested */
    uint64_t word;  /* of its record */
    uint32_t alloc_stack, free_stack;
    /* redzone: the last `before` bytes before the block; after it `after` bytes, and from `tail` to `room` */
    uint64_t before, after, tail, room;
    uint64_t fill; /* word that a freed block is filled with */
    bool is_large, has_fill;
    bool is_inherited; /* its record is that of a fork: perhaps it was freed since */
    bool is_lost; /* allocated or freed after a fork made the heap private: no bytes in the file */
};

/*
 * Open the heap of the image with this number, 0: of the first that has one in the file.  If a fork made the
 * image's heap private, the file has what was in its ancestor's before.  -ENODATA: the file has nothing of it;
 * err has the reason, and which option is needed.  Call after images were read.
 */
int heap_open(struct report *r, struct heap *h, uint32_t number, char *err, size_t room);
void heap_close(struct heap *h);
/*
 * Set *number to the image of a process, to the last one if it has executed programs; to 0, any image, if pid
 * is 0 or the run's process ids are those of another namespace.  -ENODATA: the run has no such process.
 */
int heap_image_of(const struct report *r, uint32_t pid, uint32_t *number, char *err, size_t room);

/* Find the block or freed block whose slot or units have this address. */
bool heap_find(const struct heap *h, uint64_t address, struct heap_block *b);
/* The value that the runtime wrote at an offset, which may be negative; -1: any. */
int heap_expected(const struct heap_block *b, int64_t offset);

/* The stack with this number, as a site; a thread of the image. */
uint32_t heap_site(const struct heap *h, uint32_t stack);
struct thread heap_thread(const struct heap *h, uint32_t number);

/* Read bytes at an address; those outside of the heap read as zero. */
void heap_read(struct heap *h, uint64_t address, void *to, size_t bytes);

/* Call `found` for each aligned word in the heap with a value in [low, high). */
void heap_search(struct heap *h, uint64_t low, uint64_t high,
                 void (*found)(void *data, uint64_t address, uint64_t value), void *data);

#endif

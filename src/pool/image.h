/*
 * image.h - the run file and our image in it: areas, segments, stacks by number, modules.
 *
 * Called as pool.h says.
 */
#ifndef IMAGE_H
#define IMAGE_H

#include "base.h"
#include "os.h"
#include "shadow.h"

/* ---- the run file (run_file.c), our image in it (image.c, segment.c) ------------------------- */

enum run_source { RUN_NONE, RUN_INHERITED, RUN_MADE };

struct run_request {
    const char *env;      /* RTCHECK_RUN_FILE's value, or NULL: by hand */
    const char *pool_dir; /* option, may be empty */
    char *const *envp;
    const char *options; /* by hand: to be kept in the run header */
    bool has_heap;       /* heap=file */
    uint64_t
        heap_bytes; /* of the heap in the file; sizes that cannot be used give a private heap */
};

/* Maps the run; from then on run_header() is not NULL.  -errno: the run goes unrecorded. */
int run_start(const struct run_request *request);
struct run_header *run_header(void);
const char *run_path(void); /* by hand: its name; "" with the launcher */
/*
 * By hand, an exec is near (or failed: false): the file gets a name by which the image that comes
 * removes it.  Otherwise every exec would leave a file behind.
 */
void run_step_aside(bool aside);
struct area_entry *run_areas(void);
struct lease *run_leases(void);
char *run_area(uint32_t index);   /* where it is mapped; NULL: beyond our window */
uint32_t run_area_limit(void);    /* how many areas this process can reach */
void *run_heap(void);             /* heap=file: the reserved mapping */
bool run_contains(const void *p); /* does it lie in the mapping of the file? */
void run_ring(void);              /* the launcher's doorbell */

struct image_request {
    enum image_how how;
    uint32_t parent;
    uint32_t lease; /* index + 1 */
    uint32_t first_thread;
    uint32_t first_depot_chunk;
    uint32_t frames; /* that stacks have at most */
    uint32_t checks; /* CHECK_*; a forked image's are its parent's */
    uint32_t error_limit;
    uint32_t flags;
};

/* Claims an area and writes our image header.  Without a run file the header is private. */
void image_start(const struct image_request *request);
struct image_header *image(void); /* never NULL after image_start */
void image_flag(uint32_t flag);
void image_count(_Atomic uint64_t *counter);
/* The file has no room for what segments of this kind hold. */
void image_lacks(enum segment_kind kind);
/* Some of what the machine lacks is found out when the image has begun: says it in its header. */
void image_note_losses(void);
/*
 * A program is about to be executed that will not be checked: counted in this image, and in the run's table by its
 * path (unchecked.c).  Signal-safe; also in vfork children and in a child that is no image yet, whose image is their
 * parent's.  NULL: the table is full, or there is none.
 */
struct unchecked_record *unchecked_note(const char *path, enum unchecked_reason why,
                                        uint32_t flags);
void unchecked_withdraw(struct unchecked_record *record); /* the exec failed; NULL is allowed */
/* Says goodbye; the first caller wins. */
void image_end(enum image_end how, int status);
/* An exec failed: it goes on. */
void image_reopen(void);

/*
 * A zeroed segment, state BUILDING; in the run file, else (full, none) private and counted.
 * NULL: not even private memory.  segment_publish makes it CURRENT.
 */
struct segment *segment_take(enum segment_kind kind, uint32_t capacity, uint32_t item_bytes,
                             uint64_t index);
/* The same, but in the run file or not at all; without a run file private. */
struct segment *segment_take_in_file(enum segment_kind kind, uint32_t capacity, uint32_t item_bytes,
                                     uint64_t index);
void segment_publish(struct segment *s);
/* Nobody alive needs it: its bytes may be used again. */
void segment_vacate(struct segment *s);
/* How much of the run file is this image's, and how much of that is in use; both 0 without one. */
void segment_room(uint64_t *bytes, uint64_t *used);

/* ---- stacks by number (depot.c), modules (modules.c) ----------------------------------------- */

/*
 * The id of a stack; 0: none, there was no room.  Frames are words as in depot_node.pc, innermost
 * first.  In a handler that interrupted us without `may_grow`: then signal-safe.
 */
uint32_t depot_put(const uint64_t *pc, uint32_t count, uint32_t end, bool may_grow);
/* The same of a trace, whose frames then know their ids; and: if it is known, 0 if it is not. */
uint32_t depot_put_cached(struct cached_stack *t, bool may_grow);
uint32_t depot_find_cached(const struct cached_stack *t);
/* The frames of a stack, innermost first; how many there are of them. */
uint32_t depot_get(uint32_t id, uint64_t *pc, uint32_t room);
bool depot_has(uint32_t id); /* any number: is it one of a stack, or of what several begin with? */
uint32_t depot_next_chunk(void);
/* In a forked child; `fresh`: forget the parent's. */
void depot_after_fork(bool fresh);

/* The number of an object, recorded when it is new; 0: there is no room, or no `may_grow`. */
uint32_t modules_number(const struct object *o, bool may_grow);
/* The loader is about to free its handle of an object: it is unmapped.  Its number, 0 = not known. */
uint32_t modules_unloaded(const void *handle);
void modules_after_fork(bool fresh);

#endif

/*
 * runfile.h - the interface of runfile: the run file, and this image's part of it.
 *
 *   run_file.c               the mapping of the whole file, inherited or created by hand
 *   image.c, area.c          the header of this image; areas, claimed by one compare-and-swap
 *   segment.c                segments in the areas, else in private memory
 *   reclaim.c, lease.c       areas of ended images; which records other processes may still read
 *   depot.c, modules.c       stacks by number, and the objects that their frames are in
 *   threads.c, thread_records.c  all threads, and their records (thread_list.h)
 *   heap_file.c              heap=file: the heaps in the file
 *   unchecked.c              programs that were started unchecked
 *   cut.c                    survives that the file is truncated while it is mapped
 *
 * Data: all that a reader of the file needs, in the layout of format/format.h.  The list of free
 * thread records and the depot's index are private memory, because the program can write to the
 * file.  If the file is missing or full, segments are private memory and are counted.
 *
 * Calling conditions: those of heap.h, unless stated otherwise.
 *
 * Locks, in this order (enum lock_rank): fallback thread, list of threads, {depot, modules},
 * segments and areas.  The depot and the list of threads are read without a lock.  The tables in
 * area 0, which all processes share, have no locks: their writers may be killed.
 */
#ifndef RUNFILE_H
#define RUNFILE_H

#include "base.h"
#include "os.h"
#include "shadow.h"

/* ---- the run file (run_file.c), this image in it (image.c, segment.c) ------------------------ */

enum run_source { RUN_NONE, RUN_INHERITED, RUN_MADE };

struct run_request {
    const char *env;      /* value of RTCHECK_RUN_FILE; NULL: started by hand */
    const char *pool_dir; /* option, may be empty */
    char *const *envp;
    const char *options; /* by hand: copied into the run header */
    bool unnamed;        /* by hand, in a file that no other process can open */
    bool has_heap;       /* heap=file */
    /* size of the heap in the file; an unusable size gives a private heap */
    uint64_t heap_bytes;
};

/* Map the run file; afterwards run_header() is not NULL.  -errno: the run is not recorded. */
int run_start(const struct run_request *request);
struct run_header *run_header(void);
const char *run_path(void); /* by hand: the file's path; "" with the launcher */
/*
 * By hand: an exec follows (or failed: false).  Renames the file, so that the next image of the
 * process removes it.  Otherwise every exec would leave a file.
 */
void run_step_aside(bool aside);
struct area_entry *run_areas(void);
struct lease *run_leases(void);
char *run_area(uint32_t index); /* address of its mapping; NULL: outside the mapped window */
uint32_t run_area_limit(void);  /* number of areas that this process has mapped */
int run_open(void);             /* a descriptor of the file, or -errno; the caller closes it */
/*
 * The heap is a file of its own, without a name, in this folder (pool_file.c).  Its space is
 * allocated here, and returns to the file system when the last process that maps it ends.
 */
int run_make_pool(const char *folder, uint64_t bytes);
char *run_pool(uint64_t *bytes); /* its mapping, without access rights; NULL: there is none */
/*
 * A private mapping of its first `ready` bytes, without access rights, which the caller moves to its place.
 * NULL: it was taken, or could not be made.
 */
char *run_pool_take_spare(uint64_t ready);
bool run_is_short(void); /* has another process truncated the file?  false if unknown */
/* Has the file system room for so many bytes more?  true if unknown. */
bool run_has_room(uint64_t bytes);
bool run_is_in_memory(void);      /* is the file in a file system without a disk? */
bool run_contains(const void *p); /* is p in the mapping of the file? */
void run_ring(void);              /* wakes the launcher */

/* ---- heaps in the file (heap_file.c); they are numbered from 1, and 0 is none ---------------- */

uint64_t heap_file_bytes(void); /* of each; 0: there are none */
/* Take a heap of the file: it is a hole, and no process's.  0: all are in use. */
uint32_t heap_file_take(void);
/* Give a heap back that no process uses (any more). */
void heap_file_drop(uint32_t number_1);
uint64_t heap_file_offset(uint32_t number_1); /* in the file */
/*
 * Map [offset, offset + bytes) of it over a reservation of the runtime, inaccessible and not part of core
 * dumps.  0 or -errno.
 */
int heap_file_map(uint32_t number_1, uint64_t offset, uint64_t bytes, void *at);
void heap_file_use(uint32_t number_1); /* it is this process's own from now on; 0: none is */
uint32_t heap_file_used(void);
/* To which process the heap of a forked child belongs. */
void heap_file_set_pid(uint32_t number_1, uint32_t pid);
void heap_file_set_image(void); /* this image has its number now */
/* A forked child shares its parent's heap: no process empties it but the launcher, after the last one. */
void heap_file_set_shared(void);
/* Give back the heap of the image that this one has replaced by exec. */
void heap_files_after_exec(void);

/* Pages of records that were lost because the file was truncated. */
struct lost_records {
    uintptr_t start, end;
    char *content; /* what will be in their place: `fill` writes there */
};

/*
 * In a handler of SIGBUS: if a page of records at p is past the end of the file, replace it and the
 * lost pages that follow it by private memory.  `fill` makes the records that the heap needs.
 * Return true if p can be accessed now.  Afterwards run_is_cut() is true, in forked children too:
 * findings cannot be recorded any more, and what the records say of blocks is not reliable.
 */
bool run_replace_lost(const void *p, void (*fill)(const struct lost_records *lost));
bool run_is_cut(void);
/*
 * Called where records look wrong: was the file truncated, and nothing has noticed it yet?  If it
 * was, its lost pages are replaced now, by SIGBUS, and the records can be read again.
 */
bool run_notice_cut(void);
/* Is the file's header past its end, and not replaced?  Then accesses to the file raise SIGBUS. */
bool run_is_gone(void);

struct image_request {
    enum image_how how;
    uint32_t parent;
    uint32_t lease; /* index + 1 */
    uint32_t first_thread;
    uint32_t first_depot_chunk;
    uint32_t frames; /* maximum of frames per stack */
    uint32_t checks; /* CHECK_*; a forked image inherits its parent's */
    uint32_t error_limit;
    uint32_t flags;
};

/* Claim an area and write the image header.  Without a run file the header is private. */
void image_start(const struct image_request *request);
struct image_header *image(void); /* never NULL after image_start */
void image_flag(uint32_t flag);
void image_count(_Atomic uint64_t *counter);
/* Record that the file had no space for a segment of this kind. */
void image_lacks(enum segment_kind kind);
/* Update the header's list of missing features; some are detected after the image has begun. */
void image_note_losses(void);
/*
 * Record that a program is about to be executed unchecked: in this image's counter and, by its
 * path, in the run's table (unchecked.c).  Signal-safe.  May be called in vfork children, and in
 * forked children before they become an image; then the parent's image counts.  NULL: the table is
 * full or missing.
 */
struct unchecked_record *unchecked_note(const char *path, enum unchecked_reason why,
                                        uint32_t flags);
void unchecked_withdraw(struct unchecked_record *record); /* the exec failed; NULL is allowed */
/* Mark the image as ended; only the first call has an effect. */
void image_end(enum image_end how, int status);
/* An exec failed: mark the image as running again. */
void image_reopen(void);

/*
 * Return a zeroed segment in state BUILDING: in the run file, or in private memory if the file is
 * full or missing (counted).  NULL: no memory.  segment_publish makes it CURRENT.
 */
struct segment *segment_take(enum segment_kind kind, uint32_t capacity, uint32_t item_bytes,
                             uint64_t index);
/* The same, but NULL instead of private memory, unless there is no run file. */
struct segment *segment_take_in_file(enum segment_kind kind, uint32_t capacity, uint32_t item_bytes,
                                     uint64_t index);
void segment_publish(struct segment *s);
/* Make the segment's bytes reusable; no living process may read them any more. */
void segment_vacate(struct segment *s);
/* This image's bytes of the run file, and how many of them are used; both 0 without a run file. */
void segment_room(uint64_t *bytes, uint64_t *used);

/* ---- the stack depot (depot.c), modules (modules.c) ------------------------------------------ */

/*
 * Return the id of a stack; 0: no space.  Frames are words as in depot_node.pc, innermost first.  A
 * signal handler that interrupted the runtime must pass may_grow = false; then the call is
 * signal-safe.
 */
uint32_t depot_put(const uint64_t *pc, uint32_t count, uint32_t end, bool may_grow);
/*
 * The same for a cached stack; stores the ids in its frames.  depot_find_cached: 0 if it is not in
 * the depot.
 */
uint32_t depot_put_cached(struct cached_stack *t, bool may_grow);
uint32_t depot_find_cached(const struct cached_stack *t);
/* Copy the frames of a stack, innermost first; returns their number. */
uint32_t depot_get(uint32_t id, uint64_t *pc, uint32_t room);
/* Is this id (any value is allowed) that of a stack, or of the outer frames that stacks share? */
bool depot_has(uint32_t id);
uint32_t depot_next_chunk(void);
/* Called in a forked child; `fresh`: forget the parent's stacks. */
void depot_after_fork(bool fresh);

/*
 * Return the number of an object; a new object is recorded.  0: no space, or it is new and
 * !may_grow.
 */
uint32_t modules_number(const struct object *o, bool may_grow);
/* What identifies an object in all runs (format/stack_key.h), and its load bias. */
struct module_place {
    uint64_t key;
    uint64_t bias;
};
/* For the number of a frame in a stack of this image.  false: there is no such object. */
bool modules_place(uint32_t number, struct module_place *out);
/*
 * The loader is about to free its handle of an unmapped object.  Returns its number, 0 = not
 * recorded.
 */
uint32_t modules_unloaded(const void *handle);
void modules_after_fork(bool fresh);

/* ---- for heap and fork only ------------------------------------------------------------------ */

uint32_t image_number(void);
void segments_after_fork(void);
/* In a forked child: the current areas belong to the parent. */
void areas_after_fork(void);
/*
 * In a child that was forked inside a critical section: replace the parent's areas by private
 * copies, because the interrupted section may still write into them.
 */
void areas_privatise(void);
/* Does the child, or an image that depends on it, still read its parent's records? */
bool lease_needed(struct lease *l);
void modules_post_mortem(void);
bool area_renew(void); /* later appends use a new area; false: none available */

#endif

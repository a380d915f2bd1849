/*
 * leakcheck_priv.h - declarations that only the files of leakcheck share.
 */
#ifndef LEAKCHECK_PRIV_H
#define LEAKCHECK_PRIV_H

#include "finish.h"
#include "leakcheck.h"
#include "leakscan.h"
#include "saved_vectors.h"

/* Memory for the duration of a leak check; it is not a root.  Return false if mmap fails. */
static inline bool range_take(struct range *r, uint64_t bytes)
{
    void *p = os_map(align_up(bytes, PAGE_BYTES));
    if (os_failed(p))
        return false;
    *r = (struct range){(uintptr_t)p, (uintptr_t)p + align_up(bytes, PAGE_BYTES)};
    return true;
}

static inline void range_give_back(const struct range *r)
{
    if (r->start)
        os_unmap((void *)r->start, r->end - r->start);
}

/* ---- stop_the_world.c: stopping the other threads -------------------------------------------- */

/* Another thread of this process, stopped or not. */
struct stopped_thread {
    uint32_t tid;
    uint32_t number;           /* as in block words; 0: the thread never called the allocator */
    _Atomic uint32_t answered; /* 1: it waits in our handler, and the fields below are valid */
    bool over;                 /* still listed by the kernel, but it will never run again */
    bool waits;                /* in a system call and not signalled: STOP_RUNNING */
    uint64_t cpu_ns;           /* if waits: its CPU time at that moment */
    uint64_t argument[OS_CALL_ARGUMENTS]; /* if waits: arguments of its system call */
    uintptr_t control_block;
    struct caller caller; /* if not answered: at most its stack pointer */
    register_mask live;   /* live registers: DWARF numbers, LIVE_VECTORS */
};

#define LIVE_VECTORS REGISTER(DWARF_PC)

ALWAYS_INLINE bool is_answered(const struct stopped_thread *t)
{
    return atomic_load_explicit(&t->answered, memory_order_acquire);
}

struct stopped_world {
    struct stopped_thread *thread; /* [0] is the calling thread */
    uint32_t count;
    uint32_t not_stopped;  /* threads whose registers are unknown */
    uint32_t unresponsive; /* of these: threads that block the signal */
    uint32_t waiting;      /* of these: threads that wait in a system call */
    uint64_t bytes;        /* size of the list */
    uint32_t process;      /* its pid, which is also the first thread's; 0: it has ended */
    bool is_copied;        /* a copy of the memory is scanned: no thread runs in it */
};

/*
 * Stop the other threads by a signal, until world_resume.  The wait is bounded: a thread that
 * blocks the signal, or does not run for too long, counts as not stopped.  Return -errno if the
 * list cannot be allocated or the threads cannot be listed.  `caller`: the live registers of the
 * calling thread.
 *
 * STOP_RUNNING does not signal a thread that waits in a system call which a signal would end with
 * EINTR.  STOP_FOR_END stops all threads.  The program never sees an EINTR of it: a call that
 * cannot be restarted never returns.
 */
enum stop { STOP_RUNNING, STOP_FOR_END };
int world_stop(struct stopped_world *w, const struct caller *caller, enum stop how);
/*
 * Stop the threads that were waiting and have run since.  Return true if there were any: the memory
 * read so far may then be inconsistent.
 */
bool world_stop_runnable(struct stopped_world *w);
void world_resume(struct stopped_world *w);
/* From now on, stopped threads wait at most this long. */
void world_resume_after(uint64_t ns);
/* The same for a process that is gone: registers and stack pointers of its threads are unknown. */
int world_of_killed(struct stopped_world *w);
/*
 * The same for a process that runs on while a snapshot of it is scanned: the stack pointers and arguments of
 * waiting threads are known, all registers unknown.  world_has_run: has one of the waiting threads run since?
 */
int world_of_running(struct stopped_world *w);
bool world_has_run(const struct stopped_world *w);

/* ---- live.c: live registers and live stack of a stopped thread ------------------------------- */

/*
 * Set `live` of each stopped thread.  A thread in a libc syscall wrapper is treated as at the
 * wrapper's call.
 */
void live_determine(struct stopped_world *w);

/* The lowest live address of the stack that contains the thread's stack pointer. */
uintptr_t live_stack(const struct stopped_thread *t);

/* ---- keys.c: slots of deleted pthread keys --------------------------------------------------- */

struct muted {
    void **at;
    void *word;
};

struct muted_words {
    struct range list;
    uint64_t count;
};

/*
 * Set stale values in slots of deleted keys to 0, until keys_unmute.  `all`: no thread runs any
 * more, so treat all threads; else only those that answered.  Until keys_unmute the threads stay
 * stopped, and no code of the program runs.
 */
void keys_mute(const struct stopped_world *w, bool all, struct muted_words *out);
void keys_unmute(struct muted_words *words);

/* ---- roots.c: the memory that is scanned for pointers ---------------------------------------- */

/* A part of a block or of a private mapping that the program has made inaccessible (PROT_NONE). */
struct closed {
    uintptr_t start, end;
    int protection;
};

#define CLOSED_MAX 512u

/* How memory is looked up (dirty_pages.c). */
enum memory {
    MEMORY_OWN,     /* of the runtime: read without a look */
    MEMORY_PRIVATE, /* private to this process */
    MEMORY_CLOSED,  /* private, and not readable yet */
    MEMORY_WRITTEN, /* private: without pages that are those of a file */
    MEMORY_SHARED,  /* pages that are not in memory may have contents, too */
    MEMORY_ON_DISK, /* the same, of a file that may not be in memory at all */
    MEMORY_OF_HEAP, /* shared, of the heap with heap=file: all pages that can be read */
};

struct roots {
    struct root_record *root;
    uint8_t *memory; /* of each root: enum memory */
    uint32_t count, room;
    uint64_t bytes; /* size of both lists */
    struct closed closed[CLOSED_MAX];
    uint32_t closed_count;
};

/* snapshot.c: results of a check beside the program, which may have been killed: never roots. */
struct range snapshot_results(void);

/*
 * List the roots by address: the program's writable mappings without the dead parts of stacks, and
 * the regions that it has registered.  Where both overlap, the registered region comes first.
 * `ours`: further ranges to leave out, at most ROOTS_EXCLUDED.  Call between dirty_pages_begin and
 * dirty_pages_end.  Return -ENOMEM, or -errno if /proc/self/maps cannot be read.
 */
#define ROOTS_EXCLUDED 8u
int roots_find(struct roots *all, const struct stopped_world *w, const struct range *excluded,
               uint32_t count);
void roots_drop(struct roots *all);
/* Append one root: words of a thread's stack. */
void roots_add_words(struct roots *all, const struct range *words, uint32_t thread);
/* While all threads are stopped: make inaccessible memory readable, and restore its protection. */
void roots_open_closed(const struct roots *all);
void roots_close_again(const struct roots *all);
/* The kind of memory at an address. */
enum memory roots_memory(const struct roots *all, uintptr_t at);
/* Pass all words of root `number` to `scan`.  Return the number of bytes that were skipped. */
uint64_t root_words(const struct roots *all, uint32_t number,
                    void (*scan)(void *about, const uint64_t *words, uint64_t count, uint64_t at),
                    void *about);

/* ---- dirty_pages.c: pages that have been written --------------------------------------------- */

/* Call before and after a scan. */
void dirty_pages_begin(void);
void dirty_pages_end(void);
/* A descriptor may be available now. */
void dirty_pages_try_again(void);

/*
 * Find the next run of pages in [*at, end) that may contain pointers and can be read; set *at to
 * its start.  Return false if there is none.
 */
bool dirty_pages_next(enum memory memory, uintptr_t *at, uintptr_t end, uintptr_t *piece_end);

/* ---- witness.c: where the witness of a group lies -------------------------------------------- */

/* Record the owning thread, and the frame, of a group's witness that lies in this root. */
void witness_describe(const struct stopped_world *w, const struct root_record *root,
                      struct leak_group *g);

/* ---- heap_view.c: the heap as the marking phase sees it -------------------------------------- */

/* Fill in `view` and allocate its lists.  Return false if that memory is not available. */
bool heap_view_make(struct reach_heap *view, struct range *lists);
/* Has this image a block of its own?  Many a forked child only prepares an exec. */
bool heap_view_has_own_blocks(void);

/* ---- client_view.c: client blocks and hidden regions ----------------------------------------- */

/* Bytes needed after the view's slabs. */
uint64_t client_view_bytes(void);
/* Add client blocks and regions that the program hides.  `roots`: all mappings. */
void client_view_add(struct reach_heap *view, const struct roots *roots);

/* ---- leaks.c: for on_demand.c, and the state of a check -------------------------------------- */

void leaks_check_now(const struct caller *caller, struct leaks_now *now);
/* Put a record of the check at the end, so that it can be reported now. */
void leaks_put_end(struct leaks_now *now);

/* Wait until no writer is in a section.  false: a thread stays in one. */
bool leaks_stop_writers(void);

/* State of one check. */
struct check {
    struct stopped_world world;
    struct roots roots;
    struct reach_heap heap;
    struct range lists, scratch; /* allocated for the check */
    struct reach_scan *scan;
    uint64_t looked_at, skipped;
    uint32_t root;            /* number of the root being read */
    bool lost;                /* some blocks are unreachable */
    bool stays_stopped;       /* the threads stay stopped after the check */
    struct leak_group *group; /* results of the scan */
    uint32_t groups;
    struct range shared; /* snapshot.c: the results, written by the snapshot */
    struct lease *lease; /* snapshot.c: of the snapshot's records */
    struct leaks_sum sum[REACH_COUNT];
    struct leaks_now *now;   /* NULL: the check at the end */
    struct leak_records *to; /* the segments that it fills */
};

/* Parts of a check, for snapshot.c.  In this order. */
enum leak_check leaks_describe(struct check *c); /* the roots and the heap */
bool leaks_begin_scan(struct check *c);          /* read the records */
void leaks_scan(struct check *c,
                bool all_threads);  /* read memory; all_threads: also keys of running ones */
void leaks_add_up(struct check *c); /* set group, groups and sum */
void leaks_describe_witnesses(struct check *c);

/* ---- leak_records.c: results in the run file ------------------------------------------------- */

/*
 * Write groups and roots, and set c->lost.  Return LEAKS_FOUND, or LEAKS_CUT if the file has no
 * room for all findings.
 */
enum leak_check leak_records_put(struct check *c);
/* Write the record of a check in mid-run, for the reporter. */
void leak_records_put_check(struct check *c, uint64_t ns);
void leak_records_vacate(struct leak_records *w);
/*
 * The segments of the last check at the end; leak_records_void discards them and resets the image's
 * state.
 */
extern HIDDEN struct leak_records leak_records_at_end;
void leak_records_void(void);

/* ---- on_demand.c ----------------------------------------------------------------------------- */

/*
 * Check, and request a report if now->is_reported.  Return false if no check is possible or
 * allowed.
 */
bool leaks_on_demand(struct leaks_now *now);
/*
 * Has the check at the end found a leak that no rule suppresses?  Return true also if no reporter
 * answers.
 */
bool leaks_any_unsuppressed(void);

#endif

/*
 * finish_priv.h - what the files of leave know of each other and nobody else does.
 */
#ifndef FINISH_PRIV_H
#define FINISH_PRIV_H

#include "finish.h"

struct range {
    uintptr_t start, end;
};

/* Memory for the time of a check: no root.  false: there is none. */
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

/* ---- stop_the_world.c: the other threads -------------------------------------------------------------- */

/* Another thread of this process, stopped or not. */
struct stopped_thread {
    uint32_t tid;
    uint32_t number;           /* as in block words, 0 = it never called us */
    _Atomic uint32_t answered; /* it waits in our handler: all below is known */
    bool over;                 /* listed still, but it will never run again */
    bool waits;                /* in a system call, and was sent no signal: STOP_RUNNING */
    uint64_t cpu_ns;           /* of a thread that waits: its CPU time then */
    uint64_t argument[OS_CALL_ARGUMENTS]; /* and of its call */
    uintptr_t control_block;
    struct caller caller; /* not heard: at most its stack pointer */
    uint32_t
        live; /* registers that may hold a value in use: a mask of DWARF's numbers, and LIVE_VECTORS */
};

#define LIVE_VECTORS (1u << CALLER_PC)

ALWAYS_INLINE bool is_answered(const struct stopped_thread *t)
{
    return atomic_load_explicit(&t->answered, memory_order_acquire);
}

struct stopped_world {
    struct stopped_thread *thread; /* the calling one is the first */
    uint32_t count;
    uint32_t not_stopped;  /* threads whose registers are not known */
    uint32_t unresponsive; /* of those unheard: they keep the signal out */
    uint32_t waiting;      /* of those unheard: they wait in a system call */
    uint64_t bytes;        /* of the list */
};

/*
 * Stops the other threads by a signal, until world_resume.  Bounded: a thread that blocks the signal,
 * or does not run for too long, stays unheard.  -errno: there is no memory for it, or the threads
 * cannot be listed.  `caller`: what counts of the calling thread.
 *
 * STOP_RUNNING leaves a thread alone that waits in a system call which a signal would end with EINTR.
 * STOP_FOR_END stops all threads, and the program never sees an EINTR of it either: a call that cannot
 * be repeated never returns.
 */
enum stop { STOP_RUNNING, STOP_FOR_END };
int world_stop(struct stopped_world *w, const struct caller *caller, enum stop how);
/*
 * Stops those threads that were waiting and have run since.  true: there were some, and what was read
 * in between may be of different moments.
 */
bool world_stop_runnable(struct stopped_world *w);
void world_resume(struct stopped_world *w);
/* From now on they wait for so long at most. */
void world_resume_after(uint64_t ns);
/* The same when the process is gone, and nobody knows where its threads were. */
int world_of_killed(struct stopped_world *w);

/* ---- live.c: what a stopped thread may still use ---------------------------------------------- */

#define BELOW_SP_BYTES 128u /* the red zone: the ABI lets a leaf function use it */

/* Determines what each stopped thread may still use; one in a wrapper of libc's counts as at the call of that. */
void live_determine(struct stopped_world *w);

/* The vector registers that the kernel has saved for a signal handler. */
struct saved_vectors {
    const uint64_t *word;
    uint32_t pieces;
    struct {
        uint32_t start,
            end; /* words that were saved; between pieces lies what the stack held before */
    } piece[32];
};
/* `context`: the handler's ucontext.  false: it has none. */
bool live_vectors(const void *context, struct saved_vectors *out);
/* The lowest address in use of the stack that its stack pointer is in. */
uintptr_t live_stack(const struct stopped_thread *t);

/* ---- more of the threads ---------------------------------------------------------------------- */

#define CONTROL_BYTES \
    4096u /* of what libc keeps of a thread, from its control block up: counts always */

/* ---- keys.c: slots of deleted keys ------------------------------------------------------------ */

struct muted {
    void **at;
    void *word;
};

struct muted_words {
    struct range list;
    uint64_t count;
};

/*
 * Sets to 0 what the threads have in slots of deleted keys, until keys_unmute.  `all`: none of them runs any more;
 * else those that are heard.  In between all stand still, and nothing returns to the program.
 */
void keys_mute(const struct stopped_world *w, bool all, struct muted_words *out);
void keys_unmute(struct muted_words *words);

/* ---- roots.c: the memory that pointers are looked for in ------------------------------------- */

/* A piece of a block or of a private mapping that the program has made unreadable. */
struct closed {
    uintptr_t start, end;
    int protection;
};

#define CLOSED_MAX 512u

struct roots {
    struct root_record *root;
    uint32_t count, room;
    uint64_t bytes; /* of the list */
    struct closed closed[CLOSED_MAX];
    uint32_t closed_count;
};

/*
 * What is mapped, writable and the program's, without the dead parts of stacks, and what it has named,
 * by address, the latter first; `ours`: more that is to be left out, at most ROOTS_OURS.  Between dirty_pages_begin and
 * dirty_pages_end.  -errno: there is no memory, or nobody may ask.
 */
#define ROOTS_OURS 8u
int roots_find(struct roots *all, const struct stopped_world *w, const struct range *ours,
               uint32_t count);
void roots_drop(struct roots *all);
/* One more: words of a thread's stack. */
void roots_add_words(struct roots *all, const struct range *words, uint32_t thread);
/* While all threads stand still, memory may be read that the program has closed. */
void roots_open_closed(const struct roots *all);
void roots_close_again(const struct roots *all);
/* Gives all that a root holds to `scan`; bytes that were not looked at. */
uint64_t root_words(const struct root_record *root,
                    void (*scan)(void *about, const uint64_t *words, uint64_t count, uint64_t at),
                    void *about);

/* ---- dirty_pages.c: pages that hold anything ----------------------------------------------------- */

/* Around a search. */
void dirty_pages_begin(void);
void dirty_pages_end(void);

enum dirty_pages {
    DIRTY_RANGE,   /* from *at to *piece_end */
    DIRTY_NONE,    /* no more before `end` */
    DIRTY_UNKNOWN, /* from *at on */
};
/* The next piece of [*at, end) whose pages were touched; *at becomes its start. */
enum dirty_pages dirty_pages_next(uintptr_t *at, uintptr_t end, uintptr_t *piece_end);

/* ---- witness.c: what a witness lies in ------------------------------------------------------- */

/* Fills in whose it is, and the frame around it, of a group whose witness is in this root. */
void witness_describe(const struct stopped_world *w, const struct root_record *root,
                      struct leak_group *g);

/* ---- heap_view.c: the heap, as the marking sees it ------------------------------------------- */

/* Fills in `view`, whose lists lie in memory that is taken for them.  false: there is none. */
bool heap_view_make(struct reach_heap *view, struct range *lists);
/* Has this image a block that is not its parent's?  Many a child only makes ready for an exec. */
bool heap_view_has_own_blocks(void);

/* ---- client_view.c: what lies elsewhere ------------------------------------------------------- */

/* Room that it needs behind the view's slabs. */
uint64_t client_view_bytes(void);
/* Blocks that the program has recorded, and memory that it hides.  `roots`: all that is mapped. */
void client_view_add(struct reach_heap *view, const struct roots *roots);

/* ---- leaks.c: the check ---------------------------------------------------------------------- */

/*
 * Finds out which blocks the program can still get at, and writes that down in place of what was written
 * before.  `caller` NULL: the process is gone, and we outlived it.  `held`: words on the calling thread's
 * stack that count, though `caller` is further out.  `holds`: the other threads stand still until
 * leaks_resume.  true: some are lost.  Not in a section.
 */
#define EXTRA_ROOTS 2u
bool leaks_check(const struct caller *caller, const struct range extra_roots[EXTRA_ROOTS],
                 bool stays_stopped);
/* What was written down is void: the program goes on.  Not in a section. */
void leaks_forget(void);
extern HIDDEN const struct range nothing[EXTRA_ROOTS];

/*
 * Who looks for leaks takes turns with others of this process.  Waits; false: it is this thread's turn
 * already, which a handler has interrupted, or which goes on behind its check.  `blocked`: this thread's
 * signals, from then on and in any case; but not while it waits, for others stop it then by one.
 */
bool leaks_begin(struct os_signals *blocked);
void leaks_done(void);
/* After a check that holds: the others go on; its turn does, too. */
void leaks_resume(void);
/*
 * In one's turn, when the program ends: the other threads stop, and stay stopped.  Until then: what asks
 * the loader, or waits for a lock that one of them may hold, goes before.  Code of others that is to
 * run behind it (libc's flush, handlers of the program) may need such a lock, too: leaks_stop_no_longer
 * before it, and they go on if that code takes long.
 */
void leaks_stop_for_end(const struct caller *caller);
void leaks_stop_no_longer(void);

struct leaks_sum {
    uint64_t blocks, bytes, new_blocks, new_bytes;
};

/* Segments that a check has filled. */
struct leak_records {
    struct range list;
    uint32_t count;
    uint32_t image; /* whose they are: a forked child finds its parent's list */
};

/* A check in mid-run: `tell` and `flags` (LEAK_CHECK_*) are given, the rest is what it says. */
struct leaks_now {
    bool is_reported; /* it is written down, to be told */
    uint32_t flags;
    uint32_t number;      /* of the image's */
    uint32_t not_stopped; /* threads that were not stopped */
    uint32_t waiting;     /* of them: in a system call */
    enum leak_check result;
    struct leaks_sum sum[REACH_COUNT];
    struct leak_check_record *record; /* NULL: it is not written down */
    struct leak_records leak_records;
};

/* What only registers of this caller hold, in memory: the thread goes on. */
#define KEPT_COUNT CALLER_PC
void leaks_keep_registers(const struct caller *caller, uint64_t kept[KEPT_COUNT]);
void leaks_check_now(const struct caller *caller, struct leaks_now *now);
/* Of the check at the end, which was made: that something is to be said of it now. */
void leaks_put_end(struct leaks_now *now);
/* What was written down has been told: it is void. */
void leaks_reported(struct leaks_now *now);

/* All that one check has in hand. */
struct check {
    struct stopped_world world;
    struct roots roots;
    struct reach_heap heap;
    struct range lists, scratch; /* taken for it */
    struct reach_scan *scan;
    uint64_t looked_at, skipped;
    uint32_t root;      /* that is being read */
    bool lost;          /* are there blocks that nobody can get at? */
    bool stays_stopped; /* the world stands still when it is over */
    struct leaks_sum sum[REACH_COUNT];
    struct leaks_now *now;   /* NULL: it is the one at the end */
    struct leak_records *to; /* what it fills */
};

/* ---- leak_records.c: what was found, in the run file ---------------------------------------------- */

/* Roots and groups; c->lost is known then.  LEAKS_FOUND; LEAKS_CUT: the file has no room for all findings. */
enum leak_check leak_records_put(struct check *c);
/* Of a check in mid-run: what there is to say, for who tells it. */
void leak_records_put_check(struct check *c, uint64_t ns);
void leak_records_vacate(struct leak_records *w);
/* What the last check at the end has filled, and: nobody has looked yet. */
extern HIDDEN struct leak_records leak_records_at_end;
void leak_records_void(void);

/* ---- on_demand.c, post_mortem.c ----------------------------------------------------------------------- */

/* Looks, and has it told if that is asked for.  false: it may not, or not here. */
bool leaks_on_demand(struct leaks_now *now);
/* Is any of what the check at the end has found lost, and hidden by nobody?  true also where nobody says. */
bool leaks_any_unsuppressed(void);
/* Tells the program of the search that was just made, if it wants to hear. */
void leaks_notify(bool at_end);

/* The image says goodbye itself. */
void post_mortem_end(void);

/* ---- reporter.c ------------------------------------------------------------------------------ */

/* By hand: has the reporter print, if it is for this image to do so.  look: finds it, earlier. */
int report_by_hand(void); /* the status that findings have the program end with; 0: its own */
void reporter_find(void);
/* By hand: has the reporter tell a check of this image, and waits for it as long as at the end. */
void report_check_by_hand(const struct leaks_now *now);

/* ---- lsan.c ---------------------------------------------------------------------------------- */

/*
 * Has the program turned leak checks off?  Calls the program's function, when a check is about to be made:
 * while its threads run, in no section, not in a handler of ours - there can_turn_off is the answer.
 */
bool lsan_is_turned_off(void);
bool lsan_can_turn_off(void);
/* The same of the check at the end, noted in the image's header: false: the leaks of this image are not asked for. */
bool lsan_allows_end(void);
bool lsan_note_end(bool allowed);

/* ---- finish.c -------------------------------------------------------------------------------- */

/* The check at the end is made now, and not again; true: some are lost.  false also when it was made. */
bool finish_check_early(void);

#endif

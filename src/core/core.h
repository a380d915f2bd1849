/*
 * core.h - the door of core: start-up, the front desk of every allocation, what is remembered of
 * the environment, and the functions of libc that ours stand in front of.
 */
#ifndef CORE_H
#define CORE_H

#include <spawn.h>

#include "pool.h"
#include "unwinder.h"

/* ---- options.c ------------------------------------------------------------------------------- */

enum on_error { ON_ERROR_CONTINUE, ON_ERROR_STOP, ON_ERROR_ABORT, ON_ERROR_DEBUGGER };

#define ERROR_LIMIT_MAX 10000u

struct options {
    enum on_error on_error;
    int error_exitcode;   /* -1: none is asked for */
    uint32_t error_limit; /* places with errors that are kept of each image */
    bool trace_children;
    bool leaks, leak_check, mel_at_exit; /* all of them: leaks are to be looked for at the end */
    bool strict_interior;
    bool witness;
    bool keep;
    bool heap_in_file;
    bool all_events; /* of every system call */
    uint64_t heap_bytes;
    uint32_t cost_every; /* one in so many operations is timed; 0: none */
    uint32_t frames; /* of a stack, at most RTC_STACK_FRAMES; 0: none are taken */
    char pool_dir[256];
};

/*
 * Reads key=value:key=value (or separated by blanks); unknown keys and bad values are left to the
 * launcher or the reporter to complain of.  Also sets pool_knobs.
 */
void options_read(struct options *o, const char *text);

/* ---- start.c ---------------------------------------------------------------------------------- */

/* Sealed after start-up. */
struct runtime {
    struct options options;
    bool by_launcher;
    bool no_check_at_end; /* the program has asked for that */
    /* what exec must find in the environment, "" = nothing */
    char preload[1024];  /* our library's path */
    char run_file[1024]; /* RTCHECK_RUN_FILE=... for the next image */
};

extern struct runtime rt;

/* In mid-run; at the end, too, unless the program has said that it is not to be. */
ALWAYS_INLINE bool wants_leaks(void)
{
    return rt.options.leaks && rt.options.leak_check && rt.options.mel_at_exit;
}

ALWAYS_INLINE bool wants_leaks_at_end(void)
{
    return wants_leaks() && !rt.no_check_at_end;
}

/*
 * First use, by whichever call comes first.  false: not yet possible (no environment), the caller
 * makes do with bootstrap memory.
 */
bool core_start(void);
/* From our constructor: libc works, threads do not exist yet. */
void core_constructed(char **envp);
bool core_is_started(void);

/* ---- environment.c ------------------------------------------------------------------------------ */

/* Remembers our entries and, when a launcher made them, hides them from the program. */
void environment_take(char **envp);
/* The room that environment_put_back needs for `envp`, in bytes. */
size_t environment_room(char *const *envp);
/*
 * envp with our entries, built in `room`.  Signal-safe, no memory: it runs in vfork children.
 * Returns envp itself where nothing is to be added.
 */
char *const *environment_put_back(char *const *envp, void *room);

/* ---- thread.c ------------------------------------------------------------------------------------ */

void thread_keys_ready(void); /* from the constructor */
struct thread *thread_register(void);

/* ---- section.c: critical sections ----------------------------------------------------------------- */

enum section_kind {
    SECTION_NORMAL,
    SECTION_HANDLER, /* a signal handler that interrupted a section of its own thread */
    SECTION_BOOT,    /* nothing works yet */
    SECTION_CALLBACK, /* a callback must not allocate */
};

/*
 * Lives on the stack; its address in thread.crit says where the section was entered, its mark
 * whether that frame still exists (siglongjmp leaves sections without a word).
 */
struct section {
    uint64_t mark;
    struct thread *t;
    uint32_t go;
    enum section_kind kind;
};

#define SECTION_MARK 0x5ec7104e5ec7104eull

void stack_compare(void); /* stack_oracle.c */
bool section_begin_slow(struct section *s);
bool section_begin_to_allocate_slow(struct section *s, const struct entry *at);
void section_end_slow(struct section *s);

/* As nearly always. */
ALWAYS_INLINE bool section_begin_quickly(struct section *s)
{
    struct thread *t = self;
    if (likely(t && !atomic_load_explicit(&t->crit, memory_order_relaxed))) {
        s->mark = SECTION_MARK;
        s->t = t;
        s->kind = SECTION_NORMAL;
        atomic_store_explicit(&t->crit, (uintptr_t)s, memory_order_relaxed);
        if (unlikely(fence_entries))
            atomic_thread_fence(memory_order_seq_cst);
        else
            atomic_signal_fence(memory_order_seq_cst); /* pairs with the barrier of a fork */
        s->go = atomic_load_explicit(&go_page->epoch, memory_order_acquire);
        if (likely(s->go))
            return true;
        atomic_store_explicit(&t->crit, 0, memory_order_release);
    }
    return false;
}

/* false: s->kind says what can still be done; no section_end then. */
ALWAYS_INLINE bool section_begin(struct section *s)
{
    return likely(section_begin_quickly(s)) || section_begin_slow(s);
}

/* The same for what gives a block to the program's call `at`: a callback may not have it. */
ALWAYS_INLINE bool section_begin_to_allocate(struct section *s, const struct entry *at)
{
    return likely(section_begin_quickly(s)) || section_begin_to_allocate_slow(s, at);
}

ALWAYS_INLINE void section_end(struct section *s)
{
    struct thread *t = s->t;
    atomic_store_explicit(&t->crit, 0, memory_order_release);
    if (unlikely(t->after || atomic_load_explicit(&t->deferred.count, memory_order_relaxed)))
        section_end_slow(s);
#ifdef RTC_ORACLE
    stack_compare();
#endif
}

/* ---- notice.c --------------------------------------------------------------------------------------- */

/* Of the heap: these pages are about to go back to the kernel, and: these have come. */
struct notice_to {
    void (*goes)(void *at, size_t bytes);
    void (*came)(void *at, size_t bytes);
    /* discards by this madvise: ours, or the next one */
    int (*discard)(int (*by)(void *, size_t, int), void *at, size_t bytes);
};
void notice_start(const struct notice_to *to); /* once: before anybody listens, from our constructor at last */
/* Behind a section: tells of what is due, and does it. */
void notice_give(void);

/* ---- heard.c: what the program is told of as it happens ---------------------------------------------------- */

/* What a search for leaks has found. */
struct scan_sum {
    uint64_t lost_blocks, lost_bytes, possible_blocks, possible_bytes;
    bool at_end;
};

struct heard {
    enum heard_event event;
    union {
        struct {
            uint64_t bytes;
            uint32_t stack;
        } alloc_error;
        struct heard_free bad_free;
        struct scan_sum scan;
    };
};

/* Who tells the program, once, before anything is wanted. */
void heard_start(void (*tell)(const struct heard *h));
/* Not in a section: tells of it, if somebody wants to hear.  errno stays as it is. */
void heard_tell(const struct heard *h);
struct heard_due heard_take(struct thread *t);
void heard_give(const struct heard_due *due);

/* Around a call of the program that must not allocate.  false: not by this thread, now. */
struct callback {
    struct thread *t;
    uintptr_t outer;
};
bool callback_begin(struct callback *c);
void callback_end(struct callback *c);

ALWAYS_INLINE bool heard_in_callback(void)
{
    return self && self->after & AFTER_CALLBACK;
}

/* A search has been made, one at a time.  scan_last, false: none was, by this image, or one is being noted. */
void scan_note(const struct scan_sum *sum);
bool scan_last(struct scan_sum *out);
/* How many of the leaks that one found rules have hidden, when it was told. */
void scan_note_hidden(uint64_t leaks);
bool scan_last_hidden(uint64_t *leaks);

/* ---- turns.c: tables of whom to tell, read without a lock ------------------------------------------------ */

/* What a table begins with. */
struct turn_table {
    size_t bytes;
    struct turn_table *retired;
};

/* Around a look at tables, and the callbacks that it leads to; on the caller's stack. */
struct turn {
    struct thread *noted; /* in this thread's struct; NULL: counted */
    bool outermost;       /* of those of its thread: the others are neither */
    uint32_t side;
    uint64_t era;
};

extern struct turn_now {
    _Atomic uint64_t turn;
    _Atomic uint32_t awaited; /* somebody waits for the last one to be over */
} turn_now;
extern __thread uint32_t turn_depth; /* of visits in visits */
void turn_begin_slowly(struct turn *t);
void turn_end_slowly(const struct turn *t);

/* Between a note and what is looked at then: pairs with the barrier in turns_wait. */
ALWAYS_INLINE void turn_fence(void)
{
    if (unlikely(fence_entries))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
}

ALWAYS_INLINE void turn_note(struct thread *me)
{
    uint64_t turn = atomic_load_explicit(&turn_now.turn, memory_order_relaxed);
    atomic_store_explicit(&me->turn, turn + 1, memory_order_relaxed);
    turn_fence();
}

ALWAYS_INLINE void turn_begin(struct turn *t)
{
    t->outermost = !turn_depth++;
    t->noted = self;
    if (!t->outermost)
        return;
    if (likely(t->noted))
        turn_note(t->noted);
    else
        turn_begin_slowly(t);
}

ALWAYS_INLINE void turn_end(struct turn *t)
{
    turn_depth--;
    if (!t->outermost)
        return;
    if (likely(t->noted)) {
        atomic_store_explicit(&t->noted->turn, 0, memory_order_release);
        turn_fence();
    }
    if (unlikely(!t->noted || atomic_load_explicit(&turn_now.awaited, memory_order_relaxed)))
        turn_end_slowly(t);
}
bool turns_inside(void); /* is the calling thread between the two? */

/*
 * Around a change of what tables say.  -EDEADLK: in a callback, which would wait for itself.  turns_look: to
 * know what was changed; callbacks may.
 */
int turns_begin_change(void);
void turns_look(void);
void turns_end_change(void);
/* Cleared; NULL: no memory. */
void *turns_new_table(size_t bytes);
/* Another one has taken its place (NULL: there was none); it is freed by a turns_wait. */
void turns_retire(struct turn_table *old);
/* Nobody who began before sees anything but the present tables when this returns. */
void turns_wait(void);
/* A lock for what a callback may do, too; nothing is called while it is held.  A fork drops it. */
void turns_lock(void);
void turns_unlock(void);
void turns_constructed(void);

/* ---- loader.c ----------------------------------------------------------------------------------------- */

struct loader_range {
    uintptr_t start;
    uint64_t bytes;
};

extern struct loader_range loader_range; /* the loader's own code; sealed after start-up */

void loader_start(void);       /* at first use */
void loader_constructed(void); /* libc works */
/* The object around an address.  Signal-safe. */
bool loader_find(uintptr_t pc, struct object *out);

ALWAYS_INLINE bool loader_called(const struct entry *at)
{
    return at->pc - loader_range.start < loader_range.bytes;
}

/* Its calls: objects come and go.  Inside a section, before the stack of the call is taken. */
void loader_allocates(void);
void loader_frees(const void *p);

/* ---- costs.c: what of the run's costs is ours ----------------------------------------------------------- */

extern uint32_t cost_clock_ticks; /* that looking at the clock takes; sealed after start-up */

void costs_start(void);
void costs_stop(void); /* the processor's clock is about to be forbidden */
void costs_after_fork(void);

/* Is the operation that begins one of those that are timed?  Each asks, once. */
ALWAYS_INLINE bool cost_is_due(void)
{
#ifdef RTC_UNTIMED /* what tests/counters/accounting.py compares with */
    return false;
#endif
    struct thread *t = self;
    return t && unlikely(--t->cost_left < 0);
}

/* Then: around the same call, made again. */
enum cost_call {
    COST_IGNORED, /* it is not, after all */
    COST_TIMED,
    COST_COUNTED, /* its page faults are */
    COST_APART, /* it is a handler's, in the midst of one that is timed */
};

enum cost_call cost_begin(enum cost_work work, uint64_t bytes); /* that it may clear or copy */
void cost_end(enum cost_call call);

/* Inside one: from here on it does `work`. */
ALWAYS_INLINE void cost_switch(struct cost_watch *w, uint8_t work)
{
    if (w->apart || !w->pieces)
        return;
    uint64_t now = os_ticks();
    w->ticks[w->work] += (int64_t)(now - w->since - cost_clock_ticks);
    w->work = work;
    w->since = now;
}

/* Around what is rare or takes long, and is none of an operation's time.  ns of the thread's own clock. */
uint64_t cost_phase_begin(void);
void cost_phase_end(enum cost_work work, uint64_t since);

/* ---- stack.c ------------------------------------------------------------------------------------------- */

void stack_start(void);
uint32_t stack_put_trace(struct traces *all, struct trace *t);
uint32_t stack_put_aside(struct thread *t, const struct entry *at); /* none is wanted, or it is timed */
uint32_t stack_put_walk(const struct entry *at, bool may_grow);

#ifdef RTC_ORACLE /* stack_oracle.c */
uint32_t stack_note_trace(const struct trace *t, const struct entry *at, uint32_t id);
uint32_t stack_note_walk(const struct walk *w, const struct entry *at, uint32_t id);
uint32_t stack_compare_walk(const struct walk *w, uint32_t id);
#else
#define stack_note_trace(t, at, id) (id)
#define stack_note_walk(w, at, id) (id)
#define stack_compare_walk(w, id) (id)
#endif

ALWAYS_INLINE uint32_t stack_put_plain(struct thread *t, const struct entry *at)
{
    struct traces *all = &t->traces;
    struct trace *trace = trace_update(all, at, true);
    if (unlikely(!trace))
        return stack_put_walk(at, true);
    struct trace_more *last = &trace->more[trace->count];
    if (!last->id)
        last->id = stack_put_trace(all, trace);
    return stack_note_trace(trace, at, last->id);
}

/* The number of this thread's stack at a call; 0: none.  Inside a section. */
ALWAYS_INLINE uint32_t stack_put(struct thread *t, const struct entry *at)
{
    return likely(t->stacks_plain) ? stack_put_plain(t, at) : stack_put_aside(t, at);
}

/* ---- errors.c, region.c: what the program did wrong ---------------------------------------------------- */

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

#define SIZE_NOT_SAID UINT64_MAX

struct error_call {
    struct thread *t; /* NULL: not known */
    uint32_t go;
    uint32_t op;
    uint32_t stack; /* of the call, 0 = none */
};

/*
 * All inside a section.  error_free: p is not the start of a live block; true: it is a block of libc's
 * own allocator, to be freed there, once we are outside.
 */
bool error_free(const struct error_call *call, const void *p, const struct found *f);
/* p is not the start of a live block that the program has recorded: `n`, unless it is PTR_FOREIGN. */
void error_recorded(const struct error_call *call, const void *p, enum verdict verdict, const struct recorded *n);
/* A block that said `was` was freed, or moved, by a function for others; `said`: with this size. */
void error_mismatch(const struct error_call *call, const void *p, const struct found *f, uint64_t was,
                    uint64_t said);
void error_damage(const struct error_call *call, const struct damage *d);
void error_no_memory(const struct error_call *call, uint64_t bytes);
uint64_t errors_no_memory(void); /* how often, in this image */
/*
 * [start, start + bytes) is about to be unmapped, and is not to be: `region` says why, with what belongs
 * to it; REGION_HEAP: f is of the block at its start.
 */
void error_unmap(const struct error_call *call, uintptr_t start, uint64_t bytes, const struct found *f,
                 const struct error_record *region);
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

/*
 * The program's call, as our frame begins.  So rooms of interceptors keep frame pointers and leave by
 * returning, not by a jump into the next function.
 */
#define CALLER ((const struct entry *)__builtin_frame_address(0))

/* ---- track.c: the front desk ------------------------------------------------------------------------ */

/*
 * All preserve errno except where they say ENOMEM; `at` is the program's call, whose interceptor
 * has not returned yet.  Signal-safe in so far as a handler that interrupted another call is
 * served from a small reserve.
 */
void *track_alloc(size_t request, size_t align, uint32_t op, const struct entry *at);
void *track_alloc_zeroed(size_t request, uint32_t op, const struct entry *at);
void *track_realloc(void *p, size_t request, uint32_t op, const struct entry *at);
void track_free(void *p, uint32_t op, const struct entry *at);
/* The same with the size that the block is said to have. */
void track_free_sized(void *p, size_t said, uint32_t op, const struct entry *at);
/* More than any block has, whatever the alignment: asked for by us alone, to fail without a word. */
#define REQUEST_HOPELESS 0xffffff0000000000u
/* An allocation whose size cannot be; NULL, with errno. */
void *track_refuse(uint64_t request, uint32_t op, const struct entry *at);
/* A free that a handler left to be done, with the stack it was made at. */
void track_free_deferred(void *p, uint32_t stack, uint32_t op);
size_t track_usable(const void *p);
/* The stack that allocated the live block that p points into; 0: there is none, or it is not known. */
uint32_t track_stack(const void *p);

struct track_totals {
    uint64_t live_blocks, live_bytes, allocs, frees, heap_bytes, free_bytes;
};

struct track_totals track_totals(void);

/* ---- recording.c: blocks that the program makes itself ------------------------------------------------- */

/* false: see recorded_put; or in a handler that interrupted us, as all of these. */
bool recording_malloc(const void *p, uint64_t bytes, const struct entry *at);
/* false: it was none, which has been written down. */
bool recording_free(const void *p, uint32_t op, const struct entry *at);
/* `from` NULL: it is new. */
bool recording_realloc(const void *from, const void *to, uint64_t bytes, uint32_t op, const struct entry *at);
/* All that begin in this memory: how many. */
uint64_t recording_free_all(const void *start, uint64_t bytes, const struct entry *at);

enum known_as { KNOWN_NOT, KNOWN_IN_HEAP, KNOWN_RECORDED };

struct known_block {
    uint64_t start, bytes;
};

/* The live block that p points into, the innermost. */
enum known_as recording_find(const void *p, struct known_block *out);

/* ---- hints.c: what the program itself says about leaks ------------------------------------------------- */

/* Memory that the program wants to be searched for pointers, or not. */
struct root_region {
    uintptr_t start;
    uint64_t bytes;
    uint64_t life; /* recorded_life */
};

struct hints {
    _Atomic uint32_t mark; /* of blocks that are allocated now */
    bool ignoring;         /* somebody has asked for some block to be ignored */
};

extern struct hints hints;

ALWAYS_INLINE uint32_t hints_mark_now(void)
{
    return atomic_load_explicit(&hints.mark, memory_order_relaxed);
}

/* From now on blocks are of the next mark: its number; 0: there are no more (BLOCK_MARK_MASK). */
uint32_t hints_next_mark(void);
/* What this thread allocates until as many calls of hints_heed is no leak.  Signal-safe. */
void hints_ignore_new(void);
void hints_heed_new(void);
/* The block that p points into is no leak, and what it holds is none.  false: there is no such block. */
bool hints_ignore(const void *p);
/* The same of `to`, which takes the place of `from`, if that is one. */
void hints_ignore_moved(const void *from, const void *to);
/* false: there is no memory for it, or it is none.  A region may be added several times. */
bool hints_add_root(uintptr_t start, uint64_t bytes);
/* false: it was not added, or removed as often. */
bool hints_remove_root(uintptr_t start, uint64_t bytes);
/* All of them, while nobody adds or removes one. */
const struct root_region *hints_roots(uint32_t *count);
/* The same of memory that is not to be searched, as long as the heap's block lives that it lies in. */
bool hints_hide(uintptr_t start, uint64_t bytes);
bool hints_show(uintptr_t start, uint64_t bytes);
const struct root_region *hints_hidden(uint32_t *count);
/* Where the two lists lie, which have pointers to what they name; 0: there is none. */
void hints_lists(uintptr_t start[2], uintptr_t end[2]);
void hints_after_fork(void);

/* ---- mapped.c: what is mapped, and by whom --------------------------------------------------------------- */

#define MAPPED_KEPT 8u

/* A call on its way; on the caller's stack. */
struct mapped_call {
    const struct entry *at; /* where the program made it, while it is made; NULL: not to be told */
    struct thread *t;       /* that makes it, from its beginning on; NULL: nothing is done */
    bool tried;  /* to begin; where it interrupted us that fails, and a comparison will find out */
    bool more;   /* than there is room for went */
    bool unmaps;  /* it is to be counted as one that does, when it takes; and: it was */
    bool counted;
    bool whole;  /* all that it takes was in the map, as far as is known */
    bool old;    /* that may be the stack of a thread: there was none since when it was mapped */
    uint32_t count;
    uint64_t around, around_end; /* what the first of it was a part of */
    struct map_region kept[MAPPED_KEPT]; /* what it takes away */
};

/* What mremap moves; `keeps`: the old place stays mapped. */
struct mapped_move {
    uint64_t from, from_end, to, to_end;
    bool keeps;
};

/*
 * Around each call that changes what is mapped: at, begin or take before it is made, one of new to protected
 * after it, end.  All take whole pages; nothing is done for an empty range.  errno stays as it is.
 */
ALWAYS_INLINE void mapped_at(struct mapped_call *c, const struct entry *at)
{
    c->at = at;
    c->t = NULL;
    c->tried = c->more = c->unmaps = c->counted = c->old = false;
    c->whole = true;
    c->count = 0;
}

/* Before the kernel does anything. */
void mapped_begin(struct mapped_call *c);
/* The same, and takes out what is about to go. */
void mapped_take(struct mapped_call *c, uint64_t start, uint64_t end);
void mapped_end_shared(struct thread *t);

ALWAYS_INLINE void mapped_end(struct mapped_call *c)
{
    if (unlikely(!c->t))
        return;
    if (unlikely(c->t->limbo)) {
        mapped_end_shared(c->t);
        return;
    }
    thread_count(&c->t->maps_ended); /* pairs with look_for_calls */
}

/* Of [start, end) the pieces that shmdt(at) detaches; the first is one of them. */
void mapped_take_attachment(struct mapped_call *c, uint64_t start, uint64_t end, uint64_t at);
/* Where, and what it is: the rest of *what is filled in here. */
void mapped_new(struct mapped_call *c, struct map_region *what);
/* Something was unmapped, or it was to be (c->unmaps, when it took), and was not. */
void mapped_gone(struct mapped_call *c, bool gone);
/* What was taken of this range is there as it was. */
void mapped_stay(struct mapped_call *c, uint64_t start, uint64_t end);
void mapped_moved(struct mapped_call *c, const struct mapped_move *m);
/* The kernel is to be asked what became of it. */
void mapped_ask(struct mapped_call *c, uint64_t start, uint64_t end);
/* From `start` to the first hole. */
void mapped_protected(struct mapped_call *c, uint64_t start, uint64_t end, int protection);
/* The range around an address. */
bool mapped_find(uint64_t at, struct map_region *out);
/*
 * Compares with what the kernel has, and mends: how many differences there were.  -errno: it cannot be
 * asked; -EAGAIN: other threads were at it, so not all is certain.
 */
long mapped_compare(void);
/* The same at the end, after which what is mapped is told. */
void mapped_settle(void);
void mapped_after_fork(void);
uint64_t mapped_bytes(void); /* by calls, that are mapped still */
bool mapped_live(uint64_t *ranges); /* how many that is; false: it cannot be looked at now */

/* ---- dispatched.c: what came of events=all ----------------------------------------------------------------- */

struct dispatched {
    _Atomic uint64_t calls;     /* of this process, or its thread's parent before the fork was seen */
    _Atomic uint64_t told;      /* of them, those that change what is mapped and came by no function of ours */
    _Atomic uint64_t uncovered; /* threads that go on without */
};

extern struct dispatched *dispatched;

struct dispatched_record {
    bool asked; /* for events=all */
    int error;
    uint32_t call_ns, measured;
};

struct dispatched_record dispatched_known(void);
void dispatched_start(void); /* before there are any */
/* err: there is none, and why; else what a call costs more, as `measured` calls have shown. */
void dispatched_begin(int err, uint32_t ns, uint32_t measured);
void dispatched_told(void);
void dispatched_settle(void); /* writes down how many there were */
void dispatched_after_fork(void);

/* ---- marks.c -------------------------------------------------------------------------------------------- */

/* hints_next_mark, and how much there is is written down.  false: there are no more, or not here. */
bool marks_next(void);
void marks_after_fork(void);

/* ---- unmap.c: what is not to be unmapped ------------------------------------------------------------------ */

/* Tells it, when [start, end), which c has taken, is about to be.  true: some of it is ours, and is to stay. */
bool unmap_look(const struct mapped_call *c, uintptr_t start, uintptr_t end);

ALWAYS_INLINE bool unmap_is_heap(uintptr_t start, uintptr_t end)
{
    return start < heap.base + atomic_load_explicit(&heap.bytes, memory_order_relaxed) && end > heap.base;
}

/* Else it is all in the map, and nobody else's. */
ALWAYS_INLINE bool unmap_is_special(const struct mapped_call *c, uintptr_t start, uintptr_t end)
{
    return !c->whole || c->old || unmap_is_heap(start, end);
}

ALWAYS_INLINE bool unmap_has_ours(const struct mapped_call *c, uintptr_t start, uintptr_t end)
{
    return unlikely(unmap_is_special(c, start, end)) && unmap_look(c, start, end);
}

/* ---- fatal.c: signals whose default is the end --------------------------------------------------------- */

struct fatal_hooks {
    void (*killed)(const void *context); /* one has come; the ucontext of what it interrupted */
    void (*cut)(void);                   /* by our own doing: the run file is shorter than it was */
};
void fatal_start(const struct fatal_hooks *given); /* from the constructor */
void fatal_withdraw(void); /* a sandbox is about to be entered */
/* Signal-safe, all three: does ours stand in for this signal's default, is this ours, and: from now on. */
bool fatal_covers(int signal);
bool fatal_is_ours(const void *handler);
void fatal_stand_in(int signal);
/* Behind the section in which one came. */
void fatal_go_on(void);
/* The default that ours stands in for, with the flags and the mask that the program gave it. */
const struct os_action *fatal_instead_of(int signal);

/* ---- next.c: the functions behind ours ---------------------------------------------------------------- */

struct next {
    void (*exit)(int);
    int (*fork)(void);
    int (*_Fork)(void);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                       const posix_spawnattr_t *, char *const[], char *const[]);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                        const posix_spawnattr_t *, char *const[], char *const[]);
    int (*system)(const char *);
    void *(*popen)(const char *, const char *); /* a FILE, which is none of our business */
    int (*wordexp)(const char *, void *, int);
    int (*register_atfork)(void (*)(void), void (*)(void), void (*)(void), void *);
    long (*syscall)(long, ...);
    int (*prctl)(int, ...);
    int (*sigaction)(int, const void *, void *); /* struct sigaction, whose header has names of ours */
    void *(*signal)(int, void *);
    void *(*sysv_signal)(int, void *);
    void *(*sigset)(int, void *);
    void (*siglongjmp)(void *, int) __attribute__((noreturn));
    void (*longjmp_chk)(void *, int) __attribute__((noreturn));
    /* a sanitizer's, where its runtime is in the process, too: leaks are its business then */
    void (*lsan_disable)(void);
    void (*lsan_enable)(void);
    void (*lsan_ignore_object)(const void *);
    void (*lsan_register_root_region)(const void *, size_t);
    void (*lsan_unregister_root_region)(const void *, size_t);
    void (*lsan_do_leak_check)(void);
    int (*lsan_do_recoverable_leak_check)(void);
    /* libc's own heap, for blocks that came from there */
    void (*free)(void *);
    void *(*realloc)(void *, size_t);
    size_t (*malloc_usable_size)(void *);
    /* the address space */
    void *(*mmap)(void *, size_t, int, int, int, long);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, ...);
    void *(*shmat)(int, const void *, int);
    int (*shmdt)(const void *);
    void *(*sbrk)(intptr_t);
    int (*brk)(void *);
    int (*madvise)(void *, size_t, int);
    int (*posix_madvise)(void *, size_t, int);
    int (*mprotect)(void *, size_t, int);
    int (*pkey_mprotect)(void *, size_t, int, int);
    int (*mlock)(const void *, size_t);
    int (*mlock2)(const void *, size_t, unsigned);
    int (*munlock)(const void *, size_t);
    int (*mlockall)(int);
    int (*munlockall)(void);
    int (*msync)(void *, size_t, int);
    int (*remap_file_pages)(void *, size_t, int, size_t, int);
};

extern struct next next;
/* Fills `next`; may be called again, any time libc works. */
void next_resolve(void);
/* One of them, also for a library's constructor that runs before ours. */
#define NEXT(name) (likely(next.name) ? (void)0 : next_resolve(), next.name)

/* ---- leave (finish.c), handed down by the composition root ------------------------------------------- */

/*
 * The calling thread is about to longjmp to a frame whose stack pointer is `target`: a critical
 * section below it, interrupted by the handler that jumps, is left.
 */
void section_leave_by_jump(uintptr_t target);

/* A call that is to replace the program. */
struct exec_call {
    const void *given[3];  /* file, arguments and environment; NULL: not by address */
    const char *const *list; /* of arguments that came one by one: where we have put them; else NULL */
    size_t list_count;
    bool hopeless; /* it will fail */
};

struct core_hooks {
    int (*finish)(enum image_end how, int status); /* returns the status to end with */
    /* An exec is about to be tried, and: it failed. */
    void (*replaced)(const struct exec_call *call);
    void (*stayed)(void);
};

/* Defined by the composition root: there before any constructor runs. */
extern const struct core_hooks core_hooks;

#endif

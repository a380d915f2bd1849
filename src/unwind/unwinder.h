/*
 * unwinder.h - public interface of unwind: the full backtrace of a thread that has just called the
 * runtime.
 *
 * A return address has a *rule* that describes how to unwind its frame.  The rule is made once,
 * from call frame information (CFI, .eh_frame), and cached by address.  Unwinding a frame then
 * takes a few loads.  A thread's backtraces are usually similar to its last ones, so these are
 * cached (struct cached_stack).  Only the changed frames are walked.  For all other frames every
 * stack word on which they depend is read again.
 *
 *   cfi.c         .eh_frame -> the row of a pc    walk.c          frame-by-frame walk
 *   expression.c  DWARF expressions               stack_cache.c   backtrace from a cached one
 *   rules.c       pc -> rule, cached              stack.c         bounds of stacks
 *   callee.c      tail calls (no frame)           registers.c     walk with all registers
 *
 * Taking a backtrace does not allocate, wait or issue system calls, with these exceptions.  A new
 * rule may grow its table.  Beyond a signal frame, memory is probed by a system call if the
 * interrupted stack has unknown bounds.  The helper stack is used for a new rule, and to walk a
 * stack that cannot be cached.  Functions without `may_grow`, or with may_grow = false, are
 * async-signal-safe.  Stack pointers and slots are addresses in this process.  Only the rules and
 * the cached backtraces persist.
 *
 * Lock: RANK_RULES, for growth of the table of rules and its index; lookups take none.
 */
#ifndef UNWINDER_H
#define UNWINDER_H

#include "base.h"
#include "machine.h"
#include "os.h"
#include "shadow.h"

struct unwind_setup {
    /* Find the object that contains an address, without locks or allocation. */
    bool (*find)(uintptr_t pc, struct object *out);
    /* The original of code that runs in a copy, or `pc`; NULL: there are no copies.  A return address is */
    /* that of the original call, which other code may follow in the copy. */
    uintptr_t (*original)(uintptr_t pc, bool is_return);
    /* The end of the function whose copy contains this address; 0: none does.  NULL: no copies. */
    uintptr_t (*copy_end)(uintptr_t pc);
    /* The object's number in the run file, 1..65535; 0: none (yet). */
    uint32_t (*number)(const struct object *o, bool may_grow);
    uint32_t frames; /* frames per backtrace, up to RTC_STACK_FRAMES */
    /* Called before and after an operation that takes long, to measure it; NULL: not measured. */
    uint64_t (*long_begin)(void);
    void (*long_end)(uint64_t begun);
    void (*row_made)(void); /* called after an operation of medium duration; or NULL */
};

/* Without this call every backtrace has one frame.  Call it once, before threads exist. */
void unwind_start(const struct unwind_setup *setup);

/*
 * Drop invalid rules: the loader has unloaded object `number`, or (0) may have mapped a new object.
 * Called under the loader's lock, so before an address can be reused.
 */
void unwind_forget(uint32_t number);

/*
 * Call in a forked child before its first backtrace.  `fresh`: object numbers of the parent are
 * invalid.
 */
void unwind_after_fork(bool fresh);

/* ---- backtraces ------------------------------------------------------------------------------ */

/*
 * Update one of this thread's cached backtraces to the call at `at`.  NULL: the stack cannot be
 * cached, because it is a signal handler's or has frames that need all registers; walk it instead.
 * Without `make`, NULL with all->lacks_rule set means that a return address has no rule yet.
 * Making one takes more stack than a program may have.
 */
struct cached_stack *stack_cache_update(struct stack_cache *all, const struct entry *at, bool make);

struct walk {
    uint32_t count;
    uint32_t end;                    /* enum stack_end */
    uint64_t word[RTC_STACK_FRAMES]; /* innermost first, as stored in the depot */
#ifdef RTC_ORACLE
    uintptr_t sp[RTC_STACK_FRAMES];
#endif
};

/* Take the same backtrace without the cache, and call use(it, about), both on the helper stack. */
void unwind_walk(const struct entry *at, bool may_grow,
                 void (*use)(const struct walk *w, void *about), void *about);

/* ---- other threads, and outer callers -------------------------------------------------------- */

/* A frame's registers at the point where it resumes, by DWARF number. */
struct caller {
    uint64_t value[DWARF_REGISTERS];
    register_mask known;
    /* Ucontext if a signal interrupted the frame; NULL: the frame is at a call. */
    const void *context;
};

/*
 * The caller of the function in [start, start + bytes) that has called us, directly or not.  false:
 * the function is not on this stack.
 */
bool unwind_caller_of(uintptr_t start, uint64_t bytes, struct caller *out);
/* The first frame with a stack pointer of at least `sp`. */
bool unwind_to(uintptr_t sp, struct caller *out);
/*
 * The backtrace of this thread from a frame that lies further out, such as one that a signal
 * interrupted.  use(it, about) is called on the helper stack.
 */
void unwind_from(const struct caller *from, void (*use)(const struct walk *w, void *about),
                 void *about);
/* The frame that a signal interrupted; `context`: its ucontext. */
void unwind_interrupted(const void *context, struct caller *out);

/* The caller of a frame of another, stopped thread.  `high`: end of its stack.  false: unknown. */
bool unwind_out(const struct caller *from, uintptr_t high, struct caller *out);

/* A frame, for attributing an address on a stack to its function. */
struct framed {
    uint64_t word; /* as in depot_node.pc */
    uint64_t sp;   /* its stack pointer; that of the next frame is this frame's CFA */
};

/* The frames of a stopped thread, innermost first, on a stack that ends at `high`. */
uint32_t unwind_frames(const struct caller *from, uintptr_t high, struct framed *out,
                       uint32_t room);

/* ---- callee.c: tail calls, which leave no frame ---------------------------------------------- */

enum reached {
    REACHED_UNKNOWN,
    /* The frame's function called ours, or called a function that does more than jump to ours. */
    REACHED_DIRECTLY,
    REACHED_BY_THUNK,  /* A thunk, which only jumps to our function, lies between. */
    REACHED_VIRTUALLY, /* An unidentified virtual function of the block lies between. */
};

/*
 * Determine how the call at `word`, the innermost frame of a backtrace (as in depot_node.pc),
 * reached our function.  `table`: the first word of the block passed to the call, or 0.  Slow;
 * async-signal-safe.
 */
enum reached unwind_reached(uint64_t word, uintptr_t table);
/* Is that frame's function an operator new, judged by its code? */
bool unwind_is_new(uint64_t word);

struct unwind_totals {
    uint64_t rules, bytes;
};

struct unwind_totals unwind_totals(void);

#endif

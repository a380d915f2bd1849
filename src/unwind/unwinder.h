/*
 * unwinder.h - the door of unwind: the full call stack of a thread that has just called us.
 *
 * A return address tells how its frame is left: a rule, made once from call frame information
 * (.eh_frame) and kept by address.  Walking is then a few loads a frame.  And a thread's next
 * stack is mostly its last one, so that is kept (struct trace): what has changed is walked, and of
 * the rest every word that it was found by is read again.
 *
 *   cfi.c         .eh_frame -> the row of a pc            walk.c    a stack, frame by frame
 *   expression.c  DWARF expressions                        stack_cache.c   the same, from the last one
 *   rules.c       pc -> rule, kept                         stack.c   where stacks end
 *   callee.c      tail calls, which leave no frame
 *
 * Nothing here allocates, waits or asks the kernel while a stack is taken, except that making a
 * new rule may let its table grow, behind a signal that came on a stack of unknown end, and where
 * the helper stack is needed: for a new rule, and to walk a stack that cannot be kept.  What
 * takes no `may_grow`, or takes it as false, is signal-safe.  Stack pointers and slots are
 * addresses of this process; nothing is kept beyond the rules and the traces.
 */
#ifndef UNWINDER_H
#define UNWINDER_H

#include "base.h"
#include "os.h"
#include "shadow.h"

struct unwind_setup {
    /* The object around an address, without a lock and without memory. */
    bool (*find)(uintptr_t pc, struct object *out);
    /* Its number in the run file, 1..65535; 0 = it has none (yet). */
    uint32_t (*number)(const struct object *o, bool may_grow);
    uint32_t frames; /* of a stack that are asked for, up to RTC_STACK_FRAMES */
    /* Around what takes long, for who wants to know how long; NULL: nobody does. */
    uint64_t (*long_begin)(void);
    void (*long_end)(uint64_t begun);
    void (*row_made)(void); /* what takes longer than most, but not that long, is done; or NULL */
};

/* Without it every stack has one frame.  Once, before threads exist. */
void unwind_start(const struct unwind_setup *setup);

/* The loader has unloaded object `number`, or (0) may have mapped a new one: rules that no longer
 * hold are dropped.  Called while the loader's lock is held, so before an address can be used anew. */
void unwind_forget(uint32_t number);

/* In a forked child, before its first stack; `fresh`: numbers of objects mean nothing any more. */
void unwind_after_fork(bool fresh);

/* ---- stacks ---------------------------------------------------------------------------------- */

/*
 * One of this thread's traces, brought up to the call at `at`.  NULL: this stack cannot be kept (a
 * signal handler's, or one with frames that need all registers) and must be walked; or, without
 * `make`, all->lacks_rule is set, for a return address is new.  Making its rule takes more stack
 * than a program may have.
 */
struct cached_stack *stack_cache_update(struct stack_cache *all, const struct entry *at, bool make);

struct walk {
    uint32_t count;
    uint32_t end;                    /* enum stack_end */
    uint64_t word[RTC_STACK_FRAMES]; /* innermost first, as the depot has them */
#ifdef RTC_ORACLE
    uintptr_t sp[RTC_STACK_FRAMES];
#endif
};

/* Takes the same stack without a trace, and calls use(it, about), both on the helper stack. */
void unwind_walk(const struct entry *at, bool may_grow,
                 void (*use)(const struct walk *w, void *about), void *about);

/* ---- other threads, and callers further out -------------------------------------------------- */

/* A frame as it will go on: its registers by DWARF's numbers (16: the pc). */
#define CALLER_REGISTERS 17u
#define CALLER_SP 7u
#define CALLER_PC 16u

struct caller {
    uint64_t value[CALLER_REGISTERS];
    uint32_t known;      /* mask */
    const void *context; /* not at a call, but interrupted by a signal: its ucontext; else NULL */
};

/*
 * The caller of the function that lies in [start, start + bytes) and, through others, has called us.
 * false: it is not on this stack.
 */
bool unwind_caller_of(uintptr_t start, uint64_t bytes, struct caller *out);
/* The first frame whose stack pointer is at least `sp`. */
bool unwind_to(uintptr_t sp, struct caller *out);
/* What a signal interrupted; `context`: its ucontext. */
void unwind_interrupted(const void *context, struct caller *out);

/* The caller of a frame of another thread, which is stopped; its own ends below `high`.  false: not known. */
bool unwind_out(const struct caller *from, uintptr_t high, struct caller *out);

/* A frame, for who asks what a place on a stack belongs to. */
struct framed {
    uint64_t word; /* as in depot_node.pc */
    uint64_t sp;   /* its own; the next one's is its canonical frame address */
};

/* The frames of a thread that stands still, innermost first, on a stack that ends at `high`. */
uint32_t unwind_frames(const struct caller *from, uintptr_t high, struct framed *out,
                       uint32_t room);

/* ---- callee.c: functions that left no frame --------------------------------------------------- */

enum reached {
    REACHED_UNKNOWN,
    REACHED_DIRECTLY, /* the frame's function called ours, or one that does more than to jump to ours */
    REACHED_BY_THUNK,  /* a function that does nothing but jump to ours lies between them */
    REACHED_VIRTUALLY, /* a virtual function of the block lies between them, which is not known */
};

/*
 * How the call of `word`, the innermost frame of a stack (as in depot_node.pc), came to us.  `table`: the first
 * word of the block that the call was given, or 0.  Slow; signal-safe.
 */
enum reached unwind_reached(uint64_t word, uintptr_t table);
/* Is that frame's function an operator new, by what its code does? */
bool unwind_is_new(uint64_t word);

struct unwind_totals {
    uint64_t rules, bytes;
};

struct unwind_totals unwind_totals(void);

#endif

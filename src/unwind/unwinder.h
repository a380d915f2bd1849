/*
 * unwinder.h - the door of unwind: the full call stack of a thread that has just called us.
 *
 * A return address tells how its frame is left: a rule, made once from call frame information
 * (.eh_frame) and kept by address.  Walking is then a few loads a frame.  And a thread's next
 * stack is mostly its last one, so that is kept (struct trace): what has changed is walked, and of
 * the rest every word that it was found by is read again.
 *
 *   cfi.c         .eh_frame -> the row of a pc            walk.c    a stack, frame by frame
 *   expression.c  DWARF expressions                        trace.c   the same, from the last one
 *   rules.c       pc -> rule, kept                         stack.c   where stacks end
 *
 * Nothing here allocates, waits or asks the kernel while a stack is taken, except that making a
 * new rule may let its table grow, and behind a signal that came on a stack of unknown end.  What
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
 * signal handler's, or one with frames that need all registers): walk it.
 */
struct trace *trace_update(struct traces *all, const struct entry *at, bool may_grow);

struct walk {
    uint32_t count;
    uint32_t end;                /* enum stack_end */
    uint64_t word[RTC_STACK_FRAMES]; /* innermost first, as the depot has them */
#ifdef RTC_ORACLE
    uintptr_t sp[RTC_STACK_FRAMES];
#endif
};

/* The same stack without a trace. */
void unwind_walk(const struct entry *at, struct walk *out, bool may_grow);

/* ---- other threads, and callers further out -------------------------------------------------- */

/* A frame as it will go on: its registers by DWARF's numbers (16: the pc). */
#define CALLER_REGISTERS 17u
#define CALLER_SP 7u
#define CALLER_PC 16u

struct caller {
    uint64_t value[CALLER_REGISTERS];
    uint32_t known;   /* mask */
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

/* A frame, for who asks what a place on a stack belongs to. */
struct framed {
    uint64_t word; /* as in depot_node.pc */
    uint64_t sp;   /* its own; the next one's is its canonical frame address */
};

/* The frames of a thread that stands still, innermost first, on a stack that ends at `high`. */
uint32_t unwind_frames(const struct caller *from, uintptr_t high, struct framed *out, uint32_t room);

struct unwind_totals {
    uint64_t rules, bytes;
};

struct unwind_totals unwind_totals(void);

#endif

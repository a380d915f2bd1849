/* unwinder_priv.h - what the files of unwind share. */
#ifndef UNWINDER_PRIV_H
#define UNWINDER_PRIV_H

#include "regs_x86_64.h"
#include "unwinder.h"

/* ---- cfi.c ----------------------------------------------------------------------------------- */

/* One FDE with what it needs of its CIE. */
struct cfi {
    const uint8_t *cie_code, *cie_end;
    const uint8_t *code, *end;
    uintptr_t start; /* of the code it is about */
    uintptr_t bytes;
    uint64_t code_align;
    int64_t data_align;
    uint32_t return_register;
    uint8_t encoding; /* of pointers */
    bool augmented;
    bool signal; /* its caller was interrupted, and did not call */
};

enum column_kind {
    COLUMN_SAME,          /* the register is as it was */
    COLUMN_UNDEFINED,     /* it is lost; of the return address: there is no caller */
    COLUMN_AT_CFA,        /* saved at CFA + offset */
    COLUMN_IS_CFA,        /* is CFA + offset */
    COLUMN_IN_REGISTER,   /* is in register `offset` */
    COLUMN_AT_EXPRESSION, /* saved where the expression says */
    COLUMN_IS_EXPRESSION, /* is what the expression says */
    COLUMN_AT_REGISTER,   /* the CFA itself: reg + offset */
};

struct column {
    union {
        int64_t offset;
        const uint8_t *expression;
    };
    uint32_t bytes; /* of the expression */
    uint8_t kind;   /* enum column_kind */
    uint8_t reg;
};

struct row {
    struct column cfa;
    struct column column[REG_COUNT];
};

/* The FDE of the function around pc. */
bool cfi_find(const struct object *o, uintptr_t pc, struct cfi *out);
/* The row that holds at pc; false: not understood. */
bool cfi_row(const struct cfi *f, uintptr_t pc, struct row *row);

/*
 * An epilogue has popped what its row says is saved, and a signal comes: the word is still there,
 * below the stack pointer.
 */
#define BELOW_SP_BYTES 1024u

/* ---- expression.c ---------------------------------------------------------------------------- */

/*
 * Evaluates a DWARF expression over the registers of a frame; `initial` (the CFA) is on its stack
 * to begin with unless it is 0.  Reads memory only in [sp of regs - BELOW_SP_BYTES, high).
 */
bool expression_value(const struct column *c, const struct regs *r, uintptr_t initial,
                      uintptr_t high, uintptr_t *out);

/* ---- rules.c --------------------------------------------------------------------------------- */

/*
 * By address: the return address of a call, or with KEY_EXACT the address of an interrupted
 * instruction.  Words in the depot are keys with the module's number above.
 */
#define KEY_EXACT DEPOT_PC_EXACT
#define KEY_PC (KEY_EXACT - 1)

enum rule_kind {
    RULE_SP,      /* CFA = sp + offset, which is positive */
    RULE_END,     /* nobody called */
    RULE_BP,      /* from here on rbp is used.  CFA = rbp + offset */
    RULE_CHAIN,   /* no information: as if rbp were a frame pointer; offset: its object has some */
    RULE_DRAP,    /* CFA = *(rbp + offset), the caller's rbp at *rbp: realigned stacks */
    RULE_SIGNAL,  /* the frame of a signal: the interrupted registers lie above sp */
    RULE_NONE,    /* before there are rules */
    RULE_COMPLEX, /* needs other registers, or an expression: registers.c */
};

/* Never changes once it can be found, but for the key of one that is dropped. */
struct rule {
    _Atomic uint64_t key;
    int32_t offset;
    uint16_t saved_bp; /* the caller's rbp lies at CFA - saved_bp; 0: it is still in rbp */
    uint16_t kind;     /* enum rule_kind */
    uint32_t module;
};
static_assert(sizeof(struct rule) == 24, "dense: rules are looked at for every frame");

extern HIDDEN uint32_t frames_wanted; /* of a stack; sealed after the start */

extern HIDDEN struct rule *rules;
extern HIDDEN _Atomic uint32_t rules_epoch; /* changes whenever rules were dropped */

/* The rule of a key that has one; NULL: it is to be made. */
struct rule *rule_known(uint64_t key);
/* The rule of a key, made if need be; `*spare` is filled and returned if it could not be kept. */
const struct rule *rule_of(uint64_t key, struct rule *spare, bool may_grow);

/* A hint is a place: the distance from rules[0] in bytes. */
ALWAYS_INLINE struct rule *rule_at(uint32_t distance)
{
    return (struct rule *)((uintptr_t)rules + distance);
}

ALWAYS_INLINE uint32_t rule_offset(const struct rule *r)
{
    return (uint32_t)((uintptr_t)r - (uintptr_t)rules);
}

ALWAYS_INLINE bool rule_uses_bp(const struct rule *r)
{
    return r->kind > RULE_END;
}
/* A guess about RULE_CHAIN, whose rbp may be anything: is it likely that `to` is its caller? */
bool rule_may_return(const struct rule *r, uintptr_t to);

ALWAYS_INLINE bool rule_is(const struct rule *r, uint64_t key)
{
    return atomic_load_explicit(&r->key, memory_order_acquire) == key;
}

ALWAYS_INLINE uint64_t word_of(uint64_t key, const struct rule *r)
{
    return key | (uint64_t)r->module << DEPOT_MODULE_SHIFT;
}

/* The object around an address, and its number in the run file; 0 = it has none (yet). */
bool object_of(uintptr_t pc, struct object *o);
uint32_t object_number(const struct object *o);

/* The row of a key, for those who have all registers; false: there is none.  *restorer: is it the
 * return of a signal handler? */
bool rule_row(uint64_t key, struct row *row, bool *restorer);

/* ---- stack.c: where stacks end --------------------------------------------------------------- */

struct stacks {
    uintptr_t main_high;
    uintptr_t bytes; /* no stack of known end is larger */
};

extern HIDDEN struct stacks stacks;
void stacks_start(void);

#define STACK_UNKNOWN_BYTES (1ull << 20) /* that are believed of a stack of unknown end */

/* The end of the stack that sp lies on; a guess, never far, where it is not known: *known. */
ALWAYS_INLINE uintptr_t stack_high(uintptr_t sp, bool *known)
{
    uintptr_t control = (uintptr_t)__builtin_thread_pointer();
    *known = true;
    if (stacks.main_high - sp < stacks.bytes)
        return stacks.main_high;
    if (control - sp < stacks.bytes)
        return control;
    *known = false;
    return sp + STACK_UNKNOWN_BYTES;
}

/*
 * The same of an interrupted stack; false: there is none.  What a signal came for may be that the
 * program has lost its stack pointer, and its handler runs elsewhere: only then the kernel is asked.
 */
static inline bool stack_interrupted(uintptr_t sp, uintptr_t *high, bool *known)
{
    *high = stack_high(sp, known);
    return *known || os_is_readable(sp);
}

/* ---- walk.c: one frame ----------------------------------------------------------------------- */

/* A frame: where its code goes on, its stack pointer, and where its rbp has been saved. */
struct cursor {
    uint64_t key;
    uintptr_t sp;
    const uintptr_t *bp;
    uintptr_t high; /* nothing is read at or above it */
    bool known;     /* is that the end of the stack, for certain? */
};

enum step {
    STEP_ON,
    STEP_END,       /* the outermost frame */
    STEP_NO_INFO,   /* code without call frame information, and no frame pointer to go on by */
    STEP_OFF_STACK, /* the next frame would not be on this stack */
    STEP_SIGNAL,    /* on, but into a stack of its own */
    STEP_COMPLEX,   /* not without all registers */
};

static inline struct cursor cursor_at(const struct entry *at)
{
    struct cursor c = {.key = at->pc & KEY_PC, .sp = (uintptr_t)(at + 1), .bp = &at->bp};
    c.high = stack_high(c.sp, &c.known);
    return c;
}

/* From a frame to its caller, for all kinds of rules but RULE_SP.  The cursor goes by value, so
 * that those who call this seldom can keep theirs in registers. */
struct stepped {
    struct cursor c;
    enum step step;
};
struct stepped step_slow(struct cursor c, const struct rule *r);

/* Where a realigned frame has its CFA, and the caller's rbp at bp; NULL: not on the stack. */
static inline const uintptr_t *drap_slot(uintptr_t bp, uintptr_t sp, uintptr_t high, int32_t offset)
{
    uintptr_t slot = bp + (uintptr_t)(intptr_t)offset;
    if (bp < sp || bp >= high || slot < sp || slot >= high || slot % sizeof slot || bp % sizeof bp)
        return NULL;
    return (const uintptr_t *)slot;
}

/* Where a frame without information has its return address, if rbp is a frame pointer; NULL: it is
 * none. */
static inline const uintptr_t *chain_slot(uintptr_t bp, uintptr_t sp, uintptr_t high, bool known)
{
    high = known ? high : align_down(sp, PAGE_BYTES) + PAGE_BYTES;
    if (bp < sp || bp % sizeof bp != 0 || bp > high || high - bp < 2 * sizeof bp)
        return NULL;
    return (const uintptr_t *)bp + 1;
}

/* `cfa` is above the stack pointer, and aligned. */
ALWAYS_INLINE enum step step_to(struct cursor *c, uintptr_t cfa, uint32_t saved_bp)
{
    if (unlikely(cfa > c->high))
        return STEP_OFF_STACK;
    c->key = ((const uintptr_t *)cfa)[-1] & KEY_PC;
    c->sp = cfa;
    if (saved_bp)
        c->bp = (const uintptr_t *)(cfa - saved_bp);
    return likely(c->key) ? STEP_ON : STEP_END; /* coroutines begin so */
}

ALWAYS_INLINE enum step step(struct cursor *c, const struct rule *r)
{
    if (likely(r->kind == RULE_SP))
        return step_to(c, c->sp + (uintptr_t)(intptr_t)r->offset, r->saved_bp);
    struct stepped s = step_slow(*c, r);
    *c = s.c;
    return s.step;
}

static inline uint32_t end_of(enum step s)
{
    return s == STEP_END ? STACK_WHOLE : s == STEP_NO_INFO ? STACK_NO_INFO : STACK_OFF_STACK;
}

static inline void walk_add(struct walk *out, uint64_t word, uintptr_t sp)
{
#ifdef RTC_ORACLE
    out->sp[out->count] = sp;
#endif
    (void)sp;
    out->word[out->count++] = word;
}

/* ---- registers.c ----------------------------------------------------------------------------- */

/*
 * The same stack with all registers, from `here` on: those of a function that has not returned yet.
 */
void walk_with_registers(const struct entry *at, const struct kept_regs *here, struct walk *out);

#endif

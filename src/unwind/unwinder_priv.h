/*
 * unwinder_priv.h - internal declarations of unwind.
 */
#ifndef UNWINDER_PRIV_H
#define UNWINDER_PRIV_H

#include "registers.h"
#include "unwinder.h"

/* ---- cfi.c ----------------------------------------------------------------------------------- */

/* An FDE with the required fields of its CIE. */
struct cfi {
    const uint8_t *cie_code, *cie_end;
    const uint8_t *code, *end;
    uintptr_t start; /* of the function's code */
    uintptr_t bytes;
    uint64_t code_align;
    int64_t data_align;
    uint32_t return_register;
    uint8_t encoding; /* DW_EH_PE_* of pointers */
    bool augmented;
    bool signal; /* signal frame: its caller was interrupted */
};

enum column_kind {
    COLUMN_SAME,          /* unchanged */
    COLUMN_UNDEFINED,     /* lost; for the return address: there is no caller */
    COLUMN_AT_CFA,        /* saved at CFA + offset */
    COLUMN_IS_CFA,        /* is CFA + offset */
    COLUMN_IN_REGISTER,   /* is in register `offset` */
    COLUMN_AT_EXPRESSION, /* saved at the value of the expression */
    COLUMN_IS_EXPRESSION, /* is the value of the expression */
    COLUMN_AT_REGISTER,   /* for the CFA: reg + offset */
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
    struct column column[DWARF_REGISTERS];
};

/* Find the FDE of the function that contains pc. */
bool cfi_find(const struct object *o, uintptr_t pc, struct cfi *out);
/* Compute the CFI row that is valid at pc; false: unsupported. */
bool cfi_row(const struct cfi *f, uintptr_t pc, struct row *row);

/*
 * After an epilogue has popped a register, its row may still claim that it is saved.  If a signal
 * comes there, the word still lies below the stack pointer.
 */
#define BELOW_SP_BYTES 1024u

/* ---- expression.c ---------------------------------------------------------------------------- */

/*
 * Evaluate a DWARF expression with the registers of a frame.  `initial` (the CFA), unless 0, is
 * pushed first.  Reads memory only in [sp of regs - BELOW_SP_BYTES, high).
 */
bool expression_value(const struct column *c, const struct regs *r, uintptr_t initial,
                      uintptr_t high, uintptr_t *out);

/* ---- rules.c --------------------------------------------------------------------------------- */

/*
 * The key of a rule: the return address of a call, or with KEY_EXACT the address of an interrupted
 * instruction.  Words in the depot are keys with the module number in the upper bits.
 */
#define KEY_EXACT DEPOT_PC_EXACT
#define KEY_PC (KEY_EXACT - 1)

enum rule_kind {
    RULE_SP,      /* CFA = sp + offset, offset > 0 */
    RULE_END,     /* outermost frame */
    RULE_BP,      /* CFA = rbp + offset. This kind and all below depend on rbp */
    RULE_CHAIN,   /* no CFI: try rbp as frame pointer; offset != 0: its object has CFI */
    RULE_DRAP,    /* CFA = *(rbp + offset), caller's rbp at *rbp: realigned stacks (DRAP) */
    RULE_SIGNAL,  /* signal frame: the interrupted registers lie above sp */
    RULE_NONE,    /* unwinding has not been started */
    RULE_COMPLEX, /* needs other registers or an expression: registers.c */
};

/* Immutable after it was published, except that dropping it invalidates its key. */
struct rule {
    _Atomic uint64_t key;
    int32_t offset;
    uint16_t saved_bp; /* the caller's rbp lies at CFA - saved_bp; 0: rbp is unchanged */
    uint16_t kind;     /* enum rule_kind */
    uint32_t module;
    int32_t to_original; /* from the address to the same place in the original code */
};
static_assert(sizeof(struct rule) == 24, "dense: rules are looked at for every frame");

extern HIDDEN uint32_t frames_wanted; /* frames per backtrace; read-only after the start */

extern HIDDEN struct rule *rules;
extern HIDDEN _Atomic uint32_t rules_epoch; /* incremented when rules are dropped */

/* Look up the rule of a key; NULL: it must be made. */
struct rule *rule_known(uint64_t key);
/* The rule of a key, made if missing; returns `*spare`, filled, if the rule cannot be stored. */
const struct rule *rule_of(uint64_t key, struct rule *spare, bool may_grow);

/* Hints store a rule as its distance from rules[0] in bytes. */
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
/* For RULE_CHAIN, where rbp may contain anything: is `to` a plausible return address? */
bool rule_may_return(const struct rule *r, uintptr_t to);

ALWAYS_INLINE bool rule_is(const struct rule *r, uint64_t key)
{
    return atomic_load_explicit(&r->key, memory_order_acquire) == key;
}

/* The same place in the original code, if `key` is in a copy. */
extern HIDDEN uintptr_t (*original_of)(uintptr_t pc, bool is_return);
/* The end of a function's copy, which contains `pc`; 0: none does. */
extern HIDDEN uintptr_t (*copy_end_of)(uintptr_t pc);

ALWAYS_INLINE uint64_t original_key(uint64_t key)
{
    return unlikely(original_of) ? original_of(key & KEY_PC, !(key & KEY_EXACT)) | (key & ~KEY_PC)
                                 : key;
}

ALWAYS_INLINE uint64_t word_of(uint64_t key, const struct rule *r)
{
    return (key + (uint64_t)(int64_t)r->to_original) | (uint64_t)r->module << DEPOT_MODULE_SHIFT;
}

/* The object that contains an address, and its number in the run file; 0: none (yet). */
bool object_of(uintptr_t pc, struct object *o);
uint32_t object_number(const struct object *o);

/*
 * The CFI row of a key, for a walk with all registers; false: none.  *restorer: does the key belong
 * to the return code of signal handlers?
 */
bool rule_row(uint64_t key, struct row *row, bool *restorer);

/* ---- stack.c: bounds of stacks --------------------------------------------------------------- */

struct stacks {
    uintptr_t main_high;
    uintptr_t bytes; /* upper limit for the size of stacks with known bounds */
};

extern HIDDEN struct stacks stacks;
void stacks_start(void);

#define STACK_UNKNOWN_BYTES (1ull << 20) /* bytes read at most of a stack with unknown bounds */

/* The end of the stack that contains sp.  If unknown (*known = false): sp plus a limit. */
ALWAYS_INLINE uintptr_t stack_high(uintptr_t sp, bool *known)
{
    uintptr_t control = libc_control_block();
    *known = true;
    if (stacks.main_high - sp < stacks.bytes)
        return stacks.main_high;
    if (control - sp < stacks.bytes)
        return control;
    *known = false;
    return sp + STACK_UNKNOWN_BYTES;
}

/*
 * Like stack_high for an interrupted stack; false: it is not readable.  The signal may be due to a
 * corrupt stack pointer, with a handler on another stack.  So a stack of unknown bounds is probed
 * by a system call.
 */
static inline bool stack_interrupted(uintptr_t sp, uintptr_t *high, bool *known)
{
    *high = stack_high(sp, known);
    return *known || os_is_readable(sp);
}

/* ---- walk.c: one frame ----------------------------------------------------------------------- */

/* A frame: its return address, its stack pointer, and where its rbp is saved. */
struct cursor {
    uint64_t key;
    uintptr_t sp;
    const uintptr_t *bp;
    uintptr_t high; /* exclusive limit of reads */
    bool known;     /* is `high` the exact end of the stack? */
};

enum step {
    STEP_ON,
    STEP_END,       /* the outermost frame */
    STEP_NO_INFO,   /* no call frame information, and no usable frame pointer */
    STEP_OFF_STACK, /* the next frame would be outside of this stack */
    STEP_SIGNAL,    /* continue, on the stack that the signal interrupted */
    STEP_COMPLEX,   /* needs all registers */
};

static inline struct cursor cursor_at(const struct entry *at)
{
    struct cursor c = {.key = at->pc & KEY_PC, .sp = (uintptr_t)(at + 1), .bp = &at->bp};
    c.high = stack_high(c.sp, &c.known);
    return c;
}

/*
 * Step to the caller's frame, for all kinds of rules except RULE_SP.  The cursor is passed by
 * value, so callers can keep theirs in registers.
 */
struct stepped {
    struct cursor c;
    enum step step;
};
struct stepped step_slow(struct cursor c, const struct rule *r);

/*
 * The slot that contains the CFA of a realigned frame; the caller's rbp is saved at bp.  NULL: not
 * on the stack.
 */
static inline const uintptr_t *drap_slot(uintptr_t bp, uintptr_t sp, uintptr_t high, int32_t offset)
{
    uintptr_t slot = bp + (uintptr_t)(intptr_t)offset;
    if (bp < sp || bp >= high || slot < sp || slot >= high || slot % sizeof slot || bp % sizeof bp)
        return NULL;
    return (const uintptr_t *)slot;
}

/*
 * The slot of the return address of a frame without CFI, if rbp is a frame pointer; NULL: it is
 * not.
 */
static inline const uintptr_t *chain_slot(uintptr_t bp, uintptr_t sp, uintptr_t high, bool known)
{
    high = known ? high : align_down(sp, PAGE_BYTES) + PAGE_BYTES;
    if (bp < sp || bp % sizeof bp != 0 || bp > high || high - bp < 2 * sizeof bp)
        return NULL;
    return (const uintptr_t *)bp + 1;
}

/* `cfa` must be above the stack pointer, and aligned. */
ALWAYS_INLINE enum step step_to(struct cursor *c, uintptr_t cfa, uint32_t saved_bp)
{
    if (unlikely(cfa > c->high))
        return STEP_OFF_STACK;
    c->key = ((const uintptr_t *)cfa)[-1] & KEY_PC;
    c->sp = cfa;
    if (saved_bp)
        c->bp = (const uintptr_t *)(cfa - saved_bp);
    return likely(c->key) ? STEP_ON : STEP_END; /* outermost frame of coroutines */
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
 * Take the same backtrace with all registers, beginning at `here`: the registers of a function that
 * has not returned yet.
 */
void walk_with_registers(const struct entry *at, const struct kept_regs *here, struct walk *out);

#endif

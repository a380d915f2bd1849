/*
 * registers.c - a walk that tracks all registers.
 *
 * Some frames are described in terms of rbx, or by an expression: the loader's lazy binding,
 * hand-written assembly, a procedure linkage table that a signal interrupted.  Capturing all
 * registers at every allocation would slow down every allocation.  So the walk starts again with
 * the registers in this function, and first unwinds our own frames, which have CFI like all others.
 */
#include "unwinder_priv.h"

struct frame {
    uint64_t key;
    struct regs regs; /* values when execution resumes in this frame */
    uintptr_t high;
    bool known;
};

static bool is_readable(const struct frame *f, uintptr_t at)
{
    return at >= f->regs.value[DWARF_SP] - BELOW_SP_BYTES && at < f->high &&
           f->high - at >= sizeof at && at % sizeof at == 0;
}

/* The caller's value of a register; false: unknown. */
static bool column_value(const struct frame *f, const struct column *c, unsigned reg, uintptr_t cfa,
                         uintptr_t *out)
{
    uintptr_t at = cfa + (uintptr_t)c->offset;
    switch ((enum column_kind)c->kind) {
    case COLUMN_SAME:
        *out = f->regs.value[reg];
        return regs_know(&f->regs, reg);
    case COLUMN_IS_CFA:
        *out = at;
        return true;
    case COLUMN_IN_REGISTER:
        *out = regs_know(&f->regs, (unsigned)c->offset) ? f->regs.value[c->offset] : 0;
        return regs_know(&f->regs, (unsigned)c->offset);
    case COLUMN_IS_EXPRESSION:
        return expression_value(c, &f->regs, cfa, f->high, out);
    case COLUMN_AT_EXPRESSION:
        if (!expression_value(c, &f->regs, cfa, f->high, &at))
            return false;
        break;
    case COLUMN_AT_CFA:
        break;
    default:
        return false;
    }
    if (!is_readable(f, at))
        return false;
    *out = *(const uintptr_t *)at;
    return true;
}

static bool cfa_of(const struct frame *f, const struct row *row, uintptr_t *cfa)
{
    const struct column *c = &row->cfa;
    if (c->kind == COLUMN_IS_EXPRESSION)
        return expression_value(c, &f->regs, 0, f->high, cfa);
    *cfa = f->regs.value[c->reg % DWARF_REGISTERS] + (uintptr_t)c->offset;
    return c->kind == COLUMN_AT_REGISTER && regs_know(&f->regs, c->reg);
}

static enum step step_by_row(struct frame *f, const struct row *row)
{
    struct frame caller = {.high = f->high, .known = f->known};
    uintptr_t cfa, value;
    if (row->column[DWARF_RETURN].kind == COLUMN_UNDEFINED)
        return STEP_END;
    if (!cfa_of(f, row, &cfa) || cfa <= f->regs.value[DWARF_SP] || cfa > f->high)
        return STEP_OFF_STACK;
    for (unsigned i = 0; i < DWARF_REGISTERS; i++)
        if (column_value(f, &row->column[i], i, cfa, &value))
            regs_set(&caller.regs, i, value);
    if (!regs_know(&caller.regs, DWARF_RETURN))
        return STEP_OFF_STACK;
    if (row->column[DWARF_SP].kind == COLUMN_SAME)
        regs_set(&caller.regs, DWARF_SP, cfa);
    regs_set(&caller.regs, DWARF_PC, caller.regs.value[DWARF_RETURN]);
    caller.key = caller.regs.value[DWARF_PC] & KEY_PC;
    *f = caller;
    return caller.key ? STEP_ON : STEP_END;
}

static enum step step_by_signal(struct frame *f)
{
    uintptr_t ucontext = signal_context(f->regs.value[DWARF_SP]);
    if (f->known && f->high - ucontext < SIGNAL_BYTES)
        return STEP_OFF_STACK;
    regs_of_signal(ucontext, &f->regs);
    f->key = (f->regs.value[DWARF_PC] & KEY_PC) | KEY_EXACT;
    return stack_interrupted(f->regs.value[DWARF_SP], &f->high, &f->known) ? STEP_ON
                                                                           : STEP_OFF_STACK;
}

/* No CFI: step as walk.c does.  Afterwards only rbp, rsp and the pc are known. */
static enum step step_by_guess(struct frame *f)
{
    struct rule chain = {.key = f->key, .kind = RULE_CHAIN};
    struct cursor c = {f->key, f->regs.value[DWARF_SP], &f->regs.value[DWARF_FP], f->high,
                       f->known};
    if (!regs_know(&f->regs, DWARF_FP))
        return STEP_NO_INFO;
    struct stepped s = step_slow(c, &chain);
    if (s.step != STEP_ON)
        return s.step;
    c = s.c;
    uintptr_t bp = *c.bp;
    f->regs.known = 0;
    regs_set(&f->regs, DWARF_FP, bp);
    regs_set(&f->regs, DWARF_SP, c.sp);
    regs_set(&f->regs, DWARF_PC, c.key);
    f->key = c.key;
    return STEP_ON;
}

static enum step step_with_registers(struct frame *f)
{
    struct row row;
    bool restorer;
    if (!rule_row(f->key, &row, &restorer))
        return step_by_guess(f);
    return restorer ? step_by_signal(f) : step_by_row(f, &row);
}

/* Unwind from here to the call at `at`; false: our own frames cannot be unwound. */
static bool skip_own_frames(struct frame *f, const struct entry *at)
{
    while (f->regs.value[DWARF_SP] < (uintptr_t)(at + 1))
        if (step_with_registers(f) != STEP_ON)
            return false;
    return f->regs.value[DWARF_SP] == (uintptr_t)(at + 1) && f->key == (at->pc & KEY_PC);
}

static struct frame frame_of(const struct kept_regs *here)
{
    struct frame f = {.regs = regs_of(here), .key = (here->pc & KEY_PC) | KEY_EXACT};
    f.high = stack_high(here->sp, &f.known);
    return f;
}

static void walk_frames(struct frame *f, struct walk *out, bool may_grow)
{
    struct rule spare;
    out->count = 0;
    while (out->count < frames_wanted) {
        walk_add(out, word_of(f->key, rule_of(f->key, &spare, may_grow)), f->regs.value[DWARF_SP]);
        enum step s = step_with_registers(f);
        if (s != STEP_ON) {
            out->end = end_of(s);
            return;
        }
    }
    out->end = STACK_CUT;
}

void walk_with_registers(const struct entry *at, const struct kept_regs *here, struct walk *out)
{
    struct frame f = frame_of(here);
    if (skip_own_frames(&f, at)) /* else keep the result of walk.c */
        walk_frames(&f, out, false);
}

/* ---- callers, and other threads' frames ------------------------------------------------------ */

#define STEPS_MAX 4096u

static void export_caller(const struct frame *f, struct caller *out)
{
    memcpy(out->value, f->regs.value, sizeof out->value);
    out->known = f->regs.known;
    out->context = NULL;
}

static bool is_in(const struct frame *f, uintptr_t start, uint64_t bytes)
{
    return (f->key & KEY_PC) - start < bytes;
}

__attribute__((noinline)) bool unwind_caller_of(uintptr_t start, uint64_t bytes, struct caller *out)
{
    struct kept_regs here;
    regs_capture(&here);
    struct frame f = frame_of(&here);
    bool met = false;
    for (unsigned i = 0; i < STEPS_MAX; i++) {
        enum step s = step_with_registers(&f);
        if (s != STEP_ON)
            return false;
        if (is_in(&f, start, bytes)) {
            met = true;
        } else if (met) {
            export_caller(&f, out);
            return true;
        }
    }
    return false;
}

__attribute__((noinline)) bool unwind_to(uintptr_t sp, struct caller *out)
{
    struct kept_regs here;
    regs_capture(&here);
    struct frame f = frame_of(&here);
    for (unsigned i = 0; i < STEPS_MAX && f.regs.value[DWARF_SP] < sp; i++)
        if (step_with_registers(&f) != STEP_ON)
            return false;
    export_caller(&f, out);
    return f.regs.value[DWARF_SP] >= sp;
}

void unwind_interrupted(const void *context, struct caller *out)
{
    struct regs regs = {.known = 0};
    regs_of_signal((uintptr_t)context, &regs);
    memcpy(out->value, regs.value, sizeof out->value);
    out->known = regs.known;
    out->context = context;
}

static struct frame frame_of_other(const struct caller *from, uintptr_t high)
{
    struct frame f = {.regs.known = from->known, .high = high, .known = true};
    memcpy(f.regs.value, from->value, sizeof f.regs.value);
    f.key = (f.regs.value[DWARF_PC] & KEY_PC) | (from->context ? KEY_EXACT : 0);
    return f;
}

struct walking_from {
    const struct caller *from;
    void (*use)(const struct walk *w, void *about);
    void *about;
};

static void walk_from_on_helper(void *about)
{
    const struct walking_from *w = about;
    struct walk out = {.end = STACK_OFF_STACK};
    struct frame f = frame_of_other(w->from, 0);
    if (stack_interrupted(f.regs.value[DWARF_SP], &f.high, &f.known))
        walk_frames(&f, &out, true);
    w->use(&out, w->about);
}

void unwind_from(const struct caller *from, void (*use)(const struct walk *w, void *about),
                 void *about)
{
    struct walking_from w = {from, use, about};
    helper_call(walk_from_on_helper, &w);
}

bool unwind_out(const struct caller *from, uintptr_t high, struct caller *out)
{
    struct frame f = frame_of_other(from, high);
    if (step_with_registers(&f) != STEP_ON)
        return false;
    export_caller(&f, out);
    return true;
}

uint32_t unwind_frames(const struct caller *from, uintptr_t high, struct framed *out, uint32_t room)
{
    struct frame f = frame_of_other(from, high);
    struct rule spare;
    for (uint32_t count = 0; count < room;) {
        out[count++] =
            (struct framed){word_of(f.key, rule_of(f.key, &spare, false)), f.regs.value[DWARF_SP]};
        if (step_with_registers(&f) != STEP_ON)
            return count;
    }
    return room;
}

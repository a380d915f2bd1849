/*
 * callee.c - finds the functions between a call instruction and the function of ours in which it
 * ended.
 *
 * A tail call leaves no frame: a library with `jmp free` as its operator delete appears as a caller
 * of free.  The return address follows the call instruction.  The call's target is followed:
 * through the procedure linkage table (PLT) to us, to a thunk (a function that only jumps), or to a
 * function that ends in a jump.
 *
 *   call free@plt                          -> plt entry -> us     REACHED_DIRECTLY
 *   call *free@GOTPCREL(%rip)              -> us                  REACHED_DIRECTLY
 *   call operator delete                   -> thunk -> us         REACHED_BY_THUNK
 *   call destroy; ... jmp free             -> us                  REACHED_DIRECTLY
 *   call destroy; ... jmp operator delete  -> thunk -> us         REACHED_BY_THUNK
 *
 * A PLT entry and a thunk can be the same instruction, `jmp *slot(%rip)`.  The linker pads its PLT
 * entries, or emits no call frame information for them; a compiled function has its own FDE, which
 * ends after the jump.
 *
 * The target of an indirect call is no longer known, with one exception.  If the block begins with
 * a pointer to a virtual table, the call was probably virtual.  Then the table entry at the call's
 * displacement is followed.  Destructors may have replaced the table pointer since; a base class's
 * table decides nothing.
 *
 * An operator new that calls malloc has a frame of its own.  It is recognised by its code.  It
 * returns the result of malloc after only a test for NULL, or calls the new-handler through a
 * register and tries again.
 *
 * With --access=full, an entry of a function may be a jump to its copy, which is followed.
 *
 * Code is read only within functions that have an FDE, otherwise up to the end of a readable page.
 * The search for jumps does not decode instructions.  A displacement reaches us by chance with a
 * probability of 1 in 2^30.
 */
#include "instructions.h"
#include "unwinder_priv.h"

#define HOPS_MAX 8u       /* in a chain of jumps */
#define DEPTH_MAX 3u      /* functions that end in a jump to the next one */
#define FUNCTIONS_MAX 32u /* searched for one call */
#define BODY_MAX 65536u   /* bytes searched per function */
#define THUNK_MAX 48u
#define NEW_MAX 256u
#define VIRTUALS_MAX 8u /* virtual table slots tried if the call does not name one */

/*
 * ---- readable code -----------------------------------------------------------------------------
 */

struct machine_code {
    const uint8_t *start, *end;
    struct object o;
    bool whole; /* a whole function, bounded by its FDE; false: the readable code after `start` */
};

static uintptr_t end_of_copy(uintptr_t at)
{
    return unlikely(copy_end_of) ? copy_end_of(at) : 0;
}

/* Code that runs in a checked copy: an entry of the original is a jump to it. */
static bool copy_at(uintptr_t at, struct machine_code *t)
{
    uintptr_t end = end_of_copy(at);
    t->start = (const uint8_t *)at;
    t->end = (const uint8_t *)end;
    t->whole = true;
    return end && object_of(original_of(at, false), &t->o);
}

static bool code_at(uintptr_t at, struct machine_code *t)
{
    struct cfi f;
    if (copy_at(at, t))
        return true;
    if (!object_of(at, &t->o))
        return false;
    t->start = (const uint8_t *)at;
    if (t->o.index && cfi_find(&t->o, at, &f)) {
        t->end = (const uint8_t *)(f.start + f.bytes);
        t->whole = at == f.start;
        return true;
    }
    t->end = (const uint8_t *)(align_down(at, PAGE_BYTES) + PAGE_BYTES);
    t->whole = false;
    return os_is_readable(at);
}

static bool is_own_code(uintptr_t at)
{
    struct object own;
    return object_of((uintptr_t)&is_own_code, &own) && at >= own.start && at < own.end;
}

/* Read a slot in the object's own data. */
static bool slot_value(const struct object *o, uintptr_t slot, uintptr_t *out)
{
    if (slot < o->start || slot > o->end - sizeof *out || slot % sizeof *out != 0 ||
        !os_is_readable(slot))
        return false;
    *out = *(const uintptr_t *)slot;
    return true;
}

/* ---- thunks ---------------------------------------------------------------------------------- */

/* A jump: its length and target, which it may read from a slot; 0: not a jump. */
static unsigned jump_at(const struct machine_code *t, const uint8_t *at, uintptr_t *to, bool *slot)
{
    struct code_jump j = code_jump_at(at, t->end, (uintptr_t)at);
    *slot = j.slot;
    *to = j.to;
    return j.slot && !slot_value(&t->o, j.to, to) ? 0 : j.bytes;
}

static unsigned branch_at(const uint8_t *at, const uint8_t *end, bool *if_zero, uintptr_t *to)
{
    struct code_jump j = code_branch_at(at, end, (uintptr_t)at, if_zero);
    *to = j.to;
    return j.bytes;
}

enum stop { STOP_JUMP, STOP_BODY };

/* Follow code that only jumps, for an argument other than NULL.  STOP_BODY: the code does more. */
static enum stop pass(const struct machine_code *t, uintptr_t *to, bool *is_plt)
{
    const uint8_t *at = t->start,
                  *end = t->end - t->start > (int)THUNK_MAX ? t->start + THUNK_MAX : t->end;
    bool slot = false, if_zero, plain = true;
    unsigned n;
    while (at < end) {
        if ((n = jump_at(t, at, to, &slot))) {
            bool padded = !t->whole || at + n != t->end;
            *is_plt = slot && plain && padded;
            return STOP_JUMP;
        }
        if ((n = branch_at(at, t->end, &if_zero, to)) && !if_zero) {
            if (*to < (uintptr_t)t->start || *to >= (uintptr_t)t->end) {
                *is_plt = false;
                return STOP_JUMP;
            }
            if (*to <= (uintptr_t)at)
                return STOP_BODY;
            at = (const uint8_t *)*to;
        } else if (n || (n = code_trivial(at, t->end))) {
            plain = plain && code_landing(at, t->end);
            at += n;
        } else {
            return STOP_BODY;
        }
    }
    return STOP_BODY;
}

/*
 * ---- the target of a call ----------------------------------------------------------------------
 */

struct route {
    uintptr_t end; /* end of the chain of jumps: a function that does more */
    bool thunk;    /* a jump in the chain is not a PLT entry */
};

/* false: the target is unknown. */
static bool follow(uintptr_t at, struct route *r)
{
    *r = (struct route){.end = at};
    for (unsigned hops = 0; hops < HOPS_MAX; hops++) {
        struct machine_code t;
        uintptr_t to = 0;
        bool is_plt = false;
        if (is_own_code(r->end))
            return true;
        if (!code_at(r->end, &t))
            return false;
        if (pass(&t, &to, &is_plt) == STOP_BODY)
            return true;
        r->thunk |= !is_plt;
        r->end = to;
    }
    return false;
}

/* Search a function, and those it tail-calls, for a jump that reaches us. */
struct search {
    bool thunk, directly; /* found a way through a thunk, or one without */
    unsigned functions;
};

static void search(struct search *s, uintptr_t function, unsigned depth);

/* Examine a jump out of a function. */
static void search_jump(struct search *s, const struct machine_code *t, uintptr_t to,
                        unsigned depth)
{
    struct route r;
    struct machine_code target;
    if (to >= (uintptr_t)t->start && to < (uintptr_t)t->end)
        return;
    if ((to < t->o.start || to >= t->o.end) && !end_of_copy(to))
        return;
    if (!code_at(to, &target) || !follow(to, &r))
        return;
    if (is_own_code(r.end)) {
        s->thunk |= r.thunk;
        s->directly |= !r.thunk;
    } else if (target.whole && depth < DEPTH_MAX) {
        search(s, r.end, depth + 1);
    }
}

static void search(struct search *s, uintptr_t function, unsigned depth)
{
    struct machine_code t;
    if (s->functions++ >= FUNCTIONS_MAX || !code_at(function, &t) || !t.whole)
        return;
    if (t.end - t.start > (int)BODY_MAX)
        t.end = t.start + BODY_MAX;
    for (const uint8_t *at = t.start; at < t.end && !s->thunk; at += CODE_ALIGN) {
        struct code_jump j = code_jump_out(at, t.end, (uintptr_t)at);
        uintptr_t to;
        if (j.bytes && !j.slot)
            search_jump(s, &t, j.to, depth);
        else if (j.bytes && slot_value(&t.o, j.to, &to) && is_own_code(to))
            s->directly = true;
    }
}

static enum reached reached_from(uintptr_t target)
{
    struct route r;
    struct search s = {.functions = 0};
    if (!follow(target, &r))
        return REACHED_UNKNOWN;
    if (is_own_code(r.end))
        return r.thunk ? REACHED_BY_THUNK : REACHED_DIRECTLY;
    search(&s, r.end, 0);
    return s.thunk ? REACHED_BY_THUNK : s.directly ? REACHED_DIRECTLY : REACHED_UNKNOWN;
}

/*
 * ---- the call instruction ----------------------------------------------------------------------
 */

/*
 * The target of a direct call that ends at pc, or of a call through a slot of the caller's own
 * object.
 */
static bool direct_target(const struct object *o, uintptr_t start, uintptr_t pc, uintptr_t *target)
{
    struct code_jump j = code_call_before((const uint8_t *)pc, pc - start, pc);
    *target = j.to;
    return j.slot ? slot_value(o, j.to, target) : j.bytes && j.to >= o->start && j.to < o->end;
}

#define SLOT_UNKNOWN UINTPTR_MAX

/* The slot that a virtual call names which ends at pc; SLOT_UNKNOWN: another indirect call. */
static uintptr_t virtual_slot(uintptr_t start, uintptr_t pc)
{
    uintptr_t slot;
    return code_virtual_call_before((const uint8_t *)pc, pc - start, &slot) ? slot : SLOT_UNKNOWN;
}

/* Follow the function in slot `at` of a virtual table; false: not a function. */
static bool reached_by_slot(const struct object *o, uintptr_t at, enum reached *how)
{
    uintptr_t function;
    struct machine_code t;
    if (!slot_value(o, at, &function) || !code_at(function, &t) || !t.whole)
        return false;
    *how = reached_from(function);
    return true;
}

/* If the call does not name its slot, try the first slots: most tables begin with destructors. */
static enum reached reached_virtually(uintptr_t slot, uintptr_t table)
{
    struct object o;
    enum reached how = REACHED_UNKNOWN;
    if (table % sizeof table != 0 || !object_of(table, &o))
        return REACHED_UNKNOWN;
    if (slot != SLOT_UNKNOWN)
        return !reached_by_slot(&o, table + slot, &how) ? REACHED_UNKNOWN
               : how == REACHED_UNKNOWN                 ? REACHED_VIRTUALLY
                                                        : how;
    for (unsigned i = 0; i < VIRTUALS_MAX && reached_by_slot(&o, table + i * sizeof table, &how);
         i++)
        if (how == REACHED_BY_THUNK)
            return how;
    return REACHED_UNKNOWN;
}

enum reached unwind_reached(uint64_t word, uintptr_t table)
{
    uintptr_t pc = depot_address(word), target;
    struct object o;
    struct cfi f;
    if (word & KEY_EXACT || !object_of(pc - 1, &o) || object_number(&o) != depot_module(word))
        return REACHED_UNKNOWN;
    uintptr_t start =
        o.index && cfi_find(&o, pc - 1, &f) ? f.start : align_down(pc - 1, PAGE_BYTES);
    if (direct_target(&o, start, pc, &target)) {
        enum reached how = reached_from(target);
        if (how != REACHED_UNKNOWN)
            return how;
    }
    return table ? reached_virtually(virtual_slot(start, pc), table) : REACHED_UNKNOWN;
}

/* ---- operator new ---------------------------------------------------------------------------- */

/*
 * Does the code return its result unchanged, if it is not NULL?  *if_null: where it
 * continues for NULL.
 */
static bool returns_result(const uint8_t *at, const uint8_t *end, uintptr_t *if_null)
{
    for (unsigned steps = 0; steps < 16 && at < end; steps++) {
        bool if_zero;
        uintptr_t to;
        unsigned n = branch_at(at, end, &if_zero, &to);
        if (n)
            *if_null = if_zero ? to : (uintptr_t)at + n;
        if (code_is_return(at, end))
            return true;
        if (n && !if_zero) {
            if (to <= (uintptr_t)at || to >= (uintptr_t)end)
                return false;
            at = (const uint8_t *)to;
        } else if (n || (n = code_epilogue(at, end))) {
            at += n;
        } else {
            return false;
        }
    }
    return false;
}

/* Search from `from` to the end of the function; cold code may be a function of its own. */
static bool calls_register(uintptr_t from)
{
    struct machine_code t;
    if (!code_at(from, &t))
        return false;
    const uint8_t *at = t.start, *end = t.end - at > (int)NEW_MAX ? at + NEW_MAX : t.end;
    for (; at < end; at += CODE_ALIGN)
        if (code_calls_register(at, end))
            return true;
    return false;
}

bool unwind_is_new(uint64_t word)
{
    uintptr_t pc = depot_address(word);
    struct object o;
    struct cfi f;
    if (word & KEY_EXACT || !object_of(pc - 1, &o) || object_number(&o) != depot_module(word) ||
        !o.index || !cfi_find(&o, pc - 1, &f))
        return false;
    uintptr_t if_null = 0;
    return f.bytes <= NEW_MAX &&
           returns_result((const uint8_t *)pc, (const uint8_t *)(f.start + f.bytes), &if_null) &&
           if_null && calls_register(if_null);
}

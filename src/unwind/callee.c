/*
 * callee.c - what lay between a call and the function of ours that it ended in.
 *
 * A tail call leaves no frame: a library whose own operator delete is `jmp free` shows as a caller of free.
 * The return address is behind the call instruction, and that leads on: through the procedure linkage table to
 * us, to a thunk - a function that does nothing but jump - or to a function that ends in a jump.
 *
 *    call free@plt                          -> plt entry -> us     REACHED_DIRECTLY
 *    call *free@GOTPCREL(%rip)              -> us                  REACHED_DIRECTLY
 *    call operator delete                   -> thunk -> us         REACHED_BY_THUNK
 *    call destroy; ... jmp free             -> us                  REACHED_DIRECTLY
 *    call destroy; ... jmp operator delete  -> thunk -> us         REACHED_BY_THUNK
 *
 * A plt entry and a thunk can be the same instruction, `jmp *slot(%rip)`.  The linker pads its entries, or gives
 * them no call frame information; a compiled function has an FDE of its own that ends behind its jump.
 *
 * The target of an indirect call is not known any more, with one exception: if the block begins with a pointer
 * to a virtual table, the call was likely virtual, and what the table has at the call's displacement is looked
 * at.  Destructors may have changed the table since; then it is a base's, and decides nothing.
 *
 * An operator new that calls malloc has a frame of its own.  It is known by what it does: it returns what malloc
 * has given without a look at it, or calls the new-handler, through a register, and tries again.
 *
 * Code is read only inside of functions that have an FDE, else up to the end of a page that can be read.  Bytes
 * are searched for jumps without decoding what is between them: a displacement that leads to us by chance is a
 * matter of 1 in 2^30.
 */
#include "unwinder_priv.h"

#define HOPS_MAX 8u       /* of a chain of jumps */
#define DEPTH_MAX 3u      /* functions that end in a jump to the next */
#define FUNCTIONS_MAX 32u /* that are searched for one call */
#define BODY_MAX 65536u   /* bytes of one */
#define THUNK_MAX 48u
#define NEW_MAX 256u
#define VIRTUALS_MAX 8u /* slots of a table that are tried, where the call does not name one */

/* ---- code that may be read --------------------------------------------------------------------- */

struct machine_code {
    const uint8_t *start, *end;
    struct object o;
    bool whole; /* all of a function, as an FDE bounds it; else what can be read behind `start` */
};

static bool code_at(uintptr_t at, struct machine_code *t)
{
    struct cfi f;
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

static bool is_ours(uintptr_t at)
{
    struct object mine;
    return object_of((uintptr_t)&is_ours, &mine) && at >= mine.start && at < mine.end;
}

static int32_t displacement(const uint8_t *at)
{
    int32_t d;
    memcpy(&d, at, sizeof d);
    return d;
}

/* What lies in a slot of the object's own data. */
static bool slot_value(const struct object *o, uintptr_t slot, uintptr_t *out)
{
    if (slot < o->start || slot > o->end - sizeof *out || slot % sizeof *out != 0 ||
        !os_is_readable(slot))
        return false;
    *out = *(const uintptr_t *)slot;
    return true;
}

/* ---- thunks ------------------------------------------------------------------------------------ */

static bool begins(const uint8_t *at, const uint8_t *end, const char *bytes, size_t n)
{
    return (size_t)(end - at) >= n && memcmp(at, bytes, n) == 0;
}
#define BEGINS(at, end, bytes) begins(at, end, bytes, sizeof(bytes) - 1)

/*
 * The length of an instruction that moves or changes registers, as thunks have them before they jump: frame
 * pointers, a size of 0 that becomes 1, arguments in other places; 0: it is another.  Every one has a ModRM
 * byte without memory, but for those that are spelled out.
 */
static unsigned skip_trivial(const uint8_t *code, const uint8_t *end)
{
    uint8_t at[8] = {0}; /* a function may end sooner */
    memcpy(at, code, end - code < (int)sizeof at ? (size_t)(end - code) : sizeof at);
    if (BEGINS(code, end, "\xf3\x0f\x1e\xfa")) /* endbr64 */
        return 4;
    if (at[0] == 0x90 || at[0] == 0x55 || at[0] == 0x5d) /* nop, push and pop %rbp */
        return 1;
    if (at[0] == 0x66 && at[1] == 0x90)
        return 2;
    if (at[0] >= 0xb8 && at[0] <= 0xbf) /* mov $n,%reg */
        return 5;
    unsigned rex = (at[0] & 0xf0) == 0x40, wide = rex + (at[rex] == 0x0f);
    uint8_t opcode = at[wide], modrm = at[wide + 1];
    if (modrm < 0xc0)
        return 0;
    if (wide > rex)
        return (opcode & 0xf0) == 0x40 ? wide + 2 : 0; /* cmov */
    if (opcode == 0x83)                                /* add, adc, cmp.. $n,%reg */
        return rex + 3;
    bool moves =
        opcode == 0x89 || opcode == 0x8b || opcode == 0x85 || opcode == 0x31 || opcode == 0x33;
    return moves ? rex + 2 : 0; /* mov, test, xor */
}

/* A jump: where it leads, and behind it; 0: it is none.  `slot`: through one of the object's data. */
static unsigned jump_at(const uint8_t *at, const uint8_t *end, const struct object *o,
                        uintptr_t *to, bool *slot)
{
    unsigned prefix = BEGINS(at, end, "\xf2\xff") || BEGINS(at, end, "\x3e\xff"); /* bnd, notrack */
    *slot = false;
    if (end - at >= 5 && at[0] == 0xe9) {
        *to = (uintptr_t)at + 5 + (uintptr_t)(intptr_t)displacement(at + 1);
        return 5;
    }
    if (end - at >= 2 && at[0] == 0xeb) {
        *to = (uintptr_t)at + 2 + (uintptr_t)(intptr_t)(int8_t)at[1];
        return 2;
    }
    if (!begins(at + prefix, end, "\xff\x25", 2) || end - at < (int)prefix + 6)
        return 0;
    *slot = true;
    uintptr_t from =
        (uintptr_t)at + prefix + 6 + (uintptr_t)(intptr_t)displacement(at + prefix + 2);
    return slot_value(o, from, to) ? prefix + 6 : 0;
}

/* A jump with a condition, of which a thunk for NULL has one: where it leads. */
static unsigned branch_at(const uint8_t *at, const uint8_t *end, bool *if_zero, uintptr_t *to)
{
    bool near = end - at >= 6 && at[0] == 0x0f && (at[1] & 0xfe) == 0x84;
    if (!near && (end - at < 2 || (at[0] & 0xfe) != 0x74))
        return 0;
    *if_zero = (at[near] & 1) == 0;
    *to = (uintptr_t)at + (near ? 6u : 2u) +
          (uintptr_t)(intptr_t)(near ? displacement(at + 2) : (int32_t)(int8_t)at[1]);
    return near ? 6 : 2;
}

enum stop { STOP_JUMP, STOP_BODY };

/* The jump that code consists of, for an argument that is not NULL; STOP_BODY: it does more. */
static enum stop pass(const struct machine_code *t, uintptr_t *to, bool *is_plt)
{
    const uint8_t *at = t->start,
                  *end = t->end - t->start > (int)THUNK_MAX ? t->start + THUNK_MAX : t->end;
    bool slot = false, if_zero, plain = true;
    unsigned n;
    while (at < end) {
        if ((n = jump_at(at, t->end, &t->o, to, &slot))) {
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
        } else if (n || (n = skip_trivial(at, t->end))) {
            plain = plain && BEGINS(at, t->end, "\xf3\x0f\x1e\xfa");
            at += n;
        } else {
            return STOP_BODY;
        }
    }
    return STOP_BODY;
}

/* ---- where a call leads ------------------------------------------------------------------------ */

struct route {
    uintptr_t end; /* of the chain of jumps: the function that does something */
    bool thunk;    /* one of them was no plt entry */
};

/* false: it leads to what is not known. */
static bool follow(uintptr_t at, struct route *r)
{
    *r = (struct route){.end = at};
    for (unsigned hops = 0; hops < HOPS_MAX; hops++) {
        struct machine_code t;
        uintptr_t to = 0;
        bool is_plt = false;
        if (is_ours(r->end))
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

/* A function, and those that it ends in a jump to, searched for a jump that leads to us. */
struct search {
    bool thunk, directly; /* found: a way by a thunk, one without */
    unsigned functions;
};

static void search(struct search *s, uintptr_t function, unsigned depth);

/* A jump out of a function. */
static void search_jump(struct search *s, const struct machine_code *t, uintptr_t to,
                        unsigned depth)
{
    struct route r;
    struct machine_code target;
    if (to >= (uintptr_t)t->start && to < (uintptr_t)t->end)
        return;
    if (to < t->o.start || to >= t->o.end || !code_at(to, &target) || !follow(to, &r))
        return;
    if (is_ours(r.end)) {
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
    for (const uint8_t *at = t.start; at < t.end && !s->thunk; at++) {
        uintptr_t to;
        bool slot;
        bool last_short =
            at[0] == 0xeb && at + 2 == t.end; /* elsewhere one byte proves too little */
        if ((at[0] == 0xe9 || last_short) && jump_at(at, t.end, &t.o, &to, &slot))
            search_jump(s, &t, to, depth);
        else if (at[0] == 0xff && jump_at(at, t.end, &t.o, &to, &slot) && is_ours(to))
            s->directly = true;
        else if (at[0] == 0x0f && t.end - at >= 6 &&
                 (at[1] & 0xf0) == 0x80) /* compilers jump to thunks so, too */
            search_jump(s, &t, (uintptr_t)at + 6 + (uintptr_t)(intptr_t)displacement(at + 2),
                        depth);
    }
}

static enum reached reached_from(uintptr_t target)
{
    struct route r;
    struct search s = {.functions = 0};
    if (!follow(target, &r))
        return REACHED_UNKNOWN;
    if (is_ours(r.end))
        return r.thunk ? REACHED_BY_THUNK : REACHED_DIRECTLY;
    search(&s, r.end, 0);
    return s.thunk ? REACHED_BY_THUNK : s.directly ? REACHED_DIRECTLY : REACHED_UNKNOWN;
}

/* ---- the call ---------------------------------------------------------------------------------- */

/* The target of a direct call, or of one through a slot of the caller's own object, that ends at pc. */
static bool direct_target(const struct object *o, uintptr_t start, uintptr_t pc, uintptr_t *target)
{
    const uint8_t *at = (const uint8_t *)pc;
    if (pc - start >= 5 && at[-5] == 0xe8) {
        *target = pc + (uintptr_t)(intptr_t)displacement(at - 4);
        if (*target >= o->start && *target < o->end)
            return true;
    }
    return pc - start >= 6 && at[-6] == 0xff && at[-5] == 0x15 &&
           slot_value(o, pc + (uintptr_t)(intptr_t)displacement(at - 4), target);
}

#define SLOT_UNKNOWN UINTPTR_MAX

/* `call *n(%reg)` that ends at pc: n; SLOT_UNKNOWN: another indirect call. */
static uintptr_t virtual_slot(uintptr_t start, uintptr_t pc)
{
    const uint8_t *at = (const uint8_t *)pc;
    if (pc - start >= 6 && at[-6] == 0xff && (at[-5] & 0xf8) == 0x90 && at[-5] != 0x94)
        return (uintptr_t)(intptr_t)displacement(at - 4);
    if (pc - start >= 3 && at[-3] == 0xff && (at[-2] & 0xf8) == 0x50 && at[-2] != 0x54)
        return (uintptr_t)(intptr_t)(int8_t)at[-1];
    if (pc - start >= 2 && at[-2] == 0xff && (at[-1] & 0xf8) == 0x10 && at[-1] != 0x14 &&
        at[-1] != 0x15)
        return 0;
    return SLOT_UNKNOWN;
}

/* What slot `at` of a virtual table leads to; false: no function. */
static bool reached_by_slot(const struct object *o, uintptr_t at, enum reached *how)
{
    uintptr_t function;
    struct machine_code t;
    if (!slot_value(o, at, &function) || !code_at(function, &t) || !t.whole)
        return false;
    *how = reached_from(function);
    return true;
}

/* Of a call that does not name its slot, destructors come first in most tables. */
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

/* ---- operator new ------------------------------------------------------------------------------ */

/* An instruction of an epilogue, or one that keeps a result elsewhere: its length; 0: it is none. */
static unsigned epilogue(const uint8_t *at, const uint8_t *end)
{
    if (end - at < 1)
        return 0;
    if (at[0] == 0xc9 || (at[0] > 0x58 && at[0] <= 0x5f)) /* leave; pop, but not of %rax */
        return 1;
    if (end - at >= 2 && at[0] == 0x41 && (at[1] & 0xf8) == 0x58)
        return 2;
    if (BEGINS(at, end, "\x48\x83\xc4")) /* add $n,%rsp */
        return 4;
    if (BEGINS(at, end, "\x48\x81\xc4"))
        return 7;
    if (end - at >= 4 && (at[0] & 0xfb) == 0x48 && at[1] == 0x8b && (at[2] & 0xc7) == 0x45 &&
        at[2] != 0x45)
        return 4; /* mov n(%rbp),%reg: what a frame with a frame pointer has saved */
    bool wide = end - at >= 3 && (at[0] & 0xf8) == 0x48 && at[2] >= 0xc0;
    return wide && (at[1] == 0x85 || at[1] == 0x89 || at[1] == 0x8b) ? 3 : 0; /* test, mov */
}

/* Does code return what it has in %rax, if that is not NULL, and do nothing else?  *if_null: where it goes then. */
static bool returns_result(const uint8_t *at, const uint8_t *end, uintptr_t *if_null)
{
    for (unsigned steps = 0; steps < 16 && at < end; steps++) {
        bool if_zero;
        uintptr_t to;
        unsigned n = branch_at(at, end, &if_zero, &to);
        if (n)
            *if_null = if_zero ? to : (uintptr_t)at + n;
        if (*at == 0xc3 || BEGINS(at, end, "\xf3\xc3") || BEGINS(at, end, "\xf2\xc3"))
            return true;
        if (n && !if_zero) {
            if (to <= (uintptr_t)at || to >= (uintptr_t)end)
                return false;
            at = (const uint8_t *)to;
        } else if (n || (n = epilogue(at, end))) {
            at += n;
        } else {
            return false;
        }
    }
    return false;
}

/* From there to the end of the function, which may be one of its own: what is rarely run lies elsewhere. */
static bool calls_register(uintptr_t from)
{
    struct machine_code t;
    if (!code_at(from, &t))
        return false;
    const uint8_t *at = t.start, *end = t.end - at > (int)NEW_MAX ? at + NEW_MAX : t.end;
    for (; end - at > 1; at++)
        if (at[0] == 0xff && (at[1] & 0xf8) == 0xd0)
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
